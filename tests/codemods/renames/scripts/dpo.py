"""Direct preference optimisation, as TRL 0.7 to 0.8 wanted it."""

from dataclasses import dataclass, field
from typing import Optional

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, TrainingArguments
from trl import DPOTrainer


@dataclass
class ScriptArguments:
    model_name_or_path: str = field(metadata={"help": "the model"})
    output_dir: str = field(metadata={"help": "where to save"})
    beta: float = field(default=0.1, metadata={"help": "the beta parameter of the loss"})
    max_length: int = field(default=48)
    max_prompt_length: int = field(default=24)
    max_steps: int = field(default=2)
    use_auth_token: Optional[bool] = field(default=None)


if __name__ == "__main__":
    parser = HfArgumentParser(ScriptArguments)
    script_args = parser.parse_args_into_dataclasses()[0]

    model = AutoModelForCausalLM.from_pretrained(
        script_args.model_name_or_path, low_cpu_mem_usage=True, use_auth_token=script_args.use_auth_token
    )
    model_ref = AutoModelForCausalLM.from_pretrained(script_args.model_name_or_path, low_cpu_mem_usage=True)
    tokenizer = AutoTokenizer.from_pretrained(script_args.model_name_or_path)
    rows = [{"prompt": f"w{n} w{n + 1}", "chosen": f" w{n + 2} w1", "rejected": f" w{n + 3} w2"} for n in range(8)]
    train_dataset = Dataset.from_list(rows)
    eval_dataset = Dataset.from_list(rows[:4])

    training_args = TrainingArguments(
        per_device_train_batch_size=2,
        max_steps=script_args.max_steps,
        remove_unused_columns=False,
        gradient_accumulation_steps=1,
        learning_rate=5e-6,
        evaluation_strategy="steps",
        eval_steps=1,
        output_dir=script_args.output_dir,
        warmup_steps=1,
        report_to="none",
        no_cuda=True,
        logging_first_step=True,
    )

    dpo_trainer = DPOTrainer(
        model,
        model_ref,
        args=training_args,
        beta=script_args.beta,
        train_dataset=train_dataset,
        eval_dataset=eval_dataset,
        tokenizer=tokenizer,
        max_length=script_args.max_length,
        max_prompt_length=script_args.max_prompt_length,
        max_target_length=None,
        generate_during_eval=False,
    )
    dpo_trainer.train()
    dpo_trainer.save_model(script_args.output_dir)
