"""Asks for a form of address and looks for it in the translations.

    python3 tests/bench/formality.py URL FILE --source en --target fr --form more [--count 100] [--seed 1] [--show 50]

FILE is a table (.tsv.gz) of sentences and one or more translations of each. COUNT sentences that have a "you" and a
translation in the wanted form are drawn, and translated with `formality` FORM and without it. Prints how many
translations have the wanted form, how many the other one, how often the reply warns, and BLEU against the translations
in that form. The words by which a form is recognised are independent of the program's."""
import argparse
import gzip
import json
import random
import re
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from weights.evaluation.scores import bleu  # noqa: E402

YOU = re.compile(r"\b(you|your|yours|yourself|yourselves)\b", re.I)
FORMS = {  # by language: less, more; with the verb forms that occur without a pronoun
    "fr": (re.compile(r"\b(tu|te|toi|ton|ta|tes|tien(ne)?s?)\b|\bt['’]", re.I),
           re.compile(r"\b(vous|votre|vos|vôtres?)\b", re.I)),
    "de": (re.compile(r"\b(du|dich|dir|dein\w*|euch|euer|eure\w?|seid|habt)\b", re.I),
           re.compile(r"(?<!^)(?<![.!?] )(?<![.!?] [„\"])\b(Sie|Ihnen|Ihr\w{0,2})\b|^Sie \w+(en|ind)\b")),
}


def ask(url: str, texts: list[str], source: str, target: str, form: str | None) -> list[dict]:
    body = {"text": texts, "source": source, "target": target, "include": []}
    if form:
        body["formality"] = form
    request = urllib.request.Request(f"{url}/translate", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["translations"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("file")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", required=True, choices=FORMS)
    parser.add_argument("--form", required=True, choices=("more", "less"))
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, help="print so many translations")
    arguments = parser.parse_args()
    wanted, other = FORMS[arguments.target][:: 1 if arguments.form == "less" else -1]

    chosen = []
    with gzip.open(arguments.file, "rt", encoding="utf-8") as lines:
        for line in lines:
            sentence, *references = line.rstrip("\n").split("\t")
            references = [text for text in references if wanted.search(text) and not other.search(text)]
            if YOU.search(sentence) and references:
                chosen.append((sentence, references))
    chosen = random.Random(arguments.seed).sample(chosen, min(arguments.count, len(chosen)))
    sentences = [sentence for sentence, _ in chosen]

    for form in (None, arguments.form):
        replies = []
        for i in range(0, len(sentences), 20):
            replies += ask(arguments.url, sentences[i : i + 20], arguments.source, arguments.target, form)
        texts = [reply["text"] for reply in replies]
        right = [bool(wanted.search(text)) and not other.search(text) for text in texts]
        wrong = sum(bool(other.search(text)) for text in texts)
        warned = ["formality" in [warning["code"] for warning in reply.get("warnings", [])] for reply in replies]
        silent = sum(not one and not said for one, said in zip(right, warned))
        print(f"formality {form or 'default'}: {sum(right)} of {len(right)} have the wanted form only, {wrong} the "
              f"other one; {sum(warned)} warnings, {silent} others have none; "
              f"BLEU {bleu(texts, [references[0] for _, references in chosen]):.1f}")
        if form:
            for sentence, text, said in list(zip(sentences, texts, warned))[: arguments.show]:
                print(f"{sentence}\n    {'! ' if said else ''}{text}")


if __name__ == "__main__":
    main()
