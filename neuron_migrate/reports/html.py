"""A page as HTML: one file without scripts, readable in a light and in a dark browser, with the diff of each file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from neuron_migrate.output import counted
from neuron_migrate.projects import COLUMNS
from neuron_migrate.reports.page import LEFT, OUTCOMES, FileEntry, Page

if TYPE_CHECKING:
    from neuron_codemods.model import Finding
    from neuron_migrate.results import Problem

STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --soft: #59636e; --line: #d1d9e0; --field: #f6f8fa; --page: #fff;
  --rewritten: #1a7f37; --review: #9a6700; --manual: #cf222e; --added: #dafbe1; --removed: #ffebe9; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9198a1; --line: #3d444d; --field: #151b23;
  --page: #0d1117; --rewritten: #3fb950; --review: #d29922; --manual: #f85149; --added: #12261e;
  --removed: #25171c; } }
body { background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { border-bottom: 1px solid var(--line); margin-top: 2.2rem; padding-bottom: .3rem; }
h3 { font-size: 1rem; margin-bottom: .3rem; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { background: var(--field); border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; overflow-x: auto;
  padding: .7rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; width: 6rem; }
a { color: inherit; } .soft { color: var(--soft); } summary { cursor: pointer; }
.bar { border-radius: 4px; display: flex; height: .6rem; margin: 1rem 0; overflow: hidden; }
.rewritten { color: var(--rewritten); } .review { color: var(--review); } .manual { color: var(--manual); }
.bar .rewritten { background: var(--rewritten); } .bar .review { background: var(--review); }
.bar .manual { background: var(--manual); }
.added { background: var(--added); } .removed { background: var(--removed); } .place { color: var(--soft); }
"""


def render(page: Page) -> str:
    """The page."""
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>Migration off Optimum Neuron</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            *_body(page),
            "</body>",
            "</html>",
            "",
        )
    )


def _body(page: Page) -> Iterator[str]:
    yield "<h1>Migration off Optimum Neuron</h1>"
    yield f"<p>{escape(page.headline)}</p>"
    if page.references:
        yield _bar(page)
    problems = [(entry.path, entry.problem) for entry in page.files if entry.problem is not None]
    if problems:
        yield '<h2 class="manual">Not processed</h2>'
        yield from _table(("file", "reason"), [_problem(path, problem) for path, problem in problems])
    projects = page.projects.rows()
    if projects:
        yield "<h2>Projects</h2>"
        rows = [(_code(name), *map(_number, counts)) for name, counts in projects]
        yield from _table(("project", *COLUMNS), rows, numbers=len(COLUMNS))
    for outcome, heading, meaning in LEFT:
        entries = page.with_outcome(outcome)
        if entries:
            yield f'<h2 class="{outcome}">{heading}</h2>'
            yield f"<p>{meaning}</p>"
            if projects:
                yield from _table(("rule", "what to do"), [_everywhere(*told) for told in page.by_message(outcome)])
                continue
            for entry in entries:
                yield f"<h3>{_code(entry.path)}</h3>"
                yield from _table(("line", "rule", "what to do"), [_finding(each) for each in entry.of(outcome)])
    if page.files:
        yield "<h2>Files</h2>"
        yield from _table(("file", *OUTCOMES), [_file(entry) for entry in page.files], numbers=len(OUTCOMES))
    if page.rules:
        yield "<h2>Rules</h2>"
        rows = [(escape(code), escape(name), *map(_number, counts)) for code, name, counts in page.rules]
        yield from _table(("code", "rule", *OUTCOMES), rows, numbers=len(OUTCOMES))
    commands, advice = page.launch
    if commands:
        yield "<h2>Launch</h2>"
        yield f"<pre>{escape(chr(10).join(commands))}</pre>"
        yield f"<p>{escape(advice)}</p>"


def _bar(page: Page) -> str:
    parts = "".join(
        f'<span class="{outcome}" style="flex: {page.totals.outcome(outcome)}" '
        f'title="{page.totals.outcome(outcome):,} {outcome}"></span>'
        for outcome in OUTCOMES
        if page.totals.outcome(outcome)
    )
    return f'<div class="bar" role="img" aria-label="{escape(page.headline)}">{parts}</div>'


def _problem(path: str, problem: Problem) -> tuple[str, ...]:
    place = path if problem.line is None else f"{path}:{problem.line}"
    return (_code(place), escape(problem.reason))


def _everywhere(finding: Finding, places: Sequence[str]) -> tuple[str, ...]:
    """What is said of many places, which are folded away."""
    listed = "".join(f"<li>{_code(place)}</li>" for place in places)
    folded = f"<details><summary>{counted(len(places), 'place')}</summary><ul>{listed}</ul></details>"
    return (_rule(finding), escape(" ".join(finding.message.split())) + folded)


def _rule(finding: Finding) -> str:
    rule = escape(finding.code)
    return f'<a href="{escape(finding.url)}">{rule}</a>' if finding.url else rule


def _finding(finding: Finding) -> tuple[str, ...]:
    place = finding.where if finding.within is not None else str(finding.start.line)
    return (place, _rule(finding), escape(" ".join(finding.message.split())))


def _file(entry: FileEntry) -> tuple[str, ...]:
    name = _code(entry.path)
    if entry.diff:
        name = f"<details><summary>{name}</summary><pre>{_diff(entry.diff)}</pre></details>"
    return (name, *(_number(entry.count(outcome)) for outcome in OUTCOMES))


def _diff(diff: str) -> str:
    lines = diff.split("\n")
    body = next((number for number, line in enumerate(lines) if line.startswith("@@")), 0)
    return "\n".join(_diff_line(line) for line in lines[body:])


def _diff_line(line: str) -> str:
    for start, name in (("+", "added"), ("-", "removed"), ("@@", "place")):
        if line.startswith(start):
            return f'<span class="{name}">{escape(line)}</span>'
    return escape(line)


def _table(head: Sequence[str], rows: Sequence[tuple[str, ...]], *, numbers: int = 0) -> Iterator[str]:
    def line(cells: Sequence[str], tag: str) -> str:
        first_number = len(cells) - numbers
        return (
            "<tr>"
            + "".join(
                f"<{tag}{' class=number' if index >= first_number else ''}>{cell}</{tag}>"
                for index, cell in enumerate(cells)
            )
            + "</tr>"
        )

    yield "<table>"
    yield line(head, "th")
    yield from (line(row, "td") for row in rows)
    yield "</table>"


def _number(count: int) -> str:
    return f"{count:,}" if count else "-"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
