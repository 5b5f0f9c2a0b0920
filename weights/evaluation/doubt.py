"""How right the warning `doubtful` is: python3 -m weights.evaluation.doubt MODEL [MODEL ...] --data DATA [--alignd
build/alignd] [--calibrate]

Input: model folders, and DATA with the corpora that results/judged.tsv names. That file has translations which language
models, not people, read and judged: the model, the length (short: 2 to 8 words, middle: 9 to 20, long: 21 to 60), the
corpus, digests of the source and of the translation, 1 if the translation misleads a reader or cannot be understood,
and whether the limit in model/rendering.c was chosen on it or is measured with it. Other readers than chose the limit
judged the latter, without having seen which translations are marked.

Output, for each length: how many judged translations the models still make, the share of wrong ones among the marked,
and of marked ones among the wrong. Then the share of marked sentences of flores-dev for each model: of every other
sentence, beginning with the first.

--calibrate: first sets limits.doubt of each model's config.json, so that SHARE of the other sentences of flores-dev are
marked, or, with --texts FILE, of the sentences in that file, one in a line: half of what a model translates may be
wrong, but a warning that stands everywhere is read by nobody.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Iterable

from ..command import run_command
from ..model import folder, manifest
from .client import Daemon, Variant, chunks, daemon

JUDGED = Path(__file__).parent.parent / "results/judged.tsv"
LENGTHS, USES = ("short", "middle", "long"), ("chosen", "measured")
CORPORA = {"tatoeba": "tatoeba-{pair}/test.tsv.gz", "flores": "broad/flores-dev.{pair}.tsv.gz",
           "news": "broad/newstest-valid.{pair}.tsv.gz", "broad": "broad/broad-valid.{pair}.tsv.gz"}


FEW_WORDS = 8  # equals DOUBT_FEW_WORDS in model/rendering.c
SHARE = 0.39  # share of marked sentences in the calibration set; in other texts it may be a few hundredths higher


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def sources(model: Path, data: Path, corpus: str) -> list[str]:
    """The sentences of a corpus in the model's source language, in the order of the file."""
    config = folder.read_config(model)
    pair = "-".join(sorted((config["source"], config["target"]), key=lambda language: language != "en"))
    with gzip.open(data / CORPORA[corpus].format(pair=pair), "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t")[config["target"] == "en"] for line in lines]


def estimated(client: Daemon, texts: list[str], splits: bool = False) -> list[tuple[str, float | None]]:
    """Returns the translation of each text, and its estimate if the reply has the warning `doubtful`. splits: split
    texts that are longer than the model's limit."""
    found = []
    for chunk in chunks(texts, 16):
        for one in client.request("/translate",
                                  {"model": client.model, "text": chunk, "split_sentences": splits})["translations"]:
            found.append((one["text"],
                          next((warning["quality"] for warning in one.get("warnings", [])
                                if warning["code"] == "doubtful"), None)))
    return found


def translated(client: Daemon, texts: list[str]) -> list[tuple[str, bool]]:
    """Returns the translation of each text, and whether it is marked."""
    return [(text, estimate is not None) for text, estimate in estimated(client, texts)]


def put_limit(model: Path, limit: float) -> None:
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    config.setdefault("limits", {})["doubt"] = limit
    (model / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    manifest.renew(model)


def limit_of(estimates: list[float | None], few: list[bool], share: float) -> float:
    """The limit that marks this share of the translations. few: whether a translation has few words; such translations
    with an estimate are marked regardless of the limit."""
    others = sorted(math.log(max(estimate, 1e-20)) for estimate, short in zip(estimates, few, strict=True)
                    if estimate is not None and not short)
    marked = sum(estimate is not None and short for estimate, short in zip(estimates, few, strict=True))
    place = round(share * len(estimates)) - marked
    return round(others[min(max(place, 0), len(others) - 1)], 2)


def calibrate(model: Path, texts: list[str], alignd: Path) -> float:
    """Sets limits.doubt of the model. The estimates come from a copy whose limit marks every longer translation."""
    with tempfile.TemporaryDirectory() as work:
        copy = Path(shutil.copytree(model, Path(work) / model.name))
        put_limit(copy, 0)
        with daemon(alignd, copy, Variant("calibration", ["--compute", "int8"])) as url:
            found = estimated(Daemon(url, folder.read_config(model)["name"]), texts, splits=True)
    few = [sum(any(c.isalpha() for c in word) for word in text.split()) <= FEW_WORDS for text, _ in found]
    limit = limit_of([estimate for _, estimate in found], few, SHARE)
    put_limit(model, limit)
    return limit


def shares(rows: Iterable[tuple[bool, bool]]) -> tuple[int, float, float]:
    """rows: (marked, wrong). Returns their number, the share of wrong ones among the marked (precision), and the share
    of marked ones among the wrong (recall)."""
    rows = list(rows)
    both = sum(marked and wrong for marked, wrong in rows)
    return len(rows), both / max(1, sum(marked for marked, _ in rows)), both / max(1, sum(wrong for _, wrong in rows))


def judge(clients: dict[str, Daemon], models: list[Path], data: Path) -> list[str]:
    rows = [line.split("\t") for line in JUDGED.read_text(encoding="utf-8").splitlines()[1:]]
    measured: dict[tuple[str, str], list[tuple[bool, bool]]] = defaultdict(list)
    for model in models:
        name = folder.read_config(model)["name"]
        mine = {(corpus, source): (length, translation, wrong == "1", use)
                for of, length, corpus, source, translation, wrong, use in rows if of == name}
        for corpus in {corpus for corpus, _ in mine}:
            texts = [text for text in dict.fromkeys(sources(model, data, corpus)) if (corpus, digest(text)) in mine]
            for text, (translation, marked) in zip(texts, translated(clients[name], texts), strict=True):
                length, same, wrong, use = mine[corpus, digest(text)]
                if digest(translation) == same:
                    measured[length, use].append((marked, wrong))
    lines = [("| length | chosen on: judged | wrong of the marked | marked of the wrong | measured on: judged | wrong "
              "of the marked | marked of the wrong |"), "|---|---|---|---|---|---|---|"]
    for length in LENGTHS:
        cells = [f"{count} | {right:.2f} | {caught:.2f}"
                 for count, right, caught in (shares(measured[length, use]) for use in USES)]
        lines.append(f"| {length} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL", help="model folders")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the corpora")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    parser.add_argument("--calibrate", action="store_true", help="first set limits.doubt of the models")
    parser.add_argument("--texts", type=Path, metavar="FILE",
                        help="calibrate on these sentences in place of flores-dev's")
    arguments = parser.parse_args()
    for model in arguments.models if arguments.calibrate else []:
        texts = (arguments.texts.read_text(encoding="utf-8").splitlines() if arguments.texts
                 else sources(model, arguments.data, "flores")[1::2])
        print(f"{model}: limits.doubt {calibrate(model, texts, arguments.alignd)}")
    names = {model: folder.read_config(model)["name"] for model in arguments.models}
    first, *others = arguments.models
    with daemon(arguments.alignd, first,
                Variant("doubt",
                        ["--compute", "int8"] + [flag for model in others for flag in ("--model", str(model))])) as url:
        clients = {name: Daemon(url, name) for name in names.values()}
        print("\n".join(judge(clients, arguments.models, arguments.data)))
        for model, name in names.items():
            marked = [mark for _, mark in translated(clients[name], sources(model, arguments.data, "flores")[::2])]
            print(f"{name}: {sum(marked)} of {len(marked)} sentences of flores-dev are marked")


if __name__ == "__main__":
    run_command(main)
