"""Large files: a text four times as long takes about four times as long, and not sixteen."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.measure import held, table

FACTOR = 4
"""How much longer the second text of each kind is."""
BOUND = 1.6
"""How much more than that it may take: a table of names falls out of the caches of a processor."""

_IMPORT = "from optimum.neuron import NeuronTrainer, NeuronTrainingArguments\n"


def _imports(count: int) -> str:
    lines = [f"from package{n % 7}.module{n} import Name{n}" for n in range(count - count // 20)]
    lines += [f"from optimum.neuron import NeuronTrainer as Trainer{n}" for n in range(count // 20)]
    return "\n".join([*lines, *(f"Trainer{n}(model=None, tokenizer=None)" for n in range(count // 20)), ""])


def _calls(count: int) -> str:
    made = "trainer = NeuronTrainer(model=model, args=args, tokenizer=tokenizer)\ntrainer.train()\n"
    other = 'print(json.dumps({"value": tokenizer("text", max_length=128)}, indent=2))\n'
    return _IMPORT + "".join(made if n % 10 == 0 else other for n in range(count))


def _mapping(count: int) -> str:
    entries = "".join(f'    "key_{n}": [model_{n}, {{"size": {n}}}],\n' for n in range(count))
    return f'{_IMPORT}args = NeuronTrainingArguments("out", zero_1=True)\nTABLE = {{\n{entries}}}\n'


def _functions(count: int) -> str:
    body = """def train_{n}(model, data):
    args = NeuronTrainingArguments("out-{n}", zero_1=True)
    trainer = NeuronTrainer(model=model, args=args, train_dataset=data)
    return trainer.train()


"""
    return _IMPORT + "\n\n" + "".join(body.format(n=n) for n in range(count))


def _assignments(count: int) -> str:
    return _IMPORT + "".join(f"value = value + [NeuronTrainer, args_{n % 50}, {n}]\n" for n in range(count))


def _nested(count: int) -> str:
    block = "".join(f"{'    ' * depth}if flags[{depth}]:\n" for depth in range(60))
    inside = "    " * 60 + "trainer = NeuronTrainer(model=model, args=args)\n"
    return _IMPORT + (block + inside) * (count // 61)


def _strings(count: int) -> str:
    return _IMPORT + "".join(f'log(f"{{args.name}} of {{model.size}} at {{step}} {n}")\n' for n in range(count))


def _marked(count: int) -> str:
    return "".join(f'module_{n} = importlib.import_module("optimum.neuron.trainers")\n' for n in range(count))


def _repeated(count: int) -> str:
    return _IMPORT * count + "NeuronTrainer(model=None, tokenizer=None)\n"


def _one_line(count: int) -> str:
    return _IMPORT + "; ".join(f"trainer_{n} = NeuronTrainer(tokenizer={n})" for n in range(count)) + "\n"


def _literal(count: int) -> str:
    return f"{_IMPORT}NeuronTrainer(model=None, data=[{', '.join(map(str, range(count)))}])\n"


def _notebook(count: int) -> str:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": [text]}
        for text in (_IMPORT, *(f"trainer = NeuronTrainer(model={n}, tokenizer=tokenizer)" for n in range(count)))
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def _shell(count: int) -> str:
    line = (
        "neuron_parallel_compile torchrun --nproc_per_node=8 train.py --tensor_parallel_size 8 --output_dir out{n}\n"
    )
    return "".join(line.format(n=n) if n % 10 == 0 else f'echo "step {n}" >> "$LOG"\n' for n in range(count))


def _requirements(count: int) -> str:
    lines = [f"package-{n}=={n}.0" if n % 100 else "optimum-neuron[neuronx]==0.0.25" for n in range(count)]
    return "\n".join([*lines, ""])


def _markdown(count: int) -> str:
    fence = f"Text about step {{n}}.\n\n```python\n{_IMPORT}trainer = NeuronTrainer(model={{n}})\n```\n\n"
    return "".join(fence.format(n=n) for n in range(count))


def _yaml(count: int) -> str:
    job = "  job{n}:\n    steps:\n      - run: |\n          pip install optimum-neuron\n          echo {n}\n"
    return "jobs:\n" + "".join(job.format(n=n) for n in range(count))


def _lists(count: int) -> str:
    return f"image: optimum-neuron\nvalues: {'[' * count}{']' * count}\n"


def _dockerfile(count: int) -> str:
    return "FROM ubuntu\n" + "".join(f"RUN pip install optimum-neuron package{n}\n" for n in range(count))


@dataclass(frozen=True)
class Kind:
    """Texts that can be made as long as one likes."""

    name: str
    kind: str
    """As ``neuron_codemods`` knows it."""
    written: Callable[[int], str]
    """The text with so many of what it is about."""
    count: int
    """How many the shorter text has."""


KINDS = (
    Kind("imports", "python", _imports, 5_000),
    Kind("one import, repeated", "python", _repeated, 1_250),
    Kind("calls", "python", _calls, 5_000),
    Kind("one mapping", "python", _mapping, 5_000),
    Kind("functions", "python", _functions, 1_250),
    Kind("assignments to one name", "python", _assignments, 5_000),
    Kind("statements 60 deep", "python", _nested, 5_000),
    Kind("statements on one line", "python", _one_line, 1_250),
    Kind("f-strings", "python", _strings, 2_500),
    Kind("numbers in one argument", "python", _literal, 25_000),
    Kind("statements to mark", "python", _marked, 1_250),
    Kind("notebook cells", "notebook", _notebook, 500),
    Kind("lines of shell", "shell", _shell, 5_000),
    Kind("requirements", "requirements", _requirements, 2_500),
    Kind("fences of Markdown", "markdown", _markdown, 500),
    Kind("jobs of YAML", "yaml", _yaml, 500),
    Kind("YAML lists in one another", "yaml", _lists, 1_000),
    Kind("instructions of a Dockerfile", "dockerfile", _dockerfile, 500),
)


def seconds(kind: str, text: str) -> float:
    """The CPU seconds of one migration, in a process like the command's."""
    from neuron_codemods import Project, collect, migrate, migrate_text
    from neuron_migrate.collector import resting

    gc.collect()
    with resting():
        start = time.process_time()
        if kind == "python":
            migrate(text, path="script.py", project=Project((collect(text, "script.py"),)))
        else:
            migrate_text(kind, text, path=kind)
        return time.process_time() - start


def grown(scale: float = 1) -> Iterator[tuple[str, int, float, float]]:
    """For each kind of text its name, how many the longer one has, and the seconds for the shorter and the longer."""
    for each in KINDS:
        count = max(int(each.count * scale), 4)
        seconds(each.kind, each.written(4))
        short, long = (seconds(each.kind, each.written(number)) for number in (count, count * FACTOR))
        yield each.name, count * FACTOR, short, long


def measured(scale: float = 1) -> str:
    """The table."""
    limit = FACTOR * BOUND
    rows = [("", "number", f"s for 1/{FACTOR} of it", "s", "growth", "limit", "")]
    for name, count, short, long in grown(scale):
        growth = long / short
        rows.append(
            (name, f"{count:,}", f"{short:.2f}", f"{long:.2f}", f"{growth:.1f}", f"{limit}", held(growth <= limit))
        )
    return table(f"Large files: {FACTOR} times as much", rows)
