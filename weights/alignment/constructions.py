"""Links of the constructions that aligners find hard: python3 -m weights.alignment.constructions MODEL_FOLDER...

Input: models between English and German or French, and gold links with the kind of construction of each pair
(weights/gold). Each sentence is sent to the daemon with its translation, as users send translations of their own, and
the reply has `words.alignment`. Output: for each model a table in Markdown with precision, recall and alignment error
rate (Och and Ney 2003) of each of LINKS, by kind and overall.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..command import run_command
from ..evaluation import compute, scores
from ..evaluation.client import Daemon, chunks
from ..model import folder
from . import align
from .align import Gold, Links

LINKS = ("best", "several")
GOLD = Path(__file__).parent.with_name("gold")


def kinds(path: Path) -> list[str]:
    """The kind of each pair, from the sixth column."""
    return [line.split("\t")[5] for line in path.read_text(encoding="utf-8").splitlines()]


def words_of(gold: Gold) -> list[list[str]]:
    return [[text[begin:end] for begin, end in spans]
            for text, spans in ((gold.source, gold.source_words), (gold.target, gold.target_words))]


def answered(client: Daemon, gold: list[Gold], links: str) -> list[Links]:
    """Returns the daemon's links. Raises ValueError if its words differ from those of the gold file."""
    found = []
    for chunk in chunks(gold, align.BATCH):
        body = {"model": client.model, "text": [g.source for g in chunk], "translation": [g.target for g in chunk],
                "include": ["words"], "links": links}
        for result, one in zip(client.request("/attention", body)["results"], chunk, strict=True):
            [sentence] = result["sentences"]
            words = sentence["words"]
            if [words["source"], words["target"]] != words_of(one):
                raise ValueError(f"other words than in the gold file: {words['source']}, {words['target']}")
            found.append({(j, i) for j, i in words["alignment"]})
    return found


def figures(gold: list[Gold], links: list[Links]) -> tuple[float, float, float]:
    """Precision, recall and error rate in percent."""
    made, sure = sum(map(len, links)), sum(len(g.sure) for g in gold)
    right = sum(len(one & (g.sure | g.possible)) for one, g in zip(links, gold, strict=True))
    found = sum(len(one & g.sure) for one, g in zip(links, gold, strict=True))
    return 100 * right / max(made, 1), 100 * found / max(sure, 1), scores.aer(links, [g.sure for g in gold],
                                                                              [g.possible for g in gold])


def table(gold: list[Gold], kind: list[str], links: dict[str, list[Links]]) -> str:
    """Returns a Markdown table with a row for each kind, in the order of the file, and a row for all pairs."""
    lines = ["| kind | pairs | " + " | ".join(f"{name}: precision | recall | AER" for name in links) + " |",
             "|---|---" + "|---|---|---" * len(links) + "|"]
    for row in [*dict.fromkeys(kind), "all"]:
        part = [i for i, one in enumerate(kind) if row in (one, "all")]
        values = [f"{value:.1f}" for of in links.values()
                  for value in figures([gold[i] for i in part], [of[i] for i in part])]
        lines.append(f"| {row} | {len(part)} | " + " | ".join(values) + " |")
    return "\n".join(lines)


def measure(alignd: Path, model: Path, path: Path, flip: bool) -> str:
    gold, config = align.read_gold(path, flip), folder.read_config(model)
    with compute.daemon(alignd, model, compute.Variant(config["name"], ["--workers", "1"])) as url:
        client = Daemon(url, config["name"])
        return table(gold, kinds(path), {links: answered(client, gold, links) for links in LINKS})


def gold_of(model: Path) -> tuple[Path, bool]:
    """Returns the gold file for the model's languages, and whether the model translates its second column into the
    first."""
    config = folder.read_config(model)
    pair = [config["source"], config["target"]]
    flip = pair[1] == "en"
    return GOLD / f"{'-'.join(pair[::-1] if flip else pair)}-constructions.tsv", flip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, nargs="+", metavar="model", help="model folders")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    for model in arguments.models:
        path, flip = gold_of(model)
        print(f"{model}, {path.name}\n\n{measure(arguments.alignd, model, path, flip)}\n", flush=True)


if __name__ == "__main__":
    run_command(main)
