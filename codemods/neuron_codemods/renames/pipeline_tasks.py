"""Points out tasks of `pipeline` that transformers 5 no longer has.

Summarising, translating and extracting answers are left to models that are called themselves, or to chat models.

https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.data.renames import renames
from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import constant, keyword

RULE = Rule(
    code="NM733",
    name="removed-task",
    summary="pipeline tasks that are gone: summarization, translation, question-answering and others.",
    url="https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
    outcomes=(Outcome.MANUAL,),
)

_PIPELINE = frozenset({"transformers.pipeline", "transformers.pipelines.pipeline"})


def check(module: Module) -> Iterator[Change]:
    if not module.renames:
        return
    table = renames("task")["transformers.pipeline"]
    for call in module.calls:
        if module.resolve(call.func) not in _PIPELINE:
            continue
        given = keyword(call, "task")
        node: ast.expr | None = given.value if given is not None else call.args[0] if call.args else None
        task = constant(module, node)
        if isinstance(task, str):
            row = table.get("translation" if task.startswith("translation_") else task)
            if row is not None:
                yield Change(Outcome.MANUAL, call, f"{task}: {row.message}")


CASES = (
    Case(
        "tasks of encoder-decoder models",
        """from transformers import pipeline

translate = pipeline("translation_en_to_fr", model="my/model")
""",
        """from transformers import pipeline

# TODO(neuron-migrate NM733): translation_en_to_fr: The task is gone: load the model with AutoModelForSeq2SeqLM and \
call generate, or use text-generation with a chat model: \
https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md
translate = pipeline("translation_en_to_fr", model="my/model")
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "a task that stayed",
        """from transformers import pipeline

classify = pipeline("text-classification", model="my/model")
unknown = pipeline(task, model="my/model")
""",
    ),
    Case(
        "a pipeline of another library",
        """from mylib import pipeline

summarize = pipeline("summarization")
""",
    ),
)
