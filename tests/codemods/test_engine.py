"""From text to text: bytes that are not meant stay, errors have a place, every name of the table is heard of."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_codemods import Migration, Outcome, Settings, SourceError, data, migrate, registry
from neuron_codemods.edits import Change, Edit, apply
from neuron_codemods.engine import migrate_pieces
from neuron_codemods.model import Rule
from neuron_codemods.module import Module
from neuron_codemods.registry import RuleModule
from neuron_codemods.training.native_names import RULE as NATIVE_NAMES

NAMES = Settings(select=("NM0", "NM101", "NM102"))
OLD = "from optimum.neuron import NeuronTrainer\n"
NEW = "from transformers import Trainer\n"
CODEMODS = Path(__file__).parents[2] / "codemods"


def result(text: str) -> str:
    return migrate(text, settings=NAMES).text


# Bytes --------------------------------------------------------------------------------------------------------------

TEXTS = {
    "LF": f"{OLD}\nx = NeuronTrainer()\n",
    "CRLF": f"{OLD}\nx = NeuronTrainer()\n".replace("\n", "\r\n"),
    "CR": f"{OLD}\nx = NeuronTrainer()\n".replace("\n", "\r"),
    "mixed newlines": f"import a\r\n{OLD}x = NeuronTrainer()\r\ny = 1\rz = NeuronTrainer\r\n",
    "no newline at the end": f"{OLD}NeuronTrainer()",
    "blank lines at the end": f"{OLD}NeuronTrainer()\n\n\n",
    "white space at the end": f"{OLD}NeuronTrainer()  \n\t\n  ",
    "tabs": f"{OLD}if NeuronTrainer:\n\tNeuronTrainer()\n\tif x:\n\t\tNeuronTrainer()\n",
    "form feeds": f"{OLD}\x0c\nNeuronTrainer()\n\x0cclass A(NeuronTrainer):\n\x0c    x = NeuronTrainer\n",
    "vertical tabs in strings": f"{OLD}x = '\x0b\x1c\x85\u2028', NeuronTrainer\ny = NeuronTrainer\n",
    "line separators in comments": f"{OLD}# \x0b \x1c \x85 \u2028\nNeuronTrainer()\n",
    "a byte order mark": f"\ufeff{OLD}NeuronTrainer()\n",
    "a byte order mark and a cookie": f"\ufeff# -*- coding: utf-8 -*-\r\n{OLD}NeuronTrainer()\r\n",
    "a shebang": f"#!/usr/bin/env python\n# -*- coding: latin-1 -*-\n{OLD}NeuronTrainer()\n",
    "a docstring": f'"""NeuronTrainer."""\n\n{OLD}\n\nNeuronTrainer()\n',
    "not ASCII": f"s = 'žluťoučký 🐍', 1; {OLD}t = 'ž', NeuronTrainer, '🐍', NeuronTrainer\n",
    "names that are not ASCII": f"{OLD}trénér = NeuronTrainer\nдада = trénér, NeuronTrainer\n",
    "combining characters": f"{OLD}x = 'e\u0301', NeuronTrainer\n",
    "trailing backslash in a comment": f"{OLD}# \\\nNeuronTrainer()\n",
    "continued lines": f"{OLD}x = \\\n  NeuronTrainer; \\\n  y = NeuronTrainer\n",
    "nested brackets": f"{OLD}x = [\n  (NeuronTrainer,\n   {{NeuronTrainer: [NeuronTrainer]}}),\n]\n",
    "walrus": f"{OLD}if (x := NeuronTrainer()) and [y := NeuronTrainer]: ...\n",
    "match": f"{OLD}match x:\n    case NeuronTrainer(args=[1, *_]) | {{'x': NeuronTrainer()}} if NeuronTrainer: ...\n",
    "decorators": f"{OLD}@NeuronTrainer[0].x(lambda: NeuronTrainer)\nasync def f(): await NeuronTrainer()\n",
    "positional only": f"{OLD}def f(a=NeuronTrainer, /, b: NeuronTrainer = 1, *c: "
    f"NeuronTrainer, **d: NeuronTrainer): ...\n",
    "escapes": f"{OLD}x = '\\d', b'\\xff', r'\\', NeuronTrainer\n".replace("r'\\'", "r'\\\\'"),
    "numbers": f"{OLD}x = 1_000, 0xFF, 1e5j, NeuronTrainer if 1else 2\n",
    "global names": f"{OLD}def f():\n    global x\n    x = NeuronTrainer\n",
    "Literal with words": f"{OLD}from typing import Literal\n"
    f'x: Literal["in", "1x", "NeuronTrainer"] = NeuronTrainer\n',
}
if sys.version_info >= (3, 11):
    TEXTS["exception groups"] = f"{OLD}try:\n    x\nexcept* NeuronTrainer:\n    NeuronTrainer()\n"
    TEXTS["unpacking in a subscript"] = f"{OLD}def f(*a: *NeuronTrainer): a[*NeuronTrainer]\n"
if sys.version_info >= (3, 12):
    TEXTS["PEP 695"] = (
        f"{OLD}type A[T: NeuronTrainer] = list[NeuronTrainer]\ndef f[T: (NeuronTrainer, int)](x: T): ...\n"
    )
    TEXTS["PEP 701"] = f"{OLD}x = f'{{f'{{NeuronTrainer}}'}} {{NeuronTrainer['a']}}'\n"
if sys.version_info >= (3, 13):
    TEXTS["PEP 696"] = f"{OLD}class A[T = NeuronTrainer]: ...\n"


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_only_names_change(text: str) -> None:
    migrated = result(text)
    wanted = text.replace("optimum.neuron", "transformers")
    for kept in ('"NeuronTrainer"', '"""NeuronTrainer'):
        wanted = wanted.replace(kept, kept.replace("Neuron", "\0"))
    assert migrated == wanted.replace("NeuronTrainer", "Trainer").replace("\0", "Neuron")
    assert result(migrated) == migrated


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_all_rules_twice(text: str) -> None:
    once = migrate(text).text
    again = migrate(once)
    assert again.text == once
    assert not again.changed


@pytest.mark.parametrize("text", ["", "\n", "\r\n", "\ufeff", "#", "x", "\x0c", "  # a\n", '"""Doc."""'])
def test_small_texts_stay(text: str) -> None:
    assert migrate(text) == Migration(text, False)


# Errors -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import os\nprint 'hello'\n", 2),
        ("x = (\n", 1),
        ("def f():\nx = 1\n", 2),
        ("if x:\n\ty\n        z\n", 3),
        ("x = 'a\n", 1),
        ("\r\nx = \r\n", 2),
        ("exec 'x' in y\n", 1),
        ("x = 1\ny = ?\n", 2),
    ],
)
def test_a_text_that_is_no_python_says_where(text: str, line: int) -> None:
    with pytest.raises(SourceError) as caught:
        migrate(text)
    assert caught.value.line == line
    assert caught.value.column >= 1
    assert str(caught.value).startswith("not Python 3: ")


@pytest.mark.parametrize(
    "text",
    [
        "x = '\0'\n",
        f"{OLD}x = {'(' * 500}1{')' * 500}\n",
        f"{OLD}x = {'-' * 100_000}1\n",
        f"{OLD}x = a{'.b()' * 20_000}\n",
        f"{OLD}x = 1{' + 1' * 100_000}\n",
        f"{OLD}x = {'[' * 2000}\n",
    ],
    ids=["a null byte", "parentheses", "signs", "calls", "a sum", "open brackets"],
)
def test_a_text_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(SourceError):
        migrate(text)


def test_what_is_nested_deeply_but_not_too_deeply() -> None:
    text = f"{OLD}x = {'(' * 60}NeuronTrainer{')' * 60}\ny = 'a'{' + NeuronTrainer' * 150}\nz = a{'.b()' * 100}\n"
    assert result(text).count("NeuronTrainer") == 0
    block = "".join(f"{' ' * depth}if NeuronTrainer:\n" for depth in range(60)) + " " * 60 + "NeuronTrainer()\n"
    assert result(OLD + block).count("NeuronTrainer") == 0


def test_an_error_survives_a_process_border() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(SourceError("not Python 3: x", 3, 4)))
    assert (error.message, error.line, error.column) == ("not Python 3: x", 3, 4)


def test_warnings_about_the_users_code_stay_inside() -> None:
    text = f"{OLD}x = '\\d', 1 is 1\n\n\ndef f(a: \"Literal['\\\\d'] | NeuronTrainer\"): assert (a, 1)\n"
    assert "Trainer" in result(text)


# Edits --------------------------------------------------------------------------------------------------------------


def test_edits_are_nested_and_side_by_side() -> None:
    edits = [
        Edit(0, 9, lambda text: f"<{text}>"),
        Edit.replace((1, 2), "B"),
        Edit.insert(0, "^"),
        Edit.insert(9, "$"),
        Edit.insert(4, "|"),
        Edit.insert(4, "!"),
        Edit.replace((5, 6), "F"),
        Edit(4, 9, str.upper),
    ]
    assert apply("abcdefghi", edits) == "^<aBcd|!EFGHI>$"


def test_edits_that_cross_are_refused() -> None:
    with pytest.raises(ValueError, match="cross"):
        apply("abcdef", [Edit.replace((0, 3), ""), Edit.replace((2, 5), "")])


def test_edits_of_one_stretch_apply_in_order() -> None:
    assert apply("abc", [Edit(0, 3, str.upper), Edit(0, 3, lambda text: text + "!")]) == "ABC!"


# The table ----------------------------------------------------------------------------------------------------------

# Two modules of Optimum itself, which Optimum Neuron overlays, are not its own.
SYMBOLS = [symbol for symbol in data.all_symbols() if data.is_neuron_module(symbol.module)]


def change_all(module: Module) -> Iterator[Change]:
    """A rule that puts an open parenthesis in the place of the whole text."""
    edit = Edit.replace((0, len(module.source.text)), "(")
    yield Change(Outcome.REWRITTEN, module.source.tree.body[0], "All of it goes.", (edit,))


@pytest.fixture
def wild_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    wild = RuleModule(Rule("NM999", "wild", "", ""), "", (), change_all)
    monkeypatch.setattr(registry, "enabled", lambda *_: (wild,))


@pytest.mark.usefixtures("wild_rule")
def test_a_text_that_would_not_parse_is_not_written() -> None:
    with pytest.raises(RuntimeError, match="the migrated text would not parse"):
        migrate(OLD)


@pytest.mark.usefixtures("wild_rule")
def test_no_change_reaches_from_one_part_of_a_program_into_another() -> None:
    with pytest.raises(RuntimeError, match="from one part of the program into another"):
        migrate_pieces([OLD, OLD])


def test_every_name_of_the_table_is_heard_of() -> None:
    assert len(SYMBOLS) >= len(list(data.all_symbols())) - 2
    silent = []
    for symbol in SYMBOLS:
        if symbol.kind == "module":
            continue
        for text in (
            f"from {symbol.module} import {symbol.name}\n\nprint({symbol.name})\n",
            f"import {symbol.module} as m\n\nprint(m.{symbol.name})\n",
        ):
            migration = migrate(text)
            heard = [finding for finding in migration.findings if finding.message and finding.url]
            if not heard:
                silent.append(f"{symbol.module}.{symbol.name}")
            manual = any(finding.outcome is Outcome.MANUAL for finding in heard)
            if not manual and "optimum" in ast.unparse(ast.parse(migration.text)):
                silent.append(f"{symbol.module}.{symbol.name} stays")
    assert silent == []


def test_every_renamed_name_runs_twice() -> None:
    for symbol in {(symbol.name, symbol.native): symbol for symbol in SYMBOLS}.values():
        text = f"from {symbol.module} import {symbol.name}\n\nx = {symbol.name}\n\n\nclass A({symbol.name}): ...\n"
        once = migrate(text)
        assert migrate(once.text).text == once.text


@pytest.mark.parametrize(
    "text",
    [
        "from optimum.neuron import SomethingNew\n\nSomethingNew()\n",
        "from optimum.neuron.trainers import _private\n\n_private()\n",
        "import optimum.neuron.nothing as n\n\nn.x\n",
        "import optimum.neuron\n\noptimum.neuron.SomethingNew()\n",
        "from optimum.exporters.neuron import SomethingNew\n\nSomethingNew()\n",
        "from optimum.neuron import NeuronTrainer, SomethingNew\n\nSomethingNew(NeuronTrainer)\n",
        "import optimum.neuron as on\n\nprint(on)\n",
        "import optimum.neuron as on\n\non.__version__ = on\n",
        "import optimum\n\nprint(optimum.neuron.SomethingNew)\n",
    ],
)
def test_what_is_in_no_release_is_for_a_person(text: str) -> None:
    migration = migrate(text)
    assert Outcome.MANUAL in {finding.outcome for finding in migration.findings}
    assert "# TODO(neuron-migrate NM003): " in migration.text
    assert migrate(migration.text).text == migration.text


# Settings -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "changed"),
    [
        (Settings(), True),
        (Settings(select=("NM1",)), True),
        (Settings(select=("NM101",)), True),
        (Settings(select=("NM2",)), False),
        (Settings(ignore=("NM1",)), False),
        (Settings(ignore=("NM101",)), False),
        (Settings(select=("NM101",), ignore=("NM1",)), True),
        (Settings(select=("NM1",), ignore=("NM101",)), False),
        (Settings(select=("NM101",), ignore=("NM101",)), False),
        (Settings(select=("NM",), ignore=("NM2",)), True),
    ],
)
def test_the_longest_prefix_decides(settings: Settings, changed: bool) -> None:
    assert migrate(f"{OLD}print(NeuronTrainer)\n", settings=settings).changed == changed


def test_findings_are_in_the_order_of_the_text() -> None:
    text = f"{OLD}import optimum.neuron as on\n\non.nothing\nfrom optimum.neuron import nothing\non.NeuronTrainer\n"
    migration = migrate(text, settings=NAMES)
    starts = [finding.start for finding in migration.findings]
    assert starts == sorted(starts)
    lines = text.splitlines()
    for finding in migration.findings:
        assert lines[finding.start.line - 1][finding.start.column - 1 : finding.end.column - 1]


def test_columns_count_characters() -> None:
    text = f"{OLD}x = 'ž🐍'; NeuronTrainer.nothing; y = '🐍'; from optimum.neuron import nothing\n"
    (finding,) = [finding for finding in migrate(text).findings if finding.code == "NM003"]
    assert (finding.start.line, finding.start.column) == (2, text.splitlines()[1].rindex("nothing") + 1)


# Any text -----------------------------------------------------------------------------------------------------------

plain = st.sampled_from(
    [
        *(
            "x = 1",
            "import os",
            "from transformers import Trainer",
            "print('NeuronTrainer')",
            "# optimum.neuron",
            "\x0c",
        ),
        *(
            "def f(a, b=1):\n    return a.NeuronTrainer(b)",
            "class Trainer:\n    neuron = 1",
            "",
            "",
            "x = f'{x!r:>{x}}'",
        ),
        *(
            "if x:\n\tpass\nelse:\n\tx",
            "s = 'žluť 🐍'",
            "with a as b: c",
            "x; y; z",
            '"""\nfrom optimum.neuron import X\n"""',
        ),
        *(
            "import optimum.onnxruntime",
            "from .neuron import NeuronTrainer as N",
            "try:\n  x\nexcept E: y",
            "lambda: 0",
        ),
        *(
            "from neuronal import *",
            "x = {**a, 'optimum': [*b]}",
            "del x",
            "a = \\\n  1",
            "@a.b\nasync def g(): await x",
        ),
    ]
)
old = st.sampled_from(
    [
        *("from optimum.neuron import NeuronTrainer", "import optimum.neuron as on", "import optimum.neuron"),
        *("from optimum.neuron import (\n    NeuronTrainer as T,  # t\n    NeuronSFTTrainer,\n)", "NeuronTrainer()"),
        *("on.NeuronTrainer(args=on.NeuronTrainingArguments('x', bf16=True))", "optimum.neuron.NeuronTrainer", "T"),
        *("def f():\n    from optimum.neuron import NeuronTrainer\n    return NeuronTrainer()", "on.nothing", "on"),
        *("try: from optimum.neuron import NeuronTrainer\nexcept ImportError: NeuronTrainer = None", "Trainer = 1"),
        *(
            "class A(NeuronTrainer):\n    x: 'NeuronTrainer' = f'{NeuronTrainer}'",
            "from optimum.neuron import nothing",
        ),
        *("if x: import optimum.neuron.trainers; y", "NeuronSFTTrainer(tokenizer=x)", "__all__ = ['NeuronTrainer']"),
        *("from optimum.neuron import *", "from optimum.neuron import NeuronCacheCallback", "transformers = 1"),
        *("NeuronTrainer = wrap(NeuronTrainer)", "from transformers import Trainer", "from optimum import neuron"),
        *("# neuron-migrate: ignore", "# neuron-migrate: ignore[NM101]", "getattr(on, 'x')", "neuron.NeuronTrainer"),
        *("with x:\n    import optimum.neuron", "def NeuronTrainer(): ...", "for on in x: on.y", "del NeuronTrainer"),
        *("import optimum", "import optimum.onnxruntime", "optimum.onnxruntime.X", "import transformers"),
    ]
)
newlines = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def texts(draw: st.DrawFn, lines: st.SearchStrategy[str]) -> str:
    newline = draw(newlines)
    text = "\n".join(draw(st.lists(lines, max_size=12)))
    return (text + draw(st.sampled_from(["", "\n", "\n\n"]))).replace("\n", newline)


@given(texts(plain))
def test_texts_without_the_package_stay(text: str) -> None:
    migration = migrate(text)
    assert migration.text == text
    assert not migration.changed


@given(texts(old | plain), st.sampled_from([NAMES, Settings()]))
def test_any_text(text: str, settings: Settings) -> None:
    migration = migrate(text, settings=settings)
    ast.parse(migration.text)
    assert migration.changed == (migration.text != text)
    again = migrate(migration.text, settings=settings)
    assert again.text == migration.text
    left = migration.text.splitlines()
    for line in text.splitlines():
        if line.strip() and not any(
            word in line for word in ("euron", "rainer", "optimum", "on", "pass", "transformers", "T")
        ):
            assert line in left
    if settings.select and "ignore" not in text and "import optimum.neuron" in text.replace("as on", ""):
        assert migration.findings


@given(texts(old | plain))
def test_no_name_is_lost(text: str) -> None:
    """Whatever is imported from the old package and stays there is reported."""
    migration = migrate(text, settings=NAMES)
    quiet = "ignore" in text
    for node in ast.walk(ast.parse(migration.text)):
        if isinstance(node, ast.ImportFrom) and node.module == "optimum.neuron" and not quiet:
            assert any(finding.outcome is Outcome.MANUAL for finding in migration.findings)
        if isinstance(node, ast.Import) and any(alias.name == "optimum.neuron" for alias in node.names) and not quiet:
            assert any(finding.outcome is Outcome.MANUAL for finding in migration.findings)


# Cost ---------------------------------------------------------------------------------------------------------------


def test_libraries_are_loaded_late() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from neuron_codemods import migrate\n"
        "assert 'libcst' not in sys.modules\n"
        "migrate('import optimum.neuron as on\\n\\non.NeuronTrainer\\n')\n"
        "print(sorted({'libcst', 'torch', 'transformers', 'optimum', 'click', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(CODEMODS)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_long_file() -> None:
    lines = ["from optimum.neuron import NeuronTrainer", "x = 1"]
    for number in range(1500):
        lines += [
            f"def function_{number}(a, b={number}):",
            f"    x = [NeuronTrainer(a) for a in b if a > {number}]",
            "    return x, f'{a} {b}'",
            f"x = function_{number}(x)  # {number}",
        ]
    migration = migrate("\n".join(lines), settings=NAMES)
    assert migration.text == "\n".join(lines).replace("optimum.neuron", "transformers").replace("NeuronT", "T")


# What is kept -------------------------------------------------------------------------------------------------------


def test_what_is_held_back_need_not_be_told() -> None:
    text = f"{OLD}\nNeuronTrainer(m, tokenizer=t)\n"
    kept = NATIVE_NAMES.code
    told = migrate(text, settings=Settings(ignore=(kept,)))
    quiet = migrate(text, settings=Settings(ignore=(kept, "NM006")))
    assert "NM006" in {finding.code for finding in told.findings}
    assert quiet.text == told.text
    assert "NM006" not in {finding.code for finding in quiet.findings}
