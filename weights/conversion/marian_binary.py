"""Marian's .bin files, of both of its lines of development, one tensor at a time.

Layout, little-endian: u64 version 1, u64 number of items N, N times four u64 (length of the name with its NUL, type, number of dimensions, bytes of
data), the names, the dimensions as i32, a u64 that says how many bytes of padding follow, and the data in the order of the items, which fills the
file. Data of tensors are padded: the next one begins `bytes of data` further on, whatever the shape.

An intgemm8 tensor [in, out] is int8 [out, in], already transposed, and one float32 behind it, the multiplier m: w = q / m. Embeddings (names that
contain Wemb) are not transposed. Everything is checked before it is used; a FormatError names the tensor.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import NamedTuple

import numpy
from numpy import ndarray

from .npz import FormatError

VERSION, ENCRYPTED = 1, 2
MAX_DIMENSIONS = 8
TYPES = {0x0101: "i1", 0x0102: "<i2", 0x0104: "<i4", 0x0108: "<i8", 0x0201: "u1", 0x0202: "<u2", 0x0204: "<u4", 0x0208: "<u8",
         0x0402: "<f2", 0x0404: "<f4", 0x0408: "<f8"}
INTGEMM8 = (0x4101, 0x10001)
# Why these cannot be read: they are arranged for one processor, or of 16 bits.
REFUSED = {0x0802: "packed16", 0x1801: "packed8avx2", 0x2801: "packed8avx512", 0x4102: "intgemm16", 0x10002: "intgemm16", 0x18001: "intgemm8ssse3",
           0x11001: "intgemm8avx2", 0x12001: "intgemm8avx512", 0x13001: "intgemm8avx512vnni", 0x14002: "intgemm16sse2", 0x11002: "intgemm16avx2",
           0x12002: "intgemm16avx512"}


class Entry(NamedTuple):
    """A tensor, and where its numbers begin in the file; length: bytes, padding included."""

    shape: tuple[int, ...]
    dtype: numpy.dtype
    begin: int
    length: int
    quantised: bool

    @property
    def count(self) -> int:
        return math.prod(self.shape)


class _Cursor:
    """Reads the file from its beginning, never past its end."""

    def __init__(self, path: Path) -> None:
        self.path, self.size, self.file = path, path.stat().st_size, path.open("rb")

    def take(self, count: int, what: str) -> bytes:
        if count > self.size - self.file.tell():
            raise FormatError(f"{self.path}: the file ends within {what}")
        return self.file.read(count)

    def numbers(self, kind: str, count: int, what: str) -> tuple[int, ...]:
        return struct.unpack(f"<{count}{kind}", self.take(count * struct.calcsize(kind), what))


class Archive:
    """An open .bin file. `entries` has the tensors by name; `read` reads one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: dict[str, Entry] = {}
        cursor = _Cursor(path)
        self._file = cursor.file
        try:
            self._index(cursor)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _index(self, cursor: _Cursor) -> None:
        version, count = cursor.numbers("Q", 2, "its beginning")
        if version != VERSION:
            reason = "its beginning is encrypted" if version == ENCRYPTED else f"version {version} is unknown"
            raise FormatError(f"{self.path}: not a .bin file of Marian that can be read: {reason}")
        heads = [cursor.numbers("Q", 4, "the list of tensors") for _ in range(min(count, cursor.size // 32 + 1))]
        names = [self._name(cursor, length) for length, *_ in heads]
        shapes = [self._shape(cursor, name, dimensions) for name, (_, _, dimensions, _) in zip(names, heads)]
        cursor.take(cursor.numbers("Q", 1, "the padding")[0], "the padding")
        begin = self._file.tell()
        for name, shape, (_, kind, _, length) in zip(names, shapes, heads):
            if name in self.entries:
                raise FormatError(f"{self.path}: {name}: there twice")
            if length > cursor.size - begin:
                raise FormatError(f"{self.path}: {name}: the file ends within it")
            self.entries[name] = self._entry(name, kind, shape, begin, length)
            begin += length
        if begin != cursor.size:
            raise FormatError(f"{self.path}: {cursor.size - begin} bytes follow the last tensor")

    def _name(self, cursor: _Cursor, length: int) -> str:
        raw = cursor.take(length, "the names")
        try:
            name = raw[:-1].decode("utf-8")
        except UnicodeDecodeError:
            name = "\0"
        if length < 2 or raw[-1] != 0 or "\0" in name:
            raise FormatError(f"{self.path}: the name {raw[:40]!r} is not text that ends with a NUL")
        return name

    def _shape(self, cursor: _Cursor, name: str, dimensions: int) -> tuple[int, ...]:
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            raise FormatError(f"{self.path}: {name}: has {dimensions} dimensions")
        shape = cursor.numbers("i", dimensions, "the shapes")
        if min(shape) < 1:
            raise FormatError(f"{self.path}: {name}: has the shape {shape}")
        return shape

    def _entry(self, name: str, kind: int, shape: tuple[int, ...], begin: int, length: int) -> Entry:
        quantised = kind in INTGEMM8
        if not quantised and kind not in TYPES:
            raise FormatError(f"{self.path}: {name}: is of type {REFUSED.get(kind, hex(kind))}, which cannot be read: only float16, float32 and intgemm8 can")
        dtype = numpy.dtype("i1" if quantised else TYPES[kind])
        needed = math.prod(shape) * dtype.itemsize + 4 * quantised
        if length < needed:
            raise FormatError(f"{self.path}: {name}: shape {shape} needs {needed} bytes, and there are {length}")
        entry = Entry(shape, dtype, begin, length, quantised)
        if quantised and not (math.isfinite(multiplier := self._multiplier(entry)) and multiplier > 0):
            raise FormatError(f"{self.path}: {name}: its multiplier is {multiplier}")
        return entry

    def _bytes(self, begin: int, values: ndarray) -> ndarray:
        self._file.seek(begin)
        if self._file.readinto(memoryview(values.reshape(-1).view(numpy.uint8))) != values.nbytes:
            raise FormatError(f"{self.path}: the file ends within a tensor")
        return values

    def _multiplier(self, entry: Entry) -> float:
        here = self._file.tell()
        value = float(self._bytes(entry.begin + entry.count, numpy.empty(1, "<f4"))[0])
        self._file.seek(here)
        return value

    def scale(self, name: str) -> float:
        """What each int8 stands for: 1 / m, a float32."""
        return float(numpy.float32(1) / numpy.float32(self._multiplier(self.entries[name])))

    def quantised(self, name: str) -> ndarray:
        """The int8 matrix [out, in], of embeddings [V, d], as it is in the file."""
        entry = self.entries[name]
        return self._bytes(entry.begin, numpy.empty(entry.shape[::self._order(name)], numpy.int8))

    @staticmethod
    def _order(name: str) -> int:
        """-1: the data are transposed."""
        return 1 if "Wemb" in name else -1

    def read(self, name: str) -> ndarray:
        """The tensor of the shape that the file names; int8 as float32."""
        entry = self.entries[name]
        if not entry.quantised:
            return self._bytes(entry.begin, numpy.empty(entry.shape, entry.dtype))
        values = self.quantised(name).astype(numpy.float32)
        values *= numpy.float32(self.scale(name))
        return values if self._order(name) == 1 else values.T
