"""How the processes of a run are divided between tensor parallelism and FSDP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neuron_shim.environment import read_number, world_size
from neuron_shim.heads import check_heads
from neuron_shim.notice import say_once

if TYPE_CHECKING:
    import os

    from transformers import PreTrainedConfig


def parallel_sizes(
    tp_size: int | None = None,
    fsdp_size: int | None = None,
    *,
    model: str | os.PathLike[str] | PreTrainedConfig | None = None,
) -> dict[str, int]:
    """The sizes for ``transformers.distributed.DistributedConfig``, fitted to how this run was launched.

        DistributedConfig(**parallel_sizes(tp_size=8))

    The environment variables TP_SIZE and FSDP_SIZE override the arguments, so one script serves every launch line:

        TP_SIZE=4 FSDP_SIZE=8 torchrun --nproc_per_node=32 script.py

    What neither gives is filled in so that the product is the number of processes (WORLD_SIZE): with ``tp_size`` alone
    the rest is FSDP, with ``fsdp_size`` alone the rest is tensor parallelism, with neither all of it is FSDP.

    A single process gets 1 x 1 whatever the arguments say, so a script written for 8 cores also runs on a laptop; this
    is said once. ``DistributedConfig`` of 1 x 1 loads the model as if it were not there: it needs no launcher, and
    Trainer can checkpoint and resume (transformers/distributed/mixin.py, ``prepare_distribute_model``).

    Args:
        tp_size: processes that share each layer.
        fsdp_size: processes, or groups of ``tp_size`` of them, that share the weights and each see other data.
        model: model id, folder or config. If given, ``tp_size`` must divide its attention heads and key-value heads.
            transformers loads a model whose heads it does not divide, and fails in the first forward pass. A config
            that cannot be read without further arguments (custom code, a token) is not checked: pass the object.

    Returns:
        ``{"tp_size": t, "fsdp_size": f}`` with ``t * f == WORLD_SIZE``.

    Raises:
        ValueError: the sizes do not fit the number of processes or the heads of the model, TP_SIZE and FSDP_SIZE ask
            for several processes in a run of one, or a size is not a whole number of at least 1.
    """
    # Read before anything is decided: a wrong argument is refused even where the environment overrides it.
    from_arguments = _argument("tp_size", tp_size), _argument("fsdp_size", fsdp_size)
    from_environment = _variable("TP_SIZE"), _variable("FSDP_SIZE")
    tp, fsdp = (variable or argument for variable, argument in zip(from_environment, from_arguments, strict=True))

    world = world_size()
    if world == 1:
        if _product(*from_environment) > 1:
            raise ValueError(_not_launched(from_environment, tp, fsdp))
        if _product(tp, fsdp) > 1:
            asked = " x ".join(str(size) for size in (tp, fsdp) if size)
            say_once("single process", f"{asked} asked for, running 1 x 1 in a single process (torchrun starts more).")
        return {"tp_size": 1, "fsdp_size": 1}

    sizes = _fill_in(tp, fsdp, world)
    if model is not None:
        check_heads(model, tp_size=sizes["tp_size"], world=world)
    return sizes


@dataclass(frozen=True)
class _Size:
    """A size somebody asked for, and where: ``tp_size`` is an argument, ``TP_SIZE`` a variable."""

    name: str
    value: int

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


def _argument(name: str, value: int | None) -> _Size | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"The argument {name} is {value!r}, but must be a whole number of at least 1.")
    return _Size(name, value)


def _variable(name: str) -> _Size | None:
    value = read_number(name, at_least=1)
    return None if value is None else _Size(name, value)


def _product(*sizes: _Size | None) -> int:
    return math.prod(size.value for size in sizes if size)


def _fill_in(tp: _Size | None, fsdp: _Size | None, world: int) -> dict[str, int]:
    if tp and fsdp:
        if tp.value * fsdp.value != world:
            raise ValueError(_wrong_product(tp, fsdp, world))
        return {"tp_size": tp.value, "fsdp_size": fsdp.value}
    for size in (tp, fsdp):
        if size and world % size.value:
            raise ValueError(_not_a_divisor(size, world))
    if fsdp:
        return {"tp_size": world // fsdp.value, "fsdp_size": fsdp.value}
    tp_size = tp.value if tp else 1
    return {"tp_size": tp_size, "fsdp_size": world // tp_size}


def _wrong_product(tp: _Size, fsdp: _Size, world: int) -> str:
    nearest_tp = math.gcd(tp.value, world)
    return (
        f"{tp} x {fsdp} makes {tp.value * fsdp.value} processes, but this run has {world} (WORLD_SIZE={world}). "
        f"Start {tp.value * fsdp.value} processes, or choose sizes whose product is {world}, for example "
        f"TP_SIZE={nearest_tp} FSDP_SIZE={world // nearest_tp}."
    )


def _not_a_divisor(size: _Size, world: int) -> str:
    divisors = ", ".join(str(n) for n in range(1, world + 1) if world % n == 0)
    return (
        f"{size} does not divide the {world} processes of this run (WORLD_SIZE={world}). "
        f"Choose one of {divisors}, or start a multiple of {size.value} processes."
    )


def _not_launched(asked: tuple[_Size | None, _Size | None], tp: _Size | None, fsdp: _Size | None) -> str:
    variables = " ".join(str(size) for size in asked if size)
    processes = _product(tp, fsdp)
    return (
        f"{variables} asks for {processes} processes, but this is a single one. "
        f"Start it with `{variables} torchrun --nproc_per_node={processes} script.py`, or unset the variables."
    )
