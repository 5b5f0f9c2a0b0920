#!/usr/bin/env python3
"""The files of a pair of Firefox's kind with random weights, which alignd and Bergamot's translator both read:
tests/bench/firefox_pair.py FOLDER PAIRS.tsv.gz...

PAIRS: lines of a text and its translation, with a tab between them. Output:

    FOLDER/model.enfr.intgemm.alphas.bin  a transformer of 256, feed-forward 1536, 8 heads, 6 + 2 layers, SSRU, int8
    FOLDER/vocab.enfr.spm                 one SentencePiece model of 32,000 pieces for both sides
    FOLDER/lex.50.50.enfr.s2t.bin         a shortlist: the first 50 pieces, and 50 for each piece of the source
    FOLDER/texts.txt                      500 beginnings of the sentences, of 19 pieces each (20 tokens with </s>)

The model never ends a sentence by itself, so that in both programs a translation is as long as they allow: twice the
text. The texts have neither digits nor marks, which alignd would compare or Bergamot divide sentences by.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import re
import struct
import sys
from pathlib import Path
from typing import Iterator

import numpy
import sentencepiece
from numpy import ndarray

sys.path.insert(0, str(Path(__file__).parents[2]))

from weights.command import CommandError, run_command  # noqa: E402
from weights.training import shortlist  # noqa: E402

SIZE, FILTER, HEADS, ENCODER, DECODER, PIECES = 256, 1536, 8, 6, 2, 32000
LISTED = 50  # pieces on every list, and of each piece of the source
LIST_PAIRS, MOST_PIECES = 60000, 40  # from which, and how long at most, the shortlist is made
TEXTS, TEXT_PIECES = 500, 19
INT8, FLOAT32, BYTES = 0x4101, 0x0404, 0x0101  # types of Marian's .bin
INPUT_MULTIPLIER = 127 / 5  # of the inputs of products, most of which have a variance of 1
END_BIAS = -1000  # of </s> and <unk>
OPTIONS = f"""type: transformer
dim-emb: {SIZE}
dim-vocabs: [{PIECES}, {PIECES}]
enc-depth: {ENCODER}
dec-depth: {DECODER}
dec-cell: ssru
tied-embeddings-all: true
transformer-heads: {HEADS}
transformer-dim-ffn: {FILTER}
transformer-ffn-activation: relu
transformer-decoder-autoreg: rnn
transformer-preprocess: ""
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-guided-alignment-layer: last
input-types: []
version: v1.9.56 2781d73 2021-01-01 00:00:00 +0000
"""


# ---- the model ----

def tensors() -> Iterator[tuple[str, ndarray]]:
    """Marian's names, matrices [in, out]: Glorot's uniform, embeddings of variance 1 / SIZE."""
    random = numpy.random.default_rng(1)

    def matrix(name: str, rows: int, columns: int) -> tuple[str, ndarray]:
        most = numpy.sqrt(6 / (rows + columns))
        return name, random.uniform(-most, most, (rows, columns))

    def vector(name: str, size: int, centre: float = 0) -> tuple[str, ndarray]:
        return name, centre + random.uniform(-0.05, 0.05, (1, size))

    def norm(name: str) -> Iterator[tuple[str, ndarray]]:
        yield vector(f"{name}_ln_scale", SIZE, 1)
        yield vector(f"{name}_ln_bias", SIZE)

    def heads(name: str) -> Iterator[tuple[str, ndarray]]:
        for letter in "qkvo":
            yield matrix(f"{name}_W{letter}", SIZE, SIZE)
            yield vector(f"{name}_b{letter}", SIZE)
        yield from norm(f"{name}_Wo")

    def filters(name: str) -> Iterator[tuple[str, ndarray]]:
        for number, rows, columns in ((1, SIZE, FILTER), (2, FILTER, SIZE)):
            yield matrix(f"{name}_W{number}", rows, columns)
            yield vector(f"{name}_b{number}", columns)
        yield from norm(f"{name}_ffn")

    yield "Wemb", random.standard_normal((PIECES, SIZE)) / numpy.sqrt(SIZE)
    bias = random.uniform(-0.05, 0.05, (1, PIECES))
    bias[0, :2] = END_BIAS
    yield "decoder_ff_logit_out_b", bias
    for i in range(1, ENCODER + 1):
        yield from heads(f"encoder_l{i}_self")
        yield from filters(f"encoder_l{i}_ffn")
    for i in range(1, DECODER + 1):
        yield matrix(f"decoder_l{i}_rnn_W", SIZE, SIZE)
        yield matrix(f"decoder_l{i}_rnn_Wf", SIZE, SIZE)
        yield vector(f"decoder_l{i}_rnn_bf", SIZE)
        yield from norm(f"decoder_l{i}_rnn_ffn")
        yield from heads(f"decoder_l{i}_context")
        yield from filters(f"decoder_l{i}_ffn")


Item = tuple[str, int, tuple[int, ...], bytes]  # name, type, shape, data


def quantised(name: str, tensor: ndarray) -> Iterator[Item]:
    """int8 and its multiplier, transposed unless it is a table, and the multiplier of the inputs."""
    multiplier = 127 / numpy.abs(tensor).max()
    values = numpy.rint(tensor * multiplier).astype(numpy.int8)
    data = (values if name == "Wemb" else values.T).tobytes()
    yield name, INT8, tensor.shape, data + struct.pack("<f", multiplier)
    if name == "Wemb":
        yield "none_QuantMultA", FLOAT32, (1, 1), struct.pack("<f", INPUT_MULTIPLIER)
        yield "Wemb_QuantMultA", INT8, (1, 1), struct.pack("<bf", 127, 127 / INPUT_MULTIPLIER)
    else:
        yield f"{name}_QuantMultA", FLOAT32, (1, 1), struct.pack("<f", INPUT_MULTIPLIER)


def items() -> Iterator[Item]:
    for name, tensor in tensors():
        if re.search(r"Wemb|_W\w?$", name):
            yield from quantised(name, tensor)
        else:
            yield name, FLOAT32, tensor.shape, tensor.astype("<f4").tobytes()
    options = OPTIONS.encode() + b"\0"
    yield "special:model.yml", BYTES, (len(options),), options


def write_model(path: Path) -> None:
    """The layout: model/import/containers.c."""
    found = [(name.encode() + b"\0", kind, shape, data + bytes(-len(data) % 256))
             for name, kind, shape, data in items()]
    head = struct.pack("<QQ", 1, len(found))
    head += b"".join(struct.pack("<4Q", len(name), kind, len(shape), len(data)) for name, kind, shape, data in found)
    head += b"".join(name for name, *_ in found)
    head += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in found)
    padding = -(len(head) + 8) % 256
    path.write_bytes(head + struct.pack("<Q", padding) + bytes(padding) + b"".join(data for *_, data in found))


# ---- the other files ----

def write_shortlist(path: Path, processor: sentencepiece.SentencePieceProcessor, pairs: list[tuple[str, str]]) -> None:
    """By IBM model 1, whatever the positions are. The layout: model/import/folder.c."""
    coded = [(processor.encode(source)[:MOST_PIECES], processor.encode(target)[:MOST_PIECES])
             for source, target in pairs[:LIST_PAIRS]]
    sources = numpy.concatenate([numpy.tile(numpy.array(s, numpy.int32), len(t)) for s, t in coded])
    lengths = numpy.concatenate([numpy.full(len(t), len(s)) for s, t in coded])
    candidates = numpy.concatenate([numpy.array(t, numpy.int32) for _, t in coded])[:, None]
    links = shortlist.Links(sources, numpy.ones(len(sources)), lengths, candidates)
    made = shortlist.choose(shortlist.align(links, PIECES, PIECES), PIECES, numpy.arange(LISTED), LISTED, 1e-3)
    body = struct.pack("<4Q", LISTED, LISTED, PIECES + 1, len(made.targets))
    body += made.offsets.astype("<u8").tobytes() + made.targets.astype("<u4").tobytes()
    checksum = 0
    for (word,) in struct.iter_unpack("<Q", body[:len(body) // 8 * 8]):
        checksum ^= (word + 0x9e3779b9 + (checksum << 6) + (checksum >> 2)) & (1 << 64) - 1
    path.write_bytes(struct.pack("<2Q", 0xF11A48D5013417F5, checksum) + body)


def beginnings(processor: sentencepiece.SentencePieceProcessor, texts: list[str]) -> Iterator[str]:
    """Of TEXT_PIECES pieces, cut at the end of a word, whose pieces are the same when they are read again."""
    for text in texts:
        pieces = processor.encode(text, out_type=str)
        begun = processor.decode(pieces[:TEXT_PIECES])
        if (len(pieces) > TEXT_PIECES and pieces[TEXT_PIECES].startswith("▁") and not re.search(r"[^\w ,'-]|\d", begun)
                and processor.encode(begun, out_type=str) == pieces[:TEXT_PIECES]
                and processor.unk_id() not in processor.encode(begun)):
            yield begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("pairs", type=Path, nargs="+", help="lines of text TAB translation, compressed by gzip")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    pairs = []
    for path in arguments.pairs:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            pairs += [tuple(line.rstrip("\n").split("\t")[:2]) for line in lines if line.count("\t") >= 1]
    numpy.random.default_rng(1).shuffle(pairs)

    vocabulary = folder / "vocab.enfr.spm"
    with vocabulary.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=itertools.chain.from_iterable(pairs), model_writer=file, vocab_size=PIECES, eos_id=0,
            unk_id=1, bos_id=-1, pad_id=-1, minloglevel=1)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
    write_model(folder / "model.enfr.intgemm.alphas.bin")
    write_shortlist(folder / "lex.50.50.enfr.s2t.bin", processor, pairs)
    texts = list(itertools.islice(beginnings(processor, [source for source, _ in pairs]), TEXTS))
    if not texts:
        raise CommandError(f"no text of the pairs has more than {TEXT_PIECES} pieces")
    (folder / "texts.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    print(f"{folder}: {len(texts)} texts")


if __name__ == "__main__":
    run_command(main)
