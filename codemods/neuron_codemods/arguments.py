"""Reading and changing the arguments of a call, with libcst on the text of that one call."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from neuron_codemods.edits import CallEdit

_Space = cst.BaseParenthesizableWhitespace


def merge(edits: Sequence[CallEdit]) -> CallEdit:
    """All changes to one call as one; the first of two values for an argument or keyword wins."""
    renamed: dict[int, str] = {}
    values: dict[int, str] = {}
    added: dict[str, str] = {}
    removed: set[int] = set()
    for edit in edits:
        removed |= edit.removed
        for index, name in edit.renamed:
            renamed.setdefault(index, name)
        for index, value in edit.values:
            values.setdefault(index, value)
        for name, value in edit.added:
            added.setdefault(name, value)
    return CallEdit(
        edits[0].call, frozenset(removed), tuple(renamed.items()), tuple(values.items()), tuple(added.items())
    )


def edit_call(
    text: str, edit: CallEdit, *, column: int, indentation: str, unit: str, newline: str, limit: int
) -> str:
    """The text of a call after a change; comments, line breaks and trailing commas stay as they are.

    A call that would grow past the line limit gets one argument a line, unless it holds comments. ``column`` is where the call starts
    on its line, ``indentation`` that of the line, ``unit`` one step of the file's and ``limit`` its line length.
    """
    plain, restore = _without_lone_returns(text)
    call = cst.parse_expression(f"({plain})")
    if not isinstance(call, cst.Call):
        raise ValueError("the text is not a call")
    call = call.with_changes(lpar=call.lpar[1:], rpar=call.rpar[:-1])
    call = _edit_values(call, edit)
    call = _remove(call, edit.removed)
    call = _add(call, edit.added)
    result = _code(call)
    before, after = _longest(plain, column), _longest(result, column)
    if after > max(limit, before) and call.args and not _has_comments(call):
        result = _code(_one_a_line(call, indentation, unit, newline))
    return restore(result)


def _longest(text: str, column: int) -> int:
    """The length of the longest line of a text that starts in a column."""
    return max(map(len, (" " * column + text).splitlines()), default=0)


def _has_comments(call: cst.Call) -> bool:
    spaces = [call.whitespace_before_args, *(_space_after(argument) for argument in call.args)]
    return any(
        isinstance(space, cst.ParenthesizedWhitespace)
        and (space.first_line.comment or any(line.comment for line in space.empty_lines))
        for space in spaces
    )


def _code(node: cst.CSTNode) -> str:
    return cst.Module(body=[]).code_for_node(node)


def _without_lone_returns(text: str):  # type: ignore[no-untyped-def]
    """libcst does not know a lone carriage return as a newline; give it line feeds and turn them back after."""
    bare = text.replace("\r\n", "")
    if "\r" not in bare:
        return text, lambda result: result
    if "\n" in text:
        raise ValueError("a lone carriage return beside other newlines")
    return text.replace("\r", "\n"), lambda result: result.replace("\n", "\r")


def _edit_values(call: cst.Call, edit: CallEdit) -> cst.Call:
    arguments = list(call.args)
    for index, text in edit.values:
        arguments[index] = arguments[index].with_changes(value=cst.parse_expression(text))
    for index, name in edit.renamed:
        equal = arguments[index].equal
        if not isinstance(equal, cst.AssignEqual):
            space = cst.SimpleWhitespace("")
            equal = cst.AssignEqual(whitespace_before=space, whitespace_after=space)
        arguments[index] = arguments[index].with_changes(keyword=cst.Name(name), equal=equal)
    return call.with_changes(args=arguments)


# White space between arguments: the space before the first one belongs to the call, all other to the commas. ---------


def _space_after(argument: cst.Arg) -> _Space:
    comma = argument.comma
    return comma.whitespace_after if isinstance(comma, cst.Comma) else argument.whitespace_after_arg


def _with_space_after(argument: cst.Arg, space: _Space, comma: bool) -> cst.Arg:
    if comma:
        before = argument.comma.whitespace_before if isinstance(argument.comma, cst.Comma) else cst.SimpleWhitespace("")
        return argument.with_changes(
            whitespace_after_arg=cst.SimpleWhitespace(""), comma=cst.Comma(before, space)
        )
    return argument.with_changes(whitespace_after_arg=space, comma=cst.MaybeSentinel.DEFAULT)


def _breaks(space: _Space) -> bool:
    return isinstance(space, cst.ParenthesizedWhitespace)


def _remove(call: cst.Call, removed: frozenset[int]) -> cst.Call:
    for index in sorted(removed, reverse=True):
        arguments = list(call.args)
        gone = arguments.pop(index)
        before = call.whitespace_before_args if index == 0 else _space_after(arguments[index - 1])
        after = _space_after(gone)
        if not arguments:
            kept = _comment_lines(before) + _comment_lines(after)
            space: _Space = cst.SimpleWhitespace("")
            if kept and isinstance(after, cst.ParenthesizedWhitespace):
                space = after.with_changes(first_line=_plain_line(after), empty_lines=kept)
            call = call.with_changes(args=[], whitespace_before_args=space)
            continue
        last = index == len(arguments)
        space = _join(before, after, keep_break_of=after if last else before)
        if index == 0:
            call = call.with_changes(whitespace_before_args=space)
        else:
            comma = isinstance(gone.comma, cst.Comma) if last else True
            arguments[index - 1] = _with_space_after(arguments[index - 1], space, comma)
        call = call.with_changes(args=arguments)
    return call


def _comment_lines(space: _Space) -> list[cst.EmptyLine]:
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return []
    return [line for line in space.empty_lines if line.comment is not None]


def _plain_line(space: cst.ParenthesizedWhitespace) -> cst.TrailingWhitespace:
    return cst.TrailingWhitespace(newline=space.first_line.newline)


def _join(before: _Space, after: _Space, keep_break_of: _Space) -> _Space:
    """The space that is left where an argument was: comments on lines of their own stay."""
    lines = _comment_lines(before) + _comment_lines(after)
    layout = keep_break_of
    noted = isinstance(before, cst.ParenthesizedWhitespace) and before.first_line.comment is not None
    if not _breaks(layout) and (lines or noted):
        layout = before if _breaks(before) else after
    if not isinstance(layout, cst.ParenthesizedWhitespace):
        return layout
    first = before.first_line if isinstance(before, cst.ParenthesizedWhitespace) else _plain_line(layout)
    return layout.with_changes(first_line=first, empty_lines=lines)


def _add(call: cst.Call, added: Sequence[tuple[str, str]]) -> cst.Call:
    for name, text in added:
        arguments = list(call.args)
        stars = [index for index, argument in enumerate(arguments) if argument.star == "**"]
        index = stars[0] if stars else len(arguments)
        space = cst.SimpleWhitespace("")
        fresh = cst.Arg(
            value=cst.parse_expression(text),
            keyword=cst.Name(name),
            equal=cst.AssignEqual(whitespace_before=space, whitespace_after=space),
        )
        between = _separator(call)
        if index == 0:
            fresh = _with_space_after(fresh, between, comma=True) if arguments else fresh
        else:
            previous = arguments[index - 1]
            after = _space_after(previous)
            trailing = isinstance(previous.comma, cst.Comma)
            comment = cst.TrailingWhitespace()
            if isinstance(after, cst.ParenthesizedWhitespace):
                comment = after.first_line
                after = after.with_changes(first_line=_plain_line(after))
            if isinstance(between, cst.ParenthesizedWhitespace):
                between = between.with_changes(first_line=comment if comment.comment else _plain_line(between))
            elif comment.comment:
                between = call.whitespace_before_args
                if isinstance(between, cst.ParenthesizedWhitespace):
                    between = between.with_changes(first_line=comment)
                else:
                    between = cst.ParenthesizedWhitespace(first_line=comment)
            arguments[index - 1] = _with_space_after(previous, between, comma=True)
            fresh = _with_space_after(fresh, after, trailing)
        arguments.insert(index, fresh)
        call = call.with_changes(args=arguments)
    return call


def _separator(call: cst.Call) -> _Space:
    """The white space that this call puts between two arguments."""
    between = [_space_after(argument) for argument in call.args[:-1]]
    for space in reversed(between):
        if isinstance(space, cst.ParenthesizedWhitespace):
            return space.with_changes(first_line=_plain_line(space), empty_lines=[])
    if not between and isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace):
        space = call.whitespace_before_args
        return space.with_changes(first_line=_plain_line(space), empty_lines=[])
    return cst.SimpleWhitespace(" ")


def _one_a_line(call: cst.Call, indentation: str, unit: str, newline: str) -> cst.Call:
    def line(indent: str) -> cst.ParenthesizedWhitespace:
        return cst.ParenthesizedWhitespace(
            first_line=cst.TrailingWhitespace(newline=cst.Newline(newline)),
            last_line=cst.SimpleWhitespace(indent),
        )

    arguments = [_with_space_after(argument, line(indentation + unit), comma=True) for argument in call.args]
    arguments[-1] = _with_space_after(arguments[-1], line(indentation), comma=True)
    return call.with_changes(args=arguments, whitespace_before_args=line(indentation + unit))
