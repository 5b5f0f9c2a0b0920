"""Random models with the structure of T5 v1.1, UMT5 and MADLAD-400, and what they compute by the formulas of Raffel et
al. 2020 and Shazeer 2020: python3 tests/t5_models.py FOLDER

Input: none. Output: FOLDER, a folder as Hugging Face has it, of MADLAD-400's 3 billion weights in bfloat16 (6 GB),
written row by row. `Shape` has other sizes; `write_folder` writes small ones in float32, `variables_of` gives the same
model under CTranslate2's names, and `Formulas` are in NumPy, without anything of alignd's.
"""

from __future__ import annotations

import io
import json
import math
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

import numpy
from numpy import ndarray

SENTENCES = ["the cat is not here .", "i am at home", "where is the train station ?", "a dog and a cat", "he is mine",
             "place the ladder here , tom .", "it was cold at night", "we have seen them there", "she likes the sea"]
LABELS = ["<2de>", "<2fr>", "<2zh_Hant>"]


@dataclass
class Shape:
    """Sizes of a model; by default MADLAD-400's with 3 billion weights."""

    type: str = "t5"
    size: int = 1024
    head: int = 128
    heads: int = 16
    filter: int = 8192
    layers: int = 32
    decoder_layers: int = 32
    words: int = 256000
    buckets: int = 32
    farthest: int = 128
    activation: str = "gated-gelu"
    tied: bool = False
    each: bool = False  # every layer has its own relative positions


SMALL = Shape(size=12, head=5, heads=3, filter=20, layers=2, decoder_layers=3, words=80, buckets=8, farthest=12)


def tensors_of(shape: Shape) -> Iterator[tuple[str, tuple[int, ...], float, float]]:
    """Yields name, shape, centre and standard deviation of each tensor."""
    d, width = shape.size, shape.head * shape.heads
    gated = shape.activation.startswith("gated-")
    yield "shared.weight", (shape.words, d), 0, 1
    if not shape.tied:
        yield "lm_head.weight", (shape.words, d), 0, 3 * d**-0.5
    for side, layers in (("encoder", shape.layers), ("decoder", shape.decoder_layers)):
        for i in range(layers):
            attentions = ["SelfAttention"] + ["EncDecAttention"] * (side == "decoder")
            for n, name in enumerate(attentions):
                place = f"{side}.block.{i}.layer.{n}"
                for part in "qkv":
                    deviation = d**-0.5 * (shape.head**-0.25 if part in "qk" else 1)
                    yield f"{place}.{name}.{part}.weight", (width, d), 0, deviation
                yield f"{place}.{name}.o.weight", (d, width), 0, width**-0.5
                if n == 0 and (i == 0 or shape.each):
                    yield f"{place}.{name}.relative_attention_bias.weight", (shape.buckets, shape.heads), 0, 1
                yield f"{place}.layer_norm.weight", (d,), 1, 0.1
            place = f"{side}.block.{i}.layer.{len(attentions)}"
            for part in ("wi_0", "wi_1") if gated else ("wi",):
                yield f"{place}.DenseReluDense.{part}.weight", (shape.filter, d), 0, d**-0.5
            yield f"{place}.DenseReluDense.wo.weight", (d, shape.filter), 0, shape.filter**-0.5
            yield f"{place}.layer_norm.weight", (d,), 1, 0.1
        yield f"{side}.final_layer_norm.weight", (d,), 1, 0.1


def weights_of(shape: Shape, seed: int = 1) -> dict[str, ndarray]:
    """float32 tensors by Hugging Face's names."""
    random = numpy.random.default_rng(seed)
    return {name: (centre + deviation * random.standard_normal(dims)).astype(numpy.float32)
            for name, dims, centre, deviation in tensors_of(shape)}


# ---- folders ----

def segmenter(words: int, labels: bool, pad: bool) -> bytes:
    """A SentencePiece model of at most so many pieces. labels: it knows those of MADLAD-400, and its first ids are
    <unk>, <s>, </s>; pad: they are T5's <pad>, </s>, <unk>."""
    import sentencepiece
    out = io.BytesIO()
    ids = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1} if pad else {"unk_id": 0, "bos_id": 1, "eos_id": 2}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_writer=out, vocab_size=words, hard_vocab_limit=False, minloglevel=2,
        user_defined_symbols=LABELS if labels else [], num_threads=1, **ids)
    return out.getvalue()


def config_of(shape: Shape, pad: bool) -> dict:
    return {"model_type": shape.type, "d_model": shape.size, "d_kv": shape.head, "d_ff": shape.filter,
            "num_heads": shape.heads, "num_layers": shape.layers, "num_decoder_layers": shape.decoder_layers,
            "relative_attention_num_buckets": shape.buckets, "relative_attention_max_distance": shape.farthest,
            "feed_forward_proj": shape.activation, "layer_norm_epsilon": 1e-6, "tie_word_embeddings": shape.tied,
            "vocab_size": shape.words, "decoder_start_token_id": 0, "eos_token_id": 1 if pad else 2,
            "pad_token_id": 0 if pad else 1}


def header_of(shape: Shape, dtype: str, bytes_each: int) -> bytes:
    header, at = {}, 0
    for name, dims, _, _ in tensors_of(shape):
        size = math.prod(dims) * bytes_each
        header[name] = {"dtype": dtype, "shape": list(dims), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def write_folder(folder: Path, shape: Shape, weights: dict[str, ndarray], labels: bool, pad: bool = False) -> None:
    """Writes a small model in float32."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config_of(shape, pad)))
    (folder / "spiece.model").write_bytes(segmenter(shape.words - 9, labels, pad))
    (folder / "model.safetensors").write_bytes(
        header_of(shape, "F32", 4) + b"".join(weights[name].tobytes() for name, *_ in tensors_of(shape)))


def write_large(folder: Path, shape: Shape) -> None:
    """Writes a model in bfloat16 whose numbers repeat after some millions."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config_of(shape, False)))
    (folder / "spiece.model").write_bytes(segmenter(80, True, False))
    block = numpy.random.default_rng(1).standard_normal(1 << 22).astype(numpy.float32)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(header_of(shape, "BF16", 2))
        for _, dims, centre, deviation in tensors_of(shape):
            numbers = numpy.float32(centre) + block * numpy.float32(deviation)
            rounded = (numbers.view(numpy.uint32) >> 16).astype("<u2")
            left = math.prod(dims)
            while left > 0:
                rounded[:left].tofile(file)
                left -= min(left, len(rounded))


# ---- the same model under CTranslate2's names ----

def variables_of(shape: Shape, weights: dict[str, ndarray]) -> dict[str, ndarray]:
    """As its converter of T5 writes them. Aliases are the same arrays."""
    found: dict[str, ndarray] = {}
    kinds = {"relu": 0, "gelu": 1, "silu": 2}
    for side, layers in (("encoder", shape.layers), ("decoder", shape.decoder_layers)):
        last = 2 if side == "decoder" else 1
        for i in range(layers):
            theirs, ours = f"{side}.block.{i}.layer", f"{side}/layer_{i}"
            q, k, v = (weights[f"{theirs}.0.SelfAttention.{part}.weight"] for part in "qkv")
            found[f"{ours}/self_attention/linear_0/weight"] = numpy.concatenate([q, k, v])
            found[f"{ours}/self_attention/linear_1/weight"] = weights[f"{theirs}.0.SelfAttention.o.weight"]
            found[f"{ours}/self_attention/layer_norm/gamma"] = weights[f"{theirs}.0.layer_norm.weight"]
            name = f"{side}.block.{i if shape.each else 0}.layer.0.SelfAttention.relative_attention_bias.weight"
            found[f"{ours}/self_attention/relative_attention_bias"] = weights[name]
            found[f"{ours}/self_attention/relative_attention_max_distance"] = numpy.array(shape.farthest, numpy.int32)
            found[f"{ours}/self_attention/queries_scale"] = numpy.array(1, numpy.float32)
            if side == "decoder":
                q, k, v = (weights[f"{theirs}.1.EncDecAttention.{part}.weight"] for part in "qkv")
                found[f"{ours}/attention/linear_0/weight"] = q
                found[f"{ours}/attention/linear_1/weight"] = numpy.concatenate([k, v])
                found[f"{ours}/attention/linear_2/weight"] = weights[f"{theirs}.1.EncDecAttention.o.weight"]
                found[f"{ours}/attention/layer_norm/gamma"] = weights[f"{theirs}.1.layer_norm.weight"]
                found[f"{ours}/attention/queries_scale"] = numpy.array(1, numpy.float32)
            gated = shape.activation.startswith("gated-")
            names = [("linear_0", "wi_0"), ("linear_0_noact", "wi_1")] if gated else [("linear_0", "wi")]
            for name, part in [*names, ("linear_1", "wo")]:
                found[f"{ours}/ffn/{name}/weight"] = weights[f"{theirs}.{last}.DenseReluDense.{part}.weight"]
            found[f"{ours}/ffn/layer_norm/gamma"] = weights[f"{theirs}.{last}.layer_norm.weight"]
        found[f"{side}/layer_norm/gamma"] = weights[f"{side}.final_layer_norm.weight"]
        for name, value in (("num_heads", shape.heads), ("pre_norm", 1), ("scale_embeddings", 0),
                            ("activation", kinds[shape.activation.removeprefix("gated-")])):
            found[f"{side}/{name}"] = numpy.array(value, numpy.int8)
    found["encoder/embeddings_0/weight"] = found["decoder/embeddings/weight"] = weights["shared.weight"]
    found["decoder/projection/weight"] = weights["shared.weight" if shape.tied else "lm_head.weight"]
    if shape.tied:
        found["decoder/scale_outputs"] = numpy.array(shape.size**-0.5, numpy.float32)
    return found


# ---- the formulas ----

def softmax(x: ndarray) -> ndarray:
    x = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def bucket(distance: int, buckets: int, farthest: int, both: bool) -> int:
    """distance: of the key from the query, below 0 before it."""
    first, apart = 0, max(-distance, 0)
    if both:
        buckets //= 2
        first, apart = (buckets if distance > 0 else 0), abs(distance)
    exact = buckets // 2
    if apart < exact:
        return first + apart
    large = exact + int(math.log(apart / exact) / math.log(farthest / exact) * (buckets - exact) + 1e-9)
    return first + min(large, buckets - 1)


ACTIVATIONS = {"relu": lambda x: numpy.maximum(x, 0), "silu": lambda x: x / (1 + numpy.exp(-x)),
               "gelu": lambda x: x / 2 * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))}


class Formulas:
    """The model in float64, without any cache."""

    def __init__(self, shape: Shape, weights: dict[str, ndarray], end: int) -> None:
        self.shape, self.end = shape, end
        self.weights = {name: value.astype(numpy.float64) for name, value in weights.items()}

    def norm(self, x: ndarray, name: str) -> ndarray:
        return x / numpy.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6) * self.weights[name + ".weight"]

    def attend(self, x: ndarray, memory: ndarray, name: str, added: ndarray) -> ndarray:
        """x [S, d], memory [T, d], added [N, S, T]"""
        q, k, v = ((source @ self.weights[f"{name}.{part}.weight"].T).reshape(len(source), self.shape.heads, -1)
                   for part, source in zip("qkv", (x, memory, memory)))
        weights = softmax(numpy.einsum("snh,tnh->nst", q, k) + added)
        return numpy.einsum("nst,tnh->snh", weights, v).reshape(len(x), -1) @ self.weights[f"{name}.o.weight"].T

    def filter(self, x: ndarray, name: str) -> ndarray:
        act = ACTIVATIONS[self.shape.activation.removeprefix("gated-")]
        if self.shape.activation.startswith("gated-"):
            middle = act(x @ self.weights[f"{name}.wi_0.weight"].T) * (x @ self.weights[f"{name}.wi_1.weight"].T)
        else:
            middle = act(x @ self.weights[f"{name}.wi.weight"].T)
        return middle @ self.weights[f"{name}.wo.weight"].T

    def added(self, side: str, layer: int, count: int) -> ndarray:
        table = self.weights[f"{side}.block.{layer if self.shape.each else 0}.layer.0.SelfAttention."
                             "relative_attention_bias.weight"]
        rows = [[bucket(j - i, self.shape.buckets, self.shape.farthest, side == "encoder") for j in range(count)]
                for i in range(count)]
        later = numpy.triu(numpy.full((count, count), -math.inf), 1) if side == "decoder" else 0
        return table[numpy.array(rows)].transpose(2, 0, 1) + later

    def run(self, side: str, ids: list[int], memory: ndarray | None = None) -> ndarray:
        x = self.weights["shared.weight"][ids]
        layers = self.shape.layers if side == "encoder" else self.shape.decoder_layers
        for i in range(layers):
            place = f"{side}.block.{i}.layer"
            u = self.norm(x, f"{place}.0.layer_norm")
            x = x + self.attend(u, u, f"{place}.0.SelfAttention", self.added(side, i, len(ids)))
            if memory is not None:
                u = self.norm(x, f"{place}.1.layer_norm")
                x = x + self.attend(u, memory, f"{place}.1.EncDecAttention", numpy.zeros((1, 1, 1)))
            last = 2 if memory is not None else 1
            x = x + self.filter(self.norm(x, f"{place}.{last}.layer_norm"), f"{place}.{last}.DenseReluDense")
        return self.norm(x, f"{side}.final_layer_norm")

    def log_probs(self, memory: ndarray, tokens: list[int]) -> ndarray:
        """Of the token after these."""
        top = self.run("decoder", [0, *tokens], memory)[-1]
        logits = (top * self.shape.size**-0.5 @ self.weights["shared.weight"].T if self.shape.tied
                  else top @ self.weights["lm_head.weight"].T)
        return numpy.log(softmax(logits))

    def beam(self, source: list[int], size: int, limit: int) -> list[tuple[list[int], float]]:
        """source: with </s>. Returns tokens without </s> and the mean of their log-probabilities, best first; as the
        transformers library, a hypothesis that ends leaves its place to another."""
        memory = self.run("encoder", source)
        rows: list[tuple[list[int], float]] = [([], 0.0)]
        finished: list[tuple[list[int], float]] = []
        while rows and len(finished) < size:
            candidates = sorted(((-(total + log_prob), i, token)
                                 for i, (tokens, total) in enumerate(rows)
                                 for token, log_prob in enumerate(self.log_probs(memory, tokens))))[:2 * size]
            taken, length = candidates[:size], len(rows[0][0]) + 1
            ended = sum(token == self.end for *_, token in taken)
            if length < limit:
                taken += [c for c in candidates[size:] if c[2] != self.end][:ended]
            following = []
            for total, i, token in taken:
                tokens = rows[i][0] + [token] * (token != self.end)
                if token == self.end or length == limit:
                    finished.append((tokens, -total / length))
                else:
                    following.append((tokens, -total))
            rows = following
        return sorted(finished, key=lambda item: -item[1])[:size]


def main() -> None:
    write_large(Path(sys.argv[1]), Shape())


if __name__ == "__main__":
    main()
