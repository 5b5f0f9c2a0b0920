#!/usr/bin/env python3
"""How often the right form of a glossary's phrase is chosen: tests/bench/glossary_forms.py URL [MODEL]

URL: a daemon with an English to French model. A glossary lists forms of a phrase separated by '|'. Prints how many of
200 translations have the form that agrees with the subject or the noun, and then the other translations. Agreement is
judged by the expected form alone, which follows from the noun's usual gender and the sentence's number, or from the
verb's person.
"""
import json
import sys
import urllib.request
from itertools import product

ADJECTIVES = {  # masculine, feminine; the same in the plural
    "small": "minuscule minuscule minuscules minuscules", "black": "noir noire noirs noires",
    "old": "ancien ancienne anciens anciennes",
    "green": "vert verte verts vertes", "big": "grand grande grands grandes",
    "beautiful": "élégant élégante élégants élégantes",
}
NOUNS = [  # singular, plural, feminine
    ("dog", "dogs", 0), ("cat", "cats", 0), ("house", "houses", 1), ("car", "cars", 1), ("table", "tables", 1),
    ("book", "books", 0),
    ("dress", "dresses", 1), ("flower", "flowers", 1), ("hat", "hats", 0), ("door", "doors", 1),
]
PLACES = [("The {} {} is here.", "The {} {} are here."), ("I see a {} {}.", "I see two {} {}."),
          ("He has a {} {}.", "He has many {} {}.")]
ONE_FORM = {"sheep": "mouton moutons", "fish": "poisson poissons", "deer": "cerf cerfs", "aircraft": "avion avions",
            "offspring": "petit petits"}
NUMBERS = [("I see a {}.", 0), ("I see two {}.", 1), ("This {} is white.", 0), ("These {} are white.", 1)]
VERBS = {
    "like": ("apprécie apprécies apprécions appréciez apprécient", ["snow", "music", "my mother"]),
    "eat": ("dévore dévores dévorons dévorez dévorent", ["bread", "an apple", "meat"]),
    "speak": ("parle parles parlons parlez parlent", ["French", "with him", "of the weather"]),
    "work": ("travaille travailles travaillons travaillez travaillent", ["here", "every day", "in Paris"]),
}
SUBJECTS = [("I", {0}), ("You", {1, 3}), ("We", {2}), ("They", {4}), ("My friends", {4})]

Case = tuple[str, str, list[str], set[str]]  # text, source phrase, its forms, those that are right


def cases() -> list[Case]:
    found: list[Case] = []
    for i, ((word, forms), (one, many, feminine)) in enumerate(product(ADJECTIVES.items(), NOUNS)):
        singular, plural = PLACES[i % len(PLACES)]
        all_forms = list(dict.fromkeys(forms.split()))
        found.append((singular.format(word, one), word, all_forms, {forms.split()[feminine]}))
        found.append((plural.format(word, many), word, all_forms, {forms.split()[2 + feminine]}))
    for word, forms in ONE_FORM.items():
        found += [(text.format(word), word, forms.split(), {forms.split()[number]}) for text, number in NUMBERS]
    for word, (forms, objects) in VERBS.items():
        for (subject, persons), what in product(SUBJECTS, objects):
            found.append((f"{subject} {word} {what}.", word, forms.split(),
                          {forms.split()[person] for person in persons}))
    return found[:200]


def translate(url: str, model: str, text: str, glossary: dict[str, str]) -> str:
    body = json.dumps({"text": text, "model": model, "glossary": glossary, "include": []}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/translate", body)) as reply:
        return json.load(reply)["translations"][0]["text"]


def main() -> None:
    url, model = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "en-fr"
    wrong = []
    for text, word, forms, right in cases():
        translation = translate(url, model, text, {word: "|".join(forms)})
        words = set("".join(c if c.isalpha() else " " for c in translation.lower()).split())
        held = words & set(forms)
        if not held or not held <= right:
            wrong.append(f"{text} {translation} ({', '.join(sorted(right))})")
    print(f"{len(cases()) - len(wrong)} of {len(cases())} forms agree", *wrong, sep="\n")


if __name__ == "__main__":
    main()
