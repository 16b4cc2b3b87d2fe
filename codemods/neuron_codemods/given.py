"""A keyword that a call or a mapping gives, and the changes that many keywords ask for: renamed, gone, moved."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from neuron_codemods.edits import AnyEdit, CallEdit, Change, Holder, InsertLines
from neuron_codemods.model import Outcome
from neuron_codemods.module import Module
from neuron_codemods.targets import spelled
from neuron_codemods.values import (
    Arguments,
    constant,
    literal,
    remove_argument,
    rename_argument,
    replace_value,
)
from neuron_codemods.xla.table import ROOTS


@dataclass(frozen=True)
class Given:
    """A keyword in a call that makes training arguments."""

    module: Module
    made: Arguments
    holder: Holder
    item: ast.keyword

    @property
    def name(self) -> str:
        return self.item.arg or ""

    @property
    def known(self) -> object:
        return constant(self.module, self.item.value)

    @property
    def text(self) -> str:
        return self.module.source.segment(self.item.value)

    def change(self, outcome: Outcome, message: str, *edits: AnyEdit, requires: tuple[str, ...] = ()) -> Change:
        return Change(outcome, self.item, message, edits, requires)

    def remove(self) -> CallEdit:
        return remove_argument(self.holder, self.item)

    def rename(self, name: str) -> CallEdit:
        return rename_argument(self.holder, self.item, name)

    def replace(self, text: str) -> CallEdit:
        return replace_value(self.holder, self.item, text)

    def has(self, name: str) -> bool:
        return self.made.has(name)


Handler = Callable[[Given], "Change | None"]


def renamed(name: str, outcome: Outcome = Outcome.REWRITTEN) -> Handler:
    def handle(given: Given) -> Change | None:
        if given.has(name):
            return given.change(outcome, f"{given.name} goes: {name} is given as well.", given.remove())
        if spelled(given.module.project, name) != name:
            return None
        return given.change(outcome, f"{given.name} is called {name}.", given.rename(name))

    return handle


def dropped(message: str, *, review: str = "", inert: tuple[object, ...] = (None, False)) -> Handler:
    """A keyword that goes; ``review`` is what to say instead when its value made a difference."""

    def handle(given: Given) -> Change:
        if review and given.known not in inert:
            return given.change(Outcome.REVIEW, f"{given.name} goes. {review}", given.remove())
        return given.change(Outcome.REWRITTEN, f"{given.name} goes. {message}", given.remove())

    return handle


def warmup_ratio(given: Given) -> Change:
    steps = given.made.find("warmup_steps")
    if steps is not None:
        if literal(steps[1].value) == 0:
            zero = remove_argument(*steps)
            message = "warmup_ratio is called warmup_steps: a float below 1 is a ratio."
            return given.change(Outcome.REWRITTEN, message, zero, given.rename("warmup_steps"))
        message = "warmup_ratio goes: warmup_steps, which is given as well, has always won."
        return given.change(Outcome.REWRITTEN, message, given.remove())
    known = given.known
    message = "warmup_ratio is called warmup_steps: a float below 1 is a ratio."
    if isinstance(known, (int, float)) and known < 1:
        edits: list[AnyEdit] = [given.rename("warmup_steps")]
        if isinstance(known, int):
            edits.append(given.replace("0.0"))
        return given.change(Outcome.REWRITTEN, message, *edits)
    if known is None:
        return given.change(Outcome.REWRITTEN, "warmup_ratio=None goes.", given.remove())
    return given.change(Outcome.REVIEW, f"{message} A value of 1 or more counts steps.", given.rename("warmup_steps"))


def logging_dir(given: Given) -> Change:
    if given.known is None:
        return given.change(Outcome.REWRITTEN, "logging_dir=None goes.", given.remove())
    if not _logs_to_tensorboard(given) and all(node.attr != "logging_dir" for node in given.module.names.attributes):
        message = "logging_dir goes: TensorBoard alone read it, and report_to does not name it."
        return given.change(Outcome.REWRITTEN, message, given.remove())
    statement = given.module.statement(given.holder)
    existing = given.module.import_at("os", given.holder)
    os = existing.name if existing is not None else "os"
    line = f'{os}.environ.setdefault("TENSORBOARD_LOGGING_DIR", {given.text})'
    message = "logging_dir is the environment variable TENSORBOARD_LOGGING_DIR."
    is_plain = "\n" not in given.text and "\r" not in given.text and not _is_old(given)
    if not is_plain or isinstance(statement, (ast.Return, ast.ClassDef)):
        text = f"{message} Set it before the trainer is made; it was {' '.join(given.text.split())}."
        return given.change(Outcome.REVIEW, text, given.remove())
    edits = (given.remove(), InsertLines(statement, (line,)))
    return given.change(Outcome.REWRITTEN, message, *edits, requires=("os",))


def _is_old(given: Given) -> bool:
    """Whether a value uses a name that others rewrite where it stands, and would not where its text is copied to."""
    names = (inner for inner in ast.walk(given.item.value) if isinstance(inner, ast.Name))
    return any((given.module.resolve(name) or "").partition(".")[0] in ("optimum", *ROOTS) for name in names)


def _logs_to_tensorboard(given: Given) -> bool:
    """Whether the arguments may report to TensorBoard; one that is not told does."""
    names = literal(given.made.value("report_to"))
    names = [names] if isinstance(names, str) else names
    return not isinstance(names, (list, tuple)) or not {"all", "tensorboard"}.isdisjoint(names)


def flag_to_value(keyword_name: str, text: str) -> Handler:
    """A switch that became a value of another keyword."""

    def handle(given: Given) -> Change:
        if given.known in (False, None):
            return given.change(Outcome.REWRITTEN, f"{given.name} goes: it was off.", given.remove())
        if given.known is True and not given.has(keyword_name):
            message = f"{given.name}=True is {keyword_name}={text}."
            return given.change(Outcome.REWRITTEN, message, given.rename(keyword_name), given.replace(text))
        return given.change(Outcome.MANUAL, f"Write {keyword_name}={text} where {given.name} is true, and delete it.")

    return handle


def into_mapping(keyword_name: str, *others: str, key: str = "") -> Handler:
    """A keyword that became a key of a mapping (under its own name, if not another), as ``others`` did."""

    def handle(given: Given) -> Change:
        if given.known is None:
            return given.change(Outcome.REWRITTEN, f"{given.name}=None goes.", given.remove())
        is_shared = given.has(keyword_name) or any(other != given.name and given.has(other) for other in others)
        if is_shared or _is_old(given):
            return given.change(Outcome.MANUAL, f"Put {given.name} into {keyword_name}.")
        edits = (given.rename(keyword_name), given.replace(f'{{"{key or given.name}": {given.text}}}'))
        return given.change(Outcome.REWRITTEN, f"{given.name} is a key of {keyword_name}.", *edits)

    return handle


def report_to(given: Given) -> Change | None:
    if given.known is None:
        message = 'report_to=None meant every installed integration, which is "all" now.'
        return given.change(Outcome.REWRITTEN, message, given.replace('"all"'))
    return None


def log_level_replica(given: Given) -> Change | None:
    if given.known == "silent":
        message = 'log_level_replica="silent" is not a level natively; "critical" says as little.'
        return given.change(Outcome.REWRITTEN, message, given.replace('"critical"'))
    return None
