"""average_gradients: the mean over processes, in place, and nothing where there is nothing to do."""

from __future__ import annotations

import pytest

from neuron_shim import average_gradients, gradients

torch = pytest.importorskip("torch")


@pytest.fixture
def two_processes(monkeypatch):
    """As if there were a second process whose gradients are all three times as large."""
    calls = []

    def all_reduce(tensor):
        calls.append((tensor.numel(), tensor.dtype))
        tensor *= 4

    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "all_reduce", all_reduce)
    return calls


def optimizer_of(*values, **groups):
    parameters = []
    for value in values:
        parameter = torch.nn.Parameter(torch.zeros_like(value))
        parameter.grad = value.clone()
        parameters.append(parameter)
    return torch.optim.SGD([{"params": parameters[:1]}, {"params": parameters[1:]}], lr=0.1)


def gradients_of(optimizer):
    return [parameter.grad for group in optimizer.param_groups for parameter in group["params"]]


def test_nothing_happens_without_a_process_group():
    optimizer = optimizer_of(torch.ones(2), torch.ones(3))
    average_gradients(optimizer)
    assert all(torch.equal(gradient, torch.ones_like(gradient)) for gradient in gradients_of(optimizer))


def test_the_mean_in_place_over_all_groups(two_processes):
    optimizer = optimizer_of(torch.ones(2, 2), torch.full((3,), 2.0))
    before = gradients_of(optimizer)
    average_gradients(optimizer)
    after = gradients_of(optimizer)
    assert all(one is other for one, other in zip(before, after, strict=True))
    assert [gradient.flatten()[0].item() for gradient in after] == [2.0, 4.0]
    assert two_processes == [(7, torch.float32)]


def test_dtypes_travel_apart_and_large_gradients_too(two_processes, monkeypatch):
    monkeypatch.setattr(gradients, "BUCKET_BYTES", 16)
    optimizer = optimizer_of(torch.ones(4), torch.ones(4), torch.ones(2, dtype=torch.bfloat16), torch.ones(1))
    average_gradients(optimizer)
    assert two_processes == [(4, torch.float32), (4, torch.float32), (2, torch.bfloat16), (1, torch.float32)]


def test_parameters_without_gradients(two_processes):
    optimizer = optimizer_of(torch.ones(2), torch.ones(3))
    optimizer.param_groups[0]["params"][0].grad = None
    average_gradients(optimizer)
    assert two_processes == [(3, torch.float32)]


def test_sparse_gradients_are_refused(two_processes):
    optimizer = optimizer_of(torch.ones(2, 2))
    optimizer.param_groups[0]["params"][0].grad = torch.ones(2, 2).to_sparse()
    with pytest.raises(TypeError, match="sparse=False"):
        average_gradients(optimizer)
