"""What the converters of weights from elsewhere share: tensors made one at a time, vocabularies, and the model folder, in NumPy.

A converter says for every tensor of the model folder which shape it has and how it is made; `write` makes and stores them one after the
other, so that never more than one of them is in memory, and the folder appears only when it is whole.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Callable, Iterator, NamedTuple

import numpy
from numpy import ndarray

from ..evaluation import card
from ..model import manifest, safetensors, storage
from ..model import config as configuration
from .origins import Origin
from ..model.vocabulary import read_vocabulary

WEIGHTS, CONFIG, SHORTLIST, QUALITY = "model.safetensors", "config.json", "shortlist.safetensors", "quality.safetensors"
BLOCK = storage.BLOCK


class ConversionError(ValueError):
    """What cannot be converted; the message names it."""


class Given(NamedTuple):
    """A matrix [out, in] that is int8 in the file: read() * scale. input_scale: what the inputs of its product are multiplied with before they are
    rounded to int8, where the file says so."""

    read: Callable[[], ndarray]
    scale: float
    input_scale: float | None


class Part(NamedTuple):
    """A tensor that is read or made when it is needed: float32. given: the same as it is in the file, if it is int8 there."""

    shape: tuple[int, ...]
    make: Callable[[], ndarray]
    given: Given | None = None


def constant(values: ndarray) -> Part:
    return Part(values.shape, lambda: values)


def zeros(size: int) -> Part:
    return constant(numpy.zeros(size, numpy.float32))


def joined(parts: list[Part], axis: int = -1) -> Part:
    """Side by side along an axis of theirs."""
    if len(parts) == 1:
        return parts[0]
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    return Part(tuple(shape), lambda: numpy.concatenate([part.make() for part in parts], axis=axis))


def changed(part: Part, change: Callable[[ndarray], ndarray]) -> Part:
    """change keeps the shape."""
    return Part(part.shape, lambda: change(part.make()))


def transposed(part: Part) -> Part:
    return Part(part.shape[::-1], lambda: part.make().T)


# ---- vocabularies ----

class Vocabulary(NamedTuple):
    """One side's: the type of its tokenizer, its file, how many tokens it has; pieces: the list that numbers them, where the file only segments."""

    kind: str
    content: bytes
    size: int
    pieces: bytes | None = None


def of_words(path: Path, words: list[str]) -> Vocabulary:
    """The file that holds these; path is what messages name."""
    content = "".join(f"{word}\n" for word in words).encode()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / path.name).write_bytes(content)
        try:
            read_vocabulary(Path(folder) / path.name)
        except ValueError as error:
            raise ConversionError(str(error).removeprefix(folder + os.sep)) from error
    return Vocabulary("words", content, len(words))


ENDINGS = {"words": ".vocab", "sentencepiece": ".spm"}


def _files(source: bytes, target: bytes, ending: str) -> dict[str, bytes]:
    """By their names; equal ones are one file."""
    names = ("joint" + ending,) * 2 if source == target else ("source" + ending, "target" + ending)
    return {names[0]: source, names[1]: target}


def tokenizer_of(source: Vocabulary, target: Vocabulary) -> tuple[dict, dict[str, bytes]]:
    """-> config.json's section, the files by their names."""
    if source.kind != target.kind:
        raise ConversionError(f"the source's vocabulary is {source.kind}, the target's {target.kind}: a model has one kind of tokens")
    files = _files(source.content, target.content, ENDINGS[source.kind])
    section = {"type": source.kind, "source": list(files)[0], "target": list(files)[-1]}
    if source.pieces is None or target.pieces is None:
        return section, files
    lists = _files(source.pieces, target.pieces, ENDINGS["words"])
    section |= {"pieces": list(lists)[0]} | ({"target_pieces": list(lists)[1]} if len(lists) > 1 else {})
    return section, files | lists


def one_list(section: dict) -> bool:
    """Source and target have the same tokens under the same ids. section: config.json's, also with its defaults filled in."""
    if section.get("pieces", configuration.NO_FILE) != configuration.NO_FILE:
        return section.get("target_pieces", configuration.NO_FILE) == configuration.NO_FILE
    return section["source"] == section["target"]


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

Data and training are those of the model that it was converted from. Licence: {licence}.{attribution}
"""
UNNAMED = "that of the model that it was converted from"


class Conversion(NamedTuple):
    """A model about to be written."""

    config: dict  # validated
    tensors: dict[str, Part]
    vocabularies: dict[str, bytes]
    origin: str   # what it was converted from, for its card
    program: str
    shortlist: dict[str, ndarray] | None = None
    licence: str = UNNAMED
    attribution: str = ""
    quality: dict[str, ndarray] | None = None


def _as_given(part: Part, kind: str) -> bool:
    """It is stored as it is in the file: int8 that is rounded anew would be other int8."""
    return kind == "int8" and part.given is not None


def _layout(name: str, part: Part, kind: str) -> dict[str, tuple[numpy.dtype, tuple[int, ...]]]:
    found = storage.layout(name, part.shape, kind)
    if _as_given(part, kind):
        one = numpy.dtype("<f4"), (1,)
        found |= {name + storage.SCALE: one} | ({name + storage.INPUT_SCALE: one} if part.given.input_scale is not None else {})
    return found


def _pieces(name: str, part: Part, kind: str) -> Iterator[tuple[str, ndarray]]:
    if not _as_given(part, kind):
        yield from storage.pieces(name, part.make(), kind)
        return
    yield name, part.given.read()
    yield name + storage.SCALE, numpy.array([part.given.scale], numpy.float32)
    if part.given.input_scale is not None:
        yield name + storage.INPUT_SCALE, numpy.array([part.given.input_scale], numpy.float32)


def _write(folder: Path, conversion: Conversion, kind: str) -> None:
    layout: dict = {}
    for name, part in conversion.tensors.items():
        layout |= _layout(name, part, kind)
    parts = (piece for name, part in conversion.tensors.items() for piece in _pieces(name, part, kind))
    safetensors.write_parts(folder / WEIGHTS, layout, parts, {"converted_from": conversion.origin})
    (folder / CONFIG).write_text(configuration.text_of(conversion.config), encoding="utf-8")
    for name, content in conversion.vocabularies.items():
        (folder / name).write_bytes(content)
    for name, tensors in ((SHORTLIST, conversion.shortlist), (QUALITY, conversion.quality)):
        if tensors is not None:
            safetensors.write(folder / name, tensors)
    (folder / "README.md").write_text(CARD.format(
        licence=conversion.licence, attribution=f" Attribution: {conversion.attribution}." if conversion.attribution else "", **card.describe(conversion.config), name=conversion.config["name"], origin=conversion.origin, program=conversion.program,
        source=conversion.config["source"], target=conversion.config["target"], storage=kind,
        parameters=sum(int(numpy.prod(part.shape)) for part in conversion.tensors.values()),
        megabytes=(folder / WEIGHTS).stat().st_size / 1e6), encoding="utf-8")


def write(out: Path, conversion: Conversion, kind: str) -> None:
    """The folder must not be there."""
    if out.exists():
        raise ConversionError(f"{out}: is there already")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder:
        made = Path(folder) / "model"
        made.mkdir()
        _write(made, conversion, kind)
        manifest.write(made)
        made.rename(out)


def with_origin(conversion: Conversion, origin: Origin) -> Conversion:
    """Whose it is, in its card and beside it."""
    return conversion._replace(licence=origin.licence or UNNAMED, attribution=origin.attribution, vocabularies=conversion.vocabularies | origin.files)


def tell(conversion: Conversion) -> list[str]:
    """What its users should know."""
    names = re.findall(rb"^>>([\w-]+)<<$", conversion.vocabularies.get(conversion.config["tokenizer"]["pieces"], b""), re.MULTILINE)
    said = [f"it writes {len(names)} languages, such as {names[0].decode()}: requests choose with variant, or target"] if names else []
    if conversion.config["attention"] is None and not conversion.config["decoder"].get("alignment_trained", True):
        said.append("its attention was not trained to align: weights.align_head gives it an alignment head")
    return said


def validated(config: dict) -> dict:
    try:
        return configuration.validate(config)
    except configuration.ConfigError as error:
        raise ConversionError(f"the model's configuration: {error}") from error


PREPARATIONS = ("none", "opus")


def add_opus_arguments(parser: argparse.ArgumentParser) -> None:
    """What converters of models of OPUS-MT's kind ask for, too."""
    parser.add_argument("--preparation", choices=PREPARATIONS, help="what is done to text first; without it, opus for OPUS-MT's models")
    parser.add_argument("--alignment", choices=("trained", "untrained"), help="whether its attention was trained to align; without it, what its files say")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What every converter asks for beside its model."""
    parser.add_argument("--output", type=Path, required=True, help="the model folder to make")
    parser.add_argument("--name", help="its name; without it, that of the folder")
    parser.add_argument("--source", default="und", help="BCP-47 code of the language that it reads (und)")
    parser.add_argument("--target", default="und", help="of that which it writes (und)")
    parser.add_argument("--storage", choices=list(storage.STORAGES), default="float32", help="of the matrices (float32)")
    parser.add_argument("--max-source-tokens", type=int, default=100, help="of a sentence; longer ones are cut (100)")
    parser.add_argument("--max-target-ratio", type=float, default=3.0, help="target tokens for a source token, at most (3)")


def head_of(arguments: argparse.Namespace) -> dict:
    """The keys of config.json that the command line gives."""
    return {"format": configuration.FORMAT, "name": arguments.name or arguments.output.name, "source": arguments.source,
            "target": arguments.target,
            "limits": {"max_source_tokens": arguments.max_source_tokens, "max_target_ratio": arguments.max_target_ratio}}


def report(out: Path, conversion: Conversion) -> None:
    more = ", a shortlist" * bool(conversion.shortlist) + ", a quality model" * bool(conversion.quality)
    print(f"{out}: {len(conversion.tensors)} tensors, {(out / WEIGHTS).stat().st_size:,} bytes{more}")
