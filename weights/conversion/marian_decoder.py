"""The options of Marian's decoder (decoder.yml) -> a model's own defaults.

Input: options by name. Output: config.json's `search`, the limit of a translation's length, whether <unk> may be chosen, and a sentence on each option that alignd
has in another way or not at all. A value that Marian would not take, either, is refused.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .converted import ConversionError

MOST_BEAM, MOST_PENALTY, RATIOS = 32, 2.0, (0.1, 20.0)
FACTOR = 3.0  # Marian's own, where nothing is said


class Defaults(NamedTuple):
    """search: config.json's section; ratio: target tokens for a source token; said: what to tell."""

    search: dict
    ratio: float
    unknowns: bool
    said: list[str]


def _number(options: dict[str, str], name: str, default: float) -> float:
    """An option that stands there without a value is 1."""
    try:
        value = float(options[name] or 1) if name in options else default
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 and name != "word-penalty":
        raise ConversionError(f"decoder option {name}: {options[name]} is no number that it can have")
    return value


def _within(name: str, value: float, least: float, most: float, said: list[str]) -> float:
    taken = min(max(value, least), most)
    if taken != value:
        said.append(f"decoder option {name}: {value:g} is beyond what alignd has, {least:g} to {most:g}: {taken:g} is taken")
    return taken


def read(options: dict[str, str]) -> Defaults:
    """Empty: nothing is known of its decoder, and alignd's own defaults serve."""
    said: list[str] = []
    search = {}
    if "beam-size" in options:
        beam = _within("beam-size", _number(options, "beam-size", 1), 1, MOST_BEAM, said)
        search["beam_size"] = int(beam)
    if options:
        search["length_penalty"] = _within("normalize", _number(options, "normalize", 0), 0, MOST_PENALTY, said)
    if penalty := _number(options, "word-penalty", 0):
        said.append(f"decoder option word-penalty: {penalty:g} is not supported: searches go without")
    if options.get("skip-cost") == "true" and search.get("beam_size", 1) > 1:
        said.append("decoder option skip-cost: a beam's sums are of log-probabilities here, and not of raw scores")
    if options.get("allow-special") == "true":
        said.append("decoder option allow-special: alignd has no special pieces to allow")
    ratio = _within("max-length-factor", _number(options, "max-length-factor", FACTOR), *RATIOS, said)
    return Defaults(search, ratio, options.get("allow-unk") == "true", said)
