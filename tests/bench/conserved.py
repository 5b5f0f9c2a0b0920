"""Puts signs into sentences and looks for them in their translations.

    python3 tests/bench/conserved.py URL FILE --source en --target fr [--count 20000] [--seed 1] [--plain] [--model
    NAME] [--show 20]
    python3 tests/bench/conserved.py --references FILE

Each sentence of FILE (plain text or .gz; of a table, the column of --column) gets one to four signs, pairs, repeated
marks or notations at random places, drawn from Unicode's punctuation and symbols and from a grammar of notations. Each
of them must be in the translation, or the reply must have a warning (signs, numbers, untranslated or glossary). Prints
how many sentences are conserved, and how many lost signs without a warning, by class. The exit status is 1 if there are
any of the latter.

--plain inserts nothing and counts the warnings signs and numbers of sentences that have a sign or a digit. --references
compares both columns of a table of translations and counts which signs correct translations lack or add, and beside
which words; the rows of model/text/signs.def follow from this.

The check is independent of the program: it has its own rules."""
import argparse
import collections
import gzip
import json
import random
import re
import string
import sys
import unicodedata
import urllib.request

LOOSE = set(".,;:!?'\"()-‐‑‒–—―−…«»“”‘’„¿¡‚‹›‛‟")  # typography, which may change in translation
QUOTES = set("\"«»“”„‹›‟")
WORDS = {"%": "percent pour_cent prozent", "&": "and et und", "$": "dollar dollars", "€": "euro euros",
         "£": "pound pounds livre livres pfund", "¥": "yen yens yuan",
         "°": "degree degrees degré degrés grad", "№": "no number n° numéro nr nummer", "#": "number numéro nummer",
         "§": "section article paragraphe paragraf"}
KEPT_APART = "".join(chr(c) for c in range(0x110000) if unicodedata.category(chr(c))[0] in "PS")


def is_sign(c: str) -> bool:
    category = unicodedata.category(c)
    return c not in LOOSE and (category[0] in "PS" or category in ("No", "Nl", "Co") or c in "\t\n")


def signs(text: str) -> collections.Counter:
    """Counts what a translation must keep: signs, repeated marks, quotation marks and round brackets."""
    found = collections.Counter()
    for c in text:
        if is_sign(c):
            found[c] += 1
        elif c in "()":
            found[c] += 1
    inches = 0
    for m in re.finditer(r'(?<=\d)"', text):
        before = text[: m.start()]
        inches += all(count % 2 == 0 for count in (before.count('"'), sum(map(before.count, QUOTES))))
    quotes = sum(text.count(q)
                 for q in QUOTES) - inches + 2 * len(re.findall(r"(?<!\w)['‘‚]\w[^'‘’‚]*['’‘](?!\w)", text))
    if quotes:
        found["quotes"] = quotes
    for m in re.finditer(r"([.,;:!?\-*_#=~|/\\+<>^`$&%@])\1+", text):
        found[m.group()] += 1
    return found


FAMILIES = (("«‹", "»›"), ("„“‟", "“”"), ("「『", "」』"))


def pairs(text: str) -> list[str]:
    """The texts inside matching quotation marks; marks of other families are ignored."""
    found = []
    for opening, closing in FAMILIES:
        if "»" in closing and 0 <= text.find("»") < text.find("«"):  # »so«
            opening, closing = closing, opening
        begun = None
        for i, c in enumerate(text):
            if begun is not None and c in closing and (c not in opening or text[begun] == "„"):
                found.append(text[begun + 1 : i])
                begun = None
            elif c in opening:
                begun = i
    return found


def lopsided(text: str) -> int:
    """The number of pairs of quotation marks with white space inside only one of the two marks, or of straight marks
    between spaces."""
    return sum(1 for p in pairs(text) if p.strip()
               and p[0].isspace() != p[-1].isspace()) + len(re.findall(r'(?<!\S)"(?!\S)', text))


def lost(source: str, target: str) -> list[str]:
    """The signs that the translation lacks or adds (with +), unless a word replaces them."""
    left, right = signs(source), signs(target)
    # Repeated hyphens and dots may become a single character, but the reverse is not required.
    if left["--"] + left["---"] + left["..."] > right["--"] + right["---"] + right["..."]:
        right = signs(target.replace("…", "...").replace("—", "--").replace("–", "--"))
    out = []
    for key in sorted(set(left) | set(right)):
        difference = left[key] - right[key]
        if key in ("---", "--", "...") and difference < 0:
            continue  # written from a dash or an ellipsis
        if (len(key) > 1 and key != "quotes" and set(key) <= set(".-") and key in ("--", "...") and difference > 0
            and right.total() >= left.total()):
            continue
        words = [w.replace("_", " ") for w in WORDS.get(key, "").split(" ")]
        if difference > 0 and key in WORDS:
            difference -= sum(len(re.findall(rf"(?i)(?<!\w){re.escape(w)}(?!\w)", target)) for w in words if w)
        if difference < 0 and key in WORDS:
            difference = min(0, difference + sum(len(re.findall(rf"(?i)(?<!\w){re.escape(w)}(?!\w)", source))
                                                 for w in words if w))
        if difference > 0:
            out.append(key)
        elif difference < 0:
            out.append("+" + key)
    if not out and lopsided(target) > lopsided(source):
        out.append("spaces")
    return out


def notation(draw: random.Random) -> str:
    """A placeholder, path, tag or similar notation."""
    name = "".join(draw.choice(string.ascii_lowercase) for _ in range(draw.randint(2, 7)))
    number = str(draw.randint(1, 99))
    return (draw.choice(["{%s}", "{{%s}}", "{{ %s }}", "${%s}", "%%{%s}", "%%(%s)s", "<%s>", "</%s>", "[%s]", "[[%s]]",
                         "@%s", "#%s", ":%s:", "$%s", "__%s__", "`%s`",
                         "/%s/", "%s()", "{%%%% %s %%%%}", "<%%%%= %s %%%%>", "~/%s", "--%s", "\\%s", "*%s*", "**%s**",
                         "~~%s~~", "==%s==", "|%s|", "!%s", "^[%s]"]).replace("%s", name).replace("%%", "%")
        if draw.random() < 0.8 else draw.choice(["%s.%s", "v%s.%s", "§ %s.%s", "%s/%s", "%s×%s", "%s±%s", "#%s-%s",
                                                 "(%s:%s)"]) % (number, draw.randint(1, 99)))


def insert(sentence: str, draw: random.Random) -> tuple[str, list[str]]:
    """Inserts signs into a sentence. Returns it, and the classes of the insertions."""
    words, classes = sentence.split(" "), []
    for _ in range(draw.randint(1, 4)):
        kind = draw.choice(["sign", "sign", "pair", "run", "notation"])
        at = draw.randint(0, len(words))
        classes.append(kind)
        if kind == "sign":
            sign = draw.choice(KEPT_APART if draw.random() < 0.5 else "#$%&*+/<=>@\\^_`|~§¶©®°±·×÷€£¥•→✓")
            how = draw.random()
            if how < 0.6 or at == len(words):
                words.insert(at, sign)
            else:
                words[at] = sign + words[at] if how < 0.8 else words[at] + sign
        elif kind == "pair" and at < len(words):
            end = draw.randint(at, min(len(words) - 1, at + 3))
            left, right = draw.choice(['""', "“”", "()", "[]", "{}", "«»", "„“", "**", "__", "``"])
            words[at], words[end] = left + words[at], words[end] + right if at != end else words[end] + right
            if at == end:
                words[at] = words[at] if words[at].startswith(left) else left + words[at]
        elif kind == "run":
            words.insert(at, draw.choice("-.!?*_=~#") * draw.randint(2, 6))
        else:
            words.insert(at, notation(draw))
    return " ".join(words), classes


def read(path: str, column: int) -> list[str]:
    with (gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")) as file:
        return [line.rstrip("\n").split("\t")[column] for line in file]


def ask(url: str, texts: list[str], options: dict) -> list[dict]:
    body = json.dumps({"text": texts, "include": [], **options}).encode()
    with urllib.request.urlopen(urllib.request.Request(url + "/translate", body,
                                                       {"Content-Type": "application/json"})) as reply:
        return json.load(reply)["translations"]


def references(path: str) -> None:
    with (gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")) as file:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in file]
    here, lacks, adds, beside = (collections.Counter(), collections.Counter(), collections.Counter(),
                                 collections.defaultdict(collections.Counter))
    spread = collections.Counter(w for _, target in pairs for w in set(re.findall(r"\w+", target.lower())))
    for source, target in pairs:
        left, right = signs(source), signs(target)
        for key in set(left) | set(right):
            here[key] += left[key] > 0
            lacks[key] += left[key] > right[key]
            adds[key] += right[key] > left[key]
            if left[key] != right[key]:
                beside[key].update(set(re.findall(r"\w+", (target if left[key] > right[key] else source).lower())))
    print("| sign | sources | lacking | added | words beside the difference |\n|---|---|---|---|---|")
    for key, _ in (lacks + adds).most_common():
        words = sorted(beside[key], key=lambda w: -beside[key][w] ** 2 / (1 + spread[w]))[:6]
        print(f"| `{key!r}` | {here[key]} | {lacks[key]} | {adds[key]} | "
              f"{', '.join(f'{w} {beside[key][w]}' for w in words)} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", nargs="?")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--references")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="fr")
    parser.add_argument("--model")
    parser.add_argument("--column", type=int, default=0)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--show", type=int, default=20)
    given = parser.parse_args()
    if given.references:
        references(given.references)
        return 0
    sentences = read(given.file, given.column)
    draw = random.Random(given.seed)
    options = {"source": given.source, "target": given.target} | ({"model": given.model} if given.model else {})
    if given.plain:
        sentences = [s for s in sentences if signs(s) or any(c.isdigit() for c in s)][: given.count]
        made = [(s, []) for s in sentences]
    else:
        made = [insert(draw.choice(sentences), draw) for _ in range(given.count)]
    kept, silent, warned, classes, shown = 0, 0, collections.Counter(), collections.defaultdict(collections.Counter), 0
    for begin in range(0, len(made), 10):
        batch = made[begin : begin + 10]
        for (text, kinds), reply in zip(batch, ask(given.url, [m[0] for m in batch], options)):
            codes = {w["code"] for w in reply.get("warnings", [])} & {"signs", "numbers", "untranslated", "glossary"}
            missing = lost(text, reply["text"])
            state = "conserved" if not missing else "said" if codes else "silent"
            kept += state == "conserved"
            silent += state == "silent"
            warned.update(codes)
            for kind in set(kinds):
                classes[kind][state] += 1
            if ((state == "silent" or (given.plain and codes) or (state == "said" and not given.plain))
                and shown < given.show):
                shown += 1
                print(state, sorted(codes), missing, "|", text, "|", reply["text"], "|",
                      [w.get("source", []) + w.get("target", []) for w in reply.get("warnings", [])
                       if w["code"] in codes])
    print(f"{len(made)} sentences: {100 * kept / len(made):.2f}% conserved, {silent} lost in silence; warnings: "
          + ", ".join(f"{c} {n} ({100 * n / len(made):.2f}%)" for c, n in sorted(warned.items())))
    for kind, states in sorted(classes.items()):
        print(f"  {kind}: " + ", ".join(f"{state} {n}" for state, n in sorted(states.items())))
    return 1 if silent and not given.plain else 0


if __name__ == "__main__":
    sys.exit(main())
