"""Changing the entries of a mapping literal, with libcst on the text of that one literal."""

from __future__ import annotations

import libcst as cst

from neuron_codemods.edits import CallEdit
from neuron_codemods.spacing import Space, comments_only, join


def edit_mapping(text: str, edit: CallEdit, newline: str) -> str:
    """The text of ``{...}`` after a change; comments on lines of their own, line breaks and trailing commas stay."""
    mapping = cst.parse_expression(text.replace("\r\n", "\n").replace("\r", "\n"))
    if not isinstance(mapping, cst.Dict):
        raise ValueError("the text is not a mapping")
    elements = list(mapping.elements)
    for index, value in edit.values:
        elements[index] = elements[index].with_changes(value=cst.parse_expression(value))
    for index, name in edit.renamed:
        elements[index] = elements[index].with_changes(key=_named(elements[index], name))
    mapping = _remove(mapping.with_changes(elements=elements), edit.removed)
    return cst.Module(body=[]).code_for_node(mapping).replace("\n", newline)


def _named(element: cst.BaseDictElement, name: str) -> cst.SimpleString:
    """A key in the quotes of the old one."""
    key = element.key if isinstance(element, cst.DictElement) else None
    quote = key.quote if isinstance(key, cst.SimpleString) else '"'
    return cst.SimpleString(f"{quote}{name}{quote}")


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
        space = join(before, after, keep_break_of=after if is_last else before)
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
