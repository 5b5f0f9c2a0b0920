#!/usr/bin/env python3
"""What a large model costs: tests/bench/model_speed.py MODEL [--target CODE] [--alignd PROGRAM] [--rounds 3]

Input: a model folder, whose source is of the sentences below (tests/t5_models.py makes such a folder for `alignd
import`). Output: how long a daemon needs until it is ready, cold (the system's cache has none of the folder's files)
and warm; the memory that it has resident; tokens a second of one row and of 32, greedily, with one worker on one core,
the encoding counted, by processor time; and, beside them, the bytes that a step of one row has to read, the bytes that
it reads a second, and what a loop reads that does nothing else. Minimum, median and maximum of ROUNDS runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import struct
import subprocess
import time
import urllib.request
from pathlib import Path

import numpy
import serving

WORDS = "the cat is not here i am at home where train station dog and he mine place ladder".split()
LENGTH, ROWS, READ_BYTES = 12, 32, 1 << 30


def spread(values: list[float], digits: int = 1) -> str:
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} - {max(values):.{digits}f})"


def forget(folder: Path) -> None:
    """Takes a folder's files out of the system's cache."""
    for path in folder.iterdir():
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bytes_of_step(model: Path) -> int:
    """Those of the matrices that each step of one row reads: keys and values of cross-attention are made once."""
    with open(model / "model.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return sum(tensor["data_offsets"][1] - tensor["data_offsets"][0] for name, tensor in header.items()
               if (name.startswith("decoder.layers.") and ".cross.key." not in name and ".cross.value." not in name)
               or name.startswith("output."))


def read_rate() -> float:
    """Bytes a second of processor time that a sum of a large array reads."""
    numbers = numpy.ones(READ_BYTES // 8, dtype=numpy.int64)
    began = time.process_time()
    numbers.sum()
    return READ_BYTES / (time.process_time() - began)


class Server:
    """A daemon of one worker on one core."""

    def __init__(self, alignd: Path, model: Path) -> None:
        core, port = max(os.sched_getaffinity(0)), serving.free_port()
        self.address, began = f"127.0.0.1:{port}", time.perf_counter()
        self.process = subprocess.Popen(
            [alignd, "--model", model, "--listen", self.address, "--workers", "1", "--log-level", "error",
             "--step-ms", "2000", "--deadline-ms", "600000"], preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        serving.await_ready(self.process, self.address)
        self.seconds = time.perf_counter() - began

    def worked(self) -> float:
        """Processor seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rate(self, rows: int, first: int, choice: dict) -> float:
        """Tokens a second of processor time. first: of the words, so that no answer is one that has been kept."""
        texts = [" ".join(WORDS[((i + first) * 5 + k * (1 + first % 7)) % len(WORDS)] for k in range(LENGTH))
                 for i in range(rows)]
        body = choice | {"text": texts, "strategy": "greedy", "include": ["tokens"], "split_sentences": False,
                         "verbatim": True}
        request = urllib.request.Request(f"http://{self.address}/translate", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        began = self.worked()
        reply = json.load(urllib.request.urlopen(request, timeout=600))
        tokens = sum(len(sentence["tokens"]) + 1 for translation in reply["translations"]
                     for sentence in translation["sentences"])
        return tokens / (self.worked() - began)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--target", help="the language to ask for, where the model writes several")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    choice = {"target": options.target} if options.target else {}
    for name in ("cold", "warm"):
        seconds, worked = [], []
        for _ in range(options.rounds):
            if name == "cold":
                forget(options.model)
            server = Server(options.alignd, options.model)
            seconds.append(server.seconds)
            worked.append(server.worked())
            server.stop()
        print(f"ready, {name}: {spread(seconds)} s, of processors {spread(worked)} s", flush=True)
    step, server = bytes_of_step(options.model), Server(options.alignd, options.model)
    print("resident: " + ", ".join(f"{name} {serving.memory(server.process, name):.0f} MB"
                                   for name in ("RssAnon", "RssFile")), flush=True)
    for rows in (1, ROWS):
        rates = [server.rate(rows, i + rows, choice) for i in range(options.rounds)]
        print(f"rows {rows}: {spread(rates)} tokens a second of processor time"
              + (f"; a step reads {step / 1e9:.2f} GB, {spread([rate * step / 1e9 for rate in rates])} GB/s; a loop "
                 f"{spread([read_rate() / 1e9 for _ in rates])} GB/s" if rows == 1 else ""), flush=True)
    print(f"resident at most: {serving.memory(server.process, 'VmHWM'):.0f} MB; load {os.getloadavg()[0]:.1f}")
    server.stop()


if __name__ == "__main__":
    main()
