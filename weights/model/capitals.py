"""Texts in capitals (tokenizer.capitals in config.json): they are read in lower case, and their translations are
converted back to capitals. The rules are those of model/text/tokenizer.h: a character maps to one character, and stays
as it is if its number of bytes would change."""

from __future__ import annotations

LEAST = 5  # letters


def _lower(character: str) -> str:
    return character.lower()[0]  # Unicode's simple mapping; of several characters (U+0130) the first


def _upper(character: str) -> str:
    changed = character.upper()
    return changed if len(changed) == 1 else character


def _in_place(changed: str, character: str) -> str:
    return changed if len(changed.encode()) == len(character.encode()) else character


def only(text: str) -> bool:
    return all(c == _upper(c) for c in text) and sum(c != _lower(c) for c in text) >= LEAST


def lowered(text: str) -> str:
    """Lower-cases all letters but the first."""
    first = next((i for i, c in enumerate(text) if c != _lower(c)), len(text))
    return text[:first + 1] + "".join(_in_place(_lower(c), c) for c in text[first + 1:])


def raised(text: str) -> str:
    return "".join(_in_place(_upper(c), c) for c in text)
