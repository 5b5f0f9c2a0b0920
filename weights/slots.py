"""What stands for the `{slots}` of a phrase (weights/phrases/): dates, times, prices, names, addresses, as each language writes them.

Input: a random state. Output: the text in each language, by its code.
"""

from __future__ import annotations

import random

from . import noise

MONTHS = {"en": "January February March April May June July August September October November December".split(),
          "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
          "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()}
DAYS = {"en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(), "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche".split(),
        "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split()}
FIRST = ("Anna Ben Carlos Clara David Elena Emma Fatima Hannah Hugo Ivan Jack James Jane Julia Karim Kenji Laura Léa Lucas Maria Marie Martin Max Mia "
         "Nina Noah Olga Paul Peter Priya Robert Sarah Sofia Thomas Tom Yuki Zoé").split()
LAST = "Baker Bernard Chen Dubois Fischer Garcia Johnson Kim Lefebvre Martin Miller Moreau Nguyen Novak Patel Rossi Schmidt Smith Tanaka Weber".split()
PLACES = "Paris Berlin London Lyon Tokyo Boston Chicago Madrid Oslo Toronto Zurich Sydney Marseille Hamburg Dublin Amsterdam".split()


def _same(text: str) -> dict[str, str]:
    return {"en": text, "fr": text, "de": text}


def _date(chance: random.Random) -> dict[str, str]:
    """14 July 1789, July 14, 1789 or with its weekday: in every language as it is written there."""
    day, month, year = chance.randrange(1, 29), chance.randrange(12), chance.randrange(1700, 2051)
    ordinal = f"{day}{'th' if 10 < day < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"
    name = MONTHS["en"][month]
    english = chance.choice((f"{day} {name} {year}", f"{name} {day}, {year}", f"{name} {ordinal}, {year}", f"{ordinal} {name} {year}"))
    return {"en": english, "fr": f"{'1er' if day == 1 else day} {MONTHS['fr'][month]} {year}", "de": f"{day}. {MONTHS['de'][month]} {year}"}


def _day_of_month(chance: random.Random) -> dict[str, str]:
    day, month = chance.randrange(2, 29), chance.randrange(12)
    english = chance.choice((f"{MONTHS['en'][month]} {day}", f"{day} {MONTHS['en'][month]}"))
    return {"en": english, "fr": f"{day} {MONTHS['fr'][month]}", "de": f"{day}. {MONTHS['de'][month]}"}


def _weekday(chance: random.Random) -> dict[str, str]:
    day = chance.randrange(7)
    return {language: DAYS[language][day] for language in DAYS}


def _month(chance: random.Random) -> dict[str, str]:
    month = chance.randrange(12)
    return {language: MONTHS[language][month] for language in MONTHS}


def _time(chance: random.Random) -> dict[str, str]:
    hour, minute = chance.randrange(24), chance.choice(range(0, 60, 5))
    shown = f"{hour}:{minute:02}"
    return {"en": shown, "fr": f"{hour} h {minute:02}" if minute else f"{hour} h", "de": f"{shown} Uhr"}


def _thousands(chance: random.Random) -> dict[str, str]:
    plain = f"{chance.randrange(1000, 10 ** chance.randrange(4, 9)):,}"
    return {"en": plain, "fr": plain.replace(",", " "), "de": plain.replace(",", ".")}


def _decimal(chance: random.Random) -> dict[str, str]:
    plain = f"{chance.randrange(1, 10 ** chance.randrange(1, 4))}.{chance.randrange(1, 100)}"
    return {"en": plain, "fr": plain.replace(".", ","), "de": plain.replace(".", ",")}


def _price(chance: random.Random) -> dict[str, str]:
    sign, whole, cents = chance.choice("€$£"), chance.randrange(1, 2000), chance.choice((None, chance.randrange(100)))
    english = f"{sign}{whole}" + ("" if cents is None else f".{cents:02}")
    other = f"{whole}" + ("" if cents is None else f",{cents:02}") + f" {sign}"
    return {"en": english, "fr": other, "de": other}


def _email(chance: random.Random) -> dict[str, str]:
    user = chance.choice((chance.choice(FIRST), noise.made_up(chance))).lower().replace("é", "e")
    user += chance.choice(("", "." + chance.choice(LAST).lower(), str(chance.randrange(100)), "_" + noise.made_up(chance).lower()))
    return _same(f"{user}@{noise.made_up(chance).lower()}.{chance.choice(('com', 'org', 'fr', 'de', 'net', 'eu', 'co.uk'))}")


def _url(chance: random.Random) -> dict[str, str]:
    path = "".join("/" + noise.made_up(chance).lower() for _ in range(chance.randrange(3)))
    return _same(chance.choice(("https://", "http://", "www.", "https://www.")) + noise.made_up(chance).lower() + chance.choice((".com", ".org", ".net")) + path)


def _code(chance: random.Random) -> dict[str, str]:
    letters = "".join(chance.choice("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(chance.randrange(1, 4)))
    number = str(chance.randrange(10, 10 ** chance.randrange(2, 7)))
    return _same(letters + chance.choice(("-", "", " ", "/")) + number + chance.choice(("", "", "-" + chance.choice("ABCX"))))


def _name(chance: random.Random) -> dict[str, str]:
    first = chance.choice((chance.choice(FIRST), noise.made_up(chance)))
    return _same(first if chance.random() < 0.5 else f"{first} {chance.choice((chance.choice(LAST), noise.made_up(chance)))}")


# What stands for {slot} in a phrase: a random state -> the text in each language.
SLOTS = {
    "date": _date, "day": _day_of_month, "weekday": _weekday, "month": _month, "time": _time, "thousands": _thousands, "decimal": _decimal, "price": _price,
    "email": _email, "url": _url, "code": _code, "name": _name,
    "last": lambda chance: _same(chance.choice((chance.choice(LAST), noise.made_up(chance)))),
    "place": lambda chance: _same(chance.choice((chance.choice(PLACES), noise.made_up(chance)))),
    "number": lambda chance: _same(str(chance.randrange(2, 10 ** chance.randrange(2, 6)))),
    "year": lambda chance: _same(str(chance.randrange(1500, 2060))),
    "phone": lambda chance: _same(" ".join(f"{chance.randrange(100):02}" for _ in range(chance.choice((3, 4, 5))))),
    "house": lambda chance: _same(str(chance.randrange(1, 250))),
}
