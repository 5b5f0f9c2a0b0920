"""GeoQuery's training questions with other names in them: python3 -m weights.corpora.exchanged TRAIN.tsv.gz > PAIRS.tsv

An alignment head (weights.alignment.align_head) should learn that a name in the logical form comes from the same name
in the question, whatever the name is. Input: questions and forms, separated by a TAB. Output: the same format; each
pair up to ROUNDS times, with its names replaced by names of other questions or by names that occur in none."""
import random
import re
import sys
from pathlib import Path

from ..command import run_command
from . import data

ROUNDS, SHARE, SEED = 12, 0.8, 1
NAMED = re.compile(r"(?:stateid|cityid|riverid|placeid|countryid) \( (\w+)")
UNSEEN = ["zurich", "oslo", "paris", "bergen", "lima", "springfield", "madrid", "quito"]


def with_other(text: str, old: str, new: str) -> str:
    """Replaces every occurrence of the word `old` by `new`."""
    return f" {text} ".replace(f" {old} ", f" {new} ").strip()


def exchange(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns each pair unchanged, and then with names replaced; without duplicates."""
    rng, names, made = random.Random(SEED), sorted({name for _, form in pairs
                                                    for name in NAMED.findall(form)}) + UNSEEN, []
    for turn in range(ROUNDS):
        for question, form in pairs:
            for name in [name for name in names if f" {name} " in f" {question} " and f" {name} " in f" {form} "]:
                if turn and rng.random() < SHARE:
                    other = rng.choice(names)
                    question, form = with_other(question, name, other), with_other(form, name, other)
            made.append((question, form))
    return list(dict.fromkeys(made))


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("python3 -m weights.corpora.exchanged TRAIN.tsv.gz > PAIRS.tsv")
    for question, form in exchange([tuple(line.split("\t")[:2]) for line in data.read_lines(Path(sys.argv[1]))]):
        print(f"{question}\t{form}")


if __name__ == "__main__":
    run_command(main)
