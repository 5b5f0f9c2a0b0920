"""alignd's int8 against Bergamot's: python3 -m weights.evaluation.compare_bergamot --data DIR [--alignd build/alignd]

Input: DIR with one folder per model: model.npz, model.intgemm8.bin and model.intgemm.alphas.bin with their vocabularies
and lex.50.50.s2t.bin, input.txt, and in out/ the greedy output of Bergamot's fork of Marian,
bergamot.PRECISION[.shortlist].soft.p9.nbest.gz. Each file is imported, served with --compute int8 (float32 for the
float model), and queried with the same input. Output: a table with one row per list: sentences; how many differ in a
word; the largest margin by which alignd prefers its own word to Bergamot's at the first difference; how often
Bergamot's word is not among alignd's likeliest there; for the other sentences the median and the largest difference of
a word score; BLEU of both. The exit status is 1 if a row that should agree does not: float32, and int8 with activation
scales. int8 rounds activations, and the last bit of a float32 can decide the direction; both programs are then right,
so a sentence may differ if its two best words are close (MARGIN, and MEDIAN of the word scores). Without activation
scales the two differ by design: alignd gives each vector its own scale, Bergamot one scale to the whole batch.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy

from .client import Daemon, Variant, chunks, daemon
from .compare_marian import TEXTS_AT_ONCE, has, lines_of, n_best
from .scores import bleu
from ..command import CommandError, run_command

MARGIN, MEDIAN = 0.2, 1e-5


class Precision(NamedTuple):
    """Bergamot's name of the precision, the file that it loads, and alignd's compute type. same: both do the same
    arithmetic."""

    name: str
    model: str
    compute: str
    same: bool


PRECISIONS = (Precision("float32", "model.npz", "float32", True),
              Precision("int8shiftAll", "model.intgemm8.bin", "int8", False),
              Precision("int8shiftAlphaAll", "model.intgemm.alphas.bin", "int8", True))


def margin(answer: dict, theirs: list[str]) -> float:
    """How much likelier alignd finds its own word at the first difference; infinite if their word is not among its
    likeliest."""
    ours = answer["tokens"]
    place = next(i for i, pair in enumerate(zip([*ours, ""], [*theirs, ""])) if pair[0] != pair[1])
    found = {item["token"]: item["log_prob"] for item in answer["top_k"][place]}
    return answer["log_probs"][place] - found.get(theirs[place] if place < len(theirs) else "</s>", -numpy.inf)


def check(client: Daemon, folder: Path, name: str, same: bool) -> bool:
    """Prints a row. Returns whether it is within the bounds; True if it has none."""
    theirs = n_best(lines_of(folder / "out", f"bergamot.{name}.soft.p9.nbest"))
    options = {"model": client.model, "strategy": "greedy", "length_penalty": 0, "split_sentences": False,
               "replace_unknowns": False, "include": ["tokens", "log_probs", "top_k", "eos"]}
    texts = lines_of(folder, "input.txt")
    replies = [reply for chunk in chunks(texts, TEXTS_AT_ONCE)
               for reply in client.request("/translate", options | {"text": chunk})["translations"]]
    answers = [reply["sentences"][0] for reply in replies]
    margins, far = [], []
    for i, answer in enumerate(answers):
        hypothesis = theirs[i][0]
        if hypothesis.text.split() == answer["tokens"]:
            far.append(numpy.abs(numpy.subtract(answer["log_probs"], hypothesis.words)))
        else:
            margins.append(margin(answer, hypothesis.text.split()))
    words, known = numpy.concatenate(far), [part for part in margins if part < numpy.inf]
    holds = not same or (max(margins, default=0) <= MARGIN and numpy.median(words) <= MEDIAN)
    scores = [bleu(side, lines_of(folder, "reference.txt"))
              for side in ([answer["text"] for answer in replies], lines_of(folder / "out", f"bergamot.{name}.txt"))]
    print(f"| {name} | {len(answers)} | {len(margins)} | {max(known, default=0):.4f} | {len(margins) - len(known)} | "
          f"{numpy.median(words):.1e} | {words.max():.1e} |"
          f" {scores[0]:.2f} / {scores[1]:.2f} |{'' if holds else ' <-- beyond the bounds'}", flush=True)
    return holds


def compare(alignd: Path, folder: Path, precision: Precision, work: Path) -> bool:
    """Compares with and without the shortlist."""
    out, holds = work / f"{folder.name}-{precision.name}", True
    subprocess.run([alignd, "import", folder / precision.model, "--max-target-ratio", "3", "--into", work, "--name",
                    out.name], check=True, stdout=subprocess.DEVNULL)
    for end, flags in (("", []), (".shortlist", ["--shortlist"])):
        if has(folder / "out", f"bergamot.{precision.name}{end}.soft.p9.nbest"):
            with daemon(alignd, out, Variant(out.name, ["--compute", precision.compute, *flags])) as url:
                holds &= check(Daemon(url, out.name), folder, precision.name + end, precision.same)
    return holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="one folder a model")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    folders = sorted(path.parent for path in arguments.data.glob("*/model.intgemm8.bin"))
    if not folders:
        raise CommandError(f"{arguments.data}: has no folder with model.intgemm8.bin")
    holds = True
    for folder in folders:
        print(f"\n{folder.name}\n\n| Bergamot's | sentences | differ | largest margin | not likely | word score: "
              f"median | largest | BLEU, alignd / Bergamot |\n|---|---|---|---|---|---|---|---|", flush=True)
        with tempfile.TemporaryDirectory() as work:
            for precision in PRECISIONS:
                holds &= compare(arguments.alignd, folder, precision, Path(work))
    sys.exit(not holds)


if __name__ == "__main__":
    run_command(main)
