"""Parts of texts of the other kinds, written anew: what no rule's case shows in so many forms."""

from __future__ import annotations

import json
import random
import textwrap

from neuron_codemods.data.launch import rows
from neuron_codemods.data.variables import variables

from . import pieces

_VALUES = ("1", "0", "", "true", "/cache", "s3://bucket/x", "-O1 --cache_dir=/c", "a b", "${X}", "é", "it's")
_ARGUMENTS = ("8", "1", "true", "false", "0.1", "no")


def piece(kind: str, rng: random.Random) -> str | None:
    """A part of a text of a kind; None for kinds of which the cases show enough."""
    write = _WRITERS.get(kind)
    return write(rng) if write is not None else None


def _variable(rng: random.Random) -> tuple[str, str]:
    name = rng.choice(variables()).name.replace("*", "X") if rng.random() < 0.8 else "PLAIN"
    return name, rng.choice(_VALUES)


def _flag(rng: random.Random) -> str:
    return rng.choice((*rows("neuron flag"), *rows("flag"), "output_dir", "epochs", "bf16"))


def _script(rng: random.Random) -> str:
    return rng.choice(pieces.cases("shell"))


def _indented(text: str, prefix: str) -> str:
    return textwrap.indent(text, prefix)


def _env(rng: random.Random) -> str:
    line = rng.choice(("{}={}", "export {}={}", '{}="{}"', "{}='{}'", "{} = {}", "  {}={}  ", "{}={}  # why"))
    return "".join(line.format(*_variable(rng)) + "\n" for _ in range(rng.randint(1, 4)))


def _json(rng: random.Random) -> str:
    values = ("8", "true", True, False, 8, 0.1, None, [1], {"zero_1": True}, "x é")
    given = {rng.choice(("output_dir", "x")): "out"} | {
        _flag(rng): rng.choice(values) for _ in range(rng.randint(1, 6))
    }
    above = rng.choice((None, None, "HyperParameters", "hyperparameters", "environment", "args"))
    if above == "environment":
        given = dict(_variable(rng) for _ in range(3))
    held = given if above is None else {"x": 1, above: given, "y": [given] if rng.random() < 0.1 else []}
    return json.dumps(held, indent=rng.choice((None, 2, 4, "\t")), ensure_ascii=rng.random() < 0.5) + "\n"


def _yaml(rng: random.Random) -> str:
    names = [_variable(rng) for _ in range(rng.randint(1, 3))]
    form = rng.randrange(7)
    if form == 0:
        return "env:\n" + "".join(f"  - name: {name}\n    value: {json.dumps(value)}\n" for name, value in names)
    if form == 1:
        return "environment:\n" + "".join(f"  {name}: {json.dumps(value)}\n" for name, value in names)
    if form == 2:
        return "environment:\n" + "".join(f"  - {name}={value}\n" for name, value in names)
    if form == 3:
        words = ["torchrun", "train.py", *(f"--{_flag(rng)}={rng.choice(_ARGUMENTS)}" for _ in range(3))]
        return f"args: {json.dumps(words)}\n" if rng.random() < 0.5 else "args:\n" + "".join(f"- {w}\n" for w in words)
    if form == 4:
        return f"run: {rng.choice('>|')}{rng.choice(('', '-', '+'))}\n{_indented(_script(rng), '  ')}"
    given = {_flag(rng): rng.choice(_ARGUMENTS) for _ in range(3)}
    if form == 5:
        return "output_dir: out\n" + "".join(f"{key}: {value}\n" for key, value in given.items())
    inside = ", ".join(f"{key}: {value}" for key, value in given.items())
    return f"hyperparameters: {{{inside}}}\n"


def _dockerfile(rng: random.Random) -> str:
    name, value = _variable(rng)
    words = ["torchrun", "train.py", *(f"--{_flag(rng)}" for _ in range(2))]
    form = rng.choice(
        (
            f"ENV {name}={json.dumps(value)} X=1 \\\n    Y=2\n",
            f"ENV {name} {value}\n",
            f"CMD {json.dumps(words)}\n",
            f"ENTRYPOINT {' '.join(words)}\n",
            f"RUN <<EOF\n{_script(rng)}EOF\n",
            f"ARG {name}={value}\n",
            f"RUN {name}={json.dumps(value)} \\\n  # why\n  pip install optimum[neuronx] && \\\n  ls\n",
        )
    )
    return f"FROM python:3.11\n{form}"


def _fenced(rng: random.Random) -> str:
    kind, language = rng.choice(
        (("shell", "bash"), ("shell", "console"), ("python", "python"), ("python", ""), ("yaml", "yaml"))
    )
    code = rng.choice(pieces.cases(kind))
    if language == "console":
        code = "".join(f"$ {line}\n" for line in code.splitlines())
    fence, prefix = rng.choice(("```", "~~~~")), rng.choice(("", "", "  ", "> ", "   - "))
    block = f"{fence}{language}\n{code}{fence}\n"
    lead = f"1. Some text\n\n{prefix}" if prefix.strip() == "-" else ""
    return lead + _indented(block, prefix.replace("-", " ")).removeprefix(prefix if lead else "")


def _directive(rng: random.Random) -> str:
    kind, language = rng.choice((("shell", "bash"), ("python", "python"), ("yaml", "yaml")))
    return f".. code-block:: {language}\n\n{_indented(rng.choice(pieces.cases(kind)), '   ')}\nSome text.\n"


def _makefile(rng: random.Random) -> str:
    name, value = _variable(rng)
    return rng.choice(
        (
            f"export {name} := {value}\nARGS = --{_flag(rng)} 8 $(MORE)\n",
            f"ARGS += --{_flag(rng)}\nall: x\n\ttorchrun train.py $(ARGS)\n",
            f"train: export {name}={value}\ntrain:\n\t@{name}={value} torchrun train.py --{_flag(rng)}\n",
        )
    )


def _lock(rng: random.Random) -> str:
    name = rng.choice(("optimum-neuron", "torch-neuronx", "neuronx-cc", "torch", "x"))
    return f'[[package]]\nname = "{name}"\nversion = "{rng.choice(("0.0.24", "2.8.0", "2.14.3"))}"\n'


_WRITERS = {
    "env": _env,
    "json": _json,
    "yaml": _yaml,
    "dockerfile": _dockerfile,
    "markdown": _fenced,
    "rst": _directive,
    "makefile": _makefile,
    "lock": _lock,
}
