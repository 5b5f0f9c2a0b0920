"""How often alignd warns, rightly and wrongly: python3 -m weights.evaluation.warnings MODEL_FOLDER [MODEL_FOLDER ...]
--data CORPORA [--limit N]

Input: models that one daemon serves together, and the folder of all corpora. Output, as tables in Markdown: `language`:
the share of held-out sentences that get it, in a model's own language and in others, by length in bytes; `unknown`: the
same for the model's own language; `shortened`: for the model's own translations of single sentences, and for forced
references: whole, without the part after their last comma, and without their second half.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Callable

from tqdm import tqdm

from ..command import run_command
from ..corpora import data
from ..model import folder
from ..training import mixture
from . import first_things
from .client import Daemon, Variant, chunks, daemon

Pairs = list[tuple[str, str]]
BATCH = 32
CHARACTERS = 2  # minimum characters per source token: longer sentences may exceed the model's limit
LENGTHS = ((0, 24), (24, 40), (40, 1 << 30))  # bytes
NAMES = {"cs": "Czech", "de": "German", "en": "English", "fr": "French"}


def texts_of(root: Path, language: str, limit: int | None) -> list[str]:
    """Held-out sentences in the language, from Tatoeba, Multi30k and Flores, and the first things."""
    other = "fr" if language == "en" else language
    column = int(language != "en")
    found = list(mixture.lines_of(root / f"multi30k/val.{language}.gz"))[:limit]
    for file in f"tatoeba-en-{other}/test.tsv.gz", f"broad/flores-dev.en-{other}.tsv.gz":
        if (root / file).exists():
            found += [pair[column] for pair in data.read_pairs(root / file)[:limit]]
    for path in sorted(first_things.FILES.glob(f"{language}-*.tsv"))[-1:]:
        found += [thing.text for thing in first_things.read(path.stem)]
    return [text for text in found if text.strip()]


def answers(client: Daemon, texts: list[str]) -> list[set[str]]:
    """The codes of each text's warnings. These do not depend on the translation, so one token is enough."""
    body = {"model": client.model, "strategy": "greedy", "max_length": 1, "include": []}
    return [codes(answer) for chunk in chunks(texts, BATCH)
            for answer in client.request("/translate", body | {"text": chunk})["translations"]]


def codes(answer: dict) -> set[str]:
    return {warning["code"] for warning in answer.get("warnings", [])}


def share(found: list[set[str]], code: str) -> str:
    return f"{100 * sum(code in one for one in found) / len(found):.1f}" if found else ""


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def of_languages(clients: dict[Daemon, str], root: Path, limit: int | None) -> list[str]:
    """clients: each client, and the language that its model reads."""
    spans = [f"under {end}" if begin == 0 else f"{begin} to {end - 1}" if end < 1 << 30 else f"{begin} and more"
             for begin, end in LENGTHS]
    lines = [row("model reads", "text", "sentences", *(f"{span} bytes: % suspected" for span in spans), "% unknown"),
             "|" + "---|" * (len(spans) + 4)]
    texts = {language: texts_of(root, language, limit) for language in NAMES}
    for client, reads in tqdm(clients.items(), leave=False, disable=None):
        for language in sorted(NAMES, key=lambda language: language != reads):
            found = answers(client, texts[language])
            by_length = [[one for one, text in zip(found, texts[language]) if begin <= len(text.encode()) < end]
                         for begin, end in LENGTHS]
            lines.append(row(NAMES.get(reads, reads), NAMES[language], f"{len(found):,}",
                             *(share(one, "language") for one in by_length),
                             share(found, "unknown") if language == reads else ""))
    return lines


# ---- shortened ----

def two_at_a_time(pairs: Pairs) -> Pairs:
    return [(f"{a} {c}", f"{b} {d}") for (a, b), (c, d) in zip(pairs[::2], pairs[1::2])]


def halves(pairs: Pairs) -> Pairs:
    """Removes the second half of each translation's words."""
    return [(a, " ".join(b.split()[:len(b.split()) // 2])) for a, b in pairs]


def without_last_clause(pairs: Pairs) -> Pairs:
    """Removes the part after the last comma of each translation, if it has at least three words and two precede it;
    other pairs are left out."""
    cut = [(a, *b.rpartition(", ")) for a, b in pairs]
    return [(a, before) for a, before, _, after in cut if len(before.split()) > 1 and len(after.split()) > 2]


def forced(client: Daemon, pairs: Pairs) -> list[set[str]]:
    found = []
    for chunk in chunks(pairs, BATCH // 2):
        body = {"model": client.model, "text": [a for a, _ in chunk], "translation": [b for _, b in chunk],
                "split_sentences": False, "include": []}
        found += [codes(result) for result in client.request("/attention", body)["results"]]
    return found


def of_omissions(client: Daemon, model: Path, root: Path, limit: int | None) -> list[str]:
    config = folder.read_config(model)
    languages = [config["source"], config["target"]]
    flip = languages[0] != "en"
    pair = "-".join(languages[::-1] if flip else languages)
    sets: dict[str, Callable[[], Pairs]] = {
        "Tatoeba": lambda: data.read_pairs(root / f"tatoeba-{pair}/test.tsv.gz", flip)[:limit],
        "two sentences of Tatoeba": lambda: two_at_a_time(data.read_pairs(root / f"tatoeba-{pair}/test.tsv.gz",
                                                                          flip)[:2 * (limit or 1000)]),
        "Flores": lambda: data.read_pairs(root / f"broad/flores-dev.{pair}.tsv.gz", flip)[:limit]}
    longest = CHARACTERS * config["limits"]["max_source_tokens"]
    lines = []
    for name, read in sets.items():
        pairs = [(a, b) for a, b in read() if len(a) <= longest and len(b.split()) > 1]
        own = [codes(answer) for chunk in chunks(pairs, BATCH)
               for answer in client.request("/translate",
                                            {"model": client.model, "text": [a for a, _ in chunk]})["translations"]]
        clauses = without_last_clause(pairs)
        cells = [f"{sum('shortened' in one for one in own)}"] + [share(forced(client, some), "shortened")
                                                                 for some in (pairs, clauses, halves(pairs))]
        lines.append(row(config["name"], name, f"{len(pairs):,}", *cells[:2], f"{len(clauses):,}", *cells[2:]))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, nargs="+", help="model folders")
    parser.add_argument("--data", type=Path, required=True, help="folder of all corpora")
    parser.add_argument("--limit", type=int, help="only so many sentences of each set")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    configs = [folder.read_config(model) for model in arguments.models]
    flags = [flag for model in arguments.models[1:] for flag in ("--model", str(model))]
    with daemon(arguments.alignd, arguments.models[0],
                Variant("warnings", [*flags, "--max-text-chars", "1000000"])) as url:
        clients = [Daemon(url, config["name"]) for config in configs]
        print("\n".join(of_languages({client: config["source"] for client, config in zip(clients, configs)},
                                     arguments.data, arguments.limit)), flush=True)
        print("\n" + row("model", "source", "texts", "own translations: warned", "references: % warned",
                         "with a last clause", "without it: % warned", "first half alone: % warned")
              + "\n|" + "---|" * 8)
        for client, model in zip(clients, arguments.models):
            print("\n".join(of_omissions(client, model, arguments.data, arguments.limit)), flush=True)


if __name__ == "__main__":
    run_command(main)
