"""What cannot be told stays as it is, under a marker; what a person keeps holds the rest back."""

from __future__ import annotations

import pytest

from neuron_codemods import Outcome, Project, Settings, migrate
from neuron_codemods.project import collect

LEFT_ALONE = {
    "a folder that nothing here wrote": 'model = NeuronModelForMaskedLM.from_pretrained("compiled/")',
    "a repository with a compiled model": 'model = NeuronModelForMaskedLM.from_pretrained("me/bert-neuronx")',
    "a folder that the launcher names": "import sys\nmodel = NeuronModelForMaskedLM.from_pretrained(sys.argv[1])",
    "a mapping from elsewhere": 'model = NeuronModelForMaskedLM.from_pretrained("m", export=True, **settings())',
    "a mapping that is a parameter": (
        'def load(**shapes):\n    return NeuronModelForMaskedLM.from_pretrained("m", export=True, **shapes)'
    ),
    "a mapping that changes": (
        'shapes = {"batch_size": 1}\nshapes["sequence_length"] = 64\n'
        'model = NeuronModelForMaskedLM.from_pretrained("m", export=True, **shapes)'
    ),
    "a mapping that is passed on": (
        'shapes = {"batch_size": 1}\nextend(shapes)\n'
        'model = NeuronModelForMaskedLM.from_pretrained("m", export=True, **shapes)'
    ),
    "one of two mappings": (
        'if fast:\n    shapes = {"batch_size": 1}\nelse:\n    shapes = {"batch_size": 2}\n'
        'model = NeuronModelForMaskedLM.from_pretrained("m", export=True, **shapes)'
    ),
    "a class chosen at run time": (
        'kinds = {"mask": NeuronModelForMaskedLM}\nmodel = kinds[task].from_pretrained("m", export=True)'
    ),
    "a class that is passed on": 'model = load(NeuronModelForMaskedLM, "m")',
    "a class derived from it": "class Mine(NeuronModelForMaskedLM):\n    pass",
    "an export that depends": 'model = NeuronModelForMaskedLM.from_pretrained("m", export=not compiled)',
    "arguments in a list": "model = NeuronModelForMaskedLM.from_pretrained(*arguments, export=True)",
    "a method of the compiled class": 'NeuronModelForMaskedLM.register("mine")',
}


@pytest.mark.parametrize("script", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_cannot_be_told_keeps_its_code_and_gets_a_marker(script: str) -> None:
    before = f"from optimum.neuron import NeuronModelForMaskedLM\n\n{script}\n"
    migration = migrate(before)
    assert "TODO(neuron-migrate NM201)" in migration.text
    kept = [line for line in migration.text.splitlines() if "TODO(" not in line]
    assert kept == before.splitlines()
    assert {finding.outcome for finding in migration.findings} == {Outcome.MANUAL}
    assert migrate(migration.text).text == migration.text


def test_one_load_that_cannot_be_told_keeps_the_others_of_its_class() -> None:
    before = """from optimum.neuron import NeuronModelForMaskedLM

first = NeuronModelForMaskedLM.from_pretrained("m", export=True, batch_size=1)
second = NeuronModelForMaskedLM.from_pretrained(folder)
"""
    assert 'NeuronModelForMaskedLM.from_pretrained("m", export=True, batch_size=1)' in migrate(before).text


def test_another_class_is_rewritten_all_the_same() -> None:
    before = """from optimum.neuron import NeuronModelForCausalLM, NeuronModelForMaskedLM

first = NeuronModelForMaskedLM.from_pretrained("m", export=True, batch_size=1)
second = NeuronModelForCausalLM.from_pretrained(folder)
"""
    text = migrate(before).text
    assert "first = AutoModelForMaskedLM.from_pretrained(" in text
    assert "second = NeuronModelForCausalLM.from_pretrained(folder)" in text


@pytest.mark.parametrize(
    "task", ["question-answering", "summarization", "translation_en_to_de", "text2text-generation", None]
)
def test_a_pipeline_that_would_raise_is_not_written(task: str | None) -> None:
    name = "task" if task is None else f'"{task}"'
    before = f'from optimum.neuron import pipeline\n\npipe = pipeline({name}, model="m", export=True)\n'
    text = migrate(before).text
    assert "from optimum.neuron import pipeline" in text
    assert "TODO(neuron-migrate NM207)" in text


def test_a_suppressed_import_holds_back_its_calls() -> None:
    before = """from optimum.neuron import NeuronModelForMaskedLM  # neuron-migrate: ignore

model = NeuronModelForMaskedLM.from_pretrained("m", export=True, batch_size=1, sequence_length=8)
model.save_pretrained("folder")
model = NeuronModelForMaskedLM.from_pretrained("folder")
"""
    migration = migrate(before)
    assert migration.text == before
    assert any("inference" in finding.message for finding in migration.findings)
    assert migrate(before.replace("  # neuron-migrate: ignore", ""), settings=Settings(ignore=("NM201",))).text == (
        before.replace("  # neuron-migrate: ignore", "")
    )


def test_a_training_script_that_also_generates() -> None:
    before = """from optimum.neuron import NeuronModelForCausalLM, NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForCausalLM

args = NeuronTrainingArguments("out", tensor_parallel_size=2)
trained = AutoModelForCausalLM.from_pretrained("m")
trainer = NeuronTrainer(model=trained, args=args)
judge = NeuronModelForCausalLM.from_pretrained("judge/model", export=True, batch_size=1, auto_cast_type="bf16")
"""
    text = migrate(before).text
    assert "judge = AutoModelForCausalLM.from_pretrained(" in text
    assert 'dtype="bfloat16"' in text
    assert text.count("DistributedConfig(") == 1
    assert text.count("\nconfigure()") == 1


def test_a_folder_that_another_file_wrote() -> None:
    exports = """from optimum.neuron import NeuronModelForMaskedLM

model = NeuronModelForMaskedLM.from_pretrained("me/bert", export=True, batch_size=1, sequence_length=64)
model.save_pretrained("compiled/")
"""
    loads = """from optimum.neuron import NeuronModelForMaskedLM

model = NeuronModelForMaskedLM.from_pretrained("./compiled")
"""
    project = Project((collect(exports, "app/export.py"), collect(loads, "app/serve.py")))
    text = migrate(loads, path="app/serve.py", project=project).text
    assert 'AutoModelForMaskedLM.from_pretrained(\n    "me/bert",\n    device_map' in text
    assert "TODO" in migrate(loads, path="other/serve.py", project=project).text


def test_a_file_says_which_folders_it_asks_for() -> None:
    text = """from optimum.neuron import NeuronModelForCausalLM, NeuronModelForMaskedLM

first = NeuronModelForMaskedLM.from_pretrained("compiled/")
second = NeuronModelForCausalLM.from_pretrained("me/model")
"""
    assert collect(text, "serve.py").asks == {"compiled"}


def test_numbers_of_cores() -> None:
    before = """from optimum.neuron import NeuronModelForCausalLM
from optimum.neuron.modeling_decoder import get_available_cores

cores = get_available_cores()
model = NeuronModelForCausalLM.from_pretrained("m", export=True, num_cores=cores, auto_cast_type="bf16")
"""
    migration = migrate(before)
    assert 'DistributedConfig(**parallel_sizes(fsdp_size=1, model="m"))' in migration.text
    assert ").to(neuron_device())" in migration.text
    one = migrate(before.replace("num_cores=cores", "num_cores=1")).text
    assert "device_map=neuron_device()" in one
    assert "DistributedConfig" not in one
    four = migrate(before.replace("num_cores=cores", "num_cores=4"))
    assert "parallel_sizes(tp_size=4" in four.text
    assert four.launch == ("TP_SIZE=4",)


def test_a_mapping_that_is_read_stays() -> None:
    before = """from optimum.neuron import NeuronModelForMaskedLM

shapes = {"batch_size": 1, "sequence_length": 64}
model = NeuronModelForMaskedLM.from_pretrained("m", export=True, **shapes)
print(shapes["sequence_length"])
"""
    text = migrate(before).text
    assert 'shapes = {"batch_size": 1, "sequence_length": 64}' in text
    assert "**shapes" not in text


def test_a_mapping_keeps_what_is_native() -> None:
    before = """from optimum.neuron import NeuronModelForMaskedLM

settings = {"export": True, "revision": "main", "sequence_length": 64}
model = NeuronModelForMaskedLM.from_pretrained("m", **settings)
"""
    text = migrate(before).text
    assert 'settings = {"revision": "main"}' in text
    assert "**settings" in text


def test_star_imports_and_modules() -> None:
    star = 'from optimum.neuron import *\n\nmodel = NeuronModelForMaskedLM.from_pretrained("m", export=True)\n'
    assert "model = AutoModelForMaskedLM.from_pretrained(" in migrate(star).text
    module = 'import optimum.neuron as on\n\nmodel = on.NeuronModelForMaskedLM.from_pretrained("m", export=True)\n'
    assert "AutoModelForMaskedLM.from_pretrained(" in migrate(module).text


def test_an_import_that_may_fail() -> None:
    before = """try:
    from optimum.neuron import NeuronModelForMaskedLM
except ImportError:
    NeuronModelForMaskedLM = None

if NeuronModelForMaskedLM is not None:
    model = NeuronModelForMaskedLM.from_pretrained("m", export=True)
"""
    migration = migrate(before)
    compile(migration.text, "<migrated>", "exec")


INPUTS = """from optimum.neuron import NeuronModelForMaskedLM
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("m")
model = NeuronModelForMaskedLM.from_pretrained("m", export=True, batch_size=1, sequence_length=64)


def predict(text, features=None):
    {script}
"""


@pytest.mark.parametrize(
    "script",
    [
        'tokens = tokenizer(text, return_tensors="pt")\n    new = {k: v for k, v in tokens.items()}\n    model(**new)',
        'tokens = tokenizer(text, return_tensors="pt")\n    model(**{"input_ids": tokens["input_ids"]})',
        'tokens = tokenizer(text, return_tensors="pt")\n    model(tokens.input_ids, tokens.attention_mask)',
        'model(**tokenizer.encode_plus(text, return_tensors="pt"))',
    ],
    ids=["copied", "picked out", "as attributes", "at once"],
)
def test_inputs_are_followed_to_the_tokenizer(script: str) -> None:
    text = migrate(INPUTS.format(script=script)).text
    assert 'padding="max_length"' in text
    assert ".to(model.device)" in text
    assert "TODO" not in text


@pytest.mark.parametrize(
    "script",
    ["model(**features)", "model(**load(text))", "model(input_ids=features)", "model(**(features or {}))"],
)
def test_inputs_of_unknown_origin_get_a_marker(script: str) -> None:
    migration = migrate(INPUTS.format(script=script))
    assert "AutoModelForMaskedLM" in migration.text
    assert "TODO(neuron-migrate NM203)" in migration.text


def test_what_a_person_should_know() -> None:
    before = INPUTS.format(script='return model(**tokenizer(text, return_tensors="pt", **features))')
    told = [finding.message for finding in migrate(before).findings]
    assert any("** holds has to pad to 64" in message for message in told)


def test_a_keyword_that_nobody_knows_stays_under_a_marker() -> None:
    text = migrate(INPUTS.format(script="return model(**inputs)").replace("batch_size=1", "odd=1")).text
    assert "TODO(neuron-migrate NM201): odd may have been ignored before" in text
    assert "AutoModelForMaskedLM.from_pretrained(" in text


def test_a_class_for_inference_that_is_given_a_trn_config_is_to_be_the_one_for_training() -> None:
    before = """from optimum.neuron import NeuronModelForCausalLM, NeuronTrainingArguments

args = NeuronTrainingArguments("out", tensor_parallel_size=2)
model = NeuronModelForCausalLM.from_pretrained("m", args.trn_config)
"""
    messages = [finding.message for finding in migrate(before).findings if finding.outcome is Outcome.MANUAL]
    assert any("only the one of optimum.neuron.models.training takes a trn_config" in message for message in messages)
    assert "by keyword" in migrate(before.replace("args.trn_config", "True")).text
