"""Folders with compiled models that another file of the project makes."""

from __future__ import annotations

import pytest

from neuron_codemods import ModuleFacts, Project, collect, kinds, migrate

LOAD = """from optimum.neuron import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("compiled")
outputs = model.generate(**inputs)
"""
EXPORT = """from optimum.neuron import NeuronModelForCausalLM

LENGTH = 64
model = NeuronModelForCausalLM.from_pretrained(
    "my/model", export=True, batch_size=1, sequence_length=LENGTH, num_cores=2, auto_cast_type="bf16"
)
model.save_pretrained("compiled/")
"""
COMMAND = (
    "optimum-cli export neuron -m my/model --batch_size 1 --sequence_length=64 --num_cores 2 --auto_cast_type bf16 "
)


def loaded(facts: ModuleFacts | None, load: str = LOAD) -> str:
    assert facts is not None
    return migrate(load, path="serve.py", project=Project((facts, collect(load, "serve.py")))).text


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(lambda: collect(EXPORT, "export.py"), id="Python"),
        pytest.param(lambda: kinds.collect("shell", f"{COMMAND} compiled/", "export.sh"), id="shell"),
        pytest.param(
            lambda: kinds.collect("shell", f"N=2\n{COMMAND.replace('2', '$N')} compiled", "x.sh"), id="variable"
        ),
        pytest.param(
            lambda: kinds.collect("markdown", f"```sh\n{COMMAND} compiled\n```\n", "README.md"), id="Markdown"
        ),
    ],
)
def test_a_load_takes_what_the_model_was_compiled_for(facts) -> None:  # type: ignore[no-untyped-def]
    text = loaded(facts())

    assert 'parallel_sizes(tp_size=2, model="my/model")' in text
    assert 'dtype="bfloat16"' in text
    assert 'generate(**inputs, cache_implementation="static", max_cache_len=64)' in text


def test_what_the_load_says_itself_counts_first() -> None:
    load = LOAD.replace('"compiled"', '"compiled", torch_dtype="float16"')

    assert 'dtype="float16"' in loaded(collect(EXPORT, "export.py"), load)


def test_what_is_not_known_is_left_to_the_checkpoint() -> None:
    text = loaded(kinds.collect("shell", "optimum-cli export neuron -m my/model --num_cores $N compiled", "export.sh"))

    assert '"my/model"' in text
    assert "parallel_sizes" not in text


PIPELINE = """from optimum.neuron import NeuronStableDiffusionPipeline

pipe = NeuronStableDiffusionPipeline.from_pretrained("compiled/", device_ids=[0, 1])
image = pipe("a cat").images[0]
"""


@pytest.mark.parametrize(
    "facts",
    [
        lambda: collect(
            PIPELINE.replace('"compiled/", device_ids=[0, 1]', '"a/b", export=True, height=512, width=640').replace(
                'image = pipe("a cat").images[0]', 'pipe.save_pretrained("compiled")'
            ),
            "export.py",
        ),
        lambda: kinds.collect(
            "shell", "optimum-cli export neuron --model a/b --height 512 --width 640 compiled/", "export.sh"
        ),
    ],
    ids=["Python", "shell"],
)
def test_a_pipeline_takes_what_it_was_compiled_for(facts) -> None:  # type: ignore[no-untyped-def]
    text = loaded(facts(), PIPELINE)

    assert 'pipe = StableDiffusionPipeline.from_pretrained("a/b", dtype=torch.bfloat16)\n' in text
    assert 'image = pipe("a cat", height=512, width=640).images[0]\n' in text


def test_a_value_that_is_not_known_is_not_that_of_the_next_word() -> None:
    command = "optimum-cli export neuron -m my/model --num_cores=$N --auto_cast_type bf16 compiled"

    text = loaded(kinds.collect("shell", command, "export.sh"))

    assert 'dtype="bfloat16"' in text
    assert "auto_cast" not in text
    assert "parallel_sizes" not in text


def test_a_pipeline_in_another_folder_is_for_a_person() -> None:
    facts = kinds.collect("shell", "optimum-cli export neuron --model a/b --height 512 other/", "export.sh")

    assert "TODO(neuron-migrate NM301)" in loaded(facts, PIPELINE)


NAMED = """from optimum.neuron import NeuronModelForCausalLM
from transformers import AutoTokenizer

FOLDER = "compiled"
tokenizer = AutoTokenizer.from_pretrained(FOLDER)
model = NeuronModelForCausalLM.from_pretrained(FOLDER)
"""


def test_a_variable_for_the_folder_names_the_model() -> None:
    text = loaded(collect(EXPORT, "export.py"), NAMED)

    assert 'FOLDER = "my/model"\ntokenizer = AutoTokenizer.from_pretrained(FOLDER)\n' in text
    assert "AutoModelForCausalLM.from_pretrained(\n    FOLDER,\n" in text


@pytest.mark.parametrize("more", ["print(FOLDER)\n", '__all__ = ["FOLDER"]\n', 'FOLDER = "other"\n'])
def test_a_variable_that_serves_for_more_keeps_the_folder(more: str) -> None:
    text = loaded(collect(EXPORT, "export.py"), NAMED + more)

    assert 'FOLDER = "compiled"\n' in text
    assert "from_pretrained(\n    FOLDER," not in text


def test_a_variable_for_the_folder_of_a_pipeline_names_the_model() -> None:
    facts = kinds.collect("shell", "optimum-cli export neuron --model a/b --height 512 --width 512 compiled", "x.sh")
    load = PIPELINE.replace("pipe = ", 'folder = "compiled"\npipe = ').replace('"compiled/"', "model_id=folder")

    assert 'folder = "a/b"\npipe = StableDiffusionPipeline.from_pretrained(\n' in loaded(facts, load)
