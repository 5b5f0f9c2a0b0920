"""The results: python3 -m weights.evaluation.results --data DIR [--table a ...] [--row NAME ...] [--work DIR] [--budget
SECONDS] [--render]

Input: weights/results/TABLE.json (how each row is trained and scored) and the corpora below --data
(weights/corpora/data.py). Output: weights/results/TABLE.rows.json, the figures of every finished row, and
weights/RESULTS.md, written anew after each row. A row is trained by weights/training/train.py, or, if its recipe names
a pair, by weights/training/broad.py, in a folder below WORK. An interrupted training resumes from its checkpoint; rows
with equal recipes share the model. The model is exported and decoded by alignd; figures never come from PyTorch. A row
is computed again only if its definition changes; one that the configuration refuses is skipped with the reason.
--budget stops the command after this many seconds, and the same command resumes it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable, Iterator

import torch

from ..command import run_command
from ..alignment import align, align_head, aligner, lexicon, links
from ..corpora import data
from ..model import folder
from ..training import broad, export, mixture, train
from . import compute, scores, tables, wellformed
from .client import BATCH, Daemon, chunks
from .tables import Table

HERE = Path(__file__).parent.parent
TABLES, GOLD = HERE / "results", HERE / "gold"
Figures = dict[str, dict[str, float]]  # search or way -> score or gold set -> figure


@dataclass
class Decoded:
    """alignd's translations of a test set with one search."""

    sources: list[str]
    references: list[str]
    texts: list[str]
    pieces: list[list[str]]

    def part(self, indices: list[int]) -> "Decoded":
        return Decoded(*([side[i] for i in indices]
                         for side in (self.sources, self.references, self.texts, self.pieces)))


def _wellformed(language: str) -> Callable[[Decoded], float]:
    return lambda d: scores.share(map(wellformed.CHECKS[language], d.texts))


# Scores of well-formedness apply only to corpora with targets in this formal language (data.Corpus.language).
WELL_FORMED = {"well-formed logical forms %": "logical_form", "well-formed SQL %": "sql",
               "well-formed regexes %": "regex"}

# The scores that a table's key "scores" can name.
SCORES: dict[str, Callable[[Decoded], float]] = {
    "BLEU": lambda d: scores.bleu(d.texts, d.references),
    "tokenised BLEU": lambda d: scores.tokenised_bleu(d.texts, d.references),
    "chrF": lambda d: scores.chrf(d.texts, d.references),
    "exact match %": lambda d: scores.exact_match(d.texts, d.references),
    "<unk> %": lambda d: scores.unknown_rate(d.pieces),
    "repeated 4-gram %": lambda d: scores.share(map(scores.repeats, d.texts)),
} | {name: _wellformed(language) for name, language in WELL_FORMED.items()}


def score(decoded: Decoded, names: list[str], edges: list[int]) -> dict[str, float]:
    """edges: source lengths; the first score is also computed for each length bucket."""
    figures = {name: SCORES[name](decoded) for name in names}
    for bucket, indices in (scores.by_length(decoded.sources, edges) if edges else {}).items():
        figures[f"{bucket} words"] = SCORES[names[0]](decoded.part(indices))
    return figures


@dataclass
class Options:
    data: Path
    work: Path
    alignd: Path
    until: float  # deadline on time.monotonic()


class Unfinished(Exception):
    """The row is not finished; the message gives the reason."""


def trained(table: Table, row: dict, options: Options) -> tuple[Path, dict]:
    """Returns the exported model of the row's recipe, and its training cost. Raises Unfinished if the time is up."""
    text = json.dumps(table.recipe(row), indent=1, sort_keys=True)
    general = "pair" in table.recipe(row)["training"]
    length = f"{table.definition['steps']} {table.definition['cooled']}" if general else ""
    # Rows with equal recipes, in any table, share a model.
    run = options.work / hashlib.sha256((text + length).encode()).hexdigest()[:16]
    run.mkdir(parents=True, exist_ok=True)
    recipe = run / "recipe.json"
    recipe.write_text(text, encoding="utf-8")
    print(f"table {table.name}, {row['name']}: training in {run}", flush=True)
    trainer = train_general(table, recipe, run, options) if general else train_on_corpus(recipe, run, options)
    export.export(run, run / "model", "float32", last=general)  # last: the final weights
    result = {"parameters": sum(p.numel() for p in trainer.model.parameters()),
              "seconds": round(trainer.seconds + time.process_time())}
    return run / "model", result | ({} if general else {"epochs": trainer.epoch})


def train_on_corpus(recipe: Path, run: Path, options: Options) -> train.Trainer:
    trainer = train.Trainer(recipe, options.data, run, flip=False)
    trainer.resume()
    trainer.run(save_every=120, until=options.until)
    if not trainer.finished():
        raise Unfinished("time is up")
    return trainer


def train_general(table: Table, recipe: Path, run: Path, options: Options) -> broad.Run:
    _, training = broad.load_recipe(recipe)
    trainer = broad.Run(recipe, options.data, run, None, options.work / f"{training['pair']}.pickle")
    trainer.resume()
    steps, cooled = table.definition["steps"], table.definition["cooled"]
    trainer.cool = (steps - cooled, cooled)
    if trainer.step < steps:
        trainer.run(save_every=120, validate_every=math.inf, until=options.until)
    if trainer.step < steps:
        raise Unfinished("time is up")
    return trainer


def with_head(table: Table, model: Path, options: Options) -> Path:
    """Returns a copy of the model with an alignment head, trained with the same settings as the shipped heads."""
    count = table.definition["head_pairs"]
    out = model.with_name(f"{model.name}-head-{count}")
    if not out.exists():
        made, sides = align_head.with_head(model, align_head.SIZE)
        pair = made.config["source"], made.config["target"]
        pairs = align_head.read_sources(options.data, pair, count, 1, False, "intersection")
        align_head.train(made, sides, pairs, align_head.Options(unlinked=0.3))
        align_head.write(model, out, made)
    return out


def decode(url: str, name: str, sources: list[str], fields: dict) -> tuple[list[str], list[list[str]]]:
    """Returns the texts, and the pieces of each."""
    client, texts, pieces = Daemon(url, name), [], []
    for chunk in chunks(sources, BATCH):
        body = {"model": name, "text": chunk, "split_sentences": False, "include": ["tokens"], **fields}
        for translation in client.request("/translate", body)["translations"]:
            texts.append(translation["text"])
            pieces.append([piece for sentence in translation["sentences"] for piece in sentence["tokens"]])
    return texts, pieces


def joined(pairs: list[tuple[str, str]], longest: int) -> list[tuple[str, str]]:
    """Joins pairs of at most `longest` words per side two by two."""
    few = data.short(pairs, longest)
    return [(f"{a} {c}", f"{b} {d}") for (a, b), (c, d) in zip(few[::2], few[1::2])]


def translated_figures(table: Table, row: dict, model: Path, options: Options) -> Figures:
    """The scores of the table's searches."""
    definition, recipe = table.definition, table.recipe(row)
    corpus = data.CORPORA[table.test(row)]
    names = [name for name in definition["scores"] if WELL_FORMED.get(name, corpus.language) == corpus.language]
    pairs = corpus.read(options.data, "test")
    together = joined(pairs, definition["joined"]) if "joined" in definition else []
    variant = compute.Variant(row["name"], ["--max-text-chars", "1000000", "--workers", "1"])
    figures: Figures = {}
    with compute.daemon(options.alignd, model, variant) as url:
        def decoded(pairs: list[tuple[str, str]], fields: dict) -> Decoded:
            sources, references = ([pair[i] for pair in pairs] for i in (0, 1))
            return Decoded(sources, references, *decode(url, recipe["name"], sources, fields | row.get("request", {})))

        for search, fields in definition["searches"].items():
            figures[search] = score(decoded(pairs, fields), names, definition.get("by_length", []))
            if together:
                figures[search][f"{names[0]}, two as one"] = SCORES[names[0]](decoded(together, fields))
    return figures


def lexical_figures(table: Table, gold: dict[str, list[align.Gold]], options: Options) -> Figures:
    """AER of the lexical aligner, without a model. It learns from the training pairs of `corpus`, in the pieces of the
    model folder `pieces`."""
    _, source, target = folder.read(Path(table.definition["pieces"]))
    pairs = data.CORPORA[table.definition["corpus"]].read(options.data, "train")
    lexical = lexicon.Lexical([(source.encode(s), target.encode(t)) for s, t in pairs])
    return {"best both ways": {name: align.rate(pairs, [align.lexical_links(lexical, source, target, g) for g in pairs])
                               for name, pairs in gold.items()}}


def training_pairs(row: dict, root: Path) -> Iterator[aligner.Pair]:
    for source in mixture.table(row["pair"]):
        if source.name in row.get("sources", [source.name] if source.weight > 0 else []):
            yield from mixture.texts(root, source)[:row.get("most")]


# Ways to symmetrise the links of the aligner's runs in both directions.
SYMMETRIES: dict[str, Callable[[set, set], Iterable[tuple[int, int]]]] = {
    "forward": lambda forward, backward: forward,
    "backward": lambda forward, backward: backward,
    "grow-diag-final-and": links.grow_diag_final_and,
    "intersection": lambda forward, backward: forward & backward,
}


def aligned(gold: align.Gold, line: str, symmetry: str) -> align.Links:
    """Maps the aligner's links of a pair to the gold set's words."""
    found = SYMMETRIES[symmetry](*map(links.parse, line.split("\t")))
    return set(links.between_pieces(sorted(found), aligner.words_of_spans(gold.source_words, gold.source),
                                    aligner.words_of_spans(gold.target_words, gold.target)))


def aligner_result(row: dict, gold: dict[str, list[align.Gold]], options: Options) -> dict:
    """Runs weights/alignment/aligner.py on the row's pairs together with the texts of the gold sets. seconds: CPU
    time."""
    texts = [pair for pairs in gold.values() for pair in align.pairs_of(pairs)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    lines = list(aligner.align([*texts, *training_pairs(row, options.data)], "both", options.alignd.parent / "gibbs"))
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    figures: Figures = {symmetry: {} for symmetry in SYMMETRIES}
    for name, pairs in gold.items():
        own, lines = lines[:len(pairs)], lines[len(pairs):]
        for symmetry, rates in figures.items():
            rates[name] = align.rate(pairs, [aligned(g, line, symmetry) for g, line in zip(pairs, own)])
    return {"figures": figures, "seconds": round(seconds)}


def gold_path(name: str, root: Path) -> Path:
    """The path of the gold set with this name: in weights/gold, or else below the folder of the corpora."""
    own = GOLD / f"{name}.tsv"
    return own if own.exists() else root / name / "dev.tsv.gz"


def gold_of(table: Table, row: dict, root: Path) -> dict[str, list[align.Gold]]:
    return {name: align.read_gold(gold_path(name, root)) for name in table.gold(row)}


def model_figures(table: Table, row: dict, options: Options) -> tuple[dict, Figures]:
    """Returns the training cost, if the row is trained, and the scores and error rates of its model."""
    model, result = (Path(row["model"]), {}) if "model" in row else trained(table, row, options)
    if row.get("head"):
        model = with_head(table, model, options)
    figures = translated_figures(table, row, model, options) if "searches" in table.definition else {}
    if "gold" in table.definition:
        reverse = Path(row["reverse"]) if "reverse" in row else None
        rates = {name: align.measure(options.alignd, model, reverse, pairs)
                 for name, pairs in gold_of(table, row, options.data).items()}
        ways = [way for way in next(iter(rates.values())) if way in row.get("ways", table.definition["ways"])]
        figures |= {way: {name: found[way] for name, found in rates.items()} for way in ways}
    return result, figures


def row_result(table: Table, row: dict, options: Options) -> dict:
    if "quoted" in row:
        return {"figures": row["quoted"]}
    if "aligner" not in row:
        result, figures = model_figures(table, row, options)
        return result | {"figures": figures}
    gold = gold_of(table, row, options.data)
    if row["aligner"] == "gibbs":
        return aligner_result(row, gold, options)
    if row["aligner"] == "lexical":
        return {"figures": lexical_figures(table, gold, options)}
    return {"figures": {"best word": {name: align.rate(pairs, [align.diagonal_links(g) for g in pairs])
                                      for name, pairs in gold.items()}}}


def make(table: Table, row: dict, options: Options) -> str:
    """Computes and records one row. Returns a message."""
    if reason := tables.refusal(table, row):
        return f"skipped: {reason}"
    try:
        result = row_result(table, row, options)
    except Unfinished as reason:
        return str(reason)
    table.record(row, result)
    return json.dumps(result["figures"])


def begins(name: str, beginnings: list[str] | None) -> bool:
    """Whether the name begins with one of these; True if None."""
    return beginnings is None or name.startswith(tuple(beginnings))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the corpora")
    parser.add_argument("--table", action="append",
                        help="only this one (g: all whose names begin so); may be given several times")
    parser.add_argument("--row", action="append",
                        help="only rows whose names begin so: two processes can make some each")
    parser.add_argument("--work", type=Path, default=Path("runs/results"), help="checkpoints and exported models")
    parser.add_argument("--budget", type=float, default=math.inf,
                        help="stop after so many seconds, to be taken up again")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    parser.add_argument("--render", action="store_true", help="only write RESULTS.md from the figures there are")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    known = tables.read(TABLES)
    if not arguments.render and not (arguments.data and arguments.data.is_dir()):
        sys.exit("--data: the folder of the corpora is needed (make results DATA=DIR)")
    options = Options(arguments.data, arguments.work, arguments.alignd, time.monotonic() + arguments.budget)
    for table in known:
        for row in table.rows:
            if (arguments.render or not begins(table.name, arguments.table) or not begins(row["name"], arguments.row)
                or table.is_finished(row)):
                continue
            if time.monotonic() > options.until:
                sys.exit("time is up; the same command goes on")
            print(f"table {table.name}, {row['name']}: {make(table, row, options)}", flush=True)
            tables.render(known, HERE / "RESULTS.md")
    tables.render(known, HERE / "RESULTS.md")


if __name__ == "__main__":
    run_command(main)
