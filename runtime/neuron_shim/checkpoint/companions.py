"""The small files beside the weights: which belong to the model, which to the training run."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Tokenizers bring files of many names (each class has its own ``vocab_files_names``), so what is small and readable is
# taken along unless it is known to describe the run.
BELONGS = (
    *("*.json", "*.jinja", "*.txt", "*.model", "*.spm", "*.tiktoken", "*.bpe", "*.codes", "*.py"),
    *("README.md", "LICENSE*", "NOTICE*"),
)
DOES_NOT = (
    *("*.index.json", "config.json", "adapter_config.json", "trn_config.json", "distributed_config.json"),
    *("trainer_state.json", "*_results.json", "trainer_log.jsonl", "requirements*.txt", "train.py"),
)
TOKENIZER = ("tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "chat_template*", "*.model", "*.spm")
TEMPLATES = "additional_chat_templates"  # transformers/utils/hub.py, CHAT_TEMPLATE_DIR


def companions_in(folder: Path) -> dict[str, Path | bytes]:
    """What goes along to the destination, by its name there."""
    found: dict[str, Path | bytes] = {
        path.name: path for path in sorted(folder.iterdir()) if path.is_file() and belongs(path.name)
    }
    for path in sorted((folder / TEMPLATES).glob("*.jinja")):
        found[f"{TEMPLATES}/{path.name}"] = path
    return found


def belongs(name: str) -> bool:
    return _matches(name, BELONGS) and not _matches(name, DOES_NOT)


def left_behind(folder: Path, taken: Mapping[str, object]) -> tuple[str, ...]:
    """Files and folders that the export does not look at, such as the optimizer's; weights and config aside."""
    skipped = ("config.json", "adapter_config.json", "*.safetensors", "*.index.json", TEMPLATES, ".*", "__pycache__")
    return tuple(
        path.name + ("/" if path.is_dir() else "")
        for path in sorted(folder.iterdir())
        if path.name not in taken and not _matches(path.name, skipped)
    )


def has_tokenizer(names: Mapping[str, object]) -> bool:
    return any(_matches(name, TOKENIZER) for name in names)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
