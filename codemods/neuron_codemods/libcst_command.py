"""The same rules for LibCST's own runner, and for tools that are built on it.

    python -m libcst.tool codemod -x neuron_codemods.libcst_command.MigrateCommand PATH...

A file is looked at by itself: names that one file passes on to another are only followed by ``neuron-migrate``.

https://libcst.readthedocs.io/en/latest/codemods_tutorial.html
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence

import libcst
from libcst.codemod import CodemodCommand, CodemodContext, SkipFile

from neuron_codemods.engine import migrate
from neuron_codemods.model import Outcome, Settings, SourceError
from neuron_codemods.targets import TargetError, parsed


class MigrateCommand(CodemodCommand):
    """Moves a module off Optimum Neuron; what a person must know becomes a warning of the runner."""

    DESCRIPTION = "Rewrite Optimum Neuron code to native PyTorch for Trainium."

    @staticmethod
    def add_args(arg_parser: ArgumentParser) -> None:
        """The choices of ``neuron-migrate`` that concern one file."""
        arg_parser.add_argument("--select", nargs="*", default=[], help="run only these rules")
        arg_parser.add_argument("--ignore", nargs="*", default=[], help="do not run these rules")
        arg_parser.add_argument(
            "--target",
            nargs="*",
            default=[],
            metavar="LIBRARY=VERSION",
            type=_target,
            help="write for an older transformers or TRL",
        )

    def __init__(
        self,
        context: CodemodContext,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        target: Sequence[str] = (),
    ):
        super().__init__(context)
        self._settings = Settings(select=tuple(select), ignore=tuple(ignore), targets=parsed(target))

    def transform_module_impl(self, tree: libcst.Module) -> libcst.Module:
        """The migrated module; the same object if nothing changes."""
        try:
            migration = migrate(tree.code, path=self.context.filename or "<text>", settings=self._settings)
        except SourceError as error:
            raise SkipFile(f"line {error.line}: {error.message}") from error
        for finding in migration.findings:
            if finding.outcome is not Outcome.REWRITTEN:
                place = f"{finding.start.line}:{finding.start.column}"
                self.warn(f"{place}: {finding.code} {finding.outcome.value} {' '.join(finding.message.split())}")
        return libcst.parse_module(migration.text, tree.config_for_parsing) if migration.changed else tree


def _target(value: str) -> str:
    try:
        parsed([value])
    except TargetError as error:
        raise ArgumentTypeError(str(error)) from error
    return value
