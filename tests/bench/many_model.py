#!/usr/bin/env python3
"""A model of many languages of NLLB-200's true size, as a CTranslate2 folder: python3 tests/bench/many_model.py FOLDER

Input: none. Output: FOLDER/model.bin (random int8 weights, 615 million by default), shared_vocabulary.json,
sentencepiece.bpe.model, config.json, README.md, and source.txt, sentences of 20 words each. `alignd import FOLDER
--max-target-ratio 1` makes a model whose translations are as long as their sources, because the bias of </s> is lower
than any other token's logit. Half of the words are in Latin letters, the others in nine scripts; a word is one piece.
Weights are written a few rows at a time.
"""

from __future__ import annotations

import argparse
import json
import struct
from pathlib import Path
from typing import BinaryIO

import numpy

SCRIPTS = {  # name: first letter, number of letters, share of the words in percent
    "Latn": ("a", 26, 50),
    "Cyrl": ("\u0430", 32, 10),
    "Arab": ("\u0627", 20, 8),
    "Deva": ("\u0905", 20, 8),
    "Hani": ("\u4e00", 400, 8),
    "Hang": ("\uac00", 400, 5),
    "Grek": ("\u03b1", 17, 4),
    "Hebr": ("\u05d0", 22, 3),
    "Thai": ("\u0e01", 40, 2),
    "Armn": ("\u0561", 30, 2),
}
LANGUAGES = ["eng_Latn", "fra_Latn", "deu_Latn", "rus_Cyrl", "zho_Hans", "kor_Hang", "arb_Arab", "hin_Deva", "ell_Grek",
             "heb_Hebr"]
ROWS = 4096
INT8, FLOAT32 = 1, 0


def word(script: str, number: int) -> str:
    """The word with this number: four letters of the script as digits."""
    first, letters, _ = SCRIPTS[script]
    digits = [number % letters, number // letters % letters, number // letters**2 % letters,
              number // letters**3 % letters]
    return "\u2581" + "".join(chr(ord(first) + digit) for digit in reversed(digits))


def pieces_of(count: int) -> list[str]:
    """Words of all scripts in random-looking order, in proportion to the scripts' shares."""
    cycle = [script for script, (_, _, share) in SCRIPTS.items() for _ in range(share)]
    numbers = dict.fromkeys(SCRIPTS, 0)
    found: list[str] = []
    for i in range(count):
        script = cycle[i * 37 % len(cycle)]  # 37 and 100 are coprime: each hundred words has exact shares
        found.append(word(script, numbers[script]))
        numbers[script] += 1
    return found


def write_sentencepiece(path: Path, pieces: list[str]) -> None:
    """A ModelProto: field 1 a piece (1 text, 2 score, 3 type), 2 trainer (3: 1, unigram), 3 normalizer (1 name)."""

    def field(number: int, content: bytes) -> bytes:
        assert len(content) < 128
        return bytes([number << 3 | 2, len(content)]) + content

    def piece(text: str, score: float, kind: int) -> bytes:
        return field(1, field(1, text.encode()) + struct.pack("<Bf", 2 << 3 | 5, score) + bytes([3 << 3, kind]))

    parts = [piece("<unk>", 0, 2), piece("<s>", 0, 3), piece("</s>", 0, 3), *(piece(text, -10, 1) for text in pieces)]
    path.write_bytes(b"".join(parts) + field(2, bytes([3 << 3, 1])) + field(3, field(1, b"identity")))


def text_of(name: str) -> bytes:
    return struct.pack("<H", len(name.encode()) + 1) + name.encode() + b"\0"


class Writer:
    """Writes the variables of a model.bin, version 6."""

    def __init__(self, out: BinaryIO, random: numpy.random.Generator) -> None:
        self.out, self.random, self.count = out, random, 0

    def head(self, name: str, shape: tuple[int, ...], kind: int, size: int) -> None:
        self.out.write(text_of(name) + struct.pack("<B", len(shape)) + struct.pack(f"<{len(shape)}I", *shape)
                       + struct.pack("<BI", kind, size))
        self.count += 1

    def flag(self, name: str, value: int) -> None:
        self.head(name, (), INT8, 1)
        self.out.write(struct.pack("<b", value))

    def vector(self, name: str, numbers: numpy.ndarray) -> None:
        """numbers: [n], stored as float32"""
        self.head(name, numbers.shape, FLOAT32, 4 * numbers.size)
        self.out.write(numbers.astype(numpy.float32).tobytes())

    def matrix(self, name: str, rows: int, columns: int) -> None:
        """Writes uniform int8 weights of variance 1 / columns. Each row has a 127, as in quantised models."""
        self.head(name, (rows, columns), INT8, rows * columns)
        for first in range(0, rows, ROWS):
            block = self.random.integers(-127, 128, (min(ROWS, rows - first), columns), dtype=numpy.int8)
            block[:, 0] = 127
            self.out.write(block.tobytes())
        self.vector(name + "_scale", numpy.full(rows, 127 / (3 / columns) ** 0.5, numpy.float32))

    def linear(self, name: str, rows: int, columns: int) -> None:
        self.matrix(name + "/weight", rows, columns)
        self.vector(name + "/bias", self.random.normal(0, 0.1, rows))

    def norm(self, name: str, size: int) -> None:
        self.vector(name + "/gamma", self.random.normal(1, 0.1, size))
        self.vector(name + "/beta", self.random.normal(0, 0.1, size))


def positions(count: int, size: int) -> numpy.ndarray:
    """Sines, then cosines, of positions from 2 on: float32 [count, size]."""
    half = size // 2
    angles = numpy.arange(2, count + 2)[:, None] * numpy.exp(numpy.arange(half) * -(numpy.log(10000) / (half - 1)))
    return numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], axis=1).astype(numpy.float32)


def write_model(path: Path, options: argparse.Namespace) -> None:
    d, f, table = options.size, options.filter, positions(1024, options.size)
    with path.open("wb") as out:
        out.write(struct.pack("<I", 6) + text_of("TransformerSpec") + struct.pack("<I", 7))
        counted = out.tell()
        out.write(struct.pack("<I", 0))
        writer = Writer(out, numpy.random.default_rng(options.seed))
        for side in ("decoder", "encoder"):
            for i in range(options.layers):
                layer = f"{side}/layer_{i}"
                for block, sizes in (("self_attention", (3, 1)),
                                     *((("attention", (1, 2, 1)),) if side == "decoder" else ())):
                    for part, rows in enumerate(sizes):
                        writer.linear(f"{layer}/{block}/linear_{part}", rows * d, d)
                    writer.norm(f"{layer}/{block}/layer_norm", d)
                writer.linear(f"{layer}/ffn/linear_0", f, d)
                writer.linear(f"{layer}/ffn/linear_1", d, f)
                writer.norm(f"{layer}/ffn/layer_norm", d)
            writer.norm(f"{side}/layer_norm", d)
            writer.head(f"{side}/position_encodings/encodings", table.shape, FLOAT32, table.nbytes)
            out.write(table.tobytes())
            for name, value in (("num_heads", options.heads), ("pre_norm", 1), ("activation", 0),
                                ("scale_embeddings", 1)):
                writer.flag(f"{side}/{name}", value)
        writer.matrix("decoder/embeddings/weight", options.words, d)
        bias = numpy.zeros(options.words, numpy.float32)
        bias[2] = -1000
        writer.vector("decoder/projection/bias", bias)
        aliases = ("encoder/embeddings_0/weight", "decoder/projection/weight")
        out.write(struct.pack("<I", len(aliases)) + b"".join(text_of(alias) + text_of("decoder/embeddings/weight")
                                                             for alias in aliases))
        out.seek(counted)
        out.write(struct.pack("<I", writer.count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=12, help="of the encoder, and of the decoder")
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--filter", type=int, default=4096)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--words", type=int, default=256206, help="size of the vocabulary")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    pieces = pieces_of(options.words - 4 - len(LANGUAGES) - 1)
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *pieces, *LANGUAGES, "<mask>"]
    write_model(options.folder / "model.bin", options)
    write_sentencepiece(options.folder / "sentencepiece.bpe.model", pieces)
    (options.folder / "shared_vocabulary.json").write_text(json.dumps(tokens, ensure_ascii=False), encoding="utf-8")
    config = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "decoder_start_token": "</s>",
              "layer_norm_epsilon": 1e-5, "add_source_bos": False, "add_source_eos": False}
    (options.folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (options.folder / "README.md").write_text(
        "---\nlicense: cc-by-nc-4.0\n---\n\nRandom weights of the size of NLLB-200.\n", encoding="utf-8")
    latin = [piece[1:] for piece in pieces if piece[1] in "abcdefghijklmnopqrstuvwxyz"]
    chosen = numpy.random.default_rng(2).integers(0, len(latin), (options.sentences, 20))
    (options.folder / "source.txt").write_text("".join(" ".join(latin[i] for i in row) + "\n" for row in chosen),
                                               encoding="utf-8")


if __name__ == "__main__":
    main()
