#!/usr/bin/env python3
"""How long a stream waits for its next token while others send long sentences:
tests/bench/gaps.py MODEL [--alignd PROGRAM] [-- OPTIONS of alignd]

Input: a folder of bench/random_model, whose source.txt has the words; a copy gets a higher limit of source tokens.
Starts a daemon with one worker. One client streams sentences by greedy search, one after the other. Another sends a
long sentence whose translation is one token, waits for the reply and 50 ms, and sends the next. Prints for each length,
and without long sentences, the number of gaps between the stream's tokens, and their median, 99th percentile and
maximum in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from weights.evaluation.client import Daemon, Variant, daemon  # noqa: E402

LENGTHS = (90, 250, 500, 990)  # words of one token each
STREAMED, STREAMS = 90, 8  # words per sentence; sentences for each length
LIMIT = 1000  # source tokens


def raise_limit(model: Path, copy: Path) -> Path:
    for file in model.iterdir():
        (copy / file.name).symlink_to(file.resolve())
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    config["limits"]["max_source_tokens"] = LIMIT
    (copy / "config.json").unlink()
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return copy


class Words:
    def __init__(self, model: Path) -> None:
        self.words, self.random = (model / "source.txt").read_text(encoding="utf-8").split(), random.Random(1)

    def body(self, count: int, **other) -> dict:
        return {"text": " ".join(self.random.choices(self.words, k=count)), "strategy": "greedy", "include": [],
                "split_sentences": False, "verbatim": True, **other}


def gaps_of(url: str, body: dict) -> list[float]:
    """The seconds between consecutive tokens of a stream."""
    request = urllib.request.Request(f"{url}/translate", json.dumps(body | {"stream": True}).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as reply:
        times = [time.perf_counter() for line in reply if line.startswith(b"event: token")]
    return [after - before for before, after in zip(times, times[1:])]


def measure(url: str, words: Words, length: int) -> str:
    """Measures one row of the table. length: words of the long sentences; 0: none are sent."""
    stop, client, sent = threading.Event(), Daemon(url, "random"), 0

    def send() -> None:
        nonlocal sent
        while length and not stop.wait(0.05):
            client.request("/translate", words.body(length, max_length=1))
            sent += 1

    other = threading.Thread(target=send)
    other.start()
    gaps = sorted(gap for _ in range(STREAMS) for gap in gaps_of(url, words.body(STREAMED, min_length=STREAMED - 2)))
    stop.set()
    other.join()
    figures = (statistics.median(gaps), gaps[int(0.99 * (len(gaps) - 1))], gaps[-1])
    return f"| {length} | {sent} | {len(gaps)} | " + " | ".join(f"{1e3 * figure:.1f}" for figure in figures) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments = parser.parse_args(sys.argv[1:end])
    with tempfile.TemporaryDirectory() as work:
        folder = raise_limit(arguments.model, Path(work))
        with daemon(arguments.alignd, folder, Variant("gaps", ["--workers", "1", *sys.argv[end + 1:]])) as url:
            print("| words | of them sent | gaps | median, ms | p99 | max |\n|---|---|---|---|---|---|")
            for length in (0, *LENGTHS):
                print(measure(url, Words(arguments.model), length), flush=True)


if __name__ == "__main__":
    main()
