"""One text in, one text and its findings out: every rule looks once, all edits are applied at once."""

from __future__ import annotations

import ast
import re
import tokenize
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, product

from neuron_codemods import imports, markers, registry, selection, statements
from neuron_codemods.edits import (
    CallEdit,
    Edit,
    EraseAttribute,
    EraseImport,
    Holder,
    InsertLines,
    RemoveStatement,
    RenameAttribute,
    RenameImport,
    RenameStar,
    Unwrap,
    apply,
    without_lost,
)
from neuron_codemods.file.unused_suppressions import RULE as UNUSED_SUPPRESSION
from neuron_codemods.lines import line_in_new_text
from neuron_codemods.model import Finding, Migration, Outcome, Position, Settings, SourceError
from neuron_codemods.module import Module
from neuron_codemods.obstacles import unless_hindered
from neuron_codemods.project import Project
from neuron_codemods.scopes import Binding
from neuron_codemods.selection import Found
from neuron_codemods.source import Text, parse, shallow

_BOM = "\ufeff"


def migrate(
    text: str, *, path: str = "<text>", settings: Settings | None = None, project: Project | None = None
) -> Migration:
    """Move a Python text off Optimum Neuron.

    The text comes back as it was but for what a rule rewrote; its newlines are kept. Raises :class:`SourceError` when
    the text is not Python 3.
    """
    settings = settings or Settings()
    body = text[1:] if text.startswith(_BOM) else text
    (migration,) = _looks(_whole, (body,), path, settings, project)
    return replace(migration, text=text[: len(text) - len(body)] + migration.text)


def migrate_pieces(
    texts: Sequence[str], *, path: str = "<text>", settings: Settings | None = None, project: Project | None = None
) -> list[Migration]:
    """Move one program in several texts, such as the cells of a notebook, off Optimum Neuron.

    Each text must be Python for itself. A name that one of them imports is known in the others; what changes in a
    text stays in it.
    """
    return _looks(_pieces, texts, path, settings or Settings(), project)


Look = Callable[[Sequence[str], str, Settings, Project | None], list[Migration]]


def _looks(
    look: Look, texts: Sequence[str], path: str, settings: Settings, project: Project | None
) -> list[Migration]:
    """The texts after all looks at them: one change can make another possible, or show what it leaves."""
    found = look(texts, path, settings, project)
    if not any(each.changed for each in found):
        return found
    if any(_speaks_of_the_old(each.text) for each in found):
        again = look([each.text for each in found], path, settings, project)
        found = [_followed(*each) for each in zip(texts, found, map(_fresh, found, again), strict=True)]
    if not settings.shim:
        plain = look([each.text for each in found], path, WITHOUT_SHIM, project)
        found = [_followed(*each) for each in zip(texts, found, plain, strict=True)]
    return found


def _speaks_of_the_old(text: str) -> bool:
    """Whether a migrated text may hold something that is still to be migrated, beside what its markers say."""
    lines = (line for line in text.splitlines() if any(word in line for word in ("optimum", "torch_xla", "neuronx")))
    return any(not line.lstrip().startswith("#") for line in lines)


def _fresh(first: Migration, second: Migration) -> Migration:
    """What a second look found that the first did not: a marker that the first one set is no news."""
    if not second.changed:
        return replace(second, findings=())
    said = {(finding.code, finding.message) for finding in first.findings}
    fresh = (each for each in second.findings if each.code not in ("NM001", "NM002"))
    return replace(second, findings=tuple(each for each in fresh if (each.code, each.message) not in said))


def _whole(texts: Sequence[str], path: str, settings: Settings, project: Project | None) -> list[Migration]:
    (text,) = texts
    plan = _planned(text, path, settings, project, is_whole=True)
    changed = _applied(text, plan.edits)
    if changed == text:
        return [Migration(text, False, plan.findings)]
    _parse_again(changed, path)
    return [Migration(changed, True, plan.findings, plan.launch)]


def _pieces(texts: Sequence[str], path: str, settings: Settings, project: Project | None) -> list[Migration]:
    pieces = _Pieces(texts)
    plan = _planned(pieces.text, path, settings, project, is_whole=False)
    launch = plan.launch
    results = []
    edits, found = pieces.edits(plan.edits), pieces.findings(plan.findings)
    for index, text in enumerate(texts):
        changed = pieces.applied(index, edits[index])
        findings = tuple(found[index])
        if changed == text:
            results.append(Migration(text, False, findings))
            continue
        _parse_again(changed, path)
        results.append(Migration(changed, True, findings, launch))
        launch = ()
    return results


WITHOUT_SHIM = Settings(select=("NM010",))
"""Of the second look at a migrated text, where the shim is not wanted."""


def _followed(before: str, first: Migration, second: Migration) -> Migration:
    """Two migrations as one, with all findings where they are in the text from before."""
    if not second.changed and not second.findings:
        return first
    old, new = Text(before), Text(first.text)
    origin = line_in_new_text(new.lines, old.lines)

    def place(position: Position) -> Position:
        line = min(origin(position.line), len(old.lines))
        if position.line <= len(new.lines) and old.lines[line - 1] == new.lines[position.line - 1]:
            return replace(position, line=line)
        start = old.line_starts[line - 1]
        return old.position(start + len(old.indentation(start)))

    moved = [replace(each, start=place(each.start), end=place(each.end)) for each in second.findings]
    findings = sorted((*first.findings, *moved), key=lambda finding: (finding.start, finding.code))
    return Migration(second.text, True, tuple(findings), second.launch or first.launch)


@dataclass(frozen=True)
class _Plan:
    """What is to be done to a text."""

    edits: list[Edit]
    findings: tuple[Finding, ...]
    launch: tuple[str, ...]


def _planned(body: str, path: str, settings: Settings, project: Project | None, *, is_whole: bool) -> _Plan:
    with shallow():
        project = (project or Project()).held_to(settings.targets)
        module = Module(body, path, project, settings.select)
        found = _look(module, settings)
        left, unused = selection.suppress(module, found, settings)
        found = selection.hold_back(module, found, left, settings)
        found = [replace(item, change=unless_hindered(module, item.change)) for item in found]
        launch = sorted({item.change.launch for item in found if item.change.launch is not None})
        edits = _edits(module, found, settings)
        if is_whole:  # and nothing else, such as the commands of a notebook, can use what is imported here
            spare = imports.left_over(module, edits, _decided(found))
            edits = _edits(module, found, settings, spare) if spare else edits
        return _Plan(
            edits,
            _findings(module, found, unused),
            tuple(filter(None, launch)) or tuple(launch),
        )


def _applied(text: str, edits: Sequence[Edit]) -> str:
    with shallow():
        return apply(text, edits)


def _parse_again(text: str, path: str) -> None:
    try:
        parse(text, path)
    except SourceError as error:
        raise RuntimeError(
            f"the migrated text would not parse ({error.message} in its line {error.line}); nothing was changed"
        ) from None


class _Pieces:
    """Several texts as one, with an empty line between them so that every place belongs to one of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        whole = [text if text.endswith(("\n", "\r")) else f"{text}\n" for text in texts]
        self.text = "\n".join(whole)
        self._starts = [0, *accumulate(len(text) + 1 for text in whole)]
        self._joined = Text(self.text)

    def _span(self, index: int) -> tuple[int, int]:
        return self._starts[index], self._starts[index + 1] - 1

    def _index(self, offset: int) -> int:
        return max(min(bisect_right(self._starts, offset) - 1, len(self._texts) - 1), 0)

    def edits(self, edits: Sequence[Edit]) -> dict[int, list[Edit]]:
        """The edits that belong to each text."""
        result = defaultdict(list)
        for edit in edits:
            result[self._index(_anchor(edit))].append(edit)
        return result

    def applied(self, index: int, edits: Sequence[Edit]) -> str:
        """One text with its edits."""
        start, end = self._span(index)
        own = [self._within(edit, start, end) for edit in edits]
        before = self._texts[index]
        changed = _applied(self.text[start:end], own)
        if before.endswith(("\n", "\r")):
            return changed
        return changed.removesuffix("\r\n") if changed.endswith("\r\n") else changed.removesuffix("\n")

    def _within(self, edit: Edit, start: int, end: int) -> Edit:
        if start <= edit.start and edit.end <= end:
            return replace(edit, start=edit.start - start, end=edit.end - start)
        if not edit.deletes:
            raise RuntimeError("a change would reach from one part of the program into another; nothing was changed")
        # The blank and comment lines around a statement go with it, but not those of another text.
        return replace(edit, start=max(edit.start, start) - start, end=min(edit.end, end) - start)

    def findings(self, findings: Sequence[Finding]) -> dict[int, list[Finding]]:
        """The findings in each text, with the places in it."""
        texts: dict[int, Text] = {}
        result = defaultdict(list)
        for finding in findings:
            start, end = self._offset(finding.start), self._offset(finding.end)
            index = self._index(start)
            if index not in texts:
                texts[index] = Text(self._texts[index])
            first, text = self._starts[index], texts[index]
            own = replace(finding, start=text.position(start - first), end=text.position(max(end, start) - first))
            result[index].append(own)
        return result

    def _offset(self, position: Position) -> int:
        return self._joined.line_starts[position.line - 1] + position.column - 1


def _anchor(edit: Edit) -> int:
    """A place in the text that an edit belongs to."""
    return edit.start if edit.start == edit.end else edit.end - 1


def _look(module: Module, settings: Settings) -> list[Found]:
    found = []
    for entry in registry.enabled("python", settings):
        found += [Found(entry.rule, change) for change in entry.check(module)]
    return _without_known_markers(module, found)


def _without_known_markers(module: Module, found: list[Found]) -> list[Found]:
    """Leave out markers of an earlier run whose finding is made again in this one."""
    again = {markers.said(item.change.message) for item in found if item.change.outcome is Outcome.MANUAL}
    left = []
    for item in found:
        marker = markers.match(module.source.segment(item.change.node)) if item.rule.code == "NM001" else None
        if marker is None or markers.said(marker.message) not in again:
            left.append(item)
    return left


def _marker_line(item: Found) -> str:
    manual = item.change.outcome is Outcome.MANUAL
    return markers.format_marker(item.rule.code, item.change.message, item.rule.url, manual=manual)


# Edits ------------------------------------------------------------------------------------------------------------


def _decided(found: Iterable[Found]) -> set[Binding]:
    """The imports of which the rules say what becomes of them."""
    kinds = (RenameImport, EraseImport)
    return {edit.binding for item in found for edit in item.change.edits if isinstance(edit, kinds)}


def _edits(module: Module, found: Sequence[Found], settings: Settings, spare: Sequence[Binding] = ()) -> list[Edit]:
    """The edits that the changes come to; ``spare`` are imports that nothing needs once they are made."""
    by_kind: dict[type, list] = defaultdict(list)  # type: ignore[type-arg]
    required: list[tuple[str, imports.Use]] = []
    for item in found:
        for edit in item.change.edits:
            by_kind[type(edit)].append(edit)
        if item.change.requires:
            required += product(item.change.requires, imports.uses_in(module, item.change))
    plan = imports.Plan(module)
    edits, removed = plan.build(
        by_kind[RenameImport],
        by_kind[RenameAttribute],
        by_kind[RenameStar],
        by_kind[EraseImport],
        by_kind[EraseAttribute],
        required,
        spare,
    )
    removed += [edit.statement for edit in by_kind[RemoveStatement]]
    commented = {edit.statement for edit in by_kind[RemoveStatement] if edit.with_comments}
    gone = statements.remove(module, removed, commented)
    edits = [_beside(edit, gone) if edit.start == edit.end else edit for edit in edits]  # new imports, so far
    edits += _call_edits(module, by_kind[CallEdit])  # first: what puts a whole call elsewhere finds its arguments done
    edits += by_kind[Edit]
    edits += [statements.unwrap(module, edit.statement, edit.branch, gone) for edit in by_kind[Unwrap]]
    edits += _inserted(module, by_kind[InsertLines], {edit.statement for edit in by_kind[Unwrap]}, gone)
    edits += _markers(module, found, settings)
    edits += gone
    edits = sorted(without_lost(edits), key=_precedence, reverse=True)
    strings = module.names.fstrings
    in_strings = {line for node in strings for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    line_of = module.source.position
    return [_within_string(module, edit) if line_of(edit.start).line in in_strings else edit for edit in edits]


def _precedence(edit: Edit) -> tuple[bool, int]:
    """What of several insertions at one place comes first: whole lines, and of these the deepest.

    Where a block ends, what belongs into it comes before what follows it.
    """
    if edit.start < edit.end or edit.deletes:
        return False, 0
    text = edit.apply("")
    first = next((line for line in text.splitlines() if line.strip()), "")
    return text.endswith(("\n", "\r")), len(first) - len(first.lstrip())


def _within_string(module: Module, edit: Edit) -> Edit:
    """An edit inside of an f-string: before Python 3.12 no line break and no quote of the string may stand there."""
    string = module.source.token_around(edit.start, edit.end)
    if string is None or string.kind != tokenize.STRING:
        return edit
    quote = _QUOTE.match(string.text)
    assert quote is not None
    mark = quote[1]
    other = "'" if mark[0] == '"' else '"'

    def apply(text: str) -> str:
        changed = edit.apply(text)
        if len(mark) == 1:
            changed = _BREAK.sub(" ", changed)
        return changed.replace(mark, other * len(mark))

    return replace(edit, apply=apply)


_QUOTE = re.compile(r"[a-zA-Z]*(\"\"\"|'''|\"|')")
_BREAK = re.compile(r"\s*[\r\n]\s*")


def _call_edits(module: Module, edits: Sequence[CallEdit]) -> list[Edit]:
    if not edits:
        return []
    from neuron_codemods import arguments  # brings libcst, which costs more than all the rest

    by_call: dict[Holder, list[CallEdit]] = defaultdict(list)
    for edit in edits:
        by_call[edit.call].append(edit)
    result = []
    for group in by_call.values():
        result.append(_call_edit(module, arguments.merge(group)))
    return result


def _call_edit(module: Module, edit: CallEdit) -> Edit:
    from neuron_codemods import arguments, mappings

    source = module.source
    start, end = source.span(edit.call)
    edited = partial(
        mappings.edit_mapping if isinstance(edit.call, ast.Dict) else arguments.edit_call,
        edit=edit,
        column=start - source.line_start(start),
        indentation=source.indentation(start),
        unit=source.indentation_step,
        newline=source.newline(start),
        limit=source.line_limit,
    )
    place = source.position(start)

    def apply(text: str) -> str:
        try:
            return edited(text)
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of libcst's parser, and no Exception
                raise
            raise SourceError(f"libcst fails at this call ({error})", place.line, place.column) from error

    return Edit(start, end, apply)


def _inserted(
    module: Module, edits: Sequence[InsertLines], unwrapped: Collection[ast.stmt], removed: Sequence[Edit]
) -> list[Edit]:
    """Insertions, those below a statement before those above the next; equal lines at one place are written once."""
    result: list[Edit] = []
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: not edit.after):
        statement = _outermost(module, edit.statement, removed)
        if edit.after:
            inserted = statements.insert_after(module, statement, edit.lines, unwrapped)
        else:
            goes = any(gone.start <= module.source.span(statement)[0] < gone.end for gone in removed)
            insert = statements.insert_before if goes else statements.insert_right_before
            inserted = [insert(module, statement, edit.lines)]
        result += (_beside(each, removed) for each in inserted)
    return result


def _outermost(module: Module, statement: ast.stmt, removed: Sequence[Edit]) -> ast.stmt:
    """The outermost statement around one that goes, or else the statement itself."""
    found = statement
    for above in module.ancestors(statement):
        if isinstance(above, ast.stmt):
            start, end = module.source.span(above)
            found = above if any(gone.start <= start and end <= gone.end for gone in removed) else found
    return found


def _beside(edit: Edit, removed: Sequence[Edit]) -> Edit:
    """An insertion, behind the stretch around it where that goes."""
    around = next((gone for gone in removed if gone.start < edit.start < gone.end), None)
    if around is None:
        return edit
    text = edit.apply("")
    if text.startswith("; "):  # the statement before it goes, and its semicolon
        return Edit.insert(around.end, f"{text[2:]}; ")
    return replace(edit, start=around.end, end=around.end)


def _markers(module: Module, found: Sequence[Found], settings: Settings) -> list[Edit]:
    """The comment lines above statements that a person must look at, without those that are there already."""
    wanted: dict[tuple[ast.stmt, str], str] = {}
    left = list(markers.markers(module.source))
    for item in found:
        change = item.change
        manual = change.outcome is Outcome.MANUAL
        if item.rule.code == "NM001" or not (manual or (settings.annotate and change.outcome is Outcome.REVIEW)):
            continue
        statement = statements.first_line_statement(module, change.marks or module.statement(change.node))
        present = markers.marked_above(module, statement)
        if not manual and any(not marker.is_manual for marker in present):
            continue  # notes are about what an earlier run has done
        said = markers.said(change.message)
        same = [marker for marker in present if markers.said(marker.message) == said]
        left = [marker for marker in left if marker not in same]
        if not same:
            wanted.setdefault((statement, said), _marker_line(item))
    lines: dict[ast.stmt, list[str]] = defaultdict(list)
    for (statement, said), line in wanted.items():
        apart = (marker for marker in left if markers.said(marker.message) == said)
        marker = next((marker for marker in apart if markers.is_beside(module, marker, statement)), None)
        if marker is not None:
            left.remove(marker)
        else:
            lines[statement].append(line)
    return [statements.insert_before(module, statement, group) for statement, group in lines.items()]


# Findings ---------------------------------------------------------------------------------------------------------


def _findings(module: Module, found: Iterable[Found], unused: Iterable[markers.Suppression]) -> tuple[Finding, ...]:
    source = module.source
    findings = []
    for item in found:
        node = item.change.node
        if module.is_placed(node) and hasattr(node, "lineno"):
            start, end = source.span(node)
        else:
            start, end = source.span(module.statement(node)) if module.parent(node) else (0, 0)
        findings.append(
            Finding(
                item.rule.code,
                item.change.outcome,
                item.change.message,
                source.position(start),
                source.position(end),
                item.rule.url,
            )
        )
    for comment in unused:
        findings.append(
            Finding(
                UNUSED_SUPPRESSION.code,
                Outcome.REVIEW,
                "This suppression suppresses nothing; delete it.",
                source.position(comment.token.start),
                source.position(comment.token.end),
                UNUSED_SUPPRESSION.url,
            )
        )
    findings.sort(key=lambda finding: (finding.start, finding.code))
    return tuple(dict.fromkeys(findings))
