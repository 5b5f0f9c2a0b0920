"""How searches behave: python3 -m weights.evaluation.searches MODEL_FOLDER --data DIR [--corpus NAME] [--sentences
1000] [--alignd build/alignd]

Input: an exported model folder, the first sentences of a split, and the program. Starts a daemon and prints two tables.

Search: for each strategy BLEU, the length of its translations relative to the references (13a tokens), search errors
(the share of sentences whose log-probability is below the optimum that exact search has proven, among those with a
proven optimum; Stahlberg and Byrne 2019), the share of empty translations, and the mean log-probability. Exact search
runs without a length penalty.

Outputs: how much each `include` reduces the throughput, from the daemon's CPU time for the same translations.
"""

from __future__ import annotations

import argparse
import json
import statistics
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from ..command import run_command
from ..corpora import data
from . import scores
from .client import CONNECTIONS, Daemon, Variant, chunks, daemon
from .evaluate import add_arguments

BATCH = 10  # texts per request: an exact search can take seconds
TOLERANCE = 1e-4  # of log-probabilities, which replies give with six digits
CPU_SECONDS = "process_cpu_seconds_total "

# Name -> fields of the request.
SEARCHES: dict[str, dict] = {
    "exact": {"strategy": "exact", "length_penalty": 0},
    "greedy": {"strategy": "greedy"},
    "beam 2": {"beam_size": 2, "length_penalty": 0},
    "beam 5": {"beam_size": 5, "length_penalty": 0},
    "beam 5, length penalty 1": {"beam_size": 5, "length_penalty": 1},
    "the same, coverage penalty 0.05": {"beam_size": 5, "length_penalty": 1, "coverage_penalty": 0.05},
    "the same, coverage penalty 0.2": {"beam_size": 5, "length_penalty": 1, "coverage_penalty": 0.2},
    "beam 32": {"beam_size": 32, "length_penalty": 0},
    "sample": {"strategy": "sample", "seed": 1},
    "sample, top_p 0.9": {"strategy": "sample", "top_p": 0.9, "seed": 1},
    "sample, temperature 0.5": {"strategy": "sample", "temperature": 0.5, "seed": 1},
}
OUTPUTS: dict[str, list[str]] = {
    "tokens": ["tokens"],
    "attention": ["tokens", "attention"],
    "top_k": ["tokens", "top_k"],
    "beam": ["tokens", "beam"],
    "attention, top_k, beam": ["tokens", "attention", "top_k", "beam"],
}


@dataclass
class Found:
    """One translation. proven: exact search completed."""

    text: str
    log_prob: float
    proven: bool


def translate(client: Daemon, texts: list[str], fields: dict, name: str) -> list[Found]:
    """Translates texts without splitting them into sentences. With a seed, each request gets a seed of its own, so that
    no two sentences draw the same numbers."""
    def ask(number: int, chunk: list[str]) -> list[Found]:
        seed = {"seed": fields["seed"] + number} if "seed" in fields else {}
        body = {"model": client.model, "text": chunk, "split_sentences": False, "include": [], **fields, **seed}
        replies = client.request("/translate", body)["translations"]
        return [Found(t["text"], sum(s["log_prob"] for s in t["sentences"]),
                      all(s.get("optimal", False) for s in t["sentences"])) for t in replies]

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        parts = list(chunks(texts, BATCH))
        return [found for part in tqdm(pool.map(ask, range(len(parts)), parts), total=len(parts), desc=name,
                                       leave=False, disable=None) for found in part]


def length_ratio(hypotheses: list[str], references: list[str]) -> float:
    def count(texts: list[str]) -> int:
        return sum(len(scores.tokenize_13a(text)) for text in texts)
    return count(hypotheses) / count(references)


def search_errors(found: list[Found], exact: list[Found]) -> str:
    """Percentage of the sentences with a proven optimum for which this translation scores lower; "-" if exact is
    empty."""
    if not exact:
        return "-"
    errors = scores.share(ours.log_prob < best.log_prob - TOLERANCE
                          for ours, best in zip(found, exact, strict=True) if best.proven)
    return f"{errors:.1f}"


def search_row(name: str, found: list[Found], exact: list[Found], references: list[str]) -> str:
    texts = [f.text for f in found]
    cells = [name, f"{scores.bleu(texts, references):.2f}", f"{length_ratio(texts, references):.3f}",
             f"{search_errors(found, exact)}",
             f"{scores.share(not text.strip() for text in texts):.1f}",
             f"{statistics.mean(f.log_prob for f in found):.2f}"]
    return "| " + " | ".join(cells) + " |"


def search_table(client: Daemon, sources: list[str], references: list[str], with_exact: bool) -> None:
    exact = translate(client, sources, SEARCHES["exact"], "exact") if with_exact else []
    if exact:
        print(f"exact search proved its optimum for {scores.share(f.proven for f in exact):.1f}% of the sentences\n")
    print("| search | BLEU | length ratio | search errors % | empty % | mean log-probability |")
    print("|" + "---|" * 6)
    for name, fields in SEARCHES.items():
        if name == "exact" and not exact:
            continue
        found = exact if name == "exact" else translate(client, sources, fields, name)
        print(search_row(name, found, exact, references), flush=True)


def cpu_seconds(client: Daemon) -> float:
    with urllib.request.urlopen(client.url + "/metrics", timeout=10) as reply:
        lines = reply.read().decode().splitlines()
    return next(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(CPU_SECONDS))


def take_time(client: Daemon, texts: list[str], fields: dict) -> float:
    """CPU seconds of the daemon; replies are not parsed."""
    def ask(chunk: list[str]) -> None:
        body = json.dumps({"model": client.model, "text": chunk, "split_sentences": False, **fields}).encode()
        urllib.request.urlopen(urllib.request.Request(client.url + "/translate", body), timeout=600).read()

    begin = cpu_seconds(client)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(ask, chunks(texts, 50)))
    return cpu_seconds(client) - begin


def output_table(client: Daemon, sources: list[str], repeats: int) -> None:
    print("\n| include | greedy: throughput % | beam 5: throughput % |")
    print("|---|---|---|")
    times: dict[tuple[str, str], list[float]] = {}
    for _ in tqdm(range(repeats), desc="outputs", leave=False, disable=None):
        for name, include in OUTPUTS.items():
            for strategy in ("greedy", "beam"):
                seconds = take_time(client, sources, {"strategy": strategy, "include": include})
                times.setdefault((name, strategy), []).append(seconds)
    median = {key: statistics.median(values) for key, values in times.items()}
    for name in OUTPUTS:
        cells = [f"{100 * (median['tokens', strategy] / median[name, strategy] - 1):+.1f}"
                 for strategy in ("greedy", "beam")]
        print(f"| {name} | {cells[0]} | {cells[1]} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--exact-steps", type=int, default=20000,
                        help="decoder steps of an exact search, at most; 0: none")
    parser.add_argument("--repeats", type=int, default=5, help="of each measurement of time; 0: none")
    arguments = parser.parse_args()
    pairs = data.CORPORA[arguments.corpus].read(arguments.data, arguments.split, arguments.flip)[:arguments.sentences]
    sources, references = [s for s, _ in pairs], [t for _, t in pairs]
    name = json.loads((arguments.model / "config.json").read_text())["name"]
    print(f"{name}, {arguments.split}: the first {len(pairs)} sentences; exact search of up to {arguments.exact_steps} "
          f"steps")
    with daemon(arguments.alignd, arguments.model,
                Variant("float32", ["--exact-steps", str(max(1, arguments.exact_steps))])) as url:
        client = Daemon(url, name)
        search_table(client, sources, references, arguments.exact_steps > 0)
        if arguments.repeats:
            output_table(client, sources, arguments.repeats)


if __name__ == "__main__":
    run_command(main)
