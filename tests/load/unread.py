#!/usr/bin/env python3
"""Reloads while streams are not read: what the daemon keeps in memory.

usage: tests/load/unread.py ALIGND [--model weights/en-fr] [--streams 100]

Each connection asks for a stream of some megabytes with a small buffer for what it receives, and reads nothing. When it is decoded, SIGHUP
reloads the models. Prints the most resident memory above that of the idle daemon, and what the metrics say of sets of models and unread
replies at the end. Exit status 0: the daemon lives, and replies that are not read keep no models: there is one set.
"""
import argparse
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Callable

TEXTS, TOKENS = 12, 200
PATIENCE_S = 60


class Daemon:
    """A daemon with the model, and what it says about itself."""

    def __init__(self, program: str, model: str, log: Path):
        self.process = subprocess.Popen([program, "--model", model, "--listen", "127.0.0.1:0", "--send-timeout-ms", "600000", "--deadline-ms", "600000",
                                         "--queue", "20000"], stderr=log.open("w"))
        while not (found := re.search(r"event=listening address=127\.0\.0\.1:(\d+)", log.read_text())) or "event=ready" not in log.read_text():
            assert self.process.poll() is None, log.read_text()
            time.sleep(0.05)
        self.port = int(found[1])

    def wait(self, what: str, reached: Callable[[], bool]) -> None:
        """Waits until a state is reached."""
        end = time.monotonic() + PATIENCE_S
        while not reached():
            assert time.monotonic() < end, f"waited too long for {what}"
            time.sleep(0.02)

    def metric(self, name: str) -> float:
        """Returns the value of a metric with these labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as reply:
            return float(re.search(rf"^{re.escape(name)} (\S+)$", reply.read().decode(), re.M)[1])

    def tokens(self) -> float:
        """Returns the number of decoded tokens."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as reply:
            return sum(map(float, re.findall(r"^alignd_target_tokens_total\S* (\S+)$", reply.read().decode(), re.M)))

    def resident_mib(self) -> float:
        """Returns the resident memory."""
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())[1]) / 1024


def ask(port: int, number: int) -> socket.socket:
    """Sends a request for a stream, whose reply is never read."""
    body = json.dumps({"text": [f"{number} {i}" + " and a boy plays in the snow" * 8 + "." for i in range(TEXTS)], "stream": True, "strategy": "greedy",
                       "min_length": TOKENS, "max_length": TOKENS, "verbatim": True, "include": ["attention", "alignment"]}).encode()
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return connection


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--model", default="weights/en-fr")
    parser.add_argument("--streams", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as top:
        daemon = Daemon(options.program, options.model, Path(top) / "log")
        try:
            idle = peak = daemon.resident_mib()
            connections = []
            for i in range(options.streams):
                connections.append(ask(daemon.port, i))
                daemon.wait("the decoding", lambda: daemon.metric("alignd_queue_depth") + daemon.metric("alignd_rows_live") == 0
                            and daemon.tokens() >= (i + 1) * TEXTS * TOKENS)
                daemon.process.send_signal(signal.SIGHUP)
                daemon.wait("the reload", lambda: daemon.metric('alignd_models_reloads_total{result="success"}') == i + 1)
                peak = max(peak, daemon.resident_mib())
            sets, replies = daemon.metric("alignd_model_sets"), daemon.metric("alignd_reply_bytes") / 2**20
            unread = daemon.metric("alignd_requests_in_flight") - 1
            print(f"idle {idle:.0f} MiB; at most {peak - idle:.0f} MiB more; at the end {unread:.0f} unread replies of {replies:.1f} MiB "
                  f"and {sets:.0f} sets of models")
            return 0 if daemon.process.poll() is None and sets == 1 else 1
        finally:
            daemon.process.send_signal(signal.SIGTERM)
            daemon.process.send_signal(signal.SIGTERM)
            daemon.process.wait()


if __name__ == "__main__":
    sys.exit(main())
