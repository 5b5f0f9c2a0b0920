"""All steps after a training run: python3 -m weights.training.finish RUN MODEL_FOLDER --data CORPORA [--reverse
MODEL_FOLDER] [--from STEP]

Input: a run folder of weights/training/broad.py, running or finished, and the folder of all corpora. Output:
MODEL_FOLDER as shipped: the weights in int8, the embedding of <unk>, the alignment head, the shortlist, the quality
estimation, and the card with every figure. Each step is a command, printed before it runs; the card names the commands,
too. After an interruption --from resumes with a step. A folder of more than 12 MB is an error, checked before the
figures are computed.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import torch

from ..command import run_command
from .saved import load_saved

LARGEST = 12_000_000  # bytes of a model folder
ROOT = Path(__file__).parent.parent.parent


class Step(NamedTuple):
    name: str
    arguments: list[str]  # of python3 -m


def steps(run: Path, model: Path, corpora: Path, texts: Path, pair: str, flip: bool, reverse: Path | None,
          alignd: Path) -> list[Step]:
    flipped, program = ["--flip"] * flip, ["--alignd", str(alignd)]
    quality = [str(corpora / path) for path in (f"tatoeba-{pair}/valid.tsv.gz", f"broad/flores-dev.{pair}.tsv.gz",
                                                f"broad/newstest-valid.{pair}.tsv.gz")]
    return [
        Step("export", ["weights.training.export", str(run), str(model), "--dtype", "int8"]),
        Step("unknown", ["weights.training.unknown", str(model), "--corpora", str(corpora), *flipped]),
        Step("head", ["weights.alignment.align_head", str(model), "--corpora", str(corpora), "--pairs", "80000",
                      "--symmetry", "intersection", "--unlinked", "0.3", *flipped]),
        Step("text", ["weights.training.mixture", "--data", str(corpora), "--pair", pair, "--out", str(texts),
                      "--cache", str(run / "cache.pickle"), "--count", "50000"]),
        Step("shortlist", ["weights.training.shortlist", str(model), "--data", str(texts), "--pairs", "25000",
                           "--always", "600", "--best", "60", *flipped]),
        Step("opaque", ["weights.evaluation.opaque", str(model), *program, *flipped, "--data",
                        str(corpora / f"tatoeba-{pair}/valid.tsv.gz")]),
        Step("quality", ["weights.evaluation.quality", str(model), *program, *flipped, "--data", *quality]),
        Step("report", ["weights.evaluation.report", str(model), "--data", str(corpora), *program, *flipped,
                        *(["--reverse", str(reverse)] if reverse else []),
                        "--json", str(run / "report.json"), "--card", "--", "--compute", "int8"]),
    ]


def size(model: Path) -> int:
    return sum(path.stat().st_size for path in model.iterdir() if path.is_file())


def run_step(step: Step) -> None:
    command = [sys.executable, "-m", *step.arguments]
    print(f"\n{step.name}: {shlex.join(['python3', *command[1:]])}", flush=True)
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit(f"finish: the step {step.name} failed; --from {step.name} goes on with it")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="a run folder")
    parser.add_argument("model", type=Path, help="the model folder to write")
    parser.add_argument("--data", type=Path, required=True, help="folder of all corpora and links")
    parser.add_argument("--reverse", type=Path, metavar="MODEL",
                        help="the model of the other direction, for the alignment's figures")
    parser.add_argument("--from", dest="start", metavar="STEP",
                        help="export, unknown, head, text, shortlist, opaque, quality or report: begin there")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    config = load_saved(arguments.run / "best.pt")["config"]
    flip = config["target"] == "en"
    pair = "-".join(sorted((config["source"], config["target"]), key=lambda language: language != "en"))
    with tempfile.TemporaryDirectory() as texts:
        todo = steps(*(path.resolve() for path in (arguments.run, arguments.model, arguments.data)), Path(texts), pair,
                     flip, arguments.reverse and arguments.reverse.resolve(), arguments.alignd.resolve())
        names = [step.name for step in todo]
        if arguments.start not in (None, *names):
            parser.error(f"--from must be one of {', '.join(names)}, got {arguments.start}")
        begin = names.index(arguments.start) if arguments.start else 0
        if arguments.start == "shortlist":
            begin -= 1  # the step before makes the text, which is not kept
        for step in todo[begin:]:
            if step.name == "report" and size(arguments.model) > LARGEST:
                sys.exit(
                    f"finish: {arguments.model} has {size(arguments.model):,} bytes, at most {LARGEST:,} are allowed")
            run_step(step)
    print(f"\n{arguments.model}: {size(arguments.model) / 1e6:.1f} MB")


if __name__ == "__main__":
    run_command(main)
