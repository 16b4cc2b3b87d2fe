import sys

import trl.experimental.orpo as on
from neuron_shim import configure
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

configure()


class MyORPOTrainer(on.ORPOTrainer):
    # TODO(neuron-migrate NM123): The override of concatenated_forward may not be called as before. Look at the override again: the method of the same name in trl.experimental may differ: https://huggingface.co/docs/transformers/main_classes/trainer#transformers.Trainer.compute_loss
    def concatenated_forward(self, model, batch):
        batch = self.concatenated_inputs(
            batch,
            is_encoder_decoder=self.is_encoder_decoder,
            label_pad_token_id=self.label_pad_token_id,
            padding_value=self.padding_value,
            device=self.accelerator.device,
        )
        return super().concatenated_forward(model, batch)


def main(model_id, data, out):
    tokenizer = AutoTokenizer.from_pretrained(model_id)
    args = on.ORPOConfig(
        output_dir=out,
        max_length=64,
        beta=0.2,
        max_steps=2,
        per_device_train_batch_size=2,
        activation_checkpointing=False,
        remove_unused_columns=False,
        save_strategy="no",
        average_tokens_across_devices=False,
        bf16=False,
        learning_rate=5e-5,
        logging_steps=500,
        optim="adamw_torch",
        report_to="all",
    )
    rows = load_dataset("json", data_files=data, split="train").select(range(8))
    rows = rows.map(
        lambda row: {"prompt": row["instruction"], "chosen": row["response"], "rejected": row["instruction"]},
        remove_columns=rows.column_names,
    )
    trainer = MyORPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(model_id, dtype="float32"),
        args=args,
        train_dataset=rows,
        processing_class=tokenizer,
    )
    trainer.train()


if __name__ == "__main__":
    main(*sys.argv[1:4])
