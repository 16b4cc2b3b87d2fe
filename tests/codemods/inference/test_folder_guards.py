"""Scripts that export a model only where its folder is not there yet."""

from __future__ import annotations

import ast

import pytest

from neuron_codemods import Outcome, migrate

HEAD = """# As long as a line may be here, so that a load stands on one line, as it is written in the tests that follow
import os
from pathlib import Path
from optimum.neuron import NeuronModelForMaskedLM, NeuronStableDiffusionPipeline

FOLDER = Path("compiled")
EXPORTED = dict(export=True, batch_size=1, sequence_length=64)


"""
EXPORT = 'NeuronModelForMaskedLM.from_pretrained("my/model", **EXPORTED)'
LOAD = "NeuronModelForMaskedLM.from_pretrained(FOLDER)"
NATIVE = 'AutoModelForMaskedLM.from_pretrained("my/model", device_map=neuron_device(), dtype="float32")'


def migrated(text: str) -> str:
    migration = migrate(HEAD + text.format(EXPORT=EXPORT, LOAD=LOAD))
    ast.parse(migration.text)
    assert migrate(migration.text).text == migration.text
    assert not any(finding.outcome is Outcome.MANUAL for finding in migration.findings)
    return migration.text[migration.text.index("\n\n\n") :].lstrip("\n")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "if FOLDER.exists():\n    model = {LOAD}\n"
            "else:\n    model = {EXPORT}\n    model.save_pretrained(FOLDER)\n",
            id="either",
        ),
        pytest.param(
            "if not os.path.isdir(FOLDER):\n    model = {EXPORT}\n    # kept\n"
            "    model.save_pretrained(FOLDER)  # too\n"
            "else:\n    model = {LOAD}\n",
            id="or",
        ),
        pytest.param(
            "if not Path(FOLDER).is_dir():\n    model = {EXPORT}\n    model.save_pretrained(FOLDER)\nmodel = {LOAD}\n",
            id="first made, then loaded",
        ),
        pytest.param(
            "if not FOLDER.exists():\n    made = {EXPORT}\n    made.save_pretrained(FOLDER)\nmodel = {LOAD}\n",
            id="made under another name",
        ),
        pytest.param(
            "if FOLDER.exists(): model = {LOAD}\nelse: model = {EXPORT}\nmodel.save_pretrained(FOLDER)\n", id="lines"
        ),
    ],
)
def test_one_load_is_left(text: str) -> None:
    assert migrated(text).replace("; ", "\n") == f"model = {NATIVE}\nmodel = compile_static(model)\n"


def test_a_function_that_returns_what_is_there() -> None:
    text = """def load():
    if FOLDER.exists():
        return {LOAD}
    model = {EXPORT}
    model.save_pretrained(FOLDER)
    return model
"""

    assert (
        migrated(text) == f"def load():\n    model = {NATIVE}\n    model = compile_static(model)\n    return model\n"
    )


@pytest.mark.parametrize("otherwise", ["    return {EXPORT}", "    else:\n        return {EXPORT}"])
def test_a_function_whose_result_is_saved_where_it_is_called(otherwise: str) -> None:
    text = f"""def load():
    if FOLDER.exists():
        return {{LOAD}}
{otherwise}


load().save_pretrained(FOLDER)
"""

    result = migrated(text)

    assert "exists" not in result
    assert "save_pretrained" not in result
    assert result.count(f"compile_static({NATIVE})") == 1


def test_blocks_in_blocks_and_what_else_they_do() -> None:
    text = """class Masked:
    def __init__(self, again=True):
        if again:
            if os.path.exists(FOLDER):
                self.model = {LOAD}
            else:
                print("compiling")
                self.model = {EXPORT}
                self.model.save_pretrained(FOLDER)
        # ready
        print("ready")
"""

    result = migrated(text)

    assert "        # ready\n" in result
    assert ast.unparse(ast.parse(result)) == ast.unparse(
        ast.parse(
            f"""class Masked:
    def __init__(self, again=True):
        if again:
            print("compiling")
            self.model = {NATIVE}
            self.model = compile_static(self.model)
        print("ready")
"""
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "if FOLDER.exists():\n    print()\n    model = {LOAD}\nelse:\n    model = {EXPORT}\n"
            "    model.save_pretrained(FOLDER)\n",
            id="a branch that does more",
        ),
        pytest.param(
            "if other():\n    model = {LOAD}\nelse:\n    model = {EXPORT}\n    model.save_pretrained(FOLDER)\n",
            id="another test",
        ),
        pytest.param(
            "if a:\n    pass\nelif FOLDER.exists():\n    model = {LOAD}\nelse:\n    model = {EXPORT}\n"
            "    model.save_pretrained(FOLDER)\n",
            id="one of several",
        ),
        pytest.param(
            'if os.path.exists("other"):\n    model = {LOAD}\n'
            "else:\n    model = {EXPORT}\n    model.save_pretrained(FOLDER)\n",
            id="another folder",
        ),
        pytest.param(
            "if FOLDER.exists():\n    model = {LOAD}\nelse:\n    other = {EXPORT}\n    other.save_pretrained(FOLDER)\n"
            "    print(other)\n",
            id="another name",
        ),
    ],
)
def test_both_loads_stay(text: str) -> None:
    assert migrated(text).count(NATIVE) == 2


def test_a_pipeline() -> None:
    text = """if not FOLDER.exists():
    pipe = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=512, width=512)
    pipe.save_pretrained(FOLDER)
pipe = NeuronStableDiffusionPipeline.from_pretrained(FOLDER)
"""

    assert (
        migrated(text)
        == """pipe = StableDiffusionPipeline.from_pretrained("a/b", dtype=torch.bfloat16)
pipe.to(neuron_device())
pipe.unet = compile_static(pipe.unet)
pipe.vae.decoder = compile_static(pipe.vae.decoder)
"""
    )


def test_a_pipeline_made_under_another_name() -> None:
    text = """if not FOLDER.exists():
    made = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True, height=512, width=512)
    made.save_pretrained(FOLDER)
pipe = NeuronStableDiffusionPipeline.from_pretrained(FOLDER)
"""

    assert migrated(text).startswith('pipe = StableDiffusionPipeline.from_pretrained("a/b", dtype=torch.bfloat16)\n')
