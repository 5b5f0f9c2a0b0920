#!/usr/bin/env python3
"""A hundred models of the size of TINY (build/tests/bench/random_model) in one daemon: what they cost while nobody asks
for them, what the first request of each waits for, and what is left of them afterwards.

usage: tests/load/cold_models.py ALIGND RANDOM_MODEL [--models 100] [--load 50] [--shape TINY] [--compute int8]

One model is made and packed (alignd pack); the folders are links to it under other names and languages, so that its
files are in the system's memory, as they are where daemons share them. Prints the time until all are ready, resident
memory while they are cold, with so many loaded, and after these were unloaded; and of the first requests the median and
the longest, beside a second one of each. Beside the clock stands the daemon's processor time, which says more on a
machine that others use.
"""
import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from many_models import Daemon, make_folders

IDLE_S = 60


def ask(daemon: Daemon, model: str, text: str) -> float:
    """Milliseconds by the clock, with a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    began = time.monotonic()
    connection.request("POST", "/translate", json.dumps({"text": text, "model": model, "include": []}))
    response = connection.getresponse()
    assert response.status == 200, response.read()
    response.read()
    return 1000 * (time.monotonic() - began)


def processor_s(daemon: Daemon) -> float:
    user, system = Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")")[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def ask_all(daemon: Daemon, names: list[str], text: str, what: str) -> None:
    before = processor_s(daemon)
    times = [ask(daemon, name, text) for name in names]
    print(f"{what}: {statistics.median(times):.0f} ms (median of {len(times)}), {max(times):.0f} ms at most; "
          f"{1000 * (processor_s(daemon) - before) / len(times):.0f} ms of processor time each")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("alignd")
    parser.add_argument("random_model")
    for name, value in (("models", 100), ("load", 50), ("shape", "TINY"), ("compute", "int8")):
        parser.add_argument(f"--{name}", type=type(value), default=value)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made, top = Path(folder) / "made", Path(folder) / "models"
        subprocess.run([options.random_model, "--shape", options.shape, "--storage", "float16", str(made)], check=True)
        top.mkdir()
        make_folders(options.alignd, top, options.models, made, options.compute, packed_each=1)
        began = time.monotonic()
        daemon = Daemon(options.alignd, top, ["--workers", "2", "--compute", options.compute, "--idle-unload-s",
                                              str(IDLE_S)])
        print(f"{options.models} models of shape {options.shape}, {options.compute}, packed: ready after "
              f"{time.monotonic() - began:.2f} s, "
              f"{processor_s(daemon):.2f} s of processor time; {daemon.resident_kb() / 1024:.0f} MiB resident")
        names, text = [f"m{i:03d}" for i in range(options.load)], (made / "source.txt").read_text().split("\n")[0]
        ask_all(daemon, names, text, "first request of a cold model")
        ask_all(daemon, names, text, "second request")
        print(f"{options.load} loaded: {daemon.resident_kb() / 1024:.0f} MiB resident")
        while daemon.metric("models_bytes") > 0:
            time.sleep(0.5)
        print(f"{options.load} unloaded: {daemon.resident_kb() / 1024:.0f} MiB resident")
        print("load average while it ran: %.1f, processors: %d" % (os.getloadavg()[0], os.cpu_count()))
        daemon.process.terminate()
        return daemon.process.wait()


if __name__ == "__main__":
    sys.exit(main())
