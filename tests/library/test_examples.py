"""The examples of the Python package, run as their users would run them."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "server/library/python"
ENVIRONMENT = {**os.environ, "ALIGND_LIBRARY": str(ROOT / "build/libalignd.so.1"),
               "PYTHONPATH": f"{PYTHON}:{PYTHON / 'examples'}", "ALIGND_MODEL": str(ROOT / "weights/en-fr")}
LINES = [f"There are {number} houses." for number in range(5)]


def run(folder: Path, *command: str | Path) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_heat_map_is_drawn(tmp_path):
    run(tmp_path, PYTHON / "examples/heatmap.py", ROOT / "weights/en-fr", "The house is small.", "map.png")
    picture = (tmp_path / "map.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n") and int.from_bytes(picture[16:20], "big") > 200


def test_dask_translates_a_corpus_in_other_processes(tmp_path):
    for part in range(2):
        (tmp_path / f"{part}.en").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    (tmp_path / "run.py").write_text(
        "import dask.bag\nfrom corpus import translated\n"
        "if __name__ == '__main__':\n"
        "    dask.bag.read_text('*.en').map_partitions(translated).to_textfiles('out/*.fr', scheduler='processes')\n",
        encoding="utf-8")
    run(tmp_path, "run.py")
    found = [path.read_text(encoding="utf-8").splitlines() for path in sorted((tmp_path / "out").glob("*.fr"))]
    assert len(found) == 2 and found[0] == found[1]
    assert found[0][3] == "Il y a 3 maisons."


def test_a_partition_keeps_the_order_of_its_lines(tmp_path):
    """As Spark calls it: an iterator, of which nothing else is known."""
    code = ("import corpus\ncorpus.CHUNK = 2\n"
            f"print('\\n'.join(corpus.translated(iter({LINES!r}))))\n")
    assert run(tmp_path, "-c", code).splitlines() == [f"Il y a {number} maisons." for number in range(5)]
