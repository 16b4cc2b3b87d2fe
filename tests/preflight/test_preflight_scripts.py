"""The command on scripts: what it sees, what it says, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import REPOSITORY, Told

Preflight = Callable[..., Told]
Script = Callable[[str], Path]

LOOP = """\
import sys
import torch
from torch import nn

model = nn.Linear(4, 2).to("neuron")
optimizer = torch.optim.AdamW(model.parameters())
for rows in map(int, sys.argv[1:]):
    model(torch.ones(rows, 4, device="neuron")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", rows)
"""


@pytest.mark.slow
def test_a_training_loop(preflight: Preflight, script: Script) -> None:
    """Standard output has the report alone; the script's words go to the error output."""
    told = preflight("--steps", 3, "--output-format", "json", script(LOOP), *[2] * 8)
    result = json.loads(told.report)
    assert (told.status, result["steps"], result["findings"]) == (0, 3, [])
    assert result["phases"][0]["calls"] == 3
    assert told.said.count("step 2") == 3


@pytest.mark.slow
def test_a_script_without_a_compiler(preflight: Preflight, script: Script, without_compiler: dict[str, str]) -> None:
    text = LOOP + "torch.ones(2, dtype=torch.complex64).to('neuron')\nmodel(torch.ones(1, 4))\n"
    told = preflight("--output-format", "json", script(text), 2, 3, 4, device=without_compiler)
    kinds = [finding["kind"] for finding in json.loads(told.report)["findings"]]
    assert kinds == ["complex-dtype", "wrong-device", "partial-batch"]
    assert told.status == 1


FAULTS = """\
import torch
from torch import nn

torch.nn.functional.embedding(torch.tensor([1]), torch.ones(3, 2, device="neuron"))
complex_numbers = torch.view_as_complex(torch.ones(3, 2, device="neuron"))
rotated = torch.view_as_real(complex_numbers.conj() * complex_numbers)
assert rotated.cpu().tolist() == [[2, 0]] * 3, rotated
torch.linalg.qr(torch.eye(3, device="neuron"))
mask = torch.tensor([1.0, -1.0, 1.0], device="neuron")
assert mask[mask > 0].shape == (2,)
(torch.ones(3, device="neuron", dtype=torch.float64) * 2).sum()
nn.Linear(2, 2)(torch.ones(1, 2))
torch._dynamo.config.automatic_dynamic_shapes = True
double = torch.compile(lambda x: x * 2, backend="neuron", dynamic=True)
assert double(torch.ones(4, device="neuron")).cpu().tolist() == [2] * 4
"""


@pytest.mark.slow
def test_the_script_goes_on_behind_what_would_fail(preflight: Preflight, script: Script) -> None:
    told = preflight("--output-format", "json", script(FAULTS))
    assert json.loads(told.report)["ending"]["how"] == "finished", told.said
    found = [(finding["kind"], finding["where"].rpartition(":")[2]) for finding in json.loads(told.report)["findings"]]
    assert found == [
        ("wrong-device", "4"),
        ("complex-dtype", "5"),
        ("complex-dtype", "6"),
        ("dynamic-shapes", "15"),
        ("model-on-cpu", "12"),
        ("cpu-fallback", "8"),
        ("data-dependent-size", "10"),
        ("float64", "11"),
    ]
    assert told.status == 1


COLLECTIVES = """\
import torch
import torch.distributed as dist

dist.init_process_group("neuron")
rank = dist.get_rank()
tensor = torch.full((3,), float(rank), device="neuron")
if rank == 0:
    dist.send(tensor, 1)
else:
    dist.recv(tensor, 0)
assert tensor.tolist() == [0, 0, 0]
received = torch.zeros(3, device="neuron")
splits = [1, 2] if rank == 0 else [2, 1]
dist.all_to_all_single(received, torch.full((3,), float(rank), device="neuron"), splits, [1, 2])
dist.all_reduce(tensor)
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_collectives_that_are_lacking(preflight: Preflight, script: Script) -> None:
    told = preflight("--nproc-per-node", 2, "--output-format", "json", script(COLLECTIVES))
    found = [
        (finding["what"].partition(" between")[0], finding["where"].rpartition(":")[2], finding["ranks"])
        for finding in json.loads(told.report)["findings"]
    ]
    assert ("send", "8", [0]) in found, told
    assert ("recv", "10", [1]) in found
    assert ("all_to_all with parts of different sizes", "14", []) in found
    assert len(found) == 3


# --- Scripts that fail by themselves


@pytest.mark.slow
def test_its_own_error_is_shown_as_it_is(preflight: Preflight, script: Script) -> None:
    path = script("def work():\n    raise ValueError('no data')\n\nwork()\n")
    told = preflight(path)
    assert told.status == 3
    assert told.said == (
        "Traceback (most recent call last):\n"
        f'  File "{path}", line 4, in <module>\n'
        "    work()\n"
        f'  File "{path}", line 2, in work\n'
        "    raise ValueError('no data')\n"
        "ValueError: no data\n"
    )
    assert "The script failed at script.py:2, not the device: ValueError: no data." in told.report


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("print(1)\ndef broken(:\n", 3, "SyntaxError"),
        ("import sys\nsys.exit(0)\n", 0, "Found nothing"),
        ("import sys\nsys.exit('give a file')\n", 3, "exit status give a file"),
        ("import os\nos._exit(5)\n", 3, "exit status 5"),
        ("import os\nos._exit(0)\n", 0, "Found nothing"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", 3, "signal 11"),
        ("import torch\ntorch.ones(1, device='neuron:3')\n", 1, "this process has one device"),
        ("import not_there\n", 3, "ModuleNotFoundError: No module named 'not_there'"),
        (
            "import torch\ntry:\n    torch.neuron.set_device(3)\nexcept RuntimeError as error:\n"
            "    raise SystemError('cannot start') from error\n",
            1,
            "cannot start",
        ),
        (
            "import torch\ntorch.ones(3, device='neuron') + torch.ones(3)\n",
            1,
            "1. WOULD FAIL script.py:2 an operator is given tensors of two devices, and the script ended here",
        ),
        ("x" * 3 + " = 1\nraise RuntimeError('\\n\\n' + 'y' * 1000)\n", 3, "RuntimeError: " + "y" * 150),
    ],
    ids=[
        "syntax",
        "exit 0",
        "exit text",
        "_exit",
        "_exit 0",
        "signal",
        "device",
        "import",
        "from the device",
        "two devices",
        "long",
    ],
)
def test_endings(text: str, status: int, words: str, preflight: Preflight, script: Script) -> None:
    told = preflight(script(text), COLUMNS="400")
    assert (told.status, words in " ".join(told.report.split())) == (status, True), told


@pytest.mark.slow
def test_an_end_from_outside_ends_the_script(compiled: dict[str, str], script: Script, tmp_path: Path) -> None:
    """As by a scheduler: nothing keeps running, and nothing stays in the temporary folder."""
    import os
    import signal
    import subprocess
    import sys
    import time

    (tmp_path / "temporary").mkdir()
    path = script("import os, time\nopen('started', 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "runtime"), "TMPDIR": str(tmp_path / "temporary")}
    command = [sys.executable, "-m", "neuron_shim", "preflight", str(path)]
    started = tmp_path / "started"
    with subprocess.Popen(command, cwd=tmp_path, env=environment | compiled, stderr=subprocess.PIPE) as process:
        while not (started.exists() and started.read_text(encoding="utf-8")):
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, b"neuron-shim: interrupted.\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text(encoding="utf-8")), 0)
    assert not list((tmp_path / "temporary").glob("neuron-shim*"))


ACCELERATE = """\
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

def collate(rows):
    return {"input": torch.ones(len(rows), max(rows))}

accelerator = Accelerator(gradient_accumulation_steps=2)
model = torch.nn.Sequential(torch.nn.AdaptiveAvgPool1d(4), torch.nn.Linear(4, 2))
loader = DataLoader(list(range(4, 44)), batch_size=2, collate_fn=collate)
with torch.no_grad():
    for _ in range(8):
        model(torch.ones(2, 8))
model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), loader)
for batch in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(**batch).sum())
        optimizer.step()
        optimizer.zero_grad()
raise AssertionError("it should have ended by now")
"""


@pytest.mark.slow
@pytest.mark.libraries
@pytest.mark.parametrize("processes", [1, 2])
def test_a_loop_with_accelerate(processes: int, preflight: Preflight, script: Script) -> None:
    told = preflight("--nproc-per-node", processes, "--output-format", "json", "--steps", 3, script(ACCELERATE))
    result = json.loads(told.report)
    assert (told.status, result["steps"], result["ending"]["how"]) == (1, 3, "enough"), told.said
    assert result["phases"][0]["calls"] == 6 * processes
    first = result["findings"][0]
    assert first["kind"] == "input-shapes"
    assert first["where"].endswith("script.py:17")
    assert "script.py:5)" in first["what"]
    assert "neuron_shim.pad_batches(collate, multiple=128)" in first["advice"]


@pytest.mark.slow
def test_one_rank_fails(preflight: Preflight, script: Script) -> None:
    text = (
        "import torch.distributed as dist\ndist.init_process_group('neuron')\n"
        "if dist.get_rank() == 1:\n    raise ValueError('only here')\ndist.barrier()\n"
    )
    told = preflight("--nproc-per-node", 2, script(text))
    assert told.status == 3
    assert "The script failed in rank 1 at script.py:4, not the device: ValueError: only here." in told.report
    assert "ValueError: only here" in told.said


# --- Usage


@pytest.mark.slow
def test_the_script_has_its_own_arguments_and_folder(preflight: Preflight, script: Script, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("WORD = 'found'\n", encoding="utf-8")
    path = script("import sys, beside\nassert __name__ == '__main__'\nprint(sys.argv[1:], beside.WORD)\n")
    told = preflight(path, "--help", "--steps", "x", "-m")
    assert "['--help', '--steps', 'x', '-m'] found" in told.said
    assert told.status == 0
    assert preflight("-m", "script", "a").said == "['a'] found\n"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["missing.py"], 1, "neuron-shim: preflight: the script missing.py is not there; name a Python file"),
        (["."], 1, "the script . is a folder"),
        ([], 2, "SCRIPT"),
        (["--steps", "0", "x.py"], 2, "'0' is not a whole number above 0"),
        (["--nproc-per-node", "two", "x.py"], 2, "'two' is not a whole number above 0"),
    ],
)
def test_wrong_usage(arguments: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    from neuron_shim.command import main

    try:
        ended = main(["preflight", *arguments])
    except SystemExit as error:
        ended = int(error.code or 0)
    assert ended == status
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_no_device_can_be_simulated(preflight: Preflight, script: Script, without_compiler: dict[str, str]) -> None:
    told = preflight("--nproc-per-node", 2, script("print(1)\n"), device=without_compiler)
    assert told.status == 4
    assert told.report == ""
    assert "neuron-shim preflight: The simulated device needs a C++ compiler to run in 2 processes" in told.said


# --- What the libraries do


SFT = """\
import sys

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

folder, kind, compiles = sys.argv[1:]
torch._dynamo.config.recompile_limit = 64
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
texts = [" ".join(f"w{word}" for word in range(3 + 2 * row)) for row in range(12) for _ in range(2)]
config = SFTConfig(
    "out",
    max_steps=20,
    per_device_train_batch_size=2,
    bf16=False,
    gradient_checkpointing=False,
    report_to="none",
    save_steps=1,
    train_sampling_strategy="sequential",
    torch_compile=compiles == "compiled",
    **({} if kind == "padded" else {"pad_to_multiple_of": None}),
)
rows = Dataset.from_list([{"text": text} for text in texts])
trainer = SFTTrainer(model=model, args=config, train_dataset=rows, processing_class=tokenizer)
trainer.train()
trainer.save_model("my_model")
"""


@pytest.mark.slow
@pytest.mark.libraries
@pytest.mark.parametrize(
    ("kind", "compiles", "shapes", "graphs"),
    [
        ("padded", "eager", 1, 0),
        ("unpadded", "eager", 12, 0),
        ("padded", "compiled", 1, 3),
        ("unpadded", "compiled", 12, 36),
    ],
)
def test_sft_has_one_shape_if_padded_and_else_one_for_each_length(
    kind: str,
    compiles: str,
    shapes: int,
    graphs: int,
    preflight: Preflight,
    script: Script,
    assets: Path,
    tmp_path: Path,
) -> None:
    arguments = (script(SFT), assets / "decoder", kind, compiles)
    told = preflight("--steps", 12, "--output-format", "json", *arguments)
    result = json.loads(told.report)
    (phase,) = result["phases"]

    assert (result["steps"], phase["calls"], len(phase["shapes"]), phase["graphs"]) == (12, 12, shapes, graphs)
    assert result["compile_seconds_estimate"] == 60 * shapes
    assert [finding["kind"] for finding in result["findings"] if finding["severity"] != "costs"] == (
        [] if kind == "padded" else ["input-shapes"]
    )
    assert told.status == (kind == "unpadded")
    # Nothing is left where the script saves.
    assert {path.name for path in tmp_path.iterdir()} <= {"huggingface", "script.py"}


GENERATE = """\
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, good = sys.argv[1], sys.argv[2] == "good"
tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, device_map="neuron")
settings = dict(max_new_tokens=8, eos_token_id=None, pad_token_id=0)
for length in range(3, 15):
    text = " ".join(f"w{word}" for word in range(length))
    if good:
        prompt = tokenizer(text, return_tensors="pt", padding="max_length", max_length=16)
        model.generate(**prompt, **settings, cache_implementation="static", max_cache_len=24)
    else:
        prompt = tokenizer(text, return_tensors="pt").to(model.device)
        model.generate(**prompt, **settings)
"""


@pytest.mark.slow
@pytest.mark.libraries
def test_generate(preflight: Preflight, script: Script, assets: Path) -> None:
    arguments = ("--steps", 4, "--output-format", "json", script(GENERATE), assets / "decoder")
    good, bad = preflight(*arguments, "good"), preflight(*arguments, "bad")
    result = json.loads(good.report)
    assert (good.status, result["generated"], result["findings"]) == (0, 4, [])
    (phase,) = result["phases"]
    assert (len(phase["shapes"]), phase["calls"], phase["graphs"]) == (2, 32, 1)

    result = json.loads(bad.report)
    assert [(finding["kind"], finding["where"].rpartition(":")[2]) for finding in result["findings"]] == [
        ("prompt-on-device", "16"),
        ("growing-cache", "17"),
        ("prompt-shapes", "16"),
    ]
    assert len(result["phases"][0]["shapes"]) > 12
    assert bad.status == 1


EARLY = """\
import sys
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32, device_map="neuron")
TrainingArguments("out", report_to="none")
"""


@pytest.mark.slow
@pytest.mark.libraries
@pytest.mark.parametrize(("processes", "severity"), [(1, "costs"), (2, "fails")])
def test_a_model_loaded_before_the_process_group(
    processes: int, severity: str, preflight: Preflight, script: Script, assets: Path
) -> None:
    arguments = ("--nproc-per-node", processes, "--output-format", "json", script(EARLY), assets / "decoder")
    told = preflight(*arguments)
    found = [(one["kind"], one["severity"], one["where"][-2:]) for one in json.loads(told.report)["findings"]]
    assert found == [("device-before-group", severity, ":5")]


def report_of_the_faults(preflight: Preflight) -> Told:
    return preflight("--nproc-per-node", 2, "examples/preflight/faults.py", cwd=REPOSITORY)


@pytest.mark.slow
@pytest.mark.libraries
def test_the_six_faults(preflight: Preflight) -> None:
    """The report that the README shows, line by line; only the numbers of kernels depend on the build of torch."""
    told = report_of_the_faults(preflight)
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("```text\nexamples/preflight/faults.py: ")[2].partition("\n```")[0]

    assert told.status == 1
    assert without_kernels(told.report) == without_kernels(f"examples/preflight/faults.py: {shown}\n")


def without_kernels(report: str) -> list[str]:
    lines = report.splitlines()
    return [line.rpartition("  ")[0] if line.endswith(" late)") else line for line in lines]


def test_the_faults_are_where_they_are_planted() -> None:
    """One comment in the script for each finding."""
    lines = (REPOSITORY / "examples" / "preflight" / "faults.py").read_text(encoding="utf-8").splitlines()
    marks = {number: line.partition("  # ")[2] for number, line in enumerate(lines, 1) if "  # " in line}
    assert len(marks) == 7, marks  # the first fault takes two lines


def examples() -> list[Any]:
    from tests.training.runs import EXAMPLES

    return list(EXAMPLES)


@pytest.mark.slow
@pytest.mark.libraries
@pytest.mark.parametrize("spread", [False, True], ids=["one process", "spread"])
@pytest.mark.parametrize("example", examples(), ids=str)
def test_the_migrated_examples_pass(
    example: Any, spread: bool, preflight: Preflight, assets: Path, tmp_path: Path
) -> None:
    from tests.training.assets import Assets
    from tests.training.runs import Launch

    launch = example.spread if spread else Launch()
    path = REPOSITORY / "examples" / example.name / "after" / example.script
    arguments = example.command_line(Assets(assets), tmp_path / "output", launch)
    told = preflight("--nproc-per-node", launch.processes, path, *arguments, **launch.variables())
    print(told.report)
    assert told.status == 0, told.said
    assert "WOULD FAIL" not in told.report
    assert not (tmp_path / "output").exists() or not any((tmp_path / "output").rglob("*.safetensors"))
