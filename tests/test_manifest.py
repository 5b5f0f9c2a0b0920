"""weights/model/manifest.py: the written manifest, the detection of changed files, and the shipped folders."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from weights.model import manifest  # noqa: E402

SHIPPED = sorted(path.parent for path in (ROOT / "weights").glob("*/config.json"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    shutil.copytree(ROOT / "tests/golden/luong-general-gru", made)
    (made / "README.md").write_text("a card")
    manifest.write(made)
    return made


def test_every_file_but_the_card(folder: Path) -> None:
    files = json.loads((folder / "manifest.json").read_text())["files"]
    assert set(files) == {path.name for path in folder.iterdir()} - {"README.md", "manifest.json"}
    data = (folder / "model.safetensors").read_bytes()
    assert files["model.safetensors"] == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / "README.md").write_text("another card")
    assert manifest.differences(folder) == []


def test_the_same_folder_has_the_same_manifest(folder: Path) -> None:
    before = (folder / "manifest.json").read_bytes()
    manifest.write(folder)
    assert (folder / "manifest.json").read_bytes() == before


def test_another_file_is_named(folder: Path) -> None:
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)
    assert manifest.differences(folder) == ["model.safetensors is not the file of manifest.json"]


def test_missing_and_new_files_are_named(folder: Path) -> None:
    (folder / "source.spm").unlink()
    (folder / "more.json").write_text("{}")
    assert manifest.differences(folder) == ["source.spm is missing", "more.json is not in manifest.json"]


def test_command(folder: Path, tmp_path: Path) -> None:
    def run(*arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-m", "weights.model.manifest", *map(str, arguments)], cwd=ROOT,
                              capture_output=True, text=True)

    assert run(folder).returncode == 0 and run("--check", folder).returncode == 0
    (folder / "config.json").write_text("{}")
    found = run("--check", folder)
    assert found.returncode == 1 and f"{folder}: config.json is not the file" in found.stderr
    assert run(tmp_path).returncode == 1


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda path: path.name)
def test_shipped_folders(shipped: Path) -> None:
    if not (shipped / "manifest.json").exists():
        pytest.skip("has no manifest")
    assert manifest.differences(shipped) == []
