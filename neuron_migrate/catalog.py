"""What ``--list-rules`` and ``--explain`` show, and which codes ``--select`` and ``--ignore`` may name."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from neuron_migrate.diff import colored, compared
from neuron_migrate.output import Output, aligned

if TYPE_CHECKING:
    from neuron_codemods.registry import RuleModule

SHOWN_CASES = 2
"""How many examples ``--explain`` gives."""


class UnknownCodeError(ValueError):
    """A rule code that no rule has."""


def names() -> dict[str, str]:
    """The name of each rule by its code."""
    return {module.rule.code: module.rule.name for module in _rules()}


def prefixes(values: Iterable[str]) -> tuple[str, ...]:
    """The rule codes and prefixes in the values of one option; each must stand for at least one rule."""
    wanted = [code for value in values for code in _split(value)]
    codes = [module.rule.code for module in _rules()] if wanted else []
    for code in wanted:
        if not any(known.startswith(code) for known in codes):
            raise UnknownCodeError(f"no rule has the code or prefix {code!r}{_near(code, codes)}; see --list-rules")
    return tuple(wanted)


def list_rules(out: Output, *, terminal: bool) -> None:
    """One line a rule, or a table on a terminal."""
    rows = [
        (rule.code, rule.name, ",".join(outcome.value for outcome in rule.outcomes), rule.summary)
        for rule in (module.rule for module in _rules())
    ]
    if terminal:
        _table(rows, color=out.color)
    elif rows:
        for line in aligned(rows):
            out.line(line)


def explain(code: str, out: Output) -> None:
    """Everything a person may want to know of one rule."""
    by_code = {module.rule.code: module for module in _rules()}
    module = by_code.get(code.strip().upper())
    if module is None:
        raise UnknownCodeError(f"no rule has the code {code!r}{_near(code.upper(), list(by_code))}; see --list-rules")
    rule = module.rule
    out.line(out.style(f"{rule.code} {rule.name}", "cyan", bold=True))
    out.line()
    out.line(inspect.cleandoc(module.explanation))
    for case in [case for case in module.cases if not case.is_noop][:SHOWN_CASES]:
        out.line()
        out.line(out.style(f"Example: {case.name}", "cyan"))
        out.line()
        # The examples are about the lines, not about where they stand: no header.
        shown = compared(case.before, case.expected).split("\n")[3:]
        text = "\n".join("    " + line for line in shown)
        if out.color:
            text = "\n".join("    " + colored(b"@@\n" + line.encode()).decode().split("\n", 1)[1] for line in shown)
        out.line(text)
    out.line()
    out.line(f"Outcomes: {', '.join(outcome.value for outcome in rule.outcomes)}")
    out.line(f"See: {rule.url}")


def _rules() -> tuple[RuleModule, ...]:
    from neuron_codemods.registry import rules

    return rules()


def _split(value: str) -> list[str]:
    codes = [code.strip().upper() for code in value.split(",")]
    if not any(codes):
        raise UnknownCodeError("a list of rule codes is empty; see --list-rules")
    return ["NM" if code == "ALL" else code for code in codes if code]


def _near(code: str, codes: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(code, codes, n=3)
    return f" (did you mean {' or '.join(close)}?)" if close else ""


def _table(rows: Sequence[tuple[str, str, str, str]], *, color: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("code", "name", "outcomes", "summary", box=None, pad_edge=False)
    for code, name, outcomes, summary in rows:
        table.add_row(code, name, outcomes.replace(",", "\n"), summary)
    Console(no_color=not color, markup=False, highlight=False, emoji=False).print(table)
