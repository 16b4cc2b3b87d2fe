"""What ``--list-rules`` and ``--explain`` show, and which codes ``--select`` and ``--ignore`` may name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from neuron_codemods.model import Outcome
from neuron_migrate import pages
from neuron_migrate.output import WIDEST, Output, aligned

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
        (
            rule.code,
            rule.name,
            ",".join(outcome.value for outcome in Outcome if outcome in rule.outcomes),
            rule.summary,
        )
        for rule in (module.rule for module in _rules())
    ]
    if terminal:
        _table(rows, color=out.color)
    else:
        for line in aligned(rows):
            out.line(line)


def explain(code: str, out: Output) -> None:
    """Everything a person may want to know of one rule."""
    by_code = {module.rule.code: module for module in _rules()}
    module = by_code.get(code.strip().upper())
    if module is None:
        raise UnknownCodeError(f"no rule has the code {code!r}{_near(code.upper(), list(by_code))}; see --list-rules")
    page = pages.page(module, examples=SHOWN_CASES)
    if out.columns is None:
        out.line(page.rstrip("\n"))
    else:
        _render(page, out)


def machine_list() -> str:
    """All rules as JSON: what ``--list-rules`` shows, and what a page of documentation is made of."""
    import json

    rules = [
        {
            "code": module.rule.code,
            "name": module.rule.name,
            "kind": module.rule.kind,
            "summary": module.rule.summary,
            "what": module.what,
            "why": module.why,
            "outcomes": [outcome.value for outcome in module.rule.outcomes],
            "url": module.rule.url,
            "examples": [{"name": case.name, "before": case.before, "after": case.expected} for case in module.cases],
        }
        for module in _rules()
    ]
    return json.dumps({"version": 1, "rules": rules}, indent=2)


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


def _render(page: str, out: Output) -> None:
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.theme import Theme

    width = min(out.columns or WIDEST, WIDEST)
    console = Console(
        no_color=not out.color,
        width=width,
        force_terminal=out.color,
        highlight=False,
        emoji=False,
        theme=Theme({"markdown.code": "cyan"}),  # rich's own black ground is a hole in a light terminal
    )
    console.print(Markdown(page, code_theme="ansi_dark"))
