"""Do opaque runs and amounts come through? python3 tests/bench/intact.py MODEL [MODEL ...] [--count 10000] [--seed 1]
[--sample 200] [--strategy beam] [--compute float32]

Builds sentences from templates with an opaque run, an amount of money, or both, has each model translate them, and
compares: each run must occur in the translation exactly as often as in the sentence, each amount with its value and
currency in the notation of the target language, and U+FFFD must not occur. Prints a line for each model and the
failures. --sample prints this number of pairs for inspection: is the run beside the right words? Exits with 1 if more
than one sentence in 200 failed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))
from weights.evaluation.client import Daemon, Variant, chunks, daemon  # noqa: E402

TEMPLATES = {
    "en": ["Have you seen {run} today?", "Please send {run} to my brother.", "The file is called {run}.",
           "I think {run} is very good.", "{run} is on the table.",
           "We talked about {run} yesterday.", "Thank you {run}", "My friend gave me {run} for my birthday.",
           "Tom wrote {run} on the wall.", "Is this {run} or not?",
           "I forgot {run} at home.", "She reads {run} every morning.", "You must enter {run} here.",
           "The answer was {run}, and he was happy."],
    "fr": ["Avez-vous vu {run} aujourd'hui ?", "Envoyez {run} à mon frère.", "Le fichier s'appelle {run}.",
           "Je pense que {run} est très bon.", "{run} est sur la table.",
           "Nous avons parlé de {run} hier.", "Merci {run}", "Mon ami m'a donné {run} pour mon anniversaire.",
           "Tom a écrit {run} sur le mur.", "J'ai oublié {run} à la maison.",
           "Elle lit {run} tous les matins.", "La réponse était {run}, et il était content."],
    "de": ["Haben Sie heute {run} gesehen?", "Bitte schicken Sie {run} an meinen Bruder.", "Die Datei heißt {run}.",
           "Ich glaube, {run} ist sehr gut.", "{run} liegt auf dem Tisch.",
           "Wir haben gestern über {run} gesprochen.", "Danke {run}",
           "Mein Freund hat mir {run} zum Geburtstag gegeben.", "Tom hat {run} an die Wand geschrieben.",
           "Ich habe {run} zu Hause vergessen.", "Sie liest jeden Morgen {run}.",
           "Die Antwort war {run}, und er war froh."],
}
PRICES = {
    "en": ["I paid {amount} for the book.", "It costs {amount}.", "He owes me {amount}.",
           "The rent is {amount} a month.", "She won {amount} yesterday.", "I paid {amount} for {run}."],
    "fr": ["J'ai payé {amount} pour le livre.", "Ça coûte {amount}.", "Il me doit {amount}.",
           "Le loyer est de {amount} par mois.", "Elle a gagné {amount} hier.", "J'ai payé {amount} pour {run}."],
    "de": ["Ich habe {amount} für das Buch bezahlt.", "Es kostet {amount}.", "Er schuldet mir {amount}.",
           "Die Miete beträgt {amount} im Monat.", "Sie hat gestern {amount} gewonnen.",
           "Ich habe {amount} für {run} bezahlt."],
}
EMOJI = ["😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇫🇷", "1️⃣", "❤️", "🤷🏻‍♀️", "🎉🎉", "☕", "🧑‍💻"]
SYMBOLS = ["★", "→", "©", "™", "♫", "✓", "½", "☎", "⌘", "←→"]
NAMES = ["Dvořák", "Kraków", "Łódź", "Ğülşah", "Σοφία", "Москва", "東京", "서울", "القاهرة", "ירושלים", "กรุงเทพ", "दिल्ली",
         "Nguyễn", "Ấp", "Þórshöfn"]
WORDS = ["alpha", "report", "main", "user", "data", "build", "index", "page", "total"]


class Case(NamedTuple):
    text: str
    run: str | None
    amount: tuple[Decimal, str] | None  # value, currency sign


def code(chance: random.Random) -> str:
    word, other, n = chance.choice(WORDS), chance.choice(WORDS), chance.randrange(2, 98)
    digits = lambda count: "".join(str(chance.randrange(10)) for _ in range(count))  # noqa: E731
    return chance.choice([
        f"{word.upper()}_{other.upper()}={n}", f"/usr/{word}/{other}.txt", f"C:\\{word}\\{other}.doc",
        f"{word}_{n}.pdf", f"{word.title()}{other.title()}{n}x", f"v{n}.{n}.1",
        f"978-3-16-{digits(6)}-0", f"DE{digits(2)} {digits(4)} {digits(4)} {digits(4)} {digits(4)} {digits(2)}",
        f"+49 30 {digits(4)} {digits(4)}", f"{chance.randrange(1 << 40):010x}a7",
        f"#{word}{other}", f"@{word}_{n}", f":{word}_{other}:", "%s", "%(name)s", "{name}", "{{count}}", "${total}",
        f"[{n}]", f"--{word}-{other}", f"{word}()",
        f"https://{word}.example.org/{other}?id={n}&x=1", f"www.{word}{n}.com", f"{word}.{other}@example.com",
        f"2024-0{n % 9 + 1}-1{n % 9}T10:00:00Z", f"{n}.{n}.{n}.1",
        f"00:1b:{n:02x}:11:3a:b7", "R&D", f"Ctrl+{word[0].upper()}", f"x^{n} + y^{n} = z^{n}", "H₂O", "CO₂",
        f"\\{word}", f"${word.upper()}", f"{n}°C", f"{word}={other}", "&&",
        f'{{"{word}": {n}}}', "4K", f"doi:10.{digits(4)}/{digits(3)}"])


def run(chance: random.Random) -> str:
    return chance.choice([lambda: chance.choice(EMOJI), lambda: chance.choice(SYMBOLS), lambda: chance.choice(NAMES),
                          lambda: code(chance)])()


def grouped(value: int, separator: str) -> str:
    return f"{value:,}".replace(",", separator)


def amount(chance: random.Random, language: str) -> tuple[str, tuple[Decimal, str]]:
    whole, cents, sign = chance.choice([chance.randrange(2, 100), chance.randrange(100, 1000),
                                        chance.randrange(1000, 2_000_000)]), chance.choice(
                                            [0, 0, chance.randrange(1, 100)]), chance.choice("€$")
    if language == "en":
        text = sign + grouped(whole, ",") + (f".{cents:02}" if cents else "")
    else:
        text = grouped(whole, "." if language == "de" else "\u202f") + (f",{cents:02}" if cents else "") + f" {sign}"
    return text, (Decimal(whole) + Decimal(cents) / 100, sign)


def cases(language: str, count: int, seed: int) -> list[Case]:
    chance, found = random.Random(f"{seed} {language}"), []
    for _ in range(count):
        template = chance.choice(PRICES[language] if chance.random() < 0.25 else TEMPLATES[language])
        held = run(chance) if "{run}" in template else None
        price, value = amount(chance, language) if "{amount}" in template else ("", None)
        found.append(Case(template.replace("{run}", held or "").replace("{amount}", price), held, value))
    return found


def values(text: str, language: str) -> list[Decimal]:
    """The values of all numbers in a text, with the separators of the language."""
    point, group = ((".", ",") if language == "en" else (",", r"[.\u202f\u00a0 ]" if language == "de"
                                                         else r"[\u202f\u00a0 ]"))
    found = re.findall(rf"\d{{1,3}}(?:{group}\d{{3}})+(?:\{point}\d+)?|\d+(?:\{point}\d+)?", text)
    return [Decimal(re.sub(group, "", number).replace(point, ".")) for number in found]


CURRENCIES = {"€": re.compile("€|euros?", re.I), "$": re.compile(r"\$|dollars?", re.I)}


def fault(case: Case, translation: str, target: str) -> str | None:
    if "\ufffd" in translation:
        return "U+FFFD"
    rest = translation
    if case.run:
        if translation.count(case.run) != case.text.count(case.run):
            return f"run {translation.count(case.run)} times"
        rest = translation.replace(case.run, " ")
    if (case.amount and (values(rest, target).count(case.amount[0]) != 1
                         or len(CURRENCIES[case.amount[1]].findall(rest)) != 1)):
        return "amount"
    return None


def check(client: Daemon, source: str, target: str,
          arguments: argparse.Namespace) -> tuple[int, list[tuple[str, Case, str]], list[tuple[Case, str]]]:
    """Returns the number of failures, the failures, and all pairs."""
    wrong, pairs = [], []
    for chunk in chunks(cases(source, arguments.count, arguments.seed), 50):
        body = {"model": client.model, "text": [case.text for case in chunk], "strategy": arguments.strategy,
                "warnings": False}
        for case, one in zip(chunk, client.request("/translate", body)["translations"], strict=True):
            pairs.append((case, one["text"]))
            why = fault(case, one["text"], target)
            if why:
                wrong.append((why, case, one["text"]))
    return len(wrong), wrong, pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL", help="model folders")
    parser.add_argument("--count", type=int, default=10_000, help="sentences for each (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=0, help="pairs of each model to print")
    parser.add_argument("--strategy", default="beam")
    parser.add_argument("--compute", default="model", help="as of alignd (%(default)s: int8 for the shipped models)")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    failed = False
    for model in arguments.models:
        config = json.loads((model / "config.json").read_text())
        with daemon(arguments.alignd, model, Variant("intact", []), arguments.compute) as url:
            count, wrong, pairs = check(Daemon(url, config["name"]), config["source"], config["target"], arguments)
        print(f"{model.name}: {len(pairs) - count} of {len(pairs)} intact", flush=True)
        for why, case, translation in wrong:
            print(f"  {why}: {case.text} -> {translation}")
        for case, translation in random.Random(0).sample(pairs, arguments.sample):
            print(f"  {case.text} -> {translation}")
        failed = failed or count * 200 > len(pairs)
    sys.exit(failed)


if __name__ == "__main__":
    main()
