"""Every mapping that the vendor states or that follows from what it states has a case here.

``mappings.tsv`` was written from the two tables of a survey of TorchNeuron 2.33: environment variables (2.2), and
names and idioms of the XLA stack (5). A row without a rule is about something that stays.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from neuron_codemods import Outcome, Settings, migrate
from neuron_codemods.data.variables import variables
from neuron_codemods.registry import rules
from neuron_codemods.xla import table

TABLE = (Path(__file__).parent / "mappings.tsv").read_text(encoding="utf-8")
ROWS = list(csv.DictReader(TABLE.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))

IMPORTS = {
    "os": "import os",
    "torch": "import torch",
    "xm": "import torch_xla.core.xla_model as xm",
    "xr": "import torch_xla.runtime as xr",
    "pl": "import torch_xla.distributed.parallel_loader as pl",
    "xmp": "import torch_xla.distributed.xla_multiprocessing as xmp",
    "xser": "import torch_xla.utils.serialization as xser",
    "torch_xla": "import torch_xla",
    "layers": "from neuronx_distributed.parallel_layers import layers",
    "parallel_state": "from neuronx_distributed.parallel_layers import parallel_state",
    "nxd_optimizer": "import neuronx_distributed.optimizer as nxd_optimizer",
    "nxd": "import neuronx_distributed as nxd",
    "neuronxcc": "import neuronxcc.nki",
}

STILL_READ = frozenset({"NEURON_CC_FLAGS", "NEURON_RT_NUM_CORES"})


def script(code: str) -> str:
    """A program with what a line of code needs, and no more; torch_neuronx says that it runs on Neuron."""
    words = set(code.replace("(", ".").replace("[", ".").replace(" ", ".").split("."))
    lines = ["import torch_neuronx", *(line for name, line in IMPORTS.items() if name in words)]
    return "\n".join([*lines, "", code.replace("\\n", "\n"), "print(torch_neuronx.nki_op)", ""])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["old"])
def test_mapping(row: dict[str, str]) -> None:
    text = script(row["code"])
    migration = migrate(text)
    found = {(finding.code, finding.outcome.value) for finding in migration.findings}
    if not row["rule"]:
        assert (found, migration.text) == (set(), text)
        return
    assert (row["rule"], row["outcome"]) in found
    if row["outcome"] != Outcome.MANUAL.value:
        assert row["code"] not in migration.text.replace("\n", "\\n") or row["old"] in STILL_READ
    assert migrate(migration.text).text == migration.text


def test_the_table_of_mappings() -> None:
    """What a person sees with ``pytest -rP``: the table with its outcomes."""
    for row in ROWS:
        print(f"{row['section']:4}{row['old']:50}{row['rule'] or '-':7}{row['outcome'] or 'stays'}")
    for name in table.names().values():
        print(f"{name.rule:7}{name.outcome.value:10}{name.dotted:75}{name.native or '-'}")
    assert {row["section"] for row in ROWS} == {"2.2", "5"}


def test_every_name_has_a_rule_of_its_outcome() -> None:
    known = {entry.rule.code: entry.rule for entry in rules()}
    for name in table.names().values():
        assert name.outcome in known[name.rule].outcomes, name.dotted
        assert name.message.endswith("."), name.dotted
        assert name.source.startswith(("stated: https://", "derived: ")), name.dotted
    for variable in variables():
        assert variable.is_kept or Outcome(variable.outcome)
        assert variable.source.startswith(("stated: https://", "derived: ")), variable.name


@pytest.mark.parametrize("rule", sorted({name.rule for name in table.names().values()}))
def test_every_name_is_met(rule: str) -> None:
    """Each row is reached from an import of the name, and from an import of its module; nothing is left unsaid."""
    for name in table.names().values():
        # What is called through torch itself is met where it is called.
        if name.rule != rule or name.symbol == "*" or name.module in ("torch", "torch.neuron"):
            continue
        for use in (
            f"from {name.module} import {name.symbol}\n\nprint({name.symbol}, torch_neuronx.nki_op)\n",
            f"import {name.module} as m\n\nprint(m.{name.symbol}, torch_neuronx.nki_op)\n",
        ):
            findings = migrate(f"import torch_neuronx\n{use}", settings=Settings(select=("NM6",))).findings
            assert {finding.code for finding in findings} == {name.rule}, use
