"""The same programs for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from . import grammar

programs = st.integers(0, 2**32).map(lambda number: grammar.program(f"hypothesis:{number}"))
