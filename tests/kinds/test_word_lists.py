"""Commands in YAML with one word to a line, as Kubernetes has them."""

from __future__ import annotations

import pytest

from neuron_codemods import Outcome, kinds, migrate_text

HEAD = "spec:\n  containers:\n    - name: train\n      command:\n"
ITEM = "        - "


def migrated(*lines: str) -> list[str]:
    """What becomes of a list; a line is an item, or a comment where it begins with a hash."""
    text = HEAD + "".join(f"        {line}\n" if line.startswith("#") else f"{ITEM}{line}\n" for line in lines)
    migration = migrate_text("yaml", text)
    assert all(finding.outcome is not Outcome.MANUAL for finding in migration.findings)
    assert migrate_text("yaml", migration.text).text == migration.text
    assert migration.text.startswith(HEAD)
    return [line.strip().removeprefix("- ") for line in migration.text.removeprefix(HEAD).splitlines()]


def test_the_wrapper_goes_and_all_else_keeps_its_line() -> None:
    given = ("# compile", "neuron_parallel_compile", "# train", "torchrun # all cores", '"train.py"', "--a=${A}")
    assert migrated(*given) == ["# compile", "# train", "torchrun # all cores", '"train.py"', "--a=${A}"]


def test_flags_go_and_variables_are_set_by_env() -> None:
    assert migrated("torchrun", "train.py", "--zero_1", "--bf16") == [
        *("env", "HF_DEACTIVATE_ASYNC_LOAD=1"),
        *("torchrun", "train.py", "--bf16"),
    ]


def test_a_size_that_a_template_fills_in_moves_to_a_variable() -> None:
    assert migrated("torchrun", "train.py", "--zero_1", "--tensor_parallel_size", "${TP}")[:2] == [
        "env",
        "TP_SIZE=${TP}",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("sh", "-c", "neuron_parallel_compile torchrun train.py"), id="a whole command in one item"),
        pytest.param(("{a: neuron_parallel_compile}",), id="no words"),
    ],
)
def test_other_lists_are_not_one_command(lines: tuple[str, ...]) -> None:
    left = migrated(*lines)
    assert len(left) == len(lines)


def test_a_command_that_goes_whole_stays_for_a_person() -> None:
    text = HEAD + "".join(f"{ITEM}{word}\n" for word in ("optimum-cli", "neuron", "cache", "set", "me/cache"))
    assert text.removeprefix(HEAD) in migrate_text("yaml", text).text


def test_a_list_under_another_key_is_no_command() -> None:
    text = "items:\n  - neuron_parallel_compile\n  - torchrun\n"
    assert migrate_text("yaml", text).text == text


@pytest.mark.parametrize("name", ["job.yaml-template", "job.yml-template", "job.yaml.template"])
def test_templates_are_read_too(name: str) -> None:
    kind = kinds.by_name(name)
    assert kind is not None
    assert kind.name == "yaml"
