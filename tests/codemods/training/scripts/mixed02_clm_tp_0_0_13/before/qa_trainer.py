from transformers import is_torch_tpu_available

from optimum.neuron import NeuronTrainer as Trainer


if is_torch_tpu_available(check_device=False):
    import torch_xla.core.xla_model as xm
    import torch_xla.debug.metrics as met


class CLMTrainer(Trainer):
    def __init__(self, *args, eval_examples=None, **kwargs):
        self.pad_token_id = kwargs["tokenizer"].pad_token_id
        super().__init__(*args, **kwargs)
        self.eval_examples = eval_examples

    def training_step(self, model, inputs):
        loss = super().training_step(model, inputs)
        if self.args.tpu_metrics_debug or self.args.debug:
            # tpu-comment: Logging debug metrics for PyTorch/XLA (compile, execute times, ops, etc.)
            xm.master_print(met.metrics_report())
        return loss

    def log(self, logs):
        logs["pad"] = self.pad_token_id
        super().log(logs)
