"""Moves jobs that are started with the SageMaker SDK: hyperparameters, environment, images and instances.

`hyperparameters` reach the script as flags, so those of Optimum Neuron go, the tensor parallel size to `TP_SIZE` in
`environment`. Which container and instance take the place of the old ones is for a person to say.

https://sagemaker.readthedocs.io/en/stable/api/training/estimators.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePath

from neuron_codemods.data.launch import Row
from neuron_codemods.data.variables import variable
from neuron_codemods.edits import AnyEdit, CallEdit, Change, Holder
from neuron_codemods.launch.flags import row_of
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module, once
from neuron_codemods.project import ModuleFacts
from neuron_codemods.requirements.images import ADVICE, INSTANCE_ADVICE, is_old_image, old_instance
from neuron_codemods.scripts import Script
from neuron_codemods.values import (
    constant,
    keyword,
    literal,
    mapping_behind,
    named,
    remove_argument,
    rename_argument,
    replace_value,
)

RULE = Rule(
    code="NM409",
    name="sagemaker-job",
    summary="Estimators and models of the SageMaker SDK: hyperparameters, environment, images, instances.",
    url="https://sagemaker.readthedocs.io/en/stable/api/training/estimators.html",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_ENVIRONMENT = ("environment", "env")
_WEAKER = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.Compare, ast.NamedExpr)
"""What stands behind ``**`` in parentheses only."""
_OFF = (False, 0, "0", "false", "False", None)
_MARKS = frozenset({"zero_1", "tensor_parallel_size"})


def check(module: Module) -> Iterator[Change]:
    if not _imports_sdk(module):
        return
    for call in _jobs(module):
        if _is_for_neuron(module, call):
            yield from _hyperparameters(module, call)
            yield from _environment(module, call)
    for node in module.names.strings:
        if isinstance(node.value, str) and module.is_placed(node):
            yield from _named(module, node, node.value)


@once
def _imports_sdk(module: Module) -> bool:
    bindings = (item for items in module.names.module.bindings.values() for item in items)
    return any(item.is_import and (item.qualified or "").partition(".")[0] == "sagemaker" for item in bindings)


def _jobs(module: Module) -> Iterator[ast.Call]:
    """The calls of classes and functions of the SDK."""
    if _imports_sdk(module):
        for call in module.calls:
            if (module.resolve(call.func) or "").startswith("sagemaker."):
                yield call


def _is_for_neuron(module: Module, call: ast.Call) -> bool:
    texts = [constant(module, item.value) for item in call.keywords]
    if any(isinstance(text, str) and (is_old_image(text) or old_instance(text)) for text in texts):
        return True
    given = _mapping(module, keyword(call, "hyperparameters"))
    return given is not None and any(item.arg in _MARKS for item in named(given))


def _mapping(module: Module, given: ast.keyword | None) -> Holder | None:
    return mapping_behind(module, given.value) if given is not None else None


def _hyperparameters(module: Module, call: ast.Call) -> Iterator[Change]:
    given = _mapping(module, keyword(call, "hyperparameters"))
    facts = _facts(module, call)
    script = Script() if facts is None else facts.script
    for item in list(named(given)) if given is not None else ():
        name = (item.arg or "").replace("-", "_")
        row, negated = row_of(name, tunes=script.tunes)
        if given is not None and row is not None and not negated and name not in script.flags:
            yield _hyperparameter(module, call, given, item, row)


def _hyperparameter(module: Module, call: ast.Call, given: Holder, item: ast.keyword, row: Row) -> Change:
    reason = f" {row.reason}" if row.reason else ""
    gone = remove_argument(given, item)
    value = literal(item.value)
    if row.action == "manual" and value not in (*_OFF, 1):
        return Change(Outcome.MANUAL, item.value, f"{item.arg} has no native form. {row.reason}")
    if row.action == "size":
        return _size(module, call, item, gone)
    if row.action == "rename":
        edit = rename_argument(given, item, row.native)
        return Change(Outcome.REWRITTEN, item.value, f"{item.arg} is called {row.native}.{reason}", (edit,))
    if row.action == "variable":
        edits = (gone, *_set(module, call, row.native, module.source.segment(item.value)))
        return Change(Outcome.REWRITTEN, item.value, f"{item.arg} is read from {row.native} now.", edits)
    if row.action == "write" and value not in _OFF:
        name, _, text = row.native.lstrip("-").partition(" ")
        edits = (rename_argument(given, item, name), replace_value(given, item, f'"{text}"'))
        return Change(Outcome.REWRITTEN, item.value, f"{item.arg} is written {row.native} now.", edits)
    outcome = Outcome.REVIEW if row.action == "review" and value not in _OFF else Outcome.REWRITTEN
    return Change(outcome, item.value, f"{item.arg} goes.{reason}", (gone,))


def _size(module: Module, call: ast.Call, item: ast.keyword, gone: CallEdit) -> Change:
    facts = _facts(module, call)
    size = literal(item.value)
    if size == 1:
        return Change(Outcome.REWRITTEN, item.value, f"{item.arg} goes: nothing is sharded.", (gone,))
    text = f'"{size}"' if isinstance(size, (int, str)) else f"str({module.source.segment(item.value)})"
    message = f"{item.arg} is TP_SIZE in the environment now."
    outcome = Outcome.REWRITTEN
    if facts is not None and facts.script.adapters:
        text, outcome = '"1"', Outcome.REVIEW
        message = f"{item.arg} goes, and TP_SIZE is 1: adapters cannot be sharded, so all processes are FSDP."
    return Change(outcome, item.value, message, (gone, *_set(module, call, "TP_SIZE", text)))


def _set(module: Module, call: ast.Call, name: str, text: str) -> tuple[AnyEdit, ...]:
    """The edit that gives the job an environment variable."""
    given = keyword(call, *_ENVIRONMENT)
    mapping = _mapping(module, given)
    if mapping is not None:
        return (CallEdit(mapping, added=((name, text),)),)
    entry = f'"{name}": {text}'
    if given is not None:
        text = module.source.segment(given.value)
        value = f"({text})" if isinstance(given.value, _WEAKER) else text
        return (replace_value(call, given, f"{{**{value}, {entry}}}"),)
    return (CallEdit(call, added=(("environment", f"{{{entry}}}"),)),)


def _environment(module: Module, call: ast.Call) -> Iterator[Change]:
    mapping = _mapping(module, keyword(call, *_ENVIRONMENT))
    for item in list(named(mapping)) if mapping is not None else ():
        row = variable(item.arg) if item.arg else None
        if mapping is None or row is None or row.is_kept or item.arg is None:
            continue
        message = row.message(item.arg)
        value = literal(item.value)
        if row.is_read or row.is_manual:
            outcome = Outcome.MANUAL if row.is_manual else Outcome(row.outcome)
            yield Change(outcome, item.value, message)
        elif row.native:
            yield Change(Outcome(row.outcome), item.value, message, (rename_argument(mapping, item, row.native),))
        else:
            yield Change(row.gone(value), item.value, message, (remove_argument(mapping, item),))


def _facts(module: Module, call: ast.Call) -> ModuleFacts | None:
    """What is known of the script that the job runs."""
    script = _script(module, call)
    return module.project.script(*script, module.path) if script is not None else None


def _script(module: Module, call: ast.Call) -> tuple[str, str] | None:
    """The file name and the path of the script that the job runs."""
    path = constant(module, getattr(keyword(call, "entry_point"), "value", None))
    return (PurePath(path).name, path) if isinstance(path, str) else None


def shards(module: Module) -> Iterator[tuple[str, str]]:
    """The scripts that are started with hyperparameters that shard their models: file name and path."""
    for call in _jobs(module):
        given = keyword(call, "hyperparameters")
        script = _script(module, call)
        mapping = _mapping(module, given)
        if script is not None and mapping is not None:
            values = {item.arg: literal(item.value) for item in named(mapping)}
            if values.get("tensor_parallel_size", 1) not in (1, "1") or values.get("zero_1") not in _OFF:
                yield script


def _named(module: Module, node: ast.Constant, text: str) -> Iterator[Change]:
    """An image or an instance that a string names as a whole."""
    instance = old_instance(text)
    if instance is not None and text == instance:
        yield Change(Outcome.REVIEW, node, f"{instance}: {INSTANCE_ADVICE}")
    elif is_old_image(text) and " " not in text and ("/" in text or _retrieves(module, node)):
        yield Change(Outcome.MANUAL, node, ADVICE)


def _retrieves(module: Module, node: ast.Constant) -> bool:
    """Whether a string is given to a function that looks up the address of an image."""
    above = module.parent(node)
    call = module.parent(above) if isinstance(above, ast.keyword) else above
    name = module.resolve(call.func) or "" if isinstance(call, ast.Call) else ""
    return name.startswith("sagemaker.") and ("image_uri" in name or name.endswith("retrieve"))


_IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-training-neuronx:2.1.2"

CASES = (
    Case(
        "a job on Trn1",
        f"""from sagemaker.huggingface import HuggingFace

hyperparameters = {{"epochs": 3, "tensor_parallel_size": 8, "zero_1": True, "evaluation_strategy": "no"}}
job = HuggingFace(
    entry_point="train.py",
    instance_type="ml.trn1.32xlarge",
    image_uri="{_IMAGE}",
    hyperparameters=hyperparameters,
    environment={{"NEURON_FUSE_SOFTMAX": "1"}},
)
job.fit()
""",
        f"""from sagemaker.huggingface import HuggingFace

hyperparameters = {{"epochs": 3, "eval_strategy": "no"}}
# TODO(neuron-migrate NM409): {ADVICE.rstrip(".")}: {RULE.url}
job = HuggingFace(
    entry_point="train.py",
    instance_type="ml.trn1.32xlarge",
    image_uri="{_IMAGE}",
    hyperparameters=hyperparameters,
    environment={{"TP_SIZE": "8"}},
)
job.fit()
""",
        (
            *(Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REWRITTEN),
            *(Outcome.REVIEW, Outcome.MANUAL, Outcome.REWRITTEN),
        ),
    ),
    Case(
        "a container that serves",
        """from sagemaker.huggingface import HuggingFaceModel, get_huggingface_llm_image_uri

image = get_huggingface_llm_image_uri("huggingface-neuronx", version="0.0.25")
HuggingFaceModel(image_uri=image, role="r").deploy(instance_type="ml.inf2.48xlarge")
""",
        f"""from sagemaker.huggingface import HuggingFaceModel, get_huggingface_llm_image_uri

# TODO(neuron-migrate NM409): {ADVICE.rstrip(".")}: {RULE.url}
image = get_huggingface_llm_image_uri("huggingface-neuronx", version="0.0.25")
HuggingFaceModel(image_uri=image, role="r").deploy(instance_type="ml.inf2.48xlarge")
""",
        (Outcome.MANUAL, Outcome.REVIEW),
    ),
    Case(
        "a job on GPUs",
        """from sagemaker.huggingface import HuggingFace

HuggingFace(instance_type="ml.p4d.24xlarge", hyperparameters={"evaluation_strategy": "no"}, environment={"A": "1"})
""",
    ),
    Case(
        "words about an image", 'import sagemaker\n\nprint("the huggingface-neuronx image runs on ml.trn1.2xlarge")\n'
    ),
    Case("no SageMaker", 'instance = "ml.trn1.32xlarge"\n'),
)
