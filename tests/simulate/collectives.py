"""Every collective of the process group, on each rank, against what it must give:  torchrun collectives.py

Prints ``ok NAME`` for each, on rank 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    dist.init_process_group("neuron")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("neuron")
    mine = torch.full((2, 3), float(rank + 1), device=device)
    total = float(sum(range(1, world + 1)))
    everyone = [torch.full((2, 3), float(other + 1), device=device) for other in range(world)]

    def check(name: str, found: torch.Tensor, wanted: torch.Tensor) -> None:
        assert found.device == mine.device, (name, found.device)
        assert torch.equal(found, wanted), (name, found, wanted)
        if rank == 0:
            print("ok", name)

    def refused(name: str, call: Callable[[], object], words: str) -> None:
        try:
            call()
        except NotImplementedError as error:
            assert words in str(error), error
            if rank == 0:
                print("ok", name)
        else:
            raise AssertionError(f"{name} was not refused")

    for operation, wanted in (
        (dist.ReduceOp.SUM, total),
        (dist.ReduceOp.AVG, total / world),
        (dist.ReduceOp.MAX, float(world)),
    ):
        value = mine.clone()
        work = dist.all_reduce(value, op=operation, async_op=True)
        work.wait()
        work.wait()  # a second wait must not change the result
        check(f"all_reduce {operation}", value, torch.full_like(mine, wanted))
    half = mine.to(torch.bfloat16)
    dist.all_reduce(half)
    check("all_reduce bfloat16", half, torch.full_like(half, total))

    value = mine.clone()
    dist.broadcast(value, src=1)
    check("broadcast", value, everyone[1])

    parts = [torch.empty_like(mine) for _ in range(world)]
    dist.all_gather(parts, mine)
    check("all_gather", torch.stack(parts), torch.stack(everyone))

    for shape in ((world * 2, 3), (world, 2, 3), (world * 6,)):
        whole = torch.empty(shape, device=device)
        dist.all_gather_into_tensor(whole, mine)
        check(f"all_gather_into_tensor {len(shape)}", whole, torch.stack(everyone).reshape(shape))

    for operation, wanted in ((dist.ReduceOp.SUM, total), (dist.ReduceOp.AVG, total / world)):
        part = torch.empty(3, device=device)
        work = dist.reduce_scatter_tensor(
            part, torch.full((world * 3,), rank + 1.0, device=device), op=operation, async_op=True
        )
        work.wait()
        part.mul_(1)
        work.wait()
        check(f"reduce_scatter_tensor {operation}", part, torch.full_like(part, wanted))
    part = torch.empty_like(mine)
    dist.reduce_scatter(part, [mine.clone() for _ in range(world)])
    check("reduce_scatter", part, torch.full_like(mine, total))

    value = mine.clone()
    dist.reduce(value, dst=0)
    if rank == 0:
        check("reduce", value, torch.full_like(mine, total))

    parts = [torch.empty_like(mine) for _ in range(world)] if rank == 0 else None
    dist.gather(mine, parts, dst=0)
    if parts is not None:
        check("gather", torch.stack(parts), torch.stack(everyone))

    part = torch.empty_like(mine)
    dist.scatter(part, everyone if rank == 0 else None, src=0)
    check("scatter", part, mine)

    received = torch.empty(world, device=device)
    dist.all_to_all_single(received, torch.arange(world, device=device) + 10.0 * rank)
    check("all_to_all_single", received, torch.arange(world, device=device) * 10.0 + rank)
    parts = [torch.empty(2, device=device) for _ in range(world)]
    dist.all_to_all(parts, [torch.full((2,), 10.0 * rank + other, device=device) for other in range(world)])
    check("all_to_all", torch.stack(parts)[:, 0], torch.arange(world, device=device) * 10.0 + rank)

    values = [mine.clone(), mine.clone() * 2]
    with dist._coalescing_manager(device=mine.device):
        for one in values:
            dist.all_reduce(one)
    check("coalesced", values[1], torch.full_like(mine, 2 * total))

    check("functional", functional.all_reduce(mine, "sum", dist.group.WORLD) + 0, torch.full_like(mine, total))

    objects: list[object] = [None] * world
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": other} for other in range(world)]
    listed = ["from 0"] if rank == 0 else [None]
    dist.broadcast_object_list(listed, src=0)
    assert listed == ["from 0"]
    dist.barrier()

    pair = dist.new_group([0, 1])
    if rank < 2:
        value = mine.clone()
        dist.all_reduce(value, group=pair)
        check("a part of the processes", value, torch.full_like(mine, 3.0))
        refused("barrier of a part", lambda: dist.barrier(group=pair), "barrier for a part")
    refused("send", lambda: dist.send(mine, (rank + 1) % world), "no send")
    refused("recv", lambda: dist.recv(mine.clone(), (rank + 1) % world), "no recv")
    sizes = [1] * (world - 1) + [2]
    refused(
        "uneven all_to_all",
        lambda: dist.all_to_all_single(
            torch.empty(world + 1, device=device), torch.empty(world + 1, device=device), sizes, sizes
        ),
        "different sizes",
    )
    try:
        dist.all_reduce(torch.ones(2))
    except RuntimeError as error:
        assert "cpu" in str(error), error
    else:
        raise AssertionError("a tensor of the CPU was taken")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
