"""What the tests of migrated loops share with those of the simulated device."""

from __future__ import annotations

from tests.simulate.conftest import cache, compiled

__all__ = ["cache", "compiled"]
