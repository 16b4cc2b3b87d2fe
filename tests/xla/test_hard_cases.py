"""Uses of the XLA stack that are written in unusual ways: each becomes what it means, or stays with a marker."""

from __future__ import annotations

import pytest

from neuron_codemods import Outcome, Settings, migrate

from .test_shapes import HEAD, body, run

HERE = f"""{HEAD}import os
import torch_xla.distributed.xla_multiprocessing as xmp
import torch_xla.utils.serialization as xser
"""
SEND = "send_to_device"


def becomes(code: str) -> str:
    migration = run(code, HERE)
    assert Outcome.MANUAL not in {finding.outcome for finding in migration.findings}
    return body(migration)


def assert_left(code: str, message: str = "") -> None:
    """The code is as it was, but for a marker with these words above a statement of it."""
    migration = migrate(HERE + code, settings=Settings(select=("NM6",)))
    manual = [finding for finding in migration.findings if finding.outcome is Outcome.MANUAL]
    assert any(message in finding.message for finding in manual), manual
    kept = "".join(line for line in migration.text.splitlines(keepends=True) if "TODO(neuron-migrate" not in line)
    assert kept.endswith(code)


# Environment variables ----------------------------------------------------------------------------------------------

CACHE = "TORCH_NEURONX_NEFF_CACHE_DIR"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('if "NEURON_COMPILE_CACHE_URL" in os.environ:\n    go()\n', f'if "{CACHE}" in os.environ:\n    go()\n'),
        ('cache = os.environ["NEURON_COMPILE_CACHE_URL"]\n', f'cache = os.environ["{CACHE}"]\n'),
        ('cache = os.getenv("NEURON_COMPILE_CACHE_URL")\n', f'cache = os.getenv("{CACHE}")\n'),
        ('os.environ["NEURON_CC_FLAGS"] += " --cache_dir=/c -O1"\n', 'os.environ["NEURON_CC_FLAGS"] += " -O1"\n'),
        ('os.environ["XLA_A"] += "1"\ngo()\n', "go()\n"),
        ('del os.environ["XLA_USE_BF16"]\ngo()\n', "go()\n"),
        ('os.environ |= {"XLA_A": "1", "B": "2"}\n', 'os.environ |= {"B": "2"}\n'),
        ('go(env={**os.environ, "XLA_A": "1"})\n', "go(env={**os.environ})\n"),
        ('os.environ.update(XLA_USE_BF16="1", B="2")\n', 'os.environ.update(B="2")\n'),
        ('os.environ.update(XLA_USE_BF16="1", PJRT_DEVICE="x")\n', ""),
        ('os.environ.update({"XLA_USE_BF16": "1", "PJRT_DEVICE": "x"})\n', ""),
        ('os.environ.update({"XLA_USE_BF16": "1"}, B="2")\n', 'os.environ.update({}, B="2")\n'),
        ('x = os.environ.update(PJRT_DEVICE="x")\n', "x = os.environ.update()\n"),
        ('os.environ.update(HF_NUM_CORES="", B="2")\n', 'os.environ.update(B="2")\n'),
        ('os.environ.update(NEURON_CC_FLAGS="-O1")\n', 'os.environ.update(NEURON_CC_FLAGS="-O1")\n'),
        ('os.environ.update(a, **b, C="1")\n', 'os.environ.update(a, **b, C="1")\n'),
        # Of no environment.
        (
            'if "XLA_A" in settings or "XLA_A" == name:\n    go()\n',
            'if "XLA_A" in settings or "XLA_A" == name:\n    go()\n',
        ),
        ('if "XLA_A" in os.environ in known:\n    go()\n', 'if "XLA_A" in os.environ in known:\n    go()\n'),
        ('settings |= {"XLA_A": "1"}\n', 'settings |= {"XLA_A": "1"}\n'),
        ('name = f"PJRT_DEVICE{b}"\n', 'name = f"PJRT_DEVICE{b}"\n'),
    ],
)
def test_variables(before: str, after: str) -> None:
    assert becomes(before) == after


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ('if "XLA_USE_BF16" not in os.environ:\n    go()\n', "what depends on XLA_USE_BF16"),
        ('bf16 = os.environ["XLA_USE_BF16"]\n', "what depends on XLA_USE_BF16"),
        ('x = os.environ["XLA_A"] = "1"\n', "by hand"),
        ('os.environ["XLA_A"], x = "1", 2\n', "by hand"),
        ('os.environ["XLA_A"]: str = "1"\n', "by hand"),
        ('for os.environ["XLA_A"] in "01":\n    go()\n', "by hand"),
        ('del os.environ["XLA_A"], other\n', "by hand"),
        ('x = os.environ.pop("XLA_A")\n', "by hand"),
        ('os.environ.update(NEURON_COMPILE_CACHE_URL="/c")\n', f"is called {CACHE}"),
        ('os.environ.update(NEURON_RT_NUM_CORES="2")\n', "where torchrun starts the script"),
        ('os.environ.update(HF_NUM_CORES="2")\n', "serve with vLLM"),
    ],
)
def test_variables_that_are_left(code: str, message: str) -> None:
    assert_left(code, message)


def test_a_variable_without_effect_is_not_told_to_need_a_server() -> None:
    (finding,) = [each for each in run('os.environ.update(HF_NUM_CORES="")\n', HERE).findings if each.code == "NM615"]
    assert (finding.outcome, finding.message) == (Outcome.REWRITTEN, "HF_NUM_CORES goes: nothing reads it any more.")


# Loaders ------------------------------------------------------------------------------------------------------------

DATA = "torch.utils.data.DataLoader"
LOADER = "pl.MpDeviceLoader(loader, device)"
METHOD = (
    "class T:\n    def fit(self, device):\n        self.run({})\n\n"
    "    def run(self, data):\n        for x in data:\n{}            step(x)\n"
)
MOVED = f"            x = {SEND}(x, neuron_device())\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (METHOD.format(LOADER, ""), METHOD.format("loader", MOVED)),
        (METHOD.format(f"data={LOADER}", ""), METHOD.format("data=loader", MOVED)),
        (
            f"def go(*, data):\n    for x in data:\n        run(x)\n\n\ngo(data={LOADER})\n",
            f"def go(*, data):\n    for x in data:\n        x = {SEND}(x, neuron_device())\n        run(x)\n\n\n"
            "go(data=loader)\n",
        ),
        (
            f"a = {LOADER}\nb = a\nfor x in b:\n    run(x)\n",
            f"a = loader\nb = a\nfor x in b:\n    x = {SEND}(x, neuron_device())\n    run(x)\n",
        ),
        (
            f"for x in tqdm({LOADER}):\n    run(x)\n",
            f"for x in tqdm(loader):\n    x = {SEND}(x, neuron_device())\n    run(x)\n",
        ),
        (
            f"for x, y in {LOADER}:\n    x = x.to(d)\n    y = y.to(d)\n    run(x, y)\n",
            "for x, y in loader:\n    x = x.to(d)\n    y = y.to(d)\n    run(x, y)\n",
        ),
        (
            f"for x, y in {LOADER}:\n    x = x.to(d)\n",
            f"for x, y in loader:\n    x, y = {SEND}((x, y), neuron_device())\n    x = x.to(d)\n",
        ),
        (
            f"for x in pl.MpDeviceLoader({DATA}(d, 8), a):\n    x.backward()\n",
            f"for x in {DATA}(d, 8, drop_last=True):\n    x = {SEND}(x, neuron_device())\n    x.backward()\n",
        ),
        (
            f"for x in pl.MpDeviceLoader({DATA}(d, *b), a):\n    x.backward()\n",
            f"for x in {DATA}(d, *b):\n    x = {SEND}(x, neuron_device())\n    x.backward()\n",
        ),
        (
            "for x in pl.MpDeviceLoader(self.data, a):\n    x.backward()\n",
            f"for x in self.data:\n    x = {SEND}(x, neuron_device())\n    x.backward()\n",
        ),
    ],
)
def test_loaders(before: str, after: str) -> None:
    assert becomes(before) == after


@pytest.mark.parametrize(
    "code",
    [
        "for x in pl.MpDeviceLoader(*a):\n    run(x)\n",
        "for x in pl.MpDeviceLoader(loader, *a):\n    run(x)\n",
        "par = pl.ParallelLoader(loader, [d])\nprint(par)\n",
        "par = pl.ParallelLoader(loader, [d])\npar = wrap(par)\nfor x in par.per_device_loader(d):\n    run(x)\n",
        f"a = {LOADER}\nb = a\nc = b\nd = c\ne = d\nf = e\nfor x in f:\n    run(x)\n",
        f"fit(data={LOADER})\n",
        f"class A(Base, data={LOADER}):\n    pass\n",
        f"x = [{LOADER}]\n",
        f'loaders["a"] = {LOADER}\n',
        f"a = {LOADER}\n\n\ndef f():\n    global a\n    for x in a:\n        run(x)\n",
        f"class T:\n    def fit(self, device):\n        self.run({LOADER})\n",
        f"def fit(self, device):\n    self.run({LOADER})\n",
        f"def go(data):\n    data = list(data)\n    for x in data:\n        run(x)\n\n\ngo({LOADER})\n",
        f"def go():\n    pass\n\n\ngo({LOADER})\n",
        f"for x in mine({LOADER}):\n    run(x)\n",
    ],
)
def test_loaders_that_cannot_be_followed(code: str) -> None:
    assert_left(code, "Iterate over the DataLoader itself")


# Calls --------------------------------------------------------------------------------------------------------------

AUTOCAST = "from torch_xla.amp import autocast\n"
EXISTS = "torch.distributed.is_initialized()"
NXD = "from neuronx_distributed.parallel_layers.utils import move_model_to_device\n"
OTHER = "\n\nclass B:\n    def f(self):\n        return self.m(1)\n"
TRACED = "compile_static(m.to(neuron_device()).requires_grad_(False))"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("xm.add_step_closure(f, more)\n", "f(*more)\n"),
        (
            "a = 1; xm.wait_device_ops()\n",
            "a = 1; torch.accelerator.is_available() and torch.accelerator.synchronize()\n",
        ),
        (
            f"{AUTOCAST}with autocast():\n    run()\n",
            "with torch.autocast(device_type=neuron_device().type, dtype=torch.bfloat16):\n    run()\n",
        ),
        ('"xla"\n', '"xla"\n'),
        ('f(device_type="xla")\n', "f(device_type=neuron_device().type)\n"),
        ('x = {"device": "xla"}\n', 'x = {"device": neuron_device()}\n'),
        ('a = 1; xm.rendezvous("a")\n', f"a = 1; {EXISTS} and torch.distributed.barrier()\n"),
        (
            "xm.broadcast_master_param(model)\ntensor = 1\n",
            f"if {EXISTS}:\n    for tensor_2 in (*model.parameters(), *model.buffers()):\n"
            "        torch.distributed.broadcast(tensor_2.detach(), src=0)\ntensor = 1\n",
        ),
        (
            "y = xm.all_gather(x + 1, dim=1)\n",
            f"own = x + 1\ngathered = [own]\nif {EXISTS}:\n"
            "    gathered = [torch.empty_like(own) for _ in range(torch.distributed.get_world_size())]\n"
            "    torch.distributed.all_gather(gathered, own)\ny = torch.cat(gathered, dim=1)\n",
        ),
        (
            'def f():\n    xm.rendezvous("a")\n    torch.distributed.init_process_group()\n',
            f"def f():\n    if {EXISTS}:\n        torch.distributed.barrier()\n"
            "    torch.distributed.init_process_group()\n",
        ),
        ('xm.optimizer_step(o, False, {"closure": c})\n', "average_gradients(o)\no.step(closure=c)\n"),
        ("xm.optimizer_step(o, optimizer_args=kw)\n", "average_gradients(o)\no.step(**kw)\n"),
        (
            "a = 1; xmp.spawn(main, args=(1,))\n",
            "a = 1; torch.distributed.init_process_group(); main(torch.distributed.get_rank(), 1)\n",
        ),
        ("x = xm.is_master_ordinal() == y\n", "x = (torch.distributed.get_node_local_rank(0) == 0) == y\n"),
        ("xm.master_print(1, local=True)\n", "if torch.distributed.get_node_local_rank(0) == 0:\n    print(1)\n"),
        ("xm.master_print(1, local=False, fd=f)\n", "if is_main_process():\n    print(1, file=f)\n"),
        (
            "m = torch_neuronx.trace(m, e)\nf(torch_neuronx.dynamic_batch(m))\ny = m(x, 1)\n",
            f'm = {TRACED}\nf(m)\ny = {SEND}(m({SEND}(x, neuron_device()), 1), "cpu")\n',
        ),
        (
            "class A:\n    def __init__(self, m):\n        self.m = torch_neuronx.trace(m, 1)\n        self.m.eval()\n"
            f'        self.m.save("a")\n        self.n.save("b")\n{OTHER}',
            f"class A:\n    def __init__(self, m):\n        self.m = {TRACED}\n        self.m.eval()\n"
            f'        self.n.save("b")\n{OTHER}',
        ),
    ],
)
def test_calls(before: str, after: str) -> None:
    assert becomes(before) == after


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("xm.add_step_closure(f, *args)\n", "no lazy graph"),
        ("xm.add_step_closure()\n", "no lazy graph"),
        ("xm.add_step_closure(*given)\n", "no lazy graph"),
        ("xm.is_xla_tensor(a, b)\n", "neuron_device()"),
        ('f(kind="xla")\n', "its type is"),
        ('x = {**a, k: "xla"}\n', "its type is"),
        ("xm.all_reduce()\n", "all_reduce by hand"),
        ('xm.all_reduce("sum", x, groups=g)\n', "all_reduce by hand"),
        ('xm.rendezvous("a", b"", [])\n', "rendezvous by hand"),
        ('x = xm.rendezvous("a")\n', "rendezvous by hand"),
        ("a = 1; xm.broadcast_master_param(m)\n", "broadcast_master_param by hand"),
        ("xm.broadcast_master_param(make())\n", "broadcast_master_param by hand"),
        ("y = xm.all_gather()\n", "all_gather by hand"),
        ("y = lambda: xm.all_gather(x)\n", "all_gather by hand"),
        ("xm.optimizer_step(o, optimizer_args=make())\n", "optimizer_step by hand"),
        ("xm.optimizer_step(o, optimizer_args={\n    1: 2})\n", "optimizer_step by hand"),
        ("xm.optimizer_step(self\n    .o)\n", "optimizer_step by hand"),
        ("xm.reduce_gradients(o, groups)\n", "reduce_gradients by hand"),
        ('torch.distributed.new_group(r, t, "xla", o)\n', "name the arguments behind it"),
        ("import torch_xla.distributed.xla_backend as xb\nxb.init()\n", "no backend has to be registered"),
        ("if xm.is_master_ordinal(a):\n    pass\n", "is_main_process()"),
        ("xm.master_print(1, local=a)\n", "with print()"),
        ("x = xser.load(a, b)\n", "torch.load()"),
        ("xm.save(a)\n", "with torch.save"),
        ('d = chosen()\nif d == "xla":\n    go()\n', 'Replace the device "xla"'),
        ('d = "cpu"\nd = chosen()\nif d == "xla":\n    go()\n', 'Replace the device "xla"'),
        ("m = torch_neuronx.trace(*a)\n", "trace by hand"),
        ("from torch_xla.core.xla_model import *\n", "a star import cannot be followed"),
        ('__all__ = ["ops"]\nimport torch_xla.ops as ops\n', "what takes it from here"),
        ("import torch_xla.debug as q\nq = 1\n", "there is no XLA stack"),
        ("try:\n    import torch_xla.debug as q\nexcept ImportError:\n    import numpy as q\nq.f()\n", "no XLA stack"),
        ('import importlib\nimportlib.import_module("torch_xla.core")\n', "by its name"),
        (
            f"{NXD}move_model_to_device(m)\n",
            "model.to",
        ),
        (
            f"{NXD}x = move_model_to_device(m, d)\n",
            "model.to",
        ),
    ],
)
def test_calls_that_are_left(code: str, message: str) -> None:
    assert_left(code, message)


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ('m = torch_neuronx.trace(m, e)\nprint(torch.jit.save(m, "a"))\n', 'print(torch.jit.save(m, "a"))'),
        (
            'm = torch_neuronx.trace(m, e)\ntorch.jit.save(m, "a")\nif x:\n    n = torch.jit.load("a")\n',
            'n = torch.jit.load("a")',
        ),
    ],
)
def test_files_of_traced_models(code: str, left: str) -> None:
    migration = run(code, HERE)
    lines = migration.text.splitlines()
    at = next(index for index, line in enumerate(lines) if line.strip() == left)
    assert "TODO(neuron-migrate NM611)" in lines[at - 1]
    assert f"m = {TRACED}" in lines


def test_a_name_with_a_fallback() -> None:
    code = (
        "try:\n    import torch_xla.debug.metrics as q\nexcept ImportError:\n    q = None\nprint(q.metrics_report())\n"
    )
    assert becomes(code) == "try:\n    pass\nexcept ImportError:\n    q = None\n"


def test_a_package_that_native_pytorch_has_too_stays() -> None:
    assert "import neuronxcc\n" in run("import neuronxcc\n", HERE).text


def test_cuda_is_a_device_of_its_own_without_the_old_stack() -> None:
    code = (
        'import torch\nfrom optimum.neuron import NeuronTrainer\n\nwith torch.autocast("cuda"):\n    NeuronTrainer()\n'
    )
    assert run(code, "").text == code


@pytest.mark.parametrize(("device", "is_changed"), [("CPU", True), ("CUDA", False)])
def test_the_runtime_tells_the_hardware(device: str, is_changed: bool) -> None:
    code = f'import os\nimport torch_xla\n\nos.environ["PJRT_DEVICE"] = "{device}"\ntorch_xla.sync()\n'
    assert run(code, "").changed is is_changed
