"""Readers of the parallel text in Debian packages: message catalogues, dictionaries, help and manual pages, tables of
names.

Input: unpacked packages, or single files. Output of every reader: an iterator of raw (English, other) pairs, in an
order that depends on the files alone; weights/corpora/debian.py cleans them. Texts with a key (message catalogues, ids)
are paired by the key; pages are paired block by block, one section at a time, where both languages have the same
blocks.
"""

from __future__ import annotations

import bz2
import gzip
import html
import json
import lzma
import re
import struct
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path

Pair = tuple[str, str]
Block = tuple[str, str]  # (kind: a tag or macro, text)


# Message catalogues

def messages(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Reads a .mo file (GNU gettext). Yields the msgid, with msgid_plural after a NUL and the context before U+0004,
    and the translations."""
    content = path.read_bytes()
    order = "<" if content[:4] == b"\xde\x12\x04\x95" else ">"
    if struct.unpack(order + "I", content[:4])[0] != 0x950412DE:
        raise ValueError(f"{path} is not a message catalogue")
    count, ids, texts = struct.unpack(order + "3I", content[8:20])

    def at(table: int, number: int) -> str:
        length, offset = struct.unpack_from(order + "2I", content, table + 8 * number)
        return content[offset:offset + length].decode("utf-8", "replace")

    for number in range(count):
        yield at(ids, number), at(texts, number).split("\0")


def catalogue(path: Path) -> Iterator[Pair]:
    """Yields the pairs of each message; in plural messages the singular with the first form and the plural with the
    last. Contexts are removed, including those of Qt and Wesnoth (`female^...`)."""
    for identity, texts in messages(path):
        english = identity.rpartition("\x04")[2].split("\0")
        if not english[0]:
            continue  # the catalogue's header
        for text, translation in ((english[0], texts[0]), (english[-1], texts[-1]))[:len(english)]:
            text = re.sub(r"^[a-z][\w ,.:;#+-]*\^", "", text)
            yield text, translation


def catalogues(root: Path, language: str, domains: str = "*") -> Iterator[Pair]:
    for path in sorted(root.rglob(f"{language}/LC_MESSAGES/{domains}.mo")):
        yield from catalogue(path)


# Dictionaries

LABELS = re.compile(r"\{[^}]*\}|\[[^\]]*\]")
VAGUE = re.compile(r"\b(sth|sb|etw|jd|jdm|jdn|jds|jmd|jmdm|jmdn|jds|so|sb's|o\.s|oneself)\b\.?|/|\.\.\.|…|->|~|&|\+|=")


def choices(text: str) -> list[str]:
    """The alternatives between `;` in one sense of a line of Ding, without labels and explanations."""
    return [one for one in (re.sub(r"\s+", " ", re.sub(r"\([^)]*\)", " ", part)).strip()
                            for part in LABELS.sub(" ", text).split(";")) if one]


def ding(path: Path, others: int = 2) -> Iterator[Pair]:
    """`German; synonym {m} | inflected :: English; synonym | inflected`: pairs the first alternatives of both sides,
    and further synonyms, up to `others` of a side, with the first of the other side."""
    for line in path.read_text(encoding="utf-8").splitlines():
        sides = [side.split("|") for side in line.split(" :: ")]
        if line.startswith("#") or len(sides) != 2 or len(sides[0]) != len(sides[1]):
            continue
        for german, english in zip(*map(lambda side: [choices(part) for part in side], sides)):
            if german and english:
                found = [(english[0], german[0]), *((english[0], one) for one in german[1:others]),
                         *((one, german[0]) for one in english[1:others])]
                yield from ((a, b) for a, b in found if not VAGUE.search(a) and not VAGUE.search(b))


def freedict(path: Path) -> Iterator[Pair]:
    """Reads a dictd dictionary: `headword /sound/`, then its translations, numbered by sense and separated by commas.
    Yields (headword, translation)."""
    head = ""
    for line in gzip.decompress(path.read_bytes()).decode("utf-8").splitlines():
        if named := re.fullmatch(r"(\S[^/]*?) /[^/]*/(?: <[^>]*>)?", line):
            head = named[1]
        elif head and line.strip():
            text = re.sub(r"^\s*\d+\.\s*|<[^>]*>|\([^)]*\)|\[[^\]]*\]", " ", line).replace("‐", "-")
            yield from ((head, one.strip()) for one in re.split("[,;]", text) if one.strip())


# Pages

KEPT = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "dt", "dd", "td", "th", "title", "caption", "term", "para",
        "desc", "item"}
HEADS = {"h1", "h2", "h3", "h4", "title", "SH", "SS"}
UNREAD = {"script", "style", "pre", "svg", "screen", "programlisting", "code.block", "nav"}


class Blocks(HTMLParser):
    """The blocks of a page in HTML, DocBook or Mallard: tags and texts. ids: the texts of blocks with an id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[Block] = []
        self.ids: dict[str, str] = {}
        self.parts: list[str] = []
        self.tag = self.identity = ""
        self.unread = 0
        self.feed(text)
        self.close()
        self.end()

    def end(self) -> None:
        text = " ".join("".join(self.parts).split())
        if text:
            self.found.append((self.tag, text))
            if self.identity:
                self.ids[self.identity] = text
        self.parts, self.tag, self.identity = [], "", ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag in UNREAD:
            self.unread += 1
        if tag in KEPT or tag in ("div", "section", "ul", "ol", "table", "body"):
            self.end()
            self.tag, self.identity = ("p" if tag == "div" else tag), given.get("id") or ""
        elif tag == "br":
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in UNREAD:
            self.unread = max(0, self.unread - 1)
        if tag in KEPT or tag in ("div", "section", "body"):
            self.end()

    def handle_data(self, data: str) -> None:
        if not self.unread:
            self.parts.append(data)


def sections(blocks: list[Block]) -> list[list[Block]]:
    """Splits the blocks into sections, each of which begins with its heading."""
    found: list[list[Block]] = [[]]
    for kind, text in blocks:
        if kind in HEADS:
            found.append([])
        found[-1].append((kind, text))
    return found


def paired(english: list[Block], other: list[Block]) -> Iterator[Pair]:
    """Pairs the blocks of sections that have the same kinds of blocks in the same order; yields nothing if the headings
    differ in kind or number."""
    a, b = sections(english), sections(other)
    if [part[0][0] for part in a[1:]] != [part[0][0] for part in b[1:]]:
        return
    for one, two in zip(a, b):
        if [kind for kind, _ in one] == [kind for kind, _ in two]:
            yield from ((x, y) for (_, x), (_, y) in zip(one, two))


def page(path: Path) -> Blocks:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return Blocks(content.decode("utf-8", "replace"))


def pages(english: Path, other: Path, endings: Iterable[str] = (".html", ".page", ".docbook"),
          suffix: tuple[str, str] = ("", "")) -> Iterator[Pair]:
    """Pairs the pages with the same name below both folders. suffix: the part of each name before the ending:
    `apt.en.html`, `apt.fr.html`."""
    for path in sorted(english.rglob("*")):
        if path.suffix in endings and path.is_file() and path.name.endswith(suffix[0] + path.suffix):
            name = path.relative_to(english)
            name = name.with_name(name.name.removesuffix(suffix[0] + path.suffix) + suffix[1] + path.suffix)
            if (other / name).is_file():
                yield from paired(page(path).found, page(other / name).found)


def pages_by_id(english: Path, other: Path) -> Iterator[Pair]:
    """Pairs the blocks with the same id in pages that both folders have."""
    for path in sorted(english.rglob("*.html")):
        twin = other / path.relative_to(english)
        if twin.is_file():
            ids = page(twin).ids
            yield from ((text, ids[identity]) for identity, text in page(path).ids.items() if identity in ids)


ESCAPES = {"-": "-", "&": "", "e": "\\", "|": "", "^": "", "/": "", ",": "", ":": "", "%": "", " ": " ", "~": " ",
           "0": " ", "c": "", "'": "'", "`": "`"}
GLYPHS = {"aq": "'", "dq": '"', "lq": "“", "rq": "”", "oq": "‘", "cq": "’", "em": "—", "en": "–", "ha": "^", "ti": "~",
          "co": "©", "mu": "×", "bu": "•",
          "Fo": "«", "Fc": "»", "bv": "|", "rs": "\\", "<=": "≤", ">=": "≥", "->": "→", "+-": "±", "ga": "`", "sh": "#",
          "at": "@"}
STYLES = {"B", "I", "SM", "SB"}
TRANSLATORS = (("SH", "TRADUCTION"), ("SH", "ÜBERSETZUNG"))
MIXED = {"BR", "RB", "IR", "RI", "BI", "IB"}


def without_escapes(text: str) -> str:
    text = re.sub(r"\\f(\[[^\]]*\]|\(..|.)|\\s[+-]?\d|\\\"[^\n]*", "", text)
    text = re.sub(r"\\\((..)|\\\[([^\]]*)\]|\\\*\((..)|\\\*\[([^\]]*)\]",
                  lambda m: GLYPHS.get(next(g for g in m.groups() if g), ""), text)
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), text)


def arguments(text: str) -> list[str]:
    return [quoted.replace('""', '"') or plain
            for quoted, plain in re.findall(r'"((?:[^"]|"")*)"?|(\S+)', re.sub(r"\\ ", "\u00a0", text))]


def manual(path: Path) -> list[Block]:
    """Returns the blocks of a man(7) page, by the macro that began each; literal examples are left out."""
    found: list[Block] = []
    kind, parts, shown, tag = "PP", [], True, False

    def end(new: str) -> None:
        nonlocal kind, parts
        text = " ".join(without_escapes(" ".join(parts)).split())
        if text:
            found.append((kind, text))
        kind, parts = new, []

    for line in gzip.decompress(path.read_bytes()).decode("utf-8", "replace").splitlines():
        macro = re.match(r"[.']\s*(\w+)\s*(.*)", line)
        if not macro:
            if shown and not line.startswith((".", "'")):
                parts.append(line)
                if tag:
                    end("TP text")
                    tag = False
            continue
        name, rest = macro[1], macro[2]
        if name in ("nf", "EX"):
            end(kind)
            shown = False
        elif name in ("fi", "EE"):
            shown = True
        elif name in ("SH", "SS"):
            end(name)
            parts = arguments(rest)
            end("PP")
            shown = True
        elif name in ("PP", "LP", "P", "TP", "IP", "HP", "RS", "RE", "TH"):
            end(name)
            tag = name == "TP"
        elif shown and (name in STYLES or name in MIXED):
            parts.append(("" if name in MIXED else " ").join(arguments(rest)))
            if tag:
                end("TP text")
                tag = False
    end("")
    return found


def manuals(english: list[Path], other: list[Path]) -> Iterator[Pair]:
    """Pairs pages with the same name and section below the roots of two languages (`.../man`, `.../man/fr`). The list
    of translators at the end of a translation is left out."""
    pages = {f"{path.parent.name}/{path.name}": path for root in english for path in sorted(root.glob("man*/*.gz"))
             if path.is_file()}
    for root in other:
        for path in sorted(root.glob("man*/*.gz")):
            source = pages.get(f"{path.parent.name}/{path.name}")
            if source and path.is_file():
                blocks = manual(path)
                ends = [i for i, block in enumerate(blocks) if block in TRANSLATORS]
                yield from paired(manual(source), blocks[:ends[-1]] if ends else blocks)


# Descriptions of packages

def descriptions(path: Path) -> dict[str, list[str]]:
    """Reads a Translation file of a Debian archive. Returns the paragraphs by the MD5 sum of the English description,
    the short description first."""
    found: dict[str, list[str]] = {}
    with (lzma if path.suffix == ".xz" else bz2).open(path, "rt", encoding="utf-8") as lines:
        for filled, group in groupby(lines, key=lambda line: bool(line.strip())):
            if not filled:
                continue
            identity, paragraphs = "", []
            for line in group:
                line = line.rstrip("\n")
                if line.startswith("Description-md5: "):
                    identity = line.partition(": ")[2]
                elif line.startswith("Description-"):
                    paragraphs = [line.partition(":")[2].strip(), ""]
                elif not paragraphs:
                    continue
                elif line == " ." or line.startswith(("  ", " -", " *", " +")):
                    paragraphs.append(line[1:].strip(" .*+-"))
                elif line.startswith(" "):
                    paragraphs[-1] += " " + line.strip()
            found[identity] = [paragraph.strip() for paragraph in paragraphs if paragraph.strip()]
    return found


def described(english: Path, other: Path) -> Iterator[Pair]:
    texts = descriptions(english)
    for identity, paragraphs in descriptions(other).items():
        if paragraphs and len(paragraphs) == len(texts.get(identity, [])):
            yield from zip(texts[identity], paragraphs)


# Unicode's CLDR

def leaves(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        yield path, str(value[0])
    elif isinstance(value, str):
        yield path, value


CLDR_FILES = {"cldr-localenames-full": ("main/{}/languages.json", "main/{}/territories.json", "main/{}/scripts.json"),
              "cldr-dates-full": ("main/{}/dateFields.json", "main/{}/ca-gregorian.json"),
              "cldr-units-full": ("main/{}/units.json",),
              "cldr-annotations-full": ("annotations/{}/annotations.json",)}
CLDR_LEFT_OUT = re.compile(r"short|narrow|abbreviated|alt|Formats|Skeletons|dayPeriods|identity|version|default|"
                           r"gender|nominative|accusative|dative|genitive|"
                           r"compoundUnit|-menu|eraAbbr|intervalFormats|^root$|power|10p|1024p|times")


def cldr(root: Path, language: str) -> Iterator[Pair]:
    """Yields the names of languages, countries, scripts, days, months and emoji, times such as "tomorrow", and units,
    with `{0}` for the number. root: the folder of the unpacked npm packages."""
    for package, names in CLDR_FILES.items():
        for name in names:
            english, other = (
                dict(leaves(json.loads((root / package / "package" / name.format(code)).read_text(encoding="utf-8"))))
                for code in ("en", language))
            translated = {tuple(part for part in path if part != language): text for path, text in other.items()}
            for path, text in english.items():
                path = tuple(part for part in path if part != "en")
                if path in translated and not any(CLDR_LEFT_OUT.search(part) for part in path):
                    yield html.unescape(text), html.unescape(translated[path])
