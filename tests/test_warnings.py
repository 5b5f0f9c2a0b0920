"""weights/evaluation/warnings.py: its requests and its counts."""

from __future__ import annotations

import gzip
from pathlib import Path

from weights.evaluation import warnings


def test_codes_and_shares() -> None:
    assert warnings.codes({"text": "a"}) == set()
    found = [warnings.codes({"warnings": [{"code": "language"}, {"code": "unknown"}]}), set(), set(), {"language"}]
    assert warnings.share(found, "language") == "50.0"
    assert warnings.share(found, "unknown") == "25.0"
    assert warnings.share([], "language") == ""


def test_what_is_forced() -> None:
    pairs = [("a", "b c d e"), ("f", "g h"), ("i", "j")]
    assert warnings.two_at_a_time(pairs) == [("a f", "b c d e g h")]
    assert warnings.halves(pairs[:2]) == [("a", "b c"), ("f", "g")]


def test_texts_of_each_language(tmp_path: Path) -> None:
    for name, text in {"multi30k/val.fr.gz": "un\n\n", "multi30k/val.cs.gz": "jedna\n",
                       "tatoeba-en-fr/test.tsv.gz": "one\tdeux\n",
                       "broad/flores-dev.en-fr.tsv.gz": "two\ttrois\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    french = warnings.texts_of(tmp_path, "fr", None)
    assert french[:3] == ["un", "deux", "trois"] and "Bonjour" in french
    assert warnings.texts_of(tmp_path, "cs", None) == ["jedna"]
