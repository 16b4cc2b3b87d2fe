import sys

from datasets import load_dataset
from neuron_shim import configure, parallel_sizes
from trl.experimental.orpo import ORPOConfig, ORPOTrainer
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments
from transformers.distributed import DistributedConfig

configure()


def main(model_id, data, output):
    training_args = TrainingArguments(
        output_dir=output,
        max_steps=2,
        per_device_train_batch_size=2,
        learning_rate=8e-6,
        logging_steps=1,
        save_strategy="no",
        average_tokens_across_devices=False,
        optim="adamw_torch",
        report_to="all",
    )
    rows = load_dataset("json", data_files=data, split="train").select(range(8))
    dataset = rows.map(
        lambda row: {"prompt": row["instruction"], "chosen": row["response"], "rejected": row["instruction"]},
        remove_columns=rows.column_names,
    )
    tokenizer = AutoTokenizer.from_pretrained(model_id)
    model = AutoModelForCausalLM.from_pretrained(
        model_id,
        distributed_config=DistributedConfig(**parallel_sizes(tp_size=1)),
        dtype="float32",
    )

    orpo_config = ORPOConfig(
        max_length=64,
        beta=0.1,
        **training_args.to_dict(),
    )
    trainer = ORPOTrainer(
        model=model,
        args=orpo_config,
        train_dataset=dataset,
        processing_class=tokenizer,
        peft_config=LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main(*sys.argv[1:4])
