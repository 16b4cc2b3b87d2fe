"""Batches, prompts and warm-ups of a few shapes."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from neuron_shim import pad_batches, tokenize_fixed, warm_up  # noqa: E402


class Collator:
    """Makes what it is given, as a collator with a tokenizer would."""

    class tokenizer:
        pad_token_id = 7
        padding_side = "right"

    def __call__(self, samples: Any) -> Any:
        return samples


class LeftCollator(Collator):
    class tokenizer:
        pad_token_id = 7
        padding_side = "left"


def whole(*shape: int) -> Any:
    return torch.ones(*shape, dtype=torch.long)


def shapes(batch: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(value.shape) for name, value in batch.items()}


def test_every_key_is_filled_with_its_own_number() -> None:
    names = ("input_ids", "attention_mask", "labels", "position_ids", "token_type_ids", "completion_mask")
    padded = pad_batches(Collator(), multiple=4)({name: whole(2, 5) for name in names})

    assert set(shapes(padded).values()) == {(2, 8)}
    assert all(padded[name][:, :5].eq(1).all() for name in names)
    assert {name: padded[name][0, 5:].tolist() for name in names} == {
        "input_ids": [7] * 3,
        "attention_mask": [0] * 3,
        "labels": [-100] * 3,
        "position_ids": [0] * 3,
        "token_type_ids": [0] * 3,
        "completion_mask": [0] * 3,
    }


def test_on_the_left() -> None:
    padded = pad_batches(LeftCollator(), multiple=4)({"input_ids": whole(1, 2)})
    assert padded["input_ids"].tolist() == [[7, 7, 1, 1]]
    padded = pad_batches(LeftCollator(), multiple=4, side="right")({"input_ids": whole(1, 2)})
    assert padded["input_ids"].tolist() == [[1, 1, 7, 7]]


@pytest.mark.parametrize(("length", "expected"), [(1, 4), (4, 4), (5, 16), (16, 16)])
def test_buckets(length: int, expected: int) -> None:
    padded = pad_batches(Collator(), buckets=(16, 4))({"input_ids": whole(2, length)})
    assert shapes(padded) == {"input_ids": (2, expected)}


@pytest.mark.parametrize(("length", "expected"), [(0, 128), (1, 128), (128, 128), (129, 256)])
def test_multiples(length: int, expected: int) -> None:
    assert shapes(pad_batches(Collator(), multiple=128)({"labels": whole(2, length)})) == {"labels": (2, expected)}


def test_encoder_and_decoder_have_lengths_of_their_own() -> None:
    batch = {"input_ids": whole(2, 30), "attention_mask": whole(2, 30), "labels": whole(2, 3)}
    batch["decoder_input_ids"] = whole(2, 3)
    padded = pad_batches(Collator(), multiple=8)(batch)
    assert shapes(padded) == {
        "input_ids": (2, 32),
        "attention_mask": (2, 32),
        "labels": (2, 8),
        "decoder_input_ids": (2, 8),
    }


def test_three_and_four_dimensions() -> None:
    batch = {
        "inputs_embeds": torch.ones(2, 5, 3),
        "attention_mask": torch.ones(2, 1, 5, 5, dtype=torch.bool),
        "decoder_attention_mask": torch.zeros(2, 5, 5),
    }
    padded = pad_batches(Collator(), multiple=8)(batch)
    assert shapes(padded) == {
        "inputs_embeds": (2, 8, 3),
        "attention_mask": (2, 1, 8, 8),
        "decoder_attention_mask": (2, 8, 8),
    }
    assert padded["inputs_embeds"][:, 5:].eq(0).all()
    assert not padded["attention_mask"][..., 5:].any()
    assert padded["decoder_attention_mask"][0, 0, 5:].eq(torch.finfo(torch.float32).min).all()


def test_what_has_no_length_is_left() -> None:
    batch = {"input_ids": whole(2, 5), "labels": torch.tensor([0, 1]), "names": ["a", "b"], "num": torch.tensor(3)}
    padded = pad_batches(Collator(), multiple=8)(batch)
    assert shapes({name: value for name, value in padded.items() if name != "names"}) == {
        "input_ids": (2, 8),
        "labels": (2,),
        "num": (),
    }
    assert padded["names"] == ["a", "b"]


def test_unknown_names_are_refused_by_name() -> None:
    batch = {"pixel_values": torch.ones(2, 3, 8, 8), "spans": whole(2, 5)}
    with pytest.raises(ValueError, match=r"how to pad 'pixel_values' of shape \[2, 3, 8, 8\]: .* fill=\{'pixel"):
        pad_batches(Collator(), multiple=16)(batch)
    padded = pad_batches(Collator(), multiple=16, fill={"pixel_values": None, "spans": -1})(batch)
    assert shapes(padded) == {"pixel_values": (2, 3, 8, 8), "spans": (2, 16)}
    assert padded["spans"][0, 5:].eq(-1).all()


def test_rows() -> None:
    """The last sample again, which does not count in the loss."""
    batch = {"input_ids": torch.tensor([[1, 2], [3, 4]]), "labels": whole(2, 2), "classes": whole(2)}
    padded = pad_batches(Collator(), multiple=2, rows=4)(batch)
    assert padded["input_ids"].tolist() == [[1, 2], [3, 4], [3, 4], [3, 4]]
    assert padded["labels"].tolist() == [[1, 1], [1, 1], [-100, -100], [-100, -100]]
    assert padded["classes"].tolist() == [1] * 4
    assert padded.real_rows == 2
    full = pad_batches(Collator(), multiple=2, rows=2)(batch)
    assert (shapes(full), full.real_rows) == (shapes(batch), 2)


def test_losses_and_gradients_are_those_of_the_short_batch() -> None:
    torch.manual_seed(0)
    embed, head = torch.nn.Embedding(10, 8), torch.nn.Linear(8, 10)

    def gradient(batch: dict[str, Any]) -> Any:
        logits = head(embed(batch["input_ids"]))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())
        return loss, torch.autograd.grad(loss, head.weight)[0]

    batch = {"input_ids": torch.randint(0, 7, (3, 5)), "labels": torch.randint(0, 10, (3, 5))}
    for one, other in zip(gradient(batch), gradient(pad_batches(Collator(), multiple=16, rows=4)(batch)), strict=True):
        torch.testing.assert_close(one, other)


def test_works_in_the_workers_of_a_loader() -> None:
    collator = pickle.loads(pickle.dumps(pad_batches(Collator(), multiple=4)))
    assert shapes(collator({"input_ids": whole(1, 3)})) == {"input_ids": (1, 4)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "either multiple= or buckets="),
        ({"multiple": 8, "buckets": (8,)}, "not both"),
        ({"multiple": 0}, "multiple is 0"),
        ({"multiple": True}, "multiple is True"),
        ({"buckets": ()}, "must be whole numbers above 0"),
        ({"buckets": (8, "9")}, "must be whole numbers above 0"),
        ({"multiple": 8, "rows": 0}, "rows is 0"),
        ({"multiple": 8, "side": "up"}, 'side is \'up\', but must be "left" or "right"'),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pad_batches(Collator(), **settings)


@pytest.mark.parametrize(
    ("batch", "settings", "message"),
    [
        ({"input_ids": whole(1, 9)}, {"buckets": (4, 8)}, "input_ids has a length of 9, but the largest bucket is 8"),
        ({"input_ids": whole(3, 4)}, {"multiple": 4, "rows": 2}, "The batch has 3 rows, but rows=2"),
        ({"labels": torch.ones(1)}, {"multiple": 4, "rows": 2}, "no classes out of the loss"),
        ([1, 2], {"multiple": 4}, "The collator made a list"),
    ],
)
def test_batches_that_do_not_fit(batch: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pad_batches(Collator(), **settings)(batch)


def test_no_token_for_padding() -> None:
    with pytest.raises(ValueError, match="pad_token_id= to pad 'input_ids'"):
        pad_batches(lambda batch: batch, multiple=4)({"input_ids": whole(1, 3)})  # type: ignore[arg-type, return-value]
    padded = pad_batches(lambda batch: batch, multiple=4, pad_token_id=0)({"input_ids": whole(1, 3)})  # type: ignore[arg-type, return-value]
    assert padded["input_ids"].tolist() == [[1, 1, 1, 0]]


# --- Prompts


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    pytest.importorskip("transformers")
    from tests.training.assets import build_tokenizer

    made = build_tokenizer(ends_with="</s>")
    made.padding_side = "left"
    made.chat_template = "{% for message in messages %}{{ message.content }} {% endfor %}"
    return made


@pytest.mark.libraries
def test_prompts_of_one_shape(tokenizer: Any) -> None:
    inputs, real = tokenize_fixed(tokenizer, ["w1 w2", "w3"], rows=4, length=6)
    assert real == 2
    assert set(shapes(dict(inputs)).values()) == {(4, 6)}
    assert inputs["attention_mask"].tolist()[0] == [0, 0, 0, 1, 1, 1]
    assert inputs["input_ids"].tolist()[1] == inputs["input_ids"].tolist()[3]
    assert inputs["input_ids"].device.type == "cpu"


@pytest.mark.libraries
def test_chats(tokenizer: Any) -> None:
    chats = [[{"role": "user", "content": "w1 w2 w3"}], [{"role": "user", "content": "w4"}]]
    inputs, real = tokenize_fixed(tokenizer, chats, rows=2, length=8)
    assert (real, tuple(inputs["input_ids"].shape)) == (2, (2, 8))


@pytest.mark.libraries
@pytest.mark.parametrize(
    ("prompts", "settings", "message"),
    [
        ([], {}, "There are 0 prompts"),
        (["w1"] * 3, {}, "There are 3 prompts, but rows=2"),
        ("w1", {}, "a single text"),
        (["w1", "w1 " * 9], {}, "Prompt 2 has 10 tokens, but length=6"),
    ],
)
def test_prompts_that_do_not_fit(tokenizer: Any, prompts: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tokenize_fixed(tokenizer, prompts, rows=2, length=6, **settings)


@pytest.mark.libraries
def test_prompts_are_cut_if_asked(tokenizer: Any) -> None:
    inputs, _ = tokenize_fixed(tokenizer, ["w1 " * 9], rows=1, length=6, truncate=True)
    assert tuple(inputs["input_ids"].shape) == (1, 6)


@pytest.mark.libraries
def test_a_tokenizer_without_padding(tokenizer: Any) -> None:
    import copy

    bare = copy.deepcopy(tokenizer)
    bare.pad_token = None
    with pytest.raises(ValueError, match=r"set tokenizer.pad_token = tokenizer.eos_token"):
        tokenize_fixed(bare, ["w1"], rows=1, length=4)


# --- Warm-up


class Noting(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.calls: list[Any] = []

    def forward(self, input_ids: Any, attention_mask: Any = None) -> Any:
        padded = attention_mask is not None and not attention_mask.all()
        self.calls.append((tuple(input_ids.shape), padded, self.training, torch.is_grad_enabled()))
        return input_ids * self.weight

    def generate(self, input_ids: Any, **settings: Any) -> None:
        self.calls.append((tuple(input_ids.shape), self.training, settings))


def test_each_bucket_runs_with_padding_and_without() -> None:
    model = Noting()
    seconds = warm_up(model, rows=2, lengths=(4, 8))
    assert model.calls == [((2, length), padded, False, False) for length in (4, 8) for padded in (False, True)]
    assert list(seconds) == [(2, 4), (2, 8)]
    assert model.training


def test_generate_runs_with_its_settings() -> None:
    model = Noting().eval()
    warm_up(model, rows=1, lengths=(4,), generate={"cache_implementation": "static", "max_new_tokens": 3})
    (shape, training, settings), _ = model.calls
    assert (shape, training, model.training) == ((1, 4), False, False)
    assert settings["cache_implementation"] == "static"
    assert settings["max_new_tokens"] == 3


def test_inputs_of_ones_own() -> None:
    model = Noting()
    warm_up(model, rows=2, lengths=(4,), inputs=lambda rows, length: {"input_ids": torch.zeros(rows, 2 * length)})
    assert model.calls[0][0] == (2, 8)
    with pytest.raises(ValueError, match="lengths is empty"):
        warm_up(model, rows=2, lengths=())


# --- What it is for


EXAMPLE = """
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from neuron_shim import tokenize_fixed, warm_up

tokenizer = AutoTokenizer.from_pretrained({folder!r}, padding_side="left")
model = AutoModelForCausalLM.from_pretrained({folder!r}, dtype=torch.float32, device_map="neuron")
settings = dict(cache_implementation="static", max_cache_len=32, max_new_tokens=4, disable_compile=True)
warm_up(model, rows=2, lengths=(16,), generate=settings)
for texts in (["w1 w2"], ["w1", "w2 w3 w4 w5"], ["w7 w8 w9"]):
    inputs, real = tokenize_fixed(tokenizer, texts, rows=2, length=16)
    assert len(model.generate(**inputs, **settings)[:real]) == len(texts)
"""


@pytest.mark.slow
@pytest.mark.libraries
def test_requests_of_any_size_meet_what_the_warm_up_compiled(preflight: Any, script: Any, assets: Any) -> None:
    import json

    told = preflight("--output-format", "json", script(EXAMPLE.format(folder=str(assets / "decoder"))))
    result = json.loads(told.report)
    (phase,) = result["phases"]
    # The prompt without padding, the prompt with some, and the step that both share: no request meets another.
    assert (result["generated"], len(phase["shapes"]), result["findings"]) == (5, 3, []), told


@pytest.mark.libraries
def test_the_example_of_the_readme_runs() -> None:
    pytest.importorskip("transformers")
    import textwrap
    from pathlib import Path

    from torch.utils.data import DataLoader

    from tests.training.assets import build_tokenizer

    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    start = readme.index("    from neuron_shim import pad_batches, tokenize_fixed, warm_up\n")
    example = textwrap.dedent(readme[start : readme.index("\n## ", start)])
    made = build_tokenizer(ends_with="</s>")
    made.padding_side = "left"
    samples = [whole(length) for length in (3, 3, 20, 20)]
    given: dict[str, Any] = {
        "DataLoader": DataLoader,
        "samples": samples,
        "collate": lambda rows: {"input_ids": torch.stack(rows), "labels": torch.stack(rows)},
        "tokenizer": made,
        "model": tiny_decoder(),
    }
    exec(example, given)
    assert [shapes(batch)["labels"] for batch in given["loader"]] == [(2, 16), (2, 32)]
    assert (given["answers"].shape[0], given["inputs"]["input_ids"].shape) == (2, (4, 16))


def tiny_decoder() -> Any:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from tests.training.assets import VOCABULARY

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "head_dim": 8}
    config = Qwen3Config(vocab_size=VOCABULARY, num_attention_heads=2, num_key_value_heads=2, pad_token_id=0, **sizes)
    return Qwen3ForCausalLM(config)


def test_the_functions_of_the_readme_exist() -> None:
    import re
    from pathlib import Path

    import neuron_shim

    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    section = readme[readme.index("### Static shapes") : readme.index("## Preflight")]
    names = re.findall(r"^\| `(\w+)\(", section, re.MULTILINE)
    assert names == ["pad_batches", "tokenize_fixed", "warm_up"]
    assert all(callable(getattr(neuron_shim, name)) for name in names)
