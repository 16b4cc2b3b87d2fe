"""The precision of a compiled model as the ``dtype`` to load it in."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from neuron_codemods.inference.loads import CAUSAL, Given, Load, known, quoted, text_at
from neuron_codemods.module import Module
from neuron_codemods.releases import bounds
from neuron_codemods.values import UNKNOWN, dtype_text, literal

_TYPES = {
    "bf16": "bfloat16",
    "bfloat16": "bfloat16",
    "fp16": "float16",
    "float16": "float16",
    "f16": "float16",
    "fp32": "float32",
    "f32": "float32",
    "float32": "float32",
}
_USUAL = ("bf16", "fp16", "fp32")
_MATMUL = (
    'Only matrix products were computed in %s (auto_cast="matmul"); now all of the model is. Compare the outputs, and '
    'load with dtype="float32" where the difference matters.'
)
_UNSUPPORTED = "auto_cast_type=%s has no native form: the weights load in float32."
_NOT_FOLLOWED = "auto_cast=%s is decided at run time and not followed: the weights load in float32."
_UNSEEN = (
    "%s=%s cannot be seen from here: the weights load as the checkpoint has them. Pass dtype to load them as before."
)
_CHECKPOINT = (
    "The weights load as the checkpoint has them; Optimum Neuron cast them to float32 up to 0.1 and to bfloat16 in "
    "0.2 and 0.3. Pass dtype to choose."
)


@dataclass(frozen=True)
class Cast:
    """The text of ``dtype=``, or None where it is left to the checkpoint, and what a person should know of it."""

    text: str | None = None
    note: str = ""


def cast_of(module: Module, load: Load) -> Cast:
    """The dtype in which a load computed."""
    if load.family == CAUSAL or load.symbol.name == "NeuronModelForEmbedding":
        return _decoder(module, load)
    return _traced(module, load)


def _traced(module: Module, load: Load) -> Cast:
    """Encoders computed in float32 unless ``auto_cast`` said otherwise; alone, ``auto_cast_type`` did nothing."""
    cast, kind = load.find("auto_cast"), load.find("auto_cast_type")
    mode = known(module, cast) if cast is not None else None
    if mode in (None, "none"):
        given = load.find("torch_dtype", "dtype")
        return _given(module, load, given) if given is not None else Cast(dtype_text(module, "float32", load.call))
    if mode is UNKNOWN:
        assert cast is not None
        return Cast(dtype_text(module, "float32", load.call), _NOT_FOLLOWED % module.source.segment(cast.value))
    name = known(module, kind) if kind is not None else "bf16"
    native = _TYPES.get(str(name))
    if kind is not None and name is UNKNOWN:
        return _looked_up(module, load, kind)
    if native is None:
        return Cast(dtype_text(module, "float32", load.call), _UNSUPPORTED % repr(name))
    note = _MATMUL % native if mode == "matmul" and native != "float32" else ""
    return Cast(dtype_text(module, native, load.call), note)


def _decoder(module: Module, load: Load) -> Cast:
    given = load.find("torch_dtype", "dtype")
    if given is not None:
        return _given(module, load, given)
    kind = load.find("auto_cast_type")
    if kind is not None:
        name = known(module, kind)
        if name is UNKNOWN:
            return _looked_up(module, load, kind)
        if name is not None:
            native = _TYPES.get(str(name))
            if native is None:
                return Cast(dtype_text(module, "float32", load.call), _UNSUPPORTED % repr(name))
            return Cast(dtype_text(module, native, load.call))
    first, last = bounds(module)
    if last < (0, 2, 0):
        return Cast(dtype_text(module, "float32", load.call))
    return Cast() if first >= (0, 4, 0) or load.find("export") is None else Cast(note=_CHECKPOINT)


def _given(module: Module, load: Load, given: Given, form: str = "%s") -> Cast:
    """A dtype by the expression that the load, or the one that compiled its folder, was given."""
    text = text_at(module, given.value, load.call)
    if text is None:
        text = module.source.segment(given.value)
        if given not in load.settings.values() or module.scope(given.value) is not module.scope(load.call):
            return Cast(note=_UNSEEN % (given.name, text))
    return Cast(form % text)


def _looked_up(module: Module, load: Load, kind: Given) -> Cast:
    """A dtype by the name that only the run knows: one of the usual ones, or of those that the script speaks of."""
    chosen = _chosen(module, load, kind.value)
    if chosen is not None:
        return Cast(chosen)
    spoken = {constant.value for constant in module.names.strings if isinstance(constant.value, str)}
    names = (*_USUAL, *(name for name in _TYPES if name in spoken and name not in _USUAL))
    table = ", ".join(f"{quoted(name)}: {quoted(_TYPES[name])}" for name in names)
    return _given(module, load, kind, f"{{{table}}}[%s]")


def _chosen(module: Module, load: Load, value: ast.expr) -> str | None:
    """``"bfloat16" if fast else "float32"`` for ``"bf16" if fast else "fp32"``."""
    if not isinstance(value, ast.IfExp):
        return None
    names = [_TYPES.get(str(literal(branch))) for branch in (value.body, value.orelse)]
    condition = text_at(module, value.test, load.call)
    if condition is None or None in names:
        return None
    return f"{quoted(str(names[0]))} if {condition} else {quoted(str(names[1]))}"
