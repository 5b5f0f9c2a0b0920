"""Golden values of estimated quality: tests/data/golden_quality.json, written by weights.golden,
read by tests/model/test_quality.c.

{"words", "sentence": regressions [6], "cases": [{"source": m, "ended", "tokens" [n], "end": id of </s>, "log_probs",
"entropies" [s], "alternatives" [s][..][token, log-probability], "alignment" [n][m + 1] (the last column </s>), "ranges"
[n][first word, end], "count" of words, "quality": {"sentence", "words"}}]}
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy

from ..evaluation import quality
from ..evaluation.quality import Steps

CASES = ((4, 5, True), (6, 3, False), (1, 1, True), (0, 4, True), (9, 12, True))  # target tokens, source tokens, ended
END, BEST = 2, 5
WORDS = numpy.array([0.125, -0.25, 0.0625, -0.75, 1.5, 1.5])
SENTENCE = numpy.array([0.03125, -0.25, 0.03125, 2, 0.75, 1.5])


def alternatives(random: numpy.random.Generator, token: int) -> list[list]:
    """The best tokens of a step, best first; the chosen token may be among them or not. With one alternative it is the
    chosen token."""
    others = [int(other) for other in random.permutation(range(3, 40)) if other != token][:BEST]
    count = 1 if random.random() < 0.1 else BEST
    found = others[:count]
    if count == 1 or random.random() < 0.7:
        found[0 if random.random() < 0.7 else count - 1] = token
    return [[one, float(value)] for one, value in zip(found, numpy.round(-numpy.sort(random.exponential(3, count)), 4))]


def ranges(random: numpy.random.Generator, count: int) -> list[list[int]]:
    """The word range of each token: mostly one word, the previous token's or the next; sometimes two words or none."""
    found, word = [], 0
    for _ in range(count):
        kind = random.random()
        found.append([word, word] if kind < 0.1 else [word, word + 2 if kind < 0.25 else word + 1])
        word = max(found[-1][1] - (random.random() < 0.4), word)
    return found


def case(random: numpy.random.Generator, target: int, source: int, ended: bool) -> dict:
    tokens = [int(token) for token in random.integers(3, 40, target)]
    chosen = tokens + [END] * ended
    best = [alternatives(random, token) for token in chosen]
    log_probs = [dict(map(tuple, step)).get(token, -60.0 if i == 1 else float(numpy.round(step[-1][1] - 1, 4)))
                 for i, (token, step) in enumerate(zip(chosen, best))]
    rows = numpy.round(random.dirichlet(numpy.full(source + 1, 0.3), target), 4)
    entropies = numpy.round(random.exponential(1, len(chosen)), 4)
    words = ranges(random, target)
    count = max((end for _, end in words), default=0)
    gaps = [quality.gap(token, value, [{"token": other, "log_prob": p} for other, p in step])
            for token, value, step in zip(chosen, log_probs, best)]
    steps = Steps(numpy.array(log_probs), entropies, numpy.array(gaps), rows[:, :-1].reshape(target, source))
    of_words = [[i for i, (first, end) in enumerate(words) if first <= word < end] for word in range(count)]
    return {"source": source, "ended": ended, "tokens": tokens, "end": END, "log_probs": log_probs,
            "entropies": entropies.tolist(), "alternatives": best,
            "alignment": rows.tolist(), "ranges": words, "count": count,
            "quality": {"sentence": float(quality.probability(SENTENCE, quality.sentence_features(steps))),
                        "words": quality.probability(WORDS, quality.word_features(steps, of_words)).tolist()}}


def write(path: Path) -> None:
    random = numpy.random.default_rng(7)
    found = {"words": WORDS.tolist(), "sentence": SENTENCE.tolist(), "cases": [case(random, *one) for one in CASES]}
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
