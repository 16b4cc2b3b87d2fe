"""What compile_static does with a module, on a machine with a NeuronCore and on others."""

from __future__ import annotations

from unittest import mock

import pytest

from neuron_shim import compile_static, compiling

torch = pytest.importorskip("torch")


@pytest.fixture
def on_neuron(monkeypatch):
    monkeypatch.setattr(compiling, "accelerator_kind", lambda: "neuron")


def doubling() -> torch.nn.Module:
    layer = torch.nn.Linear(2, 2, bias=False)
    layer.weight.data.copy_(2 * torch.eye(2))
    return layer


@pytest.mark.parametrize("kind", [None, "cuda", "mps"])
def test_it_leaves_a_module_as_it_is_elsewhere(monkeypatch, kind):
    monkeypatch.setattr(compiling, "accelerator_kind", lambda: kind)
    module = doubling()
    assert compile_static(module, fullgraph=True) is module
    assert module._compiled_call_impl is None
    assert torch.equal(module(torch.ones(2)), torch.full((2,), 2.0))


def test_it_compiles_for_static_shapes_on_neuron(on_neuron):
    module = doubling()
    names = list(module.state_dict())
    with mock.patch.object(torch, "compile", return_value=lambda *_: "compiled") as compile_:
        assert compile_static(module, fullgraph=True) is module
    assert compile_.call_args.kwargs == {"backend": "neuron", "dynamic": False, "fullgraph": True}
    assert module(torch.ones(2)) == "compiled"
    assert type(module) is torch.nn.Linear
    assert list(module.state_dict()) == names


@pytest.mark.parametrize("option", ["backend", "dynamic", "mode"])
def test_what_it_chooses_cannot_be_given(option):
    with pytest.raises(TypeError, match=f"compile_static chooses {option} itself"):
        compile_static(doubling(), **{option: None})


@pytest.mark.parametrize("module", [None, "unet", lambda value: value])
def test_only_modules(module):
    with pytest.raises(TypeError, match=f"not {type(module).__name__}"):
        compile_static(module)
