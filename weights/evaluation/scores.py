"""BLEU and chrF as sacreBLEU computes them, and the other scores of the results.

Input: two lists of strings, detokenised hypotheses and one reference each. Output: percentages. BLEU: 13a tokenisation,
cased, 4-grams, corpus level, exponential smoothing of empty counts (Papineni et al. 2002; Post 2018). chrF: character
6-grams, beta 2, white space left out, corpus counts summed (Popovic 2015; chrF2 of sacreBLEU). `tokenised_bleu` takes
the words as they stand between spaces, which is what multi-bleu.perl does and what the published figures on Multi30k
are.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Callable, Iterable

_SPLITS = (
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),  # every ASCII symbol but , - . '
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


def tokenize_13a(line: str) -> list[str]:
    """The mteval-v13a tokenisation: entities resolved, punctuation split off, digits kept with their marks."""
    line = line.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        line = line.replace(entity, character)
    line = f" {line} "
    for pattern, replacement in _SPLITS:
        line = pattern.sub(replacement, line)
    return line.split()


def _ngrams(items, n: int) -> Counter:
    return Counter(tuple(items[i:i + n]) for i in range(len(items) - n + 1))


def bleu(hypotheses: list[str], references: list[str], tokenize: Callable[[str], list[str]] = tokenize_13a) -> float:
    """Corpus BLEU, 0..100."""
    right, total = [0] * 4, [0] * 4
    hypothesis_length = reference_length = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        h, r = tokenize(hypothesis), tokenize(reference)
        hypothesis_length += len(h)
        reference_length += len(r)
        for n in range(1, 5):
            counts = _ngrams(h, n)
            right[n - 1] += sum((counts & _ngrams(r, n)).values())
            total[n - 1] += sum(counts.values())
    if right[0] == 0:
        return 0.0
    smooth, log_sum = 1.0, 0.0
    for n in range(4):
        if total[n] == 0:
            return 0.0
        if right[n] == 0:
            smooth *= 2
            log_sum += math.log(1 / (smooth * total[n]))
        else:
            log_sum += math.log(right[n] / total[n])
    brevity = min(1.0, math.exp(1 - reference_length / hypothesis_length))
    return 100 * brevity * math.exp(log_sum / 4)


def chrf(hypotheses: list[str], references: list[str], order: int = 6, beta: float = 2.0) -> float:
    """Corpus chrF2, 0..100: precision and recall averaged over the orders that occur, then combined."""
    right, in_hypothesis, in_reference = [0] * order, [0] * order, [0] * order
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        h, r = "".join(hypothesis.split()), "".join(reference.split())
        for n in range(1, order + 1):
            counts, wanted = _ngrams(h, n), _ngrams(r, n)
            right[n - 1] += sum((counts & wanted).values())
            in_hypothesis[n - 1] += sum(counts.values()) if wanted else 0
            in_reference[n - 1] += sum(wanted.values())
    effective = [n for n in range(order) if in_hypothesis[n] and in_reference[n]]
    if not effective:
        return 0.0
    precision = sum(right[n] / in_hypothesis[n] for n in effective) / len(effective)
    recall = sum(right[n] / in_reference[n] for n in effective) / len(effective)
    if precision + recall == 0:
        return 0.0
    return 100 * (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def tokenised_bleu(hypotheses: list[str], references: list[str]) -> float:
    return bleu(hypotheses, references, str.split)


def share(flags: Iterable[bool]) -> float:
    """Percentage of true flags."""
    flags = list(flags)
    return 100 * sum(flags) / max(1, len(flags))


def exact_match(hypotheses: list[str], references: list[str]) -> float:
    """Percentage of hypotheses with the same words as the reference; spacing does not count."""
    return share(h.split() == r.split() for h, r in zip(hypotheses, references, strict=True))


def repeats(text: str, n: int = 4) -> bool:
    """Whether any n words in a row occur twice."""
    return any(count > 1 for count in _ngrams(text.split(), n).values())


def unknown_rate(pieces: list[list[str]], unknown: str = "<unk>") -> float:
    """Percentage of unknown pieces in the output. pieces: one list per sentence."""
    return share(piece == unknown for sentence in pieces for piece in sentence)


def by_length(sources: list[str], edges: list[int]) -> dict[str, list[int]]:
    """Indices of sentences by number of source words, in buckets "1-10", ... for edges [10, 20, ...]; the last bucket
    is open ("21-")."""
    buckets: dict[str, list[int]] = {}
    for low, high in zip([1] + [edge + 1 for edge in edges], [*edges, None]):
        name = f"{low}-{high if high else ''}"
        buckets[name] = [i for i, source in enumerate(sources) if low <= len(source.split())
                         and (not high or len(source.split()) <= high)]
    return buckets


def aer(predicted: list[set[tuple[int, int]]], sure: list[set[tuple[int, int]]],
        possible: list[set[tuple[int, int]]]) -> float:
    """Alignment error rate (Och and Ney 2003) over all sentences, 0..100. Sure links count as possible even if they are
    not listed as such."""
    in_sure = sum(len(a & s) for a, s in zip(predicted, sure, strict=True))
    in_possible = sum(len(a & (p | s)) for a, s, p in zip(predicted, sure, possible, strict=True))
    size = sum(map(len, predicted)) + sum(map(len, sure))
    return 100 * (1 - (in_sure + in_possible) / size) if size else 0.0
