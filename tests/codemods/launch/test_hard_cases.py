"""Launch lines that are written in unusual ways: each becomes what it means, or stays with a marker."""

from __future__ import annotations

import pytest

from neuron_codemods import Outcome, Project, collect, kinds, migrate, migrate_text

ASYNC = "HF_DEACTIVATE_ASYNC_LOAD=1"
CACHE = "TORCH_NEURONX_NEFF_CACHE_DIR"
GONE, GONE_TOO = "NEURON_FUSE_SOFTMAX=1", "NEURON_CUSTOM_SILU=1"
GRAPHS = '"$NEURON_EXTRACT_GRAPHS_ONLY"'
COMPILE = "neuron_parallel_compile"
SCRIPT = """from optimum.neuron import NeuronHfArgumentParser, NeuronTrainingArguments
parser = NeuronHfArgumentParser(NeuronTrainingArguments)
args, = parser.parse_args_into_dataclasses()
"""
LORA = f"from peft import LoraConfig\nLoraConfig()\n{SCRIPT}"
TUNES = SCRIPT.replace("NeuronTrainingArguments", "NeuronSFTConfig")


def becomes(text: str, script: str | None = None) -> str:
    project = Project(() if script is None else (collect(script, "train.py"),))
    migration = migrate_text("shell", text, project=project)
    assert Outcome.MANUAL not in {finding.outcome for finding in migration.findings}
    assert migrate_text("shell", migration.text, project=project).text == migration.text
    return migration.text


def assert_left(text: str, message: str) -> None:
    """The text is as it was, but for a marker with these words."""
    migration = migrate_text("shell", text)
    assert any(message in each.message for each in migration.findings if each.outcome is Outcome.MANUAL)
    lines = migration.text.splitlines(keepends=True)
    assert "".join(line for line in lines if "TODO(neuron-migrate" not in line) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torchrun train.py --zero_1 --pipeline_parallel_size 1\n", f"{ASYNC} torchrun train.py\n"),
        ("torchrun train.py --zero_1 --no_adafactor\n", f"{ASYNC} torchrun train.py\n"),
        (
            "torchrun train.py --zero_1 --logging_dir logs\n",
            f"TENSORBOARD_LOGGING_DIR=logs {ASYNC} torchrun train.py\n",
        ),
        (
            'A="--bf16 --zero_1"\ntorchrun train.py $A\ntorchrun train.py $A --x 1\n',
            f'A="--bf16"\n{ASYNC} torchrun train.py $A\n{ASYNC} torchrun train.py $A --x 1\n',
        ),
        ('CMD="torchrun train.py"\n${CMD} --zero_1\n', f'CMD="torchrun train.py"\n{ASYNC} ${{CMD}}\n'),
        (
            'run() {\n  torchrun train.py "$@"\n}\nrun --zero_1\n',
            f'run() {{\n  torchrun train.py "$@"\n}}\n{ASYNC} run\n',
        ),
        ('A="$B"\nB="$A"\ntorchrun train.py $A --zero_1\n', f'A="$B"\nB="$A"\n{ASYNC} torchrun train.py $A\n'),
    ],
)
def test_arguments(before: str, after: str) -> None:
    assert becomes(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torchrun train.py --tensor_parallel_size 1\n", "TP_SIZE=1 torchrun train.py\n"),
        ("torchrun train.py --tensor_parallel_size a$TP\n", "TP_SIZE=1 torchrun train.py\n"),
        ("TP=8\ntorchrun train.py --tensor_parallel_size $TP\n", "TP=1\nTP_SIZE=$TP torchrun train.py\n"),
        (
            "TP=8\necho $TP\ntorchrun train.py --tensor_parallel_size $TP\n",
            "TP=8\necho $TP\nTP_SIZE=1 torchrun train.py\n",
        ),
    ],
)
def test_adapters_are_not_sharded(before: str, after: str) -> None:
    assert becomes(before, LORA) == after


@pytest.mark.parametrize(
    ("script", "name"),
    [
        (TUNES, "max_length"),
        (SCRIPT, "max_seq_length"),
        (f"{TUNES}@dataclass\nclass Own:\n    max_seq_length: int = 1\n", "max_seq_length"),
    ],
)
def test_the_length_of_an_sft_config(script: str, name: str) -> None:
    project = Project((collect(script, "train.py"),))
    keys = "output_dir: out\nzero_1: true\nmax_seq_length: 5\n"

    assert becomes("torchrun train.py --max_seq_length 5\n", script) == f"torchrun train.py --{name} 5\n"
    assert migrate_text("yaml", keys, project=project).text == f"output_dir: out\n{name}: 5\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("run ${A:+--zero_1}\n", "take it out of this expansion"),
        ('A="--zero_1"\nrun $A\n', "take it out of what reaches the script"),
        ("if optimum-cli neuron cache list; then\n  x\nfi\n", "Take this out of what depends on it"),
        ("optimum-cli export neuron --model gpt2 out/\nls out\n", "Load gpt2 where out/ was loaded"),
        ("optimum-cli export neuron --model gpt2 $OUT\nls $OUT\n", "Load gpt2 where $OUT was loaded"),
        ("optimum-cli neuron serve --model\n", "Serve with vllm serve MODEL."),
        ("optimum-cli neuron serve -m a --dtype=bf16 --x 1 y\n", "Serve with vllm serve a --dtype bf16."),
        (f"if {COMPILE} torchrun train.py; then\n  torchrun train.py\nfi\n", "take this out of what depends on it"),
        (f"x && {GONE} {GONE_TOO}\ny\n", "Take this out of what depends on it"),
        ("A=1 B=2\noptimum-cli neuron cache list\n", "Take this out of what depends on it"),
        (f"{COMPILE} torchrun train.py | grep x\ntorchrun train.py\n", "take this out of what depends on it"),
        (f"x | {COMPILE} torchrun train.py\ntorchrun train.py\n", "take this out of what depends on it"),
        (f"! {COMPILE} torchrun train.py\ntorchrun train.py\n", "take this out of what depends on it"),
        (f"x || {COMPILE} torchrun train.py\ntorchrun train.py\n", "take this out of what depends on it"),
        (f"if (( {GRAPHS} == 1 )); then\n  a\nfi\n", "take the branch that trains"),
        (f"if [[ {GRAPHS} == 1 || -n $D && $E ]]; then\n  a\nfi\n", "take the branch that trains"),
        (f"if [ {GRAPHS} = 1 ]; then\n  a\nfi | grep x\n", "take the branch that trains"),
        (f"X=$(if [ {GRAPHS} = 1 ]; then echo a; fi)\n", "take the branch that trains"),
        (f'[ {GRAPHS} = "$Q" ] && a\n', "take the branch that trains"),
        (f"x && [ {GRAPHS} = 1 ] && a\n", "take the branch that trains"),
        (f"while [ {GRAPHS} = 1 ] && a; do b; done\n", "take the branch that trains"),
    ],
)
def test_what_is_left(text: str, message: str) -> None:
    assert_left(text, message)


@pytest.mark.parametrize("flag", ["--tensor_parallel_size", "--evaluation_strategy"])
def test_a_flag_without_its_value_is_left(flag: str) -> None:
    migration = migrate_text("shell", f"torchrun train.py {flag} --zero_1\n")
    assert [finding.outcome for finding in migration.findings].count(Outcome.MANUAL) == 1
    assert migration.text.endswith(f"\n{ASYNC} torchrun train.py {flag}\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("optimum-cli env\n", "transformers env\n"),
        ('optimum-cli export neuron --model gpt2 ""\nx\n', "x\n"),
        ("optimum-cli export neuron -m\nx\n", "x\n"),
        ("optimum-cli export neuron -m gpt2 --lora_model_ids a b --task\nx\n", "x\n"),
        (f"[ {GRAPHS} = 1 ] && a && b\nx\n", "x\n"),
        (f"[ {GRAPHS} = 1 ] || a && b\n", "a && b\n"),
        (f"[ {GRAPHS} != 1 ] && a\n", "a\n"),
        (f"[ {GRAPHS} != 1 ] || a\nx\n", "x\n"),
        (
            f'L="torchrun"\nif x; then\n  L="{COMPILE} torchrun"\nfi\n$L train.py\n',
            'L="torchrun"\n$L train.py\n',
        ),
        (
            f'L="torchrun"\nif x; then\n  L="{COMPILE} torchrun"\n  y\nfi\n$L train.py\n',
            'L="torchrun"\nif x; then\n  L="torchrun"\n  y\nfi\n$L train.py\n',
        ),
        (
            f'L="other"\nif x; then\n  L="{COMPILE} torchrun"\nfi\n$L train.py\n',
            'L="other"\nif x; then\n  L="torchrun"\nfi\n$L train.py\n',
        ),
        (
            'export NEURON_CC_FLAGS="--cache_dir=/c -O1"; x\n',
            f'export NEURON_CC_FLAGS="-O1" {CACHE}=/c; x\n',
        ),
        (f"{GONE} B=2; x\n", "B=2; x\n"),
        (f"B=2 {GONE} {GONE_TOO}; x\n", "B=2; x\n"),
        (f"{GONE} {GONE_TOO}; x\n", "x\n"),
        # Two assignments on a line are taken for a part of the command below.
        (f"B=2 {GONE}\nx\n", "B=2\nx\n"),
        (f"{GONE} B=2 {GONE_TOO}\nx\n", "B=2\nx\n"),
        (f"{GONE} {GONE_TOO}\n\n# c\nx\n", "\n# c\nx\n"),
        (f"B=2 \\\n {GONE} \\\n x\n", "B=2 \\\n x\n"),
        (
            "TP_SIZE=4 B=2\ntorchrun train.py --zero_1 --tensor_parallel_size 2\n",
            f"TP_SIZE=4 B=2\nTP_SIZE=2 {ASYNC} torchrun train.py\n",
        ),
        ("NEURON_FUSE_SOFTMAX=\nx\n", "x\n"),
        (f"{COMPILE} torchrun train.py | tee log\ntorchrun train.py\n", "torchrun train.py\n"),
        (f"{COMPILE} torchrun train.py > log\ntorchrun train.py\n", "torchrun train.py\n"),
        (f"export {GONE}\nx\n\n\n", "x\n\n\n"),
        ('torchrun train.py --zero_1 <<< "a"\n', f'{ASYNC} torchrun train.py <<< "a"\n'),
        # Programs in here documents.
        (f"bash <<EOF 2>err\n{GONE} x\nEOF\n", "bash <<EOF 2>err\nx\nEOF\n"),
        (f"bash < a <<EOF\n{GONE} x\nEOF\n", "bash < a <<EOF\nx\nEOF\n"),
        (f"{{ x; }} <<EOF\n{GONE} x\nEOF\n", f"{{ x; }} <<EOF\n{GONE} x\nEOF\n"),
        (f'cat <<-"E" | bash\n\tE\nexport {GONE}\nx\n', 'cat <<-"E" | bash\n\tE\nx\n'),
        ("unset NEURON_FUSE_SOFTMAX B\n", "unset NEURON_FUSE_SOFTMAX B\n"),
        ("if unset NEURON_FUSE_SOFTMAX; then x; fi\n", "if unset NEURON_FUSE_SOFTMAX; then x; fi\n"),
        ("if export NEURON_FUSE_SOFTMAX; then x; fi\n", "if export NEURON_FUSE_SOFTMAX; then x; fi\n"),
        (
            "cat <<EOF | bash\necho $X NEURON_FUSE_SOFTMAX\nEOF\n",
            "cat <<EOF | bash\necho $X NEURON_FUSE_SOFTMAX\nEOF\n",
        ),
    ],
)
def test_commands_and_variables(before: str, after: str) -> None:
    assert becomes(before) == after


@pytest.mark.parametrize(
    ("line", "folders"),
    [
        ("optimum-cli export neuron --model gpt2 out", [("out", "gpt2")]),
        ("M=gpt2\noptimum-cli export neuron -m $M out", [("out", "gpt2")]),
        ("optimum-cli export neuron --model gpt2 $OUT", []),
        ("optimum-cli export neuron out", []),
        ("optimum-cli export neuron --model gpt2 -O1 --inline_weights_neff out", [("out", "gpt2")]),
    ],
)
def test_exports_that_other_files_know(line: str, folders: list[tuple[str, str]]) -> None:
    facts = kinds.collect("shell", line, "run.sh")
    compiled = facts.compiled if facts is not None else ()
    assert [(each.folder, each.model) for each in compiled] == folders


@pytest.mark.parametrize(
    ("code", "is_told"),
    [
        ('if run("optimum-cli export neuron"):\n    pass\n', True),
        ('x = "optimum-cli export neuron"\n', True),
        ('x = ("optimum-cli", "export", "onnx", "-m", "neuron_model")\n', True),
        ('x = ("optimum-cli", "export", "onnx", "-m", "gpt2")\n', False),
        ('x = ["optimum-neuron", "optimum-cli"]\n', False),
        ('x = f"pip install {index} optimum[neuronx]"\n', False),
        ('x = "python -m pip install -U optimum[neuronx]"\n', False),
        ('x = "pip install -U optimum[neuronx]"\n', True),
        ('install(["pip", "install", "optimum-neuron-tests"])\n', False),
        ('subprocess.run("echo optimum-neuron", shell=True)\n', False),
        ('class A(x="optimum-cli export neuron"):\n    pass\n', False),
        ('f()("optimum-cli export neuron")\n', False),
    ],
)
def test_commands_in_python(code: str, is_told: bool) -> None:
    assert [finding.code for finding in migrate(code).findings] == ["NM407"] * is_told


@pytest.mark.parametrize("use", ['"$dst"', "${dst}/config.json", "$dst"])
def test_a_folder_that_is_used_under_another_spelling_of_its_variable(use: str) -> None:
    assert_left(f'optimum-cli neuron consolidate "$1" "${{dst}}"\npython serve.py {use}\n', "has nothing left to do")


def test_a_folder_that_a_longer_variable_names() -> None:
    text = 'optimum-cli neuron consolidate "$1" "${dst}"\npython serve.py "$dst_old" "${dst2}"\n'
    assert becomes(text) == 'python serve.py "$dst_old" "${dst2}"\n'
