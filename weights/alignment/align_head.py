"""Gives a model an alignment head: python3 -m weights.alignment.align_head MODEL_FOLDER --data CORPUS.tsv [--data ...]
[--links FILE] [--out MODEL_FOLDER]

Input: a model folder, also a converted one; text in its languages, source TAB target (--flip: the other way round), the
training text itself or other text; word links of it, from weights/alignment/aligner.py unless --links has them. Output:
the model folder with the section `alignment` in config.json and the tensors `alignment.*` in model.safetensors. All
other tensors keep their bytes: translations and attention stay the same to the bit. A head that is there is replaced.

What is learned: for each token of the target, chosen as given, which source tokens it is linked with (cross-entropy
against equal shares of its links), `</s>` with `</s>`; a token without a link says nothing, or, with --unlinked, that
it looks at `</s>`. So that long and odd sentences are met, too, some examples are two or three neighbours joined, and
some are written otherwise: with spaces around punctuation, as tokenised text is, in lower case, with typographic
apostrophes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, NamedTuple

import numpy
import torch
from torch import Tensor
from tqdm import tqdm

from ..command import run_command
from ..corpora import data
from ..model import folder, manifest, safetensors, search, storage
from ..training import mixture
from . import aligner, links
from ..model import config as configuration
from ..training.fused import Fused, supported
from .links import Links
from ..model.network import Memory, Model
from ..model.tokenizer import BOS, EOS, Tokenizer

SIZE, PAIRS = 128, 100_000
SYMMETRIES = ("grow-diag-final-and", "intersection")
BATCH_TOKENS, POOL = 1500, 3000  # maximum source or target tokens per batch; examples sorted together
JOINED, SPACED, LOWERED, TYPED = 0.3, 0.3, 0.2, 0.25  # probability of each variation
LEARNING_RATE, WARMUP = 0.003, 0.05      # Adam's; linear warm-up during this share of the run, with a linear decay to 0
WEIGHTS = "model.safetensors"


@dataclass
class Options:
    size: int = SIZE
    epochs: int = 1
    seed: int = 1
    unlinked: float = 0.0  # weight of a target word without links


class Linked(NamedTuple):
    """A sentence pair and its word links (weights/alignment/links.py)."""

    source: str
    target: str
    links: Links


class Example(NamedTuple):
    """source: ids, with </s> if the encoder reads it. target: ids without </s>. links: (source token, target token),
    without </s>."""

    source: list[int]
    target: list[int]
    links: Links


# ---- text ----

def joined(pairs: list[Linked]) -> Linked:
    """Concatenates several pairs into one."""
    together, offsets = [], [0, 0]
    for pair in pairs:
        together += [(i + offsets[0], j + offsets[1]) for i, j in pair.links]
        offsets = [offset + len(links.words(text)) for offset, text in zip(offsets, pair[:2])]
    return Linked(" ".join(p.source for p in pairs), " ".join(p.target for p in pairs), together)


def spaced(text: str) -> str:
    """Separates the words by spaces."""
    return " ".join(text[begin:end] for begin, end in links.words(text))


def typed(text: str) -> str:
    """Replaces apostrophes by typographic ones."""
    return text.replace("'", "’")


def varied(pairs: list[Linked], index: int, values: random.Random) -> Linked:
    """Pair number `index`, with random variations: joined with the pairs after it, or its spelling changed. The words
    and their links stay the same."""
    count = values.randint(2, 3) if values.random() < JOINED else 1
    pair = joined(pairs[index:index + count])
    for share, change in (SPACED, spaced), (LOWERED, str.lower), (TYPED, typed):
        if values.random() < share:
            pair = Linked(change(pair.source), change(pair.target), pair.links)
    return pair


def encode(pair: Linked, sides: tuple[Tokenizer, Tokenizer], eos: bool) -> Example:
    tokens = [side.tokens(text) for side, text in zip(sides, pair[:2])]
    between = links.between_pieces(pair.links, *(aligner.words_of_pieces(t, text) for t, text in zip(tokens, pair[:2])))
    return Example([token.id for token in tokens[0]] + [sides[0].special[-1]] * eos, [token.id for token in tokens[1]],
                   between)


def examples(pairs: list[Linked], model: Model, sides: tuple[Tokenizer, Tokenizer],
             values: random.Random) -> Iterator[Example]:
    """Yields one epoch of examples in random order, without those that are too long or empty."""
    longest = model.config["limits"]["max_source_tokens"]
    for index in values.sample(range(len(pairs)), len(pairs)):
        example = encode(varied(pairs, index, values), sides, model.config["encoder"]["eos"])
        if (len(example.source) - 1 <= longest and len(example.target) <= 3 * longest and example.source
            and example.target):
            yield example


def batches(stream: Iterator[Example], values: random.Random) -> Iterator[list[Example]]:
    """Sorts each pool by length and cuts it into batches."""
    pool: list[Example] = []
    for example in stream:
        pool.append(example)
        if len(pool) == POOL:
            yield from cut(pool, values)
            pool = []
    yield from cut(pool, values)


def cut(pool: list[Example], values: random.Random) -> list[list[Example]]:
    lengths = [(len(example.source), len(example.target) + 1) for example in pool]
    found = data.make_batches(lengths, BATCH_TOKENS, values.randrange(1 << 30), 0)
    return [[pool[i] for i in batch] for batch in found]


# ---- training ----

def guide_of(batch: list[Example], tokens: int, eos: bool, unlinked: float) -> tuple[Tensor, Tensor]:
    """Returns the attention that each target token, including </s>, is trained towards, [B, S, T], whose rows sum to 1
    or to 0; and the weight of each row, [B, S]."""
    guide = torch.zeros(len(batch), max(len(e.target) for e in batch) + 1, tokens)
    for row, example in zip(guide, batch):
        for i, j in example.links:
            row[j, i] = 1
        if eos:
            row[len(example.target), len(example.source) - 1] = 1
    weights = (guide.sum(2) > 0).float()
    if eos and unlinked:
        for row, weight, example in zip(guide, weights, batch):
            none = torch.nonzero(weight[:len(example.target)] == 0)[:, 0]
            row[none, len(example.source) - 1] = 1
            weight[none] = unlinked
    return guide / guide.sum(2, keepdim=True).clamp_min(1), weights


@torch.no_grad()
def forced(model: Model, fast: Fused | None, source: Tensor, lengths: Tensor, inputs: Tensor) -> tuple[Memory, Tensor]:
    """Returns the memory from which the head computes its keys, and the decoder states [B, S, H]. fast: the fused
    implementation of the model, which is much faster, if its configuration is supported."""
    if fast:
        annotations, states = fast.states(source, lengths, inputs)
        return model.decoder.memory(annotations, lengths, []), states
    annotations, finals = model.encoder(source, lengths)
    memory = model.decoder.memory(annotations, lengths, finals)
    return memory, model.teach(inputs, model.decoder.start(memory, finals), memory).states


def loss_of(model: Model, batch: list[Example], unlinked: float, fast: Fused | None = None, end: int = EOS) -> Tensor:
    """Mean cross-entropy over the rows with a nonzero weight. end: the id of the target's </s>."""
    source, lengths = search.pad([example.source for example in batch])
    tokens, _ = search.pad([[*example.target, end] for example in batch])
    inputs = torch.cat([torch.full((len(batch), 1), BOS), tokens[:, :-1]], dim=1)
    memory, states = forced(model, fast, source, lengths, inputs)
    memory.alignment_keys = model.head.keys(memory.annotations, model.encoder.embedding(source))
    guide, weights = guide_of(batch, source.shape[1], model.config["encoder"]["eos"], unlinked)
    found = model.align(tokens, states, memory)
    rows = -(guide * found.clamp_min(1e-9).log()).sum(2)
    return (rows * weights).sum() / weights.sum().clamp_min(1)


def train(model: Model, sides: tuple[Tokenizer, Tokenizer], pairs: list[Linked], options: Options) -> float:
    """Trains model.head only. Returns the mean loss over the last tenth of the steps."""
    torch.manual_seed(options.seed)
    values = random.Random(options.seed)
    model.requires_grad_(False).eval()
    model.head.requires_grad_(True)
    optimizer = torch.optim.Adam(model.head.parameters(), betas=(0.9, 0.98))
    fast = Fused(model) if supported(model.config) and shutil.which(os.environ.get("CC", "cc")) else None
    losses: list[float] = []
    total, done = options.epochs * len(pairs), 0
    bar = tqdm(total=total, unit="pair", smoothing=0.02, disable=None)
    for _ in range(options.epochs):
        for batch in batches(examples(pairs, model, sides, values), values):
            for group in optimizer.param_groups:
                group["lr"] = LEARNING_RATE * min(1, (done + len(batch)) / (WARMUP * total)) * (1 - done / total)
            loss = loss_of(model, batch, options.unlinked, fast, sides[1].special[-1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
            done += len(batch)
            bar.update(len(batch))
            bar.set_postfix(loss=f"{numpy.mean(losses[-100:]):.3f}")
    bar.close()
    return float(numpy.mean(losses[-max(1, len(losses) // 10):]))


# ---- model folders ----

def with_head(path: Path, size: int) -> tuple[Model, tuple[Tokenizer, Tokenizer]]:
    """Reads the folder's model and adds a randomly initialised head."""
    old, *sides = folder.read(path, searches=False)
    sizes = {"source": old.encoder.embedding.num_embeddings, "target": old.decoder.embedding.num_embeddings,
             "characters": old.speller.embedding.num_embeddings if old.speller else 0}
    torch.manual_seed(1)
    model = Model(configuration.validate(old.config | {"alignment": {"size": size}}), **sizes).eval()
    tensors = {name: tensor for name, tensor in model.named_tensors().items() if name.startswith("alignment.")}
    kept = {name: tensor for name, tensor in old.named_tensors().items() if not name.startswith("alignment.")}
    folder.load_tensors(model, {name: tensor.detach().numpy() for name, tensor in (kept | tensors).items()})
    return model, tuple(sides)


def storage_of(stored: dict[str, numpy.ndarray]) -> str:
    """The storage type of the model's matrices."""
    matrix = next(tensor for tensor in stored.values() if tensor.ndim == 2)
    return next(name for name, kind in storage.STORAGES.items() if kind.dtype == matrix.dtype)


def write(path: Path, out: Path, model: Model) -> None:
    """Writes the folder `path` with the head of `model` to `out`, which may be the same folder. An existing head is
    replaced."""
    stored, metadata = safetensors.read(path / WEIGHTS)
    kept = {name: tensor for name, tensor in stored.items() if not name.startswith("alignment.")}
    head = {name: tensor.detach().numpy() for name, tensor in model.head.named_tensors().items()}
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as work:
        made = Path(shutil.copytree(path, Path(work) / "model"))
        safetensors.write(made / WEIGHTS, kept | storage.store(head, storage_of(kept)), metadata)
        config = json.loads((path / "config.json").read_text(encoding="utf-8")) | {
            "alignment": {"size": model.config["alignment"]["size"]}}
        (made / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        manifest.renew(made)
        if out.exists():
            for name in (WEIGHTS, "config.json"):
                (made / name).replace(out / name)
            manifest.renew(out)
        else:
            made.rename(out)


def read_links(names: list[str], files: list[Path], flip: bool, symmetry: str) -> list[Linked]:
    """Reads pairs and their links: from files, one per corpus, or else from the aligner."""
    corpora = [list(aligner.read_pairs(name)) for name in names]
    if files:
        lines = [line for name, corpus in zip(files, corpora, strict=True) for line in lines_of(name, len(corpus))]
    else:
        print("aligning", file=sys.stderr)
        lines = list(aligner.align([pair for corpus in corpora for pair in corpus], options=()))
    pairs = [pair for corpus in corpora for pair in corpus]
    return [linked(pair, line, flip, symmetry) for pair, line in zip(pairs, lines, strict=True)]


def read_sources(root: Path, languages: tuple[str, str], count: int, seed: int, flip: bool,
                 symmetry: str) -> list[Linked]:
    """Samples about `count` pairs from the sources of general models (weights/corpora/sources.tsv), in proportion to
    their weights. languages: source and target."""
    pair = "-".join(languages[::-1] if flip else languages)
    return [linked((a, b), line, flip, symmetry) for a, b, line in mixture.sample(root, pair, count, seed)]


def lines_of(path: Path, count: int) -> list[str]:
    lines = data.read_lines(path) if path.suffix == ".gz" else path.read_text(encoding="utf-8").splitlines()
    if len(lines) != count:
        raise aligner.AlignerError(f"{path}: {len(lines)} lines for {count} pairs")
    return lines


def linked(pair: aligner.Pair, line: str, flip: bool, symmetry: str = SYMMETRIES[0]) -> Linked:
    """line: links, or the links of both runs separated by a TAB, which are merged by `symmetry`."""
    runs = [links.parse(run) for run in line.split("\t")]
    found = (links.grow_diag_final_and(*runs) if len(runs) == 2 and symmetry == SYMMETRIES[0]
             else sorted(set.intersection(*runs)))
    return Linked(pair[1], pair[0], [(j, i) for i, j in found]) if flip else Linked(*pair, found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=("Gives a model folder an alignment head, trained on text in its languages; nothing else of the "
                     "model changes."))
    parser.add_argument("model", type=Path, help="an exported or converted model folder")
    text = parser.add_mutually_exclusive_group(required=True)
    text.add_argument("--data", action="append", metavar="CORPUS",
                      help="source TAB target, one pair a line; .gz is unpacked; may be given several times")
    text.add_argument("--corpora", type=Path, metavar="DIR",
                      help=("the folder of all corpora and links that general models are trained on "
                            "(weights/training/mixture.py)"))
    parser.add_argument("--links", action="append", type=Path, default=[], metavar="FILE",
                        help="word links of each corpus, as weights.aligner prints them; without: they are made")
    parser.add_argument("--symmetry", choices=SYMMETRIES, default=SYMMETRIES[0],
                        help="how links of both runs, if there are such, become one (%(default)s)")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="how many of --corpora (%(default)s)")
    parser.add_argument("--flip", action="store_true", help="the model translates the second column into the first")
    parser.add_argument("--out", type=Path, help="the folder to make; without: the model's own files are replaced")
    parser.add_argument("--size", type=int, default=SIZE, help="of queries and keys (%(default)s)")
    parser.add_argument("--epochs", type=int, default=1, help="passes through the text (%(default)s)")
    parser.add_argument("--unlinked", type=float, default=0.0,
                        help=("weight with which a word without a link learns to look at </s> (%(default)s: it learns "
                              "nothing)"))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    model, sides = with_head(arguments.model, arguments.size)
    how = arguments.flip, arguments.symmetry
    if arguments.corpora:
        pairs = read_sources(arguments.corpora, (model.config["source"], model.config["target"]), arguments.pairs,
                             arguments.seed, *how)
    else:
        pairs = read_links(arguments.data, arguments.links, *how)
    loss = train(model, sides, pairs, Options(arguments.size, arguments.epochs, arguments.seed, arguments.unlinked))
    out = arguments.out or arguments.model
    write(arguments.model, out, model)
    print(f"{out}: a head of {sum(p.numel() for p in model.head.parameters()):,} parameters, loss {loss:.3f}")


if __name__ == "__main__":
    run_command(main)
