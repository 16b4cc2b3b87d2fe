"""What the README shows is what happens: its diffs, its commands with their output, its tables and its names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
GUIDE = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROOTS = ("", "codemods", "runtime")

NOT_INHERITED = ("CI", "COLUMNS", "FORCE_COLOR", "FSDP_SIZE", "GIT_DIR", "LC_ALL", "NO_COLOR", "TP_SIZE", "WORLD_SIZE")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    text: str
    line: int


def blocks(language: str) -> list[Block]:
    found = []
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL):
        if match[1] == language:
            found.append(Block(match[1], match[2], README.count("\n", 0, match.start()) + 1))
    assert found, f"the README has no {language} block"
    return found


def each_block(language: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("block", blocks(language), ids=lambda block: f"line {block.line}")


def tables(heading: str) -> list[list[list[str]]]:
    """The tables of a section, each as rows of cells without the heading row."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert section, heading
    found = []
    for table in re.findall(r"(?:^\|.*\|\n)+", section[1], re.MULTILINE):
        rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
        found.append(rows[2:])
    return found


def code(cell: str) -> list[str]:
    """The pieces of code in a cell."""
    return re.findall(r"`([^`]+)`", cell)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PATH with the programs that the README names."""
    folder = tmp_path_factory.mktemp("programs")
    for name, arguments in (("neuron-migrate", "-m neuron_migrate "), ("python", "")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n', encoding="utf-8")
        script.chmod(0o755)
    return folder


def run(command: str, cwd: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    """A command line in bash, with no word of the surroundings."""
    variables = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    variables |= {
        "PATH": f"{programs}{os.pathsep}{variables['PATH']}",
        "PYTHONPATH": os.pathsep.join(str(REPOSITORY / root) for root in ROOTS),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    return subprocess.run(
        ["bash", "-c", command], cwd=cwd, env=variables, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A directory with the examples, as a reader has one."""
    root = tmp_path / "clone"
    shutil.copytree(REPOSITORY / "examples", root / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture(scope="module")
def examples(programs: Path) -> subprocess.CompletedProcess[str]:
    """The main job of the README."""
    return run("neuron-migrate examples/ --diff", REPOSITORY, programs)


@pytest.fixture(scope="module")
def usage(programs: Path) -> str:
    return run("neuron-migrate --help", REPOSITORY, programs).stdout


# What is shown ----------------------------------------------------------------------------------------------------


@each_block("diff")
def test_a_diff_is_a_piece_of_the_real_one(block: Block, examples: subprocess.CompletedProcess[str]) -> None:
    # Not only somewhere: whole lines, one after the other.
    assert f"\n{block.text}" in examples.stdout


@each_block("console")
def test_a_session_goes_as_shown(block: Block, clone: Path, programs: Path) -> None:
    shown = list(steps(block.text))
    assert shown
    for command, output in shown:
        # In one pipe, as on a terminal.
        assert run(f"exec 2>&1\n{command}", clone, programs).stdout == output, command


def steps(session: str) -> Iterator[tuple[str, str]]:
    for step in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, output = step.partition("\n")
        yield command, output


def test_the_main_job_shows_the_examples_and_nothing_of_what_is_native(
    examples: subprocess.CompletedProcess[str], programs: Path
) -> None:
    assert "`examples/*/after`" in README
    assert "neuron-migrate examples/ --diff" in README
    assert examples.returncode & ~4 == 1
    changed = re.findall(r"^\+\+\+ b/(.*)", examples.stdout, re.MULTILINE)
    before = [
        path
        for example in REPOSITORY.glob("examples/*/before")
        for path in example.rglob("*")
        if path.is_file() and path.read_bytes() != (example.parent / "after" / path.relative_to(example)).read_bytes()
    ]
    assert sorted(changed) == sorted(str(path.relative_to(REPOSITORY)) for path in before)
    assert run("neuron-migrate examples/*/after --check --quiet", REPOSITORY, programs).returncode == 4


def test_the_patch_applies(clone: Path, programs: Path) -> None:
    (block,) = (block for block in blocks("sh") if "git apply" in block.text)
    assert run("git init --quiet . && git add .", clone, programs).returncode == 0
    assert run(block.text, clone, programs).returncode == 0
    assert run("neuron-migrate . --check --quiet", clone, programs).returncode & 1 == 0


def test_the_test_commands_are_those_of_the_checks() -> None:
    (block,) = (block for block in blocks("sh") if "pytest" in block.text)
    checks = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    commands = [line for line in block.text.splitlines() if line.startswith(("pip ", "pytest"))]
    assert len(commands) == 3
    for command in commands:
        assert command.replace("pip install", "pip install --quiet") in checks or f"\n{command}\n" in checks


# Tables -----------------------------------------------------------------------------------------------------------


def test_names_become_what_the_table_says() -> None:
    from neuron_codemods import data

    for before, after in tables("What is rewritten")[0]:
        old, new = code(before), code(after)
        for number, name in enumerate(name for name in old if "." not in name):
            if after.startswith("the same names in"):
                natives = {f"{new[0]}.{name}"}
            else:
                natives = {new[min(number, len(new) - 1)]}
            rows = [row for row in data.symbols_named(name) if not any("." in n and n != row.module for n in old)]
            assert {row.native for row in rows} & natives, name
            assert any(row.native in natives and row.outcome.value != "manual" for row in rows), name


EVERY_KEYWORD = """\
import torch
from optimum.neuron import NeuronSFTConfig, NeuronSFTTrainer, NeuronTrainer, NeuronTrainingArguments
from optimum.neuron.distributed import lazy_load_for_parallelism
from transformers import AutoModelForCausalLM

args = NeuronTrainingArguments(
    "out",
    bf16=True,
    evaluation_strategy="epoch",
    overwrite_output_dir=True,
    tensor_parallel_size=8,
    warmup_ratio=0.1,
    zero_1=True,
)
with lazy_load_for_parallelism(tensor_parallel_size=8):
    model = AutoModelForCausalLM.from_pretrained(
        model_id, attn_implementation="flash_attention_2", torch_dtype=torch.float32
    )
trainer = NeuronTrainer(model, args, tokenizer=tokenizer)
sft = NeuronSFTConfig("out", max_seq_length=1024, packing=True)
"""


def test_keywords_become_what_the_table_says() -> None:
    from neuron_codemods import migrate

    migrated = migrate(EVERY_KEYWORD).text
    for before, after in tables("What is rewritten")[1]:
        for piece in code(before):
            assert piece in EVERY_KEYWORD, piece
            assert piece in migrated if piece in code(after) or "kept" in after else piece not in migrated, piece
        for piece in code(after):
            assert piece in migrated, piece


COMPILED = """\
import torch
from optimum.neuron import (
    NeuronModelForCausalLM, NeuronModelForSequenceClassification, NeuronSentenceTransformers, pipeline
)
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("me/model")
model = NeuronModelForSequenceClassification.from_pretrained(
    "me/model", export=True, batch_size=1, sequence_length=128, auto_cast="all", auto_cast_type="bf16",
    dynamic_batch_size=True,
)
model.save_pretrained("compiled")
model = NeuronModelForSequenceClassification.from_pretrained("compiled")
print(model.neuron_config.batch_size, model(**tokenizer("text", return_tensors="pt")))
decoder = NeuronModelForCausalLM.from_pretrained("me/model", export=True, sequence_length=2048, num_cores=8)
decoder.generate(tokenizer("text", return_tensors="pt").input_ids)
sentences = NeuronSentenceTransformers.from_pretrained("me/model", export=True)
fill = pipeline("fill-mask", "me/model", export=True)
"""
"""Has everything that the table of compiled models names."""


def test_compiled_models_become_what_the_table_says() -> None:
    from neuron_codemods import migrate

    migrated = migrate(COMPILED).text
    (table,) = [rows for rows in tables("What is rewritten") if "NeuronModelForSequenceClassification" in rows[0][0]]
    for before, after in table[1:]:
        for piece in code(before):
            assert piece in COMPILED, piece
            assert piece not in migrated.replace("transformers import", "") or piece == "pipeline", piece
        for piece in code(after):
            assert piece.removeprefix("transformers.").removesuffix("()") in migrated, piece


def test_options_are_those_of_the_help(usage: str) -> None:
    options = tables("The command")[0]
    named = {name for row in options for piece in code(row[0]) for name in re.findall(r"(?<![\w-])--?[\w-]+", piece)}
    helped = {name for line in usage.splitlines() for name in re.findall(r"(?:(?<=  )|(?<=, ))--?[a-z-]+", line)}
    assert named == helped
    ours = re.findall(r"neuron-migrate(?:[^\n`|]*?)(?= --[a-z])((?: --[a-z-]+)+)", README)
    assert {name for found in ours for name in found.split()} <= helped


def test_statuses_are_those_of_the_command(usage: str, programs: Path) -> None:
    from neuron_migrate import results

    numbers = [int(row[0]) for row in tables("The command")[1]]
    assert numbers == [results.WOULD_CHANGE, results.LEFT_FOR_A_PERSON, results.NOT_PROCESSED, 0, results.WRONG_USAGE]
    assert run("neuron-migrate", REPOSITORY, programs).returncode == results.WRONG_USAGE


def test_sizes_are_fitted_as_the_table_says(monkeypatch: pytest.MonkeyPatch) -> None:
    import neuron_shim

    rows = tables("Launch")[1]
    assert len(rows) == 5
    for processes, environment, call, product in rows:
        for name in ("TP_SIZE", "FSDP_SIZE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("WORLD_SIZE", processes)
        for setting in code(environment):
            monkeypatch.setenv(*setting.split("="))
        (source,) = code(call)
        sizes = eval(source, {"parallel_sizes": neuron_shim.parallel_sizes})
        assert f"{sizes['tp_size']} x {sizes['fsdp_size']}" == product, call


def test_the_report_ends_with_the_launch_lines(examples: subprocess.CompletedProcess[str]) -> None:
    assert "The report ends with the line for each script, from the launchers" in README
    _, _, end = examples.stderr.partition("Launch:")
    assert re.findall(r"^  (\S+(?: \$LAUNCHER)?) .*examples/(\w+)/before/(\S+)$", end, re.MULTILINE) == [
        ("torchrun", "classification", "run.sh"),
        ("torchrun", "full_finetune", "job.yaml"),
        ("torchrun", "full_finetune", "run.sh"),
        ("TP_SIZE=$TP_DEGREE $LAUNCHER", "lora_sft", "launch.sh"),
        ("TP_SIZE={TP}", "notebook", "train.ipynb"),
        ("torchrun", "whole_project", "Dockerfile"),
        ("TP_SIZE=${TP}", "whole_project", "Makefile"),
        ("TP_SIZE=2", "whole_project", "k8s/job.yaml"),
    ]


def test_functions_are_those_of_the_shim() -> None:
    import neuron_shim

    named = {piece.partition("(")[0] for row in tables("The shim")[0] for piece in code(row[0])}
    assert named == set(neuron_shim.__all__)


# Names ------------------------------------------------------------------------------------------------------------


@cache
def rule_codes() -> tuple[str, ...]:
    from neuron_codemods.registry import rules

    return tuple(rule.rule.code for rule in rules())


def test_rules_exist() -> None:
    assert set(re.findall(r"\bNM\d{3}\b", README)) <= set(rule_codes())
    families = {row[0] for row in tables("Rules")[0]}
    assert families == {name[:3] for name in rule_codes()}


def test_every_outcome_is_told() -> None:
    from neuron_codemods import Outcome

    assert [row[0] for row in tables("Three outcomes")[0]] == [outcome.value for outcome in Outcome]


def test_suppressions_suppress() -> None:
    from neuron_codemods import migrate

    (block,) = (block for block in blocks("python") if "ignore" in block.text)
    assert migrate(block.text).text == block.text
    one_by_one = block.text.replace("# neuron-migrate: ignore-file\n", "")
    assert migrate(one_by_one).text == one_by_one
    assert not migrate(one_by_one).findings
    assert migrate(re.sub(r" *# neuron-migrate.*", "", block.text)).changed
    unused = migrate(one_by_one.replace("import NeuronTrainer", "import nothing").replace("optimum", "other"))
    assert [finding.code for finding in unused.findings] == ["NM002", "NM002"]


def test_the_library_is_used_as_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = (block for block in blocks("python") if "print(migration" in block.text)
    exec(compile(block.text, "README.md", "exec"), {})
    assert "from transformers import Trainer\n" in capsys.readouterr().out


def test_the_stream_from_python(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = (block for block in blocks("python") if "migrate_paths" in block.text)
    (tmp_path / "src").mkdir()
    texts = {
        "a.py": "from optimum.neuron import NeuronTrainer\n",
        "b.py": 'import importlib\n\nimportlib.import_module("optimum.neuron")\n',
        "c.py": "from optimum.neuron import (\n",
        "d.py": "import os\n",
    }
    for name, text in texts.items():
        (tmp_path / "src" / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    exec(compile(block.text, "README.md", "exec"), {})
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["src/b.py:3:25:", "NM005"],
        ["src/c.py:", "not"],
    ]
    assert (tmp_path / "src" / "a.py").read_text() == "from transformers import Trainer\n"
    assert (tmp_path / "src" / "b.py").read_text() == texts["b.py"]


def test_the_hook_is_one_of_ours() -> None:
    yaml = pytest.importorskip("yaml")
    ours = {hook["id"] for hook in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    (block,) = blocks("yaml")
    (repository,) = yaml.safe_load(block.text)["repos"]
    assert {hook["id"] for hook in repository["hooks"]} <= ours
    assert all(f"`{hook}`" in README for hook in ours)


def test_hooks_use_options_that_exist_and_the_parsers_of_the_extra(usage: str) -> None:
    yaml = pytest.importorskip("yaml")
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    extra = re.search(r"^project = \[\n(.*?)^\]", project, re.MULTILINE | re.DOTALL)
    assert extra
    parsers = re.findall(r'"([\w-]+)', extra[1])
    for hook in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")):
        program, *options = hook["entry"].split()
        assert program == "neuron-migrate"
        assert all(option in usage for option in options)
        assert hook["additional_dependencies"] == parsers


def test_the_table_of_the_configuration_is_read(clone: Path, programs: Path) -> None:
    (block,) = blocks("toml")
    (clone / "pyproject.toml").write_text(block.text, encoding="utf-8")
    (clone / "third_party").mkdir()
    for folder in ("", "third_party/"):
        (clone / f"{folder}a.py").write_text("from optimum.neuron import NeuronTrainer\n", encoding="utf-8")
    ended = run("neuron-migrate --check a.py third_party", clone, programs)
    assert "Would rewrite a.py" in ended.stdout
    assert "third_party" not in ended.stdout


def test_formats_are_those_of_the_command() -> None:
    from neuron_migrate.reports.choice import FORMATS

    assert [code(row[0])[0] for row in tables("Reports")[0]] == list(FORMATS)


def test_the_rule_of_the_guide_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    from neuron_codemods import migrate, registry

    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    (source,) = [block for block in blocks if "RULE = " in block]
    codes = rule_codes()
    module = ModuleType("rule_of_the_guide")
    exec(compile(source, "CONTRIBUTING.md", "exec"), module.__dict__)
    rule = registry.RuleModule(module.RULE, module.__doc__ or "", module.CASES, module.check)
    monkeypatch.setattr(registry, "rules", lambda: (rule,))
    monkeypatch.setattr(registry, "enabled", registry.enabled.__wrapped__)  # what is cached is about the others
    assert {case.is_noop for case in rule.cases} == {True, False}
    for case in rule.cases:
        assert migrate(case.before).text == case.expected
    assert rule.rule.code not in codes


def test_the_guide_names_what_exists() -> None:
    from neuron_codemods.registry import ROOMS

    assert [name for name, _ in re.findall(r"`(\w+)`\s\((NM\d)\)", GUIDE)] == list(ROOMS)
    assert [code for _, code in re.findall(r"`(\w+)`\s\((NM\d)\)", GUIDE)] == [f"NM{n}" for n in range(len(ROOMS))]
    for folder in re.findall(r"^    ([\w/]+)/  ", GUIDE, re.MULTILINE):
        assert (REPOSITORY / folder).is_dir(), folder


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert targets
    for target in (*targets, "benchmarks/run.py"):
        assert (REPOSITORY / target).exists(), target
