#!/usr/bin/env python3
"""Reloads every 50 ms while streams are not read: what the daemon keeps in memory.

usage: tests/load/unread.py ALIGND [--model weights/en-fr] [--streams 100] [--pause-ms 50]

Each connection asks for a stream of some megabytes with a small buffer for what it receives, and reads nothing.
Meanwhile SIGHUP orders a reload every 50 ms, whether or not the last one has ended, until all streams are decoded, one
after the other. Prints the most resident memory above that of the idle daemon,
with and without the replies that were unread at that time, and what the metrics say of sets of models. Exit status 0:
the daemon lives; the memory beside unread replies was within BESIDE plus one more generation of the weights; there were
never more than SETS_AT_MOST sets of models and, once all streams are decoded, only one, because replies that are not
read keep none.
"""
import argparse
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Callable

TEXTS, TOKENS = 5, 200
PATIENCE_S = 60
# What decoding takes, and what malloc keeps, beside replies: six generations of these weights; a hundred could be.
BESIDE_MIB = 128
# In service, being loaded, and listed by a request that has not ended: a list keeps no weights.
SETS_AT_MOST = 3
SETS, MODELS, REPLIES = "alignd_model_sets", "alignd_models_bytes", "alignd_reply_bytes"
RELOADS = 'alignd_models_reloads_total{result="success"}'


class Daemon:
    """A daemon with the model, and what it says about itself."""

    def __init__(self, program: str, model: str, log: Path):
        self.process = subprocess.Popen([program, "--model", model, "--listen", "127.0.0.1:0",
                                         "--send-timeout-ms", "600000", "--deadline-ms", "600000", "--queue", "20000",
                                         "--reply-memory", "1G"],
                                        stderr=log.open("w"))
        while (not (found := re.search(r"event=listening address=127\.0\.0\.1:(\d+)", log.read_text()))
               or "event=ready" not in log.read_text()):
            assert self.process.poll() is None, log.read_text()
            time.sleep(0.05)
        self.port = int(found[1])

    def wait(self, what: str, reached: Callable[[], bool]) -> None:
        """Waits until a state is reached."""
        end = time.monotonic() + PATIENCE_S
        while not reached():
            assert time.monotonic() < end, f"waited too long for {what}"
            time.sleep(0.02)

    def metrics(self) -> dict[str, float]:
        """Returns the value of each metric with its labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as reply:
            return {name: float(value)
                    for name, value in re.findall(r"^(\w+(?:\{[^}]*\})?) (\S+)$", reply.read().decode(), re.M)}

    def resident_mib(self) -> float:
        """Returns the resident memory."""
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())[1]) / 1024


class Reloads(threading.Thread):
    """Orders a reload again and again, and notes the most resident memory."""

    def __init__(self, daemon: Daemon, pause_s: float):
        super().__init__(daemon=True)
        self.alignd, self.pause_s, self.over, self.peak_mib, self.ordered = daemon, pause_s, threading.Event(), 0.0, 0
        self.start()

    def run(self) -> None:
        while not self.over.wait(self.pause_s):
            self.alignd.process.send_signal(signal.SIGHUP)
            self.ordered += 1
            self.peak_mib = max(self.peak_mib, self.alignd.resident_mib())


def ask(port: int, number: int) -> socket.socket:
    """Sends a request for a stream, whose reply is never read."""
    body = json.dumps({"text": [f"{number} {i}" + " and a boy plays in the snow" * 16 + "." for i in range(TEXTS)],
                       "stream": True, "strategy": "greedy", "min_length": TOKENS, "max_length": TOKENS,
                       "verbatim": True, "include": ["attention", "alignment"]}).encode()
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body) + body)
    return connection


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--model", default="weights/en-fr")
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--pause-ms", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as top:
        daemon = Daemon(options.program, options.model, Path(top) / "log")
        try:
            idle, weights = daemon.resident_mib(), daemon.metrics()[MODELS] / 2**20
            reloads, most_sets, most_beside, connections = Reloads(daemon, options.pause_ms / 1000), 0.0, 0.0, []

            def decoded() -> bool:
                nonlocal most_sets, most_beside
                metrics, resident = daemon.metrics(), daemon.resident_mib()
                most_beside = max(most_beside, resident - idle - metrics[REPLIES] / 2**20)
                most_sets = max(most_sets, metrics[SETS])
                tokens = sum(value for name, value in metrics.items() if name.startswith("alignd_target_tokens_total"))
                return (metrics["alignd_queue_depth"] + metrics["alignd_rows_live"] == 0
                        and tokens >= len(connections) * TEXTS * TOKENS)
            for i in range(options.streams):
                connections.append(ask(daemon.port, i))
                daemon.wait("the decoding", decoded)
            reloads.over.set()
            reloads.join()
            daemon.wait("the last reload", lambda: daemon.metrics()[SETS] == 1)
            metrics = daemon.metrics()
            replies, unread, more = (metrics[REPLIES] / 2**20, metrics["alignd_requests_in_flight"] - 1,
                                     reloads.peak_mib - idle)
            print(f"idle {idle:.0f} MiB, weights {weights:.0f} MiB; {reloads.ordered} reloads ordered, "
                  f"{metrics[RELOADS]:.0f} made; at most {more:.0f} MiB more, "
                  f"{most_beside:.0f} beside replies, and {most_sets:.0f} sets of models; "
                  f"at the end {unread:.0f} unread replies of {replies:.1f} MiB and one set")
            bound = weights + BESIDE_MIB
            if most_beside > bound:
                print(f"missed: at most {bound:.0f} MiB beside replies are allowed")
            if most_sets > SETS_AT_MOST:
                print(f"missed: at most {SETS_AT_MOST} sets of models are allowed")
            return 0 if daemon.process.poll() is None and most_sets <= SETS_AT_MOST and most_beside <= bound else 1
        finally:
            daemon.process.send_signal(signal.SIGTERM)
            daemon.process.send_signal(signal.SIGTERM)
            daemon.process.wait()


if __name__ == "__main__":
    sys.exit(main())
