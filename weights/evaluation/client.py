"""alignd's client for the Python programs here: starts a daemon and sends requests over HTTP. Does not need PyTorch."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

BATCH = 50  # sentences in a PyTorch batch, texts in a request
CONNECTIONS = 4
PATIENCE_S = 30


@dataclass
class Output:
    """One translation: its text, its pieces, and the margin of the search's closest choice (infinite if unknown)."""

    text: str
    pieces: list[str]
    margin: float = math.inf


def chunks(items: list, size: int) -> Iterator[list]:
    return (items[begin:begin + size] for begin in range(0, len(items), size))


class Daemon:
    """Translates over HTTP with concurrent requests."""

    name = "daemon"

    def __init__(self, url: str, model: str) -> None:
        self.url, self.model = url.rstrip("/"), model

    def request(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            sys.exit(f"{self.url}: {error.code}: {error.read().decode(errors='replace')}")

    def translate(self, texts: list[str], strategy: str, beam_size: int) -> list[Output]:
        options = {"model": self.model, "strategy": strategy, "split_sentences": False, "include": ["tokens"]}
        if strategy == "beam":
            options["beam_size"] = beam_size
        outputs = []
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            for reply in pool.map(lambda chunk: self.request("/translate", {"text": chunk, **options}),
                                  chunks(texts, BATCH)):
                outputs += [Output(t["text"], [p for s in t["sentences"] for p in s["tokens"]])
                            for t in reply["translations"]]
        return outputs


@dataclass
class Variant:
    name: str
    flags: list[str]


def await_ready(process: subprocess.Popen, log: Path, variant: Variant) -> str:
    """Waits until the daemon is ready; returns its address."""
    begin = time.monotonic()
    while "event=ready" not in (text := log.read_text()):
        if process.poll() is not None or time.monotonic() - begin > PATIENCE_S:
            raise RuntimeError(f"{variant.name}: the daemon is not ready:\n{text}")
        time.sleep(0.05)
    return re.search(r"event=listening address=(\S+)", text).group(1)


@contextmanager
def daemon(alignd: Path, folder: Path, variant: Variant, compute: str = "float32") -> Iterator[str]:
    """Runs a daemon that serves the model; yields its URL. compute: the compute type unless the variant's flags set
    one. Comparisons with PyTorch need float32."""
    flags = variant.flags if "--compute" in variant.flags else ["--compute", compute, *variant.flags]
    command = [str(alignd), "--model", str(folder), "--listen", "127.0.0.1:0", "--deadline-ms", "600000", *flags]
    with tempfile.TemporaryDirectory() as work:
        log = Path(work) / "log"
        with log.open("w") as stderr:
            process = subprocess.Popen(command, stderr=stderr)
        try:
            yield f"http://{await_ready(process, log, variant)}"
        finally:
            process.terminate()
            process.wait()
