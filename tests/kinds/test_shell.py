"""Shell scripts: launch lines, variables, conditions, the files that a script writes; and bash accepts the result."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_codemods import Finding, ModuleFacts, Project, SourceError, migrate_text
from neuron_codemods.kinds import EXTRA
from neuron_codemods.project import collect
from neuron_codemods.scripts import Script
from tests.command.support import REAL
from tests.command.support import Project as Folder

ASYNC = "HF_DEACTIVATE_ASYNC_LOAD=1"
SCRIPT = """from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments
parser = NeuronHfArgumentParser(NeuronTrainingArguments)
args, = parser.parse_args_into_dataclasses()
"""


def shell(text: str, project: Project | None = None) -> str:
    """The migrated script, which bash reads and a second run leaves alone."""
    changed = migrate_text("shell", text, project=project).text
    checked = subprocess.run(["bash", "-n"], input=changed, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, ""), changed
    assert migrate_text("shell", changed, project=project).text == changed
    return changed


def findings(text: str, code: str) -> list[Finding]:
    return [finding for finding in migrate_text("shell", text).findings if finding.code == code]


def knowing(source: str, name: str = "train.py") -> Project:
    return Project((collect(source, name),))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("--zero_1", ""),
        ("--zero_1 true", ""),
        ("--zero-1=true", ""),
        ("--no_zero_1 --zero_1", ""),
        ("--zero_1 --overwrite_output_dir --bf16", " --bf16"),
        ("--bf16 --zero_1 \\\n  --x 1", " --bf16 \\\n  --x 1"),
        ("\\\n  --zero_1 \\\n  --x 1", " \\\n  --x 1"),
        ("\\\n  --x 1 \\\n  --zero_1", " \\\n  --x 1"),
        ("--zero_1 --evaluation-strategy=epoch", " --eval-strategy=epoch"),
        ("--zero_1 --warmup_ratio $W", " --warmup_steps $W"),
        ("--zero_1 --no_use_xser --async_save False", ""),
        ("--zero_1 --adafactor", " --optim adafactor"),
        ("--zero_1 --max_seq_length 5", " --max_seq_length 5"),
        ("--zero_1 2>&1 | tee log", " 2>&1 | tee log"),
        ("--zero_1 > log 2>&1 &", " > log 2>&1 &"),
        ("--zero_1 || exit 1", " || exit 1"),
    ],
)
def test_flags(before: str, after: str) -> None:
    assert shell(f"torchrun train.py {before}\n") == f"{ASYNC} torchrun train.py{after}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torchrun train.py", "{} torchrun train.py"),
        ("torchrun --nproc_per_node $N -m src.train", "{} torchrun --nproc_per_node $N -m src.train"),
        ("python -m torch.distributed.run train.py", "{} python -m torch.distributed.run train.py"),
        ("accelerate launch train.py", "{} accelerate launch train.py"),
        ('"$LAUNCHER" "$DIR/train.py"', '{} "$LAUNCHER" "$DIR/train.py"'),
        ("CUDA=1 srun torchrun train.py", "CUDA=1 {} srun torchrun train.py"),
        ("sudo torchrun train.py", "sudo env {} torchrun train.py"),
        ("exec torchrun train.py", "{} exec torchrun train.py"),
        ("cd x && torchrun train.py", "cd x && {} torchrun train.py"),
        ("time torchrun train.py", "{} time torchrun train.py"),
    ],
)
def test_launchers(before: str, after: str) -> None:
    if before.startswith("time"):
        after = "time {} torchrun train.py"
    changed = shell(f"{before} --zero_1 --tensor_parallel_size $TP\n")
    assert changed in (after.format(f"TP_SIZE=$TP {ASYNC}") + "\n", f"TP_SIZE=$TP {ASYNC} {before}\n")


@pytest.mark.parametrize(
    "text",
    [
        "torchrun train.py --overwrite_output_dir --warmup_ratio 0.1\n",
        "vllm serve m --tensor_parallel_size 8 # Neuron\n",
        "python -m vllm.entrypoints.openai.api_server --tensor_parallel_size 8 # Neuron\n",
        "echo torchrun train.py --zero_1\n",
        "# torchrun train.py --zero_1\n",
        "torchrun train.py --zero_10 --xzero_1\n",
        "cat <<'X'\ntorchrun train.py --zero_1\nX\n",
        "",
        "\n",
        "#!/bin/bash",
    ],
)
def test_what_stays(text: str) -> None:
    assert shell(text) == text


def test_flags_that_the_script_defines_itself_stay() -> None:
    own = SCRIPT + "import argparse\np = argparse.ArgumentParser()\np.add_argument('--tensor_parallel_size')\n"
    text = "torchrun train.py --tensor_parallel_size 8 --zero_1 --overwrite_output_dir\n"
    assert shell(text, knowing(own)) == "torchrun train.py --tensor_parallel_size 8\n"
    assert shell(text, knowing("import optimum.neuron\n")) == text


def test_a_script_that_is_known_needs_no_word_of_neuron_in_its_launcher() -> None:
    text = "torchrun train.py --overwrite_output_dir --tensor_parallel_size 8\n"
    assert shell(text, knowing(SCRIPT)) == "TP_SIZE=8 torchrun train.py\n"


def test_adapters_are_not_sharded_by_tensor_parallelism() -> None:
    project = Project((ModuleFacts("train.py", script=Script(parses=True, adapters=True)),))
    assert shell("torchrun train.py --tensor_parallel_size 8\n", project) == "TP_SIZE=1 torchrun train.py\n"
    text = "TP=8\ntorchrun train.py --tensor_parallel_size $TP\n"
    assert shell(text, project) == "TP=1\nTP_SIZE=$TP torchrun train.py\n"
    text = "TP=8\necho $TP\ntorchrun train.py --tensor_parallel_size $TP\n"
    assert shell(text, project) == "TP=8\necho $TP\nTP_SIZE=1 torchrun train.py\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("export XLA_USE_BF16=1 NEURON_FUSE_SOFTMAX=1\ntrue\n", "true\n"),
        ("export XLA_USE_BF16=1 A=1\n", "export A=1\n"),
        ("A=1 XLA_USE_BF16=1 true\n", "A=1 true\n"),
        ("XLA_USE_BF16=1 A=1 true\n", "A=1 true\n"),
        ("XLA_USE_BF16=1\nexport XLA_USE_BF16\ntrue\n", "true\n"),
        ("declare -x NEURON_FUSE_SOFTMAX=1; true\n", "true\n"),
        ("if a; then export XLA_USE_BF16=1; fi\n", "if a; then :; fi\n"),
        ("f() {\n  export XLA_USE_BF16=1\n  export NEURON_CUSTOM_SILU=1\n}\n", "f() {\n  :\n}\n"),
        ("if a; then\n  x\nelse\n  export XLA_USE_BF16=1\nfi\n", "if a; then\n  x\nelse\n  :\nfi\n"),
        ("case $1 in\n  a) export XLA_USE_BF16=1 ;;\nesac\n", "case $1 in\n  a) : ;;\nesac\n"),
        ("unset XLA_USE_BF16\ntrue\n", "true\n"),
        (
            '  export NEURON_CC_FLAGS="--cache_dir=/a -O1"\n',
            '  export NEURON_CC_FLAGS="-O1"\n  export TORCH_NEURONX_NEFF_CACHE_DIR=/a\n',
        ),
        ("export NEURON_CC_FLAGS=--cache_dir=/a\n", "export TORCH_NEURONX_NEFF_CACHE_DIR=/a\n"),
        ('NEURON_CC_FLAGS="$NEURON_CC_FLAGS --cache_dir /a"\n', "export TORCH_NEURONX_NEFF_CACHE_DIR=/a\n"),
        ('A=1 NEURON_CC_FLAGS="--cache_dir /a"\n', "A=1\n"),
        (
            "NEURON_CC_FLAGS='-O1 --cache_dir /a' python a.py\n",
            "NEURON_CC_FLAGS='-O1' TORCH_NEURONX_NEFF_CACHE_DIR=/a python a.py\n",
        ),
        ('export NEURON_CC_FLAGS="--cache_dir=$C -O1"\n', 'export NEURON_CC_FLAGS="-O1"\n'),
        (
            "export NEURON_CC_FLAGS=--cache_dir=/a NEURON_COMPILE_CACHE_URL=/b\n",
            "export TORCH_NEURONX_NEFF_CACHE_DIR=/b\n",
        ),
        ("export NEURON_COMPILE_CACHE_URL=/a\n", "export TORCH_NEURONX_NEFF_CACHE_DIR=/a\n"),
        ("a\n\nexport XLA_USE_BF16=1\nexport NEURON_FUSE_SOFTMAX=1\n\nb\n", "a\n\nb\n"),
        ("a\n\n# bf16\nexport XLA_USE_BF16=1\n", "a\n"),
        ("a\n# about\nexport XLA_USE_BF16=1\nexport B=1\n", "a\n# about\nexport B=1\n"),
    ],
)
def test_variables(before: str, after: str) -> None:
    assert shell(f"true # Neuron\n{before}") == f"true # Neuron\n{after}"
    if "NEURON" not in before:
        assert shell(before) == before


@pytest.mark.parametrize(
    "line",
    [
        "export NEURON_RT_NUM_CORES=8",
        "export NEURON_COMPILE_CACHE_URL=s3://a/b",
        "export NEURON_COMPILE_CACHE_URL=/a; echo $NEURON_COMPILE_CACHE_URL",
        "if NEURON_FUSE_SOFTMAX=1; then true; fi",
    ],
)
def test_variables_for_a_person(line: str) -> None:
    changed = shell(f"true\n{line}\n")
    assert changed.startswith("true\n# TODO(neuron-migrate NM404): ")
    assert changed.endswith(f"\n{line}\n")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ('[ "$X" = "1" ]', False),
        ("[ $X == 1 ]", False),
        ("[[ ${X} -eq 1 ]]", False),
        ('[ "${X:-0}" = "1" ]', False),
        ('[[ "${X:-}" != "1" ]]', True),
        ('test "$X" != "1"', True),
        ('[ -z "$X" ]', True),
        ('[[ -n "$X" ]]', False),
        ('[ ! -z "$X" ]', False),
        ('! [ "$X" = 1 ]', True),
        ('[ "x$X" = "x1" ]', False),
    ],
)
def test_conditions_on_graph_extraction(condition: str, holds: bool) -> None:
    condition = condition.replace("X", "NEURON_EXTRACT_GRAPHS_ONLY", 1)
    text = f"if {condition}; then\n  a=1\n  b=1\nelse\n  a=2\nfi\ntrue\n"
    assert shell(text) == ("a=1\nb=1\ntrue\n" if holds else "a=2\ntrue\n")
    inner = f"f() {{\n  if {condition}; then a=1; fi\n}}\n"
    assert shell(inner) == ("f() {\n  a=1\n}\n" if holds else "f() {\n  :\n}\n")
    if not condition.startswith("!"):
        assert shell(f"{condition} && a=1\ntrue\n") == ("a=1\ntrue\n" if holds else "true\n")
        assert shell(f"{condition} || a=1\ntrue\n") == ("true\n" if holds else "a=1\ntrue\n")


def test_wrapped_launches() -> None:
    plain = "torchrun train.py --a 1\n"
    assert shell(f"neuron_parallel_compile {plain}{plain}") == plain
    assert shell(f"if a; then\n  neuron_parallel_compile {plain}fi\n{plain}") == f"if a; then\n  :\nfi\n{plain}"
    kept = shell(f"neuron_parallel_compile {plain}if a; then\n  {plain}fi\n")
    assert kept == f"{plain}if a; then\n  {plain}fi\n"
    assert shell("neuron_parallel_compile --command clean\ntrue\n") == "true\n"


@pytest.mark.parametrize(
    "writes", ["cat > x.py <<'E'", "cat <<'E' > x.py", 'tee x.py <<"E"', "python - <<E", "python3 <<'E'"]
)
def test_programs_in_here_documents(writes: str) -> None:
    old, new = "from optimum.neuron import NeuronTrainer as T\n", "from transformers import Trainer as T\n"
    assert shell(f"{writes}\n{old}x = 1\nE\ntrue\n") == f"{writes}\n{new}x = 1\nE\ntrue\n"


def test_here_documents_behind_tabs_and_with_values() -> None:
    old = "from optimum.neuron import NeuronTrainer as T"
    assert (
        shell(f"cat <<-E | python -\n\t{old}\n\tE\n")
        == "cat <<-E | python -\n\tfrom transformers import Trainer as T\n\tE\n"
    )
    assert len(findings(f"python - <<E\n{old}\nprint('$A')\nE\n", "NM406")) == 1


def test_what_cannot_be_read_is_told_and_the_rest_migrated() -> None:
    text = "export NEURON_FUSE_SOFTMAX=1\ntrue\n\ntrue ) NEURON\n"
    migration = migrate_text("shell", text)
    assert migration.text.startswith("true\n")
    assert [finding.start.line for finding in migration.findings if finding.code == "NM007"] == [4]
    assert migrate_text("shell", migration.text).text == migration.text


def test_suppressions_and_markers() -> None:
    text = "# neuron-migrate: ignore[NM404]\nexport XLA_USE_BF16=1\nexport NEURON_FUSE_SOFTMAX=1\n"
    assert shell(text) == "# neuron-migrate: ignore[NM404]\nexport XLA_USE_BF16=1\n"
    text = "export NEURON_FUSE_SOFTMAX=1 # neuron-migrate: ignore\n"
    assert shell(text) == text
    assert len(findings("true # neuron-migrate: ignore\n", "NM002")) == 1
    (left,) = findings("# TODO(neuron-migrate NM404): do it: https://x\ntrue\n", "NM001")
    assert left.start.line == 1


def test_letters_beyond_ascii_and_carriage_returns() -> None:
    text = "# příliš žluťoučký €\U0001f600\nexport A='é' XLA_USE_BF16=1\ntorchrun train.py --zero_1 --name 'ž'\n"
    after = f"# příliš žluťoučký €\U0001f600\nexport A='é'\n{ASYNC} torchrun train.py --name 'ž'\n"
    assert shell(text) == after
    assert migrate_text("shell", text.replace("\n", "\r\n")).text == after.replace("\n", "\r\n")


def test_a_missing_parser_is_a_problem_of_that_file_only(tmp_path: Path) -> None:
    folder = Folder(tmp_path, REAL).write({"run.sh": "neuron_parallel_compile true\n", "a.sh": "true\n"})
    blocked = tmp_path / "blocked"
    (blocked / "tree_sitter_bash").mkdir(parents=True)
    (blocked / "tree_sitter_bash" / "__init__.py").write_text("raise ImportError")
    program = "import sys; sys.path.insert(0, 'blocked'); from neuron_migrate.cli import main; sys.exit(main(['.']))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 8
    assert done.stderr == (
        "run.sh: shell scripts and commands are read with tree-sitter-bash, which is not installed: "
        f"run pip install '{EXTRA}'\n"
    )


LINES = st.sampled_from(
    [
        "true",
        "# comment",
        "",
        "  # indented",
        "if [ -f x ]; then",
        "fi",
        "else",
        "for i in 1 2; do",
        "done",
        "torchrun train.py --bf16 \\",
        "  --max_steps 3",
        "A=(",
        "  --b 1 # c",
        ")",
        "export B='x'",
        'C="--d \\',
        '  e"',
        "cat <<E",
        "E",
        "export NEURON_FUSE_SOFTMAX=1",
        "torchrun train.py --zero_1",
        "f() {",
        "}",
        "a && b || c",
    ]
)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.lists(LINES, max_size=10), st.booleans())
def test_generated_scripts(lines: list[str], final: bool) -> None:
    text = "\n".join(lines) + ("\n" if final else "")
    try:
        changed = migrate_text("shell", text).text
    except SourceError:
        return
    assert migrate_text("shell", changed).text == changed
    if "NEURON" not in text and "zero_1" not in text:
        assert changed == text
    if subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False).returncode == 0:
        done = subprocess.run(["bash", "-n"], input=changed, text=True, capture_output=True, check=False)
        assert done.returncode == 0, (text, changed, done.stderr)
    kept = [line for line in lines if line and "NEURON" not in line and "zero_1" not in line]
    assert [line for line in changed.split("\n") if line in kept] == kept or "NM007" in changed


@pytest.mark.parametrize(
    ("array", "left"),
    [
        ("(--zero_1 --tensor_parallel_size 8 --a)", "(--a)"),
        ("(--zero_1 --tensor_parallel_size 8)", "()"),
        ("(--zero_1\n  --tensor_parallel_size 8\n  --a)", "(--a)"),
        ("(\n  --zero_1\n  --tensor_parallel_size 8 --a\n  --b)", "(\n  --a\n  --b)"),
        ("(--a --zero_1 # c\n  --tensor_parallel_size 8)", "(--a # c\n  )"),
    ],
)
def test_flags_at_the_start_of_an_array(array: str, left: str) -> None:
    launch = 'torchrun train.py "${A[@]}"\n'
    changed = shell(f"A={array}\n{launch}")
    assert changed.endswith(f"TP_SIZE=8 {ASYNC} {launch}")
    assert changed.split() == [*f"A={left}".split(), "TP_SIZE=8", ASYNC, *launch.split()]


def test_comments_go_with_the_flags_that_they_are_about() -> None:
    text = "ARGS=(\n  # data\n  --x 1\n\n  # how\n  # it is\n  --zero_1\n  --tensor_parallel_size 8\n  # b\n  --y\n)\n"
    after = "ARGS=(\n  # data\n  --x 1\n\n  # b\n  --y\n)\n"
    launch = 'torchrun a.py "${ARGS[@]}"\n'
    assert shell(text + launch) == f"{after}TP_SIZE=8 {ASYNC} {launch}"
    case = "case $1 in\n  a)\n    ls\n\n    # one file\n    optimum-cli neuron consolidate a a\n    ;;\nesac\n"
    assert shell(case) == "case $1 in\n  a)\n    ls\n    ;;\nesac\n"


def test_flags_at_the_start_of_a_string() -> None:
    launch = f"TP_SIZE=8 {ASYNC} torchrun train.py $A\n"
    assert shell('A="--zero_1 --tensor_parallel_size 8"\ntorchrun train.py $A\n') == f'A=""\n{launch}'
    assert shell('A="--zero_1 --tensor_parallel_size 8 --b"\ntorchrun train.py $A\n') == f'A="--b"\n{launch}'


def test_flags_that_reach_a_script_in_ways_that_are_not_seen_are_told() -> None:
    for text in (
        'run() {\n  torchrun "$@" --zero_1\n}\n',
        "submit --job train --skip_cache_push\n",
        'X="--a --zero_1"\n',
    ):
        (finding,) = findings(text, "NM401")
        assert finding.message.endswith("take it out of what reaches the script.")
        shell(text)


def test_a_variable_that_only_its_own_assignment_uses_goes() -> None:
    assert shell("# Neuron\n\nexport XLA_USE_BF16=${XLA_USE_BF16:-1}\ntrue\n") == "# Neuron\n\ntrue\n"
    changed = shell('# Neuron\nXLA_USE_BF16=1\necho "$XLA_USE_BF16"\n')
    assert "\n# TODO(neuron-migrate NM404)" in changed


def test_launches_where_they_are_not_statements() -> None:
    text = '(cd sub; {0})\n{{ {0}; }} 2>err\nwhile ! {0}; do sleep 1; done\necho "$({0})"\n'
    assert shell(text.format("neuron_parallel_compile torchrun a.py")) == text.format("torchrun a.py")


def test_a_second_run_of_the_command_knows_the_migrated_script(tmp_path: Path) -> None:
    own = SCRIPT + "import argparse\np = argparse.ArgumentParser()\np.add_argument('--tensor_parallel_size')\n"
    launcher = "export NEURON_CC_FLAGS=-O1\ntorchrun train.py --tensor_parallel_size 8 --zero_1\n"
    plain = "torchrun train.py --overwrite_output_dir\n"
    folder = Folder(tmp_path, REAL).write(
        {"train.py": own, "a.sh": launcher, "b.sh": plain, "c.sh": "torchrun d.py\n"}
    )
    assert folder.run(".", "--quiet").status == 0
    once = folder.files()
    assert once["a.sh"].decode() == launcher.replace(" --zero_1", "")
    assert (once["b.sh"], once["c.sh"]) == (b"torchrun train.py\n", b"torchrun d.py\n")
    assert folder.run(".", "--quiet").status == 0
    assert folder.files() == once


def launches(kind: str, text: str, *paths: str, path: str = "run.sh") -> tuple[str, ...]:
    project = Project(tuple(ModuleFacts(each, script=Script(parses=True)) for each in paths))
    return migrate_text(kind, text, path=path, project=project).launch


def test_launches_are_told_as_they_are_written_now() -> None:
    text = 'A=1\nA="$B" torchrun train.py \\\n  --zero_1 --x 1\npython other.py\n"${RUN[@]}" train.py\n'
    assert launches("shell", text, "train.py") == ('A="$B" torchrun train.py --x 1', '"${RUN[@]}" train.py')
    assert launches("shell", "torchrun unknown.py --zero_1\n") == (f"{ASYNC} torchrun unknown.py",)
    assert launches("shell", "torchrun train.py\n", "train.py") == ()
    assert launches("yaml", "run: torchrun train.py --zero_1\n", "train.py") == ("torchrun train.py",)
    assert launches("dockerfile", 'CMD ["sh", "-c", "torchrun train.py --zero_1"]\n', "train.py") == (
        "torchrun train.py",
    )
    assert launches("markdown", "```sh\ntorchrun train.py --zero_1\n```\n", "train.py") == ()


def test_of_several_scripts_the_one_near_the_launcher_is_meant() -> None:
    other = ModuleFacts("b/train.py", script=Script(flags=frozenset({"zero_1"})))
    project = Project((other, ModuleFacts("a/scripts/train.py", script=Script(parses=True))))
    for text in ("torchrun train.py --zero_1\n", "torchrun $D/train.py --zero_1\n", "torchrun ../train.py --zero_1\n"):
        for path in ("a/run.sh", "a/scripts/x/run.sh", "a/scripts/run.sh"):
            assert migrate_text("shell", text, path=path, project=project).changed
        assert not migrate_text("shell", text, path="b/run.sh", project=project).changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{g} && {g}", ":"),
        ("{g} && ls", "ls"),
        ("ls && {g}", "ls"),
        ("{g} && {g} && ls", "ls"),
        ("{g} && ls && {g}", "ls"),
        ("ls && {g} && {g} && id", "ls && id"),
        ("ls && {g} && {g}", "ls && :"),
        ("{g} && {g} || exit 1", ": || exit 1"),
        ("if a; then {g} && {g}; fi", "if a; then :; fi"),
    ],
)
def test_chains_of_commands(before: str, after: str) -> None:
    for gone in ("export NEURON_FUSE_SOFTMAX=1", "pip install libneuronxla", "optimum-cli neuron cache list"):
        assert shell(f"{before.format(g=gone)}\n") == f"{after}\n"
    mixed = before.replace("{g}", "export NEURON_FUSE_SOFTMAX=1", 1).replace("{g}", "pip install libneuronxla")
    assert shell(f"{mixed}\n") in (f"{after}\n", "ls\n" if after == "ls && :" else f"{after}\n")


def test_launches_behind_a_variable_or_a_function() -> None:
    known = Project((ModuleFacts("train.py", script=Script(parses=True)),))
    text = 'RUN="torchrun train.py --zero_1"\n$RUN --tensor_parallel_size 8\nnohup ${RUN} --async_save &\n$OTHER x\n'
    assert shell(text, known) == 'RUN="torchrun train.py"\nTP_SIZE=8 $RUN\nnohup ${RUN} &\n$OTHER x\n'
    assert "TP_SIZE=8" in shell(text)
    text = (
        '# Neuron\n\nrun() {\n  torchrun train.py --zero_1 "$@"\n}\nrun --tensor_parallel_size 8\nother --async_save\n'
    )
    assert shell(text).endswith(f"\nTP_SIZE=8 {ASYNC} run\nother --async_save\n")


def test_flags_in_expansions_are_told() -> None:
    assert findings("torchrun train.py ${X:+--zero_1} --x\n", "NM401")[0].outcome.value == "manual"


@pytest.mark.parametrize("head", ["ssh -q host", "bash", "sudo bash -s", "srun python -", "docker exec -i c sh"])
def test_here_documents_that_a_program_reads(head: str) -> None:
    program = "from optimum.neuron import NeuronTrainer\n" if "python" in head else "torchrun a.py --zero_1\n"
    text = f"{head} <<'EOF'\n{program}EOF\n"
    assert not re.search("optimum|zero_1", shell(text))
    text = f"ssh host ls <<'EOF'\n{program}EOF\n"
    assert shell(text) == text


@pytest.mark.parametrize("holder", ["torchrun train.py {}", 'A=({})\ntorchrun train.py "${{A[@]}}"'])
@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["--zero_1", "--tensor_parallel_size 8", "--use_xser", "--bf16", "--lr 3"]),
            st.sampled_from([" ", "  ", "\n  "]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_flags_go_wherever_lines_break(holder: str, words: list[tuple[str, str]]) -> None:
    """However they are laid out, what goes takes nothing else with it, and leaves no line that ends nowhere."""
    text = "".join(space + word for word, space in words)
    before = holder.format(text if "A=(" in holder else text.replace("\n", " \\\n").strip(" \\\n"))
    migrated = shell(f"# Neuron\n{before}\n")
    gone = ("--zero_1", "--tensor_parallel_size 8", "--use_xser")
    kept = " ".join(word for word, _ in words if word not in gone)
    assert kept in re.sub(r"[ \t]*\\?\n[ \t]*|[ \t]+", " ", migrated).replace("( ", "(")
    assert not any(flag in migrated for flag in gone)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{{ wrap }} torchrun train.py --zero_1", f"{ASYNC} {{{{ wrap }}}} torchrun train.py"),
        ("${{ a.b }} torchrun train.py --zero_1", f"{ASYNC} ${{{{ a.b }}}} torchrun train.py"),
        (
            "{% if big %}\ntorchrun train.py --tensor_parallel_size {{tp}} --zero_1\n{% endif %}",
            f"{{% if big %}}\nTP_SIZE={{{{tp}}}} {ASYNC} torchrun train.py\n{{% endif %}}",
        ),
        (
            'docker inspect -f "{{.State}}" x && torchrun train.py --zero_1',
            f'docker inspect -f "{{{{.State}}}}" x && {ASYNC} torchrun train.py',
        ),
    ],
)
def test_templates_in_commands(before: str, after: str) -> None:
    assert migrate_text("shell", f"{before}\n").text == f"{after}\n"


CACHE = "TORCH_NEURONX_NEFF_CACHE_DIR"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("env XLA_USE_BF16=0 NEURON_FUSE_SOFTMAX=1 torchrun a.py", "torchrun a.py"),
        ("srun env XLA_USE_BF16=0 torchrun a.py", "srun torchrun a.py"),
        ("env -i XLA_USE_BF16=0 torchrun a.py", "env -i torchrun a.py"),
        ("env -C /x -u XLA_USE_BF16 torchrun a.py", "env -C /x torchrun a.py"),
        ("env -u XLA_USE_BF16 --unset=PJRT_DEVICE torchrun a.py", "torchrun a.py"),
        ("env XLA_USE_BF16=0", "env"),
        ("env -u", "env -u"),
        ("env -u NEURON_CC_FLAGS torchrun a.py", "env -u NEURON_CC_FLAGS torchrun a.py"),
        ("sudo -u me XLA_USE_BF16=0 A=1 torchrun a.py", "sudo -u me A=1 torchrun a.py"),
        ('docker run -e "XLA_USE_BF16=0" -e X="a b" --env=PJRT_DEVICE=x -e', 'docker run -e X="a b" -e'),
        ("docker run --env NEURON_COMPILE_CACHE_URL i", f"docker run --env {CACHE} i"),
        ('docker run -e NEURON_CC_FLAGS="--cache_dir=/x" i', f"docker run -e {CACHE}=/x i"),
        (
            'podman run -e "NEURON_CC_FLAGS=-O1 --cache_dir=/x" i',
            f'podman run -e "NEURON_CC_FLAGS=-O1" -e {CACHE}=/x i',
        ),
        ("docker run -e NEURON_CC_FLAGS=--retry_failed_compilation i", "docker run i"),
        ("docker run -e A='x -e XLA_USE_BF16=1' i", "docker run -e A='x -e XLA_USE_BF16=1' i"),
        ('A=(-e XLA_USE_BF16=0 -e B=1)\ndocker run "${A[@]}" i', 'A=(-e B=1)\ndocker run "${A[@]}" i'),
        ('A="-e PJRT_DEVICE"\ndocker run $A i\ndocker run $A j', 'A=""\ndocker run $A i\ndocker run $A j'),
        ("srun --export=XLA_USE_BF16=0,PJRT_DEVICE=x,A=2,XLA_B=1 ls", "srun --export=A=2 ls"),
        ('srun --export "ALL,XLA_USE_BF16=0" ls', 'srun --export "ALL" ls'),
        (
            'srun --export=ALL,NEURON_CC_FLAGS="-O1 --cache_dir=/x" ls',
            f'srun --export=ALL,NEURON_CC_FLAGS="-O1",{CACHE}=/x ls',
        ),
        ('srun --export=ALL,A="x,XLA_USE_BF16=1" ls', 'srun --export=ALL,A="x,XLA_USE_BF16=1" ls'),
        ("#SBATCH -N 1 --export=ALL,XLA_USE_BF16=0,B=1", "#SBATCH -N 1 --export=ALL,B=1"),
        ("# use --export=ALL,XLA_USE_BF16=0", "# use --export=ALL,XLA_USE_BF16=0"),
        ("apptainer exec --env XLA_USE_BF16=0,B=1 i.sif ls", "apptainer exec --env B=1 i.sif ls"),
        ('kubectl run x --env="XLA_USE_BF16=0" --env="B=1"', 'kubectl run x --env="B=1"'),
        ("mpirun -x XLA_USE_BF16 -x FI_PROVIDER ls", "mpirun -x FI_PROVIDER ls"),
    ],
)
def test_variables_in_the_words_of_commands(before: str, after: str) -> None:
    assert shell(f"# Neuron\n{before}\n") == f"# Neuron\n{after}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("srun --export=XLA_USE_BF16=0 ls", "Take this out of what depends on it"),
        ("docker run -e NEURON_COMPILE_CACHE_URL=s3://x/y i", "it cannot lie in S3"),
        ("docker run -e HF_NUM_CORES=2 i", "serve with vLLM instead"),
    ],
)
def test_variables_in_the_words_of_commands_that_are_for_a_person(text: str, said: str) -> None:
    found = findings(f"# Neuron\n{text}\n", "NM404")
    assert [(finding.outcome.value, said in finding.message) for finding in found] == [("manual", True)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cd x; \\\n  export PJRT_DEVICE=1; \\\n  ls", "cd x; \\\n  ls"),
        ("export PJRT_DEVICE=1; \\\n  ls", "ls"),
        ("if a; then \\\n  export PJRT_DEVICE=1; \\\n  unset XLA_B; \\\nfi", "if a; then \\\n  :; \\\nfi"),
    ],
)
def test_a_statement_goes_from_a_continued_line(before: str, after: str) -> None:
    assert shell(f"# Neuron\n{before}\n") == f"# Neuron\n{after}\n"
