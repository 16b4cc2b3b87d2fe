"""Loads the model with `DistributedConfig` and explicit precision, where Optimum Neuron took a `trn_config`.

NeuronTrainer parallelised the model, kept fp32 master weights for the optimizer and chose NKI attention. Natively the
model is sharded where it is loaded, AdamW updates the weights as they were loaded (so they are loaded in fp32 and
`bf16=True` autocasts), and `sdpa` picks the kernel.

https://huggingface.co/docs/transformers/main_classes/model
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import CallEdit, Change, Edit
from neuron_codemods.imports import local_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.configuring import is_configured
from neuron_codemods.training.parallel import Load, loads, sizes_text
from neuron_codemods.training.precision import (
    DTYPES,
    held,
    is_bf16_by_weights,
    is_understood,
    may_be_half,
    may_use_bf16,
    must_say_bf16,
    only_scores,
)
from neuron_codemods.values import (
    UNKNOWN,
    all_arguments,
    constant,
    dtype_text,
    has_splat,
    keyword,
    literal,
    remove_argument,
    rename_argument,
    replace_value,
)

RULE = Rule(
    code="NM130",
    name="model-loading",
    summary="from_pretrained of a trained model: trn_config, precision, attention and parallel sizes.",
    url="https://huggingface.co/docs/transformers/main_classes/model",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW),
)

CONFIG = "transformers.distributed.DistributedConfig"
SIZES = "neuron_shim.parallel_sizes"
_FLASH = "flash_attention_2"


def check(module: Module) -> Iterator[Change]:
    for load in loads(module):
        if not load.is_training_class and load.around is None and is_configured(module):
            continue  # an earlier run has seen to it
        yield from _parallel(module, load)
        yield from _precision(module, load)
        yield from _attention(module, load)
        yield from _ignored(module, load)


# Parallel sizes ---------------------------------------------------------------------------------------------------


def _parallel(module: Module, load: Load) -> Iterator[Change]:
    edits: list[CallEdit] = []
    if load.config is not None:
        edits.append(remove_argument(load.call, load.config))
    if not load.is_sharded:
        if load.config is not None:
            message = "trn_config goes: a model that is built from a configuration is not sharded natively."
            yield Change(Outcome.REVIEW, load.call, message, tuple(edits))
        return
    device_map = keyword(load.call, "device_map")
    if device_map is not None:
        edits.append(remove_argument(load.call, device_map))
    sizes = sizes_text(load)
    text = f"{local_name(module, CONFIG)}(**{local_name(module, SIZES)}({sizes}))"
    edits.append(CallEdit(load.call, added=(("distributed_config", text),)))
    yield Change(
        Outcome.REVIEW if load.is_lora or load.size.lost or device_map is not None else Outcome.REWRITTEN,
        load.call,
        _parallel_message(load, device_map is not None),
        tuple(edits),
        (CONFIG, SIZES),
        launch=f"TP_SIZE={1 if load.is_lora else load.size.shown}",
    )


def _parallel_message(load: Load, had_device_map: bool) -> str:
    if load.is_lora:
        size = f"tensor parallel size {load.size.text}" if load.size.known not in (None, 1) else "tensor parallelism"
        message = (
            f"Adapters on row-parallel layers fail under tensor parallelism, so {size} becomes FSDP over all ranks, "
            "which trains to the same losses: launch with TP_SIZE=1."
        )
    else:
        message = (
            f"The model is sharded where it is loaded: TP_SIZE={load.size.shown} by tensor parallelism, the other "
            "ranks "
            "by FSDP."
        )
    if load.size.lost and not load.is_lora:
        message += (
            f" The size the script asked for, {load.size.lost}, is not known at the load: TP_SIZE alone decides."
        )
    return message + (" device_map goes: it excludes a distributed_config." if had_device_map else "")


# Precision --------------------------------------------------------------------------------------------------------


def _precision(module: Module, load: Load) -> Iterator[Change]:
    found = keyword(load.call, *DTYPES)
    full = dtype_text(module, "float32", load.call)
    if found is None:
        if has_splat(load.call):
            message = (
                "Unless the ** mapping holds a dtype, weights load as the checkpoint has them, no longer in float32."
            )
            yield Change(Outcome.REVIEW, load.call, message)
            return
        message = "Weights load in float32 as before; the native default is the checkpoint's own dtype."
        outcome = Outcome.REWRITTEN
        if load.is_lora and load.is_trained and may_use_bf16(module):
            outcome = Outcome.REVIEW
            message += (
                " With bf16=True the frozen base was cast to bf16 later: load it with dtype=torch.bfloat16 for half "
                "the memory, and PEFT still keeps the adapters in float32."
            )
        yield Change(outcome, load.call, message, (CallEdit(load.call, added=(("dtype", full),)),))
        return
    edits: tuple[CallEdit | Edit, ...] = ()
    if found.arg != "dtype":
        edits = (rename_argument(load.call, found, "dtype"),)
    dtype = held(module, found.value)
    if literal(dtype) is None:
        message = "dtype=None meant float32, which is spelled out; natively it is the checkpoint's own dtype."
        yield Change(Outcome.REWRITTEN, found, message, (*edits, replace_value(load.call, found, full)))
        return
    if load.is_trained and not load.is_lora and _may_be_none(module, dtype):
        message = (
            "None meant float32, which is spelled out. If this is a half precision, load in float32 and keep "
            "bf16=True: the old optimizer kept fp32 master weights, natively half precision weights are updated as "
            "they are."
        )
        otherwise = Edit.insert(module.source.span(found.value)[1], f" or {full}")
        yield Change(Outcome.REVIEW, found, message, (*edits, otherwise))
        return
    if not may_be_half(module, dtype) or load.is_lora or not load.is_trained or only_scores(module):
        if load.is_lora and load.is_trained and may_be_half(module, dtype):
            message = (
                "The frozen base keeps its dtype; PEFT keeps the adapters in float32, where they were cast with it."
            )
            yield Change(Outcome.REVIEW, found, message, edits)
        elif edits:
            yield Change(Outcome.REWRITTEN, found, "torch_dtype is called dtype.", edits)
        return
    if not is_understood(module, dtype):
        message = (
            "If this is a half precision, load in float32 and keep bf16=True: the old optimizer kept fp32 master "
            "weights, natively half precision weights are updated as they are."
        )
        yield Change(Outcome.REVIEW, found, message, edits)
        return
    flag = "bf16=True"
    if is_bf16_by_weights(module, load) and any(must_say_bf16(module, made) for made in all_arguments(module)):
        flag = "bf16=True (added to the arguments)"
    message = (
        f"Weights load in float32 and {flag} autocasts, which keeps fp32 master weights as the old optimizer did; "
        "natively bf16 weights at a small learning rate stop moving. It needs the memory of fp32 weights."
    )
    yield Change(Outcome.REVIEW, found, message, (*edits, _value_edit(module, load, found, dtype, full)))


def _may_be_none(module: Module, node: ast.expr) -> bool:
    """Whether a dtype is taken from somewhere that may hold None: ``model_args.torch_dtype``."""
    if (module.resolve(node) or "").startswith("torch."):
        return False
    return isinstance(node, (ast.Name, ast.Subscript)) or (
        isinstance(node, ast.Attribute) and node.attr in ("torch_dtype", "dtype", "model_dtype")
    )


def _value_edit(module: Module, load: Load, found: ast.keyword, held: ast.expr, full: str) -> CallEdit | Edit:
    """Change the dtype where the script decides it: in the variable if all it does is this, else in the call."""
    if held is not found.value and isinstance(found.value, ast.Name):
        binding = module.binding(found.value)
        assert binding is not None  # it leads to what is held
        uses = [reference.node for reference in module.references(binding)]
        calls = [other.call for other in loads(module)]
        if all(
            isinstance(above := module.parent(use), ast.keyword)
            and above.arg in DTYPES
            and module.parent(above) in calls
            for use in uses
        ):
            return Edit.replace(module.source.span(held), full)
    return replace_value(load.call, found, full)


# Attention and what is ignored ------------------------------------------------------------------------------------


def _attention(module: Module, load: Load) -> Iterator[Change]:
    found = keyword(load.call, "attn_implementation")
    if found is not None:
        yield from _implementation(module, load, found)
    flag = keyword(load.call, "use_flash_attention_2")
    if flag is not None:
        edits: tuple[CallEdit, ...] = (remove_argument(load.call, flag),)
        if literal(flag.value) is not False and found is None:
            name = rename_argument(load.call, flag, "attn_implementation")
            edits = (name, replace_value(load.call, flag, '"sdpa"'))
        yield Change(Outcome.REWRITTEN, flag, 'use_flash_attention_2 is attn_implementation="sdpa".', edits)
    if found is None and flag is None and load.is_training_class and not has_splat(load.call):
        message = (
            "Attention was eager unless the script asked for more; natively it is sdpa, with the same result but for "
            'rounding. Pass attn_implementation="eager" for the old kernel.'
        )
        yield Change(Outcome.REVIEW, load.call, message)


def _implementation(module: Module, load: Load, found: ast.keyword) -> Iterator[Change]:
    message = "flash_attention_2 chose an NKI kernel; natively it asks for a CUDA package, and sdpa picks the kernel."
    if constant(module, found.value) == _FLASH:
        yield Change(Outcome.REWRITTEN, found, message, (replace_value(load.call, found, '"sdpa"'),))
        return
    leaves = list(_leaves(found.value))
    named = [leaf for leaf in leaves if literal(leaf) == _FLASH]
    if named:
        edits = tuple(Edit.replace(module.source.span(leaf), '"sdpa"') for leaf in named)
        yield Change(Outcome.REWRITTEN, found, message, edits)
    if any(constant(module, leaf) in (UNKNOWN, _FLASH) for leaf in leaves if leaf not in named):
        yield Change(Outcome.REVIEW, found, f"Pass sdpa where this is flash_attention_2: {message}")


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    """What an expression may be: both branches of a conditional one."""
    if isinstance(node, ast.IfExp):
        yield from _leaves(node.body)
        yield from _leaves(node.orelse)
    else:
        yield node


def _ignored(module: Module, load: Load) -> Iterator[Change]:
    found = keyword(load.call, "low_cpu_mem_usage")
    if found is not None:
        edit = remove_argument(load.call, found)
        yield Change(Outcome.REWRITTEN, found, "low_cpu_mem_usage goes: it is ignored since transformers 5.", (edit,))


CASES = (
    Case(
        "a training class with directly built arguments",
        """import torch
from optimum.neuron import NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM

args = NeuronTrainingArguments("out", bf16=True, tensor_parallel_size=8)
model = NeuronModelForCausalLM.from_pretrained(
    "my/model",
    args.trn_config,
    torch_dtype=torch.bfloat16,
    use_flash_attention_2=True,
)
""",
        """import torch
from optimum.neuron import NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM
from neuron_shim import parallel_sizes
from transformers.distributed import DistributedConfig

args = NeuronTrainingArguments("out", bf16=True, tensor_parallel_size=8)
model = NeuronModelForCausalLM.from_pretrained(
    "my/model",
    dtype=torch.float32,
    attn_implementation="sdpa",
    distributed_config=DistributedConfig(**parallel_sizes(tp_size=8, model="my/model")),
)
""",
        (
            Outcome.REWRITTEN,
            Outcome.REVIEW,
            Outcome.REWRITTEN,
        ),
    ),
    Case(
        "sizes from the launch line",
        """import torch
from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM

parser = NeuronHfArgumentParser(NeuronTrainingArguments)
(training_args,) = parser.parse_args_into_dataclasses()
dtype = torch.bfloat16 if training_args.bf16 else torch.float32
model = NeuronModelForCausalLM.from_pretrained(
    "my/model", trn_config=training_args.trn_config, torch_dtype=dtype, \
attn_implementation="flash_attention_2"
)
""",
        """import torch
from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM
from neuron_shim import parallel_sizes
from transformers.distributed import DistributedConfig

parser = NeuronHfArgumentParser(NeuronTrainingArguments)
(training_args,) = parser.parse_args_into_dataclasses()
dtype = torch.float32
model = NeuronModelForCausalLM.from_pretrained(
    "my/model",
    dtype=dtype,
    attn_implementation="sdpa",
    distributed_config=DistributedConfig(**parallel_sizes(model="my/model")),
)
""",
        (
            Outcome.REWRITTEN,
            Outcome.REVIEW,
            Outcome.REWRITTEN,
        ),
    ),
    Case(
        "a model that only scores keeps its precision",
        """import torch
from optimum.neuron import NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM

args = NeuronTrainingArguments("out", bf16=True, tensor_parallel_size=8)
model = NeuronModelForCausalLM.from_pretrained("my/model", args.trn_config, torch_dtype=torch.bfloat16)
with torch.no_grad():
    print(model(batch))
""",
        """import torch
from optimum.neuron import NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM
from neuron_shim import parallel_sizes
from transformers.distributed import DistributedConfig

args = NeuronTrainingArguments("out", bf16=True, tensor_parallel_size=8)
model = NeuronModelForCausalLM.from_pretrained(
    "my/model",
    dtype=torch.bfloat16,
    distributed_config=DistributedConfig(**parallel_sizes(tp_size=8, model="my/model")),
)
with torch.no_grad():
    print(model(batch))
""",
    ),
    Case(
        "adapters are sharded by FSDP and their base stays bf16",
        """import torch
from peft import LoraConfig
from optimum.neuron import NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM

args = NeuronTrainingArguments("out", bf16=True, tensor_parallel_size=8)
lora = LoraConfig(r=8, target_modules=["q_proj", "o_proj"])
model = NeuronModelForCausalLM.from_pretrained("my/model", args.trn_config, \
torch_dtype=torch.bfloat16)
""",
        """import torch
from peft import LoraConfig
from optimum.neuron import NeuronTrainingArguments
from optimum.neuron.models.training import NeuronModelForCausalLM
from neuron_shim import parallel_sizes
from transformers.distributed import DistributedConfig

args = NeuronTrainingArguments("out", bf16=True, tensor_parallel_size=8)
lora = LoraConfig(r=8, target_modules=["q_proj", "o_proj"])
model = NeuronModelForCausalLM.from_pretrained(
    "my/model",
    dtype=torch.bfloat16,
    distributed_config=DistributedConfig(**parallel_sizes(tp_size=1)),
)
""",
        (
            Outcome.REVIEW,
            Outcome.REVIEW,
            Outcome.REVIEW,
        ),
    ),
    Case(
        "lazy loading says the size",
        """from transformers import AutoModelForCausalLM
from optimum.neuron.distributed import lazy_load_for_parallelism

with lazy_load_for_parallelism(tensor_parallel_size=4):
    model = AutoModelForCausalLM.from_pretrained("my/model", low_cpu_mem_usage=True)
""",
        """from transformers import AutoModelForCausalLM
from optimum.neuron.distributed import lazy_load_for_parallelism
from neuron_shim import parallel_sizes
from transformers.distributed import DistributedConfig

with lazy_load_for_parallelism(tensor_parallel_size=4):
    model = AutoModelForCausalLM.from_pretrained(
        "my/model",
        distributed_config=DistributedConfig(**parallel_sizes(tp_size=4, model="my/model")),
        dtype="float32",
    )
""",
        (
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
            Outcome.REWRITTEN,
        ),
    ),
    Case(
        "attention that a flag chooses",
        """from optimum.neuron import NeuronTrainer
from transformers import AutoModelForSequenceClassification

kernel = "flash_attention_2" if args.flash else "eager" if args.eager else args.kernel
model = AutoModelForSequenceClassification.from_pretrained("my/model", dtype="float32", attn_implementation=kernel)
other = AutoModelForSequenceClassification.from_pretrained(
    "my/model", dtype="float32", attn_implementation="flash_attention_2" if args.flash else "eager"
)
trainer = NeuronTrainer(model=model)
""",
        """from optimum.neuron import NeuronTrainer
from transformers import AutoModelForSequenceClassification

kernel = "flash_attention_2" if args.flash else "eager" if args.eager else args.kernel
model = AutoModelForSequenceClassification.from_pretrained("my/model", dtype="float32", attn_implementation=kernel)
other = AutoModelForSequenceClassification.from_pretrained(
    "my/model", dtype="float32", attn_implementation="sdpa" if args.flash else "eager"
)
trainer = NeuronTrainer(model=model)
""",
        (Outcome.REVIEW, Outcome.REWRITTEN),
    ),
    Case(
        "an encoder stays data parallel",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained("my/model", num_labels=2)
trainer = NeuronTrainer(model=model)
""",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained(
    "my/model",
    num_labels=2,
    dtype="float32",
)
trainer = NeuronTrainer(model=model)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a tokenizer and a config",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoConfig, AutoTokenizer

config = AutoConfig.from_pretrained("my/model")
tokenizer = AutoTokenizer.from_pretrained("my/model", low_cpu_mem_usage=True)
trainer = NeuronTrainer()
""",
    ),
    Case(
        "a model in a file that does not train",
        """from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("my/model", torch_dtype="auto", \
use_flash_attention_2=True)
""",
    ),
    Case(
        "a precision and kernel that stay",
        """import torch
from transformers import AutoModelForSequenceClassification
from optimum.neuron import NeuronTrainer

model = AutoModelForSequenceClassification.from_pretrained("my/model", dtype=torch.float32, \
attn_implementation="eager")
trainer = NeuronTrainer(model=model)
""",
    ),
)
