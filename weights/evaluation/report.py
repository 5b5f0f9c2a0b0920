"""Every figure of a general model: python3 -m weights.evaluation.report MODEL_FOLDER --data CORPORA [--flip] [--reverse
MODEL_FOLDER] [--json FILE] [--card]

Input: a model folder and the folder of all corpora. The daemon translates, with its defaults but for the beam
(--beam-size 5; 1: greedy) and the storage of the weights. Output, as a table: BLEU (13a, cased) and chrF on the test or
validation sets that are held out; on Flores the length of the output over the reference's, in characters, and the
outputs that repeat four words; alignment error rate of the attention, of the alignment head and, with --reverse, of two
models' heads; what of the first things is acceptable. --card writes the model card, README.md in the folder.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Callable

from ..command import run_command
from ..alignment import align
from ..corpora import data
from ..model import folder
from ..training import mixture
from . import compute, first_things, general_card, scores
from .client import BATCH, Daemon, chunks

Pairs = list[tuple[str, str]]
OWN = Path(__file__).parent.with_name("gold")
GOLD = {"en-fr": {"everyday": OWN / "en-fr-everyday.tsv", "constructions": OWN / "en-fr-constructions.tsv",
                  "Hansards": "align-en-fr-hansards", "Alibi": "align-en-fr-alibi"},
        "en-de": {"constructions": OWN / "en-de-constructions.tsv", "Europarl": "align-en-de-europarl100"}}
ALIGNMENT = "alignment: "
LONG = ["--max-text-chars", "1000000"]
WAYS = {"best word": "attention, best word", "head": "head (`alignment`)",
        "head, best both ways": "head, best both ways (`--links mutual`)",
        "head, several": "head, several (`--links several`)",
        "both heads, geometric mean, best both ways": "heads of both models, best both ways",
        "both heads, geometric mean, several": "heads of both models, several"}


def held_out(root: Path, pair: str) -> dict[str, Callable[[], Pairs]]:
    """Test and validation sets by name; those of broad-valid are `broad: DOMAIN`."""
    other = pair.split("-")[1]
    sets: dict[str, Callable[[], Pairs]] = {
        "Tatoeba test": lambda: data.read_pairs(root / f"tatoeba-{pair}/test.tsv.gz"),
        "Multi30k test2016": lambda: list(zip(*(mixture.lines_of(root / f"multi30k/test_2016_flickr.{side}.gz")
                                                for side in ("en", other)), strict=True)),
        "Flores dev": lambda: data.read_pairs(root / f"broad/flores-dev.{pair}.tsv.gz"),
        "newstest": lambda: data.read_pairs(root / f"broad/newstest-valid.{pair}.tsv.gz"),
    }
    domains: dict[str, Pairs] = {}
    for line in mixture.lines_of(root / f"broad/broad-valid.{pair}.tsv.gz"):
        domain, a, b = line.split("\t")
        domains.setdefault(domain, []).append((a, b))
    return sets | {f"broad: {domain}": (lambda pairs=pairs: pairs) for domain, pairs in domains.items()}


def translate(client: Daemon, texts: list[str], beam_size: int) -> list[str]:
    search = {"strategy": "beam", "beam_size": beam_size} if beam_size > 1 else {"strategy": "greedy"}
    found = []
    for chunk in chunks(texts, BATCH):
        reply = client.request("/translate", {"model": client.model, "text": chunk, **search})
        found += [translation["text"] for translation in reply["translations"]]
    return found


def of_set(client: Daemon, pairs: Pairs, beam_size: int) -> dict[str, float]:
    outputs, references = translate(client, [a for a, _ in pairs], beam_size), [b for _, b in pairs]
    return {"BLEU": scores.bleu(outputs, references), "chrF": scores.chrf(outputs, references),
            "length": sum(map(len, outputs)) / sum(map(len, references)), "repeats": sum(map(scores.repeats, outputs)),
            "sentences": len(pairs)}


def measure(alignd: Path, model: Path, reverse: Path | None, root: Path, flip: bool, beam_size: int, limit: int | None,
            flags: list[str]
            ) -> tuple[dict[str, dict[str, float]], list[general_card.Example]]:
    """Returns the figures by set, and the translations of the first things. limit: maximum number of pairs per set,
    evenly spaced."""
    config = folder.read_config(model)
    languages = [config["source"], config["target"]]
    pair = "-".join(languages[::-1] if flip else languages)
    figures: dict[str, dict[str, float]] = {}
    examples: list[general_card.Example] = []
    with compute.daemon(alignd, model, compute.Variant(config["name"], [*LONG, *flags])) as url:
        client = Daemon(url, config["name"])
        for name, read in held_out(root, pair).items():
            pairs = read()
            count = min(limit or len(pairs), len(pairs))
            pairs = [pairs[i * len(pairs) // count] for i in range(count)]
            figures[name] = of_set(client, [(b, a) for a, b in pairs] if flip else pairs, beam_size)
            print(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in figures[name].items()), flush=True)
    with compute.daemon(alignd, model, compute.Variant(config["name"], [])) as url:  # without flags, as users run it
        client = Daemon(url, config["name"])
        for name, files in first_things.SETS.items():
            if not (files / f"{'-'.join(languages)}.tsv").exists():
                continue
            things = first_things.read("-".join(languages), files)
            translations = first_things.translate(client, [thing.text for thing in things])
            found = [general_card.Example(thing.text, text, first_things.acceptable(thing, text))
                     for thing, text in zip(things, translations)]
            figures[name] = {"acceptable": sum(one.acceptable for one in found), "sentences": len(things)}
            examples += found
    for name, path in GOLD.get(pair, {}).items():
        gold = align.read_gold(path if isinstance(path, Path) else root / path / "dev.tsv.gz", flip)[:limit]
        rates = align.measure(alignd, model, reverse, gold)
        figures[ALIGNMENT + name] = {way: rates[way] for way in WAYS if way in rates} | {"sentences": len(gold)}
    return figures, examples


def table(figures: dict[str, dict[str, float]]) -> str:
    """Returns the figures as Markdown."""
    lines = ["| held out | sentences | BLEU | chrF | length ratio | outputs that repeat four words |",
             "|---|---|---|---|---|---|"]
    domains = []
    for name, of in figures.items():
        if "BLEU" in of:
            lines.append(f"| {name} | {of['sentences']:,} | {of['BLEU']:.1f} | {of['chrF']:.1f} | {of['length']:.2f} | "
                         f"{of['repeats']} |")
            domains += [of] if name.startswith("broad: ") else []
    if domains:
        mean = [sum(of[key] for of in domains) / len(domains) for key in ("BLEU", "chrF")]
        lines.append(f"| broad, mean over domains | | {mean[0]:.1f} | {mean[1]:.1f} | | |")
    for name, files in first_things.SETS.items():
        if things := figures.get(name):
            lines.append(f"\nAcceptable of the {things['sentences']} {name} "
                         f"(weights/{files.relative_to(first_things.FILES.parent)}): {things['acceptable']}.")
    return "\n".join(lines + alignment_table({name.removeprefix(ALIGNMENT): of for name, of in figures.items()
                                              if name.startswith(ALIGNMENT)}))


def alignment_table(rates: dict[str, dict[str, float]]) -> list[str]:
    """rates: set -> way -> rate. Returns Markdown lines."""
    if not rates:
        return []
    rows = [f"| {shown} | " + " | ".join(f"{of[way]:.1f}" for of in rates.values()) + " |"
            for way, shown in WAYS.items() if all(way in of for of in rates.values())]
    return ["\nAlignment error rate of what the daemon says, on gold links; lower is better:\n",
            "| links | " + " | ".join(rates) + " |", "|---" * (len(rates) + 1) + "|", *rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("--data", type=Path, required=True, help="folder of all corpora")
    parser.add_argument("--flip", action="store_true", help="the model translates the second language into the first")
    parser.add_argument("--reverse", type=Path, metavar="MODEL",
                        help="the model of the other direction, for the alignment")
    parser.add_argument("--beam-size", type=int, default=5)
    parser.add_argument("--limit", type=int, help="only so many pairs of each set")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument("--card", action="store_true", help="write MODEL/README.md with these figures")
    parser.add_argument("flags", nargs="*", help="after --: options of the daemon, such as --compute int8")
    arguments = parser.parse_intermixed_args()
    figures, examples = measure(arguments.alignd, arguments.model, arguments.reverse, arguments.data, arguments.flip,
                                arguments.beam_size, arguments.limit, arguments.flags)
    size = sum(path.stat().st_size for path in arguments.model.iterdir() if path.name != "README.md")
    print(f"\n{arguments.model}, {size / 1e6:.1f} MB; beam {arguments.beam_size}\n\n{table(figures)}")
    if arguments.card:
        name = folder.read_config(arguments.model)["name"]
        beam = f" --beam-size {arguments.beam_size}" if arguments.beam_size != 5 else ""
        limit = f" --limit {arguments.limit}" if arguments.limit else ""
        reverse = f" --reverse weights/{arguments.reverse.name}" if arguments.reverse else ""
        flags = f" -- {' '.join(arguments.flags)}" if arguments.flags else ""
        command = (f"python3 -m weights.evaluation.report --data "
                   f"CORPORA{' --flip' if arguments.flip else ''}{reverse}{beam}{limit} weights/{name}{flags}")
        general_card.write(arguments.model, table(figures), command, examples, arguments.flip)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run_command(main)
