"""Prompts of one shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class FixedPrompts(NamedTuple):
    inputs: Mapping[str, Any]
    """What the tokenizer made, ``rows`` x ``length``, on the CPU."""

    real_rows: int
    """How many of the rows are prompts; the others repeat the last one."""


def tokenize_fixed(
    tokenizer: Any, prompts: Sequence[Any], *, rows: int, length: int, truncate: bool = False, **settings: Any
) -> FixedPrompts:
    """Tokenize texts or chats to one batch size and length, so that a model is compiled for one shape of prompt.

        inputs, real = tokenize_fixed(tokenizer, texts, rows=4, length=128)
        answers = model.generate(**inputs, cache_implementation="static", max_cache_len=256)[:real]

    The tensors stay on the CPU, where ``generate`` wants them. A decoder is padded on the left: give its tokenizer
    ``padding_side="left"``.

    Args:
        tokenizer: one of transformers, with a token for padding.
        prompts: up to ``rows`` texts, or chats (lists of messages), which go through the chat template with
            ``add_generation_prompt=True``.
        truncate: cut prompts that are too long, instead of refusing them.
        settings: passed on to the tokenizer or to the chat template.

    Raises:
        ValueError: there is no prompt, there are more than ``rows``, one is too long, or padding has no token.
    """
    if isinstance(prompts, str):
        raise ValueError("prompts is a single text; give a list of texts.")
    given = list(prompts)
    if not 0 < len(given) <= rows:
        raise ValueError(f"There are {len(given)} prompts, but rows={rows}: give at least one and at most that many.")
    if tokenizer.pad_token_id is None:
        raise ValueError("The tokenizer has no token for padding: set tokenizer.pad_token = tokenizer.eos_token.")
    filled = given + [given[-1]] * (rows - len(given))
    chats = not isinstance(given[0], str)
    if not truncate:
        _check_lengths(tokenizer, given, chats, length, settings)
    fixed = {"padding": "max_length", "max_length": length, "truncation": True, "return_tensors": "pt"}
    if chats:
        settings = {"add_generation_prompt": True, "return_dict": True, **settings}
        made = tokenizer.apply_chat_template(filled, **fixed, **settings)
    else:
        made = tokenizer(filled, **fixed, **settings)
    return FixedPrompts(made, len(given))


def _check_lengths(tokenizer: Any, prompts: list[Any], chats: bool, length: int, settings: Mapping[str, Any]) -> None:
    if chats:
        encoded = tokenizer.apply_chat_template(
            prompts, **{"add_generation_prompt": True, "return_dict": True, **settings}
        )
    else:
        encoded = tokenizer(prompts, **settings)
    for number, ids in enumerate(encoded["input_ids"], 1):
        if len(ids) > length:
            raise ValueError(
                f"Prompt {number} has {len(ids)} tokens, but length={length}: choose a larger length, or cut it with "
                f"truncate=True."
            )
