"""What is a tokenizer, and what becomes of its methods and keywords that are gone."""

from __future__ import annotations

import pytest

from neuron_codemods import Outcome, Settings, migrate

HEAD = "from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizer\n\n"
MADE = 'tokenizer = AutoTokenizer.from_pretrained("m")\n'
OLD = 'from transformers import TrainingArguments\nargs = TrainingArguments("out", evaluation_strategy="no")\n'
TARGETS = "with tokenizer.as_target_tokenizer():\n    {}\n"
PARAMETERS = "def f({}):\n    return tokenizer{}(x)\n"


def migrated(text: str) -> str:
    """The text after the imports; a marker is one line, without its address."""
    lines = migrate(HEAD + text, settings=Settings(select=("NM731",))).text.removeprefix(HEAD).splitlines()
    return "".join(f"{line.partition(': https://')[0]}\n" for line in lines)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("print(f'{tokenizer.encode_plus(x)}')\n", "print(f'{tokenizer(x)}')\n"),
        ("ids = tokenizer.additional_special_tokens_ids\n", None),
        ("tokenizer.max_len = 8\n", "tokenizer.model_max_length = 8\n"),
        (TARGETS.format("y = tokenizer(text=x)"), "y = tokenizer(text_target=x)\n"),
        ("tokenizer(x, pad_to_max_length=False)\n", "tokenizer(x)\n"),
        ("tokenizer(x, pad_to_max_length=True, padding=True)\n", "tokenizer(x, padding=True)\n"),
        ("tokenizer.encode(x, truncation_strategy='only_first')\n", "tokenizer.encode(x, truncation='only_first')\n"),
        (f"{OLD}tokenizer.apply_chat_template(m)\n", f"{OLD}tokenizer.apply_chat_template(m, return_dict=False)\n"),
    ],
)
def test_rewritten(before: str, after: str | None) -> None:
    if after is None:
        after = "ids = tokenizer.convert_tokens_to_ids(tokenizer.extra_special_tokens)\n"

    assert migrated(MADE + before) == MADE + after


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("f = tokenizer.encode_plus\n", "encode_plus is gone: call the tokenizer itself"),
        ("f(tokenizer.encode_plus)\n", "encode_plus is gone: call the tokenizer itself"),
        ("tokenizer.encode_plus(*x)\n", "encode_plus is gone: call the tokenizer itself"),
        ("tokenizer.batch_encode_plus(x, True)\n", "batch_encode_plus is gone: call the tokenizer itself"),
        (
            "tokenizer.additional_special_tokens_ids = x\n",
            "additional_special_tokens_ids: convert extra_special_tokens",
        ),
        (TARGETS.format("print(1)"), "as_target_tokenizer: Pass the targets"),
        (TARGETS.format("tokenizer(x, y)"), "as_target_tokenizer: Pass the targets"),
        (TARGETS.format("tokenizer(*x)"), "as_target_tokenizer: Pass the targets"),
        (TARGETS.format("f(tokenizer(x), tokenizer)"), "as_target_tokenizer: Pass the targets"),
        ("with tokenizer.as_target_tokenizer() as t:\n    tokenizer(x)\n", "as_target_tokenizer: Pass the targets"),
        ("context = tokenizer.as_target_tokenizer()\n", "as_target_tokenizer: Pass the targets"),
        ("tokenizer(x, pad_to_max_length=flag)\n", 'Write padding="max_length" where'),
        ("tokenizer(x, pad_to_max_length=True, padding=False)\n", 'Write padding="max_length" where'),
    ],
)
def test_left_for_a_person(text: str, told: str) -> None:
    result = migrated(MADE + text)
    kept = "".join(line for line in result.splitlines(True) if "# TODO(neuron-migrate NM731)" not in line)

    assert kept == MADE + text
    assert f"# TODO(neuron-migrate NM731): {told}" in result


@pytest.mark.parametrize(
    "text",
    [
        "tokenizer(x, truncation_strategy='only_first', truncation=True)\n",
        "tokenizer.convert_ids_to_tokens(x)\n",
        f"{OLD}tokenizer.apply_chat_template(m, return_dict=True)\n",
        f"{OLD}tokenizer.apply_chat_template(m, tokenize=False)\n",
        f"{OLD}tokenizer.apply_chat_template(m, **options)\n",
        f"{OLD}processor.apply_chat_template(m)\n",
    ],
)
def test_stays(text: str) -> None:
    assert migrated(MADE + text) == MADE + text


def test_a_chat_with_options_that_cannot_be_read_is_for_a_look() -> None:
    text = f"{HEAD}{MADE}{OLD}tokenizer.apply_chat_template(m, **options)\n"
    found = migrate(text, settings=Settings(select=("NM731",))).findings

    assert [finding.outcome for finding in found] == [Outcome.REVIEW]


def test_a_variable_that_is_called_a_tokenizer() -> None:
    assert migrated("tokenizer = make()\ntokenizer.encode_plus(x)\n") == "tokenizer = make()\ntokenizer(x)\n"


@pytest.mark.parametrize("parameter", ["tokenizer", "tokenizer: PreTrainedTokenizer", "tokenizer: int"])
def test_a_parameter_that_is_a_tokenizer(parameter: str) -> None:
    assert migrated(PARAMETERS.format(parameter, ".encode_plus")) == PARAMETERS.format(parameter, "")


@pytest.mark.parametrize(
    "text",
    [
        PARAMETERS.format("tokenizer: AutoModel", ".encode_plus"),
        'tokenizer = AutoModel.from_pretrained("m")\ntokenizer.encode_plus(x)\n',
        "from mine import tokenizer\ntokenizer.encode_plus(x)\n",
        "def tokenizer():\n    pass\ntokenizer.encode_plus(x)\n",
        "tokenizer.encode_plus(x)\n",
        "tokenizers[0].encode_plus(x)\n",
    ],
)
def test_something_else(text: str) -> None:
    assert migrated(text) == text
