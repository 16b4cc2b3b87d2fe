"""What a row of the two tables is, and the releases that its ``first`` and ``last`` name."""

from __future__ import annotations

from dataclasses import dataclass

from neuron_codemods.model import Outcome

DROP = "drop"
"""Stands in ``Symbol.native`` for a name without counterpart: an import that is no longer used can be erased."""

RELEASES: tuple[str, ...] = (
    *("0.0.1", "0.0.2", "0.0.3", "0.0.4", "0.0.5", "0.0.6", "0.0.7", "0.0.8", "0.0.9", "0.0.10", "0.0.11"),
    *("0.0.12", "0.0.12.1", "0.0.13", "0.0.14", "0.0.15", "0.0.16", "0.0.17", "0.0.18", "0.0.19", "0.0.20"),
    *("0.0.21", "0.0.22", "0.0.23", "0.0.24", "0.0.25", "0.0.26", "0.0.27", "0.0.28"),
    *("0.1.0", "0.2.0", "0.2.1", "0.2.2", "0.3.0", "0.4.0", "0.4.1", "0.4.2", "0.4.3", "0.4.4", "0.4.5"),
)
"""Every release of Optimum Neuron on PyPI up to 0.4.5, in order."""


def release_key(release: str) -> tuple[int, ...]:
    """A release as numbers, for comparing: 0.0.9 comes before 0.0.28, and 0.0.12.1 between 0.0.12 and 0.0.13."""
    try:
        return tuple(map(int, release.split(".")))
    except ValueError:
        raise ValueError(f"{release!r} is not a release of Optimum Neuron, such as 0.0.28") from None


@dataclass(frozen=True)
class Symbol:
    """A public name of Optimum Neuron, by the module it could be imported from, and what becomes of it."""

    module: str
    name: str
    kind: str
    """class, function, constant, module or unknown."""
    first: str
    """The first release that had the name in this module; see ``RELEASES``."""
    last: str
    category: str
    """The part of the library: trainer, training-args, model-inference, diffusion, cache, ..."""
    outcome: Outcome
    native: str
    """The dotted name of the native object; ``drop`` when there is none and an unused import can go; or empty.

    With the outcome manual, a dotted name is where to look and not what an import can be renamed to.
    """
    message: str
    """What differs or what to do: sentences that a user can read without any other context."""

    @property
    def rename(self) -> str:
        """The dotted name that an import of this one becomes, or nothing when it must not be renamed."""
        return "" if self.outcome is Outcome.MANUAL else self.native

    @property
    def dropped(self) -> bool:
        """Whether the name has no counterpart at all."""
        return self.native == DROP


@dataclass(frozen=True)
class Keyword:
    """A keyword argument, method or attribute of an Optimum Neuron object, and what becomes of it."""

    owner: str
    """One of ``neuron_codemods.data.OWNERS``."""
    member: str
    """The method that takes the keyword (``__init__``, ``from_pretrained``; ``call`` for a function), or the method or
    attribute itself when there is no keyword. Several of them are joined by a bar."""
    keyword: str
    """The keyword, or nothing when the row is about the member itself. Several spellings are joined by a bar."""
    first: str
    last: str
    ranges: str
    """The exact ranges of releases (``0.0.19-0.3.0;0.4.2-0.4.5``) when there is a gap between first and last."""
    default: str
    """The default as source text; when it changed, each with its releases: ``False (0.0.8-0.3.0) | True (0.4.0)``."""
    native: str
    """The native keyword or member when the action is rename or keep; otherwise where to look, or nothing."""
    action: str
    """keep, rename, move, rewrite, drop or manual."""
    reason: str
    """What differs or what to do, in sentences."""

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(self.member.split("|"))

    @property
    def names(self) -> tuple[str, ...]:
        """The spellings of the keyword, or of the member when the row is about a method or an attribute."""
        return tuple((self.keyword or self.member).split("|"))
