"""A page as Markdown: what is left is a list of tasks, ready for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from neuron_migrate.output import counted
from neuron_migrate.projects import COLUMNS
from neuron_migrate.reports.page import LEFT, OUTCOMES, Page

if TYPE_CHECKING:
    from neuron_codemods.model import Finding


def render(page: Page) -> str:
    """The page; what comes from the files is quoted, so that it cannot end up as markup."""
    return "\n".join(_lines(page)).rstrip() + "\n"


def _lines(page: Page) -> Iterator[str]:
    yield from ("# Migration off Optimum Neuron", "", page.headline, "")
    problems = [(entry.path, entry.problem) for entry in page.files if entry.problem is not None]
    if problems:
        yield from ("## Not processed", "")
        for path, problem in problems:
            place = path if problem.line is None else f"{path}:{problem.line}"
            yield f"- [ ] {_code(place)} {_text(problem.reason)}"
        yield ""
    projects = page.projects.rows()
    if projects:
        rows = [(_code(name), *map(_number, counts)) for name, counts in projects]
        yield from ("## Projects", "", *_table(("project", *COLUMNS), rows, numbers=len(COLUMNS)), "")
    for outcome, heading, meaning in LEFT:
        entries = page.with_outcome(outcome)
        if entries:
            yield from (f"## {heading}", "", meaning, "")
            if projects:
                for finding, places in page.by_message(outcome):
                    yield f"- [ ] {_rule(finding)}, {counted(len(places), 'place')}: {_text(finding.message)}"
                    yield from (f"  - [ ] {_text(place)}" for place in places)
                yield ""
                continue
            for entry in entries:
                yield from (f"### {_code(entry.path)}", "")
                yield from (_task(finding) for finding in entry.of(outcome))
                yield ""
    if page.files:
        yield from ("## Files", "", *_table(("file", *OUTCOMES), _file_rows(page)), "")
    if page.rules:
        rows = [(code, name, *map(_number, counts)) for code, name, counts in page.rules]
        yield from ("## Rules", "", *_table(("code", "rule", *OUTCOMES), rows), "")
    commands, advice = page.launch
    if commands:
        yield from ("## Launch", "", "```sh", *commands, "```", "", advice)


def _file_rows(page: Page) -> list[tuple[str, ...]]:
    return [(_code(entry.path), *(_number(entry.count(outcome)) for outcome in OUTCOMES)) for entry in page.files]


def _task(finding: Finding) -> str:
    return f"- [ ] {finding.where}, {_rule(finding)}: {_text(finding.message)}"


def _rule(finding: Finding) -> str:
    return f"[{finding.code}]({finding.url})" if finding.url else finding.code


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = len(OUTCOMES)) -> list[str]:
    rule = ["---:" if index >= len(head) - numbers else "---" for index in range(len(head))]
    return ["| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)]


def _number(count: int) -> str:
    return f"{count:,}" if count else "-"


def _text(text: str) -> str:
    text = " ".join(text.split())
    for character in "\\`*_<>[]|#":
        text = text.replace(character, "\\" + character)
    return text


def _code(text: str) -> str:
    fence = "`"
    while fence in text:
        fence += "`"
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|").replace("\n", " ")
