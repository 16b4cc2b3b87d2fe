"""Renames or deletes keywords of functions of datasets, huggingface_hub, accelerate and of `pipeline`.

`use_auth_token=` is `token=` everywhere, downloads always resume, and loading scripts of data sets are no longer run.

https://huggingface.co/docs/huggingface_hub/concepts/migration
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.data.renames import renames
from neuron_codemods.edits import Change
from neuron_codemods.given import Given
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renames import by_row
from neuron_codemods.values import Arguments, mappings, named

RULE = Rule(
    code="NM740",
    name="renamed-function-keyword",
    summary="load_dataset(use_auth_token=...), hf_hub_download(resume_download=...), Accelerator(fp16=...).",
    url="https://huggingface.co/docs/huggingface_hub/concepts/migration",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)


def check(module: Module) -> Iterator[Change]:
    if not module.renames:
        return
    table = renames("call")
    names = {name.rpartition(".")[2]: name for name in table}
    for call in module.calls:
        native = module.native(call.func) or ""
        package, last = native.partition(".")[0], native.rpartition(".")[2]
        owner = names.get(last, "")
        if owner.partition(".")[0] != package or not package:
            continue
        literals, _ = mappings(module, call)
        made = Arguments(call, owner, False, False, literals)
        for holder in made.holders:
            for item in named(holder):
                row = table[owner].get(item.arg or "")
                change = by_row.change(Given(module, made, holder, item), row) if row is not None else None
                if change is not None:
                    yield change


CASES = (
    Case(
        "data and files of the hub",
        """from datasets import load_dataset
from huggingface_hub import hf_hub_download, login

login(token=token, write_permission=True)
data = load_dataset("glue", "mrpc", use_auth_token=True, trust_remote_code=False, ignore_verifications=True)
path = hf_hub_download("my/model", "config.json", use_auth_token=token, resume_download=True)
""",
        """from datasets import load_dataset
from huggingface_hub import hf_hub_download, login

login(token=token)
data = load_dataset("glue", "mrpc", token=True, verification_mode="no_checks")
path = hf_hub_download("my/model", "config.json", token=token)
""",
        (Outcome.REWRITTEN,) * 6,
    ),
    Case(
        "a loading script",
        """import datasets

data = datasets.load_dataset("my/data", trust_remote_code=True)
""",
        """import datasets

data = datasets.load_dataset("my/data")
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "an accelerator and a pipeline",
        """from accelerate import Accelerator
from transformers import pipeline

accelerator = Accelerator(fp16=args.fp16, dispatch_batches=False)
pipe = pipeline("text-generation", "my/model", use_auth_token=True, framework="pt")
""",
        """from accelerate import Accelerator, DataLoaderConfiguration
from transformers import pipeline

# TODO(neuron-migrate NM740): Write mixed_precision="fp16" where fp16 is true, and delete it: \
https://huggingface.co/docs/huggingface_hub/concepts/migration
accelerator = Accelerator(
    fp16=args.fp16,
    dataloader_config=DataLoaderConfiguration(dispatch_batches=False),
)
pipe = pipeline("text-generation", "my/model", token=True)
""",
    ),
    Case(
        "functions of today",
        """from datasets import load_dataset
from huggingface_hub import login

login(token=token)
data = load_dataset("glue", "mrpc", token=True)
""",
    ),
    Case(
        "functions of the same name",
        """from mylib import load_dataset, login

login(write_permission=True)
data = load_dataset("glue", use_auth_token=True)
""",
    ),
    Case(
        "a method of the same name",
        """import datasets

builder.load_dataset("my/data", use_auth_token=True)
""",
    ),
)
