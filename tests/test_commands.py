"""Commands answer a wrong file or folder with one sentence: python3 -m pytest -q tests/test_commands.py"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
# Of each command the arguments, in which WRONG is the folder that is not what the command needs, and OUT a new one.
COMMANDS = (
    "training.train weights/recipes/geoquery.json --data WRONG --out OUT",
    "training.train WRONG --data WRONG --out OUT",
    "training.export WRONG OUT",
    "training.average WRONG WRONG OUT",
    "training.broad weights/recipes/en-fr-broad.json --data WRONG --out OUT",
    "training.broad WRONG/recipe.json --data WRONG --out OUT",
    "training.finish WRONG OUT --data WRONG",
    "training.graphs WRONG/recipe.json --data WRONG --out OUT --seconds 1",
    "training.mixture --data WRONG --pair en-fr --out OUT",
    "training.shortlist WRONG --data WRONG",
    "training.shortlist weights/geoquery --data WRONG",
    "training.unknown WRONG --corpora WRONG",
    "evaluation.evaluate WRONG --data WRONG",
    "evaluation.evaluate weights/geoquery --data WRONG --pytorch",
    "evaluation.quality WRONG --data WRONG",
    "evaluation.opaque WRONG --data WRONG",
    "evaluation.doubt WRONG --data WRONG",
    "evaluation.report WRONG --data WRONG",
    "evaluation.first_things WRONG",
    "evaluation.pivots --data WRONG WRONG WRONG",
    "evaluation.results --data WRONG --table g1",
    "evaluation.compute WRONG --data WRONG",
    "evaluation.searches WRONG --data WRONG",
    "evaluation.compare_marian --data WRONG",
    "evaluation.compare_bergamot --data WRONG",
    "evaluation.detection --data WRONG",
    "alignment.align WRONG --gold WRONG/gold.tsv",
    "alignment.aligner WRONG/corpus.tsv",
    "alignment.align_head WRONG --data WRONG/corpus.tsv",
    "alignment.constructions WRONG WRONG WRONG WRONG",
    "alignment.thresholds --data WRONG",
    "corpora.exchanged WRONG/train.tsv.gz",
    "corpora.translated WRONG --data WRONG --pair en-de",
    "conversion.convert_opennmt WRONG/model.pt --output OUT",
    "conversion.state_dict WRONG/model.pt WRONG/map.yaml --into OUT",
    "golden.heads WRONG",
)


@pytest.mark.parametrize("kind", ["missing", "file", "other"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_folder_is_one_sentence(command: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture) -> None:
    wrong = tmp_path / "wrong"
    if kind == "file":
        wrong.write_text("neither a model nor a corpus\n")
    if kind == "other":
        wrong.mkdir()
        for name in ("config.json", "checkpoint.pt", "best.pt", "recipe.json", "train.tsv.gz", "map.yaml", "model.pt",
                     "corpus.tsv", "gold.tsv", "manifest.json", "a.pt"):
            (wrong / name).write_text("neither a model nor a corpus\n")
    name, *words = command.replace("WRONG", str(wrong)).replace("OUT", str(tmp_path / "out")).split()
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", [name, *words])
    with pytest.raises(SystemExit) as ended:  # any other exception would be a traceback
        runpy.run_module("weights." + name, run_name="__main__", alter_sys=False)
    assert isinstance(ended.value.code, str) and "\n" not in ended.value.code.strip(), capsys.readouterr().err
