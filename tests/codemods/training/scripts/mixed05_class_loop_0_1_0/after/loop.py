import sys
from pathlib import Path

import torch
from datasets import load_dataset
from accelerate import Accelerator, ParallelismConfig
from neuron_shim import configure, parallel_sizes
from transformers.distributed import DistributedConfig
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, default_data_collator

configure()


class Pretrainer:
    """Trains without the Trainer."""

    def __init__(self, model_id: str, data: str, out: str, tp: int = 2):
        self.out = Path(out)
        sizes = parallel_sizes(tp_size=tp, model=model_id)
        self.accelerator = Accelerator(
            gradient_accumulation_steps=2,
            parallelism_config=ParallelismConfig(tp_size=sizes["tp_size"], dp_shard_size=sizes["fsdp_size"]),
        )
        self.model = AutoModelForCausalLM.from_pretrained(
            model_id,
            distributed_config=DistributedConfig(**parallel_sizes(tp_size=tp, model=model_id)),
            dtype=torch.float32,
        )
        self.tokenizer = AutoTokenizer.from_pretrained(model_id)
        rows = load_dataset("json", data_files=data, split="train").select(range(8))
        rows = rows.map(self.tokenize, batched=True, remove_columns=["text"])
        self.loader = DataLoader(rows, batch_size=2, shuffle=True, collate_fn=default_data_collator)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.model = self.accelerator.prepare_model(self.model, evaluation_mode=True)
        self.optimizer, self.loader = self.accelerator.prepare(self.optimizer, self.loader)

    def tokenize(self, batch):
        result = self.tokenizer(batch["text"], truncation=True, max_length=32)
        return {**result, "labels": result["input_ids"].copy()}

    def train(self):
        self.model.train()
        total = 0.0
        for batch in self.loader:
            with self.accelerator.accumulate(self.model):
                loss = self.model(**batch).loss
                self.accelerator.backward(loss)
                self.accelerator.clip_grad_norm_(self.model.parameters(), max_norm=1.0)
                self.optimizer.step()
                self.optimizer.zero_grad()
            total += self.accelerator.gather(loss.detach()).mean().item()
        if self.accelerator.is_main_process:
            print("mean loss", total / len(self.loader))

    def save(self):
        self.accelerator.wait_for_everyone()
        self.accelerator.unwrap_model(self.model).save_pretrained(self.out)


if __name__ == "__main__":
    trainer = Pretrainer(*sys.argv[1:4])
    trainer.train()
    trainer.save()
