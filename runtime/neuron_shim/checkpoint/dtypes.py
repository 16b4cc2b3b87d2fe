"""The dtypes of the safetensors format, and the floating-point ones that an export can be asked for.

Source: https://huggingface.co/docs/safetensors/index#format and the ``Dtype`` enum of its Rust crate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.errors import ExportError

if TYPE_CHECKING:
    import torch

BITS = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "I16": 16,
    "U16": 16,
    "I32": 32,
    "U32": 32,
    "I64": 64,
    "U64": 64,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "F16": 16,
    "BF16": 16,
    "F32": 32,
    "F64": 64,
    "C64": 64,
}

TORCH_NAMES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "U16": "uint16",
    "I32": "int32",
    "U32": "uint32",
    "I64": "int64",
    "U64": "uint64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
_CODES = {name: code for code, name in TORCH_NAMES.items()}

# What weights are trained in: these, and no others, follow a dtype that the user asks for.
WEIGHT_DTYPES = frozenset({"F16", "BF16", "F32", "F64"})

SHORT_NAMES = {"bf16": "BF16", "fp16": "F16", "fp32": "F32"}


def bits_of(code: str) -> int:
    try:
        return BITS[code]
    except KeyError:
        raise ExportError(f"The dtype {code} is not one that the export knows ({', '.join(BITS)}).") from None


def torch_name(code: str) -> str:
    """What transformers writes into config.json, such as "bfloat16"."""
    try:
        return TORCH_NAMES[code]
    except KeyError:
        raise ExportError(f"torch has no dtype for {code}, so it can only be copied as it is.") from None


def torch_dtype(code: str) -> torch.dtype:
    import torch

    dtype: torch.dtype = getattr(torch, torch_name(code))
    return dtype


def code_of(dtype: torch.dtype) -> str:
    try:
        return _CODES[str(dtype).removeprefix("torch.")]
    except KeyError:
        raise ExportError(f"safetensors cannot hold {dtype}.") from None


def requested(dtype: Any) -> str | None:
    """The code of what the user asked for: "bf16", "bfloat16" or ``torch.bfloat16``; None changes no tensor.

    Raises:
        ValueError: it is none of the three dtypes that a model can be exported in.
    """
    if dtype is None:
        return None
    name = str(dtype).removeprefix("torch.")
    code = SHORT_NAMES.get(name, _CODES.get(name))
    if code not in SHORT_NAMES.values():
        raise ValueError(f"dtype is {dtype!r}, but must be one of {', '.join(SHORT_NAMES)}, or None.")
    return code
