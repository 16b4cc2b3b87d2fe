"""Makefiles: the commands of recipes are migrated, and nothing else."""

from __future__ import annotations

from neuron_codemods import migrate_text


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
