"""Points out keywords of `generate` whose way to generate transformers 5 has no code for any more.

Contrastive search, beams in groups, constrained beams and DoLa are repositories of the Hub now, whose code runs only
where `trust_remote_code=True` is passed; without it the call fails.

https://huggingface.co/docs/transformers/generation_strategies#custom-generation-methods
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import Change
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import constant, keyword, mappings, named

RULE = Rule(
    code="NM734",
    name="generation-mode",
    summary="generate: penalty_alpha, num_beam_groups, constraints, force_words_ids and dola_layers.",
    url="https://huggingface.co/docs/transformers/generation_strategies#custom-generation-methods",
    outcomes=(Outcome.MANUAL,),
)

_CONFIG = "transformers.GenerationConfig"
_MODES = {
    "penalty_alpha": ("contrastive search", "contrastive-search"),
    "num_beam_groups": ("search with groups of beams", "group-beam-search"),
    "constraints": ("search with constrained beams", "constrained-beam-search"),
    "force_words_ids": ("search with constrained beams", "constrained-beam-search"),
    "dola_layers": ("DoLa", "dola"),
}
"""What each keyword asks for, and its repository of transformers-community."""
_INERT = (None, False, 0, 1)


def check(module: Module) -> Iterator[Change]:
    for call in module.calls if module.renames else ():
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if method != "generate" and module.resolve(call.func) != _CONFIG:
            continue
        holders = (call, *mappings(module, call)[0])
        if any(keyword(holder, "trust_remote_code", "custom_generate") for holder in holders):
            continue
        beams = any(keyword(holder, "num_beams") for holder in holders)
        for item in (item for holder in holders for item in named(holder)):
            mode = _MODES.get(item.arg or "")
            if mode is None or constant(module, item.value) in _INERT or (item.arg == "constraints" and not beams):
                continue
            message = (
                f"{item.arg} asks for {mode[0]}, which left transformers: delete it, or read the code "
                f'of transformers-community/{mode[1]} and pass custom_generate="transformers-community/{mode[1]}" and '
                "trust_remote_code=True to generate()."
            )
            yield Change(Outcome.MANUAL, item.value, message)


CASES = (
    Case(
        "contrastive search",
        """from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("my/model")
model.generate(**inputs, penalty_alpha=0.6, top_k=4)
""",
        f"""from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("my/model")
# TODO(neuron-migrate NM734): penalty_alpha asks for contrastive search, which left transformers: \
delete it, or read the code of transformers-community/contrastive-search and pass \
custom_generate="transformers-community/contrastive-search" and trust_remote_code=True to generate(): {RULE.url}
model.generate(**inputs, penalty_alpha=0.6, top_k=4)
""",
        (Outcome.MANUAL,),
    ),
    Case(
        "code that somebody trusts",
        'model.generate(**inputs, penalty_alpha=0.6, custom_generate="my/search", trust_remote_code=True)\n',
    ),
    Case("values that ask for nothing", "model.generate(**inputs, num_beam_groups=1, dola_layers=None)\n"),
    Case("something else that is generated", "solver.generate(constraints=rows)\nplot(penalty_alpha=0.5)\n"),
)
