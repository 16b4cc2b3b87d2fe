"""What the doctor says of machines: the verdicts, what to do, and the exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import neuron_shim
from neuron_shim.command import main
from neuron_shim.doctor import checks, machine
from neuron_shim.doctor.checks import CHECKS, examine, visible_cores
from neuron_shim.doctor.command import as_json, as_text, status
from neuron_shim.doctor.finding import Finding, Verdict
from neuron_shim.doctor.machine import Machine, this_machine
from neuron_shim.doctor.variables import VARIABLES, State, judged

OK, WARNING, PROBLEM = Verdict

LIBRARIES = {"transformers": "5.24.0", "accelerate": "1.15.0", "trl": "1.16.0", "peft": "0.21.2"}
EC2 = {"sys_vendor": "Amazon EC2", "product_name": "trn2.48xlarge"}


def trainium(**changes: Any) -> Machine:
    """A Trn2 machine on which everything is right, but for ``changes``."""
    settings: dict[str, Any] = {
        "environment": {"HF_DEACTIVATE_ASYNC_LOAD": "1"},
        "packages": {"torch": "2.14.0", "torch-neuronx": "2.14.3.0", **LIBRARIES},
        "autoload": frozenset({"torch_neuronx:_autoload"}),
        "python": (3, 12),
        "system": "Linux",
        "processor": "x86_64",
        "dmi": EC2,
        "neuron_devices": 16,
    }
    return Machine(**{**settings, **changes})


def of(topic: str, found: list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.topic == topic]


def only(topic: str, found: list[Finding]) -> Finding:
    [finding] = of(topic, found)
    return finding


def test_ready() -> None:
    findings = examine(trainium())
    assert {finding.verdict for finding in findings} == {OK}
    assert status(findings) == 0
    assert as_text(findings).endswith("\n\nReady: 0 problems, 0 warnings.")
    assert json.loads(as_json(findings))["ready"] is True


def test_whatever_is_wrong_says_what_to_do() -> None:
    broken = trainium(
        packages={"torch-xla": "2.8.1", "optimum-neuron": "0.4.5", "trl": "0.24.0"},
        environment={"NEURON_CC_FLAGS": "-O1", "XLA_USE_BF16": "1", "TP_SIZE": "3", "WORLD_SIZE": "4"},
        python=(3, 11),
        system="Darwin",
        dmi={},
        neuron_devices=0,
    )
    findings = examine(broken)
    assert all(finding.advice for finding in findings if finding.verdict is not OK)
    assert len({finding.topic for finding in findings if finding.verdict is PROBLEM}) >= 7
    assert status(findings) == 1


def test_it_is_broken_to_the_width_of_a_terminal() -> None:
    findings = examine(trainium(packages={}, python=(3, 11)))
    for width in (80, 100, 200):
        lines = as_text(findings, width).splitlines()
        copied = [line for line in lines if "pip install" in line or "https://" in line]
        assert max(len(line) for line in lines if line not in copied) <= min(width, 100)
        assert {line[0] for line in copied if len(line) > width} <= {"p", "h"}
    assert "Optimum\n                    Neuron needed" in as_text(findings, 80)


# --- the machine


@pytest.mark.parametrize(
    ("product", "verdict", "part"),
    [
        ("trn2.48xlarge", OK, "trn2.48xlarge."),
        ("trn2u.48xlarge", OK, "trn2u.48xlarge."),
        ("trn2.3xlarge", OK, "trn2.3xlarge."),
        ("trn3.48xlarge", OK, "trn3.48xlarge."),
        ("trn1.32xlarge", PROBLEM, "Trn1 stays with torch-neuronx 2.9 over XLA"),
        ("trn1n.32xlarge", PROBLEM, "Move to Trn2 or Trn3"),
        ("inf2.xlarge", PROBLEM, "Inf2 stays with torch-neuronx 2.9 over XLA"),
        ("p5.48xlarge", PROBLEM, "p5.48xlarge has no Neuron chips"),
        ("HVM domU", PROBLEM, "no EC2 instance that names its type"),
    ],
)
def test_instance(product: str, verdict: Verdict, part: str) -> None:
    finding = only("instance", examine(trainium(dmi={**EC2, "product_name": product}, neuron_devices=0)))
    assert finding.verdict is verdict
    assert part in finding.fact + finding.advice


def test_instance_elsewhere() -> None:
    laptop = {"sys_vendor": "Dell Inc.", "product_name": "trn2.48xlarge"}
    assert only("instance", examine(trainium(dmi=laptop, neuron_devices=0))).verdict is PROBLEM
    # In a container the firmware may be hidden, and the devices not.
    assert only("instance", examine(trainium(dmi={}))).verdict is WARNING


@pytest.mark.parametrize(
    ("system", "processor", "verdict"),
    [("Linux", "x86_64", OK), ("Linux", "aarch64", PROBLEM), ("Darwin", "arm64", PROBLEM), ("", "", PROBLEM)],
)
def test_system(system: str, processor: str, verdict: Verdict) -> None:
    assert only("system", examine(trainium(system=system, processor=processor))).verdict is verdict


@pytest.mark.parametrize(("version", "verdict"), [((3, 11), PROBLEM), ((3, 12), OK), ((3, 14), OK), ((3, 9), PROBLEM)])
def test_python(version: tuple[int, int], verdict: Verdict) -> None:
    finding = only("python", examine(trainium(python=version)))
    assert (finding.verdict, finding.fact) == (verdict, f"Python {version[0]}.{version[1]}.")


@pytest.mark.parametrize(
    ("torch", "neuronx", "verdict", "part"),
    [
        ("2.14.0", "2.14.3.0.123", OK, "native backend"),
        ("2.13.0+cpu", "2.13.3.0", OK, "native backend"),
        ("2.13.0", "2.14.3.0", PROBLEM, "They have to be a pair"),
        ("2.15.0", "2.15.0.0", PROBLEM, "They have to be a pair"),
        (None, "2.14.3.0", PROBLEM, "torch is missing"),
        ("2.9.0", "2.9.0.2.15.32035", PROBLEM, "the XLA package of the same name"),
        ("2.8.0", "2.8.0.2.10.16998+e1234", PROBLEM, "the XLA package of the same name"),
        ("1.13.1", "1.13.1.1.16.0", PROBLEM, "the XLA package of the same name"),
        ("2.14.0", "1.0", PROBLEM, "the empty placeholder on PyPI"),
        ("2.14.0", None, PROBLEM, "torch-neuronx is missing"),
    ],
)
def test_torch_pair(torch: str | None, neuronx: str | None, verdict: Verdict, part: str) -> None:
    packages = {name: version for name, version in (("torch", torch), ("torch-neuronx", neuronx)) if version}
    finding = only("torch", examine(trainium(packages={**LIBRARIES, **packages})))
    assert finding.verdict is verdict
    assert part in finding.fact + finding.advice


def test_install_line_stays_in_one_piece() -> None:
    findings = examine(trainium(packages=LIBRARIES))
    assert f"\n{' ' * 20}{checks.INSTALL}\n" in as_text(findings, 1000)
    assert f"\n{checks.INSTALL}\n" in as_text(findings, 80)


def test_autoload() -> None:
    assert only("autoload", examine(trainium())).verdict is OK
    assert only("autoload", examine(trainium(autoload=frozenset()))).verdict is PROBLEM
    off = trainium(environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    assert only("autoload", examine(off)).verdict is WARNING
    assert of("autoload", examine(trainium(packages=LIBRARIES))) == []


def test_libraries() -> None:
    usable = of("libraries", examine(trainium(packages={**LIBRARIES, "transformers": "5.20.2", "trl": "1.15.0"})))
    assert [finding.verdict for finding in usable] == [WARNING, OK, WARNING, OK]
    assert "--target transformers=5.20" in usable[0].advice
    assert "pad_to_multiple_of=128" in usable[2].advice
    packages = {"torch": "2.14.0", "torch-neuronx": "2.14.3.0", "transformers": "4.57.6", "accelerate": "1.15.0.dev0"}
    found = of("libraries", examine(trainium(packages=packages)))
    assert [(finding.fact, finding.verdict) for finding in found] == [
        ("transformers 4.57.6.", PROBLEM),
        ("accelerate 1.15.0.dev0.", OK),
    ]
    assert {finding.fact for finding in of("libraries", examine(trainium(packages={})))} == {
        "transformers is missing.",
        "accelerate is missing.",
    }


# --- leftovers


@pytest.mark.parametrize("name", ["torch-xla", "optimum-neuron", "neuronx-distributed", "libtorch-neuronx-lite"])
def test_leftovers(name: str) -> None:
    finding = only("leftovers", examine(trainium(packages={**trainium().packages, name: "0.4.5"})))
    assert finding.verdict is PROBLEM
    assert finding.command == f"python -m pip uninstall {name}"
    assert f"{name} 0.4.5 is installed" in finding.fact


def test_leftovers_that_only_lie_there() -> None:
    packages = {**trainium().packages, "tensorboard-plugin-neuronx": "2.0", "libneuronxla": "1.0"}
    assert {finding.verdict for finding in of("leftovers", examine(trainium(packages=packages)))} == {WARNING}


def test_torch_xla_switched_off_is_still_a_problem() -> None:
    """transformers can be told to leave it alone, accelerate cannot."""
    packages = {**trainium().packages, "torch-xla": "2.8.1"}
    finding = only("leftovers", examine(trainium(packages=packages, environment={"USE_TORCH_XLA": "0"})))
    assert finding.verdict is PROBLEM
    assert "USE_TORCH_XLA=0 keeps transformers from it, not accelerate" in finding.fact


# --- the environment


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("NEURON_CC_FLAGS", State.REVIEW),
        ("NEURON_COMPILE_CACHE_URL", State.REPLACED),
        ("XLA_USE_BF16", State.REPLACED),
        ("XLA_DOWNCAST_BF16", State.REPLACED),
        ("XLA_IR_DEBUG", State.DROPPED),
        ("PJRT_DEVICE", State.DROPPED),
        ("TORCH_XLA_DEBUG", State.DROPPED),
        ("NEURON_PARALLEL_COMPILE_MAX_RETRIES", State.DROPPED),
        ("NEURON_EXTRACT_GRAPHS_ONLY", State.DROPPED),
        ("NEURON_FUSE_SOFTMAX", State.DROPPED),
        ("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", State.DROPPED),
        ("BUCKET_CAP_MB", State.REPLACED),
        ("CUSTOM_CACHE_REPO", State.DROPPED),
        ("NEURON_RT_VIRTUAL_CORE_SIZE", State.REPLACED),
        ("NEURON_RT_NUM_CORES", State.REVIEW),
        ("NEURON_RT_STOCHASTIC_ROUNDING_EN", State.KEPT),
        ("NEURON_RT_VISIBLE_CORES", State.KEPT),
        ("NEURON_RT_LOG_LEVEL", State.KEPT),
        ("NEURON_LOGICAL_NC_CONFIG", State.KEPT),
        ("TORCH_NEURONX_NEFF_CACHE_DIR", State.KEPT),
        ("MALLOC_ARENA_MAX", State.KEPT),
    ],
)
def test_variables(name: str, state: State) -> None:
    [(found, variable)] = judged({name: "1", "PATH": "/bin", "MY_XLA_FLAG": "1"})
    assert (found, variable.state) == (name, state)
    environment = {name: "1", "HF_DEACTIVATE_ASYNC_LOAD": "1"}
    finding = only("variables", examine(trainium(environment=environment)))
    assert finding.fact == f"{name}=1: {state.value}."
    assert finding.verdict is (OK if state is State.KEPT else WARNING)


def test_every_variable_that_changed_has_advice() -> None:
    assert all(variable.advice for variable in VARIABLES if variable.state is not State.KEPT)
    patterns = [variable.pattern for variable in VARIABLES]
    assert len(set(patterns)) == len(patterns)


def test_asynchronous_loading() -> None:
    findings = of("variables", examine(trainium(environment={})))
    assert [finding.verdict for finding in findings] == [OK, OK]
    assert "configure()" in findings[1].fact


# --- sizes


@pytest.mark.parametrize(
    ("environment", "verdict", "part"),
    [
        ({}, OK, "No sizes are set. This machine shows 64 logical cores"),
        ({"TP_SIZE": "8"}, OK, "TP_SIZE=8: 8 processes here"),
        ({"TP_SIZE": "8", "FSDP_SIZE": "8"}, OK, "TP_SIZE=8 x FSDP_SIZE=8: 64 processes here"),
        ({"TP_SIZE": "16", "FSDP_SIZE": "8"}, WARNING, "wants 128 processes here"),
        ({"TP_SIZE": "4", "FSDP_SIZE": "2", "WORLD_SIZE": "8"}, OK, "8 processes here"),
        ({"TP_SIZE": "4", "FSDP_SIZE": "2", "WORLD_SIZE": "4"}, PROBLEM, "does not make WORLD_SIZE=4"),
        ({"TP_SIZE": "3", "WORLD_SIZE": "8"}, PROBLEM, "does not make WORLD_SIZE=8"),
        ({"TP_SIZE": "8", "WORLD_SIZE": "64"}, OK, "64 processes here"),
        ({"WORLD_SIZE": "65"}, PROBLEM, "WORLD_SIZE=65 wants 65 processes here"),
        # Two machines of 64.
        ({"TP_SIZE": "8", "FSDP_SIZE": "16", "WORLD_SIZE": "128", "LOCAL_WORLD_SIZE": "64"}, OK, "64 processes here"),
        ({"WORLD_SIZE": "65", "NEURON_LOGICAL_NC_CONFIG": "1"}, OK, "shows 128 logical cores"),
        ({"NEURON_LOGICAL_NC_CONFIG": "4"}, PROBLEM, "neither 1 nor 2"),
        ({"TP_SIZE": "8", "NEURON_RT_VISIBLE_CORES": "0-3,8"}, WARNING, "shows 5 logical cores"),
        ({"NEURON_RT_VISIBLE_CORES": "7-3"}, PROBLEM, "NEURON_RT_VISIBLE_CORES=7-3 cannot be read"),
        ({"NEURON_RT_VISIBLE_CORES": "all"}, PROBLEM, "cannot be read"),
        ({"TP_SIZE": "0"}, PROBLEM, "TP_SIZE=0."),
        ({"FSDP_SIZE": "four"}, PROBLEM, "FSDP_SIZE=four."),
        ({"TP_SIZE": " "}, OK, "No sizes are set"),
    ],
)
def test_sizes(environment: dict[str, str], verdict: Verdict, part: str) -> None:
    finding = only("sizes", examine(trainium(environment=environment)))
    assert finding.verdict is verdict
    assert part in finding.fact


@pytest.mark.parametrize(
    ("changes", "cores"),
    [
        ({"neuron_devices": 1, "dmi": {**EC2, "product_name": "trn2.3xlarge"}}, 4),
        ({"neuron_devices": 0}, None),
        ({"dmi": {**EC2, "product_name": "trn1.32xlarge"}}, None),
        ({"environment": {"NEURON_RT_VISIBLE_CORES": "3"}, "neuron_devices": 0}, 1),
    ],
)
def test_cores(changes: dict[str, Any], cores: int | None) -> None:
    assert visible_cores(trainium(**changes)) == cores


# --- reading this machine


def test_reads_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dmi, devices = tmp_path / "dmi", tmp_path / "dev"
    dmi.mkdir()
    devices.mkdir()
    (dmi / "sys_vendor").write_text("Amazon EC2\n", encoding="utf-8")
    (dmi / "product_name").write_text("trn2.48xlarge\n", encoding="utf-8")
    for name in ("neuron0", "neuron1", "neuron10", "neuron", "neuronx", "null"):
        (devices / name).touch()
    monkeypatch.setattr(machine, "DMI", dmi)
    monkeypatch.setattr(machine, "DEVICES", devices)
    found = this_machine()
    assert (found.dmi, found.neuron_devices) == (EC2, 3)
    monkeypatch.setattr(machine, "DMI", tmp_path / "none")
    monkeypatch.setattr(machine, "DEVICES", tmp_path / "none")
    found = this_machine()
    assert (found.dmi, found.neuron_devices) == ({}, 0)


def test_reads_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata alone, as an XLA environment has it; the names as their authors spelled them."""
    for name, version in (("torch_xla", "2.8.1"), ("Optimum.Neuron", "0.4.5")):
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
        )
    broken = tmp_path / "broken-1.dist-info"
    broken.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    found = this_machine()
    assert found.packages["torch-xla"] == "2.8.1"
    assert found.packages["optimum-neuron"] == "0.4.5"
    facts = {finding.fact.partition(" is installed")[0] for finding in of("leftovers", examine(found))}
    assert {"torch-xla 2.8.1", "optimum-neuron 0.4.5"} <= facts


def test_every_check_survives_an_empty_machine() -> None:
    empty = Machine({}, {}, frozenset(), (3, 10), "", "")
    assert all(list(check(empty)) or check is checks.autoload for check in CHECKS)


# --- the command


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from neuron_shim.doctor import command

    for found, expected in ((trainium(), 0), (trainium(python=(3, 11)), 1)):
        monkeypatch.setattr(command, "this_machine", lambda found=found: found)
        assert main(["doctor"]) == expected
        text = capsys.readouterr().out
        assert text.splitlines()[0] == "ok       instance   trn2.48xlarge."
        assert main(["doctor", "--output-format", "json"]) == expected
        told = json.loads(capsys.readouterr().out)
        assert told["ready"] is not bool(expected)
        assert {"topic", "fact", "verdict", "advice", "command", "url"} == set(told["findings"][0])


HERE = """
import sys
from neuron_shim.command import main
status = main(["doctor"])
print(status, sorted({"torch", "transformers", "torch_neuronx", "click"} & set(sys.modules)))
"""


def test_on_this_machine_without_importing_torch() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", HERE],
        env={**os.environ, "PYTHONPATH": str(Path(neuron_shim.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("0 []", "1 []")
