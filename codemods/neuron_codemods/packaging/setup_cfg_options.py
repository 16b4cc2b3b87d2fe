"""Moves the requirements of setup.cfg from the stack of Optimum Neuron to the native one.

What holds for requirements files holds here, for each key that lists requirements, one a line.

https://awsdocs-neuron.readthedocs-hosted.com/en/v2.33.0/setup/pytorch/update-manual.html
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.kinds.setup_cfg import SetupConfiguration
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.requirements import stack
from neuron_codemods.requirements.plan import decide
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM503",
    name="setup-cfg-requirements",
    summary="Requirements of the old stack become those of the native one, in setup.cfg.",
    url=stack.URL,
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
    kind="setup_cfg",
)


def check(file: SetupConfiguration, project: Project) -> Iterator[Change]:
    """The decisions."""
    for decision in decide(file.entries, project):
        edits = () if decision.new is None else (file.edit(decision.entry, decision.new),)
        yield Change(decision.outcome, decision.entry.span, decision.message, edits)


CASES = (
    Case(
        "requirements and extras",
        "[options]\ninstall_requires =\n    optimum-neuron\n    torch-xla\n    tqdm\n\n"
        "[options.extras_require]\ntrain = trl==0.11.4\n",
        "[options]\ninstall_requires =\n    torch-neuronx==2.14.*\n    neuronx-cc==2.*\n    nki\n"
        "    transformers>=5.24\n    accelerate>=1.15\n    tqdm\n\n[options.extras_require]\ntrain = trl>=1.16\n",
    ),
    Case("another section", "[tool:pytest]\ninstall_requires =\n    optimum-neuron\n"),
    Case("no Neuron", "[options]\ninstall_requires =\n    torch==2.8\n"),
)
