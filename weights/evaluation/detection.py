"""How often detected languages are right, and what their confidence is made of:
python3 -m weights.evaluation.detection --data CORPORA [--fit]

Input: held-out sentences of Tatoeba and Multi30k in CORPORA; the message catalogues installed on this machine
(/usr/share/locale, from Debian's packages) in 24 languages; build/tests/bench/detection (make
build/tests/bench/detection). The candidates of the detection are English, French and German. In each length band, texts
in these three have seven tenths of the total weight, and those in other languages three tenths. Output: a table in
Markdown with the share of right guesses at each confidence. With --fit it first fits the weights for
server/api/languages.cc to one half of the texts and prints them; the table is then about the other half.
"""

from __future__ import annotations

import argparse
import gettext
import gzip
import math
import random
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from ..command import run_command

ASKED = ("en", "fr", "de")
OTHERS = ("it", "es", "pt", "nl", "sv", "pl", "da", "fi", "ro", "hu", "tr", "cs", "id", "ca", "nb", "ru", "el", "ja",
          "zh_CN", "ar", "uk")
BANDS = (2, 6, 12, 24, 40, 1 << 30)  # letters
LEVELS = (0, 10, 30, 50, 70, 90, 97, 101)  # percent
EACH, SHARE, SEED, STEPS, DECAY = 400, 0.7, 7, 12, 0.01
NO_PROSE = re.compile(r"[%<>{}\\$=|@#/\[\]\n]|--|\w_\w|\d{3}")
NAMES = {"Tom": ("José", "Jürgen", "Łukasz", "Zoltán"), "Mary": ("Begoña", "Zoë", "Márta"),
         "Boston": ("Málaga", "Kraków", "São Paulo")}


class Text(NamedTuple):
    language: str
    band: int
    text: str


class Guess(NamedTuple):
    text: Text
    right: bool
    confidence: float  # percent
    features: list[float]
    weight: float


def letters(text: str) -> int:
    return sum(c.isalpha() for c in text)


def band_of(text: str) -> int:
    return next(i for i in range(len(BANDS) - 1) if letters(text) < BANDS[i + 1])


def messages(locale: str, original: bool = False) -> set[str]:
    """The messages of all programs in this locale, or their English sources, without markup and codes."""
    found = set()
    for path in Path(f"/usr/share/locale/{locale}/LC_MESSAGES").glob("*.mo"):
        if "iso_" in path.name or "xkeyboard" in path.name:  # names of countries and keyboards, which are not prose
            continue
        try:
            with path.open("rb") as file:
                catalog = gettext.GNUTranslations(file)._catalog
        # gettext fails on some headers that lack a plural rule.
        except (IndexError, UnicodeDecodeError, ValueError):
            continue
        for key, value in catalog.items():
            key = key[0] if isinstance(key, tuple) else key
            if isinstance(value, str) and value != key:
                found.add(re.sub("[_&]", "", key.split("\x04")[-1] if original else value).strip())
    return {text for text in found if not NO_PROSE.search(text) and letters(text) >= max(2, 0.6 * len(text))}


def with_names(texts: list[str], draw: random.Random) -> list[str]:
    """Replaces names in the sentences by names of other languages; returns at most 150 changed sentences."""
    changed = [re.sub(r"\b(Tom|Mary|Boston)\b", lambda found: draw.choice(NAMES[found[1]]), text) for text in texts]
    return [new for new, old in zip(changed, texts) if new != old][:150]


def collect(data: Path) -> list[Text]:
    draw, found = random.Random(SEED), defaultdict(set)
    for locale in (*ASKED[1:], *OTHERS):
        found[locale.split("_")[0]] |= messages(locale)
    found["en"] |= messages("fr", original=True)
    for file, column, language in (("en-fr", 0, "en"), ("en-fr", 1, "fr"), ("en-de", 1, "de")):
        with gzip.open(data / f"tatoeba-{file}/test.tsv.gz", "rt") as lines:
            found[language] |= {line.rstrip("\n").split("\t")[column] for line in lines}
    with gzip.open(data / "multi30k/test_2016_flickr.cs.gz", "rt") as lines:
        found["cs"] |= {line.strip() for line in lines}
    texts = []
    for language, all_of in sorted(found.items()):
        bands = defaultdict(list)
        for text in sorted(all_of):
            if letters(text) >= BANDS[0]:
                bands[band_of(text)].append(text)
        for band, members in sorted(bands.items()):
            draw.shuffle(members)
            texts += [Text(language, band, text) for text in members[:EACH]]
            if language in ASKED:
                texts += [Text(language, band_of(text), text) for text in with_names(members, draw)]
    draw.shuffle(texts)
    return texts


def guess(texts: list[Text], program: Path) -> list[Guess]:
    out = subprocess.run([program, *ASKED], input="".join(f"{text.text}\n" for text in texts), text=True,
                         capture_output=True, check=True).stdout
    counts = Counter((text.band, text.language in ASKED) for text in texts)
    guesses = []
    for text, line in zip(texts, out.splitlines(), strict=True):
        code, confidence, *features = line.split("\t")
        asked = text.language in ASKED
        weight = 1000 * (SHARE if asked else 1 - SHARE) / counts[text.band, asked]
        guesses.append(Guess(text, code == text.language, float(confidence), [float(x) for x in features], weight))
    return guesses


def solve(matrix: list[list[float]], vector: list[float]) -> list[float]:
    """Solves the linear system by Gauss-Jordan elimination with partial pivoting."""
    rows, count = [[*row, value] for row, value in zip(matrix, vector)], len(vector)
    for i in range(count):
        best = max(range(i, count), key=lambda r: abs(rows[r][i]))
        rows[i], rows[best] = rows[best], rows[i]
        for r in range(count):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i])]
    return [rows[i][count] / rows[i][i] for i in range(count)]


def probability(weights: list[float], features: list[float]) -> float:
    return 1 / (1 + math.exp(-sum(w * f for w, f in zip(weights, features))))


def fit(guesses: list[Guess]) -> list[float]:
    """Logistic regression by Newton's method."""
    count = len(guesses[0].features)
    weights = [0.0] * count
    for _ in range(STEPS):
        slope = [-DECAY * w for w in weights]
        bend = [[DECAY * (i == j) for j in range(count)] for i in range(count)]
        for one in guesses:
            p = probability(weights, one.features)
            error, curve = one.weight * (one.right - p), one.weight * p * (1 - p)
            for i, x in enumerate(one.features):
                if x:
                    slope[i] += error * x
                    for j, y in enumerate(one.features):
                        bend[i][j] += curve * x * y
        weights = [w + step for w, step in zip(weights, solve(bend, slope))]
    return weights


def table(guesses: list[Guess]) -> list[str]:
    """Percentage of right guesses by confidence and number of letters."""
    spans = [f"{low} to {high - 1}" for low, high in zip(BANDS, BANDS[1:-1])] + [f"{BANDS[-2]} and more"]
    lines = ["| confidence | " + " | ".join(f"{span} letters" for span in spans) + " |",
             "|" + "---|" * (len(spans) + 1)]
    for low, high in zip(LEVELS, LEVELS[1:]):
        cells = []
        for band in range(len(spans)):
            some = [one for one in guesses if one.text.band == band and low <= one.confidence < high]
            total = sum(one.weight for one in some)
            cells.append(f"{100 * sum(one.weight * one.right for one in some) / total:.0f} (says "
                         f"{sum(one.weight * one.confidence for one in some) / total:.0f})" if len(some) > 15 else "")
        lines.append(f"| {low} to {min(high, 100)} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--program", type=Path, default=Path("build/tests/bench/detection"))
    parser.add_argument("--fit", action="store_true")
    arguments = parser.parse_args()
    guesses = guess(collect(arguments.data), arguments.program)
    if arguments.fit:
        half = len(guesses) // 2
        weights = fit(guesses[:half])
        print("{" + ", ".join(f"{w:.3f}" for w in weights) + "}\n")
        guesses = [one._replace(confidence=100 * probability(weights, one.features)) for one in guesses[half:]]
    print("\n".join(table(guesses)))


if __name__ == "__main__":
    run_command(main)
