"""What variables hold: literal values, arguments objects, parsed dataclasses, followed through one file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from neuron_codemods import data
from neuron_codemods.derivation import Kind, called_kind, kind_of
from neuron_codemods.edits import CallEdit, Edit, Holder
from neuron_codemods.module import Module, once
from neuron_codemods.scopes import Binding, Scope

ARGUMENTS = frozenset({"transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments"})
SFT_CONFIG = "trl.SFTConfig"
ORPO_CONFIG = "trl.experimental.orpo.ORPOConfig"
ARGUMENT_CLASSES = ARGUMENTS | {SFT_CONFIG, ORPO_CONFIG}
TRAINERS = frozenset({"transformers.Trainer", "transformers.Seq2SeqTrainer"})
SFT_TRAINER = "trl.SFTTrainer"
ORPO_TRAINER = "trl.experimental.orpo.ORPOTrainer"
TRAINER_CLASSES = TRAINERS | {SFT_TRAINER, ORPO_TRAINER}
PARSER = "transformers.HfArgumentParser"
PARSE_METHODS = frozenset(
    {"parse_args_into_dataclasses", "parse_args_and_config", "parse_json_file", "parse_yaml_file", "parse_dict"}
)

UNKNOWN = object()
_LONGEST_WAY = 8
"""How many names and functions are followed to where arguments are made."""


def literal(node: ast.AST | None) -> object:
    """The value of a literal expression, or ``UNKNOWN``."""
    if node is None:
        return UNKNOWN
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN


def constant(module: Module, node: ast.AST | None) -> object:
    """The literal value of an expression, also when a name that is assigned once stands for it."""
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is not None and len(binding.scope.bindings[binding.name]) == 1 and binding.value is not None:
            return literal(binding.value)
        return UNKNOWN
    return literal(node)


def in_order(holder: Holder) -> list[ast.expr | ast.keyword]:
    """The arguments of a call as written; a ``**mapping`` is a keyword whose ``arg`` is None.

    The entries of a mapping with text keys are given as if they were keywords.
    """
    if isinstance(holder, ast.Dict):
        return list(entries(holder))
    return sorted([*holder.args, *holder.keywords], key=lambda argument: (argument.lineno, argument.col_offset))


@lru_cache(maxsize=64)
def entries(mapping: ast.Dict) -> tuple[ast.keyword, ...]:
    """The entries of a mapping as keywords; one whose key is no plain text has no name."""
    found = []
    for key, value in zip(mapping.keys, mapping.values, strict=True):
        name = literal(key)
        entry = ast.keyword(name if isinstance(name, str) else None, value)
        ast.copy_location(entry, key or value)
        entry.end_lineno, entry.end_col_offset = value.end_lineno, value.end_col_offset
        found.append(entry)
    return tuple(found)


def named(holder: Holder) -> Iterator[ast.keyword]:
    """The keywords of a call, or the entries of a mapping."""
    yield from entries(holder) if isinstance(holder, ast.Dict) else holder.keywords


def remove_argument(holder: Holder, argument: ast.expr | ast.keyword) -> CallEdit:
    """The edit that takes one argument out of a call, or one entry out of a mapping."""
    return CallEdit(holder, removed=frozenset({in_order(holder).index(argument)}))


def rename_argument(holder: Holder, argument: ast.expr | ast.keyword, name: str) -> CallEdit:
    """The edit that gives an argument another keyword, or its first one."""
    return CallEdit(holder, renamed=((in_order(holder).index(argument), name),))


def replace_value(holder: Holder, argument: ast.expr | ast.keyword, text: str) -> CallEdit:
    """The edit that gives an argument another value."""
    return CallEdit(holder, values=((in_order(holder).index(argument), text),))


def rename_attribute(module: Module, attribute: ast.Attribute, name: str) -> Edit:
    """The edit that gives ``x.attribute`` another attribute."""
    _, end = module.source.span(attribute)
    return Edit.replace((end - len(attribute.attr), end), name)


def behind(module: Module, value: ast.expr, node: ast.expr) -> tuple[int, int]:
    """The stretch of an expression behind the value that it starts with: ``.a`` in ``x.a`` and in ``(x).a``."""
    start, end = module.source.span(value)[1], module.source.span(node)[1]
    return start + len(_CLOSING.match(module.source.text[start:end])[0]), end  # type: ignore[index]


_CLOSING = re.compile(r"(?:[\s)\\]|#.*)*")
"""What may stand between a value and what is done with it: it always matches."""


def keyword(holder: Holder, *names: str) -> ast.keyword | None:
    """The argument of a call with one of these keywords, or the entry of a mapping."""
    return next((item for item in named(holder) if item.arg in names), None)


def has_splat(call: ast.Call) -> bool:
    """Whether a call takes arguments from a ``**mapping``."""
    return any(item.arg is None for item in call.keywords)


@dataclass(frozen=True, eq=False)
class Arguments:
    """A place where training arguments are made: by calling their class, or by a parser from the command line."""

    call: ast.Call
    """The call of the class, or of ``HfArgumentParser``."""
    native: str
    """The native class of the arguments."""
    is_parsed: bool
    is_neuron: bool
    """Whether the old class was Optimum Neuron's, and not already the native one."""
    mappings: tuple[Holder, ...] = ()
    """The literals of the mappings that the call takes arguments from and that serve for nothing else."""
    unread: tuple[ast.keyword, ...] = ()
    """The other mappings that the call takes arguments from."""
    own: frozenset[str] = frozenset()
    """The fields that a class derived in this module defines itself."""

    @property
    def holders(self) -> tuple[Holder, ...]:
        return (self.call, *self.mappings)

    def find(self, *names: str) -> tuple[Holder, ast.keyword] | None:
        """An argument with one of these keywords, and what holds it."""
        if self.is_parsed:
            return None
        return next(((holder, item) for holder in self.holders for item in named(holder) if item.arg in names), None)

    def has(self, *names: str) -> bool:
        return self.find(*names) is not None

    def value(self, *names: str) -> ast.expr | None:
        found = self.find(*names)
        return found[1].value if found is not None else None


@once
def trainers(module: Module) -> dict[ast.Call, Kind]:
    """The calls of a module that make trainers, also of classes derived from them, in their order."""
    kinds = ((call, called_kind(module, call, TRAINER_CLASSES)) for call in module.calls)
    return {call: kind for call, kind in kinds if kind is not None}


@once
def all_arguments(module: Module) -> tuple[Arguments, ...]:
    """Every place in a module where training arguments are made."""
    return tuple(_arguments(module))


@once
def _made_by(module: Module) -> dict[ast.expr, Arguments]:
    """The training arguments that each call makes."""
    return {arguments.call: arguments for arguments in all_arguments(module)}


@once
def _parsed_arguments(module: Module) -> list[Arguments]:
    """The training arguments that come from the command line."""
    return [arguments for arguments in all_arguments(module) if arguments.is_parsed]


def _arguments(module: Module) -> Iterator[Arguments]:
    for call in module.calls:
        found = called_kind(module, call, ARGUMENT_CLASSES)
        if found is not None:
            literals, unread = mappings(module, call)
            yield Arguments(call, found.native, False, found.is_neuron, literals, unread, found.own)
        elif is_parser(module, call):
            for node in parsed_classes(module, call):
                parsed = kind_of(module, node, ARGUMENT_CLASSES)
                if parsed is not None:
                    yield Arguments(call, parsed.native, True, parsed.is_neuron, own=parsed.own)


def is_parser(module: Module, call: ast.Call) -> bool:
    """Whether a call makes an ``HfArgumentParser`` or, by its name, a parser derived from it such as ``TrlParser``."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return module.native(call.func) == PARSER or name.endswith("Parser")


def mappings(module: Module, call: ast.Call) -> tuple[tuple[Holder, ...], tuple[ast.keyword, ...]]:
    """The mappings that a call takes arguments from: those that can be read and changed, and the others."""
    read: list[Holder] = []
    unread: list[ast.keyword] = []
    waiting = [item for item in call.keywords if item.arg is None]
    while waiting:
        item = waiting.pop(0)
        mapping = _literal_mapping(module, item.value)
        if mapping is None:
            unread.append(item)
        else:
            read.append(mapping)
            waiting += (inner for inner in named(mapping) if inner.arg is None)
    return tuple(read), tuple(unread)


def _literal_mapping(module: Module, node: ast.expr) -> Holder | None:
    """``{...}`` or ``dict(...)``, also behind a name that is bound once and only ever given to one ``**``."""
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is None or [reference.node for reference in module.references(binding)] != [node]:
            return None
    mapping = mapping_behind(module, node)
    if mapping is None or (isinstance(mapping, ast.Call) and mapping.args):
        return None
    if isinstance(mapping, ast.Dict) and any(
        key is not None and not isinstance(literal(key), str) for key in mapping.keys
    ):
        return None
    return mapping


def mapping_literal(module: Module, node: ast.expr) -> Holder | None:
    """An expression that is ``{...}`` or ``dict(...)``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return node if module.binding(node.func) is None else None
    return node if isinstance(node, ast.Dict) else None


def mapping_behind(module: Module, node: ast.expr) -> Holder | None:
    """``{...}`` or ``dict(...)``, also behind a name: one that is bound once, for else it may be another mapping."""
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is None or binding.value is None or len(binding.scope.bindings[binding.name]) != 1:
            return None
        node = binding.value
    return mapping_literal(module, node)


def is_copied(module: Module, node: ast.expr) -> bool:
    """Whether a mapping is other arguments as they are: ``training_args.to_dict()``."""
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is None or binding.value is None:
            return False
        node = binding.value
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to_dict"


def is_neuron(module: Module, node: ast.AST) -> bool:
    """Whether an expression is something of Optimum Neuron."""
    return data.is_neuron_module(module.resolve(node) or "")


def parsed_classes(module: Module, parser: ast.Call) -> list[ast.expr]:
    """The dataclasses that an ``HfArgumentParser`` call is given, in order."""
    given = keyword(parser, "dataclass_types")
    node = given.value if given is not None else parser.args[0] if parser.args else None
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is not None and isinstance(binding.value, (ast.Tuple, ast.List)):
            node = binding.value
    if isinstance(node, (ast.Tuple, ast.List)):
        return list(node.elts)
    return [node] if node is not None else []


def arguments_of(module: Module, node: ast.AST, depth: int = 0) -> Arguments | None:
    """Where the training arguments that an expression holds were made, if that is in this module."""
    if depth > _LONGEST_WAY:
        return None
    if isinstance(node, ast.Call):
        return _made_by(module).get(node) or _of_function(module, node, None, depth)
    if isinstance(node, ast.Subscript):
        index = literal(node.slice)
        return _of_several(module, node.value, index, depth) if isinstance(index, int) else None
    if not isinstance(node, ast.Name):
        return None
    binding = module.binding(node)
    return None if binding is None else _of_binding(module, binding, depth)


def _of_binding(module: Module, binding: Binding, depth: int) -> Arguments | None:
    if isinstance(binding.node, ast.arg):
        return _of_parameter(module, binding, depth)
    if isinstance(binding.node, ast.Name):
        if binding.value is not None:
            return arguments_of(module, binding.value, depth + 1)
        return _of_unpacking(module, binding, depth)
    return None


def offered_arguments(module: Module) -> Iterator[str]:
    """How another file gets at the training arguments of Optimum Neuron that this one makes.

    As text behind the name of the module: ``args``, ``get_args()``, ``get_args()[0]``.
    """
    if not any(made.is_neuron for made in all_arguments(module)):
        return
    for name, bindings in module.names.module.bindings.items():
        function = bindings[-1].node
        if not isinstance(function, ast.FunctionDef):
            found = {name: _of_binding(module, bindings[-1], 0)}
        else:
            values = returned(module, function)
            found = {f"{name}()": _of_values(module, values, None, 0)}
            found |= {f"{name}()[{index}]": _of_values(module, values, index, 0) for index in range(_LONGEST_WAY)}
        yield from (text for text, made in found.items() if made is not None and made.is_neuron)


def _of_parameter(module: Module, binding: Binding, depth: int) -> Arguments | None:
    parameter = binding.node
    assert isinstance(parameter, ast.arg)
    for value in passed(module, parameter):
        found = arguments_of(module, value, depth + 1)
        if found is not None:
            return found
    if parameter.annotation is not None:
        annotated = kind_of(module, parameter.annotation, ARGUMENT_CLASSES)
        matching = [item for item in all_arguments(module) if annotated and item.native == annotated.native]
        if len(matching) == 1:
            return matching[0]
    return None


def passed(module: Module, parameter: ast.arg) -> Iterator[ast.expr]:
    """What the calls in this module pass for a parameter of a function."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    function = next(above for above in module.ancestors(parameter) if isinstance(above, functions))
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    for call in module.calls:
        if isinstance(call.func, ast.Name) and call.func.id == function.name:
            binding = module.binding(call.func)
            if binding is not None and binding.node is function:
                given = keyword(call, parameter.arg)
                if given is not None:
                    yield given.value
                elif parameter.arg in names and names.index(parameter.arg) < len(call.args):
                    yield call.args[names.index(parameter.arg)]


def parse_results(module: Module, parser: ast.Call) -> Iterator[tuple[ast.expr, ast.Assign]]:
    """For each dataclass of a parser the variable it is unpacked to, with the assignment."""
    for call in module.calls:
        statement = module.parent(call)
        if not isinstance(statement, ast.Assign) or not _parses(module, call, parser):
            continue
        target = statement.targets[0]
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                yield element, statement


def _parses(module: Module, call: ast.Call, parser: ast.Call) -> bool:
    """Whether a call is ``parser.parse_args_into_dataclasses()`` or one of its kind."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in PARSE_METHODS:
        return False
    if function.value is parser:
        return True
    if isinstance(function.value, ast.Name):
        binding = module.binding(function.value)
        return binding is not None and binding.value is parser
    return False


def _of_unpacking(module: Module, binding: Binding, depth: int) -> Arguments | None:
    target = module.parent(binding.node)
    statement = binding.statement
    if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(statement, ast.Assign):
        return None
    index = target.elts.index(binding.node)  # type: ignore[arg-type]
    if any(isinstance(element, ast.Starred) for element in target.elts[:index]):
        return None
    return _of_several(module, statement.value, index, depth)


def _of_several(module: Module, value: ast.expr, index: int, depth: int) -> Arguments | None:
    """The training arguments at a place of what a parser returns, of a tuple, or of what a function returns."""
    if isinstance(value, ast.Name):
        binding = module.binding(value)
        if binding is None or binding.value is None or depth > _LONGEST_WAY:
            return None
        return _of_several(module, binding.value, index, depth + 1)
    if isinstance(value, (ast.Tuple, ast.List)):
        return arguments_of(module, value.elts[index], depth + 1) if _has(value.elts, index) else None
    if not isinstance(value, ast.Call):
        return None
    for arguments in _parsed_arguments(module):
        if _parses(module, value, arguments.call):
            classes = parsed_classes(module, arguments.call)
            found = kind_of(module, classes[index], ARGUMENT_CLASSES) if _has(classes, index) else None
            if found is not None and found.native == arguments.native:
                return arguments
    return _of_function(module, value, index, depth)


def _has(items: Sequence[object], index: int) -> bool:
    return -len(items) <= index < len(items)


def _of_function(module: Module, call: ast.Call, index: int | None, depth: int) -> Arguments | None:
    """The training arguments that a function of this module returns, or has at a place of what it returns."""
    binding = module.binding(call.func) if isinstance(call.func, ast.Name) else None
    if binding is None or not isinstance(binding.node, ast.FunctionDef):
        return None
    return _of_values(module, returned(module, binding.node), index, depth)


def _of_values(module: Module, values: list[ast.expr], index: int | None, depth: int) -> Arguments | None:
    """The training arguments that each of some values holds, if they are the same."""
    if depth > _LONGEST_WAY:
        return None
    found = {
        arguments_of(module, value, depth + 1) if index is None else _of_several(module, value, index, depth + 1)
        for value in values
    }
    return found.pop() if len(found) == 1 else None


def returned(module: Module, function: ast.FunctionDef) -> list[ast.expr]:
    """What a function returns, in each of its ``return`` statements that has a value."""
    nodes = (node for node in ast.walk(function) if isinstance(node, ast.Return) and module.function(node) is function)
    return [node.value for node in nodes if node.value is not None]


def single_arguments(module: Module) -> Arguments | None:
    """The training arguments of a module that makes only one kind of them."""
    made = [item for item in all_arguments(module) if item.native in ARGUMENTS] or list(all_arguments(module))
    return made[0] if len({item.call for item in made}) == 1 else None


def is_plain(node: ast.AST | None) -> bool:
    """Whether an expression can be written twice: it computes nothing (``config["tp"]``, ``args.size``, ``8``)."""
    if isinstance(node, ast.Attribute):
        return is_plain(node.value)
    if isinstance(node, ast.Subscript):
        return is_plain(node.value) and is_plain(node.slice)
    return isinstance(node, (ast.Name, ast.Constant))


def without_str(node: ast.expr) -> ast.expr:
    """The path in ``str(path)``, or what is no such call."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "str"
        and len(node.args) == 1
    ):
        return node.args[0]
    return node


def dtype_text(module: Module, name: str, at: ast.AST) -> str:
    """``torch.float32`` where torch is at hand, or its own name, else the string that means the same."""
    torch, own = module.import_at("torch", at), module.import_at(f"torch.{name}", at)
    if torch is not None:
        return f"{torch.name}.{name}"
    return f'"{name}"' if own is None else own.name


def visible(module: Module, node: ast.expr, at: ast.AST) -> bool:
    """Whether the names of an expression mean the same at another place."""
    for name in ast.walk(node):
        if isinstance(name, ast.Name):
            home, other = module.scope(name).home(name.id), module.scope(at).home(name.id)
            if home is None or (home is not other and not _is_self(module, name.id, home, other)):
                return False
    return True


def _is_self(module: Module, name: str, first: Scope, second: Scope | None) -> bool:
    """Whether a name is what two methods of one class are called on."""
    owners = []
    for scope in (first, second):
        node = scope.bindings[name][0].node if scope is not None else None
        function = module.parent(above) if node is not None and (above := module.parent(node)) is not None else None
        if not isinstance(node, ast.arg) or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        owners.append(module.parent(function) if function.args.args[:1] == [node] else None)
    return owners[0] is owners[1] and isinstance(owners[0], ast.ClassDef)


def is_asked_for(module: Module, node: ast.AST) -> bool:
    """Whether nothing but the presence of a thing is asked: ``x is None``, ``not x``, ``if x:``."""
    above = module.parent(node)
    if isinstance(above, ast.Compare):
        sides = (above.left, *above.comparators)
        return len(sides) == 2 and any(isinstance(side, ast.Constant) and side.value is None for side in sides)
    if isinstance(above, ast.UnaryOp):
        return isinstance(above.op, ast.Not)
    return isinstance(above, (ast.If, ast.IfExp, ast.Assert)) and above.test is node
