"""What the simulated device must do, checked in one process:  python -m neuron_shim.simulate checks.py

Prints the result of each check as JSON: null, or what went wrong.
"""

from __future__ import annotations

import copy
import importlib.util
import io
import json
import os
import sys
import traceback
import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable

warnings.simplefilter("error")

DEVICE = torch.device("neuron")
FLOATS = torch.linspace(-2, 2, 24).reshape(4, 6)


def same(function: Callable[..., Any], *arguments: Any) -> None:
    """The result on the device must be that of the CPU."""
    wanted = function(*(copy.deepcopy(one) for one in arguments))
    found = function(*(one.to(DEVICE) if isinstance(one, torch.Tensor) else one for one in arguments))
    for first, second in zip(*(one if isinstance(one, tuple) else (one,) for one in (wanted, found)), strict=True):
        assert second.device == torch.device("neuron", 0), second.device
        assert first.dtype == second.dtype
        assert torch.equal(first, second.cpu()), (first, second)


def refuses(function: Callable[[], object], error: type[Exception], *words: str) -> None:
    try:
        function()
    except error as caught:
        missing = [word for word in words if word not in str(caught)]
        assert not missing, f"{missing} not in: {caught}"
    else:
        raise AssertionError("not refused")


def check_device_is_known() -> None:
    assert torch.device("neuron").type == "neuron"
    assert torch.accelerator.current_accelerator() == DEVICE
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() == 1
    assert importlib.util.find_spec("torch_neuronx") is not None
    import torch_neuronx

    assert "simulated" in torch_neuronx.__version__
    refuses(lambda: torch_neuronx.nki_op, AttributeError, "nki_op", "Trainium only")


def check_device_is_activated_once() -> None:
    from neuron_shim import simulate

    simulate.activate()
    assert simulate.is_active()


def check_operators_elementwise() -> None:
    same(lambda x: (x + 1, x * x, x - 2 * x, x / 3, x**2, -x, x.abs().sqrt(), x.exp(), x > 0), FLOATS)
    same(lambda x: torch.where(x > 0, x, torch.zeros_like(x)), FLOATS)
    same(lambda x: functional.gelu(x) + functional.silu(x) + functional.softplus(x), FLOATS)


def check_operators_matrices() -> None:
    same(lambda x: (x @ x.T, x.T @ x, torch.einsum("ij,kj->ik", x, x)), FLOATS)
    same(lambda x, y: torch.baddbmm(x, y, y), torch.ones(2, 3, 3), torch.arange(18.0).reshape(2, 3, 3))


def check_operators_reductions() -> None:
    same(lambda x: (x.sum(), x.mean(1), x.max(1).values, x.argmax(0), x.var(1), x.cumsum(1)), FLOATS)
    same(lambda x: (functional.softmax(x, 1), torch.logsumexp(x, 1), torch.topk(x, 2).indices), FLOATS)


def check_operators_indices() -> None:
    rows = torch.tensor([2, 0])
    same(lambda x, i: (x[i], x.index_select(0, i), x.gather(0, i[:, None])), FLOATS, rows)
    same(lambda i: functional.embedding(i, torch.eye(4, device=i.device)), rows)
    same(lambda x, i: x.index_copy(0, i, torch.ones(2, 6, device=x.device)), FLOATS, rows)
    assert torch.equal(FLOATS.to(DEVICE)[rows].cpu(), FLOATS[rows])  # indices may lie on the CPU


def check_operators_layers() -> None:
    image = torch.linspace(-1, 1, 3 * 64).reshape(1, 3, 8, 8)
    same(lambda x: functional.conv2d(x, torch.ones(2, 3, 3, 3, device=x.device), padding=1), image)
    same(lambda x: functional.interpolate(x, scale_factor=2.0), image)
    same(lambda x: (functional.layer_norm(x, (6,)), functional.rms_norm(x, (6,))), FLOATS)


def check_operators_shapes() -> None:
    same(lambda x: (x.reshape(6, 4), x.permute(1, 0), x.unfold(1, 2, 2), x.expand(4, 6), x.flip(0)), FLOATS)
    same(lambda x: (torch.cat([x, x]), torch.stack([x, x]), *x.split(2), *x.unbind(0)), FLOATS)
    same(lambda x: (x.to(torch.bfloat16), x.int(), x.bool(), x.half().float()), FLOATS)


def check_factories() -> None:
    for function in (
        lambda d: torch.arange(5, device=d),
        lambda d: torch.arange(1, 9, 2, device=d),
        lambda d: torch.linspace(0, 1, 5, device=d),
        lambda d: torch.eye(3, device=d),
        lambda d: torch.full((2, 2), 7.0, device=d),
        lambda d: torch.tensor([[1, 2], [3, 4]], device=d),
        lambda d: torch.tril(torch.ones(3, 3, device=d)),
        lambda d: torch.zeros(2, 3, dtype=torch.bfloat16, device=d),
    ):
        wanted, found = function("cpu"), function(DEVICE)
        assert found.device.type == "neuron"
        assert torch.equal(wanted, found.cpu())


def check_views_share_memory() -> None:
    whole = FLOATS.to(DEVICE)
    row, transposed = whole[1], whole.T
    row.fill_(5)
    assert torch.equal(whole.cpu()[1], torch.full((6,), 5.0))
    assert torch.equal(transposed.cpu()[:, 1], torch.full((6,), 5.0))
    assert transposed.stride() == (1, 6)
    assert torch.equal(FLOATS[1], torch.linspace(-2, 2, 24).reshape(4, 6)[1])  # the tensor of the CPU is not shared


def check_copies() -> None:
    there = torch.empty(4, 6, device=DEVICE)
    there.copy_(FLOATS)
    back = torch.empty(4, 6)
    back.copy_(there)
    assert torch.equal(back, FLOATS)
    assert there.item is not None
    assert there[0, 0].item() == -2
    assert there.tolist() == FLOATS.tolist()
    assert torch.equal(copy.deepcopy(there).cpu(), FLOATS)


def check_gradients() -> None:
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))
    there = copy.deepcopy(layers).to(DEVICE)
    for model, inputs in ((layers, FLOATS), (there, FLOATS.to(DEVICE))):
        model(inputs).square().sum().backward()
    for first, second in zip(layers.parameters(), there.parameters(), strict=True):
        assert second.grad is not None
        assert second.grad.device.type == "neuron"
        assert torch.equal(first.grad, second.grad.cpu())


def check_convolution_gradients() -> None:
    layer = nn.Conv2d(3, 2, 3)
    there = copy.deepcopy(layer).to(DEVICE)
    image = torch.linspace(-1, 1, 3 * 64).reshape(1, 3, 8, 8)
    layer(image).sum().backward()
    there(image.to(DEVICE)).sum().backward()
    assert torch.equal(layer.weight.grad, there.weight.grad.cpu())


def check_optimizers() -> None:
    for make in (
        lambda p: torch.optim.AdamW(p, fused=True),
        lambda p: torch.optim.AdamW(p, foreach=False),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    ):
        layer = nn.Linear(6, 2)
        there = copy.deepcopy(layer).to(DEVICE)
        for model, inputs in ((layer, FLOATS), (there, FLOATS.to(DEVICE))):
            optimizer = make(model.parameters())
            for _ in range(2):
                optimizer.zero_grad()
                model(inputs).square().sum().backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
        torch.testing.assert_close(layer.weight, there.weight.cpu())


def check_autocast() -> None:
    layer = nn.Linear(6, 2).to(DEVICE)
    with torch.autocast("neuron", dtype=torch.bfloat16):
        assert layer(FLOATS.to(DEVICE)).dtype == torch.bfloat16
    assert layer(FLOATS.to(DEVICE)).dtype == torch.float32
    assert torch.neuron.is_bf16_supported()
    assert torch.bfloat16 in torch.neuron.get_amp_supported_dtype()


def check_random_numbers_are_the_devices_own() -> None:
    torch.manual_seed(1)
    of_cpu = torch.get_rng_state()
    state = torch.neuron.get_rng_state()
    first, dropped = torch.randn(4, device=DEVICE), functional.dropout(torch.ones(64, device=DEVICE))
    assert torch.equal(torch.get_rng_state(), of_cpu)
    second = torch.randn(4, device=DEVICE)
    assert not torch.equal(first.cpu(), second.cpu())
    torch.neuron.set_rng_state(state)
    assert torch.equal(torch.randn(4, device=DEVICE).cpu(), first.cpu())
    assert torch.equal(functional.dropout(torch.ones(64, device=DEVICE)).cpu(), dropped.cpu())
    torch.neuron.set_rng_state_all(torch.neuron.get_rng_state_all())
    torch.neuron.manual_seed_all(1)
    assert torch.neuron.initial_seed() == 1


def check_saving() -> None:
    file = io.BytesIO()
    torch.save({"weight": FLOATS.to(DEVICE)}, file)
    for target in ("cpu", "neuron"):
        file.seek(0)
        loaded = torch.load(file, map_location=target)["weight"]
        assert torch.equal(loaded.cpu(), FLOATS)


def check_two_devices_at_once_are_refused() -> None:
    there = FLOATS.to(DEVICE)
    words = ("Expected all tensors to be on the same device", "neuron:0", "cpu")
    refuses(lambda: there + FLOATS, RuntimeError, *words)
    refuses(lambda: there @ FLOATS.T, RuntimeError, *words)
    refuses(lambda: functional.linear(FLOATS, there), RuntimeError, *words)
    refuses(lambda: functional.embedding(torch.tensor([1]), there), RuntimeError, *words)
    assert torch.equal((there + torch.tensor(1.0)).cpu(), FLOATS + 1)  # a number may lie on the CPU


def check_complex_numbers_are_refused() -> None:
    refuses(lambda: torch.ones(2, dtype=torch.complex64).to(DEVICE), TypeError, "no complex dtype")
    refuses(lambda: torch.zeros(2, dtype=torch.complex64, device=DEVICE), TypeError, "no complex dtype")
    refuses(lambda: torch.polar(FLOATS.to(DEVICE), FLOATS.to(DEVICE)), TypeError, "no complex dtype")


def check_a_second_device_is_refused() -> None:
    refuses(lambda: torch.ones(2, device="neuron:1"), RuntimeError, "neuron:1", "torchrun")
    refuses(lambda: FLOATS.to("neuron:1"), RuntimeError, "neuron:1")
    refuses(lambda: torch.neuron.set_device(1), RuntimeError, "no device 1")
    torch.neuron.set_device(0)
    torch.neuron.set_device("neuron:0")
    assert torch.neuron.current_device() == 0


def check_forked_processes_are_refused() -> None:
    torch.ones(1, device=DEVICE)
    assert not torch.neuron._is_in_bad_fork()
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            torch.ones(1, device=DEVICE)
            said = "not refused"
        except RuntimeError as error:
            said = str(error)
        os.write(write, f"{torch.neuron._is_in_bad_fork()} {said}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    said = os.read(read, 10000).decode()
    assert said.startswith("True"), said
    assert "forked" in said, said
    assert "spawn" in said, said


def check_first_use_is_noted() -> None:
    from neuron_shim import simulate

    torch.ones(1, device=DEVICE)
    assert torch.neuron.is_initialized()
    assert str(simulate.first_use()).startswith(__file__)


def check_operators_are_recorded() -> None:
    import torch_neuronx

    from neuron_shim import simulate

    torch_neuronx.clear_op_tracking()
    FLOATS.to(DEVICE).tanh()
    assert not simulate.executed_operators()
    simulate.record_operators()
    FLOATS.to(DEVICE).tanh()
    simulate.record_operators(False)
    assert any(name.startswith("aten::tanh") for name in simulate.executed_operators())
    assert any(name.startswith("aten::tanh") for name in torch_neuronx.get_executed_ops())


# --- Of the compiled device only


def check_compiled_streams_and_events() -> None:
    first, second = torch.neuron.Stream(), torch.neuron.Stream(priority=-1)
    with torch.neuron.stream(first):
        there = FLOATS.to(DEVICE)
        event = torch.neuron.Event(enable_timing=True)
        event.record()
    second.wait_stream(first)
    second.wait_event(event)
    there.record_stream(second)
    torch.neuron.current_stream().wait_event(event)
    later = torch.neuron.Event(enable_timing=True)
    later.record(second)
    assert event.elapsed_time(later) >= 0
    assert event.query()
    event.synchronize()
    first.synchronize()
    torch.neuron.synchronize()
    torch.accelerator.synchronize()
    torch.accelerator.set_device_index(0)
    torch.accelerator.current_stream().wait_stream(torch.neuron.default_stream())


def check_compiled_generators() -> None:
    generator = torch.Generator(device="neuron").manual_seed(3)
    first = torch.randn(4, device=DEVICE, generator=generator)
    generator.manual_seed(3)
    assert torch.equal(torch.randn(4, device=DEVICE, generator=generator), first)
    refuses(lambda: torch.randn(4, device=DEVICE, generator=torch.Generator()), RuntimeError, "generator", "'neuron'")
    with torch.random.fork_rng(devices=[0], device_type="neuron"):
        torch.randn(4, device=DEVICE)


def check_compiled_memory_is_counted() -> None:
    before = torch.neuron.memory_allocated()
    there = torch.empty(1000, dtype=torch.uint8, device=DEVICE)
    assert torch.neuron.memory_allocated() == before + 1000
    del there
    assert torch.neuron.memory_allocated() == before
    assert torch.neuron.max_memory_allocated() >= before + 1000
    torch.neuron.reset_peak_memory_stats()
    assert torch.neuron.max_memory_allocated() == before
    torch.neuron.empty_cache()
    assert torch.neuron.memory_stats()["allocated_bytes.all.current"] == before


def check_compiled_storages() -> None:
    there = FLOATS.to(DEVICE)
    there.untyped_storage().resize_(0)
    there.untyped_storage().resize_(96)
    there.copy_(FLOATS)
    assert torch.equal(there.cpu(), FLOATS)
    other = torch.empty(0, device=DEVICE)
    other.set_(there.untyped_storage(), 6, (6,), (1,))
    assert torch.equal(other.cpu(), FLOATS[1])
    there.resize_(2, 3)
    assert there.shape == (2, 3)
    assert torch.equal(there.untyped_storage().clone().cpu().tolist() and there.cpu(), FLOATS.flatten()[:6].view(2, 3))
    out = torch.empty(0, device=DEVICE)
    torch.add(there, there, out=out)
    assert torch.equal(out, there * 2)


def check_compiled_pinned_memory() -> None:
    pinned = FLOATS.pin_memory()
    assert pinned.is_pinned()
    assert pinned.device.type == "cpu"
    assert torch.equal(pinned.to(DEVICE, non_blocking=True).cpu(), FLOATS)


def check_compiled_graphs_are_counted() -> None:
    from neuron_shim import simulate

    compiled = torch.compile(lambda x: x * 2 + 1, backend="neuron", dynamic=False)
    before = len(simulate.compiled_graphs())
    for length in (4, 6, 4):
        assert torch.equal(compiled(torch.ones(length, device=DEVICE)).cpu(), torch.full((length,), 3.0))
    graphs = simulate.compiled_graphs()[before:]
    assert [graph.shapes for graph in graphs] == [((4,),), ((6,),)], graphs
    assert graphs[0].operators == 2
    assert not graphs[0].trains
    assert str(graphs[0].source).startswith(__file__)
    layer = nn.Linear(6, 2).to(DEVICE)
    torch.compile(layer, backend="neuron", dynamic=False)(FLOATS.to(DEVICE)).sum().backward()
    last = simulate.compiled_graphs()[-1]
    assert last.shapes == ((4, 6),), last
    assert last.trains
    assert simulate.shapes_compiled()[((4, 6),)] == 1


def check_compiled_dynamic_shapes_are_refused() -> None:
    from torch._dynamo.exc import BackendCompilerFailed

    torch._dynamo.config.automatic_dynamic_shapes = True
    words = ("dynamic shapes", "static shapes only", "dynamic=False")
    always = torch.compile(lambda x: x * 3, backend="neuron", dynamic=True)
    refuses(lambda: always(torch.ones(4, device=DEVICE)), BackendCompilerFailed, *words)
    by_default = torch.compile(lambda x: x * 4, backend="neuron")
    by_default(torch.ones(4, device=DEVICE))
    refuses(lambda: by_default(torch.ones(5, device=DEVICE)), BackendCompilerFailed, *words)


def check_compiled_recompile_limit_holds() -> None:
    from neuron_shim import simulate

    warnings.simplefilter("ignore")
    compiled = torch.compile(lambda x: x * 5, backend="neuron", dynamic=False)
    before = len(simulate.compiled_graphs())
    for length in range(2, 14):
        compiled(torch.ones(length, device=DEVICE))
    warnings.simplefilter("error")
    assert len(simulate.compiled_graphs()) - before == torch._dynamo.config.recompile_limit == 8


def check_compiled_by_the_shim() -> None:
    from neuron_shim import compile_static, simulate

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x).relu()

    model = compile_static(Model().to(DEVICE), fullgraph=True)
    before = len(simulate.compiled_graphs())
    for rows in (4, 2, 4):
        assert model(torch.ones(rows, 6, device=DEVICE)).shape == (rows, 2)
    assert [graph.shapes for graph in simulate.compiled_graphs()[before:]] == [((4, 6),), ((2, 6),)]


def main() -> None:
    native = sys.argv[1:] != ["python"]
    results = {}
    for name, check in list(globals().items()):
        if name.startswith("check_") and (native or not name.startswith("check_compiled_")):
            try:
                check()
                results[name] = None
            except Exception:
                results[name] = traceback.format_exc()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
