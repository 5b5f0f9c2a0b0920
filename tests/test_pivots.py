"""weights/evaluation/pivots.py: how two models combine, the requests to the daemon, and the figures."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from weights.evaluation import pivots
from weights.evaluation.client import Daemon

ROOT = Path(__file__).parent.parent
FR_EN = {"name": "fr-en", "source": "fr", "target": "en"}
EN_FR = {"name": "en-fr", "source": "en", "target": "fr"}
EN_DE = {"name": "en-de", "source": "en", "target": "de"}


class Served(Daemon):
    """A daemon that records its requests; the output of a model is its name and the text."""

    def __init__(self, pivot: list[str] | None = None) -> None:
        super().__init__("", "")
        self.pivot, self.asked = pivot, []

    def request(self, path: str, body: dict) -> dict:
        self.asked.append({name: body[name] for name in ("model", "source", "target") if name in body})
        if "model" in body:
            return {"translations": [{"text": f"{body['model']} {text}"} for text in body["text"]]}
        answers = [{"text": f"two {text}", "pivot_text": f"one {text}"} for text in body["text"]]
        return {"model": "en-de", "translations": answers} | ({"pivot": self.pivot} if self.pivot else {})


def test_the_way() -> None:
    assert str(pivots.way_of(FR_EN, EN_DE)) == "fr → en → de"
    with pytest.raises(SystemExit, match="fr-en writes en, but fr-en reads fr"):
        pivots.way_of(FR_EN, FR_EN)


def test_a_pair_is_the_daemons_own_pivot() -> None:
    way = pivots.way_of(FR_EN, EN_DE)
    served = Served(["fr-en", "en-de"])
    assert pivots.translate(served, way, ["a", "b"]) == [("one a", "two a"), ("one b", "two b")]
    assert served.asked == [{"source": "fr", "target": "de"}]
    with pytest.raises(SystemExit, match="took en-de"):
        pivots.ask(Served(), way, ["a"])


def test_a_round_trip_is_asked_for_in_two_parts() -> None:
    served = Served()
    assert pivots.translate(served, pivots.way_of(EN_FR, FR_EN), ["a"]) == [("en-fr a", "fr-en en-fr a")]
    assert served.asked == [{"model": "en-fr"}, {"model": "fr-en"}]


def test_the_table() -> None:
    way = pivots.way_of(FR_EN, EN_DE)
    found = [("a b c d e", "f g h i j")] * 2
    lines = pivots.table(way, found, ["a b c d e"] * 2, ["z"] * 2).split("\n")
    assert lines[2].split(" | ")[:4] == ["| fr → en → de", "2", "100.0", "100.0"]
    assert lines[2].endswith("| 0.0 | 0.0 |")
    assert {line.count("|") for line in lines} == {7}


@pytest.mark.skipif(not (ROOT / "build/alignd").exists(), reason="alignd is not built")
def test_two_served_models(tmp_path: Path) -> None:
    (tmp_path / "multi30k").mkdir()
    for language in "en", "fr", "de":
        (tmp_path / f"multi30k/test_2016_flickr.{language}.gz").write_bytes(
            gzip.compress(b"A boy plays.\nA dog runs.\nTwo men walk.\n"))
    for name, source, target in ("first", "fr", "en"), ("second", "en", "de"):
        shutil.copytree(ROOT / "tests/golden/luong-general-gru", tmp_path / name)
        config = tmp_path / name / "config.json"
        config.write_text(json.dumps(json.loads(config.read_text())
                                     | {"name": name, "source": source, "target": target}))
    found = subprocess.run([sys.executable, "-m", "weights.evaluation.pivots", "--data", str(tmp_path), "--limit", "2",
                            "--alignd", "build/alignd",
                            str(tmp_path / "first"), str(tmp_path / "second")], cwd=ROOT, capture_output=True,
                           text=True, check=True)
    assert found.stdout.split("\n")[2].startswith("| fr → en → de | 2 | ")

