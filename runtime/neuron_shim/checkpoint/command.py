"""``neuron-shim export SRC DST``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

from neuron_shim.checkpoint.dtypes import SHORT_NAMES
from neuron_shim.checkpoint.progress import Bar, silent
from neuron_shim.checkpoint.replicas import CHOICES
from neuron_shim.checkpoint.sharding import parse_size
from neuron_shim.command import CommandError

if TYPE_CHECKING:
    from neuron_shim.checkpoint.export import ExportReport

DESCRIPTION = """\
Write a checkpoint as plain safetensors with its config and tokenizer files, which any GPU loads.

SRC is a folder that transformers, Trainer, PEFT, accelerate, torch.distributed.checkpoint or Optimum Neuron wrote; its
layout is found out from its files. Of Optimum Neuron that is what training left (shards/, tensor_parallel_shards/,
adapter_shards/), and exported models that still have their weights. DST must not exist or be empty. It appears when
all of it was written and read back, and not before."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("source", metavar="SRC", help="the folder of the checkpoint")
    parser.add_argument("destination", metavar="DST", help="the folder to write")
    parser.add_argument("--dtype", choices=SHORT_NAMES, help="dtype of the weights; by default they stay as they are")
    parser.add_argument(
        "--max-shard-size", metavar="SIZE", default="5GB", type=_size, help="largest file of weights (default 5GB)"
    )
    parser.add_argument("--merge-adapter", metavar="BASE", help="merge the adapter SRC into the model in BASE")
    parser.add_argument("--adapter", metavar="NAME", help="which adapter, if SRC has several")
    parser.add_argument("--config", metavar="FOLDER", help="take the config.json that SRC lacks from here")
    parser.add_argument(
        "--kv",
        choices=CHOICES,
        help="where copies of a key/value head (or of another tensor) differ, which stops the export otherwise, keep "
        "the first, their mean, or all of them in a wider model",
    )
    parser.add_argument(
        "--optimizer",
        action="store_true",
        help="also convert the state of the optimizer, if Optimum Neuron saved one, to an optimizer.pt from which "
        "Trainer resumes",
    )
    parser.add_argument(
        "--master-weights",
        action="store_true",
        help="export the weights in fp32 that the optimizer (ZeRO-1) saved, not those rounded to bf16",
    )
    parser.add_argument("--jobs", metavar="N", type=int, default=2, help="write N tensors at once (default 2)")
    parser.add_argument("--files-from", metavar="FOLDER", help="take config and tokenizer that SRC lacks from here")
    parser.add_argument("--overwrite", action="store_true", help="replace an exported checkpoint in DST")
    parser.add_argument("--dry-run", action="store_true", help="check everything and say what would be written")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def run(arguments: argparse.Namespace) -> int:
    from neuron_shim.checkpoint.errors import ExportError
    from neuron_shim.checkpoint.export import export_checkpoint

    bar = Bar(sys.stderr) if sys.stderr.isatty() else None
    try:
        report = export_checkpoint(
            arguments.source,
            arguments.destination,
            dtype=arguments.dtype,
            max_shard_size=arguments.max_shard_size,
            merge_adapter=arguments.merge_adapter or False,
            adapter=arguments.adapter,
            config=arguments.config,
            tokenizer=arguments.files_from,
            kv=arguments.kv,
            optimizer=arguments.optimizer,
            master_weights=arguments.master_weights,
            jobs=arguments.jobs,
            overwrite=arguments.overwrite,
            dry_run=arguments.dry_run,
            progress=bar or silent,
        )
    except (ExportError, ValueError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error.filename or arguments.source}: {error.strerror or error}.") from error
    finally:
        if bar is not None:
            bar.close()
    if report is not None:  # None in a process of torchrun that is not the main one
        columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(as_json(report) if arguments.output_format == "json" else as_text(report, columns))
    return 0


def as_json(report: ExportReport) -> str:
    return json.dumps(dataclasses.asdict(report), indent=2)


def as_text(report: ExportReport, columns: int | None = None) -> str:
    """The report, its sentences wrapped at so many columns."""
    lines = [
        f"{report.source} is {report.layout}.",
        f"{'Would write' if report.dry_run else 'Wrote'} {report.destination}: {report.tensors} tensors, "
        f"{_bytes(report.bytes)}, in {len(report.files)} file{'s' * (len(report.files) != 1)}"
        + ("." if report.dry_run else f"; read back and verified ({report.seconds:.1f} s)."),
        f"With {', '.join(report.companions)}.",
    ]
    if report.optimizer_bytes:
        lines.append(f"The state of the optimizer is {_bytes(report.optimizer_bytes)}; Trainer resumes from it.")
    if report.dry_run and report.plan:
        lines += ["The tensors are put together so:", *(f"  {line}" for line in report.plan)]
    if report.dropped:
        lines.append(f"Left out, because the model ties it to an equal tensor: {', '.join(report.dropped)}.")
    if report.left_behind:
        lines.append(f"Left behind: {', '.join(report.left_behind)}.")
    lines += [f"Note: {note}" for note in report.notes]
    if columns is not None:
        lines = [_wrapped(line, columns) for line in lines]
    return "\n".join(lines)


def _wrapped(line: str, columns: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(
        line, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )


def _bytes(number: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.4g} {unit}"
        number /= 1000  # type: ignore[assignment]
    return f"{number:.4g} GB"
