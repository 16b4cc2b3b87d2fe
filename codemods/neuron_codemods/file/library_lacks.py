"""Reports names and arguments that the installed libraries do not have, where `--verify` asks for it.

What a migrated script imports and calls was checked against the newest libraries when the rules were written. The
libraries of a project may be older, or newer: then an import or a call may fail that is right elsewhere. Install the
version that has it, or change the line.

https://docs.python.org/3/library/inspect.html#inspect.Signature.bind
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module

RULE = Rule(
    code="NM009",
    name="library-lacks",
    summary="The installed libraries lack a name or an argument that the script uses (--verify).",
    url="https://docs.python.org/3/library/inspect.html#inspect.Signature.bind",
    outcomes=(Outcome.MANUAL,),
)


def check(module: Module) -> Iterator[Change]:
    """Nothing: only the command knows an interpreter with the libraries, and asks it."""
    return iter(())


CASES = (Case("what the libraries have is nobody's business here", "from transformers import Trainer\n"),)
