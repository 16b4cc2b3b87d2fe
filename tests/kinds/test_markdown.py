"""Markdown: what stands in code fences is migrated, and not one byte outside of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_codemods import Finding, migrate_text

OLD = "from optimum.neuron import NeuronTrainer as Trainer\n"
NEW = "from transformers import Trainer\n"


def markdown(text: str) -> str:
    changed = migrate_text("markdown", text).text
    assert migrate_text("markdown", changed).text == changed
    return changed


def findings(text: str) -> tuple[Finding, ...]:
    return migrate_text("markdown", text).findings


@pytest.mark.parametrize("language", ["python", "py", "Python", "python3", "{.python}", 'py title="a.py"', "ipython"])
@pytest.mark.parametrize("fence", ["```", "````", "~~~"])
def test_python_fences_are_migrated(language: str, fence: str) -> None:
    assert markdown(f"# A\n\n{fence}{language}\n{OLD}{fence}\nend") == f"# A\n\n{fence}{language}\n{NEW}{fence}\nend"


@pytest.mark.parametrize("language", ["text", "diff", "json", "pythonic", "output", "cpp"])
def test_other_fences_are_not(language: str) -> None:
    text = f"```{language}\n{OLD}```\n"
    assert markdown(text) == text
    assert findings(text) == ()


@pytest.mark.parametrize("before", [OLD, f"    {OLD}", f"`{OLD.rstrip()}`\n", "`` ```python ``\n" + OLD])
def test_prose_is_not(before: str) -> None:
    assert markdown(before) == before


@pytest.mark.parametrize(
    ("opening", "prefix"),
    [("   ", "   "), ("- ", "  "), ("1. ", "   "), ("> ", "> "), ("> - ", ">   "), ("\t", "\t"), ("  * ", "    ")],
)
def test_fences_in_lists_and_quotations(opening: str, prefix: str) -> None:
    def document(line: str) -> str:
        return f"{opening}```python\n{prefix}{line}{prefix.rstrip()}\n{prefix}x = 1\n{prefix}```\n"

    assert markdown(document(OLD)) == document(NEW)


def test_inserted_lines_get_the_indentation() -> None:
    code = '  from optimum.neuron import NeuronTrainingArguments\n\n  a = NeuronTrainingArguments("o")\n'
    text = f"- a\n\n  ```python\n{code}  ```\n"
    changed = markdown(text)
    assert "\n  from neuron_shim import configure\n" in changed
    assert "\n\n  configure()\n\n" in changed


def test_a_name_is_known_in_the_fences_below() -> None:
    text = f"```python\n{OLD}```\nthen\n```python\nt = Trainer(m, tokenizer=t)\n```\n"
    changed = markdown(text)
    assert NEW in changed
    assert changed.endswith("```\nthen\n```python\nt = Trainer(m, processing_class=t)\n```\n")


def test_a_fence_that_imports_for_itself_keeps_its_import() -> None:
    first = "```python\nfrom transformers import AutoTokenizer, Trainer\n```\n"
    assert markdown(f"{first}or\n```python\n{OLD}```\n") == f"{first}or\n```python\n{NEW}```\n"


def test_doctest_prompts() -> None:
    text = """```python
>>> from optimum.neuron import NeuronTrainer
>>> trainer = NeuronTrainer(
...     model=model,
...     tokenizer=tokenizer,
... )
>>> trainer.train()
TrainOutput(global_step=1)
```
"""
    assert (
        markdown(text)
        == """```python
>>> from neuron_shim import configure
>>> from transformers import Trainer
>>>
>>> configure()
>>>
>>> trainer = Trainer(
...     model=model,
...     processing_class=tokenizer,
... )
>>> trainer.train()
TrainOutput(global_step=1)
```
"""
    )


def test_what_cannot_be_read_is_told_only_if_it_names_optimum_neuron() -> None:
    text = "a\n```python\nmodel = ...(\n```\n```python\nx = 1\nfrom optimum.neuron import (\n    ...\n```\n"
    assert markdown(text) == text
    (finding,) = findings(text)
    assert (finding.code, finding.start.line) == ("NM007", 7)


def test_places_are_those_in_the_document() -> None:
    (finding,) = [item for item in findings(f"a\n\n- b\n  ```python\n  {OLD}  ```\n") if item.code == "NM101"]
    assert (finding.start.line, finding.start.column) == (5, 3 + OLD.index("Neuron"))


def test_newlines_stay() -> None:
    text = f"# A\n```python\n{OLD}x = 1\n```\n".replace("\n", "\r\n")
    assert markdown(text) == text.replace(OLD.strip(), NEW.strip())


def test_an_open_fence_reaches_to_the_end() -> None:
    assert markdown(f"```python\n{OLD.rstrip()}") == f"```python\n{NEW.rstrip()}"


PIECES = st.sampled_from(
    [
        "# NeuronTrainer\n",
        "text\n",
        "\n",
        "```\n",
        "~~~\n",
        "```python\n",
        "    x\n",
        "- a\n",
        "> ```py\n",
        "optimum\n",
    ]
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(PIECES, max_size=12))
def test_documents_without_optimum_neuron_in_code_stay(pieces: list[str]) -> None:
    text = "".join(pieces)
    if "import" not in text:
        assert migrate_text("markdown", text).text == text


@pytest.mark.parametrize("language", ["bash", "sh", "shell", "console", "zsh"])
def test_prompts_of_a_shell(language: str) -> None:
    text = f"```{language}\n$ torchrun train.py --zero_1 \\\n    --bf16\nloss --zero_1\n$ ls\n```\n"
    new = "$ HF_DEACTIVATE_ASYNC_LOAD=1 torchrun train.py \\\n    --bf16"
    assert markdown(text) == text.replace("$ torchrun train.py --zero_1 \\\n    --bf16", new)


def test_shell_fences_in_lists() -> None:
    text = "1. a\n\n   ```bash\n   export NEURON_FUSE_SOFTMAX=1\n   neuron_parallel_compile python a.py\n   ```\n"
    assert markdown(text) == "1. a\n\n   ```bash\n   python a.py\n   ```\n"


def test_markers_in_fences() -> None:
    text = "> ```sh\n> optimum-cli neuron serve -m gpt2\n> ```\n"
    first, marker, *rest = markdown(text).splitlines()
    assert (first, rest) == ("> ```sh", ["> optimum-cli neuron serve -m gpt2", "> ```"])
    assert marker.startswith("> # TODO(neuron-migrate NM405): ")


def test_a_document_tells_its_fences_what_it_is_about() -> None:
    text = "```sh\nPJRT_DEVICE=TPU python a.py\n```\n"
    assert markdown(text) == text
    assert markdown(f"For optimum-neuron\n{text}") == "For optimum-neuron\n```sh\npython a.py\n```\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("$ pip install libneuronxla pandas\nok\n", "$ pip install pandas\nok\n"),
        ("# both\npip install libneuronxla pandas\nexport A=1\n", "# both\npip install pandas\nexport A=1\n"),
        ("torchrun a.py \\\n  --zero_1 --x 1\n", "HF_DEACTIVATE_ASYNC_LOAD=1 torchrun a.py \\\n  --x 1\n"),
        ("import os\nfrom optimum.neuron import NeuronTrainer\n", "import os\nfrom transformers import Trainer\n"),
        (">>> from optimum.neuron import NeuronTrainer\n", ">>> from transformers import Trainer\n"),
        ("pip install libneuronxla\nbrings what you need\n", None),
        ("from optimum.neuron import NeuronTrainer...\n", None),
        ("# torchrun a.py --zero_1\n", None),
        ("optimum-neuron\n  train.py  # --zero_1\n", None),
    ],
)
def test_fences_without_a_language(before: str, after: str | None) -> None:
    fenced = f"# A\n\n```\n{before}```\n"
    assert migrate_text("markdown", fenced).text == (fenced if after is None else f"# A\n\n```\n{after}```\n")


def test_a_fence_without_any_command_left_goes() -> None:
    text = "A\n\n1. b\n\n   ```bash\n   pip install libneuronxla\n   ```\n\nC\n\n```sh\npip install libneuronxla\n```"
    assert migrate_text("markdown", text).text == "A\n\n1. b\n\nC\n\n"


def test_an_exported_model_is_known_to_the_fences_that_load_it() -> None:
    text = (
        "```bash\noptimum-cli export neuron --model me/m --batch_size 1 out/\n```\n\n"
        "```python\nfrom optimum.neuron import NeuronModelForMaskedLM\nfrom transformers import AutoTokenizer\n\n"
        'm = NeuronModelForMaskedLM.from_pretrained("out/")\nt = AutoTokenizer.from_pretrained("out/")\n```\n'
    )
    changed = migrate_text("markdown", text).text
    assert changed.startswith("```python\n")
    assert '"out' not in changed
    assert changed.count('"me/m"') == 2
    used = migrate_text("markdown", text.replace("t = ", "print('out/')\nt = ")).text
    assert "# TODO(neuron-migrate NM405)" in used
