"""The lines that migrated scripts contain, against the installed transformers and accelerate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuron_shim import configure, parallel_sizes

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

pytestmark = pytest.mark.skipif(torch.accelerator.is_available(), reason="shows what happens without an accelerator")


def load(folder):
    from transformers.distributed import DistributedConfig

    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, distributed_config=DistributedConfig(**parallel_sizes(tp_size=8)), dtype=torch.float32
    )


def losses(model, folder, *, resume=None):
    examples = [torch.randint(3, 384, (16,), generator=torch.Generator().manual_seed(seed)) for seed in range(8)]
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        max_steps=4,
        per_device_train_batch_size=2,
        learning_rate=1e-3,
        lr_scheduler_type="constant",
        logging_steps=1,
        save_steps=2,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    dataset = [{"input_ids": ids, "labels": ids} for ids in examples]
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=dataset)
    trainer.train(resume_from_checkpoint=resume and str(resume))
    trainer.save_model(str(folder / "final"))
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def test_a_script_for_eight_cores_trains_checkpoints_and_resumes_in_a_plain_process(tiny_model, tmp_path):
    configure()
    plain = transformers.AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.float32)
    expected = losses(plain, tmp_path / "plain")

    assert losses(load(tiny_model), tmp_path / "shim") == expected
    assert not torch.distributed.is_initialized()
    # Not only the weights: what is needed to resume, which transformers refuses for a model that it sharded.
    assert (tmp_path / "shim" / "checkpoint-2" / "optimizer.pt").exists()
    assert losses(load(tiny_model), tmp_path / "shim", resume=tmp_path / "shim" / "checkpoint-2") == expected

    saved = tmp_path / "shim" / "final"
    assert "distributed_config" not in json.loads((saved / "config.json").read_text(encoding="utf-8"))
    again = transformers.AutoModelForCausalLM.from_pretrained(saved, dtype=torch.float32).state_dict()
    assert all(torch.equal(again[name], tensor) for name, tensor in plain.state_dict().items())


TRAIN = """
import json, os, sys
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments  # before configure(), as in migrated scripts
from transformers.distributed import DistributedConfig
from neuron_shim import configure, parallel_sizes

torch.set_num_threads(1)
how, folder = sys.argv[1:]
if how != "without":
    configure()
sharding = {"distributed_config": DistributedConfig(**parallel_sizes(model=folder))} if how == "sharded" else {}
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **sharding)
seen, wrapped = [], []

class Recorder(Trainer):
    def compute_loss(self, model, inputs, *args, **kwargs):
        seen.extend(inputs["input_ids"][:, 0].tolist())
        wrapped.append(type(model).__name__)
        return super().compute_loss(model, inputs, *args, **kwargs)

dataset = [{"input_ids": torch.full((4,), 3 + n), "labels": torch.full((4,), 3 + n)} for n in range(8)]
arguments = TrainingArguments(
    output_dir="out", max_steps=2, per_device_train_batch_size=2, learning_rate=1e-2, save_strategy="no",
    report_to="none", disable_tqdm=True, dataloader_pin_memory=False,
)
trainer = Recorder(model=model, args=arguments, train_dataset=dataset)
trainer.train()
weight = next(model.parameters()).detach()
weight = weight.full_tensor() if hasattr(weight, "full_tensor") else weight
with open(f"rank{os.environ['RANK']}.json", "w") as file:
    json.dump({
        "seen": seen, "weight": weight.sum().item(), "model": wrapped[0],
        "type": trainer.accelerator.state.distributed_type.value, "backend": trainer.accelerator.state.backend,
        "processes": trainer.accelerator.num_processes,
    }, file)
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
"""


@pytest.fixture
def ranks(python, tiny_model, tmp_path):
    """What each of two processes reports of a short training."""

    def train(how: str) -> tuple[dict, dict, str]:
        done = python(TRAIN, how, str(tiny_model), processes=2)
        assert done.returncode == 0, done.stderr
        first, second = (json.loads(Path(tmp_path, f"rank{rank}.json").read_text()) for rank in (0, 1))
        return first, second, done.stderr

    return train


@pytest.mark.slow
def test_without_the_shim_all_ranks_train_on_the_same_data(ranks):
    first, second, _ = ranks("without")
    assert first["seen"] == second["seen"]
    assert (first["type"], first["processes"]) == ("NO", 1)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "model"), [("with", "DistributedDataParallel"), ("sharded", "FSDPQwen3ForCausalLM")])
def test_with_the_shim_each_rank_has_its_share_and_all_have_the_same_weights(ranks, how, model):
    first, second, log = ranks(how)
    assert sorted(first["seen"] + second["seen"]) == list(range(3, 11))
    assert first["weight"] == second["weight"]
    for rank in (first, second):
        assert (rank["type"], rank["backend"], rank["processes"], rank["model"]) == ("MULTI_CPU", "gloo", 2, model)
    assert log.count("neuron_shim:") == 1
