"""The model card of a general model: README.md in its folder, from its own files, the figures of one report, and the
table of sources.

Input: the folder; figures as a table; the translations of the first things (weights/evaluation/first_things.py).
weights/evaluation/report.py --card writes it.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NamedTuple

from ..model import folder, safetensors
from ..training import mixture
from . import card, quality_card
from ..model.storage import SCALE

ROOT = Path(__file__).parent.parent.parent

CARD = """# {source} to {target}

Translates general {source} text to {target}. Loaded by `alignd --model {folder}`.

| | |
|---|---|
| encoder | {encoder} |
| attention | {attention}; guided by word alignments in training |
| decoder | {decoder} |
| output | {output} |
| alignment head | {head} |
| tokens | {tokens} for both languages, {file}; {vocabulary:,} pieces, one for each byte among them |
| parameters | {parameters:,} |
| stored as | {storage}, vectors as float32; {megabytes:.1f} MB |
| limits | {max_source} source tokens a sentence; {ratio:g} target tokens a source token |

## What to expect

BLEU (13a, cased) and chrF as sacreBLEU computes them, one reference, by the daemon; the length of the output over the
reference's, in characters. The domains of `broad` are the training's own, on sentences that are not in it; Flores and
newstest are of no training domain.

{scores}

    {command}

Of the first things that people type (the same for every model, with what is acceptable written down first), some that
it gets right:

{good}

and some that it does not:

{bad}

## Training

{steps} steps, {seen} target tokens, {time}{began}. Adam with a moving average of the weights, which is what is here;
recipe `{recipe}`.

{runs}
    python3 -m weights.training.finish RUN {folder} --data CORPORA

## Data and licences

Word alignments of these texts, which guided the attention and taught the alignment head, were made with eflomal
(Östling and Tiedemann 2016), those of Debian's packages with weights/alignment/aligner.py. What stands below
`debian/` `python3 -m weights.corpora.debian --out CORPORA` makes. The weights are derived from all of the following;
pairs are seen as often in a pass as the column says.{earlier}

{sources}

## Limits

{caution}
"""

ON_A_CORE = """    python3 -m weights.training.broad {recipe} --data CORPORA --out RUN{start}"""
ON_A_GPU = """The four models were trained side by side, in four runs: from the second on also on texts that a model
of the first (for the third and fourth: of the second) had translated back, from the third on with ten thousand more
phrases, and the fourth with seven thousand more. The weights are one part of the third run's and three of the
fourth's, which knows more phrases but is a little worse in long texts.

    python3 -m weights.training.graphs weights/recipes/??-??-broad.json --data CORPORA --out FIRST --seconds 300
    python3 -m weights.corpora.translated MODEL --data CORPORA --pair {pair}  # MODEL: of FIRST, later of SECOND, from English
    python3 -m weights.training.graphs weights/recipes/??-??-broad.json --data CORPORA --out SECOND --from FIRST --learning-rate 0.0025 --seconds 290
    python3 -m weights.training.graphs weights/recipes/??-??-broad.json --data CORPORA --out THIRD --from SECOND --learning-rate 0.003 --seconds 505
    python3 -m weights.training.graphs weights/recipes/??-??-broad.json --data CORPORA --out FOURTH --from THIRD --learning-rate 0.0015 --seconds 118
    python3 -m weights.training.average MODEL OF_FOURTH weights/{name} --share 0.75  # exported; MODEL: of THIRD"""

FURTHER = """

Then a core went on with this model alone, with more phrases (of the recipe `"phrases": 0.6, "learning_rate":
0.0006`), and the weights are the mean of both.

    python3 -m weights.training.broad RECIPE --data CORPORA --out RUN --from {folder}
    python3 -m weights.training.average {folder} EXPORTED MEAN"""

CAUTION = """It has learned from some ten million words of free text: it knows far less than models that were trained
on a hundred times as much. Names, numbers and addresses are mostly copied, rare words are spelt out of pieces and may
come out as words that do not exist. Much of its longer text is of old novels, manuals and government pages. Read what
matters before you rely on it."""


class Example(NamedTuple):
    text: str
    translation: str
    acceptable: bool


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def examples(of: list[Example], count: int = 15) -> str:
    """Returns a Markdown table of at most `count` examples, evenly spaced."""
    if not of:
        return "(none)"
    chosen = of if len(of) <= count else [of[i * len(of) // count] for i in range(count)]
    return "\n".join(["| typed | translation |", "|---|---|",
                      *(f"| {_cell(one.text)} | {_cell(one.translation)} |" for one in chosen)])


def sources(pair: str, weights: dict[str, float]) -> str:
    """weights: of those sources whose weight the recipe overrides."""
    used = [row._replace(weight=weights.get(row.name, row.weight)) for row in mixture.table(pair)]
    rows = [f"| {row.name} | {row.domain} | {row.weight:g} | {row.licence} | {row.attribution} |" for row in used
            if row.weight > 0]
    return "\n".join(["| source | domain | a pass | licence | attribution |", "|---|---|---|---|---|", *rows])


def earlier_sources(began: str, pair: list[str]) -> str:
    """A sentence on the training data of the model of another pair from which training started, or "". began: its name
    and data."""
    name = began.split()[0] if began else ""
    other = name and set(name.split("-")) - set(pair)
    return (f" So are they of the texts of [{name}](../{name}/README.md), from whose weights the training began."
            if other else "")


def duration(metadata: dict[str, str]) -> str:
    if "gpu_seconds" in metadata:
        return f"{float(metadata['gpu_seconds']) / 60:.0f} minutes of a GPU that four models shared"
    return (f"{float(metadata['core_seconds']) / 3600:.1f} hours of one processor core" if "core_seconds" in metadata
            else "unknown time")


def runs(name: str, metadata: dict[str, str]) -> str:
    """How the weights were trained; a model that began from an earlier version of itself was first trained on a GPU."""
    further = metadata.get("began", "").startswith(f"{name} (")
    return (ON_A_GPU if further or "gpu_seconds" in metadata else ON_A_CORE) + (FURTHER if further else "")


def write(path: Path, scores: str, command: str, things: list[Example], flip: bool) -> None:
    """scores: as Markdown."""
    config = folder.read_config(path)
    tensors, metadata = safetensors.read(path / "model.safetensors")
    largest = max(tensors.values(), key=lambda tensor: tensor.size)
    languages = {side: card.LANGUAGES.get(config[side], config[side]) for side in ("source", "target")}
    pair = [config["source"], config["target"]]
    recipe = f"weights/recipes/{config['name']}-broad.json"
    training = json.loads((ROOT / recipe).read_text(encoding="utf-8"))["training"]
    number = {key: f"{float(metadata[key].removeprefix('step ')):,.0f}" if key in metadata else "unknown"
              for key in ("epoch", "tokens")}
    text = CARD.format(
        **card.describe(config), **languages, folder=f"weights/{config['name']}", scores=scores, command=command,
        file=config["tokenizer"]["source"], vocabulary=len(tensors["decoder.embedding"]),
        storage=card.STORAGE[safetensors.NAMES[largest.dtype]],
        parameters=sum(math.prod(tensor.shape) for name, tensor in tensors.items() if not name.endswith(SCALE)),
        megabytes=(path / "model.safetensors").stat().st_size / 1e6,
        max_source=config["limits"]["max_source_tokens"], ratio=config["limits"]["max_target_ratio"],
        good=examples([one for one in things if one.acceptable]),
        bad=examples([one for one in things if not one.acceptable]),
        steps=number["epoch"], seen=number["tokens"], time=duration(metadata),
        recipe=recipe, earlier=earlier_sources(metadata.get("began", ""), pair),
        began=f", from the weights of {metadata['began']}" if "began" in metadata else "",
        runs=runs(config["name"], metadata).format(
            recipe=recipe, folder=f"weights/{config['name']}", name=config["name"], pair=training["pair"],
            start=f" --from weights/{metadata['began'].split()[0]}" if "began" in metadata else ""),
        head=f"queries and keys of {config['alignment']['size']}" if config["alignment"]["size"] else "none",
        sources=sources(training["pair"], training.get("weights", {})), caution=CAUTION)
    (path / "README.md").write_text(text, encoding="utf-8")
    quality_card.insert(path)
