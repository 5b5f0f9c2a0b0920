"""alignd against Marian: python3 -m weights.evaluation.compare_marian --data DIR [--alignd build/alignd] [--compute
int8] [--beside weights/en-fr]

Input: DIR with one folder per model: model.npz with its vocabularies (as `alignd import` finds them), input.txt,
reference.txt, edge.input.txt, and out/ with some or all of Marian's output for them (n-best lists with word scores and
soft attention, hard alignments, forced scores). Each model is imported, served by one daemon beside --beside, and
queried with the same input over HTTP; texts are also translated by `alignd translate`. Output: a table with one row per
list: the number of hypotheses, how many differ in a word, and the largest difference of a word score, a sentence score
and an attention weight. With --compute also the BLEU of that compute type and of float32. The exit status is 1 if a
word differs or a bound is exceeded.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, NamedTuple

import numpy

from .client import Daemon, Variant, chunks, daemon
from .scores import bleu
from ..command import CommandError, run_command

BOUNDS = {"word score": 1e-4, "sentence score": 1e-3, "attention": 1e-5}
BLEU_BOUND = 0.5
TEXTS_AT_ONCE = 20
GREEDY = {"strategy": "greedy", "length_penalty": 0}
HUGGINGFACE = "huggingface"  # subfolder with the same model in Hugging Face's format
SPACE = "\u2581"
BEAM = {"strategy": "beam", "beam_size": 5, "n_best": 5, "length_penalty": 0}
# The variants of each imported model: suffix of the name -> flags of `alignd import`.
VARIANTS = {"": [], "-unknowns": ["--allow-unknowns"], "-short": ["--max-target-ratio", "0.5"]}
# Marian read texts and pieces without preparation. 1000 is the largest limit.
AS_THEY_ARE = ["--no-shortlist", "--preparation", "none", "--max-source-tokens", "1000"]


class List(NamedTuple):
    """One file of out/: its name, the request, the model's variant, and the input. Its text is plain, or tokens in .p9
    files."""

    file: str
    request: dict
    variant: str = ""
    source: str = "input.txt"


LISTS = (
    List("greedy.nbest", GREEDY), List("greedy.soft.p9.nbest", GREEDY),
    List("greedy.unk.p9.nbest", GREEDY, "-unknowns"),
    List("greedy.short.p9.nbest", GREEDY, "-short"), List("beam5.nbest", BEAM), List("beam5.p9.nbest", BEAM),
    List("beam5.soft.p9.nbest", BEAM),
    List("beam5.norm0.6.p9.nbest", BEAM | {"length_penalty": 0.6}),
    List("beam5.norm1.p9.nbest", BEAM | {"length_penalty": 1.0}),
    List("beam5.unk.p9.nbest", BEAM, "-unknowns"), List("beam5.short.p9.nbest", BEAM, "-short"),
    List("beam6.norm1.p9.nbest", {"strategy": "beam", "beam_size": 6, "n_best": 6, "length_penalty": 1.0}),
    List("edge.greedy.soft.p9.nbest", GREEDY, source="edge.input.txt"),
    List("edge.beam5.p9.nbest", BEAM, source="edge.input.txt"),
)


@dataclass
class Hypothesis:
    """A hypothesis of either program; unknown fields are None. text: plain, or tokens separated by spaces."""

    text: str
    log_prob: float | None = None
    score: float | None = None
    words: list[float] | None = None
    attention: list[list[float]] | None = None


@dataclass
class Row:
    """The result of one comparison."""

    name: str
    count: int = 0
    differ: int = 0
    worst: dict[str, float] = field(default_factory=dict)

    def measure(self, kind: str, ours, theirs) -> None:
        if theirs is None:
            return
        ours, theirs = (numpy.concatenate([numpy.ravel(part) for part in side]) if isinstance(side, list)
                        else numpy.ravel(side)
                        for side in (ours, theirs))
        far = float(numpy.abs(ours - theirs).max(initial=0)) if ours.shape == theirs.shape else numpy.inf
        self.worst[kind] = max(self.worst.get(kind, 0.0), far)

    def compare(self, ours: Hypothesis, theirs: Hypothesis) -> None:
        self.count += 1
        if ours.text != theirs.text:
            self.differ += 1
            return
        self.measure("word score", ours.words, theirs.words)
        self.measure("sentence score", ours.log_prob, theirs.log_prob)
        self.measure("sentence score", ours.score, theirs.score)
        self.measure("attention", ours.attention, theirs.attention)

    @property
    def holds(self) -> bool:
        return self.count > 0 and self.differ == 0 and all(far <= BOUNDS[kind] for kind, far in self.worst.items())

    def __str__(self) -> str:
        cells = [f"{self.worst[kind]:.1e}" if kind in self.worst else "" for kind in BOUNDS]
        return (f"| {self.name} | {self.count} | {self.differ} | {' | '.join(cells)} "
                f"|{'' if self.holds else ' <-- beyond the bounds'}")


# ---- Marian's files ----

def lines_of(folder: Path, name: str) -> list[str]:
    """The lines of the file or of its .gz."""
    path = folder / name
    text = (path.read_text(encoding="utf-8") if path.exists()
            else gzip.decompress(path.with_name(name + ".gz").read_bytes()).decode())
    return text.removesuffix("\n").split("\n")


def _attention(text: str) -> list[list[float]]:
    return [[float(weight) for weight in row.split(",")] for row in text.split()]


def _fields(fields: list[str]) -> dict:
    """The fields after the text, each identified by its beginning; the last is the score."""
    found: dict = {}
    for text in fields:
        label, _, numbers = text.strip().partition("= ")
        if label == "WordScores":
            found["words"] = [float(x) for x in numbers.split()]
        elif label == "F0":
            found["log_prob"] = float(numbers)
        else:
            found["attention"] = _attention(text)
    return found


def n_best(lines: list[str]) -> dict[int, list[Hypothesis]]:
    """Returns the hypotheses by sentence number."""
    found: dict[int, list[Hypothesis]] = {}
    for line in lines:
        number, text, *fields, score = line.split("|||")
        found.setdefault(int(number), []).append(Hypothesis(text.strip(), score=float(score), **_fields(fields)))
    return found


def has(folder: Path, name: str) -> bool:
    return (folder / name).exists() or (folder / (name + ".gz")).exists()


def only_pieces(folder: Path) -> bool:
    """Whether the text was tokenised before Marian, so that all of its output is pieces."""
    return (folder / "vocab.yml").exists()


def plain_text(folder: Path, line: str) -> str:
    """Converts a line of Marian's output to plain text."""
    return "".join(line.split()).replace(SPACE, " ").lstrip() if only_pieces(folder) else line


# ---- alignd's answers ----

def _ours(answer: dict, pieces: bool) -> Hypothesis:
    ended = answer["finish_reason"] == "eos"
    tokens = answer["tokens"][:-1] if ended else answer["tokens"]
    text = " ".join(tokens) if pieces else answer["text"].strip()  # n_best strips Marian's text, too
    return Hypothesis(text, answer["log_prob"], answer["score"], answer["log_probs"], answer["attention"])


def ask(client: Daemon, path: str, texts: list[str], options: dict) -> Iterator[dict]:
    """Yields the only sentence of each text; {} for a blank text."""
    common = {"model": client.model, "split_sentences": False,
              "include": ["tokens", "log_probs", "attention", "alignment", "eos"], "digits": 9, "verbatim": True}
    targets = options.pop("translation", None)
    for i, chunk in enumerate(chunks(texts, TEXTS_AT_ONCE)):
        more = {"translation": targets[i * TEXTS_AT_ONCE:][:TEXTS_AT_ONCE]} if targets else {"replace_unknowns": False}
        reply = client.request(path, common | options | more | {"text": chunk})
        for answer in reply["results" if path == "/attention" else "translations"]:
            yield answer["sentences"][0] if answer["sentences"] else {}


def check_list(client: Daemon, folder: Path, item: List) -> Row:
    row, theirs = Row(item.file), n_best(lines_of(folder / "out", item.file))
    texts = lines_of(folder, item.source)[:len(theirs)]
    for i, answer in enumerate(ask(client, "/translate", texts, dict(item.request))):
        if not answer:  # Marian prints one line per beam entry
            row.count += len(theirs[i])
            row.differ += sum(bool(hypothesis.text) for hypothesis in theirs[i])
            continue
        ours = [_ours(hypothesis, ".p9." in item.file or only_pieces(folder))
                for hypothesis in answer.get("hypotheses", [answer])]
        row.differ += abs(len(ours) - len(theirs[i]))
        for pair in zip(ours, theirs[i]):
            row.compare(*pair)
    return row


def check_hard(client: Daemon, folder: Path) -> Row:
    """Compares the largest weight of each row; and `alignment`, which omits </s> of both sides and links a target token
    to the best source token if </s> has less than half of the weight."""
    row = Row("greedy.hard.txt")
    answers = ask(client, "/translate", lines_of(folder, "input.txt"), dict(GREEDY))
    for line, answer in zip(lines_of(folder / "out", row.name), answers, strict=True):
        pairs = {tuple(map(int, pair.split("-"))) for pair in line.split("|||")[1].split()}
        ours = {(int(numpy.argmax(weights)), i) for i, weights in enumerate(answer["attention"])}
        end, last = len(answer["source_tokens"]) - 1, len(answer["tokens"]) - (answer["finish_reason"] == "eos")
        words = {(int(numpy.argmax(weights[:end])), i) for i, weights in enumerate(answer["attention"][:last]) if end
                 and weights[end] < 0.5}
        row.count += 1
        row.differ += ours != pairs or words != {tuple(pair) for pair in answer["alignment"]}
    return row


def check_forced(client: Daemon, folder: Path) -> Row:
    row, printed = Row("force.soft.p9.txt"), lines_of(folder / "out", "force.p9.txt")
    options = {"translation": lines_of(folder, "reference.txt")}
    answers = ask(client, "/attention", lines_of(folder, "input.txt"), options)
    for line, total, answer in zip(lines_of(folder / "out", row.name), printed, answers, strict=True):
        first, *fields = line.split("|||")
        ours = _ours(answer, True)
        row.compare(ours, Hypothesis(ours.text, log_prob=float(first), **_fields(fields)))
        row.measure("sentence score", ours.log_prob, float(total))
    return row


def translate(alignd: Path, model: Path, source: Path, flags: list[str]) -> list[str]:
    with source.open("rb") as texts:
        done = subprocess.run([alignd, "translate", "--verbatim", "--model", model, "--length-penalty", "0",
                               "--beam-size", "5", *flags], stdin=texts, check=True, capture_output=True)
    return done.stdout.decode().removesuffix("\n").split("\n")


STRATEGIES = {"greedy.txt": ["--strategy", "greedy"], "beam5.txt": []}


def check_texts(alignd: Path, model: Path, folder: Path, compute: str = "float32") -> Iterator[tuple[Row, float]]:
    """Yields the comparison of `alignd translate`'s output, and its BLEU."""
    references = lines_of(folder, "reference.txt")
    for name, strategy in STRATEGIES.items():
        if not has(folder / "out", name):
            continue
        row, ours = Row(f"alignd translate: {name}"), translate(alignd, model, folder / "input.txt",
                                                                [*strategy, "--compute", compute])
        for pair in zip(ours, (plain_text(folder, line) for line in lines_of(folder / "out", name)), strict=True):
            row.compare(*map(Hypothesis, pair))
        yield row, bleu(ours, references)


# ---- all of it ----

def import_model(alignd: Path, path: Path, out: Path, name: str, flags: list[str]) -> None:
    subprocess.run([alignd, "import", path, "--into", out, "--name", name, *flags], check=True,
                   stdout=subprocess.DEVNULL)


def convert(alignd: Path, folder: Path, out: Path) -> None:
    """Imports every variant to OUT/NAME-VARIANT."""
    for suffix, flags in VARIANTS.items():
        import_model(alignd, folder / "model.npz", out, folder.name + suffix, [*AS_THEY_ARE, *flags])
    if (folder / HUGGINGFACE).exists():
        import_model(alignd, folder / HUGGINGFACE, out, f"{folder.name}-{HUGGINGFACE}", AS_THEY_ARE)


def compare(alignd: Path, url: str, folder: Path, models: Path) -> Iterator[Row]:
    for item in LISTS:
        if has(folder / "out", item.file):
            yield check_list(Daemon(url, folder.name + item.variant), folder, item)
    client = Daemon(url, folder.name)
    if has(folder / "out", "greedy.hard.txt"):
        yield check_hard(client, folder)
    if has(folder / "out", "force.soft.p9.txt"):
        yield check_forced(client, folder)
    yield from (row for row, _ in check_texts(alignd, models / folder.name, folder))
    if (folder / HUGGINGFACE).exists():
        other = Daemon(url, f"{folder.name}-{HUGGINGFACE}")
        for item in (List("greedy.soft.p9.nbest", GREEDY), List("beam5.p9.nbest", BEAM)):
            if not has(folder / "out", item.file):
                continue
            row = check_list(other, folder, item)
            row.name = f"{HUGGINGFACE}: {row.name}"
            yield row


def check_beside(url: str, model: str) -> None:
    """Checks that the model that was loaded before still answers."""
    reply = Daemon(url, model).request("/translate", {"model": model, "text": "Where is the train station?"})
    print(f"beside them, {model}: {reply['translations'][0]['text']}")


def show_bleu(alignd: Path, compute: str, folder: Path, models: Path) -> bool:
    exact, other = (list(check_texts(alignd, models / folder.name, folder, kind)) for kind in ("float32", compute))
    fits = True
    for (_, before), (row, after) in zip(exact, other):
        fits &= abs(after - before) <= BLEU_BOUND
        print(f"{folder.name} {row.name}: BLEU {before:.2f} in float32, {after:.2f} in {compute}; {row.differ} of "
              f"{row.count} texts differ")
    return fits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="one folder a model")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    parser.add_argument("--compute", choices=["bfloat16", "int8"], help="also its BLEU")
    parser.add_argument("--beside", type=Path, default=Path("weights/en-fr"), help="a model folder that is served, too")
    arguments = parser.parse_args()
    folders = sorted(path.parent for path in arguments.data.glob("*/model.npz"))
    if not folders:
        raise CommandError(f"{arguments.data}: has no folder with model.npz")
    holds = True
    with tempfile.TemporaryDirectory() as work:
        models = Path(work)
        for folder in folders:
            convert(arguments.alignd, folder, models)
        flags = [flag for folder in sorted(models.iterdir()) for flag in ("--model", str(folder))]
        with daemon(arguments.alignd, arguments.beside, Variant("float32", flags)) as url:
            check_beside(url, arguments.beside.name)
            for folder in folders:
                print(f"\n{folder.name}\n\n| list | hypotheses | differ | {' | '.join(BOUNDS)} "
                      f"|\n|---|---|---|---|---|---|", flush=True)
                for row in compare(arguments.alignd, url, folder, models):
                    print(row, flush=True)
                    holds &= row.holds
        for folder in folders if arguments.compute else ():
            holds &= show_bleu(arguments.alignd, arguments.compute, folder, models)
    sys.exit(not holds)


if __name__ == "__main__":
    run_command(main)
