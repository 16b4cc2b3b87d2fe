"""Keeps what an SFT run did with its data: packing, and what `dataset_kwargs` asked for.

Packing used to join samples and cut them into equal chunks; natively the default strategy packs whole samples and
flattens the batch. `packing_strategy="wrapped"` is the old way.

https://huggingface.co/docs/trl/sft_trainer#trl.SFTConfig
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import CallEdit, Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.releases import bounds
from neuron_codemods.training.parallel import trains
from neuron_codemods.values import SFT_CONFIG, Arguments, all_arguments, constant, literal, remove_argument

RULE = Rule(
    code="NM112",
    name="sft-config",
    summary="SFTConfig: packing strategy, sequence length, dataset options.",
    url="https://huggingface.co/docs/trl/sft_trainer#trl.SFTConfig",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW),
)


def check(module: Module) -> Iterator[Change]:
    if not trains(module):
        return
    for made in all_arguments(module):
        if made.native == SFT_CONFIG and not made.is_parsed and made.is_neuron:
            yield from _packing(module, made)
            yield from _dataset(made)


def _packing(module: Module, made: Arguments) -> Iterator[Change]:
    packing = made.value("packing")
    if packing is None or constant(module, packing) in (False, None) or made.has("packing_strategy"):
        return
    edit = CallEdit(made.call, added=(("packing_strategy", '"wrapped"'),))
    _, last = bounds(module)
    message = 'Packing joined the samples and cut them into equal chunks; packing_strategy="wrapped" does so natively.'
    if last >= (0, 4, 2):
        message = (
            'packing_strategy="wrapped" joins the samples and cuts them into equal chunks, as releases to 0.4.1 did; '
            "from 0.4.2 whole samples were packed, and documents attended to each other, which has no native form."
        )
    yield Change(Outcome.REVIEW, packing, message, (edit,))


def _dataset(made: Arguments) -> Iterator[Change]:
    options = made.value("dataset_kwargs")
    if isinstance(options, ast.Dict):
        ignored = [literal(key) for key in options.keys if key is not None]
        names = [str(name) for name in ignored if name != "skip_prepare_dataset"]
        if names:
            message = (
                f"dataset_kwargs is accepted and {', '.join(names)} ignored: tokenise the data set beforehand, or set "
                "tokenizer.add_bos_token=False, if you relied on it."
            )
            yield Change(Outcome.REVIEW, options, message)
    column = made.find("dataset_text_field")
    if column is not None and literal(column[1].value) is None:
        message = "dataset_text_field=None goes: a formatting function or a chat data set needs none."
        yield Change(Outcome.REWRITTEN, column[1], message, (remove_argument(*column),))


CASES = (
    Case(
        "packing as before",
        """from optimum.neuron import NeuronSFTConfig


def build(training_args):
    return NeuronSFTConfig(packing=True, max_seq_length=512, **training_args.to_dict())
""",
        """from optimum.neuron import NeuronSFTConfig


def build(training_args):
    return NeuronSFTConfig(
        packing=True,
        max_seq_length=512,
        packing_strategy="wrapped",
        **training_args.to_dict(),
    )
""",
        (Outcome.REVIEW,),
    ),
    Case(
        "a column that was not named",
        """from optimum.neuron import NeuronSFTConfig

config = NeuronSFTConfig(output_dir="out", dataset_text_field=None)
""",
        """from optimum.neuron import NeuronSFTConfig

config = NeuronSFTConfig(output_dir="out")
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "no packing",
        """from optimum.neuron import NeuronSFTConfig

config = NeuronSFTConfig(output_dir="out", packing=False)
""",
    ),
    Case(
        "a strategy that was chosen",
        """from optimum.neuron import NeuronSFTConfig

config = NeuronSFTConfig(output_dir="out", packing=True, packing_strategy="bfd")
""",
    ),
    Case(
        "an SFTConfig of TRL",
        """from trl import SFTConfig

config = SFTConfig(output_dir="out", packing=True)
""",
    ),
)
