"""Settings reach loads, inputs and pipelines however a file writes them, or a finding says where they are lost."""

from __future__ import annotations

import pytest

from neuron_codemods import Finding, Outcome, collect, migrate

HEAD = """import sys
from optimum.neuron import NeuronModelForCausalLM as C, NeuronModelForMaskedLM as A, NeuronModelForSeq2SeqLM as D
from optimum.neuron import NeuronModelForSentenceTransformers as S
from optimum.neuron import NeuronModelForTokenClassification as B, pipeline
from transformers import AutoProcessor, AutoTokenizer

t, p = AutoTokenizer.from_pretrained("m"), AutoProcessor.from_pretrained("m")
"""
CONFIG = "from optimum.neuron.models.inference.backend.config import NxDNeuronConfig\n"
LENGTH = "export=True, batch_size=1, sequence_length=64"
PADDED = 'padding="max_length", max_length=64, truncation=True'


def migrated(script: str) -> tuple[str, tuple[Finding, ...]]:
    """The migrated script in one line, without what its head becomes, and the findings."""
    migration = migrate(HEAD + script)
    assert migrate(migration.text).text == migration.text
    flat = " ".join(migration.text.replace(",\n)", ")").split()).replace("( ", "(")
    return flat.replace(", )", ")"), migration.findings


REWRITTEN = {
    "a keyword for the model": (
        f'm = A.from_pretrained(model_id="m", use_auth_token=True, {LENGTH})',
        'A.from_pretrained(pretrained_model_name_or_path="m", token=True, device_map=',
    ),
    "an export": ('m = C.export("m", batch_size=1)', 'C.from_pretrained("m", device_map='),
    "a place for the model": (
        f'm = A.from_pretrained("m", device_map="cpu", {LENGTH})',
        '"m", device_map="cpu", dtype',
    ),
    "a mapping with something native": (
        'shapes = {"batch_size": 1, "revision": "x", "use_auth_token": True}\n'
        'm = A.from_pretrained("m", export=True, **shapes)',
        'shapes = {"revision": "x", "token": True} m = A.from_pretrained("m", device_map=neuron_device(), '
        'dtype="float32", **shapes)',
    ),
    "a mapping that is read": (
        'import json\nshapes = {"batch_size": 1, "use_auth_token": True, "revision": "x"}\n'
        'print(json.dumps(shapes), shapes["batch_size"], shapes.get("x"), f"{shapes}", "x" in shapes)\n'
        'm = A.from_pretrained("m", export=True, **shapes)',
        'm = A.from_pretrained("m", token=True, revision="x", device_map=neuron_device(), dtype="float32")',
    ),
    "a mapping for two loads": (
        'shapes = dict(batch_size=1)\nm = A.from_pretrained("m", export=True, **shapes)\n'
        'n = A.from_pretrained("n", export=True, **shapes)',
        'n = A.from_pretrained("n", device_map=neuron_device(), dtype="float32")',
    ),
    "a configuration": (
        f"{CONFIG}config = NxDNeuronConfig(batch_size=2, tp_degree=2)\n"
        'm = C.from_pretrained("m", neuron_config=config)',
        'm = C.from_pretrained("m", distributed_config=DistributedConfig(**parallel_sizes(tp_size=2, model="m")))',
    ),
    "a configuration of the class": (
        'm = C.from_pretrained("m", neuron_config=C.get_neuron_config("m", batch_size=2))',
        'm = C.from_pretrained("m", device_map=neuron_device())',
    ),
    "no configuration": ('m = C.from_pretrained("m", neuron_config=None, export=True)', 'C.from_pretrained("m", dev'),
    "all cores": (
        "from optimum.neuron.utils.system import get_available_cores\n\n"
        'n = get_available_cores()\nm = C.from_pretrained("m", export=True, num_cores=n)',
        '**parallel_sizes(fsdp_size=1, model="m")',
    ),
    "cores of a call": (
        'm = C.from_pretrained(get("m"), export=True, num_cores=len(cores))',
        "**parallel_sizes(fsdp_size=1))",
    ),
    "cores by a parameter": (
        'def f(n, m):\n    return C.from_pretrained(m, export=True, num_cores=n)\n\n\nf(8, "m")',
        "**parallel_sizes(tp_size=n, model=m)",
    ),
    "cores that change": (
        'n = 8\nm = C.from_pretrained("m", export=True, num_cores=n)\nn = 3',
        "**parallel_sizes(tp_size=8, model=",
    ),
    "a cast that only the run knows": (
        'm = A.from_pretrained("m", export=True, auto_cast="all", auto_cast_type=sys.argv[1])',
        'dtype={"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}[sys.argv[1]]',
    ),
    "a cast that a condition chooses": (
        'm = A.from_pretrained("m", export=True, auto_cast="all", auto_cast_type="bf16" if sys.argv else "fp32")',
        'dtype="bfloat16" if sys.argv else "float32"',
    ),
    "a cast that a condition chooses, to one without a native form": (
        'm = A.from_pretrained("m", export=True, auto_cast="all", auto_cast_type="tf32" if sys.argv else "fp32")',
        '["tf32" if sys.argv else "fp32"]',
    ),
    "a cast by one of several names": (
        'p.add_argument("--cast", choices=["f32", "f16", "bf16"])\n'
        'm = A.from_pretrained("m", export=True, auto_cast="all", auto_cast_type=p.parse_args().cast)',
        '"fp32": "float32", "f16": "float16", "f32": "float32"}[p.parse_args().cast]',
    ),
    "a dtype that only the run knows": (
        'import torch\nm = A.from_pretrained("m", export=True, torch_dtype=getattr(torch, sys.argv[1]))',
        "dtype=getattr(torch, sys.argv[1]))",
    ),
    "a cast of a decoder": ('m = C.from_pretrained("m", export=True, auto_cast_type="bf16")', 'dtype="bfloat16")'),
    "a cast of a decoder that only the run knows": (
        'm = C.from_pretrained("m", export=True, auto_cast_type=sys.argv[1])',
        '"fp32": "float32"}[sys.argv[1]])',
    ),
    "a dtype of a decoder": ('m = C.from_pretrained("m", export=True, torch_dtype="float16")', 'dtype="float16")'),
    "a folder by its path": (
        'from pathlib import Path\nm = A.from_pretrained("m", export=True)\nm.save_pretrained(Path("a") / "b")\n'
        'm.save_pretrained(Path("a"))\nn = A.from_pretrained(Path("a"))',
        'm.save_pretrained(Path("a") / "b") n = A.from_pretrained("m"',
    ),
    "a folder by a keyword": (
        'import os\nm = A.from_pretrained("m", export=True)\n'
        'm.save_pretrained(save_directory=os.path.join("a", "b"))\n'
        'n = A.from_pretrained(os.path.join("a", "b"))',
        'n = A.from_pretrained("m"',
    ),
    "a repository": (
        'm = A.from_pretrained("m", export=True)\nm.push_to_hub("d", repository_id="me/m", use_auth_token=True)\n'
        'm.push_to_hub(save_directory="d", repository_id="me/m")\nm.push_to_hub(repository_id="me/m")\n'
        'm.push_to_hub("me/other")\nn = B.from_pretrained("me/m")',
        'm.push_to_hub("me/m", token=True) m.push_to_hub(repo_id="me/m") m.push_to_hub(repo_id="me/m") '
        'm.push_to_hub("me/other") n = B.from_pretrained("m"',
    ),
    "a folder of a folder": (
        'm = A.from_pretrained("m", export=True)\nm.save_pretrained("a")\nn = B.from_pretrained("a")\n'
        'n.save_pretrained("b")\nprint(B.from_pretrained("b"))',
        'print(compile_static(B.from_pretrained("m"',
    ),
    "a model whose name is not written": (
        'm = A.from_pretrained(get(), export=True)\nm.save_pretrained("a")\ndel m\nm = A.from_pretrained("a")',
        'm = A.from_pretrained(get(), device_map=neuron_device(), dtype="float32") m = compile_static(m)',
    ),
    "a model that is always passed the same": (
        'def f(x):\n    m = A.from_pretrained(x, export=True)\n    m.save_pretrained("a")\n\n\nf("C:\\\\m")\n'
        'n = A.from_pretrained("a")',
        'n = A.from_pretrained("C:\\\\m", device_map=',
    ),
    "a model that is only saved": (
        'A.from_pretrained("m", export=True).save_pretrained("a")\nn = A.from_pretrained("a")',
        'AutoProcessor.from_pretrained("m") n = A.from_pretrained("m"',
    ),
    "a choice that something else makes": (
        'if compiled("a"):\n    m = A.from_pretrained("a")\nelse:\n    m = A.from_pretrained("m", export=True)\n'
        '    m.save_pretrained("a")',
        'if compiled("a"): m = A.from_pretrained("m"',
    ),
    "a model in an attribute that is only saved": (
        'o.m = A.from_pretrained("m", export=True)\no.m.save_pretrained("a")\nn = A.from_pretrained("a")',
        'o.m = compile_static(o.m) n = A.from_pretrained("m"',
    ),
    "a model in a variable that is used again": (
        'm = A.from_pretrained("m", export=True)\nm.save_pretrained("a")\nn = A.from_pretrained("a")\nm = None',
        'm = compile_static(m) n = A.from_pretrained("m"',
    ),
    "a decoder of an old release": (
        'from optimum.neuron import NeuronDecoderModel\n\nm = C.from_pretrained("m", export=True)',
        'C.from_pretrained("m", device_map=neuron_device(), dtype="float32")',
    ),
    "a size that is always passed the same": (
        'def f(n):\n    m = A.from_pretrained("m", export=True, sequence_length=n)\n    m.save_pretrained("a")\n\n\n'
        'f(64)\nn = B.from_pretrained("a")\nn(**t("a"))',
        f'n(**t("a", {PADDED}))',
    ),
    "a tokenizer in the folder": (
        'm = A.from_pretrained("m", export=True)\nm.save_pretrained("a")\nt.save_pretrained("b")\n'
        'AutoTokenizer.from_pretrained("a")\nAutoTokenizer.from_pretrained("b")\nmine.from_pretrained("a")\n'
        'n = A.from_pretrained("a")',
        'AutoTokenizer.from_pretrained("m") AutoTokenizer.from_pretrained("b") mine.from_pretrained("a") n = ',
    ),
    "what is saved has a value": (
        'm = A.from_pretrained("m", export=True)\nx = m.save_pretrained("a")\nm = A.from_pretrained("a")',
        'm = compile_static(m) x = m.save_pretrained("a")',
    ),
    # Where a model and its inputs are.
    "a model and a tokenizer": (
        f'def load():\n    return A.from_pretrained("m", {LENGTH}), AutoTokenizer.from_pretrained("m")\n\n\n'
        'm, tok = load()\nx = tok("a", return_tensors="pt")\nm(**x)',
        f'x = tok("a", return_tensors="pt", {PADDED}).to(m.device)',
    ),
    "a pair in a variable": (
        f'pair = (A.from_pretrained("m", {LENGTH}), t)\nm, tok = pair\nm(**tok("a", return_tensors="pt"))',
        f'm(**tok("a", return_tensors="pt", {PADDED}).to(m.device))',
    ),
    "what is unpacked otherwise": (
        f'pair = (A.from_pretrained("m", {LENGTH}), t)\nm, *rest = pair\na, b, c = pair\nd, e = pair[0]\n'
        'for f, g in [pair]:\n    f(**g("a"))\nm(x)\na(x)\nd(x)\nh, i = unknown()\nh(i)',
        'f(**g("a")) m(x) a(x) d(x) h, i = unknown() h(i)',
    ),
    "attributes and methods of a class": (
        f'class M:\n    def __init__(self):\n        self.m: A = A.from_pretrained("m", {LENGTH})\n\n'
        '    def prepare(self, x):\n        return t(x, return_tensors="pt")\n\n    def run(self, x):\n'
        "        return self.m(**self.prepare(x))\n\n\ndef run(self):\n    return self.m(**self.prepare(1))",
        f'return t(x, return_tensors="pt", {PADDED}).to(self.m.device)',
    ),
    "a length that another method knows": (
        "class M:\n    def __init__(self, n):\n        self.n = n\n"
        '        self.m = A.from_pretrained("m", export=True, sequence_length=self.n)\n\n'
        "    def run(self, x):\n        return self.m(**t(x))",
        't(x, padding="max_length", max_length=self.n, truncation=True)',
    ),
    "a folder as a text": (
        'm = A.from_pretrained("m", export=True)\nm.save_pretrained(str(x.folder))\nn = A.from_pretrained(x.folder)',
        'n = A.from_pretrained("m"',
    ),
    "an attribute that is made after the inputs": (
        f'class M:\n    def run(self):\n        x = t("a", return_tensors="pt")\n'
        f'        self.m = A.from_pretrained("m", {LENGTH})\n        return self.m(**x)',
        f'x = t("a", return_tensors="pt", {PADDED}).to(neuron_device())',
    ),
    "a model that is made after the inputs": (
        f'x = t("a", return_tensors="pt")\nm = A.from_pretrained("m", {LENGTH})\nm(**x)',
        f'x = t("a", return_tensors="pt", {PADDED}).to(neuron_device())',
    ),
    "a model that the function that makes inputs does not see": (
        'def inputs():\n    return p(images=x, return_tensors="pt")\n\n\n'
        "def run():\n"
        '    m = A.from_pretrained("m", export=True, auto_cast="all")\n    m(**inputs())',
        '(images=x, return_tensors="pt").to(neuron_device(), "bfloat16")',
    ),
    "a processor for another precision": (
        'm = A.from_pretrained("m", export=True, auto_cast="all")\nm(**p(images=x, return_tensors="pt"))',
        '(images=x, return_tensors="pt").to(m.device, m.dtype)',
    ),
    "a processor of texts": (
        f'm = A.from_pretrained("m", {LENGTH})\nm(**p(text="a", return_tensors="pt"))',
        f'(text="a", return_tensors="pt", {PADDED}).to(m.device)',
    ),
    "an attribute of something else": (
        f'app.state.m = A.from_pretrained("m", {LENGTH})\napp.state.m(**t("a", return_tensors="pt"))',
        f'app.state.m(**t("a", return_tensors="pt", {PADDED}).to(neuron_device()))',
    ),
    "values in between": (
        f'import torch\n\n\nasync def f():\n    m = torch.compile((n := A.from_pretrained("m", {LENGTH}))).eval()\n'
        '    x = await g()\n    m(**(x if x else x or x))\n\n\ndef g():\n    if x:\n        return t("a")\n    return',
        f'return t("a", {PADDED})',
    ),
    "a comprehension": (
        f'm = A.from_pretrained("m", {LENGTH})\nm(**{{k: v.to("cpu") for k, v in t("a", truncation=False).items()}})',
        't("a", truncation=True, padding="max_length", max_length=64).items()',
    ),
    "a mapping of tensors": (
        f'm = A.from_pretrained("m", {LENGTH})\nx = t("a")\nm({{"input_ids": x["input_ids"]}})\nm(*x)',
        f'x = t("a", {PADDED}) m({{"input_ids": x["input_ids"]}})',
    ),
    "padding that is there": (
        f'm = A.from_pretrained("m", {LENGTH})\nm(**t("a", padding="max_length", max_length=8, truncation=True))\n'
        'm(**t("a", padding=True, max_length=64, truncation="only_first"))',
        'm(**t("a", padding="max_length", max_length=8, truncation=True)) '
        'm(**t("a", padding="max_length", max_length=64, truncation="only_first"))',
    ),
    "inputs that are moved": (
        f'm = A.from_pretrained("m", {LENGTH})\nx = t("a", return_tensors="pt")\nx = x.to("cuda")\nm(**x)\n'
        'm(t("a", return_tensors="pt").to("cuda").input_ids)',
        f'x = t("a", return_tensors="pt", {PADDED}) x = x.to("cuda") m(**x) '
        f'm(t("a", return_tensors="pt", {PADDED}).to("cuda").input_ids)',
    ),
    "arrays of outputs": (
        f'm = A.from_pretrained("m", {LENGTH})\nout = m(**t("a"))\nfirst, second = out\n'
        "print(out[0].cpu().numpy(), first.numpy(), out.numpy(1), numpy())\n\n\ndef f(out, rows):\n"
        "    for row in rows:\n        print(row.numpy(), out.numpy(), sys.numpy())",
        "print(out[0].cpu().numpy(), first.cpu().numpy(), out.numpy(1), numpy()) def f(out, rows): "
        "for row in rows: print(row.numpy(), out.numpy(), sys.numpy())",
    ),
    "settings that are read": (
        'm = C.from_pretrained("m", export=True, batch_size=4, sequence_length=64)\n'
        'print(m.neuron_config.batch_size, m.config.neuron["sequence_length"], m.max_length, other.neuron_config)',
        "print(4, 64, 64, other.neuron_config)",
    ),
    "the class as a type": (
        f'm = A.from_pretrained("m", {LENGTH})\n\n\ndef f(x: "A", y: list[A]) -> A | None:\n    z: A = x\n'
        "    return isinstance(x, (A, int)) or issubclass(x, A | int) or isinstance(x, A)",
        'def f(x: "A", y: list[A]) -> A | None: z: A = x return isinstance(x, (A, int))',
    ),
    # Generation.
    "beams": (
        f's = D.from_pretrained("m", num_beams=4, {LENGTH})\n'
        "s.generate(x)\ns.generate(x, num_beams=2, use_cache=False)",
        's.generate(x, cache_implementation="static", num_beams=4)',
    ),
    "one beam": (
        f's = D.from_pretrained("m", num_beams=1, {LENGTH})\ns.generate(x, compile_config=c, use_cache=False)',
        "s.generate(x, use_cache=False)",
    ),
    "prompts that move": (
        'c = C.from_pretrained("m", export=True)\nx = t("a", padding=False)\ny = z = x\nx = x.to("cuda")\n'
        'c.generate(**x)\nc.generate(t("a", return_tensors="pt").to("cuda").input_ids)',
        'x = t("a", padding=False) y = z = x c.generate(**x, cache_implementation="static") '
        'c.generate(t("a", return_tensors="pt").input_ids, cache',
    ),
    "padded prompts": (
        'c = C.from_pretrained("m", export=True)\na = AutoTokenizer.from_pretrained("m", padding_side="right")\n'
        'b = AutoTokenizer.from_pretrained("m", **settings)\nd = mine.from_pretrained("m")\ntokenizer = get()\n'
        "for x in (a('x', padding=True), b('x', padding=True), d('x', padding=True), tokenizer('x', padding=True)):\n"
        "    c.generate(**x)\n"
        'c.generate(**a.batch_encode_plus("x", padding=True), **b("x", padding=True), **d("x", padding=True))\n'
        'c.generate(**tokenizer("x", padding=True))',
        'a = AutoTokenizer.from_pretrained("m", padding_side="left") '
        'b = AutoTokenizer.from_pretrained("m", **settings)',
    ),
    "a side that is assigned": (
        'c = C.from_pretrained("m", export=True)\nt.padding_side = "right"\nother.padding_side = "left"\n'
        'c.generate(**t("x", padding=True))',
        't.padding_side = "left" other.padding_side = "left"',
    ),
    "a tokenizer that is passed": (
        'q = AutoTokenizer.from_tekken("a")\nc = C.from_pretrained("m", export=True)\n\n\ndef f(tokenizer, x):\n'
        "    c.generate(**tokenizer(x, padding=True), **q(x, padding=True))\n"
        "    run(target=other.generate, kwargs={'x': 1})",
        "c.generate(**tokenizer(x, padding=True), **q(x, padding=True), cache",
    ),
    "a thread with its keywords": (
        'import threading\nc = C.from_pretrained("m", export=True)\n'
        'threading.Thread(target=c.generate, kwargs={"inputs": x})',
        'kwargs={"inputs": x, "cache_implementation": "static"}',
    ),
    "a thread": (
        "import threading\n"
        'c = C.from_pretrained("m", export=True)\nkeywords = dict(input_ids=x)\n'
        "threading.Thread(target=c.generate, kwargs=keywords)\nthreading.Thread(target=other)\n"
        "pool.submit(c.generate, x)",
        'keywords = dict(input_ids=x, cache_implementation="static")',
    ),
    # Sentences.
    "a sentence transformer of a folder": (
        f'm = S.from_pretrained("m", {LENGTH})\nm.save_pretrained("a")\nn = S.from_pretrained("a")',
        'n = S("m", device=neuron_device(), model_kwargs={"dtype": "float32"}) n[0].processing_kwargs = '
        '{"text": {"padding": "max_length", "max_length": 64, "truncation": True}} n = compile_static(n)',
    ),
    "keywords of a sentence transformer": (
        'm = S.from_pretrained(model_id="m", export=True, use_auth_token=True, cache_dir="c", revision="r")',
        'm = S(model_name_or_path="m", token=True, cache_folder="c", revision="r", device=neuron_device(), model_',
    ),
    "a mapping for a sentence transformer": (
        'shapes = {"batch_size": 1, "use_auth_token": True, "cache_dir": "c"}\n'
        'm = S.from_pretrained("m", export=True, **shapes)',
        'm = S("m", token=True, cache_folder="c", device=neuron_device(), model_kwargs={"dtype": "float32"})',
    ),
    "a mapping for a sentence transformer that is read": (
        'shapes = {"batch_size": 1}\nprint(shapes)\nm = S.from_pretrained("m", export=True, **shapes)',
        'shapes = {"batch_size": 1} print(shapes) m = S("m", device=',
    ),
    "a sentence transformer of any length": (
        'm = S.from_pretrained("m", export=True, sequence_length=None)\nprint(S.from_pretrained("n", export=True))',
        'm = S("m", device=neuron_device(), model_kwargs={"dtype": "float32"}) m = compile_static(m) '
        'print(compile_static(S("n", device=neuron_device(), model_kwargs={"dtype": "float32"})))',
    ),
    "tokens of a sentence transformer": (
        'm = S.from_pretrained("m", export=True)\nm.tokenize(x, padding=True)\nother.tokenize(x)\nf = m.tokenize',
        "m.preprocess(x) other.tokenize(x) f = m.tokenize",
    ),
    "tensors of a sentence transformer": (
        'm = S.from_pretrained("m", export=True)\nm(input_ids=t("a").input_ids, attention_mask=None)',
        'm({"input_ids": t("a").input_ids, "attention_mask": None})',
    ),
    # Pipelines.
    "a pipeline without a task": (
        'p = pipeline(model="m", export=True)',
        'p = pipeline(model="m", device=neuron_device(), dtype="float32") p.model = compile_static(p.model)',
    ),
    "a pipeline by position": (
        'p = pipeline("ner", "m", tok, export=True, use_auth_token=x, torch_dtype="float16", device=3)',
        'p = pipeline("ner", "m", tokenizer=tok, token=x, dtype="float16", device=3)',
    ),
    "no mapping of shapes": (
        'p = pipeline("fill-mask", model="m", export=True, input_shapes=None)',
        'p = pipeline("fill-mask", model="m", device=neuron_device(), dtype="float32")',
    ),
    "shapes in a mapping that is read": (
        'shapes = {"batch_size": 1, "sequence_length": 64}\nprint(shapes)\n'
        'p = pipeline("text-classification", model="m", export=True, input_shapes=shapes)',
        'print(shapes) p = pipeline("text-classification", model="m", device=neuron_device(), dtype="float32", '
        f"{PADDED})",
    ),
    "a pipeline of a model": (
        'm = A.from_pretrained("m", export=True, batch_size=2, sequence_length=64)\n'
        'p = pipeline("fill-mask", model=m)',
        'p = pipeline("fill-mask", model=m, batch_size=2, tokenizer_kwargs={"padding": "max_length", '
        '"max_length": 64, "truncation": True})',
    ),
    "a pipeline of a folder": (
        'm = A.from_pretrained("m", export=True)\nm.save_pretrained("a")\np = pipeline("fill-mask", "a")\n'
        'q = pipeline("fill-mask", model="a", export=False)',
        'p = pipeline("fill-mask", "m", device=neuron_device(), dtype="float32") p.model = compile_static(p.model) '
        'q = pipeline("fill-mask", model="m", dev',
    ),
    "a pipeline without a name": (
        'def f():\n    return pipeline("fill-mask", "m", export=True)',
        'return pipeline("fill-mask", "m", device=neuron_device(), dtype="float32")',
    ),
    "a pipeline for speech": (
        'p = pipeline("automatic-speech-recognition", "m", export=True)',
        'p = pipeline("automatic-speech-recognition", "m", device=neuron_device(), dtype="float32")',
    ),
}


@pytest.mark.parametrize(("script", "expected"), REWRITTEN.values(), ids=REWRITTEN)
def test_it_is_rewritten(script: str, expected: str) -> None:
    text, findings = migrated(script)
    assert expected in text
    assert not [finding for finding in findings if finding.outcome is Outcome.MANUAL and finding.code == "NM201"]


TO_REVIEW = {
    "a repository": ('m = C.from_pretrained("a/b")', "If this repository holds a compiled model"),
    "an instance": ('m = C.export("m", instance_type="inf2")', 'instance_type="inf2" has no native successor'),
    "a cast that is not followed": (
        'm = A.from_pretrained("m", export=True, auto_cast=sys.argv[1])',
        "auto_cast=sys.argv[1] is decided at run time",
    ),
    "a cast without a native form": (
        'm = A.from_pretrained("m", export=True, auto_cast="all", auto_cast_type="fp8_e4m3")',
        "auto_cast_type='fp8_e4m3' has no native form",
    ),
    "a cast of a decoder without a native form": (
        'm = C.from_pretrained("m", export=True, auto_cast_type="tf32")',
        "auto_cast_type='tf32' has no native form",
    ),
    "no cast of a decoder": (
        'm = C.from_pretrained("m", export=True, auto_cast_type=None)',
        "The weights load as the checkpoint has them",
    ),
    "a dtype that cannot be seen": (
        'def f(d):\n    m = A.from_pretrained("m", export=True, torch_dtype=d)\n    m.save_pretrained("a")\n\n\n'
        'n = A.from_pretrained("a")',
        "torch_dtype=d cannot be seen from here",
    ),
    "a tokenizer of a model that cannot be seen": (
        'def f(x):\n    m = A.from_pretrained(x, export=True)\n    m.save_pretrained("a")\n'
        '    return A.from_pretrained("a")\n\n\nAutoTokenizer.from_pretrained("a")',
        "name the original model here",
    ),
    "inputs whose padding is in a mapping": (
        f'm = A.from_pretrained("m", {LENGTH})\nm(**t("a", **settings))',
        "What ** holds has to pad to 64",
    ),
    "a length that another function knows": (
        'def f(n):\n    return A.from_pretrained("m", export=True, sequence_length=n)\n\n\nm = f(get())\nm(**t("a"))',
        "Pad them to n, the length that the model was compiled for",
    ),
    "a length of an object that a function does not have": (
        "def prepare(x):\n    return t(x)\n\n\nclass M:\n    def __init__(self):\n"
        '        self.m = A.from_pretrained("m", export=True, sequence_length=self.n)\n\n'
        "    def run(self, x):\n        return self.m(**prepare(x))",
        "Pad them to self.n, the length",
    ),
    "a length of another self": (
        "class M:\n    def __init__(self):\n"
        '        self.m = A.from_pretrained("m", export=True, sequence_length=self.n)\n\n'
        '    def run(self, x):\n        def inner(self):\n            return t("a")\n\n'
        "        return self.m(**inner(x))",
        "Pad them to self.n, the length",
    ),
    "a length that cannot be seen": (
        'def f(n):\n    return C.from_pretrained("m", export=True, sequence_length=n)\n\n\nf(get()).generate(x)\n'
        "c = f(get())\nc.generate(x)",
        "Pass max_cache_len as long as",
    ),
    "a method that is handed on": (
        'import threading\nc = C.from_pretrained("m", export=True, sequence_length=64)\n'
        "threading.Thread(target=c.generate, kwargs=keywords)\nthreading.Thread(target=c.generate)",
        'add cache_implementation="static" and max_cache_len=64',
    ),
    "a method that something else calls": (
        's = D.from_pretrained("m", export=True)\nrun(s.generate, x)',
        'add cache_implementation="static", or each',
    ),
    "a sentence transformer whose length is lost": (
        f'def f():\n    return S.from_pretrained("m", {LENGTH})',
        "Texts are no longer padded",
    ),
    "a sentence transformer in part": (
        'm = S.from_pretrained("m", export=True, auto_cast="matmul")',
        "Only matrix products were computed in bfloat16",
    ),
    "a sentence transformer on several cores": (
        'm = S.from_pretrained("m", export=True, num_cores=2)',
        "The model runs on one core now",
    ),
    "an embedding": (
        "from optimum.neuron import NeuronModelForEmbedding\n\n"
        'm = NeuronModelForEmbedding.from_pretrained("m", export=True)\nx = m(**t("a"))',
        "The embedding is pooled",
    ),
    "a pipeline that does not pad": (
        'p = pipeline("ner", "m", export=True, input_shapes={"sequence_length": 64})',
        "The ner pipeline does not pad",
    ),
    "a pipeline that generates": (
        'p = pipeline("text-generation", "m", export=True, cache_implementation="static", batch_size=2)',
        "A pipeline moves prompts to the device",
    ),
    "a pipeline that generates at a length": (
        'p = pipeline("text-generation", "m", export=True, input_shapes={"sequence_length": 64})',
        "A pipeline moves prompts to the device",
    ),
    "a pipeline of a repository": ('p = pipeline("text-generation", "a/b")', "If this repository holds a compiled"),
    "a pipeline in part": (
        'p = pipeline("fill-mask", "m", export=True, compiler_args={"auto_cast": "matmul"})',
        "Only matrix products",
    ),
    "a pipeline whose shapes cannot be seen": (
        'def f(n):\n    m = A.from_pretrained("m", export=True, batch_size=n, sequence_length=n)\n'
        '    m.save_pretrained("a")\n\n\np = pipeline("fill-mask", "a")',
        "batch_size and sequence_length of the compiled model cannot be seen here",
    ),
}


@pytest.mark.parametrize(("script", "message"), TO_REVIEW.values(), ids=TO_REVIEW)
def test_a_difference_is_told(script: str, message: str) -> None:
    _, findings = migrated(script)
    assert [finding for finding in findings if finding.outcome is Outcome.REVIEW and message in finding.message]


LEFT = {
    "folders that come from each other": (
        'a = A.from_pretrained("x")\na.save_pretrained("y")\nb = B.from_pretrained("y")\nb.save_pretrained("x")',
        '"y" is a compiled model',
    ),
    "a folder of an unknown folder": (
        'a = A.from_pretrained("x")\na.save_pretrained("y")\nb = B.from_pretrained("y")',
        '"y" is a compiled model',
    ),
    "a folder of a model that cannot be seen": (
        'def f(x):\n    m = A.from_pretrained(x, export=True)\n    m.save_pretrained("a")\n\n\n'
        'n = B.from_pretrained("a")',
        '"a" is a compiled model',
    ),
    "a folder of two models": (
        'a = A.from_pretrained("m", export=True)\na.save_pretrained("x")\nb = A.from_pretrained("n", export=True)\n'
        'b.save_pretrained("x")\nc = A.from_pretrained("x")',
        '"x" is a compiled model',
    ),
    "no model": ("a = A.from_pretrained(export=True)", "name the original model"),
    "a mapping of another kind": ('a = A.from_pretrained("m", export=True, **[])', "what **[] holds cannot be told"),
    "a mapping in a mapping": (
        'x = {**y, "batch_size": 1}\na = A.from_pretrained("m", export=True, **x)',
        "what **x holds cannot be told",
    ),
    "a mapping from another": (
        'x = dict(y, batch_size=1)\na = A.from_pretrained("m", export=True, **x)',
        "what **x holds cannot be told",
    ),
    "a mapping for something else": (
        'x = {"batch_size": 1}\nrun(**x)\na = A.from_pretrained("m", export=True, **x)',
        "what **x holds cannot be told",
    ),
    "a configuration that is passed": (
        'def f(config):\n    return C.from_pretrained("m", neuron_config=config)',
        "where config comes from cannot be told",
    ),
    "a configuration from a mapping": (
        f'{CONFIG}c = C.from_pretrained("m", neuron_config=NxDNeuronConfig(**x))',
        "where NxDNeuronConfig(**x) comes from cannot be told",
    ),
    "a configuration from elsewhere": (
        'c = C.from_pretrained("m", neuron_config=make(1))',
        "where make(1) comes from cannot be told",
    ),
    "a configuration for nothing": ('x = C.get_neuron_config("m", batch_size=1)', "Delete the call"),
    "a method for later": ("x = B.from_pretrained", "has no native form"),
    "a class by itself": ("def f():\n    A", "decided at run time"),
    "a setting that is set": (
        f'm = A.from_pretrained("m", {LENGTH})\nm.neuron_config.batch_size = 4',
        "m.neuron_config.batch_size: a native model has no such attribute",
    ),
    "the settings as a whole": (
        f'm = A.from_pretrained("m", {LENGTH})\nprint(m.neuron_config)',
        "m.neuron_config: a native model has no such attribute",
    ),
    "a setting that has no name": (
        f'm = A.from_pretrained("m", {LENGTH})\nprint(m.config.neuron[1])',
        "m.config.neuron[1]: a native model has no such attribute",
    ),
    "inputs that a method of the tokenizer makes": (
        f'm = A.from_pretrained("m", {LENGTH})\nm(**t.decode("a"))',
        't.decode("a") comes from cannot be told here: have it moved to model.device and padded to 64',
    ),
    "inputs that a method of the class does not make": (
        'class M:\n    def __init__(self):\n        self.m = A.from_pretrained("m", export=True)\n\n'
        "    def run(self):\n        self.m(**self.inputs())",
        "self.inputs() comes from cannot be told here",
    ),
    "inputs that another method of the tokenizer makes": (
        'm = A.from_pretrained("m", export=True)\nm(**t.encode("a"))',
        't.encode("a") comes from cannot be told here',
    ),
    "inputs that come from afar": (
        'm = A.from_pretrained("m", export=True)\na = get()\n'
        + "".join(f"a{step} = {'a' if step == 0 else f'a{step - 1}'}\n" for step in range(14))
        + "m(**a13)",
        "a13 comes from cannot be told here",
    ),
    "inputs that go round": (
        'm = A.from_pretrained("m", export=True)\n\n\ndef f(x):\n    x = g(x)\n    return x\n\n\n'
        "def g(x):\n    return f(x)\n\n\nm(**f(y))",
        "f(y) comes from cannot be told here",
    ),
    "a setting of a model that is left": (
        f'n = C.from_pretrained("n", export=True)\nm = A.from_pretrained("folder", {LENGTH[13:]})\n'
        "print(m.neuron_config)",
        '"folder" is a compiled model',
    ),
    "inputs that a call of a call makes": (
        'm = A.from_pretrained("m", export=True)\nm(**get()("a"))',
        'get()("a") comes from cannot be told here: have it moved to model.device, in one',
    ),
    "texts and images": (
        'm = S.from_pretrained("m", export=True)\nm(input_ids=x, pixel_values=y)',
        "call model.encode() for each",
    ),
    "tensors by position": ('m = S.from_pretrained("m", export=True)\nm(x, y)', "takes one mapping"),
    "tensors by position and by keyword": (
        'm = S.from_pretrained("m", export=True)\nm(x)\nm(x, attention_mask=y)',
        "takes one mapping",
    ),
    "keywords of a pipeline": ('p = pipeline("fill-mask", "m", export=True, **x)', "what ** holds cannot be told"),
    "cores of a pipeline": (
        'p = pipeline("fill-mask", "m", export=True, num_cores=2)',
        "DistributedConfig(tp_size=...)",
    ),
    "shapes of a pipeline": (
        'p = pipeline("fill-mask", "m", export=True, input_shapes=shapes)',
        "what shapes holds cannot be told",
    ),
    "shapes of a pipeline that change": (
        'x = {}\nx = {"batch_size": 1}\np = pipeline("fill-mask", "m", export=True, input_shapes=x)',
        "what x holds cannot be told",
    ),
    "arguments of a pipeline": (
        'p = pipeline("fill-mask", "m", a, b, True, export=True)',
        "pass the arguments by keyword",
    ),
    "arguments of a pipeline in a list": (
        'p = pipeline("fill-mask", *x, export=True)',
        "pass the arguments by keyword",
    ),
    "a pipeline that is handed on": ("run(pipeline)", "its arguments cannot be told here"),
    "a pipeline of a compiled model": ('p = pipeline("fill-mask", "folder")', '"folder" is a compiled model'),
    "a pipeline of a folder of a model that cannot be seen": (
        'def f(x):\n    m = A.from_pretrained(x, export=True)\n    m.save_pretrained("a")\n\n\n'
        'p = pipeline("fill-mask", "a")',
        '"a" is a compiled model',
    ),
    "a pipeline of a model that is left": (
        'm = A.from_pretrained(folder)\np = pipeline("fill-mask", model=m)',
        "its model is not rewritten",
    ),
}


@pytest.mark.parametrize(("script", "message"), LEFT.values(), ids=LEFT)
def test_what_cannot_be_told_is_left_with_a_marker(script: str, message: str) -> None:
    text, findings = migrated(script)
    assert [finding for finding in findings if finding.outcome is Outcome.MANUAL and message in finding.message]
    assert script.splitlines()[-1].strip() in text or "m({" in text


def test_a_model_that_only_a_function_imports_is_loaded_after_configure() -> None:
    text = """def load():
    from optimum.neuron import NeuronModelForCausalLM

    return NeuronModelForCausalLM.from_pretrained("m", export=True)
"""

    after = migrate(text).text
    assert after.startswith("def load():\n    from neuron_shim import configure, neuron_device\n")
    assert "\n\n    configure()\n\n    return AutoModelForCausalLM.from_pretrained(" in after


def test_a_file_tells_the_folders_of_one_model_alone() -> None:
    facts = collect(
        HEAD
        + """
named = A.from_pretrained("m", export=True)
other = A.from_pretrained(get(), export=True)
nothing = A.from_pretrained(export=True)
named.save_pretrained(folder)
named.save_pretrained("named")
other.save_pretrained("other")
asked = A.from_pretrained("asked")
asked.save_pretrained("again")
""",
        "file.py",
    )

    assert [item.model for item in facts.compiled] == ["m"]
    assert facts.asks == {"asked"}


def test_a_call_right_below_the_imports_stays_below_them() -> None:
    text = """from optimum.neuron import NeuronModelForMaskedLM
NeuronModelForMaskedLM.from_pretrained("m", export=True).save_pretrained("a")
"""

    assert "\nconfigure()\n\ncompile_static(AutoModelForMaskedLM.from_pretrained(" in migrate(text).text
