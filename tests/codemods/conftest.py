"""Random tests are the same in every run and have no time limit of their own: the machine may be busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("codemods", deadline=None, derandomize=True, database=None)
settings.load_profile("codemods")
