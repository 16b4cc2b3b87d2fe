"""Takes away or marks methods and attributes that trainers, models and adapters no longer have.

Hooks of the compile cache, helpers of pipeline stages and metrics of the old loop have no native counterpart. A call
that stands alone goes; a value that is used stays under a marker that says what to read instead.

https://huggingface.co/docs/transformers/main_classes/trainer
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data import Keyword, members
from neuron_codemods.edits import Change, Edit, RemoveStatement, Unwrap
from neuron_codemods.imports import local_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.objects import ADAPTERS, ARGUMENTS, MODEL, TRAINER, owner
from neuron_codemods.training.parallel import quote, size_text, trains
from neuron_codemods.values import arguments_of, rename_attribute, single_arguments

RULE = Rule(
    code="NM125",
    name="gone-member",
    summary="Methods and attributes of trainers, models and adapters that are gone.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

SIZES = "neuron_shim.parallel_sizes"
_SIZES = {"dp_size": "{}({})[{}fsdp_size{}]", "mp_enabled": "({}({})[{}tp_size{}] > 1)"}
"""Attributes that are a matter of the parallel sizes, as they are written now."""
_ELSEWHERE = {
    TRAINER: frozenset({"compute_loss"}),
    ARGUMENTS: frozenset(
        {
            *("trn_config", "mp_plugin", "tp_plugin", "tensor_parallel_size", "pipeline_parallel_size"),
            "overwrite_output_dir",
        }
    ),
    MODEL: frozenset[str](),
    ADAPTERS: frozenset({"save_pretrained"}),
}
"""What rules of their own look at."""
_NUMBERS = {
    "world_size": "the number of data parallel ranks in releases 0.4.0 to 0.4.5",
    "train_batch_size": "the batch size of all data parallel ranks in releases 0.4.0 to 0.4.5",
}


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    for attribute in module.names.attributes:
        if not isinstance(attribute.ctx, ast.Load):
            continue
        for table, others in _ELSEWHERE.items():
            rows = members(table).get(attribute.attr, ())
            if not rows or attribute.attr in others or rows[0].action == "keep":
                continue
            if owner(module, attribute.value) == table and not _is_own_method(module, attribute):
                yield from _member(module, attribute, rows[0])


def _is_own_method(module: Module, attribute: ast.Attribute) -> bool:
    """Whether a class calls a method on itself that it defines."""
    if not (isinstance(attribute.value, ast.Name) and attribute.value.id == "self"):
        return False
    definition = next((above for above in module.ancestors(attribute) if isinstance(above, ast.ClassDef)), None)
    return definition is not None and any(
        isinstance(item, ast.FunctionDef) and item.name == attribute.attr for item in definition.body
    )


def _member(module: Module, attribute: ast.Attribute, row: Keyword) -> Iterator[Change]:
    name = attribute.attr
    if name in _NUMBERS:
        yield from _number(attribute)
    elif name == "resume_from_checkpoint":
        return
    elif name in _SIZES and module.is_placed(attribute):
        yield _of_sizes(module, attribute)
    elif name == "is_logging_process" and module.is_placed(attribute):
        called = isinstance(module.parent(attribute), ast.Call)
        end = module.source.span(attribute)[1]
        edit = rename_attribute(module, attribute, "is_world_process_zero" if called else "is_world_process_zero()")
        assert end
        yield Change(Outcome.REWRITTEN, attribute, f"{name} is called is_world_process_zero.", (edit,))
    elif name == "train_step":
        yield Change(Outcome.MANUAL, attribute, f"{name}: call training_step(model, inputs) instead.")
    else:
        yield _gone(module, attribute, row)


def _number(attribute: ast.Attribute) -> Iterator[Change]:
    message = f"{attribute.attr} was {_NUMBERS[attribute.attr]}, and is that of {{}} natively."
    native = "all ranks, tensor parallel ones included" if attribute.attr == "world_size" else "one process"
    yield Change(Outcome.REVIEW, attribute, message.format(native))


def _of_sizes(module: Module, attribute: ast.Attribute) -> Change:
    made = arguments_of(module, attribute.value) or single_arguments(module)
    mark = quote(module, attribute)
    text = _SIZES[attribute.attr].format(local_name(module, SIZES), size_text(module, made, attribute), mark, mark)
    edit = Edit.replace(module.source.span(attribute), text)
    message = f"{attribute.attr} is a matter of the parallel sizes of the launch line."
    return Change(Outcome.REWRITTEN, attribute, message, (edit,), (SIZES,))


def _gone(module: Module, attribute: ast.Attribute, row: Keyword) -> Change:
    name = attribute.attr
    call = module.parent(attribute)
    if row.action == "drop" and isinstance(call, ast.Call) and call.func is attribute:
        above = module.parent(call)
        if isinstance(above, ast.Expr):
            message = f"The call of {name} goes: there is no native counterpart."
            return Change(Outcome.REWRITTEN, attribute, message, (RemoveStatement(above),))
        if isinstance(above, ast.withitem) and above.optional_vars is None:
            statement = module.parent(above)
            if isinstance(statement, ast.With) and len(statement.items) == 1:
                return Change(Outcome.REWRITTEN, attribute, f"The block of {name} is unwrapped.", (Unwrap(statement),))
    return Change(Outcome.MANUAL, attribute, f"{name} is gone. {row.reason}")


_TRAIN = "from optimum.neuron import NeuronTrainer\n\ntrainer = NeuronTrainer(model=model)\n"

CASES = (
    Case(
        "a call that stands alone goes",
        f"{_TRAIN}trainer.train()\ntrainer.synchronize_hub_cache()\n",
        f"{_TRAIN}trainer.train()\n",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a value that is used",
        f"{_TRAIN}print(trainer.num_tokens)\n",
        f"""{_TRAIN}# TODO(neuron-migrate NM125): num_tokens is gone. Read num_input_tokens_seen from trainer.state, \
with include_num_input_tokens_seen=True: https://huggingface.co/docs/transformers/main_classes/trainer
print(trainer.num_tokens)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "whether a model is split",
        f"{_TRAIN}if trainer.mp_enabled:\n    print(trainer.args)\n",
        """from optimum.neuron import NeuronTrainer
from neuron_shim import parallel_sizes

trainer = NeuronTrainer(model=model)
if (parallel_sizes()["tp_size"] > 1):
    print(trainer.args)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "the number of data parallel ranks",
        """from optimum.neuron import NeuronTrainingArguments

args = NeuronTrainingArguments("out")
print(args.dp_size)
with args.world_size_as_dp_size():
    print(args.seed)
""",
        """from optimum.neuron import NeuronTrainingArguments
from neuron_shim import parallel_sizes

args = NeuronTrainingArguments("out")
print(parallel_sizes(tp_size=1)["fsdp_size"])
print(args.seed)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case("a method that is there", f"{_TRAIN}trainer.train()\ntrainer.save_model()\ntrainer.evaluate()\n"),
    Case("a method of something else", f"{_TRAIN}cache.synchronize_hub_cache()\nprint(meter.num_tokens)\n"),
    Case(
        "the native trainer",
        "from transformers import Trainer\n\ntrainer = Trainer(model=model)\ntrainer.synchronize_hub_cache()\n",
    ),
)
