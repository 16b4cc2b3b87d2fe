"""Changes of what a program says: each takes a text that parses, and may give one that does not."""

from __future__ import annotations

import ast
import itertools
import random
import re
from collections.abc import Iterator

from neuron_codemods.source import Source, Text, parse_module
from neuron_codemods.statements import string_lines

from . import pieces


def tree_of(text: str) -> ast.Module | None:
    return parse_module(text)


def _expressions(source: Source) -> list[ast.expr]:
    return [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.Call, ast.Attribute, ast.Name, ast.Constant, ast.Dict, ast.BinOp))
        and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        and hasattr(node, "lineno")
    ]


def _put(source: Text, node: ast.AST, text: str) -> str:
    start, end = source.span(node)
    return source.text[:start] + text + source.text[end:]


_AROUND = (
    "(IT)",
    "(walrus := IT)",
    "[IT for _ in range(1)][0]",
    "(lambda: IT)()",
    "(IT if flag else IT)",
    "(IT if flag else None)",
    "print(IT)",
    "dict(a=IT)['a']",
    "{**{'a': IT}}",
    "(*[IT],)",
    "f(*IT)",
    "f(**IT)",
    "f'{IT}'",
    'f"{IT!r:>10}"',
    "not IT",
    "(\n    # above\n    IT  # behind\n)",
    "IT.attribute",
    "IT[0]",
    "IT()",
    "(IT, IT)",
    "(IT or default)",
    "wrap(IT, key=IT)",
    "getattr(IT, 'x')",
    "cast('X', IT)",
    "(await IT)",
    "(yield IT)",
    "{IT: IT for k in {IT}}",
    "(IT\n.method(\n))",
    "list(map(lambda x: IT, y))",
    "'text'",
    "None",
)


def wrap_expression(text: str, rng: random.Random) -> str:
    source = Source(text)
    node = rng.choice(_expressions(source))
    return _put(source, node, rng.choice(_AROUND).replace("IT", source.segment(node)))


def exchange_expressions(text: str, rng: random.Random) -> str:
    source = Source(text)
    found = _expressions(source)
    return _put(source, rng.choice(found), source.segment(rng.choice(found)))


def _calls(source: Source) -> list[ast.Call]:
    return [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]


def change_arguments(text: str, rng: random.Random) -> str:
    source = Source(text)
    call = rng.choice(_calls(source))
    start, end = source.span(call.func)[1], source.span(call)[1]
    inside = source.text[start:end].strip()
    if not inside.startswith("("):
        raise ValueError("the function is in parentheses")
    inside = inside[1:-1]
    comma = "," if inside.strip() and not inside.rstrip().endswith(",") else ""
    keyword = rng.choice(pieces.all_keywords())
    value = rng.choice(("1", "True", "None", "x", '"a"', "f(\n    1,\n)", "{**a}", "lambda: 0", "[*b]"))
    new = rng.choice(
        (
            f"({inside}{comma} {keyword}={value})",
            f"({inside}{comma} **extra)",
            f"(*more, {inside})",
            f"({inside}{comma})",
            f"({inside}{comma}\n    # comment only\n)",
            f"(  # first\n    {inside}{comma}  # last\n)",
            f"({inside}{comma} {keyword}={value},)",
            f"({keyword}={value})",
            f"({value})",
            "()",
            "(**extra)",
            "(*more)",
            "(\n    # nothing\n)",
            "(  )",
            f"(x for x in [{value}])",
            f"({inside}{comma} **{{'{keyword}': {value}}})",
            f"({inside}{comma} **dict({keyword}={value}))",
            "(" + inside.replace(", ", ",\n        ") + ")",
            "(" + inside.replace(", ", ", \\\n  ") + ")",
        )
    )
    return source.text[:start] + new + source.text[end:]


_HEADERS = (
    "if flag:",
    "if not flag:",
    "for _ in range(2):",
    "while flag:",
    "with context() as c:",
    "with (a as b, c):",
    "try:",
    "def wrapped(a, *args, **kwargs):",
    "async def wrapped(a):",
    "class Wrapped:",
    "class Wrapped(Base, metaclass=M):",
    "if __name__ == '__main__':",
    "match flag:\n    case 1:",
    "@decorated\n@decorated(1)\ndef wrapped(self):",
    "if TYPE_CHECKING:",
    "if a:\n    pass\nelse:",
    "try:\n    import a\nexcept ImportError:",
    "try:\n    pass\nfinally:",
    "try:\n    pass\nexcept* ValueError:",
    "async def wrapped():\n    async with a:",
    "if True: # comment\n\n",
)


def _indented(text: str, step: str) -> str:
    source = Source(text)
    inside = string_lines(source)
    return "".join(
        line if number in inside or not line.strip() else step + line
        for number, line in enumerate(source.lines, start=1)
    )


def nest(text: str, rng: random.Random) -> str:
    """Some statements inside of a compound one."""
    parts = pieces.chunks(text)
    first = rng.randrange(len(parts))
    last = rng.randint(first + 1, len(parts))
    header = rng.choice(_HEADERS)
    step = rng.choice(("    ", "    ", "  ", "\t"))
    depth = 2 if "\n" in header and header.rstrip().rpartition("\n")[2].startswith(" ") else 1
    body = _indented("".join(parts[first:last]), step * depth if depth == 1 or step == "    " else "        ")
    footer = "except Exception: pass\n" if header == "try:" else ""
    return "".join(parts[:first]) + f"{header}\n{body}{footer}" + "".join(parts[last:])


def one_line_block(text: str, rng: random.Random) -> str:
    """A simple statement behind the header of its block."""
    parts = pieces.chunks(text)
    index = rng.randrange(len(parts))
    body = parts[index].strip()
    if "\n" in body and not body.endswith(")"):
        raise ValueError("not one statement")
    parts[index] = (
        rng.choice(("if flag: ", "def f(): ", "for a in b: ", "with c: ", "class C: ", "lambda: 0; ")) + body
    )
    return "".join(parts) + "\n"


def move(text: str, rng: random.Random) -> str:
    parts = pieces.chunks(text)
    part = parts.pop(rng.randrange(len(parts)))
    parts.insert(rng.randrange(len(parts) + 1), part)
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts)


def leave_out(text: str, rng: random.Random) -> str:
    parts = pieces.chunks(text)
    del parts[rng.randrange(len(parts))]
    return "".join(parts)


def repeat(text: str, rng: random.Random) -> str:
    parts = pieces.chunks(text)
    parts.insert(rng.randrange(len(parts) + 1), rng.choice(parts))
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts)


def _imports(source: Source) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(source.tree) if isinstance(node, (ast.Import, ast.ImportFrom))]


def reshape_import(text: str, rng: random.Random) -> str:
    """Another way to write an import, and the uses of its first name with it."""
    source = Source(text)
    node = rng.choice(_imports(source))
    alias = rng.choice(node.names)
    if isinstance(node, ast.Import) or node.level or alias.name == "*":
        raise ValueError("not of a shape that is reshaped")
    old = alias.asname or alias.name
    module = node.module or ""
    given = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
    others = "".join(
        f", {other.name}" + (f" as {other.asname}" if other.asname else "")
        for other in node.names
        if other is not alias
    )
    parent, _, last = module.rpartition(".")
    rest = f"\nfrom {module} import {others[2:]}" if others else ""
    shapes = [
        (f"from {module} import {alias.name} as alias{others}", "alias"),
        (f"from {module} import {alias.name} as Trainer{others}", "Trainer"),
        (f"import {module}{rest}", f"{module}.{alias.name}"),
        (f"import {module} as mod{rest}", f"mod.{alias.name}"),
        (f"import {module}, os as system{rest}", f"{module}.{alias.name}"),
        (f"from {module} import *", alias.name),
        (f"from {module} import (\n    # above\n    {given},  # behind\n    {others[2:]}\n)", old),
        (f"from {module} import ({given}{others},)", old),
        (f"from {module} import {given}{others}; import os", old),
        (f"import os; from {module} import {given}{others}", old),
        (f"from {module} import \\\n    {given}{others}", old),
        (f"from {module} import {given}{others}  # noqa: F401", old),
        (f"from {module} import {given}, unknown_name, {given}{others}", old),
        (f"from .. import {old}{rest}", old),
        (f"from {module} import {given}{others}\n__all__ = ['{old}']", old),
    ]
    if parent:
        shapes.append((f"from {parent} import {last}{rest}", f"{last}.{alias.name}"))
        shapes.append((f"from {parent} import {last} as part{rest}", f"part.{alias.name}"))
    new, use = rng.choice(shapes)
    start, end = source.span(node)
    indentation = source.indentation(start)
    edits = [(start, end, new.replace("\n", f"\n{indentation}"))]
    if use != old:
        edits += [
            (*source.span(name), use)
            for name in ast.walk(source.tree)
            if isinstance(name, ast.Name) and name.id == old and rng.random() < 0.95
        ]
    result = text
    for first, end, value in sorted(edits, reverse=True):
        result = result[:first] + value + result[end:]
    return result


def wrap_import(text: str, rng: random.Random) -> str:
    source = Source(text)
    node = rng.choice(_imports(source))
    start, end = source.span(node)
    indentation = source.indentation(start)
    statement = source.segment(node)
    name = (node.names[0].asname or node.names[0].name).partition(".")[0]
    new = rng.choice(
        (
            f"try:\n    {statement}\nexcept ImportError:\n    {name} = None",
            f"try:\n    {statement}\nexcept ImportError:\n    pass\nelse:\n    x = 1",
            f"if TYPE_CHECKING:\n    {statement}",
            f"if flag:\n    {statement}\nelse:\n    {statement}",
            f"def imports():\n    {statement}\n    return {name}",
            f"with suppress(ImportError):\n    {statement}",
            f"{statement}\n{statement}",
            f"{statement}\n{name} = wrap({name})",
            f"{name} = None\n{statement}",
            f"{statement}\ndel {name}",
            f"class Holder:\n    {statement}\n    y = {name}",
            f"for _ in x: {statement}",
            f"{statement}\n\ndef shadows({name}, other={name}):\n    return {name}(1)",
            f"{statement}\n\ndef makes():\n    global {name}\n    {name} = 1",
        )
    )
    return text[:start] + new.replace("\n", f"\n{indentation}") + text[end:]


def rename_name(text: str, rng: random.Random) -> str:
    """One name for another, so that names meet that did not."""
    source = Source(text)
    names = sorted({node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)})
    old = rng.choice(names)
    taken = (
        "model",
        "Trainer",
        "torch",
        "transformers",
        "args",
        "device",
        "self",
        "_",
        "configure",
        "été",
        "os",
        "dist",
    )
    new = rng.choice((*names, *taken))
    return re.sub(rf"(?<![\w.]){re.escape(old)}(?!\w)", new, text)


def quote_annotation(text: str, rng: random.Random) -> str:
    source = Source(text)
    annotations = [
        node.annotation
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.arg, ast.AnnAssign)) and isinstance(node.annotation, (ast.Name, ast.Attribute))
    ]
    node = rng.choice(annotations)
    return _put(source, node, repr(source.segment(node)))


def annotate(text: str, rng: random.Random) -> str:
    source = Source(text)
    targets = [node for node in ast.walk(source.tree) if isinstance(node, ast.Assign) and len(node.targets) == 1]
    node = rng.choice(targets)
    names = [n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)]
    name = rng.choice(names)
    annotation = rng.choice((name, f"'{name}'", f"'list[{name}] | None'", f"Optional[{name}]", "int"))
    return _put(source, node.targets[0], f"{source.segment(node.targets[0])}: {annotation}")


def suppress(text: str, rng: random.Random) -> str:
    source = Source(text)
    statements = [node for node in ast.walk(source.tree) if isinstance(node, ast.stmt)]
    node = rng.choice(statements)
    comment = rng.choice(
        (
            "# neuron-migrate: ignore",
            "# neuron-migrate: ignore[NM1]",
            "# neuron-migrate: ignore[NM101, NM2]",
            "# neuron-migrate:ignore[]",
            "# neuron-migrate: ignore-file[NM3]",
            "# neuron-migrate: ignore  # twice",
        )
    )
    start = source.line_start(source.span(node)[0])
    if rng.random() < 0.5:
        return text[:start] + source.indentation(start) + comment + "\n" + text[start:]
    end = source.line_end(max(source.span(node)[1] - 1, 0))
    line = text[:end].rstrip("\r\n")
    return line + "  " + comment + text[len(line) :]


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def join_lines(text: str, rng: random.Random) -> str:
    """Two statements on one line."""
    source = Source(text)
    pairs = [
        (one, other)
        for block in _blocks(source.tree)
        for one, other in itertools.pairwise(block)
        if not hasattr(one, "body") and not hasattr(other, "body")
    ]
    one, other = rng.choice(pairs)
    return text[: source.span(one)[1]] + rng.choice(("; ", ";", " ;  ")) + text[source.span(other)[0] :]


def splice(text: str, rng: random.Random) -> str:
    """A part of another case in the midst of this one."""
    parts = pieces.chunks(text)
    parts.insert(rng.randrange(len(parts) + 1), rng.choice(pieces.chunks(rng.choice(pieces.cases()))))
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts)


def asynchronous(text: str, rng: random.Random) -> str:
    """``async`` where it may stand."""
    spots = [found.start() for found in re.finditer(r"(?m)^[ \t]*(?=def |with |for )", text)]
    spot = rng.choice(spots)
    start = spot + len(re.match(r"[ \t]*", text[spot:]).group())  # type: ignore[union-attr]
    return text[:start] + "async " + text[start:]


def leave_out_line(text: str, rng: random.Random) -> str:
    lines = Text(text).lines
    del lines[rng.randrange(len(lines))]
    return "".join(lines)


ALL = (
    wrap_expression,
    wrap_expression,
    exchange_expressions,
    change_arguments,
    change_arguments,
    nest,
    nest,
    nest,
    one_line_block,
    move,
    leave_out,
    leave_out_line,
    repeat,
    reshape_import,
    reshape_import,
    wrap_import,
    wrap_import,
    rename_name,
    quote_annotation,
    annotate,
    suppress,
    join_lines,
    splice,
    asynchronous,
)
