"""When a translation is doubtful: python3 -m weights.evaluation.doubt MODEL [MODEL ...] --data DATA [--alignd build/alignd] [--judged]

Input: model folders that estimate quality, and DATA with a folder PAIR of everyday sentences for each, tatoeba-en-fr and the like: valid.allrefs.tsv.gz has each source
with each of its translations. The daemon translates them. Output: in quality.safetensors of each folder, by which alignd warns `doubtful` (model/rendering.h has the
same arithmetic),

    doubt   F32 [5]    a weight for each of FEATURES, a constant, and the estimate below which a sentence is doubtful

One regression serves all the models: it estimates whether a sentence's translation has chrF of at least ENOUGH with one of its references. What that says of right and
wrong was found out by reading: results/judged.tsv has a person's judgement of translations of test.allrefs.tsv.gz, of which a quarter had an estimated quality of under
0.1, and so on; each stands for `weight` of all. Below BELOW three of four translations were wrong. --judged only measures this again, for the translations that are still
the same.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
from pathlib import Path

import numpy
from numpy import ndarray

from ..model import folder, manifest, safetensors
from . import quality, quality_card, scores
from .client import Daemon, Variant, chunks, daemon

FEATURES = ("log-probability", "entropy", "length")
ENOUGH, BELOW = 70, 0.1
SENTENCES = 1200  # of each model
JUDGED = Path(__file__).parent.parent / "results/judged.tsv"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def references(path: Path, flip: bool) -> dict[str, list[str]]:
    """The references of each source, in the order of the sources' digests, which is random but reproducible."""
    found: dict[str, list[str]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            source, *others = line.rstrip("\n").split("\t")
            for a, b in ((other, source) if flip else (source, other) for other in others):
                found.setdefault(a, []).append(b)
    return {source: found[source] for source in sorted(found, key=digest)}


def features(sentence: dict) -> list[float]:
    """The features of a sentence object with log_probs, entropy and eos."""
    log_probs = quality.clipped(numpy.array(sentence["log_probs"]), 0)
    return [float(log_probs.sum()), float(numpy.mean(sentence["entropy"])), float(numpy.log(len(log_probs)))]


def translated(client: Daemon, sources: list[str]) -> list[dict]:
    found = []
    for chunk in chunks(sources, quality.BATCH):
        body = {"model": client.model, "text": chunk, "split_sentences": False, "verbatim": True, "include": ["log_probs", "entropy", "eos"]}
        found += [one["sentences"][0] for one in client.request("/translate", body)["translations"]]
    return found


def corpus(model: Path, data: Path, split: str) -> dict[str, list[str]]:
    config = folder.read_config(model)
    pair = "-".join(sorted((config["source"], config["target"]), key=lambda language: language != "en"))
    return references(data / f"tatoeba-{pair}/{split}.allrefs.tsv.gz", config["target"] == "en")


def examples(client: Daemon, texts: dict[str, list[str]]) -> quality.Examples:
    """Whether each translation is close to one of its references."""
    found = translated(client, list(texts))
    close = [max(scores.chrf([one["text"]], [other]) for other in others) >= ENOUGH for one, others in zip(found, texts.values(), strict=True)]
    return quality.Examples(numpy.array([features(one) for one in found]), numpy.array(close, float))


def measured(estimates: ndarray, wrong: ndarray, weights: ndarray) -> tuple[float, float]:
    """The share of wrong translations among the doubtful ones, and of doubtful ones among the wrong."""
    doubtful = weights * (estimates < BELOW)
    return float((doubtful * wrong).sum() / doubtful.sum()), float((doubtful * wrong).sum() / (weights * wrong).sum())


def judge(clients: dict[str, Daemon], models: list[Path], data: Path) -> str:
    """The judgements of the translations in JUDGED that the models still make."""
    rows = [line.split("\t") for line in JUDGED.read_text(encoding="utf-8").splitlines()[1:]]
    estimates, wrong, weights = [], [], []
    for model in models:
        name = folder.read_config(model)["name"]
        regression = safetensors.read(model / quality_card.FILE)[0]["doubt"]
        mine = {source: (translation, float(judged), float(weight)) for of, source, translation, judged, weight in rows if of == name}
        sources = [source for source in corpus(model, data, "test") if digest(source) in mine]
        for source, sentence in zip(sources, translated(clients[name], sources), strict=True):
            translation, judged, weight = mine[digest(source)]
            if digest(sentence["text"]) == translation:
                estimates.append(float(quality.probability(regression[:-1], numpy.array(features(sentence)))))
                wrong.append(judged)
                weights.append(weight)
    right, caught = measured(*map(numpy.array, (estimates, wrong, weights)))
    return f"{len(wrong)} of {len(rows)} judged translations are still made: {right:.2f} of the doubtful ones are wrong, {caught:.2f} of the wrong ones are doubtful"


def write(model: Path, doubt: ndarray) -> None:
    tensors, metadata = safetensors.read(model / quality_card.FILE)
    safetensors.write(model / quality_card.FILE, {**tensors, "doubt": doubt}, metadata)
    manifest.renew(model)
    quality_card.insert(model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL", help="model folders")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the corpora")
    parser.add_argument("--judged", action="store_true", help="only measure what the models' folders have")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    names = {model: folder.read_config(model)["name"] for model in arguments.models}
    first, *others = arguments.models
    with daemon(arguments.alignd, first, Variant("doubt", ["--compute", "int8"] + [flag for model in others for flag in ("--model", str(model))])) as url:
        clients = {name: Daemon(url, name) for name in names.values()}
        if not arguments.judged:
            found = [examples(clients[name], dict(list(corpus(model, arguments.data, "valid").items())[:SENTENCES])) for model, name in names.items()]
            regression = quality.fit(quality.Examples(*(numpy.concatenate(part) for part in zip(*found))))
            for model in arguments.models:
                write(model, numpy.append(regression, BELOW).astype("<f4"))
        print(judge(clients, arguments.models, arguments.data))


if __name__ == "__main__":
    main()
