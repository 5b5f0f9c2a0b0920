"""Sampling in PyTorch: the reference that the C server is held to.

p(token) ~ exp(log p / temperature), limited to the top_k most likely tokens (Fan et al. 2018), and of these to the
smallest number that has top_p of their probability (Holtzman et al. 2020). Random numbers are those of Philox4x32-10
(Salmon et al. 2011), a function of seed, step and sample alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from .network import Model
from .search import Hypothesis, encode, max_length, without_unknowns
from .tokenizer import BOS, EOS

WORD = 2**32 - 1


def philox(counter: tuple[int, int, int, int], key: int) -> tuple[int, int, int, int]:
    """Returns four words of 32 random bits; the key has 64 bits."""
    a, b = key & WORD, key >> 32
    for _ in range(10):
        x, y = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = ((y >> 32) ^ counter[1] ^ a, y & WORD, (x >> 32) ^ counter[3] ^ b, x & WORD)
        a, b = (a + 0x9E3779B9) & WORD, (b + 0xBB67AE85) & WORD
    return counter


def uniform(seed: int, step: int, sample: int) -> float:
    """A uniform number, 0 <= u < 1."""
    low, high, _, _ = philox((step, sample, 0, 0), seed)
    return ((high << 32 | low) >> 11) * 2.0**-53


@dataclass(frozen=True)
class Sampling:
    """The parameters of a request; top_k 0: no limit."""

    temperature: float
    top_k: int
    top_p: float


def cut(pool: list[float], share: float) -> tuple[int, float]:
    """Returns the smallest number of leading weights that exceeds this share of their sum, and the smallest distance of
    a partial sum from that share, relative to the sum."""
    total, sum, count, gap = math.fsum(pool), 0.0, 0, math.inf
    while count < len(pool) and sum <= share * total:
        sum += pool[count]
        count += 1
        gap = min(gap, abs(sum / total - share))
    return count, gap


def draw(log_probs: list[float], sampling: Sampling, u: float) -> tuple[int, float]:
    """Returns a token drawn from this row, and the smallest gap on which the draw depended, in log-probability or as a
    share of the pool."""
    order, gap = list(range(len(log_probs)))[::-1], math.inf
    if sampling.top_k or sampling.top_p < 1:
        order.sort(key=lambda token: (-log_probs[token], token))
    if 0 < sampling.top_k < len(order):
        last, first = (log_probs[order[place]] for place in (sampling.top_k - 1, sampling.top_k))
        order, gap = order[:sampling.top_k], last - first if first > -math.inf else math.inf
    top = max(log_probs)
    weights = [math.exp((log_probs[token] - top) / sampling.temperature) for token in order]
    if sampling.top_p < 1:
        count, by = cut(weights, sampling.top_p)
        order, weights, gap = order[:count], weights[:count], min(gap, by)
    count, by = cut(weights, u)
    return order[count - 1], min(gap, by)


@torch.no_grad()
def sample(model: Model, source: list[int], count: int, sampling: Sampling, seed: int,
           words: list[int] | None = None) -> list[Hypothesis]:
    """Returns `count` independent samples, sorted by score (length penalty 1), best first. `margin` of the first: the
    smallest gap on which a draw or the order depended."""
    memory, start = encode(model, [source], None if words is None else [words])
    longest, found = max_length(model.config, len(source)), []
    for number in range(count):
        path, token, state = Hypothesis([], [], False), BOS, start
        while not path.ended and len(path.tokens) < longest:
            step = len(path.log_probs)
            log_probs, state, _ = model.step(torch.tensor([token]), step == 0, state, memory)
            row = without_unknowns(model, log_probs)[0].tolist()
            token, gap = draw(row, sampling, uniform(seed, step, number))
            path.tokens += [token] * (token != EOS)
            path.log_probs.append(row[token])
            path.ended, path.margin = token == EOS, min(path.margin, gap)
        found.append(path)
    found.sort(key=lambda h: -h.score(1.0))
    scores = [h.score(1.0) for h in found]
    found[0].margin = min([h.margin for h in found] + [better - worse for better, worse in zip(scores, scores[1:])
                                                       if better > worse])
    return found
