"""Where inline tags come out: python3 -m weights.inline_tags MODEL_FOLDER [--gold FILE] [--count 200] [--alignd build/alignd]

Input: a model and gold alignments with the sentences in columns four and five (weights/gold). A snippet is a sentence with a tag around one or two words whose
place in the translation is known: by the gold links they and certain words of the reference belong to each other and to nothing else, and these words
stand, once, in the daemon's own translation. Output: the share of snippets whose tag the daemon puts around just these words, and those that are wrong.
"""

from __future__ import annotations

import argparse
import html
import random
import re
from pathlib import Path
from typing import Iterator, NamedTuple

from . import align, compute, folder
from .align import Gold
from .evaluate import BATCH, Daemon, chunks
from .links import Span

TAGS = ("b", "i", "em", "strong", "span", "a")
LONGEST, SEED = 2, 7  # source words in a tag


class Phrase(NamedTuple):
    """Words of a sentence, and what they are in its reference."""

    source: str  # the sentence
    place: Span  # in it
    target: str


class Snippet(NamedTuple):
    markup: str
    translation: str
    place: Span  # of what the tag belongs around


def closed(gold: Gold, first: int, end: int) -> Span | None:
    """The target words that are linked with source words first to end - 1 and with no other, if they stand together: their place."""
    links = gold.sure | gold.possible
    targets = {i for j, i in links if first <= j < end}
    if not targets or targets != set(range(min(targets), max(targets) + 1)) or any(i in targets and not first <= j < end for j, i in links):
        return None
    linked = {j for j, _ in gold.sure}
    if not all(j in linked for j in range(first, end)):
        return None
    return gold.target_words[min(targets)][0], gold.target_words[max(targets)][1]


def phrases(gold: Gold) -> Iterator[Phrase]:
    for first in range(len(gold.source_words)):
        for end in range(first + 1, min(first + LONGEST, len(gold.source_words)) + 1):
            begin, behind = gold.source_words[first][0], gold.source_words[end - 1][1]
            place = closed(gold, first, end)
            texts = [gold.source[begin:behind], gold.target[slice(*place)]] if place else []
            if texts and all(re.fullmatch(r"\w[\w' ’-]*", text) for text in texts):
                yield Phrase(gold.source, (begin, behind), texts[1])


def places_of(words: str, text: str) -> list[Span]:
    """Of the words in the text, whatever their case, as whole words."""
    last = r"(?!\w)" if words[-1] not in "'’" else ""
    return [match.span() for match in re.finditer(rf"(?<!\w){re.escape(words)}{last}", text, re.IGNORECASE)]


def marked(text: str, place: Span, tag: str) -> str:
    begin, end = place
    attributes = ' href="/x"' if tag == "a" else ""
    return f"{html.escape(text[:begin], False)}<{tag}{attributes}>{html.escape(text[begin:end], False)}</{tag}>{html.escape(text[end:], False)}"


def snippets(found: list[Phrase], translations: dict[str, str], count: int) -> list[Snippet]:
    """At most count of those whose place is known, drawn at random."""
    values = random.Random(SEED)
    made = []
    for phrase in values.sample(found, len(found)):
        translation = translations[phrase.source]
        places = places_of(phrase.target, translation)
        if len(places) == 1 and phrase.place != (0, len(phrase.source)):
            made.append(Snippet(marked(phrase.source, phrase.place, TAGS[len(made) % len(TAGS)]), translation, places[0]))
    return made[:count]


def is_right(snippet: Snippet, answer: str) -> bool:
    """The same translation, with the tag around the very words."""
    parts = re.split(r"<[^>]*>", answer)
    if len(parts) != 3:
        return False
    before, inner, behind = (html.unescape(part) for part in parts)
    return before + inner + behind == snippet.translation and (len(before), len(before) + len(inner)) == snippet.place


def ask(client: Daemon, pair: tuple[str, str], texts: list[str], kind: str) -> list[str]:
    body = {"source": pair[0], "target": pair[1], "format": kind}
    return [text for chunk in chunks(texts, BATCH) for text in client.request("/translate", body | {"q": chunk})["translatedText"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("--gold", type=Path, default=Path(__file__).with_name("gold") / "en-fr-everyday.tsv")
    parser.add_argument("--flip", action="store_true", help="the model translates the second column into the first")
    parser.add_argument("--count", type=int, default=200, help="of snippets (%(default)s)")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    config = folder.read_config(arguments.model)
    pair = config["source"], config["target"]
    found = [phrase for gold in align.read_gold(arguments.gold, arguments.flip) for phrase in phrases(gold)]
    with compute.daemon(arguments.alignd, arguments.model, compute.Variant(config["name"], ["--workers", "1"])) as url:
        client = Daemon(url, config["name"])
        sources = sorted({phrase.source for phrase in found})
        made = snippets(found, dict(zip(sources, ask(client, pair, sources, "text"), strict=True)), arguments.count)
        answers = ask(client, pair, [snippet.markup for snippet in made], "html")
    wrong = [(snippet, answer) for snippet, answer in zip(made, answers, strict=True) if not is_right(snippet, answer)]
    for snippet, answer in wrong:
        print(f"{snippet.markup}\n    {answer}\n    wanted: {snippet.translation[slice(*snippet.place)]}")
    print(f"{len(made) - len(wrong)} of {len(made)} right: {100 * (1 - len(wrong) / max(1, len(made))):.1f}%")


if __name__ == "__main__":
    main()
