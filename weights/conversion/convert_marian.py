"""Marian's and Nematus's models: python3 -m weights.conversion.convert_marian MODEL [--source-vocabulary FILE --target-vocabulary FILE] --output FOLDER

Input: a recurrent model (type s2s, amun or nematus) or a transformer as Marian saves it (.npz or .bin, also gzipped), whose options it holds itself;
an older one with --options FILE (Nematus's MODEL.npz.json, or a file of Marian's training options). Vocabularies: Marian's YAML, Nematus's JSON, one
word a line, or SentencePiece (.spm); where SentencePiece segments and a list numbers, --source-spm and --target-spm beside the lists. Or a folder
with all of them, as OPUS-MT and Firefox have it (weights/conversion/marian_folder.py). Output: a model folder that alignd loads. What cannot be converted is
refused by name (weights/conversion/marian_options.py); every tensor of the file is used, or printed as dropped. NumPy only.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from . import converted, marian_binary, marian_decoder, marian_folder, marian_options, marian_quality, marian_recurrent, marian_shortlist, marian_transformer, marian_vocabulary, npz
from .converted import Conversion, ConversionError, Vocabulary
from .marian_decoder import Defaults
from .marian_folder import Parts
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


class Own(NamedTuple):
    """What a model's own files do not say of how it is used: whether searches may choose <unk>, how text is prepared, whether its attention was trained to
    align."""

    unknowns: bool = False
    preparation: str = "none"
    guided: bool = True


def convert(archive: Archive, head: dict, vocabularies: tuple[Path, Path], options: dict[str, str], own: Own,
            segmenters: tuple[Path, Path] | None = None) -> Conversion:
    """head: what config.json has besides what the model determines. segmenters: SentencePiece files that segment, if the vocabularies only number."""
    tensors, made, sections, sizes = _convert_tensors(archive, options)
    if tensors.left:
        raise ConversionError(f"{tensors.stored[min(tensors.left)]}: unknown, so the model is another than its options say")
    section, files = converted.tokenizer_of(*_vocabularies(vocabularies, segmenters, sizes))
    if marian_options.shares(options) and not converted.one_list(section):
        raise ConversionError("source and target have one embedding, but their vocabularies differ")
    config = head | sections | {"tokenizer": section | ({"preparation": own.preparation} if segmenters else {})}
    config["output"]["unknowns"] = own.unknowns
    if options["type"] == marian_options.TRANSFORMER:
        config["decoder"]["alignment_trained"] = own.guided
    return Conversion(converted.validated(config), made, files, archive.path.name, "weights/conversion/convert_marian.py")


def _parts(arguments: argparse.Namespace) -> Parts:
    """What the command line names, and for the rest what is found beside the model."""
    sides = arguments.source_vocabulary, arguments.target_vocabulary
    if not arguments.model.exists():
        raise ConversionError(f"{arguments.model}: is not there")
    if arguments.model.is_dir() or not all(sides):
        parts = marian_folder.find(arguments.model)
    else:
        parts = marian_folder.alone(arguments.model, sides)
    if all(sides):
        parts = parts._replace(vocabularies=sides, segmenters=None)
    if arguments.source_spm and arguments.target_spm:
        parts = parts._replace(segmenters=(arguments.source_spm, arguments.target_spm))
    return parts._replace(shortlist=None if arguments.no_shortlist else arguments.shortlist or parts.shortlist)


def _unpacked(parts: Parts, folder: Path) -> Parts:
    def plain(path: Path | None) -> Path | None:
        return None if path is None else marian_folder.plain(path, folder)

    source, target = map(plain, parts.vocabularies)
    segmenters = parts.segmenters and (plain(parts.segmenters[0]), plain(parts.segmenters[1]))
    return parts._replace(model=plain(parts.model), vocabularies=(source, target), segmenters=segmenters, shortlist=plain(parts.shortlist),
                          quality=plain(parts.quality))


def _beside(parts: Parts, conversion: Conversion, best: tuple[int, int]) -> Conversion:
    """With its shortlist, quality model and licence."""
    if parts.shortlist:
        section, files = conversion.config["tokenizer"], conversion.vocabularies
        source, target = (marian_vocabulary.ids(files, section, side) for side in ("source", "target"))
        one = converted.one_list(section)
        conversion = conversion._replace(shortlist=marian_shortlist.read(parts.shortlist, (source, target), target["<unk>"], one, best))
    if parts.quality:
        conversion = conversion._replace(quality=marian_quality.read(parts.quality))
    return converted.with_origin(conversion, parts.origin)


def _head(arguments: argparse.Namespace, parts: Parts, defaults: Defaults) -> dict:
    """The command line's, or the decoder's own."""
    arguments.max_target_ratio = arguments.max_target_ratio or defaults.ratio
    return converted.head_of(arguments) | {"search": defaults.search}


def _convert(arguments: argparse.Namespace, parts: Parts) -> tuple[Conversion, list[str]]:
    """Writes the folder. -> what was written, what to say of it."""
    with open_archive(parts.model) as archive:
        options, ignored = _options(archive, arguments.options)
        defaults = marian_decoder.read(parts.decoder)
        own = Own(arguments.allow_unknowns or defaults.unknowns, arguments.preparation or ("opus" if parts.segmenters else "none"),
                  parts.guided if arguments.alignment is None else arguments.alignment == "trained")
        conversion = convert(archive, _head(arguments, parts, defaults), parts.vocabularies, options, own, parts.segmenters)
        conversion = _beside(parts, conversion, (arguments.shortlist_first, arguments.shortlist_best))
        as_given = any(part.given for part in conversion.tensors.values())
        converted.write(arguments.output, conversion, arguments.storage or ("int8" if as_given else "float32"))
        said = [f"dropped: {name}, {DROPPED[name]}" for name in sorted(DROPPED.keys() & archive.entries.keys())]
    said += defaults.said + converted.tell(conversion)
    return conversion, said + ([f"options of training, ignored: {', '.join(ignored)}"] if ignored else [])


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="MODEL.npz, MODEL.bin, or a folder with a model and its vocabularies")
    parser.add_argument("--source-vocabulary", type=Path, help="without it, what stands beside the model")
    parser.add_argument("--target-vocabulary", type=Path)
    parser.add_argument("--source-spm", type=Path, help="what segments the source, where its vocabulary only numbers the pieces")
    parser.add_argument("--target-spm", type=Path, help="the same of the target")
    parser.add_argument("--shortlist", type=Path, help="lex.s2t.bin or lex.s2t; without it, what stands beside the model")
    parser.add_argument("--no-shortlist", action="store_true", help="leave it out")
    parser.add_argument("--shortlist-first", type=int, default=100, help="of a shortlist of text: so many first ids are on every list (100)")
    parser.add_argument("--shortlist-best", type=int, default=100, help="and so many targets of each source piece (100)")
    parser.add_argument("--options", type=Path, help="a file of options, for a model that does not hold them")
    parser.add_argument("--allow-unknowns", action="store_true", help="searches may choose <unk>, as with Marian's --allow-unk")
    converted.add_arguments(parser)
    converted.add_opus_arguments(parser)
    parser.set_defaults(storage=None, max_target_ratio=None)
    return parser


def main() -> None:
    arguments = _arguments().parse_args()
    try:
        parts = _parts(arguments)
        with tempfile.TemporaryDirectory() as unpacked:
            conversion, said = _convert(arguments, _unpacked(parts, Path(unpacked)))
    except (ConversionError, FormatError) as error:
        sys.exit(f"{arguments.model}: {error}" if isinstance(error, ConversionError) and str(arguments.model) not in str(error) else str(error))
    print("\n".join(said))
    converted.report(arguments.output, conversion)


if __name__ == "__main__":
    main()
