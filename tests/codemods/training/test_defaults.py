"""What the old stack did without being asked: each difference is written out or reported, with both sides.

The rows are those of a survey that constructed five releases and the native libraries and compared them: every row
that says ``changed``. Fields of the arguments are compared value by value in ``tests/training``.
"""

from __future__ import annotations

import pytest

from neuron_codemods import migrate

OLD = "from optimum.neuron.distributed import lazy_load_for_parallelism\n"
NEW = ""
ARGS = 'args = NeuronTrainingArguments("out", use_autocast=False{})\n'
TRAIN = "from optimum.neuron import NeuronTrainer, NeuronTrainingArguments\n"
SFT = "from optimum.neuron import NeuronSFTConfig, NeuronSFTTrainer\n"
CONFIG = 'config = NeuronSFTConfig("out"{})\nNeuronSFTTrainer(model=model, args=config{})\n'
LOAD = (
    "from optimum.neuron import NeuronTrainer\nfrom transformers import AutoModelForCausalLM\n"
    'NeuronTrainer(model=AutoModelForCausalLM.{}("m"))\n'
)
CLASS = (
    "from optimum.neuron import NeuronTrainer\nfrom optimum.neuron.models.training import NeuronModelForCausalLM\n"
    'NeuronTrainer(model=NeuronModelForCausalLM.from_pretrained("m", config{}))\n'
)

ROWS = {
    "average_tokens_across_devices": (TRAIN + ARGS.format(""), "average_tokens_across_devices=False"),
    "log_level": (TRAIN + ARGS.format(""), 'log_level="info"'),
    "log_level_replica": (TRAIN + ARGS.format(""), 'log_level_replica="critical"'),
    "optim": (TRAIN + ARGS.format(""), 'optim="adamw_torch"'),
    "per_device_eval_batch_size": (TRAIN + ARGS.format(""), "per_device_eval_batch_size=1"),
    "per_device_train_batch_size": (TRAIN + ARGS.format(""), "per_device_train_batch_size=1"),
    "report_to": (TRAIN + ARGS.format(""), 'report_to="all"'),
    "bf16 of SFTConfig": (SFT + CONFIG.format("", ""), "bf16=False"),
    "gradient_checkpointing of SFTConfig": (SFT + CONFIG.format("", ""), "activation_checkpointing=False"),
    "learning_rate of SFTConfig": (SFT + CONFIG.format("", ""), "learning_rate=5e-5"),
    "logging_steps of SFTConfig": (SFT + CONFIG.format("", ""), "logging_steps=500"),
    "dataset_text_field of SFTConfig": (
        SFT + CONFIG.format(", dataset_text_field=None", ""),
        "dataset_text_field=None goes",
    ),
    "pad tokens in the loss": (SFT + CONFIG.format("", ""), "pad tokens were trained"),
    "EOS where it is the padding token": (OLD + SFT + CONFIG.format("", ""), "EOS was masked"),
    "EOS behind texts": (OLD + SFT + CONFIG.format("", ""), "Texts end with the EOS token"),
    "padding length": (SFT + CONFIG.format("", ""), "pad_to_multiple_of=<max_length>"),
    "padding side": (OLD + SFT + 'tok.padding_side = "left"\n' + CONFIG.format("", ""), "pads on the right"),
    "packing": (SFT + CONFIG.format(", packing=True", ""), 'packing_strategy="wrapped"'),
    "loss over prompts": (OLD + SFT + CONFIG.format("", ""), "completion_only_loss=False"),
    "special tokens": (OLD + SFT + CONFIG.format("", ""), "Special tokens are added"),
    "formatting_func": (
        SFT + CONFIG.format("", ", formatting_func=lambda rows: [str(row) for row in rows]"),
        "formatting_func gets one example",
    ),
    "length": (OLD + SFT + CONFIG.format("", ""), "tokenizer.model_max_length"),
    "fully masked samples": (SFT + CONFIG.format("", ""), "nothing but masked tokens"),
    "neftune": (SFT + CONFIG.format(", neftune_noise_alpha=5", ""), "neftune_noise_alpha was accepted and ignored"),
    "bf16 of the whole model": (
        TRAIN + ARGS.format(", bf16=True") + "NeuronTrainer(args=args)\n",
        "used to cast the whole",
    ),
    "loss averaging": (
        TRAIN + 'args = NeuronTrainingArguments("out", tensor_parallel_size=8)\n' + LOAD.format("from_pretrained"),
        "mean over ranks of each rank's mean",
    ),
    "seed": (TRAIN + ARGS.format("") + "NeuronTrainer(args=args)\n", "seeded nothing"),
    "data order": (TRAIN + "NeuronTrainer()\n", "shuffled with seed 0"),
    "label smoothing": (
        TRAIN + ARGS.format(", label_smoothing_factor=0.1"),
        "label_smoothing_factor was accepted and ignored",
    ),
    "drop_last with pipeline stages": (TRAIN + ARGS.format(", pipeline_parallel_size=2"), "dataloader_drop_last=True"),
    "weight decay": (TRAIN + ARGS.format(", weight_decay=0.1"), "get_decay_parameter_names"),
    "dtype of from_pretrained": (LOAD.format("from_pretrained"), 'dtype="float32"'),
    "dtype of from_config": (LOAD.format("from_config"), 'dtype="float32"'),
    "dtype of a training class": (CLASS.format(""), 'dtype="float32"'),
    "bf16 weights": (CLASS.format(', torch_dtype="bfloat16"'), "keeps fp32 master weights"),
    "attention": (CLASS.format(""), 'attn_implementation="eager"'),
    "adapters": (
        "from peft import LoraConfig, get_peft_model\n"
        + CLASS.format(', torch_dtype="bfloat16"')
        + "get_peft_model(model, LoraConfig())\n",
        "PEFT keeps the adapters in float32",
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_difference_is_written_out_or_reported(row: str) -> None:
    script, expected = ROWS[row]
    migration = migrate(script)
    messages = [finding.message for finding in migration.findings]

    assert expected in migration.text or any(expected in message for message in messages)


def test_a_file_given_to_a_parser_of_trl_leaves_the_defaults_of_the_parser() -> None:
    script = f"{SFT}from trl import TrlParser\n\nparser = TrlParser(NeuronSFTConfig)\nparser.parse_args_and_config()\n"
    migration = migrate(script)
    (told,) = (finding.message for finding in migration.findings if "--config" in finding.message)

    assert 'packing_strategy="wrapped"' in migration.text
    assert told.startswith("A file given by --config must hold none of the Neuron arguments")


def test_the_native_stack_is_told_nothing() -> None:
    script = (
        "from transformers import Trainer, TrainingArguments\n\nTrainer(args=TrainingArguments('out', bf16=True))\n"
    )

    assert migrate(script).findings == ()
