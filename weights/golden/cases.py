"""The models of tests/golden: one case for each row of the tables of the model family,
and some of several together (weights/golden/values.py)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model import config as configuration


@dataclass(frozen=True)
class Case:
    """One model: the sections of its config.json, the storage of its weights, and the first seed to try for them."""

    name: str
    encoder: dict
    attention: dict | None
    decoder: dict
    tied: bool = False
    storage: str = "float32"
    seed: int = 1
    tokenizer: dict = field(default_factory=dict)
    output: dict = field(default_factory=dict)
    alignment: dict = field(default_factory=dict)
    defaults: dict = field(default_factory=dict)
    config: dict = field(init=False)

    def __post_init__(self) -> None:
        config = {"format": 1, "name": self.name, "source": "en", "target": "fr", "encoder": self.encoder,
                  "attention": self.attention,
                  "decoder": self.decoder, "output": {"tied": self.tied, **self.output}, "alignment": self.alignment,
                  "tokenizer": self.tokenizer, "defaults": self.defaults,
                  "limits": {"max_source_tokens": 40, "max_target_ratio": 1.5}}
        object.__setattr__(self, "config", configuration.validate(config))


def _encoder(cell: str, layers: int = 1, bidirectional: bool = True, embedding: int = 6, hidden: int = 4,
             **other) -> dict:
    return {"cell": cell, "layers": layers, "bidirectional": bidirectional, "embedding": embedding, "hidden": hidden,
            **other}


def _convolutional(layers: int, width: int, embedding: int = 6, hidden: int = 8, **other) -> dict:
    return {"type": "convolutional", "layers": layers, "width": width, "embedding": embedding, "hidden": hidden,
            **other}


def _decoder(style: str, cell: str, layers: int = 1, embedding: int = 6, hidden: int = 8, **other) -> dict:
    return {"style": style, "cell": cell, "layers": layers, "embedding": embedding, "hidden": hidden, **other}


GENERAL, DOT, ADDITIVE = {"score": "general"}, {"score": "dot"}, {"score": "additive", "size": 5}
ATTENTIONAL, TANH, CONCAT = ({"readout": "attentional", "readout_size": 6}, {"readout": "tanh", "readout_size": 6},
                             {"readout": "concat"})
MAXOUT, LINEAR = {"readout": "maxout", "readout_size": 6}, {"readout": "linear", "readout_size": 6}
LAYER, GATES = {"normalization": "layer"}, {"normalization": "gates"}
ZERO = {"initial_state": "zero"}
LAST, MEAN = {"initial_state": "last", "initial_projection": False}, {"initial_state": "mean",
                                                                      "initial_projection": False}
LAST_PROJECTED, MEAN_PROJECTED = ({**kind, "initial_projection": True} for kind in (LAST, MEAN))
WORDS, CHARACTERS = ({"type": kind, "source": "source.vocab", "target": "target.vocab"}
                     for kind in ("words", "characters"))
WORDS |= {"punctuation": "both", "lowercase": "both"}

RECURRENT = (
    Case("luong-general-gru", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL),
         tied=True, seed=137),
    Case("luong-general-lstm", _encoder("lstm", 2), GENERAL, _decoder("luong", "lstm", 2, **MEAN_PROJECTED, **TANH),
         seed=9),
    Case("luong-dot-lstm", _encoder("lstm", 2), DOT, _decoder("luong", "lstm", 2, **LAST, **ATTENTIONAL), seed=141),
    Case("luong-dot-gru-forward", _encoder("gru", bidirectional=False, hidden=7), DOT,
         _decoder("luong", "gru", hidden=7, **LAST, **CONCAT), seed=35),
    Case("luong-additive-gru", _encoder("gru", 2, bidirectional=False, hidden=5), ADDITIVE,
         _decoder("luong", "gru", 2, hidden=7, **LAST_PROJECTED, **TANH, first_input="zero"), tied=True, seed=33),
    Case("luong-additive-lstm", _encoder("lstm"), ADDITIVE, _decoder("luong", "lstm", **LAST, **CONCAT), seed=9),
    Case("luong-feeding-gru", _encoder("gru"), GENERAL,
         _decoder("luong", "gru", 2, **MEAN, **ATTENTIONAL, input_feeding=True), seed=87),
    Case("luong-feeding-lstm", _encoder("lstm", 2, bidirectional=False, hidden=8), DOT,
         _decoder("luong", "lstm", 2, **LAST, **ATTENTIONAL, input_feeding=True, first_input="zero"), tied=True,
         seed=402),
    Case("luong-first-eos", _encoder("gru"), GENERAL,
         _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL, first_input="eos"), seed=1),
    Case("luong-no-eos", _encoder("lstm", bidirectional=False, eos=False), GENERAL,
         _decoder("luong", "gru", **ZERO, **CONCAT), seed=210),
    Case("conditional-additive-gru", _encoder("gru"), ADDITIVE,
         _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH, first_input="zero"), seed=19),
    Case("conditional-additive-lstm", _encoder("lstm", 2), ADDITIVE, _decoder("conditional", "lstm", 2, **LAST, **TANH),
         tied=True, seed=116),
    Case("conditional-additive-deep", _encoder("gru", 2, bidirectional=False), ADDITIVE,
         _decoder("conditional", "gru", 2, hidden=6, **LAST_PROJECTED, **ATTENTIONAL), seed=115),
    Case("conditional-general-lstm", _encoder("gru"), GENERAL, _decoder("conditional", "lstm", **ZERO, **CONCAT),
         seed=556),
    Case("conditional-dot-gru", _encoder("lstm"), DOT, _decoder("conditional", "gru", **MEAN, **ATTENTIONAL), tied=True,
         seed=760),
    Case("luong-scaled-dot-gru", _encoder("gru"), {"score": "scaled_dot"}, _decoder("luong", "gru", **MEAN, **TANH),
         seed=30),
    Case("luong-scaled-dot-learned", _encoder("lstm", bidirectional=False),
         {"score": "scaled_dot", "scale": "learned", "keys": "learned"},
         _decoder("luong", "lstm", hidden=7, **LAST_PROJECTED, **CONCAT), seed=20),
    Case("luong-dot-keys", _encoder("gru"), {"score": "dot", "keys": "learned"},
         _decoder("luong", "gru", hidden=5, **ZERO, **ATTENTIONAL, input_feeding=True), seed=311),
    Case("luong-location-lstm", _encoder("lstm"), {"score": "location"},
         _decoder("luong", "lstm", **LAST, **ATTENTIONAL), seed=29),
    Case("conditional-location-depth", _encoder("gru"), {"score": "location", "source_depth": 4},
         _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH), seed=25),
    Case("luong-values-gru", _encoder("gru"), GENERAL | {"values": "learned", "value_size": 5},
         _decoder("luong", "gru", **LAST, **CONCAT), seed=114),
    Case("conditional-values-gru", _encoder("gru"), ADDITIVE | {"values": "learned"},
         _decoder("conditional", "gru", hidden=6, **MEAN_PROJECTED, **TANH), seed=136),
    Case("luong-depth-lstm", _encoder("lstm", 2), DOT | {"source_depth": 3},
         _decoder("luong", "lstm", 2, **LAST, **ATTENTIONAL), seed=121),
    Case("luong-local-m-gru", _encoder("gru"), GENERAL | {"window": "local_m", "half_width": 1},
         _decoder("luong", "gru", **LAST, **ATTENTIONAL), seed=3),
    Case("conditional-local-m-lstm", _encoder("lstm"), ADDITIVE | {"window": "local_m", "half_width": 2},
         _decoder("conditional", "lstm", **MEAN_PROJECTED, **TANH), seed=31),
    Case("luong-local-p-lstm", _encoder("lstm"), DOT | {"window": "local_p", "half_width": 3},
         _decoder("luong", "lstm", **LAST, **ATTENTIONAL, input_feeding=True), seed=18),
    Case("conditional-local-p-gru", _encoder("gru"), ADDITIVE | {"window": "local_p", "half_width": 2},
         _decoder("conditional", "gru", hidden=6, **MEAN_PROJECTED, **TANH), seed=94),
    Case("luong-coverage-gru", _encoder("gru"), ADDITIVE | {"coverage": True},
         _decoder("luong", "gru", **LAST, **ATTENTIONAL, input_feeding=True), seed=152),
    Case("luong-coverage-lstm", _encoder("lstm", bidirectional=False), ADDITIVE | {"coverage": True},
         _decoder("luong", "lstm", **LAST_PROJECTED, **CONCAT), seed=139),
    Case("conditional-coverage-local-p", _encoder("gru"),
         ADDITIVE | {"coverage": True, "window": "local_p", "half_width": 3},
         _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH), seed=70),
    Case("storage-float16", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL),
         tied=True, storage="float16", seed=162),
    Case("storage-bfloat16", _encoder("lstm"), ADDITIVE, _decoder("conditional", "lstm", **MEAN_PROJECTED, **TANH),
         storage="bfloat16", seed=70),
    Case("storage-int8", _encoder("gru"), ADDITIVE, _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH),
         storage="int8", seed=18),
    Case("tokenizer-words", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL),
         tokenizer=WORDS, seed=73),
    Case("tokenizer-characters", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL),
         tokenizer=CHARACTERS, seed=49),
    Case("output-characters", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL),
         tokenizer=WORDS, output={"type": "characters", "character_embedding": 4}, seed=1488),
    Case("luong-general-rnn", _encoder("rnn", 2), GENERAL, _decoder("luong", "rnn", 2, **LAST, **ATTENTIONAL), seed=30),
    Case("residual-luong-gru", _encoder("gru", 3, residual=True), GENERAL,
         _decoder("luong", "gru", 3, **LAST, **ATTENTIONAL, residual=True), seed=115),
    Case("residual-conditional-lstm", _encoder("lstm", 2, bidirectional=False, residual=True), ADDITIVE,
         _decoder("conditional", "lstm", 3, **LAST_PROJECTED, **CONCAT, residual=True), seed=352),
    Case("convolutional-dot-gru", _convolutional(3, 3), DOT, _decoder("luong", "gru", **MEAN, **ATTENTIONAL), seed=3),
    Case("convolutional-additive-lstm", _convolutional(2, 5, hidden=5, eos=False), ADDITIVE,
         _decoder("bahdanau", "lstm", **MEAN_PROJECTED, **MAXOUT), seed=80),
    Case("convolutional-general-gru", _convolutional(1, 1), GENERAL, _decoder("conditional", "gru", **ZERO, **TANH),
         storage="int8", seed=75),
    Case("bahdanau-additive-gru", _encoder("gru"), ADDITIVE, _decoder("bahdanau", "gru", **LAST_PROJECTED, **MAXOUT),
         seed=84),
    Case("bahdanau-general-lstm", _encoder("lstm", 2), GENERAL,
         _decoder("bahdanau", "lstm", 2, **LAST, **TANH, residual=True), seed=120),
    Case("bahdanau-dot-rnn", _encoder("rnn"), DOT, _decoder("bahdanau", "rnn", **ZERO, **CONCAT, first_input="zero"),
         seed=23),
    Case("bahdanau-coverage-values", _encoder("gru"),
         ADDITIVE | {"values": "learned", "value_size": 5, "window": "local_p", "half_width": 3, "coverage": True},
         _decoder("bahdanau", "gru", **MEAN_PROJECTED, **MAXOUT), seed=2340),
    Case("residual-luong-coverage", _encoder("lstm", 2, residual=True),
         ADDITIVE | {"window": "local_m", "half_width": 2, "coverage": True},
         _decoder("luong", "lstm", 2, **LAST, **ATTENTIONAL, input_feeding=True, residual=True), seed=22),
    Case("bahdanau-state-gru", _encoder("gru", bidirectional=False, hidden=8), ADDITIVE,
         _decoder("bahdanau", "gru", **LAST, readout="state")),
    Case("bahdanau-top-padded", _encoder("gru", 2, bidirectional=False, hidden=8, padded_to=9), ADDITIVE,
         _decoder("bahdanau", "gru", 2, **LAST, readout="state", query="top")),
    Case("padded-lstm", _encoder("lstm", 2, padded_to=7), GENERAL, _decoder("luong", "lstm", 2, **LAST, **ATTENTIONAL)),
    Case("fixed-gru", _encoder("gru", bidirectional=False, hidden=8), None, _decoder("fixed", "gru", **LAST, **MAXOUT),
         seed=2026),
    Case("fixed-lstm", _encoder("lstm", 2), None,
         _decoder("fixed", "lstm", 3, **LAST_PROJECTED, **ATTENTIONAL, residual=True, first_input="zero"), tied=True,
         seed=180),
    Case("pointer", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **CONCAT),
         output={"type": "pointer"}, seed=633),
    Case("pointer-generator", _encoder("lstm"), ADDITIVE,
         _decoder("conditional", "gru", 2, **MEAN_PROJECTED, **TANH, first_input="zero"),
         output={"type": "pointer_generator"}, seed=19),
    Case("pointer-generator-feeding", _encoder("gru"), GENERAL,
         _decoder("luong", "lstm", **LAST_PROJECTED, **ATTENTIONAL,
                                                                       input_feeding=True), tied=True,
         output={"type": "pointer_generator"}, seed=46),
    Case("copy", _encoder("gru"), ADDITIVE, _decoder("conditional", "lstm", **MEAN_PROJECTED, **TANH),
         output={"type": "copy"}, seed=392),
    Case("copy-int8", _encoder("gru", bidirectional=False, eos=False), GENERAL,
         _decoder("luong", "gru", 2, **ZERO, **ATTENTIONAL), tied=True,
         storage="int8", output={"type": "copy"}, seed=1447),
    Case("copy-words", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL),
         tokenizer=WORDS, output={"type": "copy"}, seed=123),
    Case("copy-residual", _encoder("gru", 2), GENERAL,
         _decoder("bahdanau", "gru", 2, **LAST, **TANH, residual=True), output={"type": "copy"}, seed=66),
    Case("pointer-generator-residual", _convolutional(2, 3), DOT | {"window": "local_m", "half_width": 2},
         _decoder("luong", "lstm", 2, **MEAN, **ATTENTIONAL, input_feeding=True, residual=True),
         output={"type": "pointer_generator"}, seed=9),
    Case("normalized-gru", _encoder("gru", normalization="layer"), ADDITIVE,
         _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH), seed=42),
    Case("normalized-lstm", _encoder("lstm", 2, normalization="layer"), GENERAL,
         _decoder("luong", "lstm", 2, **LAST, **ATTENTIONAL), seed=7),
    Case("normalized-gates-gru", _encoder("gru", 2, normalization="gates", bidirectional=False, hidden=5), ADDITIVE,
         _decoder("conditional", "gru", **LAST_PROJECTED, **TANH), storage="int8", seed=12),
    Case("transitions-gru", _encoder("gru", transitions=2), GENERAL, _decoder("luong", "gru", **LAST, **ATTENTIONAL),
         seed=100),
    Case("transitions-lstm", _encoder("lstm", 2, transitions=1), ADDITIVE,
         _decoder("conditional", "lstm", 2, **LAST, **TANH), seed=259),
    Case("transitions-normalized-gru", _encoder("gru", normalization="gates", transitions=2), GENERAL,
         _decoder("luong", "gru", **MEAN_PROJECTED, **CONCAT), seed=32),
    Case("transitions-normalized-lstm", _encoder("lstm", normalization="layer", transitions=2), ADDITIVE,
         _decoder("conditional", "lstm", **LAST, **TANH), seed=185),
    Case("stack-separate-rnn", _encoder("rnn", 2, stack="separate", normalization="layer", transitions=1), GENERAL,
         _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL), seed=155),
    Case("stack-separate-lstm", _encoder("lstm", 3, stack="separate", residual=True), DOT,
         _decoder("luong", "lstm", 3, **LAST, **ATTENTIONAL, residual=True), seed=49),
    Case("stack-alternating-gru", _encoder("gru", 3, stack="alternating"), ADDITIVE,
         _decoder("conditional", "gru", 3, **LAST, **TANH), seed=58),
    Case("stack-alternating-lstm", _encoder("lstm", 2, stack="alternating", residual=True, normalization="layer",
                                            transitions=1), ADDITIVE,
         _decoder("conditional", "lstm", 2, **MEAN_PROJECTED, **TANH, first_input="zero", residual=True), seed=15),
    Case("stack-forward-gru", _encoder("gru", 3, stack="forward", residual=True), DOT,
         _decoder("luong", "gru", hidden=4, **MEAN, **ATTENTIONAL), seed=108),
    Case("stack-forward-lstm", _encoder("lstm", 2, stack="forward", normalization="layer"), None,
         _decoder("fixed", "lstm", **LAST_PROJECTED, **MAXOUT), seed=92),
    Case("embedding-shared", _encoder("gru", embedding_shared=True), ADDITIVE,
         _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH),
         tied=True, tokenizer={"source": "target.spm"}, storage="float16", seed=36),
    Case("normalized-conditional-gru", _encoder("gru"), ADDITIVE | LAYER,
         _decoder("conditional", "gru", 2, **MEAN_PROJECTED, **TANH, **LAYER, residual=True, upper_transitions=1,
                  first_input="zero"), seed=691),
    Case("normalized-conditional-lstm", _encoder("lstm"), ADDITIVE | LAYER,
         _decoder("conditional", "lstm", 2, **MEAN_PROJECTED, **TANH, **LAYER, residual=True, upper_transitions=2,
                  initial_cell="state"), seed=67),
    Case("normalized-gates", _encoder("gru"), ADDITIVE | GATES,
         _decoder("conditional", "gru", 2, **MEAN_PROJECTED, **TANH, **GATES, residual=True, transitions=1,
                  upper_transitions=1), seed=319),
    Case("normalized-feeding", _encoder("gru"), GENERAL,
         _decoder("luong", "gru", **LAST, **ATTENTIONAL, **LAYER, input_feeding=True), tied=True, seed=784),
    Case("normalized-bahdanau", _encoder("gru"), DOT, _decoder("bahdanau", "gru", **LAST_PROJECTED, **MAXOUT, **GATES,
                                                               transitions=2), seed=501),
    Case("normalized-fixed", _encoder("lstm"), None, _decoder("fixed", "lstm", **LAST_PROJECTED, **ATTENTIONAL, **LAYER,
                                                              initial_cell="state"), seed=139),
    Case("normalized-coverage", _encoder("gru"),
         ADDITIVE | LAYER | {"coverage": True, "values": "learned", "value_size": 5},
         _decoder("conditional", "rnn", **MEAN_PROJECTED, **CONCAT, **LAYER, transitions=1), seed=3616),
    Case("normalized-int8", _encoder("gru"), ADDITIVE | LAYER,
         _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH, **LAYER, transitions=1, first_input="zero"),
         storage="int8", seed=632),
    Case("transitions-conditional", _encoder("gru"), ADDITIVE,
         _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH, transitions=2), seed=35),
    Case("transitions-luong-lstm", _encoder("lstm"), GENERAL,
         _decoder("luong", "lstm", 2, **MEAN_PROJECTED, **TANH, transitions=1, upper_transitions=1,
                  initial_cell="state"), seed=46),
    Case("linear-feeding", _encoder("lstm", 2), ADDITIVE,
         _decoder("luong", "lstm", 2, **LAST, **LINEAR, input_feeding=True), seed=91),
    Case("no-unknowns", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL),
         tokenizer=WORDS, output={"unknowns": False}, seed=73),
    Case("pointer-generator-readout", _encoder("gru", eos=False), GENERAL,
         _decoder("luong", "gru", **LAST, **ATTENTIONAL, input_feeding=True),
         output={"type": "pointer_generator", "gate": "readout"}, seed=70),
    Case("pointer-of-readout", _encoder("gru"), ADDITIVE, _decoder("conditional", "lstm", **MEAN_PROJECTED, **TANH),
         output={"type": "pointer_generator", "pointer": "readout"}, seed=191),
    Case("pointer-of-readout-feeding", _encoder("lstm", eos=False), GENERAL,
         _decoder("luong", "lstm", **LAST, **ATTENTIONAL, input_feeding=True),
         output={"type": "pointer_generator", "gate": "readout", "pointer": "readout"}, seed=127),
    Case("pointer-of-readout-int8", _encoder("gru", eos=False), DOT, _decoder("luong", "gru", **MEAN, **CONCAT),
         storage="int8", output={"type": "pointer_generator", "pointer": "readout"}, seed=853),
    Case("alignment-luong-gru", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL),
         tied=True, seed=137, alignment={"size": 5}),
    Case("alignment-conditional-lstm", _encoder("lstm", 2, eos=False), ADDITIVE,
         _decoder("conditional", "lstm", 2, **LAST, **TANH, residual=True), storage="float16", alignment={"size": 7}),
    Case("alignment-copy-convolutional", _convolutional(2, 3), DOT,
         _decoder("luong", "gru", **MEAN, **ATTENTIONAL, input_feeding=True),
         output={"type": "copy"}, storage="int8", alignment={"size": 6}),
)

# ---- transformers ----

def _blocks(layers: int = 2, size: int = 8, heads: int = 2, filter: int = 12, **other) -> dict:
    return {"layers": layers, "embedding": size, "hidden": size, "heads": heads, "filter": filter, **other}


def _attending(**other) -> dict:
    return {"type": "transformer", **_blocks(**other)}


def _transformer(mixer: str, **other) -> dict:
    return {"style": "transformer", "mixer": mixer, **_blocks(**other)}


SELF, SSRU, AVERAGE = "self_attention", "ssru", "average"
ROTARY = {"positions": "rotary"}
RELATIVE = {"positions": "relative", "relative_buckets": 8, "relative_distance": 10}
T5 = {"norm": "pre", "norm_type": "rms", "biases": False, "scaled_scores": False, "embedding_scale": False}
GELU_TANH, FIRST_ID = {"activation": "gelu_tanh"}, {"first_input": "id_0"}
RMS, GATED, FIRST_NORM = {"norm_type": "rms"}, {"gated": True}, {"embedding_norm": True}
SWISH, GELU, PRE, ALIBI = {"activation": "swish"}, {"activation": "gelu"}, {"norm": "pre"}, {"positions": "alibi"}
LEARNED, STORED, NOWHERE, FIRST_ZERO = {"positions": "learned"}, {"positions": "stored"}, {"positions": "none"}, {
    "first_input": "zero"}
TRANSFORMERS = (
    Case("transformer", _attending(), None, _transformer(SELF), tied=True, seed=18),
    Case("transformer-swish-zero", _attending(**SWISH), None, _transformer(SELF, **SWISH, **FIRST_ZERO, heads=4),
         seed=25),
    Case("transformer-pre-learned", _attending(**PRE, **LEARNED, **GELU), None,
         _transformer(SELF, **PRE, **LEARNED, **GELU), seed=2),
    Case("transformer-alibi", _attending(size=9, heads=3, embedding_scale=False, **ALIBI), None,
         _transformer(SELF, size=6, heads=3, embedding_scale=False, **ALIBI), seed=68),
    Case("transformer-alibi-pre", _attending(**ALIBI, **PRE, **SWISH, layers=1), None,
         _transformer(SELF, **ALIBI, **PRE, **SWISH, layers=3), seed=7),
    Case("transformer-alignment-layer", _attending(layers=1), None,
         _transformer(SELF, layers=3, heads=4, alignment_layer=1, alignment_head=2), seed=199),
    Case("transformer-ssru", _attending(), None, _transformer(SSRU, **FIRST_ZERO), tied=True, seed=12),
    Case("transformer-ssru-pre", _attending(**PRE, **SWISH), None, _transformer(SSRU, **PRE, **SWISH, layers=3),
         seed=15),
    Case("transformer-ssru-nowhere", _attending(**NOWHERE), None, _transformer(SSRU, **NOWHERE, **GELU), seed=56),
    Case("transformer-average", _attending(**SWISH), None,
         _transformer(AVERAGE, **SWISH, **FIRST_ZERO, average_filter=5, alignment_layer=1), seed=16),
    Case("transformer-average-square", _attending(), None,
         _transformer(AVERAGE, average_filter=8, average_activation="relu", **PRE)),
    Case("transformer-average-mean", _attending(**LEARNED), None, _transformer(AVERAGE, **LEARNED), seed=7),
    Case("transformer-average-ungated", _attending(), None,
         _transformer(AVERAGE, average_filter=10, average_gate=False, average_activation="gelu"), seed=15),
    Case("transformer-int8", _attending(), None, _transformer(SELF, **FIRST_ZERO), tied=True, storage="int8", seed=14),
    Case("transformer-ssru-int8", _attending(**SWISH), None, _transformer(SSRU, **FIRST_ZERO), storage="int8", seed=43),
    Case("transformer-float16", _attending(embedding_shared=True), None, _transformer(SELF), tied=True,
         tokenizer={"source": "target.spm"}, storage="float16", seed=23),
    Case("transformer-bfloat16", _attending(eos=False), None, _transformer(AVERAGE, average_filter=12),
         storage="bfloat16", seed=43),
    Case("transformer-conditional-gru", _attending(), ADDITIVE,
         _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH), seed=17),
    Case("transformer-luong-lstm", _attending(**PRE, **SWISH), GENERAL,
         _decoder("luong", "lstm", 2, **ZERO, **ATTENTIONAL, input_feeding=True), seed=422),
    Case("transformer-bahdanau-rnn", _attending(layers=1, **ALIBI), DOT, _decoder("bahdanau", "rnn", **MEAN, **MAXOUT),
         seed=275),
    Case("recurrent-self-attention", _encoder("lstm", 2), None, _transformer(SELF, **SWISH)),
    Case("recurrent-ssru", _encoder("gru", embedding=5, hidden=3), None, _transformer(SSRU, **FIRST_ZERO), tied=True,
         seed=2),
    Case("convolutional-self-attention", _convolutional(2, 3, hidden=5), None, _transformer(SELF, **PRE)),
    Case("convolutional-average", _convolutional(1, 3), None, _transformer(AVERAGE, average_filter=4), seed=6),
    Case("transformer-copy", _attending(), None, _transformer(SELF), output={"type": "copy"}, seed=44),
    Case("transformer-pointer-generator", _attending(**SWISH), None, _transformer(SSRU),
         output={"type": "pointer_generator"}, storage="int8", seed=159),
    Case("transformer-offset", _attending(position_offset=2, epsilon=0.00001, eos=False), None,
         _transformer(SELF, position_offset=1, epsilon=0.003), tied=True, seed=1),
    Case("transformer-stored", _attending(**STORED, **PRE, position_offset=2, epsilon=0.00001), None,
         _transformer(SELF, **STORED, **PRE, epsilon=0.00001, first_input="eos"), seed=1),
    Case("transformer-replaced", _attending(**PRE, position_offset=1), None,
         _transformer(SELF, **PRE, position_offset=1), defaults={"finished": "replaced"}, seed=1),
    Case("transformer-words", _attending(), None, _transformer(SELF), tokenizer=WORDS, output={"unknowns": False},
         seed=34),
    Case("transformer-alignment", _attending(), None, _transformer(SELF, layers=1), alignment={"size": 5}, seed=5),
    Case("transformer-rms", _attending(**PRE, **RMS, epsilon=0.001), None, _transformer(SELF, **PRE, **RMS), seed=4),
    Case("transformer-gated", _attending(**PRE, **RMS, **GATED, **SWISH), None,
         _transformer(SELF, **PRE, **RMS, **GATED, **GELU), tied=True, seed=2),
    Case("transformer-gated-post", _attending(**RMS, **GATED), None, _transformer(SSRU, **GATED, **SWISH), seed=4,
         storage="int8"),
    Case("transformer-embedding-norm", _attending(**PRE, **STORED, **FIRST_NORM, **GELU), None,
         _transformer(SELF, **PRE, **STORED, **FIRST_NORM, **GELU, first_input="eos"), seed=6),
    Case("transformer-embedding-norm-post", _attending(**LEARNED, **FIRST_NORM), None,
         _transformer(SELF, **LEARNED, **FIRST_NORM), seed=1),
    Case("transformer-rotary", _attending(**ROTARY, **PRE), None, _transformer(SELF, **ROTARY, **PRE), seed=1),
    Case("transformer-rotary-part",
         _attending(**ROTARY, rotary_size=2, rotary_pairs="neighbours", rotary_base=100.0), None,
         _transformer(SELF, **ROTARY, rotary_pairs="neighbours"), seed=48),
    Case("transformer-relative", _attending(**RELATIVE, **T5, **GATED, **GELU_TANH, head_size=3), None,
         _transformer(SELF, **RELATIVE, **T5, **GATED, **GELU_TANH, **FIRST_ID, head_size=3), seed=27),
    Case("transformer-relative-layers", _attending(**RELATIVE, head_size=5, relative_shared=False), None,
         _transformer(SELF, **RELATIVE, relative_shared=False, head_size=5, alignment_layer=1), storage="int8",
         seed=226),
    Case("transformer-relative-bfloat16", _attending(**RELATIVE, **T5, layers=1), None,
         _transformer(SELF, **RELATIVE, **T5, **FIRST_ID, heads=4, layers=3), tied=True, storage="bfloat16", seed=2),
    Case("transformer-no-biases", _attending(biases=False, head_size=1), None,
         _transformer(AVERAGE, average_filter=5, biases=False, scaled_scores=False), seed=1),
    Case("ssru-alignment", _encoder("gru"), None, _transformer(SSRU), alignment={"size": 6}, storage="int8", seed=19),
)
CASES = (*RECURRENT, *TRANSFORMERS)
