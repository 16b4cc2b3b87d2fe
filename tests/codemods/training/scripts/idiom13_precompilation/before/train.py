import os
import sys

from datasets import load_dataset
from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.utils import is_precompilation
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling

model_id, data, output = sys.argv[1:4]
max_steps = 3
if os.environ.get("NEURON_EXTRACT_GRAPHS_ONLY", "0") == "1":
    max_steps = 10
if is_precompilation():
    save_strategy = "no"
else:
    save_strategy = "steps"

args = NeuronTrainingArguments(
    output,
    max_steps=max_steps,
    per_device_train_batch_size=2,
    save_strategy=save_strategy,
    skip_cache_push=True,
    neuron_cc_optlevel=2,
)
tokenizer = AutoTokenizer.from_pretrained(model_id)
dataset = load_dataset("json", data_files=data, split="train")
dataset = dataset.map(
    lambda rows: tokenizer(rows["sentence"], padding="max_length", max_length=32, truncation=True),
    batched=True,
    remove_columns=["sentence", "label"],
)
trainer = NeuronTrainer(
    model=AutoModelForMaskedLM.from_pretrained(model_id),
    args=args,
    train_dataset=dataset,
    data_collator=DataCollatorForLanguageModeling(tokenizer),
)
trainer.train()
if not is_precompilation():
    trainer.save_model()
