"""Answers beside CTranslate2's, one family of models after the other: python3 tests/bench/beside_ctranslate2.py
PACKAGE [--translator ct2-translator] [--alignd build/alignd] [--family NAME ...] [--type int8]

Input: PACKAGE, the folder of CTranslate2's Python package (`python/ctranslate2` of its source, or
`site-packages/ctranslate2`), whose specifications name the variables, and its program ct2-translator (LD_LIBRARY_PATH
must find libctranslate2). For each family a small random model is written, which both read: `alignd import` and
ct2-translator, which translate the same 20 sentences in float32, greedily and with a beam of 4.
Output: a table of how many sentences, and of the beam's four hypotheses each, have the same tokens, the mean number of
tokens, and the largest difference of a score of those. What differs is listed. Behind a target prefix CTranslate2 ends
only the best path at once (its issue 277), so that sentences of which alignd has an empty hypothesis there are left
out. The exit status is 1 if float32 differs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
from weights.command import run_command  # noqa: E402
from weights.evaluation.client import Daemon, Variant, daemon  # noqa: E402

SENTENCES, BEAM, LONGEST = 20, 4, 24
BOUND = 1e-3
LANGUAGES = {"ar": "arb_Arab", "cs": "ces_Latn", "de": "deu_Latn", "en": "eng_Latn", "es": "spa_Latn", "fi": "fin_Latn",
             "fr": "fra_Latn", "hi": "hin_Deva", "it": "ita_Latn", "nl": "nld_Latn", "pl": "pol_Latn", "ru": "rus_Cyrl"}


@dataclass
class Shape:
    """Sizes of a model."""

    size: int = 64
    heads: int = 4
    filter: int = 128
    layers: tuple[int, int] = (2, 3)  # of the encoder and the decoder
    words: int = 320


@dataclass
class Family:
    """How a family's models differ from the original transformer: norms before the blocks, positions computed, a
    vocabulary for each side."""

    name: str
    shape: Shape
    both: dict = field(default_factory=dict)  # arguments of both sides' specifications
    decoder: dict = field(default_factory=dict)  # and of the decoder's
    positions: str = ""  # of the table in the file: sines or learned
    biases: bool = True
    tied: bool = False  # one matrix for both embeddings and the output
    scaled: object = True  # scale_embeddings
    flags: dict = field(default_factory=dict)  # other values of the decoder
    config: dict = field(default_factory=dict)
    special: tuple = ("<blank>", "<s>", "</s>", "<unk>")
    languages: str = ""  # how a language's token looks
    label: str = ""  # a token before the source names the language
    ends: bool = False  # the program that calls CTranslate2 writes </s> itself
    endless: bool = False  # the model never writes </s>

    def token(self, code: str) -> str:
        return self.languages.format(code, LANGUAGES[code])

    @property
    def words(self) -> list[str]:
        names = [self.token(code) for code in LANGUAGES] if self.languages else []
        names += [self.label] if self.label else []
        return [*self.special, *names, *(f"w{i}" for i in range(self.shape.words - len(self.special) - len(names)))]


def families(common: ModuleType, shape: Shape) -> list[Family]:
    act, root = common.Activation, shape.size**0.5
    begins = {"add_source_eos": True}
    fairseq = {"special": ("<s>", "<pad>", "</s>", "<unk>"), "positions": "sines", "tied": True, "ends": True,
               "scaled": root, "config": {"decoder_start_token": "</s>"}}
    t5 = {"special": ("<pad>", "</s>", "<unk>"), "biases": False, "scaled": False, "ends": True,
          "flags": {"queries_scale": 1.0}, "config": {"bos_token": "<pad>", "decoder_start_token": "<pad>"}}
    t5_both = {"rms_norm": True, "relative_attention_bias": True}
    quickmt = {"config": {**begins, "layer_norm_epsilon": 1e-6}, "scaled": True, "positions": "sines"}
    rotary = {"rotary_dim": 0, "rotary_interleave": False}
    return [
        Family("OpenNMT, Argos", shape, config=begins),
        Family("Marian, OPUS-MT", shape, {"pre_norm": False, "activation": act.SWISH}, positions="sines", tied=True,
               flags={"start_from_zero_embedding": True}, config=begins, special=("</s>", "<unk>")),
        Family("MarianMT of Hugging Face", shape, {"pre_norm": False, "activation": act.SWISH}, positions="sines",
               tied=True, flags={"start_from_zero_embedding": True}, scaled=root, special=("</s>", "<unk>"), ends=True,
               config={"decoder_start_token": "</s>"}),
        Family("M2M-100", shape, languages="__{}__", **fairseq),
        Family("NLLB-200", shape, languages="{1}", **fairseq),
        Family("mBART-50", shape, {"activation": act.GELU, "layernorm_embedding": True}, languages="{}_XX",
               **{**fairseq, "positions": "learned"}),
        Family("mBART-50 of fairseq", shape, {"layernorm_embedding": True}, languages="[{0}_XX]",
               **{**fairseq, "ends": False, "config": {"decoder_start_token": "</s>", "add_source_eos": True}}),
        Family("T5 v1.1", shape, {**t5_both, "activation": act.GELUTanh, "ffn_glu": True}, **t5),
        Family("T5, tied", shape, {**t5_both},
               **{**t5, "tied": True, "flags": {**t5["flags"], "scale_outputs": 1 / root}}),
        Family("MADLAD-400", shape, {**t5_both, "activation": act.GELUTanh, "ffn_glu": True}, label="<2fr>",
               **{**t5, "special": ("<unk>", "<s>", "</s>"),
                  "config": {"bos_token": "<s>", "decoder_start_token": "<unk>"}}),
        Family("quickmt", shape, {"rms_norm": True, "ffn_glu": True, "activation": act.SWISH}, **quickmt),
        Family("quickmt, no biases", shape, {"rms_norm": True, "ffn_glu": True, "activation": act.SWISH}, biases=False,
               **quickmt),
        Family("GELU, norms behind", shape, {"pre_norm": False, "activation": act.GELU}, config=begins),
        Family("rotary", shape, {**rotary, "rms_norm": True}, config=begins, biases=False),
        Family("rotary by neighbours, a part", shape, {"rotary_dim": 8, "rotary_interleave": True}, config=begins),
        Family("rotary, grouped queries", shape, {**rotary, "num_heads_kv": 2, "rms_norm": True, "ffn_glu": True,
                                           "activation": act.SWISH}, config=begins, biases=False),
        Family("one key for all heads", shape, {"num_heads_kv": 1}, config=begins),
        Family("wide heads", shape, {"head_dim": 24}, config=begins),
    ]


# ---- the model ----

class Filler:
    """Sets the variables of a specification to random numbers."""

    def __init__(self, family: Family, module: ModuleType, random: numpy.random.Generator) -> None:
        self.family, self.shape, self.module, self.random = family, family.shape, module, random
        heads, size = self.shape.heads, self.shape.size
        self.head = family.both.get("head_dim", size // heads)
        self.width, self.keys = heads * self.head, family.both.get("num_heads_kv", heads) * self.head

    def normal(self, centre: float, deviation: float, *dims: int) -> numpy.ndarray:
        return self.random.normal(centre, deviation, dims).astype(numpy.float32)

    def linear(self, layer: object, rows: int, columns: int, strength: float = 3) -> None:
        layer.weight = self.normal(0, strength * columns**-0.5, rows, columns)
        if self.family.biases:
            layer.bias = self.normal(0, 0.1, rows)

    def norm(self, layer: object) -> None:
        layer.gamma = self.normal(1, 0.1, self.shape.size)
        if hasattr(layer, "beta"):
            layer.beta = self.normal(0, 0.1, self.shape.size)

    def attention(self, layer: object, crosses: bool) -> None:
        sizes = [self.width, 2 * self.keys] if crosses else [self.width + 2 * self.keys]
        for linear, rows in zip(layer.linear, sizes):
            self.linear(linear, rows, self.shape.size)
        self.linear(layer.linear[-1], self.shape.size, self.width, 8)
        self.norm(layer.layer_norm)
        if "queries_scale" in self.family.flags:
            layer.queries_scale = self.family.flags["queries_scale"]
            layer.linear[0].weight[:self.width] *= self.head**-0.5

    def side(self, side: object) -> None:
        for i, layer in enumerate(side.layer):
            self.attention(layer.self_attention, False)
            if hasattr(layer.self_attention, "relative_attention_bias"):
                first = side.layer[0].self_attention
                layer.self_attention.relative_attention_bias = (first.relative_attention_bias if i
                                                                else self.normal(0, 1, 8, self.shape.heads))
                layer.self_attention.relative_attention_max_distance = numpy.int32(12)
            if hasattr(layer, "attention"):
                self.attention(layer.attention, True)
            self.linear(layer.ffn.linear_0, self.shape.filter, self.shape.size)
            if hasattr(layer.ffn, "linear_0_noact"):
                self.linear(layer.ffn.linear_0_noact, self.shape.filter, self.shape.size)
            self.linear(layer.ffn.linear_1, self.shape.size, self.shape.filter, 5)
            self.norm(layer.ffn.layer_norm)
        for name in ("layer_norm", "layernorm_embedding"):
            if hasattr(side, name):
                self.norm(getattr(side, name))
        if self.family.positions:
            side.position_encodings.encodings = (
                self.normal(0, 0.5, 64, self.shape.size) if self.family.positions == "learned"
                else self.module._make_sinusoidal_position_encodings(self.shape.size, 64).astype(numpy.float32))
        side.scale_embeddings = self.family.scaled

    def fill(self, model: object) -> None:
        for side in (model.encoder, model.decoder):
            self.side(side)
            if "rotary_dim" in self.family.both and hasattr(side, "position_encodings"):
                del side.position_encodings
        count = len(self.family.words)
        size = self.shape.size
        deviation = 0.5 if self.family.scaled is False else 1.5 * size**-0.5
        table = self.normal(0, deviation, count, size)
        tied, end = self.family.tied, self.family.words.index("</s>")
        model.encoder.embeddings[0].weight = table
        model.decoder.embeddings.weight = table if tied else self.normal(0, deviation, count, size)
        model.decoder.projection.weight = table if tied else self.normal(0, 2 * size**-0.5, count, size)
        model.decoder.projection.weight[end] *= 0 if self.family.endless else 1.7  # so that sentences end
        if "scale_outputs" in self.family.flags:
            table *= 2 / deviation
        if self.family.biases:
            model.decoder.projection.bias = self.normal(0, 0.5, count)
            model.decoder.projection.bias[end] -= 1000 if self.family.endless else 0
        for name, value in self.family.flags.items():
            if name != "queries_scale":
                setattr(model.decoder, name, value)


def write(family: Family, folder: Path, kind: str | None, random: numpy.random.Generator) -> None:
    """Writes the model's folder as CTranslate2's converters do. kind: the type of the weights, None: float32."""
    from ctranslate2.converters import marian
    from ctranslate2.specs import transformer_spec as specs
    (encoders, decoders), heads = family.shape.layers, family.shape.heads
    model = specs.TransformerSpec(specs.TransformerEncoderSpec(encoders, heads, **family.both),
                                  specs.TransformerDecoderSpec(decoders, heads, **family.both, **family.decoder))
    Filler(family, marian, random).fill(model)
    model.register_source_vocabulary(family.words)
    model.register_target_vocabulary(family.words)
    for name, value in family.config.items():
        setattr(model.config, name, value)
    model.validate()
    model.optimize(kind)
    folder.mkdir()
    model.save(str(folder))


# ---- the answers ----

Answer = tuple[list[str], float]


def texts_of(family: Family) -> list[str]:
    random = numpy.random.default_rng(3)
    words = [word for word in family.words if word.startswith("w")]
    return [" ".join(random.choice(words, random.integers(4, 13))) for _ in range(SENTENCES)]


def theirs(options: argparse.Namespace, family: Family, folder: Path, beam: int) -> list[list[Answer]]:
    before, behind = f"{family.label} " if family.label else "", " </s>" if family.ends else ""
    if family.languages:
        before = family.token("en") + " "
    source, prefix = folder / "source", folder / "prefix"
    source.write_text("".join(f"{before}{text}{behind}\n" for text in texts_of(family)), encoding="utf-8")
    prefix.write_text((family.token("fr") + "\n") * SENTENCES, encoding="utf-8")
    command = [options.translator, "--model", folder, "--src", source, "--beam_size", beam, "--n_best", beam,
               "--with_score", "--compute_type", options.compute, "--min_decoding_length", 0, "--max_decoding_length",
               LONGEST + bool(family.languages), *(["--tgt", prefix] if family.languages else [])]
    printed = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    found = []
    for line in printed.splitlines():
        score, _, tokens = line.partition("|||")
        # the import calls the token that begins a translation <s>
        found.append(([("<s>" if token == family.config.get("bos_token") else token)
                       for token in tokens.split()[bool(family.languages):]], float(score)))
    return [found[i:i + beam] for i in range(0, len(found), beam)]


def ours(client: Daemon, family: Family, beam: int) -> list[list[Answer]]:
    asked = {"model": client.model, "text": texts_of(family), "split_sentences": False, "verbatim": True, "digits": 9,
             "include": ["tokens"], "replace_unknowns": False, "max_length": LONGEST, "length_penalty": 1,
             **({"strategy": "greedy"} if beam == 1 else {"strategy": "beam", "beam_size": beam, "n_best": beam}),
             **({"source": "en", "target": "fr"} if family.languages else {"target": "fr"} if family.label else {})}
    sentences = [answer["sentences"][0] for answer in client.request("/translate", asked)["translations"]]
    return [[(other["tokens"], other["score"]) for other in sentence.get("hypotheses", [sentence])]
            for sentence in sentences]


@dataclass
class Row:
    same: int = 0
    count: int = 0
    worst: float = 0
    differ: list[str] = field(default_factory=list)


def compare(one: list[list[Answer]], other: list[list[Answer]], most: int, empty: bool = True) -> Row:
    """empty: sentences with an empty hypothesis count, too."""
    row = Row()
    for i, (left, right) in enumerate(zip(one, other, strict=True)):
        if not empty and not all(tokens for tokens, _ in left):
            continue
        expected = {tuple(tokens): score for tokens, score in right[:most]}
        for tokens, score in left[:most]:
            row.count += 1
            if tuple(tokens) in expected:
                row.same += 1
                row.worst = max(row.worst, abs(score - expected[tuple(tokens)]))
            else:
                row.differ.append(f"    {i + 1}: {score:.5f} {' '.join(tokens)}, not in {expected}")
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=Path, help="the folder of CTranslate2's Python package")
    parser.add_argument("--translator", default="ct2-translator")
    parser.add_argument("--alignd", type=Path, default=Path("build/alignd"))
    parser.add_argument("--family", action="append", help="only this one; may be repeated")
    parser.add_argument("--type", help="of the weights in the file: int8, int16 or float16")
    parser.add_argument("--compute", default="float32", help="by both: float32 or int8")
    options = parser.parse_args()
    sys.path.insert(0, str(options.package.parent))
    from ctranslate2.specs import common_spec
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    chosen = [family for family in families(common_spec, Shape())
              if not options.family or family.name in options.family]
    print("| family | greedy | beam 4, the best | all four | tokens | score |\n|---|---|---|---|---|---|")
    holds = True
    with tempfile.TemporaryDirectory() as work:
        for family in chosen:
            folder, models = Path(work) / family.name, Path(work) / "models"
            write(family, folder, options.type, numpy.random.default_rng(8))
            pair = ["mul", "mul"] if family.languages or family.label else ["en", "fr"]
            done = subprocess.run([options.alignd, "import", folder, "--into", models, "--name", family.name, "--from",
                                   pair[0], "--to", pair[1], "--max-target-ratio", "20"], capture_output=True,
                                  text=True)
            if done.returncode != 0:
                print(f"| {family.name} | {done.stderr.strip()} |")
                continue
            with daemon(options.alignd, models / family.name, Variant(options.compute, []), options.compute) as url:
                client = Daemon(url, family.name)
                both = [(ours(client, family, beam), theirs(options, family, folder, beam)) for beam in (1, BEAM)]
            rows = [compare(*both[0], 1), *(compare(*both[1], most, not family.languages) for most in (1, BEAM))]
            length = sum(len(answers[0][0]) for answers in both[0][1]) / SENTENCES
            print("| " + " | ".join([family.name, *(f"{row.same}/{row.count}" for row in rows), f"{length:.1f}",
                                     f"{max(row.worst for row in rows):.1e}"]) + " |", flush=True)
            for line in dict.fromkeys(rows[0].differ + rows[2].differ):
                print(line)
            holds &= all(not row.differ and row.worst <= BOUND for row in rows)
    sys.exit(not holds and options.compute == "float32")


if __name__ == "__main__":
    run_command(main)
