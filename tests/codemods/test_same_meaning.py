"""Random scripts that run before and after: they must see the same things, old ones as their native twins."""

from __future__ import annotations

import ast

from hypothesis import assume, given
from hypothesis import strategies as st

from neuron_codemods import Outcome, Settings, migrate

from . import worlds

NAMES = Settings(select=("NM0", "NM101", "NM102"))

imports = st.sampled_from(
    [
        *("from optimum.neuron import NeuronTrainer", "from optimum.neuron import NeuronTrainer as T"),
        *("from optimum.neuron import NeuronTrainer as Trainer", "from optimum.neuron import *"),
        *("from optimum.neuron import NeuronTrainer, NeuronSFTTrainer", "from optimum import neuron"),
        *("import optimum.neuron", "import optimum.neuron as on", "import optimum.neuron as T"),
        *("import optimum.neuron.trainers", "from optimum.neuron.trainers import NeuronTrainer"),
        *(
            "import optimum.onnxruntime",
            "import transformers",
            "import transformers as on",
            "import transformers as T",
        ),
        *("from transformers import Trainer", "from transformers import Trainer as NeuronTrainer", "import trl"),
        *(
            "from transformers import Trainer as T",
            "from elsewhere import Trainer",
            "from elsewhere import NeuronTrainer",
        ),
        *("from transformers import Trainer, AutoModel", "from optimum.neuron import NeuronSFTTrainer as S"),
        "try:\n    from optimum.neuron import NeuronTrainer\nexcept ImportError:\n    NeuronTrainer = None",
        "if 1:\n    from optimum.neuron import NeuronTrainer\nelse:\n    from elsewhere import NeuronTrainer",
        "if 0:\n    from optimum.neuron import NeuronTrainer\nelse:\n    from elsewhere import NeuronTrainer",
        "try: import optimum.neuron as on\nexcept ImportError: on = None",
    ]
)
uses = st.sampled_from(
    [
        *("seen(NeuronTrainer)", "seen(T)", "seen(Trainer)", "seen(optimum.neuron.NeuronTrainer)", "seen(S)"),
        *(
            "seen(on.NeuronTrainer)",
            "seen(neuron.NeuronTrainer)",
            "seen(transformers.Trainer)",
            "seen(NeuronSFTTrainer)",
        ),
        *(
            "seen(optimum.neuron.trainers.NeuronSFTTrainer)",
            "seen(on.NeuronSFTTrainer)",
            "seen(f'{NeuronTrainer and 1}')",
        ),
        *(
            "Trainer = 1",
            "NeuronTrainer = 2",
            "transformers = 3",
            "T = NeuronTrainer",
            "on = T",
            "seen(trl.SFTTrainer)",
        ),
        *("for Trainer in [4]: seen(Trainer)", "seen(*[NeuronTrainer for Trainer in [5]])", "del NeuronTrainer"),
        *(
            "seen((lambda Trainer: NeuronTrainer)(6))",
            "seen(*[Trainer for Trainer in [NeuronTrainer]])",
            "seen(optimum.version)",
        ),
        *("(NeuronTrainer := 7)", "NeuronTrainer = [NeuronTrainer][0]", "with null as Trainer: seen(NeuronTrainer)"),
        *(
            "seen((lambda transformers=8: on.NeuronTrainer)())",
            "seen(optimum.onnxruntime.ORTModel)",
            "import trl as Trainer",
        ),
        *("try: 1 / 0\nexcept Exception as Trainer: seen(NeuronTrainer)", "x: 'NeuronTrainer' = NeuronTrainer"),
        *("match [9]:\n    case [Trainer]: seen(NeuronTrainer, Trainer)", "global Trainer", "global NeuronTrainer"),
    ]
)
blocks = st.sampled_from(
    [
        *("def f():\n{0}\nf()", "def f(Trainer=1):\n{0}\nf()", "def f(NeuronTrainer=2):\n{0}\nf()", "class A:\n{0}"),
        *(
            "def Trainer():\n{0}\nTrainer()",
            "def f(transformers=3, T=4):\n{0}\nf()",
            "if 1:\n{0}",
            "class Trainer:\n{0}",
        ),
        *("class A:\n  def f(self):\n{0}\nA().f()", "class A:\n  NeuronTrainer = 5\n  def f(self):\n{0}\nA().f()"),
        *(
            "def f():\n  def g():\n{0}\n  g()\nf()",
            "def f(Trainer=6):\n  def g():\n{0}\n  g()\nf()",
            "for on in [7]:\n{0}",
        ),
    ]
)


@st.composite
def scripts(draw: st.DrawFn, depth: int = 0) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.integers(0, 9))
        if kind < 3:
            part = draw(imports)
            parts.append(part if depth == 0 or "*" not in part else "pass")
        elif kind < 8 or depth > 1:
            parts.append(draw(uses))
        else:
            inner = "\n".join(f"    {line}" for line in draw(scripts(depth + 1)).splitlines())
            parts.append(draw(blocks).replace("{0}", inner))
    return "\n".join(parts)


@given(imports, scripts())
def test_random_scripts_mean_the_same(first: str, script: str) -> None:
    text = f"from contextlib import nullcontext\nfrom probe import seen\n\nnull = nullcontext(0)\n{first}\n{script}\n"
    try:
        before = worlds.run(text, worlds.old_world())
    except Exception:
        assume(False)
    migration = migrate(text, settings=NAMES)
    ast.parse(migration.text)
    assert migrate(migration.text, settings=NAMES).text == migration.text
    if all(finding.outcome is not Outcome.MANUAL for finding in migration.findings):
        assert worlds.run(migration.text, worlds.native_world()) == worlds.renamed(before)
