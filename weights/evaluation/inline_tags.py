"""Where inline tags come out: python3 -m weights.evaluation.inline_tags MODEL_FOLDER [--gold FILE] [--count 200]
[--alignd build/alignd]

Input: a model and gold alignments with the sentences in columns four and five (weights/gold). A snippet is a sentence
with a tag around one or two words, at least one with four letters, whose place in the translation is known: the gold
links connect these words and certain words of the reference, also with four letters, only with each other, and the
words of the reference occur exactly once in the daemon's own translation. Output: the share of snippets in which the
daemon puts the tag around these words (it may leave out words with possible links only), and the wrong snippets.
"""

from __future__ import annotations

import argparse
import html
import random
import re
from pathlib import Path
from typing import Iterator, NamedTuple

from ..command import run_command
from ..alignment import align
from ..model import folder
from . import compute
from ..alignment.align import Gold
from .evaluate import BATCH, Daemon, chunks
from ..alignment.links import Span

TAGS = ("b", "i", "em", "strong", "span", "a")
LONGEST, LETTERS, SEED = 2, 4, 7  # maximum source words in a tag; minimum letters of its longest word, on both sides


class Phrase(NamedTuple):
    """Words of a sentence, and their translation in the reference."""

    source: str  # the whole sentence
    place: Span  # of the words in the sentence
    target: str
    core: Span   # within target: from the first to the last word with a sure link


class Snippet(NamedTuple):
    markup: str
    translation: str
    place: Span  # the largest span for the tag
    core: Span   # the smallest span for the tag


def closed(gold: Gold, first: int, end: int) -> list[int]:
    """The target words linked only with source words first to end - 1, if they are contiguous and each source word has
    a sure link; else []."""
    links = gold.sure | gold.possible
    targets = {i for j, i in links if first <= j < end}
    if (not targets or targets != set(range(min(targets), max(targets) + 1))
        or any(i in targets and not first <= j < end for j, i in links)):
        return []
    linked = {j for j, _ in gold.sure}
    return sorted(targets) if all(j in linked for j in range(first, end)) else []


def is_plain(text: str) -> bool:
    return bool(re.fullmatch(r"\w[\w' ’-]*", text) and re.search(rf"\w{{{LETTERS}}}", text))


def phrases(gold: Gold) -> Iterator[Phrase]:
    for first in range(len(gold.source_words)):
        for end in range(first + 1, min(first + LONGEST, len(gold.source_words)) + 1):
            place = gold.source_words[first][0], gold.source_words[end - 1][1]
            sure = sorted({i for j, i in gold.sure if first <= j < end})
            found = closed(gold, first, end)
            if not found or not sure or not is_plain(gold.source[slice(*place)]):
                continue
            for words in {(found[0], found[-1]), (sure[0], sure[-1])}:
                begin, stop = gold.target_words[words[0]][0], gold.target_words[words[1]][1]
                if is_plain(gold.target[begin:stop]):
                    core = gold.target_words[sure[0]][0] - begin, gold.target_words[sure[-1]][1] - begin
                    yield Phrase(gold.source, place, gold.target[begin:stop], core)


def places_of(words: str, text: str) -> list[Span]:
    """The spans of the words in the text, matched as whole words without regard to case."""
    last = r"(?!\w)" if words[-1] not in "'’" else ""
    return [match.span() for match in re.finditer(rf"(?<!\w){re.escape(words)}{last}", text, re.IGNORECASE)]


def marked(text: str, place: Span, tag: str) -> str:
    begin, end = place
    attributes = ' href="/x"' if tag == "a" else ""
    return (f"{html.escape(text[:begin], False)}<{tag}{attributes}>{html.escape(text[begin:end], False)}</{tag}>"
            f"{html.escape(text[end:], False)}")


def snippets(found: list[Phrase], translations: dict[str, str], count: int) -> list[Snippet]:
    """At most `count` random snippets with a known place."""
    made: dict[tuple[str, Span], Snippet] = {}
    for phrase in sorted(found, key=lambda one: -len(one.target)):  # prefers the longer target, with possible links
        translation = translations[phrase.source]
        places, key = places_of(phrase.target, translation), (phrase.source, phrase.place)
        if len(places) == 1 and key not in made:
            core = tuple(places[0][0] + place for place in phrase.core)
            made[key] = Snippet(marked(phrase.source, phrase.place, TAGS[len(made) % len(TAGS)]), translation,
                                places[0], core)
    drawn = random.Random(SEED).sample(sorted(made), len(made))
    return [made[key] for key in drawn[:count]]


def is_right(snippet: Snippet, answer: str) -> bool:
    """Whether the translation is unchanged and the tag encloses the expected words."""
    parts = re.split(r"<[^>]*>", answer)
    if len(parts) != 3:
        return False
    before, inner, after = (html.unescape(part) for part in parts)
    begin, end = len(before), len(before) + len(inner)
    return (before + inner + after == snippet.translation and snippet.place[0] <= begin <= snippet.core[0] and
            snippet.core[1] <= end <= snippet.place[1])


def ask(client: Daemon, pair: tuple[str, str], texts: list[str], kind: str) -> list[str]:
    body = {"source": pair[0], "target": pair[1], "format": kind}
    return [text for chunk in chunks(texts, BATCH)
            for text in client.request("/translate", body | {"q": chunk})["translatedText"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("--gold", type=Path, default=Path(__file__).parent.with_name("gold") / "en-fr-everyday.tsv")
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
    run_command(main)
