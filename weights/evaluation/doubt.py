"""How right the warning `doubtful` is: python3 -m weights.evaluation.doubt MODEL [MODEL ...] --data DATA [--alignd build/alignd] [--flores N]

Input: model folders, and DATA with the corpora that results/judged.tsv names. That file has translations which a person read and judged: the model, the length
(short: 2 to 8 words, middle: 9 to 20, long: 21 to 60), the corpus, digests of the source and of the translation, 1 if the translation misleads a reader or
cannot be understood, and whether the limit in model/rendering.c was chosen on it or is measured with it. Other people than chose the limit judged the latter,
without having seen which translations are marked.

Output, for each length: how many judged translations the models still make, the share of wrong ones among the marked, and of marked ones among the wrong. Then
the share of marked sentences of flores-dev for each model.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
from collections import defaultdict
from pathlib import Path
from typing import Iterable

from ..model import folder
from .client import Daemon, Variant, chunks, daemon

JUDGED = Path(__file__).parent.parent / "results/judged.tsv"
LENGTHS, USES = ("short", "middle", "long"), ("chosen", "measured")
CORPORA = {"tatoeba": "tatoeba-{pair}/test.tsv.gz", "flores": "broad/flores-dev.{pair}.tsv.gz", "news": "broad/newstest-valid.{pair}.tsv.gz",
           "broad": "broad/broad-valid.{pair}.tsv.gz"}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def sources(model: Path, data: Path, corpus: str) -> list[str]:
    """The sentences of a corpus in the model's source language, in the order of the file."""
    config = folder.read_config(model)
    pair = "-".join(sorted((config["source"], config["target"]), key=lambda language: language != "en"))
    with gzip.open(data / CORPORA[corpus].format(pair=pair), "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t")[config["target"] == "en"] for line in lines]


def translated(client: Daemon, texts: list[str]) -> list[tuple[str, bool]]:
    """The translation of each text, and whether it is marked."""
    found = []
    for chunk in chunks(texts, 16):
        for one in client.request("/translate", {"model": client.model, "text": chunk, "split_sentences": False})["translations"]:
            found.append((one["text"], any(warning["code"] == "doubtful" for warning in one.get("warnings", []))))
    return found


def shares(rows: Iterable[tuple[bool, bool]]) -> tuple[int, float, float]:
    """rows: (marked, wrong) -> their number, the share of wrong ones among the marked, the share of marked ones among the wrong."""
    rows = list(rows)
    both = sum(marked and wrong for marked, wrong in rows)
    return len(rows), both / max(1, sum(marked for marked, _ in rows)), both / max(1, sum(wrong for _, wrong in rows))


def judge(clients: dict[str, Daemon], models: list[Path], data: Path) -> list[str]:
    rows = [line.split("\t") for line in JUDGED.read_text(encoding="utf-8").splitlines()[1:]]
    measured: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for model in models:
        name = folder.read_config(model)["name"]
        mine = {(corpus, source): (length, translation, wrong == "1", use) for of, length, corpus, source, translation, wrong, use in rows if of == name}
        for corpus in {corpus for corpus, _ in mine}:
            texts = [text for text in dict.fromkeys(sources(model, data, corpus)) if (corpus, digest(text)) in mine]
            for text, (translation, marked) in zip(texts, translated(clients[name], texts), strict=True):
                length, same, wrong, use = mine[corpus, digest(text)]
                if digest(translation) == same:
                    measured[length, use].append((marked, wrong))
    lines = ["| length | chosen on: judged | wrong of the marked | marked of the wrong | measured on: judged | wrong of the marked | marked of the wrong |", "|---|---|---|---|---|---|---|"]
    for length in LENGTHS:
        cells = [f"{count} | {right:.2f} | {caught:.2f}" for count, right, caught in (shares(measured[length, use]) for use in USES)]
        lines.append(f"| {length} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL", help="model folders")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the corpora")
    parser.add_argument("--flores", type=int, default=200, metavar="N", help="sentences of flores-dev for each model (200)")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    names = {model: folder.read_config(model)["name"] for model in arguments.models}
    first, *others = arguments.models
    with daemon(arguments.alignd, first, Variant("doubt", ["--compute", "int8"] + [flag for model in others for flag in ("--model", str(model))])) as url:
        clients = {name: Daemon(url, name) for name in names.values()}
        print("\n".join(judge(clients, arguments.models, arguments.data)))
        for model, name in names.items():
            marked = [mark for _, mark in translated(clients[name], sources(model, arguments.data, "flores")[:arguments.flores])]
            print(f"{name}: {sum(marked)} of {len(marked)} sentences of flores-dev are marked")


if __name__ == "__main__":
    main()
