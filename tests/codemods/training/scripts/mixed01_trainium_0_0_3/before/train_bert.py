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
    from optimum.neuron import TrainiumTrainer

    tokenizer = AutoTokenizer.from_pretrained(model_id)
    model = AutoModelForSequenceClassification.from_pretrained(model_id, num_labels=3)
    args = TrainingArguments(
        out, evaluation_strategy='epoch', save_strategy='epoch', num_train_epochs=1, per_device_train_batch_size=8,
        per_gpu_eval_batch_size=8, logging_dir=out + '/logs', report_to=[], overwrite_output_dir=True, no_cuda=True)
    data = load_data(path, tokenizer)
    trainer = TrainiumTrainer(model, args, None, data, data, tokenizer, None, None)  # positional, as in 2022
    trainer.train()
    print(trainer.evaluate(), trainer.tokenizer.name_or_path)


if __name__ == '__main__':
    main(*sys.argv[1:])
