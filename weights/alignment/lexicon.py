"""Word alignment without a translation model: the diagonal, IBM model 1 with the diagonal as its prior,
and weights/gibbs.

The second is fast_align's model (Dyer et al. 2013) with a fixed tension: p(target word | source word), estimated by
expectation maximisation; a prior for source position j of m and target position i of n that is proportional to
exp(-tension |i/n - j/m|); and a null word. Input: pairs of lists of word ids. Output of `of(source, target)`: a matrix
[target words, source words] whose rows sum to 1, or to 0 without a link.
"""

from __future__ import annotations

from pathlib import Path

import numpy
from numpy import ndarray

from . import aligner, links

Pair = tuple[list[int], list[int]]

TENSION = 4.0
NULL = 0.08  # prior of the null word
ROUNDS = 5
UNSEEN = 1e-9  # p(target word | source word) of a pair that did not occur in training
SURE = 0.05  # least row sum of the geometric mean of both directions; below it there is no link


def diagonal_prior(targets: int, sources: int) -> ndarray:
    """Returns [targets, sources] with rows that sum to 1; the position of a word is its centre."""
    i, j = (numpy.arange(targets)[:, None] + 0.5) / targets, (numpy.arange(sources)[None] + 0.5) / sources
    prior = numpy.exp(-TENSION * numpy.abs(i - j))
    return prior / prior.sum(axis=1, keepdims=True)


class Diagonal:
    """The prior alone."""

    def __init__(self, pairs: list[Pair] | None = None) -> None:
        pass

    def of(self, source: list[int], target: list[int]) -> ndarray:
        return diagonal_prior(len(target), len(source))


class Lexicon:
    """p(target word | source word) in one direction."""

    def __init__(self, pairs: list[Pair], rounds: int = ROUNDS) -> None:
        # One past the largest word id; also the id of the null word.
        self.words = 1 + max((max(word) for pair in pairs for word in pair if word), default=0)
        keys, priors, lengths = zip(*(self._cells(source, target) for source, target in pairs if source and target))
        self.keys, cells = numpy.unique(numpy.concatenate(keys), return_inverse=True)
        prior = numpy.concatenate(priors)
        starts = numpy.concatenate([[0], numpy.cumsum(numpy.concatenate(lengths))[:-1]])
        lengths = numpy.concatenate(lengths)
        sources = self.keys // (self.words + 1)
        self.probability = numpy.ones(len(self.keys))
        for _ in range(rounds):
            posterior = self.probability[cells] * prior
            posterior /= numpy.repeat(numpy.add.reduceat(posterior, starts), lengths)
            counts = numpy.bincount(cells, posterior)
            self.probability = counts / numpy.bincount(sources, counts)[sources]

    def _cells(self, source: list[int], target: list[int]) -> tuple[ndarray, ndarray, ndarray]:
        """Pairs every target word with the null word and with each source word. Returns the keys, the priors, and the
        number of cells of each target word."""
        columns = numpy.array([self.words, *source], numpy.int64) * (self.words + 1)
        keys = columns[None] + numpy.array(target, numpy.int64)[:, None]
        prior = numpy.full(keys.shape, NULL, numpy.float32)
        prior[:, 1:] = (1 - NULL) * diagonal_prior(len(target), len(source))
        return keys.ravel(), prior.ravel(), numpy.full(len(target), keys.shape[1])

    def posterior(self, source: list[int], target: list[int]) -> ndarray:
        """Returns [target words, source words]: p(link). The probability that a row lacks is that of the null word."""
        keys, prior, _ = self._cells(source, target)
        places = numpy.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        found = numpy.where(self.keys[places] == keys, self.probability[places], UNSEEN) * prior
        found = found.reshape(len(target), len(source) + 1)
        return (found / found.sum(axis=1, keepdims=True))[:, 1:]


class Lexical:
    """The geometric mean of the lexicons of both directions: a link must be likely in each."""

    def __init__(self, pairs: list[Pair]) -> None:
        self.forward, self.backward = Lexicon(pairs), Lexicon([(target, source) for source, target in pairs])

    def of(self, source: list[int], target: list[int]) -> ndarray:
        both = numpy.sqrt(self.forward.posterior(source, target) * self.backward.posterior(target, source).T)
        sums = both.sum(axis=1, keepdims=True)
        return numpy.where(sums > SURE, both / numpy.maximum(sums, SURE), 0)


class Aligned:
    """The aligner's links of the pairs that it has learned from; other pairs have no links."""

    def __init__(self, pairs: list[Pair], program: Path = aligner.PROGRAM) -> None:
        numbers = ("\t".join(" ".join(str(word + 1) for word in side) for side in pair) + "\n" for pair in pairs)
        lines = list(aligner.run(numbers, "grow-diag-final-and", program))
        self.links = {(tuple(source), tuple(target)): line for (source, target), line in zip(pairs, lines, strict=True)}

    def of(self, source: list[int], target: list[int]) -> ndarray:
        matrix = numpy.zeros((len(target), len(source)))
        for i, j in links.parse(self.links.get((tuple(source), tuple(target)), "")):
            matrix[j, i] = 1
        return matrix / numpy.maximum(matrix.sum(axis=1, keepdims=True), 1)
