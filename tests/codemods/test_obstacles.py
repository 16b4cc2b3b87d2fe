"""Odd programs in which a change has something in its way, or makes another one possible."""

from __future__ import annotations

import pytest

from neuron_codemods import Outcome, Settings, migrate

NM6 = Settings(select=("NM6",))


def manual(text: str, settings: Settings | None = None) -> str:
    """The one thing that is left to a person, in a text that keeps its statements."""
    migration = migrate(text, settings=settings)
    (message,) = {finding.message for finding in migration.findings if finding.outcome is Outcome.MANUAL}
    return message


def test_a_module_whose_name_is_taken() -> None:
    text = "import torch_neuronx\nimport torch_xla.core.xla_model as torch\n\ntorch.save(x, torch_neuronx.path)\n"
    assert manual(text).startswith("Call what is torch here by another name")
    assert "torch.save(x, torch_neuronx.path)\n" in migrate(text).text


def test_a_module_whose_name_the_old_stack_binds_again() -> None:
    text = """import torch
import torch_neuronx
import torch_xla.core.xla_model as torch
torch.distributed.init_process_group()
torch.save(x, torch_neuronx.path)
"""
    first = migrate(text).text
    assert "\ntorch.save(x, torch_neuronx.path)\n" in first
    assert migrate(first).text == first


def test_a_module_that_may_be_missing_is_not_taken() -> None:
    text = """try:
    import torch
except ImportError:
    torch = None
from optimum.neuron import NeuronFluxPipeline

pipe = NeuronFluxPipeline.from_pretrained("a/b", export=True, auto_cast="all", auto_cast_type="bf16")
"""
    assert "dtype=torch.bfloat16" in migrate(text).text


@pytest.mark.parametrize("use", ["print(n)", "size: 'n' = 1"])
def test_an_assignment_inside_of_what_goes(use: str) -> None:
    text = f"""from optimum.neuron import NeuronModelForMaskedLM

model = NeuronModelForMaskedLM.from_pretrained("a/b", export=True, batch_size=(n := 2), sequence_length=8)
{use}
"""
    assert manual(text).startswith("Assign n on a line of its own")
    assert "batch_size=(n := 2)" in migrate(text).text


def test_an_assignment_inside_of_a_statement_that_goes() -> None:
    text = (
        'import os\nimport torch_neuronx\n\nos.environ["XLA_USE_BF16"] = (flag := "1")\nprint(flag, torch_neuronx)\n'
    )
    assert manual(text, NM6).startswith("Assign flag on a line of its own")


def test_an_assignment_that_nothing_else_needs_goes_too() -> None:
    text = """from optimum.neuron import NeuronModelForMaskedLM

model = NeuronModelForMaskedLM.from_pretrained("a/b", export=True, batch_size=(n := 2), sequence_length=8)
"""
    assert ":=" not in migrate(text).text


def test_a_loop_that_binds_a_mapping_stays() -> None:
    text = """from optimum.neuron import pipeline

while input_shapes := {"batch_size": 2, "sequence_length": 64}:
    break
classify = pipeline("text-classification", model="my/model", export=True, input_shapes=input_shapes)
"""
    after = migrate(text).text
    assert "while input_shapes :=" in after
    assert "max_length=64" in after


@pytest.mark.parametrize(
    ("declared", "left"),
    [
        ("    global xm\n", ""),
        ("    global xm, x\n", "    global x\n"),
        ("    global other\n", "    global other\n"),
    ],
)
def test_a_declaration_goes_with_the_import_of_its_name(declared: str, left: str) -> None:
    text = (
        f"import torch_neuronx\n\n\n"
        f"def f():\n"
        f"{declared}    import torch_xla.core.xla_model as xm\n"
        f"    xm.mark_step()\n"
        f"    print(torch_neuronx)\n"
    )
    assert migrate(text, settings=NM6).text.endswith(f"def f():\n{left}    print(torch_neuronx)\n")


def test_a_nonlocal_declaration_goes_too() -> None:
    text = """import torch_neuronx


def f():
    xm = x = None

    def g():
        nonlocal xm, x
        import torch_xla.core.xla_model as xm

        xm.mark_step()
        print(torch_neuronx)
"""
    assert "        nonlocal x\n" in migrate(text, settings=NM6).text


def test_new_imports_stand_in_the_place_of_the_last_one_that_goes() -> None:
    text = """import os


def load():
    from optimum.neuron import NeuronStableDiffusionXLPipeline

    if os.path.exists("sdxl"):
        return NeuronStableDiffusionXLPipeline.from_pretrained("sdxl")
    pipe = NeuronStableDiffusionXLPipeline.from_pretrained("a/b", export=True, height=64, width=64)
    pipe.save_pretrained("sdxl")
    return pipe
"""
    after = migrate(text).text
    assert "import os" not in after
    assert after.startswith("import torch\n\n\ndef load():\n    from diffusers import StableDiffusionXLPipeline\n")


def test_an_import_that_is_exported_is_told_of_and_not_erased() -> None:
    text = """from optimum.neuron.models.training import NeuronModelForCausalLM, TrainingNeuronConfig

__all__ = ["TrainingNeuronConfig"]
config = TrainingNeuronConfig(tensor_parallel_size=8)
model = NeuronModelForCausalLM.from_pretrained("my/model", config)
"""
    migration = migrate(text)
    assert "import TrainingNeuronConfig\n" in migration.text
    assert "# TODO(neuron-migrate NM134)" in migration.text
    assert migrate(migration.text).text == migration.text


def test_an_import_stays_where_a_suppressed_statement_holds_its_use() -> None:
    text = """from optimum.neuron.utils import is_precompilation


def main():
    if is_precompilation():
        # neuron-migrate: ignore[NM1]
        args.save_strategy = "no"
"""
    assert migrate(text).text == text


def test_a_class_that_reads_a_module_under_its_own_name_keeps_the_import() -> None:
    text = (
        "import torch_neuronx\n"
        "import torch_xla.core.xla_model as xm\n\n\n"
        "class C:\n"
        "    xm: object = xm\n\n\n"
        "xm.mark_step()\n"
        "print(torch_neuronx)\n"
    )
    assert "import torch_xla.core.xla_model as xm\n" in migrate(text, settings=NM6).text


def test_a_class_that_takes_the_name_of_its_base() -> None:
    text = (
        "import torch_neuronx\nimport torch_xla.core.xla_model as xm\n\nxm.mark_step()\n\n\nclass xm(xm):\n    pass\n"
    )
    assert "import torch_xla.core.xla_model as xm\n" in migrate(text, settings=NM6).text


def test_a_configuration_that_a_helper_returns_has_no_known_size() -> None:
    text = """from optimum.neuron.models.training import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model", build_config(args))
"""
    assert 'DistributedConfig(**parallel_sizes(model="my/model"))' in migrate(text).text


def test_a_class_that_is_given_as_its_own_model_is_not_copied() -> None:
    text = """from optimum.neuron.models.training import NeuronModelForCausalLM, TrainingNeuronConfig

config = TrainingNeuronConfig(tensor_parallel_size=8)
model = NeuronModelForCausalLM.from_pretrained(NeuronModelForCausalLM, config)
"""
    assert "parallel_sizes(tp_size=8))" in migrate(text).text


def test_a_pipeline_that_is_an_attribute_of_an_old_class_gets_no_lines() -> None:
    text = """from optimum.neuron import NeuronFluxPipeline, NeuronModelForMaskedLM

NeuronModelForMaskedLM.pipe = NeuronFluxPipeline.from_pretrained("a/b", export=True)
"""
    assert '.from_pretrained("a/b", dtype=torch.bfloat16).to(neuron_device())\n' in migrate(text).text


@pytest.mark.parametrize("key", ['b"closure"', '"a closure"', '"if"', "**more, "])
def test_arguments_of_the_optimizer_that_are_no_keywords_are_left(key: str) -> None:
    entry = key if key.startswith("**") else f"{key}: closure"
    text = (
        f"import torch_neuronx\n"
        f"import torch_xla.core.xla_model as xm\n\n"
        f"xm.optimizer_step(opt, optimizer_args={{{entry}}})\n"
        f"print(torch_neuronx)\n"
    )
    assert f"xm.optimizer_step(opt, optimizer_args={{{entry}}})\n" in migrate(text, settings=NM6).text


def test_a_loader_over_several_lines_keeps_its_brackets() -> None:
    text = """import torch_neuronx
import torch_xla.distributed.parallel_loader as pl


def train(device):
    batches = pl.MpDeviceLoader((loader
        .shuffled()), device)
    for batch in batches:
        torch_neuronx.f(batch)
"""
    assert "batches = (loader\n        .shuffled())\n" in migrate(text, settings=NM6).text


def test_a_statement_whose_indentation_is_continued() -> None:
    text = (
        "import torch_neuronx\n"
        "import torch_xla\n"
        "try:\n"
        "  import a\n"
        "except ImportError:\n"
        "  \\\n"
        "with torch_xla.step():\n"
        "    train(torch_neuronx)\n"
    )
    assert migrate(text, settings=NM6).text.endswith("except ImportError:\n  \\\ntrain(torch_neuronx)\n")


def test_a_name_that_a_function_declares_is_renamed_outside_of_it_too() -> None:
    text = """def makes():
    global modeling_llama
    from optimum.neuron.models.training.llama import modeling_llama


model = modeling_llama.LlamaForCausalLM()
"""
    after = migrate(text).text
    assert "import transformers\n" in after.partition("def makes")[0]
    assert "transformers.LlamaForCausalLM()" in after


def test_what_one_change_makes_possible_is_done_in_the_same_run() -> None:
    text = """from optimum import neuron

__all__ = ["neuron"]
args = neuron.NeuronTrainingArguments("out")
"""
    migration = migrate(text)
    assert "# TODO(neuron-migrate NM003): Delete the import of optimum.neuron" in migration.text
    assert any(finding.code == "NM003" and finding.start.line == 1 for finding in migration.findings)
    assert migrate(migration.text).text == migration.text
