"""Reading and changing the arguments of a call, with libcst on the text of that one call."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from neuron_codemods.edits import CallEdit
from neuron_codemods.source import parse_expression
from neuron_codemods.spacing import Space, comments_only, join, plain_line

_RETURN = re.compile(r"\r(?!\n)")


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


def edit_call(text: str, edit: CallEdit, *, column: int, indentation: str, unit: str, newline: str, limit: int) -> str:
    """The text of a call after a change; comments, line breaks and trailing commas stay as they are.

    A call that would grow past the line limit gets one argument a line, unless it holds comments. ``column`` is where
    the call starts on its line, ``indentation`` that of the line, ``unit`` one step of the file's, ``newline`` that of
    the line and ``limit`` the file's line length.
    """
    plain, returns = _without_returns(text, newline)
    default = _first_newline(plain) or returns or newline
    call = cst.parse_expression(f"({plain})")
    if not isinstance(call, cst.Call):
        raise ValueError("the text is not a call")
    call = call.with_changes(lpar=call.lpar[1:], rpar=call.rpar[:-1])
    call = _edit_values(call, edit)
    between = _separator(call, unit)
    call = _remove(call, edit.removed)
    call = _add(call, edit.added, unit, between)
    result = _code(call, default)
    before, after = _longest(plain, column), _longest(result, column)
    if after > max(limit, before) and call.args and not _has_comments(call):
        result = _code(_one_a_line(call, indentation, unit), default)
    return re.sub(rf"(?<!\r){returns}", "\r", result) if returns else result


def value_of(text: str) -> cst.BaseExpression:
    """A value as it can stand behind ``name=``: in parentheses where it needs them (``a := b``, ``yield``)."""
    return cst.parse_expression(text if parse_expression(text) is not None else f"({text})")


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


def _code(node: cst.CSTNode, newline: str) -> str:
    return cst.Module(body=[], default_newline=newline).code_for_node(node)


def _first_newline(text: str) -> str:
    """The first newline of a text: libcst writes all that are like it as the default of the module."""
    match = re.search(r"\r\n|\n", text)
    return match.group() if match else ""


def _without_returns(text: str, newline: str) -> tuple[str, str]:
    """A text without lone carriage returns, which libcst does not know as newlines, and what stands for them."""
    if newline != "\r" and not _RETURN.search(text):
        return text, ""
    used = set(re.findall(r"\r\n|\n", text))
    free = [other for other in ("\n", "\r\n") if other not in used]
    return _RETURN.sub(free[0] if free else "\n", text), free[0] if free else ""


def _edit_values(call: cst.Call, edit: CallEdit) -> cst.Call:
    arguments = list(call.args)
    for index, text in edit.values:
        arguments[index] = arguments[index].with_changes(value=value_of(text))
    for index, name in edit.renamed:
        equal = arguments[index].equal
        if not isinstance(equal, cst.AssignEqual):
            space = cst.SimpleWhitespace("")
            equal = cst.AssignEqual(whitespace_before=space, whitespace_after=space)
        arguments[index] = arguments[index].with_changes(keyword=cst.Name(name), equal=equal)
    if edit.renamed or edit.added:
        arguments = [argument.with_changes(value=_enclosed(argument.value)) for argument in arguments]
    return call.with_changes(args=arguments)


def _enclosed(value: cst.BaseExpression) -> cst.BaseExpression:
    """A generator is written without parentheses of its own only where it is the one argument."""
    if isinstance(value, cst.GeneratorExp) and not value.lpar:
        return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return value


# White space between arguments: the space before the first one belongs to the call, all other to the commas. ---------


def _space_after(argument: cst.Arg) -> Space:
    comma = argument.comma
    return comma.whitespace_after if isinstance(comma, cst.Comma) else argument.whitespace_after_arg


def _with_space_after(argument: cst.Arg, space: Space, comma: bool) -> cst.Arg:
    if comma:
        before = (
            argument.comma.whitespace_before if isinstance(argument.comma, cst.Comma) else cst.SimpleWhitespace("")
        )
        return argument.with_changes(whitespace_after_arg=cst.SimpleWhitespace(""), comma=cst.Comma(before, space))
    return argument.with_changes(whitespace_after_arg=space, comma=cst.MaybeSentinel.DEFAULT)


def _remove(call: cst.Call, removed: frozenset[int]) -> cst.Call:
    for index in sorted(removed, reverse=True):
        arguments = list(call.args)
        gone = arguments.pop(index)
        before = call.whitespace_before_args if index == 0 else _space_after(arguments[index - 1])
        after = _space_after(gone)
        if not arguments:
            call = call.with_changes(args=[], whitespace_before_args=comments_only(before, after))
            continue
        last = index == len(arguments)
        space = join(before, after, is_first=index == 0, is_last=last)
        if index == 0:
            call = call.with_changes(whitespace_before_args=space)
        else:
            comma = isinstance(gone.comma, cst.Comma) if last else True
            arguments[index - 1] = _with_space_after(arguments[index - 1], space, comma)
        call = call.with_changes(args=arguments)
    return call


def _add(call: cst.Call, added: Sequence[tuple[str, str]], unit: str, between: Space) -> cst.Call:
    """Add keywords, each set off from the others by the white space that the call had between two arguments."""
    separator = between
    for name, text in added:
        arguments = list(call.args)
        index = _place(arguments)
        space = cst.SimpleWhitespace("")
        fresh = cst.Arg(
            value=value_of(text),
            keyword=cst.Name(name),
            equal=cst.AssignEqual(whitespace_before=space, whitespace_after=space),
        )
        between = separator
        if not arguments:
            call = _with_first(call, fresh, unit)
            continue
        previous = arguments[index - 1]
        after = _space_after(previous)
        trailing = isinstance(previous.comma, cst.Comma)
        comment = cst.TrailingWhitespace()
        if isinstance(after, cst.ParenthesizedWhitespace):
            comment = after.first_line
            after = after.with_changes(first_line=plain_line(after))
        if isinstance(between, cst.ParenthesizedWhitespace):
            between = between.with_changes(first_line=comment if comment.comment else plain_line(between))
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


def _place(arguments: Sequence[cst.Arg]) -> int:
    """Where a new keyword belongs: last, but before the ``**mapping`` that ends a call with other arguments."""
    end = len(arguments)
    while end and arguments[end - 1].star == "**":
        end -= 1
    return end or len(arguments)


def _with_first(call: cst.Call, fresh: cst.Arg, unit: str) -> cst.Call:
    """A call that had no arguments with its first one, below what stands between the parentheses."""
    inside = call.whitespace_before_args
    if not isinstance(inside, cst.ParenthesizedWhitespace):
        return call.with_changes(args=[fresh], whitespace_before_args=cst.SimpleWhitespace(""))
    end = inside.last_line.value
    after = cst.ParenthesizedWhitespace(first_line=plain_line(inside), last_line=inside.last_line)
    before = inside.with_changes(last_line=cst.SimpleWhitespace(end + unit))
    return call.with_changes(args=[_with_space_after(fresh, after, comma=True)], whitespace_before_args=before)


def _separator(call: cst.Call, unit: str) -> Space:
    """The white space that this call puts between two arguments."""
    between = [_space_after(argument) for argument in call.args[:-1]]
    for space in reversed(between):
        if isinstance(space, cst.ParenthesizedWhitespace):
            return space.with_changes(first_line=plain_line(space), empty_lines=[])
    if not between and isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace):
        space = call.whitespace_before_args
        indent = space.last_line.value if call.args else space.last_line.value + unit
        last_line = cst.SimpleWhitespace(indent)
        return space.with_changes(first_line=plain_line(space), empty_lines=[], last_line=last_line)
    return cst.SimpleWhitespace(" ")


def _one_a_line(call: cst.Call, indentation: str, unit: str) -> cst.Call:
    def line(indent: str) -> cst.ParenthesizedWhitespace:
        return cst.ParenthesizedWhitespace(last_line=cst.SimpleWhitespace(indent))

    first, inner = call.whitespace_before_args, indentation + unit
    if isinstance(first, cst.ParenthesizedWhitespace) and len(first.last_line.value) > len(indentation):
        inner = first.last_line.value  # as the call has it already
    arguments = [_with_space_after(argument, line(inner), comma=True) for argument in call.args]
    arguments[-1] = _with_space_after(arguments[-1], line(indentation), comma=True)
    return call.with_changes(args=arguments, whitespace_before_args=line(inner))
