"""The build: once, whole or not at all, and anew for every other torch. The compiler is a script of the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("torch")

build = pytest.importorskip("neuron_shim.simulate.build")

COMPILER = """#!{python}
import sys, time
from pathlib import Path
with open({log!r}, "a") as log:
    log.write("-shared\\n" if "-shared" in sys.argv else "-c\\n")
time.sleep(0.2)
if {fails}:
    sys.exit("error: no such thing")
Path(sys.argv[sys.argv.index("-o") + 1]).write_text("built")
"""
LOAD = """
import sys
from neuron_shim.simulate import build
build._import = lambda library: print(library.read_text())
build.load()
"""


class Compiler:
    def __init__(self, folder: Path, *, fails: bool) -> None:
        self.log = folder / "log"
        self.path = folder / "compiler"
        self.path.write_text(COMPILER.format(python=sys.executable, log=str(self.log), fails=fails), encoding="utf-8")
        self.path.chmod(0o755)

    def runs(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").split() if self.log.exists() else []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NEURON_SHIM_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    made = Compiler(folder, fails=False)
    monkeypatch.setenv("CXX", str(made.path))
    monkeypatch.setattr(build, "_import", lambda library: library.read_text(encoding="utf-8"))
    return made


def test_builds_once(compiler: Compiler) -> None:
    assert build.load() == build.load() == "built"
    assert compiler.runs() == ["-c", "-c", "-shared"]


@pytest.mark.slow
def test_processes_that_start_together_build_once(compiler: Compiler, folder: Path) -> None:
    environment = {
        "NEURON_SHIM_CACHE": str(folder / "cache"),
        "CXX": str(compiler.path),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(build.__file__).parents[2]),
    }
    started = [
        subprocess.Popen([sys.executable, "-c", LOAD], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]

    assert [process.communicate()[0].strip() for process in started] == ["built"] * 4
    assert compiler.runs() == ["-c", "-c", "-shared"]


def test_another_torch_or_source_builds_anew(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    import torch

    build.load()
    monkeypatch.setattr(torch, "__version__", "2.99.0")
    build.load()
    sources = folder / "sources"
    sources.mkdir()
    (sources / "other.cpp").touch()
    monkeypatch.setattr(build, "SOURCES", sources)
    build.load()

    assert compiler.runs().count("-shared") == 3
    assert len(list((folder / "cache").iterdir())) == 3


def test_a_failed_build_leaves_nothing_to_load(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(Compiler(folder, fails=True).path))

    for _ in range(2):
        with pytest.raises(build.BuildError, match="no such thing"):
            build.load()

    assert [path.name for path in (folder / "cache").rglob("*") if path.is_file()] == [f"{build.NAME}.lock"]


def test_says_that_there_is_no_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)

    with pytest.raises(build.NoCompiler, match=r"no C\+\+ compiler found"):
        build.load()


def test_the_sources_are_in_the_package() -> None:
    assert {path.name for path in build.SOURCES.iterdir()} == {"device.cpp", "device.h", "process_group.cpp"}
