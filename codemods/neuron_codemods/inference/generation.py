"""Gives `generate` a static cache of the compiled length, and keeps prompts padded on the left and on the CPU.

The compiled decoder had a cache of `sequence_length` positions. Natively `cache_implementation="static"` with
`max_cache_len` compiles the decoding step once for all prompts; prompts that grow on the device would compile at every
step, and native decoders continue the last position, so padding belongs to the left.

https://huggingface.co/docs/transformers/main_classes/text_generation
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from neuron_codemods.edits import AnyEdit, CallEdit, Change, Edit, RemoveStatement
from neuron_codemods.inference.flow import origins
from neuron_codemods.inference.inputs import TEXT, ModelCall, handed_on, kind_of, model_calls
from neuron_codemods.inference.loads import CAUSAL, SEQ2SEQ, Load, known, text_at
from neuron_codemods.inference.loads import TEXT as LENGTH
from neuron_codemods.model import Case, Outcome, Rule
from neuron_codemods.module import Module
from neuron_codemods.values import constant, has_splat, keyword, literal, remove_argument, replace_value

RULE = Rule(
    code="NM205",
    name="static-generation",
    summary="generate() of a compiled model: static cache of the old length, left padding, prompts on the CPU.",
    url="https://huggingface.co/docs/transformers/main_classes/text_generation",
    outcomes=(Outcome.REWRITTEN, Outcome.REVIEW),
)


def check(module: Module) -> Iterator[Change]:
    prompts: dict[ast.Call, ModelCall] = {}
    for item in model_calls(module):
        if not item.generates:
            continue
        yield from _generate(module, item)
        if item.load.family == CAUSAL:
            for prepared in item.prepared:
                prompts.setdefault(prepared, item)
    for attribute, load in handed_on(module):
        yield _handed_on(module, attribute, load)
    for prepared in prompts:
        yield from _on_cpu(module, prepared)
    yield from _padding_side(module, list(prompts))


def _generate(module: Module, item: ModelCall) -> Iterator[Change]:
    given, load = item.given, item.load
    edits: list[AnyEdit] = []
    added = []
    use_cache = keyword(given, "use_cache")
    is_cached = use_cache is None or literal(use_cache.value) is not False
    if is_cached and keyword(given, "cache_implementation", "cache", "past_key_values") is None:
        added.append(("cache_implementation", '"static"'))
    size = load.find(*LENGTH)
    length = text_at(module, size.value, given) if size is not None else None
    lost = size is not None and length is None and known(module, size) is not None
    if (
        load.family == CAUSAL
        and length not in (None, "None")
        and is_cached
        and keyword(given, "max_cache_len") is None
    ):
        added.append(("max_cache_len", str(length)))
    beams = load.find("num_beams")
    if load.family == SEQ2SEQ and beams is not None and keyword(given, "num_beams") is None:
        text = text_at(module, beams.value, given)
        if text not in (None, "1"):
            added.append(("num_beams", str(text)))
    if added:
        edits.append(CallEdit(given, added=tuple(added)))
    compile_config = keyword(given, "compile_config")
    if compile_config is not None:
        edits.append(remove_argument(given, compile_config))
    if not edits:
        return
    message = "A static cache keeps the shapes of the decoding step, which then compiles once."
    if compile_config is not None:
        message += " compile_config goes: the default one knows the device."
    if load.family == CAUSAL and lost:
        message += " Pass max_cache_len as long as the longest text, prompt and answer, to keep one size of cache."
        yield Change(Outcome.REVIEW, item.call, message, tuple(edits))
        return
    yield Change(Outcome.REWRITTEN, item.call, message, tuple(edits))


def _handed_on(module: Module, attribute: ast.Attribute, load: Load) -> Change:
    size = load.find(*LENGTH) if load.family == CAUSAL else None
    length = text_at(module, size.value, attribute) if size is not None else None
    wanted = 'cache_implementation="static"' + (f" and max_cache_len={length}" if length not in (None, "None") else "")
    message = f"What is passed to generate() cannot be seen here: add {wanted}, or each text compiles anew."
    return Change(Outcome.REVIEW, attribute, message)


# Prompts ----------------------------------------------------------------------------------------------------------


def _on_cpu(module: Module, prepared: ast.Call) -> Iterator[Change]:
    """Prompts stay where the tokenizer makes them: ``.to(device)`` goes."""
    message = "Prompts stay on the CPU: generate() moves what the model needs, and what grows there compiles nothing."
    above = module.parent(prepared)
    moved = module.parent(above) if isinstance(above, ast.Attribute) and above.attr == "to" else None
    if isinstance(moved, ast.Call) and moved.func is above:
        edit = Edit.delete((module.source.span(prepared)[1], module.source.span(moved)[1]))
        yield Change(Outcome.REWRITTEN, moved, message, (edit,))
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        name = above.targets[0].id
        for statement in module.block(above):
            if isinstance(statement, ast.Assign) and _is_move(statement, name):
                yield Change(Outcome.REWRITTEN, statement, message, (RemoveStatement(statement),))


def _is_move(statement: ast.Assign, name: str) -> bool:
    """Whether a statement is ``name = name.to(device)``."""
    value = statement.value
    return (
        len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id == name
        and isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "to"
        and isinstance(value.func.value, ast.Name)
        and value.func.value.id == name
    )


def _padding_side(module: Module, prompts: list[ast.Call]) -> Iterator[Change]:
    """The tokenizers of padded prompts pad on the left."""
    message = "Prompts are padded on the left: a native decoder continues the last position."
    padded = [call for call in prompts if kind_of(module, call) == TEXT and _pads(call)]
    tokenizers = {origin: None for call in padded for origin in _tokenizers(module, call)}
    assigned = list(_assigned_sides(module))
    for statement in assigned:
        if tokenizers and constant(module, statement.value) == "right":
            edit = Edit.replace(module.source.span(statement.value), '"left"')
            yield Change(Outcome.REWRITTEN, statement, message, (edit,))
    if assigned:
        return
    for load in tokenizers:
        side = keyword(load, "padding_side")
        if side is None and not has_splat(load):
            yield Change(Outcome.REWRITTEN, load, message, (CallEdit(load, added=(("padding_side", '"left"'),)),))
        elif side is not None and constant(module, side.value) == "right":
            yield Change(Outcome.REWRITTEN, load, message, (replace_value(load, side, '"left"'),))


def _pads(call: ast.Call) -> bool:
    given = keyword(call, "padding", "pad_to_multiple_of")
    return given is not None and literal(given.value) not in (False, None, "do_not_pad")


def _tokenizers(module: Module, call: ast.Call) -> Iterator[ast.Call]:
    """The calls that load the tokenizer of a call."""
    function: ast.expr = call.func
    if isinstance(function, ast.Attribute) and function.attr in ("encode_plus", "batch_encode_plus"):
        function = function.value
    for origin in origins(module, function):
        if isinstance(origin, ast.Call) and isinstance(origin.func, ast.Attribute):
            if origin.func.attr == "from_pretrained" and "Tokenizer" in (module.native(origin.func.value) or ""):
                yield origin


def _assigned_sides(module: Module) -> Iterator[ast.Assign]:
    for statement in module.names.statements:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Attribute) and target.attr == "padding_side":
                yield statement


CASES = (
    Case(
        "a batch of prompts",
        """from optimum.neuron import NeuronModelForCausalLM
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=2, sequence_length=2048)
tokens = tokenizer(["Hello", "Good morning"], return_tensors="pt", padding=True)
outputs = model.generate(**tokens, max_new_tokens=16)
""",
        """from optimum.neuron import NeuronModelForCausalLM
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model", padding_side="left")
model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=2, sequence_length=2048)
tokens = tokenizer(["Hello", "Good morning"], return_tensors="pt", padding=True)
outputs = model.generate(**tokens, max_new_tokens=16, cache_implementation="static", max_cache_len=2048)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "prompts that were moved, a configuration of the compiler and the wrong side",
        """from optimum.neuron import NeuronModelForCausalLM
from transformers import AutoTokenizer, CompileConfig

tokenizer = AutoTokenizer.from_pretrained("my/model")
tokenizer.padding_side = "right"
model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=2, sequence_length=2048)


def answer(prompts):
    tokens = tokenizer(prompts, return_tensors="pt", padding=True).to(model.device)
    return model.generate(**tokens, compile_config=CompileConfig(mode="reduce-overhead"))
""",
        """from optimum.neuron import NeuronModelForCausalLM
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
tokenizer.padding_side = "left"
model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=2, sequence_length=2048)


def answer(prompts):
    tokens = tokenizer(prompts, return_tensors="pt", padding=True)
    return model.generate(**tokens, cache_implementation="static", max_cache_len=2048)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REWRITTEN),
    ),
    Case(
        "beams of an encoder-decoder",
        """from optimum.neuron import NeuronModelForSeq2SeqLM

model = NeuronModelForSeq2SeqLM.from_pretrained("my/t5", export=True, batch_size=1, sequence_length=64, num_beams=4)


def answer(inputs):
    return model.generate(**inputs)
""",
        """from optimum.neuron import NeuronModelForSeq2SeqLM

model = NeuronModelForSeq2SeqLM.from_pretrained("my/t5", export=True, batch_size=1, sequence_length=64, num_beams=4)


def answer(inputs):
    return model.generate(**inputs, cache_implementation="static", num_beams=4)
""",
        (Outcome.REWRITTEN,),
    ),
    Case(
        "an answer that is streamed",
        """from threading import Thread

from optimum.neuron import NeuronModelForCausalLM
from transformers import AutoTokenizer, TextIteratorStreamer

tokenizer = AutoTokenizer.from_pretrained("my/model")
model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=1, sequence_length=2048)


def answer(prompt):
    tokens = tokenizer([prompt], return_tensors="pt").to(model.device)
    streamer = TextIteratorStreamer(tokenizer, skip_prompt=True)
    settings = dict(tokens, streamer=streamer, max_new_tokens=64)
    Thread(target=model.generate, kwargs=settings).start()
    yield from streamer


def answers(prompts):
    tokens = tokenizer(prompts, return_tensors="pt", padding=True)
    settings = {**tokens, "max_new_tokens": 64}
    Thread(target=model.generate, kwargs=settings).start()
""",
        """from threading import Thread

from optimum.neuron import NeuronModelForCausalLM
from transformers import AutoTokenizer, TextIteratorStreamer

tokenizer = AutoTokenizer.from_pretrained("my/model", padding_side="left")
model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=1, sequence_length=2048)


def answer(prompt):
    tokens = tokenizer([prompt], return_tensors="pt")
    streamer = TextIteratorStreamer(tokenizer, skip_prompt=True)
    settings = dict(
        tokens,
        streamer=streamer,
        max_new_tokens=64,
        cache_implementation="static",
        max_cache_len=2048,
    )
    Thread(target=model.generate, kwargs=settings).start()
    yield from streamer


def answers(prompts):
    tokens = tokenizer(prompts, return_tensors="pt", padding=True)
    settings = {**tokens, "max_new_tokens": 64, "cache_implementation": "static", "max_cache_len": 2048}
    Thread(target=model.generate, kwargs=settings).start()
""",
    ),
    Case(
        "run elsewhere",
        """import asyncio

from optimum.neuron import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=1, sequence_length=2048)


async def answer(tokens):
    return await asyncio.to_thread(model.generate, **tokens)


def later(pool, tokens):
    return pool.submit(model.generate, tokens["input_ids"], max_new_tokens=8)


def timed(measure):
    return measure(model.generate)
""",
        """import asyncio

from optimum.neuron import NeuronModelForCausalLM

model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=1, sequence_length=2048)


async def answer(tokens):
    return await asyncio.to_thread(
        model.generate,
        cache_implementation="static",
        max_cache_len=2048,
        **tokens,
    )


def later(pool, tokens):
    return pool.submit(
        model.generate,
        tokens["input_ids"],
        max_new_tokens=8,
        cache_implementation="static",
        max_cache_len=2048,
    )


def timed(measure):
    return measure(model.generate)
""",
        (Outcome.REWRITTEN, Outcome.REWRITTEN, Outcome.REVIEW),
    ),
    Case(
        "a model of transformers",
        """from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
model = AutoModelForCausalLM.from_pretrained("my/model")
outputs = model.generate(**tokenizer(["Hello"], return_tensors="pt", padding=True).to(model.device))
""",
    ),
    Case(
        "a cache of one's own and a single prompt",
        """from optimum.neuron import NeuronModelForCausalLM
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("my/model")
model = NeuronModelForCausalLM.from_pretrained("my/model", export=True, batch_size=1, sequence_length=2048)
tokens = tokenizer("Hello", return_tensors="pt")
outputs = model.generate(**tokens, use_cache=False)
""",
    ),
)
