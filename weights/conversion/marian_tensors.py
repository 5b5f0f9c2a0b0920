"""The tensors of a file of Marian's, by name. Each must be asked for, with its shape; what nobody has asked for is in `left`.

Input: an open file (weights/conversion/npz.py, weights/conversion/marian_binary.py). Output: Parts (weights/conversion/converted.py), read when they are needed.
"""

from __future__ import annotations

from typing import NoReturn

import numpy
from numpy import ndarray

from .converted import BLOCK, ConversionError, Given, Part, transposed
from .marian_binary import Archive as Binary
from .npz import Archive as Npz

SPECIAL_OPTIONS = "special:model.yml"
MULTIPLIER = "_QuantMultA"
DROPPED = {"decoder_c_tt": "an empty array for old programs", "uidx": "Nematus's count of updates", "history_errs": "Nematus's validation errors",
           SPECIAL_OPTIONS: "the options", "none" + MULTIPLIER: "a copy of the multiplier of Wemb"}


def check_finite(values: ndarray, name: str) -> None:
    """By pieces, so that what is made on the way is small beside a large tensor."""
    flat = values.reshape(-1)
    if not all(numpy.isfinite(flat[begin:begin + BLOCK]).all() for begin in range(0, len(flat), BLOCK)):
        raise ConversionError(f"{name}: holds values that are no numbers")


class Tensors:
    """names: other names of the file's tensors, under which they are asked for."""

    def __init__(self, archive: Npz | Binary, names: dict[str, str]) -> None:
        self.archive = archive
        self.stored: dict[str, str] = {}
        for name in archive.entries.keys() - DROPPED.keys():
            if (ours := names.get(name, name)) in self.stored:
                raise ConversionError(f"{name}: is another name of {self.stored[ours]}")
            self.stored[ours] = name
        self.left = set(self.stored)

    def has(self, name: str) -> bool:
        return name in self.stored

    def shape(self, name: str) -> tuple[int, ...]:
        if name not in self.stored:
            raise ConversionError(f"{name}: missing from the file")
        return self.archive.entries[self.stored[name]].shape

    def _take(self, name: str, shape: tuple[int, ...], fits: bool) -> Part:
        stored = self.stored[name]
        entry = self.archive.entries[stored]
        if not fits:
            raise ConversionError(f"{stored}: shape {entry.shape}, expected {shape}")
        if entry.dtype.kind != "f" and not entry.quantised:
            raise ConversionError(f"{stored}: holds {entry.dtype}; only models of floating-point numbers, or of intgemm's int8, can be converted")
        self.left.discard(name)
        return Part(shape, lambda: self._read(stored).reshape(shape))

    def _read(self, stored: str) -> ndarray:
        values = self.archive.read(stored).astype(numpy.float32, copy=False)
        check_finite(values, stored)
        return values

    def matrix(self, name: str, rows: int, columns: int) -> Part:
        return self._take(name, (rows, columns), self.shape(name) == (rows, columns))

    def vector(self, name: str, size: int) -> Part:
        """[size], [1, size] or [size, 1] in the file."""
        return self._take(name, (size,), self.shape(name) in ((size,), (1, size), (size, 1)))

    def weight(self, name: str, inputs: int, outputs: int) -> Part:
        """[in, out] in the file -> [out, in]; as it is, if it is int8."""
        part = transposed(self.matrix(name, inputs, outputs))
        return part._replace(given=self._given(name, name))

    def untransposed(self, name: str, outputs: int, inputs: int) -> Part:
        """[out, in] in the file, too. int8 lies there as if it were not, and Marian multiplies with that."""
        part = self.matrix(name, outputs, inputs)
        if self.archive.entries[self.stored[name]].quantised:
            self.refuse(name, "is int8, which Marian reads in another order than it writes it")
        return part

    def refuse(self, name: str, why: str) -> NoReturn:
        raise ConversionError(f"{self.stored[name]}: {why}")

    def table(self, name: str, rows: int, columns: int, multiplied: bool) -> Part:
        """Embeddings [V, d]; multiplied: they are the output layer's matrix, too."""
        return self.matrix(name, rows, columns)._replace(given=self._given(name, name if multiplied else None))

    def _given(self, name: str, multiplier: str | None) -> Given | None:
        stored = self.stored[name]
        if not self.archive.entries[stored].quantised:
            return None
        values = self._multiplier(multiplier) if multiplier else None
        return Given(lambda: self.archive.quantised(stored), self.archive.scale(stored), values)

    def _multiplier(self, name: str) -> float | None:
        """What the inputs of a product are multiplied with before they are rounded, if the file has it."""
        own = self.stored.get(name + MULTIPLIER)
        if own is None and name == "Wemb" and "none" + MULTIPLIER in self.archive.entries:
            own = "none" + MULTIPLIER
        if own is None:
            return None
        self.left.discard(name + MULTIPLIER)
        values = self.archive.read(own).reshape(-1)
        if values.shape != (1,) or not numpy.isfinite(values[0]) or values[0] <= 0:
            raise ConversionError(f"{own}: must be one positive number")
        return float(numpy.float32(values[0]))
