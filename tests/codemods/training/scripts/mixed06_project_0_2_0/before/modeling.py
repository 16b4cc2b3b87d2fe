import torch
from optimum.neuron.models.training import NeuronModelForCausalLM
from transformers import AutoTokenizer


def load(model_id, trn_config, bf16=False):
    tokenizer = AutoTokenizer.from_pretrained(model_id)
    dtype = torch.bfloat16 if bf16 else torch.float32
    model = NeuronModelForCausalLM.from_pretrained(model_id, trn_config, torch_dtype=dtype, use_flash_attention_2=False)
    return model, tokenizer
