"""Makes a formatting function take one example and return one string.

Up to 0.4.1 an unpacked run called `formatting_func` with a batch and expected a list of strings; natively it gets one
example. A function that loops over the batch and appends is unrolled to its loop body; any other that returns a list
is for a person.

https://huggingface.co/docs/trl/sft_trainer#trl.SFTTrainer
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from neuron_codemods.derivation import is_partial, kind_of
from neuron_codemods.edits import AnyEdit, Change, Edit, RemoveStatement, Unwrap
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.training.parallel import trains
from neuron_codemods.values import SFT_TRAINER, behind, keyword, trainers

RULE = Rule(
    code="NM121",
    name="formatting-function",
    summary="formatting_func: one example in, one string out; a loop over the batch is unrolled.",
    url="https://huggingface.co/docs/trl/sft_trainer#trl.SFTTrainer",
    outcomes=(Outcome.REWRITTEN, Outcome.MANUAL),
)

_MANUAL = (
    "formatting_func gets one example and returns one string natively; this function {what}: let it format a single "
    "example and return the string."
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class _Batched:
    """A function of the shape ``texts = []; for i in range(len(batch[...])): ...; texts.append(x); return texts``."""

    function: Function
    parameter: str
    start: ast.Assign
    loop: ast.For
    append: ast.Expr
    value: ast.expr
    end: ast.Return
    index: str


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    seen: set[ast.AST] = set()
    for call in module.calls:
        given = keyword(call, "formatting_func")
        if given is None or not _reaches_trainer(module, call):
            continue
        function = _definition(module, given.value)
        if function is None or function in seen:
            continue
        seen.add(function)
        what = _is_batched(function)
        if what is None:
            continue
        batched = _read(module, function)
        others = _other_uses(module, function, given.value)
        if batched is None or others:
            yield Change(Outcome.MANUAL, given, _MANUAL.format(what=what), marks=_place(module, function))
        else:
            yield _unroll(module, batched)


def _reaches_trainer(module: Module, call: ast.Call) -> bool:
    """Whether a call makes an SFT trainer, or passes its class on to a helper."""
    kind = trainers(module).get(call)
    kinds = [kind] if kind is not None else [kind_of(module, node, {SFT_TRAINER}) for node in call.args]
    return any(found is not None and found.native == SFT_TRAINER for found in kinds)


def _place(module: Module, function: ast.AST) -> ast.stmt:
    return module.statement(function)


def _definition(module: Module, node: ast.expr) -> Function | ast.Lambda | None:
    if isinstance(node, ast.Lambda):
        return node
    if isinstance(node, ast.Call) and is_partial(module, node):
        return _definition(module, node.args[0])
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return _method(module, node)
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is not None and isinstance(binding.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return binding.node
        if binding is not None and isinstance(binding.value, ast.Lambda):
            return binding.value
    return None


def _method(module: Module, node: ast.Attribute) -> Function | None:
    """The method that ``self.x`` is, where the class itself defines it."""
    for above in module.ancestors(node):
        if isinstance(above, ast.ClassDef):
            functions = (item for item in above.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)))
            return next((item for item in functions if item.name == node.attr), None)
    return None


def _other_uses(module: Module, function: ast.AST, own: ast.expr) -> bool:
    """Whether something else calls the function, which would still pass a batch."""
    if isinstance(function, ast.Lambda):
        return False
    binding = module.binding(own) if isinstance(own, ast.Name) else None
    if binding is None:
        return True
    uses = [reference.node for reference in module.references(binding)]
    return any(
        not isinstance(above := module.parent(use), ast.keyword) or above.arg != "formatting_func" for use in uses
    )


def _is_batched(function: Function | ast.Lambda) -> str | None:
    """What shows that a function formats a whole batch, or None when it formats one example."""
    if isinstance(function, ast.Lambda):
        return "returns a list" if _is_list(function.body) else None
    lists = {
        target.id
        for node in _own(function)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and _is_list(node.value)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in _own(function):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return "yields"
        if isinstance(node, ast.Return):
            value = node.value
            if _is_list(value) or (isinstance(value, ast.Name) and value.id in lists):
                return "returns a list"
            if isinstance(value, ast.Dict):
                return "returns a dictionary"
    return None


def _is_list(node: ast.expr | None) -> bool:
    """Whether an expression makes a list: ``[...]``, or ``list(...)``."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "list"
    return isinstance(node, (ast.List, ast.ListComp))


def _own(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside of it."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))


# The shape that can be unrolled -----------------------------------------------------------------------------------


def _read(module: Module, function: Function | ast.Lambda) -> _Batched | None:
    if not isinstance(function, ast.FunctionDef) or len(function.args.args) != 1 or function.args.posonlyargs:
        return None
    body = [item for item in function.body if not _is_docstring(item)]
    if len(body) != 3:
        return None
    start, loop, end = body
    if not (isinstance(start, ast.Assign) and isinstance(loop, ast.For) and isinstance(end, ast.Return)):
        return None
    collected = start.targets[0]
    empty = isinstance(start.value, ast.List) and not start.value.elts
    if not (empty and len(start.targets) == 1 and isinstance(collected, ast.Name) and not loop.orelse):
        return None
    if not (isinstance(end.value, ast.Name) and end.value.id == collected.id):
        return None
    last = loop.body[-1]
    value = _appended(last, collected.id)
    parameter = function.args.args[0].arg
    if value is None or not isinstance(last, ast.Expr) or not isinstance(loop.target, ast.Name):
        return None
    if not _counts(loop.iter, parameter):
        return None
    batched = _Batched(function, parameter, start, loop, last, value, end, loop.target.id)
    return batched if _is_safe(module, batched, collected.id) else None


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _appended(node: ast.stmt, collected: str) -> ast.expr | None:
    """What ``texts.append(x)`` appends."""
    call = node.value if isinstance(node, ast.Expr) else None
    if (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "append"
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == collected
        and len(call.args) == 1
        and not isinstance(call.args[0], ast.Starred)
        and not call.keywords
    ):
        return call.args[0]
    return None


def _counts(node: ast.expr, parameter: str) -> bool:
    """Whether an expression is ``range(len(batch["column"]))``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"):
        return False
    length = node.args[0] if len(node.args) == 1 else None
    if not (isinstance(length, ast.Call) and isinstance(length.func, ast.Name) and length.func.id == "len"):
        return False
    column = length.args[0] if len(length.args) == 1 else None
    return isinstance(column, ast.Subscript) and isinstance(column.value, ast.Name) and column.value.id == parameter


def _is_safe(module: Module, batched: _Batched, collected: str) -> bool:
    """Whether the batch is only read one item at a time and nothing outlives a turn of the loop."""
    items = list(_items(batched))
    own = {batched.index, batched.parameter}
    home = module.scope(batched.start)
    read = {name for item in items for name in ast.walk(item) if isinstance(name, ast.Name)}
    uses = (use for name in (*own, collected) for use in module.names.references.get(name, ()))
    if any(use.in_string and use.scope.home(use.name) is home for use in uses):
        return False
    for statement in batched.loop.body:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await)):
                return False
            if isinstance(node, ast.Name) and module.scope(node).home(node.id) is home:
                if (node.id in own and node not in read) or (node.id == collected and node is not _collector(batched)):
                    return False
            if isinstance(node, ast.AugAssign):
                return False
    return bool(items) and all(module.is_placed(item) for item in items)


def _collector(batched: _Batched) -> ast.AST:
    return batched.append.value.func.value  # type: ignore[attr-defined,no-any-return]


def _items(batched: _Batched) -> Iterator[ast.Subscript]:
    """Each ``batch["column"][i]`` of the loop."""
    for statement in batched.loop.body:
        for node in ast.walk(statement):
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.slice, ast.Name)
                and node.slice.id == batched.index
                and isinstance(node.value, ast.Subscript)
                and isinstance(node.value.value, ast.Name)
                and node.value.value.id == batched.parameter
                and isinstance(node.value.slice, ast.Constant)
            ):
                yield node


def _unroll(module: Module, batched: _Batched) -> Change:
    source = module.source
    edits: list[AnyEdit] = [RemoveStatement(batched.start), Unwrap(batched.loop), RemoveStatement(batched.end)]
    edits += [Edit.delete(behind(module, item.value, item)) for item in _items(batched)]
    start, end = source.span(batched.append)
    value_start, value_end = source.span(batched.value)
    call = source.text[start:end]
    if "\n" in call or "\r" in call:
        opening = source.text.index("(", source.span(batched.append.value.func)[1])  # type: ignore[attr-defined]
        edits.append(Edit.replace((start, opening), "return "))
        # A comma behind the value would make a tuple of it.
        after = source.tokens_between(value_end, end)
        edits += [Edit.delete((token.start, token.end)) for token in after if token.text == ","]
    else:
        edits += [Edit.replace((start, value_start), "return "), Edit.delete((value_end, end))]
    message = f"{batched.function.name} formats one example instead of a batch: its loop is unrolled."
    return Change(Outcome.REWRITTEN, batched.function, message, tuple(edits))


CASES = (
    Case(
        "a loop over the batch",
        '''from optimum.neuron import NeuronSFTTrainer


def to_text(examples):
    """Join the fields."""
    texts = []
    for i in range(len(examples["question"])):
        # one record
        question = f"Q: {examples['question'][i]}"
        answer = examples["answer"][i]
        texts.append("\\n".join([question, answer]))
    return texts


NeuronSFTTrainer(model=model, formatting_func=to_text)
''',
        '''from optimum.neuron import NeuronSFTTrainer


def to_text(examples):
    """Join the fields."""
    # one record
    question = f"Q: {examples['question']}"
    answer = examples["answer"]
    return "\\n".join([question, answer])


NeuronSFTTrainer(model=model, formatting_func=to_text)
''',
        (Outcome.REWRITTEN,),
    ),
    Case(
        "a list that is built in another way",
        """from optimum.neuron import NeuronSFTTrainer


def to_text(examples):
    return [f"{q}" for q in examples["question"]]


NeuronSFTTrainer(model=model, formatting_func=to_text)
""",
        """from optimum.neuron import NeuronSFTTrainer


# TODO(neuron-migrate NM121): formatting_func gets one example and returns one string natively; this function returns \
a list: let it format a single example and return the string: https://huggingface.co/docs/trl/sft_trainer#trl.SFTTrainer
def to_text(examples):
    return [f"{q}" for q in examples["question"]]


NeuronSFTTrainer(model=model, formatting_func=to_text)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "one example already",
        """from optimum.neuron import NeuronSFTTrainer


def to_text(example):
    return f"Q: {example['question']}"


NeuronSFTTrainer(model=model, formatting_func=to_text)
""",
    ),
    Case(
        "lines of one example, joined",
        """from optimum.neuron import NeuronSFTTrainer


def to_text(example):
    lines = []
    for turn in example["turns"]:
        lines.append(turn)
    return "\\n".join(lines)


NeuronSFTTrainer(model=model, formatting_func=to_text)
""",
    ),
    Case(
        "a function that no trainer formats with",
        """from optimum.neuron import NeuronSFTTrainer


def words(batch):
    found = []
    for i in range(len(batch["text"])):
        found.append(batch["text"][i])
    return found


NeuronSFTTrainer(model=model, train_dataset=words)
""",
    ),
)
