#!/usr/bin/env python3
"""What the library costs and how fast it is from Python: tests/bench/library.py FILE [--build build] [--model
weights/en-fr] [--opens 10000]

FILE: texts of one sentence, one a line, of which the first 1,000 are translated. Prints
- the library's size as it is shipped, the names that it exports, and the libraries that it is linked to;
- the resident memory after some opens and closes of an engine, with a translation each, and after --opens of them;
- sentences a second of a list of 1,000 texts by Translator.translate, and of `alignd translate` with the same lines,
  without loading, in turn, two workers each: the medians of three, the least and the greatest.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXTS, WORKERS, ROUNDS, FIRST_OPENS = 1000, 2, 3, 100
SMALL = "tests/golden/conditional-additive-gru"  # a model that is opened within milliseconds


def output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def show_file(library: Path) -> None:
    with tempfile.NamedTemporaryFile() as copy:
        output("strip", "--strip-unneeded", "-o", copy.name, library)
        size = Path(copy.name).stat().st_size
    names = re.findall(r" T (\w+)@@", output("nm", "-D", "--defined-only", library))
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", library))
    linked = re.findall(r"=> (/\S+)", output("ldd", library))
    print(f"{library.name}: {size / 1e6:.2f} MB, exports {len(names)} names: {' '.join(names)}")
    print(f"needs {' '.join(needed)}; with what these need, {len(linked)} libraries (ldd)")


def resident_kb() -> int:
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def show_opens(alignd, opens: int) -> None:
    began, before = time.perf_counter(), 0
    for done in range(1, opens + 1):
        with alignd.Translator(SMALL, workers=1) as translator:
            translator.translate("a b")
        if done == FIRST_OPENS:
            before = resident_kb()
    print(f"resident after {FIRST_OPENS} opens and closes {before} kB, after {opens} {resident_kb()} kB; "
          f"{(time.perf_counter() - began) / opens * 1e3:.1f} ms each")


def spread(rates: list[float]) -> str:
    return f"{statistics.median(rates):.0f} ({min(rates):.0f} - {max(rates):.0f}) sentences/s"


def show_speed(alignd, program: Path, model: str, texts: list[str]) -> None:
    lines = "".join(f"{text}\n" for text in texts)
    command = [program, "translate", "--model", model, "--workers", str(WORKERS), "--stats"]
    own, others = [], []
    with alignd.Translator(model, workers=WORKERS) as translator:
        for _ in range(ROUNDS + 1):  # the first one is not counted
            began = time.perf_counter()
            found = translator.translate(texts, split_sentences=False)  # as the program reads lines
            own.append(len(found) / (time.perf_counter() - began))
            done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
            others.append(len(texts) / float(re.search(r"seconds=([\d.]+)", done.stderr)[1]))
            same = sum(one.text == line for one, line in zip(found, done.stdout.splitlines()))
    own, others = own[1:], others[1:]
    print(f"Python {spread(own)}, alignd translate {spread(others)}: "
          f"{statistics.median(own) / statistics.median(others):.3f}; {same} of {len(texts)} translations the same")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--model", default="weights/en-fr")
    parser.add_argument("--opens", type=int, default=10000)
    arguments = parser.parse_args()
    library = arguments.build / "libalignd.so.1"
    os.environ["ALIGND_LIBRARY"] = str(library.resolve())
    sys.path.insert(0, str(ROOT / "server/library/python"))
    import alignd

    show_file(library)
    texts = arguments.file.read_text(encoding="utf-8").splitlines()[:TEXTS]
    show_opens(alignd, arguments.opens)
    show_speed(alignd, arguments.build / "alignd", arguments.model, texts)


if __name__ == "__main__":
    main()
