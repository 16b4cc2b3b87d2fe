import sys

from datasets import load_dataset
from optimum.neuron import NeuronORPOConfig, NeuronORPOTrainer, NeuronTrainingArguments
from optimum.neuron.distributed import lazy_load_for_parallelism
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer


def main(model_id, data, output):
    training_args = NeuronTrainingArguments(
        output_dir=output,
        max_steps=2,
        per_device_train_batch_size=2,
        learning_rate=8e-6,
        logging_steps=1,
        save_strategy="no",
        tensor_parallel_size=2,
    )
    rows = load_dataset("json", data_files=data, split="train").select(range(8))
    dataset = rows.map(
        lambda row: {"prompt": row["instruction"], "chosen": row["response"], "rejected": row["instruction"]},
        remove_columns=rows.column_names,
    )
    tokenizer = AutoTokenizer.from_pretrained(model_id)
    with lazy_load_for_parallelism(tensor_parallel_size=training_args.tensor_parallel_size):
        model = AutoModelForCausalLM.from_pretrained(model_id, low_cpu_mem_usage=True)

    orpo_config = NeuronORPOConfig(
        max_length=64,
        max_prompt_length=32,
        beta=0.1,
        truncation_mode="keep_end",
        **training_args.to_dict(),
    )
    trainer = NeuronORPOTrainer(
        model=model,
        args=orpo_config,
        train_dataset=dataset,
        tokenizer=tokenizer,
        peft_config=LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main(*sys.argv[1:4])
