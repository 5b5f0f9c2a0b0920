"""Marian's lexical shortlists -> shortlist.safetensors (weights/training/shortlist.py says what that holds).

Binary (lex.50.50.s2t.bin), little-endian: u64 magic, checksum of all that follows, number F of first ids, number of best, W = source words + 1, L;
u64 offsets [W]; u32 targets [L]. Text (lex.s2t): lines of `target source probability`. The ids 0 .. F - 1 are on every list; where both sides have one
vocabulary, so are the sentence's own ids. A FormatError names the file.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy
from numpy import ndarray

from .npz import FormatError

MAGIC = 0xF11A48D5013417F5
HEAD = 48
MULTIPLE = 8  # Marian fills each list up with the lowest ids that it lacks
GOLDEN = 0x9E3779B9
MASK = (1 << 64) - 1


def checksum(content: bytes) -> int:
    """Of whole words of eight bytes; what is left over at the end is not covered."""
    h = 0
    for word in numpy.frombuffer(content, "<u8", len(content) // 8).tolist():
        h ^= (word + GOLDEN + (h << 6) + (h >> 2)) & MASK
    return h


def _lists(offsets: ndarray, targets: ndarray, one_vocabulary: bool) -> list[ndarray]:
    """The targets of each source word, with the word itself where its id is a target, too."""
    own = ([word] if one_vocabulary else [] for word in range(len(offsets) - 1))
    return [numpy.union1d(targets[begin:end], add).astype(numpy.int32) for begin, end, add in zip(offsets, offsets[1:], own)]


def _tensors(first: int, lists: list[ndarray]) -> dict[str, ndarray]:
    offsets = numpy.concatenate([[0], numpy.cumsum([len(part) for part in lists])]).astype(numpy.int32)
    targets = numpy.concatenate(lists).astype(numpy.int32) if lists else numpy.zeros(0, numpy.int32)
    return {"always": numpy.arange(first, dtype=numpy.int32), "offsets": offsets, "targets": targets, "multiple": numpy.array([MULTIPLE], numpy.int32)}


def read_binary(path: Path, sizes: tuple[int, int], one_vocabulary: bool) -> dict[str, ndarray]:
    """sizes: of the vocabularies. -> the tensors."""
    content = path.read_bytes()
    if len(content) < HEAD:
        raise FormatError(f"{path}: a shortlist has at least {HEAD} bytes")
    magic, checked, first, _, words, count = struct.unpack_from("<6Q", content)
    faults = (
        (magic != MAGIC, "is no binary shortlist of Marian"),
        (len(content) != HEAD + 8 * words + 4 * count, f"says that it has {words} offsets and {count} targets, which is not its size"),
        (words != sizes[0] + 1, f"has {words - 1:,} source words, the model {sizes[0]:,}"),
        (first > sizes[1], f"puts {first:,} ids on every list, and the model has {sizes[1]:,}"),
    )
    for wrong, what in faults:
        if wrong:
            raise FormatError(f"{path}: {what}")
    if checksum(content[16:]) != checked:
        raise FormatError(f"{path}: its checksum is wrong")
    offsets = numpy.frombuffer(content, "<u8", words, HEAD)
    targets = numpy.frombuffer(content, "<u4", count, HEAD + 8 * words)
    if offsets[0] != 0 or offsets[-1] != count or (offsets[1:] < offsets[:-1]).any():
        raise FormatError(f"{path}: its offsets do not rise from 0 to {count}")
    if count and targets.max() >= sizes[1]:
        raise FormatError(f"{path}: has the target {targets.max()}, and the model has {sizes[1]:,}")
    return _tensors(first, _lists(offsets, targets, one_vocabulary))


def read_text(path: Path, vocabularies: tuple[dict[str, int], dict[str, int]], unknown: int, best: tuple[int, int], one_vocabulary: bool) -> dict[str, ndarray]:
    """vocabularies: ids by piece, of the source and the target. best: how many first ids are on every list, and how many targets a word has."""
    found: list[dict[int, float]] = [{} for _ in vocabularies[0]]
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        fields = line.split()
        if not fields or "NULL" in fields[:2]:
            continue
        try:
            target, source, probability = fields[0], fields[1], float(fields[2])
        except (IndexError, ValueError):
            probability = math.nan
        if not math.isfinite(probability):
            raise FormatError(f"{path}: line {number} is not a target, a source and a probability")
        found[vocabularies[0].get(source, unknown)][vocabularies[1].get(target, unknown)] = probability
    chosen = [sorted((word for word in row if row[word] > 0), key=lambda word: (-row[word], -word))[:best[1]] for row in found]
    lists = [numpy.array(sorted({*row, *([word] if one_vocabulary else [])}), numpy.int32) for word, row in enumerate(chosen)]
    return _tensors(min(best[0], len(vocabularies[1])), lists)


def read(path: Path, vocabularies: tuple[dict[str, int], dict[str, int]], unknown: int, one_vocabulary: bool, best: tuple[int, int] = (100, 100)) -> dict[str, ndarray]:
    """Either kind, by its first bytes."""
    with path.open("rb") as file:
        binary = file.read(8) == MAGIC.to_bytes(8, "little")
    sizes = len(vocabularies[0]), len(vocabularies[1])
    try:
        if binary or path.suffix == ".bin":
            return read_binary(path, sizes, one_vocabulary)
        return read_text(path, vocabularies, unknown, best, one_vocabulary)
    except UnicodeDecodeError:
        raise FormatError(f"{path}: not valid UTF-8") from None
