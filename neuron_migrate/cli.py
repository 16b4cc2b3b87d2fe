"""The command line: what may be asked, what is wrong usage, and the exit status."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from typing import Any, NoReturn

import click

from neuron_migrate import completion, interrupts
from neuron_migrate.configuration import Configurations
from neuron_migrate.discover import discover
from neuron_migrate.gitignore import PatternError
from neuron_migrate.output import ClosedError, NoAnswerError, Output
from neuron_migrate.progress import MANY, Progress
from neuron_migrate.reports import Detail, Mode, Report
from neuron_migrate.reports.choice import FORMATS, SUFFIXES, make, page
from neuron_migrate.results import NOT_PROCESSED, FileResult, Problem, Totals
from neuron_migrate.run import run
from neuron_migrate.scan import Scan, scan, standard_input

INTERRUPTED = 130
READER_GONE = 141

EXIT_STATUS = """\b
Exit status (1, 4 and 8 add up):
  0  nothing is left to do
  1  files would change (--diff, --check)
  2  wrong usage
  4  something is left to do by hand
  8  a file could not be processed
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; no user sees a traceback."""
    interrupts.install()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a file name or a message may hold what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        status = command.main(arguments, prog_name="neuron-migrate", standalone_mode=False)
        Output(sys.stdout, needed=True).flush()
    except click.ClickException as error:
        _refused(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted. Every file is whole: migrated, or as it was.", err=True)
        return INTERRUPTED
    except NoAnswerError:
        click.echo("\nNo answer came. Every file is whole: migrated, or as it was.", err=True)
        return INTERRUPTED
    except ClosedError:
        return READER_GONE
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"neuron-migrate: {place}{error.strerror or error}", err=True)
        return NOT_PROCESSED
    return int(status or 0)


def _refused(error: click.ClickException) -> None:
    said = StringIO()
    error.show(said)
    out = Output(sys.stderr)
    for line in said.getvalue().splitlines():
        out.paragraph(line)


def _version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from neuron_migrate import __version__

        click.echo(f"neuron-migrate {__version__}")
        context.exit()


@click.command(context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_STATUS)
@click.argument("paths", metavar="PATH...", nargs=-1, shell_complete=completion.files)
@click.option("--diff", is_flag=True, help="Show what would change; write nothing.")
@click.option("--check", is_flag=True, help="List what would change; write nothing.")
@click.option("-i", "--interactive", is_flag=True, help="Ask about each change before it is written.")
@click.option(
    "--select",
    metavar="CODES",
    shell_complete=completion.codes,
    multiple=True,
    help="Run only these rules, as in NM1,NM301.",
)
@click.option(
    "--ignore", metavar="CODES", shell_complete=completion.codes, multiple=True, help="Do not run these rules."
)
@click.option("--annotate", is_flag=True, help="Also write what to review into the files.")
@click.option("--no-shim", is_flag=True, help="Write plain lines where neuron_shim would be imported.")
@click.option(
    "--target",
    metavar="LIBRARY=VERSION",
    shell_complete=completion.libraries,
    multiple=True,
    help="Write for an older transformers or TRL.",
)
@click.option("--exclude", metavar="GLOB", multiple=True, help="Skip files, as a line of .gitignore does.")
@click.option("--skip-unknown", is_flag=True, help="Pass over named files of other kinds, for hooks.")
@click.option("--stdin-filename", metavar="NAME", help="What to call the text read from '-'.")
@click.option("--isolated", is_flag=True, help="Do not read [tool.neuron-migrate] in pyproject.toml.")
@click.option("-j", "--jobs", metavar="N", type=click.IntRange(min=1), help="Use at most N processes.")
@click.option("--output-format", type=click.Choice(FORMATS), default="text", help="How the run is told.")
@click.option("--statistics", is_flag=True, help="Tell only the counts, not each finding.")
@click.option(
    "--report", metavar="FILE", shell_complete=completion.files, help="Also write a summary to this .md or .html file."
)
@click.option("--verify", is_flag=True, help="Also tell what the installed libraries lack.")
@click.option(
    "--python",
    metavar="PATH",
    shell_complete=completion.files,
    help="With --verify: the interpreter that has the libraries.",
)
@click.option("-q", "--quiet", is_flag=True, help="Tell only errors and what to do by hand.")
@click.option("-v", "--verbose", is_flag=True, help="Also tell each rewritten reference.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colours.")
@click.option("--list-rules", is_flag=True, help="List the rules and exit.")
@click.option(
    "--explain", metavar="CODE", shell_complete=completion.codes, help="Explain a rule, with examples, and exit."
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."
)
@click.pass_context
def command(context: click.Context, /, paths: tuple[str, ...], **given: Any) -> None:
    """Rewrite Optimum Neuron code to native PyTorch for Trainium.

    PATH is a file or a directory, or '-' for a text on standard input.

    \b
      neuron-migrate --diff .     show what would change
      neuron-migrate .            rewrite the files in place
      neuron-migrate --check .    fail if anything would change (for CI)
      neuron-migrate lsp          serve an editor
    """
    terminal = sys.stdout is not None and sys.stdout.isatty()
    if given["list_rules"] or given["explain"] is not None:
        _tell_of_rules(given, Output(sys.stdout, color=given["color"], needed=True), terminal=terminal)
        return
    if paths == ("lsp",) and not os.path.exists("lsp"):
        _serve()
    if not paths:
        raise click.UsageError("Nothing to migrate: name a file, a directory, or '-' for standard input.")
    if "-" in paths and len(paths) > 1:
        raise click.UsageError("'-' stands alone: standard input cannot be migrated together with files.")
    if given["stdin_filename"] is not None and paths != ("-",):
        raise click.UsageError("--stdin-filename only goes with '-'.")
    details = [f"--{option}" for option in ("quiet", "verbose", "statistics") if given[option]]
    if len(details) > 1:
        raise click.UsageError(f"{' and '.join(details)} exclude each other.")
    if paths == ("-",) and given["output_format"] != "text" and not (given["diff"] or given["check"]):
        raise click.UsageError("Standard output holds the migrated text: add --check or --diff to get a report there.")
    if given["interactive"] and (given["diff"] or given["check"] or paths == ("-",)):
        raise click.UsageError("--interactive writes what is wanted: it does not go with --diff, --check or '-'.")
    if given["python"] is not None and not given["verify"]:
        raise click.UsageError("--python only goes with --verify.")
    if given["report"] is not None:
        _check_page(given["report"])
    context.exit(_migrate(paths, given))


def _check_page(path: str) -> None:
    """Before anything is rewritten: the page is written last."""
    folder = os.path.dirname(path) or "."
    reason = ""
    if not path.lower().endswith(SUFFIXES):
        reason = f"must end in {', '.join(SUFFIXES)}"
    elif os.path.isdir(path):
        reason = "is a directory"
    elif not os.path.isdir(folder):
        reason = f"cannot be written: there is no directory {folder!r}"
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
        reason = "cannot be written: permission denied"
    if reason:
        raise click.BadParameter(f"{path!r} {reason}.", param_hint="--report")


def _serve() -> NoReturn:
    try:
        from neuron_migrate import lsp
    except ModuleNotFoundError as error:
        reason = f"The language server needs {error.name}: pip install 'neuron-migrate[lsp]'."
        raise click.UsageError(reason) from error
    lsp.main()
    raise SystemExit(0)  # the server has closed the streams, so there is nothing more to say


def _tell_of_rules(given: dict[str, Any], out: Output, *, terminal: bool) -> None:
    from neuron_migrate import catalog

    if given["output_format"] not in ("text", "json"):
        raise click.UsageError(f"The rules cannot be told as {given['output_format']}, only as text or JSON.")
    try:
        if given["explain"] is not None:
            catalog.explain(given["explain"], out)
        elif given["output_format"] == "json":
            out.line(catalog.machine_list())
        else:
            catalog.list_rules(out, terminal=terminal)
    except catalog.UnknownCodeError as error:
        raise click.BadParameter(f"{error}.", param_hint="--explain") from error


def _migrate(paths: tuple[str, ...], given: dict[str, Any]) -> int:
    filters = paths == ("-",)
    mode = _mode(given, filters=filters)
    progress = Progress(sys.stderr, wanted=not given["quiet"], color=given["color"])
    report = _report(mode, given, progress)
    configurations = _configurations(given)

    further = configurations.needles((given["stdin_filename"] or "",) if filters else paths)
    if given["verify"]:
        from neuron_migrate.verify import NEEDLES

        further += NEEDLES
    if filters:
        scanned = standard_input(sys.stdin.buffer.read(), given["stdin_filename"] or "<stdin>", further)
    else:
        scanned = _files(paths, given, progress, further)
    totals = Totals(scanned=scanned.files)
    hits = len(scanned.hits)
    progress.begin("Migrating", hits * 2, long=hits > MANY)
    chosen = _choosing(given, progress)
    try:
        with _verifying(given) as checked:
            for result in run(scanned, configurations, jobs=given["jobs"], tick=progress.tick):
                if mode is Mode.WRITE:
                    result = _written(chosen(result))
                elif mode is Mode.FILTER:
                    # Also when it fails, so that "... | neuron-migrate - | sponge x.py" never loses a text.
                    _pipe(result.before if result.after is None else result.after)
                result = checked(result, mode)
                totals.add(result)
                report.file(result)
    finally:
        progress.hide()  # an interrupted run must give the cursor back
    report.end(totals)
    return totals.status(writes=mode.writes)


def _choosing(given: dict[str, Any], progress: Progress) -> Callable[[FileResult], FileResult]:
    if not given["interactive"]:
        return lambda result: result
    from neuron_migrate.interactive import Chooser

    return Chooser(Output(sys.stderr, color=given["color"], before=progress.hide)).chosen


@contextlib.contextmanager
def _verifying(given: dict[str, Any]) -> Iterator[Callable[[FileResult, Mode], FileResult]]:
    """What asks an interpreter about each result, if that is wanted."""
    if not given["verify"]:
        yield lambda result, mode: result
        return
    from neuron_migrate.verify.verifier import Verifier, VerifyError

    try:
        with Verifier(given["python"] or sys.executable) as verifier:
            yield lambda result, mode: verifier.checked(result, written=mode is Mode.WRITE)
    except VerifyError as error:
        raise click.BadParameter(f"{error}.", param_hint="--python" if given["python"] else "--verify") from error


def _report(mode: Mode, given: dict[str, Any], progress: Progress) -> Report:
    needed = mode is not Mode.WRITE or given["output_format"] != "text"
    out = Output(sys.stdout, color=given["color"], needed=needed, before=progress.hide)
    err = Output(sys.stderr, color=given["color"], before=progress.hide)
    report = make(given["output_format"], mode, out, err, _detail(given))
    return page(report, given["report"], mode) if given["report"] is not None else report


def _pipe(data: bytes) -> None:
    Output(sys.stdout, needed=True).data(data)


def _detail(given: dict[str, Any]) -> Detail:
    for detail in (Detail.QUIET, Detail.VERBOSE, Detail.STATISTICS):
        if given[detail.name.lower()]:
            return detail
    return Detail.NORMAL


def _mode(given: dict[str, Any], *, filters: bool) -> Mode:
    if given["diff"]:  # stronger than --check, of which it shows the reasons
        return Mode.DIFF
    if given["check"]:
        return Mode.CHECK
    return Mode.FILTER if filters else Mode.WRITE


def _configurations(given: dict[str, Any]) -> Configurations:
    codes: dict[str, tuple[str, ...]] = {}
    for option in ("select", "ignore"):
        try:
            codes[option] = _prefixes(given[option])
        except ValueError as error:
            raise click.BadParameter(f"{error}.", param_hint=f"--{option}") from error
    options = {**codes, "annotate": given["annotate"], "exclude": given["exclude"]}
    chosen = {key: value for key, value in options.items() if value}
    if given["no_shim"]:
        chosen["shim"] = False
    if given["target"]:
        chosen["targets"] = _targets(given["target"])
    return Configurations(chosen, use=not given["isolated"], prefixes=_prefixes)


def _targets(values: Iterable[str]) -> tuple[tuple[str, str], ...]:
    from neuron_codemods.targets import TargetError, parsed

    try:
        return parsed(values)
    except TargetError as error:
        raise click.BadParameter(f"{error}.", param_hint="--target") from error


def _prefixes(values: Iterable[str]) -> tuple[str, ...]:
    if not values:
        return ()  # the rules are not imported for nothing
    from neuron_migrate import catalog

    return catalog.prefixes(values)


def _files(paths: tuple[str, ...], given: dict[str, Any], progress: Progress, further: tuple[bytes, ...]) -> Scan:
    progress.begin("Looking for what to migrate" if further else "Looking for Optimum Neuron")
    try:
        return scan(discover(paths, given["exclude"], skip_unknown=given["skip_unknown"]), progress.tick, further)
    except PatternError as error:
        raise click.BadParameter(f"{error}.", param_hint="--exclude") from error


def _written(result: FileResult) -> FileResult:
    if result.after is None:
        return result
    from neuron_migrate import positions, write

    try:
        write.replace(result.path, result.before, result.after)
    except write.WriteError as error:
        return result.failed(Problem(str(error)))
    return positions.in_new_text(result)
