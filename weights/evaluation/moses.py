"""Lower-cased, punctuation-normalised, tokenised text, as the published figures on Multi30k use it.

Input: raw text and its language. Output: the text after Moses's lowercase.perl, normalize-punctuation.perl and
tokenizer.perl, except that special characters are not escaped (" stays ", not &quot;) and there is no list of
abbreviations (most entries begin with a capital, so that they never match lower-cased text). With escaping, the length
of test2016 differs by at most one character from the authors' tokenised files, in each of the three languages.
"""

from __future__ import annotations

import re

# The rules of normalize-punctuation.perl that affect text without control characters, in its order.
_NORMAL: tuple[tuple[re.Pattern, str], ...] = tuple((re.compile(pattern), replacement) for pattern, replacement in (
    (r"\r", ""), (r"\(", " ("), (r"\)", ") "), (r" +", " "), (r"\) ([.!:?;,])", r")\1"), (r"\( ", "("), (r" \)", ")"),
    (r"(\d) %", r"\1%"), (r" :", ":"), (r" ;", ";"), (r"`", "'"), (r"''", ' " '), (r"[„“”]", '"'), (r"–", "-"),
    (r"—", " - "), (r" +", " "),
    (r"´", "'"), (r"([^\W\d_])‘([^\W\d_])", r"\1'\2"), (r"([^\W\d_])’([^\W\d_])", r"\1'\2"), (r"[‘‚’]", "'"),
    (r"''|´´", '"'), (r"…", "..."),
    (r"\u00a0«\u00a0|«\u00a0|«", '"'), (r"\u00a0»\u00a0|\u00a0»|»", '"'), (r"\u00a0([%:?!;])", r"\1"),
    (r",\u00a0", ", ")))
_AMERICAN_QUOTES = ((re.compile(r'"([,.]+)'), r'\1"'),)
_OTHER_QUOTES = ((re.compile(r',"'), '",'), (re.compile(r'(\.+)"(\s*[^<])'), r'"\1\2'))
_DOTS = re.compile(r"\.\.+")


def _normalise(text: str, language: str) -> str:
    for pattern, replacement in _NORMAL + (_AMERICAN_QUOTES if language == "en" else _OTHER_QUOTES):
        text = pattern.sub(replacement, text)
    return text


def _split_apostrophes(text: str, language: str) -> str:
    letter = r"[^\W\d_]"
    text = re.sub(rf"(?<!{letter})'(?!{letter})", " ' ", text)
    if language not in ("en", "fr", "it"):
        return text.replace("'", " ' ")
    text = re.sub(rf"(?<!{letter})'(?={letter})", " ' ", text)
    text = re.sub(rf"(?<={letter})'(?!{letter})", " ' ", text)
    if language == "en":
        return re.sub(rf"(?<=\d)'(?=s)", " '", re.sub(rf"(?<={letter})'(?={letter})", " '", text))
    return re.sub(rf"(?<={letter})'(?={letter})", "' ", text)


def _split_final_dots(text: str) -> str:
    """Splits off a word's final full stop, unless the word has another full stop or the next word begins with a small
    letter."""
    words = text.split()
    for i, word in enumerate(words):
        stem = word[:-1]
        if not word.endswith(".") or not stem:
            continue
        inner = "." in stem and any(c.isalpha() for c in stem)
        followed = i + 1 < len(words) and words[i + 1][0].islower()
        if not inner and not followed:
            words[i] = f"{stem} ."
    return re.sub(r"\.' ?$", " . '", " ".join(words))


def _tokenise(text: str, language: str) -> str:
    text = f" {' '.join(text.split())} "
    text = re.sub(r"([^\w\s.'`,\-]|_)", r" \1 ", text)
    text = _DOTS.sub(lambda dots: f" DOTS{len(dots[0])} ", text)  # runs of dots stay whole
    text = re.sub(r"(?<!\d),|,(?!\d)", " , ", text)
    text = _split_final_dots(_split_apostrophes(text, language))
    return re.sub(r"DOTS(\d+)", lambda dots: "." * int(dots[1]), text)


def lower_normalise_tokenise(text: str, language: str) -> str:
    return _tokenise(_normalise(text.lower(), language), language)
