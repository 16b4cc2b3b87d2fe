"""Every shape in which a name can be imported and used: the text that comes out, and that it runs and means the same.

Each script calls ``seen`` with what it got hold of. It runs in a world with Optimum Neuron, is migrated, and runs
again in a world without: it must then see the native twins of what it saw before. ``pytest -rA -k test_table`` prints
all shapes.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

import pytest

from neuron_codemods import Migration, Outcome, Settings, migrate

from . import worlds

NAMES = Settings(select=("NM0", "NM101", "NM102"))
"""The rules about names only: what the training rules do to calls is tested elsewhere."""


@dataclass(frozen=True)
class Shape:
    """One shape; of a marker in ``after`` only its code stands there, the words are those of the rule."""

    name: str
    before: str
    after: str
    manual: bool = False
    """Whether something is left for a person, so that the result is not expected to run."""
    runs: bool = True
    python: tuple[int, int] = (3, 10)


def same(name: str, text: str, **more: object) -> Shape:
    return Shape(name, text, text, **more)  # type: ignore[arg-type]


# The fifteen shapes on which four other tools were measured.
FIFTEEN = (
    Shape(
        "a module",
        "import optimum.neuron\n\nseen(optimum.neuron.NeuronTrainer())\n",
        "import transformers\n\nseen(transformers.Trainer())\n",
    ),
    Shape(
        "a module under an alias",
        "import optimum.neuron as on\n\nseen(on.NeuronTrainer())\n",
        "import transformers as on\n\nseen(on.Trainer())\n",
    ),
    Shape(
        "a name",
        "from optimum.neuron import NeuronTrainer\n\nseen(NeuronTrainer())\n",
        "from transformers import Trainer\n\nseen(Trainer())\n",
    ),
    Shape(
        "a name under an alias",
        "from optimum.neuron import NeuronTrainer as T\n\nseen(T())\n",
        "from transformers import Trainer as T\n\nseen(T())\n",
    ),
    Shape(
        "several lines with comments",
        """\
from optimum.neuron import (
    # what trains
    NeuronTrainer,  # the trainer
    # what it is told
    NeuronTrainingArguments,  # its arguments
    # nothing else
)

seen(NeuronTrainer, NeuronTrainingArguments)
""",
        """\
from transformers import (
    # what trains
    Trainer,  # the trainer
    # what it is told
    TrainingArguments,  # its arguments
    # nothing else
)

seen(Trainer, TrainingArguments)
""",
    ),
    Shape(
        "everything",
        "from probe import seen\nfrom optimum.neuron import *\n\nseen(NeuronTrainer(), NeuronSFTTrainer)\n",
        "from probe import seen\nfrom transformers import Trainer\nfrom trl import SFTTrainer\n\n"
        "seen(Trainer(), SFTTrainer)\n",
    ),
    Shape(
        "a parameter shadows the module",
        "import optimum.neuron as on\n\n\ndef f(on):\n    return on.NeuronTrainer\n\n\nseen(on.NeuronTrainer)\n",
        "import transformers as on\n\n\ndef f(on):\n    return on.NeuronTrainer\n\n\nseen(on.Trainer)\n",
    ),
    Shape(
        "an import with a fallback",
        "try:\n    from optimum.neuron import NeuronTrainer\nexcept ImportError:\n    NeuronTrainer = None\n\n"
        "seen(NeuronTrainer)\n",
        "try:\n    from transformers import Trainer\nexcept ImportError:\n    Trainer = None\n\nseen(Trainer)\n",
    ),
    Shape(
        "an import for annotations in strings",
        """\
from __future__ import annotations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimum.neuron import NeuronTrainer


def f(a: "NeuronTrainer", b: NeuronTrainer, c: "list[NeuronTrainer]") -> "NeuronTrainer | None":
    return None
""",
        """\
from __future__ import annotations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import Trainer


def f(a: "Trainer", b: Trainer, c: "list[Trainer]") -> "Trainer | None":
    return None
""",
    ),
    Shape(
        "a bare reference",
        "import optimum.neuron as on\n\nf = on.NeuronTrainer\nseen(f)\n",
        "import transformers as on\n\nf = on.Trainer\nseen(f)\n",
    ),
    Shape(
        "getattr",
        'import optimum.neuron as on\n\nf = getattr(on, "NeuronTrainer")\n',
        'import optimum.neuron as on\n\n# TODO(neuron-migrate NM003)\nf = getattr(on, "NeuronTrainer")\n',
        manual=True,
    ),
    Shape(
        "an exported name",
        'from optimum.neuron import NeuronTrainer\n\n__all__ = ["NeuronTrainer"]\nseen(NeuronTrainer)\n',
        'from transformers import Trainer as NeuronTrainer\n\n__all__ = ["NeuronTrainer"]\nseen(NeuronTrainer)\n',
    ),
    Shape(
        "an import inside a function",
        "def f():\n    from optimum.neuron import NeuronTrainer\n\n    return NeuronTrainer()\n\n\nseen(f())\n",
        "def f():\n    from transformers import Trainer\n\n    return Trainer()\n\n\nseen(f())\n",
    ),
    Shape(
        "a local name shadows the import",
        "from optimum.neuron import NeuronTrainer\n\n\ndef f():\n    NeuronTrainer = str\n"
        "    return NeuronTrainer(1)\n\n\n"
        "seen(f(), NeuronTrainer)\n",
        "from transformers import Trainer\n\n\ndef f():\n    NeuronTrainer = str\n    return NeuronTrainer(1)\n\n\n"
        "seen(f(), Trainer)\n",
    ),
    Shape(
        "an unrelated method",
        "from optimum.neuron import NeuronTrainer\n\n\nclass A:\n    def NeuronTrainer(self):\n        return 1\n\n\n"
        "seen(A().NeuronTrainer(), NeuronTrainer)\n",
        "from transformers import Trainer\n\n\nclass A:\n    def NeuronTrainer(self):\n        return 1\n\n\n"
        "seen(A().NeuronTrainer(), Trainer)\n",
    ),
)

MODULES = (
    Shape(
        "a module from its package",
        "from optimum import neuron\n\nseen(neuron.NeuronTrainer)\n",
        "import transformers\n\nseen(transformers.Trainer)\n",
    ),
    Shape(
        "a module from its package under an alias",
        "from optimum import neuron as n\n\nseen(n.NeuronTrainer, n.trainers.NeuronTrainer)\n",
        "import transformers as n\n\nseen(n.Trainer, n.Trainer)\n",
    ),
    Shape(
        "a submodule",
        "import optimum.neuron.trainers\n\nseen(optimum.neuron.trainers.NeuronTrainer)\n",
        "import transformers\n\nseen(transformers.Trainer)\n",
    ),
    Shape(
        "a submodule from its module",
        "from optimum.neuron import trainers\n\nseen(trainers.NeuronSFTTrainer)\n",
        "import trl\n\nseen(trl.SFTTrainer)\n",
    ),
    Shape(
        "two modules in one statement",
        "import optimum.neuron, optimum.neuron.trainers, os\n\n"
        "seen(optimum.neuron.NeuronTrainer, optimum.neuron.trainers.NeuronTrainer, os.sep)\n",
        "import os\nimport transformers\n\nseen(transformers.Trainer, transformers.Trainer, os.sep)\n",
    ),
    Shape(
        "an alias in the middle",
        "import os, optimum.neuron as on, sys as s\n\nseen(on.NeuronTrainer, os.sep, s.byteorder)\n",
        "import os, sys as s\nimport transformers as on\n\nseen(on.Trainer, os.sep, s.byteorder)\n",
    ),
    Shape(
        "one module that becomes two",
        "import optimum.neuron as on\n\nseen(on.NeuronTrainer, on.NeuronSFTTrainer)\n",
        "import transformers\nimport trl\n\nseen(transformers.Trainer, trl.SFTTrainer)\n",
    ),
    Shape(
        "a module and a name of it",
        "import optimum.neuron\nfrom optimum.neuron import NeuronTrainer as T\n\n"
        "seen(optimum.neuron.NeuronSFTTrainer, T)\n",
        "import trl\nfrom transformers import Trainer as T\n\nseen(trl.SFTTrainer, T)\n",
    ),
    Shape(
        "the native module is imported already",
        "import transformers\nimport optimum.neuron\n\nseen(optimum.neuron.NeuronTrainer, transformers.AutoModel)\n",
        "import transformers\n\nseen(transformers.Trainer, transformers.AutoModel)\n",
    ),
    Shape(
        "the native module is imported in the same statement",
        "import optimum.neuron, transformers\n\nseen(optimum.neuron.NeuronTrainer, transformers.AutoModel)\n",
        "import transformers\n\nseen(transformers.Trainer, transformers.AutoModel)\n",
    ),
    Shape(
        "the native module is imported under an alias",
        "import transformers as t\nimport optimum.neuron\n\nseen(optimum.neuron.NeuronTrainer, t.AutoModel)\n",
        "import transformers as t\nimport transformers\n\nseen(transformers.Trainer, t.AutoModel)\n",
    ),
    Shape(
        "a parameter with the native module's name",
        "import optimum.neuron\n\n\ndef f(transformers):\n    return optimum.neuron.NeuronTrainer, transformers\n\n\n"
        "seen(*f(1))\n",
        "import transformers as native_transformers\n\n\ndef f(transformers):\n"
        "    return native_transformers.Trainer, transformers\n\n\nseen(*f(1))\n",
    ),
    Shape(
        "a variable with the native module's name",
        "transformers = 1\nimport optimum.neuron\n\nseen(optimum.neuron.NeuronTrainer, transformers)\n",
        "transformers = 1\nimport transformers as native_transformers\n\n"
        "seen(native_transformers.Trainer, transformers)\n",
    ),
    Shape(
        "the alias is the native module's name",
        "import optimum.neuron as transformers\n\nseen(transformers.NeuronTrainer)\n",
        "import transformers\n\nseen(transformers.Trainer)\n",
    ),
    Shape(
        "another package of the same root",
        "import optimum.neuron\nimport optimum.onnxruntime\n\n"
        "seen(optimum.neuron.NeuronTrainer, optimum.onnxruntime.ORTModel)\n",
        "import transformers\nimport optimum.onnxruntime\n\n"
        "seen(transformers.Trainer, optimum.onnxruntime.ORTModel)\n",
    ),
    Shape(
        "the root alone",
        "import optimum\n\nseen(optimum.neuron.NeuronTrainer)\n",
        "import transformers\n\nseen(transformers.Trainer)\n",
    ),
    Shape(
        "the root and the module",
        "import optimum\nimport optimum.neuron\n\nseen(optimum.neuron.NeuronTrainer, optimum.version)\n",
        "import optimum\nimport transformers\n\nseen(transformers.Trainer, optimum.version)\n",
    ),
    Shape(
        "the root and the module, of which only the root is used",
        "import optimum\nimport optimum.neuron\n\nseen(optimum.version)\n",
        "import optimum\n\nseen(optimum.version)\n",
    ),
    Shape(
        "the root is used and only the module imported",
        "import optimum.neuron\n\nseen(optimum.neuron.NeuronTrainer)\nseen(optimum.version)\n",
        "import optimum.neuron\nimport transformers\n\nseen(transformers.Trainer)\n"
        "# TODO(neuron-migrate NM003)\nseen(optimum.version)\n",
        manual=True,
    ),
    same("another package alone", "import optimum.onnxruntime\n\nseen(optimum.onnxruntime.ORTModel)\n"),
    Shape(
        "an unused module",
        "import optimum.neuron\n\n\ndef f(optimum):\n    return optimum.neuron.NeuronTrainer\n",
        "def f(optimum):\n    return optimum.neuron.NeuronTrainer\n",
    ),
    Shape(
        "an unused module after other imports",
        "import os\nimport optimum.neuron\n\nseen(os.sep)\n",
        "import os\n\nseen(os.sep)\n",
    ),
    Shape(
        "a module in functions",
        "def f():\n    import optimum.neuron\n\n    return optimum.neuron.NeuronTrainer\n\n\n"
        "def g():\n    import optimum.neuron as on\n\n    return on.NeuronTrainer\n\n\nseen(f(), g())\n",
        "def f():\n    import transformers\n\n    return transformers.Trainer\n\n\n"
        "def g():\n    import transformers as on\n\n    return on.Trainer\n\n\nseen(f(), g())\n",
    ),
    Shape(
        "two statements for one module",
        "import optimum.neuron\n\nx = 1\nimport optimum.neuron.trainers\n\nseen(optimum.neuron.NeuronTrainer)\n",
        "import transformers\n\nx = 1\n\nseen(transformers.Trainer)\n",
    ),
    Shape(
        "attributes over several lines",
        "import optimum.neuron as on\n\nseen(on . NeuronTrainer)\nseen(on\\\n    .NeuronTrainer)\n",
        "import transformers as on\n\nseen(on.Trainer)\nseen(on.Trainer)\n",
    ),
    Shape(
        "a module whose name is unknown",
        "import optimum.neuron as on\n\non.nothing\nseen(on.NeuronTrainer)\n",
        "import optimum.neuron as on\nimport transformers\n\n"
        "# TODO(neuron-migrate NM003)\n"
        "on.nothing\nseen(transformers.Trainer)\n",
        manual=True,
    ),
)

NAMES_AND_ALIASES = (
    Shape(
        "an alias on the first of several",
        "from optimum.neuron import NeuronTrainer as T, NeuronTrainingArguments\n\nseen(T, NeuronTrainingArguments)\n",
        "from transformers import Trainer as T, TrainingArguments\n\nseen(T, TrainingArguments)\n",
    ),
    Shape(
        "an alias on the second of three",
        "from optimum.neuron import NeuronTrainer, NeuronTrainingArguments as A, NeuronSFTTrainer\n\n"
        "seen(NeuronTrainer, A, NeuronSFTTrainer)\n",
        "from transformers import Trainer, TrainingArguments as A\nfrom trl import SFTTrainer\n\n"
        "seen(Trainer, A, SFTTrainer)\n",
    ),
    Shape(
        "an alias on the last",
        "from optimum.neuron import NeuronTrainer, NeuronSFTTrainer as S\n\nseen(NeuronTrainer, S)\n",
        "from transformers import Trainer\nfrom trl import SFTTrainer as S\n\nseen(Trainer, S)\n",
    ),
    Shape(
        "an alias that is the native name",
        "from optimum.neuron import NeuronTrainer as Trainer\n\nseen(Trainer)\n",
        "from transformers import Trainer\n\nseen(Trainer)\n",
    ),
    Shape(
        "an alias that is the name itself",
        "from optimum.neuron import NeuronTrainer as NeuronTrainer\n\nseen(NeuronTrainer)\n",
        "from transformers import Trainer as NeuronTrainer\n\nseen(NeuronTrainer)\n",
    ),
    Shape(
        "the same name twice",
        "from optimum.neuron import NeuronTrainer\nfrom optimum.neuron.trainers import NeuronTrainer as T\n\n"
        "seen(NeuronTrainer, T)\n",
        "from transformers import Trainer, Trainer as T\n\nseen(Trainer, T)\n",
    ),
    Shape(
        "the same bare name from another package",
        "from optimum.neuron import NeuronTrainer as T\nfrom elsewhere import NeuronTrainer\n\n"
        "seen(NeuronTrainer, T)\n",
        "from transformers import Trainer as T\nfrom elsewhere import NeuronTrainer\n\nseen(NeuronTrainer, T)\n",
    ),
    Shape(
        "the same bare name under an alias from another package",
        "from optimum.neuron import NeuronTrainer\nfrom elsewhere import NeuronTrainer as Other, error\n\n"
        "seen(NeuronTrainer, Other, error)\n",
        "from transformers import Trainer\nfrom elsewhere import NeuronTrainer as Other, error\n\n"
        "seen(Trainer, Other, error)\n",
    ),
    Shape(
        "a later import of the same name wins",
        "from optimum.neuron import NeuronTrainer\nfrom elsewhere import NeuronTrainer\n\nseen(NeuronTrainer)\n",
        "from transformers import Trainer as NeuronTrainer\nfrom elsewhere import NeuronTrainer\n\n"
        "seen(NeuronTrainer)\n",
    ),
    Shape(
        "names with the same start",
        "from optimum.neuron import NeuronTrainer\n\nNeuronTrainerFoo = 1\nXNeuronTrainer = 2\n"
        "seen(NeuronTrainer, NeuronTrainerFoo, XNeuronTrainer)\n",
        "from transformers import Trainer\n\nNeuronTrainerFoo = 1\nXNeuronTrainer = 2\n"
        "seen(Trainer, NeuronTrainerFoo, XNeuronTrainer)\n",
    ),
    same(
        "a package with the same start", "from optimum.neuronal import NeuronTrainer\n\nNeuronTrainer()\n", runs=False
    ),
    same("relative imports", "from .neuron import NeuronTrainer\nfrom ..optimum.neuron import X\n\nX\n", runs=False),
    same("a relative module", "from . import neuron\n\nneuron.NeuronTrainer()\n", runs=False),
    Shape(
        "a name that is imported from the native library already",
        "from transformers import AutoModel, Trainer\nfrom optimum.neuron import NeuronTrainer\n\n"
        "seen(NeuronTrainer, Trainer, AutoModel)\n",
        "from transformers import AutoModel, Trainer\n\nseen(Trainer, Trainer, AutoModel)\n",
    ),
    Shape(
        "a name that is imported from the native library below",
        "from optimum.neuron import NeuronTrainer\nfrom transformers import Trainer\n\nseen(NeuronTrainer, Trainer)\n",
        "from transformers import Trainer\n\nseen(Trainer, Trainer)\n",
    ),
    Shape(
        "a name that is imported from the native library too late",
        "from optimum.neuron import NeuronTrainer\n\nseen(NeuronTrainer)\nfrom transformers import Trainer\n\n"
        "seen(Trainer)\n",
        "from transformers import Trainer\n\nseen(Trainer)\nfrom transformers import Trainer\n\nseen(Trainer)\n",
    ),
    Shape(
        "a name that is imported from the native library under an alias",
        "from transformers import Trainer as T\nfrom optimum.neuron import NeuronTrainer\n\nseen(T, NeuronTrainer)\n",
        "from transformers import Trainer as T, Trainer\n\nseen(T, Trainer)\n",
    ),
    Shape(
        "the native name is a class",
        "from optimum.neuron import NeuronTrainer\n\n\nclass Trainer(NeuronTrainer):\n    pass\n\n\n"
        "seen(Trainer.__mro__[1])\n",
        "from transformers import Trainer as NeuronTrainer\n\n\nclass Trainer(NeuronTrainer):\n    pass\n\n\n"
        "seen(Trainer.__mro__[1])\n",
    ),
    Shape(
        "the native name is a parameter",
        "from optimum.neuron import NeuronTrainer\n\n\ndef f(Trainer):\n    return NeuronTrainer, Trainer\n\n\n"
        "seen(*f(1))\n",
        "from transformers import Trainer as NeuronTrainer\n\n\ndef f(Trainer):\n"
        "    return NeuronTrainer, Trainer\n\n\n"
        "seen(*f(1))\n",
    ),
    Shape(
        "the native name is another thing in another function",
        "from optimum.neuron import NeuronTrainer\n\n\ndef f(Trainer):\n    return Trainer\n\n\n"
        "def g():\n    return NeuronTrainer\n\n\nseen(f(1), g())\n",
        "from transformers import Trainer\n\n\ndef f(Trainer):\n    return Trainer\n\n\n"
        "def g():\n    return Trainer\n\n\nseen(f(1), g())\n",
    ),
    Shape(
        "the native name comes from another package",
        "from elsewhere import Trainer\nfrom optimum.neuron import NeuronTrainer\n\nseen(Trainer, NeuronTrainer)\n",
        "from elsewhere import Trainer\nfrom transformers import Trainer as NeuronTrainer\n\n"
        "seen(Trainer, NeuronTrainer)\n",
    ),
    Shape(
        "the native name is used without being bound",
        "from optimum.neuron import NeuronTrainer\n\n\ndef f():\n    return Trainer\n\n\nseen(NeuronTrainer)\n",
        "from transformers import Trainer as NeuronTrainer\n\n\ndef f():\n    return Trainer\n\n\n"
        "seen(NeuronTrainer)\n",
    ),
    Shape(
        "the native name is global elsewhere",
        "from optimum.neuron import NeuronTrainer\n\n\ndef f():\n    global Trainer\n    Trainer = 2\n"
        "    return NeuronTrainer\n\n\nseen(f())\n",
        "from transformers import Trainer as NeuronTrainer\n\n\ndef f():\n    global Trainer\n    Trainer = 2\n"
        "    return NeuronTrainer\n\n\nseen(f())\n",
    ),
    Shape(
        "a native import and an alternative of the user's own",
        "from transformers import Trainer\n\nif len('x'):\n    from optimum.neuron import NeuronTrainer\nelse:\n"
        "    NeuronTrainer = int\n\nseen(Trainer, NeuronTrainer)\n",
        "from transformers import Trainer\n\nif len('x'):\n"
        "    from transformers import Trainer as NeuronTrainer\nelse:\n"
        "    NeuronTrainer = int\n\nseen(Trainer, NeuronTrainer)\n",
    ),
    Shape(
        "an alias with a builtin's name",
        "from optimum.neuron import NeuronTrainer as type\n\nseen(type)\n",
        "from transformers import Trainer as type\n\nseen(type)\n",
    ),
    Shape(
        "an import that only others use",
        "from optimum.neuron import NeuronTrainer  # noqa: F401\n",
        "from transformers import Trainer  # noqa: F401\n",
    ),
    Shape(
        "a comment behind a used import",
        "from optimum.neuron import NeuronTrainer  # isort: skip\n\nseen(NeuronTrainer)\n",
        "from transformers import Trainer  # isort: skip\n\nseen(Trainer)\n",
    ),
    Shape(
        "parentheses on one line",
        "from optimum.neuron import (NeuronTrainer, NeuronTrainingArguments,)\n\n"
        "seen(NeuronTrainer, NeuronTrainingArguments)\n",
        "from transformers import Trainer, TrainingArguments\n\nseen(Trainer, TrainingArguments)\n",
    ),
    Shape(
        "several lines that become two statements",
        """\
from optimum.neuron import (
    NeuronTrainer,  # one
    # the other
    NeuronSFTTrainer,  # two
    # the end
)  # noqa

seen(NeuronTrainer, NeuronSFTTrainer)
""",
        """\
from transformers import (
    Trainer,  # one
)
from trl import (
    # the other
    SFTTrainer,  # two
    # the end
)  # noqa

seen(Trainer, SFTTrainer)
""",
    ),
    Shape(
        "several lines of which one stays",
        "from optimum.neuron import (\n    NeuronTrainer,\n    something,  # mine\n)\n\nseen(NeuronTrainer)\n",
        "# TODO(neuron-migrate NM003)\n"
        "from optimum.neuron import (\n    something,  # mine\n)\nfrom transformers import Trainer\n\nseen(Trainer)\n",
        manual=True,
    ),
    Shape(
        "a backslash between names",
        "from optimum.neuron import NeuronTrainer, \\\n    NeuronTrainingArguments\n\n"
        "seen(NeuronTrainer, NeuronTrainingArguments)\n",
        "from transformers import Trainer, \\\n    TrainingArguments\n\nseen(Trainer, TrainingArguments)\n",
    ),
    Shape(
        "backslashes around the module",
        "from \\\n    optimum.neuron \\\n    import NeuronTrainer\n\nseen(NeuronTrainer)\n",
        "from \\\n    transformers \\\n    import Trainer\n\nseen(Trainer)\n",
    ),
    Shape(
        "spaces around the dots",
        "from optimum . neuron import NeuronTrainer\n\nseen(NeuronTrainer)\n",
        "from transformers import Trainer\n\nseen(Trainer)\n",
    ),
    Shape(
        "tabs inside of parentheses",
        "if True:\n\tfrom optimum.neuron import (\n\t\tNeuronTrainer,  # one\n\t\tNeuronSFTTrainer,\n\t)\n"
        "\tseen(NeuronTrainer, NeuronSFTTrainer)\n",
        "if True:\n\tfrom transformers import (\n\t\tTrainer,  # one\n\t)\n\tfrom trl import SFTTrainer\n"
        "\tseen(Trainer, SFTTrainer)\n",
    ),
)

SCOPES = (
    Shape(
        "a loop variable shadows the module",
        "import optimum.neuron as m\n\nfor m in range(2):\n    seen(m)\n",
        "# TODO(neuron-migrate NM003)\nimport optimum.neuron as m\n\nfor m in range(2):\n    seen(m)\n",
        manual=True,
    ),
    Shape(
        "a loop variable in a function",
        "from optimum.neuron import NeuronTrainer\n\n\ndef f():\n    for NeuronTrainer in range(2):\n"
        "        seen(NeuronTrainer)\n\n\nf()\nseen(NeuronTrainer)\n",
        "from transformers import Trainer\n\n\ndef f():\n    for NeuronTrainer in range(2):\n"
        "        seen(NeuronTrainer)\n\n\nf()\nseen(Trainer)\n",
    ),
    Shape(
        "a variable of a comprehension",
        "from optimum.neuron import NeuronTrainer\n\n"
        "seen(*[NeuronTrainer for NeuronTrainer in range(2)], NeuronTrainer)\n",
        "from transformers import Trainer\n\nseen(*[NeuronTrainer for NeuronTrainer in range(2)], Trainer)\n",
    ),
    Shape(
        "the first iterable of a comprehension with that variable",
        "from optimum.neuron import NeuronTrainer\n\nseen(*[NeuronTrainer for NeuronTrainer in [NeuronTrainer]])\n",
        "from transformers import Trainer\n\nseen(*[NeuronTrainer for NeuronTrainer in [Trainer]])\n",
    ),
    Shape(
        "a walrus",
        "from optimum.neuron import NeuronTrainer\n\n\ndef f():\n    seen(NeuronTrainer := 3)\n"
        "    return NeuronTrainer\n\n\n"
        "seen(f(), NeuronTrainer)\n",
        "from transformers import Trainer\n\n\ndef f():\n    seen(NeuronTrainer := 3)\n    return NeuronTrainer\n\n\n"
        "seen(f(), Trainer)\n",
    ),
    Shape(
        "a walrus in a comprehension",
        "from optimum.neuron import NeuronTrainer\n\n\ndef f():\n    [NeuronTrainer := x for x in range(2)]\n"
        "    return NeuronTrainer\n\n\nseen(f(), NeuronTrainer)\n",
        "from transformers import Trainer\n\n\ndef f():\n    [NeuronTrainer := x for x in range(2)]\n"
        "    return NeuronTrainer\n\n\nseen(f(), Trainer)\n",
    ),
    Shape(
        "a capture of a match",
        "from optimum.neuron import NeuronTrainer\n\n\ndef f(x):\n    match x:\n        case [NeuronTrainer, *_]:\n"
        "            return NeuronTrainer\n\n\nseen(f([1, 2]), NeuronTrainer)\n",
        "from transformers import Trainer\n\n\ndef f(x):\n    match x:\n        case [NeuronTrainer, *_]:\n"
        "            return NeuronTrainer\n\n\nseen(f([1, 2]), Trainer)\n",
    ),
    Shape(
        "a class in a match",
        "from optimum.neuron import NeuronTrainer\n\n\ndef f(x):\n    match x:\n        case NeuronTrainer():\n"
        "            return 1\n\n\nseen(f(NeuronTrainer()))\n",
        "from transformers import Trainer\n\n\ndef f(x):\n    match x:\n        case Trainer():\n"
        "            return 1\n\n\nseen(f(Trainer()))\n",
    ),
    Shape(
        "a module in a match",
        "import optimum.neuron as on\n\nmatch on.NeuronTrainer():\n    case on.NeuronTrainer():\n        seen(1)\n",
        "import transformers as on\n\nmatch on.Trainer():\n    case on.Trainer():\n        seen(1)\n",
    ),
    Shape(
        "the name of a caught exception",
        "from optimum.neuron import NeuronTrainer\n\nseen(NeuronTrainer)\ntry:\n    1 / 0\n"
        "except ZeroDivisionError as NeuronTrainer:\n    seen(str(NeuronTrainer))\n",
        "from transformers import Trainer as NeuronTrainer\n\nseen(NeuronTrainer)\ntry:\n    1 / 0\n"
        "except ZeroDivisionError as NeuronTrainer:\n    seen(str(NeuronTrainer))\n",
    ),
    Shape(
        "a context manager's name",
        "from contextlib import nullcontext\nfrom optimum.neuron import NeuronTrainer\n\n\ndef f():\n"
        "    with nullcontext(3) as NeuronTrainer:\n        return NeuronTrainer\n\n\nseen(f(), NeuronTrainer)\n",
        "from contextlib import nullcontext\nfrom transformers import Trainer\n\n\ndef f():\n"
        "    with nullcontext(3) as NeuronTrainer:\n        return NeuronTrainer\n\n\nseen(f(), Trainer)\n",
    ),
    Shape(
        "a lambda with that parameter",
        "from optimum.neuron import NeuronTrainer\n\nf = lambda NeuronTrainer=NeuronTrainer: NeuronTrainer\n"
        "seen(f())\n",
        "from transformers import Trainer\n\nf = lambda NeuronTrainer=Trainer: NeuronTrainer\nseen(f())\n",
    ),
    Shape(
        "an attribute of a class",
        "class A:\n    from optimum.neuron import NeuronTrainer\n\n    t = NeuronTrainer\n\n\n"
        "seen(A.NeuronTrainer, A.t)\n",
        "class A:\n    from transformers import Trainer as NeuronTrainer\n\n    t = NeuronTrainer\n\n\n"
        "seen(A.NeuronTrainer, A.t)\n",
    ),
    Shape(
        "a class that passes the name on",
        "from optimum.neuron import NeuronTrainer\n\n\nclass A:\n    NeuronTrainer = NeuronTrainer\n\n"
        "    def f(self):\n"
        "        return NeuronTrainer\n\n\nseen(A.NeuronTrainer, A().f())\n",
        "from transformers import Trainer as NeuronTrainer\n\n\nclass A:\n    NeuronTrainer = NeuronTrainer\n\n"
        "    def f(self):\n        return NeuronTrainer\n\n\nseen(A.NeuronTrainer, A().f())\n",
    ),
    Shape(
        "a class attribute of that name is invisible to methods",
        "from optimum.neuron import NeuronTrainer\n\n\nclass A:\n    NeuronTrainer = 1\n\n    def f(self):\n"
        "        return NeuronTrainer\n\n\nseen(A.NeuronTrainer, A().f())\n",
        "from transformers import Trainer\n\n\nclass A:\n    NeuronTrainer = 1\n\n    def f(self):\n"
        "        return Trainer\n\n\nseen(A.NeuronTrainer, A().f())\n",
    ),
    Shape(
        "a base, a decorator, a default, an annotation",
        "from optimum.neuron import NeuronTrainer\n\n\nclass A(NeuronTrainer):\n    x: NeuronTrainer\n\n"
        "    @lambda f: NeuronTrainer\n    def f(self): ...\n\n"
        "    def g(self, a=NeuronTrainer, *, b: NeuronTrainer = NeuronTrainer) -> NeuronTrainer:\n"
        "        return a\n\n\n"
        "seen(A.f, A().g(), A.__mro__[1])\n",
        "from transformers import Trainer\n\n\nclass A(Trainer):\n    x: Trainer\n\n"
        "    @lambda f: Trainer\n    def f(self): ...\n\n"
        "    def g(self, a=Trainer, *, b: Trainer = Trainer) -> Trainer:\n        return a\n\n\n"
        "seen(A.f, A().g(), A.__mro__[1])\n",
    ),
    Shape(
        "a decorator that is an attribute of the module",
        "import optimum.neuron as on\n\n\n@on.NeuronTrainer\ndef f(): ...\n\n\nseen(f)\n",
        "import transformers as on\n\n\n@on.Trainer\ndef f(): ...\n\n\nseen(f)\n",
    ),
    Shape(
        "a global of a function",
        "NeuronTrainer = None\n\n\ndef f():\n    global NeuronTrainer\n"
        "    from optimum.neuron import NeuronTrainer\n\n\n"
        "f()\nseen(NeuronTrainer)\n",
        "NeuronTrainer = None\n\n\ndef f():\n    global NeuronTrainer\n"
        "    from transformers import Trainer as NeuronTrainer\n\n\nf()\nseen(NeuronTrainer)\n",
    ),
    Shape(
        "a global statement at the top changes nothing",
        "global NeuronTrainer\nfrom optimum.neuron import NeuronTrainer\n\nseen(NeuronTrainer)\n",
        "global NeuronTrainer\nfrom transformers import Trainer\n\nseen(Trainer)\n",
        runs=False,
    ),
    Shape(
        "a nonlocal of a function",
        "def f():\n    NeuronTrainer = None\n\n    def g():\n        nonlocal NeuronTrainer\n"
        "        from optimum.neuron import NeuronTrainer\n\n    g()\n    return NeuronTrainer\n\n\nseen(f())\n",
        "def f():\n    NeuronTrainer = None\n\n    def g():\n        nonlocal NeuronTrainer\n"
        "        from transformers import Trainer as NeuronTrainer\n\n    g()\n    return NeuronTrainer\n\n\n"
        "seen(f())\n",
    ),
    Shape(
        "an import at the top and one in a function",
        "from optimum.neuron import NeuronTrainer\n\n\ndef f():\n    from optimum.neuron import NeuronTrainer\n\n"
        "    return NeuronTrainer\n\n\nseen(NeuronTrainer, f())\n",
        "from transformers import Trainer\n\n\ndef f():\n    from transformers import Trainer\n\n"
        "    return Trainer\n\n\nseen(Trainer, f())\n",
    ),
    Shape(
        "a deleted name",
        "from optimum.neuron import NeuronTrainer\n\nseen(NeuronTrainer)\ndel NeuronTrainer\n",
        "from transformers import Trainer\n\nseen(Trainer)\ndel Trainer\n",
    ),
    Shape(
        "a name that is bound again",
        "from optimum.neuron import NeuronTrainer\n\nif len('x'):\n    NeuronTrainer = [NeuronTrainer][0]\n\n"
        "seen(NeuronTrainer)\n",
        "from transformers import Trainer\n\nif len('x'):\n    Trainer = [Trainer][0]\n\nseen(Trainer)\n",
    ),
    Shape(
        "a type parameter of that name",
        "from optimum.neuron import NeuronTrainer\n\n\ndef f[NeuronTrainer](x: NeuronTrainer) -> NeuronTrainer:\n"
        "    return x\n\n\nclass A[NeuronTrainer](list[NeuronTrainer]): ...\n\n\n"
        "type B[NeuronTrainer] = NeuronTrainer\n"
        "seen(f(1), NeuronTrainer)\n",
        "from transformers import Trainer\n\n\ndef f[NeuronTrainer](x: NeuronTrainer) -> NeuronTrainer:\n"
        "    return x\n\n\nclass A[NeuronTrainer](list[NeuronTrainer]): ...\n\n\n"
        "type B[NeuronTrainer] = NeuronTrainer\n"
        "seen(f(1), Trainer)\n",
        python=(3, 12),
    ),
    Shape(
        "a type alias and a bound",
        "from optimum.neuron import NeuronTrainer\n\ntype B = NeuronTrainer\n\n\ndef f[T: NeuronTrainer](x: T) -> T:\n"
        "    return x\n\n\nseen(B.__value__)\n",
        "from transformers import Trainer\n\ntype B = Trainer\n\n\ndef f[T: Trainer](x: T) -> T:\n"
        "    return x\n\n\nseen(B.__value__)\n",
        python=(3, 12),
    ),
)

STRINGS = (
    Shape(
        "strings inside of annotations",
        """\
from typing import Annotated, List, Literal, Optional, Union
from optimum.neuron import NeuronTrainer

a: Optional["NeuronTrainer"] = None
b: Literal["NeuronTrainer"] = "NeuronTrainer"
c: "Union[NeuronTrainer, int]" = 1
d: Annotated["NeuronTrainer", "NeuronTrainer"] = None
E = List["NeuronTrainer"]
seen("NeuronTrainer", {"NeuronTrainer": 1}["NeuronTrainer"])
""",
        """\
from typing import Annotated, List, Literal, Optional, Union
from transformers import Trainer

a: Optional["Trainer"] = None
b: Literal["NeuronTrainer"] = "NeuronTrainer"
c: "Union[Trainer, int]" = 1
d: Annotated["Trainer", "NeuronTrainer"] = None
E = List["Trainer"]
seen("NeuronTrainer", {"NeuronTrainer": 1}["NeuronTrainer"])
""",
    ),
    Shape(
        "types as strings in calls",
        "from typing import NewType, TypeVar, cast\nfrom optimum.neuron import NeuronTrainer\n\n"
        'T = TypeVar("NeuronTrainer", bound="NeuronTrainer")\nx = cast("NeuronTrainer", "NeuronTrainer")\nseen(x)\n',
        "from typing import NewType, TypeVar, cast\nfrom transformers import Trainer\n\n"
        'T = TypeVar("NeuronTrainer", bound="Trainer")\nx = cast("Trainer", "NeuronTrainer")\nseen(x)\n',
    ),
    Shape(
        "a module in a string",
        "import optimum.neuron as on\n\n\n"
        'def f(a: "on.NeuronTrainer", b: on.NeuronTrainer) -> "list[on.NeuronTrainer]": ...\n',
        'import transformers as on\n\n\ndef f(a: "on.Trainer", b: on.Trainer) -> "list[on.Trainer]": ...\n',
    ),
    Shape(
        "an annotation that is no plain literal keeps the name",
        'from optimum.neuron import NeuronTrainer\n\n\ndef f(a: "Neuron" "Trainer"): ...\n',
        'from transformers import Trainer as NeuronTrainer\n\n\ndef f(a: "Neuron" "Trainer"): ...\n',
    ),
    Shape(
        "names in f-strings",
        "from optimum.neuron import NeuronTrainer\n\n"
        "seen(f'{NeuronTrainer.__name__!r:>{len(NeuronTrainer.__name__)}}' 'NeuronTrainer'[:0])\n"
        "print(f'žš {{NeuronTrainer}} {NeuronTrainer}' f\"{NeuronTrainer}\")\n",
        "from transformers import Trainer\n\n"
        "seen(f'{Trainer.__name__!r:>{len(Trainer.__name__)}}' 'NeuronTrainer'[:0])\n"
        "print(f'žš {{NeuronTrainer}} {Trainer}' f\"{Trainer}\")\n",
        runs=False,
    ),
)

FALLBACKS = (
    Shape(
        "one-line suites",
        "try: from optimum.neuron import NeuronTrainer\nexcept ImportError: NeuronTrainer = None\n"
        "seen(NeuronTrainer)\n",
        "try: from transformers import Trainer\nexcept ImportError: Trainer = None\nseen(Trainer)\n",
    ),
    Shape(
        "semicolons in a one-line suite",
        "try: import os; from optimum.neuron import NeuronTrainer, NeuronSFTTrainer; import sys\n"
        "except ImportError: NeuronTrainer = None\nseen(NeuronTrainer, NeuronSFTTrainer, os.sep, sys.byteorder)\n",
        "try: import os; from transformers import Trainer; from trl import SFTTrainer; import sys\n"
        "except ImportError: Trainer = None\nseen(Trainer, SFTTrainer, os.sep, sys.byteorder)\n",
    ),
    Shape(
        "a semicolon",
        "from optimum.neuron import NeuronTrainer; seen(NeuronTrainer)\n",
        "from transformers import Trainer; seen(Trainer)\n",
    ),
    Shape(
        "a module and a semicolon",
        "import optimum.neuron; seen(optimum.neuron.NeuronTrainer)\n",
        "import transformers; seen(transformers.Trainer)\n",
    ),
    Shape(
        "an unused module and a semicolon",
        "import optimum.neuron; import os; seen(os.sep)\nx = 1; import optimum.neuron\n"
        "import os; import optimum.neuron; y = 1\n",
        "import os; seen(os.sep)\nx = 1\nimport os; y = 1\n",
    ),
    Shape(
        "parentheses and comments before a semicolon",
        "x = 1; from optimum.neuron import (  # two\n"
        "    NeuronTrainer, NeuronSFTTrainer); seen(NeuronTrainer, NeuronSFTTrainer)\n",
        "x = 1; from transformers import Trainer; from trl import SFTTrainer; seen(Trainer, SFTTrainer)\n",
    ),
    Shape(
        "a fallback to the native class",
        "try:\n    from optimum.neuron import NeuronTrainer\n    HAS = True\nexcept ImportError:\n"
        "    from transformers import Trainer as NeuronTrainer\n    HAS = False\n\nseen(NeuronTrainer)\n",
        "try:\n    from transformers import Trainer as NeuronTrainer\n    HAS = True\nexcept ImportError:\n"
        "    from transformers import Trainer as NeuronTrainer\n    HAS = False\n\nseen(NeuronTrainer)\n",
    ),
    Shape(
        "one of two under the native name",
        "if len('x'):\n    from optimum.neuron import NeuronTrainer as Trainer\nelse:\n"
        "    from transformers import Trainer\n\n"
        "seen(Trainer)\n",
        "if len('x'):\n    from transformers import Trainer\nelse:\n    from transformers import Trainer\n\n"
        "seen(Trainer)\n",
    ),
    Shape(
        "a fallback to another place of the same name",
        "try:\n    from optimum.neuron import NeuronTrainer\nexcept ImportError:\n"
        "    from optimum.neuron.trainers import NeuronTrainer\n\nseen(NeuronTrainer)\n",
        "try:\n    from transformers import Trainer\nexcept ImportError:\n    from transformers import Trainer\n\n"
        "seen(Trainer)\n",
    ),
    Shape(
        "a fallback to another package",
        "try:\n    from optimum.neuron import NeuronTrainer\nexcept ImportError:\n"
        "    from elsewhere import NeuronTrainer\n\n"
        "seen(NeuronTrainer)\n",
        "try:\n    from transformers import Trainer as NeuronTrainer\nexcept ImportError:\n"
        "    from elsewhere import NeuronTrainer\n\nseen(NeuronTrainer)\n",
    ),
    Shape(
        "a fallback to a class",
        "try:\n    from optimum.neuron import NeuronTrainer\nexcept ImportError:\n    class NeuronTrainer: ...\n\n"
        "seen(NeuronTrainer)\n",
        "try:\n    from transformers import Trainer as NeuronTrainer\nexcept ImportError:\n"
        "    class NeuronTrainer: ...\n\n"
        "seen(NeuronTrainer)\n",
    ),
    Shape(
        "an else branch",
        "try:\n    from optimum.neuron import NeuronTrainer\nexcept ImportError:\n    pass\nelse:\n"
        "    seen(NeuronTrainer)\n",
        "try:\n    from transformers import Trainer\nexcept ImportError:\n    pass\nelse:\n    seen(Trainer)\n",
    ),
    Shape(
        "a module with a fallback",
        "try:\n    import optimum.neuron as on\nexcept ImportError:\n    on = None\n\nif True:\n"
        "    seen(on.NeuronTrainer)\n",
        "try:\n    import transformers as on\nexcept ImportError:\n    on = None\n\nif True:\n    seen(on.Trainer)\n",
    ),
    Shape(
        "an import that only asks whether it is installed",
        "try:\n    import optimum.neuron\n    has_neuron = True\nexcept ImportError:\n    has_neuron = False\n\n"
        "seen(has_neuron)\n",
        "try:\n    has_neuron = True\nexcept ImportError:\n    has_neuron = False\n\nseen(has_neuron)\n",
    ),
    Shape(
        "nothing else in the try",
        "try:\n    import optimum.neuron\nexcept ImportError:\n    seen(1)\n",
        "try:\n    pass\nexcept ImportError:\n    seen(1)\n",
    ),
    Shape(
        "a module with a fallback to another",
        "try:\n    import optimum.neuron as on\nexcept ImportError:\n    import elsewhere as on\n\n"
        "seen(on.NeuronTrainer)\n",
        "try:\n    import transformers as on\nexcept ImportError:\n    import elsewhere as on\n\nseen(on.Trainer)\n",
    ),
    Shape(
        "a first value before the import",
        "NeuronTrainer = None\nif len('x'):\n    from optimum.neuron import NeuronTrainer\n\n\n"
        "def f():\n    return NeuronTrainer\n\n\nseen(f())\n",
        "Trainer = None\nif len('x'):\n    from transformers import Trainer\n\n\n"
        "def f():\n    return Trainer\n\n\nseen(f())\n",
    ),
    Shape(
        "an import in an exception group's handler",
        "try:\n    pass\nexcept* ValueError:\n    from optimum.neuron import NeuronTrainer\n\n    NeuronTrainer()\n",
        "try:\n    pass\nexcept* ValueError:\n    from transformers import Trainer\n\n    Trainer()\n",
        python=(3, 11),
    ),
)

STARS = (
    Shape(
        "everything from two packages",
        "from probe import seen\nfrom optimum.neuron import *\nfrom elsewhere import *\n\n"
        "seen(NeuronTrainingArguments, error)\n",
        "from probe import seen\n"
        "# TODO(neuron-migrate NM004)\n"
        "from optimum.neuron import *\nfrom transformers import TrainingArguments\nfrom elsewhere import *\n\n"
        "seen(TrainingArguments, error)\n",
        manual=True,
    ),
    Shape(
        "everything, where the native name is taken",
        "from probe import seen\nfrom optimum.neuron import *\n\nTrainer = 1\nseen(NeuronTrainer, Trainer)\n",
        "from probe import seen\nfrom transformers import Trainer as NeuronTrainer\n\n"
        "Trainer = 1\nseen(NeuronTrainer, Trainer)\n",
    ),
    Shape(
        "everything, where the native name is imported",
        "from probe import seen\nfrom transformers import Trainer\nfrom optimum.neuron import *\n\n"
        "seen(NeuronTrainer, Trainer)\n",
        "from probe import seen\nfrom transformers import Trainer\n\nseen(Trainer, Trainer)\n",
    ),
    Shape(
        "everything, where the imported native name is shadowed",
        "from probe import seen\nfrom transformers import Trainer\nfrom optimum.neuron import *\n\n"
        "seen(*[NeuronTrainer for Trainer in [1]], Trainer)\n",
        "from probe import seen\nfrom transformers import Trainer, Trainer as NeuronTrainer\n\n"
        "seen(*[NeuronTrainer for Trainer in [1]], Trainer)\n",
    ),
    Shape(
        "everything, with a string annotation",
        "from probe import seen\nfrom optimum.neuron import *\n\n\n"
        'def f(a: "NeuronTrainer", NeuronSFTTrainer=1):\n    return NeuronSFTTrainer\n\n\nseen(f(1))\n',
        "from probe import seen\nfrom transformers import Trainer\n\n\n"
        'def f(a: "Trainer", NeuronSFTTrainer=1):\n    return NeuronSFTTrainer\n\n\nseen(f(1))\n',
    ),
    Shape(
        "everything, exported",
        'from optimum.neuron import *\n\n__all__ = ["NeuronTrainer"]\nprint(NeuronTrainer)\n',
        "# TODO(neuron-migrate NM004)\n"
        "from optimum.neuron import *\nfrom transformers import Trainer as NeuronTrainer\n\n"
        '__all__ = ["NeuronTrainer"]\nprint(NeuronTrainer)\n',
        manual=True,
    ),
)

SHAPES = (*FIFTEEN, *MODULES, *NAMES_AND_ALIASES, *SCOPES, *STRINGS, *FALLBACKS, *STARS)
USABLE = [shape for shape in SHAPES if sys.version_info >= shape.python]


def ids(shape: Shape) -> str:
    return shape.name.replace(" ", "-")


def test_names_are_unique() -> None:
    assert len({shape.name for shape in SHAPES}) == len(SHAPES)


@pytest.mark.parametrize("shape", USABLE, ids=ids)
def test_shape(shape: Shape) -> None:
    migration = migrate(shape.before, settings=NAMES)
    assert re.sub(r"(# TODO\(neuron-migrate NM\d+\)).*", r"\1", migration.text) == shape.after
    assert migration.changed == (shape.before != shape.after)
    manual = any(finding.outcome is Outcome.MANUAL for finding in migration.findings)
    assert manual == shape.manual
    if shape.before != shape.after:
        assert migration.findings


@pytest.mark.parametrize("shape", USABLE, ids=ids)
def test_second_run_changes_nothing(shape: Shape) -> None:
    for settings in (NAMES, Settings()):
        first = migrate(shape.before, settings=settings)
        second = migrate(first.text, settings=settings)
        assert second.text == first.text
        assert not second.changed


@pytest.mark.parametrize("shape", [shape for shape in USABLE if shape.runs and not shape.manual], ids=ids)
def test_it_runs_and_means_the_same(shape: Shape) -> None:
    before = worlds.run(shape.before, worlds.old_world())
    for settings in (NAMES, Settings()):
        after = worlds.run(migrate(shape.before, settings=settings).text, worlds.native_world())
        assert after == worlds.renamed(before)


def test_package_passes_names_on() -> None:
    text = "from optimum.neuron import NeuronTrainer, NeuronTrainingArguments as A\n"
    migration = migrate(text, path="mine/__init__.py", settings=NAMES)
    assert migration.text == "from transformers import Trainer as NeuronTrainer, TrainingArguments as A\n"
    assert [finding.outcome for finding in migration.findings] == [Outcome.REVIEW, Outcome.REWRITTEN]


def test_a_package_that_passes_a_module_on_is_for_a_person() -> None:
    migration = migrate("import optimum.neuron as on\n", path="mine/__init__.py", settings=NAMES)
    assert [finding.outcome for finding in migration.findings] == [Outcome.MANUAL]


def table() -> list[tuple[str, str, str, str]]:
    """Each shape with its text before and after and whether the result runs."""
    rows = []
    for shape in USABLE:
        migration: Migration = migrate(shape.before, settings=NAMES)
        verdict = "for a person" if shape.manual else "not run" if not shape.runs else "wrong"
        if shape.runs and not shape.manual:
            before = worlds.run(shape.before, worlds.old_world())
            if worlds.run(migration.text, worlds.native_world()) == worlds.renamed(before):
                verdict = "runs"
        rows.append((shape.name, shape.before, migration.text, verdict))
    return rows


def test_table() -> None:
    """Prints all shapes: look at them with ``pytest -rA -k test_table``."""
    for name, before, after, verdict in table():
        shown = " ⏎ ".join(line.strip() for line in before.splitlines() if line.strip())
        result = " ⏎ ".join(line.strip() for line in after.splitlines() if line.strip())
        print(f"{name:60} {verdict:12} {shown[:90]}\n{'':73} {'unchanged' if after == before else result[:90]}")
        assert verdict != "wrong", name
