"""What must hold for every program, whatever it says: each function looks at one promise and yields what breaks it."""

from __future__ import annotations

import ast
import re
import symtable
import tokenize
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain

from pyflakes import checker, messages

from neuron_codemods import Project
from neuron_codemods.markers import header_end, match, suppressions
from neuron_codemods.model import Finding, Settings, SourceError
from neuron_codemods.module import Module
from neuron_codemods.source import Source, Text
from neuron_codemods.statements import start_of
from neuron_migrate.documents import DocumentError, Migrated, python

from .grammar import compiles


@dataclass(frozen=True)
class Violation:
    """One promise that was broken, and how."""

    contract: str
    said: str


def violations(text: str, settings: Settings, heard: set[str] | None = None) -> list[Violation]:
    """What a program breaks; a text that is no Python may only be refused, with a place inside of it.

    ``heard`` gets the codes of the rules that had something to say.
    """
    data = text.encode("utf-8", "surrogatepass")
    try:
        python.collect(data, "program.py")
        migrated = python.migrate(data, "program.py", settings, Project())
    except (SourceError, DocumentError) as error:
        return list(_refusal(text, error))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # not Exception: a panic of libcst's Rust parser is none
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{place.tb_frame.f_code.co_filename.rpartition('/')[2]}:{place.tb_lineno}" if place else ""
        return [Violation("no exception", f"{type(error).__name__}: {error} ({where})")]
    if heard is not None:
        heard.update(finding.code for finding in migrated.findings)
    return list(_broken(text, migrated, settings))


def _refusal(text: str, error: SourceError | DocumentError) -> Iterator[Violation]:
    if compiles(text):
        yield Violation("what is Python is read", str(error))
    if error.line is not None and not 1 <= error.line <= text.count("\n") + text.count("\r") + 1:
        yield Violation("places are inside", f"{error} in line {error.line}")


def _broken(text: str, migrated: Migrated, settings: Settings) -> Iterator[Violation]:
    after = migrated.data.decode("utf-8", "surrogatepass")
    body = text.removeprefix("\ufeff")
    yield from _places(body, migrated.findings)
    try:
        again = python.migrate(migrated.data, "program.py", settings, Project())
    except Exception as error:
        yield Violation("a second run changes nothing", f"it fails: {type(error).__name__}: {error}")
        return
    if again.data != migrated.data and not _names_a_stranger(text, after):
        said = _difference(after, again.data.decode("utf-8", "surrogatepass"))
        yield Violation("a second run changes nothing", said)
    if after == text:
        return
    if not migrated.findings:
        yield Violation("no change without a finding", _difference(text, after))
    if compiles(text) and not compiles(after):
        yield Violation("the result compiles", "it does not")
        return
    before, then = Parts(body), Parts(after.removeprefix("\ufeff"))
    yield from _untouched(before, then, migrated.findings)
    yield from _suppressed(before, then)
    if compiles(text):  # pyflakes does not look into what it takes for an error
        yield from _flaked(before, then)


def _names_a_stranger(before: str, after: str) -> bool:
    """Whether a program uses a module that it does not import and that the migrated one does: it is known now."""
    if not (compiles(before) and compiles(after)):
        return False
    unknown, left = (_unknown(_flakes(Parts(text.removeprefix("\ufeff")))) for text in (before, after))
    return bool(unknown.keys() - left.keys())


def _difference(before: str, after: str) -> str:
    one, other = Text(before).lines, Text(after).lines
    for tag, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            return f"line {i + 1}: {''.join(one[i:j])!r} becomes {''.join(other[k:m])!r}"
    return "only the form of the text"


def _places(text: str, findings: Sequence[Finding]) -> Iterator[Violation]:
    lines = Text(text).lines
    last = len(lines) + (not lines or lines[-1].endswith(("\n", "\r")))
    for finding in findings:
        for place in (finding.start, finding.end):
            width = len(lines[place.line - 1]) if 0 < place.line <= len(lines) else 0
            if not (1 <= place.line <= last and 1 <= place.column <= width + 1):
                yield Violation("places are inside", f"{finding.code} at {place.line}:{place.column}")
        if finding.end < finding.start:
            yield Violation("places are inside", f"{finding.code} ends before it starts")


class Parts:
    """A program in statements: a simple one, or the header of a compound one, each with its tokens."""

    def __init__(self, text: str) -> None:
        self.source = Source(text)
        self.nodes = sorted(
            (node for node in ast.walk(self.source.tree) if isinstance(node, (ast.stmt, ast.ExceptHandler))),
            key=lambda node: (node.lineno, node.col_offset),
        )

    @cached_property
    def starts(self) -> list[int]:
        return [start_of(self.source, node) for node in self.nodes]

    @cached_property
    def tokens(self) -> list[tuple[str, ...]]:
        """For each statement its own tokens, without comments and semicolons."""
        found: list[list[str]] = [[] for _ in self.nodes]
        for token in self.source.tokens:
            index = bisect_right(self.starts, token.start) - 1
            if index >= 0 and token.kind != tokenize.COMMENT and token.text != ";":
                found[index].append(token.text)
        return [tuple(part) for part in found]

    def names(self, index: int) -> set[str]:
        """The words of a statement, also those in its strings."""
        return {word for token in self.tokens[index] for word in re.findall(r"[^\W\d]\w*", token)}

    def lines(self, index: int) -> tuple[int, int]:
        """The first line of a statement and the last of it, or of its header."""
        node = self.nodes[index]
        last = node.end_lineno if isinstance(node, ast.Match) else header_end(node)  # its cases are no statements
        return self.source.position(self.starts[index]).line, max(last or 0, node.lineno)


def _untouched(before: Parts, after: Parts, findings: Sequence[Finding]) -> Iterator[Violation]:
    """Every statement that is not in the result has a finding on its lines, or uses a name that a finding is about."""
    touched = set()
    for finding in findings:
        touched.update(range(finding.start.line, max(finding.end.line, finding.start.line) + 1))
    names = _names_of(before, touched)
    missing: list[int] = []
    imported = {name for node in after.nodes for name in _imported(node)}
    spare = _used(before) - _used(after)
    had, kept = Counter(before.tokens), Counter(after.tokens)
    matcher = SequenceMatcher(None, before.tokens, after.tokens, autojunk=False)
    for tag, i, j, _, _ in matcher.get_opcodes():
        if tag in ("delete", "replace"):
            missing += range(i, j)
    changed_lines = set()
    for index in missing:
        first, last = before.lines(index)
        changed_lines.update(range(first, last + 1))
        if any(line in touched for line in range(first, last + 1)):
            continue
        if names & before.names(index):
            continue
        bound = _imported(before.nodes[index])
        if bound and all(
            name in imported or name[0].startswith(_OLD) or name[2].partition(".")[0] in spare for name in bound
        ):
            continue
        if before.tokens[index] == ("pass",):
            continue
        if kept[before.tokens[index]] >= had[before.tokens[index]]:
            continue  # one of several equal ones, which the comparison has matched otherwise
        yield Violation("no statement goes without a finding", f"line {first}: {' '.join(before.tokens[index])}")
    for index, node in enumerate(before.nodes):
        if bound := _imported(node):
            first, last = before.lines(index)
            changed_lines.update(range(first, last + 1) if bound <= imported else ())
    yield from _unchanged_lines(before, after, changed_lines | touched)


_OLD = ("optimum", "torch_xla", "torch_neuronx", "torch_neuron", "neuronx", "libneuronxla", "transformers_neuronx")
"""Modules of the old stack, whose imports go. Any other import goes when what uses it goes, of which a finding tells:
its name was used before, and is not used any more."""


def _imported(node: ast.stmt) -> set[tuple[str, str, str]]:
    """The module, the name in it and the name here of everything that a statement imports."""
    if isinstance(node, ast.Import):
        return {(alias.name, "", alias.asname or alias.name) for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        return {(module, alias.name, alias.asname or alias.name) for alias in node.names}
    return set()


def _used(parts: Parts) -> set[str]:
    """The words of all statements but imports."""
    others = (tokens for node, tokens in zip(parts.nodes, parts.tokens, strict=True) if not _imported(node))
    return set(chain.from_iterable(others))


def _names_of(parts: Parts, touched: set[int]) -> set[str]:
    """The names that the statements on these lines bind or use: what uses them may change with them."""
    found: set[str] = set()
    for index, node in enumerate(parts.nodes):
        first, last = parts.lines(index)
        if any(line in touched for line in range(first, last + 1)):
            found.update(parts.names(index) - _COMMON)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(node.name)
    return found


_COMMON = frozenset(
    [
        "from",
        "import",
        "as",
        "def",
        "class",
        "return",
        "if",
        "else",
        "elif",
        "for",
        "in",
        "while",
        "with",
        "try",
        "except",
        "finally",
        "pass",
        "not",
        "and",
        "or",
        "is",
        "None",
        "True",
        "False",
        "lambda",
        "self",
        "await",
        "async",
        "yield",
        "raise",
        "del",
        "global",
        "nonlocal",
        "assert",
        "print",
        "x",
    ]
)


def _unchanged_lines(before: Parts, after: Parts, changed: set[int]) -> Iterator[Violation]:
    """Lines change only where a statement does: no comment and no white space elsewhere.

    A line of several statements may get one more (``a; b`` becomes ``a; new; b``), which has no line of its own.
    """
    one, other = before.source.lines, after.source.lines
    spans = [before.lines(index) for index in range(len(before.nodes))]
    opcodes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    left = Counter(line.strip() for tag, _, _, k, m in opcodes if tag != "equal" for line in other[k:m])
    for tag, i, j, k, m in opcodes:
        if tag in ("equal", "insert"):
            continue
        for number in range(i + 1, j + 1):
            line = one[number - 1]
            if not line.strip(" \t\f\r\n\\") or number in changed:
                continue
            if left[line.strip()] > 0:
                left[line.strip()] -= 1  # moved, with the statement around it
                continue
            if line.lstrip().startswith("#") and _beside(number, changed, one):
                continue
            inside = [span for span in spans if span[0] <= number <= span[1]]
            if any(set(range(first, last + 1)) & changed for first, last in inside):
                continue
            if any(_parts_of(line) <= _parts_of(new) for new in other[k:m]):
                continue
            yield Violation("no other line changes", f"line {number}: {line!r}")


def _parts_of(line: str) -> set[str]:
    """The statements on a line."""
    return {part.strip() for part in line.split(";")}


def _beside(number: int, changed: set[int], lines: Sequence[str]) -> bool:
    """Whether a comment stands directly above or below a line that changes, with other comments between at most."""
    if match(lines[number - 1].strip()) is not None:
        return True
    for step in (1, -1):
        line = number
        while 0 < line <= len(lines) and (lines[line - 1].lstrip().startswith("#") or not lines[line - 1].strip()):
            line += step
        if line in changed:
            return True
    return False


def _suppressed(before: Parts, after: Parts) -> Iterator[Violation]:
    """A statement whose rules are all suppressed is in the result as it was."""
    if "neuron-migrate" not in before.source.text:
        return
    module = Module(before.source.text)
    left = Counter(after.tokens)
    for suppression in suppressions(module):
        if suppression.codes:
            continue
        for index, tokens in enumerate(before.tokens):
            first, last = before.lines(index)
            covered = suppression.whole_file or (suppression.first <= first and last <= suppression.last)
            if covered and tokens and not left[tokens]:
                yield Violation("what is suppressed stays", f"line {first}: {' '.join(tokens)}")


def _uses_above_imports(parts: Parts) -> bool:
    """Whether a program uses a name above all that imports it: it fails there, and nobody knows what was meant."""
    names = _imports(parts)
    bound: set[str] = set()
    for node in parts.source.tree.body:
        used = {inner.id for inner in _run_at_once(node) if isinstance(inner, ast.Name)}
        inside = {name for inner in ast.walk(node) if isinstance(inner, ast.stmt) for _, _, name in _imported(inner)}
        if used & names - bound - inside:
            return True
        bound |= inside | {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and _is_bound(inner)}
    return False


def _run_at_once(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, without the bodies of functions, which run later."""
    yield node
    later = node.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) else ()
    for child in ast.iter_child_nodes(node):
        if child is not later and not (isinstance(later, list) and child in later):
            yield from _run_at_once(child)


def _is_bound(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


class Locals:
    """Which names are local to which functions, as Python's own symbol table has it."""

    def __init__(self, parts: Parts) -> None:
        nodes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        self._functions = [node for node in ast.walk(parts.source.tree) if isinstance(node, nodes)]
        self._tables = [symtable.symtable(parts.source.text, "program.py", "exec")]
        for table in self._tables:  # grows as it goes
            self._tables += table.get_children()

    def binds(self, name: str, place: tuple[int, int]) -> bool:
        """Whether the innermost function binds a name itself in whose body a place is: its header is outside of it."""
        around = [node for node in self._functions if _body_start(node) <= place <= _end(node)]
        line = max(around, key=_body_start).lineno if around else None
        tables = [table for table in self._tables if table.get_type() == "function" and table.get_lineno() == line]
        return any(name in table.get_identifiers() and table.lookup(name).is_local() for table in tables)

    def hidden(self) -> set[str]:
        """The names that are local wherever they are used."""
        names = {symbol.get_name() for table in self._tables for symbol in table.get_symbols()}
        return {name for name in names if all(map(_is_own, self._using(name)))}

    def _using(self, name: str) -> list[symtable.Symbol]:
        found = (table.lookup(name) for table in self._tables if name in table.get_identifiers())
        return [symbol for symbol in found if symbol.is_referenced()]


def _body_start(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> tuple[int, int]:
    first = node.body if isinstance(node, ast.Lambda) else node.body[0]
    return min((each.lineno, each.col_offset) for each in (first, *getattr(first, "decorator_list", ())))


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def _is_own(symbol: symtable.Symbol) -> bool:
    return symbol.is_local() and not symbol.is_global() and not symbol.is_imported()


def _flaked(before: Parts, after: Parts) -> Iterator[Violation]:
    """pyflakes finds nothing in the result that it did not find before.

    An undefined name may be called otherwise now, at each of its uses. What a person computed may be unused, now that
    an old call is gone: that is for the person to tidy. What is written anew is used; only an import that the names of
    functions hide was never used, whatever pyflakes thought.
    """
    try:
        old, new = _flakes(before), _flakes(after)
    except AttributeError:
        return  # pyflakes itself fails at (__all__ := [])
    unknown, left = _unknown(old), _unknown(new)
    fresh = Counter({name: count for name, count in new.get("UndefinedName", {}).items() if name not in unknown})
    if fresh.total() > (unknown - left).total() and not _uses_above_imports(before):
        yield Violation("no name is left unbound", ", ".join(sorted(fresh)))
    known = {token for tokens in before.tokens for token in tokens}
    written = Counter(token for tokens in after.tokens for token in tokens)
    for kind in new.keys() - {"UndefinedName", "ImportStarUsage", "RedefinedWhileUnused"}:
        fresh = new[kind] - old.get(kind, Counter())
        gone = old.get(kind, Counter()) - new[kind]
        if kind in _USERS:
            names = {said: _NAMED.findall(said)[0] for said in fresh}
            fresh = Counter({said: 1 for said, name in names.items() if name not in known and written[name] < 2})
        idle = len(Locals(before).hidden() & _imports(before)) if kind == "UnusedImport" and fresh else 0
        if fresh.total() > gone.total() + idle:
            yield Violation(f"pyflakes finds no more {kind}", ", ".join(sorted(fresh)))


_USERS = ("UnusedImport", "UnusedVariable", "ImportShadowedByLoopVar")
"""What a person may be left with, and is theirs to tidy: names of their own that are not used or are bound twice."""
_NAMED = re.compile(r"([\w*]+)'")
"""The name that a message of pyflakes is about, as it is called in the file."""
_LINE_NUMBER = re.compile(r" from line \d+")


def _unknown(found: dict[str, Counter[str]]) -> Counter[str]:
    """The names of which nothing says where they come from, with the number of their uses."""
    return found.get("UndefinedName", Counter()) + found.get("ImportStarUsage", Counter())


def _imports(parts: Parts) -> set[str]:
    return {name for node in parts.nodes for _, _, name in _imported(node)}


def _flakes(parts: Parts) -> dict[str, Counter[str]]:
    """The messages of pyflakes, by kind.

    A name that a function binds itself is never that of an import outside: where it is used before it is bound, Python
    fails. pyflakes takes it for the import as long as there is one, and is not asked about it. Nor is it about strings
    that a call is given: inside of an annotation (``x: Field("Trainer")``) it takes them for types, and they are data;
    nor about a name in its own annotation (``x: x = 1``), which Python reads when the name is bound.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = checker.Checker(ast.parse(parts.source.text), "program.py", withDoctest=False)
    kinds: dict[str, Counter[str]] = {}
    own, wrong = (Locals(parts), _given(parts) | _own_annotations(parts)) if found.messages else (None, ())
    for message in found.messages:
        place = message.lineno, message.col
        is_undefined = own is not None and isinstance(message, messages.UndefinedName)
        if is_undefined and (place in wrong or own.binds(str(message.message_args[0]), place)):
            continue
        named = isinstance(message, (messages.UndefinedName, messages.ImportStarUsage))
        said = str(message.message_args[0]) if named else message.message % message.message_args
        kinds.setdefault(type(message).__name__, Counter())[_LINE_NUMBER.sub("", said)] += 1
    return kinds


def _given(parts: Parts) -> set[tuple[int, int]]:
    """Where the strings are that calls are given, but for those to functions of ``typing``, which take types."""
    calls = (node for node in ast.walk(parts.source.tree) if isinstance(node, ast.Call))
    given = (inner for call in calls if not _TYPED.search(ast.unparse(call.func)) for inner in ast.walk(call))
    return {(inner.lineno, inner.col_offset) for inner in given if isinstance(inner, ast.Constant)}


def _own_annotations(parts: Parts) -> set[tuple[int, int]]:
    """Where names stand in the annotation of their own assignment."""
    assigned = ((node, node.target) for node in parts.nodes if isinstance(node, ast.AnnAssign) and node.value)
    names = ((target, inner) for node, target in assigned for inner in ast.walk(node.annotation))
    return {(inner.lineno, inner.col_offset) for target, inner in names if _is_same_name(target, inner)}


def _is_same_name(one: ast.AST, other: ast.AST) -> bool:
    return isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id == other.id


_TYPED = re.compile(r"\b(cast|assert_type|NewType|TypeVar|ForwardRef)$")
