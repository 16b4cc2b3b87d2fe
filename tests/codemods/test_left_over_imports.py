"""What only the old code needed is not imported any more; what anything else may need is."""

from __future__ import annotations

import pytest

from neuron_codemods import Project, Settings, collect, migrate, migrate_text

GONE = 'os.environ["XLA_USE_BF16"] = "1"\n'
STACK = "import torch_neuronx\n"
ONLY = Settings(select=("NM615",))
"""With the rule that takes variables of the old stack away."""


def without_the_stack(text: str) -> str:
    """A migrated text, without the import that makes it one of the old stack."""
    return migrate(f"{STACK}{text}", settings=ONLY).text.removeprefix(STACK)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"import os\nimport sys\n\n{GONE}print(sys.argv)\n", "import sys\n\nprint(sys.argv)\n"),
        (f"import os, sys\n\n{GONE}print(sys.argv)\n", "import sys\n\nprint(sys.argv)\n"),
        (f"from os import environ, path\n\n{GONE[3:]}print(path)\n", "from os import path\n\nprint(path)\n"),
        (f"import os\nimport os.path\n\n{GONE}x = 1\n", "x = 1\n"),
        ("import os as o\n\no." + GONE[3:] + "x = 1\n", "x = 1\n"),
        (f"def f():\n    import os\n\n    {GONE}    return 1\n", "def f():\n    return 1\n"),
        (f"import os\r\n\r\n{GONE[:-1]}\r\nx = 1\r\n", "x = 1\r\n"),
        (f"import os; x = 1\n{GONE}", "x = 1\n"),
        (f"import os  # for the flags\n\n{GONE}x = 1\n", "x = 1\n"),
    ],
)
def test_an_import_goes_with_its_last_use(before: str, after: str) -> None:
    assert without_the_stack(before).lstrip() == after


@pytest.mark.parametrize(
    "text",
    [
        f"import os\n\n{GONE}print(os.name)\n",
        f"import os\n\n{GONE}value: 'os.PathLike' = '.'\n",
        f'import os\n\n__all__ = ["os"]\n{GONE}',
        f"import os  # noqa: F401\n\n{GONE}",
        f"import os  # neuron-migrate: ignore\n\n{GONE}",
        f"from os import environ as environ\n\n{GONE[3:]}",
        f"try:\n    import os\nexcept ImportError:\n    os = None\n{GONE}",
        f"if True:\n    import os\n{GONE}",
        f"class Paths:\n    import os\n    {GONE}",
        f"import os\n\n\ndef f():\n    global os\n    {GONE}",
        "import os\n\nx = 1\n",
    ],
)
def test_an_import_that_may_be_needed_stays(text: str) -> None:
    first = text[: text.index("import")] + text[text.index("import") :].partition("\n")[0]
    assert first in without_the_stack(text)


def test_an_import_whose_use_is_only_changed_stays() -> None:
    text = """import os

from optimum.neuron import NeuronTrainingArguments

args = NeuronTrainingArguments(os.getcwd(), zero_1=True)
"""
    assert "import os\n" in migrate(text).text


def test_a_name_that_another_file_imports_stays() -> None:
    text = f"{STACK}import os\n\n{GONE}"
    other = collect("from flags import os\nfrom optimum.neuron import NeuronTrainer\n", "main.py")
    project = Project((collect(text, "flags.py"), other))
    assert "import os" in migrate(text, path="flags.py", project=project, settings=ONLY).text
    assert "import os" not in migrate(text, path="flags.py", settings=ONLY).text


def test_the_cells_of_a_notebook_keep_their_imports() -> None:
    fence = f"```python\n{STACK}import os\n\n{GONE}x = 1\n```\n"
    assert "import os\n" in migrate_text("markdown", fence, path="README.md").text
