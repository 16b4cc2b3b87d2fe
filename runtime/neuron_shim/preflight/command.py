"""``neuron-shim preflight``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from neuron_shim.command import CommandError
from neuron_shim.preflight import launch
from neuron_shim.preflight.journal import read_journal
from neuron_shim.preflight.judge import judge
from neuron_shim.preflight.report import as_json, as_text
from neuron_shim.preflight.result import Result, Severity

DESCRIPTION = """\
Run a script on a simulated Neuron device, and say what would fail or recompile on Trainium.

The script runs on the CPU as it is, until it has done its steps or ends by itself; so give it a small model. Where the
device would refuse something, that is noted and the script goes on. What the script prints goes to the error output,
the report to the standard output. A Trainer writes its checkpoints and models to a temporary folder, evaluates the
first batches only, and reports to no tracker; whatever else the script does, it does.
"""
EPILOG = """\
Exit status: 0 if nothing was found, or only what costs time now and then; 1 if something would fail or recompile at
every step; 2 for wrong usage; 3 if the script failed by itself; 4 if no device can be simulated here.
"""

SCRIPT_FAILED = 3
IMPOSSIBLE = 4
INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--nproc-per-node", type=_at_least_one, default=1, metavar="N", help="run N processes, as torchrun would"
    )
    parser.add_argument(
        "--steps",
        type=_at_least_one,
        default=5,
        metavar="N",
        help="end after N optimizer steps or calls of generate (default 5)",
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS", help="arguments of the script")


def _at_least_one(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    if not arguments.module:
        _check(arguments.script)
    started = launch.Launch(
        arguments.script, arguments.arguments, arguments.module, arguments.nproc_per_node, arguments.steps
    )
    with tempfile.TemporaryDirectory(prefix="neuron-shim-preflight-") as name:
        folder = Path(name)
        ended = launch.run(started, folder)
        paths = {rank: folder / f"events-{rank}.jsonl" for rank in range(arguments.nproc_per_node)}
        journals = {rank: read_journal(path) for rank, path in paths.items() if path.exists()}
    result = judge(arguments.script, journals, ended)
    if result.ending.how == "impossible":
        print(f"neuron-shim preflight: {result.ending.error}", file=sys.stderr)
        return IMPOSSIBLE
    sys.stderr.flush()
    print(as_json(result) if arguments.output_format == "json" else as_text(result))
    return status(result)


def _check(script: str) -> None:
    if os.path.isdir(script) or not os.path.exists(script):
        what = "a folder" if os.path.isdir(script) else "not there"
        raise CommandError(f"preflight: the script {script} is {what}; name a Python file, or a module with -m.")


def status(result: Result) -> int:
    ending = result.ending
    if ending.how == "interrupted":
        return INTERRUPTED
    if ending.how == "died" or (ending.how == "failed" and not ending.by_device):
        return SCRIPT_FAILED
    return int(any(finding.severity is not Severity.COSTS for finding in result.findings))
