"""Moves YAML files of training arguments to the names of transformers 5 and TRL 1, as flags on a launch line.

`TrlParser` reads such a file for `--config`, `HfArgumentParser.parse_yaml_file` by itself, and both refuse keys that
no class has. A mapping is one if it holds a flag that only Optimum Neuron had, beside `output_dir` or under the name
of hyperparameters, which the jobs of SageMaker turn into flags.

https://huggingface.co/docs/trl/script_utils#trl.TrlParser
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from neuron_codemods.edits import Edit
from neuron_codemods.kinds.yaml import Scalar, Yaml
from neuron_codemods.launch.argument_keys import Entry, between_commas, changes
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.texts import Change

if TYPE_CHECKING:
    from tree_sitter import Node

RULE = Rule(
    code="NM408",
    name="argument-file",
    summary="YAML files of training arguments with keys of Optimum Neuron.",
    url="https://huggingface.co/docs/trl/script_utils#trl.TrlParser",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
    kind="yaml",
)


def check(file: Yaml, project: Project) -> Iterator[Change]:
    """The changes to each mapping that holds arguments, on lines of their own or in braces."""
    for key, pairs in file.in_braces():
        entries = [_in_braces(file, *pair) for pair in pairs]
        yield from changes(key, entries, project, partial(between_commas, entries))
    mappings: dict[tuple[str, ...], list[Entry]] = {}
    for scalar in file.scalars:
        entry = _entry(file, scalar)
        if entry is not None:
            mappings.setdefault(scalar.keys[:-1], []).append(entry)
    for above, entries in mappings.items():
        yield from changes(above[-1] if above else "", entries, project, partial(_removals, file))


def _entry(file: Yaml, scalar: Scalar) -> Entry | None:
    start = file.line_start(scalar.start)
    line = file.text[start : scalar.start]
    if not scalar.keys or line.strip() != f"{scalar.keys[-1]}:":
        return None
    name = start + len(line) - len(line.lstrip())
    return Entry(scalar.keys[-1], scalar.value, (name, name + len(scalar.keys[-1])), (scalar.start, scalar.end), name)


def _in_braces(file: Yaml, pair: Node, said: str) -> Entry:
    (start, end), (_, behind) = file.tree.span(pair), file.tree.span(pair.children[0])
    quote = file.text[start] in "\"'"
    name = (start + quote, behind - quote)
    return Entry(file.text[slice(*name)], said, name, (file.tree.span(pair.children[-1])[0], end), start)


def _removals(file: Yaml, gone: Sequence[Entry]) -> dict[Entry, Edit]:
    return {entry: Edit.delete((file.line_start(entry.name[0]), file.line_end(entry.scalar[1]))) for entry in gone}


CASES = (
    Case(
        "a configuration of TRL",
        """# eight cores
output_dir: out
tensor_parallel_size: 8
zero_1: true
warmup_ratio: 0.03  # of all steps
stochastic_rounding_enabled: false
bf16: true
""",
        """# eight cores
output_dir: out
warmup_steps: 0.03  # of all steps
bf16: true
""",
        (Outcome.REVIEW, Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "what is for a person",
        "output_dir: out\nuse_xser: true\noptim: lion\nadafactor: true\n",
        "output_dir: out\noptim: lion\n"
        "# TODO(neuron-migrate NM408): adafactor has no native form. Write adafactor into optim instead of it: "
        f"{RULE.url}\nadafactor: true\n",
        (Outcome.REWRITTEN, Outcome.MANUAL),
    ),
    Case(
        "hyperparameters of a job",
        """TrainingJobName: x
HyperParameters:
  epochs: '3'
  tensor_parallel_size: '8'
  zero_1: 'true'
  adafactor: '1'
""",
        """TrainingJobName: x
HyperParameters:
  epochs: '3'
  optim: adafactor
""",
        (Outcome.REVIEW, Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a key that is written twice",
        "output_dir: out\nuse_xser: true\nuse_xser: false\n",
        "output_dir: out\n",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case("arguments that tell nothing of Neuron", "output_dir: out\nwarmup_ratio: 0.1\ntensor_parallel_size: 8\n"),
    Case(
        "hyperparameters in braces",
        "HyperParameters: {zero_1: 'true', epochs: '3', \"tensor_parallel_size\": '8', warmup_ratio: '0.1'}\n",
        "HyperParameters: {epochs: '3', warmup_steps: '0.1'}\n",
        (Outcome.REWRITTEN, Outcome.REVIEW, Outcome.REWRITTEN),
    ),
    Case("a mapping on one line", "{output_dir: out, zero_1: true}\n", "{output_dir: out}\n"),
    Case(
        "what a mapping on one line holds beside scalars",
        "{output_dir: out, more: [x], zero_1, use_xser: true}\n",
        "{output_dir: out, more: [x]}\n",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case("keys that lie deeper", "output_dir: out\nmodel:\n  zero_1: true\n"),
    Case("a server", "model: x\ntensor_parallel_size: 8\nzero_1: true\n"),
)
