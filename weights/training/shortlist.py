"""Vocabulary shortlist: python3 -m weights.training.shortlist MODEL_FOLDER --data DIR [--flip]

Input: a model folder and DIR/train.tsv.gz, DIR/valid.tsv.gz. Output: MODEL_FOLDER/shortlist.safetensors, from which the
server takes the likely target ids of a sentence (model/weights/weights.h): those of `always`, and those of every source
piece in it.

    always   I32 [A]      the most frequent target ids, </s> among them
    offsets  I32 [Vs+1]   source piece s has targets[offsets[s]] .. targets[offsets[s+1]-1]
    targets  I32 [n]      the best first, without those in `always`

How the lists are made. The model is forced through training pairs. The candidates of a target position are the
reference's token and the model's own OWN best, because a list must not exclude the model's choices. IBM model 1 (Brown
et al. 1993: expectation maximisation of p(target piece | source piece)) estimates which source piece a candidate
belongs to, with the square root of the attention as the prior of a position's links; the attention alone lies too often
on </s> and on neighbours. The same seed, machine and PyTorch give the same file.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch
from numpy import ndarray
from tqdm import tqdm

from ..command import run_command
from ..corpora import data
from ..model import folder, manifest, safetensors, search
from ..model.config import attends
from ..model.network import Model
from ..model.tokenizer import BOS, EOS, Tokenizer

Pair = tuple[list[int], list[int]]  # source ids as the encoder reads them, target ids without </s>

OWN = 3  # number of the model's own candidates per target position
ROUNDS = 5  # iterations of expectation maximisation
BATCH_TOKENS = 2000
BATCH_SENTENCES = 50


@dataclass
class Links:
    """P target positions, each linked to the T source pieces of its sentence; L is the sum of all T."""

    sources: ndarray  # [L] source piece
    attention: ndarray  # [L]
    lengths: ndarray  # [P] T
    candidates: ndarray  # [P, 1 + OWN] target pieces: the reference's, and the model's own best


@dataclass
class Shortlist:
    """The content of the file."""

    always: ndarray
    offsets: ndarray
    targets: ndarray

    def of(self, source: list[int], vocabulary: int) -> ndarray:
        """Returns [vocabulary] bool: True for the target ids of this sentence."""
        listed = numpy.zeros(vocabulary, bool)
        listed[self.always] = True
        for piece in source:
            listed[self.targets[self.offsets[piece]:self.offsets[piece + 1]]] = True
        return listed


def encode(model: Model, source: Tokenizer, target: Tokenizer, texts: list[tuple[str, str]]) -> list[Pair]:
    end = [EOS] if model.config["encoder"]["eos"] else []
    return [(source.encode(a) + end, target.encode(b)) for a, b in texts]


@torch.no_grad()
def force(model: Model, pairs: list[Pair], seed: int) -> Links:
    """Runs the model over the pairs with teacher forcing."""
    sources, attention, lengths, candidates = [], [], [], []
    batches = data.make_batches([(len(s), len(t) + 1) for s, t in pairs], BATCH_TOKENS, seed, epoch=0)
    for batch in tqdm(batches, desc="attention", leave=False, disable=None):
        chunk = [pairs[i] for i in batch]
        inputs, wanted = (search.pad(side)[0]
                          for side in ([[BOS] + t for _, t in chunk], [t + [EOS] for _, t in chunk]))
        readouts, weights = model.readouts(*search.pad([s for s, _ in chunk]), inputs)
        own = model.output(readouts).topk(OWN, dim=-1).indices
        choices = torch.cat([wanted[:, :, None], own], dim=2).numpy().astype(numpy.int32)
        for row, (source, target) in enumerate(chunk):
            steps = len(target) + 1
            sources.append(numpy.tile(numpy.array(source, numpy.int32), steps))
            attention.append(weights[row, :steps, :len(source)].numpy().ravel())
            lengths.append(numpy.full(steps, len(source)))
            candidates.append(choices[row, :steps])
    return Links(*(numpy.concatenate(parts) for parts in (sources, attention, lengths, candidates)))


def align(links: Links, source_size: int, target_size: int) -> tuple[ndarray, ndarray, ndarray]:
    """Returns source piece, target piece and expected number of links for each pair of co-occurring pieces, sorted by
    source, then target."""
    columns = [links.sources * numpy.int64(target_size) + numpy.repeat(candidate, links.lengths)
               for candidate in links.candidates.T]
    keys = numpy.unique(numpy.concatenate([numpy.unique(column) for column in columns]))
    columns = [numpy.searchsorted(keys, column).astype(numpy.int32) for column in columns]
    sources, targets = numpy.divmod(keys, target_size)
    prior = numpy.sqrt(links.attention, dtype=numpy.float64) + 1e-12  # every position keeps a nonzero prior
    first = numpy.cumsum(links.lengths) - links.lengths
    likely = numpy.ones(len(keys))
    for _ in range(ROUNDS):
        counts = numpy.zeros(len(keys))
        for column in columns:
            weights = likely[column] * prior
            weights /= numpy.repeat(numpy.add.reduceat(weights, first), links.lengths)
            counts += numpy.bincount(column, weights, len(keys))
        likely = counts / numpy.bincount(sources, counts, source_size)[sources]
    return sources, targets, counts


def most_frequent(candidates: ndarray, size: int, count: int) -> ndarray:
    """Returns the ids of the most frequent candidates, ascending, including </s>."""
    frequency = numpy.bincount(candidates.ravel(), minlength=size)
    frequency[EOS] = candidates.size + 1
    return numpy.sort(numpy.argsort(-frequency, kind="stable")[:count]).astype(numpy.int32)


def choose(aligned: tuple[ndarray, ndarray, ndarray], source_size: int, always: ndarray, best: int,
           least: float) -> Shortlist:
    """Keeps for each source piece at most `best` targets outside `always`: those with the most links, and at least
    `least`."""
    sources, targets, counts = aligned
    kept = numpy.flatnonzero((counts >= least) & ~numpy.isin(targets, always))
    kept = kept[numpy.lexsort((targets[kept], -counts[kept], sources[kept]))]
    rank = numpy.arange(len(kept)) - numpy.searchsorted(sources[kept], sources[kept])
    kept = kept[rank < best]
    offsets = numpy.searchsorted(sources[kept], numpy.arange(source_size + 1))
    return Shortlist(always, offsets.astype(numpy.int32), targets[kept].astype(numpy.int32))


def make(model: Model, pairs: list[Pair], sizes: tuple[int, int], options: argparse.Namespace) -> Shortlist:
    """sizes: of the source and target vocabularies."""
    links = force(model, pairs, options.seed)
    always = most_frequent(links.candidates, sizes[1], options.always)
    return choose(align(links, *sizes), sizes[0], always, options.best, options.least)


def greedy(model: Model, sources: list[list[int]]) -> list[list[int]]:
    """Greedy translations with </s>, in batches of similar length."""
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    found: dict[int, list[int]] = {}
    for begin in tqdm(range(0, len(order), BATCH_SENTENCES), desc="greedy", leave=False, disable=None):
        chunk = order[begin:begin + BATCH_SENTENCES]
        for i, hypothesis in zip(chunk, search.greedy(model, [sources[i] for i in chunk])):
            found[i] = hypothesis.tokens + [EOS] * hypothesis.ended
    return [found[i] for i in range(len(sources))]


def measure(shortlist: Shortlist, pairs: list[Pair], own: list[list[int]], vocabulary: int) -> dict[str, float]:
    """own: the model's greedy translations. A translation whose tokens are all listed is the same with the
    shortlist."""
    size, same, inside = 0, 0, {"reference": [], "greedy": []}
    for (source, target), translation in zip(pairs, own):
        listed = shortlist.of(source, vocabulary)
        size += int(listed.sum())
        inside["reference"].extend(listed[target + [EOS]])
        inside["greedy"].extend(listed[translation])
        same += bool(listed[translation].all())
    return {"size": size / len(pairs), "same": same / len(pairs)} | {name: float(numpy.mean(l))
                                                                     for name, l in inside.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the model folder")
    parser.add_argument("--data", type=Path, required=True, help="folder with train.tsv.gz and valid.tsv.gz")
    parser.add_argument("--flip", action="store_true", help="swap the columns of the corpus")
    parser.add_argument("--pairs", type=int, default=80000, help="training pairs to read")
    parser.add_argument("--always", type=int, default=200, help="target pieces on every list")
    parser.add_argument("--best", type=int, default=100, help="target pieces of a source piece, at most")
    parser.add_argument("--least", type=float, default=0.1, help="expected links that a piece needs to be listed")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    model, source, target = folder.read(options.folder)
    if not attends(model.config):
        parser.error("the model has no attention, which says what source piece asked for a target piece")
    train = data.read_pairs(options.data / "train.tsv.gz", options.flip)
    train = random.Random(options.seed).sample(train, min(options.pairs, len(train)))
    shortlist = make(model, encode(model, source, target, train), (source.size, target.size), options)

    path = options.folder / "shortlist.safetensors"
    metadata = {name: str(getattr(options, name)) for name in ("seed", "pairs", "always", "best", "least")}
    safetensors.write(path, vars(shortlist), metadata | {"torch": torch.__version__})
    manifest.renew(options.folder)
    print(f"{path}: {path.stat().st_size:,} bytes, {len(shortlist.targets):,} targets of {source.size:,} source pieces")

    pairs = encode(model, source, target, data.read_pairs(options.data / "valid.tsv.gz", options.flip))
    result = measure(shortlist, pairs, greedy(model, [s for s, _ in pairs]), target.size)
    print(f"validation: {result['size']:.0f} of {target.size:,} ids a sentence; listed: {result['reference']:.2%} of "
          f"the reference's tokens, "
          f"{result['greedy']:.2%} of greedy's; {result['same']:.1%} of greedy's translations wholly")


if __name__ == "__main__":
    run_command(main)
