"""How much memory an export takes, and how fast it is against a plain copy of the same files.

    python benchmarks/export.py --size 4 [--folder DIR] [--json]

Builds a synthetic Llama-like checkpoint of that many GB (bfloat16, random bytes), then for each case exports it, and
copies what was exported with ``shutil.copyfile``; each in a process of its own, in turn, the best of ``--repeats``.
Both leave their bytes on the disk: the export syncs its files, so the copy is timed up to its fsync too. The time of
the bare copy, which mostly ends in the page cache, is given beside it. Neither cache is emptied. Memory is
the peak resident memory of the exporting process above that of the same process before it begins (the interpreter, and
torch where the case needs it).

Exit status 1 if a case breaks a limit: memory at most 1.5 x (largest tensor + shard size) and throughput at least half
of the synced copy.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve()
SHARD = 1_000_000_000
PIECE = 16 << 20


@dataclass(frozen=True)
class Case:
    name: str
    layout: str
    dtype: str | None = None


CASES = (
    Case("model folder, as it is", "folder"),
    Case("model folder, bf16 -> fp32", "folder", "fp32"),
    Case("4 FSDP shards", "rows"),
    Case("4 tensor parallel shards", "columns"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, default=1.0, help="GB of the checkpoint (default 1)")
    parser.add_argument("--folder", type=Path, help="where to put it; needs three times the size, five with fp32")
    parser.add_argument("--only", default="", help="measure the cases whose name has this in it")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--worker", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return worker(given.worker)
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="export-benchmark-") as name:
        rows = [measure(case, given.size, Path(name), given.repeats) for case in CASES if given.only in case.name]
    print(json.dumps(rows, indent=1) if given.json else table(rows))
    return 0 if all(row["memory_ok"] and row["throughput_ok"] for row in rows) else 1


# --- the checkpoint


def shapes(size: float) -> dict[str, tuple[int, ...]]:
    """Names and shapes of about ``size`` GB in bfloat16: an embedding and a head, and layers to fill the rest."""
    hidden, inner, vocabulary = 2048, 5632, 32000
    layer = {
        **{f"self_attn.{name}_proj.weight": (hidden, hidden) for name in "qkvo"},
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
    }
    result: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (vocabulary, hidden)}
    rest = size * 1e9 / 2 - 2 * vocabulary * hidden
    layers = max(1, round(rest / sum(numbers(shape) for shape in layer.values())))
    for index in range(layers):
        result |= {f"model.layers.{index}.{name}": shape for name, shape in layer.items()}
    return result | {"model.norm.weight": (hidden,), "lm_head.weight": (vocabulary, hidden)}


def numbers(shape: tuple[int, ...]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


def build(layout: str, size: float, folder: Path) -> None:
    folder.mkdir()
    tensors = shapes(size)
    layers = sum(name.endswith("q_proj.weight") for name in tensors)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "hidden_size": 2048,
        "intermediate_size": 5632,
        "vocab_size": 32000,
        "num_hidden_layers": layers,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "tie_word_embeddings": False,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if layout == "folder":
        write(folder / "model.safetensors", tensors, None)
        return
    for rank in range(4):
        parts, offsets = {}, {}
        for name, shape in tensors.items():
            side = 1 if layout == "columns" and len(shape) == 2 else 0
            length = shape[side] // 4
            parts[name] = tuple(length if at == side else whole for at, whole in enumerate(shape))
            offsets[name] = {"saved_offsets": [rank * length if at == side else 0 for at in range(len(shape))]}
        write(folder / f"shard-{rank + 1:05}-model-00001-of-00001.safetensors", parts, offsets)


def write(path: Path, tensors: dict[str, tuple[int, ...]], offsets: dict[str, object] | None) -> None:
    metadata = {"format": "pt"} | ({"DCP_SHARDING_INFO": json.dumps(offsets)} if offsets else {})
    header: dict[str, object] = {"__metadata__": metadata}
    end = 0
    for name, shape in tensors.items():
        begin, end = end, end + 2 * numbers(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    # Random, but every number finite: no byte of the exponent is full.
    noise = bytes(byte & 0xBF for byte in os.urandom(PIECE // 16)) * 16
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        while end:
            end -= file.write(noise[: min(end, PIECE)])
        file.flush()
        os.fsync(file.fileno())


# --- measuring


def measure(case: Case, size: float, folder: Path, repeats: int) -> dict[str, object]:
    source, exported, copied = folder / "source", folder / "exported", folder / "copied"
    build(case.layout, size, source)
    export, synced, bare, memory = [], [], [], []
    for _ in range(repeats):
        result = run("export", source, exported, case.dtype or "none")
        export.append(result["seconds"])
        memory.append(result["peak"])
        for what, times in (("synced-copy", synced), ("copy", bare)):
            times.append(run(what, exported, copied)["seconds"])
            shutil.rmtree(copied)
        written = sum(path.stat().st_size for path in exported.glob("*.safetensors"))
        shutil.rmtree(exported)
    shutil.rmtree(source)
    largest = max(numbers(shape) for shape in shapes(size).values()) * (4 if case.dtype == "fp32" else 2)
    limit = 1.5 * (largest + SHARD)
    return {
        "case": case.name,
        "written_gb": round(written / 1e9, 2),
        "peak_mb": round(max(memory) / 1e6),
        "memory_limit_mb": round(limit / 1e6),
        "memory_ok": max(memory) <= limit,
        "export_mb_s": round(written / min(export) / 1e6),
        "synced_copy_mb_s": round(written / min(synced) / 1e6),
        "bare_copy_mb_s": round(written / min(bare) / 1e6),
        "ratio_to_synced_copy": round(min(synced) / min(export), 2),
        "ratio_to_bare_copy": round(min(bare) / min(export), 2),
        "throughput_ok": min(synced) / min(export) >= 0.5,
    }


def run(what: str, *arguments: object) -> dict[str, float]:
    command = [sys.executable, str(HERE), "--worker", what, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1] / "runtime"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def worker(arguments: list[str]) -> int:
    what, source, destination, *more = arguments
    if what == "export":
        result = export(source, destination, None if more == ["none"] else more[0])
    else:
        result = copy(Path(source), Path(destination), sync=what == "synced-copy")
    print(json.dumps(result))
    return 0


def export(source: str, destination: str, dtype: str | None) -> dict[str, float]:
    from neuron_shim.checkpoint.export import export_checkpoint

    if dtype or "shard-" in " ".join(os.listdir(source)):
        # What it imports is neither its memory nor its speed.
        from neuron_shim.checkpoint.architecture import empty_model

        empty_model(json.loads((Path(source) / "config.json").read_text(encoding="utf-8")))
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the peak so far
    before = peak()
    start = time.perf_counter()
    export_checkpoint(source, destination, dtype=dtype, max_shard_size=SHARD)
    return {"seconds": time.perf_counter() - start, "peak": peak() - before}


def copy(source: Path, destination: Path, *, sync: bool) -> dict[str, float]:
    destination.mkdir()
    start = time.perf_counter()
    for path in source.iterdir():
        shutil.copyfile(path, destination / path.name)
        if sync:
            with open(destination / path.name, "rb+") as file:
                os.fsync(file.fileno())
    return {"seconds": time.perf_counter() - start, "peak": 0}


def peak() -> int:
    """Of this process since it was reset (https://docs.kernel.org/filesystems/proc.html, VmHWM)."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmHWM")


def table(rows: list[dict[str, object]]) -> str:
    lines = [
        f"{'case':28} {'GB':>5} {'peak MB':>8} {'limit':>6} {'export MB/s':>12} {'copy+fsync':>11} {'ratio':>6} "
        f"{'bare copy':>10} {'ratio':>6}"
    ]
    lines += [
        f"{row['case']:28} {row['written_gb']:>5} {row['peak_mb']:>8} {row['memory_limit_mb']:>6} "
        f"{row['export_mb_s']:>12} {row['synced_copy_mb_s']:>11} {row['ratio_to_synced_copy']:>6} "
        f"{row['bare_copy_mb_s']:>10} {row['ratio_to_bare_copy']:>6}"
        for row in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
