"""The white space and comments between the items of a call or a mapping, when an item goes."""

from __future__ import annotations

import libcst as cst

Space = cst.BaseParenthesizableWhitespace


def breaks(space: Space) -> bool:
    """Whether white space holds a line break."""
    return isinstance(space, cst.ParenthesizedWhitespace)


def comments_only(before: Space, after: Space) -> Space:
    """What stays between the parentheses when the only argument goes: the comments above and below it."""
    lines = comment_lines(before) + comment_lines(after)
    noted = isinstance(before, cst.ParenthesizedWhitespace) and before.first_line.comment is not None
    layout = after if isinstance(after, cst.ParenthesizedWhitespace) else before
    if not isinstance(layout, cst.ParenthesizedWhitespace) or not (lines or noted):
        return cst.SimpleWhitespace("")
    first = before.first_line if isinstance(before, cst.ParenthesizedWhitespace) and noted else plain_line(layout)
    return layout.with_changes(first_line=first, empty_lines=lines)


def comment_lines(space: Space) -> list[cst.EmptyLine]:
    """The lines of white space that hold nothing but a comment."""
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return []
    return [line for line in space.empty_lines if line.comment is not None]


def plain_line(space: cst.ParenthesizedWhitespace) -> cst.TrailingWhitespace:
    """The line break of white space without the comment before it."""
    return cst.TrailingWhitespace(newline=space.first_line.newline)


def join(before: Space, after: Space, *, is_first: bool, is_last: bool) -> Space:
    """The space that is left where an argument was: line breaks stay, and comments on lines of their own.

    A comment behind the argument goes with it, unless another argument stands before it on the line.
    """
    lines = comment_lines(before) + comment_lines(after)
    if isinstance(before, cst.ParenthesizedWhitespace):
        noted = before.first_line.comment is not None
        layout = after if is_last and (breaks(after) or not (lines or noted)) else before
        if not isinstance(layout, cst.ParenthesizedWhitespace):
            return layout
        return layout.with_changes(first_line=before.first_line, empty_lines=lines)
    if isinstance(after, cst.ParenthesizedWhitespace) and is_first:
        return after.with_changes(first_line=plain_line(after), empty_lines=lines) if lines or is_last else before
    if isinstance(after, cst.ParenthesizedWhitespace):
        return after.with_changes(empty_lines=lines)
    return after if is_last else before
