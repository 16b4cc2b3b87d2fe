"""What a shell offers after an option; imported modules that cost are imported when a shell asks.

https://click.palletsprojects.com/en/stable/shell-completion/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Whatever the shell itself offers."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def codes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The rule codes; behind a comma, those for the next of a list."""
    from click.shell_completion import CompletionItem

    from neuron_migrate import catalog

    before, comma, begun = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{code}", help=name)
        for code, name in catalog.names().items()
        if code.startswith(begun.upper())
    ]


def libraries(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The oldest version of each library whose version matters."""
    from click.shell_completion import CompletionItem

    from neuron_codemods.targets import OLDEST

    offered = (f"{library}={version}" for library, version in OLDEST.items())
    return [CompletionItem(value) for value in offered if value.startswith(incomplete)]
