"""Reports each marker that an earlier run left in a file and that is still there.

A marker stands for something that only a person can do, so a file that holds one is not migrated yet. Delete the
comment once the work is done.

https://pypi.org/project/neuron-migrate/
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods import markers
from neuron_codemods.edits import Change
from neuron_codemods.fstrings import place
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module

RULE = Rule(
    code="NM001",
    name="marker-left",
    summary="A marker of an earlier run is still in the file.",
    url="https://pypi.org/project/neuron-migrate/",
    outcomes=(Outcome.MANUAL,),
)


def check(module: Module) -> Iterator[Change]:
    for marker in markers.markers(module.source):
        if marker.is_manual:
            node = ast.Name("marker", ast.Load())
            place(module.source, node, marker.token.start, marker.token.end)
            yield Change(Outcome.MANUAL, node, f"Left by an earlier run: {marker.code}: {marker.message}")


CASES = (
    Case(
        "a marker is reported and stays",
        "# TODO(neuron-migrate NM102): Delete it: https://example.org\nx = 1\n",
        outcomes=(Outcome.MANUAL,),
    ),
    Case("a note is not a marker", "# NOTE(neuron-migrate NM110): the warm-up is a float now\nx = 1\n"),
    Case("a comment about the tool is not a marker", "# TODO: run neuron-migrate here\nx = 1\n"),
)
