from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import torch
from datasets import load_dataset
from transformers import AutoTokenizer, TrainerCallback, default_data_collator

try:
    from neuron_shim import configure, neuron_device, parallel_sizes
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
    from transformers.distributed import DistributedConfig
    configure()
except ImportError:
    Trainer = None

if TYPE_CHECKING:
    pass


class LossLogger(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero and logs:
            print({key: round(value, 3) for key, value in logs.items() if isinstance(value, float)})


class WeightedTrainer(Trainer):
    """Gives the end of a sample more weight."""

    loss_is_scaled_for_ga = False

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        return (outputs.loss, outputs) if return_outputs else outputs.loss

    # TODO(neuron-migrate NM123): The override of report_and_save_summary_metrics is never called natively. Delete it: there is no native counterpart: https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer.compute_loss
    def report_and_save_summary_metrics(self):
        print("done")


class Runner:
    def __init__(self, model_id, data, args: TrainingArguments):
        self.args = args
        self.model = self.load(model_id)
        self.tokenizer = AutoTokenizer.from_pretrained(model_id)
        self.trainer = WeightedTrainer(
            model=self.model,
            args=self.args,
            train_dataset=self.read(data),
            processing_class=self.tokenizer,
            data_collator=default_data_collator,
            callbacks=[LossLogger()],
        )

    @staticmethod
    def load(model_id):
        return AutoModelForCausalLM.from_pretrained(
            model_id,
            dtype=torch.float32,
            distributed_config=DistributedConfig(**parallel_sizes(tp_size=2, model=model_id)),
        )

    def read(self, data):
        def tokenize(batch):
            result = self.tokenizer(batch["text"], truncation=True, max_length=32)
            result["labels"] = result["input_ids"].copy()
            return result

        return load_dataset("json", data_files=data, split="train").map(tokenize, batched=True, remove_columns=["text"])

    def run(self):
        self.trainer.train()
        if self.trainer.is_world_process_zero():
            # TODO(neuron-migrate NM125): num_tokens is gone. Read num_input_tokens_seen from trainer.state, with include_num_input_tokens_seen=True: https://huggingface.co/docs/transformers/main_classes/trainer
            print(f"{self.trainer.num_tokens} tokens on {parallel_sizes(tp_size=2)['fsdp_size']} replicas")


def main(model_id, data, out):
    args = TrainingArguments(
        output_dir=out,
        max_steps=2,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=2,
        logging_steps=1,
        save_strategy="no",
        bf16=True,
        log_level="info",
        log_level_replica="critical",
        optim="adamw_torch",
        per_device_eval_batch_size=1,
        report_to="all",
        use_cpu=neuron_device().type == "cpu",
    )
    Runner(model_id, data, args).run()


if __name__ == "__main__":
    main(*sys.argv[1:4])
