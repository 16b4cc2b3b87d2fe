"""Whatever stops an export, nothing at the destination looks finished, and what was there is still there."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import neuron_shim
from neuron_shim.checkpoint import export, safetensors_file
from neuron_shim.checkpoint.errors import ExportError
from neuron_shim.checkpoint.export import export_checkpoint

from .models import contents, differing

SMALL = {"max_shard_size": "20KB"}


@pytest.fixture
def failing_write(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, BaseException], None]:
    """Let the n-th write of weights fail."""

    def fail(number: int, error: BaseException) -> None:
        write = safetensors_file._write
        calls = iter(range(1, 10**6))

        def writing(file: Any, data: Any) -> None:
            if next(calls) == number:
                raise error
            write(file, data)

        monkeypatch.setattr(safetensors_file, "_write", writing)

    return fail


@pytest.mark.parametrize("number", [1, 2, 12, 30])
def test_full_disk(number: int, failing_write: Any, trainer_folder: Path, destination: Path) -> None:
    failing_write(number, OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(ExportError, match="could not be written: No space left on device"):
        export_checkpoint(trainer_folder, destination, **SMALL)
    assert not destination.exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), RuntimeError("bug")], ids=repr)
def test_interrupted(error: BaseException, failing_write: Any, trainer_folder: Path, destination: Path) -> None:
    failing_write(9, error)
    with pytest.raises(type(error)):
        export_checkpoint(trainer_folder, destination, **SMALL)
    assert not destination.exists()


def test_config_and_index_come_last(trainer_folder: Path, destination: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that even the temporary folder of a process that was killed does not load."""
    seen: list[str] = []
    write = export._write_json

    def spy(path: Path, value: Any) -> None:
        seen.append(",".join(sorted(other.name for other in path.parent.glob("*.json"))))
        write(path, value)

    monkeypatch.setattr(export, "_write_json", spy)
    export_checkpoint(trainer_folder, destination, **SMALL)
    before_index, before_config = seen
    assert "index" not in before_index
    assert "index" in before_config
    assert not before_config.startswith("config.json")


def test_failed_overwrite_keeps_the_old_one(failing_write: Any, trainer_folder: Path, destination: Path) -> None:
    export_checkpoint(trainer_folder, destination)
    before = contents(destination)
    failing_write(9, OSError(errno.EIO, "Input/output error"))
    with pytest.raises(ExportError):
        export_checkpoint(trainer_folder, destination, dtype="bf16", overwrite=True)
    assert differing(contents(destination), before) == []


def test_bytes_that_change_on_their_way_to_the_disk(
    trainer_folder: Path, destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = safetensors_file._write
    calls = iter(range(1, 10**6))

    def flipping(file: Any, data: Any) -> None:
        data = bytearray(data)
        if next(calls) == 5:
            data[-1] ^= 1
        write(file, data)

    monkeypatch.setattr(safetensors_file, "_write", flipping)
    with pytest.raises(ExportError, match=r"model.safetensors reads back differently .* checksum of \S+ is"):
        export_checkpoint(trainer_folder, destination)
    assert not destination.exists()


def test_header_that_is_written_wrong(
    trainer_folder: Path, destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = safetensors_file.encode_header
    monkeypatch.setattr(safetensors_file, "encode_header", lambda some: encode(some).replace(b"up_proj", b"op_proj"))
    with pytest.raises(ExportError, match=r"model.safetensors reads back differently .*p_proj.weight is"):
        export_checkpoint(trainer_folder, destination)
    assert not destination.exists()


def test_source_that_shrinks_meanwhile(
    copy_of: Any, trainer_folder: Path, destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = copy_of(trainer_folder)
    carry_out = export._carry_out

    def shrinking(*arguments: Any) -> None:
        os.truncate(source / "model.safetensors", 20_000)
        carry_out(*arguments)

    monkeypatch.setattr(export, "_carry_out", shrinking)
    with pytest.raises(ExportError, match="became shorter while it was read"):
        export_checkpoint(source, destination)


SLOW = """
import sys, time
from neuron_shim.checkpoint import safetensors_file
from neuron_shim.command import main
write = safetensors_file._write
def slow(file, data):
    write(file, data)
    print("writing", flush=True)
    time.sleep(60)
safetensors_file._write = slow
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL], ids=lambda number: number.name
)
def test_signals(number: signal.Signals, trainer_folder: Path, tmp_path: Path) -> None:
    destination = tmp_path / "to" / "model"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, "export", str(trainer_folder), str(destination)],
        env={**os.environ, "PYTHONPATH": str(Path(neuron_shim.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert not destination.exists()
    left = list(destination.parent.iterdir())
    if number is signal.SIGKILL:
        # Nobody can clean up after that: the next export names what is left, which has no config.
        assert [path.name.startswith(".model.neuron-shim-") for path in left] == [True]
        assert not (left[0] / "config.json").exists()
        report = export_checkpoint(trainer_folder, destination)
        assert report is not None
        assert report.notes == (f"{left[0]} was left by an export that was killed; it can be deleted.",)
    else:
        assert (process.returncode, errors, left) == (130, "neuron-shim: interrupted.\n", [])


def test_checksum_does_not_depend_on_the_pieces() -> None:
    from neuron_shim.checkpoint.checksum import Checksum

    data = os.urandom(20000)

    def of(*sizes: int, data: bytes = data) -> int:
        checksum = Checksum()
        start = 0
        for size in sizes:
            checksum.add(data[start : start + size])
            start += size
        checksum.add(data[start:])
        return checksum.value

    assert of() == of(1) == of(4095, 1, 2) == of(4096) == of(7, 3, 1024, 8192) == of(19999)
    flipped = bytearray(data)
    flipped[4321] ^= 64
    assert of(data=bytes(flipped)) != of()
    assert of(data=data[4096:8192] + data[:4096] + data[8192:]) != of()
    assert of(data=data[:-1]) != of()
    assert of(data=b"") == 0


def test_export_of_a_small_model_is_quick(trainer_folder: Path, destination: Path) -> None:
    start = time.monotonic()
    export_checkpoint(trainer_folder, destination)
    assert time.monotonic() - start < 10
