"""Work that is done once: trees kept for the second look, answers kept with a module, names followed in circles."""

from __future__ import annotations

import ast

import pytest

from neuron_codemods import Project, collect
from neuron_codemods import module as modules
from neuron_codemods.module import Module, once
from neuron_codemods.project import ModuleFacts


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> modules._Kept:
    store = modules._Kept()
    monkeypatch.setattr(modules, "_KEPT", store)
    return store


def test_the_second_look_has_the_tree_of_the_first_one() -> None:
    text = "x: 'Trainer' = 1\n"
    collect(text, "a.py")
    collect(text, "b.py")
    first, second = Module(text), Module(text)
    assert first.source.tree is not second.source.tree
    for module in (first, second):
        assert [reference.name for reference in module.names.references["Trainer"]] == ["Trainer"]


def test_only_so_many_trees_are_kept(kept: modules._Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules._Kept, "LIMIT", 10)
    texts = ["first = 1\n", "second = 2\n"]
    for text in texts:
        collect(text, "a.py")
    assert kept.take(texts[1]) is None
    assert kept.take(texts[0]) is not None
    assert kept.take(texts[0]) is None


def test_a_question_is_asked_once_for_each_module_and_what_it_is_about() -> None:
    asked = []

    @once
    def length(module: Module, name: str) -> int:
        asked.append((module, name))
        return len(name)

    first, second = Module(""), Module("")
    assert [length(first, "ab"), length(first, "ab"), length(second, "ab"), length(first, "c")] == [2, 2, 2, 1]
    assert asked == [(first, "ab"), (second, "ab"), (first, "c")]


def test_files_may_pass_a_name_to_each_other_in_a_circle() -> None:
    names = [f"m{number}" for number in range(12)]
    files = [
        ModuleFacts(f"{name}/{own}.py", passes={"Trainer": f"{other}.Trainer"})
        for name in ("a", "b")
        for own, other in zip(names, [*names[1:], names[0]], strict=True)
    ]
    assert Project(tuple(files)).resolve("m0.Trainer") == "m0.Trainer"
    end = ModuleFacts("m4.py", {"Trainer": "optimum.neuron.NeuronTrainer"})
    assert Project((*files, end)).resolve("m0.Trainer") == "optimum.neuron.NeuronTrainer"


def test_a_statement_has_a_block_and_a_place_in_it() -> None:
    module = Module("try:\n    a = 1\nexcept E:\n    b = 1\nelse:\n    c = 1\n    d = 1\nf = lambda: 1\n")
    statement = module.source.tree.body[0]
    assert isinstance(statement, ast.Try)
    last = statement.orelse[1]
    assert (module.block(last), module.index(last)) == (statement.orelse, 1)
    assert (module.block(statement), module.index(statement)) == (module.source.tree.body, 0)
