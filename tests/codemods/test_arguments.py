"""Changing the arguments of a call: every operation on every layout, checked against what ``ast`` reads."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_codemods.arguments import edit_call, merge
from neuron_codemods.edits import CallEdit

NODE = ast.Call(ast.Name("f", ast.Load()), [], [])
Argument = tuple[str, str]
"""The keyword (or nothing, or stars) and the value of an argument, as ``ast`` writes it."""


def change(text: str, edit: CallEdit, *, limit: int = 88, newline: str = "\n", indentation: str = "") -> str:
    return edit_call(
        text, edit, column=len(indentation), indentation=indentation, unit="    ", newline=newline, limit=limit
    )


def remove(*indexes: int) -> CallEdit:
    return CallEdit(NODE, removed=frozenset(indexes))


def rename(index: int, name: str) -> CallEdit:
    return CallEdit(NODE, renamed=((index, name),))


def value(index: int, text: str) -> CallEdit:
    return CallEdit(NODE, values=((index, text),))


def add(**values: str) -> CallEdit:
    return CallEdit(NODE, added=tuple(values.items()))


def read(text: str) -> list[Argument]:
    """The arguments of a call in the order in which they are written."""
    call = ast.parse(f"({text}\n)", mode="eval").body
    assert isinstance(call, ast.Call)
    ordered = sorted([*call.args, *call.keywords], key=lambda item: (item.lineno, item.col_offset))
    result = []
    for item in ordered:
        if isinstance(item, ast.keyword):
            result.append((item.arg or "**", ast.unparse(item.value)))
        else:
            starred = isinstance(item, ast.Starred)
            result.append(("*" if starred else "", ast.unparse(item.value if starred else item)))
    return result


def expected(text: str, edit: CallEdit) -> list[Argument]:
    arguments: list[Argument | None] = list(read(text))
    for index, new in edit.values:
        arguments[index] = (arguments[index][0], ast.unparse(ast.parse(new, mode="eval").body))  # type: ignore[index]
    for index, name in edit.renamed:
        arguments[index] = (name, arguments[index][1])  # type: ignore[index]
    left = [item for index, item in enumerate(arguments) if index not in edit.removed and item is not None]
    for name, new in edit.added:
        end = len(left)
        while end and left[end - 1][0] == "**":
            end -= 1
        left.insert(end or len(left), (name, ast.unparse(ast.parse(new, mode="eval").body)))
    return left


def comments(text: str) -> list[str]:
    readable = text.replace("\r\n", "\n").replace("\r", "\n")
    tokens = tokenize.generate_tokens(io.StringIO(readable).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


LAYOUTS = {
    "one line": "f(1, b=2, c=3)",
    "one line with a trailing comma": "f(1, b=2, c=3,)",
    "spaces inside": "f( 1 , b = 2 , c = 3 )",
    "space before the parenthesis": "f (1, b=2, c=3)",
    "one a line": "f(\n    1,\n    b=2,\n    c=3,\n)",
    "one a line without a trailing comma": "f(\n    1,\n    b=2,\n    c=3\n)",
    "hanging": "f(1,\n  b=2,\n  c=3)",
    "two on a line": "f(\n    1, b=2,\n    c=3,\n)",
    "all on the next line": "f(\n    1, b=2, c=3\n)",
    "comments behind": "f(\n    1,  # one\n    b=2,  # two\n    c=3,  # three\n)",
    "comments behind without a trailing comma": "f(\n    1,  # one\n    b=2,  # two\n    c=3  # three\n)",
    "comments above": "f(\n    # one\n    1,\n    # two\n    b=2,\n    # three\n    c=3,\n    # end\n)",
    "a comment after the parenthesis": "f(  # why\n    1,\n    b=2,\n    c=3,\n)",
    "hanging with comments": "f(1,  # one\n  b=2,  # two\n  c=3  # three\n  )",
    "blank lines": "f(\n\n    1,\n\n    b=2,\n\n    c=3,\n\n)",
    "leading commas": "f(\n    1\n    , b=2\n    , c=3\n)",
    "backslashes": "f(1, \\\n    b=2, \\\n    c=3)",
    "nested calls": "f(g(1, x=2), b=h(\n    3,\n), c=f(c=3))",
    "stars": "f(*a, b=2, **c)",
    "stars a line": "f(\n    *a,\n    b=2,\n    **c,  # three\n)",
    "parenthesised": "f((1), b=(\n    2\n), c=(3))",
    "a lambda": "f(lambda x, y=1: (x, y), b=lambda *a: a, c=lambda: 0)",
    "strings side by side": "f('a' 'b', b='c'\n  'd', c=f'{x}' \"y\")",
    "a long string": 'f("""\n  one\n""", b="""\n    two""", c=3)',
    "a walrus": "f((x := 1), b=(y := 2), c=3)",
    "a conditional": "f(1 if x else 2, b=2 if y else 3, c=not z)",
    "a starred tuple": "f(*(1, 2), b=[*x], c={**y})",
    "an await": "f(await x, b=await y, c=3)",
    "subscripts": "f[0](a[1:2], b=x.y[z], c=d.e())",
    "tabs": "f(\n\t1,\n\tb=2,\n\tc=3,\n)",
    "not ASCII": "f('žluťoučký', b='🐍', c=ß)",
    "a generator and keywords": "f((x for x in y), b=2, c=3)",
}
OPERATIONS = {
    "remove the first": remove(0),
    "remove the middle one": remove(1),
    "remove the last": remove(2),
    "remove all but the first": remove(1, 2),
    "remove all but the last": remove(0, 1),
    "remove all": remove(0, 1, 2),
    "rename the middle one": rename(1, "fresh"),
    "give the middle one another value": value(1, "fresh(1, 2)"),
    "add one": add(fresh="1"),
    "add two": add(fresh="1", other="g(2)"),
    "remove the last and add": replace(remove(2), added=(("fresh", "1"),)),
    "remove all and add": replace(remove(0, 1, 2), added=(("fresh", "1"),)),
    "all at once": CallEdit(NODE, frozenset({0}), ((1, "fresh"),), ((1, "other"),), (("more", "1"),)),
}
NEWLINES = {"LF": "\n", "CRLF": "\r\n", "CR": "\r"}


every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
every_operation = pytest.mark.parametrize("edit", OPERATIONS.values(), ids=OPERATIONS)


@every_layout
@every_operation
def test_operation_on_layout(layout: str, edit: CallEdit) -> None:
    plain = change(layout, edit)
    for newline in NEWLINES.values():
        text = layout.replace("\n", newline)
        result = change(text, edit, newline=newline)
        assert read(result) == expected(text, edit)
        assert result == plain.replace("\n", newline)


@every_layout
def test_comments_of_what_stays_stay(layout: str) -> None:
    names = {0: "# one", 1: "# two", 2: "# three"}
    for edit in OPERATIONS.values():
        gone = {names[index] for index in edit.removed}
        before, after = comments(layout), comments(change(layout, edit))
        assert [comment for comment in after if comment not in gone] == [c for c in before if c not in gone], edit


@every_layout
def test_a_trailing_comma_stays(layout: str) -> None:
    for edit in OPERATIONS.values():
        if len(edit.removed) < len(read(layout)):
            assert ends_with_comma(change(layout, edit)) == ends_with_comma(layout), edit


def ends_with_comma(text: str) -> bool:
    tokens = [token.string for token in tokenize.generate_tokens(io.StringIO(text).readline)]
    plain = [token for token in tokens if token.strip() and not token.startswith("#")]
    return plain[-2] == ","


EXACT = (
    ("f(a=1)", remove(0), "f()"),
    ("f(\n    a=1,\n)", remove(0), "f()"),
    ("f(\n    # why\n    a=1,\n)", remove(0), "f(\n    # why\n)"),
    ("f(\n    a=1,\n    b=2,\n)", remove(1), "f(\n    a=1,\n)"),
    ("f(\n    a=1,\n    b=2\n)", remove(1), "f(\n    a=1\n)"),
    ("f(\n    a=1,\n    b=2,\n)", remove(0), "f(\n    b=2,\n)"),
    ("f(a=1,\n  b=2,\n  c=3)", remove(0), "f(b=2,\n  c=3)"),
    ("f(a=1,\n  b=2,\n  c=3)", remove(2), "f(a=1,\n  b=2)"),
    ("f(a=1, b=2)", remove(0), "f(b=2)"),
    ("f(a=1, b=2)", remove(1), "f(a=1)"),
    ("f(a=1, b=2,)", remove(1), "f(a=1,)"),
    (
        "f(\n    a=1,  # one\n    b=2,  # two\n    c=3,  # three\n)",
        remove(1),
        "f(\n    a=1,  # one\n    c=3,  # three\n)",
    ),
    ("f(\n    a=1,  # one\n    b=2,  # two\n)", remove(1), "f(\n    a=1,  # one\n)"),
    ("f(\n    a=1,  # one\n    b=2,  # two\n)", remove(0), "f(\n    b=2,  # two\n)"),
    ("f()", add(a="1"), "f(a=1)"),
    ("f( )", add(a="1"), "f(a=1)"),
    ("f(\n)", add(a="1"), "f(\n    a=1,\n)"),
    ("f(\n    # nothing\n)", add(a="1"), "f(\n    # nothing\n    a=1,\n)"),
    ("f(  # nothing\n)", add(a="1"), "f(  # nothing\n    a=1,\n)"),
    ("f(b)", add(a="1"), "f(b, a=1)"),
    ("f(b,)", add(a="1"), "f(b, a=1,)"),
    ("f(**b)", add(a="1"), "f(**b, a=1)"),
    ("f(**b, c=2)", add(a="1"), "f(**b, c=2, a=1)"),
    ("f(c=2, **b, **d)", add(a="1"), "f(c=2, a=1, **b, **d)"),
    ("f(c, **b)", add(a="1"), "f(c, a=1, **b)"),
    ("f(x for x in y)", add(a="1"), "f((x for x in y), a=1)"),
    ("f(\n    b=2,\n)", add(a="1"), "f(\n    b=2,\n    a=1,\n)"),
    ("f(\n    b=2\n)", add(a="1"), "f(\n    b=2,\n    a=1\n)"),
    ("f(\n    b=2,  # two\n)", add(a="1"), "f(\n    b=2,  # two\n    a=1,\n)"),
    ("f(\n    b=2  # two\n)", add(a="1"), "f(\n    b=2,  # two\n    a=1\n)"),
    ("f(b=2,\n  c=3)", add(a="1"), "f(b=2,\n  c=3,\n  a=1)"),
    ("f(\n    **b,  # two\n)", add(a="1"), "f(\n    **b,  # two\n    a=1,\n)"),
    ("f(a = 1)", rename(0, "b"), "f(b = 1)"),
    ("f(1)", rename(0, "b"), "f(b=1)"),
    ("f(\n    # why\n    a=1,  # one\n)", rename(0, "b"), "f(\n    # why\n    b=1,  # one\n)"),
    ("f(a='x' 'y')", value(0, "1"), "f(a=1)"),
    ("f((1))", value(0, "(a, b)"), "f((a, b))"),
    ("f(x for x in y)", rename(0, "a"), "f(a=(x for x in y))"),
    ("f(\n    a=1, b=2,\n    c=3, d=4,\n)", remove(1), "f(\n    a=1,\n    c=3, d=4,\n)"),
    ("f(\n    a=1, b=2,\n    c=3, d=4,\n)", remove(2), "f(\n    a=1, b=2,\n    d=4,\n)"),
    ("f(\n    a=1, b=2,  # both\n    c=3)", remove(1), "f(\n    a=1,  # both\n    c=3)"),
    ("f(\n    a=1, b=2  # both\n)", remove(1), "f(\n    a=1  # both\n)"),
    ("f(a=1,  # one\n  b=2)", remove(0), "f(b=2)"),
    ("f(a=1,\n  # two\n  b=2)", remove(0), "f(\n  # two\n  b=2)"),
    ("f(x for x in y)", remove(0), "f()"),
    ("f(  # why\n    a=1)", remove(0), "f(  # why\n    )"),
    ("f(a=g(\n    1,\n), b=2)", remove(1), "f(a=g(\n    1,\n))"),
)


@pytest.mark.parametrize(("text", "edit", "result"), EXACT, ids=[f"{text!r}" for text, _, _ in EXACT])
def test_exact(text: str, edit: CallEdit, result: str) -> None:
    assert change(text, edit) == result


def test_a_line_that_grows_too_long_gets_one_argument_a_line() -> None:
    text = "f(first_argument=1, second_argument=2)"
    assert change(text, add(third="3"), limit=40, indentation="    ") == (
        "f(\n        first_argument=1,\n        second_argument=2,\n        third=3,\n    )"
    )


def test_a_line_that_was_too_long_already_stays_one_line() -> None:
    text = "f(first_argument=1, second_argument=2)"
    assert change(text, remove(0), limit=10) == "f(second_argument=2)"


def test_only_the_newline_of_the_place_is_written() -> None:
    for newline in NEWLINES.values():
        result = change("f(first=1)", add(second="2"), limit=10, newline=newline)
        assert result == "f(\n    first=1,\n    second=2,\n)".replace("\n", newline)


@pytest.mark.parametrize("text", ["f(\r    a=1,\n    b=2,\r\n    c=3,\n)", "f(\n    a=1,\r\n    b=2,\n    c=3,\r\n)"])
def test_mixed_newlines_are_survived(text: str) -> None:
    assert read(change(text, remove(0))) == expected(text, remove(0))


def test_mixed_newlines_stay() -> None:
    assert change("f(\n    a=1,\r\n    b=2,\n)", rename(0, "x")) == "f(\n    x=1,\r\n    b=2,\n)"
    assert change("f(\r    a=1,\r\n    b=2,\r)", rename(0, "x")) == "f(\r    x=1,\r\n    b=2,\r)"


def test_what_is_no_call_is_refused() -> None:
    with pytest.raises(ValueError, match="not a call"):
        change("f", add(a="1"))


def test_the_first_of_two_changes_wins() -> None:
    merged = merge([rename(0, "a"), rename(0, "b"), value(0, "1"), value(0, "2"), add(c="1"), add(c="2"), remove(3)])
    assert merged == CallEdit(NODE, frozenset({3}), ((0, "a"),), ((0, "1"),), (("c", "1"),))


# Random calls -------------------------------------------------------------------------------------------------------

names = st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon"])
values = st.sampled_from(
    [
        *("1", "x", "'a' 'b'", "(1)", "(a, b)", "g(1, k=2)", "[*a]", "{**b}", "lambda: 0", "x if y else z", "f'{q}'"),
        *("-1", '"""\n long\n"""', "(yield)", "a[1:2]", "not x"),
    ]
)
spaces = st.sampled_from(["", " ", "\n    ", "  # note\n    ", "\n    # above\n    ", "\n\n  ", "\t"])


@st.composite
def calls(draw: st.DrawFn) -> str:
    positional = [draw(st.sampled_from(["", "*"])) + draw(values) for _ in range(draw(st.integers(0, 2)))]
    keywords = draw(st.lists(names, unique=True, max_size=4))
    written = [f"{name}{draw(st.sampled_from(['=', ' = ']))}{draw(values)}" for name in keywords]
    written += [f"**{draw(names)}"] * draw(st.integers(0, 1))
    parts = [draw(spaces)]
    arguments = [
        text.replace("*lambda: 0", "*x").replace("*not x", "*x").replace("*x if y else z", "*x") for text in positional
    ]
    arguments += written
    for index, argument in enumerate(arguments):
        parts.append(argument)
        if index + 1 < len(arguments) or draw(st.booleans()):
            parts += [draw(st.sampled_from(["", " "])), ","]
        parts.append(draw(spaces))
    return f"f({''.join(parts)})"


@given(calls(), st.data())
def test_any_call(text: str, data: st.DataObject) -> None:
    count = len(read(text))
    indexes = st.integers(0, count - 1) if count else st.nothing()
    removed = data.draw(st.frozensets(indexes))
    named = [index for index, (name, _) in enumerate(read(text)) if name not in ("*", "**")]
    positional_after = [index for index, (name, _) in enumerate(read(text)) if name in ("", "*")]
    renamed = [index for index in named if index >= max(positional_after, default=0)]
    edit = CallEdit(
        NODE,
        removed,
        tuple(
            (index, f"fresh{index}")
            for index in data.draw(st.sets(st.sampled_from(renamed)) if renamed else st.just(set()))
        ),
        tuple((index, "new(1)") for index in data.draw(st.sets(st.sampled_from(named)) if named else st.just(set()))),
        tuple((f"added{index}", "[1, 2]") for index in range(data.draw(st.integers(0, 2)))),
    )
    for newline in NEWLINES.values():
        written = text.replace("\n", newline)
        result = change(written, edit, newline=newline)
        assert read(result) == expected(text, edit)
        if not removed:
            assert comments(result) == comments(written)
    assert change(text, CallEdit(NODE), limit=1) == text


def test_arguments_that_become_one_a_line_keep_their_indentation() -> None:
    expected = "f(\n      a=1,\n      b=2,\n      c=3000000,\n  )"
    assert change("f(\n      a=1,\n      b=2)", add(c="3000000"), limit=12, indentation="  ") == expected
