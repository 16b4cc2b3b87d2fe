"""``neuron-shim export`` and the command itself, as a user starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import neuron_shim
from neuron_shim.command import main

from .models import contents, differing, state_of


def test_report(trainer_folder: Path, destination: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(trainer_folder), str(destination), "--dtype", "bf16"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"{trainer_folder} is a model folder."
    assert out[1].startswith(f"Wrote {destination}: 25 tensors, ")
    assert "in 1 file; read back and verified" in out[1]
    assert out[2] == (
        "With config.json, chat_template.jinja, generation_config.json, tokenizer.json, tokenizer_config.json."
    )
    assert out[3].startswith("Left behind: optimizer.pt, optimizer_distributed/, ")


def test_json_and_dry_run(distributed_folder: Path, destination: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["export", str(distributed_folder), str(destination), "--max-shard-size", "20KB", "--dry-run"]
    assert main([*arguments, "--output-format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["dry_run"], report["tensors"], sum(report["files"].values())) == (True, 25, 25)
    assert not destination.exists()
    assert main(arguments) == 0
    assert f"Would write {destination}: 25 tensors" in capsys.readouterr().out


def test_one_sentence_and_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path / "nope"), str(tmp_path / "out")]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"neuron-shim: {tmp_path / 'nope'} does not exist.\n")


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a folder in use cannot be removed")
def test_in_a_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main(["export", "source", "destination"]) == 1
    assert capsys.readouterr().err == "neuron-shim: source: No such file or directory.\n"


@pytest.mark.parametrize(
    "arguments",
    [["export"], ["export", "a", "b", "--dtype", "int8"], ["export", "a", "b", "--max-shard-size", "x"], ["no"]],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: neuron-shim" in capsys.readouterr().err


def test_without_a_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "export" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"neuron-shim {neuron_shim.__version__}\n"


def run(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *(("-c", code) if code else ("-m", "neuron_shim")), *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(neuron_shim.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_as_a_module(untied: Any, trainer_folder: Path, destination: Path) -> None:
    done = run("export", str(trainer_folder), str(destination))
    assert (done.returncode, done.stderr) == (0, "")
    assert differing(contents(destination), state_of(untied)) == []


WITHOUT = """
import sys
from neuron_shim.command import main
status = main(sys.argv[1:])
print(sorted({"torch", "transformers", "peft", "click", "libcst", "rich"} & set(sys.modules)))
sys.exit(status)
"""


def test_a_copy_needs_no_torch(trainer_folder: Path, destination: Path) -> None:
    done = run("export", str(trainer_folder), str(destination), code=WITHOUT)
    assert (done.returncode, done.stderr, done.stdout.splitlines()[-1]) == (0, "", "[]")


def test_lazy_names() -> None:
    from neuron_shim.checkpoint import errors, export, resume

    assert neuron_shim.export_checkpoint is export.export_checkpoint
    assert neuron_shim.ExportError is errors.ExportError
    assert neuron_shim.ResumeCallback is resume.ResumeCallback
