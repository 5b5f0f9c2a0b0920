#!/usr/bin/env python3
"""How often `missing` of POST /align is right: tests/bench/missing_words.py MODEL PAIRS [--alignd PROGRAM]

Input: a model folder, and pairs of sentences (source TAB translation, further columns are ignored), gzip or plain. The
first TEXTS pairs with at least WORDS source words are aligned twice: unchanged, and without the translation of one
source word, drawn from the words with a one-to-one link and at least four letters.

Output: the share of eligible source words (numbers, or at least four letters) that `missing` names in whole
translations, some of which do leave words out; and the share of the removed words that it names.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from weights.evaluation.client import Daemon, Variant, daemon  # noqa: E402

TEXTS, WORDS, LETTERS, SEED = 400, 6, 4, 3


def counts(word: str) -> bool:
    return sum(c.isalpha() for c in word) >= LETTERS or any(map(str.isdigit, word))


def links_alone(result: dict) -> list[tuple[int, int]]:
    """The one-to-one links of eligible source words."""
    sources, targets = (Counter(link[side] for link in result["links"]) for side in (0, 1))
    return [(i, j) for i, j in result["links"]
            if sources[i] == targets[j] == 1 and counts(result["words"]["source"][i])]


def without(text: str, place: dict) -> str:
    whole = text.encode()
    return (whole[:place["start"]].rstrip() + b" " + whole[place["end"]:].lstrip()).decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    options = parser.parse_args()
    draw = random.Random(SEED)
    with (gzip.open if options.pairs.suffix == ".gz" else open)(options.pairs, "rt", encoding="utf-8") as file:
        rows = [row for row in (line.rstrip("\n").split("\t")[:2] for line in file) if len(row[0].split()) >= WORDS]
    words = named = removed = found = 0
    with daemon(options.alignd, options.model, Variant("missing", []), compute="model") as url:
        server = Daemon(url, options.model.name)
        for source, target in rows[:TEXTS]:
            def align(translation: str) -> dict:
                return server.request("/align", {"text": source, "translation": translation})["results"][0]

            whole = align(target)
            words += sum(map(counts, whole["words"]["source"]))
            named += len(whole["missing"])
            if alone := links_alone(whole):
                i, j = draw.choice(alone)
                offsets = whole["words"]["offsets"]
                cut = align(without(target, offsets["target"][j]))
                removed += 1
                found += any(place["start"] == offsets["source"][i]["start"] for place in cut["missing"])
    print(f"{options.model.name}, {min(TEXTS, len(rows))} texts: names {named} of {words} words in whole translations "
          f"({100 * named / words:.1f}%), and {found} of {removed} removed ones ({100 * found / removed:.1f}%)")


if __name__ == "__main__":
    main()
