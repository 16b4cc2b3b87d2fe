"""Dockerfiles: their images, the commands in RUN, CMD and ENTRYPOINT, and the variables of ENV."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_codemods import ModuleFacts, Outcome, Project, migrate_text
from neuron_codemods.project import Script

TRAINS = Project((ModuleFacts("train.py", script=Script(parses=True)),))


def migrated(text: str) -> str:
    after = migrate_text("dockerfile", text, project=TRAINS).text
    assert migrate_text("dockerfile", after, project=TRAINS).text == after
    return after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("RUN pip install libneuronxla pandas\n", "RUN pip install pandas\n"),
        ("RUN pip install libneuronxla\nCOPY . .\n", "COPY . .\n"),
        (
            "run --mount=type=cache,target=/root pip install libneuronxla pandas\n",
            "run --mount=type=cache,target=/root pip install pandas\n",
        ),
        (
            "RUN apt-get update && \\\n    # old\n    pip install libneuronxla \\\n      pandas && \\\n    rm -r /x\n",
            "RUN apt-get update && \\\n    # old\n    pip install \\\n      pandas && \\\n    rm -r /x\n",
        ),
        (
            "RUN <<EOF\nset -e\npip install libneuronxla\nls\nEOF\nUSER x\n",
            "RUN <<EOF\nset -e\nls\nEOF\nUSER x\n",
        ),
        ("ENV NEURON_FUSE_SOFTMAX=1 A=b\n", "ENV A=b\n"),
        ("ENV NEURON_FUSE_SOFTMAX=1\nENV A=b\n", "ENV A=b\n"),
        ("ENV NEURON_FUSE_SOFTMAX=1 \\\n    A=b\n", "ENV A=b\n"),
        ("ENV NEURON_FUSE_SOFTMAX 1\nENV A b c\n", "ENV A b c\n"),
        ("ENV NEURON_RT_VIRTUAL_CORE_SIZE  2\n", "ENV NEURON_LOGICAL_NC_CONFIG  2\n"),
        (
            'ENV NEURON_CC_FLAGS -O1 --cache_dir=/c --x="y z"\n',
            "ENV NEURON_CC_FLAGS='-O1 --x=\"y z\"' TORCH_NEURONX_NEFF_CACHE_DIR=/c\n",
        ),
        (
            'CMD ["bash", "-c", "neuron_parallel_compile torchrun train.py \\"$@\\" && '
            'torchrun train.py --zero_1 \\"$@\\"", "x"]\n',
            'CMD ["bash", "-c", "torchrun train.py \\"$@\\"", "x"]\n',
        ),
        ('CMD ["bash", "-c", "pip install libneuronxla"]\n', 'CMD ["bash", "-c", "true"]\n'),
        (
            "CMD torchrun --nproc_per_node=2 train.py --zero_1 --x 1\n",
            "CMD torchrun --nproc_per_node=2 train.py --x 1\n",
        ),
        (
            'CMD ["torchrun", "--nproc_per_node=2", "train.py", "--zero_1"]\n',
            'CMD ["torchrun", "--nproc_per_node=2", "train.py"]\n',
        ),
        (
            'ENTRYPOINT [ "torchrun", "train.py", "--tensor_parallel_size", "8" ]\n',
            'ENTRYPOINT ["env", "TP_SIZE=8", "torchrun", "train.py"]\n',
        ),
    ],
)
def test_what_becomes_of_instructions(before: str, after: str) -> None:
    assert migrated(f"FROM x\n{before}") == f"FROM x\n{after}"


@pytest.mark.parametrize(
    "text",
    [
        "FROM ubuntu\nRUN echo optimum-neuron\n",
        "FROM ubuntu\n# RUN pip install libneuronxla\n",
        'FROM ubuntu\nLABEL about="optimum-neuron"\n',
        "CMD [broken libneuronxla\n",
        "RUN cat <<EOF > notes\npip install libneuronxla\nEOF\n",
        "ENV NOTE optimum-neuron of old\n",
        "FROM scratch\n\\\n",
        "",
    ],
)
def test_what_stays(text: str) -> None:
    assert migrate_text("dockerfile", text).text == text


@pytest.mark.parametrize(
    "image",
    [
        "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-inference-neuronx:2.1.2-sdk2.18.0 AS x",
        "ghcr.io/huggingface/neuronx-tgi:0.0.23",
        "--platform=linux/amd64 ghcr.io/huggingface/optimum-neuron-vllm",
        "public.ecr.aws/neuron/pytorch-training-neuronx:2.8.0-neuronx-py310-sdk2.26.0-ubuntu22.04",
    ],
)
def test_images_of_the_old_stack_are_for_a_person(image: str) -> None:
    migration = migrate_text("dockerfile", f"FROM {image}\n")
    assert [(finding.code, finding.outcome) for finding in migration.findings] == [("NM510", Outcome.MANUAL)]
    assert migration.text.endswith(f"\nFROM {image}\n")
    assert migrate_text("dockerfile", migration.text).text == migration.text


def test_an_image_of_the_native_stack_is_fine() -> None:
    assert migrate_text("dockerfile", "FROM public.ecr.aws/neuron/pytorch-training-neuronx:2.14.0\n").findings == ()


def test_what_is_for_a_person_in_a_command_stands_above_its_instruction() -> None:
    text = "FROM x\nRUN pip install pandas && \\\n    pip install libneuronxla vllm==0.11\n"
    after = migrated(text)
    assert after.startswith("FROM x\n# TODO(neuron-migrate NM505): vLLM")
    assert after.endswith("\nRUN pip install pandas && \\\n    pip install vllm==0.11\n")
    codes = [(finding.code, finding.start.line) for finding in migrate_text("dockerfile", after).findings]
    assert codes == [("NM001", 2)]


LINES = st.sampled_from(
    [
        "FROM ubuntu:24.04",
        "RUN pip install libneuronxla pandas",
        "RUN a && \\\n  pip install torch-neuronx==2.8 && \\\n# note\n  b",
        "RUN <<EOF\npip install libneuronxla\nEOF",
        "ENV A=b NEURON_CC_FLAGS=--x",
        "ENV A b",
        'CMD ["python", "x.py"]',
        "# TODO(neuron-migrate NM505): old: https://example.org",
        "# neuron-migrate: ignore",
        "COPY . /app",
        "",
        "  RUN   pip   install   optimum-neuron",
        "RUN broken ( libneuronxla",
        "RUN echo \\",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(LINES, max_size=7).map("\n".join), st.sampled_from(["\n", "\r\n"]))
def test_any_file_keeps_its_other_instructions(text: str, newline: str) -> None:
    text = text.replace("\n", newline)
    after = migrate_text("dockerfile", text).text
    assert migrate_text("dockerfile", after).text == after
    kept = ("FROM", "COPY", "ENV A b", "CMD")
    assert [line for line in after.splitlines() if line.startswith(kept)] == [
        line for line in text.splitlines() if line.startswith(kept)
    ]


def test_arguments_of_an_entrypoint() -> None:
    text = 'FROM x\nENTRYPOINT ["torchrun", "train.py"]\nCMD ["--zero_1", "--tensor_parallel_size", "8"]\n'
    migration = migrate_text("dockerfile", text)
    assert migration.text == 'FROM x\nENTRYPOINT ["torchrun", "train.py"]\n'
    assert any("set TP_SIZE=8 for it" in finding.message for finding in migration.findings)


@pytest.mark.parametrize("comment", ["# neuron-migrate: ignore-file", "# neuron-migrate: ignore"])
def test_a_comment_above_an_instruction_keeps_rules_away(comment: str) -> None:
    text = f"{comment}\nFROM public.ecr.aws/neuron/pytorch-training-neuronx:2.8.0-neuronx-py311\n"
    assert migrate_text("dockerfile", text).findings == ()
    text = f"FROM x\n{comment}\nRUN pip install libneuronxla\n"
    assert migrate_text("dockerfile", text).findings == ()


def test_a_comment_that_hides_the_rest_of_a_command_is_told() -> None:
    text = "FROM x\nRUN true # why \\\n  && pip install libneuronxla\n"
    migration = migrate_text("dockerfile", text)
    assert migration.text.endswith(text.partition("\n")[2])
    assert "hides the rest" in migration.findings[0].message
