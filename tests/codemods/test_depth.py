"""Texts that nest too deeply are refused with a reason, whoever reads them."""

from __future__ import annotations

import pytest

from neuron_codemods import SourceError, arguments, jsontext, migrate
from neuron_codemods.kinds import yaml


@pytest.mark.parametrize(
    "text", ["- " * 120 + "a", "".join(" " * level + "a:\n" for level in range(300)), "!t - " * 99]
)
def test_yaml_of_too_many_levels_is_refused_before_the_grammar_crashes(text: str) -> None:
    pytest.importorskip("tree_sitter_yaml")
    with pytest.raises(SourceError, match="nested too deeply"):
        yaml.parse(text, "a.yaml")


def test_yaml_of_many_levels_is_read() -> None:
    pytest.importorskip("tree_sitter_yaml")
    text = "".join(f"{' ' * level}a:\n{' ' * level}- b\n" for level in range(95))
    assert yaml.parse(f"{text}\n\n# {'- ' * 200}\n", "a.yaml").text.startswith(text)


def test_json_of_too_many_levels_is_refused_and_a_long_number_is_none_of_our_business() -> None:
    with pytest.raises(SourceError, match="nested too deeply"):
        jsontext.scan("[" * 900 + "]" * 900, "JSON")
    assert jsontext.scan('{"a": ' + "1" * 5_000 + "}", "JSON").get("a") is not None


class PanicException(BaseException):
    """As the parser of libcst has it: no Exception."""


@pytest.mark.parametrize(("raised", "told"), [(PanicException, SourceError), (KeyboardInterrupt, KeyboardInterrupt)])
def test_a_panic_of_libcst_is_told_with_the_place_of_the_call(
    monkeypatch: pytest.MonkeyPatch, raised: type[BaseException], told: type[BaseException]
) -> None:
    def panics(*given: object, **named: object) -> str:
        raise raised("called unwrap on None")

    monkeypatch.setattr(arguments, "edit_call", panics)
    with pytest.raises(told) as caught:
        migrate("from optimum.neuron import NeuronTrainer\n\nx = NeuronTrainer(tokenizer=t)\n")
    if isinstance(caught.value, SourceError):
        assert (caught.value.line, caught.value.column) == (3, 5)
        assert caught.value.message == "libcst fails at this call (called unwrap on None)"
