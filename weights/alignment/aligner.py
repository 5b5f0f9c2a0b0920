"""Word alignment of text without a model: python3 -m weights.alignment.aligner CORPUS.tsv > LINKS

Input: pairs of sentences, source TAB target; a name that ends in .gz is unpacked, `-` is standard input; further
columns are ignored. Output: a line of links for each pair, in its order: `i-j`, words i of the source and j of the
target counted from 0 (Pharaoh format). With --symmetry both: links of the source-to-target run TAB those of the other.

Words are defined in weights/alignment/links.py and compared in lower case. A pair with an empty side, or with a side of
more than 200 words, has no links. The aligner, build/gibbs (weights/gibbs/, built by `make`), learns from the given
pairs alone, and more pairs give better links: align a few sentences --with a corpus.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterable, Iterator

from . import links
from .links import Links
from ..command import CommandError, run_command
from ..model.tokenizer import Token, Tokenizer

PROGRAM = Path(__file__).parent.parent.parent / "build" / "gibbs"
SYMMETRIES = ("grow-diag-final-and", "intersection", "union", "forward", "backward", "both")
Pair = tuple[str, str]


class AlignerError(CommandError):
    """The aligner cannot align the input; the message is a sentence."""


def words(text: str) -> list[str]:
    """Splits the text into lower-cased words."""
    return [text[begin:end].lower().replace("’", "'") for begin, end in links.words(text)]


class Numbers:
    """Numbers words from 1 in order of first appearance."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def of(self, text: str) -> str:
        return " ".join(str(self.known.setdefault(word, len(self.known) + 1)) for word in words(text))


def numbered(pairs: Iterable[Pair]) -> Iterator[str]:
    """Yields one input line of the aligner program for each pair."""
    source, target = Numbers(), Numbers()
    return (f"{source.of(s)}\t{target.of(t)}\n" for s, t in pairs)


def run(numbers: Iterable[str], symmetry: str, program: Path = PROGRAM,
        options: tuple[str, ...] = ("--quiet",)) -> Iterator[str]:
    """numbers: one line per pair (gibbs --help). Yields one line of links per pair."""
    if not program.exists():
        raise AlignerError(f"{program} is not there: run make, or name it with --program")
    with tempfile.TemporaryFile("w+", encoding="ascii") as file:
        file.writelines(numbers)
        file.seek(0)
        with subprocess.Popen([str(program), "--symmetry", symmetry, *options], stdin=file, stdout=subprocess.PIPE,
                              text=True) as running:
            yield from (line.rstrip("\n") for line in running.stdout)
    if running.returncode != 0:
        raise AlignerError(f"{program.name} ended with status {running.returncode}")


def align(pairs: Iterable[Pair], symmetry: str = SYMMETRIES[0], program: Path = PROGRAM,
          options: tuple[str, ...] = ("--quiet",)) -> Iterator[str]:
    """Yields one line of links per pair. options: those of the program (gibbs --help)."""
    return run(numbered(pairs), symmetry, program, options)


def words_of_spans(spans: list[links.Span], text: str) -> list[set[int]]:
    """For each span, the words of the text with which it shares characters."""
    owners = links.owners(text, links.words(text))
    return [set(owners[begin:end]) - {-1} for begin, end in spans]


def words_of_pieces(tokens: list[Token], text: str) -> list[set[int]]:
    """For each token, the words of the text with which it shares characters."""
    return words_of_spans([(token.begin, token.end) for token in tokens], text)


def links_of_pieces(line: str, pair: Pair, tokenizers: tuple[Tokenizer, Tokenizer]) -> Links:
    """Converts a line of word links to links between the pieces of two tokenizers, without </s>."""
    return links.between_pieces(sorted(links.parse(line)),
                                *(words_of_pieces(side.tokens(text), text) for side, text in zip(tokenizers, pair)))


def read_pairs(name: str) -> Iterator[Pair]:
    """name: a file, or "-"."""
    opened = sys.stdin.buffer if name == "-" else gzip.open(name) if name.endswith(".gz") else open(name, "rb")
    with opened as lines:
        for number, line in enumerate(lines, 1):
            columns = line.decode("utf-8").rstrip("\r\n").split("\t")
            if len(columns) < 2:
                raise AlignerError(f"{name}, line {number}: source TAB target is expected")
            yield columns[0], columns[1]


def print_links(pairs: list[Pair], lines: Iterator[str], tokenizers: tuple[Tokenizer, Tokenizer] | None) -> None:
    for pair, line in zip(pairs, lines):
        if tokenizers:
            line = "\t".join(" ".join(f"{i}-{j}" for i, j in sorted(links_of_pieces(run, pair, tokenizers)))
                             for run in line.split("\t"))
        print(line)
    for _ in lines:  # the links of pairs from --with are not printed
        pass


def align_corpora(arguments: argparse.Namespace) -> None:
    pairs = list(read_pairs(arguments.corpus))
    others = [pair for name in arguments.others for pair in read_pairs(name)]
    tokenizers = None
    if arguments.pieces:
        from ..model import folder  # PyTorch is not needed for words
        _, *tokenizers = folder.read(arguments.pieces)
    options = [f"--{name}={getattr(arguments, name)}" for name in ("samplers", "sweeps", "seed")
               if getattr(arguments, name)]
    lines = align([*pairs, *others], arguments.symmetry, arguments.program, (*options, *["--quiet"] * arguments.quiet))
    print_links(pairs, lines, tuple(tokenizers) if tokenizers else None)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Aligns the words of sentence pairs. Prints a line of links i-j for each pair.",
        epilog="Example: python3 -m weights.alignment.aligner new.tsv --with corpus.tsv.gz > new.links")
    parser.add_argument("corpus", help="source TAB target, one pair a line; .gz is unpacked; -: standard input")
    parser.add_argument("--with", dest="others", action="append", default=[], metavar="CORPUS",
                        help="learn from these pairs, too, without printing links of them; may be given several times")
    parser.add_argument("--symmetry", choices=SYMMETRIES, default=SYMMETRIES[0],
                        help=(
                            "how the runs in both directions become one set of links: the intersection has the fewest "
                            "and surest; both: forward TAB backward (default: %(default)s)"))
    parser.add_argument("--pieces", type=Path, metavar="MODEL",
                        help="print links between the pieces of this model folder, not between words")
    parser.add_argument("--samplers", type=int,
                        help="independent samplers, which decide together, 1 to 16 (default: 3)")
    parser.add_argument("--sweeps", type=int,
                        help="sweeps through the corpus with the whole model (default: by the number of pairs)")
    parser.add_argument("--seed", type=int, help="equal seeds give equal links (default: 1)")
    parser.add_argument("--program", type=Path, default=PROGRAM,
                        help="the aligner itself (default: build/gibbs, which make builds)")
    parser.add_argument("--quiet", action="store_true", help="say nothing of the progress")
    align_corpora(parser.parse_args())


if __name__ == "__main__":
    run_command(main)
