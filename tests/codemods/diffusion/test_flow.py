"""Sizes reach the calls of pipelines through whatever a file does with them, or a marker says where they are lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_codemods import Outcome, migrate
from neuron_codemods.data import all_keywords

HEAD = """from optimum.neuron import NeuronStableDiffusionPipeline as P
"""
LOAD = 'P.from_pretrained("a/b", export=True, auto_cast="none", height=512, width=256)'
SIZED = "height=512, width=256"


def sized(text: str) -> str:
    migration = migrate(HEAD + text)
    assert migrate(migration.text).text == migration.text
    return migration.text


def manual(text: str) -> list[str]:
    return [finding.message for finding in migrate(text).findings if finding.outcome is Outcome.MANUAL]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        (f"p = {LOAD}\nq = p\nq('x')\n", "q('x', {})"),
        (f"p: P = {LOAD}\n[p(x) for x in 'ab']\n", "p(x, {})"),
        (f"def f(pipe=None):\n    pipe('x')\n\n\nf(pipe={LOAD})\n", "pipe('x', {})"),
        (f"class A:\n    pipe = {LOAD}\n\n    def f(self):\n        self.pipe('x')\n", "self.pipe('x', {})"),
        (
            f"class A:\n    def __init__(self, pipe):\n        self.pipe = pipe\n\n    def f(self):\n"
            f"        self.pipe('x')\n\n\nA({LOAD}).f()\n",
            "self.pipe('x', {})",
        ),
        (
            f"class A:\n    def __init__(self):\n        self.own = {LOAD}\n\n    @property\n    def pipe(self):\n"
            f"        return self.own\n\n\na = A()\na.pipe('x')\n",
            "a.pipe('x', {})",
        ),
        (
            f"from functools import lru_cache\n\n\n@lru_cache\ndef get():\n    return {LOAD}\n\n\nget()('x')\n",
            "get()('x', {})",
        ),
        (
            f"pipe = None\n\n\ndef f():\n    global pipe\n    pipe = {LOAD}\n\n\ndef g():\n    pipe('x')\n",
            "pipe('x', {})",
        ),
        (f"app.state.pipe = {LOAD}\napp.state.pipe('x')\n", "app.state.pipe('x', {})"),
        (f"pipes['a'] = {LOAD}\npipes['a']('x')\n", "pipes['a']('x', {})"),
        (f"if (p := {LOAD}):\n    p('x')\n", "p('x', {})"),
        (f"pool.submit({LOAD}, 'x')\n", "'x', {})"),
        (f"p = {LOAD}\nargs = dict(prompt='x')\np(**args)\n", "p(**args, {})"),
        (f"try:\n    p = {LOAD}\nexcept OSError:\n    p = None\np('x')\n", "p('x', {})"),
    ],
)
def test_a_call_gets_the_sizes(text: str, call: str) -> None:
    assert call.format(SIZED) in " ".join(sized(text).replace(",\n)", ")").split()).replace("( ", "(")
    assert manual(HEAD + text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"p = {LOAD}\nserver.add(p)\n",
        f"p = {LOAD}\nall_of_them = [p]\n",
        f"def load():\n    return {LOAD}\n",
        f"def load():\n    yield {LOAD}\n",
        f"load = lambda: {LOAD}\n",
        f"a, b = {LOAD}, 1\n",
        f"p = {LOAD}\np(*args)\n",
    ],
)
def test_where_a_pipeline_is_lost_a_marker_says_the_sizes(text: str) -> None:
    (message,) = manual(HEAD + text)
    assert "height=512" in message
    assert "width=256" in message


@pytest.mark.parametrize(
    "text",
    [
        "kinds = {'a': P}\n",
        "class Q(P):\n    pass\n",
        "load(P)\n",
        "P(unet, vae)\n",
        "P.from_pretrained('folder')\n",
        "P.from_pretrained('a/b', export=flag)\n",
        "P.from_pretrained('a/b', **options())\n",
        "P.from_pretrained(*names, export=True)\n",
        "shapes = {'height': 8}\nshapes['width'] = 8\nP.from_pretrained('a/b', export=True, **shapes)\n",
        "P.from_pretrained('a/b', export=True, heigth=8)\n",
        "P.from_pretrained('a/b', export=True, controlnet_ids='c/d')\n",
        "P.from_pretrained('a/b', export=True, lora_model_ids=ids)\n",
        "f(P.from_pretrained('a/b', export=True, lora_model_ids='c/d'))\n",
    ],
)
def test_what_is_not_understood_is_left_with_a_marker(text: str) -> None:
    before = f"{HEAD}{text}pipe = {LOAD}\npipe('x')\n"
    after = migrate(before).text
    kept = [line for line in after.splitlines() if not line.lstrip().startswith("# TODO(neuron-migrate NM301)")]
    assert kept == before.splitlines()
    assert len(manual(before)) == 2
    assert migrate(after).text == after


NAMES = sorted(
    {
        name
        for row in all_keywords()
        if row.owner in ("diffusion", "traced_model") and row.keyword and "from_pretrained" in row.members
        for name in row.names
        if name not in ("controlnet_ids", "export", "from_transformers")
    }
)
VALUES = st.sampled_from(["1", "None", '"a"', "SIZE", "args.x", "[0, 1]", "f(2)", "True"])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
    st.sampled_from(["pipe = {}\nimage = pipe('x')\n", "def load():\n    return {}\n", "run({})\n", "{}('x')\n"]),
    st.booleans(),
)
def test_whatever_is_given_the_result_parses_and_stays(
    named: dict[str, str], mapped: dict[str, str], place: str, own: bool
) -> None:
    mapping = ", ".join(f'"{name}": {value}' for name, value in mapped.items() if name not in named)
    keywords = "".join(f", {name}={value}" for name, value in named.items())
    splat = f", **{{{mapping}}}" if own else ", **OPTIONS"
    load = f"P.from_pretrained(NAME, export=True{keywords}{splat})"
    text = f"SIZE = 8\nOPTIONS = {{{mapping}}}\n{HEAD}{place.format(load)}"
    migration = migrate(text)
    assert migrate(migration.text).text == migration.text
    if not any(finding.code == "NM301" and finding.outcome is Outcome.MANUAL for finding in migration.findings):
        assert "optimum" not in migration.text


def test_a_kept_import_holds_back_all_about_pipelines() -> None:
    before = f"{HEAD.rstrip()}  # neuron-migrate: ignore[NM301]\n\npipe = {LOAD}\npipe('x')\n"
    migration = migrate(before)
    assert migration.text == before
    assert [finding.code for finding in migration.findings] == ["NM006"]
