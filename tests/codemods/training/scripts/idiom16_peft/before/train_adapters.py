import sys

import torch
from datasets import load_dataset
from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM
from optimum.neuron.peft import NeuronPeftModelForCausalLM, get_peft_model
from peft import LoraConfig, TaskType
from transformers import AutoTokenizer, default_data_collator


def main(model_id, data, output):
    args = NeuronTrainingArguments(
        output,
        max_steps=2,
        per_device_train_batch_size=2,
        tensor_parallel_size=2,
        save_strategy="no",
        use_autocast=False,
    )
    model = NeuronModelForCausalLM.from_pretrained(model_id, args.trn_config, torch_dtype=torch.float32)
    lora = LoraConfig(task_type=TaskType.CAUSAL_LM, r=8, target_modules=["q_proj", "v_proj"])
    model = get_peft_model(model, lora)
    assert isinstance(model, NeuronPeftModelForCausalLM)
    model.print_trainable_parameters()

    tokenizer = AutoTokenizer.from_pretrained(model_id)

    def tokenize(batch):
        result = tokenizer(batch["text"], truncation=True, max_length=64)
        result["labels"] = result["input_ids"].copy()
        return result

    dataset = load_dataset("json", data_files=data, split="train").map(tokenize, batched=True, remove_columns=["text"])
    trainer = NeuronTrainer(model=model, args=args, train_dataset=dataset, data_collator=default_data_collator)
    trainer.train()
    model.save_pretrained(output, async_save=True)
    model = NeuronPeftModelForCausalLM.from_pretrained(
        NeuronModelForCausalLM.from_pretrained(model_id, args.trn_config), output
    )
    print(type(model).__name__)


if __name__ == "__main__":
    main(*sys.argv[1:4])
