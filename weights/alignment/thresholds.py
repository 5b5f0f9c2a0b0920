"""How the thresholds of `several` were chosen: python3 -m weights.alignment.thresholds --data DIR

Input: the shipped models of the four directions and their gold alignments (weights/gold; Hansards, Alibi and Europarl
in DIR). PyTorch computes the heads. Output: a table in Markdown of alignment error rates. For each rule it has the mean
over every second pair, on which the thresholds were chosen; the mean over the other pairs; and for these the rate of
each set, from English / to English. A mean weights both languages equally. The constructions are not split, and no mean
includes them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Callable

import numpy
import torch
from numpy import ndarray

from ..command import run_command
from ..evaluation.report import GOLD
from . import align
from .align import Gold, Links

WEIGHTS = Path(__file__).parent.parent
UNCOUNTED = "constructions"
# Arguments: [target words, source words + 1] of the model, and of the model of the opposite direction.
Rule = Callable[[ndarray, ndarray], Links]


def row_from(least: float) -> Rule:
    """Each target word's best source word, and every other source word with a weight of at least `least`."""
    return lambda a, b: align.more_than_end(a) | {(int(j), int(i)) for i, j in numpy.argwhere(a[:, :-1] >= least)}


def unlinked_from(least: float) -> Rule:
    """Each target word's best source word; and for each source word without a link its best target word, if the weight
    is at least `least`."""

    def rule(a: ndarray, b: ndarray) -> Links:
        links, words = align.more_than_end(a), a[:, :-1]
        linked = {j for j, _ in links}
        return links | {(j, int(i)) for j, i in enumerate(words.argmax(axis=0)) if j not in linked
                        and words[i, j] >= least}

    return rule


def several(target: float, source: float) -> Rule:
    return lambda a, b: align.best_of_either(a[:, :-1], target, source)


def several_merged(least: float) -> Rule:
    return lambda a, b: align.best_of_either(numpy.sqrt(a[:, :-1] * b[:, :-1].T), least, least)


RULES: dict[str, Rule] = {
    "`best`, the default": lambda a, b: align.HEAD["head"](a),
    "`mutual`": lambda a, b: align.HEAD["head, best both ways"](a),
    "best, and all weights of a row from 0.3 on": row_from(0.3),
    "best, and the best of a source word without a link, from 0.2 on": unlinked_from(0.2),
    "`several`: best of a target word from 0.5 on, of a source word from 0.2 on": several(0.5, 0.2),
    **{f"the same from {target} and {source} on": several(target, source)
       for target, source in ((0.5, 0.15), (0.5, 0.3), (0.7, 0.25), (0.9, 0.25))},
    "both models, `mutual`": lambda a, b: align.TWO_HEADS["both heads, geometric mean, best both ways"](a, b),
    "both models, `several`: best of either side from a geometric mean of 0.3 on": several_merged(0.3),
    "the same from 0.25 on": several_merged(0.25),
}


def read_sets(root: Path, pair: str) -> dict[str, Path]:
    return {name: path if isinstance(path, Path) else root / path / "dev.tsv.gz" for name, path in GOLD[pair].items()}


def matrices(pair: str, gold: list[Gold]) -> list[tuple[ndarray, ndarray]]:
    """The soft alignments of the models of both directions, each in its own direction."""
    source, target = pair.split("-")
    sides = [(WEIGHTS / pair, gold), (WEIGHTS / f"{target}-{source}", align.flipped(gold))]
    seen = [[align.word_matrix(one, g, 0) for one, g in zip(align.soft_alignment(model, align.pairs_of(side)), side,
                                                            strict=True)] for model, side in sides]
    return list(zip(*seen, strict=True))


def rates_of(root: Path) -> dict[tuple[str, str, bool], list[dict[str, float]]]:
    """Returns (pair, set, to English) -> the rates by rule of every second pair, and of the other pairs. For the
    constructions both are the rates of all pairs."""
    rates = {}
    sets = [(pair, name, path, align.read_gold(path)) for pair in GOLD for name, path in read_sets(root, pair).items()]
    for pair, name, path, gold in sets:
        words = matrices(pair, gold)
        for back in (False, True):
            sided = align.read_gold(path, True) if back else gold
            halves = ([range(len(gold))] * 2 if name == UNCOUNTED
                      else [range(0, len(gold), 2), range(1, len(gold), 2)])
            rates[pair, name, back] = [{title: align.rate([sided[i] for i in half],
                                                          [rule(*words[i][::-1 if back else 1]) for i in half])
                                        for title, rule in RULES.items()} for half in halves]
    return rates


def mean(rates: dict[tuple[str, str, bool], list[dict[str, float]]], half: int, rule: str) -> float:
    return float(numpy.mean([numpy.mean([found[half][rule] for (of, name, _), found in rates.items() if of == pair
                                         and name != UNCOUNTED]) for pair in GOLD]))


def table(rates: dict[tuple[str, str, bool], list[dict[str, float]]]) -> str:
    sets = list(dict.fromkeys((pair, name) for pair, name, _ in rates))
    lines = ["| rule | mean, chosen on | mean, others | " + " | ".join(f"{name} {pair}" for pair, name in sets) + " |",
             "|---" * (len(sets) + 3) + "|"]
    for rule in RULES:
        cells = [" / ".join(f"{rates[pair, name, back][1][rule]:.1f}" for back in (False, True)) for pair, name in sets]
        lines.append(f"| {rule} | {mean(rates, 0, rule):.1f} | {mean(rates, 1, rule):.1f} | " + " | ".join(cells)
                     + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True,
                        help="the folder with align-en-fr-hansards, align-en-fr-alibi and align-en-de-europarl100")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(table(rates_of(arguments.data)))


if __name__ == "__main__":
    run_command(main)
