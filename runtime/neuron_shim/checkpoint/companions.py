"""The small files beside the weights: which belong to the model, which to the training run."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Named by the tokenizer classes (``vocab_files_names`` in transformers/models), save_pretrained and the processors.
TOKENIZER = (
    *("tokenizer*", "vocab*", "*.vocab", "merges.txt", "special_tokens_map.json", "added_tokens.json", "*.model"),
    *("*.spm", "*.tiktoken", "tekken.json", "bpe.codes", "dict.txt", "entity_vocab.json", "emoji.json"),
    *("chat_template*", "preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"),
)
ALSO = ("generation_config.json", "README.md", "LICENSE*", "NOTICE*")
CUSTOM_CODE = "*.py"
TEMPLATES = "additional_chat_templates"  # transformers/utils/hub.py, CHAT_TEMPLATE_DIR


def companions_in(folder: Path, *, custom_code: bool = False) -> dict[str, Path | bytes]:
    """What goes along to the destination, by its name there."""
    patterns = (*TOKENIZER, *ALSO, CUSTOM_CODE) if custom_code else (*TOKENIZER, *ALSO)
    return _files(folder, patterns)


def tokenizer_in(folder: Path) -> dict[str, Path | bytes]:
    """The files of a tokenizer or processor, and no others."""
    return _files(folder, TOKENIZER)


def _files(folder: Path, patterns: tuple[str, ...]) -> dict[str, Path | bytes]:
    found: dict[str, Path | bytes] = {
        path.name: path for path in sorted(folder.iterdir()) if path.is_file() and _matches(path.name, patterns)
    }
    for path in sorted((folder / TEMPLATES).glob("*.jinja")):
        found[f"{TEMPLATES}/{path.name}"] = path
    return found


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
