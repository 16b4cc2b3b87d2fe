"""Notebooks for the tests, written as the usual programs write them."""

from __future__ import annotations

import json
from typing import Any

import nbformat

from neuron_codemods import Migration, migrate_text


def code(source: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source, **more}


def prose(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def notebook(*cells: dict[str, Any] | str, listed: bool = True, language: str = "python", **style: Any) -> str:
    """A notebook; a cell that is only a text is code. ``style`` is that of ``json.dumps``."""
    made = [code(cell) if isinstance(cell, str) else dict(cell) for cell in cells]
    for cell in made:
        if listed:
            cell["source"] = cell["source"].splitlines(keepends=True)
    metadata = {"kernelspec": {"display_name": language, "language": language, "name": language}}
    document = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(document, **{"indent": 1, "ensure_ascii": False, **style}) + "\n"


def sources(text: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"]]


def migrated(text: str) -> Migration:
    """The migration, which is valid, changes nothing but sources, and nothing at all the second time."""
    migration = migrate_text("notebook", text)
    nbformat.validate(nbformat.reads(migration.text, as_version=4))
    assert without_sources(migration.text) == without_sources(text)
    again = migrate_text("notebook", migration.text)
    assert again.text == migration.text
    return migration


def without_sources(text: str) -> Any:
    document = json.loads(text)
    for cell in document["cells"]:
        cell["source"] = type(cell["source"])()
    return document
