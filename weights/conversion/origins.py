"""Whose a converted model is: the licence and the attribution for its card, as far as the files beside it say so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

OPUS = "OPUS-MT, Language Technology at the University of Helsinki (https://github.com/Helsinki-NLP/OPUS-MT-train)"
FIREFOX = "Mozilla and the Bergamot project (https://github.com/mozilla/firefox-translations-models)"
LICENCES = {"Attribution 4.0 International": "CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/)",
            "Apache License": "Apache-2.0 (https://www.apache.org/licenses/LICENSE-2.0)",
            "Mozilla Public License": "MPL-2.0 (https://www.mozilla.org/MPL/2.0/)", "MIT License": "MIT"}
SHORT = {"cc-by-4.0": LICENCES["Attribution 4.0 International"], "apache-2.0": LICENCES["Apache License"], "mpl-2.0": LICENCES["Mozilla Public License"]}
FILES = ("LICENSE", "LICENSE.txt", "LICENCE", "LICENSE.md")
ORIGINAL = "README.original.md"  # the card that stood beside the model
HEAD_LINES = 40


class Origin(NamedTuple):
    """licence, attribution: as the card has them, "" if nothing says them; files: what is put beside the model."""

    licence: str
    attribution: str
    files: dict[str, bytes]


def _of_text(text: str) -> str:
    name = next((name for words, name in LICENCES.items() if words in text), "")
    return f"{name}, whose text is LICENSE" if name else "that of LICENSE"


def card_of(folder: Path) -> str:
    path = folder / "README.md"
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _of_card(card: str) -> str:
    """The head's `license:`, as Hugging Face has it."""
    for line in card.split("\n")[:HEAD_LINES]:
        if line.startswith("license:"):
            name = line.removeprefix("license:").strip()
            return f"{SHORT.get(name.lower(), name)}, as the card says of the model that it was converted from"
    return ""


def is_opus(name: str, card: str) -> bool:
    return "opus" in name.lower() or re.search(r"\bopus\b|OPUS|Helsinki", card) is not None


def find(folder: Path, name: str, firefox: bool, card: str) -> Origin:
    """name: of the model; card: that stood beside it, "" if there is none."""
    text = next((folder / name for name in FILES if (folder / name).exists()), None)
    files = {"LICENSE": text.read_bytes()} if text else {}
    if card:
        files[ORIGINAL] = card.encode("utf-8")
    licence = _of_text(files["LICENSE"].decode("utf-8", "replace")) if text else _of_card(card)
    if firefox:
        return Origin(licence or f"{LICENCES['Mozilla Public License']}, as mozilla/firefox-translations-models says of all its models", FIREFOX, files)
    return Origin(licence, OPUS if is_opus(name, card) else "", files)


def was_guided(model: str, firefox: bool, options: dict, card: str) -> bool:
    """Whether its attention was trained to align, as far as the files say so: options are those of the training; OPUS-MT's guided models are called
    transformer-align, transformer-big-align and so on, by their file or in their card."""
    said = options.get("guided-alignment")
    if said is not None:
        return said not in ("", "none")
    return firefox or re.search(r"-align\b", model) is not None or re.search(r"\btransformer[\w-]*-align\b", card) is not None
