"""The same programs for hypothesis, which can make a failing one smaller by itself."""

from __future__ import annotations

from hypothesis import strategies as st

from . import grammar

programs = st.randoms(use_true_random=False).map(grammar.generated)
