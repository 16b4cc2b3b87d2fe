"""``neuron-shim doctor``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from neuron_shim.doctor.checks import examine
from neuron_shim.doctor.finding import Verdict
from neuron_shim.doctor.machine import this_machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_shim.doctor.finding import Finding

DESCRIPTION = """\
Say whether this machine is ready for native Trainium runs: instance, Python, packages, environment, parallel sizes.

Reads files, the environment and package metadata. Opens no device and asks nothing over the network. Exit status: 1 if
there is a problem, 0 if not."""

COLUMN = 20
"""Where the facts stand, behind verdict and topic."""
WIDEST = 100


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--output-format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    findings = examine(this_machine())
    print(as_json(findings) if arguments.output_format == "json" else as_text(findings))
    return status(findings)


def status(findings: Sequence[Finding]) -> int:
    return int(any(finding.verdict is Verdict.PROBLEM for finding in findings))


def as_json(findings: Sequence[Finding]) -> str:
    return json.dumps(
        {"ready": not status(findings), "findings": [dataclasses.asdict(finding) for finding in findings]}, indent=2
    )


def as_text(findings: Sequence[Finding], width: int | None = None) -> str:
    """The report for a terminal of ``width`` columns, by default this one's; a pipe is endlessly wide."""
    columns = width or shutil.get_terminal_size((1 << 16, 0)).columns
    width = min(WIDEST, columns)
    lines = []
    for finding in findings:
        lines += _wrapped(finding.fact, width, f"{finding.verdict.value:8} {finding.topic:10} ")
        if finding.advice and finding.verdict is not Verdict.OK:
            lines += _wrapped(finding.advice, width)
            lines += (_whole(text, columns) for text in (finding.command, finding.url) if text)
    counts = Counter(finding.verdict for finding in findings)
    problems, warnings = counts[Verdict.PROBLEM], counts[Verdict.WARNING]
    lines.append("")
    lines.append(
        f"{'Not ready' if problems else 'Ready'}: {problems} problem{'s' * (problems != 1)}, "
        f"{warnings} warning{'s' * (warnings != 1)}."
    )
    return "\n".join(lines)


def _wrapped(text: str, width: int, first: str = " " * COLUMN) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * COLUMN,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _whole(text: str, columns: int) -> str:
    """What is to be copied, in one piece: at the left where it would not fit."""
    return " " * (COLUMN if COLUMN + len(text) <= columns else 0) + text
