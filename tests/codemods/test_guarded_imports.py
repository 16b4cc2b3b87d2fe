"""Where a file can do without Optimum Neuron, it can do without what stands in its place."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from neuron_codemods import migrate

LOAD = """

def load(name):
    return NeuronModelForCausalLM.from_pretrained(name, export=True, batch_size=1, sequence_length=64, num_cores=2)
"""
IMPORT = "from optimum.neuron import NeuronModelForCausalLM\n"
BODY = f"""    {IMPORT}"""

GUARDS = {
    "a flag": f"try:\n{BODY}    HAS_NEURON = True\nexcept ImportError:\n    HAS_NEURON = False\n",
    "nothing": f"try:\n{BODY}except ImportError:\n    NeuronModelForCausalLM = None\n",
    "one line": f"try: {IMPORT}except ImportError: NeuronModelForCausalLM = None\n",
    "a variable": f"import os\n\nif os.environ.get('BACKEND') == 'neuron':\n{BODY}",
    "a module": "try:\n    import optimum.neuron\nexcept ImportError:\n    optimum = None\n",
    "types too": f"from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n{BODY}\n"
    f"try:\n{BODY}except Exception:\n    pass\n",
    "two imports": f"try:\n    from optimum.neuron import NeuronTrainer\n{BODY}except ImportError:\n    pass\n",
}


def of_shim(text: str) -> list[ast.stmt]:
    """The statements of the file itself that import from the shim or call it."""
    return [node for node in ast.parse(text).body if "neuron_shim" in ast.unparse(node)]


@pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)
def test_what_an_optional_import_needs_is_optional(guard: str) -> None:
    name = "optimum.neuron.NeuronModelForCausalLM" if "import optimum.neuron" in guard else "NeuronModelForCausalLM"
    text = migrate(guard + LOAD.replace("NeuronModelForCausalLM", name)).text

    (holder,) = of_shim(text)
    assert isinstance(holder, (ast.Try, ast.If))
    held = "\n".join(map(ast.unparse, holder.body))
    for what in ("neuron_device", "parallel_sizes", "DistributedConfig", "configure()"):
        assert what in held
    assert text.count("configure()") == 1
    assert migrate(text).text == text


NEEDED = {
    "the name has another value": f"try:\n{BODY}except ImportError:\n"
    "    from transformers import AutoModelForCausalLM as NeuronModelForCausalLM\n",
    "another one is not guarded": "from optimum.neuron import NeuronTrainer\n\n"
    f"try:\n{BODY}except ImportError:\n    pass\n",
    "two guards": f"try:\n{BODY}except ImportError:\n    pass\n\n"
    "try:\n    from optimum.neuron import NeuronTrainer\nexcept ImportError:\n    pass\n",
    "a try that only tidies up": f"try:\n{BODY}finally:\n    print()\n",
}


@pytest.mark.parametrize("guard", NEEDED.values(), ids=NEEDED)
def test_what_is_needed_in_any_case_is_imported_at_the_top(guard: str) -> None:
    assert [node for node in of_shim(migrate(guard + LOAD).text) if isinstance(node, ast.ImportFrom)]


def test_what_only_type_checkers_import_does_not_hold_what_is_run() -> None:
    text = (
        f"from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n{BODY}\nimport torch_xla.core.xla_model as xm\n\n"
        + ("x = xm.xla_device()\n")
    )
    assert "\nfrom neuron_shim import neuron_device\n" in migrate(text).text


def test_a_call_above_the_guard_is_prepared_above_it() -> None:
    text = """from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("m")
try:
    from optimum.neuron import NeuronTrainer
except ImportError:
    pass
NeuronTrainer(model).train()
"""
    after = migrate(text).text
    assert after.index("configure()") < after.index("model = ")


def test_a_call_of_another_function_is_prepared_at_the_top() -> None:
    text = """from transformers import AutoModelForCausalLM


def build():
    return AutoModelForCausalLM.from_pretrained("m")


def run():
    from optimum.neuron import NeuronTrainer

    NeuronTrainer(build()).train()
"""
    assert "\nconfigure()\n" in migrate(text).text


def test_training_that_goes_on_without_a_guard_is_prepared_in_any_case() -> None:
    text = """import sys

from transformers import AutoModelForCausalLM

if len(sys.argv) > 1:
    from optimum.neuron import NeuronTrainer

model = AutoModelForCausalLM.from_pretrained("m")
"""
    after = migrate(text).text
    assert "\nconfigure()\n" in after
    assert after.index("import configure\n") < after.index("configure()")


def test_a_new_import_never_stands_below_its_use_in_a_guard() -> None:
    text = """import sys

if len(sys.argv) > 1:
    import torch_xla.core.xla_model as xm
    from optimum.neuron.distributed import parallel_layers
    device = xm.xla_device()
"""
    after = migrate(text).text
    assert after.index("import neuron_device\n") < after.index("neuron_device()")


def test_in_a_function_it_is_that_functions() -> None:
    text = f"""def load(name):
    try:
        {IMPORT}    except ImportError as error:
        raise SystemExit("no Neuron") from error
{LOAD.partition(":")[2].strip(chr(10))}
"""
    after = migrate(text).text
    assert [type(node) for node in ast.parse(after).body] == [ast.FunctionDef]
    assert after.count("        from neuron_shim import configure, neuron_device, parallel_sizes\n") == 1


def test_a_machine_without_the_shim_does_without(tmp_path: Path) -> None:
    script = tmp_path / "backend.py"
    script.write_text(migrate(GUARDS["a flag"] + LOAD + "\nprint(HAS_NEURON)\n").text, encoding="utf-8")
    for name in ("neuron_shim", "transformers"):
        (tmp_path / f"{name}.py").write_text("raise ImportError(__name__)\n", encoding="utf-8")

    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    "asked",
    [
        "if NAME is None:\n        raise ImportError",
        "if None is not NAME:\n        print(1)",
        "if not NAME:\n        return",
        "assert NAME",
        "print('Neuron' if NAME else 'none')",
    ],
)
@pytest.mark.parametrize("name", ["NeuronModelForCausalLM", "NeuronStableDiffusionPipeline"])
def test_a_class_that_may_be_missing_is_rewritten_where_that_is_asked(asked: str, name: str) -> None:
    text = f"""try:
    from optimum.neuron import {name}
except ImportError:
    {name} = None


def load():
    {asked.replace("NAME", name)}
    return {name}.from_pretrained("m", export=True, height=8, width=8, batch_size=1, sequence_length=64)
"""
    after = migrate(text).text
    assert name not in after.replace(name.removeprefix("Neuron"), "")
    assert "decided at run time" not in after
    assert ast.parse(after)


def test_a_class_that_is_compared_with_another_is_not() -> None:
    text = f"{IMPORT}\nprint(NeuronModelForCausalLM is object, -NeuronModelForCausalLM)\n"
    assert "TODO(neuron-migrate NM201)" in migrate(text).text
