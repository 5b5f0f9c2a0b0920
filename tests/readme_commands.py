"""How each command in the indented blocks of documents is checked: it is run here, a target of the Makefile runs it, or
it is not run, for a stated reason.

The longest matching row applies. A command without a row, and a row without a command, are errors; `make TARGET` needs
no row. Commands run in a folder of their own, where weights/ is a copy, build/ is a link, and the hand-aligned
sentences serve as text: DATA, CORPUS.tsv.gz, NEW.tsv. Commands that need other text, or hours, are not run.
"""
from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path
from typing import Iterator, NamedTuple

PROGRAMS = ("python3", "make", "docker", "kubectl", "curl", "alignd", "systemctl")
GOLD = Path("weights/gold/en-fr-everyday.tsv")


class Row(NamedTuple):
    document: str
    begins: str
    run: bool
    reason: str = ""  # if it is not run


ROWS = (
    Row("weights/README.md", "python3 -m weights.training.train", False,
        "takes hours; make check-python trains small models"),
    Row("weights/README.md", "python3 -m weights.training.export", False,
        "needs a training run; make check-python exports small models"),
    Row("weights/README.md", "python3 -m weights.evaluation.evaluate", True),
    Row("weights/README.md", "python3 -m weights.training.shortlist", True),
    Row("weights/README.md", "python3 -m pytest", False, "make check-python"),
    Row("weights/README.md", "python3 -m weights.golden.heads", False,
        "writes tests/golden; make test reads what it made"),
    Row("weights/README.md", "python3 -m weights.golden.values", False, "takes minutes; make test reads what it made"),
    Row("weights/README.md", "make results", False, "trains for days, on corpora that are not shipped"),
    Row("weights/README.md", "python3 -m weights.evaluation.results --data", False,
        "needs corpora that are not shipped"),
    Row("weights/README.md", "python3 -m weights.evaluation.results --render", True),
    Row("weights/README.md", "python3 -m weights.alignment.aligner", True),
    Row("weights/README.md", "python3 -m weights.alignment.align_head MODEL_FOLDER", True),
    Row("weights/README.md", "python3 -m weights.alignment.align_head MODEL_FOLDER --corpora", False,
        "needs corpora that are not shipped"),
    Row("weights/README.md", "python3 -m weights.alignment.align MODEL_FOLDER", True),
    Row("weights/README.md", "python3 -m weights.alignment.align weights/en-fr --reverse", False,
        "needs the Hansards, which are not shipped"),
    Row("weights/README.md", "python3 -m weights.alignment.constructions", True),
    Row("weights/README.md", "python3 -m weights.alignment.thresholds", False,
        "needs gold alignments that are not shipped"),
    Row("weights/README.md", "python3 -m weights.evaluation.opaque", False, "needs corpora that are not shipped"),
    Row("weights/README.md", "python3 -m weights.evaluation.quality", True),
    Row("weights/README.md", "python3 -m weights.training.broad", False,
        "needs corpora that are not shipped; make check-python trains small models"),
    Row("weights/README.md", "python3 -m weights.training.graphs", False,
        "needs corpora that are not shipped, and a GPU; make check-python makes its updates on the processor"),
    Row("weights/README.md", "python3 -m weights.corpora.translated", False,
        "needs corpora that are not shipped; make check-python translates made-up ones"),
    Row("weights/README.md", "python3 -m weights.corpora.debian", False,
        "downloads for minutes; make check-python reads made-up packages"),
    Row("weights/README.md", "python3 -m weights.training.finish", False, "needs corpora that are not shipped"),
    Row("weights/README.md", "python3 -m weights.training.mixture", False, "needs corpora that are not shipped"),
    Row("weights/README.md", "python3 -m weights.training.unknown", False, "needs corpora that are not shipped"),
    Row("weights/README.md", "python3 -m weights.evaluation.report", False, "needs corpora that are not shipped"),
    Row("weights/README.md", "python3 -m weights.evaluation.first_things", True),
    Row("weights/README.md", "python3 -m weights.evaluation.pivots", False,
        "needs corpora that are not shipped; make check-python measures a few sentences"),
    Row("weights/EXPERIMENTS.md", "python3 -m weights.alignment.constructions", False, "is also in weights/README.md"),
    Row("weights/EXPERIMENTS.md", "python3 -m weights.alignment.thresholds", False,
        "needs gold alignments that are not shipped"),
    Row("weights/EXPERIMENTS.md", "python3 tests/bench/phrase_pairs.py", False,
        "needs gold alignments that are not shipped"),
    Row("weights/EXPERIMENTS.md", "python3 tests/bench/missing_words.py", False, "needs corpora that are not shipped"),
    Row("weights/EXPERIMENTS.md", "python3 -m weights.evaluation.searches", False,
        "needs corpora that are not shipped"),
    Row("weights/EXPERIMENTS.md", "alignd align-head", False,
        "needs a foreign model, and corpora that are not shipped"),
    Row("weights/EXPERIMENTS.md", "python3 -m weights.alignment.align MODEL", False,
        "needs gold alignments that are not shipped"),
    Row("weights/CONVERT.md", "python3 -m weights.conversion.convert_", False,
        "needs foreign models; make check-python converts small ones"),
    Row("weights/CONVERT.md", "python3 -m weights.conversion.state_dict", False,
        "needs a checkpoint; make check-python converts four"),
    Row("weights/CONVERT.md", "alignd import", False, "needs foreign models; make check-python imports small ones"),
    Row("weights/CONVERT.md", "curl", False, "asks converted models; make check-python does, of small ones"),
    Row("docker/README.md", "docker", False, "make check-container builds and runs the image"),
    Row("docker/README.md", "alignd get", False, "needs a network; make check-python downloads from a mirror"),
    Row("docker/README.md", "alignd --models models", False,
        "serves until it is ended; make check-python serves downloaded models"),
    Row("docker/README.md", "docker compose", False, "make check-deploy"),
    Row("docker/README.md", "kubectl", False, "make check-deploy"),
    Row("docker/README.md", "curl", True),
    Row("docker/README.md", "make deb && apt install", False, "make check-package"),
    Row("docker/README.md", "make install", False, "changes the machine; make check-systemd runs the unit"),
)


def indented(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yields (line number from 1, command without a trailing remark)."""
    for number, line in enumerate(lines, 1):
        if line.startswith("    ") and line.split()[0] in PROGRAMS:
            yield number, re.split(r"  +#", line)[0].strip()


def row_of(document: str, command: str) -> Row | None:
    rows = [row for row in ROWS if row.document == document and command.startswith(row.begins)]
    return max(rows, key=lambda row: len(row.begins), default=None)


def named_targets(command: str, row: Row | None) -> list[str]:
    """The Makefile targets that a command or the reason of its row names."""
    text = row.reason if row else command
    return re.findall(r"\bmake ([a-z-]+)", text)


def prepare(root: Path, build: Path, folder: Path) -> None:
    """Creates the files that the commands need; weights/ is a copy, so that they may write to it."""
    shutil.copytree(root / "weights", folder / "weights", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "build").symlink_to(build)
    pairs = [line.split("\t") for line in (root / GOLD).read_text().splitlines()]
    text = "".join(f"{source}\t{target}\n" for *_, source, target in pairs)
    (folder / "DATA").mkdir()
    (folder / "NEW.tsv").write_text(text)
    for name in ("CORPUS", "DATA/train", "DATA/valid", "DATA/test"):
        with gzip.open(folder / f"{name}.tsv.gz", "wt") as file:
            file.write(text)
    for copy in ("MODEL_FOLDER", "models/en-fr"):
        shutil.copytree(root / "weights/en-fr", folder / copy)
