"""diffusers ignores keywords that it does not know, so no migrated script may hold one."""

from __future__ import annotations

import pytest

from neuron_codemods import Case, Outcome, migrate
from neuron_codemods.data import all_keywords
from neuron_codemods.registry import rules
from tests.diffusion.scripts import SCRIPTS, Script

pytestmark = pytest.mark.libraries
pytest.importorskip("diffusers")

CASES = [case for module in rules() if module.rule.code.startswith("NM3") for case in module.cases]
VALUES = {
    "controlnet_ids": '"c/d"',
    "unet_id": '"c/d"',
    "lora_model_ids": '"c/d"',
    "lora_weight_names": '"w.safetensors"',
    "lora_adapter_names": '"x"',
    "lora_scales": "0.5",
    "ip_adapter_id": '"c/d"',
    "ip_adapter_subfolder": '"models"',
    "ip_adapter_weight_name": '"w.bin"',
    "ip_adapter_scale": "0.5",
    "auto_cast": '"matmul"',
    "auto_cast_type": '"bf16"',
    "data_parallel_mode": '"unet"',
    "torch_dtype": "torch.bfloat16",
    "token": '"t"',
}
NAMES = sorted(
    {
        name
        for row in all_keywords()
        if row.owner in ("diffusion", "traced_model") and row.keyword and "from_pretrained" in row.members
        for name in row.names
    }
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case: Case) -> None:
    from .keywords import unknown

    migration = migrate(case.before)
    if migration.changed and all(finding.outcome is not Outcome.MANUAL for finding in migration.findings):
        assert unknown(migration.text) == []


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_scripts(script: Script) -> None:
    from .keywords import unknown

    assert unknown(migrate(script.text).text) == []


@pytest.mark.parametrize("splat", [False, True], ids=["in the call", "in a mapping"])
@pytest.mark.parametrize("name", NAMES)
def test_every_keyword_of_the_table(name: str, splat: bool) -> None:
    """Each documented keyword leaves nothing behind that diffusers would ignore."""
    from .keywords import unknown

    kind = "NeuronStableDiffusionControlNetPipeline" if name == "controlnet_ids" else "NeuronStableDiffusionPipeline"
    value = VALUES.get(name, "1")
    given = f'**{{"{name}": {value}}}' if splat else f"{name}={value}"
    export = "" if name in ("export", "from_transformers") else "export=True, "
    text = f"""import torch
from optimum.neuron import {kind}

pipe = {kind}.from_pretrained("a/b", {export}{given})
image = pipe("a cat").images[0]
"""
    migration = migrate(text)
    assert [finding.message for finding in migration.findings if finding.outcome is Outcome.MANUAL] == []
    assert "optimum" not in migration.text
    assert unknown(migration.text) == []
    assert migrate(migration.text).text == migration.text
