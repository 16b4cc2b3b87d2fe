"""A model in memory: plain, or sharded by DistributedConfig or FSDP2 (its parameters are DTensors)."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_shim.checkpoint.companions import companions_in, tokenizer_in
from neuron_shim.checkpoint.dtypes import code_of, torch_name
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.layouts import Request
from neuron_shim.checkpoint.names import as_in_files
from neuron_shim.checkpoint.source import CONFIG, Checkpoint
from neuron_shim.checkpoint.tensors import Tensor, buffers_of
from neuron_shim.environment import is_main_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NAME = "a live model"


def evidence(source: Any) -> tuple[str, ...]:
    if isinstance(source, Path) or not hasattr(source, "state_dict"):
        return ()
    return (type(source).__name__,)


def open_checkpoint(source: Any, request: Request) -> Checkpoint:
    model = unwrapped(source)
    _refuse(model)
    if getattr(model, "peft_config", None):
        return _adapter(model, request)
    state = model.state_dict()
    for name in getattr(model, "_keys_to_ignore_on_save", None) or ():
        state.pop(name, None)
    return _model(model, _without_second_names(model, state), request)


def unwrapped(model: Any) -> Any:
    """Without DistributedDataParallel and torch.compile round it."""
    while True:
        inner = getattr(model, "_orig_mod", None) or getattr(model, "module", None)
        if inner is None or not hasattr(inner, "state_dict") or not hasattr(inner, "config"):
            return model
        model = inner


def parallel_device(source: Any) -> Any | None:
    """The device of a sharded model, on which its ranks have to work together; None if each has it whole."""
    if not evidence(source):
        return None
    for parameter in unwrapped(source).parameters():
        if hasattr(parameter, "full_tensor"):
            return parameter.to_local().device
    return None


def _refuse(model: Any) -> None:
    if not hasattr(model, "config") or not hasattr(model, "save_pretrained"):
        raise ExportError(f"{type(model).__name__} is neither a transformers nor a PEFT model.")
    if any("FullyShardedDataParallel" in type(module).__name__ for module in model.modules()):
        raise ExportError(
            "The model is sharded by FSDP version 1, which hides its tensors. Shard it by DistributedConfig."
        )
    if getattr(model, "hf_quantizer", None) is not None:
        raise ExportError("The model is quantized; save_pretrained knows how its quantizer writes it.")
    stages = getattr(getattr(model.config, "distributed_config", None), "pp_size", None) or 1
    if stages > 1:
        raise ExportError(f"The model is split into {stages} pipeline stages, and no rank knows all its tensors.")


def _model(model: Any, state: Mapping[str, Any], request: Request) -> Checkpoint:
    writes = is_main_process()
    tensors = tuple(_tensor(name, value, writes) for name, value in state.items())
    config, files = _config_and_files(model)
    if writes:
        files |= _tokenizer_files(request)
    return Checkpoint(
        NAME,
        as_in_files(model, tensors),
        config,
        files,
        notes=() if request.tokenizer or request.files_from else ("No tokenizer was given, so none was written.",),
        writes=writes,
        collective=parallel_device(model) is not None,
    )


def _adapter(model: Any, request: Request) -> Checkpoint:
    from peft import get_peft_model_state_dict

    [name, *others] = model.active_adapters
    if others:
        raise ExportError(f"Several adapters are active ({', '.join([name, *others])}); activate the one to export.")
    state = model.state_dict()
    adapter = get_peft_model_state_dict(model, state_dict=dict(state), adapter_name=name)
    writes = is_main_process()
    base_model = model.get_base_model()
    config = json.loads(json.dumps(model.peft_config[name].to_dict(), default=_plain))
    config["inference_mode"] = True  # as PeftModel.save_pretrained writes it
    config["base_model_name_or_path"] = config.get("base_model_name_or_path") or base_model.name_or_path or None
    base = _model(base_model, _base_state(model, state), request) if request.merge else None
    return Checkpoint(
        NAME,
        # To be merged, every rank needs it: which tensors of the base are read depends on it.
        tuple(_tensor(name, value, writes or request.merge) for name, value in adapter.items()),
        config,
        _tokenizer_files(request) if writes else {},
        is_adapter=True,
        base=base,
        writes=writes,
        collective=parallel_device(model) is not None,
    )


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, (set, frozenset)) else getattr(value, "value", str(value))


def _base_state(model: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    """The model that the adapter sits on, under the names it had before."""
    prefix = "base_model.model."
    adapters = model.base_model.prefix
    base: dict[str, Any] = {}
    for name, value in _without_second_names(model, state).items():
        name = name.removeprefix(prefix)
        if adapters in name or ".modules_to_save." in name or ".token_adapter." in name:
            continue
        base[name.replace(".base_layer.", ".").replace(".original_module.", ".")] = value
    return base


def _without_second_names(model: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    """Each tensor once: of tied ones the one that the model is tied to."""
    ties = getattr(model, "all_tied_weights_keys", None) or {}
    groups: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if name in state:
            groups.setdefault(id(parameter), []).append(name)
    drop: set[str] = set()
    for names in groups.values():
        kept = [name for name in names if name not in ties] or names
        drop.update(name for name in names if name != kept[0])
    return {name: value for name, value in state.items() if name not in drop}


def _tensor(name: str, value: Any, writes: bool) -> Tensor:
    return Tensor(name, code_of(value.dtype), tuple(value.shape), NAME, _reader(value, writes))


def _reader(value: Any, writes: bool) -> Callable[[], Iterator[Any]]:
    def pieces() -> Iterator[Any]:
        full = value.detach()
        if hasattr(full, "full_tensor"):
            full = full.full_tensor()  # collective
        if writes:
            yield from buffers_of(full.cpu())

    return pieces


def _config_and_files(model: Any) -> tuple[dict[str, Any], dict[str, Path | bytes]]:
    """What ``save_pretrained`` writes beside the weights: config, generation config, custom code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.config.save_pretrained(folder)
        if model.can_generate():
            model.generation_config.save_pretrained(folder)
        if model.is_remote_code():
            from transformers.dynamic_module_utils import custom_object_save

            custom_object_save(model, folder, config=model.config)
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        files = _contents(folder)
    config["architectures"] = [type(model).__name__.removeprefix("FSDP")]
    config["dtype"] = torch_name(code_of(model.dtype))
    return config, files


def _tokenizer_files(request: Request) -> dict[str, Path | bytes]:
    if request.tokenizer is not None:
        with tempfile.TemporaryDirectory() as name:
            request.tokenizer.save_pretrained(name)
            return _contents(Path(name))
    return tokenizer_in(request.files_from) if request.files_from is not None else {}


def _contents(folder: Path) -> dict[str, Path | bytes]:
    files = companions_in(folder, custom_code=True)
    return {name: path.read_bytes() if isinstance(path, Path) else path for name, path in files.items()}
