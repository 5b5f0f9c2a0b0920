"""weights/evaluation/doubt.py: sources with all their references, features, and what the judgements say."""

from __future__ import annotations

import gzip
import math
import shutil
from pathlib import Path

import numpy

from weights.evaluation import doubt, quality_card
from weights.model import manifest, safetensors

SHIPPED = [Path("weights") / name for name in ("en-fr", "fr-en", "en-de", "de-en")]


def test_references(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\tc\nd\tb\n"))
    assert doubt.references(path, False) == {"a": ["b", "c"], "d": ["b"]}
    assert doubt.references(path, True) == {"b": ["a", "d"], "c": ["a"]}


def test_features() -> None:
    assert doubt.features({"log_probs": [-1.0, -60.0], "entropy": [1.0, 2.0]}) == [-51.0, 1.5, math.log(2)]


def test_measured() -> None:
    estimates, wrong = numpy.array([0.01, 0.02, 0.5, 0.9]), numpy.array([1.0, 0.0, 1.0, 0.0])
    assert doubt.measured(estimates, wrong, numpy.array([3.0, 1.0, 1.0, 9.0])) == (0.75, 0.75)


def test_the_shipped_models_doubt() -> None:
    tensors = [safetensors.read(model / quality_card.FILE)[0]["doubt"] for model in SHIPPED]
    assert all(numpy.isfinite(one).all() and one[-1] == numpy.float32(doubt.BELOW) for one in tensors)
    assert all("`doubtful`" in (model / "README.md").read_text(encoding="utf-8") for model in SHIPPED)


def test_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    model = tmp_path / "en-fr"
    shutil.copytree(SHIPPED[0], model)
    before = safetensors.read(model / quality_card.FILE)
    doubt.write(model, numpy.arange(5, dtype="<f4"))
    after = safetensors.read(model / quality_card.FILE)
    assert after[1] == before[1] and (after[0]["words"] == before[0]["words"]).all() and after[0]["doubt"].tolist() == [0, 1, 2, 3, 4]
    assert "below 4" in (model / "README.md").read_text(encoding="utf-8") and not manifest.differences(model)
