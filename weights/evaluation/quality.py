"""Estimated quality: python3 -m weights.evaluation.quality MODEL_FOLDER --data PAIRS [PAIRS ...] [--flip] [--alignd
build/alignd]

Input: a model folder, and text that the model was not trained on, each PAIRS a folder with valid.tsv.gz (to learn from)
and test.tsv.gz (to measure on), or a file of source TAB target, of which every other line is learned from. The daemon
translates it with its defaults. Output: MODEL_FOLDER/quality.safetensors, by which alignd answers `"include":
["quality"]` (model/rendering.h has the same arithmetic): two logistic regressions, of words and of sentences,

    words, sentence   F32 [6]    a weight for each of FEATURES, and a constant

and in its metadata what was measured, which becomes a section of the model card.

What is learned. A word of a translation is right if it is in the reference at its aligned place: the same word, letter
case apart, is there, aligned with a source word at most NEAR words away; each word of the reference serves once. The
alignment is the model's own, of its translation and of the reference. A sentence is right if three quarters of its
words are and three quarters of the reference's words were found. One reference is one of many good translations: both
shares are too low.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy
from numpy import ndarray
from tqdm import tqdm

from ..command import run_command
from ..corpora import data
from ..model import folder, manifest, safetensors
from . import quality_card
from .client import Daemon, Variant, chunks, daemon
from ..alignment.links import Span

FEATURES = ("log-probability", "entropy", "gap", "coverage", "sharpness")
LEAST, MOST_GAP = -50.0, 10.0  # bounds of log-probabilities and gaps; upper bound of gaps
NEAR, ENOUGH = 2, 0.75
RIDGE, ROUNDS = 1e-3, 30
BATCH = 16
INCLUDE = ["tokens", "log_probs", "entropy", "top_k", "soft_alignment", "words", "offsets", "eos"]


# ---- features ----

@dataclass
class Steps:
    """One hypothesis with n target tokens, s = n steps (n + 1 with </s>), and m source tokens without </s>."""

    log_probs: ndarray  # [s]
    entropies: ndarray  # [s]
    gaps: ndarray  # [s] log-probability of the token minus that of the best other token
    alignment: ndarray  # [n, m] rows of the soft alignment


def clipped(values: ndarray, most: float) -> ndarray:
    return numpy.clip(values, LEAST, most)


def gap(token: str, log_prob: float, best: list[dict]) -> float:
    """best: `top_k` of the step. The name of an unknown token differs there, so its log-probability identifies it."""
    others = [one["log_prob"] for one in best if one["token"] != token and one["log_prob"] != log_prob]
    return log_prob - max(others) if others else MOST_GAP


def word_features(steps: Steps, words: list[list[int]]) -> ndarray:
    """words: the target tokens of each word. Returns [words, features]."""
    coverage, found = steps.alignment.sum(axis=0), numpy.zeros((len(words), len(FEATURES)))
    for row, tokens in zip(found, words):
        if tokens:
            row[:3] = clipped(steps.log_probs[tokens],
                              0).sum(), steps.entropies[tokens].mean(), clipped(steps.gaps[tokens], MOST_GAP).min()
        if tokens and len(coverage):
            rows = steps.alignment[tokens]
            row[3:] = coverage[rows.argmax(axis=1)].mean(), rows.max(axis=1).mean()
    return found


def sentence_features(steps: Steps) -> ndarray:
    """Returns [features]."""
    found = numpy.zeros(len(FEATURES))
    if len(steps.log_probs):
        found[:3] = clipped(steps.log_probs, 0).sum(), steps.entropies.mean(), clipped(steps.gaps, MOST_GAP).min()
    if steps.alignment.size:
        found[3:] = numpy.minimum(steps.alignment.sum(axis=0), 1).mean(), steps.alignment.max(axis=1).mean()
    return found


def probability(regression: ndarray, features: ndarray) -> ndarray:
    """regression [features + 1]; features [..., features]."""
    return 1 / (1 + numpy.exp(-(features @ regression[:-1] + regression[-1])))


def steps_of(sentence: dict) -> Steps:
    """Reads a sentence object of a reply with INCLUDE."""
    count = len(sentence["tokens"]) - (sentence["tokens"][-1:] == ["</s>"])
    own = len(sentence["source_tokens"]) - (sentence["source_tokens"][-1:] == ["</s>"])
    gaps = [gap(*step) for step in zip(sentence["tokens"], sentence["log_probs"], sentence["top_k"], strict=True)]
    rows = numpy.array(sentence["soft_alignment"])[:count]
    return Steps(*map(numpy.array, (sentence["log_probs"], sentence["entropy"], gaps)), rows.reshape(count, -1)[:, :own]
                 if count else numpy.zeros((0, own)))


def tokens_of_words(tokens: list[Span], words: list[Span]) -> list[list[int]]:
    """For each word, the tokens that share bytes with it. A token that overlaps no word, such as a blank, belongs to
    the word that follows it."""
    found: list[list[int]] = [[] for _ in words]
    for i, (b, e) in enumerate(tokens):
        own = ([w for w, (begin, end) in enumerate(words) if begin < e and b < end]
               or [w for w, (_, end) in enumerate(words) if end > b][:1])
        for w in own:
            found[w].append(i)
    return found


def spans(places: list[dict]) -> list[Span]:
    return [(place["start"], place["end"]) for place in places]


def words_of(sentence: dict, count: int) -> list[list[int]]:
    return tokens_of_words(spans(sentence["offsets"]["target"])[:count], spans(sentence["words"]["offsets"]["target"]))


# ---- what is right ----

def places(words: dict) -> list[float]:
    """The source position with which each target word is aligned; a word without a link gets the proportional
    position."""
    found = [(i + 0.5) / len(words["target"]) * len(words["source"]) for i in range(len(words["target"]))]
    for source, target in words["alignment"]:
        found[target] = source
    return found


def right_words(ours: dict, reference: dict) -> list[bool]:
    """Whether each of our words is right. Both arguments are `words` of sentence objects with the same source."""
    free = dict(enumerate(zip(map(str.casefold, reference["target"]), places(reference))))
    right = []
    for word, place in zip(map(str.casefold, ours["target"]), places(ours)):
        near = [(abs(place - other), k) for k, (same, other) in free.items() if same == word and abs(place - other)
                <= NEAR]
        right.append(bool(near))
        if near:
            del free[min(near)[1]]
    return right


def is_right(words: list[bool], reference: int) -> bool:
    """reference: the number of its words."""
    return sum(words) >= ENOUGH * max(len(words), reference)


# ---- learning and measuring ----

class Examples(NamedTuple):
    features: ndarray  # [N, features]
    right: ndarray  # [N] 0 or 1


def fit(examples: Examples) -> ndarray:
    """Fits a logistic regression by Newton's method: features scaled to standard deviation 1, ridge penalty RIDGE |w|^2
    / 2. Returns [features + 1]."""
    mean, scale = examples.features.mean(axis=0), examples.features.std(axis=0)
    inputs = numpy.hstack([(examples.features - mean) / numpy.where(scale > 0, scale, 1),
                           numpy.ones((len(examples.right), 1))])
    w = numpy.zeros(inputs.shape[1])
    for _ in range(ROUNDS):
        p = 1 / (1 + numpy.exp(-inputs @ w))
        curvature = (inputs * (p * (1 - p))[:, None]).T @ inputs + RIDGE * numpy.eye(len(w))
        w -= numpy.linalg.solve(curvature, inputs.T @ (p - examples.right) + RIDGE * w)
    weights = w[:-1] / numpy.where(scale > 0, scale, 1)
    return numpy.append(weights, w[-1] - weights @ mean).astype("<f4")


def reliability(p: ndarray, right: ndarray) -> list[list[float]]:
    """Returns [number of estimates, their mean, the share that is right] for each non-empty tenth."""
    bins = numpy.minimum((p * quality_card.BINS).astype(int), quality_card.BINS - 1)
    return [[int((bins == b).sum()), float(p[bins == b].mean()), float(right[bins == b].mean())]
            for b in range(quality_card.BINS) if (bins == b).any()]


def area(p: ndarray, right: ndarray) -> float:
    """Under the receiver operating characteristic: how often something right is estimated above something wrong;
    equal ones count half."""
    order, values = numpy.argsort(p, kind="stable"), numpy.sort(p)
    ranks = numpy.empty(len(p))
    ranks[order] = (numpy.searchsorted(values, values, "left") + numpy.searchsorted(values, values, "right") - 1) / 2
    positives = right.sum()
    return float((ranks[right == 1].sum() - positives * (positives - 1) / 2)
                 / max(positives * (len(right) - positives), 1))


def measured(regression: ndarray, examples: Examples) -> dict:
    p = probability(regression, examples.features)
    curve = reliability(p, examples.right)
    return {"right": float(examples.right.mean()), "auc": area(p, examples.right), "curve": curve,
            "ece": sum(count * abs(estimate - right) for count, estimate, right in curve) / len(p)}


# ---- the model's translations ----

def examples_of(client: Daemon, pairs: list[tuple[str, str]]) -> tuple[Examples, Examples]:
    """Returns the examples of words and of sentences."""
    found: list[tuple[list, list]] = [([], []), ([], [])]
    for chunk in tqdm(list(chunks(pairs, BATCH)), desc="translations", leave=False, disable=None):
        body = {"model": client.model, "text": [a for a, _ in chunk], "split_sentences": False}
        ours = client.request("/translate", body | {"include": INCLUDE, "digits": 9})["translations"]
        references = client.request("/attention",
                                    body | {"translation": [b for _, b in chunk], "include": ["words"]})["results"]
        for mine, reference in zip(ours, references, strict=True):
            for sentence, other in zip(mine["sentences"], reference["sentences"]):
                steps, right = steps_of(sentence), right_words(sentence["words"], other["words"])
                found[0][0].append(word_features(steps, words_of(sentence, len(steps.alignment))))
                found[0][1].append(numpy.array(right, float))
                found[1][0].append(sentence_features(steps)[None])
                found[1][1].append(numpy.array([float(is_right(right, len(other["words"]["target"])))]))
    words, sentences = (Examples(numpy.concatenate(features), numpy.concatenate(right)) for features, right in found)
    return words, sentences


def read(paths: list[Path], flip: bool) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Returns the pairs to learn from and those to measure on."""
    learn, measure = [], []
    for path in paths:
        if path.is_dir():
            learn += data.read_pairs(path / "valid.tsv.gz", flip)
            measure += data.read_pairs(path / "test.tsv.gz", flip)
        else:
            pairs = data.read_pairs(path, flip)
            learn, measure = learn + pairs[::2], measure + pairs[1::2]
    return learn, measure


def fits(model: Path, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs short enough to be read without splitting: at most a third of the model's limit, in words."""
    longest = folder.read_config(model)["limits"]["max_source_tokens"] // 3
    return [(a, b) for a, b in pairs if 0 < len(a.split()) <= longest and 0 < len(b.split()) <= longest]


# ---- the file ----

def write(model: Path, regressions: dict[str, ndarray], report: dict) -> None:
    """Writes the file and the card's section. regressions: words, sentence."""
    safetensors.write(model / quality_card.FILE, regressions,
                      {"features": ", ".join(FEATURES), "report": json.dumps(report)})
    manifest.renew(model)
    quality_card.insert(model)


def estimate(alignd: Path, model: Path, paths: list[Path], flip: bool, limit: int | None, command: str) -> dict:
    """Fits, measures, and writes the file."""
    learn, measure = (fits(model, pairs)[:limit] for pairs in read(paths, flip))
    config = folder.read_config(model)
    if config["decoder"]["style"] == "fixed":
        raise SystemExit(f"{model}: the model has no attention, so that words have no places")
    with daemon(alignd, model, Variant(config["name"], [])) as url:
        client = Daemon(url, config["name"])
        learned, tested = examples_of(client, learn), examples_of(client, measure)
    regressions = {name: fit(examples) for name, examples in zip(("words", "sentence"), learned)}
    report = {"learned": len(learn), "measured": len(measure), "command": command,
              "of": {name: measured(regression, examples)
                     for name, regression, examples in zip(("words", "sentences"), regressions.values(), tested)}}
    write(model, regressions, report)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("--data", type=Path, nargs="+", required=True,
                        help="folders with valid.tsv.gz and test.tsv.gz, or files of pairs")
    parser.add_argument("--flip", action="store_true", help="the second column is the source")
    parser.add_argument("--limit", type=int, help="learn from and measure on so many pairs each")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    shown = " ".join("DATA" if path.is_dir() else path.name for path in arguments.data)
    command = (f"python3 -m weights.evaluation.quality weights/{arguments.model.name} --data "
               f"{shown}{' --flip' if arguments.flip else ''}")
    command += f" --limit {arguments.limit}" if arguments.limit else ""
    estimate(arguments.alignd, arguments.model, arguments.data, arguments.flip, arguments.limit, command)
    print(quality_card.section(arguments.model))


if __name__ == "__main__":
    run_command(main)
