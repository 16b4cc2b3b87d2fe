"""The launch lines at the end of a report."""

from __future__ import annotations

import pytest

from neuron_migrate.launching import LENGTH, advice, commands


def test_a_launcher_is_told_in_the_place_of_its_script() -> None:
    found = [("TP_SIZE=8", "a/train.py"), ("TP_SIZE=2 torchrun train.py", "a/run.sh"), ("", "b/train.py")]
    assert commands(found) == [
        "TP_SIZE=2 torchrun train.py  # a/run.sh",
        "torchrun --nproc_per_node=<cores> b/train.py",
    ]
    assert advice(found).startswith("TP_SIZE x FSDP_SIZE")
    assert not advice([("torchrun a.py", "b.sh")]).startswith("TP_SIZE")
    assert (commands([]), advice([])) == ([], "")


@pytest.mark.parametrize(("launcher", "is_beside"), [("run.sh", True), ("a/b/run.sh", True), ("ab/run.sh", False)])
def test_a_launcher_is_of_a_script_above_or_below(launcher: str, is_beside: bool) -> None:
    assert (len(commands([("", "a/train.py"), ("python train.py", launcher)])) == 1) is is_beside


def test_long_commands_are_cut_and_equal_ones_told_once() -> None:
    found = [(f"torchrun train.py {'x ' * LENGTH}", "run.sh")] * 2
    (command,) = commands(found)
    assert command.endswith("x ...  # run.sh")
    assert len(command) <= LENGTH + len("  # run.sh")
