"""What happened in a process, a line of JSON each.

Every line is written at once and at the end of the file, so nothing is lost when the process dies, and children that
were forked write into the same file.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

Event = dict[str, Any]


class Journal:
    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, event: str, **fields: Any) -> None:
        os.write(self._file, (json.dumps({"event": event, **fields}, default=str) + "\n").encode())


def read_journal(path: Path) -> list[Event]:
    """Its events; a line that was cut off is left out."""
    events = []
    for line in path.read_bytes().splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            continue
    return events
