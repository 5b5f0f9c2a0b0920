"""Back-translated training text: python3 -m weights.corpora.translated MODEL_FOLDER --data CORPORA --pair en-de
[--alignd build/alignd]

Input: a model from English into the pair's other language, and the corpora of the other pairs, whose English sentences
this pair lacks. Output in CORPORA: translated/PAIR/back-translated.tsv.gz, English TAB the model's greedy translation,
and an empty line of links for each. Only models into English are trained on it (Sennrich et al. 2016), so that their
targets are written by people. Its weight in weights/corpora/sources.tsv is 0; the recipes of these models set another.

It takes sentences of 4 to 45 words, except those that this pair already has and those of validation or test sets.
"""

from __future__ import annotations

import argparse
import gzip
import random
import subprocess
from pathlib import Path

from ..command import run_command
from ..training import mixture
from . import debian

NAME = "back-translated"
SHORTEST, LONGEST = 4, 45  # words
# By pair: the pair whose English sides are translated, and the maximum number of sentences of each source.
TAKEN = {
    "en-de": ("en-fr", {"tatoeba": 90_000, "cds-blog": 10_000, "canada-web": 10_000, "canada-services": 10_000,
                        "httpd-docs": 5_000, "react-docs": 5_000,
                        "frc-docs": 5_000, "wesnoth": 10_000, "novels-gutenberg": 40_000}),
    "en-fr": ("en-de", {"tatoeba": 90_000, "ding-phrases": 30_000, "novels-gutenberg": 40_000, "cwa-app": 2_000}),
}


def english(root: Path, pair: str) -> list[str]:
    """The sentences to translate."""
    other, taken = TAKEN[pair]
    known = debian.held_out(root)
    for source in mixture.table(pair):
        if source.name != NAME:
            known.update(debian.key(a) for a, _ in mixture.texts(root, source))
    found = []
    for source in mixture.table(other):
        if source.name in taken:
            texts = list(dict.fromkeys(mixture.normalise(a, "en") for a, _ in mixture.texts(root, source)
                                       if SHORTEST <= len(a.split()) <= LONGEST))
            random.Random(repr((pair, source.name))).shuffle(texts)
            found += [text for text in texts if debian.key(text) not in known][:taken[source.name]]
    return found


def write_lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write("".join(line + "\n" for line in lines).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder of all corpora")
    parser.add_argument("--pair", choices=TAKEN, required=True)
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    texts = english(arguments.data, arguments.pair)
    command = [str(arguments.alignd), "translate", "--model", str(arguments.model), "--strategy", "greedy",
               "--verbatim"]
    made = subprocess.run(command, input="".join(text + "\n" for text in texts), stdout=subprocess.PIPE, text=True,
                          check=True).stdout.splitlines()
    pairs = [f"{a}\t{b}" for a, b in zip(texts, made, strict=True)]
    write_lines(arguments.data / "translated" / arguments.pair / f"{NAME}.tsv.gz", pairs)
    write_lines(arguments.data / "links" / arguments.pair / f"{NAME}.txt.gz", ["\t"] * len(pairs))
    print(f"{len(pairs):,} sentences")


if __name__ == "__main__":
    run_command(main)
