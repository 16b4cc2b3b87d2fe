"""Files that are migrated: the rules against what libcst takes for a parse, its metadata and writing the same."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import REPOSITORY, held, side_by_side, table

BOUND = 2.5
"""What a file with Neuron code may cost, in bare parses; 2.7 would be 20 files for 54 that are parsed."""
USUAL = 18_400
"""Bytes, of the files of transformers on average."""

_HEAD = '''"""Generated."""

import json
import os

import torch
from datasets import load_dataset
from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.distributed import lazy_load_for_parallelism
from transformers import AutoModelForCausalLM, AutoTokenizer


'''

_ORDINARY = '''def prepare_{n}(path, tokenizer, *, limit=None, block={n}):
    """Read the records of a file and cut them into blocks."""
    records = []
    with open(os.path.join(path, f"part-{{block:05d}}.jsonl"), encoding="utf-8") as file:
        for number, line in enumerate(file):
            if limit is not None and number >= limit:
                break
            record = json.loads(line)
            text = record.get("text") or "\\n".join(record["parts"])
            records.append({{"text": text, "length": len(text), "id": f"{{number}}-{n}"}})
    lengths = [record["length"] for record in records if record["length"] > {n} % 7]
    average = sum(lengths) / max(len(lengths), 1)
    encoded = tokenizer([record["text"] for record in records], truncation=True, max_length=2048)
    mask = torch.tensor([[1 if token else 0 for token in row] for row in encoded["input_ids"]])
    return {{"records": records, "average": average, "mask": mask[:, : block or None]}}


'''

_NEURON = """def train_{n}(model_id, data):
    args = NeuronTrainingArguments(
        output_dir="out-{n}",
        tensor_parallel_size=8,
        zero_1=True,
        bf16=True,
        evaluation_strategy="epoch",
        warmup_ratio=0.1,  # as in the paper
    )
    with lazy_load_for_parallelism(tensor_parallel_size=args.tensor_parallel_size):
        model = AutoModelForCausalLM.from_pretrained(model_id)
    tokenizer = AutoTokenizer.from_pretrained(model_id)
    dataset = load_dataset("json", data_files=data, split="train")
    trainer = NeuronTrainer(model=model, args=args, train_dataset=dataset, tokenizer=tokenizer)
    trainer.train()


"""


def generated(lines: int, every: int = 10) -> str:
    """A script of about so many lines, in which one function of ``every`` trains with Optimum Neuron."""
    parts = [_HEAD]
    written = _HEAD.count("\n")
    number = 0
    while written < lines:
        part = (_NEURON if number % every == 0 else _ORDINARY).format(n=number)
        parts.append(part)
        written += part.count("\n")
        number += 1
    return "".join(parts)


def texts() -> Iterator[tuple[str, str]]:
    """What is migrated, by name."""
    for path in sorted((REPOSITORY / "examples").glob("*/before/*.py")):
        yield path.relative_to(REPOSITORY / "examples").as_posix(), path.read_text(encoding="utf-8")
    yield "generated, one function in 10", generated(1_000)
    yield "generated, one function in 10", generated(20_000)


def measured(runs: int) -> str:
    """The table."""
    import libcst
    from libcst.metadata import MetadataWrapper, PositionProvider, QualifiedNameProvider

    from neuron_codemods import Project, collect, migrate

    def both(text: str) -> object:
        facts = collect(text, "script.py")
        return migrate(text, path="script.py", project=Project((facts,)))

    def codemod(text: str) -> object:
        wrapper = MetadataWrapper(libcst.parse_module(text), unsafe_skip_copy=True)
        wrapper.resolve_many((PositionProvider, QualifiedNameProvider))
        return wrapper.module.code

    heads = ("lines", "findings", "parse s", "metadata s", "migrate s", "of all", "files/s", "of a parse", "limit", "")
    rows = [("", *heads)]
    for name, text in texts():
        large = text.count("\n") > 5_000  # then a run takes long enough to need neither a warm-up nor many others
        works = (
            lambda text=text: libcst.parse_module(text),
            lambda text=text: codemod(text),
            lambda text=text: both(text),
        )
        parse, full, ours = side_by_side(works, 1 if large else runs * 3, warm=not large)
        counts = (f"{text.count(chr(10)):,}", f"{len(migrate(text).findings):,}")
        seconds = (f"{each:.4f}" for each in (parse, full, ours))
        speed = len(text.encode()) / USUAL / ours
        limit = (f"{ours / parse:.2f}", f"{BOUND}", held(ours <= BOUND * parse))
        rows.append((name, *counts, *seconds, f"{ours / full:.2f}", f"{speed:.0f}", *limit))
    title = "Migrated: libcst's bare parse, the same with names, positions and code, and ours"
    return table(title, rows) + f"\n  files/s: of {USUAL / 1e3} kB, in a CPU-second\n"
