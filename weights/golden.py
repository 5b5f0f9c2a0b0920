"""Golden values: python3 -m weights.golden tests/golden

Input: the tiny vocabularies in tests/data. Output: one model folder a case (random weights, a few hundred to a few thousand of them) with
golden.json beside its config.json: what PyTorch computes at every joint for a handful of sentences, each alone. The C tests
compare against it: floats within a stated tolerance, tokens exactly. To keep both clear of rounding, a case takes the first seed whose
searches never choose between two candidates closer than MIN_MARGIN, and whose log-probabilities in float32 are those in float64.

golden.json: {"sentences": [{
  "text", "source": ids as the encoder reads them, "words": the same as targets (outputs that copy),
  "annotations" [T][D], "keys" [T][A] (without attention [], as are all its rows), "final" [layer][h or h, c][D], "start" [layer][h or h, c][H],
  "steps": the first three, [{"previous" id, "state" [layer][h or h, c][H], "attention" [T], "readout" [O], "log_probs" [V]}]
           (log_probs in the first DISTRIBUTIONS sentences),
  "greedy": {"tokens", "log_probs", "ended", "attention" [n][T], "text": with each <unk> replaced},
  "beam": [{"beam_size", "length_penalty", "hypotheses": [{"tokens", "log_probs", "ended", "score"}], best first}],
  "forced": {"tokens", "log_probs", "ended", "attention"},
  "alignment_keys" [T][A], "soft_alignment" [n + 1][T] of the forced target and its </s> (models with an alignment head)}]}
"""

from __future__ import annotations

import argparse
import copy
import json
import os
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy
import torch

from . import config as configuration
from . import copies, folder, search, tokenizer
from .copies import Source
from .model import DecoderState, Memory, Model
from .output import IMPOSSIBLE
from .search import Hypothesis
from .tokenizer import BOS, EOS, UNK, Tokenizer, load

SENTENCES = ("Stop!", "I", "This is mine.", "What did you do?", "He is here.", "Place the ladder here, Tom.")
TARGET = "C'est le mien."
BEAMS = ((5, 1.0), (5, 0.6), (2, 1.0))  # beam size, length penalty
DISTRIBUTIONS = 2
MIN_MARGIN = 5e-4
MAX_ROUNDING = 5e-6
VOCABULARIES = {"sentencepiece": ("tiny.en.spm", "tiny.fr.spm"), "words": ("tiny.en.words", "tiny.fr.words"),
                "characters": ("tiny.en.characters", "tiny.fr.characters")}  # in tests/data, by the type of the tokenizer


@dataclass(frozen=True)
class Case:
    """One model. Sections of its config.json; the storage of its weights; the seed at which the search for its weights begins."""

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
    config: dict = field(init=False)

    def __post_init__(self) -> None:
        config = {"format": 1, "name": self.name, "source": "en", "target": "fr", "encoder": self.encoder, "attention": self.attention,
                  "decoder": self.decoder, "output": {"tied": self.tied, **self.output}, "alignment": self.alignment, "tokenizer": self.tokenizer,
                  "limits": {"max_source_tokens": 40, "max_target_ratio": 1.5}}
        object.__setattr__(self, "config", configuration.validate(config))


def _encoder(cell: str, layers: int = 1, bidirectional: bool = True, embedding: int = 6, hidden: int = 4, **other) -> dict:
    return {"cell": cell, "layers": layers, "bidirectional": bidirectional, "embedding": embedding, "hidden": hidden, **other}


def _convolutional(layers: int, width: int, embedding: int = 6, hidden: int = 8, **other) -> dict:
    return {"type": "convolutional", "layers": layers, "width": width, "embedding": embedding, "hidden": hidden, **other}


def _decoder(style: str, cell: str, layers: int = 1, embedding: int = 6, hidden: int = 8, **other) -> dict:
    return {"style": style, "cell": cell, "layers": layers, "embedding": embedding, "hidden": hidden, **other}


GENERAL, DOT, ADDITIVE = {"score": "general"}, {"score": "dot"}, {"score": "additive", "size": 5}
ATTENTIONAL, TANH, CONCAT = ({"readout": "attentional", "readout_size": 6}, {"readout": "tanh", "readout_size": 6}, {"readout": "concat"})
MAXOUT, LINEAR = {"readout": "maxout", "readout_size": 6}, {"readout": "linear", "readout_size": 6}
LAYER, GATES = {"normalization": "layer"}, {"normalization": "gates"}
ZERO = {"initial_state": "zero"}
LAST, MEAN = {"initial_state": "last", "initial_projection": False}, {"initial_state": "mean", "initial_projection": False}
LAST_PROJECTED, MEAN_PROJECTED = ({**kind, "initial_projection": True} for kind in (LAST, MEAN))
WORDS, CHARACTERS = ({"type": kind, "source": "source.vocab", "target": "target.vocab"} for kind in ("words", "characters"))
WORDS |= {"punctuation": "both", "lowercase": "both"}

CASES = (
    Case("luong-general-gru", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL), tied=True, seed=137),
    Case("luong-general-lstm", _encoder("lstm", 2), GENERAL, _decoder("luong", "lstm", 2, **MEAN_PROJECTED, **TANH), seed=9),
    Case("luong-dot-lstm", _encoder("lstm", 2), DOT, _decoder("luong", "lstm", 2, **LAST, **ATTENTIONAL), seed=141),
    Case("luong-dot-gru-forward", _encoder("gru", bidirectional=False, hidden=7), DOT,
         _decoder("luong", "gru", hidden=7, **LAST, **CONCAT), seed=35),
    Case("luong-additive-gru", _encoder("gru", 2, bidirectional=False, hidden=5), ADDITIVE,
         _decoder("luong", "gru", 2, hidden=7, **LAST_PROJECTED, **TANH, first_input="zero"), tied=True, seed=33),
    Case("luong-additive-lstm", _encoder("lstm"), ADDITIVE, _decoder("luong", "lstm", **LAST, **CONCAT), seed=9),
    Case("luong-feeding-gru", _encoder("gru"), GENERAL, _decoder("luong", "gru", 2, **MEAN, **ATTENTIONAL, input_feeding=True), seed=87),
    Case("luong-feeding-lstm", _encoder("lstm", 2, bidirectional=False, hidden=8), DOT,
         _decoder("luong", "lstm", 2, **LAST, **ATTENTIONAL, input_feeding=True, first_input="zero"), tied=True, seed=402),
    Case("luong-no-eos", _encoder("lstm", bidirectional=False, eos=False), GENERAL, _decoder("luong", "gru", **ZERO, **CONCAT), seed=210),
    Case("conditional-additive-gru", _encoder("gru"), ADDITIVE,
         _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH, first_input="zero"), seed=19),
    Case("conditional-additive-lstm", _encoder("lstm", 2), ADDITIVE, _decoder("conditional", "lstm", 2, **LAST, **TANH),
         tied=True, seed=116),
    Case("conditional-additive-deep", _encoder("gru", 2, bidirectional=False), ADDITIVE,
         _decoder("conditional", "gru", 2, hidden=6, **LAST_PROJECTED, **ATTENTIONAL), seed=115),
    Case("conditional-general-lstm", _encoder("gru"), GENERAL, _decoder("conditional", "lstm", **ZERO, **CONCAT), seed=556),
    Case("conditional-dot-gru", _encoder("lstm"), DOT, _decoder("conditional", "gru", **MEAN, **ATTENTIONAL), tied=True, seed=760),
    Case("luong-scaled-dot-gru", _encoder("gru"), {"score": "scaled_dot"}, _decoder("luong", "gru", **MEAN, **TANH), seed=30),
    Case("luong-scaled-dot-learned", _encoder("lstm", bidirectional=False), {"score": "scaled_dot", "scale": "learned", "keys": "learned"},
         _decoder("luong", "lstm", hidden=7, **LAST_PROJECTED, **CONCAT), seed=20),
    Case("luong-dot-keys", _encoder("gru"), {"score": "dot", "keys": "learned"},
         _decoder("luong", "gru", hidden=5, **ZERO, **ATTENTIONAL, input_feeding=True), seed=311),
    Case("luong-location-lstm", _encoder("lstm"), {"score": "location"}, _decoder("luong", "lstm", **LAST, **ATTENTIONAL), seed=29),
    Case("conditional-location-depth", _encoder("gru"), {"score": "location", "source_depth": 4},
         _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH), seed=25),
    Case("luong-values-gru", _encoder("gru"), GENERAL | {"values": "learned", "value_size": 5},
         _decoder("luong", "gru", **LAST, **CONCAT), seed=114),
    Case("conditional-values-gru", _encoder("gru"), ADDITIVE | {"values": "learned"},
         _decoder("conditional", "gru", hidden=6, **MEAN_PROJECTED, **TANH), seed=136),
    Case("luong-depth-lstm", _encoder("lstm", 2), DOT | {"source_depth": 3}, _decoder("luong", "lstm", 2, **LAST, **ATTENTIONAL), seed=121),
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
    Case("conditional-coverage-local-p", _encoder("gru"), ADDITIVE | {"coverage": True, "window": "local_p", "half_width": 3},
         _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH), seed=70),
    Case("storage-float16", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL),
         tied=True, storage="float16", seed=162),
    Case("storage-bfloat16", _encoder("lstm"), ADDITIVE, _decoder("conditional", "lstm", **MEAN_PROJECTED, **TANH),
         storage="bfloat16", seed=70),
    Case("storage-int8", _encoder("gru"), ADDITIVE, _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH), storage="int8", seed=18),
    Case("tokenizer-words", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL), tokenizer=WORDS, seed=73),
    Case("tokenizer-characters", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL),
         tokenizer=CHARACTERS, seed=49),
    Case("output-characters", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL), tokenizer=WORDS,
         output={"type": "characters", "character_embedding": 4}, seed=1488),
    Case("luong-general-rnn", _encoder("rnn", 2), GENERAL, _decoder("luong", "rnn", 2, **LAST, **ATTENTIONAL), seed=30),
    Case("residual-luong-gru", _encoder("gru", 3, residual=True), GENERAL,
         _decoder("luong", "gru", 3, **LAST, **ATTENTIONAL, residual=True), seed=115),
    Case("residual-conditional-lstm", _encoder("lstm", 2, bidirectional=False, residual=True), ADDITIVE,
         _decoder("conditional", "lstm", 3, **LAST_PROJECTED, **CONCAT, residual=True), seed=352),
    Case("convolutional-dot-gru", _convolutional(3, 3), DOT, _decoder("luong", "gru", **MEAN, **ATTENTIONAL), seed=3),
    Case("convolutional-additive-lstm", _convolutional(2, 5, hidden=5, eos=False), ADDITIVE,
         _decoder("bahdanau", "lstm", **MEAN_PROJECTED, **MAXOUT), seed=80),
    Case("convolutional-general-gru", _convolutional(1, 1), GENERAL, _decoder("conditional", "gru", **ZERO, **TANH), storage="int8", seed=75),
    Case("bahdanau-additive-gru", _encoder("gru"), ADDITIVE, _decoder("bahdanau", "gru", **LAST_PROJECTED, **MAXOUT), seed=84),
    Case("bahdanau-general-lstm", _encoder("lstm", 2), GENERAL, _decoder("bahdanau", "lstm", 2, **LAST, **TANH, residual=True), seed=120),
    Case("bahdanau-dot-rnn", _encoder("rnn"), DOT, _decoder("bahdanau", "rnn", **ZERO, **CONCAT, first_input="zero"), seed=23),
    Case("bahdanau-coverage-values", _encoder("gru"),
         ADDITIVE | {"values": "learned", "value_size": 5, "window": "local_p", "half_width": 3, "coverage": True},
         _decoder("bahdanau", "gru", **MEAN_PROJECTED, **MAXOUT), seed=2340),
    Case("residual-luong-coverage", _encoder("lstm", 2, residual=True), ADDITIVE | {"window": "local_m", "half_width": 2, "coverage": True},
         _decoder("luong", "lstm", 2, **LAST, **ATTENTIONAL, input_feeding=True, residual=True), seed=22),
    Case("fixed-gru", _encoder("gru", bidirectional=False, hidden=8), None, _decoder("fixed", "gru", **LAST, **MAXOUT), seed=2026),
    Case("fixed-lstm", _encoder("lstm", 2), None,
         _decoder("fixed", "lstm", 3, **LAST_PROJECTED, **ATTENTIONAL, residual=True, first_input="zero"), tied=True, seed=180),
    Case("pointer", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **CONCAT), output={"type": "pointer"}, seed=633),
    Case("pointer-generator", _encoder("lstm"), ADDITIVE, _decoder("conditional", "gru", 2, **MEAN_PROJECTED, **TANH, first_input="zero"),
         output={"type": "pointer_generator"}, seed=19),
    Case("pointer-generator-feeding", _encoder("gru"), GENERAL, _decoder("luong", "lstm", **LAST_PROJECTED, **ATTENTIONAL,
                                                                       input_feeding=True), tied=True, output={"type": "pointer_generator"}, seed=46),
    Case("copy", _encoder("gru"), ADDITIVE, _decoder("conditional", "lstm", **MEAN_PROJECTED, **TANH), output={"type": "copy"}, seed=392),
    Case("copy-int8", _encoder("gru", bidirectional=False, eos=False), GENERAL, _decoder("luong", "gru", 2, **ZERO, **ATTENTIONAL), tied=True,
         storage="int8", output={"type": "copy"}, seed=1447),
    Case("copy-words", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL), tokenizer=WORDS,
         output={"type": "copy"}, seed=123),
    Case("copy-residual", _encoder("gru", 2), GENERAL,
         _decoder("bahdanau", "gru", 2, **LAST, **TANH, residual=True), output={"type": "copy"}, seed=66),
    Case("pointer-generator-residual", _convolutional(2, 3), DOT | {"window": "local_m", "half_width": 2},
         _decoder("luong", "lstm", 2, **MEAN, **ATTENTIONAL, input_feeding=True, residual=True), output={"type": "pointer_generator"}, seed=9),
    Case("normalized-gru", _encoder("gru", normalization="layer"), ADDITIVE, _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH), seed=42),
    Case("normalized-lstm", _encoder("lstm", 2, normalization="layer"), GENERAL, _decoder("luong", "lstm", 2, **LAST, **ATTENTIONAL), seed=7),
    Case("normalized-gates-gru", _encoder("gru", 2, normalization="gates", bidirectional=False, hidden=5), ADDITIVE,
         _decoder("conditional", "gru", **LAST_PROJECTED, **TANH), storage="int8", seed=12),
    Case("transitions-gru", _encoder("gru", transitions=2), GENERAL, _decoder("luong", "gru", **LAST, **ATTENTIONAL), seed=100),
    Case("transitions-lstm", _encoder("lstm", 2, transitions=1), ADDITIVE, _decoder("conditional", "lstm", 2, **LAST, **TANH), seed=259),
    Case("transitions-normalized-gru", _encoder("gru", normalization="gates", transitions=2), GENERAL,
         _decoder("luong", "gru", **MEAN_PROJECTED, **CONCAT), seed=32),
    Case("transitions-normalized-lstm", _encoder("lstm", normalization="layer", transitions=2), ADDITIVE,
         _decoder("conditional", "lstm", **LAST, **TANH), seed=185),
    Case("stack-separate-rnn", _encoder("rnn", 2, stack="separate", normalization="layer", transitions=1), GENERAL,
         _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL), seed=155),
    Case("stack-separate-lstm", _encoder("lstm", 3, stack="separate", residual=True), DOT,
         _decoder("luong", "lstm", 3, **LAST, **ATTENTIONAL, residual=True), seed=49),
    Case("stack-alternating-gru", _encoder("gru", 3, stack="alternating"), ADDITIVE, _decoder("conditional", "gru", 3, **LAST, **TANH), seed=58),
    Case("stack-alternating-lstm", _encoder("lstm", 2, stack="alternating", residual=True, normalization="layer", transitions=1), ADDITIVE,
         _decoder("conditional", "lstm", 2, **MEAN_PROJECTED, **TANH, first_input="zero", residual=True), seed=15),
    Case("stack-forward-gru", _encoder("gru", 3, stack="forward", residual=True), DOT,
         _decoder("luong", "gru", hidden=4, **MEAN, **ATTENTIONAL), seed=108),
    Case("stack-forward-lstm", _encoder("lstm", 2, stack="forward", normalization="layer"), None,
         _decoder("fixed", "lstm", **LAST_PROJECTED, **MAXOUT), seed=92),
    Case("embedding-shared", _encoder("gru", embedding_shared=True), ADDITIVE, _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH),
         tied=True, tokenizer={"source": "target.spm"}, storage="float16", seed=36),
    Case("normalized-conditional-gru", _encoder("gru"), ADDITIVE | LAYER,
         _decoder("conditional", "gru", 2, **MEAN_PROJECTED, **TANH, **LAYER, residual=True, upper_transitions=1, first_input="zero"), seed=691),
    Case("normalized-conditional-lstm", _encoder("lstm"), ADDITIVE | LAYER,
         _decoder("conditional", "lstm", 2, **MEAN_PROJECTED, **TANH, **LAYER, residual=True, upper_transitions=2, initial_cell="state"), seed=67),
    Case("normalized-gates", _encoder("gru"), ADDITIVE | GATES,
         _decoder("conditional", "gru", 2, **MEAN_PROJECTED, **TANH, **GATES, residual=True, transitions=1, upper_transitions=1), seed=319),
    Case("normalized-feeding", _encoder("gru"), GENERAL,
         _decoder("luong", "gru", **LAST, **ATTENTIONAL, **LAYER, input_feeding=True), tied=True, seed=784),
    Case("normalized-bahdanau", _encoder("gru"), DOT, _decoder("bahdanau", "gru", **LAST_PROJECTED, **MAXOUT, **GATES, transitions=2), seed=501),
    Case("normalized-fixed", _encoder("lstm"), None, _decoder("fixed", "lstm", **LAST_PROJECTED, **ATTENTIONAL, **LAYER, initial_cell="state"), seed=139),
    Case("normalized-coverage", _encoder("gru"), ADDITIVE | LAYER | {"coverage": True, "values": "learned", "value_size": 5},
         _decoder("conditional", "rnn", **MEAN_PROJECTED, **CONCAT, **LAYER, transitions=1), seed=3616),
    Case("normalized-int8", _encoder("gru"), ADDITIVE | LAYER,
         _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH, **LAYER, transitions=1, first_input="zero"), storage="int8", seed=632),
    Case("transitions-conditional", _encoder("gru"), ADDITIVE, _decoder("conditional", "gru", **MEAN_PROJECTED, **TANH, transitions=2), seed=35),
    Case("transitions-luong-lstm", _encoder("lstm"), GENERAL,
         _decoder("luong", "lstm", 2, **MEAN_PROJECTED, **TANH, transitions=1, upper_transitions=1, initial_cell="state"), seed=46),
    Case("linear-feeding", _encoder("lstm", 2), ADDITIVE, _decoder("luong", "lstm", 2, **LAST, **LINEAR, input_feeding=True), seed=91),
    Case("no-unknowns", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL), tokenizer=WORDS,
         output={"unknowns": False}, seed=73),
    Case("pointer-generator-readout", _encoder("gru", eos=False), GENERAL,
         _decoder("luong", "gru", **LAST, **ATTENTIONAL, input_feeding=True), output={"type": "pointer_generator", "gate": "readout"}, seed=70),
    Case("pointer-of-readout", _encoder("gru"), ADDITIVE, _decoder("conditional", "lstm", **MEAN_PROJECTED, **TANH),
         output={"type": "pointer_generator", "pointer": "readout"}, seed=191),
    Case("pointer-of-readout-feeding", _encoder("lstm", eos=False), GENERAL, _decoder("luong", "lstm", **LAST, **ATTENTIONAL, input_feeding=True),
         output={"type": "pointer_generator", "gate": "readout", "pointer": "readout"}, seed=127),
    Case("pointer-of-readout-int8", _encoder("gru", eos=False), DOT, _decoder("luong", "gru", **MEAN, **CONCAT), storage="int8",
         output={"type": "pointer_generator", "pointer": "readout"}, seed=853),
    Case("alignment-luong-gru", _encoder("gru"), GENERAL, _decoder("luong", "gru", **LAST_PROJECTED, **ATTENTIONAL), tied=True, seed=137,
         alignment={"size": 5}),
    Case("alignment-conditional-lstm", _encoder("lstm", 2, eos=False), ADDITIVE,
         _decoder("conditional", "lstm", 2, **LAST, **TANH, residual=True), storage="float16", alignment={"size": 7}),
    Case("alignment-copy-convolutional", _convolutional(2, 3), DOT, _decoder("luong", "gru", **MEAN, **ATTENTIONAL, input_feeding=True),
         output={"type": "copy"}, storage="int8", alignment={"size": 6}),
)


# The spread of a parameter by the end of its name, for inputs of size 1. The first that matches counts.
GAINS = {"embedding": 2.0, "positions": 1.0, "encoder.input.weight": 0.5, "convolution.weight": 1.5, "weight_state": 1.5, ".weight": 3.5, "weight_input": 3.5,
         "gain_input": 2.0, "gain_state": 1.0, ".gain": 1.5, ".gain.y": 1.5, ".gain.s": 1.5, ".gain.c": 1.5, "": 0.4}


def randomise(model: Model, random: numpy.random.Generator) -> None:
    """Weights large enough that the gates, the attention and the choices move from step to step, with recurrences tame enough that
    rounding errors die away instead of growing. <s> is never chosen, <unk> only where it is a word."""
    tensors = {}
    for name, parameter in model.named_tensors().items():
        shape = tuple(parameter.shape)
        gain = next(gain for ending, gain in GAINS.items() if name.endswith(ending)) / (shape[-1] ** 0.5 if ".weight" in name else 1)
        tensors[name] = (gain * random.standard_normal(shape)).astype(numpy.float32)
    if "output.bias" in tensors:
        tensors["output.bias"][[UNK, BOS]] = -8
        if model.config["tokenizer"]["type"] == "words":
            tensors["output.bias"][UNK] = 3
        tensors["output.bias"][EOS] = random.uniform(0, 6)
    if model.speller:
        tensors["speller.output.bias"][EOS] = 3
    folder.load_tensors(model, tensors)


def _searches_of(model: Model, source: Source) -> tuple[Hypothesis, list[list[Hypothesis]]]:
    words = [source.words]
    return search.greedy(model, [source.ids], words=words)[0], [search.beam(model, [source.ids], *beam, words=words)[0] for beam in BEAMS]


def _margin(greedy: Hypothesis, beams: list[list[Hypothesis]]) -> float:
    """The least gap that any choice or ranking hung on."""
    gaps = [greedy.margin]
    for (_, penalty), hypotheses in zip(BEAMS, beams):
        scores = [h.score(penalty) for h in hypotheses]
        gaps += [hypotheses[0].margin] + [better - worse for better, worse in zip(scores, scores[1:])]
    return min(gaps)


def interesting(model: Model, sources: list[Source]) -> bool:
    """Most sentences end by themselves, after different numbers of tokens, a beam finds something better, and nothing is a near-tie;
    models of words choose <unk> as well; where the output copies, a word is copied that the vocabulary does not have."""
    greedy = [search.greedy(model, [source.ids], words=[source.words])[0] for source in sources]
    lengths = {len(h.tokens) for h in greedy if h.ended}
    if len(lengths) < 3 or sum(h.ended for h in greedy) < 4 or sum(len(h.tokens) > 1 for h in greedy) < 5:
        return False
    if model.config["tokenizer"]["type"] == "words" and model.config["output"]["unknowns"] and sum(UNK in h.tokens for h in greedy) < 2:
        return False
    if model.output.copies and not any(token >= model.decoder.embedding.num_embeddings for h in greedy for token in h.tokens):
        return False
    found = [_searches_of(model, source) for source in sources]
    improved = sum(beams[0][0].tokens != best.tokens for best, beams in found)
    reordered = sum([h.tokens for h in beams[0]] != [h.tokens for h in beams[1]] for _, beams in found)
    return improved > 0 and reordered > 0 and all(_margin(*searches) > MIN_MARGIN for searches in found)


def _log_probs(model: Model, source: Source, target: list[int]) -> list[float]:
    """Of every token of every hypothesis of every search, and of the forced target."""
    greedy, beams = _searches_of(model, source)
    hypotheses = [greedy, search.forced(model, source.ids, target, source.words), *(h for n_best in beams for h in n_best)]
    return [log_prob for hypothesis in hypotheses for log_prob in hypothesis.log_probs]


def steady(model: Model, sources: list[Source], targets: list[list[int]]) -> bool:
    """Rounding errors do not grow from step to step: float64 gives the same log-probabilities up to MAX_ROUNDING, relative above 1."""
    exact = copy.deepcopy(model).double()
    return all(abs(a - b) <= MAX_ROUNDING * max(1, abs(a))
               for source, target in zip(sources, targets, strict=True)
               for a, b in zip(_log_probs(model, source, target), _log_probs(exact, source, target), strict=True))


def rounded(value):
    """Tensors and floats, nested, as lists of floats with nine significant digits: enough to give every float32 back."""
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _states(layers: list[tuple[torch.Tensor, ...]]) -> list:
    return rounded([[part[0] for part in layer] for layer in layers])


def _hypothesis(hypothesis: Hypothesis, **other) -> dict:
    return {"tokens": hypothesis.tokens, "log_probs": rounded(hypothesis.log_probs), "ended": hypothesis.ended, **other}


def _steps(model: Model, state: DecoderState, memory, previous: list[int], distributions: bool) -> list[dict]:
    steps = []
    for i, token in enumerate(previous):
        reads, state = model.look(torch.tensor([token]), i == 0, state, memory)
        log_probs = model.output.log_probs(reads, memory)[0, 0].clamp_min(IMPOSSIBLE)  # JSON has no infinity
        steps.append({"previous": token, "state": _states(state.layers), "attention": rounded(reads.weights[0, 0]),
                      "readout": rounded(reads.readouts[0, 0])} | ({"log_probs": rounded(log_probs)} if distributions else {}))
    return steps


def _alignment(model: Model, memory: Memory, start: DecoderState, target: list[int]) -> dict:
    """What the alignment head says of the target."""
    states = model.teach(torch.tensor([[BOS, *target]]), start, memory).states
    return {"alignment_keys": rounded(memory.alignment_keys[0]),
            "soft_alignment": rounded(model.align(torch.tensor([[*target, EOS]]), states, memory)[0])}


@torch.no_grad()
def golden_values(model: Model, sides: tuple[Tokenizer, Tokenizer], characters: Tokenizer | None, text: str, distributions: bool) -> dict:
    """Everything that golden.json says of one sentence."""
    source = copies.source_of(text, *sides, model.config)
    target = forced_target(model.config, source, sides[1])
    ids, lengths = search.pad([source.ids])
    annotations, finals = model.encoder(ids, lengths)
    memory, start = search.encode(model, [source.ids], [source.words])
    greedy, beams = _searches_of(model, source)
    forced = search.forced(model, source.ids, target, source.words)
    unknowns = search.print_unknowns(model, source.ids, greedy, sides[0].texts(text), characters)
    return {
        "text": text, "source": source.ids, **({"words": source.words} if model.output.copies else {}),
        "annotations": rounded(annotations[0]), "keys": rounded(memory.keys[0]),
        "final": _states(finals), "start": _states(start.layers),
        "steps": _steps(model, start, memory, [BOS] + target[:2], distributions),
        "greedy": _hypothesis(greedy, attention=rounded(greedy.attention),
                              text=copies.decode(greedy.tokens, sides[1], source, unknowns)),
        "beam": [{"beam_size": size, "length_penalty": penalty,
                  "hypotheses": [_hypothesis(h, score=rounded(h.score(penalty))) for h in hypotheses]}
                 for (size, penalty), hypotheses in zip(BEAMS, beams)],
        "forced": _hypothesis(forced, attention=rounded(forced.attention)),
    } | (_alignment(model, memory, start, target) if model.head else {})


def link_vocabularies(case: Path, config: dict, data: Path) -> None:
    """Relative links: a clone finds the vocabularies where it is, and they are stored once."""
    case.mkdir(parents=True, exist_ok=True)
    section = config["tokenizer"]
    links = dict(zip((section["source"], section["target"]), VOCABULARIES[section["type"]]))
    if config["output"]["type"] == "characters":
        links[tokenizer.CHARACTERS] = VOCABULARIES["characters"][1]
    for name, vocabulary in links.items():
        (case / name).unlink(missing_ok=True)
        (case / name).symlink_to(os.path.relpath(data / vocabulary, case))


def forced_target(config: dict, source: Source, target: Tokenizer) -> list[int]:
    """A target that the output can produce, with temporary ids for one that copies."""
    copied = [word for word in reversed(source.words) if word != EOS] * 3
    return copied[:5] if config["output"]["type"] == "pointer" else copied[:3] + target.encode(TARGET)


def write_model(case: Case, out: Path, sides: tuple[Tokenizer, Tokenizer]) -> tuple[Model, int]:
    """Writes the model of the first seed that is interesting and steady; -> that model as it comes back from its file, the seed."""
    sources = [copies.source_of(text, *sides, case.config) for text in SENTENCES]
    targets = [forced_target(case.config, source, sides[1]) for source in sources]
    for seed in count(case.seed):
        model = Model(case.config, **tokenizer.vocabulary_sizes(out, case.config))
        randomise(model, numpy.random.default_rng(seed))
        folder.write(out, model, case.storage, {"seed": str(seed)})
        model, _, _ = folder.read(out)
        if interesting(model, sources) and steady(model, sources, targets):
            return model, seed
    raise AssertionError("unreachable: count() does not end")


def write_case(case: Case, out: Path, data: Path) -> int:
    """Writes the model folder with golden.json; -> the seed that was taken."""
    link_vocabularies(out, case.config, data)
    sides = load(out, case.config["tokenizer"])
    model, seed = write_model(case, out, sides)
    characters = tokenizer.load_characters(out, case.config)
    values = [golden_values(model, sides, characters, text, i < DISTRIBUTIONS) for i, text in enumerate(SENTENCES)]
    lines = ",\n".join(json.dumps(value, separators=(",", ":"), ensure_ascii=False) for value in values)
    (out / "golden.json").write_text(f'{{"sentences":[\n{lines}\n]}}\n', encoding="utf-8")
    return seed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder that gets one folder a case")
    parser.add_argument("--data", type=Path, default=Path("tests/data"), help="folder of the tiny vocabularies")
    parser.add_argument("--case", choices=[case.name for case in CASES], action="append", help="only this case (repeatable)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for case in CASES:
        if arguments.case is None or case.name in arguments.case:
            seed = write_case(case, arguments.out / case.name, arguments.data)
            print(f"{case.name}: seed {seed}", flush=True)


if __name__ == "__main__":
    main()
