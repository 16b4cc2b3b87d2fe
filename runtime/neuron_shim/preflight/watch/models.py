"""Calls of models: the shapes of their inputs, and where the batches come from."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import threading
from typing import TYPE_CHECKING, Any

from neuron_shim.preflight.watch.state import Enough
from neuron_shim.simulate.record import callers_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import torch

    from neuron_shim.preflight.watch.state import State

INFERENCE = 20
_MOST_TENSORS = 24
_LONGEST_LIST = 64
LOADED_AT = "_neuron_shim_loaded_at"
"""On a model whose loading is a finding, if it stays where it was loaded: the line that loaded it."""


def install(state: State) -> None:
    _watch_modules(state)
    _watch_optimizers(state)
    _watch_loaders(state)


_inside = threading.local()


def _watch_modules(state: State) -> None:
    import torch
    from torch._dynamo import utils
    from torch._dynamo.variables import nn_module

    original = torch.nn.Module._call_impl
    compiling = torch.nn.Module.compile

    def _call_impl(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        # Not the layers in a model, and not what is computed again in the backward pass.
        if getattr(_inside, "a_model", False) or torch.compiler.is_compiling():
            return original(self, *args, **kwargs)
        if next(self.parameters(), None) is None or torch._C._current_graph_task_id() != -1:
            return original(self, *args, **kwargs)
        with calling(state, self, args, kwargs):
            return original(self, *args, **kwargs)

    def compile(self: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
        compiling(self, *args, **kwargs)
        self._compiled_call_impl = noted(state, self, self._compiled_call_impl)

    torch.nn.Module._call_impl = _call_impl
    torch.nn.Module.compile = compile
    # torch.compile takes a short cut to ``forward`` where it knows this function.
    for module in (utils, nn_module):
        module.unpatched_nn_module_call_impl = _call_impl


def noted(state: State, model: torch.nn.Module, compiled: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled call of a model, which does not go through ``_call_impl``."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if getattr(_inside, "a_model", False):
            return compiled(*args, **kwargs)
        with calling(state, model, args, kwargs):
            return compiled(*args, **kwargs)

    return call


@contextlib.contextmanager
def calling(state: State, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
    """Note the call of a model, and none of those that it makes itself."""
    _inside.a_model = True
    try:
        _called(state, model, args, kwargs)
        yield
    finally:
        _inside.a_model = False


def _called(state: State, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    import torch

    if state.generating:
        state.phase = "generation"
    elif state.evaluating:
        state.phase = "evaluation"
    elif torch.is_grad_enabled() and model.training:
        state.phase = "training"
    else:
        state.phase = "inference"
    if not state.in_trainer:
        if state.phase == "training" and state.steps >= state.limit:
            raise Enough
        if state.phase == "inference":
            # More than of the others: what is computed without gradients may only prepare the training.
            if state.inferred >= INFERENCE * state.limit:
                raise Enough
            state.inferred += 1
    state.calls += 1
    tensors = dict(itertools.islice(_tensors(model, args, kwargs), _MOST_TENSORS))
    state.note(
        "call",
        model=type(inner := _unwrapped(model)).__name__.removeprefix("FSDP"),
        loaded_at=getattr(inner, LOADED_AT, None),
        device=next(model.parameters()).device.type,
        inputs={name: list(tensor.shape) for name, tensor in tensors.items()},
        input_devices=sorted({tensor.device.type for tensor in tensors.values()}),
        where=callers_line(),
        loader=None if state.generating else state.loader,
    )


def _unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The model below what wraps it for several processes or compilation."""
    for wrapper in ("_orig_mod", "module"):
        inner = getattr(model, wrapper, None)
        if inner is not None and type(model).__module__.startswith("torch."):
            return _unwrapped(inner)
    return model


def _tensors(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    try:
        names = list(inspect.signature(model.forward).parameters)
    except (TypeError, ValueError):
        names = []
    for number, value in enumerate(args):
        yield from _flat(names[number] if number < len(names) else f"argument {number + 1}", value)
    for name, value in kwargs.items():
        yield from _flat(name, value)


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    import torch

    if isinstance(value, torch.Tensor):
        if value.dim():  # a number has the same shape always
            yield name, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)
    elif isinstance(value, (list, tuple)) and len(value) <= _LONGEST_LIST:
        for number, inner in enumerate(value):
            yield from _flat(f"{name}.{number}", inner)
    elif layers := getattr(value, "layers", None):
        # A cache of transformers. One that has its full size from the start is the same at each call.
        keys = getattr(layers[0], "keys", None)
        if isinstance(keys, torch.Tensor) and keys.numel() and not getattr(layers[0], "is_compileable", False):
            yield name, keys


def _watch_optimizers(state: State) -> None:
    from torch.optim.optimizer import register_optimizer_step_post_hook

    def stepped(*_: Any) -> None:
        state.steps += 1
        state.note("step")

    register_optimizer_step_post_hook(stepped)


def _watch_loaders(state: State) -> None:
    from torch.utils.data import DataLoader

    iterate = DataLoader.__iter__

    def __iter__(self: DataLoader) -> Any:
        state.loader = _described(self)
        return iterate(self)

    DataLoader.__iter__ = __iter__


def _described(loader: Any) -> dict[str, Any]:
    """Who makes its batches: the collator, and where the user wrote it."""
    collator = loader.collate_fn
    while (inner := getattr(collator, "data_collator", None)) is not None:  # transformers' RemoveColumnsCollator
        collator = inner
    function = inspect.unwrap(collator) if inspect.isroutine(collator) else type(collator)
    try:
        file, line = inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
    except (OSError, TypeError):
        file, line = None, 0
    return {
        "collator": getattr(function, "__name__", type(collator).__name__),
        "where": f"{file}:{line}" if file else None,
        "pads": hasattr(collator, "pad_to_multiple_of"),
    }
