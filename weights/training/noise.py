"""Noise that people type and corpora lack: rules that change a pair of sentences when it is drawn, so that the model
sees it in training.

Input: an Example (both texts, the spans of their words, links between words) and a random state. Output: another
Example. Every rule keeps the spans correct, so that links remain valid. The rules are applied anew whenever a pair is
drawn (weights/training/mixture.py).
"""

from __future__ import annotations

import random
import re
import string
import unicodedata
from dataclasses import dataclass, replace
from typing import Callable

from ..alignment.links import Links, Span, words

Edit = tuple[int, int, str]  # replaces characters begin..end-1 by this text


@dataclass(frozen=True)
class Example:
    source: str
    target: str
    source_words: list[Span]
    target_words: list[Span]
    links: Links


def example(source: str, target: str, links: Links) -> Example:
    return Example(source, target, words(source), words(target), links)


def edited(text: str, spans: list[Span], edits: list[Edit]) -> tuple[str, list[Span]]:
    """Applies edits, which must be sorted and not overlap. A word that an edit overlaps keeps what is left of it."""
    out, shifts, end, shift = [], [], 0, 0  # shifts: per edit (old span, new begin, new length, total shift)
    for begin, stop, new in edits:
        out += [text[end:begin], new]
        end = stop
        shift += len(new) - (stop - begin)
        shifts.append((begin, stop, begin + shift - (len(new) - (stop - begin)), len(new), shift))
    out.append(text[end:])

    def moved(place: int, last: bool) -> int:
        """The new position of a boundary. last: whether it ends a word."""
        now = place
        for begin, stop, at, size, by in shifts:
            if place >= stop and (place > begin or not last):
                now = place + by
            elif place > begin or (place == begin and not last and stop > begin):
                now = at + (size if last else 0)
        return now

    return "".join(out), [(moved(b, False), moved(e, True)) for b, e in spans]


def on_source(one: Example, edits: list[Edit]) -> Example:
    text, spans = edited(one.source, one.source_words, edits)
    return replace(one, source=text, source_words=spans)


def on_target(one: Example, edits: list[Edit]) -> Example:
    text, spans = edited(one.target, one.target_words, edits)
    return replace(one, target=text, target_words=spans)


def joined(parts: list[Example]) -> Example:
    """Concatenates several examples."""
    whole = parts[0]
    for part in parts[1:]:
        s, t = len(whole.source) + 1, len(whole.target) + 1
        i, j = len(whole.source_words), len(whole.target_words)
        whole = Example(f"{whole.source} {part.source}", f"{whole.target} {part.target}",
                        whole.source_words + [(b + s, e + s) for b, e in part.source_words],
                        whole.target_words + [(b + t, e + t) for b, e in part.target_words],
                        whole.links + [(a + i, b + j) for a, b in part.links])
    return whole


def _cased(text: str, change: Callable[[str], str]) -> str:
    """Changes single characters, and only to single ones, so that all positions stay the same."""
    return "".join(c if len(new := change(c)) != 1 else new for c in text)


def lower(one: Example, chance: random.Random) -> Example:
    """Lower-cases the source. The target keeps its capitals, which the model must restore."""
    return replace(one, source=_cased(one.source, str.lower))


def upper(one: Example, chance: random.Random) -> Example:
    return replace(one, source=_cased(one.source, str.upper), target=_cased(one.target, str.upper))


def title(one: Example, chance: random.Random) -> Example:
    return replace(one, source=re.sub(r"(?<![\w'’])\w", lambda letter: _cased(letter[0], str.upper), one.source))


FINAL = re.compile(r"\s*[.!?…]+$")


def without_final(one: Example, chance: random.Random) -> Example:
    """Removes final punctuation from both sides; after a question only from the source."""
    source, target = FINAL.search(one.source), FINAL.search(one.target)
    if not source or not target or source.start() == 0 or target.start() == 0:
        return one
    changed = on_source(one, [(source.start(), len(one.source), "")])
    return changed if "?" in source[0] else on_target(changed, [(target.start(), len(one.target), "")])


def typography(one: Example, chance: random.Random) -> Example:
    """Replaces apostrophes, quotation marks and ellipses by typographic ones, in the source only."""
    text, opening, out = one.source, True, []
    marks = chance.choice(("“”", "“”", "«»", "„“", "‘’"))
    for c in text:
        if c == "'":
            c = "’"
        elif c == '"':
            c = marks[0] if opening else marks[1]
            opening = not opening
        out.append(c)
    changed = replace(one, source="".join(out))
    return on_source(changed, [(m.start(), m.end(), "…") for m in re.finditer(r"\.\.\.", changed.source)])


def without_accents(one: Example, chance: random.Random) -> Example:
    return replace(one, source=_cased(one.source, lambda c: unicodedata.normalize("NFD", c)[0]))


def misspelled(word: str, chance: random.Random) -> str:
    """Omits, doubles, swaps or replaces one letter, but not the first."""
    i = chance.randrange(1, len(word) - 1)
    kind = chance.randrange(4)
    if kind == 0:
        return word[:i] + word[i + 1:]
    if kind == 1:
        return word[:i] + word[i] + word[i:]
    if kind == 2:
        return word[:i] + word[i + 1] + word[i] + word[i + 2:]
    return word[:i] + chance.choice(string.ascii_lowercase) + word[i + 1:]


def spelling(one: Example, chance: random.Random) -> Example:
    """Misspells one or two lower-case words of at least four letters."""
    places = [span for span in one.source_words if span[1] - span[0] >= 4 and one.source[slice(*span)].isalpha()
              and one.source[slice(*span)].islower()]
    chosen = sorted(chance.sample(places, min(len(places), chance.choice((1, 1, 2)))))
    return on_source(one, [(b, e, misspelled(one.source[b:e], chance)) for b, e in chosen])


def copied(one: Example, kind: Callable[[str], bool]) -> dict[str, list[tuple[Span, Span]]]:
    """Words that the translation copies, by their text: links between equal words without other links."""
    fans = ({}, {})
    for i, j in one.links:
        for fan, word in zip(fans, (i, j)):
            fan[word] = fan.get(word, 0) + 1
    found: dict[str, list[tuple[Span, Span]]] = {}
    for i, j in one.links:
        a, b = one.source_words[i], one.target_words[j]
        text = one.source[slice(*a)]
        if fans[0][i] == fans[1][j] == 1 and text == one.target[slice(*b)] and kind(text):
            found.setdefault(text, []).append((a, b))
    return found


def with_others(one: Example, places: list[tuple[Span, Span]], new: str) -> tuple[list[Edit], list[Edit]]:
    return [(*a, new) for a, _ in places], [(*b, new) for _, b in places]


def digits(one: Example, chance: random.Random) -> Example:
    """Replaces numbers on both sides by others with as many digits; single digits, which may be spelled out, stay."""
    edits: tuple[list[Edit], list[Edit]] = ([], [])
    for text, places in copied(one, lambda text: text.isascii() and text.isdigit() and len(text) > 1).items():
        new = str(chance.randrange(1, 10)) + "".join(chance.choice(string.digits) for _ in text[1:])
        for side, more in zip(edits, with_others(one, places, new)):
            side += more
    return on_target(on_source(one, sorted(edits[0])), sorted(edits[1]))


def made_up(chance: random.Random) -> str:
    """An invented name of two or three syllables."""
    begin = ("B", "Br", "C", "Ch", "D", "F", "G", "Gr", "H", "J", "K", "Kr", "L", "M", "N", "P", "R", "S", "St", "T",
             "V", "W", "Y", "Z", "")
    parts = [chance.choice(begin) + chance.choice("aeiou") + chance.choice(("", "n", "r", "l", "m", "s", "k"))]
    parts += [chance.choice("bcdfghklmnprstvwz") + chance.choice("aeiouy")
              + chance.choice(("", "", "n", "r", "s", "tt", "ck"))
              for _ in range(chance.choice((1, 1, 2)))]
    return "".join(parts).capitalize()


def is_name(text: str) -> bool:
    return len(text) > 2 and text[0].isupper() and text[1:].islower() and text.isalpha()


def names(pool: list[str]) -> Callable[[Example, random.Random], Example]:
    """Returns the rule that replaces names by others, from the pool or invented."""
    def rule(one: Example, chance: random.Random) -> Example:
        edits: tuple[list[Edit], list[Edit]] = ([], [])
        for places in copied(one, is_name).values():
            new = made_up(chance) if not pool or chance.random() < 0.3 else chance.choice(pool)
            for side, more in zip(edits, with_others(one, places, new)):
                side += more
        return on_target(on_source(one, sorted(edits[0])), sorted(edits[1]))
    return rule


Rule = tuple[float, Callable[[Example, random.Random], Example]]


def rules(pool: list[str], source_language: str) -> list[Rule]:
    """The kinds of noise in the order of application, each with its probability. Case changes come last, because the
    other rules recognise names by their capitals."""
    accents: list[Rule] = [(0.05, without_accents)] if source_language != "en" else []
    return [(0.3, digits), (0.2, names(pool)), (0.15, without_final), (0.3, typography), (0.04, spelling), *accents]


CASES: list[Rule] = [(0.07, lower), (0.03, upper), (0.015, title)]


def noisy(one: Example, chosen: list[Rule], chance: random.Random) -> Example:
    """Applies each rule with its probability, and at most one of CASES; half of the lower-cased examples also lose
    their full stop."""
    for probability, rule in chosen:
        if chance.random() < probability:
            one = rule(one, chance)
    draw = chance.random()
    for probability, rule in CASES:
        if 0 <= draw < probability:
            one = rule(one, chance)
            if rule is lower and chance.random() < 0.5:
                one = without_final(one, chance)
        draw -= probability
    return one
