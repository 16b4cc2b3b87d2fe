"""parallel_sizes(model=...): a size that splits a head is refused before anything loads."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_shim import parallel_sizes
from neuron_shim.heads import check_heads

transformers = pytest.importorskip("transformers")


def heads(attention, key_value=None, **more):
    return SimpleNamespace(num_attention_heads=attention, num_key_value_heads=key_value, **more)


def test_a_size_that_divides_the_heads(launch, tiny_model):
    launch(4)
    assert parallel_sizes(tp_size=2, model=tiny_model) == {"tp_size": 2, "fsdp_size": 2}
    assert parallel_sizes(tp_size=2, model=str(tiny_model)) == {"tp_size": 2, "fsdp_size": 2}


def test_a_size_that_does_not(launch, tiny_model):
    launch(8)
    with pytest.raises(ValueError, match="does not divide") as refused:
        parallel_sizes(tp_size=4, model=tiny_model)
    assert str(refused.value) == (
        f"tp_size 4 does not divide the heads of {tiny_model}: num_attention_heads is 4, num_key_value_heads is 2. "
        f"With the 8 processes of this run these sizes work: 1, 2 (set TP_SIZE=2 to use the largest)."
    )


def test_the_size_of_the_environment_is_the_one_that_is_checked(launch, tiny_model):
    launch(8, TP_SIZE=2)
    assert parallel_sizes(tp_size=4, model=tiny_model) == {"tp_size": 2, "fsdp_size": 4}


@given(attention=st.integers(1, 64), key_value=st.none() | st.integers(1, 64), tp=st.integers(2, 16))
def test_refused_exactly_if_a_number_of_heads_is_not_divided(attention, key_value, tp):
    divided = attention % tp == 0 and (key_value or tp) % tp == 0
    try:
        check_heads(heads(attention, key_value), tp_size=tp, world=tp)
    except ValueError as refused:
        assert not divided
        assert f"tp_size {tp} " in str(refused)
        assert f"num_attention_heads is {attention}" in str(refused)
    else:
        assert divided


def test_only_sizes_that_also_divide_the_processes_are_proposed():
    with pytest.raises(ValueError, match=r"the 12 processes of this run these sizes work: 1, 2, 4 \(set TP_SIZE=4"):
        check_heads(heads(16, 8), tp_size=3, world=12)


@pytest.mark.parametrize("name", ["text_config", "config object"])
def test_nested_text_config(name):
    text = heads(4, 2)
    config = (
        SimpleNamespace(text_config=text) if name == "text_config" else SimpleNamespace(get_text_config=lambda: text)
    )
    with pytest.raises(ValueError, match="num_key_value_heads is 2"):
        check_heads(config, tp_size=4, world=4)


def test_a_multimodal_config_of_transformers():
    config = transformers.LlavaConfig(
        text_config=transformers.LlamaConfig(num_attention_heads=4, num_key_value_heads=2).to_dict()
    )
    with pytest.raises(ValueError, match="LlavaConfig: num_attention_heads is 4, num_key_value_heads is 2"):
        check_heads(config, tp_size=4, world=4)


def test_other_spellings_of_heads_are_understood():
    with pytest.raises(ValueError, match="num_attention_heads is 6"):
        check_heads(transformers.GPTNeoXConfig(num_attention_heads=6, hidden_size=48), tp_size=4, world=4)
    with pytest.raises(ValueError, match="num_attention_heads is 6"):
        check_heads(transformers.GPT2Config(n_head=6, n_embd=48), tp_size=4, world=4)


@pytest.mark.parametrize("config", ["Olmo2Config", "Phi3Config"])
def test_attention_that_transformers_gathers_or_replicates_takes_any_size(config):
    # Measured with 2 processes: logits of such models agree with one process to 3e-7 with 3 heads or 1 key-value head.
    check_heads(getattr(transformers, config)(num_attention_heads=4, num_key_value_heads=1), tp_size=8, world=8)


@pytest.mark.parametrize("config", [SimpleNamespace(), heads(None), heads([4, 8]), transformers.MambaConfig()])
def test_a_config_without_heads_is_not_checked(config):
    check_heads(config, tp_size=3, world=3)


def test_heads_that_differ_between_layers_are_not_checked():
    class PerLayer:
        @property
        def num_attention_heads(self):
            raise RuntimeError("'num_attention_heads' is a per-layer attribute")

    check_heads(PerLayer(), tp_size=3, world=3)


def test_a_config_with_two_text_models_is_not_checked():
    def ambiguous():
        raise ValueError("Multiple valid text configs")

    check_heads(SimpleNamespace(get_text_config=ambiguous, num_attention_heads=4), tp_size=3, world=3)


def test_a_config_that_cannot_be_read_is_left_to_from_pretrained(launch, tmp_path):
    launch(2)
    assert parallel_sizes(tp_size=2, model=tmp_path) == {"tp_size": 2, "fsdp_size": 1}
    (tmp_path / "config.json").write_text(
        '{"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config"}}', encoding="utf-8"
    )
    assert parallel_sizes(tp_size=2, model=tmp_path) == {"tp_size": 2, "fsdp_size": 1}


@pytest.mark.parametrize("world", [1, 4])
def test_nothing_is_read_without_tensor_parallelism(launch, monkeypatch, world):
    launch(world)
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", lambda *_, **__: pytest.fail("read the config"))
    parallel_sizes(tp_size=1, model="some/model")
