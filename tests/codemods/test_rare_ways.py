"""Scripts in shapes that are seldom met: what becomes of them, and that a second run changes nothing."""

from __future__ import annotations

import pytest

from neuron_codemods import SourceError, migrate
from neuron_codemods.project import Project, collect

TRAINING = (
    "from optimum.neuron import NeuronHfArgumentParser, NeuronSFTTrainer, NeuronTrainer, NeuronTrainingArguments\n"
)
MODELS = "from optimum.neuron.models.training import NeuronModelForCausalLM, TrainingNeuronConfig\n"
DIFFUSION = "from optimum.neuron import NeuronStableDiffusionPipeline as P\n"
LOAD = "P.from_pretrained('m', export=True, height=512, width=512)"
CHECKPOINTED = "NeuronModelForCausalLM.from_pretrained('m', TrainingNeuronConfig(gradient_checkpointing={}))\n"
FLOAT = "args = NeuronTrainingArguments('o', bf16=True)\n"

WAYS = {
    # Which class it is
    "one of two classes": (
        TRAINING + "t = (NeuronTrainer if x else NeuronSFTTrainer)(model, args, tokenizer=t)\n",
        "(Trainer if x else SFTTrainer)(model, args, processing_class=t)",
    ),
    "a class of a mapping, or another": (
        TRAINING + "T = {'a': NeuronTrainer}\nt = T.get(x, NeuronTrainer)(model, args, tokenizer=t)\n",
        "T.get(x, Trainer)(model, args, processing_class=t)",
    ),
    "a class of a mapping": (
        TRAINING + "t = {'a': NeuronTrainer}[x](model, args, tokenizer=t)\n",
        "{'a': Trainer}[x](model, args, processing_class=t)",
    ),
    "a class that a function is given, which goes elsewhere too": (
        TRAINING + "def f(cls):\n    return cls(model, args, tokenizer=t)\n\n\nrun(f)\n",
        "cls(model, args, tokenizer=t)",
    ),
    "calls of which nobody knows what they call": (
        TRAINING + "T = {}['x'](m, tokenizer=a)\nundefined(m, tokenizer=1)\n",
        "{}['x'](m, tokenizer=a)\nundefined(m, tokenizer=1)",
    ),
    "classes of other files": (
        TRAINING
        + "import m\nfrom other import Model\n\np = NeuronHfArgumentParser((Model, m.A, NeuronTrainingArguments))\n",
        "HfArgumentParser((Model, m.A, TrainingArguments))",
    ),
    # Where arguments come from
    "an entry that a tuple does not have": (
        TRAINING + "t = (NeuronTrainingArguments('o'),)[-5]\nNeuronTrainer(m, args=t)\nt.tensor_parallel_size\n",
        "t.tensor_parallel_size",
    ),
    "the last entry of a tuple": (
        TRAINING
        + "t = (1, NeuronTrainingArguments('o', tensor_parallel_size=2))[-1]\nprint(t.tensor_parallel_size)\n",
        'print(parallel_sizes(tp_size=2)["tp_size"])',
    ),
    "arguments of a function whose name is taken elsewhere": (
        TRAINING + "def f(args):\n    NeuronTrainer(m, args, tokenizer=t)\n\n\n"
        "a = NeuronTrainingArguments('o')\nf(a)\n\n\ndef g(f):\n    f(1)\n\n\nf(*a)\n",
        "Trainer(m, args, processing_class=t)",
    ),
    "parsed twice, and by another": (
        TRAINING + "from dataclasses import dataclass\n\n\n@dataclass\nclass M:\n    a: int = 1\n\n\n"
        "p = NeuronHfArgumentParser((M, NeuronTrainingArguments))\nall_of_them = p.parse_args_into_dataclasses()\n"
        "m, args = p.parse_args_into_dataclasses()\nq = get().parse_args_into_dataclasses()\n"
        "print(args.overwrite_output_dir)\n",
        "print(m.overwrite_output_dir)",
    ),
    "arguments copied": (
        TRAINING + "from transformers import TrainingArguments\n\na = TrainingArguments('x')\n"
        "b = TrainingArguments(**a.to_dict())\n",
        "b = TrainingArguments(**a.to_dict())",
    ),
    "a comment behind the only argument": (
        TRAINING + "args = NeuronTrainingArguments('o'  # c\n)\n",
        "'o',  # c\naverage_tokens_across_devices=False",
    ),
    # Models
    "a dtype that is also printed": (
        TRAINING
        + MODELS
        + "import torch\n\ndt = torch.bfloat16\n"
        + FLOAT
        + "model = NeuronModelForCausalLM.from_pretrained('m', args.trn_config, torch_dtype=dt)\nprint(dt)\n"
        "NeuronTrainer(model, args).train()\n",
        "dt = torch.bfloat16\n",
    ),
    "a dtype that is chosen": (
        TRAINING + MODELS + "import torch\n\n" + FLOAT + "dt = torch.bfloat16 if x else torch.float32\n"
        "model = NeuronModelForCausalLM.from_pretrained('m', args.trn_config, torch_dtype=dt)\n"
        "NeuronTrainer(model, args).train()\n",
        "dt = torch.float32\n",
    ),
    "models of other makers": (
        TRAINING + "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
        "a = AutoModelForCausalLM.from_config(c)\nb = AutoTokenizer.from_pretrained('m')\n",
        "AutoTokenizer.from_pretrained('m')",
    ),
    "a switch of the model in a handler": (
        MODELS + "try:\n    x()\nexcept E:\n    m = " + CHECKPOINTED.format(True),
        "    m.gradient_checkpointing_enable()\n",
    ),
    "a switch that is a variable": (MODELS + "m = " + CHECKPOINTED.format("use"), "gradient_checkpointing was use"),
    "a switch beside parsed arguments": (
        TRAINING + MODELS + "p = NeuronHfArgumentParser(NeuronTrainingArguments)\n"
        "(args,) = p.parse_args_into_dataclasses()\nm = " + CHECKPOINTED.format(True) + "NeuronTrainer(m, args)\n",
        "gradient_checkpointing was True",
    ),
    "an optimizer under the name of its class, and for two": (
        "from torch.optim import AdamW\n"
        "from optimum.neuron.distributed import make_optimizer_constructor_lazy as lazy\n\n"
        "a = b = lazy(AdamW)\nx.cls = lazy(AdamW)\n",
        "a = b = AdamW\nx.cls = AdamW\n",
    ),
    # Pipelines
    "a pipeline under two names in a loop": (
        DIFFUSION + f"p = {LOAD}\nfor i in x:\n    q = p\n    p = q\n    p('x')\n",
        "    p('x', height=512, width=512)\n",
    ),
    "a pipeline in a loop that may be another": (
        DIFFUSION + f"p = {LOAD}\nfor i in x:\n    p = q if a else p\n    q = p\n    q('x')\n",
        "    q('x', height=512, width=512)\n",
    ),
    "a parameter of a lambda": (
        DIFFUSION + f"p = {LOAD}\nf = lambda p: (lambda: p('x'))\nf(p)\n",
        "lambda p: (lambda: p('x'))",
    ),
    "a keyword of a method": (
        DIFFUSION + "class A:\n    def f(self, *, p=None, **kw):\n        p('x')\n        kw('x')\n\n\n"
        f"a = A()\na.f()\nq = {LOAD}\na.f(p=q)\n",
        "        p('x', height=512, width=512)\n        kw('x')\n",
    ),
    "pipelines made of one another": (
        DIFFUSION + "for i in z:\n    p = P.from_pipe(q)\n    q = P.from_pipe(p)\n    q('x')\n",
        "    q('x')\n",
    ),
    "a folder by its name and by its path": (
        DIFFUSION + f"for d in z:\n    p = {LOAD}\n    p.save_pretrained(str(d))\n"
        "    q = P.from_pretrained(d)\n    q('x')\n",
        "q('x', height=512, width=512)",
    ),
    "a mapping for the export and the load": (
        DIFFUSION + "kw = dict(height=512)\np = P.from_pretrained('m', export=True, **kw)\np.save_pretrained('x')\n"
        "p = P.from_pretrained('x', **kw)\np('a')\n",
        "p('a', height=512)",
    ),
    "settings of the compiler that something computes": (
        DIFFUSION + "h = size()\n"
        "p = P.from_pretrained('m', export=True, height=512, auto_cast_type=h, auto_cast=g)\np('a')\n",
        "h = size()\n",
    ),
    # Names and imports
    "a name of the new code is taken": (
        TRAINING + "parallel_sizes = 1\nargs = NeuronTrainingArguments('o', tensor_parallel_size=2)\n"
        "print(args.tensor_parallel_size)\n",
        'native_parallel_sizes(tp_size=2)["tp_size"]',
    ),
    "the new name is imported elsewhere": (
        TRAINING + "def f():\n    from transformers import Trainer\n\n    return Trainer\n\n\n"
        "NeuronTrainer()\nprint(Trainer)\n",
        "Trainer as NeuronTrainer",
    ),
    "one name imported twice": (
        "from optimum.neuron import NeuronTrainer, TrainiumTrainer\n\nTrainiumTrainer(model=m)\nNeuronTrainer(m)\n",
        "from transformers import Trainer\n",
    ),
    "no import but in a block": (
        f'"""doc"""\nfrom __future__ import annotations\n\ntry:\n    {DIFFUSION}except ImportError:\n    raise\n'
        f"p = {LOAD}\np('x')\n",
        "from __future__ import annotations\n\nimport torch\n",
    ),
    # Environments
    "what holds no environment": (
        "import os\nimport torch_xla\n\nenv = 1\nenv['XLA_USE_BF16'] = '1'\n"
        "for e in x:\n    e['XLA_USE_BF16'] = '1'\n",
        "env['XLA_USE_BF16'] = '1'",
    ),
}


@pytest.mark.parametrize(("before", "expected"), WAYS.values(), ids=WAYS)
def test_what_becomes_of_it(before: str, expected: str) -> None:
    after = migrate(before).text
    assert expected in after
    assert migrate(after).text == after


def test_flags_that_are_not_written_out() -> None:
    facts = collect("import argparse\np = argparse.ArgumentParser()\np.add_argument(NAME, '--x')\n", "a.py")
    assert facts.script is not None
    assert facts.script.flags == {"x"}


def test_a_project_is_held_to_versions_once() -> None:
    project = Project()
    targets = (("transformers", "5.20"),)
    assert project.held_to(targets) is project.held_to(targets)


def project_of(files: dict[str, str]) -> Project:
    return Project(tuple(collect(text, path) for path, text in files.items()))


def test_a_class_of_a_file_with_the_name_of_another() -> None:
    files = {
        "a/models.py": "from optimum.neuron import NeuronTrainer\n\n\nclass T(NeuronTrainer):\n    pass\n",
        "b/models.py": "class T(U):\n    pass\n",
    }
    project = project_of(files)
    text = "import a.models\n\na.models.T(m, tokenizer=t)\n"
    assert "processing_class=t" in migrate(text, project=project).text


def test_a_base_that_another_file_passes_on() -> None:
    files = {
        "first.py": "from optimum.neuron import NeuronTrainer as Base\n",
        "second.py": "from first import Base\n\n\nclass Middle(Base):\n    pass\n",
    }
    project = project_of(files)
    text = "from second import Middle\n\nMiddle(m, tokenizer=t)\n"
    assert "processing_class=t" in migrate(text, project=project).text


def test_a_backslash_at_the_end_is_no_python() -> None:
    with pytest.raises(SourceError):
        migrate("import optimum.neuron\r\nx = 1 \\\r\n")


@pytest.mark.parametrize("level", ["LEVEL", "level()"])
def test_a_value_for_the_compiler_that_is_not_known_stays(level: str) -> None:
    text = f"{DIFFUSION}\nlevel = {level}\np = P.from_pretrained('a/b', export=True, optlevel=level)\n"
    assert f"level = {level}\n" in migrate(text).text


def test_a_function_whose_name_means_something_else_in_another() -> None:
    text = f"{TRAINING}\n\ndef train(args):\n    NeuronTrainer(args=args)\n    print(args.tensor_parallel_size)\n"
    text += "\n\ndef other(train):\n    train(1)\n\n\ntrain(NeuronTrainingArguments('o', tensor_parallel_size=2))\n"
    assert 'parallel_sizes(tp_size=2)["tp_size"]' in migrate(text).text


def test_arguments_that_are_others_as_they_are_get_no_defaults() -> None:
    text = f"{DIFFUSION}from transformers import TrainingArguments\n\np = {LOAD}\na = TrainingArguments('o')\n"
    text += "e = a.to_dict()\nb = TrainingArguments(**e)\n"
    assert "b = TrainingArguments(**e)\n" in migrate(text).text


def test_an_import_below_does_not_serve_a_use_above() -> None:
    text = """import optimum.neuron.models.training

[optimum.neuron.models.training.LlamaForCausalLM() for optimum.neuron.x in y]
import optimum.exporters.neuron.model_configs
"""
    assert migrate(text).text.startswith("import optimum.neuron.models.training\n")
