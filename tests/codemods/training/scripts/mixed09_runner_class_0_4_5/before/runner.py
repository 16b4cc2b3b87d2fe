from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import torch
from datasets import load_dataset
from transformers import AutoTokenizer, TrainerCallback, default_data_collator

try:
    from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
    from optimum.neuron.models.training import NeuronModelForCausalLM
except ImportError:
    NeuronTrainer = None

if TYPE_CHECKING:
    from optimum.neuron.models.training import TrainingNeuronConfig


class LossLogger(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero and logs:
            print({key: round(value, 3) for key, value in logs.items() if isinstance(value, float)})


class WeightedTrainer(NeuronTrainer):
    """Gives the end of a sample more weight."""

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        return (outputs.loss, outputs) if return_outputs else outputs.loss

    def report_and_save_summary_metrics(self):
        print("done")


class Runner:
    def __init__(self, model_id, data, args: NeuronTrainingArguments):
        self.args = args
        self.model = self.load(model_id, args.trn_config)
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
    def load(model_id, trn_config: TrainingNeuronConfig):
        return NeuronModelForCausalLM.from_pretrained(model_id, trn_config=trn_config, dtype=torch.bfloat16)

    def read(self, data):
        def tokenize(batch):
            result = self.tokenizer(batch["text"], truncation=True, max_length=32)
            result["labels"] = result["input_ids"].copy()
            return result

        return load_dataset("json", data_files=data, split="train").map(tokenize, batched=True, remove_columns=["text"])

    def run(self):
        self.trainer.train()
        self.trainer.synchronize_hub_cache()
        if self.trainer.is_logging_process:
            print(f"{self.trainer.num_tokens} tokens on {self.args.dp_size} replicas")


def main(model_id, data, out):
    args = NeuronTrainingArguments(
        output_dir=out,
        max_steps=2,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=2,
        tensor_parallel_size=2,
        enable_throughput_metrics=True,
        metrics_window_size=10,
        logging_steps=1,
        save_strategy="no",
    )
    Runner(model_id, data, args).run()


if __name__ == "__main__":
    main(*sys.argv[1:4])
