"""Texts that are not Python: what their rules look at, and the engine that runs them.

A rule of a kind other than Python is a module in a room, like any other: RULE (with ``kind``), CASES, and

    check(parsed, project) -> Iterable[Change]

where ``parsed`` is what ``parse`` of the kind's module (see ``neuron_codemods.kinds``) has returned. Everything a rule
does not describe by an edit stays as it is, byte for byte. What is Python, or of another kind, inside of such a text
is a :class:`Region` and is migrated as a text of that kind; a Python text in several parts, as in a notebook, is
migrated as one.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from neuron_codemods import engine, kinds, markers, needles, registry
from neuron_codemods.data import variables
from neuron_codemods.edits import Edit, apply, without_lost
from neuron_codemods.file.markers_left import RULE as MARKER_LEFT
from neuron_codemods.file.unread import RULE as UNREAD
from neuron_codemods.file.unused_suppressions import RULE as UNUSED_SUPPRESSION
from neuron_codemods.model import Finding, Migration, Outcome, Position, Rule, Settings, SourceError
from neuron_codemods.project import Around, Project
from neuron_codemods.source import MARKER, Text, Token, parse, shallow

_BOM = "\ufeff"


@dataclass(frozen=True)
class Change:
    """What a rule has to say about one place of a text, with the edits that belong to it."""

    outcome: Outcome
    span: tuple[int, int]
    """Where it is about, in characters of the text."""
    message: str
    edits: tuple[Edit, ...] = ()
    marked: bool = True
    """Whether a manual change leaves a marker; not where no comment can stand."""
    launch: str | None = None
    """The script whose launch this is about."""


@dataclass(frozen=True)
class Region:
    """A text of another kind inside of a text."""

    kind: str
    start: int
    end: int
    """The stretch of the outer text that it takes."""
    text: str
    """The text as its own kind reads it: without prompts, indentation or escapes."""
    restore: Callable[[str, Sequence[str]], str]
    """From the migrated text, and those of ``inner``, to what stands in the outer text."""
    place: Callable[[Position], Position]
    """From a place in the text to the place that is told: in the outer text, or in the cell of a notebook."""
    cell: int = 0
    group: int | None = None
    """Python regions of one group are one program: a name imported in one may be used in another."""
    inner: tuple[Inner, ...] = ()
    lifted: bool = False
    """Whether there is no room for comments in it: its markers stand above the statement that holds it."""


@dataclass(frozen=True)
class Inner:
    """A text of yet another kind inside of a region, as a shell line in a notebook cell."""

    kind: str | None
    """None where there is nothing to be migrated."""
    text: str
    place: Callable[[Position], Position]
    """To where the region's own ``place`` leads."""


class Parsed(Text):
    """A text with what the engine asks of every kind; a kind's own class adds what its rules ask."""

    comment = "#"
    """What a comment line begins with."""

    def comments(self) -> Sequence[Token]:
        """All comments in order: here, the lines that begin with the comment sign."""
        found = []
        for line, start in zip(self.lines, self.line_starts, strict=False):
            body = line.strip()
            if body.startswith(self.comment):
                begin = start + line.index(self.comment)
                found.append(Token(0, body, begin, begin + len(body)))
        return found

    def statement(self, offset: int) -> tuple[int, int]:
        """The whole lines of the statement that holds a place: a marker stands above them. Here, the line."""
        return self.line_start(offset), self.line_end(offset)

    def regions(self) -> Sequence[Region]:
        """The texts of other kinds inside."""
        return ()

    def finished(self, text: str) -> str:
        """The text with all changes made, tidied where they meet."""
        return text

    def told(self, finding: Finding) -> Finding:
        """A finding in a cell, as it is told: see ``Finding.within``."""
        return finding

    only_shows = False
    """Whether its programs are shown to a reader and run by nobody."""

    def launches(self, names: Collection[str]) -> Sequence[str]:
        """The commands that launch scripts of some names."""
        return ()

    def unread(self) -> Sequence[tuple[tuple[int, int], str]]:
        """Stretches that the parser could not make sense of, each with what it says of them."""
        return ()


def migrate_text(
    kind: str,
    text: str,
    *,
    path: str = "<text>",
    settings: Settings | None = None,
    project: Project | None = None,
    present: frozenset[str] = frozenset(),
) -> Migration:
    """Move a text of some kind off Optimum Neuron; ``kind`` is a name of ``neuron_codemods.kinds``.

    ``present`` are markers that stand around the text already, if it is a part of another.

    Raises :class:`SourceError` when the text cannot be parsed at all, and ``kinds.MissingParserError`` when what would
    parse it is not installed.
    """
    settings = settings or Settings()
    project = (project or Project()).held_to(settings.targets)
    if kind == "python":
        return engine.migrate(text, path=path, settings=settings, project=project)
    body = text.removeprefix(_BOM)
    run = _Run(kind, path, settings, project, present)
    work, changed = run.of(body)
    findings = work.findings()
    if changed == body:
        return Migration(text, False, findings)
    try:
        again = kinds.load(kind).parse(changed, path)
    except SourceError as error:
        raise RuntimeError(
            f"the migrated text would not parse ({error.message} in its line {error.line}); nothing was changed"
        ) from None
    before, after = work.parsed.unread(), again.unread()
    if before and (len(after) > len(before) or run.of(changed)[1] != changed):
        # What cannot be read may hide where something ends, and what is around it is read otherwise without it.
        (start, _), said = before[0]
        place = work.parsed.position(start)
        raise SourceError(f"this part cannot be read ({said}), and what is around it depends on it", place.line)
    if len(after) > len(before):
        raise RuntimeError("a part of the migrated text would not parse; nothing was changed")
    launch = (*again.launches(work.scripts), *work.inner_launches)
    return Migration(text[: len(text) - len(body)] + changed, True, findings, launch)


@dataclass(frozen=True)
class _Run:
    """What the migration of a text depends on beside the text."""

    kind: str
    path: str
    settings: Settings
    project: Project
    present: frozenset[str]

    def of(self, text: str) -> tuple[_Work, str]:
        """The migration of a text, and what the text is then."""
        project = self.project.including(kinds.collect(self.kind, text, self.path))
        with shallow():
            parsed = kinds.load(self.kind).parse(text, self.path)
            work = _Work(self.kind, parsed, self.path, self.settings, project, self.present | _markers_in(text))
            return work, parsed.finished(apply(text, without_lost(work.edits())))


@dataclass(frozen=True)
class _Found:
    rule: Rule
    change: Change


class _Work:
    """The migration of one text."""

    def __init__(
        self, kind: str, parsed: Parsed, path: str, settings: Settings, project: Project, present: frozenset[str]
    ) -> None:
        self.parsed = parsed
        self._present = present
        self._path = path
        self._settings = settings
        self._regions = parsed.regions()
        if self._regions and not project.around.text:
            inside = (
                text for region in self._regions for text in (region.text, *(each.text for each in region.inner))
            )
            around = Around(parsed.text, "\n".join(inside), frozenset(_launched(self._regions)))
            project = replace(project, around=around)
        self._project = project
        self._suppressions = _suppressions(parsed)
        self._unused: list[markers.Suppression] = []
        self._inner: list[Finding] = []
        self.inner_launches: list[str] = []
        """The launches in the texts inside."""
        self._edits: list[Edit] = []
        self._migrate_regions()
        self._found = self._suppress(self._look(kind))
        launched = (item.change.launch for item in self._found)
        self.scripts = frozenset((*self._project.scripts, *(name for name in launched if name is not None)))
        """The scripts whose launch is told at the end."""

    def _enabled(self, rule: Rule) -> bool:
        return registry.is_enabled(rule.code, self._settings)

    def _look(self, kind: str) -> list[_Found]:
        found = []
        for entry in registry.enabled(kind, self._settings):
            found += [_Found(entry.rule, change) for change in entry.check(self.parsed, self._project)]
        if self._enabled(UNREAD):
            for span, said in self.parsed.unread():
                if concerned(kind, self.parsed.text[slice(*span)], self._project):
                    message = f"This part cannot be read ({said}), so nothing in it is rewritten: do it by hand."
                    found.append(_Found(UNREAD, Change(Outcome.MANUAL, span, message)))
        if self._enabled(MARKER_LEFT):
            found += self._markers_left(found)
        return found

    def _markers_left(self, found: Sequence[_Found]) -> list[_Found]:
        """The markers of earlier runs, without those whose finding is made again in this one."""
        again = {_marker(item) for item in found if item.change.outcome is Outcome.MANUAL}
        left = []
        for token in self._marking():
            match = markers.match(token.text)
            if match is not None and match.is_manual and token.text.rstrip() not in again:
                message = f"Left by an earlier run: {match.code}: {match.message}"
                left.append(_Found(MARKER_LEFT, Change(Outcome.MANUAL, (token.start, token.end), message)))
        return left

    def _marking(self) -> list[Token]:
        """The comments that may be this tool's own."""
        if "neuron-migrate" not in self.parsed.text:
            return []
        return [token for token in self.parsed.comments() if "neuron-migrate" in token.text]

    def _suppress(self, found: list[_Found]) -> list[_Found]:
        left = []
        for item in found:
            line = self.parsed.position(item.change.span[0]).line
            covering = [comment for comment in self._suppressions if comment.covers(item.rule.code, line)]
            for comment in covering:
                comment.used = True
            if not covering:
                left.append(item)
        if self._enabled(UNUSED_SUPPRESSION) and not self._settings.select and not self._settings.ignore:
            self._unused = [comment for comment in self._suppressions if not comment.used]
        return left

    # Regions ------------------------------------------------------------------------------------------------------

    def _migrate_regions(self) -> None:
        groups: dict[int, list[Region]] = defaultdict(list)
        for region in self._regions:
            if region.group is not None and region.kind == "python":
                groups[region.group].append(region)
            else:
                self._migrate_region(region)
        for group in groups.values():
            self._migrate_group(group)

    def _migrate_region(self, region: Region) -> None:
        migration = None
        if concerned(region.kind, region.text, self._project):
            try:
                migration = self._allowed(region, self._migrated(region.kind, region.text, self._present))
            except SourceError as error:
                self._unreadable(region, error)
        self._take(region, migration)

    def _allowed(self, region: Region, migration: Migration) -> Migration | None:
        """The migration of a region without what comments of the text around it keep away."""
        bounds = [self.parsed.position(offset).line for offset in (region.start, region.end - 1)]
        codes: list[str] = []
        for comment in self._suppressions:
            covered = [each.code for each in migration.findings if any(comment.covers(each.code, at) for at in bounds)]
            if covered:
                comment.used = True
                if not comment.codes:
                    return None
                codes += covered  # whole codes, which no selection is stronger than
        if not codes:
            return migration
        ignored = replace(self._settings, ignore=(*self._settings.ignore, *codes))
        return migrate_text(
            region.kind, region.text, path=self._path, settings=ignored, project=self._project, present=self._present
        )

    def _migrate_group(self, regions: list[Region]) -> None:
        if not any(concerned(region.kind, region.text, self._project) for region in regions):
            for region in regions:
                self._take(region, None)
            return
        sound = []
        for region in regions:
            try:
                parse(region.text, self._path)
            except SourceError as error:
                self._unreadable(region, error)
                self._take(region, None)
            else:
                sound.append(region)
        results = engine.migrate_pieces(
            [region.text for region in sound], path=self._path, settings=self._settings, project=self._project
        )
        for region, migration in zip(sound, results, strict=True):
            self._take(region, migration)

    def _migrated(self, kind: str, text: str, present: frozenset[str]) -> Migration:
        return migrate_text(
            kind, text, path=self._path, settings=self._settings, project=self._project, present=present
        )

    def _take(self, region: Region, migration: Migration | None) -> None:
        """What has become of a region, and of the texts inside of it."""
        changed = migration is not None and migration.changed
        found = [] if migration is None else [(migration, region.place)]
        inners = []
        for inner in region.inner:
            text = inner.text
            if inner.kind is not None and concerned(inner.kind, text, self._project):
                try:
                    within = self._migrated(inner.kind, text, self._present | _markers_in(region.text))
                except SourceError as error:
                    self._unreadable(replace(region, kind=inner.kind, text=text, place=inner.place), error)
                else:
                    found.append((within, inner.place))
                    changed = changed or within.changed
                    text = within.text
            inners.append(text)
        kept = False
        if changed:
            text = region.text if migration is None else migration.text
            restored = region.restore(self._lifted(region, text) if region.lifted else text, inners)
            kept = restored == self.parsed.text[region.start : region.end]
            self._edits.append(Edit.replace((region.start, region.end), restored))
        for told, place in found:
            self._note(told, place, region.cell, kept=kept)
        if not self.parsed.only_shows:
            shown = (told for told, _ in found if told is not migration or region.kind != "python")
            self.inner_launches += (launch for told in shown for launch in told.launch)

    def _lifted(self, region: Region, text: str) -> str:
        """A migrated text without its markers, which go above the statement around it."""
        lines = Text(text).lines
        marks = [line for line in lines if markers.match(line.strip()) is not None]
        start = self.parsed.statement(region.start)[0]
        before, behind = self.parsed.indentation(start), self.parsed.newline(start)
        self._edits += (Edit.insert(start, f"{before}{mark.strip()}{behind}") for mark in dict.fromkeys(marks))
        return "".join(line for line in lines if line not in marks)

    def _note(self, migration: Migration, place: Callable[[Position], Position], cell: int, *, kept: bool) -> None:
        for finding in migration.findings:
            if kept and finding.outcome is not Outcome.MANUAL and finding.code != UNUSED_SUPPRESSION.code:
                message = f"Do this by hand, for which there is no room where it stands: {finding.message}"
                finding = replace(finding, outcome=Outcome.MANUAL, message=message)
            start, end = place(finding.start), place(finding.end)
            self._inner.append(replace(finding, start=start, end=end, cell=cell or finding.cell))

    def _unreadable(self, region: Region, error: SourceError) -> None:
        if concerned(region.kind, region.text, self._project) and self._enabled(UNREAD):
            place = region.place(Position(error.line, error.column))
            message = f"This cannot be read ({error.message}), so nothing in it is rewritten: do it by hand."
            self._inner.append(Finding(UNREAD.code, Outcome.MANUAL, message, place, place, UNREAD.url, region.cell))

    # Results ------------------------------------------------------------------------------------------------------

    def edits(self) -> list[Edit]:
        own = [edit for item in self._found for edit in item.change.edits]
        return [*self._new_markers(), *self._edits, *dict.fromkeys(own)]

    def _new_markers(self) -> list[Edit]:
        wanted: dict[int, list[str]] = defaultdict(list)
        for item in self._found:
            change = item.change
            manual = change.outcome is Outcome.MANUAL
            if item.rule is MARKER_LEFT or not change.marked:
                continue
            if not (manual or (self._settings.annotate and change.outcome is Outcome.REVIEW)):
                continue
            line = _marker(item)
            start = self.parsed.statement(change.span[0])[0]
            if line not in self._present and line not in wanted[start]:
                wanted[start].append(line)
        edits = []
        for start, lines in wanted.items():
            indentation, newline = self.parsed.indentation(start), self.parsed.newline(start)
            edits.append(Edit.insert(start, "".join(f"{indentation}{line}{newline}" for line in lines)))
        return edits

    def findings(self) -> tuple[Finding, ...]:
        place = self.parsed.position
        found = [
            Finding(
                item.rule.code,
                item.change.outcome,
                item.change.message,
                place(item.change.span[0]),
                place(item.change.span[1]),
                item.rule.url,
            )
            for item in self._found
        ]
        for comment in self._unused:
            start, end = place(comment.token.start), place(comment.token.end)
            message = "This suppression suppresses nothing; delete it."
            found.append(Finding(UNUSED_SUPPRESSION.code, Outcome.REVIEW, message, start, end, UNUSED_SUPPRESSION.url))
        found += [self.parsed.told(finding) for finding in self._inner]
        made = {_left(finding) for finding in found if finding.code != MARKER_LEFT.code}
        found = [finding for finding in found if finding.code != MARKER_LEFT.code or finding.message not in made]
        found.sort(key=lambda finding: (finding.cell, finding.start, finding.code))
        return tuple(dict.fromkeys(found))


def _left(finding: Finding) -> str:
    """What is said of a marker that a finding has left."""
    marker = markers.format_marker(finding.code, finding.message, finding.url)
    return f"Left by an earlier run: {finding.code}: {marker.partition('): ')[2]}"


def _markers_in(text: str) -> frozenset[str]:
    return frozenset(match[0].rstrip() for match in MARKER.finditer(text))


def concerned(kind: str, text: str, project: Project) -> bool:
    """Whether a text may hold something to migrate."""
    data = text.encode("utf-8", "surrogatepass")
    if kind == "python":
        return needles.concerns(data)
    if project.around.is_of_neuron and any(name in data for name in variables.needles()):
        return True
    row = next((row for row in kinds.KINDS if row.name == kind), None)
    return row is not None and (row.concerns(data) or (row.may_launch(data) and project.names_in(text)))


def _launched(regions: Sequence[Region]) -> Iterator[str]:
    """The names of the scripts that shell texts launch without ``neuron_parallel_compile``."""
    texts = [region.text for region in regions if region.kind == "shell"]
    texts += [inner.text for region in regions for inner in region.inner if inner.kind == "shell"]
    for text in texts:
        for line in re.sub(r"\\\r?\n", " ", text).splitlines():
            if re.match(r"[^#]*\b(?:torchrun|python\d?|accelerate)\b", line) and "neuron_parallel_compile" not in line:
                yield from re.findall(r"[\w-]+\.py\b", line)


def _marker(item: _Found) -> str:
    manual = item.change.outcome is Outcome.MANUAL
    return markers.format_marker(item.rule.code, item.change.message, item.rule.url, manual=manual)


def _suppressions(parsed: Parsed) -> list[markers.Suppression]:
    """The suppressions in a text; one on a line of its own is about the statement below it."""
    found: list[markers.Suppression] = []
    if "neuron-migrate" not in parsed.text:
        return found
    tokens = parsed.comments()
    own_lines = {
        parsed.position(token.start).line
        for token in tokens
        if not parsed.text[parsed.line_start(token.start) : token.start].strip()
    }
    for token in tokens:
        suppression = markers.suppression_in(token)
        if suppression is None:
            continue
        line = parsed.position(token.start).line
        while line in own_lines:
            line += 1
        start, end = parsed.statement(parsed.line_starts[min(line, len(parsed.lines)) - 1])
        suppression.first, suppression.last = parsed.position(start).line, parsed.position(max(end - 1, start)).line
        found.append(suppression)
    return found


# Making regions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lines:
    """Whole lines of a text, each behind a prefix: indentation, a prompt, a quotation mark."""

    outer: Text
    lines: Sequence[tuple[int, int]]
    """Where each line's own text starts and where it ends, newline included; the lines follow one another."""
    prefixes: Callable[[Sequence[str]], Sequence[str]]
    """From all lines of a changed text to the prefix that each gets if it is new."""

    @property
    def start(self) -> int:
        return self.outer.line_start(self.lines[0][0])

    @property
    def end(self) -> int:
        return self.lines[-1][1]

    @property
    def text(self) -> str:
        """The lines without their prefixes."""
        return "".join(self.outer.text[start:end] for start, end in self.lines)

    def restore(self, text: str) -> str:
        """The lines of a changed text behind their prefixes; those that are as before come back as they were."""
        inner = [self.outer.text[start:end] for start, end in self.lines]
        whole = [self.outer.text[self.outer.line_start(start) : end] for start, end in self.lines]
        if "\n" not in self.text:  # it could not tell which line ends the outer text has
            text = text.replace("\n", self.outer.newline(self.start))
        new = Text(text).lines
        prefixed = [
            prefix + line if line.strip() else prefix.rstrip() + line
            for prefix, line in zip(self.prefixes(new), new, strict=True)
        ]
        result: list[str] = []
        for tag, i, j, k, m in difflib.SequenceMatcher(None, inner, new, autojunk=False).get_opcodes():
            result += whole[i:j] if tag == "equal" else prefixed[k:m]
        return "".join(result)

    def place(self, position: Position) -> Position:
        """From a place in the lines' own text to the place in the outer text."""
        index = min(position.line, len(self.lines)) - 1
        start = self.lines[index][0]
        first = self.outer.position(start)
        return Position(first.line + position.line - 1 - index, first.column + position.column - 1)

    def region(self, kind: str, *, group: int | None = None) -> Region:
        """The lines as a region of one kind."""
        return Region(
            kind, self.start, self.end, self.text, lambda text, _: self.restore(text), self.place, group=group
        )


def plain_region(outer: Text, kind: str, start: int, end: int) -> Region:
    """A region that is exactly a stretch of the outer text."""
    return Region(kind, start, end, outer.text[start:end], lambda new, _: new, mapped(outer, start))


def mapped(text: Text, start: int) -> Callable[[Position], Position]:
    """From places in a stretch of a text to places in the text."""
    first = text.position(start)

    def place(position: Position) -> Position:
        column = position.column + (first.column - 1 if position.line == 1 else 0)
        return Position(first.line + position.line - 1, column)

    return place
