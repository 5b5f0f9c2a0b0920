"""The parts of a model as it is handed around: an unpacked OPUS-MT package, or the files of a Firefox (Bergamot) pair, gzipped or not.

Input: the folder, or the model's file in it. Output of `find`: which file is what. Whoever names a part on the command line needs nothing found.
"""

from __future__ import annotations

import gzip
import re
import shutil
import zlib
from pathlib import Path
from typing import NamedTuple

from . import mappings, origins
from .converted import ConversionError
from .origins import Origin

GZIP = b"\x1f\x8b"
# Best first: with one activation scale for each matrix, without, as it was trained.
MODELS = (".intgemm.alphas.bin", ".intgemm8.bin", ".npz", ".bin")
SPM_PAIRS = (("srcvocab.*.spm", "trgvocab.*.spm"), ("vocab.*.spm",) * 2, ("joint.spm",) * 2, ("vocab.spm",) * 2, ("source.spm", "target.spm"))
LISTS = (("*.src.vocab", "*.trg.vocab"), ("*.vocab.yml",) * 2, ("vocab.yml",) * 2, ("source.yml", "target.yml"))
FIREFOX_DECODER = {"beam-size": "1", "normalize": "1", "max-length-factor": "2"}  # what Firefox asks of Bergamot


class Parts(NamedTuple):
    """segmenters: SentencePiece files beside lists that number; decoder, training: options of the decoder, and of the training, by name; quality: a
    quality model."""

    model: Path
    vocabularies: tuple[Path, Path]
    segmenters: tuple[Path, Path] | None
    shortlist: Path | None
    decoder: dict[str, str]
    training: dict[str, str]
    quality: Path | None
    origin: Origin
    guided: bool  # its attention was trained to align


def plain(path: Path, folder: Path) -> Path:
    """The file, or if it is gzipped what it holds, unpacked into the folder under its name."""
    with path.open("rb") as file:
        if file.read(2) != GZIP:
            return path
    out = folder / path.name.removesuffix(".gz")
    try:
        with gzip.open(path) as packed, out.open("wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
    except (OSError, EOFError, zlib.error) as error:
        raise ConversionError(f"{path}: cannot be unpacked: {error}") from error
    return out


def _one(folder: Path, pattern: str) -> Path | None:
    """The file of this name, gzipped or not."""
    found = sorted({*folder.glob(pattern), *folder.glob(pattern + ".gz")})
    if len(found) > 1:
        raise ConversionError(f"{folder}: has {', '.join(path.name for path in found)}: leave one of them there, or name it")
    return found[0] if found else None


def _pair(folder: Path, pairs: tuple[tuple[str, str], ...]) -> tuple[Path, Path] | None:
    """The first pair that is there."""
    for names in pairs:
        source, target = (_one(folder, name) for name in names)
        if source and target:
            return source, target
    return None


def _model(folder: Path) -> Path:
    others = ("lex.", "quality", "vocab", "srcvocab", "trgvocab", "pytorch_model")
    for ending in MODELS:
        found = [path for path in sorted(folder.iterdir()) if path.name.removesuffix(".gz").endswith(ending) and not path.name.startswith(others)]
        if len(found) > 1:
            raise ConversionError(f"{folder}: has {', '.join(path.name for path in found)}: name the one to convert")
        if found:
            return found[0]
    raise ConversionError(f"{folder}: has no model: neither .npz nor .bin")


def _options(*paths: Path) -> dict[str, str]:
    """The first file's that is there: options that are single values."""
    for path in paths:
        if path.exists():
            try:
                return {key: value for key, value in mappings.read(path.read_text(encoding="utf-8")).items() if isinstance(value, str)}
            except (mappings.SyntaxFault, UnicodeDecodeError) as error:
                raise ConversionError(f"{path}: {error}") from error
    return {}


def alone(model: Path, vocabularies: tuple[Path, Path]) -> Parts:
    """A model of which all is named that it needs."""
    training = _options(model.with_name(f"{model.name}.yml"))
    return Parts(model, vocabularies, None, None, {}, training, None, Origin("", "", {}), origins.was_guided(model.name, False, training, ""))


def find(path: Path) -> Parts:
    folder = path if path.is_dir() else path.parent
    model = _model(folder) if path.is_dir() else path
    lists, cutters = _pair(folder, LISTS), _pair(folder, SPM_PAIRS)
    if lists is None and cutters is None:
        raise ConversionError(f"{folder}: has no vocabularies: neither SentencePiece files nor lists of words")
    shortlist = _one(folder, "lex.*s2t.bin") or _one(folder, "lex.s2t")
    firefox = (folder / "metadata.json").exists() or re.match(r"model\.\w+\.intgemm\.alphas\.bin", model.name) is not None
    bergamot = firefox or "alphas" in model.name
    segmenters = cutters if lists and cutters and lists[0].suffix != ".spm" else None
    decoder = _options(folder / "decoder.yml", folder / f"{model.name}.decoder.yml") or (FIREFOX_DECODER if bergamot else {})
    training = _options(folder / f"{model.name}.yml")
    card = origins.card_of(folder) if path.is_dir() else ""
    origin = origins.find(folder, model.name, firefox, card)
    return Parts(model, lists or cutters, segmenters, shortlist, decoder, training, _one(folder, "quality*.bin"), origin,
                 origins.was_guided(model.name, bergamot, training, card))
