#!/usr/bin/env python3
"""Minimal phrase pairs of POST /align beside those of gold word alignments:
tests/bench/phrase_pairs.py MODEL GOLD [GOLD ...] [--reverse] [--alignd PROGRAM]

Input: a model folder, and gold files (source words TAB target words TAB links: `i-j` sure, `ipj` possible), packed or
not. --reverse: the model translates from the second column to the first. Starts a daemon, and sends each pair, whose
words stand between spaces, as it is; a link between the daemon's words is one between the gold words that they share
characters with.

Output: for each kind of links, the precision, recall and F1 in percent of the phrase pairs (ranges of gold words,
counted as equal only if both ranges are), against those that the same extraction finds in the sure gold links, and in
the sure and possible ones. Checks on the way that the daemon's `phrases` are those of its own links.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from weights.evaluation.client import Daemon, Variant, daemon  # noqa: E402
from weights.model import manifest  # noqa: E402

KINDS = ("best", "mutual", "balanced", "several")
Links = set[tuple[int, int]]  # source word, target word
Pair = tuple[int, int, int, int]  # source begin, end; target begin, end (exclusive)


LONGEST = 1000  # source tokens: gold sentences cannot be cut


class Gold(NamedTuple):
    source: list[str]
    target: list[str]
    sure: Links
    possible: Links  # the sure ones among them


@contextmanager
def unlimited(model: Path) -> Iterator[Path]:
    """A copy of the model folder with the limit of source tokens raised."""
    with tempfile.TemporaryDirectory() as work:
        copy = Path(shutil.copytree(model, Path(work) / model.name))
        config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
        config["limits"]["max_source_tokens"] = LONGEST
        (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
        manifest.renew(copy)
        yield copy


def read_gold(path: Path, reverse: bool) -> Iterator[Gold]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        for line in file:
            source, target, links = line.rstrip("\n").split("\t")
            sure, possible = set(), set()
            for link in links.split():
                i, j = map(int, link.replace("p", "-").split("-"))
                (possible if "p" in link else sure).add((j, i) if reverse else (i, j))
            sides = (target.split(), source.split()) if reverse else (source.split(), target.split())
            yield Gold(*sides, sure, sure | possible)


def minimal_pairs(links: Links) -> set[Pair]:
    """The consistent pairs that contain no other, by growing one around each link."""
    grown = set()
    for i, j in links:
        pair = (i, i + 1, j, j + 1)
        while True:
            a, b, c, d = pair
            inside = [(s, t) for s, t in links if a <= s < b or c <= t < d]
            wider = (min(s for s, _ in inside), max(s for s, _ in inside) + 1,
                     min(t for _, t in inside), max(t for _, t in inside) + 1)
            if wider == pair:
                break
            pair = wider
        grown.add(pair)
    return {p for p in grown
            if not any(q != p and p[0] <= q[0] and q[1] <= p[1] and p[2] <= q[2] and q[3] <= p[3] for q in grown)}


def places(words: list[str]) -> list[tuple[int, int]]:
    """The byte range of each word in the text of words joined by spaces."""
    spans, at = [], 0
    for word in words:
        length = len(word.encode())
        spans.append((at, at + length))
        at += length + 1
    return spans


def words_of(offsets: list[dict], spans: list[tuple[int, int]]) -> list[list[int]]:
    """For each of the daemon's words, the gold words with which it shares bytes."""
    return [[i for i, (begin, end) in enumerate(spans) if one["start"] < end and begin < one["end"]] for one in offsets]


def check_phrases(result: dict) -> None:
    offsets, sides = result["words"]["offsets"], ("source", "target")
    starts = [{one["start"]: i for i, one in enumerate(offsets[side])} for side in sides]
    ends = [{one["end"]: i + 1 for i, one in enumerate(offsets[side])} for side in sides]
    given = [tuple(table[key][phrase[side][name]] for key, side in enumerate(sides)
                   for table, name in ((starts, "start"), (ends, "end"))) for phrase in result["phrases"]]
    expected = minimal_pairs({(i, j) for i, j in result["links"]})
    if given != sorted(expected, key=lambda pair: pair[2]):
        raise SystemExit(f"phrases are not those of the links: {result}")


def rates(found: list[set[Pair]], gold: list[set[Pair]]) -> str:
    both = sum(len(f & g) for f, g in zip(found, gold, strict=True))
    precision, recall = both / max(1, sum(map(len, found))), both / max(1, sum(map(len, gold)))
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return f"{100 * precision:.1f} | {100 * recall:.1f} | {100 * f1:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("gold", type=Path, nargs="+")
    parser.add_argument("--reverse", action="store_true")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    options = parser.parse_args()
    with unlimited(options.model) as model, \
            daemon(options.alignd, model, Variant("phrase pairs", []), compute="model") as url:
        server = Daemon(url, options.model.name)
        for path in options.gold:
            gold = list(read_gold(path, options.reverse))
            print(f"\n{path.parent.name}, {len(gold)} pairs, {options.model.name}\n\n"
                  "| links | pairs | sure: precision | recall | F1 | sure and possible: precision | "
                  "recall | F1 |\n|---|---|---|---|---|---|---|---|")
            for kind in KINDS:
                found = []
                for one in gold:
                    texts = {"text": " ".join(one.source), "translation": " ".join(one.target)}
                    result = server.request("/align", {**texts, "links": kind, "split_sentences": False,
                                                       "model": options.model.name})["results"][0]
                    check_phrases(result)
                    offsets = result["words"]["offsets"]
                    source, target = (words_of(offsets["source"], places(one.source)),
                                      words_of(offsets["target"], places(one.target)))
                    links = {(i, j) for s, t in result["links"] for i in source[s] for j in target[t]}
                    found.append(minimal_pairs(links))
                sure, possible = ([minimal_pairs(links) for links in side] for side in
                                  ([one.sure for one in gold], [one.possible for one in gold]))
                print(f"| `{kind}` | {sum(map(len, found))} | {rates(found, sure)} | {rates(found, possible)} |")

if __name__ == "__main__":
    main()
