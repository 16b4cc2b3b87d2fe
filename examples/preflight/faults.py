"""Six faults that a CPU or a GPU forgives and Trainium does not. ``neuron-shim preflight`` finds them all:

    neuron-shim preflight --nproc-per-node 2 examples/preflight/faults.py
"""

import multiprocessing
import tempfile

import tiny
import torch
import torch.distributed as dist
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)


def rotary(positions):
    angles = torch.arange(positions, device="neuron") * 0.1
    return torch.polar(torch.ones_like(angles), angles)  # a complex tensor


def count_words(texts):
    return torch.tensor([len(text.split()) for text in texts], device="neuron").sum()


def main():
    folder = tempfile.mkdtemp()
    tiny.build(folder)

    mask = torch.ones(4, 4, device="neuron").tril()  # the device is used ...
    dist.init_process_group("neuron")  # ... before the process group exists

    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts = [" ".join(tiny.WORDS[: 3 + 2 * number]) for number in range(24)]

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    trainer = Trainer(
        model,
        TrainingArguments(folder, max_steps=8, per_device_train_batch_size=1, report_to="none", disable_tqdm=True),
        train_dataset=[tokenizer(text) for text in texts],
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),  # pads to the longest
    )
    trainer.train()

    rotated = mask * rotary(4).real

    prompt = tokenizer(texts[0], return_tensors="pt").to(trainer.model.device)  # grows on the device
    answer = model.generate(**prompt, max_new_tokens=6, cache_implementation="static", disable_compile=True)

    critic = AutoModelForCausalLM.from_pretrained(folder, device_map="auto")  # stays on the CPU
    with torch.no_grad():
        critic(answer.cpu())

    worker = multiprocessing.get_context("fork").Process(target=count_words, args=(texts,))  # uses the device
    worker.start()
    worker.join()
    print(rotated.shape, worker.exitcode)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
