"""How much memory the conversion of model-parallel shards takes, and how fast it is against ``cp -r`` of them.

    python benchmarks/shards.py --size 4 [--folder DIR] [--json]

Builds a synthetic Llama of that many GB (bfloat16) as Optimum Neuron 0.4 saved it on 8 tensor-parallel ranks, with
xser and without, and as 0.0.17 did. For each it converts the shards and copies them with ``cp -r``, each in a process
of its own, in turn, the best of ``--repeats``. Each of them begins on a machine that has been at work for a while:
nothing in the cache still has to be written to the disk (it would be paid for by whoever syncs next: the conversion
would wait for the source itself, or for a copy), the source is in the cache, and so little memory is free that each
page that is written has to be taken from the cache. Free memory is not alike: a virtual machine gives it back to its
host, and the first write to such a page costs up to ten times as much as the copy. ``cp`` ends with its bytes in the
cache, and the conversion with what it wrote on the disk and read back; so a copy that is synced stands beside it.
Memory is the peak of the anonymous pages of the converting process, all of them, sampled every 5 ms. CPU seconds are
those of user and system, per GB.

Exit status 1 if a case breaks a limit: memory at most 1.5 x the largest tensor + 300 MB, throughput at least half of
``cp -r``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ROOT = HERE.parents[1]
RANKS = 8
ALLOWANCE = 300_000_000
CASES = {"0.4, xser": ("json", True), "0.4, plain": ("json", False), "0.0.17": ("dir", False)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, default=1.0, help="GB of the checkpoint (default 1)")
    parser.add_argument("--folder", type=Path, help="where to put it; needs four times the size")
    parser.add_argument("--only", default="", help="measure the cases whose name has this in it")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="of the conversion (default 2)")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--worker", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        print(json.dumps(convert(*given.worker)))
        return 0
    rows = []
    for name, (layout, xser) in CASES.items():
        if given.only in name:
            with tempfile.TemporaryDirectory(dir=given.folder, prefix="shards-benchmark-") as folder:
                largest = build(Path(folder) / "source", given.size, layout, xser)
                rows.append(measure(name, Path(folder), given.repeats, largest, given.jobs))
    print(json.dumps(rows, indent=1) if given.json else table(rows))
    return 0 if all(row["memory_ok"] and row["throughput_ok"] for row in rows) else 1


def build(folder: Path, size: float, layout: str, xser: bool) -> int:
    """Write the shards; the bytes of the largest tensor of the whole model."""
    sys.path.insert(0, str(ROOT))
    import torch

    from tests.shards.generator import Case, Model, write_before_0_2, write_json_model

    hidden, inner, vocabulary = 2048, 5632, 32000
    shapes = {
        **{f"self_attn.{name}_proj": (hidden if name in "qo" else hidden // 2, hidden) for name in "qkvo"},
        "mlp.gate_proj": (inner, hidden),
        "mlp.up_proj": (inner, hidden),
        "mlp.down_proj": (hidden, inner),
        "input_layernorm": (hidden,),
        "post_attention_layernorm": (hidden,),
    }
    each = sum(torch.Size(shape).numel() for shape in shapes.values())
    layers = max(1, round((size * 1e9 / 2 - 2 * vocabulary * hidden) / each))

    def made(*shape: int) -> Any:
        return torch.randint(0, 1 << 14, shape, dtype=torch.int16).view(torch.bfloat16)

    state = {"model.embed_tokens.weight": made(vocabulary, hidden)}
    for layer in range(layers):
        state |= {f"model.layers.{layer}.{name}.weight": made(*shape) for name, shape in shapes.items()}
    state |= {"model.norm.weight": made(hidden), "lm_head.weight": made(vocabulary, hidden)}
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "bfloat16",
        "hidden_size": hidden,
        "intermediate_size": inner,
        "vocab_size": vocabulary,
        "num_hidden_layers": layers,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "tie_word_embeddings": False,
    }
    case = Case(layout, tp=RANKS, xser=xser)
    (write_json_model if case.in_json else write_before_0_2)(Model("llama", state, config), case, folder)
    config_path = folder / "config.json"
    config_path.write_text(json.dumps(config), encoding="utf-8")
    return max(value.numel() * 2 for value in state.values())


def measure(name: str, folder: Path, repeats: int, largest: int, jobs: int) -> dict[str, Any]:
    source, converted, copied = folder / "source", folder / "converted", folder / "copied"
    size = sum(path.stat().st_size for path in source.rglob("*") if path.is_file())
    conversions, copies, synced, memory, cpu = [], [], [], [], []
    for _ in range(repeats):
        result = run(source, converted, jobs)
        conversions.append(result["seconds"])
        memory.append(result["peak"])
        cpu.append(result["cpu"])
        shutil.rmtree(converted)
        settle(source)
        start = time.perf_counter()
        subprocess.run(["cp", "-r", str(source), str(copied)], check=True)
        copies.append(time.perf_counter() - start)
        subprocess.run(["sync", "-f", str(copied)], check=True)
        synced.append(time.perf_counter() - start)
        shutil.rmtree(copied)
    limit = 1.5 * largest + ALLOWANCE
    return {
        "case": name,
        "gb": round(size / 1e9, 2),
        "peak_mb": round(max(memory) / 1e6),
        "memory_limit_mb": round(limit / 1e6),
        "memory_ok": max(memory) <= limit,
        "cpu_s_per_gb": round(min(cpu) / size * 1e9, 2),
        "convert_mb_s": round(size / min(conversions) / 1e6),
        "cp_mb_s": round(size / min(copies) / 1e6),
        "cp_and_sync_mb_s": round(size / min(synced) / 1e6),
        "ratio_to_cp": round(min(copies) / min(conversions), 2),
        "ratio_to_cp_and_sync": round(min(synced) / min(conversions), 2),
        "throughput_ok": min(copies) / min(conversions) >= 0.5,
    }


def settle(source: Path) -> None:
    """Bring the cache to the disk, fill free memory with the cached zeros of a sparse file, and read the source."""
    os.sync()
    with tempfile.NamedTemporaryFile(dir=source.parent, prefix="filler-", delete=False) as filler:
        filler.truncate(free())
    for path in (Path(filler.name), *source.rglob("*")):
        if path.is_file():
            read(path)


def free() -> int:
    """Bytes that not even the cache uses (https://docs.kernel.org/filesystems/proc.html, MemFree)."""
    return kilobytes(Path("/proc/meminfo"), "MemFree:")


def read(path: Path) -> None:
    buffer = bytearray(1 << 20)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def run(source: Path, destination: Path, jobs: int) -> dict[str, float]:
    command = [sys.executable, str(HERE), "--worker", str(source), str(destination), str(jobs)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "runtime"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def convert(source: str, destination: str, jobs: str) -> dict[str, float]:
    from neuron_shim.checkpoint.export import export_checkpoint
    from neuron_shim.checkpoint.layouts._target import target_of

    # What it imports is its memory, but not its speed.
    target_of(json.loads((Path(source) / "config.json").read_text(encoding="utf-8")))
    settle(Path(source))
    peak, stop = [anonymous()], threading.Event()

    def watch() -> None:
        while not stop.wait(0.005):
            peak.append(max(peak.pop(), anonymous()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    start, cpu = time.perf_counter(), time.process_time()
    export_checkpoint(source, destination, jobs=int(jobs))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    stop.set()
    watcher.join()
    return {"seconds": seconds, "cpu": cpu, "peak": peak[0]}


def anonymous() -> int:
    """Bytes of anonymous pages (https://docs.kernel.org/filesystems/proc.html, RssAnon)."""
    return kilobytes(Path("/proc/self/status"), "RssAnon:")


def kilobytes(path: Path, field: str) -> int:
    """A field of a list of them, in bytes."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"{path} has no {field}")


def table(rows: list[dict[str, Any]]) -> str:
    columns = {
        "case": "case",
        "gb": "GB",
        "peak_mb": "peak MB",
        "memory_limit_mb": "limit",
        "cpu_s_per_gb": "CPU s/GB",
        "convert_mb_s": "convert MB/s",
        "cp_mb_s": "cp -r",
        "ratio_to_cp": "ratio",
        "cp_and_sync_mb_s": "cp -r + sync",
        "ratio_to_cp_and_sync": "ratio",
    }
    lines = [list(columns.values()), *([str(row[name]) for name in columns] for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.rjust, cells, widths)) for cells in lines)


if __name__ == "__main__":
    sys.exit(main())
