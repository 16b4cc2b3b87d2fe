"""The command ``neuron-shim``.

A subcommand is a module with ``configure(parser)``, which adds its arguments, and ``run(arguments)``, which returns
the exit status. Only the module of the subcommand that is asked for is imported. The standard library parses: the shim
needs no other package.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import signal
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

INTERRUPTED = 130


class Subcommand(NamedTuple):
    module: str
    help: str


SUBCOMMANDS = {
    "doctor": Subcommand("neuron_shim.doctor.command", "say whether this machine is ready for native Trainium runs"),
    "preflight": Subcommand(
        "neuron_shim.preflight.command", "run a script on a simulated device, and say what would fail"
    ),
    "export": Subcommand("neuron_shim.checkpoint.command", "write a checkpoint as plain safetensors"),
}


class CommandError(Exception):
    """One sentence for the user; the command ends with status 1."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; no user sees a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a file name may hold what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    parser = _parser(given)
    parsed = parser.parse_args(given)
    if parsed.subcommand is None:
        parser.print_help()
        return 2
    try:
        with _ending_by_exception():
            status: int = parsed.run(parsed)
            sys.stdout.flush()
            return status
    except CommandError as error:
        print(f"neuron-shim: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("neuron-shim: interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # so that Python does not complain once more while it ends
        return 141


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="neuron-shim", description="Tools for scripts that were migrated to native PyTorch on AWS Trainium."
    )
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    subparsers = parser.add_subparsers(dest="subcommand", metavar="COMMAND")
    wanted = next((word for word in given if not word.startswith("-")), None)
    for name, subcommand in SUBCOMMANDS.items():
        subparser = subparsers.add_parser(name, help=subcommand.help)
        if name == wanted:
            module: Any = importlib.import_module(subcommand.module)
            module.configure(subparser)
            subparser.set_defaults(run=module.run)
    return parser


class _Version(argparse.Action):
    def __init__(self, **settings: Any) -> None:
        super().__init__(nargs=0, **settings)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        import neuron_shim

        print(f"neuron-shim {neuron_shim.__version__}")
        parser.exit()


@contextlib.contextmanager
def _ending_by_exception() -> Iterator[None]:
    """SIGTERM, as a scheduler or a spot instance sends it, and a closed terminal clean up as Ctrl-C does."""

    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before: dict[int, Any] = {}
    with contextlib.suppress(ValueError):  # not the main thread
        for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup sets it
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
