"""How many cores the daemon's locks could feed: python3 tests/bench/locks.py BUILD SOURCE [OPTION...]
(make bench-locks)

Sends each line of SOURCE as a request of its own, BENCH_REPEAT (100) times, over BENCH_CONNECTIONS (64) connections, to
a daemon into which locks.c is preloaded, and prints what one request costs: processor time, of all threads and of
HTTP's, and for each lock, by the place that was the first to lock it:

  locked    how often
  waits     share of these for which another thread held it
  held, us  how long
  cores     processor time of a request (of the whole daemon, in this run) by the time that the lock is held: with so
            many cores at work it would be held all the time

Twice the requests are sent to a second daemon, and what the first run took is subtracted: it is what starting takes.
BENCH_FIELDS: what requests ask besides their text."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from serving import await_ready, free_port

CONNECTIONS = int(os.environ.get("BENCH_CONNECTIONS") or 64)
LEAST_HELD_US = 0.02
REPEAT = int(os.environ.get("BENCH_REPEAT") or 100)
FIELDS = os.environ.get("BENCH_FIELDS") or '"strategy":"greedy"'
COLUMNS = "mutexes", "locked", "contended", "held", "waited", "most"


def processor_s(process: subprocess.Popen, threads: str) -> float:
    """Processor time of the threads whose name begins so, in seconds."""
    ticks = 0
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
        if (task / "comm").read_text().startswith(threads):
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(build: Path, options: Iterable[str], lines: str) -> tuple[dict[str, list[float]], float, float]:
    """Returns the table of locks.c by place, and the processor time in seconds, of all threads and of HTTP's."""
    with TemporaryDirectory() as folder:
        port, table, preloaded = free_port(), Path(folder) / "locks", (build / "tests/bench/locks.so").resolve()
        process = subprocess.Popen(
            [build / "alignd", "--listen", f"127.0.0.1:{port}", *options],
            env={**os.environ, "LD_PRELOAD": str(preloaded), "LOCKS_OUTPUT": str(table)},
            stderr=subprocess.DEVNULL,
        )
        await_ready(process, f"127.0.0.1:{port}")
        result = subprocess.run(
            [build / "tests/bench/clients", str(port), str(CONNECTIONS), FIELDS],
            input=lines, capture_output=True, text=True, check=True,
        )
        if " failed=0 " not in result.stdout:
            sys.exit(f"requests failed: {result.stdout}{result.stderr}")
        all_s, http_s = processor_s(process, ""), processor_s(process, "MHD-")
        process.terminate()
        process.wait()
        rows: dict[str, list[float]] = {}
        for row in table.read_text().splitlines():
            file, offset, *numbers = row.split()
            rows[f"{file} {offset}"] = [float(number) for number in numbers]
    return rows, all_s, http_s


def name(place: str) -> str:
    """The function and line of a place, or the library's name."""
    file, offset = place.split()
    if "/alignd" not in file:
        return Path(file).name
    command = ["addr2line", "-f", "-e", file, hex(int(offset, 16) - 1)]
    said = subprocess.run(command, capture_output=True, text=True).stdout.split()
    folder = os.getcwd() + "/"
    return f"{said[1].removeprefix(folder).rsplit(':', 1)[0]}: {said[0]}"


def main() -> None:
    build, source, *options = sys.argv[1:]
    lines = Path(source).read_text() * REPEAT
    requests = lines.count("\n")
    once, once_s, http_once_s = measure(Path(build), options, lines)
    twice, twice_s, http_twice_s = measure(Path(build), options, 2 * lines)
    request_us, http_us = 1e6 * (twice_s - once_s) / requests, 1e6 * (http_twice_s - http_once_s) / requests
    print(f"{requests} requests, {request_us:.0f} us of processors each, {http_us:.0f} of HTTP's threads\n")
    print(f"| {'lock':60} | mutexes | locked | waits | held, us | cores |\n|---|---|---|---|---|---|")
    table = []
    for place, after in twice.items():
        before = once.get(place, [0.0] * len(COLUMNS))
        row = dict(zip(COLUMNS, (a - b for a, b in zip(after, before))))
        held_us = row["most"] / requests / 1000
        if row["locked"] > 0 and held_us >= LEAST_HELD_US:
            waits = max(row["contended"], 0) / row["locked"]
            table.append((held_us, place, int(after[0]), row["locked"] / requests, waits))
    for held_us, place, mutexes, locked, waits in sorted(table, reverse=True):
        numbers = f"{mutexes} | {locked:.1f} | {100 * waits:.1f}% | {held_us:.2f} | {request_us / held_us:.0f}"
        print(f"| {name(place):60} | {numbers} |")


if __name__ == "__main__":
    main()
