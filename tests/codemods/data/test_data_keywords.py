from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Collection

import pytest

from neuron_codemods import data
from neuron_codemods.data import OWNERS, RELEASES, Keyword, release_key

ALL = data.all_keywords()
ACTIONS = {"keep", "rename", "move", "rewrite", "drop", "manual"}

SURVEY_JARGON = re.compile(
    r"torchneuron_facts|api_cli|\(checked|not checked|\bsurvey\b|as above|see above|this stack|\bNEFFs?\b|->|/work|"
    r"/tmp|\.md\b",
    re.IGNORECASE,
)


def place(row: Keyword) -> str:
    return f"{row.owner}.{row.member}({row.keyword})"


def test_every_keyword_of_the_survey_is_there() -> None:
    assert len(ALL) == 431


def test_rows_are_unique() -> None:
    assert len({(row.owner, row.member, row.keyword) for row in ALL}) == len(ALL)


def test_reasons_are_sentences() -> None:
    assert [row for row in ALL if not (row.reason[:1].isupper() and row.reason.endswith("."))] == []
    assert [row for row in ALL if not 10 <= len(row.reason) <= 300] == []


def test_reasons_stand_alone() -> None:
    assert [row for row in ALL if SURVEY_JARGON.search(f"{row.native} {row.reason}")] == []


def test_actions_are_the_documented_ones() -> None:
    assert {row.action for row in ALL} == ACTIONS


def test_releases_exist_and_are_in_order() -> None:
    assert {row.first for row in ALL} | {row.last for row in ALL} <= set(RELEASES)
    assert [row for row in ALL if release_key(row.first) > release_key(row.last)] == []


def test_a_renamed_keyword_has_one_new_name() -> None:
    renamed = [row for row in ALL if row.action == "rename"]
    assert [row for row in renamed if not row.native.isidentifier() or row.native in row.names] == []


def test_a_kept_keyword_keeps_its_name() -> None:
    kept = [row for row in ALL if row.action == "keep"]
    assert [row for row in kept if tuple(row.native.split("|")) != row.names] == []


def test_a_dropped_keyword_has_no_native_name() -> None:
    assert not any(row.native for row in ALL if row.action == "drop")


def test_owners_are_the_documented_ones() -> None:
    assert {row.owner for row in ALL} == set(OWNERS)
    assert all(OWNERS.values())


def test_a_keyword_is_found_by_its_owner() -> None:
    (row,) = data.keywords("training_arguments")["tensor_parallel_size"]
    assert (row.member, row.action, row.first, row.last, row.default) == ("__init__", "move", "0.0.7", "0.4.5", "1")


def test_an_attribute_of_the_same_name_is_a_member() -> None:
    (row,) = data.members("training_arguments")["tensor_parallel_size"]
    assert (row.keyword, row.action) == ("", "rewrite")
    assert row.names == ("tensor_parallel_size",)


def test_a_keyword_of_several_methods_has_several_rows() -> None:
    rows = data.keywords("training_model")["trn_config"]
    assert {row.member for row in rows} == {"from_pretrained", "from_config"}


def test_each_spelling_finds_the_row() -> None:
    (one,) = data.keywords("traced_model")["encoder_file_name"]
    (two,) = data.keywords("traced_model")["decoder_file_name"]
    assert one is two
    assert data.members("trainer")["save_metrics"] == data.members("trainer")["log_metrics"]


def test_methods_that_share_a_keyword_are_told() -> None:
    (row,) = data.keywords("causal_lm_inference")["batch_size"]
    assert row.members == ("from_pretrained", "get_neuron_config", "export")


def test_a_gap_between_releases_is_told() -> None:
    (row,) = data.members("trainer")["synchronize_hub_cache"]
    assert (row.first, row.last, row.ranges) == ("0.0.19", "0.4.5", "0.0.19-0.3.0;0.4.2-0.4.5")
    assert sum(bool(row.ranges) for row in ALL) == 1


def test_an_owner_without_members_has_none() -> None:
    assert data.members("nxd_config") == {}


@pytest.mark.parametrize("ask", [data.keywords, data.members])
def test_an_unknown_owner_is_an_error(ask: Callable[[str], object]) -> None:
    with pytest.raises(KeyError, match="no_such_owner"):
        ask("no_such_owner")


def test_what_is_handed_out_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        data.keywords("trainer")["tokenizer"] = ()  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        ALL[0].owner = "trainer"  # type: ignore[misc]


def accepted(owner: str, member: str) -> Collection[str]:
    """The keywords that the native object of an owner takes."""
    transformers = pytest.importorskip("transformers")
    if owner in {"sft_config", "sft_trainer"}:
        trl = pytest.importorskip("trl")
        target = trl.SFTConfig if owner == "sft_config" else trl.SFTTrainer
    elif owner in {"orpo_config", "orpo_trainer"}:
        orpo = pytest.importorskip("trl.experimental.orpo")
        target = orpo.ORPOConfig if owner == "orpo_config" else orpo.ORPOTrainer
    elif owner == "peft_model":
        target = pytest.importorskip("peft").PeftModel
    elif owner == "training_config":
        target = transformers.distributed.DistributedConfig
    else:
        target = {"trainer": transformers.Trainer, "training_arguments": transformers.TrainingArguments}[owner]
    return inspect.signature(getattr(target, member)).parameters


CHECKED = (
    *("training_arguments", "sft_config", "orpo_config", "training_config"),
    *("trainer", "sft_trainer", "orpo_trainer", "peft_model"),
)


@pytest.mark.libraries
@pytest.mark.parametrize(
    "row",
    [row for row in ALL if row.owner in CHECKED and row.keyword and row.action in {"keep", "rename"}],
    ids=place,
)
def test_the_native_object_takes_the_keyword(row: Keyword) -> None:
    assert row.native in accepted(row.owner, row.member)


@pytest.mark.libraries
@pytest.mark.parametrize(
    "row",
    [row for row in ALL if row.owner in CHECKED and row.keyword and row.action == "rename"],
    ids=place,
)
def test_the_native_object_refuses_the_old_keyword(row: Keyword) -> None:
    assert not set(row.names) & set(accepted(row.owner, row.member))
