"""Alignment error rate: python3 -m weights.alignment.align MODEL_FOLDER --gold FILE [--reverse MODEL_FOLDER] [--flip]
[--known CORPUS.tsv]

Input: a model, or two of opposite directions, and gold word alignments (source words TAB target words TAB links `i-j`
sure, `ipj` possible; then, where the words are not all that the sentences are, TAB source sentence TAB target sentence;
--flip: the model translates the second column into the first). The daemon forces each model through the pairs and
returns its attention and, where it has an alignment head, the soft alignment (with --head PyTorch computes that, and
nothing else is measured). Pieces are merged into the file's own words (summed over source pieces, averaged over target
pieces). Output: the AER of each way in WAYS to turn a matrix into links, and of the diagonal, which looks at no word;
the head's also by source length, and with --known for the links between words that the corpus has; and how much of the
attention lies on </s>.
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
import torch
from numpy import ndarray

from ..command import CommandError, run_command
from ..corpora import data
from ..evaluation import compute, scores
from ..model import folder, manifest, search
from . import aligner, lexicon
from ..evaluation.client import Daemon, chunks
from .links import Span
from ..model.network import Model
from ..model.tokenizer import BOS, EOS, Token, Tokenizer

BATCH = 16  # pairs per request
LONGEST = 1000  # source tokens: gold sentences cannot be cut
LENGTHS = (10, 20, 30)  # source words: upper bounds of the length buckets for the head
LEAST, BALANCING_ROUNDS = 1e-6, 5
OF_TARGET, OF_SOURCE, OF_MERGED = 0.5, 0.2, 0.3  # thresholds of the daemon's `several` (server/decode/outcome.c)
Links = set[tuple[int, int]]  # (source word, target word)


@dataclass
class Gold:
    """One sentence pair as the models read it, the spans of its words, and its links (source word, target word)."""

    source: str
    target: str
    sure: Links
    possible: Links
    source_words: list[Span]
    target_words: list[Span]


def parse_links(text: str, mark: str, flip: bool = False) -> Links:
    """Parses the links with this mark: "-" (sure) or "p" (possible)."""
    pairs = (tuple(map(int, link.split(mark))) for link in text.split() if mark in link)
    return {(j, i) if flip else (i, j) for i, j in pairs}


def places(words: list[str], text: str) -> list[Span]:
    """The spans of the words in the text, which contains them in this order."""
    spans, end = [], 0
    for word in words:
        begin = text.index(word, end)
        end = begin + len(word)
        spans.append((begin, end))
    return spans


def read_gold(path: Path, flip: bool = False) -> list[Gold]:
    gold = []
    lines = data.read_lines(path) if path.suffix == ".gz" else path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if len(line.split("\t")) < 3:
            raise CommandError(f"{path}:{number}: source TAB target TAB links is expected")
        source, target, links, *texts = line.split("\t")
        words, texts = [source.split(), target.split()], texts or [source, target]
        order = (1, 0) if flip else (0, 1)
        gold.append(Gold(*(texts[i] for i in order), parse_links(links, "-", flip), parse_links(links, "p", flip),
                         *(places(words[i], texts[i]) for i in order)))
    return gold


@dataclass
class Seen:
    """A model's view of a pair: the spans of its source and target tokens, without </s>, and the weights, rows [target
    tokens + 1, source tokens + 1]. The last row is the target's </s>; the last column is the source's </s> (0 if the
    encoder reads none)."""

    source: list[Span]
    target: list[Span]
    rows: ndarray


def membership(pieces: list[Span], words: list[Span]) -> ndarray:
    """Returns [words, pieces]: 1 where the piece and the word share characters. An empty piece belongs to the word that
    follows it."""
    found = [[begin < max(piece[1], piece[0] + 1) and piece[0] < end for piece in pieces] for begin, end in words]
    return numpy.array(found, dtype=float).reshape(len(words), len(pieces))


def word_matrix(seen: Seen, gold: Gold, shift: int) -> ndarray:
    """Returns [target words, source words + 1]; the last column is the source's </s>. The weight of a piece that spans
    several words is divided among them.

    shift: rows to look ahead. With 1, a piece gets the attention of the following step, whose state has read the piece.
    """
    sources, targets = membership(seen.source, gold.source_words), membership(seen.target, gold.target_words)
    sources /= numpy.maximum(sources.sum(axis=0, keepdims=True), 1)
    rows = numpy.hstack([seen.rows[:, :-1] @ sources.T, seen.rows[:, -1:]])[shift:shift + len(seen.target)]
    return targets @ rows / numpy.maximum(targets.sum(axis=1, keepdims=True), 1)


def spans_of(offsets: list[dict], text: str, count: int) -> list[Span]:
    """Converts the daemon's byte offsets of the first `count` tokens to character spans."""
    characters = {0: 0}
    for place, character in enumerate(text, 1):
        characters[max(characters) + len(character.encode())] = place
    return [(characters[one["start"]], characters[one["end"]]) for one in offsets[:count]]


def seen_by_daemon(sentence: dict, pair: tuple[str, str], matrix: str) -> Seen:
    """Reads a matrix of a sentence in the reply of /attention, </s> included."""
    rows, tokens = numpy.array(sentence[matrix]), len(sentence["source_tokens"])
    if sentence["source_tokens"][-1] != "</s>":
        rows, tokens = numpy.hstack([rows, numpy.zeros((len(rows), 1))]), tokens + 1
    offsets = sentence["offsets"]
    return Seen(spans_of(offsets["source"], pair[0], tokens - 1), spans_of(offsets["target"], pair[1], len(rows) - 1),
                rows)


@contextmanager
def unlimited(model: Path) -> Iterator[Path]:
    """Yields a copy of the model folder with a higher limit on source tokens. A model with learned positions must have
    been trained with this limit."""
    with tempfile.TemporaryDirectory() as work:
        copy = Path(shutil.copytree(model, Path(work) / model.name))
        config = json.loads((copy / "config.json").read_text())
        config["limits"]["max_source_tokens"] = LONGEST
        (copy / "config.json").write_text(json.dumps(config))
        manifest.renew(copy)
        yield copy


def has_head(model: Path) -> bool:
    return folder.read_config(model)["alignment"]["size"] > 0


def attention(alignd: Path, model: Path, pairs: list[tuple[str, str]]) -> tuple[list[Seen], list[Seen]]:
    """The reply of /attention for each (source, target): attention, and the soft alignment if the model has a head."""
    found: dict[str, list[Seen]] = {"attention": []} | ({"soft_alignment": []} if has_head(model) else {})
    flags = ["--max-text-chars", "1000000", "--workers", "1"]
    with unlimited(model) as copy, compute.daemon(alignd, copy, compute.Variant(model.name, flags)) as url:
        client = Daemon(url, json.loads((model / "config.json").read_text())["name"])
        for chunk in chunks(pairs, BATCH):
            body = {"model": client.model, "text": [s for s, _ in chunk], "translation": [t for _, t in chunk],
                    "split_sentences": False, "include": ["tokens", "offsets", "eos", *found], "digits": 9}
            for result, pair in zip(client.request("/attention", body)["results"], chunk, strict=True):
                for matrix, seen in found.items():
                    seen.append(seen_by_daemon(result["sentences"][0], pair, matrix))
    return found["attention"], found.get("soft_alignment", [])


def spans_of_tokens(tokens: list[Token], text: str) -> list[Span]:
    """The spans of the tokens without their leading white space."""
    return [(token.end - len(text[token.begin:token.end].lstrip()), token.end) for token in tokens]


@torch.no_grad()
def seen_by_head(model: Model, sides: tuple[Tokenizer, Tokenizer], pair: tuple[str, str]) -> Seen:
    """Computes the soft alignment of a model with an alignment head."""
    tokens = [side.tokens(text) for side, text in zip(sides, pair)]
    eos = model.config["encoder"]["eos"]
    ids, lengths = search.pad([[token.id for token in tokens[0]] + [EOS] * eos])
    target = [token.id for token in tokens[1]]
    memory, state = model.encode(ids, lengths)
    states = model.teach(torch.tensor([[BOS, *target]]), state, memory).states
    rows = model.align(torch.tensor([[*target, EOS]]), states, memory)[0].numpy()
    return Seen(*(spans_of_tokens(*side) for side in zip(tokens, pair)),
                rows if eos else numpy.hstack([rows, numpy.zeros((len(rows), 1))]))


def soft_alignment(model: Path, pairs: list[tuple[str, str]]) -> list[Seen]:
    """Computes the alignment head's rows for each (source, target) in PyTorch; empty if the model has no head."""
    if not has_head(model):
        return []
    read, *sides = folder.read(model)
    return [seen_by_head(read, tuple(sides), pair) for pair in pairs]


def best_of_rows(words: ndarray) -> Links:
    """words [target words, source words]: each target word's best source word."""
    return {(int(j), i) for i, j in enumerate(words.argmax(axis=1))}


def best_both_ways(words: ndarray) -> Links:
    """Links that are the best in both their row and their column."""
    return best_of_rows(words) & {(j, int(i)) for j, i in enumerate(words.argmax(axis=0))}


def best_with_end(attention: ndarray) -> Links:
    """Each target word's best source word; no link where </s> outweighs every word."""
    return {(j, i) for j, i in best_of_rows(attention) if j < attention.shape[1] - 1}


def more_than_end(words: ndarray) -> Links:
    """The daemon's rule for `alignment`: the best source word; no link where </s> has half of the weight or more."""
    return {(j, i) for j, i in best_of_rows(words[:, :-1]) if words[i, -1] < 0.5}


def best_of_either(words: ndarray, target: float, source: float) -> Links:
    """Links each target word to its best source word if the weight is at least `target`, and each source word to its
    best target word if the weight is at least `source`."""
    links = {(j, i) for j, i in best_of_rows(words) if words[i, j] >= target}
    return links | {(j, int(i)) for j, i in enumerate(words.argmax(axis=0)) if words[i, j] >= source}


def without_end(attention: ndarray) -> ndarray:
    """Returns [target words, source words] from [target words, source words + 1], with rows that sum to 1."""
    words = attention[:, :-1]
    return words / numpy.maximum(words.sum(axis=1, keepdims=True), 1e-9)


def balanced(words: ndarray) -> ndarray:
    """Columns and rows brought to sum 1 in turn (Sinkhorn), so that a source word that attracts every step loses its
    lead."""
    words = words + LEAST
    for _ in range(BALANCING_ROUNDS):
        words = words / words.sum(axis=0, keepdims=True)
        words = words / words.sum(axis=1, keepdims=True)
    return words


def geometric_mean(forward: ndarray, backward: ndarray) -> ndarray:
    return numpy.sqrt(without_end(forward) * without_end(backward).T)


def near_diagonal(words: ndarray) -> ndarray:
    return words / numpy.maximum(words.sum(axis=1, keepdims=True), 1e-9) * lexicon.diagonal_prior(*words.shape)


# Ways to turn attention into links; `alignd attention` uses the best of them (server/decode/outcome.c). forward,
# backward: [target words, source words + 1], each in the direction of its own model. Name -> (rows to look ahead,
# function of (forward) or, with a second model, of (forward, backward)).
ONE_WAY: dict[str, tuple[int, Callable[[ndarray], Links]]] = {
    "best, </s> among them": (0, best_with_end),
    "best word": (0, lambda a: best_of_rows(without_end(a))),
    "best word, next step": (1, lambda a: best_of_rows(without_end(a))),
    "best word, balanced": (0, lambda a: best_of_rows(balanced(without_end(a)))),
    "best both ways, balanced, near the diagonal": (0,
                                                    lambda a: best_both_ways(balanced(near_diagonal(without_end(a))))),
}
HEAD: dict[str, Callable[[ndarray], Links]] = {
    "head": more_than_end,
    "head, best word": lambda a: best_of_rows(without_end(a)),
    "head, best both ways": lambda a: best_both_ways(without_end(a)) & more_than_end(a),
    "head, balanced": lambda a: best_both_ways(balanced(without_end(a))) & more_than_end(a),
    "head, several": lambda a: best_of_either(a[:, :-1], OF_TARGET, OF_SOURCE),
}
TWO_HEADS: dict[str, Callable[[ndarray, ndarray], Links]] = {
    "both heads, geometric mean, best both ways": lambda a, b: best_both_ways(geometric_mean(a, b)),
    "both heads, geometric mean, best both ways, balanced": lambda a, b: best_both_ways(balanced(geometric_mean(a, b))),
    "both heads, geometric mean, several": lambda a, b: best_of_either(numpy.sqrt(a[:, :-1] * b[:, :-1].T), OF_MERGED,
                                                                       OF_MERGED),
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
    return best_of_rows(lexicon.diagonal_prior(len(gold.target_words), len(gold.source_words)))


def lexical_links(lexical: lexicon.Lexical, source: Tokenizer, target: Tokenizer, gold: Gold) -> Links:
    """Merges pieces into words as `word_matrix` does for attention."""
    tokens = source.tokens(gold.source), target.tokens(gold.target)
    sources = membership(spans_of_tokens(tokens[0], gold.source), gold.source_words)
    targets = membership(spans_of_tokens(tokens[1], gold.target), gold.target_words)
    matrix = lexical.of(*([token.id for token in side] for side in tokens))
    return best_both_ways(targets @ matrix @ sources.T / targets.sum(axis=1, keepdims=True))


def rates_of(ways: dict[str, Callable[..., Links]], gold: list[Gold], *matrices: list[ndarray]) -> dict[str, float]:
    return {name: rate(gold, [links(*words) for words in zip(*matrices, strict=True)]) for name, links in ways.items()}


def flipped(gold: list[Gold]) -> list[Gold]:
    """Swaps source and target; the links are dropped."""
    return [Gold(g.target, g.source, set(), set(), g.target_words, g.source_words) for g in gold]


def pairs_of(gold: list[Gold]) -> list[tuple[str, str]]:
    return [(g.source, g.target) for g in gold]


def measure_heads(forward: list[Seen], backward: list[Seen], gold: list[Gold]) -> dict[str, float]:
    """AER of every way to read the soft alignments. backward: those of the model of the opposite direction, or
    empty."""
    one = [word_matrix(seen, g, 0) for seen, g in zip(forward, gold)]
    other = [word_matrix(seen, g, 0) for seen, g in zip(backward, flipped(gold))]
    return (rates_of(HEAD, gold, one) if one else {}) | (rates_of(TWO_HEADS, gold, one, other) if one and other else {})


def measure_attention(forward: list[Seen], backward: list[Seen], gold: list[Gold]) -> dict[str, float]:
    """AER of every way to read the attention. backward: that of the model of the opposite direction, or empty."""
    rates = {}
    for name, (shift, links) in ONE_WAY.items():
        rates |= rates_of({name: links}, gold, [word_matrix(f, g, shift) for f, g in zip(forward, gold, strict=True)])
    for name, (shift, links) in TWO_WAYS.items() if backward else ():
        rates |= rates_of({name: links}, gold, [word_matrix(f, g, shift) for f, g in zip(forward, gold, strict=True)],
                          [word_matrix(b, g, shift) for b, g in zip(backward, flipped(gold), strict=True)])
    return rates


def at_end(seen: list[Seen]) -> tuple[float, float]:
    """Returns the percentage of weight on the source's </s>, and the percentage of target tokens (without </s>) for
    which </s> has the largest weight."""
    rows = [row for one in seen for row in one.rows[:-1]]
    return 100 * float(numpy.mean([row[-1] for row in rows])), scores.share(row.argmax() == len(row) - 1
                                                                            for row in rows)


def served(alignd: Path, model: Path, reverse: Path | None,
           gold: list[Gold]) -> tuple[dict[str, float], list[Seen], list[Seen]]:
    """Returns the AER of every way to read the daemon's replies, the model's attention, and its soft alignments (empty
    if it has no head)."""
    looked, heads = attention(alignd, model, pairs_of(gold))
    back_looked, back_heads = attention(alignd, reverse, pairs_of(flipped(gold))) if reverse else ([], [])
    return measure_attention(looked, back_looked, gold) | measure_heads(heads, back_heads, gold), looked, heads


def measure(alignd: Path, model: Path, reverse: Path | None, gold: list[Gold]) -> dict[str, float]:
    return served(alignd, model, reverse, gold)[0]


def known_part(gold: Gold, known: tuple[set[str], set[str]]) -> tuple[set[int], set[int]]:
    """The source and target words whose parts are all in the vocabularies."""
    texts = (gold.source, gold.source_words), (gold.target, gold.target_words)
    return tuple({i for i, (b, e) in enumerate(spans) if words.issuperset(aligner.words(text[b:e]))}
                 for (text, spans), words in zip(texts, known))


def between(links: Links, part: tuple[set[int], set[int]]) -> Links:
    return {(i, j) for i, j in links if i in part[0] and j in part[1]}


def head_in_parts(seen: list[Seen], gold: list[Gold], corpus: str | None, flip: bool) -> dict[str, float]:
    """AER of the head's links by source length, and between known words."""
    found = [more_than_end(word_matrix(one, g, 0)) for one, g in zip(seen, gold)]
    rates, least = {}, 1
    for most in (*LENGTHS, LONGEST) if found else ():
        part = [(g, links) for g, links in zip(gold, found) if least <= len(g.source_words) <= most]
        if part:
            rates[f"head, {least} to {most} words, {len(part)} pairs"] = rate(*map(list, zip(*part)))
        least = most + 1
    if corpus and found:
        known = set(), set()
        for pair in aligner.read_pairs(corpus):
            for words, text in zip(known, pair[::-1] if flip else pair):
                words.update(aligner.words(text))
        parts = [known_part(g, known) for g in gold]
        rates["head, links between known words"] = scores.aer(*([between(links, part)
                                                                 for links, part in zip(side, parts)]
                                                               for side in (found, [g.sure for g in gold],
                                                                            [g.possible for g in gold])))
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="an exported model folder")
    parser.add_argument("--gold", type=Path, required=True, help="gold alignments; .gz is unpacked")
    parser.add_argument("--reverse", type=Path, help="a model of the other direction")
    parser.add_argument("--flip", action="store_true", help="the model translates the second column into the first")
    parser.add_argument("--known", metavar="CORPUS",
                        help=(
                            "source TAB target, in the order of the gold file's columns: rate links between its words "
                            "apart"))
    parser.add_argument("--head", action="store_true", help="only the alignment head, without the daemon")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    gold = read_gold(arguments.gold, arguments.flip)
    print(f"{arguments.gold.parent.name}: {len(gold)} pairs, {sum(len(g.sure) for g in gold)} sure links; AER:")
    print(f"{rate(gold, [diagonal_links(g) for g in gold]):6.1f}  diagonal")
    if arguments.head:
        looked, seen = [], soft_alignment(arguments.model, pairs_of(gold))
        rates = measure_heads(seen, soft_alignment(arguments.reverse, pairs_of(flipped(gold))) if arguments.reverse
                              else [], gold)
    else:
        rates, looked, seen = served(arguments.alignd, arguments.model, arguments.reverse, gold)
    for name, value in (rates | head_in_parts(seen, gold, arguments.known, arguments.flip)).items():
        print(f"{value:6.1f}  {name}")
    if looked:
        print("Of the attention {:.2f}% lies on </s>, of {:.2f}% of the tokens most of it.".format(*at_end(looked)))


if __name__ == "__main__":
    run_command(main)
