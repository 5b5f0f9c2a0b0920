"""Amounts of money in the shipped models: 40 in EUR and 40 in $ in each direction keep value and currency. Needs
build/alignd."""
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ALIGND = ROOT / "build/alignd"
NO_BREAK = "\u00a0\u202f"

VALUES = [7, 12, 15, 19, 25, 32, 48, 50, 60, 75, 89, 99, 105, 120, 150, 199, 240, 341, 365, 480, 512, 600, 750, 999,
          1000, 1250, 1999, 2400, 3500, 4999, 7500, 12000, 15500, 25000, 48000, 99999, 120000, 250000, 1000000, 2500000]
# Decimals by index of the value.
CENTS = {3: "50", 7: "99", 11: "95", 14: "05", 22: "75", 27: "50", 33: "20", 36: "80"}
SENTENCES = {
    "en": ["The ticket costs {}.", "I paid {} for this book.", "She owes me {}.", "They sold the house for {}.",
           "We need {} to repair the car.",
           "He earns {} a month.", "Can you lend me {}?", "The hotel charges {} per night.",
           "My brother spent {} on a new phone.", "The company lost {} last year."],
    "fr": ["Le billet coûte {}.", "J'ai payé {} pour ce livre.", "Elle me doit {}.", "Ils ont vendu la maison {}.",
           "Il nous faut {} pour réparer la voiture.", "Il gagne {} par mois.", "Peux-tu me prêter {} ?",
           "L'hôtel demande {} par nuit.",
           "Mon frère a dépensé {} pour un nouveau téléphone.", "L'entreprise a perdu {} l'année dernière."],
    "de": ["Die Karte kostet {}.", "Ich habe {} für dieses Buch bezahlt.", "Sie schuldet mir {}.",
           "Sie haben das Haus für {} verkauft.",
           "Wir brauchen {} für die Reparatur des Autos.", "Er verdient {} im Monat.", "Kannst du mir {} leihen?",
           "Das Hotel verlangt {} pro Nacht.", "Mein Bruder hat {} für ein neues Handy ausgegeben.",
           "Die Firma hat letztes Jahr {} verloren."],
}
NAMES = {"€": {"en": "euros", "fr": "euros", "de": "Euro"}, "$": {"en": "dollars", "fr": "dollars", "de": "Dollar"}}
POINT = {"en": ".", "fr": ",", "de": ","}
GROUP = {"en": ",", "fr": " ", "de": "."}


def write(language: str, index: int, sign: str) -> str:
    """An amount in a notation of the language: with or without digit groups, with a sign or a name, in French with
    several kinds of spaces."""
    style = index * 7 % 12
    group = "\u202f" if language == "fr" and style % 2 else GROUP[language]
    number = f"{VALUES[index]:,}".replace(",", group) if VALUES[index] >= 10000 or style % 3 else str(VALUES[index])
    if index in CENTS:
        number += POINT[language] + CENTS[index]
    if style % 4 == 3:
        return f"{number} {NAMES[sign][language]}"
    return sign + number if language == "en" else number + ("\u00a0" if style % 2 else " ") + sign


def keeps(text: str, language: str, index: int, sign: str) -> bool:
    """Whether the text has this amount exactly once, in the language's notation, and no other number."""
    names = {"€": r"(?:€|[Ee]uros?|EUR)", "$": r"(?:\$|[Dd]ollars?|USD)"}[sign]
    group = {"en": ",?", "fr": f"[ {NO_BREAK}]?", "de": r"\.?"}[language]
    number = group.join(f"{VALUES[index]:,}".split(","))
    if index in CENTS:
        number += re.escape(POINT[language] + CENTS[index])
    amount = rf"(?<![\d.,])(?:{names}\s?{number}|{number}[\s-]?(?:de )?{names})(?!\d)"
    numbers = re.findall(rf"\d[\d.,{NO_BREAK} ]*\d|\d", text)
    return len(re.findall(amount, text)) == 1 and len(numbers) == 1


def translate(model: str, lines: list[str], *options: str) -> list[str]:
    """Translates the lines by `alignd translate`."""
    command = [ALIGND, "translate", "--model", ROOT / "weights" / model, *options]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.skipif(not ALIGND.exists(), reason="alignd is not built")
@pytest.mark.parametrize("model", ["en-fr", "en-de", "fr-en", "de-en"])
def test_amounts_keep_value_and_sign(model: str) -> None:
    source, target = model.split("-")
    cases = [(index, sign) for sign in "€$" for index in range(len(VALUES))]
    lines = [SENTENCES[source][index % 10].format(write(source, index, sign)) for index, sign in cases]
    answers = translate(model, lines)
    wrong = [f"{line} -> {answer}" for (index, sign), line, answer in zip(cases, lines, answers, strict=True)
             if not keeps(answer, target, index, sign)]
    assert not wrong, f"{len(cases) - len(wrong)} of {len(cases)}: {wrong}"
