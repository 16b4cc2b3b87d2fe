"""What a shell offers."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from neuron_migrate.cli import command


def offered(*given: str) -> list[tuple[str, str]]:
    """The values for the last word, each with its kind."""
    completed = ShellComplete(command, {}, "neuron-migrate", "_NEURON_MIGRATE_COMPLETE")
    return [(item.value, item.type) for item in completed.get_completions(list(given[:-1]), given[-1])]


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (("--explain", "NM131"), ["NM131"]),
        (("--select", "nm131"), ["NM131"]),
        (("--ignore", "NM1,NM13"), ["NM1,NM130", "NM1,NM131", "NM1,NM133"]),
        (("--select", "XY"), []),
        (("--target", "tra"), ["transformers=5.20"]),
        (("--output-format", "s"), ["sarif"]),
        (("--verb",), ["--verbose"]),
    ],
)
def test_values(given: tuple[str, ...], values: list[str]) -> None:
    found = [value for value, _ in offered(*given)]
    assert found[: len(values)] == values
    assert bool(found) is bool(values)


@pytest.mark.parametrize("given", [("src/",), ("--report", "out"), ("--python", ""), ("a.py", "b")])
def test_files_are_left_to_the_shell(given: tuple[str, ...]) -> None:
    assert offered(*given) == [(given[-1], "file")]
