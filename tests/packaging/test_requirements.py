"""Requirements in all the files that list them: what becomes of each, and that all else stays as it is."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_codemods import ModuleFacts, Outcome, Project, migrate_text
from neuron_codemods.model import SourceError
from neuron_codemods.requirements import stack
from packaging.requirements import Requirement

INDEXES = f"--extra-index-url {stack.NEURON_INDEX}\n--extra-index-url {stack.TORCH_INDEX}\n"
USES = Project((ModuleFacts("train.py", {"NeuronTrainer": "optimum.neuron.NeuronTrainer"}),))


def lines(text: str, project: Project | None = None) -> list[str]:
    """The requirements of a migrated file, without the indexes."""
    after = migrate_text("requirements", text, project=project).text
    assert migrate_text("requirements", after, project=project).text == after
    return [line for line in after.splitlines() if not line.startswith("--extra-index-url")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("transformers==4.57.1", "transformers>=5.24"),
        ("transformers", "transformers>=5.24"),
        ("transformers>=4.30,<6,!=5.25.0", "transformers>=5.24,!=5.25.0,<6"),
        ("transformers[torch]~=4.36.2", "transformers[torch]>=5.24"),
        ("Transformers >= 4", "Transformers>=5.24"),
        ("transformers>=5.24", "transformers>=5.24"),
        ("transformers==5.30.1", "transformers==5.30.1"),
        ("transformers @ git+https://example.org/transformers", None),
        ("trl==0.11.4", "trl>=1.16"),
        ("peft==0.17.0", "peft>=0.21"),
        ("accelerate==1.8.1", "accelerate>=1.15"),
        ("diffusers==0.35.*", "diffusers>=0.42"),
        ("sentence_transformers>=2.2.0", "sentence_transformers>=6.2"),
        ("huggingface_hub>=0.20.1", "huggingface_hub>=1.31"),
        ("torch==2.8.0.*", "torch==2.14.*"),
        ("torch", "torch"),
        ("torch>=2", "torch>=2"),
        ("torchvision==0.23.*", "torchvision"),
        ("numpy<=1.25.2", "numpy"),
        ("numpy>=1.20", "numpy>=1.20"),
        ("protobuf<4", "protobuf"),
        ("neuronx-cc==2.14.227.0", "neuronx-cc==2.*"),
        ("neuronx-cc==2.*", "neuronx-cc==2.*"),
        ("torch_neuronx", "torch-neuronx==2.14.*"),
        ("torch-neuronx==2.8.0.2.10.16998", "torch-neuronx==2.14.*"),
        ("torch-neuronx==2.14.3.0", "torch-neuronx==2.14.3.0"),
        *((name, "") for name in sorted(stack.LEFTOVERS)),
        ("neuronx_distributed[x]==0.8.0 ; python_version > '3.8'", ""),
        ("datasets==2.14", "datasets==2.14"),
        ("evaluate==0.4.3", "evaluate==0.4.3"),
        ("optimum-neuronics", "optimum-neuronics"),
    ],
)
def test_what_becomes_of_a_requirement(before: str, after: str | None) -> None:
    found = lines(f"libneuronxla\n{before}\nlast\n")
    assert found == [*([before if after is None else after] if after != "" else []), "last"]


@pytest.mark.parametrize(
    "named",
    [
        "optimum-neuron",
        "Optimum_Neuron[neuronx]==0.0.28",
        "optimum[neuronx]",
        "optimum[neuron, onnxruntime]>=1.8",
        "git+https://github.com/huggingface/optimum-neuron.git",
        "git+https://github.com/huggingface/optimum-neuron.git@v0.1.0#egg=optimum-neuron[neuronx]",
        "-e git+https://github.com/huggingface/optimum-neuron#egg=optimum_neuron",
        "optimum-neuron @ git+https://github.com/huggingface/optimum-neuron@main",
    ],
)
def test_optimum_neuron_becomes_the_native_stack(named: str) -> None:
    assert lines(f"{named}\n") == [
        "torch-neuronx==2.14.*",
        "neuronx-cc==2.*",
        "nki",
        "transformers>=5.24",
        "accelerate>=1.15",
    ]


def test_the_shim_is_asked_for_where_the_code_will_import_it() -> None:
    assert lines("optimum-neuron[training]\n", USES) == ["torch-neuronx==2.14.*", "neuronx-cc==2.*", "nki", stack.SHIM]
    found = migrate_text("requirements", "optimum-neuron\n").findings
    assert any(finding.outcome is Outcome.REVIEW and stack.SHIM in finding.message for finding in found)


@pytest.mark.parametrize(
    "text",
    [
        "torch-xla==2.9\ntransformers==4.57.1\n",  # of a TPU
        "torch-neuronx==2.14.*\ntransformers==5.24\n",
        "neuronx-cc==2.*\ntorch==2.8\n",
        "optimum[onnxruntime]==1.20\n",
        "-r optimum-neuron.txt\n--find-links ./neuron\n./wheels/optimum_neuron-0.1-py3-none-any.whl\n",
        "# optimum-neuron\n",
        "",
    ],
)
def test_what_is_not_of_the_old_stack_stays(text: str) -> None:
    migration = migrate_text("requirements", text)
    assert (migration.text, migration.findings) == (text, ())


def test_layout_comments_and_options_stay() -> None:
    text = (
        "# what we need\r\n-r base.txt\r\n\r\n"
        "torch-neuronx==2.1.2.2.2.0 \\\r\n    ; sys_platform == 'linux'  # XLA\r\n"
        "libneuronxla  # goes\r\n    # via torch-neuronx\r\npandas # stays"
    )
    after = migrate_text("requirements", text).text
    assert after == (
        "# what we need\r\n" + INDEXES.replace("\n", "\r\n") + "-r base.txt\r\n\r\n"
        'torch-neuronx==2.14.*; sys_platform == "linux"  # XLA\r\npandas # stays'
    )


def test_indexes_that_are_named_are_not_named_again() -> None:
    text = f"{INDEXES}torch-neuronx==2.8\n"
    assert migrate_text("requirements", text).text == f"{INDEXES}torch-neuronx==2.14.*\n"


def test_what_a_person_must_do_is_marked() -> None:
    text = (
        "optimum-neuron; python_version < '3.12'\nvllm==0.11.0\noptimum~=1.23\n"
        "pandas==2.2 --hash=sha256:00\nneuronx-distributed==0.8 --hash=sha256:00\nthis is nothing\n"
    )
    migration = migrate_text("requirements", text)
    assert [line for line in migration.text.splitlines() if not line.startswith("#")] == text.splitlines()
    codes = [(finding.code, finding.outcome, finding.start.line) for finding in migration.findings]
    assert [place for _, outcome, place in codes if outcome is Outcome.MANUAL] == [1, 2, 3, 5]
    assert migrate_text("requirements", migration.text).text == migration.text


def test_a_line_that_is_no_requirement_is_told_where_it_speaks_of_neuron() -> None:
    text = "optimum-neuron is what we need\ntorch-neuronx==2.8\n"
    migration = migrate_text("requirements", text)
    assert any("no requirement" in finding.message and finding.start.line == 1 for finding in migration.findings)
    assert "optimum-neuron is what we need\n" in migration.text
    assert "torch-neuronx==2.14.*\n" in migration.text


WORDS = st.sampled_from(
    ["optimum-neuron", "torch-neuronx==2.8.0", "libneuronxla", "transformers==4.57.1", "pandas", "numpy<2", "x>=1"]
)
TAILS = st.sampled_from(
    ["", "  # why", " ; python_version > '3.9'", " --hash=sha256:0000", " \\\n    --hash=sha256:00"]
)
OTHERS = st.sampled_from(["# optimum-neuron", "", "   ", "-r other.txt", "--no-binary :all:", "\t# tabbed", "é # ü"])
FILES = st.lists(st.one_of(st.tuples(WORDS, TAILS).map("".join), OTHERS), max_size=8).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(FILES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_file_keeps_what_is_not_of_the_old_stack(text: str, newline: str, ends: bool) -> None:
    text = (text + "\n" * ends).replace("\n", newline)
    after = migrate_text("requirements", text).text
    assert migrate_text("requirements", after).text == after
    kept = [
        line for line in text.split(newline) if line.startswith(("pandas", "x>=1", "# opt", "-r", "--no", "\t", "é"))
    ]
    left = iter(after.split(newline))
    assert all(line in left for line in kept), "in their order"
    for line in after.split(newline):
        body = re.split(r"\s#|\s--hash|\\", line)[0].strip()
        if body and not body.startswith(("#", "-", "é", "--hash")):
            Requirement(body)


ELEMENTS = st.lists(WORDS, max_size=5)


@settings(max_examples=100, deadline=None)
@given(ELEMENTS, st.sampled_from([", ", ",\n  ", ",  # why\n  ", "\n  , "]), st.booleans(), st.sampled_from("\"'"))
def test_any_array_stays_an_array(elements: list[str], separator: str, trailing: bool, quote: str) -> None:
    inside = separator.join(f"{quote}{element}{quote}" for element in elements)
    if inside and trailing:
        inside += ","
    text = f"[project]\ndependencies = [\n  {inside}\n]\nname = 'x'\n"
    after = migrate_text("pyproject", text).text
    assert migrate_text("pyproject", after).text == after
    tomllib = pytest.importorskip("tomllib")
    old, new = (tomllib.loads(version)["project"]["dependencies"] for version in (text, after))
    assert [each for each in new if each in ("pandas", "x>=1")] == [each for each in old if each in ("pandas", "x>=1")]
    if any(each.startswith(("optimum", "torch-n", "lib")) for each in old):
        assert not {"optimum-neuron", "libneuronxla", "transformers==4.57.1"} & set(new)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("project", "dependencies"),
        ("project.optional-dependencies", "train"),
        ("dependency-groups", "dev"),
        ("build-system", "requires"),
        ("tool.uv", "dev-dependencies"),
        ("tool.uv", "constraint-dependencies"),
        ("tool.hatch.envs.default", "dependencies"),
        ("tool.pdm.dev-dependencies", "train"),
    ],
)
def test_tables_with_arrays(table: str, key: str) -> None:
    text = f"[{table}]\n{key} = ['libneuronxla', 'torch==2.8']\n"
    assert migrate_text("pyproject", text).text == f"[{table}]\n{key} = ['torch==2.14.*']\n"


@pytest.mark.parametrize("table", ["tool.poetry.dependencies", "tool.poetry.group.dev.dependencies", "packages"])
def test_tables_with_keys(table: str) -> None:
    text = (
        f"[{table}]\nlibneuronxla = '*'\ntorch = '~2.8'  # why\n"
        "transformers = { version = '^4.57', extras = ['torch'] }\n"
    )
    after = migrate_text("pyproject", text).text
    assert after == (
        f'[{table}]\ntorch = "==2.14.*"  # why\ntransformers = {{ version = ">=5.24", extras = ["torch"] }}\n'
    )


def test_toml_that_is_broken_is_refused_with_its_line() -> None:
    with pytest.raises(SourceError, match="no TOML") as refused:
        migrate_text("pyproject", "[project]\ndependencies = ['torch-neuronx==2.8']\nbroken = = optimum-neuron\n")
    assert refused.value.line == 3


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("uv.lock", '[[package]]\nname = "libneuronxla"\nversion = "2.2"\n', "uv lock"),
        ("poetry.lock", '[[package]]\nname = "optimum-neuron"\r\nversion = "0.3"\n', "poetry lock"),
        ("Pipfile.lock", '{\n "torch-neuronx": {\n  "hashes": [],\n  "version": "==2.7.0"\n }}', "pipenv lock"),
        (
            "pylock.dev.toml",
            'created-by = "uv"\nname = "torch-neuronx"\nversion = "1.13.1"\n',
            "uv export --format pylock.toml -o pylock.dev.toml",
        ),
        ("pylock.toml", 'name = "neuronx-distributed"\nversion = "0.9"\n', "pip lock -o pylock.toml ."),
        ("uv.lock", 'name = "torch-neuronx"\nversion = "2.14.3"\nname = "torch-xla"\nversion = "2.7"\n', ""),
    ],
)
def test_lock_files_are_left_to_what_makes_them(name: str, text: str, command: str) -> None:
    migration = migrate_text("lock", text, path=f"project/{name}")
    assert not migration.changed
    found = [(finding.outcome, f"`{command}`" in finding.message) for finding in migration.findings]
    assert found == ([(Outcome.MANUAL, True)] if command else [])


@pytest.mark.parametrize(
    ("head", "command"),
    [
        (
            "# This file is autogenerated by pip-compile with Python 3.10\n# by the following command:\n#\n#    x y\n",
            "x y",
        ),
        (
            "# This file was autogenerated by uv via the following command:\n#    uv pip compile a.in\n",
            "uv pip compile a.in",
        ),
        ("# notes\n", ""),
        ("", ""),
    ],
)
def test_files_that_are_made_are_left_to_what_makes_them(head: str, command: str) -> None:
    text = f"{head}libneuronxla==2.2\npandas==2.0\n"
    migration = migrate_text("requirements", text)
    assert migration.text == (text if command else f"{head}pandas==2.0\n")
    assert [f"`{command}`" in finding.message for finding in migration.findings] == [bool(command)]


def test_extras_of_poetry_that_list_what_goes_are_for_a_person() -> None:
    text = (
        '[tool.poetry.dependencies]\noptimum-neuron = {version = "^0.3", extras = ["neuronx"], optional = true}\n'
        'torch-xla = {version = "*", optional = true}\ntransformers = "^4.48"\n\n[tool.poetry.extras]\n'
        'neuron = ["optimum-neuron"]\ndata = ["pandas", "transformers"]\nold = ["pandas", "torch-xla"]\n'
    )
    migration = migrate_text("pyproject", text)
    marked = [line for before, line in pairwise(migration.text.splitlines()) if before.startswith("# TODO")]
    assert marked == ['neuron = ["optimum-neuron"]', 'old = ["pandas", "torch-xla"]']
    assert "Name torch-neuronx, neuronx-cc, nki, accelerate instead of optimum-neuron in this list" in migration.text
    assert "Take torch-xla out of this list" in migration.text
    assert 'torch-neuronx = { version = "==2.14.*", optional = true }\n' in migration.text
    assert migrate_text("pyproject", migration.text).text == migration.text
