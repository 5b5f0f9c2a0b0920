"""Reading the YAML that Marian writes: one mapping of scalars and of lists of scalars.

Input: text. Output: keys and values as the strings that stand there (`on` is a word, 00 and 000 are two), in their order. Of YAML no more is
known than `key: value`, lists in brackets or one item a line, quotes of both kinds, and comments on lines of their own; anything else is a
SyntaxFault that names the line, and so is a key that comes twice.
"""

from __future__ import annotations

import re

ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", " ": " ", '"': '"', "/": "/",
           "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SINGLE = re.compile(r"'((?:[^']|'')*)'")
_PLAIN_KEY = re.compile(r"([^\s].*?)\s*:(?=\s|$)")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_INDICATORS = re.compile(r"[!&*|>%@`{}\[\],#\"'?]|[-?:](\s|$)")  # what no plain scalar begins with
_PLAIN_INDICATED = re.compile(r"\?\S")  # but this may

Value = str | list[str]


class SyntaxFault(ValueError):
    """The line that cannot be read."""


def _unescape(match: re.Match) -> str:
    digits = match[1] or match[2] or match[3]
    if digits:
        return chr(int(digits, 16))
    if match[4] not in ESCAPES:
        raise ValueError(f"unknown escape \\{match[4]}")
    return ESCAPES[match[4]]


def _quoted(text: str) -> tuple[str, str] | None:
    """The quoted scalar that the text begins with, and what follows it."""
    if text[0] == '"' and (match := _DOUBLE.match(text)):
        return _ESCAPE.sub(_unescape, match[1]), text[match.end():]
    if text[0] == "'" and (match := _SINGLE.match(text)):
        return match[1].replace("''", "'"), text[match.end():]
    return None


def _plain(text: str) -> str:
    if (_INDICATORS.match(text) and not _PLAIN_INDICATED.match(text)) or re.search(r"\s#|:(\s|$)", text):
        raise ValueError(f"cannot read {text[:40]!r}")
    return text


def _scalar(text: str) -> str:
    if text[:1] not in ('"', "'"):
        return _plain(text)
    found = _quoted(text)
    if found is None or found[1]:
        raise ValueError(f"cannot read {text[:40]!r}")
    return found[0]


def _key(line: str) -> tuple[str, str]:
    """-> the key, the text behind its colon."""
    if line[0] in "\"'" and (found := _quoted(line)) and re.match(r"\s*:(\s|$)", found[1]):
        return found[0], found[1].lstrip()[1:].strip()
    match = _PLAIN_KEY.match(line)
    if match is None or line[0] in "\"'":
        raise ValueError(f"cannot read {line[:40]!r}")
    return _plain(match[1]), line[match.end():].strip()


def _value(text: str) -> Value:
    if not (text.startswith("[") and text.endswith("]")):
        return _scalar(text) if text else ""
    inner = text[1:-1].strip()
    return [_scalar(item.strip()) for item in inner.split(",")] if inner else []


class _Reader:
    def __init__(self) -> None:
        self.found: dict[str, Value] = {}
        self.open: str | None = None  # the last key, while its value may still come on lines of its own

    def take(self, line: str) -> None:
        text = line.strip()
        if not text or text.startswith("#") or (text == "---" and not self.found):
            return
        if text.startswith("- ") and self.open is not None:
            items = self.found[self.open] or []
            self.found[self.open] = [*items, _scalar(text[2:].strip())]
        elif line[0] in " \t":
            self._below(text)
        else:
            self._pair(text)

    def _below(self, text: str) -> None:
        """A list in brackets, on the line below its key."""
        if self.open is None or self.found[self.open] != "" or not text.startswith("["):
            raise ValueError(f"cannot read {text[:40]!r} here")
        self.found[self.open] = _value(text)
        self.open = None

    def _pair(self, text: str) -> None:
        key, rest = _key(text)
        if key in self.found:
            raise ValueError(f"{key!r} comes twice")
        self.found[key] = _value(rest)
        self.open = key if not rest else None


def read(text: str) -> dict[str, Value]:
    """Raises SyntaxFault."""
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), 1):
        try:
            reader.take(line.rstrip("\r"))
        except ValueError as error:
            raise SyntaxFault(f"line {number}: {error}") from error
    return reader.found
