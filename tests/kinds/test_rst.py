"""reStructuredText: the code in directives and doctest blocks is migrated, and nothing else."""

from __future__ import annotations

import pytest

from neuron_codemods import migrate_text

OLD = "from optimum.neuron import NeuronTrainer as Trainer"
NEW = "from transformers import Trainer"


def rst(text: str) -> str:
    changed = migrate_text("rst", text).text
    assert migrate_text("rst", changed).text == changed
    return changed


@pytest.mark.parametrize("directive", ["code-block:: python", "code:: py", "sourcecode:: python3", "code-block::"])
def test_directives(directive: str) -> None:
    text = f"Title\n=====\n\n- a\n\n  .. {directive}\n     :linenos:\n\n     {OLD}\n\n     x = 1\n  y\n"
    assert rst(text) == text.replace(OLD, NEW)
    assert rst(text.replace("\n", "\r\n")) == text.replace(OLD, NEW).replace("\n", "\r\n")


def test_doctest_blocks() -> None:
    text = f"Text\n\n  >>> {OLD}\n  >>> if x:\n  ...     y\n  1\n\nText\n"
    assert rst(text) == text.replace(OLD, NEW)


def test_console() -> None:
    text = ".. code-block:: console\n\n   (venv) $ torchrun train.py --zero_1\n   loss: --zero_1\n"
    new = "HF_DEACTIVATE_ASYNC_LOAD=1 torchrun train.py"
    assert rst(text) == text.replace("torchrun train.py --zero_1", new, 1)


@pytest.mark.parametrize(
    "text",
    [
        f"Text::\n\n   {OLD}\n",
        f".. code-block:: text\n\n   {OLD}\n",
        f".. note::\n\n   {OLD}\n",
        f".. code-block:: python\n\n{OLD}\n",
        ".. code-block:: python\n",
        f"``{OLD}``",
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert rst(text) == text


def test_commands_that_are_all_gone_leave_the_directive() -> None:
    text = ".. code-block:: bash\n\n   pip install libneuronxla pandas\n   torchrun a.py --zero_1\n\nText\n"
    after = text.replace("libneuronxla ", "").replace(
        "torchrun a.py --zero_1", "HF_DEACTIVATE_ASYNC_LOAD=1 torchrun a.py"
    )
    assert migrate_text("rst", text).text == after
