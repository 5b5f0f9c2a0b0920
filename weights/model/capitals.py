"""Texts that are written in capitals (config's tokenizer.capitals): read in small letters, and their translations
written in capitals again. The same rules as model/text/tokenizer.h; characters change one for one, and only where they
keep their number of bytes."""

from __future__ import annotations

LEAST = 5  # letters


def _lower(character: str) -> str:
    return character.lower()[0]  # Unicode's simple mapping: of more than one, the first (of U+0130)


def _upper(character: str) -> str:
    changed = character.upper()
    return changed if len(changed) == 1 else character


def _in_place(changed: str, character: str) -> str:
    return changed if len(changed.encode()) == len(character.encode()) else character


def only(text: str) -> bool:
    return all(c == _upper(c) for c in text) and sum(c != _lower(c) for c in text) >= LEAST


def lowered(text: str) -> str:
    """All letters but the first small."""
    first = next((i for i, c in enumerate(text) if c != _lower(c)), len(text))
    return text[:first + 1] + "".join(_in_place(_lower(c), c) for c in text[first + 1:])


def raised(text: str) -> str:
    return "".join(_in_place(_upper(c), c) for c in text)
