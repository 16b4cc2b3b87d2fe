"""Corners of the engine and of the texts around Python: what is met seldom, and what is refused."""

from __future__ import annotations

from argparse import ArgumentParser

import pytest

from neuron_codemods import Outcome, Settings, SourceError, edits, migrate, migrate_text
from neuron_codemods.edits import Edit
from neuron_codemods.libcst_command import MigrateCommand
from tests.kinds.notebooks import notebook, sources

OLD, NEW = "from optimum.neuron import NeuronTrainer", "from transformers import Trainer"
XLA = "import torch\nimport torch_neuronx\nimport torch_xla.core.xla_model as xm\n"


@pytest.mark.parametrize(
    "code",
    [
        "from neuron_shim import configure\nf = configure\n",
        "from neuron_shim import parallel_sizes\nx = parallel_sizes()\n",
        "from neuron_shim import parallel_sizes\nx = f(1, **parallel_sizes())\n",
        "from neuron_shim import neuron_device\nf = neuron_device\n",
        "from neuron_shim import is_main_process\nf = is_main_process\n",
        "from neuron_shim import compile_static\nf = compile_static\n",
        "from neuron_shim import compile_static\nf = compile_static(m, mode=1)\n",
    ],
)
def test_uses_of_the_shim_that_have_no_plain_form_are_left(code: str) -> None:
    migration = migrate(code, settings=Settings(select=("NM010",)))
    marker, *rest = migration.text.splitlines(keepends=True)
    assert marker.startswith("# TODO(neuron-migrate NM010): ")
    assert "".join(rest) == code


def test_a_text_that_nests_too_deeply() -> None:
    with pytest.raises(SourceError, match="nested too deeply"):
        migrate(f"{OLD}\nx = {'+'.join(['1'] * 1000)}\n")


def test_a_text_with_null_bytes() -> None:
    with pytest.raises(SourceError, match="not Python 3"):
        migrate(f"{OLD}\nx = '\0'\n")


def test_changes_that_cross_are_refused() -> None:
    with pytest.raises(ValueError, match="edits cross at 1"):
        edits.apply("abc", [Edit.delete((0, 2)), Edit.delete((1, 3))])


def test_an_expression_in_an_f_string_of_three_quotes() -> None:
    text = migrate(f'{XLA}x = f"""{{xm.get_ordinal()}}"""\n', settings=Settings(select=("NM6",))).text
    assert text == 'import os\nimport torch\nx = f"""{int(os.environ.get(\'RANK\', 0))}"""\n'


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("from accelerate.utils import send_to_device as send\n", "send"),
        ("send_to_device = 1\n", "native_send_to_device"),
    ],
)
def test_what_new_code_calls_a_name_that_the_file_has(head: str, name: str) -> None:
    text = migrate(f"{XLA}{head}xm.save(a, 'x')\n", settings=Settings(select=("NM6",))).text
    assert f"    torch.save({name}(a, \"cpu\"), 'x')\n" in text


def test_imports_below_those_of_the_future() -> None:
    code = "from __future__ import annotations\nx = f()\nimport torch_neuronx\nprint(torch_neuronx.trace(m, x))\n"
    assert migrate(code, settings=Settings(select=("NM6",))).text.startswith("from __future__ import annotations\n")


def test_a_note_is_written_once() -> None:
    text = 'import os\nimport torch_neuronx\n\nos.environ["NEURON_CC_FLAGS"] = "-O1"\ntorch_neuronx.f()\n'
    settings = Settings(select=("NM615",), annotate=True)
    noted = migrate(text, settings=settings)
    assert noted.text.count("# NOTE(neuron-migrate NM615)") == 1
    assert migrate(noted.text, settings=settings).text == noted.text


def test_a_statement_behind_a_continued_empty_line_goes_with_it() -> None:
    assert migrate("x = 1\n\\\nimport torch_neuronx\ny = 2\n").text == "x = 1\ny = 2\n"


def test_the_choices_of_the_command_of_libcst() -> None:
    parser = ArgumentParser()
    MigrateCommand.add_args(parser)
    given = parser.parse_args(["--select", "NM1", "NM2", "--ignore", "NM101"])
    assert (given.select, given.ignore) == (["NM1", "NM2"], ["NM101"])


@pytest.mark.parametrize(
    "head",
    [
        "%%python3",
        "a.1?",
        "x = 1 + \\\n2\n%ls",
        'x = "a\\\n%b"\n%ls',
    ],
)
def test_cells_with_lines_that_are_no_python(head: str) -> None:
    assert sources(migrate_text("notebook", notebook(f"{head}\n{OLD}")).text) == [f"{head}\n{NEW}"]


@pytest.mark.parametrize("head", ["%1", "it's\n%ls", "x = '\ue000'\n%ls"])
def test_cells_that_cannot_be_read(head: str) -> None:
    text = notebook(f"{head}\n{OLD}")
    migration = migrate_text("notebook", text)
    assert migration.text == text
    assert [finding.outcome for finding in migration.findings] == [Outcome.MANUAL]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("```dockerfile\nENV NEURON_FUSE_SOFTMAX=1 A=b\n```\n", "```dockerfile\nENV A=b\n```\n"),
        (f">>> {OLD}\n", f">>> {OLD}\n"),
        (f"```pycon\n... x\n>>> {OLD}\n1\n```\n", f"```pycon\n... x\n>>> {NEW}\n1\n```\n"),
        (f"- ```python\n  {OLD}\n  ```\n", f"- ```python\n  {NEW}\n  ```\n"),
        (f"- ```python\n- {OLD}\n  ```\n", f"- ```python\n- {OLD}\n  ```\n"),
    ],
)
def test_blocks_in_markdown(before: str, after: str) -> None:
    assert migrate_text("markdown", before).text == after
