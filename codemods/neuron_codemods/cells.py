"""Python as it stands in a notebook cell or a code fence: regions of it, with the shell lines among the Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from neuron_codemods import ipython
from neuron_codemods.model import Position
from neuron_codemods.source import Text
from neuron_codemods.texts import Inner, Region, mapped


def python_regions(
    text: str,
    start: int,
    end: int,
    restore: Callable[[str], str],
    place: Callable[[Position], Position],
    *,
    cell: int = 0,
    group: int | None = None,
) -> Iterator[Region]:
    """The region of a cell: what a cell magic says that it is, else Python with masked magics.

    ``text`` is the cell's own text, ``start`` and ``end`` where it stands in the outer text, ``restore`` and ``place``
    lead from it to there.
    """
    own = Text(text)
    magic = ipython.cell_magic(text)
    if magic is not None:
        if magic.kind is not None:
            head, body = text[: magic.start], text[magic.start :]
            inside = mapped(own, magic.start)
            yield Region(
                magic.kind, start, end, body, lambda new, _: restore(head + new), lambda at: place(inside(at)), cell
            )
        return
    masked = ipython.mask(text)
    inner = tuple(
        Inner(found.kind, found.inner, _within(place, mapped(own, found.inner_start))) for found in masked.magics
    )

    def unmasked(new: str, inners: Sequence[str]) -> str:
        return restore(masked.unmask(new, inners))

    yield Region("python", start, end, masked.text, unmasked, place, cell, group, inner)


def _within(
    outer: Callable[[Position], Position], inner: Callable[[Position], Position]
) -> Callable[[Position], Position]:
    return lambda position: outer(inner(position))
