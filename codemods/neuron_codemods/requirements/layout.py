"""Changes to the elements of an array of strings, in the layout that the array has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from neuron_codemods.edits import Edit
from neuron_codemods.source import Text

_REST_OF_LINE = re.compile(r"[ \t]*(?P<comma>,?)[ \t]*(#[^\r\n]*)?[\r\n]*")
_COMMA = re.compile(r"\s*,[ \t]*")

Span = tuple[int, int]


def edits(text: Text, elements: Sequence[tuple[Span, Sequence[str] | None]]) -> dict[Span, Edit]:
    """The changes to one array, each under the place of its element.

    ``elements`` are its elements in order, each with what stands there instead, as it is to be written: nothing to
    take it out, None to leave it. Elements that go together, because they share a comma, have one change under the
    place of the first.
    """
    replaced = {span: _replaced(text, span, new) for span, new in elements if new}
    return replaced | {span: Edit.delete(gone) for span, gone in _deleted(text, elements)}


def _replaced(text: Text, span: Span, new: Sequence[str]) -> Edit:
    separator = ", "
    if not text.text[text.line_start(span[0]) : span[0]].strip():  # it begins its line: so do the new ones
        separator = "," + text.newline(span[0]) + text.indentation(span[0])
    return Edit.replace(span, separator.join(new))


def _deleted(text: Text, elements: Sequence[tuple[Span, Sequence[str] | None]]) -> Iterator[tuple[Span, Span]]:
    """The elements that go and the stretches that go with them: whole lines, or the commas that are too many."""
    last = len(elements) - 1
    goes = [
        new is not None and not new and not _has_its_line(text, span, is_last=number == last)
        for number, (span, new) in enumerate(elements)
    ]
    for number, (span, new) in enumerate(elements):
        if new is not None and not new and not goes[number]:
            yield span, (text.line_start(span[0]), text.line_end(span[1]))
        if not goes[number] or (number and goes[number - 1]):
            continue
        end = number
        while end + 1 < len(goes) and goes[end + 1]:
            end += 1
        if end + 1 < len(goes):
            yield span, (span[0], elements[end + 1][0][0])
        elif number:
            yield span, (elements[number - 1][0][1], elements[end][0][1])
        else:
            comma = _COMMA.match(text.text, elements[end][0][1])
            yield span, (span[0], comma.end() if comma else elements[end][0][1])


def _has_its_line(text: Text, span: Span, *, is_last: bool) -> bool:
    """Whether its line can go as a whole: its comma, if it needs one, stands there too."""
    before = text.text[text.line_start(span[0]) : span[0]]
    behind = _REST_OF_LINE.fullmatch(text.text, span[1], text.line_end(span[1]))
    return not before.strip() and behind is not None and (is_last or bool(behind["comma"]))
