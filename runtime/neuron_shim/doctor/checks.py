"""The checks, in the order of the report. Each reads the machine and yields findings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from neuron_shim.doctor.finding import Finding, Verdict
from neuron_shim.doctor.instances import CORES_OF_A_CHIP, DEFAULT_LOGICAL_CONFIG, NATIVE, XLA_ONLY, family
from neuron_shim.doctor.variables import State, judged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_shim.doctor.machine import Machine

OK, WARNING, PROBLEM = Verdict

SETUP = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/setup/pytorch/index.html"
RELEASES = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/release-notes/components/torchneuron.html"
VARIABLES_PAGE = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/reference/env-vars.html"
PARALLEL = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/torch/guides/torch-distributed.html"

PYTHON = (3, 12)
PAIRS = {"2.13": "2.13", "2.14": "2.14"}  # torch, and the torch-neuronx that goes with it
INSTALL = (
    'python -m pip install "torch-neuronx==2.14.*" "neuronx-cc==2.*" nki '
    "--extra-index-url https://pip.repos.neuron.amazonaws.com --extra-index-url https://download.pytorch.org/whl/cpu"
)
AT_LEAST = {"transformers": (5, 20), "accelerate": (1, 15), "trl": (1, 0), "peft": (0, 21)}
BETTER = {
    "transformers": ((5, 23), "activation_checkpointing= needs 5.23: migrate with --target transformers=5.20."),
    "trl": ((1, 16), "It does not pad to multiples of 128 by itself, as 1.16 does: pass pad_to_multiple_of=128."),
}
"""What scripts do without on versions that are new enough to run them."""

# transformers and accelerate take the XLA path when torch_xla can be imported beside torch_neuronx
# (transformers/utils/import_utils.py, is_torch_neuroncore_available; accelerate/state.py, _prepare_backend).
FLIPS_TO_XLA = "torch-xla"
LEFTOVERS = {
    "optimum-neuron": "it needs Python < 3.12 and transformers 4, and makes transformers expect its own trainers",
    "neuronx-distributed": "it is built on torch_xla",
    "neuronx-distributed-training": "it is built on torch_xla",
    "neuronx-distributed-inference": "it is built on torch_xla",
    "libneuronxla": "it is the XLA plugin of the old stack",
    "transformers-neuronx": "it is built on the old stack",
    "torch-neuron": "it is the package for Inf1",
    "libtorch-neuronx-lite": "it takes the name neuron and brings torch_xla; vLLM needs another environment",
    "aws-neuronx-runtime-discovery": "it belongs to the old installer",
    "tensorboard-plugin-neuronx": "it reads profiles of the old stack",
}
HARMLESS = ("aws-neuronx-runtime-discovery", "tensorboard-plugin-neuronx")


def instance(machine: Machine) -> Iterator[Finding]:
    """What the firmware says; the metadata service is not asked."""
    name = machine.dmi.get("product_name", "")
    kind = family(name)
    native = "TorchNeuron runs on Trn2 and Trn3."
    if machine.dmi.get("sys_vendor") != "Amazon EC2" or not kind:
        yield Finding(
            "instance",
            f"This is no EC2 instance that names its type ({machine.processor or 'unknown'} {machine.system}).",
            WARNING if machine.neuron_devices else PROBLEM,
            f"{native} Elsewhere a script can be tried on the CPU.",
            url=SETUP,
        )
    elif kind in NATIVE:
        yield Finding("instance", f"{name}.")
    elif kind in XLA_ONLY:
        advice = f"Move to Trn2 or Trn3: {native} {kind.capitalize()} stays with torch-neuronx 2.9 over XLA."
        yield Finding("instance", f"{name}.", PROBLEM, advice, url=SETUP)
    else:
        yield Finding(
            "instance", f"{name} has no Neuron chips.", PROBLEM, f"Move to Trn2 or Trn3: {native}", url=SETUP
        )


def system(machine: Machine) -> Iterator[Finding]:
    fact = f"{machine.system or 'unknown'} on {machine.processor or 'unknown'}."
    if (machine.system, machine.processor.lower()) in {("Linux", "x86_64"), ("Linux", "amd64")}:
        yield Finding("system", fact)
    else:
        yield Finding("system", fact, PROBLEM, "TorchNeuron is built for Linux on x86_64 only.", url=RELEASES)


def devices(machine: Machine) -> Iterator[Finding]:
    if machine.neuron_devices:
        yield Finding("devices", f"The driver shows {machine.neuron_devices} chips (/dev/neuron*).")
    else:
        yield Finding(
            "devices",
            "There is no /dev/neuron0.",
            PROBLEM,
            "On Trn2 or Trn3, install aws-neuronx-dkms and load it; in a container, pass the devices in.",
            url=SETUP,
        )


def python(machine: Machine) -> Iterator[Finding]:
    version = ".".join(map(str, machine.python))
    if machine.python >= PYTHON:
        yield Finding("python", f"Python {version}.")
    else:
        yield Finding(
            "python",
            f"Python {version}.",
            PROBLEM,
            "Make a new environment with Python 3.12 or later; Optimum Neuron needed an earlier one, so they cannot "
            "share one.",
            url=RELEASES,
        )


def torch_pair(machine: Machine) -> Iterator[Finding]:
    """The name torch-neuronx is that of the XLA package too; the version tells which it is."""
    torch, neuronx = machine.packages.get("torch"), machine.packages.get("torch-neuronx")
    fact = f"torch {torch or 'is missing'}, torch-neuronx {neuronx or 'is missing'}."
    if neuronx is None:
        yield Finding("torch", fact, PROBLEM, "Install it from its own index:", INSTALL, url=SETUP)
        return
    release = _numbers(neuronx)
    if release[:2] == (1, 0):
        yield Finding(
            "torch",
            f"{fact} That is the empty placeholder on PyPI.",
            PROBLEM,
            "Install the real one, which needs the extra index:",
            INSTALL,
            url=SETUP,
        )
    elif release < (2, 10):
        yield Finding(
            "torch",
            f"{fact} That is the XLA package of the same name.",
            PROBLEM,
            "Make a new environment, since the two cannot share one, and there:",
            INSTALL,
            url=SETUP,
        )
    elif torch is None or PAIRS.get(_minor(torch)) != _minor(neuronx):
        pairs = ", ".join(f"torch {one} with torch-neuronx {other}" for one, other in PAIRS.items())
        yield Finding("torch", fact, PROBLEM, f"They have to be a pair: {pairs}.", url=RELEASES)
    else:
        yield Finding("torch", f"{fact} That is the native backend.")


def autoload(machine: Machine) -> Iterator[Finding]:
    if "torch-neuronx" not in machine.packages or _numbers(machine.packages["torch-neuronx"]) < (2, 10):
        return
    if machine.environment.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
        advice = "Unset it, or write `import torch_neuronx` before the first use of the device."
        yield Finding("autoload", "TORCH_DEVICE_BACKEND_AUTOLOAD=0: torch does not find the device.", WARNING, advice)
    elif not any(point.startswith("torch_neuronx") for point in machine.autoload):
        advice = "Reinstall torch-neuronx: its entry point torch.backends is missing."
        yield Finding("autoload", "torch does not know torch_neuronx.", PROBLEM, advice, url=SETUP)
    else:
        yield Finding("autoload", "torch loads torch_neuronx by itself.")


def libraries(machine: Machine) -> Iterator[Finding]:
    for name, least in AT_LEAST.items():
        version = machine.packages.get(name)
        wanted = ".".join(map(str, least))
        if version is None:
            if name in ("transformers", "accelerate"):
                advice = f"Install {name} {wanted} or later."
                yield Finding("libraries", f"{name} is missing.", PROBLEM, advice)
        elif _numbers(version) < least:
            advice = f"Migrated scripts need {name} {wanted} or later."
            yield Finding("libraries", f"{name} {version}.", PROBLEM, advice)
        elif name in BETTER and _numbers(version) < BETTER[name][0]:
            yield Finding("libraries", f"{name} {version}.", WARNING, BETTER[name][1])
        else:
            yield Finding("libraries", f"{name} {version}.")


def leftovers(machine: Machine) -> Iterator[Finding]:
    found = False
    if FLIPS_TO_XLA in machine.packages:
        found = True
        off = machine.environment.get("USE_TORCH_XLA", "").upper() in {"0", "OFF", "NO", "FALSE"}
        yield Finding(
            "leftovers",
            f"torch-xla {machine.packages[FLIPS_TO_XLA]} is installed: with it transformers and accelerate take XLA"
            f"{' (USE_TORCH_XLA=0 keeps transformers from it, not accelerate)' if off else ''}.",
            PROBLEM,
            "Remove it:",
            "python -m pip uninstall torch-xla",
        )
    for name, why in LEFTOVERS.items():
        if name in machine.packages:
            found = True
            placeholder = name == "libneuronxla" and machine.packages[name] == "1.0"
            yield Finding(
                "leftovers",
                f"{name} {machine.packages[name]} is installed: {why}.",
                WARNING if name in HARMLESS or placeholder else PROBLEM,
                "Remove it:",
                f"python -m pip uninstall {name}",
            )
    if not found:
        yield Finding("leftovers", "Nothing of the XLA stack is installed.")


def variables(machine: Machine) -> Iterator[Finding]:
    found = False
    for name, variable in judged(machine.environment):
        found = True
        verdict = OK if variable.state is State.KEPT else WARNING
        fact = f"{name}={machine.environment[name]}: {variable.state.value}."
        yield Finding("variables", fact, verdict, variable.advice, url=VARIABLES_PAGE if variable.advice else "")
    if not found:
        yield Finding("variables", "None of the XLA stack or the runtime is set.")
    if "HF_DEACTIVATE_ASYNC_LOAD" not in machine.environment:
        yield Finding(
            "variables",
            "HF_DEACTIVATE_ASYNC_LOAD is not set; a script that does not call neuron_shim.configure() needs it.",
        )


def sizes(machine: Machine) -> Iterator[Finding]:
    """TP_SIZE x FSDP_SIZE against WORLD_SIZE, and against the cores of this machine."""
    numbers: dict[str, int] = {}
    for name in ("TP_SIZE", "FSDP_SIZE", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        text = machine.environment.get(name, "").strip()
        if text and not (text.isascii() and text.isdecimal() and int(text) > 0):
            yield Finding("sizes", f"{name}={text}.", PROBLEM, "It has to be a whole number of at least 1.")
            return
        if text:
            numbers[name] = int(text)
    try:
        cores = visible_cores(machine)
    except ValueError as error:
        yield Finding("sizes", f"{error}", PROBLEM, "Write single numbers and ranges, as in 0-3,5.")
        return
    asked = {name: numbers[name] for name in ("TP_SIZE", "FSDP_SIZE") if name in numbers}
    product = 1
    for number in asked.values():
        product *= number
    world = numbers.get("WORLD_SIZE")
    told = " x ".join(f"{name}={number}" for name, number in asked.items())
    seen = "The cores of this machine are not known" if cores is None else f"This machine shows {cores} logical cores"
    here = numbers.get("LOCAL_WORLD_SIZE", world if world is not None else product)
    if world is not None and (world % product or (len(asked) == 2 and world != product)):
        advice = f"Choose sizes whose product is {world}, or start {product} processes."
        yield Finding("sizes", f"{told} does not make WORLD_SIZE={world}.", PROBLEM, advice, url=PARALLEL)
    elif cores is not None and here > cores and (asked or world):
        yield Finding(
            "sizes",
            f"{seen}, but {told or f'WORLD_SIZE={world}'} wants {here} processes here, and each has one core.",
            PROBLEM if world is not None else WARNING,
            f"Start at most {cores} processes on a machine (torchrun --nproc_per_node={cores}).",
            url=PARALLEL,
        )
    elif asked or world:
        yield Finding("sizes", f"{told or f'WORLD_SIZE={world}'}: {here} processes here. {seen}.")
    else:
        yield Finding("sizes", f"No sizes are set. {seen}.")


def visible_cores(machine: Machine) -> int | None:
    """Logical cores that a launcher can use; None where that cannot be told from files.

    Raises:
        ValueError: a variable that limits them cannot be read.
    """
    visible = machine.environment.get("NEURON_RT_VISIBLE_CORES", "").strip()
    if visible:
        return len(_core_numbers(visible))
    if not machine.neuron_devices or family(machine.dmi.get("product_name", "")) in XLA_ONLY:
        return None
    config = machine.environment.get("NEURON_LOGICAL_NC_CONFIG", "").strip() or str(DEFAULT_LOGICAL_CONFIG)
    if config not in ("1", "2"):
        raise ValueError(f"NEURON_LOGICAL_NC_CONFIG={config} is neither 1 nor 2.")
    return machine.neuron_devices * CORES_OF_A_CHIP // int(config)


def _core_numbers(text: str) -> set[int]:
    cores: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise ValueError(f"NEURON_RT_VISIBLE_CORES={text} cannot be read.")
        cores.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return cores


def _numbers(version: str) -> tuple[int, ...]:
    """(2, 14, 3) of "2.14.3.0+cpu": as far as it is numbers."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split(".")))[:3] if match else ()


def _minor(version: str) -> str:
    return ".".join(map(str, _numbers(version)[:2]))


CHECKS: tuple[Callable[[Machine], Iterator[Finding]], ...] = (
    *(instance, system, devices, python, torch_pair, autoload, libraries, leftovers, variables, sizes),
)


def examine(machine: Machine) -> list[Finding]:
    return [finding for check in CHECKS for finding in check(machine)]
