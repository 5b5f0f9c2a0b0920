"""int8 without stored activation scales: alignd's scale for each row against Marian's for each batch:
python3 -m weights.evaluation.compare_scales --data DIR

Input: DIR with student-ssru, a Marian transformer with an SSRU decoder and post-norm blocks, in the layout that
weights.compare_marian reads: model.intgemm8.bin, joint.spm, input.ids.txt, reference.pieces.txt. alignd imports it and
keeps the integer weights. NumPy computes the model along the reference's words (teacher forcing), with integer
products: the inputs are scaled by 127 over the maximum of the row, or of all rows of the product in batches of several
sizes, and rounded. Output: a table with the difference of the words' log-probabilities from those without rounding of
inputs, and how often the likeliest word changes.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy
import sentencepiece
from numpy import ndarray

from ..command import run_command
from ..model import safetensors
from ..model.storage import SCALE

EPSILON = 1e-6
BATCHES = (1, 8, 32, 64)
SENTENCES = 192


class Rounding(NamedTuple):
    """How the inputs of products are rounded: kind "none", "row" or "batch"."""

    name: str
    kind: str
    batch: int = SENTENCES


class Student:
    """The model. Matrices [out, in] are integers with one scale each."""

    def __init__(self, folder: Path, heads: int) -> None:
        stored, _ = safetensors.read(folder / "model.safetensors")
        self.vectors = {name: tensor for name, tensor in stored.items() if tensor.dtype == numpy.float32}
        self.matrices = {name: (tensor.astype(numpy.float32), stored[name + SCALE][0])
                         for name, tensor in stored.items() if tensor.dtype == numpy.int8}
        whole, scale = self.matrices["decoder.embedding"]
        self.table = whole * scale
        self.size, self.heads = self.table.shape[1], heads
        self.depths = [sum(f"{side}.layers.{i}.filter.input.weight" in self.matrices for i in range(16))
                       for side in ("encoder", "decoder")]

    def product(self, x: ndarray, name: str, rounding: Rounding, bias: str | None = None) -> ndarray:
        """x [rows, in]. bias: the name of the bias; by default the weight's own, if any."""
        weight = name if name in self.matrices else f"{name}.weight"
        bias = bias or f"{name}.bias"
        whole, scale = self.matrices[weight]
        if rounding.kind != "none":
            most = numpy.abs(x).max(axis=1, keepdims=True) if rounding.kind == "row" else numpy.abs(x).max()
            multiplier = 127 / numpy.maximum(most, 1e-30)
            y = numpy.rint(x * multiplier) @ whole.T * (scale / multiplier)
        else:
            y = x @ whole.T * scale
        return y + self.vectors[bias] if bias in self.vectors else y

    def norm(self, x: ndarray, name: str) -> ndarray:
        centred = x - x.mean(axis=1, keepdims=True)
        return self.vectors[f"{name}.norm.gain"] * centred / numpy.sqrt((centred ** 2).mean(axis=1, keepdims=True)
                                                                        + EPSILON) + self.vectors[f"{name}.norm.shift"]

    def positions(self, count: int) -> ndarray:
        half = self.size // 2
        angles = numpy.arange(count)[:, None] * numpy.exp(-numpy.arange(half) * numpy.log(10000) / (half - 1))
        return numpy.hstack([numpy.sin(angles), numpy.cos(angles)])

    def attend(self, q: ndarray, k: ndarray, v: ndarray) -> ndarray:
        """Attention of one sentence: q [n, d], k, v [m, d]."""
        split = lambda x: x.reshape(len(x), self.heads, -1).transpose(1, 0, 2)
        scores = split(q) @ split(k).transpose(0, 2, 1) / numpy.sqrt(self.size / self.heads)
        weights = numpy.exp(scores - scores.max(axis=2, keepdims=True))
        return (weights / weights.sum(axis=2, keepdims=True) @ split(v)).transpose(1, 0, 2).reshape(len(q), -1)

    def heads_of(self, x: ndarray, name: str, parts: tuple[str, ...], rounding: Rounding) -> list[ndarray]:
        return [self.product(x, f"{name}.{part}", rounding) for part in parts]

    def filter(self, x: ndarray, name: str, rounding: Rounding) -> ndarray:
        middle = numpy.maximum(self.product(x, f"{name}.filter.input", rounding), 0)
        return self.norm(x + self.product(middle, f"{name}.filter.output", rounding), f"{name}.filter")

    def encode(self, sources: list[list[int]], rounding: Rounding) -> list[ndarray]:
        cuts = numpy.cumsum([len(source) for source in sources])[:-1]
        x = numpy.vstack([numpy.sqrt(self.size) * self.table[source] + self.positions(len(source))
                          for source in sources])
        for i in range(self.depths[0]):
            name = f"encoder.layers.{i}.self"
            parts = [numpy.split(part, cuts) for part in self.heads_of(x, name, ("query", "key", "value"), rounding)]
            context = numpy.vstack([self.attend(*part) for part in zip(*parts)])
            x = self.norm(x + self.product(context, f"{name}.output", rounding), name)
            x = self.filter(x, f"encoder.layers.{i}", rounding)
        return numpy.split(x, cuts)

    def decode(self, memories: list[ndarray], targets: list[list[int]], rounding: Rounding) -> list[ndarray]:
        """Returns for each sentence the log-probabilities [steps, V]."""
        layers = range(self.depths[1])
        cuts = numpy.cumsum([len(memory) for memory in memories])[:-1]
        seen = {i: [numpy.split(part, cuts)
                    for part in self.heads_of(numpy.vstack(memories), f"decoder.layers.{i}.cross", ("key", "value"),
                                              rounding)] for i in layers}
        cells = {i: numpy.zeros((len(targets), self.size)) for i in layers}
        found: list[list[ndarray]] = [[] for _ in targets]
        for step in range(max(map(len, targets))):
            live = [row for row, target in enumerate(targets) if step < len(target)]
            x = numpy.vstack([numpy.sqrt(self.size) * self.table[targets[row][step - 1]] if step
                              else numpy.zeros(self.size) for row in live])
            x = x + self.positions(step + 1)[step]
            for i in layers:
                x = self._layer(x, i, live, cells[i], seen[i], rounding)
            logits = self.product(x, "decoder.embedding", rounding, "output.bias")
            logits -= logits.max(axis=1, keepdims=True)
            logits -= numpy.log(numpy.exp(logits).sum(axis=1, keepdims=True))
            for row, values in zip(live, logits):
                found[row].append(values)
        return [numpy.vstack(rows) for rows in found]

    def _layer(self, x: ndarray, i: int, live: list[int], cells: ndarray, seen: list[list[ndarray]],
               rounding: Rounding) -> ndarray:
        name = f"decoder.layers.{i}"
        gate = 1 / (1 + numpy.exp(-self.product(x, f"{name}.ssru.forget", rounding)))
        cells[live] = gate * cells[live] + (1 - gate) * self.product(x, f"{name}.ssru.candidate", rounding)
        x = self.norm(x + numpy.maximum(cells[live], 0), f"{name}.ssru")
        (query,) = self.heads_of(x, f"{name}.cross", ("query",), rounding)
        context = numpy.vstack([self.attend(query[[n]], seen[0][row], seen[1][row]) for n, row in enumerate(live)])
        x = self.norm(x + self.product(context, f"{name}.cross.output", rounding), f"{name}.cross")
        return self.filter(x, name, rounding)

    def score(self, sources: list[list[int]], targets: list[list[int]], rounding: Rounding) -> list[ndarray]:
        found = []
        for begin in range(0, len(sources), rounding.batch):
            part = slice(begin, begin + rounding.batch)
            found += self.decode(self.encode(sources[part], rounding), targets[part], rounding)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder with student-ssru")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    arguments = parser.parse_args()
    folder = arguments.data / "student-ssru"
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "joint.spm"))
    ids = {pieces.id_to_piece(i): i for i in range(pieces.get_piece_size())}
    sources = [[*map(int, line.split()), 0] for line in (folder / "input.ids.txt").read_text().split("\n")[:SENTENCES]]
    targets = [[*(ids.get(piece, 1) for piece in line.split()), 0]
               for line in (folder / "reference.pieces.txt").read_text(encoding="utf-8").split("\n")[:SENTENCES]]
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([arguments.alignd, "import", folder / "model.intgemm8.bin", "--into", work, "--name", "student"],
                       check=True, stdout=subprocess.DEVNULL)
        model = Student(Path(work) / "student", 8)
    exact = model.score(sources, targets, Rounding("", "none"))
    print(f"{sum(map(len, targets)):,} words of {len(targets)} sentences\n\n| scale of | log-probability of a word: "
          f"mean difference | 99% | likeliest word differs |\n|---|---|---|---|")
    for rounding in (Rounding("each row (alignd)", "row"),
                     *(Rounding(f"each batch of {size} (Marian)", "batch", size) for size in BATCHES)):
        found = model.score(sources, targets, rounding)
        far = numpy.concatenate([numpy.abs(a[range(len(t)), t] - b[range(len(t)), t])
                                 for a, b, t in zip(found, exact, targets)])
        other = sum(int((a.argmax(axis=1) != b.argmax(axis=1)).sum()) for a, b in zip(found, exact))
        print(f"| {rounding.name} | {far.mean():.4f} | {numpy.quantile(far, 0.99):.3f} | {other} |", flush=True)


if __name__ == "__main__":
    run_command(main)
