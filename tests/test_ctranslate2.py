"""Models in CTranslate2's format, written by tests/ctranslate2_models.py: every type and version of the format gives
the same translations. Needs build/alignd."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from ctranslate2_models import Shape, seeds, write_model  # noqa: E402

ROOT = Path(__file__).parent.parent
ALIGND = ROOT / "build" / "alignd"
SHAPE = Shape(layers=3, size=32, heads=4, filter=64, words=["<blank>", "<s>", "</s>", *"abcdefghijkl", "<unk>"])
TEXTS = "a b c\nd e f g\nh i j k l a b\n"


def answers(folder: Path, into: Path, name: str) -> list[str]:
    """The translations of the texts by the imported model, in float32."""
    subprocess.run([ALIGND, "import", folder, "--into", into, "--name", name], check=True, stdout=subprocess.DEVNULL)
    command = [ALIGND, "translate", "--model", into / name, "--compute", "float32", "--beam-size", "3"]
    return subprocess.run(command, input=TEXTS.encode(), check=True, capture_output=True).stdout.decode().splitlines()


def test_versions_are_one_model(tmp_path: Path) -> None:
    found = []
    for version in (2, 3, 4, 5, 6):
        write_model(tmp_path / f"v{version}", SHAPE, version=version)
        found.append(answers(tmp_path / f"v{version}", tmp_path / "models", f"v{version}"))
    assert len(found[0]) == 3 and any(found[0])
    assert all(lines == found[0] for lines in found)


def test_stored_positions_change_answers(tmp_path: Path) -> None:
    other = Shape(**{**vars(SHAPE), "positions": 64})
    write_model(tmp_path / "computed", SHAPE)
    write_model(tmp_path / "stored", other)
    assert (answers(tmp_path / "computed", tmp_path / "models", "c")
            != answers(tmp_path / "stored", tmp_path / "models", "s"))


@pytest.mark.parametrize("cut", (0.1, 0.5, 0.999))
def test_what_is_cut_is_refused_and_leaves_nothing(tmp_path: Path, cut: float) -> None:
    write_model(tmp_path / "in", SHAPE)
    path = tmp_path / "in" / "model.bin"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * cut)])
    done = subprocess.run([ALIGND, "import", tmp_path / "in", "--into", tmp_path / "models"], capture_output=True)
    assert done.returncode != 0 and b"model.bin: " in done.stderr and b"the file ends within" in done.stderr
    assert not (tmp_path / "models").exists()


def test_seeds_of_the_fuzz_target_are_made_here() -> None:
    """Otherwise its corpus could begin with files that are no longer valid models."""
    corpus = ROOT / "tests" / "fuzz" / "corpus" / "ctranslate2"
    assert {path.name: path.read_bytes() for path in corpus.iterdir()} == seeds()
