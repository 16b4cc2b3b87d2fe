"""Folds what a script did otherwise while `neuron_parallel_compile` extracted its graphs.

There is nothing to extract any more: `is_precompilation()` and `os.environ.get("NEURON_EXTRACT_GRAPHS_ONLY")` are
never true. A guard keeps the branch that trains.

https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, Change, Edit, RemoveStatement, Unwrap
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import erased, imported
from neuron_codemods.training.parallel import trains
from neuron_codemods.values import literal
from neuron_codemods.xla.evidence import is_on

RULE = Rule(
    code="NM124",
    name="precompilation",
    summary="Guards on is_precompilation() or NEURON_EXTRACT_GRAPHS_ONLY keep the branch that trains.",
    url="https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/index.html",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)

_FUNCTION = "is_precompilation"
_VARIABLES = frozenset({"NEURON_EXTRACT_GRAPHS_ONLY", "NEURON_PARALLEL_COMPILE"})
_READERS = frozenset({"os.environ.get", "os.getenv"})


def check(module: Module) -> Iterator[Change]:
    if not (trains(module) or is_on(module) or any(symbol.name == _FUNCTION for _, symbol in imported(module))):
        return
    gone: set[ast.AST] = set()
    for statement in module.names.statements:
        if isinstance(statement, ast.If) and statement not in gone:
            edits = _fold(module, statement)
            if edits is not None:
                gone.update(ast.walk(statement.test))
                message = "The branch for graph extraction goes: there is nothing to extract."
                yield Change(Outcome.REWRITTEN, statement, message, edits)
    for call in module.calls:
        if _asks(module, call) and call not in gone and module.is_placed(call):
            gone.update(ast.walk(call))
            edit = _without_operand(module, call) or Edit.replace(module.source.span(call), "False")
            yield Change(Outcome.REWRITTEN, call, f"{_FUNCTION}() is never true natively.", (edit,))
    yield from erased(module, (_FUNCTION,), gone)


def _without_operand(module: Module, call: ast.Call) -> Edit | None:
    """Take ``and not is_precompilation()`` or ``or is_precompilation()`` out of a condition."""
    operand: ast.AST = call
    above = module.parent(operand)
    is_negated = isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not)
    if is_negated:
        assert isinstance(above, ast.UnaryOp)
        operand, above = above, module.parent(above)
    if not isinstance(above, ast.BoolOp) or isinstance(above.op, ast.And) is not is_negated:
        return None
    index = above.values.index(operand)  # type: ignore[arg-type]
    start, end = module.source.span(operand)
    if index:
        before = module.source.span(above.values[index - 1])[1]
        between = module.source.text[before:start]
        return None if set(between) & set("()#\n\r") else Edit.delete((before, end))
    after = module.source.span(above.values[1])[0]
    return None if set(module.source.text[end:after]) & set("()#\n\r") else Edit.delete((start, after))


def _asks(module: Module, node: ast.AST) -> bool:
    """Whether an expression is ``is_precompilation()``."""
    if not isinstance(node, ast.Call):
        return False
    symbol = module.symbol(module.resolve(node.func))
    return symbol is not None and symbol.name == _FUNCTION and not node.args


def _holds(module: Module, test: ast.expr) -> bool | None:
    """Whether a test is true in a run that trains, or None if that depends on something else."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _holds(module, test.operand)
        return None if inner is None else not inner
    if _asks(module, test):
        return False
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and _reads(module, test.left):
        value = literal(test.comparators[0])
        if isinstance(test.ops[0], ast.Eq) and value in ("1", "true", "True"):
            return False
        if isinstance(test.ops[0], ast.NotEq) and value in ("1", "true", "True"):
            return True
    return False if _reads(module, test) and not _default(test) else None


def _reads(module: Module, node: ast.expr) -> bool:
    """Whether an expression reads one of the variables of ``neuron_parallel_compile``."""
    return (
        isinstance(node, ast.Call)
        and module.resolve(node.func) in _READERS
        and bool(node.args)
        and literal(node.args[0]) in _VARIABLES
    )


def _default(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and len(node.args) > 1 and literal(node.args[1]) not in (None, "", False)


def _binds_for_others(module: Module, statement: ast.If, branch: list[ast.stmt]) -> bool:
    """Whether names that only a branch binds are used outside of it."""
    inside = {node for item in branch for node in ast.walk(item)}
    scope = module.scope(statement)
    names = [name for name, found in scope.bindings.items() if all(binding.statement in inside for binding in found)]
    uses = (use for name in names for use in module.names.references.get(name, ()) if use.node not in inside)
    return any(use.scope.home(use.name) is scope for use in uses)


def _fold(module: Module, statement: ast.If) -> tuple[AnyEdit, ...] | None:
    """The edits that leave only the branch that trains; None where the statement cannot be folded in place."""
    holds = _holds(module, statement.test)
    parent = module.parent(statement)
    if holds is None or (isinstance(parent, ast.If) and statement in parent.orelse and module.is_elif(statement)):
        return None
    if _binds_for_others(module, statement, statement.orelse if holds else statement.body):
        return (Edit.replace(module.source.span(statement.test), str(holds)),)
    if holds:
        return (Unwrap(statement),)
    if not statement.orelse:
        return (RemoveStatement(statement),)
    if module.is_elif(statement.orelse[0]):
        start = module.source.span(statement)[0]
        following = module.source.span(statement.orelse[0])[0]
        return (Edit.delete((start, following + len("el"))),)
    return (Unwrap(statement, "orelse"),)


CASES = (
    Case(
        "a name that only the branch binds",
        """import os
from optimum.neuron import NeuronTrainer

if os.environ.get("NEURON_EXTRACT_GRAPHS_ONLY") == "1":
    max_steps = 10
print(max_steps)
""",
        """from optimum.neuron import NeuronTrainer

if False:
    max_steps = 10
print(max_steps)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "fewer steps while graphs were extracted",
        """import os
from optimum.neuron import NeuronTrainer

if os.environ.get("NEURON_EXTRACT_GRAPHS_ONLY", "0") == "1":
    max_steps = 10
else:
    # the real run
    max_steps = 1000
NeuronTrainer(max_steps)
""",
        """from optimum.neuron import NeuronTrainer

# the real run
max_steps = 1000
NeuronTrainer(max_steps)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "no saving while graphs were extracted",
        """from optimum.neuron import NeuronTrainer
from optimum.neuron.utils.training_utils import is_precompilation

trainer = NeuronTrainer()
if not is_precompilation():
    trainer.save_model()
print(is_precompilation())
""",
        """from optimum.neuron import NeuronTrainer

trainer = NeuronTrainer()
trainer.save_model()
print(False)
""",
    ),
    Case(
        "another variable",
        """import os
from optimum.neuron import NeuronTrainer

if os.environ.get("DEBUG", "0") == "1":
    print("debugging")
NeuronTrainer()
""",
    ),
    Case(
        "a test that asks for more",
        """import os
from optimum.neuron import NeuronTrainer

if os.environ.get("NEURON_EXTRACT_GRAPHS_ONLY") == "0" or os.environ.get("DEBUG"):
    print("debugging")
NeuronTrainer()
""",
    ),
)
