"""Hugging Face's MarianMT models: python3 -m weights.conversion.convert_huggingface FOLDER --output FOLDER

Input: a MarianMTModel's folder: config.json, model.safetensors or pytorch_model.bin (nothing in it is run), vocab.json, source.spm, target.spm. Output: a
model folder that alignd loads, the same as weights/conversion/convert_marian.py makes of the Marian model that it came from: without the padding token, which has
no counterpart there, and with Marian's own positions and epsilon, with which it was trained. NumPy only.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any, Callable

import numpy
from numpy import ndarray

from ..model import safetensors
from . import checkpoint, converted, marian_decoder, marian_vocabulary, origins
from .converted import Conversion, ConversionError, Part
from .marian_tensors import check_finite

# What config.json must say, and what it is where it says nothing. Why nothing else can be converted.
FIXED: dict[str, tuple[Any, tuple, str]] = {
    "model_type": (None, ("marian",), "only MarianMT models can be converted"),
    "normalize_before": (False, (False,), "Marian's models have their norms behind each block"),
    "normalize_embedding": (False, (False,), "alignd's embeddings have no norm"),
    "add_final_layer_norm": (False, (False,), "Marian's models have no norm on top"),
    "static_position_embeddings": (True, (True,), "Marian's models have sinusoidal positions"),
    "eos_token_id": (0, (0,), "Marian's </s> has the id 0"),
}
ACTIVATIONS = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu"}
BLOCKS = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "output"}
COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
Read = tuple[tuple[int, ...], Callable[[], ndarray]]


def _read_config(folder: Path) -> dict:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConversionError(f"config.json: {error}") from error
    if not isinstance(config, dict):
        raise ConversionError("config.json: is not an object")
    for name, (default, supported, reason) in FIXED.items():
        if config.get(name, default) not in supported:
            raise ConversionError(f"config.json: {name} {config.get(name)} is not supported: {reason} (supported: {supported[0]})")
    if config.get("activation_function") not in list(ACTIVATIONS):
        raise ConversionError(f"config.json: activation_function {config.get('activation_function')} is not supported (supported: {', '.join(ACTIVATIONS)})")
    for name in ("d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads", "encoder_ffn_dim", "decoder_ffn_dim"):
        if not isinstance(config.get(name), int) or isinstance(config[name], bool) or config[name] < 1:
            raise ConversionError(f"config.json: {name} must be a positive number, got {config.get(name)}")
    return config


def _tensors(folder: Path) -> dict[str, Read]:
    """By name: shape, and how it is read."""
    path = next((folder / name for name in WEIGHTS if (folder / name).exists()), None)
    if path is None:
        raise ConversionError(f"{folder}: has neither {' nor '.join(WEIGHTS)}")
    try:
        if path.suffix == ".bin":
            found = checkpoint.load(path)
            if not isinstance(found, dict) or not all(isinstance(tensor, checkpoint.Tensor) and tensor.kind in checkpoint.FLOATS for tensor in found.values()):
                raise ConversionError(f"{path}: holds other things than tensors")
            return {name: (tensor.shape, tensor.array) for name, tensor in found.items()}
        return {name: (tensor.shape, lambda tensor=tensor: _floats(tensor)) for name, tensor in safetensors.read(path)[0].items()}
    except (safetensors.FormatError, checkpoint.FormatError) as error:
        raise ConversionError(f"{path}: {error}") from error


def _floats(tensor: ndarray) -> ndarray:
    if tensor.dtype == numpy.dtype("<u2"):
        return safetensors.from_bfloat16(tensor)
    return tensor.astype(numpy.float32, copy=False)


class Converter:
    """Fills `made` with the tensors of the model folder."""

    def __init__(self, config: dict, tensors: dict[str, Read]) -> None:
        self.config, self.tensors, self.left = config, tensors, set(tensors)
        self.size, self.made = config["d_model"], {}
        self.shared = "model.shared.weight" in tensors or config.get("share_encoder_decoder_embeddings", True)

    def _take(self, name: str, shape: tuple[int, ...], rows: int | None = None) -> Part:
        """rows: only the first so many."""
        if name not in self.tensors:
            raise ConversionError(f"{name}: missing from the file")
        stored, read = self.tensors[name]
        if tuple(stored) != shape:
            raise ConversionError(f"{name}: shape {tuple(stored)}, expected {shape}")
        self.left.discard(name)

        def make() -> ndarray:
            values = read()
            check_finite(values, name)
            return values if rows is None else values.reshape(shape)[..., :rows].reshape(rows) if shape[0] == 1 else values[:rows]

        return Part(shape if rows is None else (rows,) if shape[0] == 1 else (rows, *shape[1:]), make)

    def _dense(self, theirs: str, ours: str, inputs: int, outputs: int) -> None:
        self.made |= {f"{ours}.weight": self._take(f"{theirs}.weight", (outputs, inputs)), f"{ours}.bias": self._take(f"{theirs}.bias", (outputs,))}

    def _norm(self, theirs: str, ours: str) -> None:
        self.made |= {f"{ours}.norm.gain": self._take(f"{theirs}.weight", (self.size,)), f"{ours}.norm.shift": self._take(f"{theirs}.bias", (self.size,))}

    def _heads(self, theirs: str, ours: str) -> None:
        for old, new in BLOCKS.items():
            self._dense(f"{theirs}.{old}", f"{ours}.{new}", self.size, self.size)
        self._norm(f"{theirs}_layer_norm", ours)

    def stack(self, side: str) -> None:
        filter = self.config[f"{side}_ffn_dim"]
        for i in range(self.config[f"{side}_layers"]):
            theirs, ours = f"model.{side}.layers.{i}", f"{side}.layers.{i}"
            self._heads(f"{theirs}.self_attn", f"{ours}.self")
            if side == "decoder":
                self._heads(f"{theirs}.encoder_attn", f"{ours}.cross")
            self._dense(f"{theirs}.fc1", f"{ours}.filter.input", self.size, filter)
            self._dense(f"{theirs}.fc2", f"{ours}.filter.output", filter, self.size)
            self._norm(f"{theirs}.final_layer_norm", f"{ours}.filter")

    def words(self, vocabulary: int) -> None:
        """vocabulary: without the padding token, the last."""
        table = "model.shared.weight" if "model.shared.weight" in self.tensors else "model.decoder.embed_tokens.weight"
        if not self.shared:
            raise ConversionError("config.json: share_encoder_decoder_embeddings False is not supported: give the Marian model that it came from")
        self.made["decoder.embedding"] = self._take(table, (vocabulary + 1, self.size), vocabulary)
        self.made["output.bias"] = self._take("final_logits_bias", (1, vocabulary + 1), vocabulary)
        self.left -= {*COPIES, *POSITIONS}

    def sections(self) -> dict:
        def stack(side: str) -> dict:
            return {"layers": self.config[f"{side}_layers"], "embedding": self.size, "hidden": self.size, "heads": self.config[f"{side}_attention_heads"],
                    "filter": self.config[f"{side}_ffn_dim"], "activation": ACTIVATIONS[self.config["activation_function"]], "norm": "post",
                    "positions": "sinusoidal", "embedding_scale": bool(self.config.get("scale_embedding", False))}

        return {"encoder": {"type": "transformer", **stack("encoder"), "embedding_shared": True},
                "decoder": {"style": "transformer", **stack("decoder"), "mixer": "self_attention", "first_input": "zero"}, "attention": None,
                "output": {"tied": True}}


def _pieces(folder: Path, size: int) -> list[str]:
    """By id, without the padding token."""
    path = folder / "vocab.json"
    try:
        ids = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConversionError(f"vocab.json: {error}") from error
    numbers = isinstance(ids, dict) and all(isinstance(place, int) and not isinstance(place, bool) for place in ids.values())
    if not numbers or sorted(ids.values()) != list(range(size + 1)):
        raise ConversionError(f"vocab.json: must give each of the ids 0 to {size} to one piece")
    pieces = sorted(ids, key=ids.__getitem__)
    if pieces[-1] != "<pad>":
        raise ConversionError(f"vocab.json: the last piece is {pieces[-1]!r}, not <pad>")
    return pieces[:-1]


def _search(folder: Path, config: dict) -> dict:
    """generation_config.json's, or config.json's: what the transformers library would search with, as far as alignd has it."""
    try:
        own = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        own = {}
    beams = (own if isinstance(own, dict) else {}).get("num_beams", config.get("num_beams"))
    return {"beam_size": min(beams, marian_decoder.MOST_BEAM)} if isinstance(beams, int) and beams > 0 else {}


def convert(folder: Path, head: dict, unknowns: bool, preparation: str = "opus", alignment: str | None = None) -> Conversion:
    """head: what config.json has besides what the model determines. alignment: trained or untrained; None: what the card says."""
    config, tensors = _read_config(folder), _tensors(folder)
    shape = tensors.get("final_logits_bias", ((1, 1), None))[0]
    if math.prod(shape) < 1 or len(shape) == 0:
        raise ConversionError(f"final_logits_bias: shape {tuple(shape)}, expected (1, words)")
    size = shape[-1] - 1
    converter = Converter(config, tensors)
    converter.stack("encoder")
    converter.stack("decoder")
    converter.words(size)
    if converter.left:
        raise ConversionError(f"{min(converter.left)}: unknown, so the model is another than its config.json says")
    pieces = converted.of_words(folder / "vocab.json", _pieces(folder, size))
    sides = [marian_vocabulary.segmented(folder / name, pieces) for name in ("source.spm", "target.spm")]
    section, files = converted.tokenizer_of(*sides)
    made = head | converter.sections() | {"tokenizer": section | {"preparation": preparation}, "search": _search(folder, config)}
    made["output"]["unknowns"] = unknowns
    card = origins.card_of(folder)
    made["decoder"]["alignment_trained"] = origins.was_guided("", False, {}, card) if alignment is None else alignment == "trained"
    conversion = Conversion(converted.validated(made), converter.made, files, folder.name, "weights/conversion/convert_huggingface.py")
    return converted.with_origin(conversion, origins.find(folder, folder.name, False, card))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="config.json, model.safetensors or pytorch_model.bin, vocab.json, source.spm, target.spm")
    parser.add_argument("--allow-unknowns", action="store_true", help="searches may choose <unk>")
    converted.add_arguments(parser)
    converted.add_opus_arguments(parser)
    arguments = parser.parse_args()
    try:
        conversion = convert(arguments.folder, converted.head_of(arguments), arguments.allow_unknowns, arguments.preparation or "opus", arguments.alignment)
        converted.write(arguments.output, conversion, arguments.storage)
    except ConversionError as error:
        sys.exit(f"{arguments.folder}: {error}")
    print("\n".join(converted.tell(conversion)))
    converted.report(arguments.output, conversion)


if __name__ == "__main__":
    main()
