"""Makefiles: the commands of recipes are migrated, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_codemods import ModuleFacts, Outcome, Project, migrate_text
from neuron_codemods.project import Script


def makefile(text: str) -> str:
    changed = migrate_text("makefile", text).text
    assert migrate_text("makefile", changed).text == changed
    return changed


def test_recipes_are_migrated() -> None:
    before = """TP = 8
.PHONY: train

# train: \tneuron_parallel_compile
train: data
\t@echo start
\t-@neuron_parallel_compile torchrun train.py --max_steps 10
\t@torchrun --nproc_per_node $(N) train.py --bf16 \\
\t\t--tensor_parallel_size $(TP) \\
\t\t--zero_1

clean:
\trm -rf $(OUT)
"""
    after = """TP = 8
.PHONY: train

# train: \tneuron_parallel_compile
train: data
\t@echo start
\t@TP_SIZE=$(TP) HF_DEACTIVATE_ASYNC_LOAD=1 torchrun --nproc_per_node $(N) train.py --bf16

clean:
\trm -rf $(OUT)
"""
    assert makefile(before) == after
    assert makefile(before.replace("\n", "\r\n")) == after.replace("\n", "\r\n")


def test_lines_that_are_no_recipes_stay() -> None:
    for text in ("\tneuron_parallel_compile ls\n", "A = 1\n\tneuron_parallel_compile ls\n", "# x:\n", ""):
        assert makefile(text) == text


def test_markers_are_comments_of_the_recipe() -> None:
    changed = makefile("serve:\n\t@optimum-cli neuron serve -m gpt2\n")
    assert changed.startswith("serve:\n\t# TODO(neuron-migrate NM405): ")
    assert changed.endswith("\n\t@optimum-cli neuron serve -m gpt2\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("TP := 8 # wide\n", "TP := 8 # wide\n"),
        ("export NEURON_FUSE_SOFTMAX := 1\nA = 1\n", "A = 1\n"),
        ("A = 1\n\n# old\nexport NEURON_FUSE_SOFTMAX=1\n\nB = 2\n", "A = 1\n\nB = 2\n"),
        (
            "export NEURON_CC_FLAGS ?= -O1 --cache_dir=/c --retry_failed_compilation # all\n",
            "export NEURON_CC_FLAGS ?= -O1 # all\nexport TORCH_NEURONX_NEFF_CACHE_DIR=/c\n",
        ),
        (
            "  export NEURON_CC_FLAGS := -O1 --cache_dir=/c\n",
            "  export NEURON_CC_FLAGS := -O1\n  export TORCH_NEURONX_NEFF_CACHE_DIR=/c\n",
        ),
        ("NEURON_RT_VIRTUAL_CORE_SIZE := 2\n", "NEURON_LOGICAL_NC_CONFIG := 2\n"),
        ("train: export XLA_USE_BF16 = 0\n", "train:\n"),
        ("export XLA_USE_BF16\nexport A B\n", "export A B\n"),
        ("define NEURON_FUSE_SOFTMAX\n1\nendef\n", None),
        ("NEURON_FUSE_SOFTMAX != nproc\n", None),
        ("NEURON_CC_FLAGS = --x \"a\" 'b' --cache_dir=/c\n", None),
        ("NEURON_CC_FLAGS = `cat f` --cache_dir=/c\n", None),
        ("ifdef NEURON_FUSE_SOFTMAX\nA=1\nendif\n", None),
    ],
)
def test_variables(before: str, after: str | None) -> None:
    assert makefile(f"# Neuron\n\n{before}") == f"# Neuron\n\n{before if after is None else after}"


def test_variables_that_reach_a_launch() -> None:
    before = """TP := 8
ARGS = --x "a b" --zero_1 \\
  --tensor_parallel_size $(TP) --evaluation_strategy=no
ARGS += --async_save

all:; ls
train: ARGS += --overwrite_output_dir
train:
\t-torchrun train.py $(ARGS) --home $$HOME $@
\tcd $$(pwd) && neuron_parallel_compile \\
\t  torchrun other.py --warmup_ratio $(W)
"""
    after = """TP := 8
ARGS = --x "a b" \\
  --eval_strategy=no
ARGS +=

all:; ls
train: ARGS +=
train:
\t-TP_SIZE=$(TP) HF_DEACTIVATE_ASYNC_LOAD=1 torchrun train.py $(ARGS) --home $$HOME $@
\tcd $$(pwd) && HF_DEACTIVATE_ASYNC_LOAD=1 torchrun other.py --warmup_steps $(W)
"""
    assert makefile(before) == after


def test_a_variable_that_is_the_command() -> None:
    before = """TP ?= 8
RUN = torchrun train.py --zero_1
FLAGS = --tensor_parallel_size $(TP) --x 1
all: a ; @$(RUN) $(FLAGS)
b:
\tif [ -n "$$X" ]; then \\
\t  neuron_parallel_compile $(RUN) $(FLAGS); \\
\tfi
"""
    after = """TP ?= 8
RUN = torchrun train.py
FLAGS = --x 1
all: a ; @TP_SIZE=$(TP) $(RUN) $(FLAGS)
b:
\tif [ -n "$$X" ]; then \\
\t  :; \\
\tfi
"""
    project = Project((ModuleFacts("train.py", script=Script(parses=True)),))
    assert migrate_text("makefile", before, project=project).text == after
    assert not migrate_text("makefile", after, project=project).changed


def test_findings_are_where_the_words_are() -> None:
    found = migrate_text("makefile", "A = 1\n\nx:\n\t@$(A) torchrun train.py --zero_1\n").findings
    assert [finding.place for finding in found if finding.message.startswith("--zero_1")] == ["4:26"]


PARTS = [
    "A = --zero_1 b",
    "A += $(B) --tensor_parallel_size 2 # c",
    "export NEURON_CC_FLAGS := --cache_dir=/c -O1",
    "export NEURON_FUSE_SOFTMAX=1",
    "# NEURON_FUSE_SOFTMAX",
    "x: y",
    "\t@torchrun train.py $(A) --zero_1 $$HOME",
    "\t-neuron_parallel_compile torchrun train.py $(A)",
    "\toptimum-cli neuron serve -m $(B)",
    "\tls \\",
    "ifeq (a,b)",
    "",
    "é = \"neuron'",
    "\tbash -c 'torchrun train.py --zero_1",
    ":3",
]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PARTS), max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_other_lines_stay(lines: list[str], newline: str, ends: bool) -> None:
    text = newline.join(lines) + newline * ends
    migration = migrate_text("makefile", text)
    assert migrate_text("makefile", migration.text).text == migration.text
    kept = ("x: y", "ifeq", "é", "\tls")
    assert [line for line in migration.text.split(newline) if line.startswith(kept)] == [
        line for line in lines if line.startswith(kept)
    ]
    assert migration.changed or all(finding.outcome is Outcome.MANUAL for finding in migration.findings)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("export PJRT_DEVICE=1 && torchrun train.py --zero_1", "HF_DEACTIVATE_ASYNC_LOAD=1 torchrun train.py"),
        ("export A=1 XLA_B=1 ; export PJRT_DEVICE=1", "export A=1 ;"),
        ("env PJRT_DEVICE=1 torchrun train.py $(X)", "torchrun train.py $(X)"),
        ("cd x; \\\n\t  export PJRT_DEVICE=1; \\\n\t  ls", "cd x; \\\n\t  ls"),
    ],
)
def test_what_a_recipe_exports(before: str, after: str) -> None:
    assert makefile(f"# neuron\nall:\n\t{before}\n") == f"# neuron\nall:\n\t{after}\n"
