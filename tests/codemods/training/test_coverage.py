"""Nothing of the training side passes in silence: each keyword, member and name has an outcome, which is printed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest

from neuron_codemods import Finding, Outcome, migrate
from neuron_codemods.data import Keyword, Symbol, all_keywords, all_symbols
from neuron_codemods.registry import rules

from .coverage import OWNERS, use
from .script_cases import all_scripts, migrated

ROWS = [(row, name) for row in all_keywords() if row.owner in OWNERS for name in row.names]
SHARED = frozenset({"optimum.commands.env", "optimum.commands.register.register_export"})
"""Modules that other packages of Optimum write too: an import from them says nothing of Optimum Neuron."""
BY_OWNER = frozenset({"parallelizer"})
"""Owners all of whose uses hang on a name that cannot be rewritten: the marker on its import speaks for them."""


def outcome(row: Keyword, name: str) -> str:
    """What becomes of a use: one of the outcomes, or ``kept``, or ``silent``."""
    written = use(row, name)
    migration = migrate(written.script)
    stays = written.written in migration.text
    about = [finding for finding in migration.findings if _is_about(finding, name)]
    manual = [finding for finding in migration.findings if finding.outcome is Outcome.MANUAL]
    if stays and manual and (about or row.owner in BY_OWNER):
        return Outcome.MANUAL.value
    if not stays:
        return (Outcome.REVIEW if any(item.outcome is Outcome.REVIEW for item in about) else Outcome.REWRITTEN).value
    if any(item.outcome is Outcome.REVIEW for item in about):
        return Outcome.REVIEW.value
    return "kept" if row.action == "keep" or name in ("target_modules", "resume_from_checkpoint") else "silent"


def _is_about(finding: Finding, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", finding.message) is not None


def test_every_keyword_and_member_has_an_outcome() -> None:
    table: dict[str, Counter[str]] = defaultdict(Counter)
    silent = []
    for row, name in ROWS:
        result = outcome(row, name)
        table[row.owner][result] += 1
        if result == "silent":
            silent.append(f"{row.owner}.{row.members[0]} {name}")

    columns = ("rewritten", "review", "manual", "kept", "silent")
    print(f"\n{'keywords and members of':25}" + "".join(f"{column:>11}" for column in columns))
    for owner, counts in table.items():
        print(f"{owner:25}" + "".join(f"{counts[column]:11}" for column in columns))
    total = sum(table.values(), Counter())
    print(f"{'all ' + str(len(ROWS)):25}" + "".join(f"{total[column]:11}" for column in columns))

    assert silent == []


@pytest.mark.slow  # 2,192 imports
def test_every_name_has_an_outcome() -> None:
    """Each name of the table, imported and used: at least one finding at its import or at its use."""
    by_module: dict[str, list[Symbol]] = defaultdict(list)
    for symbol in all_symbols():
        if symbol.kind != "module" and symbol.module not in SHARED:
            by_module[symbol.module].append(symbol)
    counts: Counter[str] = Counter()
    silent = []
    for module, symbols in by_module.items():
        imports = [f"from {module} import {symbol.name} as n{number}" for number, symbol in enumerate(symbols)]
        uses = [f"seen(n{number})" for number in range(len(symbols))]
        findings = migrate("\n".join([*imports, *uses, ""])).findings
        lines: dict[int, list[Finding]] = defaultdict(list)
        for finding in findings:
            lines[finding.start.line].append(finding)
        for number, symbol in enumerate(symbols):
            found = lines[number + 1] + lines[len(symbols) + number + 1]
            if not found:
                silent.append(f"{module}.{symbol.name}")
            counts["silent" if not found else max(found, key=_weight).outcome.value] += 1
    modules = sum(symbol.kind == "module" for symbol in all_symbols())
    print(f"\nnames: {sum(counts.values())} and {modules} modules, {dict(counts)}")

    assert silent == []


def _weight(finding: Finding) -> int:
    return [Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL].index(finding.outcome)


def test_most_references_are_rewritten() -> None:
    """Over all training cases and scripts: at least nine of ten are rewritten; the rest say what to do."""
    cases: Counter[str] = Counter()
    scripts: Counter[str] = Counter()
    for module in rules():
        if module.rule.code.startswith("NM1"):
            for case in module.cases:
                cases.update(finding.outcome.value for finding in migrate(case.before).findings)
    for script in all_scripts():
        for migration in migrated(script.files("before")).values():
            scripts.update(finding.outcome.value for finding in migration.findings)
            for finding in migration.findings:
                if finding.outcome is Outcome.MANUAL:
                    assert re.search(r": |\. [A-Z]", finding.message), f"says not what to do: {finding.message}"

    print("\nreferences          rewritten  rewritten, to review  by hand  rewritten in all")
    for title, counts in (("cases of the rules", cases), ("scripts", scripts)):
        share = 1 - counts["manual"] / sum(counts.values())
        row = f"{counts['rewritten']:9}  {counts['review']:20}  {counts['manual']:7}  {share:16.1%}"
        print(f"{title:18}  {row}")
    assert 1 - scripts["manual"] / sum(scripts.values()) >= 0.9


@pytest.mark.parametrize("owner", OWNERS)
def test_an_owner_has_rows(owner: str) -> None:
    assert any(row.owner == owner for row, _ in ROWS)
