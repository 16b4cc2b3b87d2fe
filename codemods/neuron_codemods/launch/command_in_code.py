"""Reports commands of Optimum Neuron that Python code runs.

`subprocess.run("neuron_parallel_compile ...")` and `os.system("optimum-cli export neuron ...")` stay as they are: a
command that is put together in code cannot be rewritten safely. What becomes of each is in the rules NM401 to NM405.

https://huggingface.co/docs/optimum-neuron
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module

RULE = Rule(
    code="NM407",
    name="command-in-code",
    summary="Commands of Optimum Neuron that Python code runs.",
    url="https://huggingface.co/docs/optimum-neuron",
    outcomes=(Outcome.MANUAL,),
)

_RUNS = re.compile(r"(?:^|\.)(?:system|popen|run|call|check_call|check_output|getoutput|Popen|execvp?|spawnvp?)$")
_OLD = re.compile(r"(?<![\w-])(?:neuron_parallel_compile|optimum-cli|optimum\.exporters\.neuron|--zero_1)(?![\w-])")
_OF_NEURON = re.compile(r"neuron|--zero_1")


def check(module: Module) -> Iterator[Change]:
    seen: set[ast.AST] = set()
    for constant in module.names.strings:
        text = constant.value
        found = _OLD.search(text) if isinstance(text, str) else None
        call = _running(module, constant) if found is not None else None
        if found is None or call is None or call in seen:
            continue
        if _OF_NEURON.search(module.source.segment(call)):
            seen.add(call)
            message = f"This runs {found[0]}, which is of Optimum Neuron: change the command by hand."
            yield Change(Outcome.MANUAL, constant, message)


def _running(module: Module, constant: ast.AST) -> ast.Call | None:
    """The call that runs a command with this string in it."""
    node = next(above for above in module.ancestors(constant) if isinstance(above, (ast.Call, ast.stmt)))
    if not isinstance(node, ast.Call):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return node if _RUNS.search(name) else None


CASES = (
    Case(
        "a command in a list",
        'import subprocess\n\nsubprocess.run(["optimum-cli", "export", "neuron", "-m", "gpt2", "out"], check=True)\n',
        "import subprocess\n\n"
        "# TODO(neuron-migrate NM407): This runs optimum-cli, which is of Optimum Neuron: change the command by hand: "
        "https://huggingface.co/docs/optimum-neuron\n"
        'subprocess.run(["optimum-cli", "export", "neuron", "-m", "gpt2", "out"], check=True)\n',
        (Outcome.MANUAL,),
    ),
    Case("a message about it", 'print("run neuron_parallel_compile first")\n'),
    Case("another export", 'import os\n\nos.system("optimum-cli export onnx --model gpt2 out")\n'),
)
