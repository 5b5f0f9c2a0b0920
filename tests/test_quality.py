"""weights/evaluation/quality.py: features, right words, fitting, the file and the card; and that the daemon computes
the same as Python."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy
import pytest

from weights.evaluation import quality, quality_card
from weights.model import safetensors
from weights.evaluation.client import Daemon, Variant, daemon

ALIGND = Path("build/alignd")
GOLDEN = Path("tests/golden")
TEXTS = ["A boy plays in the snow.", "The dog runs.", "Where is the train station, and who has the old man's cat?",
         "zzyzx", "A 😀 in the snow."]


def words(source: str, target: str, alignment: list[list[int]]) -> dict:
    return {"source": source.split(), "target": target.split(), "alignment": alignment}


def test_right_words() -> None:
    reference = words("the old cat sleeps", "le vieux chat dort", [[0, 0], [1, 1], [2, 2], [3, 3]])
    assert quality.right_words(reference, reference) == [True] * 4
    ours = words("the old cat sleeps", "Le chat dort dort", [[0, 0], [2, 1], [3, 2], [3, 3]])
    assert quality.right_words(ours, reference) == [True, True, True, False]  # each word of the reference counts once
    far = words("le a b c d", "le x x x x", [[4, 0]])
    near = words("le a b c d", "le x x x x", [[1, 0]])
    assert not quality.right_words(far, near)[0]
    assert quality.is_right([True, True, True, False], 4) and not quality.is_right([True, True, True], 5)


def test_a_regression_learns_what_made_the_data() -> None:
    random = numpy.random.default_rng(1)
    features = random.normal(size=(20000, len(quality.FEATURES)))
    wanted = numpy.array([1.5, -0.5, 0.25, 0, -1, 0.5])
    right = (random.random(len(features)) < quality.probability(wanted, features)).astype(float)
    found = quality.fit(quality.Examples(features, right))
    assert numpy.abs(found - wanted).max() < 0.08
    of = quality.measured(found, quality.Examples(features, right))
    assert of["ece"] < 0.02 and of["auc"] > 0.8
    assert sum(count for count, _, _ in of["curve"]) == len(features)


def test_a_feature_that_never_changes_has_no_weight() -> None:
    features = numpy.random.default_rng(2).normal(size=(500, len(quality.FEATURES)))
    features[:, 3] = 0
    found = quality.fit(quality.Examples(features, (features[:, 0] > 0.3).astype(float)))
    assert found[3] == 0 and numpy.isfinite(found).all()


def test_area() -> None:
    assert quality.area(numpy.array([0.1, 0.2, 0.8, 0.9]), numpy.array([0, 0, 1, 1])) == 1
    assert quality.area(numpy.array([0.5, 0.5, 0.5, 0.5]), numpy.array([0, 1, 0, 1])) == 0.5


REPORT = {"learned": 10, "measured": 20, "command": "python3 -m weights.evaluation.quality m --data DATA",
          "of": {"words": {"right": 0.5, "auc": 0.75, "ece": 0.01, "curve": [[7, 0.05, 0.1], [9, 0.95, 0.9]]}}}
REGRESSIONS = {"words": numpy.array([0.4, -0.3, 0.2, -0.6, 0.9, 1.1], "<f4"),
               "sentence": numpy.array([0.3, -0.2, 0.1, 0.8, 0.5, -0.4], "<f4")}


def test_the_card_has_one_section(tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_text("# A to B\n\nText.\n\n## Scores\n\nMany.\n\n## Training\n\nLong.\n")
    for _ in range(2):
        quality.write(tmp_path, REGRESSIONS, REPORT)
    text = card.read_text()
    assert text.count(quality_card.HEADING) == 1 and "0.90 of 9" in text
    assert ([line for line in text.splitlines() if line.startswith("## ")]
            == ["## Scores", quality_card.HEADING, "## Training"])
    assert text.endswith("## Training\n\nLong.\n") and "\n\n\n" not in text
    assert set(safetensors.read(tmp_path / quality_card.FILE)[0]) == {"words", "sentence"}


@pytest.mark.parametrize("name", ["luong-general-gru", "alignment-luong-gru", "conditional-additive-gru",
                                  "transformer-ssru", "tokenizer-words", "copy", "tokenizer-characters",
                                  "luong-no-eos"])
@pytest.mark.skipif(not ALIGND.exists(), reason="make builds it")
def test_the_daemon_computes_the_same(name: str, tmp_path: Path) -> None:
    if not (GOLDEN / name).exists():
        pytest.skip("no such case")
    model = Path(shutil.copytree(GOLDEN / name, tmp_path / name))
    quality.write(model, REGRESSIONS, REPORT)
    spread = []
    with daemon(ALIGND, model, Variant(name, [])) as url:
        client = Daemon(url, json.loads((model / "config.json").read_text())["name"])
        for body in {"strategy": "greedy"}, {"strategy": "beam", "beam_size": 4, "n_best": 3}:
            for text in TEXTS:
                reply = client.request("/translate", {"text": text, "max_length": 30, "digits": 9,
                                                      "include": [*quality.INCLUDE, "quality"], **body})
                sentence = reply["translations"][0]["sentences"][0]
                for hypothesis in sentence.get("hypotheses", [sentence]):
                    steps = quality.steps_of(hypothesis)
                    found = hypothesis["quality"]
                    wanted = quality.probability(REGRESSIONS["words"],
                                                 quality.word_features(steps,
                                                                       quality.words_of(hypothesis,
                                                                                        len(steps.alignment))))
                    assert len(found["words"]) == len(hypothesis["words"]["target"])
                    assert numpy.allclose(found["words"], wanted, atol=2e-4)
                    assert abs(found["sentence"] - quality.probability(REGRESSIONS["sentence"],
                                                                       quality.sentence_features(steps))) < 2e-4
                    spread += found["words"]
    assert max(spread) - min(spread) > 0.01
