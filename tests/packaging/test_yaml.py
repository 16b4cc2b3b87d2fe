"""Commands, variables, images and instances in YAML, and that all else stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_codemods import ModuleFacts, Outcome, Project, Settings, migrate_text
from neuron_codemods.project import Script

yaml = pytest.importorskip("yaml")

TRAINS = Project((ModuleFacts("train.py", script=Script(parses=True)),))


def migrated(text: str) -> str:
    after = migrate_text("yaml", text, project=TRAINS).text
    assert migrate_text("yaml", after, project=TRAINS).text == after
    yaml.safe_load(after)
    return after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "steps:\n  - run: ${{ env.WRAP }} torchrun train.py --zero_1 --tensor_parallel_size ${{ inputs.tp }}\n",
            "steps:\n  - run: TP_SIZE=${{ inputs.tp }} ${{ env.WRAP }} torchrun train.py\n",
        ),
        (
            "steps:\n  - run: |\n      set -e\n      pip install libneuronxla\n      ls\n    name: x\n",
            "steps:\n  - run: |\n      set -e\n      ls\n    name: x\n",
        ),
        (
            "command: |-\n  torchrun --nproc_per_node 2 train.py \\\n    --zero_1 \\\n    --x 1\n",
            "command: |-\n  torchrun --nproc_per_node 2 train.py \\\n    --x 1\n",
        ),
        ("run: torchrun train.py --zero_1 --x 1\n", "run: torchrun train.py --x 1\n"),
        ('script:\n  - "torchrun train.py --zero_1"\n  - ls\n', 'script:\n  - "torchrun train.py"\n  - ls\n'),
        ("run: pip install libneuronxla pandas  # all\n", "run: pip install pandas  # all\n"),
        (
            'command: ["torchrun", "train.py", "--zero_1", "--x", "1"]\n',
            'command: ["torchrun", "train.py", "--x", "1"]\n',
        ),
        (
            'command: [bash, "-c", "torchrun train.py --zero_1 && ls"]\n',
            'command: ["bash", "-c", "torchrun train.py && ls"]\n',
        ),
        (
            "a:\n  run: >-\n    torchrun train.py\n    --zero_1 --x 1\n  b: c\n",
            "a:\n  run: >-\n    torchrun train.py\n    --x 1\n  b: c\n",
        ),
        (
            "args:\n- >\n  torchrun train.py\n  --tensor_parallel_size 2\n",
            "args:\n- >\n  TP_SIZE=2 torchrun train.py\n",
        ),
        ("env:\n  NEURON_FUSE_SOFTMAX: '1'\n  A: b\n", "env:\n  A: b\n"),
        (
            "env:\n  - name: NEURON_FUSE_SOFTMAX\n    value: '1'\n  - name: A\n    value: b\n",
            "env:\n  - name: A\n    value: b\n",
        ),
        (
            "env:\n  - name: NEURON_COMPILE_CACHE_URL\n    value: /c\n",
            "env:\n  - name: TORCH_NEURONX_NEFF_CACHE_DIR\n    value: /c\n",
        ),
        ("env:\n  NEURON_RT_VIRTUAL_CORE_SIZE: 2 # two\n", "env:\n  NEURON_LOGICAL_NC_CONFIG: 2 # two\n"),
        (
            "env:\n  - name: NEURON_CC_FLAGS\n    value: '-O1 --retry_failed_compilation'\n",
            "env:\n  - name: NEURON_CC_FLAGS\n    value: '-O1'\n",
        ),
        ("environment:\n  - NEURON_FUSE_SOFTMAX=1\n  - A=b\n", "environment:\n  - A=b\n"),
    ],
)
def test_what_becomes_of_commands_and_variables(before: str, after: str) -> None:
    assert migrated(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "description: pip install libneuronxla\n",
        "run: ''\ncommand: []\nargs:\n",
        "about: |\n  pip install libneuronxla\n",
        "run: >\n  torchrun train.py\n    --zero_1\n",
        "run: >\n  torchrun train.py\n\n  --zero_1\n",
        "run: >\n",
        "run:\n  pip: libneuronxla\n",
        "env: libneuronxla\n",
        "x: &a\n  run: echo optimum-neuron\ny: *a\n",
        "",
        "---\n...\n---\n",
    ],
)
def test_what_stays(text: str) -> None:
    assert migrate_text("yaml", text, project=TRAINS).text == text


def test_templates_are_passed_over() -> None:
    text = (
        "{{- if .Values.neuron }}\nenv:\n  {{- range $k, $v := .Values.env }}\n  - name: {{ $k }}\n"
        "    value: {{ $v }}\n  {{- end }}\n  - name: NEURON_FUSE_SOFTMAX\n    value: {{ .Values.é }}\n  {{- end }}\n"
        "command: [torchrun, '{{ .S }}', train.py, --zero_1]\nargs: ['torchrun train.py --zero_1 --x {{ .X }}']\n"
    )
    after = migrate_text("yaml", text, project=TRAINS).text
    assert after == (
        text.replace("  - name: NEURON_FUSE_SOFTMAX\n    value: {{ .Values.é }}\n", "")
        .replace("[torchrun, '{{ .S }}', train.py, --zero_1]", '["torchrun", "{{ .S }}", "train.py"]')
        .replace("--zero_1 ", "")
        .replace("['torchrun train.py --x {{ .X }}']", '["torchrun train.py --x {{ .X }}"]')
    )
    assert migrate_text("yaml", after, project=TRAINS).text == after


def test_variables_for_a_person_get_a_marker_above_them() -> None:
    text = "env:\r\n  - name: NEURON_RT_NUM_CORES\r\n    value: 2\r\n"
    _, marker, *rest = migrated(text).split("\r\n")
    assert marker.startswith("  # TODO(neuron-migrate NM404): Delete NEURON_RT_NUM_CORES")
    assert rest == text.split("\r\n")[1:]


def test_markers_stand_above_commands_on_one_line() -> None:
    text = "a:\n  - run: [torchrun, train.py, --kv_size_multiplier, '2']\n"
    text += "  - run: torchrun train.py --kv_size_multiplier 2\n"
    first, marker, *rest = migrated(text).splitlines()
    assert marker.startswith("  # TODO(neuron-migrate NM401)")
    assert [first, *(line for line in rest if line != marker)] == text.splitlines()


@pytest.mark.parametrize(
    "text", ["script: neuron_parallel_compile --command clear-cache\n", "run: >\n  pip install\n  libneuronxla\n"]
)
def test_what_cannot_be_put_back_is_for_a_person(text: str) -> None:
    migration = migrate_text("yaml", text, project=TRAINS)
    assert migration.text == text
    (finding,) = migration.findings
    assert (finding.outcome, finding.message[:24]) == (Outcome.MANUAL, "Do this by hand, for whi")


def test_a_template_is_told_where_it_cannot_be_read_and_the_rest_goes_on() -> None:
    text = "{% if neuron %}\nrun: pip install libneuronxla pandas\n{% endif %}\n"
    migration = migrate_text("yaml", text)
    assert migration.text in (text, text.replace("libneuronxla ", ""))
    assert all(finding.start.line <= 3 for finding in migration.findings)


def test_findings_stand_where_the_words_are() -> None:
    text = (
        "a: 1\njobs:\n  - run: |\n      ls\n      pip install vllm==0.11 libneuronxla\n"
        "  - run: pip install torch-xla torch-neuronx==2.8\n"
    )
    found = migrate_text("yaml", text).findings
    assert [(finding.start.line, finding.outcome) for finding in found if finding.code == "NM505"] == [
        (5, Outcome.MANUAL),
        (5, Outcome.REWRITTEN),
        (6, Outcome.REWRITTEN),
        (6, Outcome.REWRITTEN),
    ]


@pytest.mark.parametrize("value", ["trn1.2xlarge", "ml.trn1n.32xlarge", "inf2.xlarge", "ml.inf1.6xlarge"])
def test_instances_without_the_native_stack_are_told(value: str) -> None:
    (finding,) = migrate_text("yaml", f"nodeSelector:\n  node.kubernetes.io/instance-type: {value}\n").findings
    assert (finding.outcome, finding.start.line) == (Outcome.REVIEW, 2)


ITEMS = st.sampled_from(
    [
        "a: 1",
        "run: pip install libneuronxla pandas",
        "run: |\n  pip install torch-neuronx==2.8\n\n  ls # é",
        "run: |2-\n   pip install libneuronxla\n  ls",
        "env:\n  NEURON_FUSE_SOFTMAX: 1\n  B: 'x: y'",
        "env: {NEURON_FUSE_SOFTMAX: 1}",
        "command: [torchrun, 'train.py', \"--zero_1\"]",
        "args:\n- --zero_1\n- x",
        "image: ghcr.io/huggingface/neuronx-tgi:1",
        "# optimum-neuron",
        "---",
        "text: >-\n  optimum-neuron\n  folded",
        "broken: [optimum-neuron",
        "list:\n- pip: [optimum-neuron]\n-   b",
        "é: optimum-neuron",
        "\tx: optimum-neuron",
        "",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(ITEMS, max_size=6).map("\n".join), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_file_keeps_what_is_no_command(text: str, newline: str, ends: bool) -> None:
    text = (text + "\n" * ends).replace("\n", newline)
    after = migrate_text("yaml", text, project=TRAINS).text
    assert migrate_text("yaml", after, project=TRAINS).text == after
    kept = ("a:", "text:", "  opt", "  fold", "# opt", "é", "broken", "-   b", "image", "---")
    assert [line for line in after.splitlines() if line.startswith(kept)] == [
        line for line in text.splitlines() if line.startswith(kept)
    ]


def test_files_of_training_arguments() -> None:
    text = "output_dir: out\nno_zero_1: true\nzero_1: false\nlogging_dir: logs\n"
    text += "neuron_cc_optlevel: 2\nkv_size_multiplier: 1\n"
    migration = migrate_text("yaml", text)
    *kept, marker, last = migration.text.splitlines()
    assert (kept, last) == (["output_dir: out", "no_zero_1: true"], "kv_size_multiplier: 1")
    assert marker.startswith("# TODO(neuron-migrate NM408): kv_size_multiplier has no native form. Delete it")
    found = [finding.message for finding in migration.findings if finding.outcome is Outcome.REVIEW]
    assert found[0] == "logging_dir goes: launch with TENSORBOARD_LOGGING_DIR=logs."
    assert found[1].startswith("neuron_cc_optlevel goes.")
    own = Project(
        (ModuleFacts("a.py", script=Script(flags=frozenset({"zero_1", "neuron_cc_optlevel", "logging_dir"}))),)
    )
    kept = [line for line in migrate_text("yaml", text, project=own).text.splitlines() if not line.startswith("#")]
    assert kept == text.splitlines()


def test_options_of_the_compiler_become_a_variable_of_its_own() -> None:
    before = "env:\n  - name: NEURON_CC_FLAGS\n    value: --cache_dir=/x -O1\n  - name: HF_NUM_CORES\n    value: '2'\n"
    migration = migrate_text("yaml", before)
    assert yaml.safe_load(migration.text)["env"][:2] == [
        {"name": "NEURON_CC_FLAGS", "value": "-O1"},
        {"name": "TORCH_NEURONX_NEFF_CACHE_DIR", "value": "/x"},
    ]
    assert [finding.outcome for finding in migration.findings] == [Outcome.REVIEW, Outcome.MANUAL]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a:\n  env:\n    PJRT_DEVICE: NEURON\n  b: 1 # neuron\n", "a:\n  b: 1 # neuron\n"),
        ("- env:\n  - name: NEURON_FUSE_SOFTMAX\n    value: '1'\n", "- env:\n"),
        ("Environment:\n  NEURON_FUSE_SOFTMAX: '1'\n", ""),
        (
            "a:\n  env:\n    X: 1\nb:\n  env:\n    NEURON_FUSE_SOFTMAX: 1\n# end\n",
            "a:\n  env:\n    X: 1\nb:\n# end\n",
        ),
        (
            "a:\n  env:\n  # none\n  x: 1\nb:\n  env:\n  - name: NEURON_FUSE_SOFTMAX\n    value: 1\n",
            "a:\n  env:\n  # none\n  x: 1\nb:\n  env:\n",
        ),
    ],
)
def test_a_key_with_no_variable_left_goes(before: str, after: str) -> None:
    assert migrated(before) == after


def test_arguments_of_a_command_that_stands_elsewhere() -> None:
    text = 'command: [torchrun, train.py]\nargs: ["--zero_1", "--tensor_parallel_size", "8", "--bf16"]\n'
    migration = migrate_text("yaml", text, project=TRAINS)
    assert migration.text == 'command: [torchrun, train.py]\nargs: ["--bf16"]\n'
    assert any("set TP_SIZE=8 for it" in finding.message for finding in migration.findings)
    other = text.replace("--zero_1", "--fast")
    assert migrate_text("yaml", other, project=TRAINS).text == other


def test_sizes_of_a_script_with_adapters() -> None:
    project = Project((ModuleFacts("train.py", script=Script(parses=True, adapters=True)),))
    text = "output_dir: x\nzero_1: true\ntensor_parallel_size: 8\n"
    told = [finding.message for finding in migrate_text("yaml", text, project=project).findings]
    assert "tensor_parallel_size goes: launch with TP_SIZE=1 (adapters cannot be sharded)." in told


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# neuron-migrate: ignore", []),
        ("# neuron-migrate: ignore[NM401]", ["NM404"]),
        ("# neuron-migrate: ignore[NM4]", []),
        ("# neuron-migrate: ignore[NM1]", ["NM002", "NM401", "NM404"]),
        ("# neuron-migrate: ignore-file", []),
    ],
)
def test_a_comment_keeps_rules_away_from_what_is_a_command(comment: str, codes: list[str]) -> None:
    text = f"steps:\n  {comment}\n  - run: NEURON_FUSE_SOFTMAX=1 torchrun train.py --zero_1\n"
    migration = migrate_text("yaml", text, project=TRAINS)
    assert sorted({finding.code for finding in migration.findings}) == codes
    assert ("--zero_1" in migration.text) == ("NM401" not in codes)


def test_what_is_for_a_person_in_a_folded_command_stands_above_its_key() -> None:
    text = "run: >\n  echo a\n  && optimum-cli neuron serve -m gpt2 --port 8000\n"
    after = migrate_text("yaml", text).text
    assert after.startswith("# TODO(neuron-migrate NM405)")
    assert after.endswith(text)
    assert migrate_text("yaml", after).text == after


def test_a_comment_above_the_key_of_a_block_is_about_the_block() -> None:
    text = "steps:\n  # neuron-migrate: ignore\n  - run: |\n      pip install libneuronxla\n      ls\n"
    assert migrate_text("yaml", text).findings == ()


def test_a_comment_keeps_away_what_is_selected_by_its_whole_code() -> None:
    text = "# neuron-migrate: ignore[NM4]\nrun: torchrun train.py --zero_1\n"
    assert migrate_text("yaml", text, project=TRAINS, settings=Settings(select=("NM401",))).findings == ()


def test_a_variable_whose_value_stands_before_its_name() -> None:
    before = 'env:\n- value: "-O1 --cache_dir=/c"\n  name: NEURON_CC_FLAGS\n'
    assert migrate_text("yaml", before).text == (
        'env:\n- value: "-O1"\n  name: NEURON_CC_FLAGS\n- value: "/c"\n  name: TORCH_NEURONX_NEFF_CACHE_DIR\n'
    )


def test_arguments_in_braces_over_several_lines_go_line_by_line() -> None:
    text = "hyperparameters: {\n  zero_1: true,\n  model: {id: a}\n}\n"
    assert migrate_text("yaml", text).text == "hyperparameters: {\n  model: {id: a}\n}\n"
