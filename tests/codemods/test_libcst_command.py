"""The rules as a command of LibCST."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import libcst
import pytest
from libcst.codemod import CodemodContext, SkipFile, parallel_exec_transform_with_prettyprint

from neuron_codemods import Settings, SourceError, libcst_command, migrate
from neuron_codemods.libcst_command import MigrateCommand

OLD = "from optimum.neuron import NeuronTrainer\r\ntrainer = NeuronTrainer(tokenizer=t)\r\n"


def test_it_writes_what_the_engine_writes() -> None:
    command = MigrateCommand(CodemodContext(filename="a.py"))
    assert command.transform_module(libcst.parse_module(OLD)).code == migrate(OLD).text


def test_it_warns_of_what_a_person_must_know() -> None:
    context = CodemodContext(filename="a.py")
    MigrateCommand(context).transform_module(libcst.parse_module("import optimum.neuron\nf(optimum.neuron)\n"))
    assert any(" manual " in warning for warning in context.warnings)


def test_a_module_with_nothing_to_migrate_is_the_same_object() -> None:
    tree = libcst.parse_module("x = 1\n")
    assert MigrateCommand(CodemodContext()).transform_module_impl(tree) is tree


def test_it_takes_the_choices_of_rules() -> None:
    tree = libcst.parse_module(OLD)
    assert MigrateCommand(CodemodContext(), select=["NM7"]).transform_module_impl(tree) is tree
    assert MigrateCommand(CodemodContext(), ignore=["NM"]).transform_module_impl(tree) is tree


def test_it_writes_for_older_versions(capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser()
    MigrateCommand.add_args(parser)
    given = parser.parse_args(["--target", "transformers=5.20", "trl=1.0"])
    text = "from optimum.neuron import NeuronTrainingArguments\nNeuronTrainingArguments(gradient_checkpointing=True)\n"
    settings = Settings(targets=(("transformers", "5.20"), ("trl", "1.0")))
    older = MigrateCommand(CodemodContext(), **vars(given)).transform_module(libcst.parse_module(text)).code
    assert older == migrate(text, settings=settings).text != migrate(text).text
    for refused in ("transformers", "transformers=4.5"):
        with pytest.raises(SystemExit):
            parser.parse_args(["--target", refused])
    assert "'transformers' is no LIBRARY=VERSION" in capsys.readouterr().err


def test_a_text_that_cannot_be_read_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise SourceError("syntax of a later Python", 3)

    monkeypatch.setattr(libcst_command, "migrate", refuse)
    with pytest.raises(SkipFile, match="line 3: syntax of a later Python"):
        MigrateCommand(CodemodContext()).transform_module_impl(libcst.parse_module(OLD))


def test_the_runner_of_libcst_drives_it(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(OLD.encode())
    ended = parallel_exec_transform_with_prettyprint(MigrateCommand, [str(file)], jobs=1, hide_progress=True)
    assert (ended.successes, ended.failures) == (1, 0)
    assert file.read_bytes() == migrate(OLD).text.encode()
