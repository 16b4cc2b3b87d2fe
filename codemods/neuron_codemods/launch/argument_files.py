"""Moves YAML files of training arguments to the names of transformers 5 and TRL 1, as flags on a launch line.

`TrlParser` reads such a file for `--config`, `HfArgumentParser.parse_yaml_file` by itself, and both refuse keys that
no class has. A file is one if it holds a flag that only Optimum Neuron had, beside `output_dir`.

https://huggingface.co/docs/trl/script_utils#trl.TrlParser
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Edit
from neuron_codemods.kinds.yaml import Scalar, Yaml
from neuron_codemods.launch.flags import UNMISTAKABLE, row_of
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM408",
    name="argument-file",
    summary="YAML files of training arguments with keys of Optimum Neuron.",
    url="https://huggingface.co/docs/trl/script_utils#trl.TrlParser",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
    kind="yaml",
)

_OFF = frozenset(("false", "no", "off", "0", "null", "~"))


def check(file: Yaml, project: Project) -> Iterator[Change]:
    """One change for each key that is called otherwise now, or nothing."""
    arguments = [(scalar.keys[0], scalar) for scalar in file.scalars if len(scalar.keys) == 1]
    keys = {key for key, _ in arguments}
    if "output_dir" not in keys or not UNMISTAKABLE & keys:
        return
    own = frozenset(flag for module in project.modules for flag in module.script.flags)
    for key, scalar in arguments:
        if key not in own:
            yield from _change(file, key, scalar)


def _change(file: Yaml, key: str, scalar: Scalar) -> Iterator[Change]:
    row, negated = row_of(key)
    start = file.line_start(scalar.start)
    line = file.text[start : scalar.start]
    if row is None or negated or line.strip() != f"{key}:":
        return
    span, gone = (start + len(line) - len(line.lstrip()), scalar.end), Edit.delete((start, file.line_end(scalar.end)))
    is_off = scalar.value.lower() in _OFF
    if row.action == "manual" or (row.action == "write" and not is_off):
        task = f"Write {row.native.lstrip('-')} instead of it." if row.action == "write" else row.reason
        yield Change(Outcome.MANUAL, span, f"{key} has no native form. {task}")
    elif row.action in ("size", "variable"):
        yield Change(Outcome.REVIEW, span, f"{key} goes: launch with {row.native}={scalar.value}.", (gone,))
    elif row.action == "rename":
        edit = Edit.replace((span[0], span[0] + len(key)), row.native)
        yield Change(Outcome.REWRITTEN, span, f"{key} is called {row.native}. {row.reason}".strip(), (edit,))
    else:
        outcome = Outcome.REVIEW if row.action == "review" and not is_off else Outcome.REWRITTEN
        yield Change(outcome, span, f"{key} goes. {row.reason}".strip(), (gone,))


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
        "output_dir: out\nasync_save: true\nuse_xser: true\nadafactor: true\n",
        "output_dir: out\n"
        "# TODO(neuron-migrate NM408): adafactor has no native form. Write optim adafactor instead of it: "
        f"{RULE.url}\nadafactor: true\n",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.MANUAL),
    ),
    Case(
        "a key that is written twice",
        "output_dir: out\nuse_xser: true\nuse_xser: false\n",
        "output_dir: out\n",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case("arguments that tell nothing of Neuron", "output_dir: out\nwarmup_ratio: 0.1\ntensor_parallel_size: 8\n"),
    Case("a mapping on one line", "{output_dir: out, zero_1: true}\n"),
    Case("keys that lie deeper", "output_dir: out\nmodel:\n  zero_1: true\n"),
    Case("a server", "model: x\ntensor_parallel_size: 8\nzero_1: true\n"),
)
