"""What faster arithmetic costs: python3 -m weights.evaluation.compute MODEL_FOLDER --data DIR [--flip] [--alignd
build/alignd]

Input: an exported model folder, DIR/SPLIT.tsv.gz, and the program. Starts a daemon for each compute type (--compute
float32, bfloat16, int8; int8 also with a transformer's keys and values in 32 bits; float32 and int8 also with the
shortlist if the folder has one). Prints for greedy and beam search BLEU and chrF, the share of sentences whose tokens
differ from float32's, and the difference of the attention from float32's: the mean and the largest absolute difference
over all weights, both with float32's greedy translation as the target, so that the matrices have the same shape.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from ..command import run_command
from ..corpora import data
from .client import BATCH, Daemon, Variant, chunks, daemon
from .evaluate import Result, add_arguments, differences, run

def variants(folder: Path) -> list[Variant]:
    """The variants to compare; float32 comes first, as the reference."""
    found = [Variant(compute, ["--compute", compute]) for compute in ("float32", "bfloat16", "int8")]
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config["decoder"].get("style") == "transformer":
        found.append(Variant("int8, 32 bits", [*found[2].flags, "--half-past=false"]))
    if (folder / "shortlist.safetensors").exists():
        found += [Variant(f"{v.name}, shortlist", [*v.flags, "--shortlist"]) for v in (found[0], *found[2:])]
    return found


def attention(url: str, model: str, sources: list[str], targets: list[str]) -> list[np.ndarray]:
    """Returns one matrix [target tokens, source tokens] per pair."""
    matrices = []
    client = Daemon(url, model)
    for texts, wanted in zip(chunks(sources, BATCH), chunks(targets, BATCH), strict=True):
        body = {"model": model, "text": texts, "translation": wanted, "include": ["attention", "eos"], "digits": 9}
        reply = client.request("/attention", body)
        matrices += [np.array(s["attention"]) for result in reply["results"] for s in result["sentences"]]
    return matrices


def distance(ours: list[np.ndarray], theirs: list[np.ndarray]) -> tuple[float, float]:
    """Mean and largest absolute difference over all weights."""
    differences = np.concatenate([np.abs(a - b).ravel() for a, b in zip(ours, theirs, strict=True)])
    return float(differences.mean()), float(differences.max())


def row(variant: Variant, results: list[Result], first: list[Result], far: tuple[float, float]) -> str:
    cells = [variant.name]
    for ours, theirs in zip(results, first, strict=True):
        count = len(differences(ours.outputs, theirs.outputs))
        cells += [*(f"{score:.2f}" for score in ours.scores.values()), f"{count / len(ours.outputs):.1%}"]
    return "| " + " | ".join([*cells, f"{far[0]:.5f}", f"{far[1]:.3f}"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    pairs = data.read_pairs(arguments.data / f"{arguments.split}.tsv.gz", arguments.flip)
    sources, references = [s for s, _ in pairs], [t for _, t in pairs]
    name = json.loads((arguments.model / "config.json").read_text())["name"]
    print(f"{name}, {arguments.split}: {len(pairs)} sentences; beam size {arguments.beam_size}\n")
    print("| compute | greedy BLEU | chrF | differ | beam BLEU | chrF | differ | attention, mean | largest |")
    print("|" + "---|" * 9, flush=True)
    first: tuple[list[Result], list[np.ndarray]] | None = None
    for variant in variants(arguments.model):
        with daemon(arguments.alignd, arguments.model, variant) as url:
            engine = Daemon(url, name)
            results = [run(engine, strategy, arguments.beam_size, sources, references)
                       for strategy in ("greedy", "beam")]
            targets = [output.text for output in (first[0] if first else results)[0].outputs]
            matrices = attention(url, name, sources, targets)
        first = first or (results, matrices)
        print(row(variant, results, first[0], distance(matrices, first[1])), flush=True)


if __name__ == "__main__":
    run_command(main)
