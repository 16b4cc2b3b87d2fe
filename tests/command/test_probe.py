"""What the interpreter that has the libraries answers, asked in this process and about small stand-ins."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuron_migrate.results import FileResult, Problem
from neuron_migrate.verify import probe
from neuron_migrate.verify.verifier import Verifier

FILES = {
    "transformers/__init__.py": """
from dataclasses import dataclass

__version__ = "9.9"

class LlamaConfig:
    hidden_size = 1
    def method(self): ...

class PreTrainedModel:
    @classmethod
    def from_pretrained(cls, name, *given, dtype=None, **kwargs):
        kwargs.pop("revision", None)
    def forward(self, x): ...

class AutoModelForCausalLM:
    @classmethod
    def from_pretrained(cls, name, **kwargs): ...

class Tokenizer:
    @classmethod
    def from_pretrained(cls, name, **kwargs): ...

@dataclass
class Arguments:
    output_dir: str
    def to_dict(self): ...

def __getattr__(name):
    if name == "Lazy":
        raise RuntimeError("needs\\na library")
    raise AttributeError(name)
""",
    "transformers/broken.py": "1 / 0\n",
    "transformers/models/__init__.py": "",
    "transformers/models/auto/__init__.py": "",
    "transformers/models/auto/auto_factory.py": """
class _BaseAutoModelClass:
    @classmethod
    def from_pretrained(cls, name, **kwargs):
        kwargs.get("trust_remote_code")
""",
    "plain.py": "",
}


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("transformers", "plain")}
    for name in kept:
        del sys.modules[name]
    caches = [probe._is_installed, probe._find, probe._loading_keywords]
    for cache in caches:
        cache.cache_clear()
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for cache in caches:
        cache.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] in ("transformers", "plain")]:
        del sys.modules[name]
    sys.modules.update(kept)


def use(dotted: str, member: str = "", *keywords: str, called: bool = False, **more: Any) -> dict[str, Any]:
    call = {"positional": 0, "open": False, "keywords": list(keywords), **more}
    return {"dotted": dotted, "member": member, "called": called or bool(keywords or more), **call}


MODEL = "transformers.PreTrainedModel.from_pretrained"
AUTO = "transformers.AutoModelForCausalLM.from_pretrained"
ARGUMENTS = "transformers.Arguments"


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (use("absent_library.x"), "absent_library is not installed"),
        (use("absent_library.x", called=True), None),
        (use("transformers.Nothing"), "transformers has no Nothing in its version 9.9"),
        (use("plain.Nothing"), "plain has no Nothing"),
        (use("transformers.broken"), "transformers.broken cannot be imported: ZeroDivisionError: division by zero"),
        (use("transformers.Lazy"), "transformers.Lazy cannot be imported: needs a library"),
        (use("transformers.LlamaConfig"), None),
        (use(ARGUMENTS, "output_dir"), None),
        (use(ARGUMENTS, "to_dict"), None),
        (use(ARGUMENTS, "warmup"), "Arguments has no warmup"),
        (use("transformers.LlamaConfig", "warmup"), None),
        (use(ARGUMENTS, "", "output_dir"), None),
        (use(ARGUMENTS, "", "x", open=True), "Arguments: got an unexpected keyword argument 'x'"),
        (use(ARGUMENTS, "", "x", "x"), "Arguments is given a keyword twice"),
        (use(ARGUMENTS, called=True), "Arguments: missing a required argument: 'output_dir'"),
        (use("transformers.__version__", called=True), None),
        (use("transformers.PreTrainedModel", "forward", positional=1), None),
        (
            use("transformers.PreTrainedModel", "forward", positional=2),
            "PreTrainedModel.forward: too many positional arguments",
        ),
        (use("transformers.PreTrainedModel", "gone", positional=2), None),
        (use("plain", "gone", positional=2), None),
        (use(MODEL, "", "dtype", "revision", "hidden_size", "trust_remote_code", positional=1), None),
        (use(MODEL, "", "method", positional=1), "PreTrainedModel.from_pretrained: unknown keywords ['method']"),
        (use(AUTO, "", "export", positional=1), "AutoModelForCausalLM.from_pretrained: unknown keywords ['export']"),
        (use("transformers.Tokenizer.from_pretrained", "", "anything", positional=1), None),
    ],
)
def test_an_answer(asked: dict[str, Any], said: str | None) -> None:
    assert probe.answer(asked) == said


@pytest.mark.usefixtures("libraries")
def test_a_module_that_is_not_there_at_all_is_told_of_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_is_installed", lambda library: True)
    assert probe.answer(use("absent_library.x")) == "absent_library has no module absent_library.x"


def test_answers_come_line_by_line_and_what_libraries_print_goes_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("w") as told, err.open("w") as said:
        monkeypatch.setattr(sys, "stdout", told)
        monkeypatch.setattr(sys, "stderr", said)
        monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps([use("absent_library.x")]) + "\n[]\n"))
        probe.main()
        os.write(told.fileno(), b"noise")
    first = json.dumps(["absent_library is not installed"])
    assert out.read_text() == f"{probe.SIGN}{first}\n{probe.SIGN}[]\n"
    assert err.read_text() == "noise"


def test_a_file_that_failed_or_is_no_python_is_not_asked_about() -> None:
    with Verifier(sys.executable) as verifier:
        for result in (FileResult("a.py", problem=Problem("bad")), FileResult("a.sh", b"import transformers")):
            assert verifier.checked(result, written=False) is result
