"""Tests of weights/alignment/constructions.py and thresholds.py: rules and figures on made-up links, and the shipped
models' links compared with those of `several` in weights/alignment/align.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from weights.alignment import align, constructions, thresholds  # noqa: E402
from weights.alignment.align import Gold  # noqa: E402

ROOT = Path(__file__).parent.parent
ALIGND = ROOT / "build" / "alignd"
PAIRS = [Gold("a b", "x y", {(0, 0), (1, 1)}, {(1, 0)}, [(0, 1), (2, 3)], [(0, 1), (2, 3)]),
         Gold("a", "x", {(0, 0)}, set(), [(0, 1)], [(0, 1)])]


def test_figures():
    found = [{(0, 0), (1, 0), (0, 1)}, set()]
    assert constructions.figures(PAIRS, found) == pytest.approx((200 / 3, 100 / 3, 100 * (1 - 3 / 6)))
    assert constructions.figures(PAIRS, [set(), set()]) == (0, 0, 100)


def test_table_has_kinds_in_order_and_all():
    text = constructions.table(PAIRS, ["phrasal", "compound"], {"best": [{(0, 0)}, {(0, 0)}]})
    assert [line.split(" | ")[0] for line in text.splitlines()[2:]] == ["| phrasal", "| compound", "| all"]
    assert (text.splitlines()[2] == "| phrasal | 1 | 100.0 | 50.0 | 33.3 |" and text.splitlines()[4]
            == "| all | 2 | 100.0 | 66.7 | 20.0 |")


@pytest.mark.parametrize("model,flip", [("en-de", False), ("fr-en", True)])
def test_gold_of_a_model(model, flip):
    path, flipped = constructions.gold_of(ROOT / "weights" / model)
    assert flipped == flip and path.exists() and len(constructions.kinds(path)) == 30


def test_the_daemon_has_the_words_of_the_gold_and_the_links_of_the_rule():
    subprocess.run(["make", "-s", "build/alignd"], cwd=ROOT, check=True)
    model = ROOT / "weights" / "de-en"
    path, flip = constructions.gold_of(model)
    gold = align.read_gold(path, flip)[:8]
    with constructions.compute.daemon(ALIGND, model, constructions.compute.Variant("de-en", ["--workers", "1"])) as url:
        found = constructions.answered(constructions.Daemon(url, "de-en"), gold, "several")
    _, seen = align.attention(ALIGND, model, align.pairs_of(gold))
    assert found == [align.HEAD["head, several"](align.word_matrix(one, g, 0)) for one, g in zip(seen, gold)]


def test_rules():
    """Two target words, two source words and </s>; the second source word is the best of neither target word."""
    words = numpy.array([[0.6, 0.35, 0.05], [0.4, 0.3, 0.3]])
    none = numpy.zeros_like(words)
    assert thresholds.RULES["`best`, the default"](words, none) == {(0, 0), (0, 1)}
    assert thresholds.row_from(0.35)(words, none) == {(0, 0), (1, 0), (0, 1)}
    assert (thresholds.unlinked_from(0.3)(words, none) == {(0, 0), (0, 1), (1, 0)}
            and thresholds.unlinked_from(0.4)(words, none) == {(0, 0), (0, 1)})
    assert (thresholds.several(0.5, 0.3)(words, none) == {(0, 0), (1, 0)} and thresholds.several(0.3, 0.5)(words, none)
            == {(0, 0), (0, 1)})
    other = numpy.array([[0.6, 0.4, 0], [0.35, 0.3, 0]])  # the model of the other direction, without </s>
    assert thresholds.several_merged(0.35)(words, other) == {(0, 0), (1, 0), (0, 1)}


def test_a_mean_counts_languages_alike_and_no_constructions():
    rates = {("en-fr", "a", False): [{"r": 1.0}] * 2, ("en-fr", "b", False): [{"r": 3.0}] * 2,
             ("en-fr", "constructions", False): [{"r": 99.0}] * 2, ("en-de", "c", False): [{"r": 6.0}] * 2}
    assert thresholds.mean(rates, 0, "r") == 4


def test_other_words_are_refused():
    class Other:
        model = "m"

        def request(self, path: str, body: dict) -> dict:
            return {"results": [{"sentences": [{"words": {"source": ["a b"], "target": ["x", "y"], "alignment": []}}]}]}
    with pytest.raises(ValueError, match="other words than in the gold file"):
        constructions.answered(Other(), PAIRS[:1], "best")
