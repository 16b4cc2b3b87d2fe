"""Deletes, renames or marks environment variables of the XLA stack that a script sets or reads in Python.

What only XLA read (`PJRT_DEVICE`, `XLA_*`, `NEURON_FUSE_SOFTMAX`) goes; what has another name now is renamed. Where
one that goes changed the numbers of a run (`XLA_USE_BF16`), that is told. `NEURON_CC_FLAGS` and what the runtime reads
stay.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/reference/env-vars.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from neuron_codemods.data.variables import CACHE, FLAGS, Variable, is_off, variable
from neuron_codemods.edits import AnyEdit, Change, Edit, Holder, RemoveStatement
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import literal, named, remove_argument
from neuron_codemods.xla import evidence
from neuron_codemods.xla.writing import is_whole

RULE = Rule(
    code="NM615",
    name="environment-in-python",
    summary="os.environ of XLA_USE_BF16, NEURON_CC_FLAGS, NEURON_COMPILE_CACHE_URL and others, by their rows.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/reference/env-vars.html",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_ENVIRONMENT = frozenset({"os.environ", "os.environb"})
_WRITES = frozenset({"os.environ.setdefault", "os.environ.pop", "os.putenv", "os.unsetenv", "os.environ.__setitem__"})
_READS = frozenset({"os.environ.get", "os.getenv"})
_OF_A_PROCESS = frozenset({"env", "env_vars", "environment"})
"""Keywords that give a process its variables: of subprocess, of Ray, of launchers in the cloud."""
_PRECOMPILATION = frozenset({"NEURON_EXTRACT_GRAPHS_ONLY", "NEURON_PARALLEL_COMPILE"})
"""What another rule (NM124) folds where they are read."""
_CORES = "NEURON_RT_NUM_CORES"
_SEVERAL = re.compile(
    r"torchrun|distributed|Trainer\b|torch_xla|num_cores|tensor_parallel|tp_degree|WORLD_SIZE|LOCAL_RANK|xmp\b"
)
"""What a script says that more than one process runs, or will."""
_ONE = f"{_CORES} is still read: it reserves cores for this process, which computes on one of them."
_WRAPPER_FLAG = re.compile(r"""\s*--(cache_dir(=[^\s"']*|\s+(?!-)[^\s"']+)?|retry_failed_compilation)""")
"""Options of the wrapper around the compiler, which is gone."""


def check(module: Module) -> Iterator[Change]:
    is_on = evidence.is_on(module) and (module.uses_stack or module.uses_neuron)
    if is_on:
        yield from _keywords(module)
    for constant in module.names.strings:
        if not isinstance(constant.value, str) or not module.is_placed(constant):
            continue
        row = variable(constant.value)
        if row is None or row.is_kept or constant.value.endswith("_"):
            continue
        if not is_on and (row.is_read or not constant.value.startswith("NEURON_")):
            continue  # a launcher that imports nothing is told by names that are Neuron's alone
        place = _place(module, constant)
        if place is not None and not (place[0] == "read" and _is_marked_above(module, constant)):
            change = _change(module, constant, row, *place)
            if change is not None:
                yield change


def _is_marked_above(module: Module, constant: ast.Constant) -> bool:
    """Whether a variable is read inside of an ``if`` that asks for it: the marker of that is enough."""
    inner: ast.AST = constant
    for above in module.ancestors(constant):
        if isinstance(above, ast.If) and inner is not above.test:
            asked = (node.value for node in ast.walk(above.test) if isinstance(node, ast.Constant))
            if constant.value in asked and variable(str(constant.value)).native == "":  # type: ignore[union-attr]
                return True
        inner = above
    return False


def _place(module: Module, constant: ast.Constant) -> tuple[str, ast.stmt | None, ast.expr | None] | None:
    """How a variable is met (``set``, ``unset``, ``read``, ``entry``), the statement that is no more, the value."""
    above = module.parent(constant)
    if isinstance(above, ast.Subscript) and (_is_environment(module, above.value) or _is_copy(module, above.value)):
        return _subscript(module, above)
    if isinstance(above, ast.Call) and above.args[:1] == [constant]:
        function = module.resolve(above.func) or ""
        if function in _WRITES:
            value = above.args[1] if len(above.args) > 1 else None
            kind = "unset" if function.endswith(("pop", "unsetenv")) else "set"
            return kind, is_whole(module, above), value
        if function in _READS:
            return "read", None, None
    if isinstance(above, ast.Compare) and above.left is constant:
        environment = isinstance(above.ops[0], (ast.In, ast.NotIn)) and len(above.ops) == 1
        if environment and module.resolve(above.comparators[0]) in _ENVIRONMENT:
            return "read", None, None
    if isinstance(above, ast.Dict) and constant in above.keys and _is_update(module, above):
        return "entry", None, above.values[above.keys.index(constant)]
    return None


def _is_environment(module: Module, node: ast.expr) -> bool:
    return module.resolve(node) in _ENVIRONMENT


def _is_copy(module: Module, node: ast.expr) -> bool:
    """Whether a variable holds a copy of the environment, for a process that the script starts."""
    if not isinstance(node, ast.Name):
        return False
    binding = module.binding(node)
    value = binding.value if binding is not None else None
    if isinstance(value, ast.Dict):
        return _is_copied_into(module, value)
    return isinstance(value, ast.Call) and (
        _is_copied_by(module, value) or module.resolve(value.func) == "os.environ.copy"
    )


def _is_copied_into(module: Module, mapping: ast.Dict) -> bool:
    """``{**os.environ}``."""
    return any(
        key is None and _is_environment(module, item) for key, item in zip(mapping.keys, mapping.values, strict=True)
    )


def _is_copied_by(module: Module, call: ast.Call) -> bool:
    """``dict(os.environ)``."""
    is_mapping = isinstance(call.func, ast.Name) and call.func.id == "dict"
    return is_mapping and any(_is_environment(module, item) for item in call.args)


def _updates(module: Module, call: ast.Call) -> bool:
    """Whether what a call is given becomes variables, of this process or of one that it starts."""
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr == "update":
        return _is_environment(module, function.value) or _is_copy(module, function.value)
    return _is_copied_by(module, call)


def _subscript(module: Module, node: ast.Subscript) -> tuple[str, ast.stmt | None, ast.expr | None]:
    statement = module.parent(node)
    if isinstance(node.ctx, ast.Load):
        return "read", None, None
    if isinstance(statement, ast.Assign):
        return "set", statement if len(statement.targets) == 1 else None, statement.value
    if isinstance(statement, ast.AugAssign):
        return "set", statement, statement.value
    whole = isinstance(statement, ast.Delete) and len(statement.targets) == 1
    return "unset", statement if whole else None, None  # type: ignore[return-value]


def _is_update(module: Module, mapping: ast.Dict) -> bool:
    """Whether the entries of a mapping become variables, of this process or of one that it starts."""
    above = module.parent(mapping)
    if isinstance(above, ast.AugAssign) and isinstance(above.op, ast.BitOr):
        return module.resolve(above.target) in _ENVIRONMENT
    if _is_copied_into(module, mapping):
        return True
    if isinstance(above, ast.keyword):
        return above.arg in _OF_A_PROCESS
    return isinstance(above, ast.Call) and _updates(module, above)


def _keywords(module: Module) -> Iterator[Change]:
    """``os.environ.update(XLA_USE_BF16="1")``, ``dict(os.environ, XLA_USE_BF16="1")``."""
    for call in module.calls:
        for item in call.keywords if _updates(module, call) else ():
            row = variable(item.arg) if item.arg else None
            if row is None or row.is_kept or not item.arg:
                continue
            message = row.message(item.arg)
            if _is_of_one_process(module, item.arg):
                yield Change(Outcome.REVIEW, item.value, _ONE)
            elif row.is_read or row.native or (row.is_manual and not is_off(literal(item.value))):
                outcome = Outcome.REVIEW if row.is_read and row.outcome == Outcome.REVIEW.value else Outcome.MANUAL
                yield Change(outcome, item.value, message)
            else:
                edit = _out_of_update(module, call, item)
                yield Change(row.gone(literal(item.value)), item.value, _gone(row, item.arg, message), (edit,))


def _out_of_update(module: Module, holder: Holder, item: ast.keyword) -> AnyEdit:
    """Take one variable out of ``os.environ.update(...)``, or the statement away where all of them go."""
    call = module.parent(holder) if isinstance(holder, ast.Dict) else holder
    statement = module.parent(call) if isinstance(call, ast.Call) else None
    if isinstance(call, ast.Call) and isinstance(statement, ast.Expr):
        others = [given for given in (*call.args, *call.keywords) if given is not holder]
        entries = list(named(holder))
        if others == (entries if holder is call else []) and all(_goes(module, entry) for entry in entries):
            return RemoveStatement(statement)
    return remove_argument(holder, item)


def _goes(module: Module, entry: ast.keyword) -> bool:
    row = variable(entry.arg) if entry.arg else None
    if row is None or not entry.arg or row.is_kept or row.native or _is_of_one_process(module, entry.arg):
        return False
    return is_off(literal(entry.value)) or not row.is_manual


def _change(
    module: Module,
    constant: ast.Constant,
    row: Variable,
    kind: str,
    statement: ast.stmt | None,
    value: ast.expr | None,
) -> Change | None:
    name = str(constant.value)
    if kind == "read":
        return _read(module, constant, row, name)
    if name == FLAGS:
        return _flags(module, constant, row, statement, value)
    message = row.message(name)
    given = literal(value)
    if row.native and not row.is_read:
        if kind != "unset" and isinstance(given, str) and given.startswith("s3://"):
            return Change(Outcome.MANUAL, constant, f"Name a folder in {row.native} instead of {given}: {message}")
        return Change(Outcome(row.outcome), constant, message, (_renamed(module, constant, row.native),))
    if _is_of_one_process(module, name):
        return Change(Outcome.REVIEW, constant, _ONE)
    if name in _PRECOMPILATION and kind == "set" and not is_off(given) and _is_for_another(module, constant):
        message = f"{name} made a process that only compiled: delete the run that is given this environment."
        return Change(Outcome.MANUAL, constant, message)
    if row.is_manual and not (kind == "unset" or is_off(given)):
        return Change(Outcome.MANUAL, constant, message)
    edit: AnyEdit
    if kind == "entry":
        mapping = module.parent(constant)
        assert isinstance(mapping, ast.Dict)
        entry = _entry(mapping, constant)
        edit = _out_of_update(module, mapping, entry)
    elif statement is not None:
        edit = RemoveStatement(statement)
    else:
        return Change(Outcome.MANUAL, constant, f"Delete this by hand: {message}")
    outcome = row.gone("" if kind == "unset" else given)
    return Change(outcome, constant, _gone(row, name, message), (edit,))


def _is_of_one_process(module: Module, name: str) -> bool:
    """Whether a variable reserves cores for a script of which nothing says that it runs in several processes."""
    return name == _CORES and _SEVERAL.search(module.source.text) is None


def _is_for_another(module: Module, constant: ast.Constant) -> bool:
    above = module.parent(constant)
    return isinstance(above, ast.Subscript) and _is_copy(module, above.value)


def _gone(row: Variable, name: str, message: str) -> str:
    return f"{name} goes: nothing reads it any more." if row.is_manual else message


def _entry(mapping: ast.Dict, constant: ast.Constant) -> ast.keyword:
    from neuron_codemods.values import entries

    return entries(mapping)[mapping.keys.index(constant)]


def _renamed(module: Module, constant: ast.Constant, name: str) -> Edit:
    start, end = module.source.span(constant)
    text = module.source.text[start:end]
    return Edit.replace((start, end), text.replace(str(constant.value), name))


def _read(module: Module, constant: ast.Constant, row: Variable, name: str) -> Change | None:
    if name in _PRECOMPILATION or row.is_read:
        return None
    if row.native:
        return Change(
            Outcome(row.outcome),
            constant,
            row.message(name),
            (_renamed(module, constant, row.native),),
        )
    return Change(Outcome.MANUAL, constant, f"Delete what depends on {name}: nothing sets or reads it any more.")


def _flags(
    module: Module, constant: ast.Constant, row: Variable, statement: ast.stmt | None, value: ast.expr | None
) -> Change:
    """Compiler flags stay, without the options of the wrapper; a statement that gave no others goes."""
    parts = [] if value is None else [part for part in ast.walk(value) if _has_wrapper_flag(module, part)]
    edits: tuple[AnyEdit, ...] = tuple(
        Edit(*module.source.span(part), lambda text: _WRAPPER_FLAG.sub("", text)) for part in parts
    )
    message = row.message(FLAGS)
    if edits:
        message += f" --cache_dir and --retry_failed_compilation go: {CACHE} names the cache."
    if statement is not None and parts and _adds_nothing(module, value):
        edits = (RemoveStatement(statement),)
        message = f"{FLAGS} goes here: it gave options of the old compiler wrapper only. {CACHE} names the cache."
    return Change(Outcome.REVIEW, constant, message, edits)


def _has_wrapper_flag(module: Module, part: ast.AST) -> bool:
    return (
        isinstance(part, ast.Constant)
        and isinstance(part.value, str)
        and _WRAPPER_FLAG.search(part.value) is not None
        and module.is_placed(part)
        and not isinstance(module.parent(part), ast.JoinedStr)
    )


def _adds_nothing(module: Module, value: ast.expr | None) -> bool:
    """Whether no flags are left: the value is a text of such options, or the variable itself with such a text."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        names = {node.value for node in ast.walk(value.left) if isinstance(node, ast.Constant)}
        return FLAGS in names and names <= {FLAGS, "", " "} and _adds_nothing(module, value.right)
    return isinstance(value, ast.Constant) and not _WRAPPER_FLAG.sub("", str(value.value)).strip()


CASES = (
    Case(
        "the environment of another process",
        """import os
import subprocess

from optimum.neuron import NeuronTrainer

env = dict(os.environ, NEURON_CC_FLAGS="-O1", XLA_DOWNCAST_BF16="0", NEURON_FUSE_SOFTMAX="1")
env.update({"PJRT_DEVICE": "NEURON", "PATH": "/bin"})
env.update(XLA_IR_DEBUG="1")
subprocess.run(["torchrun", "train.py"], env=env)
subprocess.run(["torchrun", "train.py"], env={"NEURON_COMPILE_CACHE_URL": "/cache", "NEURON_FUSE_SOFTMAX": "1"})
""",
        """import os
import subprocess

from optimum.neuron import NeuronTrainer

env = dict(os.environ, NEURON_CC_FLAGS="-O1")
env.update({"PATH": "/bin"})
subprocess.run(["torchrun", "train.py"], env=env)
subprocess.run(["torchrun", "train.py"], env={"TORCH_NEURONX_NEFF_CACHE_DIR": "/cache"})
""",
    ),
    Case(
        "mappings that are of no process",
        """import os

from optimum.neuron import NeuronTrainer

names = {"XLA_USE_BF16": "1"}
names.update(XLA_USE_BF16="0")
print(dict(names, XLA_USE_BF16="1"), names)
""",
    ),
    Case(
        "a launcher that imports nothing of Neuron",
        """import os
import subprocess

env = os.environ.copy()
env["NEURON_COMPILE_CACHE_URL"] = "/cache"
env["NEURON_EXTRACT_GRAPHS_ONLY"] = "1"
env["NEURON_CC_FLAGS"] = "-O1"
env["XLA_USE_BF16"] = "1"
subprocess.run(["torchrun", "train.py"], env=env)
other = {**os.environ}
other["NEURON_EXTRACT_GRAPHS_ONLY"] = "0"
another = dict(os.environ)
del another["NEURON_FUSE_SOFTMAX"]
""",
        """import os
import subprocess

env = os.environ.copy()
env["TORCH_NEURONX_NEFF_CACHE_DIR"] = "/cache"
# TODO(neuron-migrate NM615): NEURON_EXTRACT_GRAPHS_ONLY made a process that only compiled: delete the run that is \
given this environment: https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/reference/env-vars.html
env["NEURON_EXTRACT_GRAPHS_ONLY"] = "1"
env["NEURON_CC_FLAGS"] = "-O1"
env["XLA_USE_BF16"] = "1"
subprocess.run(["torchrun", "train.py"], env=env)
other = {**os.environ}
another = dict(os.environ)
""",
        (Outcome.REVIEW, Outcome.MANUAL, Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "mappings that are no environment",
        """settings = load()
settings["NEURON_FUSE_SOFTMAX"] = "1"
others = {}
others["NEURON_FUSE_SOFTMAX"] = "1"
given = dict(settings)
given["NEURON_FUSE_SOFTMAX"] = "1"
""",
    ),
    Case(
        "what only XLA read",
        """import os
import torch_neuronx

os.environ["PJRT_DEVICE"] = "NEURON"
os.environ.setdefault("XLA_IR_DEBUG", "1")
os.environ["NEURON_FUSE_SOFTMAX"] = "1"; os.environ["MALLOC_ARENA_MAX"] = "64"
os.environ.pop("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", None)
os.environ["XLA_USE_BF16"] = "0"
print(torch_neuronx)
""",
        """import os
import torch_neuronx

os.environ["MALLOC_ARENA_MAX"] = "64"
print(torch_neuronx)
""",
        (Outcome.REWRITTEN,) * 5,
    ),
    Case(
        "other names",
        """import os
import torch_neuronx

os.environ["NEURON_COMPILE_CACHE_URL"] = "/cache"
os.environ['NEURON_RT_VIRTUAL_CORE_SIZE'] = "2"
print(torch_neuronx)
""",
        """import os
import torch_neuronx

os.environ["TORCH_NEURONX_NEFF_CACHE_DIR"] = "/cache"
os.environ['NEURON_LOGICAL_NC_CONFIG'] = "2"
print(torch_neuronx)
""",
        (Outcome.REVIEW, Outcome.REWRITTEN),
    ),
    Case(
        "flags of the compiler",
        """import os
import torch_neuronx

os.environ["NEURON_CC_FLAGS"] = "-O1 --cache_dir=/cache --retry_failed_compilation --model-type=transformer"
os.environ["NEURON_CC_FLAGS"] = os.environ.get("NEURON_CC_FLAGS", "") + " --retry_failed_compilation"
print(torch_neuronx)
""",
        """import os
import torch_neuronx

os.environ["NEURON_CC_FLAGS"] = "-O1 --model-type=transformer"
print(torch_neuronx)
""",
        (Outcome.REVIEW, Outcome.REVIEW),
    ),
    Case(
        "entries of a mapping",
        """import os
import torch_neuronx

os.environ.update({"XLA_HLO_DEBUG": "1", "NEURON_RT_LOG_LEVEL": "INFO"})
print(torch_neuronx)
""",
        """import os
import torch_neuronx

os.environ.update({"NEURON_RT_LOG_LEVEL": "INFO"})
print(torch_neuronx)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "what changed the numbers",
        """import os
import torch_neuronx

os.environ["XLA_DOWNCAST_BF16"] = "1"
print(torch_neuronx)
""",
        """import torch_neuronx

print(torch_neuronx)
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "what depends on it",
        'import os\nimport torch_neuronx\n\nif os.environ.get("XLA_USE_BF16"):\n    torch_neuronx.half()\n',
        """import os
import torch_neuronx

# TODO(neuron-migrate NM615): Delete what depends on XLA_USE_BF16: nothing sets or reads it any more: \
https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/reference/env-vars.html
if os.environ.get("XLA_USE_BF16"):
    torch_neuronx.half()
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "what depends on it, more than once",
        """import os
import torch_neuronx

if "NEURON_FUSE_SOFTMAX" in os.environ:
    print(os.environ["NEURON_FUSE_SOFTMAX"], torch_neuronx)
if "NEURON_COMPILE_CACHE_URL" in os.environ:
    print(os.environ["NEURON_COMPILE_CACHE_URL"])
""",
        """import os
import torch_neuronx

# TODO(neuron-migrate NM615): Delete what depends on NEURON_FUSE_SOFTMAX: nothing sets or reads it any more: \
https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/reference/env-vars.html
if "NEURON_FUSE_SOFTMAX" in os.environ:
    print(os.environ["NEURON_FUSE_SOFTMAX"], torch_neuronx)
if "TORCH_NEURONX_NEFF_CACHE_DIR" in os.environ:
    print(os.environ["TORCH_NEURONX_NEFF_CACHE_DIR"])
""",
        (Outcome.MANUAL, Outcome.REVIEW, Outcome.REVIEW),
    ),
    Case(
        "what is still read",
        'import os\nimport torch_neuronx\n\nos.environ["NEURON_RT_STOCHASTIC_ROUNDING_EN"] = "1"\n',
    ),
    Case(
        "the cores of one process",
        'import os\nimport torch_neuronx\n\nos.environ["NEURON_RT_NUM_CORES"] = "1"\nprint(torch_neuronx)\n',
        outcomes=(Outcome.REVIEW,),
    ),
    Case(
        "the cores of one process by a keyword",
        'import os\nimport torch_neuronx\n\nos.environ.update(NEURON_RT_NUM_CORES="1")\nprint(torch_neuronx)\n',
        outcomes=(Outcome.REVIEW,),
    ),
    Case(
        "the cores of several processes",
        """import os
import torch.distributed
import torch_neuronx

os.environ["NEURON_RT_NUM_CORES"] = "1"
print(torch_neuronx)
""",
        """import os
import torch.distributed
import torch_neuronx

# TODO(neuron-migrate NM615): Delete NEURON_RT_NUM_CORES where torchrun starts the script: it starts one process for \
each core, which takes its own. Keep it only for a single process: \
https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/reference/env-vars.html
os.environ["NEURON_RT_NUM_CORES"] = "1"
print(torch_neuronx)
""",
        (Outcome.MANUAL,),
    ),
    Case("a variable of another program", 'import os\nimport torch_neuronx\n\nos.environ["XLAB"] = "1"\n'),
    Case("a mapping of one's own", 'import torch_neuronx\n\nsettings = {}\nsettings["PJRT_DEVICE"] = torch_neuronx\n'),
    Case("code without Neuron", 'import os\n\nos.environ["XLA_FLAGS"] = "--xla_dump"\n'),
    Case("code for a TPU", 'import os\nimport torch_xla\n\nos.environ["PJRT_DEVICE"] = "TPU"\n'),
    Case("a text", 'import torch_neuronx\n\nprint("PJRT_DEVICE", torch_neuronx)\n'),
    Case("a value", 'import os\nimport torch_neuronx\n\nos.environ["DEVICE"] = "PJRT_DEVICE"\n'),
)
