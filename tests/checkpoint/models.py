"""Tiny models and checkpoints in the forms that an export meets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VOCABULARY = 96


def decoder(*, tied: bool, dtype: str = "float32", **settings: Any) -> Any:
    """A Qwen3 model with weights that no initialisation makes: all of them differ."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        tie_word_embeddings=tied,
        **settings,
    )
    return randomised(Qwen3ForCausalLM(config)).to(getattr(torch, dtype))


def mixture() -> Any:
    """A model that transformers keeps in another form than its files: the experts are stacked."""
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

    config = Qwen3MoeConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=48,
        moe_intermediate_size=16,
        num_experts=4,
        num_experts_per_tok=2,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        decoder_sparse_step=1,
    )
    return randomised(Qwen3MoeForCausalLM(config))


def randomised(model: Any) -> Any:
    import torch

    dice = torch.Generator().manual_seed(len(list(model.parameters())))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=dice) / 8)
    return model.eval()


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = {"<unk>": 0} | {f"w{number}": number for number in range(1, VOCABULARY)}
    made = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="<unk>")))
    made.chat_template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    return made


def adapted(model: Any, **settings: Any) -> Any:
    """The model with a LoRA adapter whose weights are not the initial zeros."""
    import torch
    from peft import LoraConfig, get_peft_model

    given = {"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "down_proj"], "task_type": "CAUSAL_LM", **settings}
    peft_model = get_peft_model(model, LoraConfig(**given))
    dice = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, parameter in peft_model.named_parameters():
            if parameter.requires_grad:
                noise = torch.randn(parameter.shape, generator=dice) / 8
                parameter.copy_(noise.abs() + 0.5 if "magnitude" in name else noise)
    return peft_model.eval()


def contents(folder: Path) -> dict[str, Any]:
    """All tensors in the safetensors files of a folder."""
    from safetensors.torch import load_file

    tensors: dict[str, Any] = {}
    for path in sorted(folder.glob("*.safetensors")):
        tensors |= load_file(path)
    return tensors


def state_of(model: Any) -> dict[str, Any]:
    """Each tensor of a model once, as ``save_pretrained`` would write it."""
    ties = model.all_tied_weights_keys
    return {name: value for name, value in model.state_dict().items() if name not in ties}


def differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Names whose tensors are not equal to the bit, in dtype, shape and value."""
    import torch

    def same(name: str) -> bool:
        a, b = one.get(name), other.get(name)
        if a is None or b is None or a.dtype != b.dtype or a.shape != b.shape:
            return False
        return torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))

    return sorted(name for name in one.keys() | other.keys() if not same(name))


def write_shards(state: dict[str, Any], folder: Path, *, ranks: int, columns: tuple[str, ...] = ()) -> None:
    """The files of ``save_pretrained(distributed_checkpoint=True)`` on ``ranks`` ranks.

    Cut by rows, those whose name ends with one of ``columns`` by columns; what cannot be cut is on the last rank.
    """
    import torch
    from safetensors.torch import save_file

    for rank in range(ranks):
        parts, offsets = {}, {}
        for name, value in state.items():
            side = 1 if name.endswith(columns) and columns else 0
            length = value.shape[side] // ranks
            if length * ranks != value.shape[side]:
                if rank == ranks - 1:
                    parts[name], offsets[name] = value.clone(), [0] * value.dim()
                continue
            parts[name] = value.narrow(side, rank * length, length).clone(memory_format=torch.contiguous_format)
            offsets[name] = [rank * length if at == side else 0 for at in range(value.dim())]
        told = json.dumps({name: {"saved_offsets": offset} for name, offset in offsets.items()})
        save_file(
            parts,
            folder / f"shard-{rank + 1:05}-model-00001-of-00001.safetensors",
            metadata={"format": "pt", "DCP_VERSION": "1.0", "DCP_SHARDING_INFO": told},
        )


def save_distributed(model: Any, folder: Path, **cut: Any) -> None:
    folder.mkdir()
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    write_shards(dict(model.state_dict()), folder, **cut)
