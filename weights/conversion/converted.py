"""What the converters of other toolkits' weights share: lazily made tensors, vocabularies, and the model folder, in
NumPy.

A converter gives for every tensor of the model folder its shape and a function that makes it. `write` makes and stores
them one at a time, so that at most one is in memory, and the folder appears only once it is complete.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Callable, NamedTuple

import numpy
from numpy import ndarray

from ..command import CommandError
from ..evaluation import card
from ..model import manifest, safetensors, storage
from ..model import config as configuration
from ..model.vocabulary import read_vocabulary

WEIGHTS, CONFIG = "model.safetensors", "config.json"


class ConversionError(CommandError):
    """The model cannot be converted; the message gives the reason."""


class Part(NamedTuple):
    """A float32 tensor that is made on demand."""

    shape: tuple[int, ...]
    make: Callable[[], ndarray]


def constant(values: ndarray) -> Part:
    return Part(values.shape, lambda: values)


def zeros(size: int) -> Part:
    return constant(numpy.zeros(size, numpy.float32))


def transposed(part: Part) -> Part:
    return Part(part.shape[::-1], lambda: part.make().T)


# ---- vocabularies ----

class Vocabulary(NamedTuple):
    """The vocabulary of one side: the tokenizer's type, the content of its file, and its number of tokens."""

    kind: str
    content: bytes
    size: int


def of_words(path: Path, words: list[str]) -> Vocabulary:
    """Builds and checks the vocabulary file of these words; messages name it by path."""
    content = "".join(f"{word}\n" for word in words).encode()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / path.name).write_bytes(content)
        try:
            read_vocabulary(Path(folder) / path.name)
        except ValueError as error:
            raise ConversionError(str(error).removeprefix(folder + os.sep)) from error
    return Vocabulary("words", content, len(words))


def tokenizer_of(source: Vocabulary, target: Vocabulary) -> tuple[dict, dict[str, bytes]]:
    """Returns config.json's section `tokenizer`, and the vocabulary files by name; equal vocabularies share one
    file."""
    names = ("joint.vocab",) * 2 if source.content == target.content else ("source.vocab", "target.vocab")
    return {"type": source.kind, "source": names[0], "target": names[1]}, {names[0]: source.content,
                                                                           names[1]: target.content}


# ---- the folder ----

CARD = """# {name}

Converted from {origin} by `{program}`. Loaded by `alignd --model {name}`.

| | |
|---|---|
| from | {source} |
| into | {target} |
| encoder | {encoder} |
| attention | {attention} |
| decoder | {decoder} |
| output | {output} |
| tokens | {tokens} |
| parameters | {parameters:,} |
| stored as | {storage}, vectors as float32; {megabytes:.1f} MB |

Data and training are those of the model that it was converted from. Licence: that of the model that it was converted from.
"""


class Conversion(NamedTuple):
    """A converted model that has not been written yet."""

    config: dict  # validated
    tensors: dict[str, Part]
    vocabularies: dict[str, bytes]
    origin: str   # the source of the conversion, for the model card
    program: str


def _write(folder: Path, conversion: Conversion, kind: str) -> None:
    layout: dict = {}
    for name, part in conversion.tensors.items():
        layout |= storage.layout(name, part.shape, kind)
    parts = (piece for name, part in conversion.tensors.items() for piece in storage.pieces(name, part.make(), kind))
    safetensors.write_parts(folder / WEIGHTS, layout, parts, {"converted_from": conversion.origin})
    (folder / CONFIG).write_text(configuration.text_of(conversion.config), encoding="utf-8")
    for name, content in conversion.vocabularies.items():
        (folder / name).write_bytes(content)
    (folder / "README.md").write_text(CARD.format(
        **card.describe(conversion.config), name=conversion.config["name"], origin=conversion.origin,
        program=conversion.program,
        source=conversion.config["source"], target=conversion.config["target"], storage=kind,
        parameters=sum(int(numpy.prod(part.shape)) for part in conversion.tensors.values()),
        megabytes=(folder / WEIGHTS).stat().st_size / 1e6), encoding="utf-8")


def write(out: Path, conversion: Conversion, kind: str) -> None:
    """Writes the model folder, which must not exist."""
    if out.exists():
        raise ConversionError(f"{out}: already exists")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder:
        made = Path(folder) / "model"
        made.mkdir()
        _write(made, conversion, kind)
        manifest.write(made)
        made.rename(out)


def validated(config: dict) -> dict:
    try:
        return configuration.validate(config)
    except configuration.ConfigError as error:
        raise ConversionError(f"the model's configuration: {error}") from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that all converters share."""
    parser.add_argument("--output", type=Path, required=True, help="the model folder to make")
    parser.add_argument("--name", help="its name; without it, that of the folder")
    parser.add_argument("--source", default="und", help="BCP-47 code of the language that it reads (und)")
    parser.add_argument("--target", default="und", help="of that which it writes (und)")
    parser.add_argument("--storage", choices=list(storage.STORAGES), default="float32",
                        help="of the matrices (float32)")
    parser.add_argument("--max-source-tokens", type=int, default=100, help="of a sentence; longer ones are cut (100)")
    parser.add_argument("--max-target-ratio", type=float, default=3.0,
                        help="target tokens for a source token, at most (3)")


def head_of(arguments: argparse.Namespace) -> dict:
    """The keys of config.json that follow from the command line."""
    return {"format": configuration.FORMAT, "name": arguments.name or arguments.output.name, "source": arguments.source,
            "target": arguments.target,
            "limits": {"max_source_tokens": arguments.max_source_tokens,
                       "max_target_ratio": arguments.max_target_ratio}}


def report(out: Path, conversion: Conversion) -> None:
    print(f"{out}: {len(conversion.tensors)} tensors, {(out / WEIGHTS).stat().st_size:,} bytes")
