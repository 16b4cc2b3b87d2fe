"""Reports of torch_xla's counters: scripts do no more than print them, and there is nothing to count now."""

from __future__ import annotations

import ast

from neuron_codemods.module import Module
from neuron_codemods.xla import uses
from neuron_codemods.xla.uses import Use

MODULE = "torch_xla.debug.metrics"
_REPORTS = frozenset({"metrics_report", "short_metrics_report"})


def printed(module: Module, call: ast.Call) -> Use | None:
    """The report that a call prints, if it prints nothing else."""
    if len(call.args) != 1 or not isinstance(call.args[0], ast.Call):
        return None
    function = call.args[0].func
    return next((use for use in uses.all_uses(module) if use.node is function and _is_report(use)), None)


def is_printed(module: Module, use: Use) -> ast.Expr | None:
    """The statement that prints a report and does nothing else: with ``print``, or for ``xm.master_print`` too."""
    call = module.parent(use.node)
    above = module.parent(call) if call is not None else None
    statement = module.parent(above) if above is not None else None
    if not _is_report(use) or not isinstance(above, ast.Call) or not isinstance(statement, ast.Expr):
        return None
    plain = isinstance(above.func, ast.Name) and above.func.id == "print" and module.binding(above.func) is None
    told = plain or (module.resolve(above.func) or "").endswith(".master_print")
    return statement if told and printed(module, above) is use else None


def is_master_print(module: Module, statement: ast.Expr) -> bool:
    """Whether another rule takes a statement away."""
    call = statement.value
    return isinstance(call, ast.Call) and (module.resolve(call.func) or "").endswith(".master_print")


def _is_report(use: Use) -> bool:
    return use.row.module == MODULE and use.row.symbol in _REPORTS
