import sys

import torch_xla.core.xla_model as xm
from datasets import load_dataset
from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling

model_id, data, output = sys.argv[1:4]


class MyTrainer(NeuronTrainer):
    def training_step(self, model, inputs):
        loss = super().training_step(model, inputs)
        xm.mark_step()
        return loss


args = NeuronTrainingArguments(output, max_steps=2, per_device_train_batch_size=2)
tokenizer = AutoTokenizer.from_pretrained(model_id)
dataset = load_dataset("json", data_files=data, split="train")
dataset = dataset.map(
    lambda rows: tokenizer(rows["sentence"], padding="max_length", max_length=32, truncation=True),
    batched=True,
    remove_columns=["sentence", "label"],
)
trainer = MyTrainer(
    model=AutoModelForMaskedLM.from_pretrained(model_id),
    args=args,
    train_dataset=dataset,
    data_collator=DataCollatorForLanguageModeling(tokenizer),
)
trainer.train()
xm.rendezvous("trained")
if xm.is_master_ordinal():
    xm.master_print("saved to", output)
