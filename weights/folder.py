"""The model folder: config.json, model.safetensors and the tokenizer's files, written and read.

Input of `write`: a model and its vocabularies. Output of `read`: the model as the C server computes it, that is with the stored values
(rounded or quantised) as float32. A new storage is a row of STORAGES.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import numpy
import torch
from numpy import ndarray

from . import config as configuration
from . import safetensors
from .model import Model
from .tokenizer import Tokenizer, load, vocabulary_sizes

SCALE = ".scale"


def quantise(matrix: ndarray) -> tuple[ndarray, ndarray]:
    """matrix [out, in] float32 -> int8 [out, in] in -127..127 and scale [out] float32: matrix = int8 * scale, row by row."""
    largest = numpy.abs(matrix).max(axis=1)
    scale = numpy.where(largest > 0, largest / 127, 1).astype(numpy.float32)
    return numpy.rint(matrix / scale[:, None]).clip(-127, 127).astype(numpy.int8), scale


def _store_int8(name: str, matrix: ndarray) -> dict[str, ndarray]:
    values, scale = quantise(matrix)
    return {name: values, name + SCALE: scale}


# How a matrix [out, in] is stored. Vectors stay float32: they are few, and biases are added to float32 sums.
STORAGES: dict[str, Callable[[str, ndarray], dict[str, ndarray]]] = {
    "float32": lambda name, matrix: {name: matrix},
    "float16": lambda name, matrix: {name: matrix.astype(numpy.float16)},
    "bfloat16": lambda name, matrix: {name: safetensors.to_bfloat16(matrix)},
    "int8": _store_int8,
}


def store(tensors: dict[str, ndarray], storage: str) -> dict[str, ndarray]:
    """float32 tensors by name -> the tensors of the file."""
    stored: dict[str, ndarray] = {}
    for name, tensor in tensors.items():
        stored |= STORAGES[storage](name, tensor) if tensor.ndim == 2 else {name: tensor}
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


def write(folder: Path, model: Model, storage: str, metadata: dict[str, str]) -> None:
    """Writes config.json and model.safetensors; the caller puts the tokenizer's files there."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: tensor.detach().cpu().float().numpy() for name, tensor in model.named_tensors().items()}
    safetensors.write(folder / "model.safetensors", store(tensors, storage), metadata)
    text = json.dumps(model.config, indent=2, ensure_ascii=False)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


def load_tensors(model: Model, tensors: dict[str, ndarray]) -> None:
    """Copies every tensor to the parameter of its name; the names and shapes must be exactly the model's."""
    parameters = model.named_tensors()
    if strange := parameters.keys() ^ tensors.keys():
        raise safetensors.FormatError(f"missing or unknown tensors: {', '.join(sorted(strange))}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != tensors[name].shape:
                raise safetensors.FormatError(f"{name}: shape {tensors[name].shape}, expected {tuple(parameter.shape)}")
            parameter.copy_(torch.from_numpy(tensors[name]))


def read(folder: Path) -> tuple[Model, Tokenizer, Tokenizer]:
    """-> the model (for inference), the source side's tokenizer, the target side's."""
    config = configuration.validate(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    source, target = load(folder, config["tokenizer"])
    model = Model(config, **vocabulary_sizes(folder, config)).eval()
    load_tensors(model, expand(safetensors.read(folder / "model.safetensors")[0]))
    return model, source, target
