#!/usr/bin/env python3
"""What a token costs in sentences of several lengths: python3 tests/bench/lengths.py MODEL [--alignd PROGRAM]
[--rounds 3] [-- OPTIONS of alignd]

Input: a folder of bench/random_model, whose source.txt has the words; a copy gets a higher limit of source tokens.
Translates sentences of 20, 80, 200 and 400 words greedily, 32 at a time, with one worker and the decoder's keys and
values in 32 and in 16 bits. Prints for each length the processor time of a target token in microseconds, from two runs
of different size, so that loading does not count, and its ratio in 16 to 32 bits: the median of the rounds, the least
and the greatest.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from gaps import raise_limit

LENGTHS, ROWS = (20, 80, 200, 400), 32
TOKENS, TIMES = 12800, 3  # of the smaller run, and how many times as many the other has
BITS = {"32 bits": "--half-past=false", "16 bits": "--half-past"}


def run(command: list[str], text: Path, out: Path) -> tuple[float, int]:
    """The processor time, and the number of words that were written."""
    with text.open() as source, out.open("w") as target:
        child = subprocess.Popen(command, stdin=source, stdout=target)
        _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit("lengths.py: alignd failed")
    return used.ru_utime + used.ru_stime, len(out.read_text(encoding="utf-8").split())


def cost(command: list[str], texts: list[Path], out: Path) -> float:
    """Microseconds a token."""
    (less, few), (more, many) = (run(command, text, out) for text in texts)
    return (more - less) / (many - few) * 1e6


def spread(values: list[float], digits: int) -> str:
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} - {max(values):.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("options", nargs="*", help="options of alignd, after --")
    args = parser.parse_args()
    words, chance = (args.model / "source.txt").read_text(encoding="utf-8").split(), random.Random(1)
    print(f"| words | {' | '.join(BITS)} | 16 to 32 bits |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        (folder := Path(name) / "model").mkdir()
        command = [str(args.alignd), "translate", "--model", str(raise_limit(args.model, folder)), "--workers", "1",
                   "--rows", str(ROWS), "--strategy", "greedy", "--max-length", str(max(LENGTHS)), *args.options]
        for length in LENGTHS:
            texts = [Path(name) / "less", Path(name) / "more"]
            for text, tokens in zip(texts, (TOKENS, TIMES * TOKENS)):
                text.write_text("".join(" ".join(chance.choices(words, k=length)) + "\n"
                                        for _ in range(tokens // length)), encoding="utf-8")
            costs = {bits: [] for bits in BITS}
            for _ in range(args.rounds):
                for bits, option in BITS.items():
                    costs[bits].append(cost([*command, option], texts, Path(name) / "out"))
            ratios = [narrow / wide for wide, narrow in zip(*costs.values())]
            print(f"| {length} | {' | '.join(spread(values, 1) for values in costs.values())} | {spread(ratios, 2)} |",
                  flush=True)


if __name__ == "__main__":
    main()
