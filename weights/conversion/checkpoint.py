"""PyTorch's checkpoints (.pt) without PyTorch: nothing in them is run, and tensors are read one at a time.

A checkpoint is a pickle with the numbers stored beside it: as members of a zip archive (since PyTorch 1.6), or after
the pickle in the same file. Tensors of the pickle become `Tensor`, plain values stay as they are, and every other
object becomes `Inert`, which keeps the attributes and does nothing.
"""

from __future__ import annotations

import collections
import math
import pickle
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy
from numpy import ndarray

from ..model import safetensors

MAGIC = 0x1950A86A20F9469CFC6C  # the first pickle of the older format
PROTOCOL = 1001
_DTYPES = {"Float": "<f4", "Double": "<f8", "Half": "<f2", "BFloat16": "<u2", "Long": "<i8", "Int": "<i4",
           "Short": "<i2", "Char": "i1", "Byte": "u1", "Bool": "?"}
FLOATS = ("Float", "Double", "Half", "BFloat16")


class FormatError(ValueError):
    """The file is not a complete checkpoint."""


class Inert:
    """Replaces an object of any class, and the result of any function."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state if isinstance(state, dict) else {})

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def append(self, item: Any) -> None:
        pass

    def extend(self, items: Any) -> None:
        pass


class Storage(NamedTuple):
    """The numbers of a tensor in the file. read: returns all of their bytes."""

    kind: str
    count: int
    read: Callable[[], bytes]


class Tensor(NamedTuple):
    storage: Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def kind(self) -> str:
        return self.storage.kind

    def array(self) -> ndarray:
        """The values as float32, whatever the stored floating-point type."""
        numbers = numpy.frombuffer(self.storage.read(), _DTYPES[self.kind])
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.stride))
        if (min((self.offset, *self.stride), default=0) < 0 or len(numbers) != self.storage.count
            or (math.prod(self.shape) and last >= len(numbers))):
            raise FormatError("a tensor is larger than its numbers")
        steps = [step * numbers.itemsize for step in self.stride]
        values = numpy.lib.stride_tricks.as_strided(numbers[self.offset:], self.shape, steps, writeable=False)
        return (safetensors.from_bfloat16(values) if self.kind == "BFloat16"
                else values.astype(numpy.float32, copy=False))


def _tensor(storage: Any, offset: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Tensor:
    if not isinstance(storage, Storage) or len(shape) != len(stride):
        raise pickle.UnpicklingError("a tensor without numbers")
    if any(not isinstance(size, int) or isinstance(size, bool) or size < 0 for size in (offset, *shape, *stride)):
        raise pickle.UnpicklingError(
            f"a tensor of the shape {tuple(shape)}, with the steps {tuple(stride)}, from {offset}")
    return Tensor(storage, offset, tuple(shape), tuple(stride))


_KNOWN = {("torch._utils", "_rebuild_tensor"): _tensor, ("torch._utils", "_rebuild_tensor_v2"): _tensor,
          ("torch._utils", "_rebuild_parameter"): lambda tensor, *_: tensor, ("torch", "Size"): tuple,
          ("collections", "OrderedDict"): collections.OrderedDict}


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, storage: Callable[[str, str, int], Storage] | None = None) -> None:
        super().__init__(file, encoding="utf-8")
        self.storage = storage

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch" and name.removesuffix("Storage") in _DTYPES:
            return name.removesuffix("Storage")  # the type of a storage
        return _KNOWN.get((module, name)) or type("Inert", (Inert,), {})

    def persistent_load(self, what: Any) -> Storage:
        """what: ("storage", type, key, device, number of elements)."""
        if (self.storage is None or what[0] != "storage" or what[1] not in _DTYPES
            or (len(what) > 5 and what[5] is not None)):
            raise pickle.UnpicklingError("numbers of an unknown kind")
        return self.storage(what[1], str(what[2]), int(what[4]))


def _load_zip(path: Path) -> Any:
    archive = zipfile.ZipFile(path)
    top = next((name.removesuffix("data.pkl") for name in archive.namelist() if name.endswith("/data.pkl")), None)
    if top is None:
        raise FormatError("the zip has no data.pkl")
    with archive.open(top + "data.pkl") as file:
        return _Unpickler(file, lambda kind, key, count: Storage(kind, count,
                                                                 lambda: archive.read(f"{top}data/{key}"))).load()


def _load_older(path: Path) -> Any:
    """Reads the older format: three pickles with the magic number, the protocol version and the platform; the content;
    the keys of the storages; and for each storage its number of elements and its data."""
    begins: dict[str, int] = {}
    kinds: dict[str, str] = {}

    def storage(kind: str, key: str, count: int) -> Storage:
        def read() -> bytes:
            with path.open("rb") as file:
                file.seek(begins[key])
                return file.read(count * numpy.dtype(_DTYPES[kind]).itemsize)

        kinds[key] = kind
        return Storage(kind, count, read)

    with path.open("rb") as file:
        if _Unpickler(file).load() != MAGIC or _Unpickler(file).load() != PROTOCOL:
            raise FormatError("it does not begin as one")
        _Unpickler(file).load()
        content = _Unpickler(file, storage).load()
        for key in _Unpickler(file).load():
            count = struct.unpack("<q", file.read(8))[0]
            begins[str(key)] = file.tell()
            file.seek(count * numpy.dtype(_DTYPES[kinds[str(key)]]).itemsize, 1)
    return content


def load(path: Path) -> Any:
    """Returns the content of the checkpoint. Raises FormatError."""
    try:
        return _load_zip(path) if zipfile.is_zipfile(path) else _load_older(path)
    except FormatError:
        raise
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, struct.error, pickle.UnpicklingError, ValueError,
            TypeError, KeyError, IndexError,
            AttributeError, ImportError, RuntimeError, MemoryError, OverflowError, RecursionError) as error:
        raise FormatError(f"{type(error).__name__}: {error}") from error  # a damaged pickle can raise any of these
