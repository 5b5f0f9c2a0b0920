"""Repairs vocabularies: SentencePiece's unigram training leaves some frequent words without the white space mark
(`cette`, which then always follows a lone mark), and a model that has written a lone mark, before a number or a name,
is drawn to them. `rejoin` adds the mark to such pieces.

Input: a vocabulary file and text. Output: the file with these pieces renamed; ids and scores stay.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Iterable, Iterator

import sentencepiece

MARK = "\u2581"
SHARE, LEAST = 0.85, 30  # minimum share of a piece's uses that follow a lone mark; minimum number of uses


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number at this offset, and the offset after it."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def as_varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protobuf message whose fields are all messages: number, content."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        size, at = varint(data, at)
        assert key & 7 == 2
        yield key >> 3, data[at:at + size]
        at += size


def renamed(piece: bytes, names: dict[str, str]) -> bytes:
    """Renames a piece in its message, whose first field is its text."""
    size, begin = varint(piece, 1)
    assert piece[0] == 1 << 3 | 2
    old = piece[begin:begin + size].decode()
    new = names.get(old, old).encode()
    return piece[:1] + as_varint(len(new)) + new + piece[begin + size:]


def rename(path: Path, names: dict[str, str]) -> None:
    out = bytearray()
    for number, content in messages(path.read_bytes()):
        content = renamed(content, names) if number == 1 else content
        out += as_varint(number << 3 | 2) + as_varint(len(content)) + content
    path.write_bytes(out)


def torn(processor: sentencepiece.SentencePieceProcessor, lines: Iterable[str]) -> dict[str, str]:
    """The words that lack their mark -> the words with it."""
    used, following = Counter(), Counter()
    for line in lines:
        pieces = processor.encode(line, out_type=str)
        used.update(pieces)
        following.update(piece for before, piece in zip(pieces, pieces[1:]) if before == MARK)
    known = {processor.id_to_piece(i) for i in range(processor.get_piece_size())}
    return {piece: MARK + piece for piece, count in following.items()
            if piece.isalpha() and used[piece] >= LEAST and count >= SHARE * used[piece] and MARK + piece not in known}


def rejoin(path: Path, lines: Iterable[str]) -> dict[str, str]:
    names = torn(sentencepiece.SentencePieceProcessor(model_file=str(path)), lines)
    rename(path, names)
    return names
