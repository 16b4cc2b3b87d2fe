"""Tiny random models with their tokenizers and processors, one folder each, built offline in a few seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SPECIALS = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
WORDS = tuple(f"w{number}" for number in range(91))
VOCABULARY = len(SPECIALS) + len(WORDS)
TEXT = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SIDE = 32
"""Pixels of an image."""


def build(folder: Path) -> None:
    """Write every model below a folder."""
    import torch
    import transformers as t

    torch.manual_seed(0)
    bert = t.BertConfig(**TEXT, vocab_size=VOCABULARY, pad_token_id=0, max_position_embeddings=128)
    for name, kind in {
        "classifier": t.BertForSequenceClassification,
        "masked": t.BertForMaskedLM,
        "tagger": t.BertForTokenClassification,
        "encoder": t.BertModel,
    }.items():
        _write(folder / name, kind(bert), tokenizer())
    llama = t.LlamaConfig(
        **TEXT, num_key_value_heads=2, vocab_size=VOCABULARY, pad_token_id=0, bos_token_id=2, eos_token_id=3
    )
    _write(folder / "decoder", t.LlamaForCausalLM(llama), tokenizer())
    t5 = t.T5Config(
        **{"d_model": 32, "d_ff": 32, "num_layers": 2, "num_heads": 4, "d_kv": 8, "vocab_size": VOCABULARY},
        **{"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 3},
    )
    _write(folder / "seq2seq", t.T5ForConditionalGeneration(t5), tokenizer())
    vit = t.ViTConfig(**TEXT, image_size=SIDE, patch_size=8)
    _write(
        folder / "images", t.ViTForImageClassification(vit), t.ViTImageProcessor(size={"height": SIDE, "width": SIDE})
    )
    _write(folder / "clip", t.CLIPModel(_clip(t)), t.CLIPImageProcessor(size={"shortest_edge": SIDE}, crop_size=SIDE))
    tokenizer().save_pretrained(folder / "clip")
    _write(
        folder / "speech", t.WhisperForConditionalGeneration(_whisper(t)), t.WhisperFeatureExtractor(feature_size=8)
    )
    wav2vec2 = t.Wav2Vec2Config(
        **TEXT, vocab_size=VOCABULARY, conv_dim=(16, 16), conv_kernel=(10, 3), conv_stride=(5, 2),
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2, pad_token_id=0,
    )  # fmt: skip
    _write(folder / "ctc", t.Wav2Vec2ForCTC(wav2vec2), t.Wav2Vec2FeatureExtractor())
    _sentences(folder / "sentences", folder / "encoder")


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({word: index for index, word in enumerate((*SPECIALS, *WORDS))}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        mask_token="<mask>",
        model_max_length=128,
        model_input_names=["input_ids", "attention_mask"],
    )


def _write(folder: Path, *parts: Any) -> None:
    for part in parts:
        part.save_pretrained(folder)


def _clip(t: Any) -> Any:
    text = {**TEXT, "vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    return t.CLIPConfig(
        text_config=text, vision_config={**TEXT, "image_size": SIDE, "patch_size": 8}, projection_dim=16
    )


def _whisper(t: Any) -> Any:
    return t.WhisperConfig(
        **{"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4},
        **{"decoder_attention_heads": 4, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "vocab_size": VOCABULARY},
        **{"num_mel_bins": 8, "decoder_start_token_id": 2, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3},
        **{"max_target_positions": 64, "suppress_tokens": None, "begin_suppress_tokens": None},
    )


def _sentences(folder: Path, encoder: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    words = Transformer(str(encoder))
    SentenceTransformer(modules=[words, Pooling(words.get_embedding_dimension())]).save_pretrained(str(folder))
