"""What generated texts are made of, frozen: a seed makes the same text although rules get new cases.

``corpus.jsonl`` holds the cases of all rules, the scripts that other tests migrate, and the names and keywords of the
tables, each with where it is from. ``python -m tests.fuzz --renew`` writes it anew, and all seeds with it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from neuron_codemods.data import DROP, OWNERS, all_symbols, keywords
from neuron_codemods.registry import rules

FILE = Path(__file__).with_name("corpus.jsonl")
_TESTS = Path(__file__).parents[1]


@cache
def rows() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(line) for line in FILE.read_text("utf-8").splitlines())


def renew() -> None:
    """Write the file from what the rules, the scripts and the tables say now."""
    FILE.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _current()), "utf-8")


def _current() -> Iterator[dict[str, Any]]:
    seen = set()
    for entry in rules():
        for case in entry.cases:
            for text in (case.before, case.expected):
                if (entry.rule.kind, text) not in seen:
                    seen.add((entry.rule.kind, text))
                    yield {"from": entry.rule.code, "kind": entry.rule.kind, "text": text}
    for path in sorted(_TESTS.glob("**/scripts/**/*.py")):
        if "after" not in path.parts:
            yield {"from": path.relative_to(_TESTS).as_posix(), "kind": "script", "text": path.read_text("utf-8")}
    names = defaultdict(list)
    for row in all_symbols():
        if row.name.isidentifier():
            names[row.module].append(row.name)
    for module, found in names.items():
        yield {"from": "symbols.tsv", "kind": "names", "module": module, "names": found}
    taken = {name for owner in OWNERS for name in keywords(owner)} - {DROP}
    yield {"from": "keywords.tsv", "kind": "keywords", "names": sorted(filter(str.isidentifier, taken))}
