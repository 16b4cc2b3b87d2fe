"""Changes of what a program says: each takes a text that parses, and may give one that does not."""

from __future__ import annotations

import ast
import itertools
import random
import re
import textwrap
from collections.abc import Iterator

from neuron_codemods.source import Source, Text, parse_module
from neuron_codemods.statements import start_of, string_lines

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
    "f'{f\"{IT}\"}'",
    "f\"{IT:{width}} {'a'}\"",
    'f"""\n{\n  IT\n}\n"""',
    "'%s' % IT",
    "[name for name in IT if name]",
    "{name: (last := name) for name in [IT]}",
    "(lambda given=IT: given)()",
    "(lambda *given: IT)",
    "[*IT, *(IT for _ in IT)]",
    "IT if IT else (IT)",
    "x[IT:IT]",
    "-IT",
    "IT < 1 < IT",
    "(\\\nIT\\\n)",
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
    "def outer():\n    def wrapped():",
    "class Outer:\n    def method(self, *, model=None):",
    "class Outer:\n    class Inner:",
    "try:\n    pass\nexcept Exception as error:",
    "try:\n    pass\nexcept Exception:\n    raise\nelse:",
    "for a, (b, *c) in rows:\n    pass\nelse:",
    "while True:\n    break\nelse:",
    "if a: pass\nelif b:",
    "with a as (b, c), d as e.f:",
    "async def wrapped():\n    async for a in b:",
    "def wrapped(model, args=None, /, *rest, device: 'str' = \"cpu\"):  # type: (...) -> None",
    '@property\ndef wrapped(self) -> "Model":',
    "def wrapped():\n    global model",
    'def wrapped():\n    "Doc."',
    'class Wrapped(Base):\n    """Doc."""\n    field: int = 1',
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
            f"def makes():\n    global {name}\n    {statement}",
            f"def outer():\n    {statement}\n    def inner():\n        nonlocal {name}\n        {name} = 1",
            f"try:\n    {statement}\nexcept ImportError:\n    raise\nfinally:\n    x = 1",
            f"try:\n    import absent\nexcept ImportError:\n    {statement}\nelse:\n    {name} = absent",
            f"if sys.version_info >= (3, 8):\n    {statement}\nelif x:\n    {name} = None\nelse:\n    {statement}",
            f"if TYPE_CHECKING:\n    {statement}\nelse:\n    {name} = object",
            f"try:\n    {statement}\n    HAS = True\nexcept (ImportError, OSError):\n    HAS = False",
            f"{statement}\nother = {name}\nprint(other)",
            f"{statement}\n[{name} for {name} in range(3)]",
            f"{statement}\n\nclass {name}({name}):\n    pass",
            f"{statement}\nfor {name} in {name}.x: pass",
            f"{statement}\nwith open(x) as {name}: pass",
            f"{statement}\n{name}: '{name}' = {name}",
            f"{statement}; {statement}",
            f"if flag: {statement}",
            f"@decorated\ndef late():\n    {statement}\n    yield {name}",
            f"{statement}\n__all__ += ['{name}']",
            f"{statement}\n{name} = {name} if x else None",
            f"{statement}  # type: ignore[import]",
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
        "neuron_device",
        "parallel_sizes",
        "compile_static",
        "send_to_device",
        "DistributedConfig",
        "TrainingArguments",
        "AutoModelForCausalLM",
        "SFTConfig",
        "print",
        "field",
        "reduced",
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


_ASSIGNED = (
    "first = IT",
    "(TO, second) = IT, 1",
    "TO, *second = [IT]",
    "self.TO = IT",
    "given['TO'] = IT",
    "if (TO := IT): pass",
    "while TO := IT: break",
    "TO: int = IT",
    "TO = IT if flag else None",
    "for TO in [IT]: pass",
    "with IT as TO: pass",
    "TO = first = IT",
    "TO += IT",
    "TO = (IT)",
    "TO = \\\n    IT",
    "TO = (  # why\n    IT\n)",
    "TO = [IT]",
    "TO = IT  # type: ignore",
    "assert (TO := IT), 'said'",
    "def TO(): return IT",
    "TO = lambda: IT",
    "del TO; TO = IT",
    "print(IT)",
)


def assign_otherwise(text: str, rng: random.Random) -> str:
    """Another way to bind a name to a value."""
    source = Source(text)
    node = rng.choice(
        [n for n in ast.walk(source.tree) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)]
    )
    target, value = source.segment(node.targets[0]), source.segment(node.value)
    indentation = source.indentation(source.span(node)[0])
    new = rng.choice(_ASSIGNED).replace("\n", f"\n{indentation}").replace("TO", target).replace("IT", value)
    return _put(source, node, new)


def alias_name(text: str, rng: random.Random) -> str:
    """Another name for what an import binds, which some of its uses have."""
    source = Source(text)
    node = rng.choice([node for node in _imports(source) if node in source.tree.body and node.names[0].name != "*"])
    name = (node.names[0].asname or node.names[0].name).partition(".")[0]
    uses = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == name and rng.random() < 0.6]
    given = rng.choice(
        (f"other = {name}", f"other: 'type[{name}]' = {name}", f"def other(*a, **k): return {name}(*a, **k)")
    )
    given = rng.choice(
        (given, f"class other({name}): pass", f"other = [{name}][0]", f"other = getattr({name}, 'x', {name})")
    )
    edits = [(*source.span(use), "other") for use in uses]
    edits.append((source.line_end(source.span(node)[1] - 1), source.line_end(source.span(node)[1] - 1), f"{given}\n"))
    for first, end, value in sorted(edits, reverse=True):
        text = text[:first] + value + text[end:]
    return text


def decorate(text: str, rng: random.Random) -> str:
    source = Source(text)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    node = rng.choice([node for node in ast.walk(source.tree) if isinstance(node, kinds)])
    start = source.line_start(start_of(source, node))
    names = [n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)]
    line = rng.choice(
        ("@decorated", "@a.b(1)  # why", "@(lambda f: f)", f"@{rng.choice(names)}", "@staticmethod", "@dataclass")
    )
    return f"{text[:start]}{source.indentation(start)}{line}\n{text[start:]}"


def give_parameter(text: str, rng: random.Random) -> str:
    """A parameter that is called as something else in the program is, or has it as its default."""
    source = Source(text)
    functions = [node for node in ast.walk(source.tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    node = rng.choice(functions)
    opening = text.index("(", source.span(node)[0])
    names = sorted({n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)})
    name, other = rng.choice(names), rng.choice(names)
    given = rng.choice((name, f"{name}: '{other}'", f"{name}={other}"))
    separator = "" if text[opening + 1 :].lstrip().startswith(")") else ", "
    return text[: opening + 1] + given + separator + text[opening + 1 :]


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


def as_main(text: str, rng: random.Random) -> str:
    """All but the imports at the top in a function that the end of the program calls."""
    parts = pieces.chunks(text)
    first = next((index for index, part in enumerate(parts) if not _only_imports(part)), len(parts))
    body = _indented("".join(parts[first:]), "    ")
    head = rng.choice(("def main():", "def main(argv=None) -> None:", "async def main():", "def main(index):"))
    call = {"async def main():": "asyncio.run(main())", "def main(index):": "xmp.spawn(main)"}.get(head, "main()")
    return "".join(parts[:first]) + f'\n\n{head}\n{body}\n\nif __name__ == "__main__":\n    {call}\n'


def _only_imports(text: str) -> bool:
    tree = tree_of(text)
    return tree is not None and all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in tree.body)


def splat_arguments(text: str, rng: random.Random) -> str:
    """Some keywords of a call in a mapping above its statement."""
    source = Source(text)
    statements = [node for node in ast.walk(source.tree) if isinstance(node, (ast.Assign, ast.Expr, ast.Return))]
    statement = rng.choice(statements)
    call = rng.choice([node for node in ast.walk(statement) if isinstance(node, ast.Call) and node.keywords])
    moved = [item for item in call.keywords if item.arg is not None and rng.random() < 0.7]
    left = [source.segment(item) for item in (*call.args, *call.keywords) if item not in moved]
    pairs = [(item.arg, source.segment(item.value)) for item in moved]
    literal = "{" + ", ".join(f'"{name}": {value}' for name, value in pairs) + "}"
    words = "dict(" + ", ".join(f"{name}={value}" for name, value in pairs) + ")"
    later = "{}\n" + "".join(f'options["{name}"] = {value}\n' for name, value in pairs)
    start = source.line_start(source.span(statement)[0])
    indentation = source.indentation(start)
    above = textwrap.indent(f"options = {rng.choice((literal, words, later))}".rstrip("\n") + "\n", indentation)
    changed = _put(source, call, f"{source.segment(call.func)}({', '.join([*left, '**options'])})")
    return changed[:start] + above + changed[start:]


_OF_PROCESSES = (
    ("import torch_xla.core.xla_model as xm", "xm.get_ordinal()"),
    ("import torch_xla.core.xla_model as xm", "xm.xrt_world_size()"),
    ("import torch_xla.core.xla_model as xm", 'f"{xm.get_ordinal()}"'),
    ("import torch_xla.runtime as xr", "xr.world_size()"),
    ("import os", 'os.environ.get("NEURON_RT_NUM_CORES", 2)'),
    ("import os", 'int(os.environ["WORLD_SIZE"])'),
    ("import os as system", 'system.path.join("out", "x")'),
)


def of_process(text: str, rng: random.Random) -> str:
    """A value that tells the processes apart, in the place of a constant."""
    source = Source(text)
    node = rng.choice([node for node in ast.walk(source.tree) if isinstance(node, ast.Constant)])
    line, value = rng.choice(_OF_PROCESSES)
    return f"{line}\n{_put(source, node, value)}"


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
    assign_otherwise,
    assign_otherwise,
    alias_name,
    decorate,
    give_parameter,
    suppress,
    join_lines,
    splice,
    asynchronous,
    as_main,
    splat_arguments,
    of_process,
)
