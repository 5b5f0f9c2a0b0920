"""What a model copies: python3 -m weights.evaluation.opaque MODEL --data PAIRS [--flip] [--alignd build/alignd]

Input: a model folder, and a file of source TAB target on which it was not trained. Output: MODEL/opaque.json, which
alignd reads (model/text/tokenizer.h):

    copied   symbols with a piece of their own that come out once, without other symbols, in COPIED of the sentences
             into which they are inserted
    word     the piece that stands in for a run such as an address or a name in another script: the one of WORDS with
             the best translations
    sign     the same for emoji and symbols: one of SIGNS

A stand-in is measured on sentences whose translation repeats a name: a run replaces the name on both sides, or an emoji
is appended to both. chrF measures how close the translation is to the reference. "" is <unk>.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
import unicodedata
from pathlib import Path
from typing import Callable, TypeVar

from ..command import run_command
from ..corpora import data
from ..model import folder, manifest, tokenizer
from . import scores
from .client import Daemon, Variant, chunks, daemon

FILE = "opaque.json"
WORDS, SIGNS = ("", "X", "Y", "A"), ("", "*", "X")
COPIED, SENTENCES, PAIRS = 0.95, 20, 300
NAME = re.compile(r"\b(Tom|Mary|Boston|Paris|John|Bob|Ken)\b")
EMOJI = "😀"
BATCH = 50
T = TypeVar("T")


def symbols(pieces: list[str]) -> str:
    """The symbols that have a piece of their own, with or without a leading blank. Currencies are excluded, because
    amounts are always opaque."""
    only = {piece.removeprefix("\u2581") for piece in pieces}
    return "".join(sorted(one for one in only if len(one) == 1 and unicodedata.category(one) in ("Sm", "Sk", "So")
                          and one != "\ufffd"))


def with_runs(pairs: list[tuple[str, str]], most: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Returns pairs in which an address replaces the only name, if both sides have the same; and pairs with an emoji
    appended to both sides."""
    words, signs = [], []
    for source, target in pairs:
        names = NAME.findall(source), NAME.findall(target)
        if len(names[0]) == 1 and names[0] == names[1] and len(words) < most:
            words.append((NAME.sub("www.abc.com", source), NAME.sub("www.abc.com", target)))
        elif len(source.split()) > 4 and len(signs) < most:
            signs.append((f"{source} {EMOJI}", f"{target} {EMOJI}"))
    return words, signs


def translations(client: Daemon, texts: list[str], verbatim: bool) -> list[str]:
    found = []
    for chunk in chunks(texts, BATCH):
        body = {"model": client.model, "text": chunk, "verbatim": verbatim, "warnings": False, "split_sentences": False}
        found += [one["text"] for one in client.request("/translate", body)["translations"]]
    return found


def put_in(text: str, symbol: str) -> str:
    words = text.split()
    return " ".join([*words[:2], symbol, *words[2:]])


def copied(client: Daemon, candidates: str, texts: list[str]) -> str:
    """The symbols that come out exactly once, without other symbols, in at least COPIED of the texts."""
    kept = []
    for symbol in candidates:
        found = translations(client, [put_in(text, symbol) for text in texts], True)
        right = sum(one.count(symbol) == 1 and sum(unicodedata.category(c)[0] == "S" for c in one) == 1
                    for one in found)
        kept += [symbol] * (right >= COPIED * len(texts))
    return "".join(kept)


def serve(alignd: Path, model: Path, settings: dict, ask: Callable[[Daemon], T]) -> T:
    """Calls `ask` with a daemon that serves a copy of the model with these settings."""
    with tempfile.TemporaryDirectory() as work:
        copy = Path(work) / model.name
        shutil.copytree(model, copy)
        write(copy, settings)
        with daemon(alignd, copy, Variant("opaque", ["--compute", "int8"])) as url:
            return ask(Daemon(url, folder.read_config(model)["name"]))


def write(model: Path, settings: dict) -> None:
    (model / FILE).write_text(json.dumps(settings, ensure_ascii=False) + "\n", encoding="utf-8")
    manifest.renew(model)


def best(alignd: Path, model: Path, key: str, candidates: tuple[str, ...],
         pairs: list[tuple[str, str]]) -> tuple[str, dict[str, float]]:
    """Returns the candidate with the highest chrF (the first if several are equal), and the chrF of all."""
    found = {}
    for candidate in candidates:
        outputs = serve(alignd, model, {key: candidate},
                        lambda client: translations(client, [source for source, _ in pairs], False))
        found[candidate] = round(scores.chrf(outputs, [target for _, target in pairs]), 2)
    return max(candidates, key=lambda candidate: found[candidate]), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("--data", type=Path, required=True, help="pairs that it was not trained on")
    parser.add_argument("--flip", action="store_true", help="the second column is the source")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    words, signs = with_runs(data.read_pairs(arguments.data, arguments.flip), PAIRS)
    texts = [source.removesuffix(f" {EMOJI}") for source, _ in signs[:SENTENCES]]
    candidates = symbols(tokenizer.load(arguments.model, folder.read_config(arguments.model)["tokenizer"])[0].pieces)
    settings = {"copied": serve(arguments.alignd, arguments.model, {},
                                lambda client: copied(client, candidates, texts))}
    for key, stand_ins, pairs in (("word", WORDS, words), ("sign", SIGNS, signs)):
        settings[key], found = best(arguments.alignd, arguments.model, key, stand_ins, pairs)
        print(f"{key}: " + ", ".join(f"{candidate or '<unk>'} {chrf:.2f}" for candidate, chrf in found.items())
              + f" chrF of {len(pairs)} sentences")
    write(arguments.model, settings)
    print(f"copied: {settings['copied'] or 'none'} of {candidates}")


if __name__ == "__main__":
    run_command(main)
