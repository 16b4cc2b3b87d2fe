"""The command with the real rules, on scripts as people wrote them."""

from __future__ import annotations

import codecs
import re
import shutil

import pytest

from .support import REAL, REPOSITORY, Project

EXAMPLES = {
    path.parent.name: path
    for path in sorted((REPOSITORY / "examples").glob("*/before"))
    if not (path.parent / "left.txt").exists()
}
"""Those in which nothing is left for a person."""

HARD = '''\
"""A script with one thing that nobody can migrate but its author."""

import torch
from huggingface_hub import HfFolder
from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
from transformers import AutoModelForCausalLM

args = NeuronTrainingArguments(
    output_dir="out",
    evaluation_strategy="epoch",
    pipeline_parallel_size=4,
)
model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.bfloat16)
trainer = NeuronTrainer(model=model, args=args)
trainer.train()
token = HfFolder.get_token()
'''
KEYWORD = "    pipeline_parallel_size=4,\n"


@pytest.fixture
def real(project: Project) -> Project:
    return Project(project.root, REAL)


@pytest.fixture
def examples(real: Project) -> Project:
    for name, before in EXAMPLES.items():
        shutil.copytree(before, real.root / name)
    return real


def scripts(project: Project) -> dict[str, bytes]:
    return {name: content for name, content in project.files().items() if name.endswith(".py")}


def after(name: str) -> bytes:
    example, _, rest = name.partition("/")
    return (EXAMPLES[example].parent / "after" / rest).read_bytes()


def test_a_check_of_the_examples_says_that_they_would_change(examples: Project) -> None:
    before = examples.files()
    ended = examples.run(".", "--check")
    assert (ended.status, ended.err) == (1, "")
    for name in scripts(examples):
        assert f"Would rewrite {name}" in ended.lines
    assert examples.files() == before


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_git_applies_the_diff_of_the_examples(examples: Project) -> None:
    shown = examples.run(".", "--diff")
    assert shown.status == 1
    examples.tool("git", "apply", "-", stdin=shown.out)
    assert scripts(examples) == {name: after(name) for name in scripts(examples)}
    assert examples.run(".", "--diff").out == b""


@pytest.mark.parametrize(("mark", "newline"), [(b"", b"\r\n"), (codecs.BOM_UTF8, b"\n"), (codecs.BOM_UTF8, b"\r\n")])
def test_mark_newlines_and_mode_of_the_examples_are_kept(examples: Project, mark: bytes, newline: bytes) -> None:
    names = list(scripts(examples))
    for name, content in scripts(examples).items():
        examples.write({name: mark + content.replace(b"\n", newline)})
        (examples.root / name).chmod(0o754)
    assert examples.run(".").status == 0
    assert scripts(examples) == {name: mark + after(name).replace(b"\n", newline) for name in names}
    assert {(examples.root / name).stat().st_mode & 0o777 for name in names} == {0o754}
    assert examples.run(".", "--check").status == 0


def test_worker_processes_migrate_as_one_process_does(examples: Project) -> None:
    ended = examples.run(".", "--jobs", "2")
    assert ended.status == 0
    assert scripts(examples) == {name: after(name) for name in scripts(examples)}


def test_the_report_of_the_examples_ends_with_how_to_launch_them(examples: Project) -> None:
    ended = examples.run("full_finetune", "lora_sft", "classification")
    launch = ended.text.partition("\nLaunch:\n")[2].splitlines()
    assert launch[:2] == [
        "  torchrun --nproc_per_node=32 train.py --data_file /data/corpus.jsonl  # full_finetune/job.yaml",
        "  torchrun --nproc_per_node=32 train.py $ARGS --epochs 1  # full_finetune/run.sh",
    ]
    assert launch[2].startswith("  TP_SIZE=$TP_DEGREE $LAUNCHER --nproc_per_node $PROCESSES_PER_NODE finetune_lora.py")
    assert launch[2].endswith(" ...  # lora_sft/launch.sh")
    assert launch[3].startswith("  torchrun --nproc_per_node=2 run_classification.py --model_name_or_path")
    assert launch[4].startswith("TP_SIZE x FSDP_SIZE must be the number of processes;")


def test_each_finding_of_the_examples_is_a_line_that_an_editor_can_follow(examples: Project) -> None:
    ended = examples.run(".", "--check", "--verbose")
    found = [
        line
        for line in ended.lines
        if re.match(r"\S+:(cell \d+:)?\d+:\d+: NM\d{3} (rewritten|review|manual) \S", line)
    ]
    told = re.search(r"References: (\d+) found", ended.text)
    assert told is not None
    assert len(found) == int(told[1]) > 20


def test_only_the_chosen_rules_run(real: Project) -> None:
    real.write({"a.py": HARD})
    shown = real.run("a.py", "--diff", "--select", "NM7").out.decode()
    assert "-token = HfFolder.get_token()" in shown
    assert "Trainer" not in changed(shown)
    shown = real.run("a.py", "--diff", "--ignore", "NM1").out.decode()
    assert "-token = HfFolder.get_token()" in shown
    assert "Trainer" not in changed(shown)
    shown = real.run("a.py", "--diff", "--ignore", "NM7").out.decode()
    assert "HfFolder" not in changed(shown)
    assert "Trainer" in changed(shown)


def changed(diff: str) -> str:
    return "\n".join(line for line in diff.splitlines() if re.match(r"[-+](?![-+])", line))


def test_review_comments_stand_above_what_they_are_about_and_a_second_run_adds_none(real: Project) -> None:
    for name in ("plain.py", "noted.py"):
        real.write({name: HARD})
    plain, noted = real.run("plain.py"), real.run("noted.py", "--annotate")
    assert plain.status == noted.status == 4
    lines = real.read("noted.py").decode().splitlines()
    notes = [line for line in lines if line.startswith("# NOTE(neuron-migrate NM")]
    assert notes
    assert [line for line in lines if line not in notes] == real.read("plain.py").decode().splitlines()
    again = real.read("noted.py")
    real.run("noted.py", "--annotate")
    assert real.read("noted.py") == again


def test_what_is_left_by_hand_is_told_until_it_is_done(real: Project) -> None:
    real.write({"a.py": HARD})
    assert real.run("a.py", "--check").status == 5
    assert real.run("a.py").status == 4
    once = real.read("a.py").decode()
    marker = [line + "\n" for line in once.splitlines() if line.startswith("# TODO(neuron-migrate NM110): ")]
    assert len(marker) == 1
    assert KEYWORD in once
    again = real.run("a.py")
    assert again.status == 4
    assert "Rewrote" not in again.text
    assert real.read("a.py").decode() == once
    real.write({"a.py": once.replace(marker[0], "").replace(KEYWORD, "")})
    done = real.run("a.py", "--check")
    assert (done.status, done.text) == (0, "Nothing to migrate: 1 file scanned.\n")


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_script_goes_through_a_pipe(real: Project, name: str) -> None:
    for script in EXAMPLES[name].glob("*.py"):
        ended = real.run("-", stdin=script.read_bytes())
        assert (ended.status, ended.out) == (0, after(f"{name}/{script.name}"))
        assert "References: " in ended.err


def test_one_broken_file_does_not_keep_the_others_from_being_migrated(examples: Project) -> None:
    broken = {
        "classification/broken.py": b"from optimum.neuron import (\n",
        "lora_sft/python2.py": b"import optimum.neuron\nprint 'x'\n",
        "zz/latin.py": b"import optimum.neuron\nx = '\xe9'\n",
    }
    names = list(scripts(examples))
    ended = examples.write(broken).run(".")
    assert ended.status == 8
    assert [line.split(" ")[0] for line in ended.err.splitlines()] == [
        "classification/broken.py:1:28:",
        "lora_sft/python2.py:2:1:",
        "zz/latin.py:2:6:",
    ]
    assert {name: examples.read(name) for name in names} == {name: after(name) for name in names}
    assert {name: examples.read(name) for name in broken} == broken


def test_every_rule_can_be_explained(real: Project) -> None:
    codes = [line.split()[0] for line in real.run("--list-rules").lines]
    assert len(codes) > 10
    for code in (codes[0], codes[-1]):
        ended = real.run("--explain", code)
        assert ended.status == 0
        assert ended.lines[0].startswith(f"# {code} ")


def test_files_of_a_run_know_what_they_take_from_each_other(real: Project) -> None:
    real.write(
        {
            "common.py": "from optimum.neuron import NeuronTrainer\n",
            "train.py": "from common import NeuronTrainer\n\ntrainer = NeuronTrainer(model=None, tokenizer=None)\n",
        }
    )
    assert real.run(".").status == 0
    assert real.read("common.py") == b"from transformers import Trainer as NeuronTrainer\n"
    assert b"NeuronTrainer(model=None, processing_class=None)" in real.read("train.py")
    assert real.run(".", "--check").status == 0
