"""Whole statements and lines: what is inserted, removed and unwrapped, and what stands beside it and stays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

import pytest

from neuron_codemods import Outcome, Settings, edits, migrate, statements
from neuron_codemods.module import Module

NEWLINES = {"LF": "\n", "CRLF": "\r\n", "CR": "\r"}
NAMES = Settings(select=("NM0", "NM101", "NM102"))
MARKER = "# TODO(neuron-migrate NM003): "


def transform(text: str, edit: Callable[[Module], Iterable[edits.Edit]]) -> str:
    module = Module(text)
    result = edits.apply(text, edit(module))
    ast.parse(result)
    return result


def marked(module: Module, prefix: str = "gone") -> list[ast.stmt]:
    """The statements that mention a name with this prefix and hold no other statement."""
    return [
        statement
        for statement in module.names.statements
        if not hasattr(statement, "body")
        and not hasattr(statement, "cases")
        and any(isinstance(node, ast.Name) and node.id.startswith(prefix) for node in ast.walk(statement))
    ]


def remove(text: str) -> str:
    return transform(text, lambda module: statements.remove(module, marked(module)))


def before(text: str) -> str:
    return transform(text, lambda module: [statements.insert_before(module, marked(module)[0], ["new()"])])


def after(text: str) -> str:
    return transform(text, lambda module: statements.insert_after(module, marked(module)[0], ["new()"]))


def unwrap(text: str) -> str:
    def edit(module: Module) -> list[edits.Edit]:
        blocks = (ast.With, ast.AsyncWith, ast.For)
        found = [statement for statement in module.names.statements if isinstance(statement, blocks)]
        return [statements.unwrap(module, statement) for statement in found]  # type: ignore[arg-type]

    return transform(text, edit)


# Removing -----------------------------------------------------------------------------------------------------------

REMOVED = {
    "lines that follow each other": ("a\n\ngone_1\ngone_2\n\nb\n", "a\n\nb\n"),
    "lines of which only some go": ("a\n\ngone_1\nb\ngone_2\n\nc\n", "a\n\nb\n\nc\n"),
    "a comment about compiling": ("a\n\n# Compiler settings,\n# once\ngone_1\ngone_2\n\nb\n", "a\n\nb\n"),
    "a comment about shapes at the end of a block": ("if a:\n    b\n    # shapes\n    gone\nc\n", "if a:\n    b\nc\n"),
    "a comment about compiling at the end": ("a\n# Neuron\ngone\n", "a\n"),
    "a comment about what stays": ("a\n\n# Compile.\ngone\nb\n", "a\n\n# Compile.\nb\n"),
    "another comment": ("# Ours.\ngone\n\nb\n", "# Ours.\n\nb\n"),
    "a comment that is code": ("a\n# compile(b)\ngone\n\nb\n", "a\n# compile(b)\n\nb\n"),
    "a cell of an editor": ("a\n# %% compile\ngone\n\nb\n", "a\n# %% compile\n\nb\n"),
    "a comment further right": ("if a:\n    b\n    # shapes\ngone\n\nc\n", "if a:\n    b\n    # shapes\n\nc\n"),
    "a line": ("a\ngone\nb\n", "a\nb\n"),
    "the first line": ("gone\na\n", "a\n"),
    "the last line": ("a\ngone\n", "a\n"),
    "the last line without a newline": ("a\ngone", "a\n"),
    "the only line": ("gone\n", ""),
    "several lines": ("a\ngone(\n    1,\n)\nb\n", "a\nb\n"),
    "two lines": ("a\ngone\ngone\nb\n", "a\nb\n"),
    "a comment above": ("a\n# about it\ngone\nb\n", "a\n# about it\nb\n"),
    "a comment behind": ("a\ngone  # noqa\nb\n", "a\nb\n"),
    "blank lines on both sides": ("a\n\ngone\n\nb\n", "a\n\nb\n"),
    "a blank line above": ("a\n\ngone\nb\n", "a\n\nb\n"),
    "a blank line below": ("a\ngone\n\nb\n", "a\n\nb\n"),
    "blank lines below the first line": ("gone\n\n\nb\n", "b\n"),
    "a licence above": ("# licence\n\ngone\n\nb\n", "# licence\n\nb\n"),
    "the only statement of a block": ("if a:\n    gone\nb\n", "if a:\n    pass\nb\n"),
    "the only statement with a comment": ("if a:\n    gone  # why\nb\n", "if a:\n    pass  # why\nb\n"),
    "the only two of a block": ("if a:\n    gone\n    gone\nb\n", "if a:\n    pass\nb\n"),
    "one of a block": ("if a:\n    gone\n    b\n", "if a:\n    b\n"),
    "the only statement of an else": ("if a:\n    b\nelse:\n    gone\n", "if a:\n    b\nelse:\n    pass\n"),
    "the only statement of a handler": ("try:\n    a\nexcept E:\n    gone\n", "try:\n    a\nexcept E:\n    pass\n"),
    "the only statement of a finally": ("try:\n    a\nfinally:\n    gone\n", "try:\n    a\nfinally:\n    pass\n"),
    "the only statement of a case": ("match a:\n    case 1:\n        gone\n", "match a:\n    case 1:\n        pass\n"),
    "a block below a docstring": ('def f():\n    """Doc."""\n    gone\n', 'def f():\n    """Doc."""\n'),
    "a one-line suite": ("if a: gone\nb\n", "if a: pass\nb\n"),
    "the first in a one-line suite": ("if a: gone; b\n", "if a: b\n"),
    "the last in a one-line suite": ("if a: b; gone\n", "if a: b\n"),
    "both in a one-line suite": ("if a: gone; gone\n", "if a: pass\n"),
    "the first of a line": ("gone; a; b\n", "a; b\n"),
    "the middle of a line": ("a; gone; b\n", "a; b\n"),
    "the last of a line": ("a; gone\n", "a\n"),
    "the last of a line with a comment": ("a; gone  # why\n", "a  # why\n"),
    "the last two of a line": ("a; gone; gone\nb\n", "a\nb\n"),
    "the first two of a line": ("gone; gone; a\n", "a\n"),
    "the outer two of a line": ("gone; a; gone\n", "a\n"),
    "all of a line": ("a\ngone; gone; gone\nb\n", "a\nb\n"),
    "a trailing semicolon": ("a\ngone;\nb\n", "a\nb\n"),
    "a semicolon behind the last": ("a; gone;\n", "a;\n"),
    "a semicolon over two lines": ('gone; a = """\n"""; gone\n', 'a = """\n"""\n'),
    "tabs": ("if a:\n\tgone\n\tb\n", "if a:\n\tb\n"),
    "not ASCII": ("'ž'; gone; 'š'\n", "'ž'; 'š'\n"),
    "a form feed": ("a\n\x0cgone\nb\n", "a\nb\n"),
    "a backslash": ("a\ngone + \\\n    1\nb\n", "a\nb\n"),
}


@pytest.mark.parametrize("newline", NEWLINES.values(), ids=NEWLINES)
@pytest.mark.parametrize(("text", "result"), REMOVED.values(), ids=REMOVED)
def test_remove(text: str, result: str, newline: str) -> None:
    assert remove(text.replace("\n", newline)) == result.replace("\n", newline)


def test_remove_a_decorated_function() -> None:
    def edit(module: Module) -> list[edits.Edit]:
        return statements.remove(
            module, [node for node in module.names.statements if isinstance(node, ast.FunctionDef)]
        )

    assert transform("a\n\n\n@b\n@c(\n    1\n)\ndef f(): ...\n\n\nd\n", edit) == "a\n\n\n\nd\n"
    assert transform("class A:\n    @b\n    def f(self): ...\n", edit) == "class A:\n    pass\n"


def test_remove_with_the_comments_above() -> None:
    def edit(module: Module) -> list[edits.Edit]:
        return statements.remove(module, marked(module), commented=marked(module))

    assert transform("a\n# one\n# two\ngone\nb\n", edit) == "a\nb\n"
    assert transform("# one\n\n# two\ngone\nb\n", edit) == "# one\n\nb\n"


# Inserting ----------------------------------------------------------------------------------------------------------

INSERTED_BEFORE = {
    "a line": ("a\ngone\n", "a\nnew()\ngone\n"),
    "the first line": ("gone\n", "new()\ngone\n"),
    "a comment above": ("a\n# about it\ngone\n", "a\n# about it\nnew()\ngone\n"),
    "a block": ("if a:\n    gone\n", "if a:\n    new()\n    gone\n"),
    "a block of tabs": ("if a:\n\t\tgone\n", "if a:\n\t\tnew()\n\t\tgone\n"),
    "a one-line suite": ("if a: gone\n", "new()\nif a: gone\n"),
    "a nested one-line suite": ("class A:\n    def f(self): gone\n", "class A:\n    new()\n    def f(self): gone\n"),
    "a semicolon": ("a; gone\n", "new()\na; gone\n"),
    "a semicolon in a block": ("if a:\n    b; c; gone\n", "if a:\n    new()\n    b; c; gone\n"),
    "a semicolon after a string over two lines": ('a = """\n"""; gone\n', 'new()\na = """\n"""; gone\n'),
    "a continued line": ("a; \\\n  gone\n", "new()\na; \\\n  gone\n"),
    "a continued suite": ("if a: \\\n  gone\n", "new()\nif a: \\\n  gone\n"),
    "a comment that ends in a backslash": ("a  # \\\ngone\n", "a  # \\\nnew()\ngone\n"),
    "a form feed": ("a\n\x0cgone\n", "a\nnew()\n\x0cgone\n"),
    "no newline at the end": ("gone", "new()\ngone"),
}
INSERTED_AFTER = {
    "a line": ("gone\na\n", "gone\nnew()\na\n"),
    "the last line": ("gone\n", "gone\nnew()\n"),
    "no newline at the end": ("gone", "gone\nnew()"),
    "several lines": ("gone(\n    1,\n)\na\n", "gone(\n    1,\n)\nnew()\na\n"),
    "a string over two lines": ('gone = """\n"""\na\n', 'gone = """\n"""\nnew()\na\n'),
    "a comment behind": ("gone  # why\na\n", "gone  # why\nnew()\na\n"),
    "a comment below": ("gone\n# about a\na\n", "gone\nnew()\n# about a\na\n"),
    "a block": ("if a:\n    gone\nb\n", "if a:\n    gone\n    new()\nb\n"),
    "a block without a newline at the end": ("if a:\n\tgone", "if a:\n\tgone\n\tnew()"),
    "a semicolon": ("gone; a\nb\n", "gone; new(); a\nb\n"),
    "a semicolon in a block": ("if a:\n    b; gone; return_; c\nd\n", "if a:\n    b; gone; new(); return_; c\nd\n"),
    "a one-line suite": ("if a: gone\nb\n", "if a: gone; new()\nb\n"),
    "the first in a one-line suite": ("if a: gone; b\nc\n", "if a: gone; new(); b\nc\n"),
    "a semicolon over two lines": ('gone; a = """\n"""\nb\n', 'gone; new(); a = """\n"""\nb\n'),
    "a semicolon behind the line": ("gone;\nb\n", "gone;\nnew()\nb\n"),
    "a semicolon and a continuation": ("a; gone ;\\\n b; c\n", "a; gone; new() ;\\\n b; c\n"),
}


@pytest.mark.parametrize("newline", NEWLINES.values(), ids=NEWLINES)
@pytest.mark.parametrize(("text", "result"), INSERTED_BEFORE.values(), ids=INSERTED_BEFORE)
def test_insert_before(text: str, result: str, newline: str) -> None:
    if newline in text or newline == "\n":
        assert before(text) == result
    elif "\n" in text:
        assert before(text.replace("\n", newline)) == result.replace("\n", newline)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a = 1; use(a)\n", "a = 1; new(a); use(a)\n"),
        ("for a in b: use(a)\n", "for a in b: new(a); use(a)\n"),
        ("a = 1\nuse(a)\n", "a = 1\nnew(a)\nuse(a)\n"),
        ("if b: pass\nelif a: pass\nelif use(a): pass\n", "new(a)\nif b: pass\nelif a: pass\nelif use(a): pass\n"),
    ],
)
def test_code_stands_between_a_statement_and_what_runs_before_it(text: str, result: str) -> None:
    module = Module(text)
    (call,) = module.calls
    edit = statements.insert_right_before(module, module.statement(call), ["new(a)"])
    assert edits.apply(text, [edit]) == result


@pytest.mark.parametrize("newline", NEWLINES.values(), ids=NEWLINES)
@pytest.mark.parametrize(("text", "result"), INSERTED_AFTER.values(), ids=INSERTED_AFTER)
def test_insert_after(text: str, result: str, newline: str) -> None:
    if newline in text or newline == "\n":
        assert after(text) == result
    elif "\n" in text:
        assert after(text.replace("\n", newline)) == result.replace("\n", newline)


def test_inserted_lines_take_the_newline_of_the_place() -> None:
    assert before("a\r\ngone\nb\r\n") == "a\r\nnew()\ngone\nb\r\n"
    assert after("a\ngone\r\nb\n") == "a\ngone\r\nnew()\r\nb\n"
    assert after("a\r\ngone") == "a\r\ngone\r\nnew()"


def test_blank_lines_are_not_indented() -> None:
    def edit(module: Module) -> list[edits.Edit]:
        return statements.insert_after(module, marked(module)[0], ["", "new()"])

    assert transform("if a:\n    gone\n", edit) == "if a:\n    gone\n\n    new()\n"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("gone; b\n", "gone\nif c:\n    d\nfor e in c:\n    f\nb\n"),
        (
            "if a: gone; return b\n",
            "if a:\n    gone\n    if c:\n        d\n    for e in c:\n        f\n    return b\n",
        ),
        (
            "class A:\n  def f(self): x; gone\n",
            "class A:\n  def f(self):\n    x; gone\n    if c:\n        d\n    for e in c:\n        f\n",
        ),
    ],
)
def test_lines_with_blocks_break_the_line(text: str, result: str) -> None:
    def edit(module: Module) -> list[edits.Edit]:
        blocks = (["if c:", "    d"], ["for e in c:", "    f"])
        return [each for lines in blocks for each in statements.insert_after(module, marked(module)[0], lines)]

    assert transform(text, edit) == result


# Unwrapping ---------------------------------------------------------------------------------------------------------

UNWRAPPED = {
    "a block": ("with a:\n    b\n    c\nd\n", "b\nc\nd\n"),
    "no newline at the end": ("with a:\n    b", "b"),
    "one line": ("with a: b\nc\n", "b\nc\n"),
    "one line with two statements": ("with a: b; c\nd\n", "b; c\nd\n"),
    "a header over several lines": ("with a(\n    1,\n):\n    b\n", "b\n"),
    "a header over several lines and a one-line body": ("with a(\n    1,\n): b\nc\n", "b\nc\n"),
    "inside of a function": (
        "def f():\n    with a:\n        b\n        c\n    d\n",
        "def f():\n    b\n    c\n    d\n",
    ),
    "the only statement of a function": ("def f():\n    with a:\n        return b\n", "def f():\n    return b\n"),
    "tabs": ("def f():\n\twith a:\n\t\tb\n\t\tif c:\n\t\t\td\n", "def f():\n\tb\n\tif c:\n\t\td\n"),
    "two spaces in four": (
        "if x:\n    with a:\n      b\n      if c:\n          d\n",
        "if x:\n    b\n    if c:\n        d\n",
    ),
    "comments": (
        "with a:  # why\n    # above\n    b  # behind\n\n    # between\n    c\n",
        "# why\n# above\nb  # behind\n\n# between\nc\n",
    ),
    "comments to the left": ("with a:\n# left\n    b\n  # less\n    c\n", "# left\nb\n# less\nc\n"),
    "blank lines": ("with a:\n\n    b\n\n\n    c\n", "b\n\n\nc\n"),
    "a string over several lines": (
        'with a:\n    b = """\n    kept\n  kept\nkept\n    """\n    c\n',
        'b = """\n    kept\n  kept\nkept\n    """\nc\n',
    ),
    "an f-string over several lines": (
        'with a:\n    b = f"""\n    {kept}\n    """\n    c\n',
        'b = f"""\n    {kept}\n    """\nc\n',
    ),
    "bytes over several lines": ('with a:\n    b = b"""\n    kept"""\n', 'b = b"""\n    kept"""\n'),
    "a docstring in a function": (
        'with a:\n    def f():\n        """One.\n\n        Two.\n        """\n',
        'def f():\n    """One.\n\n        Two.\n        """\n',
    ),
    "arguments to the left": ("with a:\n    b(\n  1,\n    )\n    c\n", "b(\n1,\n)\nc\n"),
    "backslashes": ("with a:\n    b = 1 + \\\n        2\n    c\n", "b = 1 + \\\n    2\nc\n"),
    "a decorated function": ("with a:\n    @b\n    def f(): ...\n", "@b\ndef f(): ...\n"),
    "compound statements": (
        "with a:\n    if b:\n        c\n    elif d:\n        e\n    else:\n        f\n",
        "if b:\n    c\nelif d:\n    e\nelse:\n    f\n",
    ),
    "nested": ("with a:\n    with b:\n        c\n    d\n", "c\nd\n"),
    "a loop": ("for _ in a:\n    b\n    c\n", "b\nc\n"),
    "an asynchronous block": ("async def f():\n    async with a:\n        await b\n", "async def f():\n    await b\n"),
    "a colon in the header": ("with a[1:2], b({1: 2}), c(lambda: 0):  # x: y\n    d\n", "# x: y\nd\n"),
    "not ASCII": ("with a('ž'):\n    b = 'š'\n    c = '🐍'\n", "b = 'š'\nc = '🐍'\n"),
    "a slice first": ("with a:\n    {1: 2}[1]\n", "{1: 2}[1]\n"),
}


@pytest.mark.parametrize("newline", NEWLINES.values(), ids=NEWLINES)
@pytest.mark.parametrize(("text", "result"), UNWRAPPED.values(), ids=UNWRAPPED)
def test_unwrap(text: str, result: str, newline: str) -> None:
    assert unwrap(text.replace("\n", newline)) == result.replace("\n", newline)


def test_an_edit_inside_of_an_unwrapped_block() -> None:
    def edit(module: Module) -> list[edits.Edit]:
        block = module.names.statements[0]
        name = next(node for node in ast.walk(block) if isinstance(node, ast.Name) and node.id == "old")
        added = statements.insert_before(module, module.statement(name), ["# above"])
        renamed = edits.Edit.replace(module.source.span(name), "new(\n    1)")
        return [statements.unwrap(module, block), renamed, added]  # type: ignore[arg-type]

    assert transform("with a:\n    b\n    old\n", edit) == "b\n# above\nnew(\n1)\n"


@pytest.mark.parametrize("newline", NEWLINES.values(), ids=NEWLINES)
def test_the_last_line_of_an_unwrapped_block_goes(newline: str) -> None:
    def edit(module: Module) -> list[edits.Edit]:
        block = next(item for item in module.names.statements if isinstance(item, ast.If))
        gone = statements.remove(module, block.orelse[-1:])
        return [statements.unwrap(module, block, "orelse", gone), *gone]

    text = "def f():\n    if a:\n        b\n    else:\n        c  # kept\n        d\n    # end\n    return\n"
    result = "def f():\n    c  # kept\n    # end\n    return\n"

    assert transform(text.replace("\n", newline), edit) == result.replace("\n", newline)


def test_lines_behind_an_unwrapped_block_are_indented_as_it_is() -> None:
    def edit(module: Module) -> list[edits.Edit]:
        outer, inner, last = module.names.statements
        added = statements.insert_after(module, last, ["e"], {outer, inner})
        return [statements.unwrap(module, outer), statements.unwrap(module, inner), *added]  # type: ignore[arg-type]

    assert transform("with a:\n    with b:\n        c\n", edit) == "c\ne\n"


# Markers ------------------------------------------------------------------------------------------------------------

IMPORT = "from optimum import neuron\n"
NEWS = "getattr(neuron, name)"
MARKED = {
    "a line": (f"x = {NEWS}\n", f"!x = {NEWS}\n"),
    "a block": (f"if x:\n    {NEWS}\n", f"if x:\n    !{NEWS}\n"),
    "a one-line suite": (f"if x: {NEWS}\n", f"!if x: {NEWS}\n"),
    "a condition": (f"if {NEWS}:\n    pass\n", f"!if {NEWS}:\n    pass\n"),
    "an elif": (f"if x:\n    pass\nelif {NEWS}:\n    pass\n", f"if x:\n    pass\n!elif {NEWS}:\n    pass\n"),
    "an else": (f"if x:\n    pass\nelse:\n    {NEWS}\n", f"if x:\n    pass\nelse:\n    !{NEWS}\n"),
    "a one-line else": (f"if x: pass\nelse: {NEWS}\n", f"!if x: pass\nelse: {NEWS}\n"),
    "a handler": (f"try:\n    x\nexcept {NEWS}:\n    y\n", f"!try:\n    x\nexcept {NEWS}:\n    y\n"),
    "a case": (f"match x:\n    case 1 if {NEWS}:\n        y\n", f"!match x:\n    case 1 if {NEWS}:\n        y\n"),
    "a decorator": (f"@a\n@{NEWS}\ndef f(): ...\n", f"!@a\n@{NEWS}\ndef f(): ...\n"),
    "a default": (f"@a\ndef f(\n    x={NEWS},\n): ...\n", f"!@a\ndef f(\n    x={NEWS},\n): ...\n"),
    "a base": (f"class A({NEWS}):\n    b = 1\n", f"!class A({NEWS}):\n    b = 1\n"),
    "a lambda": (f"f(\n    lambda: {NEWS},\n)\n", f"!f(\n    lambda: {NEWS},\n)\n"),
    "a semicolon": (f"a = 1; {NEWS}\n", f"!a = 1; {NEWS}\n"),
    "a comment above": (f"# mine\n{NEWS}\n", f"# mine\n!{NEWS}\n"),
    "two in one statement": (f"{NEWS}, {NEWS}\n", f"!{NEWS}, {NEWS}\n"),
    "no newline at the end": (f"{NEWS}", f"!{NEWS}"),
    "tabs": (f"if x:\n\t{NEWS}\n", f"if x:\n\t!{NEWS}\n"),
}


@pytest.mark.parametrize("newline", NEWLINES.values(), ids=NEWLINES)
@pytest.mark.parametrize(("text", "result"), MARKED.values(), ids=MARKED)
def test_marker(text: str, result: str, newline: str) -> None:
    migration = migrate((IMPORT + text).replace("\n", newline), settings=NAMES)
    lines = []
    for line in (IMPORT + result).splitlines(keepends=True):
        indentation, bang, rest = line.partition("!")
        lines += [f"{indentation}{MARKER}\n", f"{indentation}{rest}"] if bang else [line]
    # The words of the marker are those of the rule; here only its place counts.
    shown = "".join(
        f"{line.partition(MARKER)[0]}{MARKER}{newline}" if MARKER in line else line
        for line in migration.text.splitlines(keepends=True)
    )
    assert shown == "".join(lines).replace("\n", newline)
    assert migrate(migration.text, settings=NAMES).text == migration.text


def test_a_marker_that_stays_is_reported() -> None:
    once = migrate(f"{IMPORT}{NEWS}\n", settings=NAMES)
    again = migrate(once.text, settings=NAMES)
    assert [finding.code for finding in once.findings] == [finding.code for finding in again.findings] == ["NM003"]


def test_a_marker_whose_cause_is_gone_is_reported() -> None:
    once = migrate(f"{IMPORT}{NEWS}\n", settings=NAMES).text
    fixed = once.replace(IMPORT, "").replace(NEWS, "x = 1")
    migration = migrate(fixed, settings=NAMES)
    assert not migration.changed
    assert [(finding.code, finding.outcome) for finding in migration.findings] == [("NM001", Outcome.MANUAL)]


def test_a_changed_marker_is_not_doubled() -> None:
    once = migrate(f"def f():\n    {IMPORT}    {NEWS}\n", settings=NAMES).text
    moved = once.replace("def f():", "def g(x):\n    # mine\n    y = 1")
    assert migrate(moved, settings=NAMES).text == moved


# Suppressions -------------------------------------------------------------------------------------------------------

IGNORE = "# neuron-migrate: ignore"
SUPPRESSED = {
    "behind the statement": f"from optimum.neuron import NeuronTrainer  {IGNORE}[NM101]\n",
    "above the statement": f"{IGNORE}[NM101]\nfrom optimum.neuron import NeuronTrainer\n",
    "above other comments": f"{IGNORE}[NM101]\n# mine\n\nfrom optimum.neuron import NeuronTrainer\n",
    "all codes": f"from optimum.neuron import NeuronTrainer  {IGNORE}\n",
    "a prefix": f"from optimum.neuron import NeuronTrainer  {IGNORE}[NM1]\n",
    "several codes": f"from optimum.neuron import NeuronTrainer  {IGNORE}[NM214, NM101]\n",
    "after other words": f"from optimum.neuron import NeuronTrainer  # noqa: F401 {IGNORE}[NM101]\n",
    "without spaces": "from optimum.neuron import NeuronTrainer  #neuron-migrate:ignore[NM101]\n",
    "inside of a statement": f"from optimum.neuron import (  {IGNORE}[NM101]\n    NeuronTrainer,\n)\n",
    "on the last line": f"from optimum.neuron import (\n    NeuronTrainer,\n)  {IGNORE}[NM101]\n",
    "the file": f"from optimum.neuron import NeuronTrainer\n\nx = 1\n{IGNORE}-file[NM101]\n",
    "the file, all codes": f"{IGNORE}-file\nfrom optimum.neuron import NeuronTrainer\n",
    "a block's header": f"if x:  {IGNORE}\n    a = 1\nfrom optimum.neuron import NeuronTrainer  {IGNORE}\n",
    "a decorated class": f"import optimum.neuron as on\n\n\n@a\nclass A(on.NeuronTrainer):  {IGNORE}[NM101]\n"
    f"    b = 1\n",
    "a class with a decorator": f"import optimum.neuron as on\n\n\n@on.NeuronTrainer  {IGNORE}[NM101]\n"
    f"class A:\n    b = 1\n",
}
UNUSED = {
    "nothing to suppress": f"x = 1  {IGNORE}[NM101]\n",
    "another code": f"from optimum.neuron import NeuronTrainer  {IGNORE}[NM214]\n",
    "the line below a statement": f"from optimum.neuron import NeuronTrainer\n{IGNORE}[NM101]\nx = 1\n",
    "the body of a block": f"if x:  {IGNORE}[NM101]\n    from optimum.neuron import NeuronTrainer\n",
    "the end of a file": f"from optimum.neuron import NeuronTrainer\n{IGNORE}[NM101]\n",
    "a code that is none": f"from optimum.neuron import NeuronTrainer  {IGNORE}[E501]\n",
    "the file": f"{IGNORE}-file[NM3]\nx = 1\n",
}


@pytest.mark.parametrize("text", SUPPRESSED.values(), ids=SUPPRESSED)
def test_suppressed(text: str) -> None:
    for written in (text, text.replace("\n", "\r\n")):
        migration = migrate(written)
        assert migration.text == written
        assert {finding.code for finding in migration.findings} <= {"NM002"}


@pytest.mark.parametrize("text", UNUSED.values(), ids=UNUSED)
def test_unused_suppression(text: str) -> None:
    migration = migrate(text)
    assert "NM002" in {finding.code for finding in migration.findings}
    finding = next(finding for finding in migration.findings if finding.code == "NM002")
    assert text.splitlines()[finding.start.line - 1][finding.start.column - 1 :].startswith("#")
    assert "NM002" not in {finding.code for finding in migrate(text, settings=Settings(ignore=("NM002",))).findings}
    assert ("Trainer" in text) == ("transformers" in migration.text)


def test_words_in_a_string_suppress_nothing() -> None:
    text = f'x = "{IGNORE}-file"\nfrom optimum.neuron import NeuronTrainer\n'
    assert migrate(text, settings=NAMES).changed


def test_annotate_marks_the_entry_of_a_mapping() -> None:
    text = (
        "from optimum.neuron import NeuronTrainingArguments\n\nsettings = {\n"
        '    "output_dir": "out",\n    "zero_1": True,\n}\nargs = NeuronTrainingArguments(**settings)\n'
    )
    assert "\n# NOTE(neuron-migrate NM110): zero_1 goes" in migrate(text, settings=Settings(annotate=True)).text


def test_annotate_writes_review_findings() -> None:
    text = 'from optimum.neuron import NeuronTrainer\n\n__all__ = ["NeuronTrainer"]\n'
    settings = Settings(select=("NM101",), annotate=True)
    migration = migrate(text, settings=settings)
    assert migration.text.startswith("# NOTE(neuron-migrate NM101): ")
    assert migrate(migration.text, settings=settings).text == migration.text
