"""Placeholders in training text, as the server makes them at run time: text that the model carries over without reading
is one character, HIDDEN, and one token, <unk>.

Input: an Example (weights/training/noise.py). Output: an Example with text replaced by HIDDEN on both sides, or with
HIDDEN inserted beside a word and its translation. The server hides text that the model cannot read or does not copy
(model/text/): addresses, codes, emoji and symbols, words of other scripts, and amounts that its first translation
changed. The hidden text itself does not matter, so a few kinds represent all: matches of `always`, names and numbers
that are copied, amounts, and insertions.
"""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from . import noise
from .noise import Edit, Example
from ..model.tokenizer import UNK, SentencePiece

HIDDEN = "\ue000"  # the same as in model/text/tokenizer.c
COPIED, AMOUNTS, ADDED, SYMBOLS = 0.05, 0.15, 0.05, 0.03  # probability per example; AMOUNTS: if it has an amount
SHARE = 0.7  # probability for each copied word, in an example whose copied words are hidden
# Runs that the server always hides (model/text/spans.h): addresses, placeholders, emoji and symbols, codes of letters
# and digits, long digit strings and groups of digits, program code, paths. This approximation is close enough for
# training; runs on only one side stay as they are.
ALWAYS = re.compile(r"""https?://[^\s<>"]*[\w/]|www\.[\w.-]+\.\w+(?:/[^\s<>"]*[\w/])?|[\w.+-]+@[\w-]+(?:\.[\w-]+)+
    |%(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:ll?|h|q|z)?[diouxXeEfgcs@](?!\w)|%\(\w+\)[sd]|%\d+(?!\w)
    |[$%#]?\{\{?\ ?[\w.:,]*\ ?\}?\}
    |[\u00a9\u00ae\u00bc-\u00be\u2117\u2120\u2122\u2190-\u2195\u2300-\u23ff\u2460-\u25b6\u25b8-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]
     [\u200d\ufe0f\u2300-\u27bf\U0001f000-\U0001faff]*
    |(?<![\w:]):[\w+-]*[A-Za-z][\w+-]*:(?!\w)|(?<![\w&])[#@][\w./-]*\w|\[\^?(?:\d{1,4}|[A-Za-z])\]
    |\b[A-Z](?:\+\+|\#)(?!\w)
    |(?<![\w.,])\+?\d+(?:[-./]\d+){2,}(?![\w]|[.,:]\d)|(?<![\w.,])\+\d[\d\ ()./-]{5,}\d
    |(?<![\d.,])\d{2}(?:\ \d{2}){2,}(?!\d|[.,]\d)
    |(?<![\w.,])\d{5,}(?!\w|[.,:]\d)|\b[A-Z]{2}\d{2}(?:\ ?[A-Z0-9]{4}){3,7}(?:\ ?[A-Z0-9]{1,3})?\b
    |\b(?=[A-Za-z_]*\d)[A-Za-z_][A-Za-z0-9_]*(?:-[A-Z0-9]+)*\b|\b[A-Z]+-[A-Z-]*\d+[A-Z0-9-]*\b|\b[A-Za-z0-9]+_\w+\b
    |\b[a-z]+[A-Z]\w*\b|\b\w+\(\)|(?<!\w)--[a-z][\w-]*|(?<![\w.])(?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]*\w)*
    |\b[\w-]+\.(?:txt|pdf|html?|css|js|py|php|json|xml|zip|gz|png|jpe?g|docx?|odt|csv|conf|ini|sh|com|org|net)\b""", re.X)
AMOUNT = re.compile(r"[€$£¥]\s?\d[\d.,]*\d|[€$£¥]\s?\d|\d(?:[\d.,]|\s(?=\d{3}))*\s?[€$£¥]")
BLANK = "▁"
COMMON = "€£$¥%&*+=<>/|~§×÷±•–—…²“”‘«»"  # symbols that the model reads


def both(one: Example, edits: tuple[list[Edit], list[Edit]]) -> Example:
    return noise.on_target(noise.on_source(one, sorted(edits[0])), sorted(edits[1]))


def replaced(one: Example, pattern: re.Pattern, exact: bool) -> Example:
    """Hides the pattern's matches. exact: only texts that occur equally often on both sides; otherwise both sides must
    have equally many matches, and the n-th corresponds to the n-th."""
    found = [list(pattern.finditer(text)) for text in (one.source, one.target)]
    if not found[0] or not found[1] or (not exact and len(found[0]) != len(found[1])):
        return one
    texts = [[match[0] for match in side] for side in found]
    edits = tuple([(*match.span(), HIDDEN) for match in side if not exact or texts[0].count(match[0])
                   == texts[1].count(match[0])] for side in found)
    return both(one, edits)


def always(one: Example) -> Example:
    return replaced(one, ALWAYS, True)


def amounts(one: Example) -> Example:
    """Hides the amount if each side has exactly one."""
    return (replaced(one, AMOUNT, False) if len(AMOUNT.findall(one.source)) == len(AMOUNT.findall(one.target)) == 1
            else one)


def copied(one: Example, chance: random.Random, share: float = SHARE) -> Example:
    """Hides names and numbers that the translation repeats."""
    edits: tuple[list[Edit], list[Edit]] = ([], [])
    for places in noise.copied(one, lambda text: noise.is_name(text) or text.isdigit()).values():
        if chance.random() < share:
            for side, more in zip(edits, noise.with_others(one, places, HIDDEN)):
                side += more
    return both(one, edits)


def places(one: Example, chance: random.Random) -> tuple[int, int, bool] | None:
    """Positions at which something can be inserted into both texts: before both, after both, or after a word and its
    only link; and whether a space comes first."""
    draw = chance.random()
    if draw < 0.15:
        return 0, 0, False
    if draw >= 0.5 and one.links:
        i, j = chance.choice(one.links)
        if sum(i == a for a, _ in one.links) == sum(j == b for _, b in one.links) == 1:
            ends = one.source_words[i][1], one.target_words[j][1]
            if all(text[end - 1:end].isalnum() and text[end:end + 1] in " ,.!?"
                   for text, end in zip((one.source, one.target), ends)):
                return *ends, True
    return len(one.source), len(one.target), True


def added(one: Example, chance: random.Random, text: str) -> Example:
    where = places(one, chance)
    words = [text, text] if chance.random() < 0.9 else [f"{text} {text}"] * 2
    edits = ([(place, place, f" {word}" if where[2] else f"{word} ")] for place, word in zip(where, words))
    return both(one, tuple(edits))


def hide(one: Example, chance: random.Random) -> Example:
    """Hides what the server would hide in an example; in a few examples hides or inserts more."""
    one = always(one)
    if chance.random() < AMOUNTS:
        one = amounts(one)
    draw = chance.random()
    if draw < COPIED:
        return copied(one, chance)
    if draw < COPIED + ADDED:
        return added(one, chance, HIDDEN)
    if draw < COPIED + ADDED + SYMBOLS:
        return added(one, chance, chance.choice(COMMON))
    return one


class Piece(NamedTuple):
    """A token of a text with HIDDEN in it: characters begin..end-1."""

    id: int
    begin: int
    end: int


def pieces(side: SentencePiece, text: str) -> list[Piece]:
    """HIDDEN, with a blank before it, is one <unk>; the tokenizer splits the rest."""
    found: list[Piece] = []
    blank = last = -1  # end of the previous token if it is a blank; begin of the last HIDDEN
    for token in side.tokens(text):
        if text[token.begin:token.begin + 1] != HIDDEN or (token.piece == BLANK and token.begin < token.end):
            found.append(Piece(token.id, token.begin, token.end))
        elif token.piece != BLANK and token.begin != last:
            if blank == token.begin:
                found.pop()
            found.append(Piece(UNK, token.begin, token.begin + 1))
            last = token.begin
        else:
            continue
        blank = token.end if token.piece == BLANK else -1
    return found
