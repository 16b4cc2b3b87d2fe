from transformers import Trainer



class CLMTrainer(Trainer):
    def __init__(self, *args, eval_examples=None, **kwargs):
        self.pad_token_id = kwargs["processing_class"].pad_token_id
        super().__init__(*args, **kwargs)
        self.eval_examples = eval_examples

    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch=num_items_in_batch)
        if False or self.args.debug:
            # tpu-comment: Logging debug metrics for PyTorch/XLA (compile, execute times, ops, etc.)
            pass
        return loss

    def log(self, logs, start_time=None):
        logs["pad"] = self.pad_token_id
        super().log(logs, start_time=start_time)
