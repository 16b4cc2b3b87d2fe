"""What the renames of the libraries make of keywords that are given twice, values in variables, and the like."""

from __future__ import annotations

import pytest

from neuron_codemods import Settings, migrate

HEAD = (
    "from transformers import AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments\n"
    "from trl import SFTConfig, SFTTrainer\n"
)
LOAD = "AutoModelForCausalLM.from_pretrained('m', {})\n"
ARGS = "a = TrainingArguments('o')\n"


def found(text: str) -> list[str]:
    """What is said of a text, each with its outcome."""
    findings = migrate(HEAD + text, settings=Settings(select=("NM7",))).findings
    return [f"{finding.outcome.value}: {finding.message}" for finding in findings]


def migrated(text: str) -> str:
    """The text after its imports, without markers."""
    result = migrate(HEAD + text, settings=Settings(select=("NM7",))).text
    return "".join(line for line in result.splitlines(True) if "# TODO(neuron-migrate" not in line).removeprefix(HEAD)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "TrainingArguments('o', evaluation_strategy=None, eval_strategy='no')\n",
            "TrainingArguments('o', eval_strategy='no')\n",
        ),
        ("TrainingArguments('o', no_cuda=True, use_cpu=False)\n", "TrainingArguments('o', use_cpu=False)\n"),
        (f"{ARGS}print(a.push_to_hub_token)\n", f"{ARGS}print(a.hub_token)\n"),
        (LOAD.format("load_in_8bit=True, quantization_config=q"), LOAD.format("quantization_config=q")),
        (LOAD.format("x, use_flash_attention_2=False"), LOAD.format("x")),
        (
            LOAD.format("use_flash_attention_2=True, attn_implementation='sdpa'"),
            LOAD.format("attn_implementation='sdpa'"),
        ),
        (LOAD.format("x, tp_plan=None"), LOAD.format("x")),
        (
            "import transformers\nprint(transformers.ViTFeatureExtractor)\n",
            "import transformers\nprint(transformers.ViTImageProcessor)\n",
        ),
        (
            "import os\nos.environ['PYTORCH_TRANSFORMERS_CACHE'] = x\n",
            "import os\nos.environ['HF_HUB_CACHE'] = x\n",
        ),
        (
            "class T(Trainer):\n    def create_optimizer(self):\n        pass\n",
            "class T(Trainer):\n    def create_optimizer(self, model=None):\n        pass\n",
        ),
        (
            "c = SFTConfig('o', max_length=8)\nSFTTrainer(m, c, max_seq_length=8)\n",
            "c = SFTConfig('o', max_length=8)\nSFTTrainer(m, c)\n",
        ),
        (
            "class T(Trainer):\n    def f(self):\n        return self.tokenizer\n",
            "class T(Trainer):\n    def f(self):\n        return self.processing_class\n",
        ),
        (
            "def f(trainer: Trainer):\n    return trainer.args.no_cuda\n",
            "def f(trainer: Trainer):\n    return trainer.args.use_cpu\n",
        ),
        (
            "class C(TrainerCallback):\n    def on_log(self, args, state, control):\n        return args.no_cuda\n",
            "class C(TrainerCallback):\n    def on_log(self, args, state, control):\n        return args.use_cpu\n",
        ),
    ],
)
def test_rewritten(before: str, after: str) -> None:
    assert migrated(before) == after


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{ARGS}print(a.logging_dir)\n", "There is no logging_dir: read the environment"),
        (f"{ARGS}print(a.fp16_backend)\n", "There is no fp16_backend. Mixed precision is"),
        (f"{ARGS}print(a.fsdp_min_num_params)\n", "There is no fsdp_min_num_params: it is a key of fsdp_config"),
        ("TrainingArguments('o', True)\n", "Arguments by position beyond the first"),
        (
            "TrainingArguments('o', per_gpu_train_batch_size=1, per_device_train_batch_size=2)\n",
            "per_gpu_train_batch_size and per_device_train_batch_size were both given",
        ),
        (
            "from accelerate import Accelerator\n\nAccelerator(dispatch_batches=True, dataloader_config=c)\n",
            "Put dispatch_batches into dataloader_config",
        ),
        (LOAD.format("load_in_8bit=x, quantization_config=q"), "Put load_in_8bit into quantization_config"),
        (LOAD.format("load_in_8bit=True, load_in_4bit=True"), "Put load_in_8bit and load_in_4bit into a"),
        (LOAD.format("load_in_8bit=f(x)"), "Pass quantization_config=BitsAndBytesConfig(load_in_8bit=True) where"),
        (LOAD.format("use_flash_attention_2=f(x)"), 'Pass attn_implementation="flash_attention_2" where'),
        (LOAD.format("tp_plan='auto', distributed_config=d"), "Put tp_plan into the distributed_config"),
        ("from transformers import TFBertModel\n", "TensorFlow and Flax are gone from transformers"),
        ("import transformers\nprint(transformers.TFBertModel)\n", "TensorFlow and Flax are gone from transformers"),
        (
            "from datasets import load_metric\n\n__all__ = ['load_metric']\n",
            "load_metric is evaluate.load: import that",
        ),
        ("from transformers import AdamW\n\nAdamW(p, 1, 2, 3, 4, 5, 6)\n", "Pass the arguments of AdamW by keyword"),
        ("from transformers import AdamW\n\nAdamW(*p)\n", "Pass the arguments of AdamW by keyword"),
        (
            "from transformers import is_torch_tpu_available\n\nf = is_torch_tpu_available\n",
            "delete the branches for XLA devices",
        ),
        ("from trl import DPOTrainer\n\nDPOTrainer(m, r, 0.1)\n", "Arguments by position beyond the second"),
        ("SFTTrainer(m, **{'max_seq_length': 8})\n", "max_seq_length belongs into SFTConfig, as max_length"),
        (
            "c = SFTConfig('o', max_length=8)\nSFTTrainer(m, c, max_seq_length=16)\n",
            "max_seq_length belongs into SFTConfig, as max_length",
        ),
        (
            "class C(TrainerCallback):\n    def on_log(self, tokenizer):\n        processing_class = tokenizer\n",
            "Callbacks are given a processing_class",
        ),
    ],
)
def test_left_for_a_person(text: str, told: str) -> None:
    assert any(line.startswith("manual") and told in line for line in found(text))
    assert migrated(text) == text


def test_an_optimizer_that_is_passed_on_is_for_a_look() -> None:
    text = "from transformers import AdamW\n\nuse(AdamW)\nAdamW(p, **options)\nAdamW(p)\n"

    assert any("Where it is passed on" in line for line in found(text))
    assert migrated(text).endswith("AdamW(p, **options)\nAdamW(p, eps=1e-6, weight_decay=0.0)\n")


def test_a_variable_whose_new_name_is_used_too_is_for_a_look() -> None:
    text = "import os\nos.environ['PYTORCH_TRANSFORMERS_CACHE'] = os.environ['HF_HUB_CACHE']\n"

    assert any(line.startswith("review") and "HF_HUB_CACHE: set that one" in line for line in found(text))
    assert migrated(text) == text


def test_a_metric_through_its_module() -> None:
    assert "evaluate.load('glue')" in migrated("import datasets\ndatasets.load_metric('glue')\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a or not is_torch_tpu_available()", "a or True"),
        ("a and (not is_torch_tpu_available())", "a and (True)"),
        ("(a) and not is_torch_tpu_available()", "(a) and True"),
    ],
)
def test_a_condition_that_is_true(before: str, after: str) -> None:
    text = f"from transformers import is_torch_tpu_available\n\nx = {before}\n"

    assert f"x = {after}\n" in migrated(text)


@pytest.mark.parametrize(
    "imports",
    ["import transformers\n\na = transformers.TrainingArguments('o')\n", "b = TrainingArguments\n" + ARGS],
)
def test_arguments_whose_import_has_other_uses(imports: str) -> None:
    assert "\na = SFTConfig(\n    'o',\n    packing=False,\n" in migrated(
        f"{imports}SFTTrainer(m, args=a, packing=False)\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "def f(trainer):\n    return trainer.args.no_cuda\n",
        "def f(self):\n    return self.args.no_cuda\n",
        "print(a.b.args.no_cuda)\n",
        "a = TrainingArguments('o')\nb = a\nc = b\nd = c\ne = d\nf = e\ng = f\nprint(g.no_cuda)\n",
        "class C(TrainerCallback):\n    def on_log(self, given):\n        return given.no_cuda\n",
        "def on_log(args):\n    return args.no_cuda\n",
        "class C(Other):\n    def on_log(self, args, tokenizer):\n        return args.no_cuda\n",
        "class C(TrainerCallback):\n    def on_log(self, state):\n        pass\n",
        "class T(Trainer):\n    def _save_checkpoint(self, model, trial):\n        self.save(3)\n        f(3)\n",
        "super().__init__(tokenizer=t)\n",
        "a.b.__init__(tokenizer=t)\n",
        "o = {'output_dir': 'x'}\nf(o)\nAutoModelForCausalLM.register(C, M)\nTrainingArguments(**o)\n",
        "class T(Trainer):\n    def __init__(self, tokenizer):\n        pass\n\n\nT(tokenizer=t)\n",
        "from transformers import TFNeverland\n",
    ],
)
def test_something_else_stays(text: str) -> None:
    assert migrated(text) == text
