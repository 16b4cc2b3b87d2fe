"""What a folder with a compiled model says of the model it was made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuron_migrate.compiled_folders import read
from tests.command.support import REAL, Project

SCRIPT = """from optimum.neuron import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("compiled/", revision="main")
"""


@pytest.mark.parametrize("place", ["app/compiled", "compiled"], ids=["beside the script", "where the command starts"])
@pytest.mark.parametrize(
    "files",
    [
        {"neuron_config.json": {"checkpoint_id": "me/llama"}},
        {"config.json": {"neuron": {"task": "text-generation"}, "_name_or_path": "me/llama"}},
    ],
    ids=list,
)
def test_the_original_model_is_read_from_the_folder(tmp_path: Path, place: str, files: dict[str, object]) -> None:
    project = Project(tmp_path, REAL).write({"app/serve.py": SCRIPT})
    project.write({f"{place}/{name}": json.dumps(content) for name, content in files.items()})
    ended = project.run(".")
    assert ended.status == 0, ended.err
    after = project.read("app/serve.py")
    assert b"AutoModelForCausalLM.from_pretrained(" in after
    assert b'"me/llama"' in after
    assert b"compiled" not in after


@pytest.mark.parametrize(
    "files",
    [
        {"neuron_config.json": {"checkpoint_id": "me/llama", "sequence_length": 64, "tp_degree": 2, "rank": [1]}},
        {"config.json": {"neuron": {"static_sequence_length": 64, "num_cores": 2}, "_name_or_path": "me/llama"}},
    ],
    ids=list,
)
def test_what_it_was_compiled_for_is_read_too(tmp_path: Path, files: dict[str, object]) -> None:
    project = Project(tmp_path, REAL).write({"serve.py": SCRIPT + "print(model.generate(**inputs))\n"})
    project.write({f"compiled/{name}": json.dumps(content) for name, content in files.items()})
    assert project.run(".").status == 0
    after = project.read("serve.py")
    assert b'parallel_sizes(tp_size=2, model="me/llama")' in after
    assert b'generate(**inputs, cache_implementation="static", max_cache_len=64)' in after


def test_a_folder_that_is_not_there_gets_a_marker(tmp_path: Path) -> None:
    project = Project(tmp_path, REAL).write({"app/serve.py": SCRIPT})
    ended = project.run(".")
    assert ended.status == 4
    kept = [line for line in project.read("app/serve.py").decode().splitlines() if "TODO(" not in line]
    assert kept == SCRIPT.splitlines()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        '"a text"',
        '{"checkpoint_id": null}',
        '{"checkpoint_id": 7}',
        "[" * 100_000,
        "\x00\xff",
    ],
    ids=["empty", "a list", "cut off", "a text", "nothing", "a number", "nested", "bytes"],
)
def test_odd_configurations_say_nothing(tmp_path: Path, content: str) -> None:
    for name in ("neuron_config.json", "config.json"):
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert read(tmp_path) is None


@pytest.mark.parametrize("name", ["/home/me/bert", "./bert", "../bert", "~/bert", "C:\\bert", "a/b/c", ""])
def test_a_place_on_the_machine_that_compiled_is_no_id(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"neuron": {}, "_name_or_path": name}), encoding="utf-8")
    assert read(tmp_path) is None


def test_a_plain_model_is_no_compiled_one(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"_name_or_path": "me/bert"}), encoding="utf-8")
    assert read(tmp_path) is None
