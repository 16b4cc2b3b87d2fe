"""Finds images of the old stack and instances that TorchNeuron does not run on, in YAML.

Manifests of Kubernetes and Compose, workflows and SageMaker settings name them. Which image or instance takes their
place is for a person to say; commands and variables in the same files are migrated as shell.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.kinds.yaml import Scalar, Yaml
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.requirements.images import ADVICE, INSTANCE_ADVICE, is_old_image, old_instance
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM511",
    name="manifest",
    summary="Images of the old stack and instances without TorchNeuron, in YAML.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/index.html",
    outcomes=(Outcome.MANUAL, Outcome.REVIEW),
    kind="yaml",
)


def check(file: Yaml, project: Project) -> Iterator[Change]:
    """One change for each value that names one."""
    for scalar in file.scalars:
        instance = old_instance(scalar.value)
        if is_old_image(scalar.value) and " " not in scalar.value and _names_an_image(scalar):
            yield Change(Outcome.MANUAL, (scalar.start, scalar.end), ADVICE)
        elif instance is not None and scalar.value.strip() == instance:
            yield Change(Outcome.REVIEW, (scalar.start, scalar.end), f"{instance}: {INSTANCE_ADVICE}")


def _names_an_image(scalar: Scalar) -> bool:
    return "/" in scalar.value or any("image" in key.lower() for key in scalar.keys[-1:])


_OLD = "ghcr.io/huggingface/neuronx-tgi:0.0.23"

CASES = (
    Case(
        "an image of the old stack",
        f"spec:\n  containers:\n    - image: {_OLD}\n      name: x\n",
        f"spec:\n  containers:\n    # TODO(neuron-migrate NM511): {ADVICE.rstrip('.')}: {RULE.url}\n"
        f"    - image: {_OLD}\n      name: x\n",
        (Outcome.MANUAL,),
    ),
    Case("an instance", "instance_type: ml.trn1.32xlarge\n", outcomes=(Outcome.REVIEW,)),
    Case("another image", "image: python:3.12\ninstance_type: trn2.48xlarge\n"),
    Case("a name", "name: optimum-neuron\n"),
    Case("words", "description: runs on trn1.32xlarge with optimum-neuron\n"),
)
