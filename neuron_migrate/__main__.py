"""``python -m neuron_migrate`` is the same as ``neuron-migrate``."""

from __future__ import annotations

# The guard matters: worker processes import the main module again, and must not run the command.
if __name__ == "__main__":
    import sys

    from neuron_migrate.cli import main

    sys.exit(main())
