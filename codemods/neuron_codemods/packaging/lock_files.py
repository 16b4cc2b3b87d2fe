"""Tells which command makes a lock file anew that holds packages of the old stack.

Whatever is written into it by hand would not fit the hashes and the other packages in it.

https://awsdocs-neuron.readthedocs-hosted.com/en/v2.33.0/setup/pytorch/update-manual.html
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.kinds.lock import Lock, Package
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.packaging.requirements_files import made_again
from neuron_codemods.project import Project
from neuron_codemods.requirements import stack
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM512",
    name="lock-file",
    summary="Lock files with packages of the old stack are to be made anew.",
    url=stack.URL,
    outcomes=(Outcome.MANUAL,),
    kind="lock",
)


def check(file: Lock, project: Project) -> Iterator[Change]:
    """One change for the file, at the first package of the old stack."""
    old = next((each for each in file.packages() if _is_old(each)), None)
    if old is not None:
        yield Change(Outcome.MANUAL, old.span, made_again(file.command), marked=False)


def _is_old(package: Package) -> bool:
    if package.name == "torch-neuronx":
        return package.version.startswith(("1.", *(f"2.{minor}." for minor in range(10))))
    return package.name == stack.OPTIMUM_NEURON or (package.name in stack.LEFTOVERS and "neuron" in package.name)


CASES = (
    Case(
        "a lock with the old stack",
        '[[package]]\nname = "optimum-neuron"\nversion = "0.3.0"\n',
        outcomes=(Outcome.MANUAL,),
    ),
    Case("the native stack", '[[package]]\nname = "torch-neuronx"\nversion = "2.14.3.0"\n'),
)
