"""Keywords of generate() that need code from the Hub: the installed transformers fails without it."""

from __future__ import annotations

import pytest

from neuron_codemods import Outcome, Settings, migrate


def told(text: str) -> list[str]:
    found = migrate(text, settings=Settings(select=("NM734",))).findings
    return [finding.message.partition(" ")[0] for finding in found if finding.outcome is Outcome.MANUAL]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("kw = {'num_beam_groups': 2}\nm.generate(x, **kw)\n", ["num_beam_groups"]),
        ("from transformers import GenerationConfig\nGenerationConfig(dola_layers='high')\n", ["dola_layers"]),
        ("m.generate(x, constraints=c, num_beams=4)\n", ["constraints"]),
        ("m.generate(x, force_words_ids=ids, num_beams=4)\n", ["force_words_ids"]),
        ("ALPHA = 0.6\nm.generate(x, penalty_alpha=ALPHA)\n", ["penalty_alpha"]),
        ("ALPHA = 0\nm.generate(x, penalty_alpha=ALPHA)\n", []),
        ("m.generate(x, constraints=c)\ngenerate(penalty_alpha=1.5)\n", []),
    ],
)
def test_what_is_told(text: str, names: list[str]) -> None:
    assert told(text) == names


def test_the_installed_transformers_has_these_ways_on_the_hub_only() -> None:
    utils = pytest.importorskip("transformers.generation.utils")
    from neuron_codemods.renames.generation_modes import _MODES

    on_hub = {repo for repo in utils.GENERATION_MODES_MAPPING.values() if "/" in repo}
    assert on_hub == {f"transformers-community/{repo}" for _, repo in _MODES.values()}
