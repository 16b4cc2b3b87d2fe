"""The line on a terminal."""

from __future__ import annotations

import io

from neuron_shim.checkpoint import progress
from neuron_shim.checkpoint.progress import Bar, Counter


def test_line() -> None:
    assert progress.line("Writing", 1_000_000_000, 4_000_000_000, 2.0, 100) == (
        "Writing [######                  ]  25%  1.0 of 4.0 GB, 500 MB/s, 6 s left"
    )
    assert progress.line("Writing", 10**11, 10**12, 100.0, 100).endswith("1000 MB/s, 15 min 0 s left")
    assert progress.line("Writing", 10**11, 10**13, 100.0, 100).endswith("2 h 45 min left")
    assert progress.line("Writing", 5, 5, 0.0, 100) == f"Writing [{'#' * 24}] 100%  0.0 of 0.0 GB, 0 MB/s"
    assert progress.line("Comparing copies", 0, 0, 0.0, 100).startswith(f"Comparing copies [{'#' * 24}] 100%")


def test_line_fits_the_terminal() -> None:
    """One that wraps cannot be rewritten: a terminal would fill with copies of it."""
    assert progress.line("Writing", 35 * 10**9, 141 * 10**9, 1000.0, 80) == (
        "Writing [####               ]  25%  35.0 of 141.0 GB, 35 MB/s, 50 min 29 s left"
    )
    for columns in (1, 20, 60, 80, 200):
        assert len(progress.line("Comparing copies", 1, 3, 5.0, columns)) <= max(1, columns - 1)


def test_bar_leaves_nothing_behind() -> None:
    stream = io.StringIO()
    bar = Bar(stream)
    counter = Counter(bar, "Writing", 100)
    counter(60)
    counter(40)
    bar.close()
    lines = stream.getvalue().split("\r")
    assert [line[:8] for line in lines[1:3]] == ["Writing ", "Writing "]
    assert lines[-2].strip() == lines[-1] == ""


def test_nothing_is_written_where_nothing_happens() -> None:
    stream = io.StringIO()
    Bar(stream).close()
    assert stream.getvalue() == ""
