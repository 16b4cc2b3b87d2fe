"""parallel_sizes: the product is the number of processes, or the message says why not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_shim import parallel_sizes

SIZES = st.integers(1, 64)
MAYBE = st.none() | SIZES
WORLDS = st.integers(2, 64)


def sizes(
    world: int | None = None,
    tp: int | None = None,
    fsdp: int | None = None,
    *,
    TP_SIZE: object = None,
    FSDP_SIZE: object = None,
) -> tuple[int, int]:
    """The sizes, tensor parallel first, that a process of such a run gets."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"WORLD_SIZE": world, "TP_SIZE": TP_SIZE, "FSDP_SIZE": FSDP_SIZE}.items():
            if value is None:
                patch.delenv(name, raising=False)
            else:
                patch.setenv(name, str(value))
        result = parallel_sizes(tp, fsdp)
    assert list(result) == ["tp_size", "fsdp_size"]
    return result["tp_size"], result["fsdp_size"]


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        ((32,), {}, (1, 32)),
        ((32, 8), {}, (8, 4)),
        ((32, None, 8), {}, (4, 8)),
        ((32, 4, 8), {}, (4, 8)),
        ((32, 1), {}, (1, 32)),
        ((32, 32), {}, (32, 1)),
        ((32, 8), {"TP_SIZE": 4}, (4, 8)),
        ((32, 8), {"TP_SIZE": 4, "FSDP_SIZE": 8}, (4, 8)),
        ((32, 8, 4), {"TP_SIZE": 16, "FSDP_SIZE": 2}, (16, 2)),
        ((32,), {"FSDP_SIZE": 16}, (2, 16)),
        ((32, 8), {"FSDP_SIZE": 4}, (8, 4)),
        ((32, 8), {"TP_SIZE": ""}, (8, 4)),
    ],
)
def test_examples(arguments, environment, expected):
    assert sizes(*arguments, **environment) == expected


@given(world=WORLDS, tp=MAYBE, fsdp=MAYBE, tp_variable=MAYBE, fsdp_variable=MAYBE)
def test_the_product_is_the_number_of_processes_or_the_message_has_the_numbers(
    world, tp, fsdp, tp_variable, fsdp_variable
):
    asked_tp, asked_fsdp = tp_variable or tp, fsdp_variable or fsdp
    try:
        result = sizes(world, tp, fsdp, TP_SIZE=tp_variable, FSDP_SIZE=fsdp_variable)
    except ValueError as refused:
        message = str(refused)
        assert f"WORLD_SIZE={world}" in message
        for name, variable, argument in (("TP_SIZE", tp_variable, tp), ("FSDP_SIZE", fsdp_variable, fsdp)):
            if variable:
                assert f"{name}={variable}" in message
            elif argument and asked_tp and asked_fsdp:
                assert f"{name.lower()}={argument}" in message
        if asked_tp and asked_fsdp:
            assert asked_tp * asked_fsdp != world
            assert f"makes {asked_tp * asked_fsdp} processes" in message
        else:
            assert world % (asked_tp or asked_fsdp)
        return
    assert result[0] * result[1] == world
    assert asked_tp in (None, result[0])
    assert asked_fsdp in (None, result[1])


@given(tp=SIZES, fsdp=SIZES)
def test_every_possible_division_is_accepted_however_it_is_asked_for(tp, fsdp):
    world = tp * fsdp
    if world == 1:
        return
    for asked in (
        sizes(world, tp),
        sizes(world, None, fsdp),
        sizes(world, tp, fsdp),
        sizes(world, TP_SIZE=tp),
        sizes(world, FSDP_SIZE=fsdp),
        sizes(world, 7, 11, TP_SIZE=tp, FSDP_SIZE=fsdp),
    ):
        assert asked == (tp, fsdp)


@given(tp=MAYBE, fsdp=MAYBE, world=st.none() | st.just(1))
def test_a_single_process_is_1_x_1_whatever_the_arguments(tp, fsdp, world):
    assert sizes(world, tp, fsdp) == (1, 1)
    assert sizes(world, tp, fsdp, TP_SIZE=1, FSDP_SIZE=1) == (1, 1)


def test_a_single_process_says_once_that_it_is_alone(lines):
    for _ in range(2):
        parallel_sizes(tp_size=8, fsdp_size=4)
    assert lines() == [
        "neuron_shim: tp_size=8 x fsdp_size=4 asked for, running 1 x 1 in a single process (torchrun starts more)."
    ]


@pytest.mark.parametrize("arguments", [{}, {"tp_size": 1}, {"tp_size": 1, "fsdp_size": 1}])
def test_nothing_is_said_where_nothing_was_lost(lines, arguments):
    parallel_sizes(**arguments)
    assert lines() == []


def test_nothing_is_said_in_a_launched_run(launch, lines):
    launch(8)
    parallel_sizes(tp_size=8)
    assert lines() == []


@given(tp=MAYBE, fsdp=MAYBE, argument=MAYBE)
def test_variables_that_ask_for_more_than_a_single_process_are_refused_with_the_launch_line(tp, fsdp, argument):
    if (tp or 1) * (fsdp or 1) == 1:
        return
    with pytest.raises(ValueError, match=r"this is a single one") as refused:
        sizes(None, argument, TP_SIZE=tp, FSDP_SIZE=fsdp)
    processes = (tp or argument or 1) * (fsdp or 1)
    variables = " ".join(f"{name}={size}" for name, size in (("TP_SIZE", tp), ("FSDP_SIZE", fsdp)) if size)
    assert f"`{variables} torchrun --nproc_per_node={processes} script.py`" in str(refused.value)
    # The line it gives is one that works.
    found = sizes(processes, argument, TP_SIZE=tp, FSDP_SIZE=fsdp) if processes > 1 else (1, 1)
    assert found[0] * found[1] == processes


@pytest.mark.parametrize("world", [None, 8])
@pytest.mark.parametrize("name", ["TP_SIZE", "FSDP_SIZE"])
@pytest.mark.parametrize("value", ["0", "-4", "4.0", "four"])
def test_variables_that_are_no_sizes_are_named(world, name, value):
    with pytest.raises(ValueError, match=f"environment variable {name} is '{value}'"):
        sizes(world, 8, **{name: value})


@pytest.mark.parametrize("world", [None, 8])
@pytest.mark.parametrize("name", ["tp_size", "fsdp_size"])
@pytest.mark.parametrize("value", [0, -4, 4.0, "4", True])
def test_arguments_that_are_no_sizes_are_named(launch, world, name, value):
    if world:
        launch(world)
    with pytest.raises(ValueError, match=f"argument {name} is {value!r}"):
        parallel_sizes(**{name: value})


def test_the_messages():
    with pytest.raises(ValueError, match="makes 32") as refused:
        sizes(16, 4, TP_SIZE=4, FSDP_SIZE=8)
    assert str(refused.value) == (
        "TP_SIZE=4 x FSDP_SIZE=8 makes 32 processes, but this run has 16 (WORLD_SIZE=16). "
        "Start 32 processes, or choose sizes whose product is 16, for example TP_SIZE=4 FSDP_SIZE=4."
    )
    with pytest.raises(ValueError, match="does not divide") as refused:
        sizes(4, 3)
    assert str(refused.value) == (
        "tp_size=3 does not divide the 4 processes of this run (WORLD_SIZE=4). "
        "Choose one of 1, 2, 4, or start a multiple of 3 processes."
    )


def test_the_keywords_are_those_of_distributed_config(launch):
    configuration = pytest.importorskip("transformers.distributed")
    launch(8)
    config = configuration.DistributedConfig(**parallel_sizes(tp_size=4))
    assert (config.tp_size, config.fsdp_size, config.dp_size) == (4, 2, 2)
