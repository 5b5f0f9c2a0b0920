"""Corpora: reading, and batches of about equal cost.

Input: UTF-8 files of `source TAB target` lines, or one file per language, gzip or plain; CORPORA has the paths. Output
of `make_batches`: lists of indices into the corpus, with sentences of similar length together and at most `tokens`
target tokens per batch. The order depends on (seed, epoch) alone, so that a resumed run sees the same batches.
"""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ..command import CommandError
from ..evaluation import moses


def read_pairs(path: Path, flip: bool = False) -> list[tuple[str, str]]:
    """Reads (source, target) pairs and ignores further columns. flip: swap the two."""
    opener = gzip.open if path.suffix == ".gz" else open
    pairs = []
    with opener(path, "rt", encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            columns = line.rstrip("\n").split("\t")
            if len(columns) < 2:
                raise CommandError(f"{path}:{number}: no TAB")
            pairs.append((columns[1], columns[0]) if flip else (columns[0], columns[1]))
    return pairs


def short(pairs: list[tuple[str, str]], longest: int) -> list[tuple[str, str]]:
    """The pairs with at most `longest` words per side; 0: all pairs."""
    return [pair for pair in pairs if max(len(text.split()) for text in pair) <= longest] if longest else pairs


def read_lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n") for line in lines]


@dataclass(frozen=True)
class Corpus:
    """The location of a corpus's splits below the data folder.

    files: split -> file name; with `columns`, one file per language, with `{}` in the name. held_out: the number of
    training pairs that serve as the validation split, if the corpus has none: every n-th pair, the same in every run.
    prepare: (text, side) -> text, where side is a language of `columns`, or else "source" or "target". language: the
    formal language of the targets (weights/evaluation/wellformed.py); "" if none.
    """

    folder: str
    files: dict[str, str]
    columns: tuple[str, ...] = ()
    held_out: int = 0
    prepare: Callable[[str, str], str] | None = None
    language: str = ""

    def _read_file(self, root: Path, split: str) -> list[tuple[str, str]]:
        path = root / self.folder / self.files[split]
        if self.columns:
            sides = [read_lines(path.with_name(path.name.format(language))) for language in self.columns]
        else:
            sides = list(map(list, zip(*read_pairs(path))))
        if self.prepare:
            sides = [[self.prepare(line, name) for line in side]
                     for side, name in zip(sides, self.columns or ("source", "target"))]
        return list(zip(*sides, strict=True))

    def read(self, root: Path, split: str, flip: bool = False) -> list[tuple[str, str]]:
        """split: train, valid or test."""
        if self.held_out and split != "test":
            pairs = self._read_file(root, "train")
            every = len(pairs) // self.held_out
            pairs = [pair for i, pair in enumerate(pairs) if (i % every == 0) == (split == "valid")]
        else:
            pairs = self._read_file(root, split)
        return [(target, source) for source, target in pairs] if flip else pairs


def _splits(name: str, valid: str = "valid", test: str = "test") -> dict[str, str]:
    return {"train": name.format("train"), "valid": name.format(valid), "test": name.format(test)}


def _multi30k(target: str) -> Corpus:
    files = _splits("{}.{{}}.gz", "val", "test_2016_flickr")
    return Corpus("multi30k", files, ("en", target), prepare=moses.lower_normalise_tokenise)


def _join_punctuation(text: str, side: str) -> str:
    """Joins the question mark to its word, as people type it: `what is the capital of texas?`"""
    return text.replace(" ?", "?") if side == "source" else text


# The values of the recipe key training.corpus. "tsv" is any parallel text as three files in the data folder itself.
CORPORA: dict[str, Corpus] = {
    "tsv": Corpus("", _splits("{}.tsv.gz")),
    "tatoeba-en-fr": Corpus("tatoeba-en-fr", _splits("{}.tsv.gz")),
    "tatoeba-en-de": Corpus("tatoeba-en-de", _splits("{}.tsv.gz")),
    "flores-en-fr": Corpus("broad", {"test": "flores-dev.en-fr.tsv.gz"}),
    "flores-en-de": Corpus("broad", {"test": "flores-dev.en-de.tsv.gz"}),
    "multi30k-en-de": _multi30k("de"),
    "multi30k-en-fr": _multi30k("fr"),
    "geoquery": Corpus("geoquery", _splits("{}.tsv.gz"), held_out=60, language="logical_form"),
    "geoquery-typed": Corpus("geoquery", _splits("{}.tsv.gz"), held_out=60, prepare=_join_punctuation,
                             language="logical_form"),
    "geoquery-lambda": Corpus("geoquery", _splits("lambda.{}.tsv.gz"), held_out=60, language="logical_form"),
    "geoquery-sql": Corpus("geoquery", _splits("sql.{}.tsv.gz"), language="sql"),
    "atis": Corpus("atis", _splits("{}.tsv.gz"), language="logical_form"),
    "nl-rx-turk": Corpus("nl-rx", _splits("turk.{}.tsv.gz"), language="regex"),
    "nl-rx-synth": Corpus("nl-rx", _splits("synth.{}.tsv.gz"), language="regex"),
}


def make_batches(lengths: list[tuple[int, int]], tokens: int, seed: int, epoch: int) -> list[list[int]]:
    """lengths: (source, target) tokens of each pair. Pools of 100 batches are sorted by length and cut; then the
    batches are shuffled."""
    random_state = random.Random(seed * 1_000_003 + epoch)
    order = list(range(len(lengths)))
    random_state.shuffle(order)
    pool_size = max(1, 100 * tokens // 10)
    batches: list[list[int]] = []
    for begin in range(0, len(order), pool_size):
        pool = sorted(order[begin:begin + pool_size], key=lambda i: (lengths[i][1], lengths[i][0]))
        batch: list[int] = []
        longest = 0
        for index in pool:
            longest = max(longest, *lengths[index])
            if batch and longest * (len(batch) + 1) > tokens:
                batches.append(batch)
                batch, longest = [], max(lengths[index])
            batch.append(index)
        batches.append(batch)
    random_state.shuffle(batches)
    return batches
