"""``python -m neuron_shim`` is the command ``neuron-shim``."""

from __future__ import annotations

import sys

from neuron_shim.command import main

if __name__ == "__main__":
    sys.exit(main())
