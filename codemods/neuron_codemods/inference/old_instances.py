"""Reports instance types that TorchNeuron does not run on: Inf1, Inf2 and Trn1.

The script is migrated all the same, but the native backend has Trn2 and Trn3 only: where an instance is named, to
start it or to ask for its number of cores, another one has to be chosen.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/setup/pytorch/index.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module

RULE = Rule(
    code="NM210",
    name="old-instance",
    summary="Names of Inf1, Inf2 and Trn1 instances, for which there is no native backend.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/setup/pytorch/index.html",
    outcomes=(Outcome.REVIEW,),
)

_INSTANCE = re.compile(r"(?:ml\.)?(inf1|inf2|trn1n?)\.\d*x?large")


def check(module: Module) -> Iterator[Change]:
    if not module.uses_neuron:
        return
    for string in module.names.strings:
        name = string.value
        if isinstance(name, str) and _INSTANCE.fullmatch(name) and module.is_placed(string):
            message = (
                f"{name} cannot run what this becomes: TorchNeuron runs on Trn2 and Trn3, such as "
                "trn2.48xlarge and trn2.3xlarge."
            )
            yield Change(Outcome.REVIEW, string, message)


CASES = (
    Case(
        "an instance to deploy on",
        """from optimum.neuron import pipeline

classify = pipeline("text-classification", export=True)
instance_type = "ml.inf2.xlarge"
""",
        "",
        (Outcome.REVIEW,),
    ),
    Case("a newer one", 'from optimum.neuron import pipeline\n\nprint(pipeline)\ninstance = "trn2.48xlarge"\n'),
    Case("a script without Optimum Neuron", 'instance_type = "ml.inf2.xlarge"\n'),
    Case(
        "a text that only mentions one",
        'from optimum.neuron import pipeline\n\nprint(pipeline)\nnote = "we used an inf2.xlarge for this"\n',
    ),
)
