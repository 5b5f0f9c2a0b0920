"""Any PyTorch state dict of the model family: python3 -m weights.conversion.state_dict CHECKPOINT MAP --into DIR

Input: a checkpoint that torch.load(weights_only=True) reads, and a map in YAML (weights/conversion/README.md): the keys
of config.json, the vocabularies, and for each tensor of the model folder those of the checkpoint that it is made of.
Output: a model folder. Every tensor of the checkpoint is used or named under `ignored`. With --check MODULE:FUNCTION
the folder is compared, joint by joint, with the forward pass of the program that the checkpoint is from
(weights/conversion/joints.py).
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import json
import re
from pathlib import Path
from typing import Any, Callable

import torch
import yaml
from torch import Tensor

from . import converted, joints
from ..command import run_command
from ..model.config import NO_FILE, context_size, readout_size
from ..model.network import READOUTS, Model
from ..model.storage import STORAGES
from ..model.vocabulary import SPECIAL, UNK
from .converted import Conversion, ConversionError

IMPOSSIBLE = -1e4  # the logit of a word that is never written: its exponential is 0
MOST_DEEP = 8      # dictionaries in each other
MOST_MAP_BYTES = 1 << 20
SECTIONS: dict[str, type] = {"state": str, "config": dict, "vocabularies": dict, "tensors": dict, "ignored": list}
SIDES = ("source", "target")
GATES = {"gru": "r z n", "lstm": "i f g o", "rnn": "n"}  # the order of rows in alignd's cells, PyTorch's


# ---- the checkpoint ----

def read_checkpoint(path: Path) -> Any:
    """The content of the file. No code in it is run."""
    with path.open("rb"):  # errors of the file itself are not those of its content
        pass
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged pickle can raise any of them
        raise ConversionError(
            f"{path}: is not a checkpoint that torch.load(weights_only=True) reads; save the dictionary of tensors "
            f"alone, torch.save(model.state_dict(), PATH)") from error


def flattened(value: Any, prefix: str = "", depth: int = 0) -> dict[str, Tensor]:
    """The tensors in a dictionary of dictionaries, by their names joined with dots; other values are left out."""
    if isinstance(value, Tensor):
        return {prefix: value}
    if not isinstance(value, dict) or depth > MOST_DEEP:
        return {}
    found: dict[str, Tensor] = {}
    for key, inner in value.items():
        found |= flattened(inner, f"{prefix}.{key}" if prefix else str(key), depth + 1)
    return found


def tensors_of(path: Path, content: Any, within: str) -> dict[str, Tensor]:
    """within: the keys, joined with dots, that lead to the state dict; "": the content itself is it."""
    for key in within.split(".") if within else ():
        if not isinstance(content, dict) or key not in content:
            known = f"; it has {', '.join(map(str, content))}" if isinstance(content, dict) else ""
            raise ConversionError(f"{path}: has no {within}, which the map names as its state{known}")
        content = content[key]
    if not (found := flattened(content)):
        raise ConversionError(f"{path}: has no tensors by name; save model.state_dict()")
    return found


# ---- the map ----

def read_map(path: Path) -> dict:
    if path.stat().st_size > MOST_MAP_BYTES:
        raise ConversionError(f"{path}: a map has at most {MOST_MAP_BYTES} bytes")
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ConversionError(f"{path}: is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict):
        raise ConversionError(f"{path}: must have the keys config, vocabularies and tensors")
    for name, value in found.items():
        if name not in SECTIONS:
            raise ConversionError(f"{path}: {name}: unknown key (known: {', '.join(SECTIONS)})")
        if not isinstance(value, SECTIONS[name]):
            raise ConversionError(f"{path}: {name}: must be a {SECTIONS[name].__name__}")
    for name in ("config", "vocabularies", "tensors"):
        if name not in found:
            raise ConversionError(f"{path}: {name}: missing")
    return {"state": "", "ignored": []} | found


# ---- vocabularies ----

def read_words(path: Path) -> list[str]:
    """The words in the order of their ids: one a line, or in JSON a list, {word: id} or {id: word}."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".json":
        return text.removesuffix("\n").split("\n")
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ConversionError(f"{path}: is not JSON: {error}") from error
    if isinstance(found, dict):
        pairs = found.items() if all(type(value) is int for value in found.values()) else (
            (word, int(number) if number.isdecimal() else -1) for number, word in found.items())
        by_id = {number: word for word, number in pairs}
        if by_id.keys() != set(range(len(found))):
            raise ConversionError(f"{path}: must have the ids 0 to {len(found) - 1}, each once")
        found = [by_id[number] for number in range(len(found))]
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        raise ConversionError(f"{path}: must be a list of words, or map words to ids or ids to words")
    return found


class Vocabularies:
    """The words of both sides. words: as the model folder has them; own: their number in the checkpoint, one less
    where `<unk>` is added; names: what the program calls each of them."""

    def __init__(self, where: str, folder: Path, section: dict, tokenizer: dict) -> None:
        special = section.get("special", {})
        unknown = section.keys() - {*SIDES, "special", "sentencepiece"}
        if unknown or not isinstance(special, dict) or not special.keys() <= {"unk", "bos", "eos"}:
            raise ConversionError(f"{where}: vocabularies: may have source, target, sentencepiece, and special with "
                                  f"unk, bos and eos")
        renamed = {str(special[name]): piece for name, piece in zip(("unk", "bos", "eos"), SPECIAL) if name in special}
        self.names: dict[str, list[str]] = {}
        self.words: dict[str, list[str]] = {}
        for side in SIDES:
            if not isinstance(section.get(side), str):
                raise ConversionError(f"{where}: vocabularies: {side}: must be the name of a file of words")
            self.names[side] = read_words(folder / section[side])
            self.words[side] = [renamed.get(word, word) for word in self.names[side]]
            if SPECIAL[UNK] not in self.words[side]:
                self.words[side].append(SPECIAL[UNK])
        self.own = {side: len(self.names[side]) for side in SIDES}
        self.size = {side: len(self.words[side]) for side in SIDES}
        self.section, self.files = self._tokenizer(where, folder, section, tokenizer)

    def _tokenizer(self, where: str, folder: Path, section: dict, tokenizer: dict) -> tuple[dict, dict[str, bytes]]:
        """config.json's section, and the files by name."""
        made, files = converted.tokenizer_of(*(converted.of_words(Path(section[side]), self.words[side])
                                               for side in SIDES))
        cutting = section.get("sentencepiece")
        if cutting is None:
            return made | tokenizer, files
        if not isinstance(cutting, dict) or cutting.keys() != set(SIDES):
            raise ConversionError(f"{where}: vocabularies: sentencepiece: must have the files source and target")
        models = {side: (folder / str(cutting[side])).read_bytes() for side in SIDES}
        one = models["source"] == models["target"]
        names = {side: "joint.spm" if one else f"{side}.spm" for side in SIDES}
        pieces = {"pieces": made["source"], "target_pieces": made["target"]}
        if pieces["pieces"] == pieces["target_pieces"]:
            pieces["target_pieces"] = NO_FILE
        files |= {names[side]: models[side] for side in SIDES}
        return {"type": "sentencepiece"} | names | pieces | tokenizer, files

    def row(self, name: str, word: str) -> int:
        """The id of a word, as the program calls it, on the side of this tensor of the model folder."""
        side = "source" if name.startswith("encoder.") else "target"
        if word not in self.names[side]:
            raise ConversionError(f"word: {word} is not in the {side} vocabulary")
        return self.names[side].index(word)


# ---- tensors ----

def _blocks(rows: Tensor, order: Any, wanted: str) -> dict[str, Tensor]:
    """Rows in blocks of the same size -> the blocks by name. wanted: the names that alignd has."""
    if not isinstance(order, list) or sorted(map(str, order)) != sorted(wanted.split()):
        raise ConversionError(f"gates: must name {', '.join(wanted.split())}, in the order of the checkpoint")
    if rows.shape[0] % len(order):
        raise ConversionError(f"gates: {rows.shape[0]} rows are not {len(order)} blocks")
    return dict(zip(map(str, order), rows.chunk(len(order))))


def _ranges(x: Tensor, ranges: Any, dimension: int) -> Tensor:
    parts = []
    for part in ranges if isinstance(ranges, list) else [None]:
        if (not isinstance(part, list) or len(part) != 2 or not all(type(end) is int for end in part)
            or not 0 <= part[0] < part[1] <= x.shape[dimension]):
            raise ConversionError(
                f"{'rows' if dimension == 0 else 'columns'}: must be a list of [first, end], within 0 and "
                f"{x.shape[dimension]}, got {part or ranges}")
        parts.append(x.narrow(dimension, part[0], part[1] - part[0]))
    return torch.cat(parts, dim=dimension)


class Assembly:
    """Makes the tensors of the model folder from those of the checkpoint."""

    def __init__(self, tensors: dict[str, Tensor], config: dict, vocabularies: Vocabularies, origin: Path) -> None:
        self.tensors, self.config, self.vocabularies, self.origin = tensors, config, vocabularies, origin
        self.left = set(tensors)
        self.steps: dict[str, Callable[[str, Tensor, Any], Tensor]] = {
            "transpose": lambda name, x, value: x.t() if self._matrix(x) else x,
            "squeeze": lambda name, x, value: x.squeeze(),
            "word": lambda name, x, value: x[self.vocabularies.row(name, str(value))],
            "rows": lambda name, x, value: _ranges(x, value, 0),
            "columns": self._columns,
            "gates": self._gates,
            "negate": self._negate,
            "times": self._times}

    @staticmethod
    def _matrix(x: Tensor) -> bool:
        if x.dim() != 2:
            raise ConversionError(f"transpose, columns: need a matrix, got the shape {shape_of(x)}")
        return True

    @staticmethod
    def _times(name: str, x: Tensor, value: Any) -> Tensor:
        if type(value) not in (int, float):
            raise ConversionError(f"times: must be a number, got {value}")
        return x * value

    def _columns(self, name: str, x: Tensor, value: Any) -> Tensor:
        self._matrix(x)
        if not isinstance(value, list) or not all(isinstance(letter, str) for letter in value):
            return _ranges(x, value, 1)
        decoder = self.config["decoder"]
        sizes = {"y": decoder["embedding"], "s": decoder["hidden"], "c": context_size(self.config),
                 "r": readout_size(self.config)}
        wanted = ("csy" if name == "output.gate.weight" else READOUTS[decoder["readout"]].parts
                  if name == "readout.weight" else ("yr" if decoder["input_feeding"] else "yc")
                  if name == "decoder.layers.0.weight_input" else "")
        if sorted(value) != sorted(wanted):
            raise ConversionError(f"columns: {name} has the parts {', '.join(wanted) or 'that no letter names'}; "
                                  f"otherwise columns is a list of [first, end]")
        if sum(sizes[letter] for letter in value) != x.shape[1]:
            raise ConversionError(f"columns: {' + '.join(f'{sizes[letter]} ({letter})' for letter in value)} is not "
                                  f"{x.shape[1]}")
        parts = dict(zip(value, x.split([sizes[letter] for letter in value], dim=1)))
        return torch.cat([parts[letter] for letter in wanted], dim=1)

    def _cell(self, name: str) -> str:
        section = self.config["encoder" if name.startswith("encoder.") else "decoder"]
        if "cell" not in section:
            raise ConversionError("gates, negate: only cells have gates")
        return GATES[section["cell"]]

    def _gates(self, name: str, x: Tensor, value: Any) -> Tensor:
        wanted = self._cell(name)
        blocks = _blocks(x, value, wanted)
        return torch.cat([blocks[gate] for gate in wanted.split()])

    def _negate(self, name: str, x: Tensor, value: Any) -> Tensor:
        wanted = self._cell(name)
        if not isinstance(value, list) or not set(map(str, value)) <= set(wanted.split()):
            raise ConversionError(f"negate: must be a list of {', '.join(wanted.split())}")
        return torch.cat([-block if gate in value else block
                          for gate, block in _blocks(x, wanted.split(), wanted).items()])

    def take(self, name: Any) -> Tensor:
        if not isinstance(name, str) or name not in self.tensors:
            close = difflib.get_close_matches(str(name), self.tensors, 3)
            raise ConversionError(f"{self.origin} has no tensor {name}"
                                  + (f" (it has {', '.join(close)})" if close else ""))
        if not self.tensors[name].is_floating_point():
            raise ConversionError(f"{name} of {self.origin} holds {self.tensors[name].dtype} numbers, not floating "
                                  f"point")
        self.left.discard(name)
        return self.tensors[name].detach().float()

    def make(self, name: str, entry: Any, shape: tuple[int, ...], depth: int = 0) -> Tensor:
        """name: in the model folder; entry: of the map; shape: of what is wanted."""
        if depth > MOST_DEEP:
            raise ConversionError(f"at most {MOST_DEEP} levels")
        if not isinstance(entry, dict):
            return self.take(entry)
        begin, *steps = entry.items() or [("", None)]
        if begin[0] == "zeros":
            x = torch.zeros(shape)
        elif begin[0] == "from":
            x = self.take(begin[1])
        elif begin[0] in ("sum", "below", "beside") and isinstance(begin[1], list) and begin[1]:
            parts = [self.make(name, part, shape, depth + 1) for part in begin[1]]
            try:
                x = sum(parts) if begin[0] == "sum" else torch.cat(parts, dim=0 if begin[0] == "below" else 1)
            except (RuntimeError, IndexError) as error:
                raise ConversionError(f"{begin[0]}: the parts have the shapes "
                                      f"{', '.join(map(shape_of, parts))}") from error
        else:
            raise ConversionError("must be the name of a tensor, or begin with from, sum, below, beside or zeros")
        for step, value in steps:
            if step not in self.steps:
                raise ConversionError(f"{step}: unknown step (known: {', '.join(self.steps)})")
            x = self.steps[step](name, x, value)
        return x

    def padded(self, name: str, x: Tensor) -> Tensor:
        """Adds the row of `<unk>` where the program has no such word: zeros, and a logit that is never chosen."""
        side = {"encoder.embedding": "source", "decoder.embedding": "target", "output.weight": "target",
                "output.bias": "target"}.get(name)
        vocabularies = self.vocabularies
        if not side or vocabularies.size[side] == vocabularies.own[side] or x.shape[:1] != (vocabularies.own[side],):
            return x
        return torch.cat([x, x.new_full((1, *x.shape[1:]), IMPOSSIBLE if name == "output.bias" else 0)])


def shape_of(x: Tensor | tuple[int, ...]) -> str:
    return " x ".join(map(str, x.shape if isinstance(x, Tensor) else x)) or "one number"


def _entry(table: dict, name: str) -> tuple[str, Any] | None:
    """The line of the map for a tensor: that of its name, or one in which {i} is the number of the layer."""
    if name in table:
        return name, table[name]
    for pattern, entry in table.items():
        found = re.fullmatch(re.escape(str(pattern)).replace(r"\{i\}", "([0-9]+)", 1), name) if "{i}" in str(
            pattern) else None
        if found:
            return pattern, json.loads(json.dumps(entry).replace("{i}", found[1]))
    return None


def assemble(assembly: Assembly, model: Model, found: dict, where: Path) -> dict[str, Tensor]:
    """All tensors of the model folder. found: the map."""
    made, used = {}, set()
    for name, wanted in model.named_tensors().items():
        shape = tuple(wanted.shape)
        if not (line := _entry(found["tensors"], name)):
            raise ConversionError(f"{where}: tensors: lacks {name}, which a model of this config has "
                                  f"({shape_of(shape)}); {{zeros: true}} where the program has no such tensor")
        try:
            x = assembly.padded(name, assembly.make(name, line[1], shape))
        except ConversionError as error:
            raise ConversionError(f"{where}: tensors: {name}: {error}") from error
        stored = name in ("encoder.positions", "decoder.positions") and x.shape[1:] == shape[1:]
        if tuple(x.shape) != shape and not stored:
            turned = ", which transpose: true would be" if tuple(x.shape)[::-1] == shape else ""
            raise ConversionError(f"{where}: tensors: {name}: is {shape_of(x)} as made from {line[1]}, and a model of "
                                  f"this config needs {shape_of(shape)}{turned}")
        if not torch.isfinite(x).all():
            raise ConversionError(f"{assembly.origin}: {line[1]} has values that are not numbers")
        made[name] = x.contiguous()
        used.add(line[0])
    if unused := [name for name in found["tensors"] if name not in used]:
        raise ConversionError(f"{where}: tensors: {unused[0]}: a model of this config has no such tensor")
    left = [name for name in assembly.left if not any(fnmatch.fnmatchcase(name, str(pattern))
                                                      for pattern in found["ignored"])]
    if left:
        more = f" (and {len(left) - 1} more)" if len(left) > 1 else ""
        raise ConversionError(f"{assembly.origin}: {min(left)}{more} is in no line of {where}; name it there, or under "
                              f"ignored if the forward pass does not read it")
    return made


def convert(checkpoint: Path, where: Path, name: str | None = None) -> tuple[Conversion, Vocabularies, Any]:
    """The model folder's content, the vocabularies, and the checkpoint's content."""
    found, content = read_map(where), read_checkpoint(checkpoint)
    tensors = tensors_of(checkpoint, content, found["state"])
    tokenizer = found["config"].get("tokenizer", {})
    if not isinstance(tokenizer, dict):
        raise ConversionError(f"{where}: config: tokenizer: must be a dict")
    vocabularies = Vocabularies(str(where), where.parent, found["vocabularies"], tokenizer)
    config = {"format": 1, "source": "und", "target": "und"} | found["config"] | {"tokenizer": vocabularies.section}
    config["name"] = name or config.get("name") or f"{config['source']}-{config['target']}"
    try:
        config = converted.validated(config)
    except ConversionError as error:
        raise ConversionError(f"{where}: {error}") from error
    if config["encoder"]["embedding_shared"] and vocabularies.words["source"] != vocabularies.words["target"]:
        raise ConversionError(f"{where}: config: encoder.embedding_shared: the vocabularies differ")
    model = Model(config, vocabularies.size["source"], vocabularies.size["target"])
    made = assemble(Assembly(tensors, config, vocabularies, checkpoint), model, found, where)
    parts = {key: converted.constant(value.numpy()) for key, value in made.items()}
    return Conversion(config, parts, vocabularies.files, checkpoint.name,
                      "weights/conversion/state_dict.py"), vocabularies, content


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path, help="the file that torch.save wrote")
    parser.add_argument("map", type=Path, help="the YAML file that maps its names (weights/conversion/README.md)")
    parser.add_argument("--into", type=Path, required=True, help="the folder that gets the model folder")
    parser.add_argument("--name", help="that of the model folder; without it, config's name, or its languages")
    parser.add_argument("--storage", choices=list(STORAGES), default="float32", help="of the matrices (float32)")
    parser.add_argument("--check", metavar="MODULE:FUNCTION",
                        help="the program's own forward pass, to compare the folder with")
    parser.add_argument("--tolerance", type=float, default=joints.TOLERANCE,
                        help=f"of the comparison ({joints.TOLERANCE:g})")
    arguments = parser.parse_args()
    theirs = joints.find(arguments.check) if arguments.check else None
    conversion, vocabularies, content = convert(arguments.checkpoint, arguments.map, arguments.name)
    name = conversion.config["name"]
    if name in ("", ".", "..") or "/" in name:
        raise ConversionError(f"{arguments.map}: config: name: must be the name of a folder, got {name}")
    out = arguments.into / name
    converted.write(out, conversion, arguments.storage)
    converted.report(out, conversion)
    if theirs:
        joints.compare(out, lambda *texts: theirs(content, *texts), vocabularies.own, arguments.check,
                       arguments.tolerance)


if __name__ == "__main__":
    run_command(main)
