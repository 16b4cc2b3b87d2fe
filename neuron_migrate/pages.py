"""A rule as a page of Markdown, from its docstring and its cases: for ``--explain`` and for ``docs/rules``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from neuron_migrate.diff import compared

if TYPE_CHECKING:
    from neuron_codemods.model import Case
    from neuron_codemods.registry import RuleModule

_TICKS = re.compile("`+")

MEANINGS = {
    "rewritten": "rewritten with the same meaning",
    "review": "rewritten or kept, but something differs that a person must know",
    "manual": "not rewritten; the marker above the statement says what to do",
}


def page(module: RuleModule, *, examples: int | None = None) -> str:
    """The page, always with the same sections; ``examples`` limits how many are shown."""
    return "\n".join(_lines(module, examples)).rstrip() + "\n"


def summary(modules: Sequence[RuleModule]) -> str:
    """All rules in one table, each with a link to its page."""
    lines = ["# Rules", "", "| code | name | outcomes | what it is about |", "|---|---|---|---|"]
    for module in modules:
        rule = module.rule
        outcomes = ", ".join(outcome.value for outcome in rule.outcomes)
        about = rule.summary.replace("|", "\\|")
        lines.append(f"| [{rule.code}]({rule.code}.md) | {rule.name} | {outcomes} | {about} |")
    return "\n".join(lines) + "\n"


def _lines(module: RuleModule, examples: int | None) -> Iterator[str]:
    rule = module.rule
    yield from (f"# {rule.code} {rule.name}", "", module.what, "", "## Why", "", module.why, "")
    shown = [case for case in module.cases if not case.is_noop][:examples]
    if shown:
        yield from ("## Examples", "")
        for case in shown:
            yield from _example(case)
    kept = [case.name for case in module.cases if case.is_noop]
    if kept and examples is None:
        yield from ("## Left alone", "", *(f"- {_text(name)}" for name in kept), "")
    yield from ("## Outcomes", "")
    yield from (f"- {outcome.value}: {MEANINGS[outcome.value]}" for outcome in rule.outcomes)
    yield from ("", "## References", "", f"- <{rule.url}>")


def _example(case: Case) -> Iterator[str]:
    # The examples are about the lines, not about where they stand: no header.
    yield from (
        f"{_text(case.name)}:",
        "",
        "```diff",
        *compared(case.before, case.expected).split("\n")[3:],
        "```",
        "",
    )


def _text(name: str) -> str:
    for character in "*_[]<":
        name = name.replace(character, "\\" + character)
    return name[:1].upper() + name[1:]
