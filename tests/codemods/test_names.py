"""Which name is which: the resolver on the rules of the language, and positions inside of strings."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import sys

import libcst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_codemods import Outcome, Settings, fstrings, migrate
from neuron_codemods.module import Module
from neuron_codemods.scopes import Scope

NAMES = Settings(select=("NM0", "NM101", "NM102"))


def resolved(text: str) -> list[str | None]:
    """What the first argument of each ``ask(...)`` stands for."""
    module = Module(text)
    asked = [call for call in module.calls if isinstance(call.func, ast.Name) and call.func.id == "ask"]
    asked.sort(key=lambda call: (call.lineno, call.col_offset))
    return [module.resolve(call.args[0]) for call in asked]


RESOLVED = {
    "a module": ("import a.b.c\nask(a.b.c.d)", ["a.b.c.d"]),
    "a module under an alias": ("import a.b as m\nask(m.d)", ["a.b.d"]),
    "a name": ("from a.b import c\nask(c.d)", ["a.b.c.d"]),
    "a name under an alias": ("from a import b as c\nask(c)", ["a.b"]),
    "relative": ("from ..a import b\nask(b)", ["..a.b"]),
    "unknown": ("ask(a.b)", [None]),
    "a call": ("import a\nask(a().b)", [None]),
    "a variable": ("import a\nx = a.b\nask(x.c)", ["a.b.c"]),
    "a chain of variables": ("import a\nx = a.b\ny = x\nz = y.c\nask(z)", ["a.b.c"]),
    "a variable that changes": ("import a\nx = a.b\nx = 1\nask(x)", [None]),
    "variables in a circle": ("a = b\nb = c\nc = a\nask(a)\nask(c)", [None, None]),
    "a variable that holds itself": ("a = a.b\nask(a)", [None]),
    "before and after": ("ask(x)\nimport a as x\nask(x)\nimport b as x\nask(x)", ["a", "a", "b"]),
    "in its own value": ("import a as x\nx = ask(x)\nask(x)", ["a", None]),
    "a function sees the module": ("import a\ndef f():\n    ask(a)", ["a"]),
    "a function sees what comes later": ("def f():\n    ask(a)\nimport a", ["a"]),
    "a function does not choose": ("import a as x\nimport b as y\nx = y\ndef f():\n    ask(x)", [None]),
    "a parameter": ("import a\ndef f(a):\n    ask(a)", [None]),
    "a default": ("import a\ndef f(a=ask(a)): ...", ["a"]),
    "a decorator": ("import a\n@ask(a)\ndef a(): ...", ["a"]),
    "an annotation": ("import a\ndef f(a: ask(a)) -> ask(a): ...", ["a", "a"]),
    "stars": ("import a, b\ndef f(*a, **b):\n    ask(a); ask(b)", [None, None]),
    "positional and keyword only": ("import a, b\ndef f(a, /, *, b):\n    ask(a); ask(b)", [None, None]),
    "a lambda": ("import a\n(lambda a: ask(a)), (lambda: ask(a)), (lambda x=ask(a): x)", [None, "a", "a"]),
    "a local import": ("import a\ndef f():\n    import b as a\n    ask(a)\nask(a)", ["b", "a"]),
    "a local assignment counts from the start": ("import a\ndef f():\n    ask(a)\n    a = 1", [None]),
    "a class does not reach its methods": (
        "import a\nclass A:\n    import b as a\n    ask(a)\n    def f(self):\n        ask(a)",
        ["b", "a"],
    ),
    "a class reads the outside before it binds": (
        "import a\nclass A:\n    ask(a)\n    a = 1\n    ask(a)",
        ["a", None],
    ),
    "a class in a class": ("import a\nclass A:\n    import b as a\n    class B:\n        ask(a)", ["a"]),
    "a comprehension in a class": (
        "import a\nclass A:\n    import b as a\n    [ask(a) for x in ask(a)]\n",
        ["a", "b"],
    ),
    "a comprehension's variable": ("import a\n[ask(a) for a in ask(a)]\nask(a)", [None, "a", "a"]),
    "a second generator": ("import a, b\n[0 for a in b for b in ask(a) if ask(b)]", [None, None]),
    "dict, set and generator": (
        "import a\n{ask(a): 1 for a in b}, {ask(a) for a in b}, (ask(a) for a in b)",
        [None] * 3,
    ),
    "a walrus": ("import a\ndef f():\n    [a := x for x in y]\n    ask(a)\nask(a)", [None, "a"]),
    "a walrus at the top": ("import a\n[a := x for x in y]\nask(a)", [None]),
    "a loop": ("import a\nfor a in b:\n    ask(a)", [None]),
    "a with": ("import a\nwith b as a:\n    ask(a)", [None]),
    "a with's expression": ("import a\nwith ask(a) as a: ...", ["a"]),
    "a handler": ("import a\ntry: ...\nexcept b as a:\n    ask(a)", [None]),
    "a match": ("import a\nmatch b:\n    case {'x': [a, *_]}:\n        ask(a)", [None]),
    "the rest of a match": ("import a\nmatch b:\n    case {**a}:\n        ask(a)", [None]),
    "a star of a match": ("import a\nmatch b:\n    case [*a]:\n        ask(a)", [None]),
    "an as of a match": ("import a\nmatch b:\n    case 1 as a:\n        ask(a)", [None]),
    "a class of a match": ("import a\nmatch b:\n    case a.b(c=1) if ask(a): ...", ["a"]),
    "global": ("import a\ndef f():\n    global a\n    import b as a\ndef g():\n    ask(a)", ["b"]),
    "global read": ("import a\ndef f():\n    a = 1\n    def g():\n        global a\n        ask(a)", ["a"]),
    "global in between": ("import a\ndef f():\n    global a\n    def g():\n        ask(a)", ["a"]),
    "nonlocal": ("import a\ndef f():\n    import b as a\n    def g():\n        nonlocal a\n        ask(a)", ["b"]),
    "nonlocal past a class": (
        "import a\ndef f():\n    import b as a\n    class A:\n        import c as a\n        def g(self):\n"
        "            nonlocal a\n            ask(a)",
        ["b"],
    ),
    "global at the top": ("global a\nimport a\nask(a)", ["a"]),
    "a deleted name": ("import a\ndel a\nask(a)", [None]),
    "an alternative": (
        "try:\n    import a\nexcept ImportError:\n    a = None\nask(a)\ndef f():\n    ask(a)",
        ["a", "a"],
    ),
    "an alternative import": (
        "try:\n    from optimum.neuron import x\nexcept ImportError:\n    from b import x\nask(x)\ndef f():\n"
        "    ask(x)",
        ["optimum.neuron.x", "optimum.neuron.x"],
    ),
    "a first value and an import": ("x = None\nif y:\n    import a as x\ndef f():\n    ask(x)", ["a"]),
    "a first value that counts": ("x = 1\nif y:\n    import a as x\ndef f():\n    ask(x)", [None]),
    "an import and a rebinding in one branch": ("if y:\n    import a\n    a = 1\n    ask(a)\nask(a)", [None, None]),
    "an elif": ("if y:\n    import a\nelif z:\n    import b as a\nelse:\n    a = None\nask(a)", ["b"]),
    "a finally": ("try:\n    import a\nfinally:\n    a = 1\nask(a)", [None]),
    "an else of a try": ("try:\n    import a\nexcept E: ...\nelse:\n    a = 1\nask(a)", [None]),
    "two handlers": ("try:\n    x\nexcept E:\n    import a\nexcept F:\n    a = 1\nask(a)", ["a"]),
    "an else": ("if a:\n    import b\nelse:\n    b = None\nask(b)", ["b"]),
    "bound again after the alternative": (
        "try:\n    import a\nexcept ImportError:\n    a = None\nask(a)\na = 1\nask(a)",
        ["a", None],
    ),
    "a subscript and an attribute bind nothing": ("import a\na.b = 1\na[0] = 1\nask(a)", ["a"]),
    "an annotation without a value": ("import a\ndef f():\n    a: int\n    ask(a)", [None]),
    "an augmented assignment": ("import a\na += 1\nask(a)", [None]),
    "two targets": ("import a\nb = c = a\nask(b); ask(c)", ["a", "a"]),
    "unpacking": ("import a\nb, c = a, a\nask(b)", [None]),
    "a class binds later what nothing else binds": ("class A:\n    ask(a)\n    a = 1", [None]),
    "a handler of everything": ("import a\ntry: ...\nexcept:\n    ask(a)", ["a"]),
    "a pattern of anything": ("import a\nmatch b:\n    case _:\n        ask(a)", ["a"]),
    "an import in a class": ("class A:\n    import a\n    ask(a)\nask(a)", ["a", None]),
}
if sys.version_info >= (3, 11):
    RESOLVED["an exception group"] = ("try:\n    import a\nexcept* E:\n    a = None\nask(a)", ["a"])
if sys.version_info >= (3, 12):
    RESOLVED |= {
        "a type parameter": ("import a\ndef f[a](x: ask(a)) -> ask(a):\n    ask(a)\nask(a)", [None, None, None, "a"]),
        "a type parameter and a default": ("import a\ndef f[a](x=ask(a)): ...", ["a"]),
        "a type parameter of a class": (
            "import a\nclass A[a](ask(a)):\n    ask(a)\n    def f(self): ask(a)",
            [None] * 3,
        ),
        "a bound": ("import a\ndef f[b: ask(a)](): ...", ["a"]),
        "a type alias": ("import a\ntype b[a] = ask(a)\ntype c = ask(a)", [None, "a"]),
    }


@pytest.mark.parametrize(("text", "result"), RESOLVED.values(), ids=RESOLVED)
def test_resolve(text: str, result: list[str | None]) -> None:
    assert resolved(text) == result


NATIVE = {
    "from optimum.neuron import NeuronTrainer\nask(NeuronTrainer)": "transformers.Trainer",
    "import optimum.neuron as on\nask(on.NeuronTrainer.train)": "transformers.Trainer.train",
    "from transformers import Trainer as T\nask(T)": "transformers.Trainer",
    "from optimum.neuron import nothing\nask(nothing)": "optimum.neuron.nothing",
    "from optimum.neuron import *\nask(NeuronTrainer)": "transformers.Trainer",
    "from optimum.neuron import *\ndef f(NeuronTrainer):\n    ask(NeuronTrainer)": None,
    "from optimum.neuron import trainers\nask(trainers.NeuronTrainer)": "transformers.Trainer",
    "import optimum.neuronal as on\nask(on.NeuronTrainer)": "optimum.neuronal.NeuronTrainer",
    "from .optimum.neuron import NeuronTrainer\nask(NeuronTrainer)": ".optimum.neuron.NeuronTrainer",
}


@pytest.mark.parametrize(("text", "result"), NATIVE.items())
def test_native(text: str, result: str | None) -> None:
    module = Module(text)
    assert [module.native(call.args[0]) for call in module.calls] == [result]


# The compiler of the standard library as the judge -----------------------------------------------------------------

# From Python 3.12 on the tables of the compiler hold the names of a comprehension in the scope around it.
COMPREHENSIONS = ("[x for x in y]", "[y for y in x if x]", "{x: y for x, y in x}")
fragments = st.sampled_from(
    [
        *("x", "x = 1", "import x", "from m import x as y", "del x", "x += 1", "y: int = x", "x: int", "(x := 1)"),
        *(COMPREHENSIONS if sys.version_info < (3, 12) else ()),
        *("lambda x: x + y", "lambda y=x: y", "f'{x} {y}'", "x.y = y", "x[y] = 1", "print(x, y=x)"),
        *("def f(x, y=x): {0}", "def x(*y, **z): {0}", "async def f(y): {0}", "class A(x): {0}", "class x: {0}"),
        *("for x in y: {0}", "with x as y: {0}", "if x: {0}", "while y: {0}", "global x", "nonlocal x"),
        *("try: x\nexcept y as x: {0}", "try: y\nfinally: {0}", "match x:\n case [y, *x]: {0}", "@x\ndef y(): {0}"),
    ]
)


@st.composite
def programs(draw: st.DrawFn, depth: int = 0) -> str:
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        fragment = draw(fragments)
        if "{0}" in fragment:
            body = draw(programs(depth + 1)) if depth < 3 else "pass"
            head, _, _ = fragment.partition("{0}")
            extra = " " if head.startswith("match") else ""
            indented = "\n".join(f"{extra} {line}" for line in body.splitlines())
            lines.append(f"{head.rstrip()}\n{indented}")
        else:
            lines.append(fragment)
    return "\n".join(lines)


def homes(scope: Scope) -> list[tuple[str, str]]:
    """For each function, class and lambda in order the names in it, with the kind of scope each one lives in."""
    result = []
    kinds = {ast.Lambda: "lambda", ast.ClassDef: "class", ast.Module: "top"}
    if isinstance(scope.node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        label = kinds.get(type(scope.node)) or "function"
        for name in sorted({*scope.bindings, *(reference.name for reference in scope.references)}):
            home = scope.home(name)
            place = "global" if home is None or home.is_module else "local" if home is scope else "free"
            result.append((label, f"{name} {place}"))
    for child in scope.children:
        result += homes(child)
    return result


def judged(table: symtable.SymbolTable) -> list[tuple[str, str]]:
    result = []
    if table.get_name() not in ("listcomp", "setcomp", "dictcomp", "genexpr"):
        label = {"module": "top", "class": "class"}.get(str(table.get_type()).rpartition(".")[2].lower(), "function")
        label = "lambda" if table.get_name() == "lambda" else label
        for symbol in sorted(table.get_symbols(), key=lambda symbol: symbol.get_name()):
            declared = symbol.is_declared_global() or symbol.is_nonlocal()
            if symbol.is_referenced() or symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter():
                if declared and not (symbol.is_referenced() or symbol.is_assigned()):
                    continue
                at_top = symbol.is_global() or table.get_type() == "module"
                place = "global" if at_top else "free" if symbol.is_free() else "local"
                result.append((label, f"{symbol.get_name()} {place}"))
    for child in table.get_children():
        result += judged(child)
    return result


@given(programs())
def test_scopes_agree_with_the_compiler(text: str) -> None:
    try:
        table = symtable.symtable(text, "<text>", "exec")
    except SyntaxError:
        return
    ours = [item for item in homes(Module(text).names.module) if item[1].split()[0] in "xyz"]
    theirs = [item for item in judged(table) if item[1].split()[0] in "xyz"]
    # A class body may read a name from outside although it binds it as well, and a name that is only deleted or
    # declared is listed by one side alone.
    assert set(ours) - set(theirs) <= {item for item in ours if item[0] == "class"} | set(_declared(text, ours))
    assert set(theirs) - set(ours) <= set(_declared(text, theirs))


def _declared(text: str, items: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return items if "global" in text or "nonlocal" in text else []


# Strings ------------------------------------------------------------------------------------------------------------

OLD = "from optimum.neuron import NeuronTrainer\nimport typing\n"


@pytest.mark.parametrize(
    ("line", "is_renamed"),
    [
        ('A: typing.TypeAlias = "NeuronTrainer"', True),
        ('A = typing.NewType("A", "NeuronTrainer")', True),
        ('A = typing.assert_type(a, "NeuronTrainer")', True),
        ('__all__: list[str] = ["NeuronTrainer"]', False),
        ('__all__ += ["NeuronTrainer"]', False),
        ('a: "" = NeuronTrainer', True),
        ("a = f\"{typing.cast('NeuronTrainer', b)}\"", not fstrings.NEEDED),
    ],
)
def test_strings_that_name_things(line: str, is_renamed: bool) -> None:
    name = "Trainer" if is_renamed else "NeuronTrainer"
    imported = "Trainer" if is_renamed else "Trainer as NeuronTrainer"
    text = migrate(f"{OLD}{line}\n", settings=NAMES).text
    assert text == f"from transformers import {imported}\nimport typing\n{line.replace('NeuronTrainer', name)}\n"


IMPORT = "from optimum.neuron import NeuronTrainer\nimport optimum.neuron as on\n"
IMPORTED = "from transformers import Trainer\nimport transformers as on\n"
FSTRINGS = {
    "a name": "f'{NeuronTrainer}'",
    "an attribute": "f'{NeuronTrainer.x.y}'",
    "a call": "f'{NeuronTrainer(1, a=NeuronTrainer)}'",
    "a subscript": "f'{a[NeuronTrainer]}'",
    "a module": "f'{on.NeuronTrainer}' f'{on.NeuronTrainer()}'",
    "several": "f'{NeuronTrainer}{NeuronTrainer} {NeuronTrainer}'",
    "text around": "f'a{NeuronTrainer}b{1}c{NeuronTrainer}d'",
    "text that looks alike": "f'NeuronTrainer {NeuronTrainer} NeuronTrainer'",
    "double braces": "f'{{NeuronTrainer}} {{{NeuronTrainer}}}'",
    "a conversion": "f'{NeuronTrainer!r} {NeuronTrainer!s:>10}'",
    "a format": "f'{NeuronTrainer:>10} {NeuronTrainer:NeuronTrainer}'",
    "a nested format": "f'{1:{NeuronTrainer}} {NeuronTrainer:{a}.{NeuronTrainer}}'",
    "a self-documenting expression": "f'{NeuronTrainer=} {NeuronTrainer = }'",
    "spaces": "f'{ NeuronTrainer } {  NeuronTrainer  !r}'",
    "parentheses": "f'{(NeuronTrainer)} {((NeuronTrainer, 1))}'",
    "a lambda": "f'{(lambda x: NeuronTrainer)(1)}'",
    "a comprehension": "f'{[NeuronTrainer for x in [NeuronTrainer]]}'",
    "a dict": "f'{ {1: NeuronTrainer} }'",
    "a conditional": "f'{NeuronTrainer if a else b}'",
    "a walrus": "f'{(a := NeuronTrainer)}'",
    "a string inside": "f'{f(\"NeuronTrainer\", NeuronTrainer)}'",
    "an f-string inside": "f'{f\"{NeuronTrainer}\"} {NeuronTrainer}'",
    "raw": "rf'\\d{NeuronTrainer}\\n' fr'\\{NeuronTrainer}'",
    "escapes": "f'\\n\\t\\x41{NeuronTrainer}\\N{BULLET}{NeuronTrainer}'",
    "capital": "F'{NeuronTrainer}' RF'{NeuronTrainer}'",
    "not ASCII before": "f'žluť {NeuronTrainer} 🐍 {NeuronTrainer}'",
    "not ASCII inside": "f'{f(\"🐍\", NeuronTrainer)}'",
    "not ASCII on the line": "'🐍ž', f'{NeuronTrainer}'",
    "side by side": "'a' f'{NeuronTrainer}' 'NeuronTrainer' f\"{NeuronTrainer}\"",
    "side by side over lines": "('ž'\n  f'{NeuronTrainer}'  # NeuronTrainer\n  f'x{NeuronTrainer}'\n)",
    "a continued line": "f'a' \\\n  f'{NeuronTrainer}'",
    "three quotes": "f'''\n  {NeuronTrainer}\n  ž {\n    NeuronTrainer\n  } {NeuronTrainer}'''",
    "three double quotes": 'f"""{NeuronTrainer}\n"NeuronTrainer" {NeuronTrainer:\n>{NeuronTrainer}}"""',
    "in a call": "print(f'{NeuronTrainer}', NeuronTrainer, sep=f'{NeuronTrainer}')",
    "in a default": "lambda a=f'{NeuronTrainer}': a",
}
if sys.version_info >= (3, 12):
    FSTRINGS |= {
        "the same quotes": "f'{f'{NeuronTrainer}'} {a['NeuronTrainer']}'",
        "comments": "f'''{\n  NeuronTrainer  # NeuronTrainer\n}'''",
        "a backslash": "f'{f(\"\\n\", NeuronTrainer)}'",
    }


class _Renamed(ast.NodeTransformer):
    """The tree that is wanted: old names replaced, and texts only where an expression shows itself."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = node.id.replace("NeuronTrainer", "Trainer")
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        node.attr = node.attr.replace("NeuronTrainer", "Trainer")
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str):
            node.value = re.sub(r"NeuronTrainer( ?=)", r"Trainer\1", node.value)
        return node


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("expression", FSTRINGS.values(), ids=FSTRINGS)
def test_names_in_an_f_string(expression: str, newline: str) -> None:
    text = f"{IMPORT}x = {expression}\n".replace("\n", newline)
    migration = migrate(text, settings=NAMES)
    before, after = text[text.index("x = ") :], migration.text[migration.text.index("x = ") :]
    wanted = _Renamed().visit(ast.parse(before))
    assert ast.dump(ast.parse(after)) == ast.dump(wanted)
    assert after.count(newline) == before.count(newline)
    assert migrate(migration.text, settings=NAMES).text == migration.text


@pytest.mark.skipif(not fstrings.NEEDED, reason="the compiler says where the parts of an f-string stand")
@pytest.mark.parametrize(
    ("text", "after"),
    [
        (
            "from optimum.neuron import NeuronTrainer\nx = f'{NeuronTrainer}'\n",
            "from transformers import Trainer as NeuronTrainer\nx = f'{NeuronTrainer}'\n",
        ),
        ("import torch_neuronx, os\nx = f'{os.environ[\"XLA_A\"]}'\n", "import os\nx = f'{os.environ[\"XLA_A\"]}'\n"),
        (
            "import optimum.neuron, sagemaker as s\nx = f'{s.x(\"ml.trn1.2xlarge\")}'\n",
            "import sagemaker as s\nx = f'{s.x(\"ml.trn1.2xlarge\")}'\n",
        ),
    ],
)
def test_an_f_string_that_the_other_parser_reads_otherwise(
    text: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse = libcst.parse_expression
    for read in ("(", "f'{another}'"):
        monkeypatch.setattr(libcst, "parse_expression", lambda _, read=read: parse(read))
        assert migrate(text).text == after


ARGUMENTS = "from optimum.neuron import NeuronTrainingArguments\n\na = NeuronTrainingArguments('o')\n"
PARSED = (
    "from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments\n\n"
    "(a,) = NeuronHfArgumentParser(NeuronTrainingArguments).parse_args_into_dataclasses()\n"
)
CALLBACK = """\
from optimum.neuron import NeuronTrainer
from transformers import TrainerCallback


class C(TrainerCallback):
    def on_log(self, args, state, control, tokenizer=None):
"""


@pytest.mark.skipif(not fstrings.NEEDED, reason="the compiler says where the parts of an f-string stand")
def test_a_finding_in_an_f_string_that_cannot_be_read_stands_at_its_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = libcst.parse_expression
    monkeypatch.setattr(libcst, "parse_expression", lambda _: parse("("))
    (finding,) = migrate("import optimum.neuron as on\nx = f'\\n{on.nothing}'\n").findings
    assert (finding.start.line, finding.start.column) == (2, 1)


@pytest.mark.skipif(not fstrings.NEEDED, reason="the compiler says where the parts of an f-string stand")
@pytest.mark.parametrize(
    ("head", "line", "told"),
    [
        (ARGUMENTS, "print(f'{a.tensor_parallel_size}')\n", "Replace tensor_parallel_size by parallel_sizes()"),
        (ARGUMENTS, "print(f'{a.overwrite_output_dir}')\n", "overwrite_output_dir is no argument natively"),
        (PARSED, "print(f'{a.overwrite_output_dir}')\n", "overwrite_output_dir is no argument natively"),
        (CALLBACK, "        print(f'{tokenizer.x}')\n", "Callbacks are given a processing_class"),
        (
            "from optimum.neuron import NeuronModelForCausalLM\n",
            "print(f'{NeuronModelForCausalLM.from_pretrained(0)}')\n",
            "take this call out of the f-string",
        ),
    ],
)
def test_what_stands_in_an_f_string_that_cannot_be_read_is_left(
    head: str, line: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse = libcst.parse_expression
    monkeypatch.setattr(libcst, "parse_expression", lambda text, *more: parse("(" if "f'" in text else text, *more))
    result = migrate(head + line)
    assert any(told in finding.message for finding in result.findings if finding.outcome is Outcome.MANUAL)
    assert result.text.endswith(line)


@pytest.mark.parametrize("expression", FSTRINGS.values(), ids=FSTRINGS)
def test_places_in_an_f_string(expression: str) -> None:
    module = Module(f"{IMPORT}x = {expression}\n")
    for node in ast.walk(module.source.tree):
        if isinstance(node, ast.Name) and node.id in ("NeuronTrainer", "on"):
            assert module.is_placed(node)
            assert module.source.segment(node) == node.id


ANNOTATIONS = {
    "a name": ("'NeuronTrainer'", "'Trainer'"),
    "double quotes": ('"NeuronTrainer"', '"Trainer"'),
    "spaces": ("' NeuronTrainer '", "' Trainer '"),
    "a subscript": ("'list[NeuronTrainer]'", "'list[Trainer]'"),
    "a union": ("'NeuronTrainer | None'", "'Trainer | None'"),
    "several": ("'dict[NeuronTrainer, NeuronTrainer]'", "'dict[Trainer, Trainer]'"),
    "a module": ("'on.NeuronTrainer'", "'on.Trainer'"),
    "an attribute": ("'NeuronTrainer.Args'", "'Trainer.Args'"),
    "inside of a subscript": ("Optional['NeuronTrainer']", "Optional['Trainer']"),
    "inside of a literal": ("Literal['NeuronTrainer']", "Literal['NeuronTrainer']"),
    "inside of a literal of a module": ("t.Literal['NeuronTrainer', 'x']", "t.Literal['NeuronTrainer', 'x']"),
    "in the notes of an annotation": (
        "Annotated['NeuronTrainer', 'NeuronTrainer']",
        "Annotated['Trainer', 'NeuronTrainer']",
    ),
    "in a call in an annotation": ("Annotated[int, f('NeuronTrainer')]", "Annotated[int, f('NeuronTrainer')]"),
    "not ASCII before": ("\"Literal['ž🐍'] | NeuronTrainer\"", "\"Literal['ž🐍'] | Trainer\""),
    "a keyword": ("Literal['in', '1x', 'NeuronTrainer(']", "Literal['in', '1x', 'NeuronTrainer(']"),
    "no expression": ("'NeuronTrainer nice'", "'NeuronTrainer nice'"),
    "a longer name": ("'NeuronTrainerX'", "'NeuronTrainerX'"),
    "not ASCII on the line": ("'ž' if 'š' else 'NeuronTrainer'", "'ž' if 'š' else 'Trainer'"),
}


@pytest.mark.parametrize(("annotation", "result"), ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_string_annotation(annotation: str, result: str) -> None:
    for form in ("x: {} = None\n", "def f(x: {}): ...\n", "def f() -> {}: ...\n", "class A:\n    x: {}\n"):
        text = IMPORT + form.format(annotation) + "NeuronTrainer, on.NeuronTrainer\n"
        migration = migrate(text, settings=NAMES)
        assert migration.text == IMPORTED + form.format(result) + "Trainer, on.Trainer\n"


UNPLACED = [
    "'Neuron' 'Trainer'",
    "'''\nNeuronTrainer\n'''",
    "'\\x4eeuronTrainer'",
    "r'NeuronTrainer'",
    "u'NeuronTrainer'",
]


@pytest.mark.parametrize("annotation", UNPLACED)
def test_a_string_annotation_that_cannot_be_edited_keeps_the_name(annotation: str) -> None:
    text = f"from optimum.neuron import NeuronTrainer\nx: {annotation} = NeuronTrainer\n"
    result = f"from transformers import Trainer as NeuronTrainer\nx: {annotation} = NeuronTrainer\n"
    assert migrate(text, settings=NAMES).text == result


def test_builtins_are_not_taken_for_unknown() -> None:
    module = Module(f"print, {', '.join(dir(builtins)[:3])}, unknown\n")
    assert [reference.name for reference in module.names.unresolved()] == ["unknown"]


@pytest.mark.parametrize(("path", "goes"), [("a/run.py", True), ("a/__init__.py", False)])
def test_a_star_import_that_brings_nothing_goes_unless_a_package_passes_it_on(path: str, goes: bool) -> None:
    text = migrate("from optimum.exporters.neuron.model_configs import *\n\nprint(1)\n", path=path).text

    assert ("model_configs import *" not in text) is goes
