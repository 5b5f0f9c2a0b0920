"""A stream of training examples from many sources, for general models:
python3 -m weights.training.mixture --data CORPORA --out DIR [--pair en-fr]

The command writes a part of it, and held-out pairs, as text: DIR/train.tsv.gz, DIR/valid.tsv.gz, for programs that read
a corpus (weights/training/shortlist.py).

Input: the table weights/corpora/sources.tsv, the corpora and their links below a data folder, and the phrases of
weights/corpora/phrases/. Output: chunks of encoded examples, drawn by weight, some of them joined and with noise
(weights/training/noise.py), with their attention guides. Chunk number n depends on (seed, n) alone, so that a run
resumes at its number. Texts are read, normalised and symmetrised once, into a cache.

A source's weight is the number of times that each of its pairs occurs in one pass; a pass has sum(weight * pairs)
examples. A source of weight 0 is only for recipes that set another weight, and may be missing. Within a source every
pair is drawn once before any is drawn again.
"""

from __future__ import annotations

import argparse
import gzip
import pickle
import random
import re
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Iterator, Mapping, NamedTuple

from ..command import run_command
from ..corpora import data
from . import hiding, noise
from ..alignment.links import Links, between_pieces, grow_diag_final_and, owners, parse
from .noise import Example
from .slots import fill
from ..model.tokenizer import UNK, SentencePiece, segments

TABLE = Path(__file__).parent.parent / "corpora" / "sources.tsv"
PHRASES = Path(__file__).parent.parent / "corpora" / "phrases"
CACHE_VERSION = 1
LONGEST = 60       # words per side
JOINED = 0.12      # share of examples that join two or three neighbours


class Source(NamedTuple):
    """A row of the table. weight: see above. licence, attribution: for the model card."""

    pair: str
    name: str
    path: str
    domain: str
    weight: float
    licence: str
    attribution: str


def table(pair: str) -> list[Source]:
    """The sources of a language pair, `en-fr`."""
    with TABLE.open(encoding="utf-8") as lines:
        next(lines)
        rows = [Source(*line.rstrip("\n").split("\t")) for line in lines]
    return [row._replace(weight=float(row.weight)) for row in rows if row.pair == pair]


SPACES = re.compile(r"[\s\u00a0\u202f]+")
QUOTES = {"fr": ("« ", " »"), "de": ("„", "“")}


def normalise(text: str, language: str) -> str:
    """One kind of apostrophe; plain spaces, in French also before ; : ! ? » and after «; curly English quotation marks
    become the language's own."""
    text = SPACES.sub(" ", text).replace("’", "'").replace("‘", "'").replace("…", "...").strip()
    if language == "fr":
        opening, closing = QUOTES["fr"]
        text = text.replace("“", opening).replace("”", closing)
        text = re.sub(r"«\s*", "« ", text)
        text = re.sub(r"\s*»", " »", text)
        text = re.sub(r"(?<=[\w)\]'\"%»])\s*([;!?]+)(?=[\s\"»)\]]|$)", r" \1", text)
        text = re.sub(r"(?<=[^\W\d][)\]\"»])\s*:(?=\s|$)|(?<=[^\W\d])\s*:(?=\s|$)", " :", text)
    elif language == "en":
        text = text.replace("“", '"').replace("”", '"')
    return SPACES.sub(" ", text).strip()


def lines_of(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.rstrip("\n")


def texts(root: Path, source: Source) -> list[tuple[str, str]]:
    if "{}" not in source.path:
        return data.read_pairs(root / source.path)
    return list(zip(*(lines_of(root / source.path.format(language)) for language in source.pair.split("-")),
                    strict=True))


def held_out(root: Path, pair: str, flip: bool, each: int = 200) -> dict[str, list[tuple[str, str]]]:
    """Validation pairs by set, evenly spaced: `each` of flores, newstest and tatoeba, and a fifth of that for each
    domain of broad-valid."""
    sets = {"flores": data.read_pairs(root / f"broad/flores-dev.{pair}.tsv.gz"),
            "newstest": data.read_pairs(root / f"broad/newstest-valid.{pair}.tsv.gz"),
            "tatoeba": data.read_pairs(root / f"tatoeba-{pair}/valid.tsv.gz")}
    for line in lines_of(root / f"broad/broad-valid.{pair}.tsv.gz"):
        domain, a, b = line.split("\t")
        sets.setdefault(domain, []).append((a, b))
    for name, pairs in sets.items():
        wanted = each if name in ("flores", "newstest", "tatoeba") else each // 5
        pairs = [pairs[i * len(pairs) // wanted] for i in range(min(wanted, len(pairs)))]
        sets[name] = [(b, a) for a, b in pairs] if flip else pairs
    return sets


Kept = tuple[str, str, bytes]  # both texts, normalised; their word links as two bytes each


def lines_of_links(root: Path, source: Source) -> Iterator[str]:
    """The links of both runs, separated by a TAB (weights/alignment/links.py)."""
    return lines_of(root / "links" / source.pair / f"{source.name}.txt.gz")


def usable(a: str, b: str) -> bool:
    """Whether both texts are non-empty and have at most LONGEST words."""
    return bool(a.strip() and b.strip()) and max(len(a.split()), len(b.split())) <= LONGEST


def normalised(a: str, b: str, pair: str) -> tuple[str, str, bool]:
    """Returns both texts, normalised, and whether the words to which links refer are unchanged: only typographic quotes
    can change them."""
    texts = [normalise(text, language) for text, language in zip((a, b), pair.split("-"))]
    return *texts, all(len(noise.words(old)) == len(noise.words(new)) for old, new in zip((a, b), texts))


def fitting(links: Links, a: str, b: str) -> bool:
    """Whether all links refer to existing words in noise.py's segmentation (the aligner treats a few letters
    differently), and fit into bytes."""
    first, second = (min(256, len(noise.words(text))) for text in (a, b))
    return all(i < first and j < second for i, j in links)


def read_source(root: Path, source: Source) -> list[Kept]:
    """A pair whose words change, or whose links do not fit, is kept without links."""
    kept = []
    for (a, b), line in zip(texts(root, source), lines_of_links(root, source), strict=True):
        if usable(a, b):
            links = grow_diag_final_and(*map(parse, line.split("\t")))
            a, b, same = normalised(a, b, source.pair)
            if not same or not fitting(links, a, b):
                links = []
            kept.append((a, b, bytes(number for link in links for number in link)))
    return kept


def sample(root: Path, pair: str, count: int, seed: int) -> list[tuple[str, str, str]]:
    """About `count` normalised pairs in random order, each with its line of links, with the sources in proportion to
    their weights; a pair occurs again only after all of its source. Pairs without links, or whose words normalisation
    changes, are left out."""
    sources = [source for source in table(pair) if source.weight > 0]
    corpora = [(texts(root, source), list(lines_of_links(root, source))) for source in sources]
    whole = sum(source.weight * len(pairs) for source, (pairs, _) in zip(sources, corpora))
    chosen = []
    for source, (pairs, lines) in zip(sources, corpora):
        turns, rest = divmod(round(source.weight * len(pairs) / whole * count), len(pairs))
        places = [*range(len(pairs))] * turns + permuted(len(pairs), seed, source.name)[:rest]
        chosen += [(*pairs[i], lines[i]) for i in places if usable(*pairs[i]) and lines[i].strip()]
    found = [(*normalised(a, b, pair), line) for a, b, line in (chosen[i] for i in permuted(len(chosen), seed))]
    return [(a, b, line) for a, b, same, line in found if same]


def name_pool(corpora: dict[str, list[Kept]]) -> list[str]:
    """Names that occur on both sides of a pair, but not at the beginning, in alphabetical order."""
    found: set[str] = set()
    for pairs in corpora.values():
        for a, b, links in pairs:
            if re.search(r"\w [A-Z]", a):
                one = noise.example(a, b, unpacked(links))
                found |= {text for text, places in noise.copied(one, noise.is_name).items() if places[0][0][0] > 0
                          and text.lower() not in a}
    return sorted(found)


def unpacked(links: bytes) -> Links:
    return list(zip(links[::2], links[1::2]))


@dataclass
class Cache:
    """corpora: by source name. names: result of name_pool."""

    corpora: dict[str, list[Kept]]
    names: list[str]


def cache(root: Path, pair: str, path: Path) -> Cache:
    """Reads the cache at `path`, or makes it."""
    if path.exists():
        with path.open("rb") as file:
            version, corpora, names = pickle.load(file)
        if version == CACHE_VERSION:
            return Cache(corpora, names)
    corpora = {source.name: read_source(root, source) for source in table(pair) if source.weight > 0
               or (root / source.path).exists()}
    made = Cache(corpora, name_pool(corpora))
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        pickle.dump((CACHE_VERSION, made.corpora, made.names), file, protocol=pickle.HIGHEST_PROTOCOL)
    temporary.replace(path)
    return made


class Encoded(NamedTuple):
    """source (with </s>), target (without): ids. links: (source token, target token), including </s> to </s>; a target
    token without links is not guided."""

    source: list[int]
    target: list[int]
    links: Links


def tokens(side: SentencePiece, text: str, spans: list[tuple[int, int]]) -> tuple[list[int], list[set[int]]]:
    """Returns the ids, and for each the words with which it shares characters."""
    of = owners(text, spans)
    if hiding.HIDDEN in text:
        found = hiding.pieces(side, text)
        return [piece.id for piece in found], [set(of[piece.begin:piece.end]) - {-1} for piece in found]
    pieces = segments(side.processor, text)
    return [piece.id for piece in pieces], [set(of[piece.begin:piece.end]) - {-1} for piece in pieces]


def encode(one: Example, side: SentencePiece, eos: int) -> Encoded:
    source, source_words = tokens(side, one.source, one.source_words)
    target, target_words = tokens(side, one.target, one.target_words)
    links = between_pieces(one.links, source_words, target_words) if one.links else []
    if source.count(UNK) == target.count(UNK) == 1:  # the inserted run is not a word with links
        links = sorted({*links, (source.index(UNK), target.index(UNK))}, key=lambda link: link[::-1])
    return Encoded(source + [eos], target, links + [(len(source), len(target))])


def permuted(size: int, *seed: int | str) -> list[int]:
    order = list(range(size))
    random.Random(repr(seed)).shuffle(order)
    return order


class Mixture:
    """flip: the second language is the source. chunk: examples per chunk. size: examples per pass. weights: overrides
    the table's weights of these sources. hides: hides some of the text as the server does (weights/training/hiding.py).
    share: phrases in addition to the pairs, relative to `chunk`."""

    def __init__(self, kept: Cache, pair: str, flip: bool, seed: int, side: SentencePiece | None, limit: int,
                 chunk: int = 20000,
                 weights: Mapping[str, float] = MappingProxyType({}), hides: bool = False, share: float = 0.2) -> None:
        self.hides, self.share = hides, share
        self.kept, self.flip, self.seed, self.side, self.limit = kept, flip, seed, side, limit
        self.languages = pair.split("-")[::-1] if flip else pair.split("-")
        self.weights = {source.name: weights.get(source.name, source.weight) for source in table(pair)
                        if source.name in kept.corpora}
        self.phrases = phrases(pair, flip)
        self.rules = noise.rules(kept.names, self.languages[0])
        self.size = sum(weight * len(kept.corpora[name]) for name, weight in self.weights.items())
        self.chunk = chunk
        self.orders: dict[str, tuple[int, list[int]]] = {}

    def plain(self, name: str, index: int) -> Example:
        a, b, links = self.kept.corpora[name][index]
        pairs = unpacked(links)
        return noise.example(b, a, [(j, i) for i, j in pairs]) if self.flip else noise.example(a, b, pairs)

    def drawn(self, name: str, number: int) -> int:
        """The index of the pair that is drawn as the source's `number`th."""
        size = len(self.kept.corpora[name])
        turn = number // size
        if self.orders.get(name, (-1, []))[0] != turn:
            self.orders[name] = (turn, permuted(size, self.seed, name, turn))
        return self.orders[name][1][number % size]

    def picks(self, number: int) -> list[tuple[str, int]]:
        """The pairs of a chunk, source by source, in proportion to the sources' shares."""
        found = []
        for name, weight in self.weights.items():
            share = weight * len(self.kept.corpora[name]) / self.size * self.chunk
            found += [(name, self.drawn(name, i)) for i in range(int(number * share), int((number + 1) * share))]
        return found

    def with_neighbours(self, name: str, index: int, chance: random.Random) -> Example:
        """One example, or two or three consecutive ones of the source, joined."""
        parts = [self.plain(name, index)]
        if chance.random() < JOINED:
            for more in range(chance.choice((1, 1, 2))):
                if not noise.FINAL.search(parts[-1].source) or index + more + 1 >= len(self.kept.corpora[name]):
                    break
                parts.append(self.plain(name, index + more + 1))
            while sum(len(part.source_words) for part in parts) > LONGEST * 1.2 and len(parts) > 1:
                parts.pop()
        return noise.joined(parts)

    def examples(self, number: int) -> list[Example]:
        chance = random.Random(repr((self.seed, "chunk", number)))
        found = [self.with_neighbours(name, index, chance) for name, index in self.picks(number)]
        found += [self.phrases.draw(chance) for _ in range(int(self.share * self.chunk) if self.phrases.size else 0)]
        found = [noise.noisy(one, self.rules, chance) for one in found]
        if self.hides:
            found = [hiding.hide(one, chance) for one in found]
        chance.shuffle(found)
        return found

    def encoded(self, number: int) -> list[Encoded]:
        eos = self.side.special[2]
        return [one for one in (encode(one, self.side, eos) for one in self.examples(number))
                if 1 < len(one.source) <= self.limit and 0 < len(one.target) <= self.limit]

    def batches(self, number: int, tokens: int) -> list[list[Encoded]]:
        """Batches of about equal cost, in random order: the number of examples times the longest side is at most
        `tokens`."""
        chunk = self.encoded(number)
        chunk.sort(key=lambda one: (max(len(one.target) + 1, len(one.source)), len(one.source)))
        batches: list[list[Encoded]] = [[]]
        for one in chunk:
            if (len(batches[-1]) + 1) * max(len(one.target) + 1, len(one.source)) > tokens and batches[-1]:
                batches.append([])
            batches[-1].append(one)
        random.Random(repr((self.seed, "batches", number))).shuffle(batches)
        return batches


class Phrases:
    """Hand-written pairs, and patterns with `{slots}` that are filled in on both sides. size: their number."""

    def __init__(self, pairs: list[tuple[str, str]], languages: list[str]) -> None:
        self.pairs, self.languages, self.size = pairs, languages, len(pairs)

    def draw(self, chance: random.Random) -> Example:
        source, target = fill(chance.choice(self.pairs), self.languages, chance)
        return noise.example(source, target, [])


def phrases(pair: str, flip: bool) -> Phrases:
    """The phrases of all files whose names end with both languages, such as home.en-fr-de.tsv, with one column per
    language; those in one-way/ only if the first language is the source."""
    source, target = pair.split("-")[::-1] if flip else pair.split("-")
    found = []
    for path in sorted(PHRASES.rglob("*.tsv")):
        languages = path.stem.split(".")[-1].split("-")
        if source in languages and target in languages and (path.parent == PHRASES or source == languages[0]):
            for line in path.read_text(encoding="utf-8").splitlines():
                if line and not line.startswith("#"):
                    columns = dict(zip(languages, line.split("\t"), strict=True))
                    found.append((normalise(columns[source], source), normalise(columns[target], target)))
    return Phrases(found, [source, target])


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{a}\t{b}\n" for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of all corpora and links")
    parser.add_argument("--pair", default="en-fr")
    parser.add_argument("--out", type=Path, required=True, help="gets train.tsv.gz and valid.tsv.gz")
    parser.add_argument("--cache", type=Path, help="where the normalised corpora are kept; default: in --out")
    parser.add_argument("--count", type=int, default=100000, help="training examples")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    kept = cache(arguments.data, arguments.pair, arguments.cache or arguments.out / "cache.pickle")
    stream = Mixture(kept, arguments.pair, False, arguments.seed, None, 0, chunk=arguments.count)
    write_pairs(arguments.out / "train.tsv.gz", [(one.source, one.target) for one in stream.examples(0)])
    valid = [pair for pairs in held_out(arguments.data, arguments.pair, False).values() for pair in pairs]
    write_pairs(arguments.out / "valid.tsv.gz", valid)


if __name__ == "__main__":
    run_command(main)
