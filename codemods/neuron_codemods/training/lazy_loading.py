"""Unwraps `with lazy_load_for_parallelism(...)`.

Natively a model that is loaded with a `DistributedConfig` reads only its own shard, so there is nothing to make lazy.
The block is dedented; the sizes go to the `from_pretrained` in it.

https://huggingface.co/docs/transformers/perf_infer_gpu_multi
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, Change, Edit, EraseAttribute, EraseImport, Unwrap
from neuron_codemods.imports import why_wanted
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import attributes, imported
from neuron_codemods.training.parallel import LAZY_LOAD, lazy_loads
from neuron_codemods.values import UNKNOWN, constant, keyword

RULE = Rule(
    code="NM131",
    name="lazy-loading",
    summary="with lazy_load_for_parallelism(...): the block is unwrapped and dedented.",
    url="https://huggingface.co/docs/transformers/perf_infer_gpu_multi",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)


def check(module: Module) -> Iterator[Change]:
    unwrapped = []
    for statement, item, call in lazy_loads(module):
        unwrapped.append(call)
        pipeline = keyword(call, "pipeline_parallel_size")
        edits: tuple[AnyEdit, ...] = (_remove_item(module, statement, item),)
        if item.optional_vars is not None:
            unwrapped.pop()
            continue
        yield Change(Outcome.REWRITTEN, call, "The block is unwrapped: a sharded load is lazy by itself.", edits)
        if pipeline is not None and _may_be_parallel(module, pipeline.value):
            message = (
                "Pipeline parallel training has no native form in transformers (a pipelined model returns no loss): "
                "plan the same number of cores as tensor parallel times FSDP."
            )
            yield Change(Outcome.MANUAL, pipeline, message)
    for binding, symbol in imported(module):
        if symbol.name != LAZY_LOAD:
            continue
        calls = [module.parent(reference.node) for reference in module.references(binding)]
        left = [call for call in calls if call not in unwrapped]
        if not left and why_wanted(module, binding) is None:
            message = f"The import of {LAZY_LOAD} is erased: its blocks are unwrapped."
            yield Change(Outcome.REWRITTEN, binding.node, message, (EraseImport(binding),))
        else:
            yield Change(Outcome.MANUAL, binding.node, symbol.message)
    for binding, node, symbol in attributes(module):
        if symbol.name == LAZY_LOAD:
            if module.parent(node) in unwrapped:
                message = f"This use of {LAZY_LOAD} is gone: its block is unwrapped."
                yield Change(Outcome.REWRITTEN, node, message, (EraseAttribute(binding, node),))
            else:
                yield Change(Outcome.MANUAL, node, symbol.message)


def _may_be_parallel(module: Module, node: ast.expr) -> bool:
    known = constant(module, node)
    if known is UNKNOWN:
        # training_args.pipeline_parallel_size is reported where the arguments are made or parsed.
        return not (isinstance(node, ast.Attribute) and node.attr == "pipeline_parallel_size")
    return known not in (None, 1)


def _remove_item(module: Module, statement: ast.With, item: ast.withitem) -> AnyEdit:
    if len(statement.items) == 1:
        return Unwrap(statement)
    index = statement.items.index(item)
    starts = [module.source.span(other.context_expr)[0] for other in statement.items]
    if index + 1 < len(statement.items):
        return Edit.delete((starts[index], starts[index + 1]))
    previous = statement.items[index - 1]
    before = module.source.span(previous.optional_vars or previous.context_expr)[1]
    return Edit.delete((before, module.source.span(item.context_expr)[1]))


CASES = (
    Case(
        "the block goes, its body stays",
        """from optimum.neuron.distributed import lazy_load_for_parallelism

with lazy_load_for_parallelism(tensor_parallel_size=1):
    # the model
    text = \"\"\"
    kept as it is
    \"\"\"
    print(
        text,
    )
""",
        """# the model
text = \"\"\"
    kept as it is
    \"\"\"
print(
    text,
)
""",
    ),
    Case(
        "one of two context managers",
        """from optimum.neuron.distributed import lazy_load_for_parallelism

with open("a") as file, lazy_load_for_parallelism(tensor_parallel_size=1):
    print(file)
""",
        """with open("a") as file:
    print(file)
""",
    ),
    Case(
        "another library's block",
        "from mylib import lazy_load_for_parallelism\n\nwith lazy_load_for_parallelism():\n    pass\n",
    ),
    Case(
        "a block of accelerate", "from accelerate import init_empty_weights\n\nwith init_empty_weights():\n    pass\n"
    ),
    Case("a name in a comment", "# with lazy_load_for_parallelism(): the old way\nx = 1\n"),
)
