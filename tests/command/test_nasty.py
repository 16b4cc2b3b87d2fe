"""Files that break programs which read files: each goes through the command, in one call, and none makes it fail."""

from __future__ import annotations

import ast
import json
import os
import sysconfig
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from neuron_migrate.cli import command

IMPORT = "from optimum.neuron import NeuronTrainer\n"
CALL = "NeuronTrainer(tokenizer=t)"
DEEP = 5_000
FUZZ = Path(__file__).parents[1] / "fuzz"


def notebook(source: object, **more: object) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": source}], "metadata": {}, "nbformat": 4, **more})


def blocks(depth: int, head: str) -> str:
    return IMPORT + "".join(f"{' ' * level}{head}\n" for level in range(depth)) + " " * depth + CALL + "\n"


DEEPLY: dict[str, str] = {
    "parentheses.py": f"{IMPORT}x = {'(' * DEEP}1{')' * DEEP}\n",
    "brackets.py": f"{IMPORT}x = {'[' * DEEP}{']' * DEEP}\n",
    "some_parentheses.py": f"{IMPORT}x = {'(' * 150}{CALL}{')' * 150}\n",
    "calls.py": f"{IMPORT}x = {'f(' * 90}{CALL}{')' * 90}\n",
    "blocks.py": blocks(1_000, "if x:"),
    "some_blocks.py": blocks(90, "if x:"),
    "functions.py": blocks(90, "def f():"),
    "classes.py": blocks(90, "class C(NeuronTrainer):"),
    "elif.py": f"{IMPORT}if x:\n    pass\n" + "elif x:\n    pass\n" * DEEP,
    "sums.py": f"{IMPORT}x = {'1 + ' * DEEP}{CALL}\n",
    "attributes.py": f"{IMPORT}x = {CALL}{'.a' * DEEP}\n",
    "chain.py": f"{IMPORT}x = {CALL}{'.a()' * DEEP}\n",
    "subscripts.py": f"{IMPORT}x = NeuronTrainer{'[0]' * DEEP}\n",
    "not.py": f"{IMPORT}x = {'not ' * DEEP}{CALL}\n",
    "minus.py": f"{IMPORT}x = {'-' * DEEP}{CALL}\n",
    "lambdas.py": f"{IMPORT}x = {'lambda: ' * 500}{CALL}\n",
    "conditions.py": f"{IMPORT}x = {'1 if y else ' * DEEP}{CALL}\n",
    "f_strings.py": IMPORT + "x = " + "f'{" * DEEP + "1" + "}'" * DEEP + "\n",
    "f_string.py": IMPORT + "x = f'{" + "(" * DEEP + "1" + ")" * DEEP + "}'\n",
    "formats.py": IMPORT + "x = f'{NeuronTrainer:{f\"{a}\"}}'\n",
    "comprehensions.py": f"{IMPORT}x = {'[' * 18}{CALL}{' for a in b]' * 18}\n",
    "dictionaries.py": IMPORT + "x = " + "{'NeuronTrainer': " * 90 + CALL + "}" * 90 + "\n",
    "walrus.py": f"{IMPORT}{'(x := ' * 80}NeuronTrainer{')' * 80}\n",
    "annotation.py": f"{IMPORT}x: '{'[' * DEEP}NeuronTrainer{']' * DEEP}'\n",
    "assignment.py": IMPORT + "".join(f"a{number} = " for number in range(1_000)) + "NeuronTrainer\n",
    "array.ipynb": "[" * 100_000 + "]" * 100_000 + " optimum.neuron",
    "objects.ipynb": '{"cells": ' + '{"a":' * 50_000 + '"optimum.neuron"' + "}" * 50_001,
    "cell.ipynb": notebook(f"{IMPORT}x = {'(' * DEEP}{')' * DEEP}"),
    "metadata.ipynb": notebook(IMPORT).replace('"metadata": {}', '"metadata": ' + "[" * 900 + "]" * 900),
    "flow.yaml": f"a: optimum-neuron\nb: {'[' * 300}{']' * 300}\n",
    "mappings.yaml": "".join(f"{' ' * level}a:\n" for level in range(3_000)) + " " * 3_000 + "- optimum-neuron\n",
    "lists.yaml": "- " * DEEP + "optimum-neuron\n",
    "commands.yaml": "run: |\n  " + "$(" * 500 + "torchrun optimum-neuron" + ")" * 500 + "\n",
    "tables/pyproject.toml": f"a = {'{a=' * DEEP}'optimum-neuron'{'}' * DEEP}\n",
    "lists/pyproject.toml": f"[project]\ndependencies = [{'[' * DEEP}'optimum-neuron'{']' * DEEP}]\n",
    "commands.sh": "#!/bin/bash\n" + "$(" * DEEP + "optimum-cli neuron" + ")" * DEEP + "\n",
    "braces.sh": "{ " * DEEP + "neuron_parallel_compile torchrun x.py;" + " }" * DEEP + "\n",
    "quotes.md": "> " * 500 + "`optimum-neuron`\n",
    "items.md": "- " * 500 + "```python\nimport optimum.neuron\n```\n",
}
"""Nested so deeply that a parser by descent runs out of stack."""

LONG: dict[str, str] = {
    "line.py": IMPORT + CALL + "  # " + "a" * 1_000_000 + "\n",
    "string.py": f"{IMPORT}x = '{'a' * 1_000_000}'; {CALL}\n",
    "arguments.py": IMPORT + "NeuronTrainer(" + ", ".join(f"a{number}=1" for number in range(2_000)) + ")\n",
    "continued.py": f"{IMPORT}x = 1 + " + "\\\n" * DEEP + f"{CALL}\n",
    "statements.py": IMPORT + "; ".join([CALL] * 200) + "\n",
    "literals.py": f"{IMPORT}x = {chr(39)}a{chr(39)}" + " 'a'" * 5_000 + "\n",
    "decorators.py": IMPORT + "@NeuronTrainer\n" * 500 + "def f(): pass\n",
    "names.py": "from optimum.neuron import " + ", ".join(f"NeuronTrainer as N{n}" for n in range(200)) + "\n",
    "stars.py": "from optimum.neuron import *\n" * 100 + "NeuronTrainer()\n",
    "markup.md": "<" * 100_000 + "optimum-neuron\n",
    "fences.md": "```python\nimport optimum.neuron\n" * 500,
    "requirements.txt": "optimum-neuron[" + "a," * 10_000 + "]\n" + "optimum[neuron] \\\n" * 500,
    "Dockerfile": "FROM x\nRUN pip install optimum-neuron " + "&& \\\n a " * 500 + "\n",
    "line.sh": "neuron_parallel_compile torchrun x.py" + " --a b" * 2_000 + "\n",
}

ODD: dict[str, str | bytes] = {
    "mixed.py": "from optimum.neuron import NeuronTrainer\r\nx = NeuronTrainer(\rtokenizer=t,\n a=1)\r",
    "mixed_blocks.py": f"from optimum.neuron import (NeuronTrainer,\r NeuronConfig)\r\nif 1:\r\t{CALL}\n",
    "form_feed.py": f"{IMPORT}\x0c{CALL}\n\x0c\n",
    "end_of_file.py": f"{IMPORT}{CALL}\n# \x1a",
    "null.py": IMPORT + "\x00",
    "surrogate.py": IMPORT.encode() + b"x = '\xed\xa0\x80'\n",
    "letters.py": f"{IMPORT}ℕ = 𝓍 = NeuronTrainer(tokenizer=ﬁ)\n",
    "backslash.py": IMPORT + CALL + "\\\n\n",
    "no_newline.py": IMPORT + CALL + "\\",
    "only_comment.py": "# optimum.neuron",
    "tabs.py": f"{IMPORT}if x:\n        y\n\t{CALL}\n",
    "separators.py": IMPORT + f"x = '\x1c\x85\u2028'; {CALL}\n",
    "bad_cells.ipynb": '{"cells": "optimum.neuron"}',
    "odd_cells.ipynb": '{"cells": [1, null, {"source": 5}, {"cell_type": "code", "source": [1, "optimum.neuron"]}]}',
    "no_object.ipynb": '["optimum.neuron"]',
    "number.ipynb": notebook("import optimum.neuron")[:-1] + ', "x": 1' + "0" * 5_000 + "}",
    "surrogate.ipynb": '{"cells": [{"cell_type": "code", "source": "import optimum.neuron\\n\\ud800"}], "x": NaN}',
    "anchors.yaml": "a: &a [optimum-neuron]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(200)),
    "tabs.yaml": "a:\n\t- optimum-neuron\n",
    "broken/pyproject.toml": "[project]\nname='a'\ndependencies = ['optimum-neuron'\n",
    "quote.sh": "neuron_parallel_compile torchrun 'x.py\n",
    "documents.sh": "cat <<A <<B\nneuron_parallel_compile\nA\n",
    "itself/requirements.txt": "-r requirements.txt\n-c requirements.txt\noptimum-neuron\n",
    "json/Dockerfile": 'RUN ["pip", "install", "optimum-neuron"\nRUN <<A\npip install optimum-neuron\n',
}


def fuzzed() -> dict[str, str]:
    pieces = (FUZZ / "syntax.txt").read_text().split("\n---\n")
    found = [json.loads(line)["text"] for line in (FUZZ / "found.jsonl").read_text().splitlines()]
    return {f"fuzz/{number}.py": text for number, text in enumerate([IMPORT + piece for piece in pieces] + found)}


def of_python() -> dict[str, bytes]:
    """What Python tests its own parser with, where this installation has it."""
    folder = Path(sysconfig.get_path("stdlib")) / "test"
    names = ("*bad*.py", "test_*syntax*.py", "test_grammar.py", "test_fstring.py", "test_patma.py", "test_unpack*.py")
    names += ("tokenizedata/*", "encoded_modules/*.py", "test_str*literal*.py", "test_named_expressions.py")
    found = {path for name in names for path in folder.glob(name) if path.suffix in (".py", ".txt")}
    # At the end, so that what is odd about the first line stays so.
    return {f"{path.stem}.py": path.read_bytes() + b"\nimport optimum.neuron\n" for path in sorted(found)}


@dataclass(frozen=True)
class Went:
    """One run over many files."""

    root: Path
    files: dict[str, bytes]
    status: int
    out: str

    def check(self, name: str) -> bool:
        """Whether the file was rewritten, for which there is a reason then."""
        before, after = self.files[name], (self.root / name).read_bytes()
        told = [line for line in self.out.splitlines() if line.startswith(f"{name}:")]
        assert "internal error" not in "".join(told)
        if after != before:
            assert told
            if name.endswith(".py"):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of odd escapes
                    ast.parse(after)
        return after != before


def went(root: Path, files: Mapping[str, str | bytes], capsys: pytest.CaptureFixture[str]) -> Went:
    written = {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}
    for name, data in written.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    here = os.getcwd()
    os.chdir(root)
    try:
        status = command.main([".", "--jobs", "1", "--verbose"], standalone_mode=False)
    finally:
        os.chdir(here)
    said = capsys.readouterr()
    return Went(root, written, status, said.out + said.err)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(DEEPLY, id="deep", marks=pytest.mark.slow),
        pytest.param(LONG, id="long", marks=pytest.mark.slow),
        pytest.param(ODD, id="odd"),
    ],
)
def test_no_nasty_file_makes_the_command_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: Mapping[str, str | bytes]
) -> None:
    run = went(tmp_path, files, capsys)
    assert run.status in (0, 4, 8, 12)
    assert sum(run.check(name) for name in files) > 3
    assert set(files) == {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_what_was_found_by_fuzzing_and_what_python_tests_itself_with_makes_nothing_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = went(tmp_path, fuzzed() | of_python(), capsys)
    assert sum(run.check(name) for name in run.files) > 50
