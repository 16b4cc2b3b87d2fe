"""From what happened to findings; no process is started here."""

from __future__ import annotations

from typing import Any

import pytest

from neuron_shim.preflight.judge import judge
from neuron_shim.preflight.launch import Ended
from neuron_shim.preflight.report import as_json, as_text
from neuron_shim.preflight.result import Finding, Result, Severity
from neuron_shim.preflight.shapes import every_step

Event = dict[str, Any]
AT = "/home/me/train.py"
OF_A_LIBRARY = "/v/site-packages/transformers/data/data_collator.py:300"


def call(number: int, shapes: dict[str, list[int]], **fields: Any) -> Event:
    loader = {"collator": "DataCollatorWithPadding", "where": OF_A_LIBRARY, "pads": True}
    return {
        "event": "call",
        "phase": "training",
        "step": number - 1,
        "call": number,
        "model": "Model",
        "device": "neuron",
        "loaded_at": None,
        "inputs": shapes,
        "where": f"{AT}:9",
        "loader": loader,
        **fields,
    }


def lengths(*numbers: int, rows: int = 2, **fields: Any) -> list[Event]:
    return [call(at, {"input_ids": [rows, length]}, **fields) for at, length in enumerate(numbers, 1)]


def kernel(operator: str, *tensors: tuple[str, list[int]], **fields: Any) -> Event:
    return {
        "event": "kernel",
        "phase": "training",
        "call": 1,
        "operator": f"aten::{operator}",
        "tensors": list(tensors),
        "backward": False,
        "where": f"{AT}:5",
        "library": None,
        **fields,
    }


def generate(**fields: Any) -> Event:
    return {
        "event": "generate",
        "where": f"{AT}:20",
        "prompt": [1, 8],
        "prompt_device": "cpu",
        "model_device": "neuron",
        "made_at": f"{AT}:18",
        "moved_at": None,
        "cache": "static",
        "own_cache": None,
        "max_cache_len": 64,
        "forwards": 10,
        "in_trainer": False,
        **fields,
    }


def end(how: str = "finished", **fields: Any) -> Event:
    return {"event": "end", "how": how, **fields}


def judged(*events: Event, others: dict[int, list[Event]] | None = None) -> Result:
    journals = {0: [*events, end()], **(others or {})}
    return judge("train.py", journals, Ended([0] * len(journals), None))


def only(result: Result) -> Finding:
    (finding,) = result.findings
    return finding


# --- Shapes


@pytest.mark.parametrize(
    ("shapes", "calls", "expected"),
    [(1, 12, False), (12, 12, True), (2, 12, False), (2, 2, True), (4, 12, False), (5, 12, True), (1, 1, False)],
)
def test_every_step(shapes: int, calls: int, expected: bool) -> None:
    assert every_step(shapes, calls) is expected


def test_one_shape_is_fine() -> None:
    result = judged(*lengths(*[128] * 12))
    assert result.findings == ()
    assert (result.shapes, result.compile_seconds) == (1, 60)
    assert "1 input shape x 60 s = 1 min" in as_text(result)


def test_a_shape_for_each_length() -> None:
    result = judged(*lengths(*range(20, 32)))
    finding = only(result)
    assert (finding.kind, finding.severity, finding.where) == ("input-shapes", Severity.RECOMPILES, f"{AT}:9")
    assert finding.what == "training: 12 input shapes in 12 calls, made by DataCollatorWithPadding"
    assert "Padded to multiples of 128, 12 shapes are 1." in finding.why
    assert finding.advice == "Give DataCollatorWithPadding pad_to_multiple_of=128."
    assert result.compile_seconds == 720


def test_a_few_buckets_cost_time_only() -> None:
    finding = only(judged(*lengths(128, 128, 256, 128, 256, 128, 128, 256)))
    assert finding.severity is Severity.COSTS
    assert "Padded" not in finding.why


@pytest.mark.parametrize(
    ("loader", "advice"),
    [
        (None, "Pad to one length or to a multiple of 128 before the model is called."),
        ({"collator": "collate", "where": f"{AT}:3", "pads": False}, "neuron_shim.pad_batches(collate, multiple=128)"),
        ({"collator": "C", "where": "/v/site-packages/trl/x.py:1", "pads": True}, "in the trainer's config"),
    ],
)
def test_advice_by_who_pads(loader: Any, advice: str) -> None:
    events = [{**event, "loader": loader} for event in lengths(3, 4, 5)]
    assert advice in only(judged(*events)).advice


def test_the_users_collator_is_named_with_its_line() -> None:
    loader = {"collator": "collate", "where": f"{AT}:3", "pads": False}
    assert only(judged(*lengths(3, 4, loader=loader))).what.endswith(f"made by collate ({AT}:3)")


def test_a_last_batch_that_is_not_full() -> None:
    batches = [*lengths(*[64] * 7), call(8, {"input_ids": [1, 64]}, where=f"{AT}:11")]
    finding = only(judged(*batches))
    assert (finding.kind, finding.severity, finding.where) == ("partial-batch", Severity.COSTS, f"{AT}:11")
    assert finding.what == "training: batches of 1 and 2 rows"
    assert "dataloader_drop_last=True" in finding.advice


def test_with_and_without_labels_is_no_other_length() -> None:
    some = [call(1, {"input_ids": [8, 16], "labels": [8]}), call(2, {"input_ids": [4, 16]})]
    assert only(judged(*some)).kind == "partial-batch"


def test_as_many_rows_as_there_are_batches() -> None:
    batches = [call(number, {"input_ids": [number, 64]}) for number in range(1, 7)]
    assert only(judged(*batches)).severity is Severity.RECOMPILES


def test_phases_are_apart() -> None:
    result = judged(*lengths(64, 64), *lengths(64, 64, phase="evaluation"), *lengths(9, phase="setup", device="cpu"))
    assert [(phase.name, len(phase.shapes), phase.calls) for phase in result.phases] == [
        ("training", 1, 2),
        ("evaluation", 1, 2),
    ]


def test_graphs_and_their_backward() -> None:
    graphs = [
        {"event": "graph", "phase": "training", "shapes": [[2, n]], "trains": True, "source": "m.py:3", "where": AT}
        for n in range(12)
    ]
    result = judged(*lengths(*range(12)), *graphs, kernel("mm", ("float32", [2, 2]), backward=True))
    assert (result.phases[0].graphs, result.phases[0].backward_graphs, result.phases[0].kernels) == (12, 12, 0)
    assert "After 8 shapes torch.compile gives up" in only(result).why


def test_kernels_that_come_late() -> None:
    kernels = [kernel("mm", ("float32", [2, n]), call=n) for n in (1, 2, 3, 3)]
    phase = judged(*lengths(64, 64), *kernels, kernel("_local_scalar_dense", ("float32", []))).phases[0]
    assert (phase.kernels, phase.new_kernels_later) == (3, 1)


# --- generate


def test_a_static_cache_and_prompts_of_one_length_are_fine() -> None:
    assert judged(generate(), generate(), generate()).findings == ()


def test_prompt_on_the_device() -> None:
    finding = only(judged(generate(prompt_device="neuron", moved_at=f"{AT}:19")))
    assert (finding.kind, finding.where, finding.severity) == ("prompt-on-device", f"{AT}:19", Severity.RECOMPILES)
    assert only(judged(generate(prompt_device="neuron"))).where == f"{AT}:20"
    assert judged(generate(prompt_device="neuron", in_trainer=True)).findings == ()
    assert judged(generate(prompt_device="cpu", model_device="cpu")).findings == ()


@pytest.mark.parametrize("cache", [None, "dynamic"])
def test_growing_cache(cache: str | None) -> None:
    assert only(judged(generate(cache=cache))).kind == "growing-cache"


@pytest.mark.parametrize("fields", [{"own_cache": "StaticCache"}, {"forwards": 1}])
def test_no_growing_cache(fields: dict[str, Any]) -> None:
    assert judged(generate(cache=None, **fields)).findings == ()


def test_prompts_of_many_lengths() -> None:
    finding = only(judged(*[generate(prompt=[1, length]) for length in (4, 6, 8, 9, 11)]))
    assert finding.where == f"{AT}:18"
    assert finding.what == "5 shapes of prompts in 5 calls of generate (1x4, 1x6, 1x8, 1x9, ...)"


# --- Where models and numbers are


def loading(where: str) -> Event:
    return {"event": "loading", "device_map": "auto", "model": "Model", "where": where}


def test_device_map() -> None:
    on_cpu = call(1, {"x": [1]}, device="cpu", loaded_at=f"{AT}:4")
    finding = only(judged(loading(f"{AT}:4"), on_cpu))
    assert (finding.kind, finding.severity) == ("device-map", Severity.FAILS)
    moved = call(1, {"x": [1]}, loaded_at=f"{AT}:4")
    assert only(judged(loading(f"{AT}:4"), moved)).severity is Severity.COSTS


def test_model_on_the_cpu() -> None:
    on_cpu = call(1, {"x": [1]}, device="cpu", model="Critic")
    assert only(judged(on_cpu)).severity is Severity.FAILS
    assert only(judged(on_cpu, call(2, {"x": [1]}))).severity is Severity.COSTS


@pytest.mark.parametrize(
    ("event", "kind", "what"),
    [
        (kernel("linalg_qr", ("float32", [3, 3])), "cpu-fallback", "runs on the CPU: linalg_qr"),
        (
            kernel("nonzero", ("bool", [3]), library="trl/x.py:1"),
            "data-dependent-size",
            "the values decide the size of a result: nonzero in trl/x.py:1",
        ),
        (kernel("add.Tensor", ("float64", [3])), "float64", "float64 on the device"),
    ],
)
def test_operators(event: Event, kind: str, what: str) -> None:
    finding = only(judged(event, event))
    assert (finding.kind, finding.what, finding.severity) == (kind, what, Severity.COSTS)


def test_numbers_of_python_are_no_float64_tensors() -> None:
    assert judged(kernel("mul.Tensor", ("float32", [3]), ("float64", []))).findings == ()


def test_used_before_a_library_could_make_the_group() -> None:
    finding = only(judged({"event": "early", "where": f"{AT}:3", "here": f"{AT}:8"}))
    assert (finding.kind, finding.severity, finding.where) == ("device-before-group", Severity.COSTS, f"{AT}:3")


# --- Refusals


def refusal(kind: str, message: str, where: str = f"{AT}:7") -> Event:
    return {"event": "refusal", "kind": kind, "message": message, "where": where}


def test_collective() -> None:
    lacking = "Simulated Neuron: the process group of TorchNeuron has no send (as far as its sources tell)."
    finding = only(judged(refusal("collective", lacking)))
    assert (finding.kind, finding.what, finding.severity) == ("collective", "send between processes", Severity.FAILS)


def test_wrong_device() -> None:
    message = (
        "Expected all tensors to be on the same device, but found at least two devices, neuron:0 and cpu! "
        "(simulated Neuron, operator aten::add.Tensor, a tensor of size [4, 6] on cpu)"
    )
    assert only(judged(refusal("devices", message))).what == (
        "add is given tensors of two devices: a tensor of size [4, 6] is on the CPU"
    )


def test_before_the_group_names_the_line_that_used_the_device() -> None:
    message = f"Simulated Neuron: the device was used before init_process_group, at {AT}:2. Put nothing on"
    assert only(judged(refusal("group", message))).where == f"{AT}:2"


def test_what_only_one_rank_does() -> None:
    result = judged(others={1: [refusal("complex", "..."), end()]})
    assert only(result).ranks == (1,)
    assert "(rank 1)" in as_text(result)
    both = judged(refusal("complex", "..."), others={1: [refusal("complex", "..."), end()]})
    assert only(both).ranks == ()


def test_the_worst_comes_first() -> None:
    result = judged(kernel("linalg_qr"), *lengths(1, 2, 3), refusal("complex", "..."))
    assert [finding.severity for finding in result.findings] == list(Severity)


# --- Endings


def failed(message: str, **fields: Any) -> Event:
    return end("failed", type="ValueError", message=message, chain=[message], where=f"{AT}:30", **fields)


def test_the_rank_that_failed_first_is_blamed() -> None:
    journals = {0: [failed("\nConnection closed by peer")], 1: [failed("no such file")]}
    ending = judge("train.py", journals, Ended([1, 1], 1)).ending
    assert (ending.rank, ending.error, ending.by_device) == (1, "ValueError: no such file", False)
    ending = judge("train.py", journals, Ended([1, 1], 0)).ending
    assert ending.error == "ValueError: Connection closed by peer"


def test_an_error_of_the_device_is_a_finding() -> None:
    journals = {0: [failed("Simulated Neuron: there is no device 3; start one process per core.")]}
    result = judge("train.py", journals, Ended([1], 0))
    assert result.ending.by_device
    assert only(result).what == "there is no device 3; start one process per core."
    assert "not the device" not in as_text(result)


@pytest.mark.parametrize(("status", "how"), [(-11, "signal 11"), (7, "exit status 7")])
def test_a_process_that_left_no_word(status: int, how: str) -> None:
    result = judge("train.py", {0: [call(1, {"x": [1]})]}, Ended([status], 0))
    assert (result.ending.how, result.ending.error) == ("died", f"the process ended with {how}")
    assert how in as_text(result)


def test_no_journal_at_all() -> None:
    assert judge("train.py", {}, Ended([1], 0)).ending.how == "died"
    assert judge("train.py", {}, Ended([0], None)).ending.how == "finished"


def test_a_rank_that_left_no_word_because_another_failed() -> None:
    ending = judge("train.py", {0: [], 1: [failed("bad row")]}, Ended([-15, 1], 1)).ending
    assert (ending.rank, ending.error) == (1, "ValueError: bad row")


# --- The report


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    loader = {"collator": "collate", "where": "/" + "long/" * 6 + "train.py:3", "pads": False}
    result = judged(*lengths(*range(12), loader=loader), refusal("complex", "..."), kernel("linalg_qr"))
    lines = as_text(result, width).splitlines()
    # A path is not broken, and the table keeps its columns.
    assert all(len(line) <= min(width, 120) for line in lines if "/" not in line and "  " not in line.strip())


def test_paths_are_those_from_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path / "train.py")
    text = as_text(judged(*lengths(1, 2, where=f"{here}:9")))
    assert "RECOMPILES  train.py:9  " in text
    assert str(tmp_path) not in text


def test_json_holds_the_same() -> None:
    import json

    told = json.loads(as_json(judged(*lengths(1, 2))))
    assert told["compile_seconds_estimate"] == 120
    assert told["findings"][0]["severity"] == "recompiles"
    assert told["phases"][0]["shapes"][0] == {
        "tensors": {"input_ids": [2, 1]},
        "calls": 1,
        "first_call": 1,
        "where": f"{AT}:9",
        "made_by": "DataCollatorWithPadding",
    }
