"""What every rule owes its users: a code, an explanation, cases that hold, and results that fit the libraries."""

from __future__ import annotations

import ast
import importlib.util
import re

import pytest

from neuron_codemods import Case, Migration, Outcome, Settings, migrate_text
from neuron_codemods.library_uses import LIBRARIES
from neuron_codemods.registry import ON_DEMAND, ROOMS, RuleModule, rules

from . import binding

CASES = [(rule, case) for rule in rules() for case in rule.cases]
ROOM_CODES = dict(zip("01234567", ROOMS, strict=True))


def case_id(pair: tuple[RuleModule, Case] | RuleModule) -> str:
    if isinstance(pair, RuleModule):
        return pair.rule.code
    return f"{pair[0].rule.code}-{pair[1].name.replace(' ', '-')}"


every_rule = pytest.mark.parametrize("module", rules(), ids=case_id)
every_case = pytest.mark.parametrize("pair", CASES, ids=case_id)


def only(module: RuleModule) -> Settings:
    return Settings(select=(module.rule.code,))


def migrated(module: RuleModule, text: str, settings: Settings | None = None) -> Migration:
    return migrate_text(module.rule.kind, text, settings=settings)


def all_rules(module: RuleModule) -> Settings:
    """Every rule; for the renames of the libraries also where a case holds no Optimum Neuron."""
    if module.rule.code in ON_DEMAND:
        return Settings(select=("NM", module.rule.code))
    return Settings(select=("NM", "NM7")) if module.rule.code.startswith("NM7") else Settings()


def test_codes_and_names_are_unique() -> None:
    for values in ([module.rule.code for module in rules()], [module.rule.name for module in rules()]):
        assert len(set(values)) == len(values)


def test_rules_are_in_the_order_of_their_codes() -> None:
    codes = [module.rule.code for module in rules()]
    assert codes == sorted(codes)


@every_rule
def test_record(module: RuleModule) -> None:
    rule = module.rule
    assert re.fullmatch(r"NM\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.summary.endswith(".")
    assert "\n" not in rule.summary
    assert rule.url.startswith("https://")
    assert rule.outcomes
    assert module.check.__module__.split(".")[1] == ROOM_CODES[rule.code[2]]


@every_rule
def test_explanation(module: RuleModule) -> None:
    paragraphs = module.explanation.split("\n\n")
    assert len(paragraphs) >= 3, "one sentence on what, one on why, the address"
    assert paragraphs[0].endswith(".")
    assert "\n" not in paragraphs[0], "what is rewritten, in one line"
    assert paragraphs[-1] == module.rule.url


TOLD_BY_THE_COMMAND = {"NM009"}
"""Rules about what only the command can know: they have no example that can be migrated here."""


@every_rule
def test_it_has_an_example_and_a_no_op(module: RuleModule) -> None:
    names = [case.name for case in module.cases]
    assert len(set(names)) == len(names)
    if module.rule.code not in TOLD_BY_THE_COMMAND:
        assert any(not case.is_noop or case.outcomes for case in module.cases), "no example"
    assert any(case.is_noop and not case.outcomes for case in module.cases), "no case that is left alone"


def test_more_is_left_alone_than_rewritten() -> None:
    no_ops = [case for _, case in CASES if case.is_noop]
    assert len(no_ops) >= len(CASES) - len(no_ops)


@every_case
def test_case_with_only_its_rule(pair: tuple[RuleModule, Case]) -> None:
    module, case = pair
    migration = migrated(module, case.before, only(module))
    assert migration.text == case.expected
    assert migration.changed == (case.before != case.expected)
    if module.rule.kind == "python":
        ast.parse(migration.text)
    if migration.changed:
        assert migration.findings


@every_case
def test_outcomes(pair: tuple[RuleModule, Case]) -> None:
    module, case = pair
    findings = [
        finding
        for finding in migrated(module, case.before, all_rules(module)).findings
        if finding.code == module.rule.code
    ]
    if case.outcomes:
        assert tuple(finding.outcome for finding in findings) == case.outcomes
    elif case.is_noop:
        assert findings == []
    for finding in findings:
        assert finding.outcome in module.rule.outcomes
        assert finding.message.endswith(".") or "https://" in finding.message, finding.message
        assert finding.url == module.rule.url


@every_case
def test_second_run_changes_nothing(pair: tuple[RuleModule, Case]) -> None:
    module, case = pair
    for settings in (only(module), all_rules(module)):
        text = migrated(module, case.before, settings).text
        again = migrated(module, text, settings)
        assert again.text == text


@every_case
@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_newlines_stay(pair: tuple[RuleModule, Case], newline: str) -> None:
    module, case = pair
    if newline == "\r" and module.rule.kind != "python":
        pytest.skip("no other kind of text has such lines")
    text = case.before.replace("\n", newline)
    assert migrated(module, text, only(module)).text == case.expected.replace("\n", newline)


@pytest.mark.libraries
@pytest.mark.parametrize("pair", [pair for pair in CASES if pair[0].rule.kind == "python"], ids=case_id)
def test_result_fits_the_libraries(pair: tuple[RuleModule, Case]) -> None:
    for name in LIBRARIES:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    migration = migrated(pair[0], pair[1].before, all_rules(pair[0]))
    outcomes = {finding.outcome for finding in migration.findings}
    if outcomes and Outcome.MANUAL not in outcomes:  # else a person is not done yet, or nothing was to do
        assert binding.problems(migration.text) == []
