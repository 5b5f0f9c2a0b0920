"""The Hugging Face safetensors container in NumPy: writing and reading.

Layout: 8 bytes little-endian header length N, N bytes of JSON `name -> {dtype, shape, data_offsets}` with an optional
`__metadata__` (string -> string), then the tensors end to end. Input and output: C-contiguous arrays by name. NumPy has
no bfloat16: an array of uint16 stands for its bit patterns (`to_bfloat16`, `from_bfloat16`).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Iterable

import numpy
from numpy import ndarray

from ..command import CommandError

DTYPES: dict[str, numpy.dtype] = {
    "F32": numpy.dtype("<f4"),
    "F16": numpy.dtype("<f2"),
    "BF16": numpy.dtype("<u2"),
    "I8": numpy.dtype("i1"),
    "I32": numpy.dtype("<i4"),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
METADATA = "__metadata__"
MAX_HEADER_BYTES = 100_000_000
DATA_ALIGNMENT = 64


class FormatError(CommandError):
    """The file is not a complete and consistent container."""


def to_bfloat16(values: ndarray) -> ndarray:
    """float32 -> uint16 bit patterns, rounded to nearest even. Values are finite."""
    bits = numpy.ascontiguousarray(values, dtype="<f4").view("<u4")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")


def from_bfloat16(patterns: ndarray) -> ndarray:
    """uint16 bit patterns -> float32, exactly."""
    return (patterns.astype("<u4") << 16).view("<f4")


def write(path: Path, tensors: dict[str, ndarray], metadata: dict[str, str] | None = None) -> None:
    write_parts(path, {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items()}, tensors.items(),
                metadata)


def write_parts(path: Path, layout: dict[str, tuple[numpy.dtype, tuple[int, ...]]],
                parts: Iterable[tuple[str, ndarray]], metadata: dict[str, str] | None = None) -> None:
    """Writes tensors that arrive one at a time, whole or a few rows at a time, in any order; together they must be
    those of the layout. Larger elements come first, so that every tensor is aligned to its element without padding."""
    header: dict[str, dict] = {METADATA: metadata} if metadata else {}
    end = 0
    for name in sorted(layout, key=lambda name: (-layout[name][0].itemsize, name)):
        dtype, shape = layout[name]
        begin, end = end, end + math.prod(shape) * dtype.itemsize
        header[name] = {"dtype": NAMES[dtype], "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % DATA_ALIGNMENT)
    at = {name: header[name]["data_offsets"][0] for name in layout}
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)
        for name, tensor in parts:
            dtype, shape = layout[name]
            assert tensor.dtype == dtype and tensor.shape[1:] == shape[1:], name
            file.seek(8 + len(text) + at[name])
            file.write(numpy.ascontiguousarray(tensor).data)
            at[name] += tensor.nbytes
    missing = [name for name in layout if at[name] != header[name]["data_offsets"][1]]
    assert not missing, missing


def _unique(pairs: list[tuple[str, object]]) -> dict:
    if len(dict(pairs)) != len(pairs):
        raise FormatError("duplicate key in the header")
    return dict(pairs)


def _parse_header(content: bytes) -> tuple[dict, int]:
    """Returns the header, and the offset of the data."""
    if len(content) < 8:
        raise FormatError("shorter than the header's length")
    length = int.from_bytes(content[:8], "little")
    if length > MAX_HEADER_BYTES or 8 + length > len(content):
        raise FormatError(f"a header of {length} bytes does not fit")
    try:
        header = json.loads(content[8:8 + length], object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"header: {error}") from error
    if not isinstance(header, dict):
        raise FormatError("header: not an object")
    return header, 8 + length


def _sizes(value: object) -> bool:
    """Whether the value is a list of non-negative integers. In Python True and False are integers, too."""
    return (isinstance(value, list) and all(isinstance(size, int) and not isinstance(size, bool) and size >= 0
                                            for size in value))


def _entry(name: str, entry: object) -> dict:
    """Checks the header entry of a tensor."""
    if not isinstance(entry, dict):
        raise FormatError(f"{name}: its entry is not an object")
    if not isinstance(entry.get("dtype"), str) or entry["dtype"] not in DTYPES:
        raise FormatError(f"{name}: unknown dtype {entry.get('dtype')}")
    if not _sizes(entry.get("shape")):
        raise FormatError(f"{name}: shape {entry.get('shape')} is not a list of sizes")
    if not _sizes(entry.get("data_offsets")) or len(entry["data_offsets"]) != 2:
        raise FormatError(f"{name}: data_offsets {entry.get('data_offsets')} are not two places")
    return entry


def read(path: Path) -> tuple[dict[str, ndarray], dict[str, str]]:
    """Returns the tensors by name (read-only arrays), and the metadata. Raises FormatError."""
    content = path.read_bytes()
    header, data = _parse_header(content)
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict):
        raise FormatError(f"{METADATA}: not an object")
    entries = {name: _entry(name, entry) for name, entry in header.items()}
    tensors, end = {}, 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, count = DTYPES[entry["dtype"]], math.prod(entry["shape"])
        if entry["data_offsets"] != [end, end + count * dtype.itemsize]:
            raise FormatError(
                f"{name}: data_offsets {entry['data_offsets']} leave a gap, overlap or do not match the shape")
        end += count * dtype.itemsize
        if data + end > len(content):
            raise FormatError(f"{name}: ends past the end of the file")
        tensors[name] = numpy.frombuffer(content, dtype, count,
                                         data + end - count * dtype.itemsize).reshape(entry["shape"])
    if data + end != len(content):
        raise FormatError("bytes after the last tensor")
    return tensors, metadata
