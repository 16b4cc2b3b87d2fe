"""Shell scripts: commands and their words, variables, conditions, and the files that a script writes.

Read with tree-sitter and its grammar of bash, which says for every word where it stands.
https://github.com/tree-sitter/tree-sitter-bash
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, pairwise, takewhile
from typing import Any

from neuron_codemods.edits import Edit
from neuron_codemods.kinds import TOLD, by_name, quoted
from neuron_codemods.project import ModuleFacts, folder_of
from neuron_codemods.source import Text, Token
from neuron_codemods.texts import Lines, Parsed, Region, plain_region
from neuron_codemods.trees import Tree, without_templates

_EXPANSION = re.compile(r"\$\{?[#!]?(\w+)")
_USE = re.compile(r"\$(?:(\w+)|\{[#!]?(\w+))")
_WORD = re.compile(r"(?:\\(?!\r?\n).|[^\s\\])+", re.S)
_BODIES = frozenset(
    (
        "program",
        "compound_statement",
        "do_group",
        "subshell",
        "if_statement",
        "elif_clause",
        "else_clause",
        "case_item",
    )
)
_WRAPPING = frozenset(("list", "pipeline", "redirected_statement", "negated_command"))
_CLOSES = re.compile(r"[ \t]*(?:;;|\)|\}|(?:fi|done|esac|else|elif)\b)")
"""What ends a block."""
_ENDS = re.compile(rf"[ \t]*(?:[\r\n]|$)|{_CLOSES.pattern}")
"""What stands behind a statement that nothing follows in its paragraph or block."""
_SET_BEFORE = re.compile(r"(?:\w+=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"']*)[ \t]+)+\Z")
"""Variables before a command; the grammar takes them for a statement where the command is an expansion."""
_UNREAD = "it is no complete shell command"
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")


def parse(text: str, path: str) -> Shell:
    """A shell script; what the grammar cannot read is told by ``Shell.unread``."""
    return Shell(text, path)


def collect(text: str, path: str) -> ModuleFacts | None:
    """The models that a script exports, for files that load the folders, and the programs whose models it shards."""
    if not any(word in text for word in TOLD):
        return None
    from neuron_codemods.launch.exports import exported
    from neuron_codemods.launch.lines import sharded

    shell = parse(text, path)
    found = tuple(replace(compiled, folder=folder_of(path, compiled.folder)) for compiled in exported(shell))
    shards = frozenset(sharded(shell))
    return ModuleFacts(path, compiled=found, shards=shards) if found or shards else None


@dataclass(frozen=True)
class Word:
    """A word of a command, or of a string or an array that holds words."""

    start: int
    end: int
    raw: str
    value: str | None
    """What it stands for; None where that is only known when the script runs."""

    @property
    def variables(self) -> list[str]:
        """The variables in it."""
        return _EXPANSION.findall(self.raw)


@dataclass(frozen=True, eq=False)
class Assignment:
    """An assignment to a variable: a statement, a part of ``export``, or before a command."""

    name: str
    start: int
    end: int
    value: Word
    words: tuple[Word, ...]
    """The words in its value, where it is a string or an array."""
    is_array: bool
    node: Any = field(repr=False)


@dataclass(frozen=True, eq=False)
class Command:
    """A command with its words, of which the first is its name."""

    start: int
    end: int
    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...]
    """Those before the name."""
    node: Any = field(repr=False)

    @property
    def name(self) -> str:
        """The name without a folder; nothing where it is only known when the script runs."""
        return (self.words[0].value or "").rpartition("/")[2] if self.words else ""


class Shell(Parsed):
    """A shell script."""

    def __init__(self, text: str, path: str = "") -> None:
        super().__init__(text)
        self.path = path
        """Of the file that it stands in."""
        readable = without_templates(text, lambda length: f"${{{'x' * (length - 3)}}}")
        self._tree = Tree(readable, "tree_sitter_bash", "shell scripts and commands")
        self.root = self._tree.root
        self._removed: list[tuple[int, int]] = []
        self._gone: set[tuple[int, int]] = set()
        self._cut_ahead: set[tuple[int, int]] = set()
        self._cut_back: set[tuple[int, int]] = set()
        """Commands that go with the ``&&`` behind them, and with the one before them."""
        self._children: dict[int, tuple[list[Any], list[int]]] = {}

    # Places -------------------------------------------------------------------------------------------------------

    def at(self, byte: int) -> int:
        """The character at a byte."""
        return self._tree.offset(byte)

    def span(self, node: Any) -> tuple[int, int]:
        """The characters that a node takes."""
        return self._tree.span(node)

    def raw(self, node: Any) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def walk(self, node: Any = None) -> Iterator[Any]:
        """All named nodes that can be read, in order; a statement with an error in it is left out."""
        if self.root.type != "program":
            return
        stack = [self.root if node is None else node]
        while stack:
            node = stack.pop()
            if node.is_named:
                yield node
            if node is self.root or node.type == "program":
                stack += [child for child in reversed(node.children) if not child.has_error]
            else:
                stack += reversed(node.children)

    def comments(self) -> Sequence[Token]:
        if self.root.has_error:
            return super().comments()  # where the parser is lost, it takes comments for words
        found = []
        for node in self.walk():
            if node.type == "comment":
                start, end = self.span(node)
                found.append(Token(0, self.text[start:end], start, end))
        return found

    def statement(self, offset: int) -> tuple[int, int]:
        """The whole lines of the innermost statement that holds a place and starts its line."""
        best = self.line_start(offset), self.line_end(offset)
        node: Any = self.root
        while node is not None:
            inside = self._children_at(node, offset)
            for child in inside:
                start, end = self.span(child)
                line = self.line_start(start)
                is_statement = child.is_named and node.type in _BODIES
                if is_statement and not self.text[line:start].strip() and not self._continues(line):
                    best = line, self.line_end(max(end - 1, start))
            node = inside[0] if inside else None
        return best

    def _children_at(self, node: Any, offset: int) -> list[Any]:
        """The children of a node that hold a place. They stand one behind the other."""
        if node.id not in self._children:
            children = node.children
            self._children[node.id] = children, [self.at(child.end_byte) for child in children]
        children, ends = self._children[node.id]
        following = islice(children, bisect_right(ends, offset), None)
        return list(takewhile(lambda child: self.at(child.start_byte) <= offset, following))

    def _continues(self, line: int) -> bool:
        while line and self.text[line - 1] in "\r\n":
            line -= 1
        return line > 0 and self.text[line - 1] == "\\"

    def unread(self) -> Sequence[tuple[tuple[int, int], str]]:
        if not self.root.has_error:
            return ()
        if self.root.type != "program":
            return [((0, len(self.text)), _UNREAD)]
        # The same words whatever is wrong: a marker in the text may change where the parser sees it.
        return [(self.span(child), _UNREAD) for child in self.root.children if child.has_error]

    # Commands and variables ---------------------------------------------------------------------------------------

    @cached_property
    def commands(self) -> list[Command]:
        """All commands, in order."""
        return [self._command(node) for node in self.walk() if node.type == "command"]

    @cached_property
    def assignments(self) -> list[Assignment]:
        """All assignments, in order."""
        return [self._assignment(node) for node in self.walk() if node.type == "variable_assignment"]

    def assigned(self, name: str) -> list[Assignment]:
        """The assignments to a variable."""
        return self._assigned.get(name, [])

    @cached_property
    def _assigned(self) -> dict[str, list[Assignment]]:
        table: dict[str, list[Assignment]] = {}
        for assignment in self.assignments:
            table.setdefault(assignment.name, []).append(assignment)
        return table

    def uses(self, name: str) -> int:
        """How often a variable is expanded."""
        return self._expanded[name]

    @cached_property
    def _expanded(self) -> Counter[str]:
        return Counter(plain or braced for plain, braced in _USE.findall(self.text))

    def known(self, word: Word) -> str | None:
        """What a word stands for, through a variable that is assigned once."""
        if word.value is not None:
            return word.value
        match = re.fullmatch(r'"?\$(?:(\w+)|\{(\w+)\})"?', word.raw)
        if match is None:
            return None
        found = self.assigned(match[1] or match[2])
        return found[0].value.value if len(found) == 1 else None

    def _command(self, node: Any) -> Command:
        words: list[Word] = []
        assignments: list[Assignment] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(self._assignment(child))
            elif child.is_named and not child.type.endswith(("redirect", "comment")):
                words.append(self._word(child))
        start, end = self.span(node)
        if words and assignments and self.breaks(assignments[-1].end, words[0].start):
            start, assignments = words[0].start, []
        return Command(start, end, tuple(words), tuple(assignments), node)

    def breaks(self, start: int, end: int) -> bool:
        """Whether a line ends between two places.

        Between the parts of a command it does where the grammar takes a line ``A=1 B=2`` for a part of the command
        below it.
        """
        return "\n" in re.sub(r"\\\r?\n", "", self.text[start:end])

    def _assignment(self, node: Any) -> Assignment:
        start, end = self.span(node)
        name = self.raw(node.child_by_field_name("name"))
        value = node.child_by_field_name("value")
        if value is None:
            return Assignment(name, start, end, Word(end, end, "", ""), (), False, node)
        is_array = value.type == "array"
        if is_array:
            words = tuple(self._word(child) for child in value.children if child.is_named and child.type != "comment")
        else:
            words = tuple(self._words_within(*self.span(value), quoted=value.type in ("string", "raw_string")))
        return Assignment(name, start, end, self._word(value), words, is_array, node)

    def _words_within(self, start: int, end: int, *, quoted: bool) -> Iterator[Word]:
        if quoted:
            start, end = start + 1, end - 1
        for match in _WORD.finditer(self.text, start, end):
            raw = match[0]
            yield Word(match.start(), match.end(), raw, None if re.search(r"[$`]", raw) else raw)

    def _word(self, node: Any) -> Word:
        start, end = self.span(node)
        return Word(start, end, self.text[start:end], self._value(node))

    def _value(self, node: Any) -> str | None:
        if node.type in ("word", "number", "command_name") and not node.named_children:
            return re.sub(r"\\(?:\r?\n)?(.?)", r"\1", self.raw(node))
        if node.type == "raw_string":
            return self.raw(node)[1:-1]
        if node.type == "string":
            if all(child.type == "string_content" for child in node.named_children):
                return self.raw(node)[1:-1]
            return None
        if node.type in ("concatenation", "command_name"):
            parts = [self._value(child) for child in node.named_children]
            return None if None in parts else "".join(part or "" for part in parts)
        return None

    # Taking out ---------------------------------------------------------------------------------------------------

    def removals(
        self, words: Sequence[Word], places: Iterable[tuple[int, int]], *, array: bool = False
    ) -> dict[tuple[int, int], Edit]:
        """Take words out of a command, a string or an array: an edit for each place, its first and its last word.

        The white space before them goes with them; where nothing is left before them on their line, that behind them.
        """
        edits: dict[tuple[int, int], Edit] = {}
        for run in self._runs(words, sorted(places), array=array):
            start, end = self._stretch(words, run[0][0], run[-1][1], array=array)
            starts = [start, *(words[first].start for first, _ in run[1:]), end]
            edits.update((place, Edit.delete(span)) for place, span in zip(run, pairwise(starts), strict=True))
        return edits

    def _runs(
        self, words: Sequence[Word], places: Sequence[tuple[int, int]], *, array: bool
    ) -> Iterator[list[tuple[int, int]]]:
        """Places that follow one another on one line; on several, where nothing is left before them."""
        run: list[tuple[int, int]] = []
        for first, last in places:
            if run:
                by_line = run[0][0] > 0 or (array and self._begins_line(words[run[0][0]]))
                breaks = by_line and "\n" in self.text[words[first - 1].end : words[first].start]
                if breaks or run[-1][1] + 1 < first:
                    yield run
                    run = []
            run.append((first, last))
        if run:
            yield run

    def _begins_line(self, word: Word) -> bool:
        return not self.text[self.line_start(word.start) : word.start].strip()

    def _stretch(self, words: Sequence[Word], index: int, last: int, *, array: bool) -> tuple[int, int]:
        """What goes with words that follow one another."""
        first, end = words[index].start, words[last].end
        forward = not index
        begins_line = self._begins_line(words[index])
        if array and begins_line:
            line_end = self.line_end(end - 1)
            rest = self.text[end:line_end].strip()
            if not rest or rest.startswith("#"):
                return self.line_start(first), line_end
            forward = True
        following = words[last + 1].start if last + 1 < len(words) else end
        if begins_line and following > end and "\n" not in self.text[end:following]:
            forward = True  # what is left of the line stays there
        return (first, following) if forward else (words[index - 1].end, end)

    def remove(self, node: Any) -> Edit | None:
        """Take a statement away, with the comment that is only about it; None where more depends on it."""
        while node.parent is not None and node.parent.type in _WRAPPING:
            parent = node.parent
            if parent.type == "list":
                siblings = [child for child in parent.children if child.is_named]
                operator = next(child.type for child in parent.children if not child.is_named)
                if operator == "&&" and len(siblings) == 2:
                    return self._out_of_list(parent, siblings, node)
                if operator != "||" or node != siblings[0]:
                    return None
            elif parent.type == "pipeline":
                others = [self.raw(child).split()[:1] for child in parent.named_children if child != node]
                if node != parent.named_children[0] or any(other not in (["tee"], ["cat"]) for other in others):
                    return None
            elif parent.type == "negated_command":
                return None
            node = parent
        spans = [self.span(child) for child in node.named_children] if node.type == "command" else []
        if any(self.breaks(first[1], second[0]) for first, second in pairwise(spans)):
            return None
        body = node.parent
        if body is None or body.type not in _BODIES or _is_condition(body, node):
            return None
        return self._removed_statement(body, node)

    def _out_of_list(self, parent: Any, siblings: list[Any], node: Any) -> Edit:
        """Take a command out of a chain of ``&&``: up to the next one, or from the one before it if it is the last."""
        (left, right), around = siblings, parent.parent
        if node == right and around is not None and around.type == "list" and around.children[0] == parent:
            operator = next(child.type for child in around.children if not child.is_named)
            following = around.named_children[-1] if operator == "&&" else None
        else:
            following = right if node == left else None
        before = left.named_children[-1] if node == right and left.type == "list" else left
        start, end = self.span(node)
        neighbour = following if following is not None else before
        crossing = self.span(neighbour) in (self._cut_back if following is not None else self._cut_ahead)
        (self._cut_ahead if following is not None else self._cut_back).add((start, end))
        if crossing:  # what stands between the two goes with the other
            return Edit.replace((start, end), ":")
        if following is not None:
            return Edit.delete((start, self.span(following)[0]))
        return Edit.delete((self.span(left)[1], end))

    def _removed_statement(self, body: Any, node: Any) -> Edit:
        start, end = self.span(node)
        self._gone.add((start, end))
        after = re.compile(r"[ \t]*(?:;(?!;)|&(?!&))?[ \t]*").match(self.text, end)
        stop = after.end() if after else end
        line_start, line_end = self.line_start(start), self.line_end(max(end - 1, start))
        while self._continues(line_start) and self._is_blank(line_start - 1):
            line_start = self.line_start(line_start - 1)
        alone = not self.text[line_start:start].strip("\\ \t\r\n") and (
            not self.text[stop:line_end].strip() or self.text[stop:line_end].startswith("#")
        )
        if not self.text[line_start:start].strip() and self.text[stop:line_end].strip() == "\\":
            return self._continued(body, start, end, line_end)
        if not alone:
            stand_in = ":; " if self.text[end:stop].strip() else ": "
            return Edit(start, stop, lambda _: stand_in if self._empties(body) else "", deletes=True)
        first = self._comment_above(line_start, line_end)
        blank = line_end
        while blank < len(self.text) and not self.text[blank : self.line_end(blank)].strip():
            blank = self.line_end(blank)
        self._removed.append((first, line_end))
        indentation, newline = self.text[line_start:start], self.newline(start)

        def left(_: str) -> str:
            if self._empties(body) and body.type != "program":
                return f"{indentation}:{newline}" if self._is_last_gone(body, start) else ""
            return "" if self._blank_above(first) else self.text[line_end:blank]

        return Edit(first, blank, left, deletes=True)

    def _is_blank(self, offset: int) -> bool:
        """Whether a line holds nothing but the backslash behind which it goes on."""
        return self.text[self.line_start(offset) : offset].strip() == "\\"

    def _continued(self, body: Any, start: int, end: int, line_end: int) -> Edit:
        """Take away a statement that has its line in a command of several: the next one takes its place."""
        following = line_end + len(self.indentation(line_end))

        def left(_: str) -> str:
            is_needed = body.type != "program" and self._empties(body) and self._is_last_gone(body, start)
            return f":{self.text[end:following]}" if is_needed else ""

        return Edit(start, following, left, deletes=True)

    def _empties(self, body: Any) -> bool:
        """Whether all statements of a block go."""
        statements = [child for child in body.children if child.is_named and child.type != "comment"]
        statements = [child for child in statements if not _is_condition(body, child)]
        statements = [child for child in statements if not child.type.endswith(("_clause", "case_item"))]
        return all(self.span(child) in self._gone for child in statements)

    def _is_last_gone(self, body: Any, start: int) -> bool:
        return start == max(
            (self.at(child.start_byte) for child in body.children if self.span(child) in self._gone), default=start
        )

    def _blank_above(self, start: int) -> bool:
        """Whether nothing or an empty line stands above a line, once the statements that go are gone."""
        while True:
            above = next((first for first, end in self._removed if end == start), None)
            if above is None:
                break
            start = above
        return not start or not self.text[self.line_start(start - 1) : start].strip()

    def _comment_above(self, line: int, end: int) -> int:
        """Where the comment starts that stands directly above a statement and is about nothing else."""
        if not _ENDS.match(self.text, end):
            return line
        first = line
        while first:
            above = self.line_start(first - 1)
            text = self.text[above:first].strip()
            if not text.startswith("#") or text.startswith(("#!", "#SBATCH")) or "neuron-migrate" in text:
                break
            first = above
        if not first or self.text.startswith("#!", self.line_start(first - 1)):
            return line  # what the file is about
        if _CLOSES.match(self.text, end):  # an empty line would separate it from nothing
            while first and not self.text[self.line_start(first - 1) : first].strip():
                first = self.line_start(first - 1)
        return first

    def finished(self, text: str) -> str:
        """Without empty lines at the end, where there were none before."""
        stripped = text.rstrip("\r\n")
        if text[len(stripped) :].count("\n") < 2:
            return text
        if self.text[len(self.text.rstrip("\r\n")) :].count("\n") > 1:
            return text
        return stripped + self.newline(len(self.text)) if stripped else stripped

    # Texts inside -------------------------------------------------------------------------------------------------

    def launches(self, names: Collection[str]) -> Sequence[str]:
        from neuron_codemods.launch.lines import launches

        found = []
        for launch in launches(self):
            if launch.name in names:
                before = _SET_BEFORE.search(self.text, self.line_start(launch.command.start), launch.command.start)
                start = before.start() if before is not None else launch.command.start
                found.append(re.sub(r"\\\r?\n\s*", "", self.text[start : launch.command.end]))
        return found

    def regions(self) -> Sequence[Region]:
        return [*self._heredocs[0], *self.programs]

    @cached_property
    def programs(self) -> list[Region]:
        """The programs that stand in a word: behind ``bash -c``, ``python -c``, ``ssh`` and the like."""
        return [region for command in self.commands for region in quoted.programs(self, command)]

    @property
    def closed(self) -> Sequence[tuple[int, int]]:
        """The texts of other kinds that cannot be rewritten, because the shell puts values into them."""
        return self._heredocs[1]

    @cached_property
    def _heredocs(self) -> tuple[list[Region], list[tuple[int, int]]]:
        found: list[Region] = []
        closed: list[tuple[int, int]] = []
        for node in self.walk():
            if node.type == "redirected_statement":
                found += self._heredoc(node, closed)
        return found, closed

    def _heredoc(self, node: Any, closed: list[tuple[int, int]]) -> Iterator[Region]:
        redirects = [child for child in node.children if child.type == "heredoc_redirect"]
        parts = {child.type: child for redirect in redirects for child in redirect.children}
        if len(redirects) != 1 or "heredoc_body" not in parts:
            return
        start = self.line_start(self.span(parts["heredoc_body"])[0])
        end = self.line_start(self.span(parts["heredoc_end"])[0])
        kind = self._heredoc_kind(node, redirects[0])
        literal = self.raw(parts["heredoc_start"])[:1] in ("'", '"', "\\")
        if kind is None or start == end:
            return
        if not literal and re.search(r"[$`\\]", self.text[start:end]):
            closed.append((start, end))
            return
        if parts.get("<<-") is not None:
            yield self._tabbed(kind, start, end)
        else:
            yield plain_region(self, kind, start, end)

    def _heredoc_kind(self, node: Any, redirect: Any) -> str | None:
        targets = [child for child in (*node.children, *redirect.children) if child.type == "file_redirect"]
        written = (target for target in targets if re.match("1?>", self.raw(target)))
        kinds = (_kind(self._value(target.named_children[-1])) for target in written)
        kind = next((kind for kind in kinds if kind is not None), None)
        if kind is not None:
            return kind
        start = self.span(redirect)[0]
        line = self.text[start : self.line_end(start)]
        piped = re.search(r"\|\s*(?P<name>[\w./-]+)(?:\s+-)?\s*$", line)
        if piped is not None:
            name = piped["name"].rpartition("/")[2]
            return "python" if _PYTHON.fullmatch(name) else "shell" if name in quoted.SHELLS else None
        command = next((child for child in node.children if child.type == "command"), None)
        words = [word.value or "" for word in self._command(command).words] if command is not None else []
        words += [self._value(child) or "" for child in redirect.children if child.type == "word"]
        arguments = [word for word in words[1:] if not word.startswith("-")]
        if not words:
            return None
        if words[0] == "tee" and arguments:
            return _kind(arguments[0])
        if words[0] == "ssh" and len(arguments) == 1:
            return "shell"
        last = next((word for word in reversed(words) if not word.startswith("-")), "")
        if _PYTHON.fullmatch(last):
            return "python"
        return "shell" if last.rpartition("/")[2] in quoted.SHELLS else None

    def _tabbed(self, kind: str, start: int, end: int) -> Region:
        inner = Text(self.text[start:end])
        lines = []
        for line, offset in zip(inner.lines, inner.line_starts, strict=False):
            tabs = len(line) - len(line.lstrip("\t"))
            lines.append((start + offset + tabs, start + offset + len(line)))
        tabs = min(
            (begin - self.line_start(begin) for begin, stop in lines if self.text[begin:stop].strip()), default=0
        )
        lines = [(min(self.line_start(begin) + tabs, begin), stop) for begin, stop in lines]
        return Lines(self, lines, lambda new: ["\t" * tabs] * len(new)).region(kind)


def _kind(file: str | None) -> str | None:
    row = by_name((file or "").rpartition("/")[2])
    return row.name if row is not None else None


def _is_condition(body: Any, node: Any) -> bool:
    """Whether a child of a compound statement is not a statement of its block: a condition, a pattern."""
    if body.type in ("if_statement", "elif_clause"):
        then = next((child.start_byte for child in body.children if child.type == "then"), body.end_byte)
        return bool(node.start_byte < then)
    if body.type == "case_item":
        return bool(node == body.child_by_field_name("value"))
    return False
