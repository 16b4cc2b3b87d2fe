"""Imports names from where transformers 5, TRL 1, datasets and the hub library have them now.

The import is rewritten where it stands, and a user's alias is kept. A name without a counterpart keeps its import and
gets a marker that says what to write instead.

https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data.renames import Rename, renames
from neuron_codemods.edits import AnyEdit, Change, Edit, EraseImport, RenameAttribute, RenameImport
from neuron_codemods.imports import must_keep_name
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renames.libraries import LIBRARIES
from neuron_codemods.scopes import Binding

RULE = Rule(
    code="NM702",
    name="moved-name",
    summary="Classes and functions of transformers, TRL, datasets and the hub library that moved or are gone.",
    url="https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
)

_TOP_OF = {"trl": ("trl.trainer.", "trl.models.", "trl.core."), "datasets": ("datasets.load.",)}
"""Modules whose public names a package also had at its top."""
_GONE_FRAMEWORKS = ("TF", "Flax")
_FEATURE_EXTRACTORS = frozenset(
    f"{name}FeatureExtractor"
    for name in (
        *("BeitFeatureExtractor", "CLIP", "ConvNext", "DPT", "DeiT", "Deformable", "Detr", "Donut", "Flava", "GLPN"),
        *("ImageGPT", "LayoutLMv2", "LayoutLMv3", "Levit", "MaskFormer", "MobileNetV1", "MobileNetV2", "MobileViT"),
        *("OwlViT", "Perceiver", "PoolFormer", "Segformer", "VideoMAE", "Vilt", "ViT", "Yolos"),
    )
)


def check(module: Module) -> Iterator[Change]:
    if not module.renames:
        return
    for scope in module.names.module.walk():
        for bindings in scope.bindings.values():
            for binding in bindings:
                if binding.is_import and binding.qualified:
                    yield from _of_import(module, binding)


def _of_import(module: Module, binding: Binding) -> Iterator[Change]:
    found = find(binding.qualified or "")
    if found is not None:
        yield from _imported(module, binding, found)
        return
    if binding.qualified not in LIBRARIES and (binding.qualified or "").partition(".")[0] not in LIBRARIES:
        return
    for reference in module.references(binding):
        node = module.parent(reference.node)
        while isinstance(node, ast.Attribute):
            found = find(module.resolve(node) or "")
            if found is not None:
                yield from _attribute(module, binding, node, found)
                break
            node = module.parent(node)


def find(qualified: str) -> Rename | None:
    """The row for a dotted name, also under a module of its package."""
    package, _, rest = qualified.partition(".")
    table = renames("name").get(package)
    if table is None or not rest:
        return None
    for prefix in _TOP_OF.get(package, ()):
        if qualified.startswith(prefix):
            rest = rest.rpartition(".")[2]
    found = table.get(rest)
    if found is not None:
        return found if found.action != "rule" else None
    return _of_family(package, rest)


def _of_family(package: str, name: str) -> Rename | None:
    """Families of names that are gone from transformers as a whole."""
    if package != "transformers":
        return None
    if name in _FEATURE_EXTRACTORS:
        new = f"transformers.{name.removesuffix('FeatureExtractor')}ImageProcessor"
        return Rename("name", package, name, "rename", new, "", "", "libraries")
    for framework in _GONE_FRAMEWORKS:
        rest = name.removeprefix(framework)
        if rest != name and rest[:1].isupper() and "." not in name and not rest.startswith("Ne"):
            message = f"TensorFlow and Flax are gone from transformers: write it with PyTorch and {rest}."
            return Rename("name", package, name, "manual", "", "", message, "libraries")
    return None


def _imported(module: Module, binding: Binding, found: Rename) -> Iterator[Change]:
    last = found.old.rpartition(".")[2]
    if found.action == "manual":
        yield Change(Outcome.MANUAL, binding.node, f"{last}: {found.message}")
    elif found.new.startswith("evaluate."):
        yield _of_evaluate(module, binding, found)
    else:
        edit = RenameImport(binding, found.new)
        yield Change(_outcome(found), binding.node, _message(found), (edit,))


def _attribute(module: Module, binding: Binding, node: ast.Attribute, found: Rename) -> Iterator[Change]:
    inside = f"{binding.qualified}."
    if found.action == "manual" or not module.is_placed(node):
        yield Change(Outcome.MANUAL, node, f"{node.attr}: {found.message or f'it is {found.new} now.'}")
    elif found.new.startswith(inside):
        edit = Edit.replace(module.source.span(node), f"{binding.name}.{found.new.removeprefix(inside)}")
        yield Change(_outcome(found), node, _message(found), (edit,))
    else:
        yield Change(_outcome(found), node, _message(found), (RenameAttribute(binding, node, found.new),))


def _of_evaluate(module: Module, binding: Binding, found: Rename) -> Change:
    """``load_metric`` is ``evaluate.load``, which nobody imports by name."""
    kept = must_keep_name(module, binding)
    if kept is not None:
        return Change(Outcome.MANUAL, binding.node, f"{found.old} is {found.new}: import that, because {kept}.")
    edits: list[AnyEdit] = [EraseImport(binding)]
    edits += [Edit.replace(module.source.span(reference.node), found.new) for reference in module.references(binding)]
    return Change(Outcome.REVIEW, binding.node, _message(found), tuple(edits), ("evaluate",))


def _outcome(found: Rename) -> Outcome:
    return Outcome.REVIEW if found.message else Outcome.REWRITTEN


def _message(found: Rename) -> str:
    note = f" {found.message}" if found.message else ""
    return f"{found.old} is {found.new} now.{note}"


CASES = (
    Case(
        "trainers that TRL moved",
        """from transformers import AutoModelForVision2Seq
from trl import ORPOConfig, ORPOTrainer, SFTTrainer

trainer = ORPOTrainer(args=ORPOConfig("out"))
model = AutoModelForVision2Seq.from_pretrained("my/model")
""",
        """from transformers import AutoModelForImageTextToText
from trl import SFTTrainer
from trl.experimental.orpo import ORPOConfig, ORPOTrainer

trainer = ORPOTrainer(args=ORPOConfig("out"))
model = AutoModelForImageTextToText.from_pretrained("my/model")
""",
        (Outcome.REWRITTEN, Outcome.REVIEW, Outcome.REVIEW),
    ),
    Case(
        "metrics have a library of their own",
        """from datasets import load_dataset, load_metric

metric = load_metric("glue", "mrpc")
""",
        """import evaluate
from datasets import load_dataset

metric = evaluate.load("glue", "mrpc")
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "through the module, with an alias",
        """import transformers as tf
from peft import prepare_model_for_int8_training as prepare

model = prepare(tf.AutoModelForVision2Seq.from_pretrained("my/model"))
""",
        """import transformers as tf
from peft import prepare_model_for_kbit_training as prepare

model = prepare(tf.AutoModelForImageTextToText.from_pretrained("my/model"))
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "a name without a counterpart",
        """from trl import DataCollatorForCompletionOnlyLM

collator = DataCollatorForCompletionOnlyLM("### Answer:", tokenizer=tokenizer)
""",
        """# TODO(neuron-migrate NM702): DataCollatorForCompletionOnlyLM: The collator is gone: give the data set \
columns prompt and completion, of which only the completion counts (SFTConfig(completion_only_loss=True)), or chats \
with assistant_only_loss=True: https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
from trl import DataCollatorForCompletionOnlyLM

collator = DataCollatorForCompletionOnlyLM("### Answer:", tokenizer=tokenizer)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "names of today",
        """from transformers import AutoModelForImageTextToText
from trl import SFTTrainer
from trl.experimental.orpo import ORPOTrainer
""",
    ),
    Case(
        "the same names of another package",
        """from mylib import ORPOTrainer, load_metric
from .transformers import AutoModelWithLMHead

load_metric("glue")
""",
    ),
    Case(
        "a module that only shares a prefix",
        """import transformers_extra
from trlx import PPOTrainer

transformers_extra.AutoModelWithLMHead()
""",
    ),
)
