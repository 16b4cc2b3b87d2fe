"""How the migrated scripts of ``tests/codemods/training/scripts`` are started on tiny models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .runs import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .assets import Assets

SCRIPTS = REPOSITORY / "tests" / "codemods" / "training" / "scripts"
OUT = "out"
BRIEF = ("--output_dir", OUT, "--max_steps", "2", "--per_device_train_batch_size", "2", "--use_cpu")


def positional(model: str, data: str) -> Callable[[Assets], list[str]]:
    return lambda assets: [str(getattr(assets, model)), str(getattr(assets, data)), OUT]


def flags(model: str, data: str, names: tuple[str, str], *rest: str) -> Callable[[Assets], list[str]]:
    first, second = names
    return lambda assets: [first, str(getattr(assets, model)), second, str(getattr(assets, data)), *rest]


ARGUMENTS: dict[tuple[str, str], Callable[[Assets], list[str]]] = {
    ("idiom01_aliased_imports", "run_classification.py"): lambda assets: [
        *(str(assets.encoder), str(assets.sentences), *BRIEF, "--do_train", "--do_eval"),
    ],
    ("idiom02_parser", "run_clm.py"): flags("decoder", "texts", ("--model_name_or_path", "--train_file"), *BRIEF),
    ("idiom03_sft_to_dict", "finetune_qwen3.py"): flags("decoder", "records", ("--model_id", "--data"), *BRIEF),
    ("idiom04_sft_formatting", "sft_lora_finetune_llm.py"): flags(
        "decoder", "records", ("--model_id", "--data"), *BRIEF
    ),
    ("idiom05_lazy_load", "train_llm.py"): flags("decoder", "texts", ("--model_id", "--data"), "--output_dir", OUT),
    ("idiom06_training_class", "pretrain.py"): flags("decoder", "texts", ("--model_id", "--data"), *BRIEF),
    ("idiom07_direct_arguments", "finetune_bert.py"): positional("encoder", "sentences"),
    ("idiom08_classic_trainer", "run_tagging.py"): positional("encoder", "sentences"),
    ("idiom09_seq2seq", "run_summarization.py"): flags(
        *("seq2seq", "records", ("--model", "--train_file"), *BRIEF),
        *("--do_train", "--do_eval", "--predict_with_generate"),
    ),
    ("idiom10_trainer_subclass", "run_qa.py"): positional("encoder", "sentences"),
    ("idiom11_main_process_first", "run_mlm.py"): flags("encoder", "sentences", ("--model", "--train_file"), *BRIEF),
    ("idiom12_last_checkpoint", "run_image.py"): flags(
        "encoder", "sentences", ("--model", "--data"), *BRIEF, "--do_train", "--overwrite_output_dir"
    ),
    ("idiom13_precompilation", "train.py"): positional("encoder", "sentences"),
    ("idiom14_torch_xla", "train.py"): positional("encoder", "sentences"),
    ("idiom15_accelerator", "finetune_loop.py"): flags(
        "decoder", "texts", ("--model_id", "--data"), "--output_dir", OUT
    ),
    ("idiom16_peft", "train_adapters.py"): positional("decoder", "texts"),
    ("idiom17_orpo", "train_orpo.py"): positional("decoder", "records"),
    ("idiom18_consolidation", "train_and_consolidate.py"): positional("decoder", "texts"),
    ("mixed01_trainium_0_0_3", "train_bert.py"): positional("encoder", "sentences"),
    ("mixed03_llama_argparse_0_0_22", "train.py"): flags(
        "decoder", "texts", ("--model_id", "--dataset_path"), "--output_dir", OUT
    ),
    ("mixed05_class_loop_0_1_0", "loop.py"): positional("decoder", "texts"),
    ("mixed06_project_0_2_0", "main.py"): positional("decoder", "texts"),
    ("mixed08_qwen3_attributes_0_4_1", "finetune.py"): positional("decoder", "records"),
}
"""The scripts that run, by folder and file, with their command lines."""


def plan(assets: Assets, folder: Path, names: list[tuple[str, str]]) -> list[dict[str, object]]:
    """What ``run_scripts.py`` is told."""
    return [
        {
            "name": name,
            "script": str(SCRIPTS / name / "after" / script),
            "arguments": ARGUMENTS[name, script](assets),
            "folder": str(folder / name),
        }
        for name, script in names
    ]
