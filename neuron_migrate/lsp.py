"""A language server: findings as diagnostics, and the migration of a change or of the whole file as a quick fix.

    neuron-migrate lsp

Editors start it and talk to it over standard input and output. It looks at one Python file at a time, with the
configuration of the file's project. https://microsoft.github.io/language-server-protocol/
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from neuron_codemods import Migration, SourceError, migrate
from neuron_codemods.needles import concerns
from neuron_migrate import __version__, catalog
from neuron_migrate.configuration import ConfigurationError, Configurations
from neuron_migrate.lines import Stretch, stretches

if TYPE_CHECKING:
    from pygls.workspace import TextDocument

    from neuron_codemods.model import Finding

SOURCE = "neuron-migrate"
SEVERITIES = {
    "manual": types.DiagnosticSeverity.Error,
    "review": types.DiagnosticSeverity.Warning,
    "rewritten": types.DiagnosticSeverity.Information,
}
WHOLE_FILE = "Migrate this file off Optimum Neuron"
THESE_LINES = "Migrate these lines"

server = LanguageServer(SOURCE, __version__)


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
@server.feature(types.TEXT_DOCUMENT_DID_SAVE)
def look(
    ls: LanguageServer,
    params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams | types.DidSaveTextDocumentParams,
) -> None:
    """Tell the findings of a text that is new or has changed."""
    document = ls.workspace.get_text_document(params.text_document.uri)
    try:
        migration = _migration(document)
        diagnostics = [_diagnostic(document, finding) for finding in migration.findings]
    except SourceError as error:
        place = types.Position(max(error.line - 1, 0), max(error.column - 1, 0))
        diagnostics = [
            types.Diagnostic(types.Range(place, place), error.message, types.DiagnosticSeverity.Error, source=SOURCE)
        ]
    except ConfigurationError as error:
        ls.window_show_message(types.ShowMessageParams(types.MessageType.Error, str(error)))
        diagnostics = []
    ls.text_document_publish_diagnostics(
        types.PublishDiagnosticsParams(document.uri, diagnostics, version=document.version)
    )


@server.feature(
    types.TEXT_DOCUMENT_CODE_ACTION,
    types.CodeActionOptions(
        code_action_kinds=[types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll], resolve_provider=False
    ),
)
def fix(ls: LanguageServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The changes that touch the lines in question, and the whole file."""
    document = ls.workspace.get_text_document(params.text_document.uri)
    try:
        migration = _migration(document)
    except (SourceError, ConfigurationError):
        return []
    if not migration.changed:
        return []
    first, last = params.range.start.line + 1, params.range.end.line + 1
    changes = [part for part in stretches(document.source.encode(), migration.text.encode()) if not part.equal]
    near = [part for part in changes if part.old_line <= last and first < part.old_line + max(len(part.old), 1)]
    actions = [(THESE_LINES, types.CodeActionKind.QuickFix, [part]) for part in near]
    actions.append((WHOLE_FILE, types.CodeActionKind.SourceFixAll, changes))
    return [_action(document, title, kind, parts) for title, kind, parts in actions]


def _migration(document: TextDocument) -> Migration:
    path = to_fs_path(document.uri) or document.uri
    text = document.source
    if not path.endswith((".py", ".pyi")) or not concerns(text.encode()):
        return Migration(text, False)
    configuration = Configurations({}, use=True, prefixes=catalog.prefixes).of(path)
    if configuration.excludes(path):
        return Migration(text, False)
    return migrate(text, path=Path(path).name, settings=configuration.for_file(path))


def _diagnostic(document: TextDocument, finding: Finding) -> types.Diagnostic:
    place = types.Range(
        types.Position(finding.start.line - 1, finding.start.column - 1),
        types.Position(finding.end.line - 1, finding.end.column - 1),
    )
    return types.Diagnostic(
        document.position_codec.range_to_client_units(document.lines, place),
        " ".join(finding.message.split()),
        SEVERITIES[finding.outcome.value],
        code=finding.code,
        code_description=types.CodeDescription(finding.url) if finding.url else None,
        source=SOURCE,
    )


def _action(document: TextDocument, title: str, kind: types.CodeActionKind, parts: list[Stretch]) -> types.CodeAction:
    edits = [
        types.TextEdit(
            types.Range(types.Position(part.old_line - 1, 0), types.Position(part.old_line - 1 + len(part.old), 0)),
            b"".join(part.new).decode(),
        )
        for part in parts
    ]
    return types.CodeAction(title, kind=kind, edit=types.WorkspaceEdit(changes={document.uri: edits}))


def main() -> None:
    """Serve until the editor leaves."""
    server.start_io()
