"""A few of the generated programs, those that broke a promise once, and whether a broken promise is seen at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from neuron_codemods.model import Finding, Outcome, Position, Settings
from neuron_migrate.documents import Migrated, python

from . import __main__ as command
from . import campaign, contracts, grammar, pieces, strategies, texts
from .shrink import shrunk


@pytest.mark.parametrize("part", range(8))
def test_generated_programs_keep_every_promise(part: int) -> None:
    counted = campaign.counted([f"suite:{number}" for number in range(part * 25, part * 25 + 25)])
    assert counted.broken == ()


@given(strategies.programs)
@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)
def test_programs_of_hypothesis_keep_every_promise(program: grammar.Program) -> None:
    assert contracts.violations(program.text, program.settings) == []


FOUND = [json.loads(line) for line in Path(__file__).with_name("found.jsonl").read_text().splitlines()]
"""Programs that broke a promise once, each as small as it could be made."""


@pytest.mark.parametrize("found", FOUND, ids=lambda found: f"{found['seed']} {found['contract']}")
def test_what_was_found_once_stays_mended(found: dict[str, Any]) -> None:
    chosen = {name: tuple(value) if isinstance(value, list) else value for name, value in found["settings"].items()}
    assert contracts.violations(found["text"], Settings(**chosen)) == []


def test_a_seed_is_a_program() -> None:
    assert grammar.program("a:1") == grammar.program("a:1") != grammar.program("a:2")


def test_syntax_that_this_python_does_not_know_is_refused_with_its_line() -> None:
    for text in set(pieces.SYNTAX) - set(pieces.syntax()):
        program = f"from optimum.neuron import NeuronTrainer\n\n{text}"
        assert contracts.violations(program, Settings()) == []


TEXT = "from optimum.neuron import NeuronTrainer\n\nx = 1\n\n\ndef f():\n    # why\n    return NeuronTrainer()\n"
HERE = Finding("NM101", Outcome.REWRITTEN, "Something.", Position(1, 1), Position(1, 5))


def breaks(after: Callable[[str], str], *findings: Finding, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    def migrate(data: bytes, *_: object) -> Migrated:
        return Migrated(after(data.decode()).encode(), findings)

    monkeypatch.setattr(python, "migrate", migrate)
    return {violation.contract for violation in contracts.violations(TEXT, Settings())}


@pytest.mark.parametrize(
    ("after", "findings", "contract"),
    [
        (lambda text: text + "\n", (HERE,), "a second run changes nothing"),
        (lambda text: text.replace("x = 1", "x = 2"), (), "no change without a finding"),
        (lambda text: text.replace("x = 1", "x = ("), (HERE,), "the result compiles"),
        (lambda text: text.replace("x = 1\n", ""), (HERE,), "no statement goes without a finding"),
        (lambda text: text.replace("    # why\n", ""), (HERE,), "no other line changes"),
        (lambda text: text.replace("return Neuron", "return New"), (HERE,), "no name is left unbound"),
        (lambda text: f"import fresh\n{text}".replace("import fresh\n" * 2, "import fresh\n"), (HERE,), "pyflakes"),
        (lambda text: text, (Finding("NM1", Outcome.REVIEW, "", Position(99, 1), Position(99, 1)),), "places"),
    ],
)
def test_a_broken_promise_is_seen(
    monkeypatch: pytest.MonkeyPatch, after: Callable[[str], str], findings: tuple[Finding, ...], contract: str
) -> None:
    broken = breaks(after, *findings, monkeypatch=monkeypatch)
    assert any(each.startswith(contract) for each in broken), broken


def test_an_exception_and_a_refusal_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(text: str) -> str:
        raise KeyError(text)

    assert breaks(fails, monkeypatch=monkeypatch) == {"no exception"}


def test_a_program_is_made_as_small_as_it_can_be() -> None:
    assert shrunk("a\nb\nc\nd\ne\n", lambda text: "b" in text and "e" in text) == "b\ne\n"


def test_the_command_prints_seeds_and_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["fuzz", "--programs", "2", "--seed", "suite"])
    assert command.main() == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "0 violations"
    assert said[-3].endswith("rules had something to say")
    assert said[-2].startswith("       not NM")
    monkeypatch.setattr("sys.argv", ["fuzz", "--programs", "2", "--kind", "setup_cfg"])
    assert command.main() == 0
    monkeypatch.setattr("sys.argv", ["fuzz", "--only", "shell:suite:1", "--kind", "shell"])
    monkeypatch.setattr(texts, "violations", lambda *_: [contracts.Violation("a promise", "broken")])
    assert command.main() == 1
    assert "--- seed shell:suite:1: a promise: broken" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["fuzz", "--only", "suite:1"])
    monkeypatch.setattr(python, "collect", lambda *_: 1 / 0)
    assert command.main() == 1
    assert "--- seed suite:1: no exception: ZeroDivisionError" in capsys.readouterr().out
