"""weights/evaluation/opaque.py: symbols, sentences with runs, and the settings that it writes to the model's folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from weights.evaluation import opaque
from weights.model import manifest

ALIGND = Path("build/alignd")


def test_symbols() -> None:
    assert opaque.symbols(["▁", "▁a", "+", "▁+", "▁×", "€", "++", "\ufffd", "<unk>"]) == "+×"


def test_sentences_with_runs() -> None:
    pairs = [("Tom sleeps.", "Tom dort."), ("Tom saw Mary.", "Tom a vu Mary."), ("I saw Bob.", "Je l'ai vu."),
             ("This is a long sentence.", "C'est long.")]
    words, signs = opaque.with_runs(pairs, 5)
    assert words == [("www.abc.com sleeps.", "www.abc.com dort.")]
    assert signs == [("This is a long sentence. 😀", "C'est long. 😀")]


def test_put_in() -> None:
    assert opaque.put_in("This is a test.", "+") == "This is + a test."


class Copier:
    """A model that copies + and replaces * by ×."""

    model = "copier"

    def request(self, path: str, body: dict) -> dict:
        return {"translations": [{"text": text.replace("*", "×")} for text in body["text"]]}


def test_what_comes_out_as_it_was_is_copied() -> None:
    assert opaque.copied(Copier(), "+*<", ["This is a test."]) == "+<"


def test_the_best_stand_in_is_written(tmp_path: Path) -> None:
    model = tmp_path / "en-fr"
    shutil.copytree("weights/en-fr", model)
    pairs = [("I saw www.abc.com yesterday.", "J'ai vu www.abc.com hier."),
             ("www.abc.com is my friend.", "www.abc.com est mon ami.")]
    found, all_found = opaque.best(ALIGND, model, "word", ("", "X"), pairs)
    assert set(all_found) == {"", "X"} and all_found[found] == max(all_found.values())
    opaque.write(model, {"copied": "", "word": found})
    assert json.loads((model / opaque.FILE).read_text(encoding="utf-8"))["word"] == found
    assert not manifest.differences(model)
