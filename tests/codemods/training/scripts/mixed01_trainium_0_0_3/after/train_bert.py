#!/usr/bin/env python3
# Fine-tunes BERT on a trn1.2xlarge. Needs optimum-neuron==0.0.3.
import sys


def load_data(path, tokenizer, max_length=32):
    from datasets import load_dataset

    labels = {'bad': 0, 'fair': 1, 'good': 2}
    ds = load_dataset('json', data_files=path, split='train')
    ds = ds.map(lambda x: tokenizer(x['sentence'], truncation=True, padding='max_length', max_length=max_length))
    return ds.map(lambda x: {'labels': labels[x['label']]}, remove_columns=['sentence', 'label'])


def main(model_id, path, out):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, TrainingArguments
    from neuron_shim import configure
    from transformers import Trainer

    configure()

    tokenizer = AutoTokenizer.from_pretrained(model_id)
    model = AutoModelForSequenceClassification.from_pretrained(model_id, num_labels=3, dtype="float32")
    args = TrainingArguments(
        out, eval_strategy='epoch', save_strategy='epoch', num_train_epochs=1, per_device_train_batch_size=8,
        per_device_eval_batch_size=8, report_to=[],
        average_tokens_across_devices=False,
        optim="adamw_torch")
    data = load_data(path, tokenizer)
    trainer = Trainer(model, args, None, data, data, tokenizer, model_init=None, compute_metrics=None)  # positional, as in 2022
    trainer.train()
    print(trainer.evaluate(), trainer.processing_class.name_or_path)


if __name__ == '__main__':
    main(*sys.argv[1:])
