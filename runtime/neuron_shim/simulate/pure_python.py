"""The simulated device where there is no C++ compiler: tensors that hold a CPU tensor, in one process.

It has the functions of the compiled device (native/device.cpp), for ``neuron_shim.simulate.device`` to call. Operators
take longer, and there are no process groups, no ``torch.compile`` and no storages.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import Counter
from typing import Any

import torch
from torch.utils import backend_registration
from torch.utils._pytree import tree_map_only

from neuron_shim.simulate.record import note_first_use
from neuron_shim.simulate.refusals import tolerated

_generator = torch.Generator()
_libraries: list[torch.library.Library] = []  # registrations last as long as these
_operators: Counter[str] = Counter()
_recording = False
_report: Any = None
_paused = False
_shapes: set[Any] = set()
_initialized = False
_forked = False

# Made by a tensor without elements that is then resized, unless they are made on the CPU.
_FACTORIES = (
    *("arange", "arange.start", "arange.start_step", "range", "range.step", "linspace", "logspace", "eye", "eye.m"),
    *("randperm", "randperm.generator", "tril_indices", "triu_indices"),
)

# Computed in the lower precision below torch.autocast, as on CUDA: the most common of the operators in
# ATen/autocast_mode.h, AT_FORALL_LOWER_PRECISION_FP and AT_FORALL_FP32.
_LOWER_PRECISION = (
    *("mm", "bmm", "addmm", "baddbmm", "matmul", "linear", "conv1d", "conv2d", "conv3d"),
    "scaled_dot_product_attention",
)
_FULL_PRECISION = ("nll_loss", "mse_loss", "cumsum", "pow.Tensor_Scalar", "layer_norm")


class NeuronTensor(torch.Tensor):  # type: ignore[misc]
    """A tensor of the device. Operators run on the CPU tensor that it holds."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> NeuronTensor:
        use_device()
        if held.is_complex():
            _refuse(
                "complex",
                f"Simulated Neuron: the device has no complex dtype, and {held.dtype} was asked for. Compute with "
                f"real and imaginary parts, or on the CPU.",
                TypeError,
            )
        made: NeuronTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device("neuron", 0),
        )
        made.held = held
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl  # results are what the dispatch below made of them

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"{self.held!r} on neuron:0"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.held.__reduce_ex__(protocol)  # a file of it holds a tensor of the CPU, which loads anywhere

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copy = memo.get(id(self))
        if copy is None:
            copy = NeuronTensor(self.held.clone()).requires_grad_(self.requires_grad)
            if isinstance(self, torch.nn.Parameter):
                copy = torch.nn.Parameter(copy, self.requires_grad)
            memo[id(self)] = copy
        return copy

    def tolist(self) -> Any:
        return self.held.tolist()

    def data_ptr(self) -> int:
        return int(self.held.data_ptr())

    def untyped_storage(self) -> torch.UntypedStorage:
        return self.held.untyped_storage()

    def storage(self) -> Any:
        return self.held.storage()

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(function, args, kwargs or {})


def start() -> None:
    """Make torch.device("neuron") exist."""
    from neuron_shim.simulate import device

    # Modules keep their parameters when they move, and with them the weights that layers share.
    torch.__future__.set_swap_module_params_on_conversion(True)
    backend_registration._setup_privateuseone_for_python_backend("neuron", backend_module=device)
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=_after_fork)

    # There are no storages on this device: torch.load(map_location="neuron") leaves tensors on the CPU.
    torch.serialization.register_package(
        5, lambda storage: None, lambda storage, location: storage if location.startswith("neuron") else None
    )

    everything = torch.library.Library("_", "IMPL")
    everything.fallback(_fallback, "PrivateUse1")
    everything.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    aten = torch.library.Library("aten", "IMPL")
    aten.impl("_copy_from", _copy_from, "PrivateUse1")
    aten.impl("_pin_memory", lambda tensor, device=None: tensor.clone(), "CPU")
    for name in _FACTORIES:
        aten.impl(name, functools.partial(_fallback, _overload(name)), "PrivateUse1")
    for name in _LOWER_PRECISION:
        aten.impl(name, _autocast(name, lower=True), "AutocastPrivateUse1")
    for name in _FULL_PRECISION:
        aten.impl(name, _autocast(name, lower=False), "AutocastPrivateUse1")
    _libraries.extend((everything, aten))


def _fallback(function: Any, *args: Any, **kwargs: Any) -> Any:
    return _run(function, args, kwargs)


def _run(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Run an operator on the CPU. What it wrote to is returned as it came, everything else as a new tensor."""
    if _recording:
        _operators[function.name()] += 1
    schema = function._schema
    if _report is not None and not _paused:
        _report_shapes(function, args, kwargs)
    if function is torch.ops.aten._to_copy.default or function is torch.ops.aten.copy_.default:
        return _copy(function, args, kwargs)
    device = kwargs.get("device")
    to_device = device is None or torch.device(device).type == "neuron"
    if device is not None and to_device:
        _check_index(torch.device(device))
        kwargs = kwargs | {"device": torch.device("cpu")}
    _check_devices(function, args, kwargs)

    originals: dict[int, NeuronTensor] = {}

    def hold(tensor: NeuronTensor) -> torch.Tensor:
        originals[id(tensor.held)] = tensor
        return tensor.held

    held_args, held_kwargs = tree_map_only(NeuronTensor, hold, (args, kwargs))
    result = _draw(function, schema, held_args, held_kwargs)

    def back(tensor: torch.Tensor) -> torch.Tensor:
        original = originals.get(id(tensor))
        if original is not None:
            if original.shape != tensor.shape:
                raise NotImplementedError(
                    f"The simulated device in Python cannot resize a tensor ({function}). Install a C++ compiler."
                )
            return original
        return NeuronTensor(tensor) if to_device else tensor

    return tree_map_only(torch.Tensor, back, result)


def _draw(function: Any, schema: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if torch.Tag.nondeterministic_seeded not in function.tags:
        return function(*args, **kwargs)
    if any(argument.name == "generator" for argument in schema.arguments):
        if kwargs.get("generator") is None:
            kwargs = kwargs | {"generator": _generator}
        return function(*args, **kwargs)
    kept = torch.get_rng_state()  # dropout and the like draw from the generator of the CPU
    torch.default_generator.set_state(_generator.get_state())
    try:
        return function(*args, **kwargs)
    finally:
        _generator.set_state(torch.default_generator.get_state())
        torch.default_generator.set_state(kept)


def _copy(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The two operators whose tensors may lie on two devices."""
    target = kwargs.get("device")
    args_held, held = tree_map_only(NeuronTensor, lambda tensor: tensor.held, (args, kwargs))
    if function is torch.ops.aten.copy_.default:
        function(*args_held, **held)
        return args[0]
    on_neuron = isinstance(args[0], NeuronTensor) if target is None else torch.device(target).type == "neuron"
    if on_neuron:
        if target is not None:
            _check_index(torch.device(target))
        held = held | {"device": torch.device("cpu")}
    result = function(*args_held, **held)
    return NeuronTensor(result) if on_neuron else result


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """What torch.tensor(..., device="neuron") calls below the dispatch to Python."""
    held, values = tree_map_only(NeuronTensor, lambda tensor: tensor.held, (target, source))
    held.copy_(values)
    return target


def _check_index(device: torch.device) -> None:
    if device.index not in (None, 0):
        raise RuntimeError(
            f"Simulated Neuron: this process has one device, neuron:0, and {device} is not it. TorchNeuron gives each "
            f"process one core; start one process per core with torchrun."
        )


def _check_devices(function: Any, args: Any, kwargs: dict[str, Any]) -> None:
    tensors: list[torch.Tensor] = []
    tree_map_only(torch.Tensor, tensors.append, (args, kwargs))
    elsewhere = [one for one in tensors if not isinstance(one, NeuronTensor) and one.dim() > 0]
    if elsewhere and len(elsewhere) < len(tensors) and "index" not in function._schema.name:
        _refuse(
            "devices",
            f"Expected all tensors to be on the same device, but found at least two devices, neuron:0 and "
            f"{elsewhere[0].device}! (simulated Neuron, operator {function.name()}, a tensor of size "
            f"{list(elsewhere[0].shape)} on {elsewhere[0].device})",
        )


def _refuse(kind: str, message: str, error: type[Exception] = RuntimeError) -> None:
    if not tolerated(kind, message):
        raise error(message)


def _report_shapes(function: Any, args: Any, kwargs: dict[str, Any]) -> None:
    returns = function._schema.returns
    if returns and returns[0].alias_info is not None and not returns[0].alias_info.is_write:
        return  # a view
    tensors: list[torch.Tensor] = []
    tree_map_only(torch.Tensor, tensors.append, (args, kwargs))
    described = [(str(one.dtype).removeprefix("torch."), tuple(one.shape)) for one in tensors]
    key = (function.name(), *described)
    if key not in _shapes:
        _shapes.add(key)
        _report(function.name(), described, threading.current_thread() is threading.main_thread())


def _overload(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def _autocast(name: str, *, lower: bool) -> Any:
    function = _overload(name)
    without = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)

    def cast(*args: Any, **kwargs: Any) -> Any:
        dtype = torch.get_autocast_dtype("neuron") if lower else torch.float32

        def one(tensor: torch.Tensor) -> torch.Tensor:
            fits = tensor.is_floating_point() and tensor.device.type == "neuron" and tensor.dtype != torch.float64
            return tensor.to(dtype) if fits else tensor

        with torch._C._ExcludeDispatchKeyGuard(without):
            args, kwargs = tree_map_only(torch.Tensor, one, (args, kwargs))
            return function(*args, **kwargs)

    return cast


def _after_fork() -> None:
    global _forked
    _forked = _initialized


# --- What neuron_shim.simulate.device calls


def index() -> int:
    return 0


def count() -> int:
    return 1


def use_device() -> None:
    global _initialized
    if _forked:
        _refuse(
            "fork",
            "Simulated Neuron: the device was used before this process was forked from its parent, and cannot be used "
            "here. Use the 'spawn' start method, and keep the device out of DataLoader workers.",
        )
    if not _initialized:
        _initialized = True
        note_first_use()


def is_initialized() -> bool:
    return _initialized


def is_forked() -> bool:
    return _forked


def default_generator() -> torch.Generator:
    return _generator


def allocated() -> int:
    return 0


def peak() -> int:
    return 0


def reset_peak() -> None:
    pass


def record_operators(on: bool) -> None:
    global _recording
    _recording = on


def report_shapes(report: Any) -> None:
    global _report
    _report = report


def pause_shapes(paused: bool) -> bool:
    global _paused
    before, _paused = _paused, paused
    return before


def operators() -> dict[str, int]:
    return dict(_operators)


def clear_operators() -> None:
    _operators.clear()
