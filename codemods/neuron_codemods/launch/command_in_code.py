"""Reports commands of Optimum Neuron that Python code runs or puts together.

`subprocess.run("neuron_parallel_compile ...")`, `command = ["optimum-cli", "export", "neuron", ...]` and
`["pip", "install", "optimum-neuron"]` stay as they are: a command that is put together in code cannot be rewritten
safely. What becomes of each is in the rules NM401 to NM405 and NM505.

https://huggingface.co/docs/optimum-neuron
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.requirements import stack

RULE = Rule(
    code="NM407",
    name="command-in-code",
    summary="Commands of Optimum Neuron that Python code runs or puts together.",
    url="https://huggingface.co/docs/optimum-neuron",
    outcomes=(Outcome.MANUAL,),
)

_RUNS = re.compile(r"(?:^|\.)(?:system|popen|run|call|check_call|check_output|getoutput|Popen|execvp?|spawnvp?)$")
_OLD = re.compile(r"(?<![\w-])(?:neuron_parallel_compile|optimum-cli|optimum\.exporters\.neuron|--zero_1)(?![\w-])")
_OF_NEURON = re.compile(r"neuron|--zero_1")
_PACKAGE = re.compile(r"(?<![\w-])(?:optimum-neuron(?![\w-])|optimum\[neuronx?\])")
_INSTALLS = re.compile(r"\bpip[\d.]*\b.*\binstall\b", re.DOTALL)
_IS_COMMAND = re.compile(r"\s*(?:\w+=\S*\s+)*(?:neuron_parallel_compile\s|optimum-cli\s+(?:export\s+)?neuron\b)")
"""A text that begins as a command does, and as no sentence would."""
_PROGRAMS = (["optimum-cli"], ["neuron_parallel_compile"])
_PUT_TOGETHER = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)


def check(module: Module) -> Iterator[Change]:
    seen: set[ast.AST] = set()
    for constant in module.names.strings:
        text = constant.value
        found = (_OLD.search(text) or _PACKAGE.search(text)) if isinstance(text, str) else None
        place = _place(module, constant) if found is not None else None
        if found is None or place is None or place in seen:
            continue
        message = _message(module.source.segment(place), found[0])
        if message is not None:
            seen.add(place)
            yield Change(Outcome.MANUAL, constant, message)


def _message(command: str, name: str) -> str | None:
    """What to say of a piece of code with a command in it; None where it is about something else."""
    if _PACKAGE.fullmatch(name):
        if not _INSTALLS.search(command):
            return None
        packages = f"{stack.TORCH_NEURONX} {stack.COMPILER} {stack.KERNELS} {stack.SHIM}"
        return f"This installs {name}: install {packages} instead, with --extra-index-url {stack.NEURON_INDEX}."
    if not _OF_NEURON.search(command):
        return None
    return f"This runs {name}, which is of Optimum Neuron: change the command by hand."


def _place(module: Module, constant: ast.Constant) -> ast.AST | None:
    """The call that runs a command with this string in it, or the list or statement that puts it together."""
    above = [node for node in module.ancestors(constant) if isinstance(node, (ast.Call, ast.stmt))]
    node = above[0]
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if _RUNS.search(name):
            return node
    holder = module.parent(constant)
    if isinstance(holder, (ast.List, ast.Tuple)):
        words = [item.value for item in holder.elts if isinstance(item, ast.Constant)]
        return holder if words[:1] in _PROGRAMS or "install" in words else None
    is_text = _IS_COMMAND.match(str(constant.value)) or _INSTALLS.match(str(constant.value))
    return node if is_text and isinstance(node, _PUT_TOGETHER) else None


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
    Case(
        "a command that is put together from lists",
        'command = ["neuron_parallel_compile"] + launch\n',
        """# TODO(neuron-migrate NM407): This runs neuron_parallel_compile, which is of Optimum Neuron: change the \
command by hand: https://huggingface.co/docs/optimum-neuron
command = ["neuron_parallel_compile"] + launch
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a command that runs later",
        """import subprocess

command = "optimum-cli export neuron "
command += f"--model {name} out"
subprocess.check_call(command.split())
""",
        """import subprocess

# TODO(neuron-migrate NM407): This runs optimum-cli, which is of Optimum Neuron: change the command by hand: \
https://huggingface.co/docs/optimum-neuron
command = "optimum-cli export neuron "
command += f"--model {name} out"
subprocess.check_call(command.split())
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "an installation",
        'import subprocess\n\nsubprocess.run(["pip", "install", "optimum-neuron[neuronx]==0.4.2"], check=True)\n',
        """import subprocess

# TODO(neuron-migrate NM407): This installs optimum-neuron: install torch-neuronx==2.14.* neuronx-cc==2.* nki \
neuron-migrate[runtime] instead, with --extra-index-url https://pip.repos.neuron.amazonaws.com: \
https://huggingface.co/docs/optimum-neuron
subprocess.run(["pip", "install", "optimum-neuron[neuronx]==0.4.2"], check=True)
""",
        (Outcome.MANUAL,),
    ),
    Case("a message about it", 'print("run neuron_parallel_compile first")\n'),
    Case("a hint", 'print("optimum-cli export neuron --model gpt2 out")\n'),
    Case(
        "a sentence that is kept", 'HELP = "Compile with optimum-cli export neuron, or pip install optimum-neuron."\n'
    ),
    Case("another export", 'import os\n\nos.system("optimum-cli export onnx --model gpt2 out")\n'),
    Case("a package that is asked for", 'import importlib.metadata\n\nprint(version("optimum-neuron"))\n'),
)
