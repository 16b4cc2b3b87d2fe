"""The forms in which checkpoints come, one module each. Adding a module adds a layout; no other file is touched.

A layout module defines:

- ``NAME``: what it is called in messages.
- ``evidence(source) -> tuple[str, ...]``: the file names (or what else) that tell this layout; empty if they don't.
- ``open_checkpoint(source, request) -> Checkpoint``: check everything that can be checked without reading weights, and
  describe the tensors. Nothing is written.
- ``IS_ADAPTER = True``, if it is of adapters.

A source is a folder (``Path``) or a model object.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from neuron_shim.checkpoint.companions import companions_in, has_tokenizer, left_behind, tokenizer_in
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.source import ADAPTER_CONFIG, CONFIG, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_shim.checkpoint.source import Checkpoint


@dataclass(frozen=True)
class Request:
    """What a layout may have to know of the call."""

    files_from: Path | None = None
    """A folder that has the config or tokenizer files that the source lacks."""

    config_from: Path | None = None
    """A folder with a config.json, or such a file, for a source that has none; also lends generation settings."""

    adapter: str | None = None
    """Which of several adapters is meant."""

    tokenizer: Any = None
    """An object with ``save_pretrained``."""

    merge: bool = False
    """Whether an adapter is to be merged, so that a live one has to show its base model too."""


class Layout(Protocol):
    NAME: str

    def evidence(self, source: Any) -> tuple[str, ...]: ...

    def open_checkpoint(self, source: Any, request: Request) -> Checkpoint: ...


def layouts() -> list[Layout]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return [cast("Layout", importlib.import_module(f"{__name__}.{name}")) for name in names]


def open_source(source: Any, request: Request) -> Checkpoint:
    """Find the layout of a source and open it.

    Raises:
        ExportError: there is none, there are several, or what is there is not whole.
    """
    if isinstance(source, Path) and not source.is_dir():
        raise ExportError(f"{source} {'is not a folder' if source.exists() else 'does not exist'}.")
    found = {layout.NAME: (layout, names) for layout in layouts() if (names := layout.evidence(source))}
    if request.adapter is not None:
        found = {name: some for name, some in found.items() if getattr(some[0], "IS_ADAPTER", False)}
        if not found:
            raise ExportError(f"{source} holds no adapter, so none called {request.adapter}.")
    if not found:
        raise ExportError(_unknown(source))
    if len(found) > 1:
        listed = " and ".join(f"{name} ({names[0]})" for name, (_, names) in found.items())
        raise ExportError(
            f"{source} holds {listed}: two checkpoints are mixed in one folder. "
            f"Separate them first{', or choose the adapter (--adapter NAME)' if _some_adapter(found) else ''}."
        )
    [(layout, _)] = found.values()
    return layout.open_checkpoint(source, request)


def _some_adapter(found: Mapping[str, tuple[Layout, tuple[str, ...]]]) -> bool:
    return any(getattr(layout, "IS_ADAPTER", False) for layout, _ in found.values())


def _unknown(source: Any) -> str:
    if not isinstance(source, Path):
        return (
            f"A {type(source).__name__} cannot be exported: it is neither a folder nor a transformers or PEFT model."
        )
    names = sorted(path.name for path in source.iterdir())
    pickled = [name for name in names if name.endswith((".bin", ".pt", ".pth")) and "model" in name]
    if pickled:
        return (
            f"{source} has its weights in {pickled[0]}, a pickle, which may run code when it is opened. Load it with "
            f"from_pretrained, or with the tool that wrote it, and save it as safetensors."
        )
    for folder in sorted(path for path in source.iterdir() if path.is_dir()):
        inside = next((layout.NAME for layout in layouts() if layout.evidence(folder)), None)
        if inside is not None:
            return f"{source} holds no checkpoint itself, but {folder} is {inside}: name that."
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return (
        f"{source} holds no checkpoint of transformers, PEFT, torch.distributed or Optimum Neuron that is known here; "
        f"found: {', '.join(names[:6]) or 'nothing'}{more}."
    )


def small_files(
    folder: Path, config: Mapping[str, Any], request: Request
) -> tuple[dict[str, Path | bytes], tuple[str, ...], tuple[str, ...]]:
    """What goes along from a folder and, where that lacks a tokenizer, from another; what stays; remarks."""
    taken = companions_in(folder, custom_code="auto_map" in config)
    left = left_behind(folder, taken)
    if has_tokenizer(taken):
        return taken, left, ()
    if request.files_from is None:
        return (
            taken,
            left,
            (f"{folder} has no tokenizer files; a folder that has them can lend them (--files-from FOLDER).",),
        )
    return tokenizer_in(request.files_from) | taken, left, ()


def config_of(folder: Path, request: Request) -> Mapping[str, Any]:
    """The model's config.

    Raises:
        ExportError: neither folder has a readable one.
    """
    if (folder / CONFIG).exists():
        return read_json(folder / CONFIG)
    for lender in (request.config_from, request.files_from):
        if lender is not None:
            return read_json(lender / CONFIG if lender.is_dir() else lender)
    raise ExportError(
        f"{folder / CONFIG} is missing. Name the folder of the model that it was trained from, which has one "
        f"(--config FOLDER)."
    )


def adapter_config_of(folder: Path) -> Mapping[str, Any]:
    """The config of an adapter.

    Raises:
        ExportError: there is none that PEFT could read.
    """
    config = read_json(folder / ADAPTER_CONFIG)
    if not isinstance(config.get("peft_type"), str):
        raise ExportError(f"{folder / ADAPTER_CONFIG} has no peft_type, so it is of no adapter.")
    return config
