"""What one load of a pipeline becomes: the keywords of the call, and the lines that follow it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from neuron_codemods.diffusion.given import Given, Splat, constant_of, text_at
from neuron_codemods.diffusion.loads import (
    EXPORT,
    RENAMED,
    SIZES,
    SPELLINGS,
    TRANSLATED,
    Load,
    Loads,
    is_dropped,
    is_kept,
    is_none,
    lora_texts,
    read_mappings,
    target,
    texts,
)
from neuron_codemods.diffusion.pipelines import LOADING
from neuron_codemods.edits import CallEdit, Edit
from neuron_codemods.imports import local_name
from neuron_codemods.module import Module
from neuron_codemods.named_folders import folder_text
from neuron_codemods.scopes import Binding
from neuron_codemods.statements import first_line_statement
from neuron_codemods.values import UNKNOWN, in_order, rename_argument

DEVICE = "neuron_shim.neuron_device"
COMPILE = "neuron_shim.compile_static"
PARALLEL = "neuron_shim.parallel_sizes"
CONTROLNET = "diffusers.ControlNetModel"
UNET = "diffusers.UNet2DConditionModel"
TENSOR_PARALLEL = "diffusers.TensorParallelConfig"

_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "float32": "float32", "tf32": "float32"}
_DTYPES |= {"bfloat16": "bfloat16", "float16": "float16"}


@dataclass
class Conversion:
    """The changes that one load needs."""

    load: Load
    edits: list[CallEdit | Edit] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    """What precedes the load."""
    lines: list[str] = field(default_factory=list)
    """What follows the load, with ``{pipe}`` where the pipeline stands."""
    requires: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """What a person should know: each makes the load one to review."""
    dtype: str | None = None
    """The text of the dtype that the weights get, None for float32."""
    emptied: list[Splat] = field(default_factory=list)
    """The mappings that the call takes no longer."""
    dropped: list[ast.Name] = field(default_factory=list)
    """The variables that only told the compiler something."""
    read: set[Binding] = field(default_factory=set)
    """The variables of mappings of which an entry is read elsewhere now."""
    launch: str | None = None


def convert(module: Module, loads: Loads, load: Load) -> Conversion:
    """The changes for a load that is rewritten."""
    made = Conversion(load)
    if load.method == "from_pipe":
        _from_pipe(module, loads, made)
        return made
    made.dtype = _dtype(module, made)
    _call(module, made)
    _adapters(module, made)
    _parallel(module, made)
    _place(module, made)
    return made


# Precision ----------------------------------------------------------------------------------------------------------


def _dtype(module: Module, made: Conversion) -> str | None:
    """The text of the dtype, or None where the weights load in float32, the default of diffusers."""
    settings = made.load.settings
    explicit = settings.get("torch_dtype") or settings.get("dtype")
    cast, kind = settings.get("auto_cast"), settings.get("auto_cast_type")
    how = "matmul" if cast is None else constant_of(module, cast.value)
    what = "bf16" if kind is None else constant_of(module, kind.value)
    what = "bf16" if what is None else what
    if explicit is not None and not is_none(module, explicit):
        known = constant_of(module, explicit.value)
        if isinstance(known, str):
            return _torch(module, made, known.removeprefix("torch.")) if known in _DTYPES else None
        text = _text(module, made, explicit)
        if module.resolve(explicit.value) != "torch.float32" or how in (None, "none"):
            return text
    if how in (None, "none"):
        return None
    if how is UNKNOWN or what is UNKNOWN or what not in _DTYPES:
        made.said.append(
            "Which operations the compiler cast, and to what, is not known here: the weights load in bfloat16; "
            "delete dtype= for full precision."
        )
        return _torch(module, made, "bfloat16")
    name = _DTYPES[str(what)]
    if name == "float32":
        if what == "tf32":
            made.said.append("tf32 has no native form: the weights load in float32.")
        return None
    if how == "matmul":
        made.said.append(
            f"The compiler cast matrix products alone to {name}; natively all of the pipeline is {name}: delete "
            "dtype= for full precision."
        )
    return _torch(module, made, name)


def _text(module: Module, made: Conversion, given: Given) -> str | None:
    """How to write a setting at the load; None, and said, where it is from an export that the load does not see."""
    text = text_at(module, given, made.load.call)
    if text is not None:
        return text
    text = module.source.segment(given.value)
    if made.load.source is None:
        return text  # it was written here
    made.said.append(f"{given.name}={text} of the export cannot be seen here and is left out.")
    return None


def _torch(module: Module, made: Conversion, name: str) -> str | None:
    if name == "float32":
        return None
    torch = module.import_at("torch", made.load.call)
    if torch is not None:
        return f"{torch.name}.{name}"
    made.requires.append("torch")
    return f"torch.{name}"


# The call -----------------------------------------------------------------------------------------------------------


def _call(module: Module, made: Conversion) -> None:
    load = made.load
    call = load.call
    removed: set[int] = set()
    renamed: list[tuple[int, str]] = []
    values: list[tuple[int, str]] = []
    added: list[tuple[str, str]] = []
    order = in_order(call)
    given = load.arguments.given
    for name, item in given.items():
        if item.splat is not None:
            continue
        becomes = _becomes(load, name)
        if becomes is None:
            removed.add(order.index(item.entry))
            if is_dropped(SPELLINGS.get(name, name)) and isinstance(item.value, ast.Name):
                made.dropped.append(item.value)
        elif becomes != name:
            renamed.append((order.index(item.entry), becomes))
        if becomes == "dtype":
            if made.dtype is None:
                removed.add(order.index(item.entry))
            elif made.dtype != module.source.segment(item.value):
                values.append((order.index(item.entry), made.dtype))
    for splat in load.arguments.splats:
        added += _of_splat(module, made, splat, removed, order)
    present = {_becomes(load, name) for name in given}
    if load.source is not None:
        added += _of_source(module, made, present, values, order)
    if made.dtype is not None and "dtype" not in present:
        added.append(("dtype", made.dtype))
    added += _components(module, made)
    made.edits.append(CallEdit(call, frozenset(removed), tuple(renamed), tuple(values), tuple(added)))


def _becomes(load: Load, name: str) -> str | None:
    """The native keyword that an old one of the same call becomes, or None when it leaves the call."""
    plain = SPELLINGS.get(name, name)
    if plain in SIZES or plain in TRANSLATED or plain in EXPORT:
        return None
    if plain in RENAMED:
        return RENAMED[plain]
    if is_kept(load, plain):
        return plain
    assert is_dropped(plain), plain
    return None


def _of_splat(
    module: Module, made: Conversion, splat: Splat, removed: set[int], order: list[ast.expr | ast.keyword]
) -> list[tuple[str, str]]:
    """Take the entries that leave the call out of a mapping, or the mapping out of the call.

    Returns the keywords that the call needs instead.
    """
    load = made.load
    entries = [item for item in load.arguments.given.values() if item.splat is splat]
    kept = [item for item in entries if _becomes(load, item.name) is not None]
    is_read = splat in read_mappings(module, load.settings)
    if splat.literal is not None and kept and not is_read:
        inside = in_order(splat.literal)
        gone = frozenset(inside.index(item.entry) for item in entries if item not in kept)
        names = tuple(
            (inside.index(item.entry), str(_becomes(load, item.name)))
            for item in kept
            if _becomes(load, item.name) != item.name
        )
        values = tuple(
            (inside.index(item.entry), made.dtype)
            for item in kept
            if _becomes(load, item.name) == "dtype"
            and made.dtype is not None
            and made.dtype != module.source.segment(item.value)
        )
        if made.dtype is None:
            gone |= {inside.index(item.entry) for item in kept if _becomes(load, item.name) == "dtype"}
        if gone or names or values:
            made.edits.append(CallEdit(splat.literal, gone, names, values))
        return []
    removed.add(order.index(splat.keyword))
    made.emptied.append(splat)
    if is_read and splat.binding is not None:
        made.read.add(splat.binding)
    becoming = [(item, str(_becomes(load, item.name))) for item in kept]
    texts = [(name, made.dtype if name == "dtype" else _text(module, made, item)) for item, name in becoming]
    return [(name, text) for name, text in texts if text is not None]


def _of_source(
    module: Module,
    made: Conversion,
    present: set[str | None],
    values: list[tuple[int, str]],
    order: list[ast.expr | ast.keyword],
) -> list[tuple[str, str]]:
    """Load what the exported folder was made from: its model id and what said where that comes from."""
    load = made.load
    assert load.source is not None
    text = text_at(module, load.source.named, load.call)
    assert text is not None
    named = folder_text(module, load.model) if load.source.call is load.call else None
    if named is not None:
        made.edits.append(Edit.replace(module.source.span(named), text))
    else:
        index = next(
            index
            for index, argument in enumerate(order)
            if argument is load.model or (isinstance(argument, ast.keyword) and argument.value is load.model)
        )
        values.append((index, text))
    added = []
    for name, item in load.source.arguments.given.items():
        becomes = _becomes(load.source, name)
        if becomes in LOADING and becomes != "dtype" and becomes not in present:
            written = _text(module, made, item)
            if written is not None:
                added.append((str(becomes), written))
    return added


def _components(module: Module, made: Conversion) -> list[tuple[str, str]]:
    settings = made.load.settings
    precision = f", dtype={made.dtype}" if made.dtype is not None else ""
    added = []
    if "controlnet_ids" in settings:
        names = texts(module, settings["controlnet_ids"]) or []
        loader = local_name(module, CONTROLNET)
        made.requires += [CONTROLNET] if names else []
        parts = [f"{loader}.from_pretrained({name}{precision})" for name in names]
        if parts and isinstance(constant_of(module, settings["controlnet_ids"].value), str):
            added.append(_component(module, made, "controlnet", parts))
        elif parts:
            added.append(_component(module, made, "controlnet", ["[", *parts, "]"]))
    unet = _unet(module, made)
    if unet is not None:
        made.requires.append(UNET)
        text = f"{local_name(module, UNET)}.from_pretrained({unet}{precision})"
        added.append(_component(module, made, "unet", [text]))
    return added


def _component(module: Module, made: Conversion, name: str, parts: list[str]) -> tuple[str, str]:
    """The keyword for a component: a variable of its name made before the load, or all of it where that cannot be."""
    statement = module.statement(made.load.call)
    starts_line = first_line_statement(module, statement) is statement
    taken = name in module.names.bound or name in module.names.references
    if taken or not starts_line or target(module, made.load.call) is None:
        text = f"[{', '.join(parts[1:-1])}]" if len(parts) > 1 else parts[0]
        return name, text
    if len(parts) > 1:
        made.before += [f"{name} = [", *(f"    {part}," for part in parts[1:-1]), "]"]
    else:
        made.before.append(f"{name} = {parts[0]}")
    return name, name


def _unet(module: Module, made: Conversion) -> str | None:
    settings = made.load.settings
    if "unet_id" in settings and not is_none(module, settings["unet_id"]):
        return _text(module, made, settings["unet_id"])
    if "submodels" in settings and isinstance(settings["submodels"].value, ast.Dict):
        return module.source.segment(settings["submodels"].value.values[0])
    return None


# What follows the load ----------------------------------------------------------------------------------------------


def _written(function: str, *arguments: str) -> str:
    return f"{{pipe}}.{function}({', '.join(argument for argument in arguments if argument)})"


def _adapters(module: Module, made: Conversion) -> None:
    settings = made.load.settings
    models = lora_texts(module, settings, "lora_model_ids")
    if models:
        _lora(module, made, models)
    if "ip_adapter_id" in settings and not is_none(module, settings["ip_adapter_id"]):

        def named(name: str) -> str | None:
            is_given = name in settings and not is_none(module, settings[name])
            return _text(module, made, settings[name]) if is_given else None

        model, subfolder, weight, scale = map(
            named, ("ip_adapter_id", "ip_adapter_subfolder", "ip_adapter_weight_name", "ip_adapter_scale")
        )
        if model is not None:
            made.lines.append(
                _written(
                    "load_ip_adapter",
                    model,
                    f"subfolder={subfolder or chr(34) * 2}",
                    f"weight_name={weight}" if weight else "",
                )
            )
        if model is not None and scale is not None:
            made.lines.append(_written("set_ip_adapter_scale", scale))


def _lora(module: Module, made: Conversion, models: list[str]) -> None:
    """Load the adapters and fuse them into the weights, as the export did."""
    settings = made.load.settings
    weights = lora_texts(module, settings, "lora_weight_names") or []
    names = lora_texts(module, settings, "lora_adapter_names") or []
    if len(models) > 1 and not names:
        names = [f'"lora_{index}"' for index in range(len(models))]
    for index, model in enumerate(models):
        made.lines.append(
            _written(
                "load_lora_weights",
                model,
                f"weight_name={weights[index]}" if weights else "",
                f"adapter_name={names[index]}" if names else "",
            )
        )
    scale = ""
    if "lora_scales" in settings and not is_none(module, settings["lora_scales"]):
        given = settings["lora_scales"]
        scale = _text(module, made, given) or ""
    several = f"[{', '.join(names)}]"
    if scale and names:
        is_list = isinstance(constant_of(module, settings["lora_scales"].value), (list, tuple))
        made.lines.append(
            _written(
                "set_adapters", several, f"adapter_weights={scale if is_list or len(names) > 1 else f'[{scale}]'}"
            )
        )
    elif len(models) > 1:
        made.lines.append(_written("set_adapters", several))
    values = texts(module, settings["lora_scales"]) if "lora_scales" in settings else None
    made.lines.append(_written("fuse_lora", f"lora_scale={(values or [scale])[0]}" if scale and not names else ""))
    made.lines.append(_written("unload_lora_weights"))


def _parallel(module: Module, made: Conversion) -> None:
    settings = made.load.settings
    mode = settings.get("data_parallel_mode")
    if mode is not None and constant_of(module, mode.value) not in (None, "none"):
        made.said.append(
            "data_parallel_mode goes: a pipeline runs on one core, so start a process for each core and divide the "
            "prompts."
        )
    cores = settings.get("num_cores")
    if cores is not None and constant_of(module, cores.value) not in (None, 1):
        made.said.append("num_cores goes: a pipeline runs on one core.")
    given = settings.get("tensor_parallel_size")
    known = constant_of(module, given.value) if given is not None else 1
    if given is None or known in (None, 1):
        return
    if not made.load.pipeline.can_be_sharded:
        made.said.append(
            f"tensor_parallel_size goes: the {made.load.pipeline.denoiser} of this pipeline has no plan for tensor "
            "parallelism in diffusers, so it must fit one core."
        )
        return
    size = _text(module, made, given)
    if size is None:
        return
    sizes = local_name(module, PARALLEL)
    made.requires += [PARALLEL, TENSOR_PARALLEL]
    torch = (_torch(module, made, "distributed") or "").removesuffix(".distributed")
    made.lines += [
        f'tp_size = {sizes}(tp_size={size})["tp_size"]',
        "if tp_size > 1:",
        f"    {torch}.distributed.init_process_group()",
        f"    {{pipe}}.{made.load.pipeline.denoiser}.enable_parallelism(config={local_name(module, TENSOR_PARALLEL)}"
        "(tp_degree=tp_size))",
    ]
    shown = known if isinstance(known, int) else "<size>"
    made.launch = f"TP_SIZE={shown}"
    made.said.append(
        f"The old runtime used {shown} cores from one process. Start one process for each core now: TP_SIZE={shown} "
        f"torchrun --nproc_per_node={shown} script.py. Every process makes the same images, so write them where "
        "neuron_shim.is_main_process() is true. In one process the model runs on one core."
    )


def _place(module: Module, made: Conversion) -> None:
    """Put the pipeline on the device, and compile what runs for long."""
    made.requires += [DEVICE, COMPILE]
    made.lines.append(_written("to", f"{local_name(module, DEVICE)}()"))
    parts = [
        made.load.pipeline.denoiser,
        *(["controlnet"] if made.load.pipeline.has_controlnet else []),
        "vae.decoder",
    ]
    compile_static = local_name(module, COMPILE)
    made.lines += [f"{{pipe}}.{part} = {compile_static}({{pipe}}.{part})" for part in parts]


# A pipeline made of another one -------------------------------------------------------------------------------------


def _from_pipe(module: Module, loads: Loads, made: Conversion) -> None:
    load = made.load
    root = loads.root(load)
    given = load.arguments.given
    found = given.get("torch_dtype")
    if found is not None:
        holder = load.call if found.splat is None else found.splat.literal
        if holder is not None:
            made.edits.append(rename_argument(holder, found.entry, "dtype"))
        return
    if "dtype" in given:
        return
    if root is None:
        made.said.append(
            "Without dtype= from_pipe turns the weights into float32: add the dtype of the first pipeline."
        )
        return
    dtype = convert(module, loads, root).dtype
    if dtype is None:
        return
    made.dtype = dtype
    if dtype.startswith("torch."):
        made.requires.append("torch")
    made.edits.append(CallEdit(load.call, added=(("dtype", dtype),)))
