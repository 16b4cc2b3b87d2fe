"""The pipelines that a file loads, what each load becomes, and why one is left as it is."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from neuron_codemods import data
from neuron_codemods.data import Symbol
from neuron_codemods.diffusion.flow import ELSEWHERE, Flow
from neuron_codemods.diffusion.given import (
    Arguments,
    Given,
    Splat,
    arguments,
    constant_of,
    elsewhere,
    is_repeatable,
    known_literal,
    same_expression,
    text_at,
)
from neuron_codemods.diffusion.pipelines import LOADING, PIPELINES, Pipeline
from neuron_codemods.edits import AnyEdit
from neuron_codemods.folder_guards import emptied, unguarded
from neuron_codemods.module import Module, once
from neuron_codemods.renaming import attributes, imported, star_uses
from neuron_codemods.scopes import Binding
from neuron_codemods.values import UNKNOWN, is_asked_for, is_neuron, literal

BASE = "diffusers.DiffusionPipeline"
LOADERS = ("from_pretrained", "from_pipe")
EXPORT = ("export", "from_transformers")
SIZES = ("height", "width", "num_images_per_prompt", "sequence_length", "guidance_scale")
"""What was fixed when a pipeline was exported and is an argument of each call now."""
SPELLINGS = {"num_image_per_prompt": "num_images_per_prompt", "ip_adapter_ids": "ip_adapter_id"}
RENAMED = {"torch_dtype": "dtype", "use_auth_token": "token", "model_id": "pretrained_model_name_or_path"}
TRANSLATED = frozenset(
    {"auto_cast", "auto_cast_type", "tensor_parallel_size", "data_parallel_mode", "num_cores"}
    | {"controlnet_ids", "unet_id", "submodels"}
    | {"lora_model_ids", "lora_weight_names", "lora_adapter_names", "lora_scales"}
    | {"ip_adapter_id", "ip_adapter_subfolder", "ip_adapter_weight_name", "ip_adapter_scale"}
)
"""What becomes something else than a keyword of the same call."""
_PLACING = frozenset({"device_map", "max_memory"})
_FIXED_AT_EXPORT = frozenset({"output_attentions", "output_hidden_states"})
_OF_OTHER_MODELS = frozenset({"audio_sequence_length", "batch_size", "cpu_backend", "num_beams"})


@dataclass(eq=False)
class Load:
    """A call of ``from_pretrained`` of a Neuron pipeline class."""

    call: ast.Call
    symbol: Symbol
    arguments: Arguments
    problem: str = ""
    """Why the load is left as it is, and what to do; empty when it is rewritten."""
    source: Load | None = None
    """For a compiled folder: the load that exported it, or one with the same call for an export by another file."""
    is_dropped: bool = False
    """Whether the exporting load leaves the pipeline in the same variable, so that this one can go."""
    is_superseded: bool = False
    """Whether the pipeline was exported for nothing but the load that follows, so that this one can go."""

    @property
    def pipeline(self) -> Pipeline:
        return PIPELINES[self.symbol.native]

    @property
    def method(self) -> str:
        assert isinstance(self.call.func, ast.Attribute)
        return self.call.func.attr

    @property
    def settings(self) -> dict[str, Given]:
        """The keywords that decide how the pipeline was compiled, under today's spelling."""
        given = self.source.arguments.given if self.source is not None else self.arguments.given
        return {SPELLINGS.get(name, name): item for name, item in given.items()}

    @property
    def model(self) -> ast.expr:
        """The model id, or the folder."""
        return self.named.value

    @property
    def named(self) -> Given:
        """The argument with the model id, or the folder."""
        given = self.arguments.given
        named = given.get("model_id") or given.get("pretrained_model_name_or_path")
        if named is not None:
            return named
        return Given("model_id", self.call.args[0], ast.keyword("model_id", self.call.args[0]))


@dataclass(eq=False)
class ClassUse:
    """One use of the name of a pipeline class."""

    symbol: Symbol
    node: ast.expr
    problem: str = ""


@dataclass(eq=False)
class Loads:
    """All there is about Neuron pipelines in one module."""

    loads: list[Load] = field(default_factory=list)
    uses: list[ClassUse] = field(default_factory=list)
    flow: Flow | None = None
    held: dict[str, str] = field(default_factory=dict)
    """The native classes whose names stay, with what the other loads of them are told."""

    @property
    def rewritten(self) -> list[Load]:
        """The loads that are rewritten."""
        return [load for load in self.loads if not load.problem]

    def of(self, call: ast.Call) -> Load | None:
        return next((load for load in self.loads if load.call is call), None)

    def among(self, origins: Collection[ast.Call]) -> list[Load]:
        """The loads that are rewritten among some calls, in the order of the file."""
        return sorted(
            (load for load in self.rewritten if load.call in origins),
            key=lambda load: (load.call.lineno, load.call.col_offset),
        )

    def root(self, load: Load) -> Load | None:
        """For a pipeline made from another one, the load of that, if it is certain."""
        assert self.flow is not None
        seen = set()
        while load.method == "from_pipe":
            if load.call in seen or load.call not in self.flow.derived:
                return None
            seen.add(load.call)
            origins = self.flow.origins(self.flow.derived[load.call])
            found = self.of(next(iter(origins))) if len(origins) == 1 and ELSEWHERE not in origins else None
            if found is None:
                return None
            load = found
        return load


@once
def all_loads(module: Module) -> Loads:
    """The loads of Neuron pipelines in a module, each rewritten or with the reason why not."""
    found = Loads()
    if not module.uses_neuron:
        return found
    found.uses = [use for symbol, node in class_references(module) for use in _followed(module, symbol, node)]
    seen = set()
    for use in found.uses:
        call = loading_call(module, use.node)
        if call is not None and use.symbol.native == BASE:
            use.problem = (
                f"Call from_pretrained of the class of the pipeline, such as {next(iter(PIPELINES))}, and run "
                f"neuron-migrate again: {use.symbol.name} does not say which it is."
            )
        elif call is not None and call not in seen:
            seen.add(call)
            found.loads.append(Load(call, use.symbol, arguments(module, call)))
        elif call is None and not use.problem and not _is_type(module, use.node):
            use.problem = _chosen(use.symbol)
    found.loads += [load for load in _passed_on(module) if load.call not in seen]
    derived = {load.call: load.call.args[0] for load in found.loads if load.method == "from_pipe" and load.call.args}
    found.flow = Flow(module, [load.call for load in found.loads], derived)
    for load in found.loads:
        load.problem = _problem(module, load)
    _match_folders(module, found)
    _hold(module, found)
    _drop(module, found)
    return found


# The names of the classes -------------------------------------------------------------------------------------------


def class_references(module: Module) -> Iterator[tuple[Symbol, ast.expr]]:
    """Every use of a pipeline class: by its name, through its module, or from a star import."""
    for binding, symbol in imported(module):
        if is_pipeline(symbol):
            for reference in module.references(binding):
                yield symbol, reference.node
    for _, node, symbol in attributes(module):
        if is_pipeline(symbol):
            yield symbol, node
    for _, name, symbol in star_uses(module):
        if is_pipeline(symbol):
            yield symbol, name


def is_pipeline(symbol: Symbol) -> bool:
    """Whether a name of the table is a pipeline class, or the base of them, that has a native one."""
    return symbol.category == "diffusion" and (symbol.native in PIPELINES or symbol.rename == BASE)


def _followed(module: Module, symbol: Symbol, node: ast.expr) -> Iterator[ClassUse]:
    """A use of a class, and those of a variable that holds nothing but this class."""
    yield ClassUse(symbol, node)
    binding = _alias(module, node)
    if binding is not None:
        for reference in module.references(binding):
            yield from _followed(module, symbol, reference.node)


def _alias(module: Module, node: ast.expr) -> Binding | None:
    statement = module.parent(node)
    if isinstance(statement, ast.Assign) and statement.value is node and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            scope = module.scope(target)
            bindings = scope.bindings.get(target.id, [])
            if len(bindings) == 1 and bindings[0].node is target:
                return bindings[0]
    return None


def loading_call(module: Module, node: ast.expr) -> ast.Call | None:
    """The call ``X.from_pretrained(...)`` or ``X.from_pipe(...)`` of which a class is the start."""
    above = module.parent(node)
    if isinstance(above, ast.Attribute) and above.value is node and above.attr in LOADERS:
        call = module.parent(above)
        if isinstance(call, ast.Call) and call.func is above:
            return call
    return None


def _is_type(module: Module, node: ast.expr) -> bool:
    """Whether a class stands for its type only: an annotation, ``isinstance``, or a name that is followed."""
    if _alias(module, node) is not None or not module.is_placed(node) or is_asked_for(module, node):
        return True
    below: ast.AST = node
    above = module.parent(node)
    while isinstance(above, (ast.Subscript, ast.Tuple, ast.BinOp, ast.List)):
        below, above = above, module.parent(above)
    if isinstance(above, ast.Call):
        function = above.func
        is_test = isinstance(function, ast.Name) and function.id in ("isinstance", "issubclass")
        return is_test and below in above.args[1:]
    if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return above.returns is below
    if isinstance(above, ast.AnnAssign):
        return above.annotation is below
    return isinstance(above, (ast.arg, ast.Constant))  # a constant is an annotation in quotes


def _chosen(symbol: Symbol) -> str:
    return (
        f"{symbol.name} is handed on as a value here, so which pipeline loads is decided at run time. Write a call of "
        f"from_pretrained for each class and run neuron-migrate again, or load with {symbol.native} by hand."
    )


def _passed_on(module: Module) -> Iterator[Load]:
    """Loads of a class that another file of the project imports from Optimum Neuron and passes on."""
    for call in module.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in LOADERS:
            found = module.split(module.resolve(call.func))
            if found is not None and found[0].native in PIPELINES and found[1] == (call.func.attr,):
                yield Load(call, found[0], arguments(module, call))


def target(module: Module, call: ast.Call) -> str | None:
    """How the statements after a load reach the pipeline; None when it has no name of its own.

    For a ``return`` this is the name of a new variable.
    """
    statement = module.parent(call)
    if isinstance(statement, ast.Assign) and statement.value is call and len(statement.targets) == 1:
        place = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and statement.value is call:
        place = statement.target
    elif isinstance(statement, ast.Return):
        taken = module.names.bound | module.names.references.keys()
        return next(name for name in ("pipe", "pipeline", "loaded_pipeline") if name not in taken or name[0] == "l")
    else:
        return None
    return module.source.segment(place) if is_repeatable(module, place) and not is_neuron(module, place) else None


# What stands in the way ---------------------------------------------------------------------------------------------


def is_dropped(name: str) -> bool:
    """Whether a keyword of ``from_pretrained`` has no meaning any more."""
    if name.endswith("_file_name") or name in _PLACING or name in _FIXED_AT_EXPORT or name in EXPORT:
        return True
    if name in _OF_OTHER_MODELS:
        return True
    rows = (*data.keywords("diffusion").get(name, ()), *data.keywords("traced_model").get(name, ()))
    return name not in LOADING and any(row.action == "drop" and "from_pretrained" in row.members for row in rows)


def is_kept(load: Load, name: str) -> bool:
    """Whether a keyword of ``from_pretrained`` means the same natively."""
    return name in LOADING or name in load.pipeline.components or name == "pretrained_model_name_or_path"


def _problem(module: Module, load: Load) -> str:
    if not module.is_placed(load.call):
        return "Take this call out of the f-string around it and run neuron-migrate again."
    given = load.arguments.given
    if load.arguments.unknown is not None:
        text = module.source.segment(load.arguments.unknown.value)
        return (
            f"What **{text} holds cannot be told here. Write its keywords into this call and run neuron-migrate "
            "again, or load the original model by hand: diffusers ignores the old keywords without an error."
        )
    if any(isinstance(argument, ast.Starred) for argument in load.call.args) or len(load.call.args) > 1:
        return "Name all arguments but the model id and run neuron-migrate again."
    if load.method == "from_pipe":
        return "" if len(load.call.args) == 1 else "Give the pipeline as the first argument and run it again."
    if not load.call.args and not ({"model_id", "pretrained_model_name_or_path"} & given.keys()):
        return "No model id is given here: load the original model by hand."
    return _problem_of_keywords(module, load)


def _problem_of_keywords(module: Module, load: Load) -> str:
    given = load.arguments.given
    for name in given:
        plain = SPELLINGS.get(name, name)
        known = plain in SIZES or plain in TRANSLATED or plain in RENAMED or is_kept(load, plain) or is_dropped(plain)
        if not known:
            return (
                f"{name}= is no keyword of {load.symbol.native} nor one that Optimum Neuron documented, and diffusers "
                "would ignore it without an error: delete it or rename it, and run neuron-migrate again."
            )
    settings = load.settings
    pipeline = load.pipeline
    followed = {"lora_model_ids", "ip_adapter_id", "tensor_parallel_size"} & settings.keys()
    if followed and target(module, load.call) is None:
        return "Assign the pipeline to a variable and run neuron-migrate again: what follows its load needs a name."
    for name, fits in (("controlnet_ids", pipeline.has_controlnet), ("unet_id", pipeline.denoiser == "unet")):
        if name in settings and not fits and not is_none(module, settings[name]):
            return f"{load.symbol.native} takes no {name.partition('_')[0]}: choose the class that does, by hand."
    for name in ("lora_model_ids", "ip_adapter_id"):
        if name in settings and not pipeline.takes_adapters and not is_none(module, settings[name]):
            return f"{load.symbol.native} cannot load what {name}= names: load another class, by hand."
    for name in ("controlnet_ids", *_LORA):
        is_lora = name in _LORA
        if (
            name in settings
            and (lora_texts(module, settings, name) if is_lora else texts(module, settings[name])) is None
        ):
            return (
                f"Whether {name}= is one or several is decided at run time: write it out as text or a list and run "
                "neuron-migrate again."
            )
    return _problem_of_adapters(module, settings)


def _problem_of_adapters(module: Module, settings: dict[str, Given]) -> str:
    count = len(lora_texts(module, settings, "lora_model_ids") or ())
    for name in ("lora_weight_names", "lora_adapter_names"):
        found = lora_texts(module, settings, name)
        if found and count and len(found) != count:
            return f"{name}= and lora_model_ids= are of different lengths: make them one for one, by hand."
    if "submodels" in settings and not is_none(module, settings["submodels"]):
        node = settings["submodels"].value
        if not isinstance(node, ast.Dict) or [literal(key) for key in node.keys] != ["unet"]:
            return 'submodels= is followed only as {"unet": model_id}: load the component by hand.'
    return ""


def read_mappings(module: Module, settings: dict[str, Given]) -> set[Splat]:
    """The mappings whose sizes are read from them at each call, because one is made by code that may not run twice."""
    return {
        given.splat
        for name, given in settings.items()
        if name in SIZES and given.splat is not None and given.splat.binding is not None
        if not is_repeatable(module, given.value)
    }


def is_none(module: Module, given: Given) -> bool:
    return constant_of(module, given.value) is None


_LORA = ("lora_model_ids", "lora_weight_names", "lora_adapter_names")


def lora_texts(module: Module, settings: dict[str, Given], name: str) -> list[str] | None:
    """The source of each of the adapters' values; a value of unknown kind is one where another keyword has one."""
    if name not in settings:
        return []
    found = texts(module, settings[name])
    if found is None and any(
        isinstance(constant_of(module, settings[other].value), str) for other in _LORA if other in settings
    ):
        given = settings[name]
        return [module.source.segment(given.value)] if is_repeatable(module, given.value) else None
    return found


def texts(module: Module, given: Given) -> list[str] | None:
    """The source of each of one or several values that a keyword is given; None when that cannot be told."""
    node = known_literal(module, given.value)
    if isinstance(node, (ast.List, ast.Tuple)):
        if not all(is_repeatable(module, item) for item in node.elts):
            return None
        return [module.source.segment(item) for item in node.elts]
    if isinstance(node, ast.Constant):
        if node.value is None:
            return []
        return [module.source.segment(given.value if given.splat is None else node)]
    return None


# Compiled folders ---------------------------------------------------------------------------------------------------


def exports(module: Module, load: Load) -> bool | None:
    """Whether a load compiles the original model; None when that is decided at run time."""
    given = next((load.arguments.given[name] for name in EXPORT if name in load.arguments.given), None)
    if given is None:
        return False
    known = constant_of(module, given.value)
    return None if known is UNKNOWN else bool(known)


def saves(module: Module, loads: Loads) -> Iterator[tuple[ast.Call, ast.expr | None, frozenset[ast.Call]]]:
    """The calls of ``save_pretrained`` of a pipeline, with the folder and the loads that may be saved there."""
    assert loads.flow is not None
    for member in module.names.attributes:
        call = module.parent(member)
        if member.attr != "save_pretrained" or not isinstance(call, ast.Call) or call.func is not member:
            continue
        origins = loads.flow.origins(member.value)
        if origins & loads.flow.loads:
            named = next((item.value for item in call.keywords if item.arg == "save_directory"), None)
            yield call, call.args[0] if call.args else named, origins


def _match_folders(module: Module, loads: Loads) -> None:
    """Give each load of a compiled folder the load that exported it, if that is in this module."""
    folders = [
        (folder, [loads.of(call) for call in origins if call is not ELSEWHERE], ELSEWHERE in origins)
        for _, folder, origins in saves(module, loads)
        if folder is not None
    ]
    for load in loads.loads:
        if load.problem or load.method == "from_pipe":
            continue
        compiles = exports(module, load)
        if compiles is None:
            load.problem = (
                "Whether this load exports is decided at run time. Write export=True and the id of the original model "
                "and run neuron-migrate again."
            )
        elif not compiles:
            sources = {
                id(found): found
                for folder, found_loads, _ in folders
                if same_expression(module, folder, load.model)
                for found in found_loads
                if found is not None and exports(module, found)
            }
            if len(sources) == 1:
                (load.source,) = sources.values()
                load.problem = _problem_of_reload(module, load)
            elif (source := _exported_elsewhere(module, load)) is not None:
                load.source = source
            else:
                load.problem = _compiled(module, load)


def _exported_elsewhere(module: Module, load: Load) -> Load | None:
    """The load that stands for the export of a folder by another file of the project."""
    folder = constant_of(module, load.model)
    compiled = module.project.compiled_in(module.path, folder) if isinstance(folder, str) else None
    if compiled is None:
        return None
    said = {"model_id": elsewhere("model_id", compiled.model), "export": elsewhere("export", True)}
    said |= {name: elsewhere(name, value) for name, value in compiled.settings if name in SIZES or name in TRANSLATED}
    return Load(load.call, load.symbol, Arguments(load.call, said))


def _problem_of_reload(module: Module, load: Load) -> str:
    assert load.source is not None
    if load.source.problem:
        return "This loads the folder of an export in this file, which needs a person first."
    lacks = {"controlnet_ids": "controlnet", "unet_id": "unet"}
    fits = all(lacks[name] in load.pipeline.components for name in lacks.keys() & load.settings.keys())
    is_seen = text_at(module, load.source.named, load.call) is not None
    return "" if fits and is_seen else _compiled(module, load)


def _compiled(module: Module, load: Load) -> str:
    model = module.source.segment(load.model)
    return (
        f"{model} is a compiled pipeline, which only Optimum Neuron could run. Write the id of the original model in "
        "its place, add export=True, height= and width=, and run neuron-migrate again. The folder says what they "
        "were: unet/config.json or transformer/config.json has _name_or_path and, under neuron, static_height and "
        "static_width in latents (times 8 for the image)."
    )


# What belongs together ----------------------------------------------------------------------------------------------


def _hold(module: Module, loads: Loads) -> None:
    """Leave all loads of a class as they are where one use of it is: an import cannot be half renamed."""
    while True:
        before = len(loads.held)
        for use in loads.uses:
            if use.problem:
                loads.held.setdefault(use.symbol.native, _held(use.symbol))
        for load in loads.loads:
            if load.problem:
                loads.held.setdefault(load.symbol.native, _held(load.symbol))
        for load in loads.loads:
            if load.problem:
                continue
            if load.symbol.native in loads.held:
                load.problem = loads.held[load.symbol.native]
            elif load.source is not None and load.source.problem:
                load.problem = _problem_of_reload(module, load)
            elif load.method == "from_pipe":
                root = loads.root(load)
                if root is not None and root.problem:
                    load.problem = "The pipeline that this one is made from needs a person first."
        if len(loads.held) == before and not any(
            load.symbol.native not in loads.held for load in loads.loads if load.problem
        ):
            return


def _held(symbol: Symbol) -> str:
    return f"Left as it is, because another use of {symbol.name} in this file needs a person first."


def _drop(module: Module, loads: Loads) -> None:
    """Find the pairs of an export and the load of its folder of which one can go."""
    for load in loads.rewritten:
        source = load.source
        if source is None or source.call is load.call or source.symbol.native != load.symbol.native:
            continue
        if guarded(module, load):
            load.is_dropped = True
            continue
        exported, loaded = module.parent(source.call), module.parent(load.call)
        if not isinstance(exported, ast.Assign) or not isinstance(loaded, ast.Assign):
            continue
        around = emptied(module, source.call) or exported
        if module.block(around) is not module.block(loaded) or exported.lineno > loaded.lineno:
            continue
        name, other = target(module, source.call), target(module, load.call)
        if name is not None and name == other:
            load.is_dropped = True
        elif _is_only_saved(module, loads, source):
            source.is_superseded = True


def guarded(module: Module, load: Load) -> tuple[AnyEdit, ...]:
    """The edits that leave the export alone, where an ``if`` chose between it and this load of its folder."""
    assert load.source is not None
    return unguarded(module, load.source.call, load.call, lambda node: same_expression(module, node, load.model))


def _is_only_saved(module: Module, loads: Loads, load: Load) -> bool:
    """Whether nothing is done with an exported pipeline but to save it in a folder that is loaded again."""
    assert loads.flow is not None
    folders = [item.model for item in loads.rewritten if item.source is load]
    saved = [
        call
        for call, folder, _ in saves(module, loads)
        if folder is not None and isinstance(module.parent(call), ast.Expr)
        if any(same_expression(module, folder, item) for item in folders)
    ]
    for node, origins in loads.flow.uses:
        if load.call not in origins or node is load.call:
            continue
        above = module.parent(node)
        call = module.parent(above) if above is not None else None
        if not (isinstance(above, ast.Attribute) and call in saved):
            return False
    return True
