"""Changing the entries of a mapping literal, with libcst on the text of that one literal."""

from __future__ import annotations

import libcst as cst

from neuron_codemods.arguments import value_of
from neuron_codemods.edits import CallEdit
from neuron_codemods.spacing import Space, comments_only, join, plain_line


def edit_mapping(
    text: str, edit: CallEdit, *, column: int, indentation: str, unit: str, newline: str, limit: int
) -> str:
    """The text of ``{...}`` after a change; comments on lines of their own, line breaks and trailing commas stay.

    One line that would grow past the line limit gets one entry a line. The places are those of ``edit_call``.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    mapping = cst.parse_expression(plain)
    assert isinstance(mapping, cst.Dict)
    elements = list(mapping.elements)
    for index, value in edit.values:
        elements[index] = elements[index].with_changes(value=value_of(value))
    for index, name in edit.renamed:
        elements[index] = elements[index].with_changes(key=_named(elements[index], name))
    mapping = _remove(mapping.with_changes(elements=elements), edit.removed)
    for name, value in edit.added:
        mapping = _add(mapping, name, value)
    result = _code(mapping)
    if "\n" not in result and column + len(result) > max(limit, column + len(plain)):
        result = _code(_one_a_line(mapping, indentation, unit))
    return result.replace("\n", newline)


def _code(mapping: cst.Dict) -> str:
    return cst.Module(body=[]).code_for_node(mapping)


def _one_a_line(mapping: cst.Dict, indentation: str, unit: str) -> cst.Dict:
    def line(indent: str) -> cst.ParenthesizedWhitespace:
        return cst.ParenthesizedWhitespace(last_line=cst.SimpleWhitespace(indent))

    comma = cst.Comma(whitespace_after=line(indentation + unit))
    elements = [element.with_changes(comma=comma) for element in mapping.elements]
    elements[-1] = elements[-1].with_changes(comma=cst.Comma())
    return mapping.with_changes(
        elements=elements,
        lbrace=cst.LeftCurlyBrace(whitespace_after=line(indentation + unit)),
        rbrace=cst.RightCurlyBrace(whitespace_before=line(indentation)),
    )


def _named(element: cst.BaseDictElement, name: str) -> cst.SimpleString:
    """A key in the quotes of the old one."""
    key = element.key if isinstance(element, cst.DictElement) else None
    quote = key.quote if isinstance(key, cst.SimpleString) else '"'
    return cst.SimpleString(f"{quote}{name}{quote}")


def _add(mapping: cst.Dict, name: str, value: str) -> cst.Dict:
    """The mapping with one more entry behind the others, set off as they are."""
    elements = list(mapping.elements)
    keys = [element.key for element in elements if isinstance(element, cst.DictElement)]
    quotes = [key.quote for key in keys if isinstance(key, cst.SimpleString)]
    quote = quotes[-1] if quotes else '"'
    fresh = cst.DictElement(cst.SimpleString(f"{quote}{name}{quote}"), value_of(value))
    if not elements:
        return mapping.with_changes(elements=[fresh])
    between = mapping.lbrace.whitespace_after if len(elements) == 1 else _space_after(mapping, 0)
    after = mapping.rbrace.whitespace_before
    if isinstance(between, cst.ParenthesizedWhitespace):
        between = between.with_changes(first_line=plain_line(between), empty_lines=[])
    elif len(elements) == 1:
        between = cst.SimpleWhitespace(" ")
    if isinstance(after, cst.ParenthesizedWhitespace) and after.first_line.comment:
        layout = between if isinstance(between, cst.ParenthesizedWhitespace) else after
        between = layout.with_changes(first_line=after.first_line)
        after = after.with_changes(first_line=plain_line(after))
    last = elements[-1]
    elements[-1:] = [
        last.with_changes(comma=cst.Comma(whitespace_after=between)),
        fresh.with_changes(comma=last.comma),
    ]
    return mapping.with_changes(elements=elements, rbrace=mapping.rbrace.with_changes(whitespace_before=after))


def _remove(mapping: cst.Dict, removed: frozenset[int]) -> cst.Dict:
    for index in sorted(removed, reverse=True):
        elements = list(mapping.elements)
        gone = elements.pop(index)
        before = mapping.lbrace.whitespace_after if index == 0 else _space_after(mapping, index - 1)
        after = _space_after(mapping, index)
        mapping = mapping.with_changes(elements=elements)
        if not elements:
            empty = cst.RightCurlyBrace()
            mapping = mapping.with_changes(rbrace=empty)
            return mapping.with_changes(lbrace=cst.LeftCurlyBrace(whitespace_after=comments_only(before, after)))
        is_last = index == len(elements)
        space = join(before, after, is_first=index == 0, is_last=is_last)
        if index == 0:
            mapping = mapping.with_changes(lbrace=mapping.lbrace.with_changes(whitespace_after=space))
        elif is_last:
            elements[-1] = elements[-1].with_changes(comma=gone.comma)
            mapping = mapping.with_changes(
                elements=elements, rbrace=mapping.rbrace.with_changes(whitespace_before=space)
            )
        else:
            elements[index - 1] = elements[index - 1].with_changes(comma=cst.Comma(whitespace_after=space))
            mapping = mapping.with_changes(elements=elements)
    return mapping


def _space_after(mapping: cst.Dict, index: int) -> Space:
    """The white space behind an entry; libcst gives that behind the last one to the brace, comma or not."""
    comma = mapping.elements[index].comma
    if index == len(mapping.elements) - 1 or not isinstance(comma, cst.Comma):
        return mapping.rbrace.whitespace_before
    return comma.whitespace_after
