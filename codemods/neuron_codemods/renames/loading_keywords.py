"""Renames or deletes keywords of `from_pretrained` that transformers 5 refuses or no longer looks at.

`torch_dtype=` is `dtype=`, `use_auth_token=` is `token=`, `load_in_8bit=True` is a `BitsAndBytesConfig`. A keyword
that a model does not know goes to its constructor, which refuses it; a tokenizer passes over it in silence.

https://huggingface.co/docs/transformers/main_classes/model#transformers.PreTrainedModel.from_pretrained
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from neuron_codemods.data.renames import renames
from neuron_codemods.edits import CallEdit, Change
from neuron_codemods.given import Given
from neuron_codemods.imports import local_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renames import by_row
from neuron_codemods.renames.libraries import local_class
from neuron_codemods.renaming import is_called_otherwise
from neuron_codemods.training.parallel import loads
from neuron_codemods.values import Arguments, keyword, mappings, named

RULE = Rule(
    code="NM730",
    name="renamed-loading-keyword",
    summary="from_pretrained: torch_dtype, use_auth_token, load_in_8bit, use_flash_attention_2 and others.",
    url="https://huggingface.co/docs/transformers/main_classes/model#transformers.PreTrainedModel.from_pretrained",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

QUANTIZATION = "transformers.BitsAndBytesConfig"
DISTRIBUTED = "transformers.distributed.DistributedConfig"
_METHODS = ("from_pretrained", "from_config")
_PACKAGES = ("transformers", "peft", "trl")
_SEEN_TO = frozenset({"torch_dtype", "use_flash_attention_2", "low_cpu_mem_usage"})
"""What the rule of model loading sees to where training with Optimum Neuron loads its model."""
_BITS = ("load_in_8bit", "load_in_4bit")
_CHECKPOINT = re.compile(r"""["']\.ckpt["'] in\b""")
"""What the example scripts asked of the model's name: is it a checkpoint of TensorFlow?"""


def check(module: Module) -> Iterator[Change]:
    if not module.renames:
        return
    trained = {load.call: load.is_sharded for load in loads(module)}
    for call in module.calls:
        if not is_load(module, call):
            continue
        literals, _ = mappings(module, call)
        made = Arguments(call, "from_pretrained", False, False, literals)
        for holder in made.holders:
            for item in named(holder):
                if item.arg in _SEEN_TO and holder is call and call in trained:
                    continue
                change = _change(Given(module, made, holder, item), trained.get(call, False))
                if change is not None:
                    yield change


def is_load(module: Module, call: ast.Call) -> bool:
    """Whether a call loads something of the libraries, or builds a model from a configuration.

    Loads of compiled models are not meant: rules of their own rewrite the class and all keywords.
    """
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in _METHODS:
        return False
    symbol = module.symbol(module.resolve(function.value))
    if symbol is not None and is_called_otherwise(symbol):
        return False
    definition = local_class(module, function.value)
    kinds = [function.value] if definition is None else definition.bases
    return any((module.native(kind) or "").partition(".")[0] in _PACKAGES for kind in kinds)


def _change(given: Given, is_sharded: bool) -> Change | None:
    if given.name in _BITS:
        return _bits(given)
    if given.name == "use_flash_attention_2":
        return _flash(given)
    if given.name == "tp_plan":
        return _plan(given, is_sharded)
    row = renames("loading")["from_pretrained"].get(given.name)
    if row is not None and given.name == "from_tf" and _CHECKPOINT.search(given.text):
        return given.change(Outcome.REVIEW, f"from_tf goes. {row.message}", given.remove())
    return by_row.change(given, row) if row is not None else None


def _bits(given: Given) -> Change:
    if given.known in (False, None):
        return given.change(Outcome.REWRITTEN, f"{given.name}={given.text} goes: it is the default.", given.remove())
    other = next(name for name in _BITS if name != given.name)
    if given.has("quantization_config"):
        if given.known is True:
            message = f"{given.name} goes: quantization_config says so."
            return given.change(Outcome.REWRITTEN, message, given.remove())
        return given.change(Outcome.MANUAL, f"Put {given.name} into quantization_config.")
    found = given.made.find(other)
    if found is not None and given.made.value(other) is not None and _is_on(found[1]):
        return given.change(Outcome.MANUAL, f"Put {given.name} and {other} into a BitsAndBytesConfig.")
    if given.known is True:
        text = f"{local_name(given.module, QUANTIZATION)}({given.name}=True)"
        edits = (given.rename("quantization_config"), given.replace(text))
        message = f"{given.name} is an argument of BitsAndBytesConfig."
        return given.change(Outcome.REWRITTEN, message, *edits, requires=(QUANTIZATION,))
    text = f"{local_name(given.module, QUANTIZATION)}({given.name}=True) if {given.text} else None"
    if not isinstance(given.item.value, (ast.Name, ast.Attribute, ast.Subscript)):
        return given.change(
            Outcome.MANUAL, f"Pass quantization_config=BitsAndBytesConfig({given.name}=True) where it is on."
        )
    edits = (given.rename("quantization_config"), given.replace(text))
    message = f"{given.name} is an argument of BitsAndBytesConfig."
    return given.change(Outcome.REWRITTEN, message, *edits, requires=(QUANTIZATION,))


def _is_on(item: ast.keyword) -> bool:
    return not (isinstance(item.value, ast.Constant) and item.value.value in (False, None))


def _flash(given: Given) -> Change:
    if given.known in (False, None) or given.has("attn_implementation"):
        return given.change(Outcome.REWRITTEN, f"{given.name} goes.", given.remove())
    text = '"flash_attention_2"'
    if given.known is not True:
        if not isinstance(given.item.value, (ast.Name, ast.Attribute, ast.Subscript)):
            return given.change(Outcome.MANUAL, f"Pass attn_implementation={text} where {given.name} is true.")
        text = f"{text} if {given.text} else None"
    edits = (given.rename("attn_implementation"), given.replace(text))
    return given.change(Outcome.REWRITTEN, f'{given.name} is attn_implementation="flash_attention_2".', *edits)


def _plan(given: Given, is_sharded: bool) -> Change | None:
    if given.known is None:
        return given.change(Outcome.REWRITTEN, "tp_plan=None goes.", given.remove())
    if is_sharded or given.has("distributed_config"):
        return given.change(Outcome.MANUAL, "Put tp_plan into the distributed_config.")
    text = f"{local_name(given.module, DISTRIBUTED)}(tp_plan={given.text})"
    edits: tuple[CallEdit, ...] = (given.rename("distributed_config"), given.replace(text))
    message = (
        "tp_plan is an argument of DistributedConfig, which wants to be told the size too: add tp_size, or "
        "**neuron_shim.parallel_sizes()."
    )
    return given.change(Outcome.REVIEW, message, *edits, requires=(DISTRIBUTED,))


def dtype_is_given(call: ast.Call) -> bool:
    """Whether a load says in which precision."""
    return keyword(call, "dtype", "torch_dtype") is not None


CASES = (
    Case(
        "a model and a tokenizer",
        """import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model", use_auth_token=True)
model = AutoModelForCausalLM.from_pretrained(
    "my/model",
    torch_dtype=torch.float16,
    use_auth_token=token,
    low_cpu_mem_usage=True,
    use_flash_attention_2=True,
    resume_download=True,
)
""",
        """import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model", token=True)
model = AutoModelForCausalLM.from_pretrained(
    "my/model",
    dtype=torch.float16,
    token=token,
    attn_implementation="flash_attention_2",
)
""",
        (Outcome.REWRITTEN,) * 6,
    ),
    Case(
        "quantization has a configuration",
        """from transformers import AutoModelForCausalLM

first = AutoModelForCausalLM.from_pretrained("my/model", load_in_8bit=True, load_in_4bit=False)
second = AutoModelForCausalLM.from_pretrained("my/model", load_in_4bit=args.small)
""",
        """from transformers import AutoModelForCausalLM, BitsAndBytesConfig

first = AutoModelForCausalLM.from_pretrained(
    "my/model",
    quantization_config=BitsAndBytesConfig(load_in_8bit=True),
)
second = AutoModelForCausalLM.from_pretrained(
    "my/model",
    quantization_config=BitsAndBytesConfig(load_in_4bit=True) if args.small else None,
)
""",
        (Outcome.REWRITTEN,) * 3,
    ),
    Case(
        "a mapping and weights of another framework",
        """from transformers import AutoConfig, AutoModel

options = {"use_auth_token": None, "torch_dtype": "auto"}
model = AutoModel.from_pretrained("my/model", from_tf=bool(".ckpt" in path), **options)
""",
        """from transformers import AutoConfig, AutoModel

options = {"token": None, "dtype": "auto"}
model = AutoModel.from_pretrained("my/model", **options)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "weights of TensorFlow",
        """from transformers import AutoModel

model = AutoModel.from_pretrained("my/model", from_tf=True)
""",
        """from transformers import AutoModel

# TODO(neuron-migrate NM730): from_tf: TensorFlow weights are no longer read: convert them with transformers 4: \
https://huggingface.co/docs/transformers/main_classes/model#transformers.PreTrainedModel.from_pretrained
model = AutoModel.from_pretrained("my/model", from_tf=True)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a tensor parallel plan",
        """from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("my/model", tp_plan="auto")
""",
        """from transformers import AutoModelForCausalLM
from transformers.distributed import DistributedConfig

model = AutoModelForCausalLM.from_pretrained(
    "my/model",
    distributed_config=DistributedConfig(tp_plan="auto"),
)
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "keywords of today",
        """from transformers import AutoModelForCausalLM, BitsAndBytesConfig

config = BitsAndBytesConfig(load_in_4bit=True)
model = AutoModelForCausalLM.from_pretrained("my/model", dtype="auto", token=True, quantization_config=config)
""",
    ),
    Case(
        "a loader of another library",
        """from diffusers import DiffusionPipeline
from transformers import pipeline

pipe = DiffusionPipeline.from_pretrained("my/model", torch_dtype="auto", use_auth_token=True)
""",
    ),
    Case(
        "a model whose class is not known",
        """from transformers import AutoTokenizer


def load(kind):
    return kind.from_pretrained("my/model", load_in_8bit=True)
""",
    ),
    Case(
        "another function with such keywords",
        """from transformers import AutoModel

report = describe(torch_dtype="auto", load_in_8bit=True)
""",
    ),
)
