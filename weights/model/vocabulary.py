"""The vocabulary file: UTF-8, one token a line, whose id is the line's number from 0 (model/text/tokenizer.c, which
checks the same)."""

from __future__ import annotations

import re
from pathlib import Path

from ..command import CommandError

UNK, BOS, EOS = 0, 1, 2  # the ids of the special tokens in vocabularies that are trained here
SPECIAL = ("<unk>", "<s>", "</s>")
MAX_BYTES, MIN_SIZE, MAX_SIZE = 1 << 26, 3, 1 << 20


class VocabularyError(CommandError):
    """The vocabulary file is invalid; the message names the file and the line."""


def read_vocabulary(path: Path) -> list[str]:
    """Reads the lines of a vocabulary file, with the same checks as the C server."""
    if path.stat().st_size > MAX_BYTES:
        raise VocabularyError(f"{path}: a vocabulary must have at most {MAX_BYTES} bytes")
    try:
        *lines, rest = path.read_bytes().decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{path}: not valid UTF-8") from error
    if rest:
        raise VocabularyError(f"{path}: the last line does not end with a line feed")
    if not MIN_SIZE <= len(lines) <= MAX_SIZE:
        raise VocabularyError(f"{path}: a vocabulary must have {MIN_SIZE} to {MAX_SIZE} lines, got {len(lines)}")
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        fault = ("is empty" if not line else "contains a NUL" if "\0" in line else
                 "contains white space" if re.search("[\t-\r ]", line) else None)
        if fault:
            raise VocabularyError(f"{path}: line {number} {fault}")
        if line in seen:
            raise VocabularyError(f"{path}: lines {seen[line]} and {number} are the same")
        seen[line] = number
    if SPECIAL[UNK] not in seen:
        raise VocabularyError(f"{path}: {SPECIAL[UNK]} is missing")
    return lines
