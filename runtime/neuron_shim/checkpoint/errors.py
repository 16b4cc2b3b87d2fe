"""Why a checkpoint cannot be exported."""

from __future__ import annotations


class ExportError(Exception):
    """One sentence that names the file and the numbers. The destination is as it was before."""
