"""Where a script loads a compiled model, from what and with which settings: what the rules of this room share.

A load is *understood* when the original model, every setting and every use of the class are known. What is not is left
as it is, with the reason in ``Load.problem``.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from neuron_codemods.data import Symbol, keywords
from neuron_codemods.edits import AnyEdit, Holder, RemoveStatement
from neuron_codemods.folder_guards import emptied, is_save, unguarded
from neuron_codemods.inference.flow import origins
from neuron_codemods.module import Module, once
from neuron_codemods.renaming import is_called_otherwise
from neuron_codemods.scopes import Binding
from neuron_codemods.values import UNKNOWN, constant, entries, is_plain, keyword, literal, named, visible

LOADERS = frozenset({"from_pretrained", "export"})
CONFIG_MAKERS = frozenset({"get_neuron_config", "get_export_config"})
CONFIG_CLASSES = frozenset({"NxDNeuronConfig", "HloNeuronConfig"})
MODEL_KEYWORDS = ("model_id", "model_name_or_path", "pretrained_model_name_or_path")
CATEGORIES = frozenset({"model-inference", "sentence-transformers"})
COMPILED_ID = re.compile(r"neuron|neff|compiled|\binf[12]\b|\btrn[12]\b", re.IGNORECASE)

CAUSAL, SEQ2SEQ, SENTENCE, ENCODER = "decoder", "encoder-decoder", "sentence-transformer", "encoder"
_SEQ2SEQ = re.compile(r"Seq2SeqLM$|Whisper\w*ForConditionalGeneration$|SpeechSeq2Seq$")
TEXT, AUDIO, BATCH = ("sequence_length",), ("audio_sequence_length",), ("batch_size", "text_batch_size")
CORES = ("tensor_parallel_size", "num_cores", "tp_degree")
_READS = frozenset({"get", "items", "keys", "values", "copy"})
_HARMLESS = frozenset({"print", "len", "str", "repr", "list", "sorted", "json.dumps"})


@dataclass(frozen=True, eq=False)
class Given:
    """One setting of a load."""

    holder: Holder
    item: ast.keyword

    @property
    def name(self) -> str:
        return self.item.arg or ""

    @property
    def value(self) -> ast.expr:
        return self.item.value


@dataclass(frozen=True, eq=False)
class Splat:
    """A ``**mapping`` of a load that could be read."""

    item: ast.keyword
    holder: Holder
    binding: Binding | None
    """The variable that holds the mapping, if it is one."""
    is_read: bool
    """Whether the variable serves for something else as well, so that the mapping must stay as it is."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Why something cannot be rewritten: the place, and what a person has to do there."""

    node: ast.AST
    message: str


@dataclass(frozen=True, eq=False)
class Load:
    """A call that loads a compiled model: ``NeuronModelForX.from_pretrained(...)``, or its ``export``."""

    call: ast.Call
    symbol: Symbol
    family: str
    splats: tuple[Splat, ...] = ()
    config: ast.Call | None = None
    """The call that made the ``neuron_config``, whose keywords count as this one's."""
    config_binding: Binding | None = None
    problem: Problem | None = None
    exported_by: Load | None = None
    """For a folder that this module wrote: the load that compiled it."""
    original: str | None = None
    """The id of the original model, where it is known from the folder and not from this module."""
    compiled_for: tuple[Given, ...] = ()
    """What is known so of the settings that the model was compiled with."""
    assumed: bool = False
    """Whether the id is taken for that of an original model by its looks."""
    settings: dict[str, Given] = field(default_factory=dict)
    is_gone: bool = False
    """Whether the statement goes: the model of the folder is the one that is there already, or it was only saved."""

    @property
    def native(self) -> str:
        return self.symbol.native

    @property
    def method(self) -> str:
        assert isinstance(self.call.func, ast.Attribute)
        return self.call.func.attr

    @property
    def is_understood(self) -> bool:
        return self.problem is None

    def find(self, *names: str) -> Given | None:
        """A setting of this load, or of the one that compiled the folder it loads."""
        for name in names:
            if name in self.settings:
                return self.settings[name]
        for name in names:
            for given in self.compiled_for:
                if given.name == name:
                    return given
        return self.exported_by.find(*names) if self.exported_by is not None else None

    @property
    def model(self) -> ast.expr | ast.keyword | None:
        """The argument that names the model or its folder."""
        return self.call.args[0] if self.call.args else keyword(self.call, *MODEL_KEYWORDS)

    @property
    def source(self) -> ast.expr | None:
        """The expression that names the model or its folder."""
        return self.model.value if isinstance(self.model, ast.keyword) else self.model


def is_compiled(symbol: Symbol | None) -> bool:
    """Whether a name of the table is a class of compiled models that a native class replaces."""
    return symbol is not None and is_called_otherwise(symbol) and symbol.kind == "class"


def family_of(symbol: Symbol) -> str:
    if symbol.native.startswith("sentence_transformers."):
        return SENTENCE
    if symbol.native.endswith("ForCausalLM"):
        return CAUSAL
    return SEQ2SEQ if _SEQ2SEQ.search(symbol.native) else ENCODER


@once
def loads(module: Module) -> tuple[Load, ...]:
    """The loads of compiled models in a module."""
    if not module.uses_neuron:
        return ()
    first = [load for call in module.calls if (load := _read(module, call)) is not None]
    by_call = {load.call: load for load in first}
    folders = _written(module, by_call)
    return tuple(_without_pairs(module, [_placed(module, load, folders) for load in first]))


def load_of(module: Module, node: ast.expr) -> Load | None:
    """The load whose model an expression holds, if there is one and no other."""
    by_call = {load.call: load for load in loads(module)}
    found = {by_call[origin] for origin in origins(module, node) if isinstance(origin, ast.Call) and origin in by_call}
    exporters = {load.exported_by.call for load in found if load.exported_by is not None}
    last = [load for load in found if load.call not in exporters]
    return last[0] if len(last) == 1 else None


def text_at(module: Module, value: ast.expr, at: ast.AST) -> str | None:
    """How to write a value at another place, or None where that cannot be told."""
    if isinstance(value, ast.Name) and visible(module, value, at) and _is_set_before(module, value, at):
        return value.id
    literally = _constant(module, value)
    if isinstance(literally, str):
        return quoted(literally)
    if isinstance(literally, (int, float)):
        return repr(literally)
    if isinstance(value, ast.Name):
        return None
    return module.source.segment(value) if is_plain(value) and visible(module, value, at) else None


def quoted(text: str) -> str:
    """A text as Python writes it between double quotes."""
    return json.dumps(text, ensure_ascii=False)


def _constant(module: Module, value: ast.expr) -> object:
    """The literal value of an expression, also of a parameter that is always passed the same."""
    found = constant(module, value)
    if found is UNKNOWN and isinstance(value, ast.Name):
        passed = {repr(item): item for item in map(literal, origins(module, value))}
        return passed.popitem()[1] if len(passed) == 1 else UNKNOWN
    return found


def _is_set_before(module: Module, name: ast.Name, at: ast.AST) -> bool:
    home = module.scope(name).home(name.id)
    assert home is not None, "the name is visible"
    (binding, *others) = home.bindings[name.id]
    return not others and (isinstance(binding.node, ast.arg) or binding.statement.lineno < getattr(at, "lineno", 0))


def known(module: Module, given: Given | None) -> object:
    """The literal value of a setting, or ``UNKNOWN``."""
    return constant(module, given.value) if given is not None else UNKNOWN


# Reading one call -------------------------------------------------------------------------------------------------


_POSITIONAL = "pass the arguments by keyword, one by one, and run neuron-migrate again."
_TRAINS = (
    "this class was for inference, and only the one of optimum.neuron.models.training takes a trn_config. Import that "
    "one, and run neuron-migrate again."
)


def _read(module: Module, call: ast.Call) -> Load | None:
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in LOADERS:
        return None
    symbol = module.symbol(module.resolve(function.value))
    if symbol is None or not is_compiled(symbol) or module.split(module.resolve(function.value)) != (symbol, ()):
        return None
    family = family_of(symbol)
    splats, problem = _splats(module, call)
    config, binding = None, None
    given = keyword(call, "neuron_config")
    if given is not None and literal(given.value) is not None:
        config, binding, wrong = _config(module, given.value)
        problem = problem or wrong
    settings: dict[str, Given] = {}
    holders: list[Holder] = [call, *(splat.holder for splat in splats)]
    for holder in [*holders, *([config] if config is not None else [])]:
        for item in named(holder):
            if item.arg is not None and (holder is not config or item.arg not in MODEL_KEYWORDS):
                settings.setdefault(item.arg, Given(holder, item))
    if any(isinstance(argument, ast.Starred) for argument in call.args) or len(call.args) > 1:
        problem = problem or Problem(call, _TRAINS if _is_for_training(call) else _POSITIONAL)
    if not module.is_placed(call):
        problem = Problem(call, "take this call out of the f-string around it, and run neuron-migrate again.")
    return Load(call, symbol, family, tuple(splats), config, binding, problem, settings=settings)


def _is_for_training(call: ast.Call) -> bool:
    """Whether a class for inference is given what only the training class of the same name takes."""
    return any(isinstance(argument, ast.Attribute) and argument.attr == "trn_config" for argument in call.args[1:])


def _splats(module: Module, call: ast.Call) -> tuple[list[Splat], Problem | None]:
    found: list[Splat] = []
    for item in call.keywords:
        if item.arg is None:
            splat = _splat(module, item)
            if splat is None:
                text = module.source.segment(item.value)
                return found, Problem(
                    call,
                    f"what **{text} holds cannot be told here. Write its shapes and compiler settings into the call, "
                    "and run neuron-migrate again.",
                )
            found.append(splat)
    return found, None


def _splat(module: Module, item: ast.keyword) -> Splat | None:
    node, binding, is_read = item.value, None, False
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is None or binding.value is None or len(binding.scope.bindings[binding.name]) != 1:
            return None
        node = binding.value
        for reference in module.references(binding):
            above = module.parent(reference.node)
            if isinstance(above, ast.keyword) and above.arg is None and _is_load(module, module.parent(above)):
                continue
            if not _only_reads(module, reference.node):
                return None
            is_read = True
    if isinstance(node, ast.Dict):
        if any(entry.arg is None for entry in entries(node)):
            return None
        return Splat(item, node, binding, is_read)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        if module.binding(node.func) is None and not node.args and all(entry.arg for entry in node.keywords):
            return Splat(item, node, binding, is_read)
    return None


def _is_load(module: Module, node: ast.AST | None) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in LOADERS | CONFIG_MAKERS and is_compiled(module.symbol(module.resolve(node.func.value)))


def _only_reads(module: Module, node: ast.Name) -> bool:
    """Whether a use of a variable cannot change the mapping that it holds."""
    above = module.parent(node)
    if isinstance(above, ast.Subscript):
        return isinstance(above.ctx, ast.Load)
    if isinstance(above, ast.Attribute):
        return above.attr in _READS
    if isinstance(above, ast.Call):
        function = above.func
        name = function.id if isinstance(function, ast.Name) else module.resolve(function)
        return name in _HARMLESS
    return isinstance(above, (ast.FormattedValue, ast.Compare))


def _config(module: Module, node: ast.expr) -> tuple[ast.Call | None, Binding | None, Problem | None]:
    """The call that made a ``neuron_config``, and the variable it was kept in."""
    text = module.source.segment(node)
    unknown = Problem(
        node,
        f"where {text} comes from cannot be told here. Write its batch_size, sequence_length and "
        "tensor_parallel_size into the call, and run neuron-migrate again.",
    )
    binding = None
    if isinstance(node, ast.Name):
        binding = module.binding(node)
        if binding is None or binding.value is None or len(binding.scope.bindings[binding.name]) != 1:
            return None, None, unknown
        node = binding.value
    if not isinstance(node, ast.Call) or any(item.arg is None for item in node.keywords) or len(node.args) > 1:
        return None, None, unknown
    if not _makes_config(module, node):
        return None, None, unknown
    return node, binding, None


def _makes_config(module: Module, call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in CONFIG_MAKERS:
        return is_compiled(module.symbol(module.resolve(function.value)))
    symbol = module.symbol(module.resolve(function))
    return symbol is not None and symbol.name in CONFIG_CLASSES


# Folders ----------------------------------------------------------------------------------------------------------


def folder_key(module: Module, node: ast.expr | None) -> str | None:
    """What tells one folder or repository from another: its name, or the expression that holds it."""
    if node is None:
        return None
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "str"
        and len(node.args) == 1
    ):
        return folder_key(module, node.args[0])
    value = constant(module, node)
    if isinstance(value, str):
        return "=" + value.removeprefix("./").rstrip("/")
    is_path = isinstance(node, ast.Call) and module.resolve(node.func) in ("pathlib.Path", "os.path.join")
    if is_path or is_plain(node):
        return "~" + ast.unparse(node)
    return None


def writes(module: Module) -> Iterator[tuple[ast.Call, ast.expr, list[ast.expr]]]:
    """Each ``model.save_pretrained(folder)`` and ``model.push_to_hub(folder, repository_id=...)``.

    With the model, and where what is written can be loaded from afterwards.
    """
    for call in module.calls:
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr not in ("save_pretrained", "push_to_hub"):
            continue
        first = keyword(call, "save_directory", "repository_id")
        places = [*call.args[:1], *([first.value] if first is not None else [])]
        repository = keyword(call, "repository_id")
        if repository is not None:
            places.append(repository.value)
        yield call, function.value, places


def _written(module: Module, by_call: dict[ast.Call, Load]) -> dict[str, Load | None]:
    """The folders that a module writes compiled models to, with the load that compiled each."""
    folders: dict[str, Load | None] = {}
    for _, model, places in writes(module):
        for origin in origins(module, model):
            load = by_call.get(origin) if isinstance(origin, ast.Call) else None
            if load is not None:
                for place in places:
                    key = folder_key(module, place)
                    if key is not None and key != folder_key(module, load.source):
                        folders[key] = load if folders.get(key, load) is load else None
    return folders


def _placed(module: Module, load: Load, folders: dict[str, Load | None], later: frozenset[Load] = frozenset()) -> Load:
    """A load with what it loads: the original model, or a folder that a compiled one was written to.

    ``later`` are the loads that read what this one wrote, so that it does not read from them.
    """
    if load.problem is not None:
        return load
    if load.source is None:
        return _with(load, problem=Problem(load.call, "name the original model, and run neuron-migrate again."))
    if load.method == "export" or load.config is not None:
        return load
    return _found(module, load, load.source, folders, later)


def placed(module: Module, load: Load, model: ast.expr) -> Load:
    """Settings that are no load of their own (those of a pipeline) with what they load."""
    folders = _written(module, {item.call: item for item in loads(module)})
    found = _found(module, load, model, folders, frozenset())
    if found.exported_by is not None and original_text(module, found) is None:
        return _with(found, problem=_unknown(module, load, model))
    return found


def _found(
    module: Module, load: Load, model: ast.expr, folders: dict[str, Load | None], later: frozenset[Load]
) -> Load:
    exported = load.find("export", "from_transformers")
    if exported is not None:
        value = known(module, exported)
        if value is True:
            return load
        if value is not False:
            text = module.source.segment(exported.value)
            message = (
                f"whether {_shown(module, model)} is the original model or a compiled folder depends on {text}. Name "
                "the original model with export=True, and run neuron-migrate again."
            )
            return _with(load, problem=Problem(load.call, message))
    source = folders.get(folder_key(module, model) or "")
    if source is not None and source not in later | {load}:
        exporter = _placed(module, source, folders, later | {load})
        if exporter.problem is None:
            return _with(load, exported_by=exporter)
    name = constant(module, model)
    if isinstance(name, str):
        compiled = module.project.compiled_in(module.path, name.removeprefix("./").rstrip("/"))
        if compiled is not None:
            items = (ast.keyword(key, ast.Constant(value)) for key, value in compiled.settings)
            given = tuple(Given(load.call, item) for item in items)
            return _with(load, original=compiled.model, compiled_for=given)
        if load.family == CAUSAL and re.fullmatch(r"[\w.-]+/[\w.-]+", name) and not COMPILED_ID.search(name):
            return _with(load, assumed=True)
    return _with(load, problem=_unknown(module, load, model))


def _without_pairs(module: Module, found: list[Load]) -> list[Load]:
    """The loads with those marked that a pair of saving and loading made twice, or whose model cannot be named."""
    gone: set[ast.Call] = set()
    unseen: dict[ast.Call, Problem] = {}
    for load in found:
        exporter = load.exported_by
        if exporter is None:
            continue
        first, second = module.parent(exporter.call), module.parent(load.call)
        if _is_same_variable(module, first, second) or _unguarded(module, load):
            gone.add(load.call)
        elif original_text(module, load) is None:
            assert load.source is not None
            unseen[load.call] = _unknown(module, load, load.source)
        elif _is_only_saved(module, first) or is_save(module.statement(exporter.call)):
            gone.add(exporter.call)
    return [_with(load, is_gone=load.call in gone, problem=load.problem or unseen.get(load.call)) for load in found]


def original_text(module: Module, load: Load, at: ast.AST | None = None) -> str | None:
    """What to write for the id of the original model, at the load or at another place; None where it is there."""
    if load.original is not None:
        return quoted(load.original)
    exporter = load.exported_by
    if exporter is None:
        return None
    if exporter.original is not None or exporter.exported_by is not None:
        return original_text(module, exporter, at or load.call)
    assert exporter.source is not None
    return text_at(module, exporter.source, at or load.call)


def _is_same_variable(module: Module, first: ast.AST | None, second: ast.AST | None) -> bool:
    """Whether the second of two assignments gives a variable what it holds already, but for a ``del`` between them."""
    if not isinstance(first, ast.Assign) or not isinstance(second, ast.Assign):
        return False
    targets = [module.source.segment(target) for target in (*first.targets, *second.targets)]
    block = module.block(first)
    if len(targets) != 2 or targets[0] != targets[1] or second not in block:
        return False
    between = block[module.index(first) + 1 : module.index(second)]
    stored = (ast.Name, ast.Attribute)
    return not any(
        isinstance(node, stored)
        and not isinstance(node.ctx, ast.Load)
        and module.source.segment(node) == targets[0]
        and not _is_deletion(module, statement, targets[0])
        for statement in between
        for node in ast.walk(statement)
    )


def _is_deletion(module: Module, statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.Delete) and [module.source.segment(item) for item in statement.targets] == [name]


def dropping(module: Module, load: Load) -> Iterator[AnyEdit]:
    """The edits for a load that goes: with it a ``del`` of the variable before it, or the choice between two loads."""
    unguarded = _unguarded(module, load)
    if unguarded:
        yield from unguarded
        return
    statement = module.statement(load.call)
    yield RemoveStatement((emptied(module, load.call) if load.exported_by is None else None) or statement)
    if load.exported_by is None or not isinstance(statement, ast.Assign):
        return
    name = module.source.segment(statement.targets[0])
    block = module.block(statement)
    first = module.statement(load.exported_by.call)
    for between in block[module.index(first) + 1 : module.index(statement)] if first in block else ():
        if _is_deletion(module, between, name):
            yield RemoveStatement(between)


def _unguarded(module: Module, load: Load) -> tuple[AnyEdit, ...]:
    if load.exported_by is None:
        return ()
    key = folder_key(module, load.source)
    return unguarded(module, load.exported_by.call, load.call, lambda node: folder_key(module, node) == key)


def _is_only_saved(module: Module, statement: ast.AST | None) -> bool:
    """Whether the model that a statement loads is written to a folder and serves for nothing else."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    home = module.scope(target).home(target.id)
    assert home is not None, "the statement binds the name"
    return len(home.bindings[target.id]) == 1 and all(
        isinstance(above := module.parent(reference.node), ast.Attribute)
        and above.attr == "save_pretrained"
        and isinstance(module.parent(module.parent(above)), ast.Expr)  # type: ignore[arg-type]
        for reference in module.references(home.bindings[target.id][0])
    )


def _shown(module: Module, node: ast.AST) -> str:
    text = " ".join(module.source.segment(node).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _unknown(module: Module, load: Load, model: ast.expr) -> Problem:
    """The problem of a load of a folder whose original model cannot be named there."""
    name = constant(module, model)
    if isinstance(name, str) and re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", name):
        where = "the model card or config.json of that repository names it"
    else:
        where = "checkpoint_id in its neuron_config.json, or _name_or_path in its config.json, names it"
    return Problem(
        load.call,
        f"{_shown(module, model)} is a compiled model, which native PyTorch cannot load. Name the original model with "
        f"export=True ({where}), and run neuron-migrate again.",
    )


def _with(load: Load, **changes: object) -> Load:
    from dataclasses import replace

    return replace(load, **changes)  # type: ignore[arg-type]


# What is dropped --------------------------------------------------------------------------------------------------

NATIVE_KEYWORDS = frozenset(
    {
        *("revision", "token", "cache_dir", "trust_remote_code", "subfolder", "local_files_only", "force_download"),
        *("config", "attn_implementation", "use_safetensors", "code_revision", "variant", "proxies"),
        *("output_attentions", "output_hidden_states", "num_labels", "id2label", "label2id", "quantization_config"),
        *("ignore_mismatched_sizes", "low_cpu_mem_usage", "device_map", "generation_config", "problem_type"),
    }
)


@lru_cache(maxsize=1)
def consumed_keywords() -> frozenset[str]:
    """The keywords of the old loading calls that transformers refuses: they go, or mean something elsewhere."""
    names = {"from_transformers", "export", "load_weights", "neuron_config", *CORES, *TEXT, *AUDIO, *BATCH}
    for owner in ("traced_model", "causal_lm_inference", "nxd_config"):
        names.update(keywords(owner))
    return frozenset(names) - NATIVE_KEYWORDS - {"torch_dtype", "use_auth_token", "model_id"}
