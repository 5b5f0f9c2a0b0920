"""Alignment error rate: python3 -m weights.align MODEL_FOLDER --gold FILE [--reverse MODEL_FOLDER] [--flip] [--alignd build/alignd]

Input: a model, or two of opposite directions, and gold word alignments (source words TAB target words TAB links `i-j` sure, `ipj` possible;
--flip: the model translates the second column into the first). The daemon forces each model through the pairs and returns its
attention; pieces are merged into the file's own words (summed over source pieces, averaged over target pieces). Output: the AER of each way in
WAYS to turn attention into links, and of the diagonal, which looks at no word.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator

import numpy
from numpy import ndarray

from . import compute, data, lexicon, scores
from .evaluate import Daemon, chunks
from .tokenizer import SPACE, Tokenizer, Words

BATCH = 16  # pairs in a request
LONGEST = 1000  # source tokens: gold sentences cannot be cut
END = "</s>"
LEAST, BALANCING_ROUNDS = 1e-6, 5
Links = set[tuple[int, int]]  # (source word, target word)


@dataclass
class Gold:
    """One pair and its links, (source word, target word)."""

    source: str
    target: str
    sure: Links
    possible: Links


def parse_links(text: str, mark: str, flip: bool = False) -> Links:
    """mark: "-" or "p"."""
    pairs = (tuple(map(int, link.split(mark))) for link in text.split() if mark in link)
    return {(j, i) if flip else (i, j) for i, j in pairs}


def read_gold(path: Path, flip: bool = False) -> list[Gold]:
    gold = []
    for line in data.read_lines(path):
        source, target, links = line.split("\t")
        texts = (target, source) if flip else (source, target)
        gold.append(Gold(*texts, parse_links(links, "-", flip), parse_links(links, "p", flip)))
    return gold


def begins_word(pieces: list[str]) -> list[bool]:
    """SentencePiece and characters: the mark of white space begins a word. Words: all do, but for punctuation marked as touching."""
    if any(piece.startswith(SPACE) for piece in pieces):
        begins = [piece.startswith(SPACE) for piece in pieces]
    else:
        shown = [Words.show(piece, {"punctuation": True}) for piece in pieces]
        begins = [not (left or before) for (_, left, _), before in zip(shown, [False] + [right for _, _, right in shown])]
    return [True] + begins[1:]


def membership(pieces: list[str], text: str) -> ndarray:
    """[words, pieces]: 1 where the piece belongs to the word, words standing between spaces of the text; pieces without the final </s>.

    Offsets would not do: where alignd prints a text from its pieces, what is unknown in it has lost its place. A text of one word has no mark
    in a vocabulary of characters, and needs none.
    """
    count = len(text.split())
    words = numpy.cumsum(begins_word(pieces)) - 1 if count > 1 else numpy.zeros(len(pieces))
    if not pieces or words[-1] != count - 1:
        raise ValueError(f"{len(set(words))} words in the pieces of {count}: {text!r}")
    return (words[None] == numpy.arange(count)[:, None]).astype(float)


def word_matrix(sentence: dict, source: str, target: str, shift: int) -> ndarray:
    """A sentence of /attention, </s> included -> [target words, source words + 1], the last column the source's </s> (0 if none is read).

    shift: rows to look ahead: 1 takes for a piece the attention of the step after, whose state has read the piece.
    """
    attention, pieces = numpy.array(sentence["attention"]), sentence["source_tokens"]
    end = attention[:, -1:] if pieces[-1] == END else numpy.zeros((len(attention), 1))
    sources = membership(pieces[:-1] if pieces[-1] == END else pieces, source)
    targets = membership(sentence["tokens"][:-1], target)
    rows = numpy.hstack([attention[:, :sources.shape[1]] @ sources.T, end])[shift:shift + targets.shape[1]]
    return targets @ rows / targets.sum(axis=1, keepdims=True)


@contextmanager
def unlimited(model: Path) -> Iterator[Path]:
    """The model folder with the limit on source tokens raised. A model with parameters for each of its positions is trained with this limit."""
    with tempfile.TemporaryDirectory() as work:
        copy = Path(shutil.copytree(model, Path(work) / model.name))
        config = json.loads((copy / "config.json").read_text())
        config["limits"]["max_source_tokens"] = LONGEST
        (copy / "config.json").write_text(json.dumps(config))
        yield copy


def sentences(alignd: Path, model: Path, pairs: list[tuple[str, str]]) -> list[dict]:
    """What /attention says of each (source, target)."""
    found = []
    flags = ["--max-text-chars", "1000000", "--workers", "1"]
    with unlimited(model) as copy, compute.daemon(alignd, copy, compute.Variant(model.name, flags)) as url:
        client = Daemon(url, json.loads((model / "config.json").read_text())["name"])
        for chunk in chunks(pairs, BATCH):
            body = {"model": client.model, "text": [s for s, _ in chunk], "target": [t for _, t in chunk],
                    "include": ["tokens", "attention", "eos"]}
            found += [result["sentences"][0] for result in client.request("/attention", body)["results"]]
    return found


def best_of_rows(words: ndarray) -> Links:
    """words [target words, source words]: each target word's best source word."""
    return {(int(j), i) for i, j in enumerate(words.argmax(axis=1))}


def best_both_ways(words: ndarray) -> Links:
    """Links that are the best of their row and of their column."""
    return best_of_rows(words) & {(j, int(i)) for j, i in enumerate(words.argmax(axis=0))}


def best_with_end(attention: ndarray) -> Links:
    """Each target word's best source word, none where </s> is better than every word."""
    return {(j, i) for j, i in best_of_rows(attention) if j < attention.shape[1] - 1}


def without_end(attention: ndarray) -> ndarray:
    """[target words, source words + 1] -> [target words, source words], rows that sum to 1."""
    words = attention[:, :-1]
    return words / numpy.maximum(words.sum(axis=1, keepdims=True), 1e-9)


def balanced(words: ndarray) -> ndarray:
    """Columns and rows brought to sum 1 in turn (Sinkhorn), so that a source word that attracts every step loses its lead."""
    words = words + LEAST
    for _ in range(BALANCING_ROUNDS):
        words = words / words.sum(axis=0, keepdims=True)
        words = words / words.sum(axis=1, keepdims=True)
    return words


def geometric_mean(forward: ndarray, backward: ndarray) -> ndarray:
    return numpy.sqrt(without_end(forward) * without_end(backward).T)


def near_diagonal(words: ndarray) -> ndarray:
    return words / numpy.maximum(words.sum(axis=1, keepdims=True), 1e-9) * lexicon.diagonal_prior(*words.shape)


# From attention to links; `alignd attention` has the best of them (server/decode/links.c). forward, backward: [target words, source words + 1], each in its own model's direction.
# name -> (rows to look ahead, function of (forward) or, where there is a second model, of (forward, backward)).
ONE_WAY: dict[str, tuple[int, Callable[[ndarray], Links]]] = {
    "best, </s> among them": (0, best_with_end),
    "best word": (0, lambda a: best_of_rows(without_end(a))),
    "best word, next step": (1, lambda a: best_of_rows(without_end(a))),
    "best word, balanced": (0, lambda a: best_of_rows(balanced(without_end(a)))),
    "best both ways, balanced, near the diagonal": (0, lambda a: best_both_ways(balanced(near_diagonal(without_end(a))))),
}
TWO_WAYS: dict[str, tuple[int, Callable[[ndarray, ndarray], Links]]] = {
    "both models, mean, best word": (0, lambda a, b: best_of_rows(without_end(a) + without_end(b).T)),
    "both models, mean, best both ways": (0, lambda a, b: best_both_ways(without_end(a) + without_end(b).T)),
    "both models, geometric mean, best both ways": (0, lambda a, b: best_both_ways(geometric_mean(a, b))),
    "both models, geometric mean, best both ways, balanced, near the diagonal":
        (0, lambda a, b: best_both_ways(balanced(near_diagonal(geometric_mean(a, b))))),
}


def rate(gold: list[Gold], links: list[Links]) -> float:
    return scores.aer(links, [g.sure for g in gold], [g.possible for g in gold])


def diagonal_links(gold: Gold) -> Links:
    return best_of_rows(lexicon.diagonal_prior(len(gold.target.split()), len(gold.source.split())))


def lexical_links(lexical: lexicon.Lexical, source: Tokenizer, target: Tokenizer, gold: Gold) -> Links:
    """Of pieces, merged into words as attention is."""
    pieces = [[token.piece for token in side.tokens(text)] for side, text in ((source, gold.source), (target, gold.target))]
    sources, targets = membership(pieces[0], gold.source), membership(pieces[1], gold.target)
    matrix = lexical.of(source.encode(gold.source), target.encode(gold.target))
    return best_both_ways(targets @ matrix @ sources.T / targets.sum(axis=1, keepdims=True))


def measure(alignd: Path, model: Path, reverse: Path | None, gold: list[Gold]) -> dict[str, float]:
    """AER of every way."""
    forward = sentences(alignd, model, [(g.source, g.target) for g in gold])
    backward = sentences(alignd, reverse, [(g.target, g.source) for g in gold]) if reverse else []
    rates = {}
    for name, (shift, links) in ONE_WAY.items():
        rates[name] = rate(gold, [links(word_matrix(f, g.source, g.target, shift)) for f, g in zip(forward, gold, strict=True)])
    for name, (shift, links) in TWO_WAYS.items() if reverse else ():
        rates[name] = rate(gold, [links(word_matrix(f, g.source, g.target, shift), word_matrix(b, g.target, g.source, shift))
                                  for f, b, g in zip(forward, backward, gold, strict=True)])
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="an exported model folder")
    parser.add_argument("--gold", type=Path, required=True, help="gold alignments, gzip")
    parser.add_argument("--reverse", type=Path, help="a model of the other direction")
    parser.add_argument("--flip", action="store_true", help="the model translates the second column into the first")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    gold = read_gold(arguments.gold, arguments.flip)
    print(f"{arguments.gold.parent.name}: {len(gold)} pairs, {sum(len(g.sure) for g in gold)} sure links; AER:")
    print(f"{rate(gold, [diagonal_links(g) for g in gold]):6.1f}  diagonal")
    for name, value in measure(arguments.alignd, arguments.model, arguments.reverse, gold).items():
        print(f"{value:6.1f}  {name}")


if __name__ == "__main__":
    main()
