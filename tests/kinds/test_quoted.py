"""Programs in one word of a command: migrated as programs, and quoted as they were."""

from __future__ import annotations

import subprocess

import pytest

from neuron_codemods import Migration, ModuleFacts, Outcome, Project, migrate_text
from neuron_codemods.project import Script

TRAINS = Project((ModuleFacts("train.py", script=Script(parses=True)),))


def migrated(text: str) -> Migration:
    """The migration, whose result bash reads and a second run leaves alone."""
    migration = migrate_text("shell", text, project=TRAINS)
    checked = subprocess.run(["bash", "-n"], input=migration.text, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, ""), migration.text
    assert migrate_text("shell", migration.text, project=TRAINS).text == migration.text
    return migration


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("bash -c 'torchrun train.py --zero_1 $A'", "bash -c 'torchrun train.py $A'"),
        (
            "srun -N 2 bash -lc 'torchrun train.py --tensor_parallel_size 8'",
            "srun -N 2 bash -lc 'TP_SIZE=8 torchrun train.py'",
        ),
        (
            "bash -o pipefail -c 'torchrun train.py --zero_1' | tee l",
            "bash -o pipefail -c 'torchrun train.py' | tee l",
        ),
        ('bash -c "torchrun train.py --zero_1 \\"$A\\" \\\\x"', 'bash -c "torchrun train.py \\"$A\\" \\\\x"'),
        (
            'sh -c "torchrun train.py --tensor_parallel_size \\$TP"',
            'sh -c "TP_SIZE=\\$TP torchrun train.py"',
        ),
        ("sh -c 'torchrun train.py --zero_1 '\\''a b'\\'", "sh -c 'torchrun train.py '\"'\"'a b'\"'\"''"),
        ("bash -c 'cd a\ntorchrun train.py \\\n --zero_1\n'", "bash -c 'cd a\ntorchrun train.py\n'"),
        (
            "ssh -v -p 22 me@host 'export NEURON_FUSE_SOFTMAX=1; torchrun train.py'",
            "ssh -v -p 22 me@host 'torchrun train.py'",
        ),
        ("docker run --rm i sh -c 'torchrun train.py --zero_1'", "docker run --rm i sh -c 'torchrun train.py'"),
        ("su - me -c 'torchrun train.py --zero_1'", "su - me -c 'torchrun train.py'"),
        ("sbatch -N 1 --wrap 'torchrun train.py --zero_1'", "sbatch -N 1 --wrap 'torchrun train.py'"),
        ("eval 'torchrun train.py --zero_1'", "eval 'torchrun train.py'"),
        ("bash -c 'neuron_parallel_compile --command clear-locks'", "bash -c 'true'"),
        ("python -c 'from optimum.neuron import NeuronTrainer'", "python -c 'from transformers import Trainer'"),
        ("bash -c 'bash -c \"torchrun train.py --zero_1\"'", "bash -c 'bash -c \"torchrun train.py\"'"),
        ("bash -c 'pip install torch-neuronx==2.8 nki'", None),
    ],
)
def test_programs_are_migrated(before: str, after: str | None) -> None:
    found = migrated(f"{before}\n").text
    assert found == (f"{after}\n" if after else found)
    if after is None:
        assert '"torch-neuronx==2.14.*" nki\'\n' in found


def test_single_quotes_that_must_be_single() -> None:
    text = migrated("bash -c 'torchrun train.py --tensor_parallel_size \"$(awk '\\''{print $1}'\\'' f)\"'\n").text
    assert text == "bash -c 'TP_SIZE=\"$(awk '\"'\"'{print $1}'\"'\"' f)\" torchrun train.py'\n"
    text = migrated("bash -c 'torchrun train.py --tensor_parallel_size \"$(nproc)\"'\n").text
    assert text == "bash -c 'TP_SIZE=\"$(nproc)\" torchrun train.py'\n"


@pytest.mark.parametrize(
    "line",
    [
        "bash train.sh -c 'torchrun train.py --zero_1'",
        "bash -c",
        "bash -x",
        "bash -o pipefail",
        "ssh host torchrun train.py",
        "eval a b",
        "python train.py -c 'import x'",
        "echo bash -c 'torchrun train.py --zero_1'",
        "bash -c 'torchrun other.py --epochs 1'",
    ],
)
def test_what_stays(line: str) -> None:
    migration = migrated(f"{line}\n")
    assert migration.text.splitlines()[-1] == line


@pytest.mark.parametrize(
    "line",
    ['bash -c "X=\\$Y torchrun $S --zero_1"', 'bash -c "torchrun `ls` --zero_1"', "bash -c $'torchrun --zero_1'"],
)
def test_what_two_shells_put_together_is_for_a_person(line: str) -> None:
    migration = migrated(f"{line}\n")
    assert migration.text.endswith(f"\n{line}\n") or not migration.changed
    assert line.startswith("bash -c $") or [finding.code for finding in migration.findings] == ["NM406"]


def test_markers_stand_above_the_statement() -> None:
    first, second = migrated("  bash -c 'torchrun train.py --kv_size_multiplier 2 --zero_1'\n").text.splitlines()
    assert first.startswith("  # TODO(neuron-migrate NM401)")
    assert second == "  bash -c 'torchrun train.py --kv_size_multiplier 2'"


def test_findings_are_where_the_words_are() -> None:
    (finding,) = migrated("true\nbash -c 'ls; torchrun train.py --zero_1'\n").findings
    assert (finding.place, finding.outcome) == ("2:32", Outcome.REWRITTEN)
