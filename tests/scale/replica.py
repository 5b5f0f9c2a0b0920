"""A daemon under load, and the load: what the programs of this folder share.

Replica starts, asks and ends one alignd; Load runs build/tests/bench/clients and reads its line. Seconds, unless a name
says ms."""

from __future__ import annotations

import ctypes
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parent.parent.parent
BUILD = ROOT / os.environ.get("BUILD", "build")
MODEL = "weights/en-fr"
PATIENCE_S = 300.0  # how fast the machine is, is not what is tested
PR_SET_PDEATHSIG = 1


def parameter(name: str, fallback: float) -> float:
    """The environment variable as a number."""
    return float(os.environ.get(name) or fallback)


def sentences() -> list[str]:
    """The benchmark's sentences."""
    return (ROOT / "tests/bench/sentences.txt").read_text().splitlines()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_true(happened: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Polls happened(); RuntimeError where it stays false."""
    until = time.monotonic() + patience_s
    while not happened():
        if time.monotonic() > until:
            raise RuntimeError(f"waited in vain: {what}")
        time.sleep(0.01)


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def spawn(command: list[str], log: IO) -> subprocess.Popen:
    """A process that dies with this one; log: file for what it prints."""
    return subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, preexec_fn=die_with_parent)


class Replica:
    """One alignd on a port of its own, which it keeps from start to start."""

    def __init__(self, name: str, *options: str) -> None:
        self.name, self.options, self.port = name, options, free_port()
        self.log = tempfile.TemporaryFile()
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        self.process = spawn([str(BUILD / "alignd"), "--listen", f"127.0.0.1:{self.port}", *self.options], self.log)
        await_true(lambda: self._answers("/ready"), f"{self.name} is ready")

    def end(self, signal_number: int) -> int:
        """Sends the signal and waits: the exit status, or minus the signal."""
        self.process.send_signal(signal_number)
        return self.process.wait(PATIENCE_S)

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE_S) as reply:
            return reply.read().decode()

    def translate(self, text: str, **fields: object) -> dict:
        body = json.dumps({"text": text, **fields}).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/translate", body, timeout=PATIENCE_S) as reply:
            return json.load(reply)

    def metrics(self) -> dict[str, float]:
        """Samples without labels, by name; of those with labels, their sum."""
        values: dict[str, float] = {}
        for name, value in re.findall(r"^(\w+)(?:\{[^}]*\})? (\S+)$", self.get("/metrics"), re.MULTILINE):
            values[name] = values.get(name, 0) + float(value)
        return values

    def processor(self) -> tuple[float, float]:
        """Of its busiest thread: seconds that it has had a processor, and seconds that it stood ready while others had
        it."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        run, waited, _ = max(tuple(map(int, task.read_text().split())) for task in tasks)
        return run / 1e9, waited / 1e9

    def log_text(self) -> str:
        """The last mebibyte; a busy replica logs more."""
        size = os.fstat(self.log.fileno()).st_size
        return os.pread(self.log.fileno(), 1 << 20, max(0, size - (1 << 20))).decode(errors="replace")

    def _answers(self, path: str) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} ended:\n{self.log_text()}")
        try:
            self.get(path)
        except (OSError, urllib.error.URLError):
            return False
        return True


@dataclass
class Result:
    """What the clients saw. failed: replies other than 200, connections that ended before theirs."""

    requests: int
    failed: int
    rate: float
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


class Load:
    """The clients, at work from the moment of creation. lines: of texts, or of (second, text) for an open loop."""

    def __init__(self, port: int, connections: int, fields: str, lines: list[str] | list[tuple[float, str]]) -> None:
        timed = isinstance(lines[0], tuple)
        self._input = tempfile.TemporaryFile("w+")
        self._input.writelines(f"{line[0]:.6f}\t{line[1]}\n" if timed else f"{line}\n" for line in lines)
        self._input.seek(0)
        command = [str(BUILD / "tests/bench/clients"), str(port), str(connections), fields] + ["timed"] * timed
        self._process = subprocess.Popen(command, stdin=self._input, stdout=subprocess.PIPE, text=True,
                                         preexec_fn=die_with_parent)

    def result(self) -> Result:
        """Waits for the last answer."""
        found = dict(re.findall(r"(\w+)=([0-9.]+)", self._process.communicate()[0]))
        if "requests" not in found:
            raise RuntimeError("the clients ended without a result")
        times = {name: float(found[name]) for name in ("mean_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms")}
        return Result(int(found["requests"]), int(found["failed"]), float(found["requests_per_second"]), **times)


def arrivals(rate: float, seconds: float, seed: int) -> list[tuple[float, str]]:
    """Poisson arrivals, so many a second on average, of sentences drawn at random:
    (second, text), the same for the same seed."""
    chance, texts, lines = random.Random(seed), sentences(), []
    due = chance.expovariate(rate)
    while due < seconds:
        lines.append((due, chance.choice(texts)))
        due += chance.expovariate(rate)
    return lines


def draws(count: int, seed: int) -> list[str]:
    """At least so many sentences, each as often as the others, in random order: the same for the same seed."""
    texts = sentences()
    lines = texts * -(-count // len(texts))
    random.Random(seed).shuffle(lines)
    return lines


def with_daemon(run: Callable[[Replica], int]) -> int:
    """run() with a daemon of one worker and the shipped model -> its status;
    1, and why on stderr, where something did not happen."""
    daemon = Replica("alignd", "--model", MODEL, "--workers", "1")
    try:
        return run(daemon)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
