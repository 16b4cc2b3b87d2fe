"""A subclass of `Trainer` specific to question answering."""

from optimum.neuron import NeuronTrainer as Trainer
from transformers.trainer_utils import PredictionOutput


class QuestionAnsweringTrainer(Trainer):
    def __init__(self, *args, eval_examples=None, post_process_function=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.eval_examples = eval_examples
        self.post_process_function = post_process_function

    def compute_loss(self, model, inputs, return_outputs=False):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = self.label_smoother(outputs, {"labels": labels}) if self.label_smoother else None
        if loss is None:
            logits = outputs.logits
            loss = (logits.gather(-1, labels.unsqueeze(-1)) * -1 + logits.logsumexp(-1, keepdim=True)).mean()
        return (loss, outputs) if return_outputs else loss

    def evaluate(self, eval_dataset=None, eval_examples=None, ignore_keys=None, metric_key_prefix="eval"):
        eval_dataset = self.eval_dataset if eval_dataset is None else eval_dataset
        metrics = super().evaluate(eval_dataset, ignore_keys, metric_key_prefix)
        if self.post_process_function is not None and self.args.should_save:
            metrics.update(self.post_process_function(self.eval_examples, self.tokenizer))
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def predict(self, predict_dataset, predict_examples, ignore_keys=None, metric_key_prefix="test"):
        output = super().predict(predict_dataset, ignore_keys, metric_key_prefix)
        return PredictionOutput(output.predictions, output.label_ids, output.metrics)
