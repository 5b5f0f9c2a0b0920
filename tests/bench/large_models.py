"""Models of true size beside CTranslate2: python3 tests/bench/large_models.py PACKAGE FOLDER [--translator
ct2-translator] [--alignd build/alignd] [--model NAME ...] [--rounds 3]

Input: PACKAGE and the translator as of beside_ctranslate2.py. FOLDER keeps the models between runs: 3.2 GB and 5.9 GB
for MADLAD-400's, which needs 14 GB of memory once, to be made of random weights.
Output: the import's processor time and memory; then for each model and number of rows target tokens a second of
processor time, the larger of two runs' differences being what counts, so that loading does not, and the most memory
that was resident. int8, one thread, greedily, 20 words in and 20 tokens out; the programs take turns.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
from dataclasses import replace
from pathlib import Path

import numpy
from beside_ctranslate2 import Family, Shape, families, write

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
from weights.command import CommandError, run_command  # noqa: E402

# Name: the family, its sizes, other arguments of both sides; rows with the sentences of the short and the long run.
MODELS = {
    "quickmt": ("quickmt", Shape(1024, 16, 4096, (8, 2), 32000), {}, {32: (32, 128), 1: (2, 12)}),
    "mbart-50": ("mBART-50", Shape(1024, 16, 4096, (12, 12), 250054), {}, {8: (8, 72), 1: (1, 9)}),
    "madlad400-3b": ("MADLAD-400", Shape(1024, 16, 8192, (32, 32), 256000), {"head_dim": 128},
                     {8: (8, 40), 1: (1, 3)}),
}
TOKENS, REPEATED = 20, 1 << 24


class Repeated:
    """Random numbers that come again after REPEATED, each time from another one on: billions in a minute."""

    numbers = None
    at = 0

    def normal(self, centre: float, deviation: float, dims: tuple[int, ...]) -> numpy.ndarray:
        if self.numbers is None:
            self.numbers = numpy.random.default_rng(8).standard_normal(REPEATED, dtype=numpy.float32)
        self.at = (self.at * 31 + 12345677) % REPEATED
        count = int(numpy.prod(dims))
        numbers = numpy.resize(numpy.roll(self.numbers, -self.at), count)
        return (centre + deviation * numbers).reshape(dims)


def family_of(name: str) -> Family:
    from ctranslate2.specs import common_spec
    kind, shape, both, _ = MODELS[name]
    found = next(family for family in families(common_spec, shape) if family.name == kind)
    return replace(found, both={**found.both, **both}, endless=True)


def run(command: list[object], source: Path | None = None) -> tuple[float, int, str]:
    """Seconds of processor time, the most MiB that were resident, and what was printed."""
    with open(source or os.devnull, "rb") as given:
        read, written = os.pipe()
        process = os.posix_spawnp(str(command[0]), [str(word) for word in command], os.environ,
                                  file_actions=[(os.POSIX_SPAWN_DUP2, given.fileno(), 0),
                                                (os.POSIX_SPAWN_DUP2, written, 1)])
        os.close(written)
        with open(read, encoding="utf-8") as printed:
            text = printed.read()
        _, status, used = os.wait4(process, 0)
    if status != 0:
        raise CommandError(f"{command[0]}: failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024, text


def sources(family: Family, folder: Path, count: int) -> tuple[Path, Path, Path]:
    """The sentences as alignd reads them and as CTranslate2 does, and the beginnings of its translations."""
    random = numpy.random.default_rng(1)
    texts = [" ".join(f"w{i}" for i in random.integers(0, 30000, TOKENS)) for _ in range(count)]
    before, behind = f"{family.label} " if family.label else "", " </s>" if family.ends else ""
    if family.languages:
        before = family.token("en") + " "
    paths = folder / "ours", folder / "theirs", folder / "prefix"
    paths[0].write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    paths[1].write_text("".join(f"{before}{text}{behind}\n" for text in texts), encoding="utf-8")
    paths[2].write_text((family.token("fr") + "\n") * count if family.languages else "", encoding="utf-8")
    return paths


def commands(options: argparse.Namespace, family: Family, folder: Path, rows: int, count: int) -> list[tuple]:
    ours, theirs, prefix = sources(family, folder, count)
    chosen = (["--from", "en", "--to", "fr"] if family.languages else ["--variant", "fr"] if family.label else [])
    return [([options.alignd, "translate", "--model", folder / "models" / "m", "--compute", "int8", "--workers", 1,
              "--rows", rows, "--strategy", "greedy", "--keep-unknowns", *chosen], ours),
            ([options.translator, "--model", folder / "in", "--src", theirs, "--beam_size", 1, "--batch_size", rows,
              "--inter_threads", 1, "--intra_threads", 1, "--compute_type", "int8", "--min_decoding_length", TOKENS,
              "--max_decoding_length", TOKENS, *(["--tgt", prefix] if family.languages else [])], None)]


def measure(options: argparse.Namespace, family: Family, folder: Path, rows: int, counts: tuple[int, int]) -> None:
    rates: tuple[list[float], list[float]] = ([], [])
    most = [0, 0]
    for _ in range(options.rounds):
        runs = [[run(*command) for command in commands(options, family, folder, rows, count)] for count in counts]
        for who in range(2):
            (less, _, few), (more, memory, many) = runs[0][who], runs[1][who]
            rates[who].append((len(many.split()) - len(few.split())) / (more - less))
            most[who] = max(most[who], memory)
    shown = [f"{statistics.median(rate):.1f} ({min(rate):.1f} - {max(rate):.1f})" for rate in rates]
    ratio = statistics.median(ours / theirs for ours, theirs in zip(*rates, strict=True))
    print(f"| {folder.name} | {rows} | {shown[0]} | {shown[1]} | {ratio:.2f} | {most[0]} | {most[1]} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=Path, help="the folder of CTranslate2's Python package")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--translator", default="ct2-translator")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    parser.add_argument("--model", action="append", choices=MODELS, help="only this one; may be repeated")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sys.path.insert(0, str(options.package.parent))
    print("| model | rows | alignd | CTranslate2 | ratio | MiB | MiB |\n|---|---|---|---|---|---|---|")
    for name in options.model or MODELS:
        family, folder = family_of(name), options.folder / name
        if not (folder / "in" / "model.bin").exists():
            folder.mkdir(parents=True, exist_ok=True)
            # by a process of its own, since what this one has counts among the memory of those that it starts
            maker = multiprocessing.Process(target=write, args=(family, folder / "in", "int8", Repeated()))
            maker.start()
            maker.join()
            if maker.exitcode != 0:
                raise CommandError(f"{folder}: cannot be made")
        if not (folder / "models" / "m").exists():
            pair = ["mul", "mul"] if family.languages or family.label else ["en", "fr"]
            used, memory, _ = run([options.alignd, "import", folder / "in", "--into", folder / "models", "--name", "m",
                                   "--from", pair[0], "--to", pair[1], "--storage", "int8", "--max-target-ratio", 1])
            print(f"{name}: the import took {used:.1f} s of processor time and {memory} MiB", flush=True)
        for rows, counts in MODELS[name][3].items():
            measure(options, family, folder, rows, counts)


if __name__ == "__main__":
    run_command(main)
