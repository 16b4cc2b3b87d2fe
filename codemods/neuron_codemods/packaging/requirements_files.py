"""Moves requirements files from the stack of Optimum Neuron to the native one.

`optimum-neuron` and the packages of the XLA stack cannot share an environment with TorchNeuron, which needs torch
2.14, transformers 5 and Python 3.12. Packages of the old stack go, what is left gets versions that work together, and
the index of AWS is named, because PyPI has only placeholders of `torch-neuronx` and `neuronx-cc`. A file that
pip-compile or uv has made is left to them.

https://awsdocs-neuron.readthedocs-hosted.com/en/v2.33.0/setup/pytorch/update-manual.html
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.edits import Edit
from neuron_codemods.kinds.requirements import Line, RequirementsFile
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.project import Project
from neuron_codemods.requirements import stack
from neuron_codemods.requirements.plan import Decision, decide, task
from neuron_codemods.texts import Change

RULE = Rule(
    code="NM501",
    name="requirements-file",
    summary="Requirements of the old stack become those of the native one, in requirements files.",
    url=stack.URL,
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW, Outcome.MANUAL),
    kind="requirements",
)


def check(file: RequirementsFile, project: Project) -> Iterator[Change]:
    """The decisions, and the indexes that the native packages come from."""
    lines = dict(file.entries)
    decisions = decide(lines, project)
    if file.made_by and decisions:
        yield Change(Outcome.MANUAL, decisions[0].entry.span, made_again(file.made_by), marked=False)
        return
    tasks = [task(each) for each in decisions if each.new is not None]
    if tasks and any(entry.hashed for entry in lines):  # pip takes hashes for all of a file or for none
        message = (
            "Only the tool that wrote the hashes can renew them: in the file that it read, "
            f"{'; '.join(dict.fromkeys(tasks))}. Run it again."
        )
        place = next(each.entry.span for each in decisions if each.new is not None)
        yield Change(Outcome.MANUAL, place, message)
        decisions = [each for each in decisions if each.new is None]
    for decision in decisions:
        yield Change(
            decision.outcome,
            decision.entry.span,
            decision.message,
            tuple(_edits(file, decision, lines[decision.entry])),
        )
    needing = [each for each in decisions if each.new and any(new.startswith("torch-neuronx") for new in each.new)]
    if needing and needing[0].outcome is not Outcome.MANUAL:
        yield from _indexes(file, decisions[0].entry.span)


def made_again(command: str) -> str:
    """What is told of a file that a command makes from others."""
    return (
        "This file is made from another one and holds packages of the old stack. Once that one is migrated, run "
        f"`{command}` under Python {stack.PYTHON} or later."
    )


def _edits(file: RequirementsFile, decision: Decision, line: Line) -> Iterator[Edit]:
    if decision.new is None:
        return
    if not decision.new:
        yield Edit.delete((line.first, file.notes_below(line)))
        return
    indentation, newline = file.indentation(line.first), file.newline(line.first)
    end = decision.entry.span[1]
    start = line.start  # with -e, if there is one: what stands there now is no checkout
    yield Edit.replace((start, end), f"{newline}{indentation}".join(decision.new))


def _indexes(file: RequirementsFile, place: tuple[int, int]) -> Iterator[Change]:
    named = " ".join(option.text for option in file.options)
    missing = [index for index in (stack.NEURON_INDEX, stack.TORCH_INDEX) if index not in named]
    if not missing:
        return
    named_already = [option for option in file.options if option.text.startswith("--extra-index-url")]
    at = named_already[-1].last if named_already else file.logical[0].first
    newline = file.newline(at)
    text = "".join(f"--extra-index-url {index}{newline}" for index in missing)
    message = f"torch-neuronx is not on PyPI, which has placeholders only: {' and '.join(missing)} added."
    yield Change(Outcome.REWRITTEN, place, message, (Edit.insert(at, text),))


CASES = (
    Case(
        "the training extra",
        "optimum-neuron[neuronx,training]==0.4.5\ndatasets\n",
        "--extra-index-url https://pip.repos.neuron.amazonaws.com\n"
        "--extra-index-url https://download.pytorch.org/whl/cpu\n"
        "torch-neuronx==2.14.*\nneuronx-cc==2.*\nnki\ntransformers>=5.24\naccelerate>=1.15\ntrl>=1.16\npeft>=0.21\n"
        "datasets\n",
        (Outcome.REVIEW, Outcome.REWRITTEN),
    ),
    Case(
        "pins of the old stack",
        "--extra-index-url https://pip.repos.neuron.amazonaws.com\n"
        "optimum-neuron==0.0.24\n"
        "torch-neuronx==2.1.2.2.2.0  # XLA\n"
        "neuronx_distributed==0.8.0\n"
        "transformers==4.41.1\n"
        "numpy<=1.25.2\n"
        "pandas>=2\n",
        "--extra-index-url https://pip.repos.neuron.amazonaws.com\n"
        "--extra-index-url https://download.pytorch.org/whl/cpu\n"
        "neuronx-cc==2.*\nnki\naccelerate>=1.15\n"
        "torch-neuronx==2.14.*  # XLA\n"
        "transformers>=5.24\n"
        "numpy\n"
        "pandas>=2\n",
    ),
    Case(
        "extras of optimum, with a marker",
        'optimum[neuronx]; platform_machine == "x86_64"\ntransformers\n',
        "--extra-index-url https://pip.repos.neuron.amazonaws.com\n"
        "--extra-index-url https://download.pytorch.org/whl/cpu\n"
        'torch-neuronx==2.14.*; platform_machine == "x86_64"\n'
        'neuronx-cc==2.*; platform_machine == "x86_64"\n'
        'nki; platform_machine == "x86_64"\n'
        'accelerate>=1.15; platform_machine == "x86_64"\n'
        "transformers>=5.24\n",
    ),
    Case(
        "hashes are for the tool that wrote them",
        "libneuronxla==2.2.1630.0 \\\n    --hash=sha256:0000\npandas==2.2.0 \\\n    --hash=sha256:1111\n",
        "# TODO(neuron-migrate NM501): Only the tool that wrote the hashes can renew them: in the file that it read, "
        f"delete libneuronxla. Run it again: {stack.URL}\n"
        "libneuronxla==2.2.1630.0 \\\n    --hash=sha256:0000\npandas==2.2.0 \\\n    --hash=sha256:1111\n",
        (Outcome.MANUAL,),
    ),
    Case(
        "what pip-compile has made is for pip-compile",
        "# This file is autogenerated by pip-compile with Python 3.10\n# by the following command:\n#\n"
        "#    pip-compile --generate-hashes requirements.in\n#\noptimum-neuron==0.3.0 \\\n    --hash=sha256:0000\n",
        outcomes=(Outcome.MANUAL,),
    ),
    Case("torch-xla of a TPU", "torch-xla==2.9.0\ntransformers==4.57.1\n"),
    Case("the native stack", "torch-neuronx==2.14.*\nneuronx-cc==2.*\nnki\ntransformers>=5.24\n"),
    Case("a name that only begins alike", "optimum-neuron-extras==1.0\noptimum[onnxruntime]==1.20\n"),
    Case("another file", "-r base.txt\n-c constraints.txt\n./optimum-neuron\n"),
)
