"""Run a script on the simulated Neuron device.

    python -m neuron_shim.simulate SCRIPT [ARGUMENT...]
    python -m neuron_shim.simulate -m MODULE [ARGUMENT...]
    torchrun --nproc_per_node=4 -m neuron_shim.simulate SCRIPT [ARGUMENT...]

The script sees its own name and arguments, and runs as it is.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in {"-h", "--help"}:
        print(__doc__, file=sys.stdout if arguments else sys.stderr)
        sys.exit(0 if arguments else 2)
    from neuron_shim.simulate import NotPossible, activate
    from neuron_shim.simulate.script import run_script

    as_module = arguments[0] == "-m"
    if as_module:
        arguments = arguments[1:]
    if not arguments:
        sys.exit("neuron_shim.simulate: -m needs the name of a module.")
    target = arguments[0]
    if not as_module and not Path(target).exists():
        sys.exit(f"neuron_shim.simulate: there is no file {target}.")
    try:
        activate()
    except NotPossible as error:
        sys.exit(f"neuron_shim.simulate: {error}")
    run_script(target, arguments[1:], as_module=as_module)


if __name__ == "__main__":
    main()
