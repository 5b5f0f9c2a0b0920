"""weights/training/shortlist.py: alignment, choice, measurement and the file, on a tiny corpus with an untrained
model."""

from __future__ import annotations

import argparse
import copy
import json
import sys
from pathlib import Path

import numpy
import pytest

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS.parent))

from weights.model import config, safetensors  # noqa: E402
from weights.training import shortlist  # noqa: E402
from weights.model.network import Model  # noqa: E402
from weights.training.shortlist import Links, Shortlist  # noqa: E402
from weights.model.tokenizer import EOS  # noqa: E402

import torch  # noqa: E402 (after weights, which sets its threads)

SOURCES, TARGETS = 9, 13


@pytest.fixture(scope="module")
def model() -> Model:
    base = copy.deepcopy(json.loads((TESTS / "data" / "wrong_configs.json").read_text(encoding="utf-8"))["base"])
    torch.manual_seed(1)
    return Model(config.validate(base), SOURCES, TARGETS).eval()


def _pairs(count: int = 20) -> list[shortlist.Pair]:
    values = numpy.random.default_rng(4)
    return [(values.integers(3, SOURCES, values.integers(1, 5)).tolist() + [EOS],
             values.integers(3, TARGETS, values.integers(1, 6)).tolist())
            for _ in range(count)]


def _options(**options: object) -> argparse.Namespace:
    return argparse.Namespace(**{"seed": 1, "always": 2, "best": 3, "least": 0.0} | options)


def test_links_are_those_of_each_sentence_alone(model):
    pairs = _pairs()
    links = shortlist.force(model, pairs, seed=1)
    alone = [shortlist.force(model, [pair], seed=1) for pair in pairs]
    assert len(links.candidates) == len(links.lengths) == sum(len(target) + 1 for _, target in pairs)
    assert len(links.sources) == len(links.attention) == links.lengths.sum()

    def positions(all_links: list[Links]) -> list[tuple]:
        found = []
        for each in all_links:
            ends = numpy.cumsum(each.lengths)
            for end, length, candidates in zip(ends, each.lengths, each.candidates):
                found.append((each.sources[end - length:end].tolist(), candidates.tolist(),
                              each.attention[end - length:end].round(4).tolist()))
        return sorted(found)

    assert [p[:2] for p in positions([links])] == [p[:2] for p in positions(alone)]
    sums = numpy.add.reduceat(links.attention, numpy.cumsum(links.lengths) - links.lengths)
    assert numpy.allclose(sums, 1, atol=1e-5)


def test_candidates_begin_with_the_reference(model):
    source, target = [3, 4, EOS], [5, 6]
    links = shortlist.force(model, [(source, target)], seed=1)
    assert links.candidates[:, 0].tolist() == target + [EOS]
    readouts, weights = model.readouts(torch.tensor([source]), torch.tensor([3]), torch.tensor([[1] + target]))
    assert links.candidates[:, 1].tolist() == model.output(readouts)[0].argmax(-1).tolist()
    assert links.sources.tolist() == source * 3
    assert numpy.allclose(links.attention.reshape(3, 3), weights[0].detach().numpy())


def _links(sentences: list[tuple[list[int], list[int]]], attention: list[float] | None = None) -> Links:
    """Links with each sentence's targets as the only candidates, each linked to all its sources, evenly unless
    `attention` gives the weights."""
    sources = numpy.array([s for source, target in sentences for _ in target for s in source], numpy.int32)
    lengths = numpy.array([len(source) for source, target in sentences for _ in target])
    candidates = numpy.array([[t] for _, target in sentences for t in target], numpy.int32)
    return Links(sources, numpy.array(attention or 1 / numpy.repeat(lengths, lengths), numpy.float32), lengths,
                 candidates)


def test_alignment_explains_away():
    # 3 and 4 occur with 5 and 6, evenly linked; 3 alone occurs with 5, so 4 is aligned with 6
    sources, targets, counts = shortlist.align(_links([([3, 4], [5, 6])] * 4 + [([3], [5])] * 2), SOURCES, TARGETS)
    count = {(s, t): c for s, t, c in zip(sources.tolist(), targets.tolist(), counts)}
    assert count.keys() == {(3, 5), (3, 6), (4, 5), (4, 6)}
    assert counts.sum() == pytest.approx(10)
    assert count[3, 5] > 4.5 and count[4, 6] > 3 and count[3, 6] < 1


def test_attention_decides_between_equals():
    links = _links([([3, 4], [5, 6])], attention=[0.9, 0.1, 0.1, 0.9])
    sources, targets, counts = shortlist.align(links, SOURCES, TARGETS)
    assert targets[sources == 3][counts[sources == 3].argmax()] == 5
    assert targets[sources == 4][counts[sources == 4].argmax()] == 6


def test_choice_keeps_the_best_outside_always():
    sources, targets = numpy.array([3, 3, 3, 3, 5, 5]), numpy.array([2, 7, 8, 9, 8, 9])
    counts = numpy.array([9.0, 1.0, 3.0, 1.0, 0.2, 0.05])
    chosen = shortlist.choose((sources, targets, counts), SOURCES, numpy.array([2], numpy.int32), best=2, least=0.1)
    assert chosen.offsets.tolist() == [0, 0, 0, 0, 2, 2, 3, 3, 3, 3]
    assert chosen.targets.tolist() == [8, 7, 8]  # by links, then by id
    assert chosen.offsets.dtype == chosen.targets.dtype == numpy.int32


def test_always_holds_the_most_frequent_and_the_end():
    assert shortlist.most_frequent(numpy.array([[5, 5], [7, 5], [7, 8]]), TARGETS, 3).tolist() == [EOS, 5, 7]


def test_measure():
    lists = Shortlist(numpy.array([EOS, 5], numpy.int32), numpy.array([0, 0, 0, 0, 2, 2]),
                      numpy.array([7, 8], numpy.int32))
    result = shortlist.measure(lists, [([3, EOS], [7, 9]), ([4, 3], [5])], own=[[7, 8, EOS], [6, 5]],
                               vocabulary=TARGETS)
    assert result == {"size": 4, "same": 0.5, "reference": 4 / 5, "greedy": 4 / 5}


def test_same_seed_same_file(model, tmp_path):
    contents = []
    for name in ("a", "b"):
        made = shortlist.make(model, _pairs(), (SOURCES, TARGETS), _options())
        safetensors.write(tmp_path / name, vars(made))
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]
    tensors, _ = safetensors.read(tmp_path / "a")
    assert tensors.keys() == {"always", "offsets", "targets"}
    assert all(tensor.dtype == numpy.int32 for tensor in tensors.values())
    assert len(tensors["offsets"]) == SOURCES + 1 and tensors["offsets"][-1] == len(tensors["targets"])
    assert not set(tensors["always"]) & set(tensors["targets"])
    assert (numpy.diff(tensors["offsets"]) <= 3).all()
