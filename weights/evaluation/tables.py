"""The definitions of weights/results, their figures, and RESULTS.md, which shows both.

A table has title, text, sentence (the conclusion, written by a person who has seen the figures), recipe (as in
weights/recipes), rows, and scores and searches, or gold and ways (alignments; of the gold sets only those of the row's
languages), or all of them. Optional keys: test: translates the test set of this corpus instead of the training
corpus's. joined: N: also computes the first score for sentences of at most N words, joined two by two. For general
models (training.pair): steps: the number of updates; cooled: how many updates the learning rate falls at the end;
head_pairs: the number of pairs on which a head is trained. A row has a name and
    set      {"section.key": value}: changes to the recipe
    of       another row whose model this one decodes with
    request  additional fields of its requests
    test     overrides the table's
    head     true: gets an alignment head (weights/alignment/align_head.py) after training
    model, reverse   existing model folders instead of training (alignments)
    aligner  "diagonal", "lexical" or "gibbs" (weights/alignment/aligner.py) instead of a model (alignments); for gibbs
             pair, sources   the language pair, and the names of its sources (weights/corpora/sources.tsv); default: all
             most            maximum number of pairs per source; default: all
    quoted   published figures of others instead of our own; the row's name gives the source
"""

from __future__ import annotations

import copy
import hashlib
import json
import textwrap
from pathlib import Path
from typing import Iterator

from ..model import config
from ..training import broad


class Table:
    """A table's definition and its finished rows."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.stem
        self.definition = json.loads(path.read_text(encoding="utf-8"))
        self.rows_path = path.with_name(f"{self.name}.rows.json")
        self.finished = self.recorded()

    def recorded(self) -> dict[str, dict]:
        return json.loads(self.rows_path.read_text(encoding="utf-8")) if self.rows_path.exists() else {}

    @property
    def rows(self) -> list[dict]:
        return self.definition["rows"]

    def trained_row(self, row: dict) -> dict:
        """The row whose model this row uses: the row named by `of`, or itself."""
        return next(other for other in self.rows if other["name"] == row["of"]) if "of" in row else row

    def recipe(self, row: dict) -> dict:
        """The recipe with the row's changes applied."""
        recipe = copy.deepcopy(self.definition["recipe"])
        for path, value in self.trained_row(row).get("set", {}).items():
            *sections, key = path.split(".")
            section = recipe
            for name in sections:
                section = section.setdefault(name, {})
            section[key] = value
        return recipe

    def gold(self, row: dict) -> list[str] | None:
        """The gold sets; for a trained row only those of its languages."""
        recipe = self.recipe(row) if "recipe" in self.definition else {}
        pair = f"{recipe['source']}-{recipe['target']}" if recipe else ""
        return [name for name in self.definition["gold"] if pair in name] if "gold" in self.definition else None

    def test(self, row: dict) -> str | None:
        """The corpus whose test set is translated."""
        return row.get("test", self.definition.get("test", self.recipe(row)["training"].get("corpus")))

    def digest(self, row: dict) -> str:
        """A digest of everything that the row's figures depend on."""
        parts = [self.definition.get(key)
                 for key in ("scores", "searches", "by_length")] + [self.gold(row), self.definition.get("ways")]
        parts += [self.definition[key] for key in ("test", "joined", "steps", "cooled", "head_pairs")
                  if key in self.definition]
        text = json.dumps([row, parts, self.recipe(row) if "recipe" in self.definition else None], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def is_finished(self, row: dict) -> bool:
        return self.finished.get(row["name"], {}).get("digest") == self.digest(row)

    def record(self, row: dict, result: dict) -> None:
        """Records a result without losing rows that other processes have recorded meanwhile."""
        self.finished = self.recorded() | {row["name"]: {"digest": self.digest(row)} | result}
        text = json.dumps(self.finished, indent=1, ensure_ascii=False)
        self.rows_path.write_text(text + "\n", encoding="utf-8")


def read(folder: Path) -> list[Table]:
    """The tables of a folder, sorted by name."""
    return [Table(path) for path in sorted(folder.glob("*.json")) if not path.stem.endswith(".rows")]


def refusal(table: Table, row: dict) -> str | None:
    """The configuration's error message for the row's recipe; None if it is valid."""
    if "recipe" not in table.definition or {"model", "aligner", "quoted"} & row.keys():
        return None
    recipe = {key: value for key, value in table.recipe(row).items() if key != "training"}
    try:
        config.validate(recipe)
    except (config.ConfigError, TypeError) as error:
        return str(error)
    return None


HEAD = """# Results

Every figure is computed by alignd from an exported model; PyTorch only trains. Made by

    make results DATA=DIR          # all tables; takes up again what was stopped; finished rows are not made again
    {command}

where DIR holds the corpora (weights/corpora/data.py says which files). The rows' recipes are in [results/](results/), beside their figures.
"""


def number(value: float) -> str:
    return f"{value:.1f}"


def lines_of(table: Table) -> Iterator[list[str]]:
    """The cells of a table, header first; rows without figures are marked as not run."""
    columns: list[str] = []
    for row in table.rows:
        for figures in table.finished.get(row["name"], {}).get("figures", {}).values():
            columns += [name for name in figures if name not in columns]
    yield ["model", table.definition.get("label", "search"), *columns, "parameters", "epochs", "core s"]
    for row in table.rows:
        result = table.finished.get(row["name"])
        if not result:
            yield [row["name"], "not run yet"] + [""] * (len(columns) + 3)
            continue
        cost = [f"{result[key]:,}" if key in result else "" for key in ("parameters", "epochs", "seconds")]
        for search, figures in result["figures"].items():
            yield [row["name"], search, *(number(figures[name]) if name in figures else "" for name in columns), *cost]


def describe(table: Table) -> str:
    """A sentence with seed, size and budget, from the recipe."""
    recipe = table.definition.get("recipe")
    if not recipe:
        return ""
    encoder, training = recipe["encoder"], recipe["training"]
    if general := "pair" in training:
        training = broad.DEFAULTS | training
        budget = (f"{table.definition['steps']:,} updates, in the last {table.definition['cooled']:,} of which the "
                  f"learning rate falls")
    else:
        budget = f"at most {training['epochs']} epochs of {training['corpus']}"
    start = (f", embeddings of deviation {training['embedding_deviation']} at first"
             if "embedding_deviation" in training and not general else "")
    if encoder.get("type") == "transformer":
        kind = f"{encoder['heads']} heads, feed-forward {encoder['filter']}"
    else:
        kind = encoder["cell"].upper() + (", bidirectional" if encoder.get("bidirectional", True) else "")
    return (f"Seed {training['seed']}; unless a row says otherwise {encoder.get('layers', 1)} x {encoder['hidden']} "
            f"{kind}, embeddings {encoder['embedding']}, "
            f"decoder {recipe['decoder']['hidden']}, {'one vocabulary' if general else 'vocabularies'} of "
            f"{training['vocabulary'] or 'all words'}; "
            f"{budget}, batches of {training['batch_tokens']} tokens, dropout {training['dropout']}{start}.")


def wrapped(text: str) -> str:
    """Wraps paragraphs at 140 columns; leaves tables and code unchanged."""
    return "\n".join(line if line.startswith(("|", "    ")) else
                     textwrap.fill(line, 140, break_long_words=False, break_on_hyphens=False)
                     for line in text.split("\n"))


def render_table(table: Table) -> str:
    definition = table.definition
    header, *rows = lines_of(table)
    markdown = ["| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *rows)]
    command = f"    python3 -m weights.evaluation.results --data DIR --table {table.name}"
    sentence = definition.get("sentence") or "(What this shows is written once the rows are complete.)"
    return "\n\n".join(wrapped(part) for part in (f"## {table.name}. {definition['title']}", definition["text"],
                                                  describe(table), command, "\n".join(markdown), sentence) if part)


def render(tables: list[Table], path: Path) -> None:
    head = HEAD.format(
        command=("python3 -m weights.evaluation.results --data DIR --table g1         # one table; this one trains "
                 "nothing"))
    path.write_text("\n\n".join([head.rstrip(), *map(render_table, tables)]) + "\n", encoding="utf-8")
