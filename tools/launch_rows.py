"""Prints every row of ``launch.tsv`` and ``variables.tsv`` (in ``neuron_codemods/data``) with what a run makes of it.

python tools/launch_rows.py
"""

from __future__ import annotations

from collections import Counter

from neuron_codemods import migrate_text
from neuron_codemods.data.launch import Row, rows
from neuron_codemods.data.variables import FLAGS, variables

SORTS = ("command", "neuron flag", "flag")
PLAIN = ("manual", "review", "rewritten")


def lines_of(row: Row) -> list[str]:
    """Lines in which a row is met, one for each spelling."""
    if row.what == "command":
        arguments = {"export": "-m gpt2 out/", "consolidate": "in out", "serve": "-m gpt2", "unwrap": "python a.py"}
        return [f"{row.name} {arguments.get(row.action, 'x.py' if row.name == 'torchrun' else 'x')}"]
    spellings = [f"--{row.name}", f"--{row.name.replace('_', '-')}"]
    values = [" 2", "=2"] if row.takes == "value" else ["", " true", "=False"]
    evidence = "--async_save " if row.name != "async_save" else "--zero_1 "
    return [f"torchrun a.py {evidence}{spelling}{value}" for spelling in spellings for value in values]


def outcome(line: str) -> tuple[str, str]:
    """The outcome of a line, and what it becomes."""
    migration = migrate_text("shell", f"# Neuron\n{line}\n")
    told = {finding.outcome.value for finding in migration.findings}
    shown = [part for part in migration.text.splitlines() if not part.startswith("#")]
    kept = next((name for name in PLAIN if name in told), "kept")
    return kept, " ".join(" ".join(shown).replace("HF_DEACTIVATE_ASYNC_LOAD=1 ", "").split())


def main() -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for sort in SORTS:
        print(f"\n{sort}\n")
        for row in rows(sort).values():
            found = [outcome(line) for line in lines_of(row)]
            first, becomes = found[0]
            counts[sort, first] += 1
            print(f"  {row.name:<52} {first:<10} {becomes or '(nothing)'}")
    print("\nvariable\n")
    for name in (row.name.replace("*", "MODEL") for row in variables()):
        first, becomes = outcome(f"export {name}={'--cache_dir=/x' if name == FLAGS else 1}")
        counts["variable", first] += 1
        print(f"  {name:<52} {first:<10} {becomes or '(nothing)'}")
    print()
    for (sort, name), count in sorted(counts.items()):
        print(f"{sort:<12} {name:<10} {count}")


if __name__ == "__main__":
    main()
