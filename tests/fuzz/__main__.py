"""Migrates generated programs and says which promises were broken: ``python -m tests.fuzz --programs 50000``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from neuron_codemods import registry

from . import campaign, corpus, texts


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=1_000, help="how many programs (1000)")
    parser.add_argument("--seed", default="0", help="the first half of each program's own seed (0)")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (1)")
    parser.add_argument("--kind", default="python", choices=("python", *texts.NAMES), help="of which texts (python)")
    parser.add_argument("--only", nargs="*", help="seeds of single programs, as the log names them")
    parser.add_argument("--renew", action="store_true", help="write corpus.jsonl anew, which changes all seeds")
    given = parser.parse_args()
    if given.renew:
        corpus.renew()
        return 0
    started = time.monotonic()
    done = refused = 0
    contracts: Counter[str] = Counter()
    heard: set[str] = set()
    parts = (
        [campaign.counted([seed], given.kind) for seed in given.only]
        if given.only
        else campaign.run(given.seed, given.programs, given.jobs, given.kind)
    )
    for part in parts:
        done += part.programs
        refused += part.refused
        heard |= part.heard
        for broken in part.broken:
            contracts[broken.contract] += 1
            print(f"--- seed {broken.seed}: {broken.contract}: {broken.said}")
            print(broken.text, flush=True)
        if done % 1_000 == 0:
            print(f"{done} programs, {contracts.total()} violations", flush=True)
    seconds = time.monotonic() - started
    print(f"seed {given.seed}: {done} programs, of which {refused} are not Python, in {seconds:.0f} s")
    codes = {entry.rule.code for entry in registry.of_kind(given.kind) or registry.of_kind("python")}
    print(f"{len(codes & heard)} of {len(codes)} rules had something to say")
    if given.only is None and codes - heard:
        print(f"       not {', '.join(sorted(codes - heard))}")
    print(f"{contracts.total()} violations")
    for contract, count in contracts.most_common():
        print(f"{count:6} {contract}")
    return 1 if contracts else 0


if __name__ == "__main__":
    sys.exit(main())
