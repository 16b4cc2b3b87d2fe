"""Notebooks: the sources of cells are migrated as one program, and nothing else is touched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_codemods import Project, SourceError, migrate_text
from neuron_codemods.kinds import collect
from tests.command.support import REAL
from tests.command.support import Project as Folder

from .notebooks import code, migrated, notebook, prose, sources

OLD = "from optimum.neuron import NeuronTrainer as Trainer"
NEW = "from transformers import Trainer"


def cells(*given: dict[str, Any] | str, **style: Any) -> list[str]:
    return sources(migrated(notebook(*given, **style)).text)


def test_names_are_known_across_cells() -> None:
    first, *_, last = cells("from optimum.neuron import NeuronTrainer", "x = 1", prose("text"), "t = NeuronTrainer(m)")
    assert NEW in first
    assert last == "t = Trainer(m)"


def test_a_cell_that_its_editor_knows_as_shell() -> None:
    shell = code("torchrun t.py --zero_1 \\\n  --bf16", metadata={"vscode": {"languageId": "shellscript"}})

    assert cells(shell) == ["HF_DEACTIVATE_ASYNC_LOAD=1 torchrun t.py \\\n  --bf16"]


def test_what_a_cell_of_shell_exports_is_known() -> None:
    shell = code("optimum-cli export neuron -m gpt2 out/", metadata={"vscode": {"languageId": "shellscript"}})
    facts = collect("notebook", notebook(shell), "a.ipynb")

    assert facts is not None
    assert [folder.model for folder in facts.compiled] == ["gpt2"]


def test_configure_comes_after_the_imports_of_its_cell() -> None:
    setup = "import torch\nfrom optimum.neuron import NeuronTrainingArguments"
    result = cells("print(1)", setup, "args = NeuronTrainingArguments('out')")
    assert result[0] == "print(1)"
    assert result[1].endswith("from transformers import TrainingArguments\n\nconfigure()")


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize(
    "style", [{"indent": 1}, {"indent": 4}, {"indent": None}, {"indent": "\t"}, {"sort_keys": True}]
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_untouched_bytes_stay(listed: bool, style: dict[str, Any], ascii_only: bool) -> None:
    output = {"name": "stdout", "output_type": "stream", "text": ["NeuronTrainer \u20ac\n"]}
    given = notebook(
        prose("# Přehled\nNeuronTrainer"),
        code(f"# \u00e9t\u00e9\n{OLD}\nx = '\U0001f600'", execution_count=7, outputs=[output]),
        "y = '\u00e9'",
        listed=listed,
        ensure_ascii=ascii_only,
        **style,
    )
    assert migrated(given).text == given.replace(OLD, NEW)
    assert migrated(given.rstrip("\n")).text == given.rstrip("\n").replace(OLD, NEW)
    assert migrate_text("notebook", "\ufeff" + given).text == "\ufeff" + given.replace(OLD, NEW)


def test_unusual_escapes_of_lines_that_stay_are_kept() -> None:
    given = notebook(f"a = 'x/y'\n{OLD}\nb = 'x/y'", listed=False).replace("x/y", "x\\/\\u0079")
    assert migrated(given).text == given.replace(OLD, NEW)


def test_a_line_that_is_no_longer_the_last_keeps_its_escapes() -> None:
    setup = "import torch\nfrom optimum.neuron import NeuronSFTConfig\nimport os  # x/y"
    given = notebook(setup, "NeuronSFTConfig('o')").replace("x/y", "x\\/y")
    assert '"import os  # x\\/y\\n",' in migrated(given).text


def test_cells_of_other_languages_stay() -> None:
    for first in ("%%html", "%%javascript", "%%latex", "%%R", "%%unheard_of"):
        text = notebook("import torch", f"{first}\n{OLD}")
        assert migrated(text).text == text
    text = notebook(OLD, language="julia")
    assert migrated(text).text == text


@pytest.mark.parametrize("first", ["%%time", "%%capture out", "%%timeit -n 1"])
def test_cells_with_a_magic_around_python_are_python(first: str) -> None:
    assert cells(f"{first}\n{OLD}\n") == [f"{first}\n{NEW}\n"]


@pytest.mark.parametrize(
    "line",
    [
        "%matplotlib inline",
        "!ls -l",
        "!!ls",
        "files = !ls *.py",
        "n = %sx ls",
        "%cd ..",
        "if True:\n    !ls\n    %pwd",
        "!echo a \\\n  b \\\n  c",
        "print?",
        "??print",
        "str.join??",
        "%config Completer.use_jedi = False",
        "x = '''\n!not a shell line\n'''\n!ls",
        "x = (1\n% 2)\n!ls",
        "%load_ext autoreload\n%autoreload 2",
        "!ls # it's\nx = \"it's\"",
        "for i in x: print(i)\n!ls",
    ],
)
def test_magics_and_shell_lines_stay(line: str) -> None:
    assert cells(f"{line}\n{OLD}\n{line}") == [f"{line}\n{NEW}\n{line}"]


@pytest.mark.parametrize("magic", ["%time", "%timeit", "%prun"])
def test_python_behind_a_line_magic_is_migrated(magic: str) -> None:
    result = cells("from optimum.neuron import NeuronTrainer", f"if x:\n    {magic} t = NeuronTrainer(m, tokenizer=t)")
    assert result[1] == f"if x:\n    {magic} t = Trainer(m, processing_class=t)"


def test_a_statement_behind_a_line_magic_stays_on_its_line() -> None:
    load = "from optimum.neuron import NeuronModelForCausalLM as M\n"
    load += "m = M.from_pretrained('a', export=True, sequence_length=8)"
    text = "x, " * 40
    result = cells(load, f"if x:\n    %time y = m.generate(**i, n=[{text}1, (2)])  # z\n    print(y)")
    assert result[1] == (
        f"if x:\n    %time y = m.generate(**i, n=[{text}1, (2)], "
        'cache_implementation="static", max_cache_len=8)  # z\n    print(y)'
    )


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("%env NEURON_FUSE_SOFTMAX=1", ""),
        ("%set_env NEURON_FUSE_SOFTMAX 1\nx = 1", "x = 1"),
        ("if x:\n    %env NEURON_FUSE_SOFTMAX=1", "if x:\n    pass"),
        ("%env NEURON_RT_VIRTUAL_CORE_SIZE=2  ", "%env NEURON_LOGICAL_NC_CONFIG=2  "),
        ("%env NEURON_CC_FLAGS=-O1 --retry_failed_compilation --x='y z'", "%env NEURON_CC_FLAGS=-O1 --x='y z'"),
    ],
)
def test_variables_are_those_of_a_shell(line: str, after: str) -> None:
    assert cells(OLD, line)[1] == after


@pytest.mark.parametrize(
    "line", ["%env", "%env A", "%env A=$B", "%env A={b}", "%env A=b c", "%env A=it's", "%env PJRT_X=1"]
)
def test_other_variables_stay(line: str) -> None:
    assert cells(OLD, line)[1] == line


def test_a_variable_for_a_person_gets_a_marker() -> None:
    assert (
        cells(OLD, "if x:\n    %env NEURON_RT_NUM_CORES=2")[1].splitlines()[1].startswith("    # TODO(neuron-migrate")
    )


def test_help_on_a_name_follows_it() -> None:
    result = cells(
        "from optimum.neuron import NeuronTrainer", "NeuronTrainer?", "?NeuronTrainer.train", "t = NeuronTrainer(m)"
    )
    assert result[1:3] == ["Trainer?", "?Trainer.train"]


def test_a_file_that_a_cell_writes_is_a_program_of_its_own() -> None:
    result = cells("from transformers import Trainer", f"%%writefile src/train.py\n{OLD}\nt = Trainer(m)\n")
    assert result[1].startswith(f"%%writefile src/train.py\nfrom neuron_shim import configure\n{NEW}\n")
    text = notebook(f"%%writefile notes.txt\n{OLD}")
    assert migrated(text).text == text


def test_fences_in_prose_are_migrated() -> None:
    assert cells(prose(f"# A\n```python\n{OLD}\n```")) == [f"# A\n```python\n{NEW}\n```"]


def test_a_cell_that_cannot_be_read_is_told_and_the_others_are_migrated() -> None:
    migration = migrated(notebook("x = (", f"{OLD}\nx = (", OLD))
    assert sources(migration.text) == ["x = (", f"{OLD}\nx = (", NEW]
    (finding,) = [finding for finding in migration.findings if finding.code == "NM007"]
    assert (finding.cell, finding.within and finding.within.line) == (2, 2)


def test_places_are_in_the_cell_and_in_the_file() -> None:
    for listed in (True, False):
        text = notebook("x = 1", f"# 'é\\\n{OLD}", listed=listed)
        (finding,) = [finding for finding in migrated(text).findings if finding.code == "NM101"]
        assert finding.place == "cell 2:2:28"
        line = text.splitlines()[finding.start.line - 1]
        assert line[finding.start.column - 1 :].startswith("NeuronTrainer")


@pytest.mark.parametrize(
    ("text", "line"),
    [('{"cells": [\n  {"a": 1,}\n]}', 2), ("optimum neuron", 1), ('{\n"cells"', 2), ("[1]", 1), ("", 1)],
)
def test_what_is_no_notebook_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(SourceError) as caught:
        migrate_text("notebook", text)
    assert caught.value.line == line
    assert "notebook" in caught.value.message


@pytest.mark.parametrize("text", ["{}", '{"cells": 1}', '{"cells": [1, {}, {"source": 3}, {"source": [1, null]}]}'])
def test_odd_notebooks_are_left_alone(text: str) -> None:
    assert migrate_text("notebook", text).text == text


def test_notebooks_of_format_3() -> None:
    cell = {"cell_type": "code", "input": [f"{OLD}\n", "x = 1"], "language": "python", "outputs": []}
    text = json.dumps({"metadata": {}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": [cell]}]})
    assert migrate_text("notebook", text).text == text.replace(OLD, NEW)


def test_the_command_names_cell_and_line(tmp_path: Path) -> None:
    text = notebook("import importlib", 'import torch\nm = importlib.import_module("optimum.neuron")')
    project = Folder(tmp_path, REAL).write({"train.ipynb": text})
    ended = project.run("train.ipynb", "--check", "--quiet")
    assert ended.lines[0].startswith("train.ipynb:cell 2:2:29: NM005 manual ")
    written = project.run("train.ipynb", "--quiet")
    assert written.lines[0].startswith("train.ipynb:cell 2:3:29: NM005 manual ")
    assert "# TODO(neuron-migrate NM005)" in sources(project.read("train.ipynb").decode())[1]
    broken = project.write({"broken.ipynb": '{"cells": [\n"optimum neuron"'}).run("broken.ipynb")
    assert broken.err.startswith("broken.ipynb:2:17: not a notebook: ")


@pytest.mark.slow
def test_a_migrated_notebook_runs(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    text = notebook(
        "%matplotlib inline\nfrom optimum.neuron import NeuronTrainingArguments",
        "!echo hello",
        'args = NeuronTrainingArguments("out", evaluation_strategy="no", use_cpu=True)\nprint(args.optim.value)',
    )
    program = "\n".join(
        line for source in sources(migrated(text).text) for line in source.splitlines() if line[:1] not in ("%", "!")
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "adamw_torch" in done.stdout


LINES = st.sampled_from(
    [
        "import os",
        "x = 'é\\\\ \" \t'",
        "%matplotlib inline",
        "!ls \\",
        "  a",
        "# NeuronTrainer",
        "",
        "if os:",
        "    pass",
        '"""',
        "%%bash",
        OLD,
        "t = Trainer(m, tokenizer=t)",
        "Trainer?",
    ]
)
CELLS = st.builds("\n".join, st.lists(LINES, max_size=5))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(CELLS, max_size=4), st.booleans(), st.booleans(), st.sampled_from([None, 1, 2]))
def test_generated_notebooks(given: list[str], listed: bool, ascii_only: bool, indent: int | None) -> None:
    text = notebook(*given, listed=listed, ensure_ascii=ascii_only, indent=indent)
    migration = migrated(text)
    if OLD not in text:
        assert migration.text == text
    for before, after in zip(given, sources(migration.text), strict=True):
        assert [line for line in before.splitlines() if line[:1] in "%!"] == [
            line for line in after.splitlines() if line[:1] in "%!"
        ]


def test_shell_lines_are_migrated() -> None:
    launch = "!torchrun --nproc_per_node 2 train.py \\\n  --zero_1 \\\n  --tensor_parallel_size {tp} \\\n  --bf16"
    (cell,) = cells(f"x = 1\n{launch}\ny = 2")
    new = "!TP_SIZE={tp} HF_DEACTIVATE_ASYNC_LOAD=1 torchrun --nproc_per_node 2 train.py \\\n  --bf16"
    assert cell == f"x = 1\n{new}\ny = 2"


def test_shell_lines_without_anything_left_go() -> None:
    assert cells("x = 1\n!optimum-cli neuron cache set a/b\ny = 2", "%env A=1\n!neuron_parallel_compile ls") == [
        "x = 1\ny = 2",
        "%env A=1\n!ls",
    ]
    assert cells("if x:\n    !optimum-cli neuron cache set a/b") == ["if x:\n    pass"]
    assert cells("!optimum-cli neuron cache set a/b") == [""]


def test_markers_of_shell_lines_are_comments() -> None:
    (cell,) = cells("if x:\n    !optimum-cli neuron serve -m gpt2")
    first, second, third = cell.splitlines()
    assert (first, third) == ("if x:", "    !optimum-cli neuron serve -m gpt2")
    assert second.startswith("    # TODO(neuron-migrate NM405): Serve with vllm serve gpt2.")


@pytest.mark.parametrize("first", ["%%bash", "%%sh", "%%script bash", "%%bash --no-raise-error"])
def test_shell_cells(first: str) -> None:
    assert cells(f"{first}\nexport NEURON_FUSE_SOFTMAX=1\npython a.py\n") == [f"{first}\npython a.py\n"]


def test_a_script_that_a_cell_writes_is_known_to_the_cell_that_launches_it() -> None:
    script = (
        "from optimum.neuron import NeuronHfArgumentParser as P, NeuronTrainingArguments as A\na, = P(A).parse()\n"
    )
    result = cells(f"%%writefile train.py\n{script}", "!torchrun train.py --tensor_parallel_size 2 --warmup_ratio 0.1")
    assert result[1] == "!TP_SIZE=2 torchrun train.py --warmup_steps 0.1"
    own = f"{script}import argparse\np = argparse.ArgumentParser()\np.add_argument('--warmup_ratio')\n"
    result = cells(f"%%writefile train.py\n{own}", "!torchrun train.py --tensor_parallel_size 2 --warmup_ratio 0.1")
    assert result[1] == "!TP_SIZE=2 torchrun train.py --warmup_ratio 0.1"


def test_an_exported_model_is_known_to_the_cells_that_load_it() -> None:
    facts = collect("notebook", notebook("!optimum-cli export neuron --model gpt2 out/"), "a/b.ipynb")
    assert facts is not None
    compiled = Project((facts,)).compiled_in("a/c.py", "out")
    assert compiled is not None
    assert compiled.model == "gpt2"


def test_a_launch_that_only_compiles_goes_if_another_cell_launches_the_script() -> None:
    wrapped = "!neuron_parallel_compile torchrun train.py"
    assert cells(f"x = 1\n{wrapped}", "!torchrun train.py --bf16") == ["x = 1", "!torchrun train.py --bf16"]
    assert cells(wrapped, "!torchrun other.py", "# !torchrun train.py") == [
        "!torchrun train.py",
        "!torchrun other.py",
        "# !torchrun train.py",
    ]


def test_a_folder_that_another_cell_uses_is_for_a_person() -> None:
    command = "!optimum-cli neuron consolidate out whole"
    assert cells(command, "load('out')") == ["", "load('out')"]
    first, second = cells(command, "load('whole')")
    assert first.startswith("# TODO(neuron-migrate NM405)")
    assert (first.splitlines()[1], second) == (command, "load('whole')")


def test_the_reports_for_programs_have_the_cell_and_the_line_of_the_file(tmp_path: Path) -> None:
    text = notebook("x = 1", "import importlib\nm = importlib.import_module('optimum.neuron')")
    folder = Folder(tmp_path, REAL).write({"a.ipynb": text})
    told = json.loads(folder.run("a.ipynb", "--check", "--output-format", "json").out)
    (finding,) = told["files"][0]["findings"]
    assert finding["cell"] == {"number": 2, "line": 2, "column": 29}
    line = text.splitlines()[finding["start"]["line"] - 1]
    assert line[finding["start"]["column"] - 1 :].startswith("'optimum.neuron'")
    annotation = folder.run("a.ipynb", "--check", "--output-format", "github").text
    assert f"line={finding['start']['line']}," in annotation
    assert "::Cell 2, line 2: " in annotation
