"""The first texts that people type: python3 -m weights.evaluation.first_things MODEL_FOLDER [--alignd build/alignd]

Input: a model folder; weights/first/SOURCE-TARGET.tsv, a hundred inputs and their acceptable translations (its head
describes the format), and fifty more in weights/first/second/. The daemon translates with its defaults. Output: the
share of acceptable translations in each set, by group, and each translation with a mark.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import NamedTuple

from ..command import run_command
from ..model import folder
from . import compute, scores
from .client import BATCH, Daemon, chunks

FILES = Path(__file__).parent.with_name("first")
SECOND = FILES / "second"
SETS = {"first things": FILES, "second things": SECOND}
CASE_COUNTS = ("upper case", "names")


class Thing(NamedTuple):
    """criteria: (sign `=`, `~` or `!`, alternatives)."""

    group: str
    text: str
    criteria: list[tuple[str, list[str]]]


def parse(line: str) -> Thing:
    group, text, criteria = line.split("\t")
    found = [(part.strip()[0], [choice.strip() for choice in part.strip()[1:].split(" | ")])
             for part in criteria.split(" ; ")]
    if any(sign not in "=~!" or not all(choices) for sign, choices in found):
        raise ValueError(f"{text}: criteria are =, ~ or ! and what it is: {criteria}")
    return Thing(group, text, found)


def read(pair: str, files: Path = FILES) -> list[Thing]:
    lines = (files / f"{pair}.tsv").read_text(encoding="utf-8").splitlines()
    return [parse(line) for line in lines if line and not line.startswith("#")]


def folded(text: str, case: bool) -> str:
    """Normalises details that do not count: spaces, apostrophes, a space before punctuation, final punctuation; and
    case unless it counts."""
    text = re.sub(r"\s+", " ", text.replace("’", "'").replace("\u202f", " ")).strip()
    text = re.sub(r" (?=[;:!?,.])", "", text).rstrip(".!?, ")
    return text if case else text.lower()


def acceptable(thing: Thing, translation: str) -> bool:
    """Checks the criteria. A translation that repeats itself, has an unknown word or is much longer than the input is
    never acceptable."""
    case = thing.group in CASE_COUNTS
    text = folded(translation, case)
    if scores.repeats(text) or "\u2047" in text or len(text) > 1.6 * len(thing.text) + 8:
        return False
    for sign, choices in thing.criteria:
        choices = [folded(choice, case) if sign == "=" else choice if case else choice.lower() for choice in choices]
        met = text in choices if sign == "=" else any(choice in text for choice in choices)
        if met == (sign == "!"):
            return False
    return True


def translate(client: Daemon, texts: list[str]) -> list[str]:
    """Translates with the daemon's defaults, as users do."""
    replies = (client.request("/translate", {"model": client.model, "text": chunk}) for chunk in chunks(texts, BATCH))
    return [translation["text"] for reply in replies for translation in reply["translations"]]


def by_group(things: list[Thing], good: list[bool]) -> dict[str, tuple[int, int]]:
    """Returns (acceptable, all) by group."""
    found: dict[str, tuple[int, int]] = {}
    for thing, one in zip(things, good, strict=True):
        right, count = found.get(thing.group, (0, 0))
        found[thing.group] = (right + one, count + 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    config = folder.read_config(arguments.model)
    pair = f"{config['source']}-{config['target']}"
    with compute.daemon(arguments.alignd, arguments.model, compute.Variant(config["name"], [])) as url:
        for name, files in SETS.items():
            things = read(pair, files)
            translations = translate(Daemon(url, config["name"]), [thing.text for thing in things])
            good = [acceptable(thing, translation) for thing, translation in zip(things, translations, strict=True)]
            for thing, translation, one in zip(things, translations, good):
                print(f"{'+' if one else '-'} {thing.group}\t{thing.text}\t{translation}")
            print(f"{name}, acceptable: {sum(good)} of {len(good)}; "
                  + ", ".join(f"{group} {right}/{count}" for group, (right, count) in by_group(things, good).items()))


if __name__ == "__main__":
    run_command(main)
