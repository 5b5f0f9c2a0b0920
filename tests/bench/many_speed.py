#!/usr/bin/env python3
"""What a model of many languages costs: tests/bench/many_speed.py FOLDER --into DIR [--alignd PROGRAM] [--rounds 3]

Input: a folder of many_model.py. Imports it into DIR/many, which must not exist, loads it in a daemon, and translates
its source.txt from English to French, greedily, in int8, with one worker on one core: sentences one by one, and 16
together; with the whole vocabulary, with the list of the language's script, and with a list of COUNT pieces that
`alignd shortlist` has counted in source.txt; each with the daemon's default --step-ms, which keeps steps short for
other sentences, and with a longer one. Prints the minimum, median and maximum of ROUNDS runs of each measurement.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import serving

PORT, SINGLE, TOGETHER, WARM = 18491, 8, 16, 2


def spread(values: list[float], digits: int = 2) -> str:
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} - {max(values):.{digits}f})"


def run(*command: object) -> tuple[float, float]:
    """Runs a command. Returns the seconds, and its peak memory in MB (10^6)."""
    began = time.perf_counter()
    child = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{command[1]} failed")
    return time.perf_counter() - began, used.ru_maxrss * 1024 / 1e6


class Server:
    """A daemon of one worker on one core."""

    def __init__(self, alignd: Path, model: Path, *flags: str) -> None:
        core = max(os.sched_getaffinity(0))
        began = time.perf_counter()
        self.process = subprocess.Popen([alignd, "--model", model, "--listen", f"127.0.0.1:{PORT}", "--workers", "1",
                                         "--log-level", "error", *flags],
                                        preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        serving.await_ready(self.process, f"127.0.0.1:{PORT}")
        self.seconds = time.perf_counter() - began

    def resident(self) -> dict[str, float]:
        """Anonymous and file-backed resident memory in MB."""
        return {name: serving.memory(self.process, name) for name in ("RssAnon", "RssFile")}

    def translate(self, texts: list[str]) -> int:
        """Returns the number of tokens in the translations."""
        body = {"text": texts, "source": "en", "target": "fr", "strategy": "greedy", "include": ["tokens"],
                "split_sentences": False}
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}/translate", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        reply = json.load(urllib.request.urlopen(request, timeout=600))
        return sum(len(sentence["tokens"]) for translation in reply["translations"]
                   for sentence in translation["sentences"])

    def worked(self) -> float:
        """CPU seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rates(self, texts: list[list[str]]) -> tuple[float, float]:
        """Tokens per second of sequential requests, by the clock and by CPU time, which other programs disturb less."""
        for request in texts[:WARM]:
            self.translate(request)
        began, worked = time.perf_counter(), self.worked()
        tokens = sum(self.translate(request) for request in texts)
        return tokens / (time.perf_counter() - began), tokens / (self.worked() - worked)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=16000)
    options = parser.parse_args()
    model, text = options.into / "many", options.folder / "source.txt"
    imports: list[tuple[float, float]] = []
    for i in range(options.rounds):
        if i > 0:
            shutil.rmtree(model)
        imports.append(run(options.alignd, "import", options.folder, "--into", options.into, "--name", model.name,
                           "--max-target-ratio", "1"))
    panels = sum(file.stat().st_size for file in model.glob("packed-*")) / 1e6
    peak = [megabytes for _, megabytes in imports]
    print(f"import: {spread([seconds for seconds, _ in imports], 1)} s, peak {spread(peak, 0)} MB, panels {panels:.0f} "
          f"MB: {statistics.median(peak) / max(panels, 1):.3f}", flush=True)
    loads, residents = [], []
    for _ in range(options.rounds):
        server = Server(options.alignd, model)
        loads.append(server.seconds)
        residents.append(server.resident())
        server.stop()
    print(f"load: {spread(loads)} s until ready, resident "
          + ", ".join(f"{name[3:].lower()} {spread([resident[name] for resident in residents], 0)} MB"
                      for name in residents[0]), flush=True)
    sentences = text.read_text(encoding="utf-8").splitlines()
    for lists in ("whole vocabulary", "list by script", "counted list"):
        if lists == "counted list":
            run(options.alignd, "shortlist", "--model", model, "--to", "fr", "--count", options.count, text)
        for target in ("40ms", "200ms"):
            server = Server(options.alignd, model, "--step-ms", target,
                            *(["--shortlist=false"] if lists == "whole vocabulary" else []))
            for name, requests in (("one sentence", [[sentence] for sentence in sentences[:SINGLE]]),
                                   (f"{TOGETHER} together", [sentences[:TOGETHER]] * WARM)):
                rates = [server.rates(requests) for _ in range(options.rounds)]
                clock, processor = ([pair[i] for pair in rates] for i in range(2))
                print(f"{lists}, --step-ms {target}, {name}: tokens a second {spread(clock, 0)} by the clock, "
                      f"{spread(processor, 0)} of processor time", flush=True)
            print(f"{lists}: resident {sum(server.resident().values()):.0f} MB", flush=True)
            server.stop()
    print(f"load average at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
