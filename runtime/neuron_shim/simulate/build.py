"""Compiles the simulated device: once for each torch, Python and compiler, into a cache folder.

The compiler is called directly, so that nothing else is needed (``torch.utils.cpp_extension`` wants ninja).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

SOURCES = Path(__file__).parent / "native"
NAME = "_native"
# Most of the build goes into reading torch's headers, and most of an operator's time into torch's dispatcher.
FLAGS = ("-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", "-w")


class NoCompiler(Exception):
    """There is no C++ compiler on this machine."""


class BuildError(Exception):
    """The compiler failed; the message has its last lines."""


def load() -> ModuleType:
    """The compiled module, built first if this torch has none yet. Processes that start together build it once.

    Raises:
        NoCompiler: it is not built, and there is no compiler.
        BuildError: the compiler failed.
    """
    library = _library()
    if not library.exists():
        compiler = find_compiler()
        if compiler is None:
            raise NoCompiler("no C++ compiler found (looked for $CXX, g++, c++ and clang++)")
        library.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(library.with_suffix(".lock")):
            if not library.exists():
                _build(compiler, library)
    return _import(library)


def is_built() -> bool:
    """Whether ``load`` will not have to compile."""
    return _library().exists()


def find_compiler() -> str | None:
    if sys.platform == "win32":  # torch is built with another compiler there, which takes other flags
        return None
    asked = os.environ.get("CXX")
    return next((found for name in (asked, "g++", "c++", "clang++") if name and (found := shutil.which(name))), None)


def cache_folder() -> Path:
    """``$NEURON_SHIM_CACHE``, or ``neuron_shim`` in the user's cache folder."""
    if folder := os.environ.get("NEURON_SHIM_CACHE"):
        return Path(folder)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "neuron_shim"


def _library() -> Path:
    return cache_folder() / _key() / f"{NAME}.so"


def _key() -> str:
    """Changes with everything that the compiled module depends on."""
    import torch

    digest = hashlib.sha256()
    for part in (
        torch.__version__,
        torch.version.git_version,
        str(torch._C._GLIBCXX_USE_CXX11_ABI),
        sysconfig.get_config_var("EXT_SUFFIX"),
        *FLAGS,
    ):
        digest.update(f"{part}\n".encode())
    for source in sorted(SOURCES.iterdir()):
        digest.update(source.read_bytes())
    return f"simulate-torch{torch.__version__}-{sys.implementation.cache_tag}-{digest.hexdigest()[:16]}"


def _build(compiler: str, library: Path) -> None:
    """Compile the sources side by side, and move the result into place when it is whole."""
    import torch

    root = Path(torch.__file__).parent
    include = [f"-I{root / 'include'}", f"-I{root / 'include/torch/csrc/api/include'}"]
    include.append(f"-I{sysconfig.get_paths()['include']}")
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"
    undefined = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
    with tempfile.TemporaryDirectory(dir=library.parent) as name:
        folder = Path(name)
        objects = [folder / f"{source.stem}.o" for source in sorted(SOURCES.glob("*.cpp"))]
        _run_together(
            [compiler, *FLAGS, abi, *include, "-c", str(SOURCES / f"{one.stem}.cpp"), "-o", str(one)]
            for one in objects
        )
        built = folder / library.name
        libraries = [f"-L{root / 'lib'}", "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
        _run_together([[compiler, "-shared", *undefined, *map(str, objects), "-o", str(built), *libraries]])
        built.replace(library)


def _run_together(commands: Iterator[list[str]] | list[list[str]]) -> None:
    started = [
        (command, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        for command in commands
    ]
    ended = [(command, process.communicate()[0], process.returncode) for command, process in started]
    for command, output, status in ended:
        if status:
            raise BuildError(f"{command[0]} ended with {status}:\n{output[-2000:]}")


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    import fcntl

    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # ends with the process, however that ends
        yield


def _import(library: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{__package__}.{NAME}", library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
