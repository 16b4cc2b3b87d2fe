"""Replaces the trainers, arguments, parsers, model and PEFT classes of Optimum Neuron by the native ones.

`NeuronTrainer` was a `transformers.Trainer` with another engine, and so were the others. The import is rewritten where
it stands, a user's alias is kept, and a name that is taken keeps the old name as its alias.

https://huggingface.co/docs/transformers/main_classes/trainer
"""

from __future__ import annotations

from collections.abc import Iterator

from neuron_codemods.data import Symbol
from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.renaming import is_called_otherwise, renamed

RULE = Rule(
    code="NM101",
    name="native-training-name",
    summary="NeuronTrainer, NeuronTrainingArguments, NeuronSFTTrainer, training models, PEFT: their native classes.",
    url="https://huggingface.co/docs/transformers/main_classes/trainer",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW),
)

CONFIG = "transformers.distributed.DistributedConfig"
"""What parallel plugins and lazy loading became; rules of their own know when."""


_OTHER_ROOMS = frozenset({"diffusion"})
"""Categories whose names a rule elsewhere renames, together with what is done with them."""


def accepts(symbol: Symbol) -> bool:
    if is_called_otherwise(symbol) or symbol.category in _OTHER_ROOMS:
        return False
    return symbol.native != CONFIG


def check(module: Module) -> Iterator[Change]:
    yield from renamed(module, accepts)


CASES = (
    Case(
        "the class and its uses",
        "from optimum.neuron import NeuronTrainer\n\n\nclass MyTrainer(NeuronTrainer):\n    pass\n",
        "from transformers import Trainer\n\n\nclass MyTrainer(Trainer):\n    pass\n",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "an alias is kept",
        "from optimum.neuron import NeuronTrainer as T\n\nprint(T)\n",
        "from transformers import Trainer as T\n\nprint(T)\n",
    ),
    Case(
        "an alias that says no more than the name goes",
        "from optimum.neuron import NeuronTrainer as Trainer\n\nprint(Trainer)\n",
        "from transformers import Trainer\n\nprint(Trainer)\n",
    ),
    Case(
        "a name that is taken",
        "from optimum.neuron import NeuronTrainer\n\n\nclass Trainer(NeuronTrainer):\n    pass\n",
        "from transformers import Trainer as NeuronTrainer\n\n\nclass Trainer(NeuronTrainer):\n    pass\n",
    ),
    Case(
        "an exported name",
        'from optimum.neuron import NeuronTrainer\n\n__all__ = ["NeuronTrainer"]\n',
        'from transformers import Trainer as NeuronTrainer\n\n__all__ = ["NeuronTrainer"]\n',
        (Outcome.REVIEW,),
    ),
    Case("the native trainer", "from transformers import Trainer\n\nprint(Trainer)\n"),
    Case("another library's class of that name", "from mylib import NeuronTrainer\n\nprint(NeuronTrainer)\n"),
    Case(
        "a method of that name",
        "import optimum.onnxruntime\n\n\ndef f(obj):\n    return obj.NeuronTrainer(optimum.onnxruntime)\n",
    ),
)
