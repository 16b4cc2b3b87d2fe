"""A model and a tokenizer that are made in a moment, so that faults.py needs no download."""

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

WORDS = [f"w{number}" for number in range(60)]


def build(folder):
    config = Qwen3Config(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    vocabulary = {word: number for number, word in enumerate(["<pad>", "<unk>", "</s>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", eos_token="</s>", padding_side="left"
    ).save_pretrained(folder)
