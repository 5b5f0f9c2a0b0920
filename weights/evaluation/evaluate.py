"""Evaluation: python3 -m weights.evaluation.evaluate MODEL --data DIR [--corpus NAME] [--flip] [--pytorch] [--url
http://127.0.0.1:8080] [--card]

Input: an exported model folder and a split of a corpus below DIR (weights/corpora/data.py; without --corpus
DIR/SPLIT.tsv.gz). Output: the scores of the model's task (SCORES) for greedy and beam search, by PyTorch with the
stored weights, by the daemon at --url, or by both. With both, also every sentence whose tokens differ, with the margin
of PyTorch's closest choice in it (a rounding error can only change a choice whose margin is about as small). --card
writes the model card, MODEL_FOLDER/README.md, with the scores of this run.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import torch
from tqdm import tqdm

from ..command import run_command
from ..corpora import data
from ..model import copies, folder, search
from . import card, scores
from .client import BATCH, Daemon, Output, chunks
from ..model.copies import Source
from ..model.network import Model
from ..model.search import Hypothesis
from ..model.tokenizer import Tokenizer, load_characters, lower, options_of
from ..model.vocabulary import VocabularyError

# The metrics of each task.
SCORES: dict[str, dict[str, Callable[[list[str], list[str]], float]]] = {
    "translation": {"BLEU": scores.bleu, "chrF": scores.chrf},
    "parsing": {"exact match %": scores.exact_match},
}


class PyTorch:
    """Translates in PyTorch with the folder's stored weights, in batches of sentences of similar length."""

    name = "pytorch"

    def __init__(self, model: Model, source: Tokenizer, target: Tokenizer, characters: Tokenizer | None = None) -> None:
        self.model, self.source, self.target, self.characters = model, source, target, characters

    def _search(self, sources: list[Source], strategy: str, beam_size: int) -> list[Hypothesis]:
        ids, words = [source.ids for source in sources], [source.words for source in sources]
        if strategy == "greedy":
            return search.greedy(self.model, ids, words=words)
        return [hypotheses[0] for hypotheses in search.beam(self.model, ids, beam_size, words=words)]

    def translate(self, texts: list[str], strategy: str, beam_size: int) -> list[Output]:
        encoded = [copies.source_of(text, self.source, self.target, self.model.config) for text in texts]
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i].ids))
        outputs: dict[int, Output] = {}
        for chunk in tqdm(list(chunks(order, BATCH)), desc=f"{self.name} {strategy}", leave=False, disable=None):
            for i, best in zip(chunk, self._search([encoded[i] for i in chunk], strategy, beam_size)):
                spelled = search.print_unknowns(self.model, encoded[i].ids, best, self.source.texts(texts[i]),
                                                self.characters)
                others = copies.copied(best.tokens, self.target, encoded[i]) | spelled
                pieces = [others.get(place) or self.target.pieces[token] for place, token in enumerate(best.tokens)]
                outputs[i] = Output(copies.decode(best.tokens, self.target, encoded[i], spelled), pieces, best.margin)
        return [outputs[i] for i in range(len(texts))]


@dataclass
class Result:
    """One engine's output for the whole set with one search strategy."""

    engine: str
    strategy: str
    scores: dict[str, float]
    seconds: float
    outputs: list[Output]


def run(engine: PyTorch | Daemon, strategy: str, beam_size: int, sources: list[str], references: list[str],
        task: str = "translation") -> Result:
    begin = time.monotonic()
    outputs = engine.translate(sources, strategy, beam_size)
    seconds = time.monotonic() - begin
    texts = [output.text for output in outputs]
    found = {name: score(texts, references) for name, score in SCORES[task].items()}
    return Result(engine.name, strategy, found, seconds, outputs)


def differences(ours: list[Output], theirs: list[Output]) -> list[int]:
    """The indices of sentences whose pieces differ."""
    return [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a.pieces != b.pieces]


def report(results: list[Result], show: Callable[[str], None] = print) -> None:
    """Prints the scores of one strategy, and the sentences in which the engines differ."""
    for r in results:
        found = "  ".join(f"{name} {score:6.2f}" for name, score in r.scores.items())
        show(f"{r.engine:8} {r.strategy:7} {found}  {r.seconds:7.1f} s")
    if len(results) < 2:
        return
    ours, theirs = results[0].outputs, results[1].outputs
    different = differences(ours, theirs)
    show(f"{results[0].strategy}: {len(different)} of {len(ours)} sentences differ token for token")
    for i in different:
        show(f"  line {i + 1}: margin {ours[i].margin:.2e}: {ours[i].text!r} / {theirs[i].text!r}")


def command_line(arguments: argparse.Namespace, name: str) -> str:
    """The command that reproduces these scores, for the card."""
    flags = [f"--corpus {arguments.corpus}"] if arguments.corpus != "tsv" else []
    flags += [f"--split {arguments.split}"] if arguments.split != "test" else []
    flags += [f"--beam-size {arguments.beam_size}"] if arguments.beam_size != 5 else []
    flags += [flag for flag, given in (("--flip", arguments.flip), ("--pytorch", arguments.pytorch)) if given]
    flags += [f"--url {arguments.url}"] if arguments.url else []
    return " ".join([f"python3 -m weights.evaluation.evaluate weights/{name} --data DATA", *flags])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the test set and the model."""
    parser.add_argument("model", type=Path, help="an exported model folder")
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--corpus", default="tsv", choices=data.CORPORA, help="in that folder; tsv: SPLIT.tsv.gz")
    parser.add_argument("--split", default="test")
    parser.add_argument("--flip", action="store_true", help="translate the second column into the first")
    parser.add_argument("--beam-size", type=int, default=5)


def open_pytorch(path: Path) -> PyTorch:
    """Opens the folder in PyTorch. Exits if PyTorch's searches cannot read its vocabularies, as with imported
    models."""
    try:
        model, source, target = folder.read(path)
    except VocabularyError as error:
        sys.exit(f"{path}: {error}")
    return PyTorch(model, source, target, load_characters(path, model.config))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("--pytorch", action="store_true", help="translate with PyTorch (the default without --url)")
    parser.add_argument("--url", help="translate with the daemon there, which must serve this model")
    parser.add_argument("--card", action="store_true", help="write MODEL/README.md with these scores")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    pairs = data.CORPORA[arguments.corpus].read(arguments.data, arguments.split, arguments.flip)
    sources, references = [s for s, _ in pairs], [t for _, t in pairs]
    config = folder.read_config(arguments.model)
    if options_of(config["tokenizer"], "target")["lowercase"]:
        references = [lower(t) for t in references]
    engines: list[PyTorch | Daemon] = []
    if arguments.pytorch or not arguments.url:
        engines.append(open_pytorch(arguments.model))
    if arguments.url:
        engines.append(Daemon(arguments.url, config["name"]))
    print(f"{config['name']}, {arguments.split}: {len(pairs)} sentences, beam size {arguments.beam_size}")
    found = []
    for strategy in ("greedy", "beam"):
        results = [run(engine, strategy, arguments.beam_size, sources, references, config["task"])
                   for engine in engines]
        report(results)
        found += results
    if arguments.card:
        table = [(r.engine, f"beam {arguments.beam_size}" if r.strategy == "beam" else r.strategy, r.scores)
                 for r in found]
        card.write(arguments.model, table, command_line(arguments, config["name"]), len(pairs), arguments.flip)


if __name__ == "__main__":
    run_command(main)
