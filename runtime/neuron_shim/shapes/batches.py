"""A collator whose batches have a few shapes only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from neuron_shim.shapes.lengths import lengths_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch

IGNORED = -100
"""The label that the losses of torch and transformers leave out."""

# What the longer part of a tensor is filled with. None stands for the token id of padding.
_FILLS: dict[str, int | None] = {
    "input_ids": None,
    "decoder_input_ids": None,
    "labels": IGNORED,
    **dict.fromkeys(
        (
            *("attention_mask", "decoder_attention_mask", "cross_attention_mask", "global_attention_mask"),
            *("token_type_ids", "position_ids", "decoder_position_ids", "special_tokens_mask", "bbox"),
            *("completion_mask", "assistant_masks", "inputs_embeds", "decoder_inputs_embeds", "input_features"),
        ),
        0,
    ),
}
# Of a tensor with three or four dimensions, those that are a length; otherwise it is the second.
_SQUARE = {3: (1, 2), 4: (2, 3)}


def pad_batches(
    collator: Callable[[Sequence[Any]], Mapping[str, Any]],
    *,
    multiple: int | None = None,
    buckets: Sequence[int] | int | None = None,
    rows: int | None = None,
    pad_token_id: int | None = None,
    fill: Mapping[str, float | None] | None = None,
    side: str | None = None,
) -> PaddedCollator:
    """Wrap a collator, so that its batches come in a few shapes: for Trainium each shape is compiled once.

        loader = DataLoader(rows, batch_size=8, collate_fn=pad_batches(collate, multiple=128), drop_last=True)
        trainer = Trainer(..., data_collator=pad_batches(collate, buckets=(128, 256, 512)))

    Lengths are padded as the losses and models of transformers expect it: labels with -100, masks with 0, token ids
    with the id for padding, positions with 0. Encoder and decoder lengths are padded each for itself. A tensor whose
    name is not known is refused, unless ``fill`` says what to do with it; what is no tensor, or has one dimension,
    keeps its length.

    Args:
        collator: makes a dictionary of tensors from samples.
        multiple: lengths become multiples of this.
        buckets: lengths become the smallest of these that is large enough.
        rows: batches get this many rows: the last row is repeated, and its labels are -100, so that it does not count
            in the loss. Cut the results to the ``real_rows`` of the batch.
        pad_token_id: for token ids; by default that of the collator or of its tokenizer.
        fill: for each further name the number to fill its second dimension with, or None if it keeps its length.
        side: "right" or "left"; by default that of the collator's tokenizer, else "right".

    Raises:
        ValueError: the settings make no sense, or later, a batch does not fit: it names the tensor and the sizes.
    """
    return PaddedCollator(collator, multiple, buckets, rows, pad_token_id, fill, side)


class PaddedBatch(dict):  # type: ignore[type-arg]  # it is what the collator made
    """A batch with the number of its rows that are samples."""

    real_rows: int


class PaddedCollator:
    """Made by ``pad_batches``."""

    def __init__(
        self,
        collator: Callable[[Sequence[Any]], Mapping[str, Any]],
        multiple: int | None,
        buckets: Sequence[int] | int | None,
        rows: int | None,
        pad_token_id: int | None,
        fill: Mapping[str, float | None] | None,
        side: str | None,
    ) -> None:
        if not callable(collator):
            raise ValueError(f"collator is {collator!r}, but must be a function that makes a batch from samples.")
        if rows is not None and rows < 1:
            raise ValueError(f"rows is {rows}, but must be above 0.")
        tokenizer = getattr(collator, "tokenizer", None) or getattr(collator, "processing_class", None)
        self.collator = collator
        self._lengths = lengths_of(multiple, buckets)
        self._rows = rows
        self._fill = dict(fill or {})
        self._pad = next(
            (
                found
                for found in (
                    pad_token_id,
                    getattr(collator, "pad_token_id", None),
                    getattr(tokenizer, "pad_token_id", None),
                )
                if found is not None
            ),
            None,
        )
        self._side = side or getattr(tokenizer, "padding_side", None) or "right"
        if self._side not in {"left", "right"}:
            raise ValueError(f'side is {side!r}, but must be "left" or "right".')

    def __call__(self, samples: Sequence[Any]) -> PaddedBatch:
        import torch

        made = self.collator(samples)
        if not isinstance(made, Mapping):
            raise ValueError(
                f"The collator made a {type(made).__name__}, but pad_batches needs a dictionary of tensors."
            )
        batch = PaddedBatch(made)
        batch.real_rows = next((len(one) for one in batch.values() if isinstance(one, torch.Tensor) and one.dim()), 0)
        for name, value in batch.items():
            if isinstance(value, torch.Tensor) and value.dim():
                value = self._longer(name, value)
                batch[name] = value if self._rows is None else self._fuller(name, value, batch.real_rows)
        return batch

    def _longer(self, name: str, value: torch.Tensor) -> torch.Tensor:
        if value.dim() == 1:
            return value
        from torch.nn import functional

        if name in self._fill:
            number = self._fill[name]
            if number is None:
                return value
        elif name in _FILLS:
            known = _FILLS[name]
            number = self._padding(name) if known is None else known
        else:
            raise ValueError(
                f"pad_batches does not know how to pad {name!r} of shape {list(value.shape)}: say it with "
                f"fill={{{name!r}: 0}}, or fill={{{name!r}: None}} to keep its length."
            )
        dimensions = _SQUARE.get(value.dim(), (1,)) if name.endswith("attention_mask") else (1,)
        if value.is_floating_point() and dimensions != (1,):
            import torch

            number = torch.finfo(value.dtype).min  # a mask that is added to the scores
        for dimension in dimensions:
            size = value.shape[dimension]
            missing = self._lengths.padded(size, name) - size
            behind = 2 * (value.dim() - 1 - dimension)  # torch counts from the last dimension on
            widths = [0] * behind + ([missing, 0] if self._side == "left" else [0, missing])
            value = functional.pad(value, widths, value=number)
        return value

    def _padding(self, name: str) -> int:
        if self._pad is None:
            raise ValueError(
                f"pad_batches needs pad_token_id= to pad {name!r}: the collator has no tokenizer with one."
            )
        return self._pad

    def _fuller(self, name: str, value: torch.Tensor, real: int) -> torch.Tensor:
        assert self._rows is not None
        if value.shape[0] != real:
            return value  # not one entry for each sample
        missing = self._rows - real
        if missing < 0:
            raise ValueError(f"The batch has {real} rows, but rows={self._rows}: make batches of at most that many.")
        if not missing:
            return value
        import torch

        more = value[-1:].expand(missing, *value.shape[1:]).clone()
        if name == "labels":
            if value.is_floating_point():
                raise ValueError("rows= cannot leave labels that are no classes out of the loss; use drop_last=True.")
            more.fill_(IGNORED)
        return torch.cat([value, more])
