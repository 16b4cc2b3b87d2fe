"""Finds container images that hold the stack of Optimum Neuron.

Such an image brings the XLA stack, an old Python and old libraries. There is no native image that would take its place
with the same content, so a person has to choose one with torch-neuronx 2.14, or to build it.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.kinds.dockerfile import Dockerfile
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.requirements.images import ADVICE, is_old_image
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM510",
    name="base-image",
    summary="Dockerfiles must not start from an image of the old stack.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/containers/index.html",
    outcomes=(Outcome.MANUAL,),
    kind="dockerfile",
)


def check(file: Dockerfile, project: Project) -> Iterator[Change]:
    """One change for each stage that starts from such an image."""
    for each in file.instructions:
        image = file.text[each.arguments : each.end].split()[:1]
        if each.name == "FROM" and image and is_old_image(image[0]):
            yield Change(Outcome.MANUAL, (each.start, each.end), ADVICE)
        if each.name == "ARG" and is_old_image(file.text[each.arguments : each.end].partition("=")[2]):
            yield Change(Outcome.MANUAL, (each.start, each.end), ADVICE)


_OLD = "763104351884.dkr.ecr.us-west-2.amazonaws.com/huggingface-pytorch-training-neuronx:2.8.0"

CASES = (
    Case(
        "a stage of the old stack",
        f"FROM {_OLD} AS train\nCOPY . .\n",
        f"# TODO(neuron-migrate NM510): {ADVICE.rstrip('.')}: {RULE.url}\nFROM {_OLD} AS train\nCOPY . .\n",
        (Outcome.MANUAL,),
    ),
    Case("another image", "FROM python:3.12-slim\nRUN pip install torch\n"),
    Case("a comment", f"# FROM {_OLD}\nFROM ubuntu:24.04\n"),
)
