"""The language server, as an editor talks to it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .support import REAL, arguments, environment

pytest.importorskip("pygls")

OLD = "from optimum.neuron import NeuronTrainer\n\nx = '💥'\ntrainer = NeuronTrainer(tokenizer=t)\n"
NEW = "from transformers import Trainer\n"


class Editor:
    def __init__(self, folder: Path, command: list[str] | None = None) -> None:
        variables = environment(REAL)
        del variables["PYTHONWARNINGS"]  # pygls and its own dependencies may deprecate what they like
        self.process = subprocess.Popen(
            command or arguments("lsp"), cwd=folder, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.uri = (folder / "a.py").as_uri()
        self.last = 0

    def send(self, method: str, params: dict[str, Any], **more: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline().strip()) or not length:
            assert line, "the server has gone"
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self.last += 1
        self.send(method, params, id=self.last)
        while (message := self.receive()).get("id") != self.last:
            pass
        return message["result"]

    def diagnostics(self) -> list[dict[str, Any]]:
        while (message := self.receive())["method"] != "textDocument/publishDiagnostics":
            pass
        found: list[dict[str, Any]] = message["params"]["diagnostics"]
        return found

    def open(self, text: str) -> list[dict[str, Any]]:
        document = {"uri": self.uri, "languageId": "python", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})
        return self.diagnostics()

    def actions(self, line: int) -> list[dict[str, Any]]:
        place = {"line": line, "character": 0}
        params = {
            "textDocument": {"uri": self.uri},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": []},
        }
        found: list[dict[str, Any]] = self.ask("textDocument/codeAction", params)
        return found


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    editor = Editor(tmp_path)
    editor.ask("initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}})
    editor.send("initialized", {})
    yield editor
    editor.ask("shutdown", {})
    editor.send("exit", {})
    assert editor.process.wait(timeout=20) == 0
    for stream in (editor.process.stdin, editor.process.stdout):
        assert stream is not None
        stream.close()


def applied(text: str, action: dict[str, Any]) -> str:
    lines = text.splitlines(keepends=True)
    (edits,) = action["edit"]["changes"].values()
    for edit in sorted(edits, key=lambda edit: edit["range"]["start"]["line"], reverse=True):
        start, end = edit["range"]["start"]["line"], edit["range"]["end"]["line"]
        lines[start:end] = [edit["newText"]]
    return "".join(lines)


def test_findings_are_diagnostics_and_changes_are_fixes(editor: Editor) -> None:
    from neuron_codemods import migrate

    found = editor.open(OLD)
    (found, *_) = [one for one in found if one["code"] == "NM101"]
    assert found["range"] == {"start": {"line": 0, "character": 27}, "end": {"line": 0, "character": 40}}
    assert found["codeDescription"]["href"].startswith("https://")
    *_, whole = editor.actions(0)
    assert applied(OLD, whole) == migrate(OLD).text
    fix, _ = editor.actions(3)
    assert applied(OLD, fix).endswith("trainer = Trainer(processing_class=t)\n")
    assert [action["title"] for action in editor.actions(2)] == ["Migrate this file off Optimum Neuron"]

    change = {"textDocument": {"uri": editor.uri, "version": 2}, "contentChanges": [{"text": NEW}]}
    editor.send("textDocument/didChange", change)
    assert editor.diagnostics() == []
    assert editor.actions(0) == []


def test_what_cannot_be_read_is_a_diagnostic_and_a_broken_table_a_message(editor: Editor, tmp_path: Path) -> None:
    (found,) = editor.open("import optimum.neuron\nprint 'x'\n")
    assert (found["range"]["start"]["line"], "not Python 3" in found["message"]) == (1, True)
    assert editor.actions(0) == []
    (tmp_path / "pyproject.toml").write_text("[tool.neuron-migrate]\nzzz = 1\n")
    assert editor.open(OLD) == []
    (tmp_path / "pyproject.toml").write_text('[tool.neuron-migrate]\nexclude = ["a.py"]\n')
    assert editor.open(OLD) == []
