"""weights/evaluation/doubt.py: figures from the judgements."""

from __future__ import annotations

import math

from weights.evaluation import doubt


def test_shares() -> None:
    rows = [(True, True), (True, True), (True, False), (False, True), (False, False)]
    assert doubt.shares(rows) == (5, 2 / 3, 2 / 3)
    assert doubt.shares([]) == (0, 0, 0)


def test_the_judgements() -> None:
    heading, *rows = [line.split("\t") for line in doubt.JUDGED.read_text(encoding="utf-8").splitlines()]
    assert heading == ["model", "length", "corpus", "source", "translation", "wrong", "use"]
    assert all(length in doubt.LENGTHS and corpus in doubt.CORPORA and wrong in "01" and use in doubt.USES
               for _, length, corpus, _, _, wrong, use in rows)
    assert all(sum(row[1] == length and row[6] == "measured" for row in rows) >= 100 for length in doubt.LENGTHS)


def test_a_limit() -> None:
    estimates = [0.5, None, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    few = [False, True, True] + 7 * [False]  # 0.1 is marked whatever the limit is, so two of the others are marked
    assert doubt.limit_of(estimates, few, 0.3) == round(math.log(0.4), 2)
    assert doubt.limit_of([0.5], [False], 0) == doubt.limit_of([0.5], [False], 1) == round(math.log(0.5), 2)
