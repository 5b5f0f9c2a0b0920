"""How the numbers of a model are stored, in NumPy: float32 tensors by name <-> the tensors of the file. A new storage is a row of STORAGES."""

from __future__ import annotations

from typing import Callable, Iterator, NamedTuple

import numpy
from numpy import ndarray

from . import safetensors

SCALE = ".scale"
BLOCK = 1024


def quantise(matrix: ndarray) -> tuple[ndarray, ndarray]:
    """matrix [out, in] float32 -> int8 [out, in] in -127..127 and scale [out] float32: matrix = int8 * scale, row by row."""
    largest = numpy.abs(matrix).max(axis=1)
    scale = numpy.where(largest > 0, largest / 127, 1).astype(numpy.float32)
    return numpy.rint(matrix / scale[:, None]).clip(-127, 127).astype(numpy.int8), scale


def _blocks(matrix: ndarray) -> Iterator[slice]:
    """Rows that are changed at once: what a change makes on the way is then small beside a large matrix."""
    return (slice(begin, begin + BLOCK) for begin in range(0, len(matrix), BLOCK))


def _store_int8(name: str, matrix: ndarray) -> dict[str, ndarray]:
    values, scale = numpy.empty(matrix.shape, numpy.int8), numpy.empty(len(matrix), numpy.float32)
    for rows in _blocks(matrix):
        values[rows], scale[rows] = quantise(matrix[rows])
    return {name: values, name + SCALE: scale}


def _store_bfloat16(name: str, matrix: ndarray) -> dict[str, ndarray]:
    values = numpy.empty(matrix.shape, "<u2")
    for rows in _blocks(matrix):
        values[rows] = safetensors.to_bfloat16(matrix[rows])
    return {name: values}


class Storage(NamedTuple):
    """How a matrix [out, in] is stored; of int8 each row has a scale. Vectors stay float32: they are few, and biases are added to float32
    sums."""

    dtype: numpy.dtype
    store: Callable[[str, ndarray], dict[str, ndarray]]


STORAGES: dict[str, Storage] = {
    "float32": Storage(numpy.dtype("<f4"), lambda name, matrix: {name: matrix}),
    "float16": Storage(numpy.dtype("<f2"), lambda name, matrix: {name: matrix.astype(numpy.float16)}),
    "bfloat16": Storage(numpy.dtype("<u2"), _store_bfloat16),
    "int8": Storage(numpy.dtype("i1"), _store_int8),
}


def store_one(name: str, tensor: ndarray, storage: str) -> dict[str, ndarray]:
    """A float32 tensor -> what the file holds of it."""
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
    """The tensors of a file -> float32 tensors by name; scales are multiplied in."""
    tensors = {}
    for name, tensor in stored.items():
        if name.endswith(SCALE):
            continue
        if tensor.dtype == numpy.int8:
            tensors[name] = tensor.astype(numpy.float32) * stored[name + SCALE][:, None]
        elif tensor.dtype == numpy.uint16:
            tensors[name] = safetensors.from_bfloat16(tensor)
        else:
            tensors[name] = tensor.astype(numpy.float32)
    return tensors
