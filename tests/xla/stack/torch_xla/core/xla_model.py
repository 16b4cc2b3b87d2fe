import os

import torch
import torch.distributed as dist

REDUCE_SUM = "sum"


def xla_device():
    return torch.device("cpu")


def get_ordinal():
    return dist.get_rank() if dist.is_initialized() else 0


def xrt_world_size():
    return dist.get_world_size() if dist.is_initialized() else 1


def is_master_ordinal(local=True):
    return int(os.environ.get("LOCAL_RANK", 0)) == 0 if local else get_ordinal() == 0


def master_print(*args, fd=None, local=False, flush=False):
    if is_master_ordinal(local=local):
        print(*args, file=fd, flush=flush)


def mark_step(wait=False):
    pass


def wait_device_ops():
    pass


def add_step_closure(closure, args=(), run_async=False):
    closure(*args)


def rendezvous(tag):
    dist.barrier()


def all_reduce(reduce_type, inputs, scale=1.0):
    """A list is reduced in place, one tensor gives a new one."""
    assert reduce_type == REDUCE_SUM
    if isinstance(inputs, list):
        for tensor in inputs:
            dist.all_reduce(tensor)
            tensor.mul_(scale)
        return None
    result = inputs.clone()
    dist.all_reduce(result)
    return result * scale


def reduce_gradients(optimizer):
    gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if xrt_world_size() > 1:
        all_reduce(REDUCE_SUM, gradients, scale=1.0 / xrt_world_size())


def optimizer_step(optimizer, barrier=False):
    reduce_gradients(optimizer)
    return optimizer.step()


def mesh_reduce(tag, data, reduce_fn):
    gathered = [None] * xrt_world_size()
    dist.all_gather_object(gathered, data)
    return reduce_fn(gathered)


def broadcast_master_param(model):
    for tensor in [*model.parameters(), *model.buffers()]:
        dist.broadcast(tensor.data, src=0)


def save(data, path, master_only=True, global_master=False):
    if not master_only or is_master_ordinal(local=not global_master):
        torch.save(data, path)
    if master_only:
        rendezvous("torch_xla.core.xla_model.save")
