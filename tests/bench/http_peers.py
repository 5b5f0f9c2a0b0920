#!/usr/bin/env python3
"""alignd over HTTP beside another server over a WebSocket: tests/bench/http_peers.py --model FOLDER --source FILE
[--peer "marian-server ... --port {port}"] [--build build] [--connections 1,16,64,256] [--requests 2000] [--workers 2]
[--rounds 3] [-- OPTION...]

--source has one sentence per line. Each server starts anew for each round, and all connections send a tenth of the
requests once as a warm-up. A client program (build/tests/bench/clients, on the same processors as the servers) sends
each sentence in a request of its own over CONNECTIONS connections, --requests in total, or a quarter of that over one
connection. Options after -- go to alignd, besides --workers.

Prints for each server and number of connections the requests per second (median of the rounds, minimum and maximum),
the medians of the rounds' p50 and p99 in ms, and the resident memory (MB of 10^6 bytes) after the requests, its
maximum, and IDLE_S later; and the sentences per second of `alignd translate` with the same sentences."""

from __future__ import annotations

import argparse
import re
import shlex
import socket
import statistics
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, contextmanager

import serving

IDLE_S = 3  # alignd returns freed memory within two seconds of its last request


def listens(port: int) -> bool:
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def started(command: list[str], port: int, ready: Callable[[subprocess.Popen], None]):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ready(process)
        yield process
    finally:
        process.terminate()
        process.wait()


def await_port(process: subprocess.Popen, port: int) -> None:
    while not listens(port):
        if process.poll() is not None:
            raise SystemExit("the peer ended")
        time.sleep(0.05)


def load(build: str, port: int, connections: int, fields: str, lines: list[str]) -> tuple[float, float, float]:
    """Returns requests per second, p50 and p99 in ms."""
    out = subprocess.run([f"{build}/tests/bench/clients", str(port), str(connections), fields],
                         input="\n".join(lines) + "\n", text=True, capture_output=True, check=True).stdout
    return tuple(float(re.search(rf"{name}=([\d.]+)", out).group(1))
                 for name in ("requests_per_second", "p50_ms", "p99_ms"))


def cycle(lines: list[str], count: int) -> list[str]:
    return [lines[i % len(lines)] for i in range(count)]


def offline(args: argparse.Namespace, lines: list[str]) -> float:
    command = [f"{args.build}/alignd", "translate", "--model", args.model, "--strategy", "greedy", "--workers",
               str(args.workers), "--stats", *args.options]
    error = subprocess.run(command, input="\n".join(lines) + "\n", text=True, capture_output=True, check=True).stderr
    return len(lines) / float(re.search(r"seconds=([\d.]+)", error).group(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--peer")
    parser.add_argument("--build", default="build")
    parser.add_argument("--connections", default="1,16,64,256")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    with open(args.source, encoding="utf-8") as file:
        lines = cycle(file.read().splitlines(), args.requests)
    counts = [int(count) for count in args.connections.split(",")]
    results: dict[tuple[str, int], list[tuple[float, ...]]] = {}
    batch = []
    for _ in range(args.rounds):
        batch.append(offline(args, lines))
        for count in counts:
            some = lines if count > 1 else lines[: max(1, len(lines) // 4)]
            port = serving.free_port()
            address = f"127.0.0.1:{port}"
            alignd = [f"{args.build}/alignd", "--model", args.model, "--listen", address, "--workers",
                      str(args.workers), *args.options]
            servers = [("alignd", alignd, '"strategy":"greedy","include":[]',
                        lambda process: serving.await_ready(process, address))]
            if args.peer:
                servers.append(("peer", shlex.split(args.peer.format(port=port)), "websocket",
                                lambda process: await_port(process, port)))
            for name, command, fields, ready in servers:
                with started(command, port, ready) as process:
                    load(args.build, port, count, fields, some[: max(count, len(some) // 10)])
                    measured = load(args.build, port, count, fields, some)
                    resident = serving.memory(process, "VmRSS"), serving.memory(process, "VmHWM")
                    time.sleep(IDLE_S)
                    results.setdefault((name, count),
                                       []).append((*measured, *resident, serving.memory(process, "VmRSS")))
    print(
        f"alignd translate: {statistics.median(batch):.1f} ({min(batch):.1f} - {max(batch):.1f}) sentences a second\n")
    print("| connections | server | requests a second | p50 ms | p99 ms | resident MB | at most | idle "
          "|\n|---|---|---|---|---|---|---|---|")
    for (name, count), rounds in sorted(results.items(), key=lambda item: (item[0][1], item[0][0])):
        rates, *others = (list(column) for column in zip(*rounds))
        p50, p99, *resident = (statistics.median(column) for column in others)
        print(f"| {count} | {name} | {statistics.median(rates):.1f} ({min(rates):.1f} - {max(rates):.1f}) | {p50:.2f} "
              f"| {p99:.2f} | "
              + " | ".join(f"{megabytes:.0f}" for megabytes in resident) + " |")


if __name__ == "__main__":
    main()
