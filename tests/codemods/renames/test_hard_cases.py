"""What should break the renames of the libraries: aliases, mappings, shared objects, names of other libraries."""

from __future__ import annotations

import pytest

from neuron_codemods import Migration, Outcome, Settings, migrate

EVERYWHERE = Settings(select=("NM7",))


def migrated(text: str) -> Migration:
    result = migrate(text, settings=EVERYWHERE)
    assert migrate(result.text, settings=EVERYWHERE).text == result.text
    return result


def codes(migration: Migration, outcome: Outcome) -> list[str]:
    return [finding.code for finding in migration.findings if finding.outcome is outcome]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from transformers.training_args import TrainingArguments as TA\nTA('o', evaluation_strategy='no')\n",
            "from transformers.training_args import TrainingArguments as TA\nTA('o', eval_strategy='no')\n",
        ),
        (
            "import transformers\ntransformers.TrainingArguments('o', **{'no_cuda': True})\n",
            "import transformers\ntransformers.TrainingArguments('o', **{'use_cpu': True})\n",
        ),
        (
            "from transformers import Trainer\nTrainer(**dict(tokenizer=tok, model=m))\n",
            "from transformers import Trainer\nTrainer(**dict(processing_class=tok, model=m))\n",
        ),
        (
            "import trl.trainer as t\nt.SFTConfig('o', max_seq_length=4)\n",
            "import trl.trainer as t\nt.SFTConfig('o', max_length=4)\n",
        ),
        (
            "def f():\n    from datasets import load_metric\n    return load_metric('glue')\n",
            "import evaluate\ndef f():\n    return evaluate.load('glue')\n",
        ),
    ],
)
def test_it_is_found_however_it_is_reached(before: str, after: str) -> None:
    result = migrated(before).text
    assert [line for line in result.splitlines() if line] == [line for line in after.splitlines() if line]


def test_arguments_that_two_trainers_share_are_left() -> None:
    text = (
        "from transformers import Trainer, TrainingArguments\nfrom trl import SFTTrainer\n"
        "a = TrainingArguments('o')\nTrainer(m, a)\nSFTTrainer(m, args=a, max_seq_length=3)\n"
    )
    result = migrated(text)
    assert "SFTConfig(" not in result.text
    assert "max_seq_length=3" in result.text
    assert codes(result, Outcome.MANUAL) == ["NM720"]


def test_arguments_that_are_made_in_two_branches_are_left() -> None:
    text = (
        "from transformers import TrainingArguments\nfrom trl import SFTTrainer\n"
        "if small:\n    a = TrainingArguments('o')\nelse:\n    a = TrainingArguments('p')\n"
        "SFTTrainer(m, args=a, packing=True)\n"
    )
    result = migrated(text)
    assert "packing=True)" in result.text
    assert codes(result, Outcome.MANUAL) == ["NM720"]


def test_a_mapping_may_hold_the_arguments() -> None:
    text = "from trl import SFTTrainer\nSFTTrainer(m, max_seq_length=5, **extra)\n"
    result = migrated(text)
    assert "args=" not in result.text
    assert codes(result, Outcome.MANUAL) == ["NM720"]


def test_a_value_that_is_bound_later_is_not_moved() -> None:
    text = (
        "from transformers import TrainingArguments\nfrom trl import SFTTrainer\n"
        "a = TrainingArguments('o')\nlength = compute()\nSFTTrainer(m, args=a, max_seq_length=length)\n"
    )
    result = migrated(text)
    assert "max_seq_length=length" in result.text
    assert set(codes(result, Outcome.MANUAL)) == {"NM720"}


def test_flags_of_the_script_reach_the_arguments_through_a_mapping() -> None:
    text = (
        "import argparse\nfrom transformers import TrainingArguments\np = argparse.ArgumentParser()\n"
        "p.add_argument('--evaluation_strategy')\na = TrainingArguments(**vars(p.parse_args()))\n"
    )
    result = migrated(text)
    assert codes(result, Outcome.MANUAL) == ["NM710"]
    assert "may hold evaluation_strategy" in result.text


@pytest.mark.parametrize(
    "text",
    [
        "from mylib import TrainingArguments\nTrainingArguments(evaluation_strategy='no')\n",
        "class Trainer:\n    pass\n\n\nTrainer(tokenizer=1)\n",
        "import transformers\nplan = Plan(evaluation_strategy='no', torch_dtype=3)\nplan.encode_plus('a')\n",
        "from transformers import Trainer\n\n\ndef Trainer(tokenizer):\n    pass\n\n\nTrainer(tokenizer=1)\n",
        "import torch\n\noptimizer = torch.optim.AdamW(p)\nload_metric = 3\n",
        "from transformers import TrainingArguments\n\nargs = TrainingArguments(**options)\n",
    ],
)
def test_what_is_of_others_or_of_today_is_left(text: str) -> None:
    result = migrated(text)
    assert not result.changed
    assert not result.findings


def test_a_suppression_is_followed() -> None:
    text = "from transformers import Trainer\nTrainer(tokenizer=1)  # neuron-migrate: ignore[NM720]\n"
    assert not migrated(text).changed


def test_selecting_all_rules_is_not_asking_for_the_renames() -> None:
    text = "from transformers import Trainer\nTrainer(tokenizer=1)\n"
    assert not migrate(text, settings=Settings(select=("NM",))).changed
    assert migrate(text, settings=Settings(select=("NM720",))).changed
