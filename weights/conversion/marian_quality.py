"""Bergamot's quality models (qualityModel.SRCTRG.bin) -> quality.safetensors (model/rendering.h).

In the file, little-endian: u64 magic, u64 4, float32 deviation [4], mean [4], coefficient [4], intercept: a logistic regression of whether a word is wrong, over
the mean and the least of its tokens' log-probabilities, how many they are, and the mean over all tokens of the sentence. Here its complement, a weight for each
feature as it is, and a constant: `log_probs`, F32 [5].
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy
from numpy import ndarray

from .npz import FormatError

MAGIC = 0x78CC336F1D54B180
FEATURES = 4
SIZE = 16 + 4 * (3 * FEATURES + 1)
TENSOR = "log_probs"


def read(path: Path) -> dict[str, ndarray]:
    content = path.read_bytes()
    magic, count = struct.unpack_from("<2Q", content) if len(content) >= 16 else (0, 0)
    faults = ((magic != MAGIC, "is no quality model of Bergamot"), (count != FEATURES, f"has {count} features, not {FEATURES}"),
              (len(content) != SIZE, f"has {len(content)} bytes, not {SIZE}"))
    for wrong, what in faults:
        if wrong:
            raise FormatError(f"{path}: {what}")
    numbers = numpy.frombuffer(content, "<f4", offset=16).astype(numpy.float64)
    deviation, mean, coefficient, intercept = numbers[:4], numbers[4:8], numbers[8:12], numbers[12]
    if not numpy.isfinite(numbers).all() or (deviation <= 0).any():
        raise FormatError(f"{path}: its numbers are not finite, or a deviation is not positive")
    weights = -coefficient / deviation
    with numpy.errstate(over="ignore"):
        made = numpy.append(weights, -intercept - weights @ mean).astype(numpy.float32)
    if not numpy.isfinite(made).all():
        raise FormatError(f"{path}: its numbers are too large")
    return {TENSOR: made}
