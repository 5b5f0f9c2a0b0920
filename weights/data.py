"""Corpora: reading, and batches of about equal cost.

Input: UTF-8 files of `source TAB target` lines, gzip or plain. Output of `Batches`: lists of indices into the corpus, sentences of
similar length together, at most `tokens` target tokens a batch, shuffled by (seed, epoch) alone so that a resumed run sees the same
order.
"""

from __future__ import annotations

import gzip
import random
from pathlib import Path


def read_pairs(path: Path, flip: bool = False) -> list[tuple[str, str]]:
    """Reads (source, target) pairs; further columns are left out. flip: swap the two."""
    opener = gzip.open if path.suffix == ".gz" else open
    pairs = []
    with opener(path, "rt", encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            columns = line.rstrip("\n").split("\t")
            if len(columns) < 2:
                raise ValueError(f"{path}:{number}: no TAB")
            pairs.append((columns[1], columns[0]) if flip else (columns[0], columns[1]))
    return pairs


def make_batches(lengths: list[tuple[int, int]], tokens: int, seed: int, epoch: int) -> list[list[int]]:
    """lengths: (source, target) tokens of each pair. Pools of 100 batches are sorted by length, cut, and shuffled."""
    random_state = random.Random(seed * 1_000_003 + epoch)
    order = list(range(len(lengths)))
    random_state.shuffle(order)
    pool_size = max(1, 100 * tokens // 10)
    batches: list[list[int]] = []
    for begin in range(0, len(order), pool_size):
        pool = sorted(order[begin:begin + pool_size], key=lambda i: (lengths[i][1], lengths[i][0]))
        batch: list[int] = []
        longest = 0
        for index in pool:
            longest = max(longest, *lengths[index])
            if batch and longest * (len(batch) + 1) > tokens:
                batches.append(batch)
                batch, longest = [], max(lengths[index])
            batch.append(index)
        batches.append(batch)
    random_state.shuffle(batches)
    return batches
