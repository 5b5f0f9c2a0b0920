"""alignd against CTranslate2: python3 -m weights.evaluation.compare_ctranslate2 --data DIR [--alignd build/alignd]

Input: DIR with one folder per model: float32/ and int8/ as written by CTranslate2's converters, SentencePiece files,
source.txt (or input.pieces.txt, also from the folder of the same name in DIR/../marian-transformer) with tokens, for
models that need it prefix.txt with the tokens that begin each target, and out/ with CTranslate2's output: lines `score
||| tokens` (TYPE.greedy.txt, TYPE.beam4.lp0.2.txt, TYPE.beam5.nbest5.txt, ...), and for given targets `score ||| tokens
||| log-probability of each` (TYPE.score.txt). Each model is imported, served and queried with the same input over HTTP.
Output: a table with one row per list: the number of hypotheses, how many differ in a word, and the largest difference
of a score and of a token's log-probability. In int8 each program has its own arithmetic, so every hypothesis that
differs is listed with its margins: by how much alignd prefers its own token at the first difference, and the difference
of both hypotheses' log-probabilities per token. The exit status is 1 if float32 differs in a word or by more than its
bound, or if hypotheses in int8 differ by more than a near-tie. Targets whose text SentencePiece tokenises differently
are counted and left out. Without the data it says so and does nothing.
"""

from __future__ import annotations

import argparse
import gzip
import math
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, NamedTuple

from .client import Daemon, Variant, chunks, daemon
from ..command import run_command

SPACE = "\u2581"
SCORE_BOUND = 1e-3
# Bound in int8 on the difference of two hypotheses' mean log-probabilities: a beam may have dropped one of them much
# earlier, at a tie.
NEAR_TIE = 0.15
TEXTS_AT_ONCE = 20
LONGEST = 29  # tokens without the language token, for models of many languages
COMPUTES = ("float32", "int8")
GREEDY = {"strategy": "greedy", "length_penalty": 1}


class List(NamedTuple):
    """One file of out/: its name without the type, the request, and the number of hypotheses per sentence."""

    file: str
    request: dict
    hypotheses: int = 1


LISTS = (
    List("greedy.txt", GREEDY), List("beam1.txt", GREEDY),
    List("beam4.txt", {"strategy": "beam", "beam_size": 4, "length_penalty": 1}),
    List("beam4.lp0.2.txt", {"strategy": "beam", "beam_size": 4, "length_penalty": 0.2}),
    List("beam5.nbest5.txt", {"strategy": "beam", "beam_size": 5, "n_best": 5, "length_penalty": 1}, 5),
)


class Printed(NamedTuple):
    """One hypothesis in CTranslate2's output."""

    score: float
    tokens: list[str]
    log_probs: list[float]


@dataclass
class Row:
    """The result of one comparison."""

    name: str
    count: int = 0
    differ: list[str] = field(default_factory=list)
    worst_score: float = 0
    worst_token: float = 0
    margins: list[float] = field(default_factory=list)
    cut: int = 0  # targets that are tokenised differently

    def measure(self, ours: float, theirs: float) -> None:
        self.worst_score = max(self.worst_score, abs(ours - theirs))

    def measure_tokens(self, ours: list[float], theirs: list[float]) -> None:
        self.worst_token = max([self.worst_token, *(abs(a - b) for a, b in zip(ours, theirs, strict=True))])

    def holds(self, compute: str) -> bool:
        if compute == "float32":
            return self.count > 0 and not self.differ and max(self.worst_score, self.worst_token) <= SCORE_BOUND
        return self.count > 0 and all(margin <= NEAR_TIE for margin in self.margins)


# ---- CTranslate2's files ----

def lines_of(path: Path) -> list[str]:
    """The lines of the file or of its .gz."""
    text = (path.read_text(encoding="utf-8") if path.exists()
            else gzip.decompress(path.with_name(path.name + ".gz").read_bytes()).decode())
    return text.removesuffix("\n").split("\n")


def has(path: Path) -> bool:
    return path.exists() or path.with_name(path.name + ".gz").exists()


def printed(path: Path) -> list[Printed]:
    found = []
    for line in lines_of(path):
        score, tokens, *log_probs = line.split("|||")
        found.append(Printed(float(score), tokens.split(), [float(x) for x in log_probs[0].split()] if log_probs
                             else []))
    return found


def text_of(tokens: list[str]) -> str:
    """Joins the tokens of a text."""
    return "".join(tokens).replace(SPACE, " ").strip(" ")


def source_lines(folder: Path) -> list[list[str]]:
    """The tokens of each line; for models of many languages the language token, the text, and </s>."""
    places = (folder / "source.txt", folder / "input.pieces.txt",
              folder.parent.parent / "marian-transformer" / folder.name / "input.pieces.txt")
    return [line.split() for line in lines_of(next(place for place in places if has(place)))]


@dataclass
class Source:
    """Texts, and for models of many languages the (source, target) language of each."""

    texts: list[str]
    languages: list[tuple[str, str]] | None

    @staticmethod
    def read(folder: Path) -> Source:
        lines = source_lines(folder)
        if not has(folder / "prefix.txt"):
            return Source([text_of(tokens) for tokens in lines], None)
        targets = [line.strip() for line in lines_of(folder / "prefix.txt")]
        return Source([text_of(tokens[1:-1]) for tokens in lines],
                      [(tokens[0], target) for tokens, target in zip(lines, targets, strict=True)])

    def one(self, i: int) -> Source:
        return Source([self.texts[i]], self.languages and [self.languages[i]])


# ---- alignd's answers ----

def ask(client: Daemon, path: str, source: Source, options: dict, targets: list[str] | None = None) -> Iterator[dict]:
    """Yields the only sentence of each text."""
    texts = source.texts
    if source.languages and len(texts) > 1:
        for i in range(len(texts)):
            yield from ask(client, path, source.one(i), options, targets and [targets[i]])
        return
    if source.languages:
        options = options | {"max_length": LONGEST, "source": source.languages[0][0], "target": source.languages[0][1]}
        options = {key: value for key, value in options.items() if path == "/translate" or key in ("source", "target")}
    common = {"model": client.model, "split_sentences": False, "include": ["tokens", "log_probs", "eos"], "digits": 9,
              "verbatim": True}
    for i, chunk in enumerate(chunks(texts, TEXTS_AT_ONCE)):
        more = {"translation": targets[i * TEXTS_AT_ONCE:][:TEXTS_AT_ONCE]} if targets else {"replace_unknowns": False}
        reply = client.request(path, common | options | more | {"text": chunk})
        for answer in reply["results" if path == "/attention" else "translations"]:
            yield answer["sentences"][0]


def own_tokens(answer: dict) -> list[str]:
    return answer["tokens"][:-1] if answer["finish_reason"] == "eos" else answer["tokens"]


def parting(client: Daemon, source: Source, ours: list[str], theirs: list[str]) -> float:
    """By how much alignd prefers its own token to CTranslate2's at the first difference; infinite if a text is
    tokenised differently."""
    first = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
    scored = [next(ask(client, "/attention", source, {}, [text_of(tokens)])) for tokens in (ours, theirs)]
    if any(own_tokens(answer) != tokens for answer, tokens in zip(scored, (ours, theirs))):
        return math.inf
    return scored[0]["log_probs"][first] - scored[1]["log_probs"][first]


def check_list(client: Daemon, compute: str, folder: Path, item: List, source: Source) -> Row:
    row, theirs = Row(f"{compute}.{item.file}"), printed(folder / "out" / f"{compute}.{item.file}")
    if source.languages:
        theirs = [other._replace(tokens=other.tokens[1:]) for other in theirs]
    begin = 1 if source.languages else 0  # the length includes the language token
    for i, answer in enumerate(ask(client, "/translate", source, dict(item.request))):
        group = theirs[i * item.hypotheses:][:item.hypotheses]
        for ours, other in zip(answer.get("hypotheses", [answer]), group, strict=True):
            row.count += 1
            if (tokens := own_tokens(ours)) == other.tokens:
                row.measure(ours["score"], other.score)
                continue
            gap, penalty = parting(client, source.one(i), tokens, other.tokens), item.request["length_penalty"]
            theirs_mean = other.score * (len(other.tokens) + 1 + begin) ** (penalty - 1)
            row.margins.append(abs(ours["log_prob"] / len(ours["log_probs"]) - theirs_mean))
            row.differ.append(f"line {i + 1}, token {gap:.4f}, hypothesis {row.margins[-1]:.4f}, scores "
                              f"{ours['score']:.5f} and {other.score:.5f}: {' '.join(tokens)} / "
                              f"{' '.join(other.tokens)}")
    return row


def check_forced(client: Daemon, compute: str, folder: Path, source: Source) -> Row:
    row, theirs = Row(f"{compute}.score.txt"), printed(folder / "out" / f"{compute}.score.txt")
    if source.languages:  # CTranslate2 also scores the language token
        theirs = [Printed(sum(other.log_probs[1:]) / len(other.log_probs), other.tokens[1:], other.log_probs[1:])
                  for other in theirs]
    targets = [[token for token in other.tokens if token != "</s>"] for other in theirs]
    answers = ask(client, "/attention", source, {}, [text_of(tokens) for tokens in targets])
    for answer, other, tokens in zip(answers, theirs, targets, strict=True):
        row.count += 1
        if own_tokens(answer) != tokens:
            row.cut += 1
            continue
        row.measure(sum(answer["log_probs"]) / (len(answer["log_probs"]) + (1 if source.languages else 0)), other.score)
        row.measure_tokens(answer["log_probs"], other.log_probs)
    return row


def compare(url: str, folder: Path, compute: str) -> Iterator[Row]:
    client, source = Daemon(url, f"{folder.name}-{compute}"), Source.read(folder)
    for item in LISTS:
        if has(folder / "out" / f"{compute}.{item.file}"):
            yield check_list(client, compute, folder, item, source)
    if has(folder / "out" / f"{compute}.score.txt"):
        yield check_forced(client, compute, folder, source)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="one folder a model")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    parser.add_argument("--beside", type=Path, default=Path("weights/en-fr"), help="a model folder that is served, too")
    arguments = parser.parse_args()
    folders = sorted({path.parent.parent for path in arguments.data.glob("*/*/model.bin")
                      if (path.parent.parent / "out").is_dir()})
    if not folders:
        print(f"skipped: {arguments.data} has no models of CTranslate2 (folders NAME/float32 with model.bin and "
              "NAME/out)")
        return
    holds = True
    for compute in COMPUTES:
        with tempfile.TemporaryDirectory() as work:
            there = [folder for folder in folders if (folder / compute / "model.bin").exists()]
            for folder in there:
                subprocess.run([arguments.alignd, "import", folder / compute, "--into", work, "--name",
                                f"{folder.name}-{compute}", "--max-source-tokens", "500"],
                               check=True, stdout=subprocess.DEVNULL)
            flags = [flag for folder in there for flag in ("--model", f"{work}/{folder.name}-{compute}")]
            with daemon(arguments.alignd, arguments.beside, Variant(compute, ["--compute", compute, *flags])) as url:
                for folder in there:
                    print(f"\n{folder.name}, {compute}\n\n| list | hypotheses | differ | cut otherwise | score | "
                          f"log-probability |\n|---|---|---|---|---|---|", flush=True)
                    for row in compare(url, folder, compute):
                        fits = row.holds(compute)
                        print(f"| {row.name} | {row.count} | {len(row.differ)} | {row.cut} | {row.worst_score:.1e} | "
                              f"{row.worst_token:.1e} |{'' if fits else ' <-- beyond the bounds'}")
                        for line in row.differ:
                            print(f"    {line}")
                        holds &= fits
    sys.exit(not holds)


if __name__ == "__main__":
    run_command(main)
