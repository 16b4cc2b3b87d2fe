import torch
from neuron_shim import configure, parallel_sizes
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.distributed import DistributedConfig

configure()


def load(model_id, trn_config, bf16=False):
    tokenizer = AutoTokenizer.from_pretrained(model_id)
    dtype = torch.float32
    model = AutoModelForCausalLM.from_pretrained(
        model_id,
        dtype=dtype,
        distributed_config=DistributedConfig(**parallel_sizes(model=model_id)),
    )
    return model, tokenizer
