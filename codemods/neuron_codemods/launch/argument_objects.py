"""Moves JSON files of training arguments to the names of transformers 5 and TRL 1, as flags on a launch line.

`HfArgumentParser.parse_json_file` reads such a file, also where a script is launched with it as its only argument,
and refuses keys that no class has. An object is one if it holds a flag that only Optimum Neuron had, beside
`output_dir` or under the name of hyperparameters, which the jobs of SageMaker turn into flags.

https://huggingface.co/docs/transformers/internal/trainer_utils#transformers.HfArgumentParser
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from neuron_codemods.jsontext import Value
from neuron_codemods.kinds.json import Json
from neuron_codemods.launch.argument_keys import Entry, between_commas, changes
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM410",
    name="argument-object",
    summary="JSON files of training arguments with keys of Optimum Neuron.",
    url="https://huggingface.co/docs/transformers/internal/trainer_utils#transformers.HfArgumentParser",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
    kind="json",
)


def check(file: Json, project: Project) -> Iterator[Change]:
    """The changes to each object that holds arguments."""
    for above, value in file.objects():
        entries = [_entry(file, key, scalar) for key, scalar in value.members]
        yield from changes(above, entries, project, partial(between_commas, entries), in_json=True)


def _entry(file: Json, key: Value, value: Value) -> Entry:
    is_scalar = value.entries is None and value.items is None
    said = file.said(value) if is_scalar else ""
    return Entry(file.said(key), said, (key.start + 1, key.end - 1), (value.start, value.end), key.start)


CASES = (
    Case(
        "a file of arguments",
        """{
  "output_dir": "out",
  "tensor_parallel_size": 8,
  "zero_1": true,
  "warmup_ratio": 0.03,
  "adafactor": true,
  "bf16": true
}
""",
        """{
  "output_dir": "out",
  "warmup_steps": 0.03,
  "optim": "adafactor",
  "bf16": true
}
""",
        (Outcome.REVIEW, Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "hyperparameters of a job, on one line",
        '{"HyperParameters": {"zero_1": "True", "use_xser": "False", "epochs": "3"}, "RoleArn": "x"}\n',
        '{"HyperParameters": {"epochs": "3"}, "RoleArn": "x"}\n',
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "what is for a person",
        '{"output_dir": "out", "zero_1": true, "kv_size_multiplier": 2}\n',
        '{"output_dir": "out", "kv_size_multiplier": 2}\n',
        (Outcome.REWRITTEN, Outcome.MANUAL),
    ),
    Case("arguments that tell nothing of Neuron", '{"output_dir": "out", "warmup_ratio": 0.1}\n'),
    Case("an object of something else", '{"zero_1": true, "model": "x"}\n'),
    Case("keys that lie deeper", '{"output_dir": "out", "model": {"zero_1": true}}\n'),
)
