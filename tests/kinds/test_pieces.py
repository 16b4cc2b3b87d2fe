"""One program in several texts: names are known across them, changes stay where they belong."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_codemods.engine import migrate_pieces

STATEMENTS = (
    "from optimum.neuron import NeuronTrainer",
    "from optimum.neuron import NeuronTrainingArguments as Arguments",
    "import os",
    "# a comment",
    "",
    "trainer = NeuronTrainer(model, tokenizer=tokenizer)",
    'arguments = Arguments("out", overwrite_output_dir=True)',
    "if os:\n    trainer.train()",
    "x = 1",
)


def test_an_import_is_known_in_a_later_text() -> None:
    first, second = migrate_pieces(["from optimum.neuron import NeuronTrainer", "t = NeuronTrainer(m, tokenizer=t)\n"])
    assert first.text == "from neuron_shim import configure\nfrom transformers import Trainer\n\nconfigure()"
    assert second.text == "t = Trainer(m, processing_class=t)\n"
    assert {finding.start.line for finding in second.findings} == {1}


def test_what_goes_takes_no_line_of_another_text() -> None:
    texts = ["# about the next\n\n", "from optimum.neuron.distributed import lazy_load_for_parallelism\n", "\n\nx = 1"]
    first, _, third = migrate_pieces(texts)
    assert (first.text, third.text) == (texts[0], texts[2])


def test_the_launch_is_told_once() -> None:
    text = 'from optimum.neuron import NeuronTrainingArguments as Old\na = Old("o", tensor_parallel_size=2)\n'
    assert sum(bool(migration.launch) for migration in migrate_pieces([text, text])) == 1


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.lists(st.sampled_from(STATEMENTS), max_size=4), min_size=1, max_size=5), st.booleans())
def test_texts_without_optimum_neuron_stay_and_a_second_run_changes_nothing(
    cells: list[list[str]], final: bool
) -> None:
    texts = ["\n".join(cell) + ("\n" if final else "") for cell in cells]
    migrated = [migration.text for migration in migrate_pieces(texts)]
    assert [migration.text for migration in migrate_pieces(migrated)] == migrated
    for before, after in zip(texts, migrated, strict=True):
        assert after.endswith("\n") == before.endswith("\n") or not after.strip()
