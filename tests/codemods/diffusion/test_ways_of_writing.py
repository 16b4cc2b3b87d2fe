"""Settings and sizes reach loads and calls of pipelines however a file writes them, or a finding says what is lost."""

from __future__ import annotations

import pytest

from neuron_codemods import Finding, Outcome, migrate

HEAD = """import torch
from c import *
from optimum.neuron import NeuronFluxPipeline as F, NeuronStableDiffusionControlNetPipeline as N
from optimum.neuron import NeuronStableDiffusionImg2ImgPipeline as I, NeuronStableDiffusionPipeline as P
from optimum.neuron import NeuronStableDiffusionXLPipeline as X
"""
LOAD = 'P.from_pretrained("a/b", export=True, auto_cast="none", height=512, width=256)'
PICTURE = """from PIL import Image
p = I.from_pretrained("a/b", export=True, auto_cast="none", height=8, width=4)
i = Image.open("x").convert("RGB")
"""
LORA = 'p = P.from_pretrained("a/b", export=True, lora_model_ids='


def migrated(script: str) -> tuple[str, tuple[Finding, ...]]:
    """The migrated script in one line, and the findings."""
    migration = migrate(HEAD + script.replace("LOAD", LOAD))
    assert migrate(migration.text).text == migration.text
    flat = " ".join(migration.text.replace(",\n)", ")").split()).replace("( ", "(")
    return flat.replace(", )", ")").replace(",)", ")"), migration.findings


REWRITTEN = {
    # Mappings.
    "a mapping of a mapping": (
        'a = {"height": 512}\nb = dict(a, **{"width": 256})\np = P.from_pretrained("a/b", export=True, **b)\np("x")',
        'p("x", height=512, width=256)',
    ),
    "what an export was given, where its folder is loaded again": (
        "p = P.from_pretrained('a', export=True, token=T, revision='r')\np.save_pretrained('k')\n"
        "q = P.from_pretrained('k')",
        "q = P.from_pretrained('a', token=T, revision='r', dtype=torch.bfloat16)",
    ),
    "a mapping that an export was given, where its folder is loaded again": (
        "o = {'height': 8, 'token': T}\np = P.from_pretrained('a', export=True, **o)\np.save_pretrained('k')\n"
        "q = P.from_pretrained('k')",
        "q = P.from_pretrained('a', token=T, dtype=torch.bfloat16)",
    ),
    "the dtype of a pipeline that another one is made of": (
        "D = torch.float16\np = P.from_pretrained('a/b', export=True, torch_dtype=D)\nq = I.from_pipe(p)",
        "q = I.from_pipe(p, dtype=D)",
    ),
    "a mapping for two pipelines that are made of one": (
        "s = {'torch_dtype': D}\np = P.from_pretrained('a/b', export=True)\nq = I.from_pipe(p, **s)\n"
        "r = I.from_pipe(p, **s)",
        "q = I.from_pipe(p, **s) r = I.from_pipe(p, **s)",
    ),
    "a name that is bound again to what it holds": (
        "p = P.from_pretrained('a/b', export=True, height=8, width=8)\np: P = p\np('x')",
        "p('x', height=8, width=8)",
    ),
    "what is saved and uploaded but is no pipeline of these": (
        "p = P.from_pretrained('a', export=True)\nq.save_pretrained('w')\n(p if x else q).save_pretrained('u')\n"
        "(p or q).push_to_hub('k')",
        "q.save_pretrained('w') (p if x else q).save_pretrained('u') (p or q).push_to_hub('k')",
    ),
    "the uses of a pipeline that is left, beside one that is not": (
        "p = P.from_pretrained('a/b', export=True)\nx = X.from_pretrained('a/b', export=True, **s)\nx('p')\n"
        "x.to('cpu')\nx.save_pretrained('k')\nx.push_to_hub('k')",
        "export=True, **s) x('p') x.to('cpu') x.save_pretrained('k') x.push_to_hub('k')",
    ),
    "a block without room for a line": (
        f"if x:\n{' ' * 120}p = N.from_pretrained('a', export=True, controlnet_ids=[{'c' * 20}, {'d' * 20}])",
        "controlnet = [ ControlNetModel.from_pretrained(cccccccccccccccccccc, dtype=torch.bfloat16),",
    ),
    "mappings that are joined": (
        'a = {"height": 512}\nb = a | {**a, "width": 256}\np = P.from_pretrained("a/b", export=True, **b)\np("x")',
        'p("x", height=512, width=256)',
    ),
    "mappings of a class": (
        'class A:\n    S = {"height": 512}\n    T: dict = {"width": 256}\n\n    def __init__(self):\n'
        '        self.p = P.from_pretrained("a/b", export=True, **self.S, **A.T)\n\n    def run(self):\n'
        '        self.p("x")\n\n\na = A()\nq = X.from_pretrained("a/b", export=True, **a.S)\nq("x")',
        'q("x", height=512)',
    ),
    "a mapping that is only read": (
        's = {"height": 512}\nprint(s["height"], s.get("x"), s)\n'
        'p = P.from_pretrained("a/b", export=True, **s)\np("x")',
        'p("x", height=512)',
    ),
    "a mapping of the call": (
        'p = P.from_pretrained("a/b", export=True, **{"torch_dtype": "float16", "revision": "r", "height": 8})',
        'p = P.from_pretrained("a/b", **{"dtype": torch.float16, "revision": "r"})',
    ),
    "a mapping with the dtype of diffusers": (
        'p = P.from_pretrained("a/b", export=True, **{"torch_dtype": "float32", "use_auth_token": t})',
        'p = P.from_pretrained("a/b", **{"token": t})',
    ),
    "a mapping of native keywords": (
        'p = P.from_pretrained("a/b", export=True, auto_cast="none", **{"revision": "r"})',
        'p = P.from_pretrained("a/b", **{"revision": "r"})',
    ),
    "a mapping whose value may not be computed again": (
        's = {"height": f(), "revision": "r", "torch_dtype": "float16"}\n'
        'p = P.from_pretrained("a/b", export=True, **s)\np("x")',
        'p = P.from_pretrained("a/b", revision="r", dtype=torch.float16)',
    ),
    "a mapping for two loads": (
        's = {"height": 8, "cache_dir": g()}\np = P.from_pretrained("a/b", export=True, **s)\n'
        'q = P.from_pretrained("a/c", export=True, **s)',
        'q = P.from_pretrained("a/c", cache_dir=s["cache_dir"], dtype=torch.bfloat16)',
    ),
    "a mapping of from_pipe": (
        'p = LOAD\nq = I.from_pipe(p, **{"torch_dtype": torch.float16})\nr = I.from_pipe(p, **o)',
        'q = I.from_pipe(p, **{"torch_dtype": torch.float16})',
    ),
    # Sizes.
    "sizes that can be computed again": (
        "import os\n\n\ndef f(h, c):\n"
        '    p = P.from_pretrained("a/b", export=True, height=int(os.getenv("H")), width=-h, guidance_scale=c.x + 1,\n'
        '        num_images_per_prompt=[1, h][0])\n    p("x")',
        'p("x", height=int(os.getenv("H")), width=-h, num_images_per_prompt=[1, h][0], guidance_scale=c.x + 1)',
    ),
    "a size in a text": (
        'def f(h):\n    p = P.from_pretrained("a/b", export=True, height=int(f"{h}0"))\n    p("x")',
        'p("x", height=int(f"{h}0"))',
    ),
    "a size of a star import": (
        'p = P.from_pretrained("a/b", export=True, height=H)\n\n\ndef f():\n    p("x")',
        'p("x", height=H)',
    ),
    "a size by many names": (
        "a0 = 512\n" + "".join(f"a{step + 1} = a{step}\n" for step in range(9)) + "p = P.from_pretrained('a/b', "
        "export=True, height=a9, num_images_per_prompt=a0, width=None)\n\n\ndef f(a0):\n    p('x')",
        "num_images_per_prompt=512)",
    ),
    "a size of the instance": (
        "class A:\n    def __init__(self, h):\n        self.h = h\n"
        '        self.p = P.from_pretrained("a/b", export=True, height=self.h)\n\n'
        '    def run(self):\n        return self.p("x")',
        'return self.p("x", height=self.h)',
    ),
    "the same variable by two parameters": (
        'def f(h):\n    return P.from_pretrained("a/b", export=True, height=h)\n\n\ndef g(p, h):\n    p("x")\n\n\n'
        "size = 512\ng(f(size), size)",
        'p("x", height=h)',
    ),
    "no size of Flux": (
        'p = F.from_pretrained("a/b", export=True, num_images_per_prompt=1, sequence_length=4)\np("x")\n'
        'q = P.from_pretrained("a/b", export=True, sequence_length=4)\nq("y")',
        'p("x", max_sequence_length=4)',
    ),
    # Where a pipeline goes.
    "choices": ('p = LOAD if x else None\nq = p or LOAD\nq("x")\n(r := LOAD)("y")', '("y", height=512, width=256)'),
    "a variable that is declared": ('p: P\np = LOAD\np("x")\nfor x in y:\n    p(x)', "p(x, height=512, width=256)"),
    "a variable of a module": (
        'p: P\n\n\ndef f():\n    global p\n    p = LOAD\n\n\ndef g():\n    p("x")',
        'p("x", height=512, width=256)',
    ),
    "methods": (
        "class A:\n    def __init__(self):\n        self.p = LOAD\n        self.run(self.p)\n\n    def run(self, q):\n"
        '        q("x")\n\n    @classmethod\n    def make(cls, q, *, r):\n        q("y")\n        r("z")\n\n'
        "    @property\n    def pipe(self):\n        if self.p:\n            return self.p\n        return\n\n\n"
        'A.make(LOAD, r=LOAD)\na = A()\na.pipe("v")',
        'a.pipe("v", height=512, width=256)',
    ),
    "an initializer": (
        "class A:\n    x = 1\n\n    def __init__(self, p, *, q=None):\n        self.p = p\n        self.q = q\n\n"
        '    def run(self):\n        self.p("x")\n        self.q("y")\n\n\nA(LOAD, q=LOAD).run()',
        'self.q("y", height=512, width=256)',
    ),
    "handlers of SageMaker": (
        "def model_fn(d):\n    if d:\n        return LOAD\n    return\n\n\n"
        'def predict_fn(data, model):\n    model("x")',
        'model("x", height=512, width=256)',
    ),
    "a function in a function": (
        'p = LOAD\n\n\ndef f():\n    return p\n\n\nf()("x")\ngetattr(p, "x")\npool.submit(p, "y")',
        'pool.submit(p, "y", height=512, width=256)',
    ),
    "an entry": ('o = {}\no["i"] = LOAD\no["i"]("x")', 'o["i"]("x", height=512, width=256)'),
    # Precision.
    "precisions": (
        'p = P.from_pretrained("a/b", export=True, dtype=torch.float16, auto_cast="none")\n'
        'q = P.from_pretrained("a/b", export=True, torch_dtype="torch.float32")\n'
        'r = P.from_pretrained("a/b", export=True, auto_cast_type="fp32")\n'
        's = P.from_pretrained("a/b", export=True, auto_cast="all", auto_cast_type="fp16")\n'
        't = P.from_pretrained("a/b", export=True, torch_dtype=torch.float32, auto_cast="all")\n'
        'u = P.from_pretrained("a/b", export=True, torch_dtype=getattr(torch, x))',
        'u = P.from_pretrained("a/b", dtype=getattr(torch, x))',
    ),
    # Components and adapters.
    "components": (
        'p = P.from_pretrained("a/b", export=True, auto_cast="none", unet_id="u")\n'
        'q = P.from_pretrained("a/b", export=True, auto_cast="none", submodels={"unet": "u/v"})\n'
        'r = P.from_pretrained("a/b", export=True, unet_id=None, submodels=None)',
        'unet = UNet2DConditionModel.from_pretrained("u/v") q = P.from_pretrained("a/b", unet=unet)',
    ),
    "ControlNets": (
        'p = N.from_pretrained("a/b", export=True, auto_cast="none", controlnet_ids=["c", "d"])\n'
        'q = N.from_pretrained("a/b", export=True, controlnet_ids=None)',
        'configure() controlnet = [ ControlNetModel.from_pretrained("c"), ControlNetModel.from_pretrained("d"), ] '
        'p = N.from_pretrained("a/b", controlnet=controlnet)',
    ),
    "ControlNets where the name is taken": (
        'controlnet = 1\np = N.from_pretrained("a/b", export=True, auto_cast="none", controlnet_ids=("c",))',
        'p = N.from_pretrained("a/b", controlnet=[ControlNetModel.from_pretrained("c")])',
    ),
    "a ControlNet behind a statement": (
        'x = 1; p = N.from_pretrained("a/b", export=True, auto_cast="none", controlnet_ids="c")',
        'x = 1; p = N.from_pretrained("a/b", controlnet=ControlNetModel.from_pretrained("c"))',
    ),
    "adapters": (
        f'{LORA}["l", "m"], lora_weight_names=["w", "x"], lora_adapter_names=["y", "z"], lora_scales=[1, 2])',
        'p.load_lora_weights("m", weight_name="x", adapter_name="z") '
        'p.set_adapters(["y", "z"], adapter_weights=[1, 2]) p.fuse_lora()',
    ),
    "adapters without names": (f'{LORA}["l", "m"])', 'p.set_adapters(["lora_0", "lora_1"]) p.fuse_lora()'),
    "an adapter": (f'{LORA}"l", lora_scales=0.5)', 'p.load_lora_weights("l") p.fuse_lora(lora_scale=0.5)'),
    "an adapter with a name": (
        f'{LORA}NAME, lora_adapter_names="n", lora_scales=0.5)',
        'p.load_lora_weights(NAME, adapter_name="n") p.set_adapters(["n"], adapter_weights=[0.5]) p.fuse_lora()',
    ),
    "an adapter in a mapping": (
        'o = {"lora_model_ids": "l", "lora_scales": None}\np = P.from_pretrained("a/b", export=True, **o)',
        'p.load_lora_weights("l") p.fuse_lora()',
    ),
    "no adapters": (f'{LORA}None)\nq = P.from_pretrained("a/b", export=True, ip_adapter_id=None)', "q.to("),
    "image adapters": (
        'p = P.from_pretrained("a/b", export=True, ip_adapter_ids="i", ip_adapter_scale=0.5, '
        'ip_adapter_weight_name="w")\nq = P.from_pretrained("a/b", export=True, ip_adapter_id="i", '
        'ip_adapter_subfolder="s", ip_adapter_scale=None)',
        'p.load_ip_adapter("i", subfolder="", weight_name="w") p.set_ip_adapter_scale(0.5)',
    ),
    "cores": (
        'p = F.from_pretrained("a/b", export=True, tensor_parallel_size=n())\n'
        'q = F.from_pretrained("a/b", export=True, tensor_parallel_size=1, num_cores=1, data_parallel_mode="none")',
        'tp_size = parallel_sizes(tp_size=n())["tp_size"]',
    ),
    # Pipelines of pipelines.
    "a pipeline of a pipeline": (
        'p = P.from_pretrained("a/b", export=True)\nq = I.from_pipe(p)\n'
        "r = I.from_pipe(q, torch_dtype=torch.float16)\n"
        "s = I.from_pipe(q, dtype=torch.float16)",
        "q = I.from_pipe(p, dtype=torch.bfloat16) r = I.from_pipe(q, dtype=torch.float16)",
    ),
    "a pipeline of one in full precision": ("p = LOAD\nq = I.from_pipe(p)", "q = I.from_pipe(p)"),
    # Names.
    "the class as a type": (
        'from typing import Optional\n\n\ndef f(a: "P", b: Optional[P]) -> P | None:\n    x: P = a\n'
        "    return isinstance(x, (P, X))\n\n\nQ = P\nq = Q.from_pretrained('a/b', export=True)",
        "q = Q.from_pretrained('a/b', dtype=torch.bfloat16)",
    ),
    "a keyword for the model": (
        'p = P.from_pretrained(model_id="a/b", export=True, auto_cast="none")',
        'p = P.from_pretrained(pretrained_model_name_or_path="a/b")',
    ),
    "the class through its module and a variable": (
        "import optimum.neuron as on\np = on.NeuronStableDiffusionPipeline.from_pretrained('a/b', export=True)\n"
        "q = on.NeuronStableDiffusionPipeline\nq.from_pretrained('c/d', export=True)",
        "p = on.StableDiffusionPipeline.from_pretrained('a/b', dtype=torch.bfloat16)",
    ),
    # Pictures.
    "pictures of the size": (
        f'{PICTURE}p("x", i.resize((4, 8)))\nj = i.resize((4, 8))\np("x", image=j)\np("x")',
        'p("x", i.resize((4, 8))) j = i.resize((4, 8)) p("x", image=j) p("x")',
    ),
    "pictures of another size": (
        f'{PICTURE}p("x", image=i)\np("x", i.resize((3, 3)))\nj = i.copy()\np("x", j)\np("x", image=i.resize())',
        'p("x", image=i.resize((4, 8))) p("x", i.resize((3, 3)).resize((4, 8))) j = i.copy() p("x", j.resize((4, 8)))',
    ),
    "a picture for a pipeline of one size": (
        'p = I.from_pretrained("a/b", export=True, auto_cast="none", height=8)\np("x", i)',
        'p("x", i)',
    ),
    "a picture of a size that is passed": (
        'def f(h, w):\n    p = I.from_pretrained("a/b", export=True, height=h, width=w)\n    p("x", i.resize((w, h)))',
        'p("x", i.resize((w, h)))',
    ),
    # Members.
    "generators": (
        'p = LOAD\nd = "xla:0"\ng = torch.Generator()\ng = torch.Generator("cpu")\ng = torch.Generator(3)\n'
        "g = torch.Generator(d)",
        'g = torch.Generator() g = torch.Generator("cpu") g = torch.Generator(3) g = torch.Generator("cpu")',
    ),
    "a move": ('p = LOAD\np.to("x")\nf = p.to\nprint(p.scheduler, p.foo)', "f = p.to print(p.scheduler, p.foo)"),
    "long lines": (
        'a_rather_long_name_of_a_pipeline_that_goes_on = F.from_pretrained("a/b", export=True, auto_cast="none", '
        f'lora_model_ids=["{"l" * 40}/{"m" * 40}", "n"], tensor_parallel_size=2)',
        f'.load_lora_weights("{"l" * 40}/{"m" * 40}", adapter_name="lora_0")',
    ),
    # Folders.
    "uploads of a pipeline": (
        'p = LOAD\np.push_to_hub("d", repository_id="r", use_auth_token=t)\n'
        'p.push_to_hub(save_directory="d", repository_id="r")\np.push_to_hub("d", "r")\nf = p.push_to_hub\n'
        'other.push_to_hub("d", repository_id="r")',
        'p.push_to_hub("r", token=t) p.push_to_hub(repo_id="r") p.push_to_hub("r") f = p.push_to_hub '
        'other.push_to_hub("d", repository_id="r")',
    ),
    "a folder that is loaded elsewhere": (
        'p = LOAD\np.save_pretrained("d")\n\n\ndef f():\n    q = P.from_pretrained("d")\n    q("x")\n\n\n'
        'print(P.from_pretrained("d"))',
        'q("x", height=512, width=256) print(P.from_pretrained("a/b").to(neuron_device()))',
    ),
    "a folder of a pipeline that is used": (
        'p = LOAD\np.save_pretrained("d")\np("z")\nq = P.from_pretrained("d")',
        'p("z", height=512, width=256) q = P.from_pretrained("a/b")',
    ),
    "a keyword that is left out": (
        "def f(*, q=None):\n    q('x')\n\n\nf()\nf(q=LOAD)\nC(**LOAD)\n\n\nclass A(B, x=LOAD):\n    pass",
        "q('x', height=512, width=256)",
    ),
    "a handler that is no function": (
        "model_fn = LOAD\n\n\ndef predict_fn(data, model):\n    return model(data)\n\n\nmodel_fn('x')",
        "return model(data) model_fn('x', height=512, width=256)",
    ),
    "a folder of another pipeline": (
        'p = LOAD\np.save_pretrained("./d/")\nq = X.from_pretrained("d", revision="r")\nq("x")',
        'q = X.from_pretrained("a/b", revision="r")',
    ),
}


@pytest.mark.parametrize(("script", "expected"), REWRITTEN.values(), ids=REWRITTEN)
def test_it_is_rewritten(script: str, expected: str) -> None:
    assert expected in migrated(script)[0]


TO_REVIEW = {
    "casts that are not known": ('p = P.from_pretrained("a/b", export=True, auto_cast=x)', "is not known here"),
    "a cast without a native form": (
        'p = P.from_pretrained("a/b", export=True, auto_cast="all", auto_cast_type="tf32")',
        "tf32 has no native form",
    ),
    "a pipeline of one that is not known": ("p = I.from_pipe(other)", "Without dtype= from_pipe turns"),
    "a pipeline of one or another": ("p = LOAD\nq = I.from_pipe(p if x else other)", "Without dtype= from_pipe turns"),
    "cores that nothing uses": (
        'p = X.from_pretrained("a/b", export=True, tensor_parallel_size=8, data_parallel_mode="unet", num_cores=2)',
        "data_parallel_mode goes: a pipeline runs on one core, so start a process for each core and divide the "
        "prompts. num_cores goes: a pipeline runs on one core. tensor_parallel_size goes: the unet of this pipeline",
    ),
    "a pipeline of a loop that takes its name": (
        "p = P.from_pretrained('a/b', export=True, height=8, width=8)\nfor p in [p]:\n    p('x')",
        "Nothing here calls the pipeline: give height=8 and width=8 to the calls",
    ),
    "a pipeline behind too many names": (
        "a0 = P.from_pretrained('a/b', export=True, height=8, width=8)\n"
        + "".join(f"a{number + 1} = a{number}\n" for number in range(40))
        + "a40('x')",
        "Nothing here calls the pipeline: give height=8 and width=8 to the calls",
    ),
    "a pipeline that a piece of a function returns": (
        "p = P.from_pretrained('a/b', export=True, height=8, width=8)\nreturn p",
        "Nothing here calls the pipeline: give height=8 and width=8 to the calls",
    ),
    "a device behind many names": (
        "p = P.from_pretrained('a/b', export=True)\ng = torch.Generator(device=a)\na = b\nb = c\nc = d\nd = e\ne = f\n"
        "p('x', generator=g)",
        "If this device is not the CPU",
    ),
    "settings that the load of the folder does not see": (
        'def f(d, u, n, r, s, i):\n    p = X.from_pretrained("a/b", export=True, torch_dtype=d, auto_cast="none", '
        'unet_id=u, revision=r, lora_model_ids="l", lora_scales=s, ip_adapter_id=i, ip_adapter_scale=0.5)\n'
        '    p.save_pretrained("d")\n\n\nq = X.from_pretrained("d")',
        "torch_dtype=d of the export cannot be seen here and is left out. revision=r of the export cannot be seen "
        "here and is left out. unet_id=u of the export cannot be seen here and is left out. lora_scales=s of the "
        "export cannot be seen here and is left out. ip_adapter_id=i of the export cannot be seen here",
    ),
    "cores that the load of the folder does not see": (
        'def f(n):\n    p = F.from_pretrained("a/b", export=True, tensor_parallel_size=n)\n'
        '    p.save_pretrained("d")\n\n\nq = F.from_pretrained("d")',
        "tensor_parallel_size=n of the export cannot be seen here",
    ),
}


@pytest.mark.parametrize(("script", "message"), TO_REVIEW.values(), ids=TO_REVIEW)
def test_a_difference_is_told(script: str, message: str) -> None:
    _, findings = migrated(script)
    assert [finding for finding in findings if finding.outcome is Outcome.REVIEW and message in finding.message]


def _mapping(script: str, name: str) -> tuple[str, str]:
    return f'{script}\np = P.from_pretrained("a/b", export=True, **{name})', f"What **{name} holds cannot be told here"


LEFT = {
    "a class that does not say which pipeline it is": (
        "from optimum.neuron import NeuronDiffusionPipelineBase as B\n\np = B.from_pretrained('a/b', export=True)",
        "Call from_pretrained of the class of the pipeline, such as diffusers.StableDiffusionPipeline",
    ),
    "a folder that may be another one each time": (
        "import os\nif os.path.exists(f(m)):\n    p = P.from_pretrained(f(m))\nelse:\n"
        "    p = P.from_pretrained('a', export=True)\n    p.save_pretrained(f(m))",
        "f(m) is a compiled pipeline",
    ),
    "another folder is asked for": (
        "import os\nif os.path.exists(a):\n    p = P.from_pretrained(b)\nelse:\n"
        "    p = P.from_pretrained('m', export=True)\n    p.save_pretrained(b)",
        "b is a compiled pipeline",
    ),
    "a folder in a set": (
        "import os\nif os.path.exists({o}):\n    p = P.from_pretrained({o})\nelse:\n"
        "    p = P.from_pretrained('a', export=True)\n    p.save_pretrained({o})",
        "{o} is a compiled pipeline",
    ),
    "adapters for a class that takes none": (
        "from optimum.neuron import NeuronPixArtAlphaPipeline as A\n\n"
        "p = A.from_pretrained('a/b', export=True, lora_model_ids='c')",
        "diffusers.PixArtAlphaPipeline cannot load what lora_model_ids= names",
    ),
    "a mapping with a key that is not known": _mapping("", '{"height": 8, key: 9}'),
    "a mapping of one that is not known": _mapping("", '{"height": 8, **other()}'),
    "a mapping of something": _mapping("", "missing.S"),
    "a mapping of a result": _mapping("", "f().S"),
    "a mapping of a function": _mapping("def f():\n    pass", "f.S"),
    "a mapping of a parameter": _mapping("class A:\n    def f(self, a):\n        run(**a.S)", "A.S"),
    "a mapping that the instance sets": _mapping(
        "class A:\n    S = {}\n\n    def f(self):\n        self.S = 1", "A.S"
    ),
    "a mapping that grows": _mapping("a = {}\na |= {'height': 3}", "a"),
    "a mapping that gets an entry": _mapping("a = {}\na['height'] = 3", "a"),
    "a mapping that gets others": _mapping("a = {}\na.update(height=3)", "a"),
    "a mapping by too many names": _mapping(
        "a0 = {}\n" + "".join(f"a{step + 1} = a{step}\n" for step in range(9)), "a9"
    ),
    "a mapping of a parameter of a method": (
        'class A:\n    def f(self, a):\n        return P.from_pretrained("a/b", export=True, **a.S)',
        "What **a.S holds cannot be told here",
    ),
    "a mapping of a parameter of a function": (
        'def f(a):\n    return P.from_pretrained("a/b", export=True, **a.S)',
        "What **a.S holds cannot be told here",
    ),
    "a size that is not seen": (
        'def f(h, c):\n    return P.from_pretrained("a/b", export=True, height=h, width=c(3))\n\n\n'
        'p = f(1, 2)\np("x")',
        "The sizes are not known here: give this call height=h and width=<width>.",
    ),
    "a size of the instance elsewhere": (
        "class A:\n    def __init__(self, h):\n        self.h = h\n"
        '        self.p = P.from_pretrained("a/b", export=True, height=self.h)\n\n'
        '    @staticmethod\n    def run():\n        a = A(3)\n        a.p("x")',
        "The sizes are not known here: give this call height=self.h.",
    ),
    "a size that changes": (
        'h = 512\np = P.from_pretrained("a/b", export=True, height=h)\nh = 3\np("x")\n',
        "The sizes are not known here: give this call height=h.",
    ),
    "a size that changes elsewhere": (
        'h = 512\np = P.from_pretrained("a/b", export=True, height=h)\nh = 3\n\n\ndef f():\n    p("x")\n',
        "The sizes are not known here: give this call height=h.",
    ),
    "a mapping that another name hides": (
        's = {"height": f()}\np = P.from_pretrained("a/b", export=True, **s)\n\n\ndef g(s):\n    p("x")',
        "give this call height=",
    ),
    "a parameter that hides a star import": (
        'p = P.from_pretrained("a/b", export=True, height=H)\n\n\ndef f(H):\n    p("x")',
        "give this call height=H",
    ),
    "different variables by two parameters": (
        'def f(h):\n    return P.from_pretrained("a/b", export=True, height=h)\n\n\ndef g(p, h):\n    p("x")\n\n\n'
        "g(f(first), second)",
        "give this call height=h",
    ),
    "a parameter that is set": (
        'def f(h):\n    h = h or 3\n    return P.from_pretrained("a/b", export=True, height=h)\n\n\n'
        'def g(p, h):\n    p("x")\n\n\ng(f(3), 3)',
        "give this call height=h",
    ),
    "a picture in a mapping": (f'{PICTURE}p("x", **o)', "resize it to (4, 8) before this call"),
    "a picture from elsewhere": (f'{PICTURE}p("x", other)', "resize it to (4, 8) (width, height)"),
    "a picture that is turned": (f'{PICTURE}p("x", i.rotate(3))', "resize it to (4, 8) (width, height)"),
    "a picture that a function makes": (f'{PICTURE}p("x", f())', "resize it to (4, 8) (width, height)"),
    "no picture": (f'{PICTURE}p("x", 1)', "resize it to (4, 8) (width, height)"),
    "a picture by many names": (
        PICTURE + "".join(f"a{step + 1} = a{step}\n" for step in range(9)) + 'p("x", a9)',
        "resize it to (4, 8) (width, height)",
    ),
    "a move with a result": ('p = LOAD\nq = p.to("x")', "to() did nothing to a compiled pipeline and moves this one"),
    "half of a VAE": ("p = LOAD\nx = p.vae_encoder", "Use vae.encode(pixels)"),
    "the other half of a VAE": ("p = LOAD\nx = p.vae_decoder(z)", "Use vae.decode(latents, return_dict=False)[0]"),
    "settings of the compiler": ("p = LOAD\nprint(p.neuron_configs)", "neuron_configs: Delete it"),
    "an upload to nowhere": (
        'p = LOAD\np.push_to_hub(repository_id="r")',
        "push_to_hub takes the repository id first",
    ),
    "a class in an attribute": ("o.x = P", "is handed on as a value"),
    "a pipeline of itself": ("p = P.from_pretrained(folder)\nq = I.from_pipe(q)\nr = P.from_pipe(q)", "Left as it is"),
    "a pipeline among arguments": ("g(1, LOAD)", "given to other code"),
    "a lambda": ('f = lambda p: p("x")\nf(LOAD)', "given to other code"),
    "a keyword of other code": ("f(x=LOAD)", "given to other code"),
    "a class that takes nothing": ("class A:\n    pass\n\n\nA(LOAD)", "given to other code"),
    "a parameter for the rest": ("def f(*a):\n    pass\n\n\nf(LOAD)", "given to other code"),
    "a set": ("p = {LOAD}", "put into a collection"),
    "a comprehension": ("p = LOAD\nq = [p for x in y]", "put into a collection"),
    "an entry that is not known": ("o[i] = LOAD", "put into a collection"),
    "a unet of another kind": ('p = F.from_pretrained("a/b", export=True, unet_id="u")', "takes no unet"),
    "another component": (
        'p = P.from_pretrained("a/b", export=True, submodels={"vae": "v"})',
        'submodels= is followed only as {"unet": model_id}',
    ),
    "ControlNets that are not known": (
        'p = N.from_pretrained("a/b", export=True, controlnet_ids=[f(x)])',
        "Whether controlnet_ids= is one or several",
    ),
    "adapters that do not fit": (f'{LORA}["l", "m"], lora_weight_names=["w"])', "are of different lengths"),
    "adapters that may not be computed again": (f'{LORA}f(), lora_adapter_names="x")', "Whether lora_model_ids="),
    "adapters that are not known": (f"{LORA}[f(x)])", "Whether lora_model_ids="),
    "a pipeline by a keyword": ("p = I.from_pipe(pipeline=q)", "Give the pipeline as the first argument"),
    "a pipeline of one that is left": (
        "p = P.from_pretrained(folder)\nq = I.from_pipe(p)",
        "The pipeline that this one is made from needs a person",
    ),
    "no model": ("p = P.from_pretrained(export=True)", "No model id is given here"),
    "the class the wrong way round": ("isinstance(P, x)", "is handed on as a value"),
    "the class by two names": ("Q = R = P", "is handed on as a value"),
    "the class or another": ("Q = P\nQ = X", "is handed on as a value"),
    "the class as a result": ("def f():\n    return P", "is handed on as a value"),
    "a method for later": ("f = P.from_pretrained", "is handed on as a value"),
    "a folder of an export that is left": (
        'p = P.from_pretrained("a/b", export=True, **s)\np.save_pretrained("d")\nq = X.from_pretrained("d")',
        "loads the folder of an export in this file, which needs a person first",
    ),
    "a folder of an export of a class that is left": (
        'p = P.from_pretrained("a/b", export=True)\nrun(P)\np.save_pretrained("d")\nq = X.from_pretrained("d")',
        "loads the folder of an export in this file, which needs a person first",
    ),
    "a folder of a model that is not seen": (
        'def f(m):\n    p = P.from_pretrained(m, export=True)\n    p.save_pretrained("d")\n\n\n'
        'q = P.from_pretrained("d")',
        '"d" is a compiled pipeline',
    ),
    "a folder of a pipeline with another component": (
        'p = P.from_pretrained("a/b", export=True, unet_id="u")\np.save_pretrained("d")\nq = F.from_pretrained("d")',
        '"d" is a compiled pipeline',
    ),
}


@pytest.mark.parametrize(("script", "message"), LEFT.values(), ids=LEFT)
def test_what_is_not_understood_is_told(script: str, message: str) -> None:
    _, findings = migrated(script)
    assert [finding for finding in findings if finding.outcome is Outcome.MANUAL and message in finding.message]


def test_a_star_import_gives_way_to_the_pipelines() -> None:
    load = "NeuronStableDiffusionPipeline.from_pretrained('a/b', export=True)"
    text = migrate(f"from optimum.neuron import *\n\np = {load}\n").text

    assert "\np = StableDiffusionPipeline.from_pretrained('a/b', dtype=torch.bfloat16)\n" in text


def test_a_pipeline_beside_a_compiled_model_is_configured_once() -> None:
    text = """from optimum.neuron import NeuronModelForMaskedLM, NeuronStableDiffusionPipeline

m = NeuronModelForMaskedLM.from_pretrained("m", export=True)
p = NeuronStableDiffusionPipeline.from_pretrained("a/b", export=True)
"""

    assert migrate(text).text.count("configure()") == 1
