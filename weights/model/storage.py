"""The storage of a model's numbers, in NumPy: float32 tensors by name <-> the tensors of the file. A new storage is a
row of STORAGES."""

from __future__ import annotations

from typing import Callable, Iterator, NamedTuple

import numpy
from numpy import ndarray

from . import safetensors

SCALE = ".scale"
INPUT_SCALE = ".input_scale"  # of a product: its inputs are multiplied by this before they are rounded to int8
BLOCK = 1 << 18  # numbers converted at a time


def quantise(matrix: ndarray) -> tuple[ndarray, ndarray]:
    """matrix [out, in] float32 -> int8 [out, in] in -127..127 and scale [out] float32, with matrix = int8 * scale for
    each row."""
    largest = numpy.abs(matrix).max(axis=1)
    scale = numpy.where(largest > 0, largest / 127, 1).astype(numpy.float32)
    return numpy.rint(matrix / scale[:, None]).clip(-127, 127).astype(numpy.int8), scale


def _store_int8(name: str, rows: ndarray) -> dict[str, ndarray]:
    values, scale = quantise(rows)
    return {name: values, name + SCALE: scale}


class Storage(NamedTuple):
    """How the rows of a matrix [out, in] are stored; int8 rows have a scale each. Vectors stay float32: they are small,
    and biases are added to float32 sums."""

    dtype: numpy.dtype
    store: Callable[[str, ndarray], dict[str, ndarray]]


STORAGES: dict[str, Storage] = {
    "float32": Storage(numpy.dtype("<f4"), lambda name, rows: {name: rows}),
    "float16": Storage(numpy.dtype("<f2"), lambda name, rows: {name: rows.astype(numpy.float16)}),
    "bfloat16": Storage(numpy.dtype("<u2"), lambda name, rows: {name: safetensors.to_bfloat16(rows)}),
    "int8": Storage(numpy.dtype("i1"), _store_int8),
}


def pieces(name: str, tensor: ndarray, storage: str) -> Iterator[tuple[str, ndarray]]:
    """A float32 tensor -> its parts in the file, a few rows at a time, so that temporary arrays stay small."""
    if tensor.ndim != 2:
        yield name, tensor
        return
    step = max(1, BLOCK // max(1, tensor.shape[1]))
    for begin in range(0, len(tensor), step):
        yield from STORAGES[storage].store(name, tensor[begin:begin + step]).items()


def store_one(name: str, tensor: ndarray, storage: str) -> dict[str, ndarray]:
    """A float32 tensor -> its tensors in the file."""
    return STORAGES[storage].store(name, tensor) if tensor.ndim == 2 else {name: tensor}


def layout(name: str, shape: tuple[int, ...], storage: str) -> dict[str, tuple[numpy.dtype, tuple[int, ...]]]:
    """The types and shapes of what store_one returns."""
    dtype = STORAGES[storage].dtype if len(shape) == 2 else numpy.dtype("<f4")
    scale = {name + SCALE: (numpy.dtype("<f4"), shape[:1])} if dtype == numpy.int8 else {}
    return {name: (dtype, shape)} | scale


def store(tensors: dict[str, ndarray], storage: str) -> dict[str, ndarray]:
    """float32 tensors by name -> the tensors of the file."""
    stored: dict[str, ndarray] = {}
    for name, tensor in tensors.items():
        stored |= store_one(name, tensor, storage)
    return stored


def expand(stored: dict[str, ndarray]) -> dict[str, ndarray]:
    """The tensors of a file -> float32 tensors by name, with scales applied."""
    tensors = {}
    for name, tensor in stored.items():
        if name.endswith((SCALE, INPUT_SCALE)):
            continue
        if tensor.dtype == numpy.int8:
            tensors[name] = tensor.astype(numpy.float32) * stored[name + SCALE][:, None]
        elif tensor.dtype == numpy.uint16:
            tensors[name] = safetensors.from_bfloat16(tensor)
        else:
            tensors[name] = tensor.astype(numpy.float32)
    return tensors
