"""Which formatting functions are unrolled to one example, and what is left for a person."""

from __future__ import annotations

import pytest

from neuron_codemods import Migration, Outcome, Settings, migrate

IMPORT = "from optimum.neuron import NeuronSFTTrainer\n\n"
MADE = "NeuronSFTTrainer(model=model, formatting_func=f)\n"
LOOP = 'out = []\nfor i in range(len(b["t"])):\n    {}\nreturn out'


def migrated(text: str) -> Migration:
    return migrate(IMPORT + text, settings=Settings(select=("NM121",)))


def function(body: str, parameters: str = "b") -> str:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"def f({parameters}):\n{lines}\n\n{MADE}"


def is_left(text: str) -> bool:
    """Whether a text stays as it is, with a marker."""
    result = migrated(text)
    kept = [line for line in result.text.splitlines(True) if "TODO(neuron-migrate NM121)" not in line]
    assert "".join(kept) == IMPORT + text
    return [finding.outcome for finding in result.findings if finding.code == "NM121"] == [Outcome.MANUAL]


@pytest.mark.parametrize(
    ("appended", "returned"),
    [
        ('out.append(b["t"][i])', 'return b["t"]'),
        ('out . append ( ("a" + b["t"][i]) , )', 'return "a" + b["t"]'),
        ('out.append(\n        b["t"][i]\n    )', 'return (\n    b["t"]\n)'),
        ('out.append(\n        b["t"][i],  # one, two\n    )', 'return (\n    b["t"]  # one, two\n)'),
        ('out.append((\n        b["t"][i] + ","\n    ),)', 'return ((\n    b["t"] + ","\n))'),
        ("out.append(f\"{b['t'][i]}, {b['u'][i]}\")", "return f\"{b['t']}, {b['u']}\""),
    ],
)
def test_a_loop_is_unrolled(appended: str, returned: str) -> None:
    assert migrated(function(LOOP.format(appended))).text == IMPORT + function(returned)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(function("return ['a']") + MADE, id="two trainers"),
        pytest.param(function(LOOP.format('out.append(b["t"][i])')) + "data.map(f)\n", id="another use"),
        pytest.param("f = lambda b: [x for x in b['t']]\n" + MADE, id="a lambda expression"),
        pytest.param("NeuronSFTTrainer(formatting_func=lambda b: list(b))\n", id="a lambda expression in place"),
        pytest.param(
            "from functools import partial\n\n\ndef f(b, t):\n    return list(b)\n\n\n"
            "NeuronSFTTrainer(formatting_func=partial(f, t=1))\n",
            id="a partial function",
        ),
        pytest.param(
            "class A:\n    def f(self, b):\n        return [1]\n\n"
            "    def run(self):\n        NeuronSFTTrainer(formatting_func=self.f)\n",
            id="a method",
        ),
        pytest.param(function("for x in b['t']:\n    yield x"), id="a generator"),
        pytest.param(function("yield from b"), id="a generator of another"),
        pytest.param(function("return {'text': b}"), id="a mapping"),
        pytest.param(function("out: list[str] = []\nout.append(b['t'])\nreturn out"), id="an annotated list"),
        pytest.param(function("out = list()\nout.append(b['t'])\nreturn out"), id="list()"),
        pytest.param(function(LOOP.format('out.append(b["t"][i])'), "b, c"), id="two parameters"),
        pytest.param(function("print(b)\n" + LOOP.format('out.append(b["t"][i])')), id="another statement"),
        pytest.param(function("out = []\nwhile b:\n    out.append(b)\nreturn out"), id="another loop"),
        pytest.param(function(LOOP.format('out.append(b["t"][i])').replace("[]", "[1]")), id="a first item"),
        pytest.param(function(LOOP.format('out.append(b["t"][i])\nelse:\n    pass')), id="an else"),
        pytest.param(function(LOOP.format('out.append(b["t"][i])').replace("out =", "out = x =")), id="two names"),
        pytest.param(
            function(LOOP.format('out.append(b["t"][i])').replace("return out", "return [*out]")), id="a copy"
        ),
        pytest.param(function(LOOP.format('out.extend(b["t"][i])')), id="extend"),
        pytest.param(function(LOOP.format('out += [b["t"][i]]')), id="an addition"),
        pytest.param(function(LOOP.format('out.append(b["t"][i])').replace("i in", "i, j in")), id="two counters"),
        pytest.param(function('out = []\nfor i in b["t"]:\n    out.append(i)\nreturn out'), id="items"),
        pytest.param(function('out = []\nfor i in range(5):\n    out.append(b["t"][i])\nreturn out'), id="a number"),
        pytest.param(
            function('out = []\nfor i in range(len(b)):\n    out.append(b["t"][i])\nreturn out'), id="len(b)"
        ),
        pytest.param(
            function(LOOP.format('if b["t"][i]:\n        continue\n    out.append(b["t"][i])')), id="continue"
        ),
        pytest.param(function(LOOP.format('n += 1\n    out.append(b["t"][i])')), id="a sum"),
        pytest.param(function(LOOP.format("out.append(f\"{i}: {b['t'][i]}\")")), id="the number of the item"),
        pytest.param(function(LOOP.format('print(len(out))\n    out.append(b["t"][i])')), id="the list so far"),
        pytest.param(function(LOOP.format('out.append("x")')), id="nothing of the batch"),
    ],
)
def test_a_batch_is_left_for_a_person(text: str) -> None:
    assert is_left(text)


@pytest.mark.parametrize(
    "text",
    [
        "NeuronSFTTrainer(model=model)\n",
        'NeuronSFTTrainer(formatting_func=FORMATS["chat"])\n',
        "NeuronSFTTrainer(formatting_func=lambda b: b['t'])\n",
        "f = make()\n" + MADE,
        "def run(self):\n    NeuronSFTTrainer(formatting_func=self.f)\n",
        "class A:\n    def run(self):\n        NeuronSFTTrainer(formatting_func=self.f)\n",
        function("def inner():\n    return []\n\n\nself.x = []\nn = 1\nreturn inner"),
        function("out = []\nout = str(b)\nreturn str(out)"),
    ],
)
def test_one_example_stays(text: str) -> None:
    assert migrated(text).text == IMPORT + text
    assert not migrated(text).findings
