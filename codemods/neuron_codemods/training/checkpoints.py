"""Saves models that are sharded at load without their optimizer, which transformers cannot checkpoint.

transformers 5 refuses at construction: "Resuming is not supported for models sharded at load time". The script gets
`save_only_model=True`, and where it resumes a callback that saves the optimizer beside its checkpoints.

https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import CallEdit, Change, InsertLines
from neuron_codemods.imports import existing_import, local_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.accelerators import accelerators
from neuron_codemods.training.defaults import is_copy, saves_only_model
from neuron_codemods.training.parallel import loads
from neuron_codemods.values import Arguments, all_arguments, keyword, literal

RULE = Rule(
    code="NM133",
    name="checkpoint",
    summary="save_only_model=True for a model that is sharded where it is loaded.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments",
    outcomes=(Outcome.REVIEW, Outcome.MANUAL),
)

_MESSAGE = (
    "A model sharded at load cannot checkpoint its optimizer natively: checkpoints hold the model only "
    "(save_only_model=True)"
)
_FRESH = ", and without neuron_shim.ResumeCallback a resumed run starts with a fresh optimizer"

CALLBACK = "neuron_shim.ResumeCallback"
_RESUMING = (
    "ResumeCallback saves the optimizer beside each checkpoint and loads it again, which the trainer does not do for "
    "a model that is sharded. What the old stack saved has to be converted first: neuron-shim export --optimizer."
)


def check(module: Module) -> Iterator[Change]:
    if not any(load.is_sharded for load in loads(module)):
        return
    made = [item for item in all_arguments(module) if not is_copy(module, item)]
    resumes = list(_resumes(module))
    message = f"{_MESSAGE}{'' if any(change.edits for change in resumes) else _FRESH}."
    for item in made:
        yield from _best_model(module, item)
        if item.is_parsed:
            yield Change(Outcome.REVIEW, item.call, message)
        elif saves_only_model(module, item):
            if item.unread:
                yield Change(Outcome.REVIEW, item.call, f"{message} Put it into the ** mapping.")
            else:
                edit = CallEdit(item.call, added=(("save_only_model", "True"),))
                yield Change(Outcome.REVIEW, item.call, message, (edit,))
    if not made and not accelerators(module):
        load = next(load for load in loads(module) if load.is_sharded)
        yield Change(Outcome.REVIEW, load.call, f"{message} Set it where the training arguments are made.")
    yield from resumes


def _best_model(module: Module, made: Arguments) -> Iterator[Change]:
    """Loading the best model at the end fails on the DTensors of a sharded full model; adapters are whole."""
    best = made.value("load_best_model_at_end")
    if best is None or literal(best) in (False, None) or all(load.is_lora for load in loads(module)):
        return
    message = (
        "load_best_model_at_end fails for a full model that is sharded at load (transformers 5.24 copies whole "
        "tensors "
        "into sharded ones): delete it, and load the best checkpoint's folder after training."
    )
    yield Change(Outcome.MANUAL, best, message)


def _resumes(module: Module) -> Iterator[Change]:
    """A callback saves and loads the optimizer where the script says that it resumes."""
    saves = [item for item in all_arguments(module) if literal(item.value("save_strategy")) != "no"]
    if existing_import(module, CALLBACK) is not None or not saves:
        return
    for call in module.calls:
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == "train"):
            continue
        resume = keyword(call, "resume_from_checkpoint")
        if resume is None or literal(resume.value) in (None, False):
            continue
        trainer = call.func.value
        if isinstance(trainer, ast.Name):
            line = f"{trainer.id}.add_callback({local_name(module, CALLBACK)}({trainer.id}))"
            edit = InsertLines(module.statement(call), (line,))
            yield Change(Outcome.REVIEW, resume, _RESUMING, (edit,), (CALLBACK,))
        else:
            yield Change(Outcome.REVIEW, resume, f"{_RESUMING} Add it to the trainer before it trains.")


CASES = (
    Case(
        "checkpoints of a sharded model",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForCausalLM

args = NeuronTrainingArguments("out", tensor_parallel_size=8)
model = AutoModelForCausalLM.from_pretrained("my/model")
""",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForCausalLM

args = NeuronTrainingArguments("out", tensor_parallel_size=8, save_only_model=True)
model = AutoModelForCausalLM.from_pretrained("my/model")
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "the best model cannot be loaded at the end",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForCausalLM

args = NeuronTrainingArguments("out", tensor_parallel_size=8, save_strategy="no", \
load_best_model_at_end=True)
model = AutoModelForCausalLM.from_pretrained("my/model")
""",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForCausalLM

# TODO(neuron-migrate NM133): load_best_model_at_end fails for a full model that is sharded at \
load (transformers 5.24 copies whole tensors into sharded ones): delete it, and load the best \
checkpoint's folder after training: \
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
args = NeuronTrainingArguments("out", tensor_parallel_size=8, save_strategy="no", \
load_best_model_at_end=True)
model = AutoModelForCausalLM.from_pretrained("my/model")
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a run that resumes",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForCausalLM

args = NeuronTrainingArguments("out", tensor_parallel_size=8, save_only_model=True)
model = AutoModelForCausalLM.from_pretrained("my/model")
trainer = NeuronTrainer(model=model, args=args)
trainer.train(resume_from_checkpoint=True)
""",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForCausalLM
from neuron_shim import ResumeCallback

args = NeuronTrainingArguments("out", tensor_parallel_size=8, save_only_model=True)
model = AutoModelForCausalLM.from_pretrained("my/model")
trainer = NeuronTrainer(model=model, args=args)
trainer.add_callback(ResumeCallback(trainer))
trainer.train(resume_from_checkpoint=True)
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "nothing is saved",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForCausalLM

args = NeuronTrainingArguments("out", tensor_parallel_size=8, save_strategy="no")
model = AutoModelForCausalLM.from_pretrained("my/model")
""",
    ),
    Case(
        "a model that is not sharded",
        """from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForSequenceClassification

args = NeuronTrainingArguments("out", load_best_model_at_end=True)
model = AutoModelForSequenceClassification.from_pretrained("my/model")
""",
    ),
    Case(
        "a file without Optimum Neuron",
        """from transformers import AutoModelForCausalLM, TrainingArguments

args = TrainingArguments("out")
model = AutoModelForCausalLM.from_pretrained("my/model")
""",
    ),
)
