"""What the codemods write round: limits of transformers and PEFT, each seen to be there.

When one of these tests fails the library has moved, and the rule that is named with it can be made simpler.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from . import tables
from .runs import EXAMPLES, Launch, RunError, train

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .assets import Assets
    from .runs import Example, Run

pytestmark = pytest.mark.slow

FULL, LORA = (next(example for example in EXAMPLES if example.name == name) for name in ("full_finetune", "lora_sft"))
TENSOR_PARALLEL = Launch(processes=2, tp_size=2, fsdp_size=1)


def with_keyword(script: Path, keyword: str, folder: Path) -> Path:
    """A copy of the script that gives ``TrainingArguments`` one more keyword, in place of its own if it has it."""
    name = keyword.partition("=")[0]
    text = re.sub(rf"\b{name}=\w+,", "", script.read_text(encoding="utf-8"))
    text, count = re.subn(r"= TrainingArguments\(", f"= TrainingArguments({keyword}, ", text)
    assert count == 1
    copy = folder / script.name
    copy.write_text(text, encoding="utf-8")
    return copy


def test_local_token_average_multiplies_the_loss_under_tensor_parallelism(
    one_process: Callable[[Example], Run], script_of: Callable[[Example], Path], assets: Assets, tmp_path: Path
) -> None:
    """So average_tokens_across_devices=False, the old default, is not written where a model is tensor parallel.

    transformers 5.24 divides the number of tokens by the tensor parallel size even if it has not summed it over ranks
    (trainer.py, ``_get_num_items_in_batch``).
    """
    script = with_keyword(script_of(FULL), "average_tokens_across_devices=False", tmp_path)
    one = one_process(FULL)
    run = train(script, FULL.command_line(assets, tmp_path / "output", TENSOR_PARALLEL), tmp_path, TENSOR_PARALLEL)
    print(tables.comparison("average_tokens_across_devices=False", ("one", one), ("tp 2", run)))

    assert run.steps[0].loss == pytest.approx(2 * one.steps[0].loss, rel=1e-4)
    assert run.steps[0].grad_norm == pytest.approx(2 * one.steps[0].grad_norm, rel=1e-4)


@pytest.mark.parametrize(
    ("keyword", "message"),
    [
        pytest.param(
            "save_only_model=False",
            "Resuming is not supported for models sharded at load time",
            id="optimizer-cannot-be-saved",
        ),
        pytest.param(
            "load_best_model_at_end=True",
            "aten.copy_.default got mixed torch.Tensor and DTensor",
            id="best-model-cannot-be-loaded",
        ),
    ],
)
def test_sharded_model_refuses(
    keyword: str, message: str, script_of: Callable[[Example], Path], assets: Assets, tmp_path: Path
) -> None:
    """So save_only_model=True is written, and load_best_model_at_end (it fails after the last step) is reported."""
    script = with_keyword(script_of(FULL), keyword, tmp_path)
    arguments = FULL.command_line(assets, tmp_path / "output", TENSOR_PARALLEL)
    with pytest.raises(RunError, match=re.escape(message)):
        train(script, arguments, tmp_path, TENSOR_PARALLEL)


def test_adapters_on_row_parallel_layers_fail_under_tensor_parallelism(
    script_of: Callable[[Example], Path], assets: Assets, tmp_path: Path
) -> None:
    """So PEFT scripts are sharded by FSDP alone: parallel_sizes(tp_size=1)."""
    arguments = LORA.command_line(assets, tmp_path / "output", TENSOR_PARALLEL)
    with pytest.raises(RunError, match=r"RuntimeError: shape '.*' is invalid for input of size"):
        train(script_of(LORA), arguments, tmp_path, TENSOR_PARALLEL)
