"""Training text from Debian packages: python3 -m weights.corpora.debian --out CORPORA [--pair en-fr] [--only SOURCE
...]

Input: packages and their descriptions, downloaded by apt; Unicode's CLDR, downloaded by npm; and CORPORA, the folder of
all corpora, whose validation and test sets must not occur in the training text. Output in CORPORA:
debian/PAIR/SOURCE.tsv.gz, English TAB the other language; links/PAIR/SOURCE.txt.gz, the word links
(weights/alignment/aligner.py, built by `make`); debian/copyright/PACKAGE, the full licences; counts on standard output.
Files in debian/packages are not downloaded again. weights/corpora/sources.tsv lists the sources with weight, licence by
package and attribution.

The same packages give the same files. Texts are cleaned as follows: NFC, plain spaces, no markup, no markers of
keyboard shortcuts; placeholders (`%s`, `{0}`) stay if both sides have the same ones, as in the server, and CLDR's are
replaced by numbers. These pairs are dropped: over 600 characters or 100 words; a length ratio outside 0.5 to 2.2 (with
a tolerance of three letters); under 70% letters; text that looks like code or another language; different digits on
both sides; equal sides, except names; duplicates, also of other corpora; and every pair of which one side has the same
key (letters and digits, case-folded) as a sentence of a validation or test set.
"""

from __future__ import annotations

import argparse
import gzip
import html
import random
import re
import shutil
import subprocess
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from ..command import run_command
from ..alignment import aligner
from ..evaluation import first_things
from ..training import mixture
from . import data, formats
from .formats import Pair

LANGUAGES = {"en-fr": "fr", "en-de": "de"}
FOLDERS = {"fr": "fr-FR", "de": "de-DE"}  # the folders of Publican documents
ARCHIVE = "http://deb.debian.org/debian/dists/bookworm/main/i18n/"
DESCRIPTIONS = {"en": "Translation-en.xz", "fr": "Translation-fr.bz2", "de": "Translation-de.bz2"}
CLDR_VERSION = "48.2.0"
LONGEST_CHARACTERS, LONGEST_WORDS, SHORTEST_RATIO, LETTERS = 600, 100, 0.5, 0.7
TRANSLATIONS = 3  # maximum translations of one English text in a source

GNOME = """aisleriot baobab deja-dup eog epiphany-browser-data evince-common evolution-common file-roller five-or-more
gbrainy gedit-common gnome-boxes gnome-calculator gnome-calendar gnome-chess gnome-clocks gnome-contacts
gnome-control-center-data gnome-disk-utility gnome-mahjongg gnome-maps gnome-music gnome-photos gnome-shell-common
gnome-software-common gnome-sudoku gnome-terminal-data gnome-weather libgtk-3-common libgtk-4-common
libgweather-4-common nautilus-data quadrapassel rhythmbox-data seahorse shotwell-common simple-scan
totem-common""".split()
KDE = """digikam-data dolphin elisa granatier gwenview k3b-data kaddressbook kalzium-data kanagram kate5-data kdeconnect
kdenlive-data kgeography-data khangman kigo kmail kmymoney-common korganizer kpat krita-l10n ksudoku ktouch-data kturtle
okular parley-data plasma-desktop-data plasma-workspace-data skrooge-common step""".split()
PROGRAMS = """abiword-common audacity colobot-common darktable dia-common gnucash-common gnumeric-common gramps
grisbi-common homebank-data inkscape minetest-data pidgin-data scribus tellico-data vlc-l10n""".split()
WESNOTH = ["wesnoth-1.16-data",
           *(f"wesnoth-1.16-{campaign}"
             for campaign in "did dm dw ei httt l low nr sof sota sotbe thot trow tsg ttb utbs".split())]
MANUALS = "manpages manpages-dev coreutils util-linux mount procps systemd".split()


@dataclass(frozen=True)
class Source:
    """packages: Debian packages; `:fr` at the end of a name restricts it to that language. read: (the folder of all
    unpacked packages, the language) -> pairs. names: both sides may be equal. marked: the text has markers of keyboard
    shortcuts."""

    name: str
    packages: list[str]
    read: Callable[[Path, str], Iterable[Pair]]
    names: bool = False
    marked: bool = False

    def needed(self, language: str) -> list[str]:
        return [name.split(":")[0] for name in self.packages if name.split(":")[1:] in ([], [language])]


def catalogues(packages: list[str], domains: str = "*") -> Callable[[Path, str], Iterator[Pair]]:
    return lambda root, language: (pair for package in packages
                                   for pair in formats.catalogues(root / package, language, domains))


def program_help(root: Path, language: str) -> Iterator[Pair]:
    for package in GNOME + PROGRAMS:
        for english in sorted((root / package / "usr/share/help").glob("C/*")):
            yield from formats.pages(english, english.parent.parent / language / english.name)


def documents(root: Path, language: str) -> Iterator[Pair]:
    share = "usr/share/doc"
    handbook = root / "debian-handbook" / share / "debian-handbook/html"
    yield from formats.pages(handbook / "en-US", handbook / FOLDERS[language])
    guide = root / "installation-guide-amd64" / share / "installation-guide-amd64"
    yield from formats.pages(guide / "en", guide / language)
    for name in ("developers-reference", "debian-faq"):
        translated = root / f"{name}-{language}" / share
        for english in sorted((root / name / share).rglob("index*.html")):
            for other in sorted(translated.rglob(f"index*.html")):
                ends = [re.search(r"(\.en|\.fr|\.de)?\.html$", path.name)[0].removesuffix(".html")
                        for path in (english, other)]
                yield from formats.pages(english.parent, other.parent, suffix=(ends[0], ends[1]))


def manual_pages(root: Path, language: str) -> Iterator[Pair]:
    man = "usr/share/man"
    return formats.manuals([root / name / man for name in MANUALS],
                           [root / f"manpages-{language}{kind}" / man / language for kind in ("", "-dev")])


def office_help(root: Path, language: str) -> Iterator[Pair]:
    text = "usr/share/libreoffice/help"
    return formats.pages_by_id(root / "libreoffice-help-en-us" / text / "en-US/text",
                               root / f"libreoffice-help-{language}" / text / language / "text")


def freedict(root: Path, language: str) -> Iterator[Pair]:
    if language == "fr":  # the German dictionaries are made from Ding
        dictionary = "dict-freedict-{0}/usr/share/dictd/freedict-{0}.dict.dz"
        yield from formats.freedict(root / dictionary.format("eng-fra"))
        yield from ((b, a) for a, b in formats.freedict(root / dictionary.format("fra-eng")))


def ding(root: Path, language: str, words: bool) -> Iterator[Pair]:
    """words: True for entries of up to three words, False for phrases and sentences."""
    pairs = formats.ding(root / "trans-de-en/usr/share/trans/de-en") if language == "de" else ()
    return ((a, b) for a, b in pairs if (min(len(a.removeprefix("to ").split()), len(b.split())) <= 3) == words)


def country_names(root: Path, language: str) -> Iterator[Pair]:
    for domain in ("iso_3166-1", "iso_3166-2", "iso_3166-3", "iso_4217", "iso_639-2", "iso_639-5", "iso_15924"):
        for a, b in formats.catalogues(root / "iso-codes", language, domain):
            yield a.split(";")[0], b.split(";")[0]


def cldr(root: Path, language: str) -> Iterator[Pair]:
    """Replaces `{0}` by a number: 1 with a singular unit, else a random one."""
    chance = random.Random(1)
    for a, b in formats.cldr(root / "cldr", language):
        for _ in range(3 if "{0}" in a else 1):
            number = ("1" if re.search(r"\{0\} (\w*[^s\W]|\w+ per \w+)$", a)
                      else str(chance.choice((chance.randrange(2, 20), chance.randrange(2, 500)))))
            yield a.replace("{0}", number), b.replace("{0}", number)


SOURCES = [
    Source("ding-phrases", ["trans-de-en:de"], lambda root, language: ding(root, language, False)),
    Source("ding-words", ["trans-de-en:de"], lambda root, language: ding(root, language, True), names=True),
    Source("freedict", ["dict-freedict-eng-fra:fr", "dict-freedict-fra-eng:fr"], freedict, names=True),
    Source("cldr", [], cldr, names=True),
    Source("iso-codes", ["iso-codes"], country_names, names=True),
    Source("wesnoth", WESNOTH, catalogues(WESNOTH)),
    Source("gimp", ["gimp-data"], catalogues(["gimp-data"]), marked=True),
    Source("gnome", GNOME, catalogues(GNOME), marked=True),
    Source("kde", KDE, catalogues(KDE), marked=True),
    Source("programs", PROGRAMS, catalogues(PROGRAMS), marked=True),
    Source("office", ["libreoffice-l10n-fr:fr", "libreoffice-l10n-de:de"],
           lambda root, language: catalogues([f"libreoffice-l10n-{language}"])(root, language), marked=True),
    Source("program-help", GNOME + PROGRAMS, program_help),
    Source("office-help", ["libreoffice-help-en-us", "libreoffice-help-fr:fr", "libreoffice-help-de:de"], office_help),
    Source("manual-pages", [*MANUALS, "manpages-fr:fr", "manpages-fr-dev:fr", "manpages-de:de", "manpages-de-dev:de"],
           manual_pages),
    Source("debian-documents", ["debian-handbook", "installation-guide-amd64", "developers-reference",
                                "developers-reference-fr:fr", "developers-reference-de:de",
                                "debian-faq", "debian-faq-fr:fr", "debian-faq-de:de"], documents),
    Source("package-descriptions", [],
           lambda root, language: formats.described(*(root / DESCRIPTIONS[code] for code in ("en", language)))),
]


# Cleaning

STOP_WORDS = {
    "en": ("the of and to in is that it for you with on be are this not as have was or at by from if an will can all "
           "which when your has but they he she his her").split(),
    "fr": ("le la les de des du et en un une est que qui pour dans sur pas plus par avec vous il elle au aux ce cette "
           "ces sont ne se son sa ses ou si nous je leur "
           "mais être votre à").split(),
    "de": ("der die das und den dem des ein eine einen einem einer ist nicht mit sie es auf für von zu im sich auch "
           "als an werden aus wird oder bei wenn er ich "
           "kann sind wie nach wir zum zur dass diese dieser").split()}
ABBREVIATIONS = ("bzw", "etc", "Abs", "Mr", "Mrs", "Dr", "ca", "vs", "ex", "e.g", "i.e", "z.B", "z. B", "d.h", "d. h",
                 "p. ex", "u. a", "Nr", "St")
SENTENCE = re.compile(r"(?<=[.!?…])(?<!\b[A-Z]\.)" + "".join(rf"(?<!\b{re.escape(word)}\.)" for word in ABBREVIATIONS)
                      + r"[\"»”)]*\s+(?=[A-ZÀÂÇÈÉÊÎÔÄÖÜ«\"“„])")
FILLED_IN = re.compile(r"%(?:\d+\$)?[-+#0 " r"]*\d*(?:\.\d+)?(?:l{0,"
                       r"2}|h)[sdiufgxc@](?![^\W_])|%\(\w+\)[sd]|%\d+|\$\{?\w+\}?|\{\{?[\w. ]*\}?\}|#\{\w+\}|<unk>")
NO_LETTERS = re.compile(r"[\W_]+")
SPACED = re.compile(r"[\s\u00a0\u202f\u2009]+")
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\u202a-\u202e\u2066-\u2069]")


def key(text: str) -> str:
    """The key by which texts are compared: letters and digits only, case-folded."""
    return NO_LETTERS.sub("", (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold())


def without_markup(text: str) -> str:
    text = re.sub(r"<(?:br|nl|bl|p|para|newline)\s*/?>", " ", text)
    text = re.sub(r"</?[A-Za-z][^<>]*>", "", text)
    return html.unescape(text)


def without_shortcut(text: str) -> str:
    """Removes the marker of a keyboard shortcut: `_File`, `E&xit`, `~Open`, `File (_F)`."""
    text = re.sub(r"\s*\([_&~]\w\)", "", text)
    return re.sub(r"(?<![\w&])_(?=\w)|(?<=[A-Za-z])_(?=[a-z]+(?:\W|$))(?!\w*_)|&(?=\w)(?<!\w\w&)|(?<![\w/"
                  r".])~(?=\w)|(?<=\w)~(?=\w)", "", text)


def tidy(text: str, marked: bool) -> str:
    text = unicodedata.normalize("NFC", INVISIBLE.sub("", without_markup(text)))
    text = SPACED.sub(" ", text.replace("\\n", " ").replace("\t", " ")).strip()
    return without_shortcut(text) if marked and len(text) < 100 else text


def split(a: str, b: str) -> list[Pair]:
    """Splits into paragraphs, then sentences, where both sides have equally many."""
    for cut in (re.compile(r"\n\s*\n"), re.compile(r"\n"), SENTENCE):
        parts = [[part for part in cut.split(text) if part.strip()] for text in (a, b)]
        if len(parts[0]) == len(parts[1]) > 1:
            return [pair for both in zip(*parts) for pair in split(*both)]
    return [(a, b)]


def is_language(text: str, language: str) -> bool:
    """Detects the language by stop words; a text with at most one stop word passes if no language has more."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    counts = {code: sum(word in stop for word in words) for code, stop in STOP_WORDS.items()}
    best = max(counts.values())
    return counts[language] == best if best < 2 else counts[language] * 1.5 >= best and counts[language] > 0


def is_prose(text: str) -> bool:
    plain = FILLED_IN.sub("", text)
    shown = sum(c.isalpha() or c.isspace() or c in "'’" for c in plain)
    return bool(re.search(r"[^\W\d_]", plain)) and shown >= LETTERS * len(plain) and not re.search(
        r"[{}\\|<>^~=]|::|://|--|\w/\w+/|\w_\w|\w\(\)|^[/.$#@-]|\bwww\.|�|(?<!\w)/\w|\w\.\w+\.\w", plain)


def is_pair(a: str, b: str, language: str, names: bool) -> bool:
    if (not a or not b or max(len(a), len(b)) > LONGEST_CHARACTERS
        or max(len(a.split()), len(b.split())) > LONGEST_WORDS):
        return False
    if not names and a == b:
        return False
    long, short = max(len(a), len(b)), min(len(a), len(b))
    if (short + 3) / (long - 3 if long > 6 else 3) < SHORTEST_RATIO:
        return False
    return (is_prose(a) and is_prose(b) and sorted(FILLED_IN.findall(a)) == sorted(FILLED_IN.findall(b))
            and sorted(re.findall(r"\d", FILLED_IN.sub("", a))) == sorted(re.findall(r"\d", FILLED_IN.sub("", b)))
            and is_language(a, "en") and is_language(b, language))


def held_out(root: Path) -> set[str]:
    """The keys of all sentences in validation and test sets, and of the first things of more than two words."""
    found: set[str] = set()
    for pattern in ("tatoeba-*/valid*.gz", "tatoeba-*/test*.gz", "multi30k/val.*.gz", "multi30k/test*.gz",
                    "broad/*-valid.*.gz", "broad/*-test.*.gz", "broad/flores-*.gz", "align-*/*.gz"):
        for path in sorted(root.glob(pattern)):
            for line in mixture.lines_of(path):
                found.update(map(key, line.split("\t")))
    for path in sorted(first_things.FILES.glob("*.tsv")):
        found.update(key(thing.text) for thing in first_things.read(path.stem) if len(thing.text.split()) > 2)
    return found - {""}


@dataclass
class Cleaner:
    """Cleans the texts of one language pair. reasons: counts of dropped texts by reason."""

    language: str
    forbidden: set[str]
    seen: set[int] = field(default_factory=set)
    reasons: Counter = field(default_factory=Counter)

    def know(self, pairs: Iterable[Pair]) -> None:
        self.seen.update(hash((key(a), key(b))) for a, b in pairs)

    def clean(self, pairs: Iterable[Pair], source: Source) -> Iterator[Pair]:
        translations: Counter = Counter()
        for whole in pairs:
            for a, b in split(*whole):
                a, b = tidy(a, source.marked), tidy(b, source.marked)
                if not is_pair(a, b, self.language, source.names):
                    self.reasons["not a pair of sentences"] += 1
                    continue
                keys = key(a), key(b)
                if not all(keys) or hash(keys) in self.seen or translations[keys[0]] >= TRANSLATIONS:
                    self.reasons["doubles"] += 1
                elif self.forbidden & set(keys):
                    self.reasons["held out"] += 1
                else:
                    self.seen.add(hash(keys))
                    translations[keys[0]] += 1
                    yield a, b


# Downloading

def run(*command: str, folder: Path) -> None:
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SystemExit(f"{' '.join(command[:4])}: {finished.stderr.strip()[-600:]}")


def download(names: list[str], kept: Path, root: Path, copyrights: Path) -> None:
    """Downloads Debian packages to `kept`, unpacks them below `root`, and copies their licences to `copyrights`."""
    for name in tqdm(names, desc="packages", disable=None):
        if (root / name).exists():
            continue
        if not list(kept.glob(f"{name}_*.deb")):
            run("apt-get", "download", name, folder=kept)
        temporary = root / f"{name}.part"
        shutil.rmtree(temporary, ignore_errors=True)
        run("dpkg-deb", "-x", str(max(kept.glob(f"{name}_*.deb"))), str(temporary), folder=kept)
        licence = temporary / "usr/share/doc" / name / "copyright"
        if licence.exists():
            shutil.copyfile(licence, copyrights / name)
        temporary.rename(root / name)


def download_others(kept: Path, root: Path, languages: list[str]) -> None:
    """Downloads the package descriptions in these languages, and CLDR in all languages."""
    for code in ("en", *languages):
        path = root / DESCRIPTIONS[code]
        if not path.exists():
            run("/usr/lib/apt/apt-helper", "download-file", ARCHIVE + path.name, str(path.with_suffix(".part")),
                folder=kept)
            path.with_suffix(".part").rename(path)
    for name in formats.CLDR_FILES:
        if not (root / "cldr" / name).exists():
            archive = kept / f"{name}-{CLDR_VERSION}.tgz"
            if not archive.exists():
                run("npm", "pack", f"{name}@{CLDR_VERSION}", folder=kept)
            (root / "cldr" / name).mkdir(parents=True, exist_ok=True)
            codes = ("en", *LANGUAGES.values())
            run("tar", "xzf", str(archive), "-C", str(root / "cldr" / name),
                *(f"package/{inner.format(code)}" for inner in formats.CLDR_FILES[name] for code in codes), folder=kept)


def write_links(root: Path, pair: str, found: dict[str, list[Pair]]) -> None:
    """Aligns all sources of a pair together, because more text gives better links."""
    lines = aligner.align((pair for pairs in found.values() for pair in pairs), "both", options=())
    folder = root / "links" / pair
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in found.items():
        with gzip.GzipFile(folder / f"{name}.txt.gz", "wb", mtime=0) as file:
            for _ in pairs:
                file.write(next(lines).encode("ascii") + b"\n")
    for _ in lines:
        raise AssertionError("the aligner prints a line for each pair")


def extract(root: Path, unpacked: Path, pair: str, sources: list[Source]) -> dict[str, list[Pair]]:
    """Returns the pairs by source, which are also written to debian/PAIR."""
    language = LANGUAGES[pair]
    cleaner = Cleaner(language, held_out(root))
    ours = {source.name for source in SOURCES}
    for row in tqdm([row for row in mixture.table(pair) if row.name not in ours], desc=f"{pair}: other corpora",
                    disable=None):
        if "{}" not in row.path and (root / row.path).exists():
            cleaner.know(data.read_pairs(root / row.path))
    found = {}
    print(f"{pair}\n{'source':24}{'read':>10}{'kept':>10}{'English words':>15}", flush=True)
    for source in tqdm(sources, desc=pair, disable=None):
        read = list(source.read(unpacked, language))
        pairs = list(cleaner.clean(read, source))
        if pairs:
            found[source.name] = pairs
            path = root / "debian" / pair / f"{source.name}.tsv.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            with gzip.GzipFile(path, "wb", mtime=0) as file:
                file.write("".join(f"{a}\t{b}\n" for a, b in pairs).encode())
        tqdm.write(f"{source.name:24}{len(read):10,}{len(pairs):10,}{sum(len(a.split()) for a, _ in pairs):15,}")
    print("dropped: " + ", ".join(f"{count:,} {reason}" for reason, count in cleaner.reasons.most_common()), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder of all corpora; gets debian/ and links/")
    parser.add_argument("--pair", choices=LANGUAGES, action="append",
                        help="only this pair of languages; may be given several times")
    parser.add_argument("--only", nargs="+", metavar="SOURCE", choices=[source.name for source in SOURCES],
                        help="only these sources, without links")
    arguments = parser.parse_args()
    pairs = arguments.pair or list(LANGUAGES)
    root = arguments.out.resolve()
    kept, unpacked, copyrights = (root / "debian" / name for name in ("packages", "unpacked", "copyright"))
    for folder in (kept, unpacked, copyrights):
        folder.mkdir(parents=True, exist_ok=True)
    sources = [source for source in SOURCES if not arguments.only or source.name in arguments.only]
    languages = [LANGUAGES[pair] for pair in pairs]
    download(sorted({name for source in sources for language in languages for name in source.needed(language)}), kept,
             unpacked, copyrights)
    download_others(kept, unpacked, languages)
    for pair in pairs:
        found = extract(root, unpacked, pair, sources)
        if not arguments.only:
            write_links(root, pair, found)


if __name__ == "__main__":
    run_command(main)
