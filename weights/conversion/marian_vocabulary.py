"""Marian's and Nematus's vocabularies: YAML (.yml), JSON (.json), SentencePiece (.spm), anything else one word a line.

Input: a file and the number of words that the model has. Output: the vocabulary as a model folder holds it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Iterator

from . import converted, mappings
from ..model.config import NO_FILE
from .converted import ConversionError, Vocabulary

NEMATUS_SPECIAL = {"eos": "</s>", "<EOS>": "</s>", "UNK": "<unk>", "<UNK>": "<unk>"}


class _Pairs(list):
    """The names and values of an object, in their order, also those that come twice."""


def _pairs(path: Path) -> list[tuple[str, object]]:
    """Words and ids, as the file has them."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        pairs = json.loads(text, object_pairs_hook=_Pairs)
        if not isinstance(pairs, _Pairs):
            raise ConversionError(f"{path}: is not an object of words and ids")
        return [(NEMATUS_SPECIAL.get(word, word) if str(place) in "01" else word, place) for word, place in pairs]
    if path.suffix in (".yml", ".yaml"):
        return list(mappings.read(text).items())
    return [(line, i) for i, line in enumerate(text.removesuffix("\n").split("\n"))]


def _words(path: Path, size: int) -> list[str]:
    """By id, the first `size`: Marian takes the others for unknown, too."""
    places: dict[int, str] = {}
    for word, place in _pairs(path):
        number = str(place).isdecimal()
        if not number or int(place) in places:
            raise ConversionError(f"{path}: {word!r} has the id {place}{' of another' if number else ', which is no number'}")
        places[int(place)] = word
    if (missing := next((i for i in range(size) if i not in places), None)) is not None:
        raise ConversionError(f"{path}: the model has {size:,} words, and none here has the id {missing}")
    words = [places[i] for i in range(size)]
    if "</s>" not in words:
        raise ConversionError(f"{path}: </s> is missing")
    return words


def _fields(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protocol buffer that have a length, by number; numbers of 32 bits are skipped. IndexError: it is none."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = content[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(content):
        tag = varint()
        length = {0: 0, 2: None, 5: 4}.get(tag & 7, -1)
        if length == -1:
            raise IndexError
        if length is None:
            length = varint()
            if at + length > len(content):
                raise IndexError
            yield tag >> 3, content[at:at + length]
        elif tag & 7 == 0:
            varint()
        at += length


def _pieces(content: bytes) -> list[str]:
    """Of a SentencePiece model: the first field of each of the top level's of number 1."""
    return [dict(_fields(piece))[1].decode("utf-8") for number, piece in _fields(content) if number == 1]


def ids(files: dict[str, bytes], section: dict, side: str) -> dict[str, int]:
    """The ids by piece, of one side of a tokenizer (config.json's section, and its files)."""
    name = section["pieces"] if side == "source" or section["target_pieces"] == NO_FILE else section["target_pieces"]
    name = section[side] if name == NO_FILE else name
    pieces = _pieces(files[name]) if name.endswith(".spm") else files[name].decode("utf-8").split("\n")[:-1]
    return {piece: i for i, piece in enumerate(pieces)}


def _sentencepiece(path: Path, size: int) -> Vocabulary:
    content = path.read_bytes()
    try:
        count = len(_pieces(content))
    except (IndexError, KeyError, UnicodeDecodeError):
        raise ConversionError(f"{path}: is no SentencePiece model") from None
    if count != size:
        raise ConversionError(f"{path}: has {count:,} pieces, the model {size:,}")
    return Vocabulary("sentencepiece", content, count)


def segmented(path: Path, pieces: Vocabulary) -> Vocabulary:
    """path: the SentencePiece file that segments; pieces: the list that numbers what it makes."""
    if pieces.kind != "words":
        raise ConversionError(f"{path}: segments, and so does the vocabulary beside it: give a list of pieces as the vocabulary")
    try:
        content = path.read_bytes()
        _pieces(content)
    except OSError as error:
        raise ConversionError(f"{path}: {error.strerror}") from error
    except (IndexError, KeyError, UnicodeDecodeError):
        raise ConversionError(f"{path}: is no SentencePiece model") from None
    return Vocabulary("sentencepiece", content, pieces.size, pieces.content)


def read(path: Path, size: int) -> Vocabulary:
    try:
        return _sentencepiece(path, size) if path.suffix in (".spm", ".model") else converted.of_words(path, _words(path, size))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError, mappings.SyntaxFault) as error:
        raise ConversionError(f"{path}: {error}") from error
