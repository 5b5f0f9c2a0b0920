"""Reading NumPy's .npz files one array at a time: a zip of .npy files, none of which may hold anything but numbers.

Everything is checked before it is used; a FormatError names the array. Nothing is unpickled.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy
from numpy import ndarray
from numpy.lib import format as npy

SUFFIX = ".npy"
PIECE = 1 << 20


class FormatError(ValueError):
    """A file that is not a whole and consistent archive of arrays."""


class Entry(NamedTuple):
    """What an array's header says, and where its numbers begin in its file."""

    info: zipfile.ZipInfo
    shape: tuple[int, ...]
    dtype: numpy.dtype
    begin: int
    quantised = False  # int8 that stands for other numbers: weights/conversion/marian_binary.py has such


class Archive:
    """An open .npz file. `entries` has the arrays by name; `read` reads one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: dict[str, Entry] = {}
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise FormatError(f"{path}: not a whole .npz file: {error}") from error
        for info in self._zip.infolist():
            name = info.filename.removesuffix(SUFFIX)
            if name == info.filename or name in self.entries:
                raise FormatError(f"{path}: {info.filename}: {'there twice' if name in self.entries else 'not an array'}")
            self.entries[name] = self._header(name, info)

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def _header(self, name: str, info: zipfile.ZipInfo) -> Entry:
        try:
            with self._zip.open(info) as file:
                version = npy.read_magic(file)
                read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
                shape, fortran, dtype = read(file)
                begin = file.tell()
        except (ValueError, TypeError, KeyError, EOFError, OSError, RuntimeError, NotImplementedError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
            raise FormatError(f"{self.path}: {name}: its header cannot be read: {error}") from error
        if any(isinstance(size, bool) or size < 0 for size in shape):
            raise FormatError(f"{self.path}: {name}: has the shape {shape}")
        if dtype.hasobject or dtype.kind not in "fiu" or (fortran and len(shape) > 1):
            raise FormatError(f"{self.path}: {name}: must hold plain numbers in C order, not {dtype}{' in Fortran order' * fortran}")
        if begin + math.prod(shape) * dtype.itemsize != info.file_size:
            raise FormatError(f"{self.path}: {name}: shape {shape} of {dtype} does not fit its {info.file_size - begin} bytes")
        return Entry(info, shape, dtype, begin)

    def read(self, name: str) -> ndarray:
        """The array; its checksum is checked on the way. Read by pieces, so that it is in memory once."""
        entry = self.entries[name]
        values = numpy.empty(entry.shape, entry.dtype)
        bytes_left = memoryview(values.reshape(-1).view(numpy.uint8))
        try:
            with self._zip.open(entry.info) as file:
                file.read(entry.begin)
                while piece := file.read(PIECE):
                    bytes_left[:len(piece)] = piece
                    bytes_left = bytes_left[len(piece):]
        except (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
            raise FormatError(f"{self.path}: {name}: cannot be read: {error}") from error
        if len(bytes_left) > 0:
            raise FormatError(f"{self.path}: {name}: the file ends within it")
        return values
