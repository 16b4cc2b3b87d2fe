"""Three rules to list and to explain."""

from __future__ import annotations

from dataclasses import dataclass

from neuron_codemods.model import Case, Outcome, Rule


@dataclass(frozen=True)
class RuleModule:
    rule: Rule
    explanation: str
    cases: tuple[Case, ...]
    what = "What it does."
    why = "Why so."


_URL = "https://example.org/"


def rules() -> tuple[RuleModule, ...]:
    return (
        RuleModule(
            Rule("NM101", "old-word", "the old word becomes the new one", _URL + "old"),
            "Rewrite the old word.\n\n    It is old.\n    " + _URL + "old\n    ",
            (
                Case("left alone", "x = 1\n"),
                Case("a call", "x = Neuron__old()\n", "x = native_new()\n"),
                Case("[bold]a name[/bold]", "Neuron__old\ny = 2\n", "native_new\ny = 2\n"),
                Case("one too many", "Neuron__old + 1\n", "native_new + 1\n"),
            ),
        ),
        RuleModule(
            Rule("NM102", "other", "the other word [sic]", _URL, (Outcome.REWRITTEN, Outcome.REVIEW)), "Other.", ()
        ),
        RuleModule(Rule("NM201", "hard", "nothing to be done", _URL, (Outcome.MANUAL,)), "Hard.", ()),
    )
