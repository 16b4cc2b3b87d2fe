"""Rank and number of processes, before and after the process group exists."""

from __future__ import annotations

import pytest

from neuron_shim import is_main_process
from neuron_shim.environment import local_rank, read_number, world_size


def test_a_process_nobody_launched_is_the_main_one():
    assert is_main_process()
    assert (world_size(), local_rank()) == (1, None)


@pytest.mark.parametrize(("rank", "main"), [(0, True), (1, False), (31, False)])
def test_rank_decides_before_the_process_group_exists(launch, rank, main):
    launch(32, rank=rank)
    assert is_main_process() is main
    assert (world_size(), local_rank()) == (32, rank)


def test_the_first_process_of_the_second_machine_is_not_the_main_one(launch):
    launch(64, rank=32, LOCAL_RANK=0)
    assert not is_main_process()


def test_the_process_group_knows_better_than_the_variables(launch, monkeypatch):
    distributed = pytest.importorskip("torch.distributed")
    launch(8, rank=0)
    monkeypatch.setattr(distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed, "get_rank", lambda: 3)
    monkeypatch.setattr(distributed, "get_world_size", lambda: 4)
    assert not is_main_process()
    assert world_size() == 4


@pytest.mark.parametrize(("text", "number"), [("4", 4), (" 4 ", 4), ("", None), (" ", None)])
def test_numbers(monkeypatch, text, number):
    monkeypatch.setenv("TP_SIZE", text)
    assert read_number("TP_SIZE", at_least=1) == number


@pytest.mark.parametrize("text", ["0", "-1", "2.0", "four", "1_0", "+4", "0x4", "٤"])
def test_what_is_not_a_size_is_refused_by_name(monkeypatch, text):
    monkeypatch.setenv("TP_SIZE", text)
    with pytest.raises(ValueError, match=r"environment variable TP_SIZE is .* whole number of at least 1") as refused:
        read_number("TP_SIZE", at_least=1)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("name", ["RANK", "WORLD_SIZE", "LOCAL_RANK"])
def test_a_broken_launcher_is_named(monkeypatch, name):
    monkeypatch.setenv(name, "one")
    with pytest.raises(ValueError, match=f"environment variable {name} is 'one'"):
        {"RANK": is_main_process, "WORLD_SIZE": world_size, "LOCAL_RANK": local_rank}[name]()
