import sys

import optimum.neuron as on
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer


class MyORPOTrainer(on.NeuronORPOTrainer):
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
    args = on.NeuronORPOConfig(
        output_dir=out,
        max_length=64,
        max_prompt_length=32,
        label_pad_token_id=-100,
        beta=0.2,
        max_steps=2,
        per_device_train_batch_size=2,
        gradient_checkpointing=False,
        remove_unused_columns=False,
        save_strategy="no",
    )
    rows = load_dataset("json", data_files=data, split="train").select(range(8))
    rows = rows.map(
        lambda row: {"prompt": row["instruction"], "chosen": row["response"], "rejected": row["instruction"]},
        remove_columns=rows.column_names,
    )
    trainer = MyORPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(model_id),
        args=args,
        train_dataset=rows,
        tokenizer=tokenizer,
    )
    trainer.train()


if __name__ == "__main__":
    main(*sys.argv[1:4])
