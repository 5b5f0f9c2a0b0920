"""Small models as CTranslate2 writes them: python3 tests/ctranslate2_models.py FOLDER

Input: none. Output: FOLDER/NAME for each case: a model.bin with an encoder and a decoder of one layer each (d 2,
feed-forward 2, nine tokens), in each version of the format and each number type. They are the seeds of the fuzz target
`ctranslate2` (tests/fuzz/corpus/ctranslate2). `write_model` writes the folder of a model of any size with random
weights.
"""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy

TYPES = {"float32": (0, numpy.float32), "int8": (1, numpy.int8), "int16": (2, numpy.int16), "int32": (3, numpy.int32),
         "float16": (4, numpy.float16)}
WORDS = ["<blank>", "<s>", "</s>", "a", "b", "c", "d", "e", "<unk>"]


@dataclass
class Shape:
    """Sizes of a model."""

    layers: int = 1
    size: int = 4
    heads: int = 2
    filter: int = 6
    positions: int = 0  # rows of a stored table; 0: sinusoids
    first_norm: bool = False  # of the first block's input
    pre_norm: bool = True
    activation: int = 0
    shared: bool = False  # one embedding for both sides and the output
    words: list[str] = field(default_factory=lambda: WORDS)


def _text(text: str) -> bytes:
    return struct.pack("<H", len(text.encode()) + 1) + text.encode() + b"\0"


def variables_of(shape: Shape, random: numpy.random.Generator) -> dict[str, numpy.ndarray]:
    """Returns name -> float32 weights, or an int8 flag."""
    d, found = shape.size, {}

    def linear(name: str, rows: int, columns: int) -> None:
        found[name + "/weight"] = random.normal(0, columns**-0.5, (rows, columns)).astype(numpy.float32)
        found[name + "/bias"] = random.normal(0, 0.1, rows).astype(numpy.float32)

    def norm(name: str) -> None:
        found[name + "/gamma"] = random.normal(1, 0.1, d).astype(numpy.float32)
        found[name + "/beta"] = random.normal(0, 0.1, d).astype(numpy.float32)

    for side in ("encoder", "decoder"):
        for i in range(shape.layers):
            layer = f"{side}/layer_{i}"
            linear(f"{layer}/self_attention/linear_0", 3 * d, d)
            linear(f"{layer}/self_attention/linear_1", d, d)
            norm(f"{layer}/self_attention/layer_norm")
            if side == "decoder":
                linear(f"{layer}/attention/linear_0", d, d)
                linear(f"{layer}/attention/linear_1", 2 * d, d)
                linear(f"{layer}/attention/linear_2", d, d)
                norm(f"{layer}/attention/layer_norm")
            linear(f"{layer}/ffn/linear_0", shape.filter, d)
            linear(f"{layer}/ffn/linear_1", d, shape.filter)
            norm(f"{layer}/ffn/layer_norm")
        if shape.pre_norm:
            norm(f"{side}/layer_norm")
        if shape.first_norm:
            norm(f"{side}/layernorm_embedding")
        if shape.positions:
            found[f"{side}/position_encodings/encodings"] = random.normal(0, 1,
                                                                          (shape.positions, d)).astype(numpy.float32)
        for name, value in (("num_heads", shape.heads), ("pre_norm", shape.pre_norm), ("activation", shape.activation),
                            ("scale_embeddings", 1)):
            found[f"{side}/{name}"] = numpy.array(value, numpy.int8)
    table = random.normal(0, d**-0.5, (len(shape.words), d)).astype(numpy.float32)
    for name in ("encoder/embeddings_0/weight", "decoder/embeddings/weight", "decoder/projection/weight"):
        found[name] = table if shape.shared else random.normal(0, d**-0.5, table.shape).astype(numpy.float32)
    found["decoder/projection/bias"] = random.normal(0, 1, len(shape.words)).astype(numpy.float32)
    return found


def _stored(name: str, value: numpy.ndarray, kind: str) -> dict[str, numpy.ndarray]:
    """The variable in the storage type, with its scale."""
    table = name.endswith("encodings")
    if value.dtype == numpy.int8 or (kind != "float16" and (value.ndim != 2 or table)):
        return {name: value}
    if kind == "int8":
        scale = (127 / numpy.abs(value).max(axis=1)).astype(numpy.float32)
        return {name: numpy.rint(value * scale[:, None]).astype(numpy.int8), name + "_scale": scale}
    if kind == "int16":
        scale = numpy.float32(1024 / numpy.abs(value).max())
        return {name: numpy.rint(value * scale).astype(numpy.int16), name + "_scale": numpy.array(scale, numpy.float32)}
    return {name: value.astype(TYPES[kind][1])}


def model_bin(shape: Shape, kind: str = "float32", version: int = 6, seed: int = 1, spec: str = "TransformerSpec",
              variables: dict[str, numpy.ndarray] | None = None) -> bytes:
    """variables: in the form of variables_of; None: random ones."""
    variables = variables or variables_of(shape, numpy.random.default_rng(seed))
    aliases = ["encoder/embeddings_0/weight", "decoder/projection/weight"] if shape.shared and version >= 3 else []
    stored = {key: value for name, weights in sorted(variables.items()) if name not in aliases
              for key, value in _stored(name, weights, kind).items()}
    out = struct.pack("<I", version) + (_text(spec) + struct.pack("<I", 7 if version >= 5 else 2) if version >= 2
                                        else b"") + struct.pack("<I", len(stored))
    for name, value in stored.items():
        out += _text(name) + struct.pack("<B", value.ndim) + struct.pack(f"<{value.ndim}I", *value.shape)
        code = next(code for code, dtype in TYPES.values() if value.dtype == dtype)
        out += (struct.pack("<BI", code, value.nbytes) if version >= 4
                else struct.pack("<BI", value.itemsize, value.size))
        out += value.tobytes()
    if version >= 3:
        out += struct.pack("<I", len(aliases)) + b"".join(_text(alias) + _text("decoder/embeddings/weight")
                                                          for alias in aliases)
    return out


def write_model(folder: Path, shape: Shape, kind: str = "float32", version: int = 6, seed: int = 1,
                variables: dict[str, numpy.ndarray] | None = None, **config: object) -> None:
    """Writes a model folder as CTranslate2's converters do."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.bin").write_bytes(model_bin(shape, kind, version, seed, variables=variables))
    (folder / "shared_vocabulary.json").write_text(json.dumps(shape.words), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
                                                   | config), encoding="utf-8")


def seeds() -> dict[str, bytes]:
    small = {"size": 2, "heads": 1, "filter": 2}
    made = {f"{kind}-{version}": model_bin(Shape(**small, shared=version == 6), kind, version)
            for kind in ("float32", "int8", "int16") for version in (2, 3, 6)}
    made["float16"] = model_bin(Shape(**small, pre_norm=False, activation=2, positions=8), "float16")
    made["other"] = model_bin(Shape(**small), spec="WhisperSpec")
    return made


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, content in seeds().items():
        (out / name).write_bytes(content)


if __name__ == "__main__":
    main()
