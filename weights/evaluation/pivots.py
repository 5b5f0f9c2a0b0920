"""Measures the loss of translating through a third language:
python3 -m weights.evaluation.pivots --data CORPORA FIRST_MODEL SECOND_MODEL [--limit N] [--alignd build/alignd]

Input: two model folders, where the second model reads the language that the first writes, and the folder of all
corpora, of which Multi30k's test set of 2016 is read in up to three languages. One daemon serves both models. A request
for the pair of languages goes through both (server/api/REQUESTS.md); for a round trip, back to the original language,
each model is requested by name. Output, as a table in Markdown: BLEU and chrF of the first model's output, and of the
second's.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from ..command import run_command
from ..model import folder
from ..training import mixture
from . import scores
from .client import CONNECTIONS, Daemon, Variant, chunks, daemon

BATCH = 10  # texts per request
HEAD = ["", "sentences", "in between: BLEU", "chrF", "at the end: BLEU", "chrF"]


@dataclass(frozen=True)
class Way:
    """Two models, by name, and the source, intermediate and target languages."""

    models: tuple[str, str]
    languages: tuple[str, str, str]

    def __str__(self) -> str:
        return " → ".join(self.languages)


def way_of(first: dict, second: dict) -> Way:
    """Combines two models' configurations."""
    if first["target"] != second["source"]:
        sys.exit(f"{first['name']} writes {first['target']}, but {second['name']} reads {second['source']}")
    return Way((first["name"], second["name"]), (first["source"], first["target"], second["target"]))


def lines_of(root: Path, language: str, limit: int | None) -> list[str]:
    return list(mixture.lines_of(root / f"multi30k/test_2016_flickr.{language}.gz"))[:limit]


def ask(client: Daemon, way: Way, texts: list[str]) -> list[tuple[str, str]]:
    """The intermediate and the final translation of each text."""
    source, _, target = way.languages
    fields = {"split_sentences": False, "include": []}
    if source == target:
        between = translations(client, {"model": way.models[0], "text": texts, **fields})
        return list(zip(between, translations(client, {"model": way.models[1], "text": between, **fields}),
                        strict=True))
    reply = client.request("/translate", {"source": source, "target": target, "text": texts, **fields})
    if reply.get("pivot") != list(way.models):
        sys.exit(f"asked for {source} to {target}, the daemon took {reply.get('pivot', reply['model'])}")
    return [(answer["pivot_text"], answer["text"]) for answer in reply["translations"]]


def translations(client: Daemon, body: dict) -> list[str]:
    return [answer["text"] for answer in client.request("/translate", body)["translations"]]


def translate(client: Daemon, way: Way, texts: list[str]) -> list[tuple[str, str]]:
    parts = list(chunks(texts, BATCH))
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        answers = pool.map(lambda part: ask(client, way, part), parts)
        return [pair for answer in tqdm(answers, total=len(parts), desc=str(way), leave=False, disable=None)
                for pair in answer]


def cells(hypotheses: list[str], references: list[str]) -> list[str]:
    return [f"{scores.bleu(hypotheses, references):.1f}", f"{scores.chrf(hypotheses, references):.1f}"]


def table(way: Way, found: list[tuple[str, str]], between: list[str], end: list[str]) -> str:
    """found: the intermediate and final translations. between, end: the references."""
    row = [str(way), f"{len(found):,}", *cells([pair[0] for pair in found], between),
           *cells([pair[1] for pair in found], end)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (HEAD, ["---"] * len(HEAD), row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, nargs=2, metavar="MODEL", help="the first model's folder, the second's")
    parser.add_argument("--data", type=Path, required=True, help="folder of all corpora")
    parser.add_argument("--limit", type=int, help="only so many sentences")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    first, second = arguments.models
    way = way_of(folder.read_config(first), folder.read_config(second))
    texts, between, end = (lines_of(arguments.data, language, arguments.limit) for language in way.languages)
    with daemon(arguments.alignd, first,
                Variant("pivots", ["--model", str(second), "--max-text-chars", "1000000"])) as url:
        found = translate(Daemon(url, way.models[0]), way, texts)
    print(table(way, found, between, end))


if __name__ == "__main__":
    run_command(main)
