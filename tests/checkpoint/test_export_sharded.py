"""Models that several processes share: every rank exports, rank 0 writes, and all learn of a failure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from neuron_shim.checkpoint.export import export_checkpoint

from .models import adapted, contents, decoder, differing, state_of
from .processes import HERE, launch

# PEFT 0.21 asks transformers 5.24 for something by its old name.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning"),
    pytest.mark.filterwarnings(
        "ignore:.*tie_word_embeddings=True. and a tied layer is part of the adapter:UserWarning"
    ),
]


@pytest.mark.parametrize(
    ("tied", "processes", "tp_size"),
    [
        pytest.param(True, 2, 1, id="tied-fsdp2"),
        pytest.param(False, 2, 2, id="tp2"),
        pytest.param(True, 4, 2, id="tied-tp2xfsdp2"),
    ],
)
def test_sharded_model(tied: bool, processes: int, tp_size: int, tmp_path: Path) -> None:
    import torch

    model = decoder(tied=tied)
    model.save_pretrained(tmp_path / "base")
    expected = state_of(model)

    launch("sharded.py", tmp_path, tp_size, processes=processes)

    told = [json.loads((tmp_path / f"told-{rank}.json").read_text(encoding="utf-8")) for rank in range(processes)]
    assert all(rank["sharded"] for rank in told)
    assert [rank["reports"] for rank in told] == [True] + [False] * (processes - 1)

    assert differing(contents(tmp_path / "live"), expected) == []
    assert len(list((tmp_path / "live").glob("*.safetensors"))) > 1
    halved = {name: value.to(torch.bfloat16) for name, value in expected.items()}
    assert differing(contents(tmp_path / "live-bf16"), halved) == []
    assert differing(contents(tmp_path / "after"), expected) == []

    # What transformers itself wrote from the sharded model.
    if tied:
        assert "lm_head.weight" in contents(tmp_path / "gathered")
    for source in ("gathered", "distributed"):
        report = export_checkpoint(tmp_path / source, tmp_path / f"{source}-exported")
        assert report is not None
        assert report.dropped == (("lm_head.weight",) if tied else ())
        assert differing(contents(tmp_path / f"{source}-exported"), expected) == []
    assert [rank["folder"] for rank in told] == [True] + [False] * (processes - 1)
    assert differing(contents(tmp_path / "from-folder"), expected) == []

    # Nobody hangs, and every rank says why.
    for what, message in (("taken", "is not empty"), ("full disk", "No space left on device")):
        assert all(message in rank[what] for rank in told)
        assert told[1][what].startswith("Rank 0 could not export: ")
    assert not (tmp_path / "full").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

    if tp_size == 1:
        theirs = adapted(decoder(tied=tied))
        theirs.save_pretrained(tmp_path / "adapter-alone")
        assert differing(contents(tmp_path / "adapter"), contents(tmp_path / "adapter-alone")) == []
        assert differing(contents(tmp_path / "merged"), state_of(theirs.merge_and_unload())) == []
    loads_without_the_shim(tmp_path / "live", expected, tied=tied)


def loads_without_the_shim(folder: Path, expected: dict[str, Any], *, tied: bool) -> None:
    from safetensors.torch import save_file

    state = folder.parent / "expected.safetensors"
    save_file(expected, state)
    done = subprocess.run(
        [sys.executable, "-I", str(HERE / "reload.py"), str(folder), str(state)],
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    assert told == {"different": [], "compared": len(expected), "tied": tied}
