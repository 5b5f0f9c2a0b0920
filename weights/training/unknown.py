"""Teaches a general model what a placeholder is: python3 -m weights.training.unknown MODEL_FOLDER --corpora CORPORA
[--flip] [--pairs N]

alignd replaces e-mail addresses, URLs, `{name}` and similar runs by <unk> (model/text/spans.h), and glossary phrases,
too. A vocabulary that can spell everything never sees <unk> in training. Input: a folder whose embedding serves both
sides and the output. Output: the same folder with a new row for <unk> in `decoder.embedding`; all other bytes stay the
same.

Training. Names and numbers that occur on both sides of a pair, linked only with each other, become <unk>, and so do the
addresses, codes and names of the phrases (weights/corpora/phrases). The row is trained to make the whole target likely
and, if there is one <unk> on each side, to direct the attention of the target's to the source's, by which the server
knows when to insert a placeholder.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from pathlib import Path
from typing import Iterator

import numpy
import torch
from torch import Tensor
from tqdm import tqdm

from ..command import run_command
from ..alignment import align_head
from ..model import folder, manifest, safetensors, search, storage
from . import hiding, mixture, noise
from .fused import Fused, supported
from ..model.network import Model
from .noise import Example
from ..model.tokenizer import BOS, EOS, UNK, SentencePiece

MARK = hiding.HIDDEN
SLOTS = re.compile(r"\{(email|url|code|name|last|phone)\}")
ROW = "decoder.embedding"
PAIRS, PHRASES = 100_000, 0.3           # pairs to read; phrases relative to pairs
LEARNING_RATE, GUIDED = 0.04, 2.0           # Adam's, with a linear decay to 0; weight of the attention's loss


def hidden(one: Example, chance: random.Random) -> Example | None:
    """Hides names and numbers; None if there are none."""
    made = hiding.copied(one, chance)
    return made if made != one else None


def ids(side: SentencePiece, text: str) -> list[int]:
    """Encodes a text; MARK, with a blank before it, is one <unk>."""
    return [piece.id for piece in hiding.pieces(side, text)]


def phrases(pair: str, flip: bool) -> list[tuple[str, str]]:
    """The pairs of phrases that have something to hide, with it hidden."""
    found = [tuple(SLOTS.sub(MARK, text) for text in pair) for pair in mixture.phrases(pair, flip).pairs
             if any(SLOTS.search(text) for text in pair)]
    return [pair for pair in found if "{" not in pair[0] + pair[1]]


def texts(root: Path, pair: str, flip: bool, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """The examples: pairs with something hidden, and phrases among them."""
    chance, patterns = random.Random(seed), phrases(pair, flip)
    for a, b, line in mixture.sample(root, pair, count, seed):
        both = align_head.linked((a, b), line, flip, "intersection")
        one = hidden(noise.example(both.source, both.target, both.links), chance)
        if one:
            yield one.source, one.target
            if patterns and chance.random() < PHRASES:
                yield chance.choice(patterns)


def unguided(batch: list[align_head.Example], attention: Tensor) -> Tensor:
    """attention [B, S, T] -> the sum of -log of the attention from each target's only <unk> to the source's only
    one."""
    ones = [(one, row) for one, row in zip(batch, attention) if one.source.count(UNK) == one.target.count(UNK) == 1]
    return -sum((row[one.target.index(UNK), one.source.index(UNK)].clamp_min(1e-6).log() for one, row in ones),
                attention.new_zeros(()))


def train(model: Model, examples: list[tuple[list[int], list[int]]], seed: int) -> Tensor:
    """Trains the row and returns it [E]; the rest of the model does not change. examples: ids without </s>."""
    values, fused, table = random.Random(seed), Fused(model), model.decoder.embedding.weight
    model.requires_grad_(False).eval()
    table.requires_grad_(True)
    row = torch.nn.Parameter(table.detach()[UNK].clone())
    optimizer = torch.optim.Adam([row])
    pool = [align_head.Example([*source, EOS], target, []) for source, target in examples]
    done = 0
    for batch in tqdm(list(align_head.batches(iter(pool), values)), unit="batch", disable=None):
        with torch.no_grad():
            table[UNK] = row
        source, lengths = search.pad([one.source for one in batch])
        inputs, wanted = search.pad([[BOS, *one.target] for one in batch])[0], search.pad(
            [[*one.target, EOS] for one in batch], value=-100)[0]
        table.grad = None
        loss, _, attention = fused.loss(source, lengths, inputs, wanted, 0.0)
        ((loss + GUIDED * unguided(batch, attention)) / int((wanted != -100).sum())).backward()
        row.grad = table.grad[UNK].clone()
        done += len(batch)
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - min(done, len(pool) - 1) / len(pool))
        optimizer.step()
    return row.detach()


def write(path: Path, row: Tensor) -> None:
    """Writes the row to the folder's model.safetensors, in its storage type."""
    stored, metadata = safetensors.read(path / align_head.WEIGHTS)
    new = storage.store({ROW: row.numpy()[None]}, align_head.storage_of(stored))
    for name, tensor in new.items():
        stored[name] = numpy.concatenate([stored[name][:UNK], tensor, stored[name][UNK + 1:]])
    with tempfile.TemporaryDirectory(dir=path) as work:
        safetensors.write(Path(work) / align_head.WEIGHTS, stored, metadata)
        (Path(work) / align_head.WEIGHTS).replace(path / align_head.WEIGHTS)
    manifest.renew(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=("Teaches a general model what a placeholder is: the embedding of <unk>, and nothing else, is "
                     "trained."))
    parser.add_argument("model", type=Path, help="a model folder; its file is replaced")
    parser.add_argument("--corpora", type=Path, required=True, metavar="DIR",
                        help="the folder of all corpora and links (weights/training/mixture.py)")
    parser.add_argument("--flip", action="store_true",
                        help="the model translates the second language of the corpora into the first")
    parser.add_argument("--pairs", type=int, default=PAIRS,
                        help="pairs to read; those with nothing to hide are left out (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model, side, _ = folder.read(arguments.model)
    if not (supported(model.config) and model.config["output"]["tied"] and model.config["encoder"]["embedding_shared"]):
        parser.error("one embedding must serve both sides and the output of a model that weights.broad trains")
    pair = [model.config["source"], model.config["target"]]
    longest = model.config["limits"]["max_source_tokens"]
    found = [tuple(ids(side, text) for text in both)
             for both in texts(arguments.corpora, "-".join(pair[::-1] if arguments.flip else pair), arguments.flip,
                               arguments.pairs, arguments.seed)]
    found = [both for both in found if max(map(len, both)) < longest]
    write(arguments.model, train(model, found, arguments.seed))
    print(f"{arguments.model}: the row of <unk>, from {len(found):,} pairs")


if __name__ == "__main__":
    run_command(main)
