"""Marian's and Nematus's models: python3 -m weights.convert_marian MODEL --source-vocabulary FILE --target-vocabulary FILE --output FOLDER

Input: a recurrent model (type s2s, amun or nematus) or a transformer as Marian saves it (.npz or .bin, also gzipped), whose options it holds itself;
an older one with --options FILE (Nematus's MODEL.npz.json, or a file of Marian's training options). Vocabularies: Marian's YAML, Nematus's JSON, one
word a line, or SentencePiece (.spm); where SentencePiece segments and a list numbers, --source-spm and --target-spm beside the lists. Or a folder
with all of them, as OPUS-MT and Firefox have it (weights/marian_folder.py). Output: a model folder that alignd loads. What cannot be converted is
refused by name (weights/marian_options.py); every tensor of the file is used, or printed as dropped. NumPy only.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import converted, marian_binary, marian_options, marian_recurrent, marian_transformer, marian_vocabulary, npz
from .converted import Conversion, ConversionError, Vocabulary
from .marian_tensors import DROPPED, SPECIAL_OPTIONS, Tensors
from .npz import FormatError

Archive = npz.Archive | marian_binary.Archive


def open_archive(path: Path) -> Archive:
    """By its first bytes: a zip, or the other container."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error
    return npz.Archive(path) if start == b"PK" or path.suffix == ".npz" else marian_binary.Archive(path)


def _options(archive: Archive, path: Path | None) -> tuple[dict[str, str], list[str]]:
    if SPECIAL_OPTIONS in archive.entries:
        try:
            text = archive.read(SPECIAL_OPTIONS).tobytes().rstrip(b"\0").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ConversionError(f"{SPECIAL_OPTIONS}: not valid UTF-8") from error
        return marian_options.read(text, own=True)
    path = path or archive.path.with_name(archive.path.name + ".json")
    if not path.exists():
        raise ConversionError(f"{archive.path}: holds no options ({SPECIAL_OPTIONS}): give a file of them with --options")
    return marian_options.read(path.read_text(encoding="utf-8"), own=False)


def _convert_tensors(archive: Archive, options: dict[str, str]) -> tuple[Tensors, dict, dict, tuple[int, int]]:
    """-> the file's tensors, those of the folder, the sections of config.json that the model determines, the sizes of the vocabularies."""
    if options["type"] == marian_options.TRANSFORMER:
        tensors = Tensors(archive, {})
        transformer = marian_transformer.Converter(tensors, options)
        sizes = transformer.convert()
        return tensors, transformer.made, transformer.config(), sizes
    tensors = Tensors(archive, {} if options["type"] == "s2s" else marian_recurrent.nematus_names(options))
    recurrent = marian_recurrent.Converter(tensors, options)
    attention, sizes = recurrent.convert()
    return tensors, recurrent.made, recurrent.config(attention), sizes


def _vocabularies(sides: tuple[Path, Path], segmenters: tuple[Path, Path] | None, sizes: tuple[int, int]) -> tuple[Vocabulary, Vocabulary]:
    read = [marian_vocabulary.read(path, size) for path, size in zip(sides, sizes)]
    if segmenters:
        read = [marian_vocabulary.segmented(path, vocabulary) for path, vocabulary in zip(segmenters, read)]
    return read[0], read[1]


def convert(archive: Archive, head: dict, vocabularies: tuple[Path, Path], options: dict[str, str], unknowns: bool,
            segmenters: tuple[Path, Path] | None = None) -> Conversion:
    """head: what config.json has besides what the model determines. segmenters: SentencePiece files that segment, if the vocabularies only number."""
    tensors, made, sections, sizes = _convert_tensors(archive, options)
    if tensors.left:
        raise ConversionError(f"{tensors.stored[min(tensors.left)]}: unknown, so the model is another than its options say")
    section, files = converted.tokenizer_of(*_vocabularies(vocabularies, segmenters, sizes))
    if marian_options.shares(options) and not converted.one_list(section):
        raise ConversionError("source and target have one embedding, but their vocabularies differ")
    config = head | sections | {"tokenizer": section}
    config["output"]["unknowns"] = unknowns
    return Conversion(converted.validated(config), made, files, archive.path.name, "weights/convert_marian.py")


def _sides(one: Path | None, other: Path | None) -> tuple[Path, Path] | None:
    """Both, or neither."""
    return (one, other) if one and other else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="MODEL.npz or MODEL.bin")
    parser.add_argument("--source-vocabulary", type=Path, required=True)
    parser.add_argument("--target-vocabulary", type=Path, required=True)
    parser.add_argument("--source-spm", type=Path, help="what segments the source, where its vocabulary only numbers the pieces")
    parser.add_argument("--target-spm", type=Path, help="the same of the target")
    parser.add_argument("--options", type=Path, help="a file of options, for a model that does not hold them")
    parser.add_argument("--allow-unknowns", action="store_true", help="searches may choose <unk>, as with Marian's --allow-unk")
    converted.add_arguments(parser)
    arguments = parser.parse_args()
    sides = (arguments.source_vocabulary, arguments.target_vocabulary)
    try:
        with open_archive(arguments.model) as archive:
            options, ignored = _options(archive, arguments.options)
            segmenters = _sides(arguments.source_spm, arguments.target_spm)
            conversion = convert(archive, converted.head_of(arguments), sides, options, arguments.allow_unknowns, segmenters)
            converted.write(arguments.output, conversion, arguments.storage)
    except (ConversionError, FormatError) as error:
        sys.exit(f"{arguments.model}: {error}" if isinstance(error, ConversionError) else str(error))
    for name in sorted(DROPPED.keys() & archive.entries.keys()):
        print(f"dropped: {name}, {DROPPED[name]}")
    if ignored:
        print(f"options of training, ignored: {', '.join(ignored)}")
    converted.report(arguments.output, conversion)


if __name__ == "__main__":
    main()
