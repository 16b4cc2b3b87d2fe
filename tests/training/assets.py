"""Tiny models, tokenizers and data sets, built offline:  python assets.py FOLDER

All texts of a kind have the same number of tokens, so batches need no padding and the mean over ranks is the mean over
samples. That is what lets a run on several ranks be compared with a run on one.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

VOCABULARY = 384
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>", "[CLS]", "[SEP]", "[MASK]")
MARKUP = ("###", "Instruction", "Context", "Answer")
WORDS = tuple(f"w{number}" for number in range(VOCABULARY - len(SPECIALS) - len(MARKUP)))

# With the four tokens of "### Instruction" and "### Answer" and the end-of-text token a record has 32: packed samples
# of 32 tokens come out full, down to the last.
RECORD_WORDS = (9, 18)


@dataclass(frozen=True)
class Assets:
    """What the example scripts are given, all in one folder."""

    folder: Path

    @property
    def decoder(self) -> Path:
        return self.folder / "decoder"

    @property
    def encoder(self) -> Path:
        return self.folder / "encoder"

    @property
    def seq2seq(self) -> Path:
        return self.folder / "seq2seq"

    @property
    def texts(self) -> Path:
        return self.folder / "texts.jsonl"

    @property
    def records(self) -> Path:
        return self.folder / "records.jsonl"

    @property
    def sentences(self) -> Path:
        return self.folder / "sentences.jsonl"

    @property
    def more_sentences(self) -> Path:
        return self.folder / "more_sentences.jsonl"


def build_assets(folder: Path) -> None:
    assets = Assets(folder)
    build_decoder(assets.decoder)
    build_encoder(assets.encoder)
    build_seq2seq(assets.seq2seq)
    dice = random.Random(0)
    write_jsonl(assets.texts, [{"text": words(dice, 63)} for _ in range(60)])
    write_jsonl(assets.records, [record(dice) for _ in range(64)])
    write_jsonl(assets.sentences, [sentence(dice, number % 3) for number in range(48)])
    write_jsonl(assets.more_sentences, [sentence(dice, number % 3) for number in range(12)])


def build_decoder(folder: Path) -> None:
    """A Qwen3 model in float32. Tensor parallelism of 2 divides its 4 heads and 2 key-value heads."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=176,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=256,
        tie_word_embeddings=False,
        pad_token_id=SPECIALS.index("<pad>"),
        eos_token_id=SPECIALS.index("</s>"),
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    build_tokenizer(ends_with="</s>").save_pretrained(folder)


def build_encoder(folder: Path) -> None:
    """A BERT model without dropout: its masks would differ from rank to rank."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=SPECIALS.index("<pad>"),
    )
    BertForMaskedLM(config).save_pretrained(folder)
    build_tokenizer(ends_with="[SEP]").save_pretrained(folder)


def build_seq2seq(folder: Path) -> None:
    """A T5 model."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(
        vocab_size=VOCABULARY,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=1,
        num_heads=4,
        pad_token_id=SPECIALS.index("<pad>"),
        eos_token_id=SPECIALS.index("</s>"),
        decoder_start_token_id=SPECIALS.index("<pad>"),
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    build_tokenizer(ends_with="</s>").save_pretrained(folder)


def build_tokenizer(*, ends_with: str) -> PreTrainedTokenizerFast:
    """One token a word; ``ends_with`` is put at the end of each text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate((*SPECIALS, *MARKUP, *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {ends_with}", special_tokens=[(ends_with, vocabulary[ends_with])]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=256,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def words(dice: random.Random, count: int) -> str:
    """A text of ``count`` words that a model can learn to predict: each is near the one before."""
    position = dice.randrange(len(WORDS))
    chosen = []
    for _ in range(count):
        position = (position + dice.choice((1, 1, 1, 2))) % len(WORDS)
        chosen.append(WORDS[position])
    return " ".join(chosen)


def record(dice: random.Random) -> dict[str, str]:
    """One instruction with its answer."""
    question, answer = RECORD_WORDS
    return {"instruction": words(dice, question), "context": "", "response": words(dice, answer)}


def sentence(dice: random.Random, number: int) -> dict[str, str]:
    """A sentence whose words tell its label."""
    chosen = [dice.choice(WORDS[4 * number : 4 * number + 4]) for _ in range(12)]
    return {"sentence": " ".join(chosen), "label": ("bad", "fair", "good")[number]}


def write_jsonl(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    build_assets(Path(sys.argv[1]))
