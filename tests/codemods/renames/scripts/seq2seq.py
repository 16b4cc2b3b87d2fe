"""Summarise with an encoder-decoder model and a trainer of one's own, as scripts of 2022 did."""

import sys

import torch
from datasets import Dataset
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
)

model_name, output_dir = sys.argv[1:3]
tokenizer = AutoTokenizer.from_pretrained(model_name)
model = AutoModelForSeq2SeqLM.from_pretrained(model_name)


def preprocess(examples):
    model_inputs = tokenizer(examples["document"], max_length=32, truncation=True)

    # Setup the tokenizer for targets
    with tokenizer.as_target_tokenizer():
        labels = tokenizer(examples["summary"], max_length=16, truncation=True)

    model_inputs["labels"] = labels["input_ids"]
    return model_inputs


class SmoothingTrainer(Seq2SeqTrainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(**inputs)
        logits = outputs.logits.view(-1, outputs.logits.size(-1))
        loss = torch.nn.functional.cross_entropy(logits, inputs["labels"].view(-1), label_smoothing=0.1)
        return (loss, outputs) if return_outputs else loss

    def log(self, logs):
        logs["rate"] = self.args.learning_rate
        super().log(logs)


class Vocabulary(TrainerCallback):
    def on_train_begin(self, args, state, control, tokenizer=None, **kwargs):
        assert len(tokenizer) > 0


rows = [{"document": f"w{n} w{n + 1} w{n + 2}", "summary": f"w{n}"} for n in range(8)]
data = Dataset.from_list(rows).map(preprocess, batched=True, remove_columns=["document", "summary"])

options = dict(per_gpu_train_batch_size=2, evaluation_strategy="epoch", predict_with_generate=True)
training_args = Seq2SeqTrainingArguments(
    output_dir,
    overwrite_output_dir=True,
    max_steps=2,
    logging_steps=1,
    no_cuda=True,
    report_to=[],
    generation_max_length=8,
    adafactor=True,
    **options,
)
trainer = SmoothingTrainer(
    model,
    training_args,
    DataCollatorForSeq2Seq(tokenizer, model=model),
    data,
    data,
    tokenizer,
    callbacks=[Vocabulary()],
)
trainer.train()
print(trainer.args.evaluation_strategy, trainer.tokenizer.additional_special_tokens)
trainer.save_model(output_dir)
