"""The module ``torch.neuron`` while the device is simulated.

The functions are those of TorchNeuron (torch_neuronx/neuron.py, April 2026) as far as transformers, accelerate, TRL
and torch itself call them; not verified on hardware. Asking about the device, seeding it and reading its random state
do not count as using it; putting a tensor on it does.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType
    from typing import TypeAlias

    Device: TypeAlias = torch.device | str | int | None

_native: Any = None


def use(native: ModuleType) -> None:
    """Set what computes: the compiled device, or the one in Python."""
    global _native
    _native = native


def record_operators(on: bool) -> None:
    _native.record_operators(on)


def executed_operators() -> dict[str, int]:
    return dict(_native.operators())


def report_shapes(report: Callable[[str, list[tuple[str, tuple[int, ...]]], bool], None]) -> None:
    _native.report_shapes(report)


def as_one_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; the operators in it are not reported one by one."""

    def run(*arguments: Any) -> Any:
        paused = _native.pause_shapes(True)
        try:
            return function(*arguments)
        finally:
            _native.pause_shapes(paused)

    return run


# --- The device


@dataclass(frozen=True)
class DeviceProperties:
    """Of one logical core of a Trn2 chip: 24 GiB of the 96 of the chip, which has four. Nothing enforces the limit."""

    name: str = "trn2-simulated"
    total_memory: int = 24 * 2**30
    multi_processor_count: int = 1


def is_available() -> bool:
    return True


def device_count() -> int:
    """Number of devices of this machine; a process can use one of them."""
    return int(_native.count())


def current_device() -> int:
    return int(_native.index())


def set_device(device: Device) -> None:
    """Only the device that the process has anyway: the one of its LOCAL_RANK.

    Raises:
        RuntimeError: it is another one.
    """
    index = _index(device)
    if not 0 <= index < device_count():
        raise RuntimeError(
            f"Simulated Neuron: there is no device {index}; the devices are 0 to {device_count() - 1}. TorchNeuron "
            f"gives each process one core; start one process per core with torchrun."
        )
    if index != current_device():
        raise RuntimeError(
            f"Simulated Neuron: this process has one device, neuron:{current_device()}, and cannot take "
            f"neuron:{index} as well. TorchNeuron gives each process the core of its LOCAL_RANK."
        )


@contextlib.contextmanager
def device(device: Device) -> Iterator[None]:
    """A context in which ``device`` is the current one, as it always is."""
    set_device(device)
    yield


def get_device_name(device: Device = None) -> str:
    return f"neuron:{_index(device)}"


def get_device_properties(device: Device = None) -> DeviceProperties:
    return DeviceProperties()


def get_device_capability(device: Device = None) -> tuple[int, int]:
    return (0, 0)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return True


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float32, torch.float16, torch.bfloat16]


def is_initialized() -> bool:
    """Whether the device was used: on Trainium, whether this process holds its core."""
    return bool(_native.is_initialized())


def init() -> None:
    """Use the device, if nothing has yet."""
    _native.use_device()


def _lazy_init() -> None:
    """torch calls it when a device is named, which does not use it yet."""


def _is_in_bad_fork() -> bool:
    return bool(_native.is_forked())


def _index(device: Device) -> int:
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device
    parsed = torch.device(device)
    if parsed.type != "neuron":
        raise ValueError(f"Expected a neuron device, but got {parsed}.")
    return current_device() if parsed.index is None else parsed.index


# --- Random numbers, apart from those of the CPU


def manual_seed(seed: int) -> None:
    _native.default_generator().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    manual_seed(seed)


def seed() -> None:
    _native.default_generator().seed()


def seed_all() -> None:
    seed()


def initial_seed() -> int:
    return int(_native.default_generator().initial_seed())


def get_rng_state(device: Device = "neuron") -> torch.Tensor:
    state: torch.Tensor = _native.default_generator().get_state()
    return state


def set_rng_state(new_state: torch.Tensor, device: Device = "neuron") -> None:
    _native.default_generator().set_state(new_state.cpu())


def get_rng_state_all() -> list[torch.Tensor]:
    return [get_rng_state()]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    for state in new_states:
        set_rng_state(state)


# --- Streams: work is done when the call returns, so all of them are one


class Stream:
    """Makes a torch.Stream, because C++ code of torch takes no other, not even a subclass everywhere."""

    def __new__(cls, device: Device = None, priority: int = 0, **_: Any) -> torch.Stream:
        return torch.Stream(device=torch.device("neuron", _index(device)), priority=priority)


class Event:
    """Makes a torch.Event, for the same reason."""

    def __new__(cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> torch.Event:
        return torch.Event(device=torch.device("neuron", current_device()), enable_timing=enable_timing)


class StreamContext:
    """``with torch.neuron.stream(...)``."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def stream(stream: torch.Stream | None) -> StreamContext:
    return StreamContext(stream)


def current_stream(device: Device = None) -> torch.Stream:
    return Stream(device)


def default_stream(device: Device = None) -> torch.Stream:
    return Stream(device)


def set_stream(stream: torch.Stream) -> None:
    pass


def synchronize(device: Device = None) -> None:
    _index(device)


# --- Memory: counted, never limited


def memory_allocated(device: Device = None) -> int:
    return int(_native.allocated())


def max_memory_allocated(device: Device = None) -> int:
    return int(_native.peak())


def memory_reserved(device: Device = None) -> int:
    return memory_allocated()


def max_memory_reserved(device: Device = None) -> int:
    return max_memory_allocated()


def reset_peak_memory_stats(device: Device = None) -> None:
    _native.reset_peak()


def reset_accumulated_memory_stats(device: Device = None) -> None:
    pass


def memory_stats(device: Device = None) -> dict[str, int]:
    return {
        "allocated_bytes.all.current": memory_allocated(),
        "allocated_bytes.all.peak": max_memory_allocated(),
        "reserved_bytes.all.current": memory_reserved(),
        "reserved_bytes.all.peak": max_memory_reserved(),
        "num_alloc_retries": 0,
        "num_ooms": 0,
    }


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    return "\n".join(f"{name}: {value}" for name, value in memory_stats().items())


def empty_cache() -> None:
    pass


# --- torch.compile


def get_dynamo_metrics() -> dict[str, int]:
    from neuron_shim.simulate.record import compiled_graphs

    return {"graphs_compiled": len(compiled_graphs())}


def reset_dynamo_metrics() -> None:
    pass
