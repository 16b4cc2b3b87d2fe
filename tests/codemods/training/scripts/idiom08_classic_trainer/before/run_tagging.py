import sys

import numpy as np
import torch
from datasets import load_dataset
from optimum.neuron import TrainiumTrainer as Trainer
from optimum.neuron import TrainiumTrainingArguments as TrainingArguments
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling


def main(model_id, data, output):
    args = TrainingArguments(output, do_train=True, do_eval=True, max_steps=2, per_device_train_batch_size=2)
    tokenizer = AutoTokenizer.from_pretrained(model_id)
    model = AutoModelForMaskedLM.from_pretrained(model_id)
    dataset = load_dataset("json", data_files=data, split="train")
    dataset = dataset.map(
        lambda rows: tokenizer(rows["sentence"], padding="max_length", max_length=32, truncation=True),
        batched=True,
        remove_columns=["sentence", "label"],
    )

    def preprocess_logits_for_metrics(logits, labels):
        return torch.argmax(logits, dim=-1)

    def compute_metrics(prediction):
        mask = prediction.label_ids != -100
        return {"accuracy": float(np.mean((prediction.predictions == prediction.label_ids)[mask]))}

    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=dataset,
        eval_dataset=dataset,
        tokenizer=tokenizer,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15),
        compute_metrics=compute_metrics,
        preprocess_logits_for_metrics=preprocess_logits_for_metrics,
    )
    train_result = trainer.train(resume_from_checkpoint=None)
    trainer.save_model()  # Saves the tokenizer too
    trainer.log_metrics("train", train_result.metrics)
    trainer.save_metrics("train", train_result.metrics)
    trainer.save_state()

    metrics = trainer.evaluate()
    trainer.log_metrics("eval", metrics)
    trainer.save_metrics("eval", metrics)
    print(trainer.predict(dataset).metrics, trainer.is_world_process_zero(), trainer.tokenizer.pad_token)

    kwargs = {"finetuned_from": model_id, "tasks": "fill-mask"}
    if args.push_to_hub:
        trainer.push_to_hub(**kwargs)
    else:
        trainer.create_model_card(**kwargs)


if __name__ == "__main__":
    main(*sys.argv[1:4])
