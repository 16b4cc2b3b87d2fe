"""Files of environment variables, as ``docker run --env-file``, Compose and dotenv read them: ``X=1`` on a line each.

A value goes to the end of its line, whatever is in it. https://docs.docker.com/reference/cli/docker/container/run/#env
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from neuron_codemods.kinds.exported import exported
from neuron_codemods.texts import Parsed, Region

_LINE = re.compile(
    r"[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?P<quote>[\"']?)(?P<value>.*?)(?P=quote)\s*"
)


def parse(text: str, path: str) -> EnvFile:
    """A file of variables; a line that sets none stays as it is."""
    return EnvFile(text)


class EnvFile(Parsed):
    """A file of variables."""

    def regions(self) -> Sequence[Region]:
        found = []
        for line, start in zip(self.lines, self.line_starts, strict=False):
            said = _LINE.fullmatch(line)
            if said is not None:
                lines = (start, start + len(line))
                found.append(exported(self, lines, start + said.start("name"), said["name"], said["value"]))
        return found
