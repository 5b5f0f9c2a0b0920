"""Marian's transformers (type transformer): tensors and options -> those of a model folder.

In the file matrices are [in, out], and vectors [1, n]; ours are [out, in], and [n]. A block's norm has the name of its last matrix: that of attention is
`..._Wo_ln_scale`, also in models without such a matrix, that of the feed-forward `..._ffn_ffn_ln_scale`; `_pre` stands behind those before a block.
"""

from __future__ import annotations

import numpy

from .converted import Part, constant, transposed, zeros
from .marian_options import AVERAGE, RNN, SELF_ATTENTION, TIED_LAYERS, shares, ties
from .marian_tensors import Tensors

MIXERS = {SELF_ATTENTION: "self_attention", RNN: "ssru", AVERAGE: "average"}


class Converter:
    """Fills `made` with the tensors of the model folder."""

    def __init__(self, tensors: Tensors, options: dict[str, str]) -> None:
        self.tensors, self.options = tensors, options
        self.size, self.before = int(options["dim-emb"]), options["norm"] == "pre"
        self.filters = int(options["transformer-dim-ffn"]), int(options["transformer-decoder-dim-ffn"]) or int(options["transformer-dim-ffn"])
        self.made: dict[str, Part] = {}

    def on(self, name: str) -> bool:
        return self.options[name] == "true"

    def _dense(self, weight: str, bias: str, ours: str, inputs: int, outputs: int) -> None:
        self.made[f"{ours}.weight"] = self.tensors.weight(weight, inputs, outputs)
        self.made[f"{ours}.bias"] = self.tensors.vector(bias, outputs)

    def _norm(self, theirs: str, ours: str) -> None:
        for name, end in (("gain", "scale"), ("shift", "bias")):
            self.made[f"{ours}.norm.{name}"] = self.tensors.vector(f"{theirs}_ln_{end}" + "_pre" * (self.before and not theirs.endswith("_top")), self.size)

    def _heads(self, theirs: str, ours: str) -> None:
        for letter, name in (("q", "query"), ("k", "key"), ("v", "value")):
            self._dense(f"{theirs}_W{letter}", f"{theirs}_b{letter}", f"{ours}.{name}", self.size, self.size)
        if self.on("transformer-no-projection"):
            self.made |= {f"{ours}.output.weight": constant(numpy.eye(self.size, dtype=numpy.float32)), f"{ours}.output.bias": zeros(self.size)}
        else:
            self._dense(f"{theirs}_Wo", f"{theirs}_bo", f"{ours}.output", self.size, self.size)
        self._norm(f"{theirs}_Wo", ours)

    def _filter(self, theirs: str, ours: str, middle: int) -> None:
        self._dense(f"{theirs}_W1", f"{theirs}_b1", f"{ours}.input", self.size, middle)
        self._dense(f"{theirs}_W2", f"{theirs}_b2", f"{ours}.output", middle, self.size)
        self._norm(f"{theirs}_ffn", ours)

    # ---- the mixers ----

    def _self_attention(self, theirs: str, ours: str) -> None:
        self._heads(f"{theirs}_self", f"{ours}.self")

    def _ssru(self, theirs: str, ours: str) -> None:
        self.made[f"{ours}.ssru.candidate.weight"] = self.tensors.weight(f"{theirs}_rnn_W", self.size, self.size)
        self._dense(f"{theirs}_rnn_Wf", f"{theirs}_rnn_bf", f"{ours}.ssru.forget", self.size, self.size)
        self._norm(f"{theirs}_rnn" if self.before else f"{theirs}_rnn_ffn", f"{ours}.ssru")

    def _average(self, theirs: str, ours: str) -> None:
        middle = self.average_filter
        if middle:
            self._dense(f"{theirs}_aan_W1", f"{theirs}_aan_b1", f"{ours}.average.input", self.size, middle)
        if middle not in (0, self.size):
            self._dense(f"{theirs}_aan_W2", f"{theirs}_aan_b2", f"{ours}.average.output", middle, self.size)
        if not self.on("transformer-aan-nogate"):
            self._dense(f"{theirs}_aan_Wi", f"{theirs}_aan_bi", f"{ours}.average.gate.input", self.size, self.size)
            self._dense(f"{theirs}_aan_Wf", f"{theirs}_aan_bf", f"{ours}.average.gate.output", self.size, self.size)
        self._norm(f"{theirs}_aan_ffn", f"{ours}.average")

    @property
    def average_filter(self) -> int:
        return int(self.options["transformer-dim-aan"]) if self.options["transformer-aan-depth"] == "2" else 0

    MIX = {SELF_ATTENTION: _self_attention, RNN: _ssru, AVERAGE: _average}

    # ---- the stacks ----

    def encoder(self) -> None:
        for i in range(1, int(self.options["enc-depth"]) + 1):
            theirs, ours = f"encoder_l{i}", f"encoder.layers.{i - 1}"
            self._heads(f"{theirs}_self", f"{ours}.self")
            self._filter(f"{theirs}_ffn", f"{ours}.filter", self.filters[0])
        if self.before:
            self._norm("encoder_top", "encoder")

    def decoder(self) -> None:
        for i, number in enumerate(self.options[TIED_LAYERS].split()):
            theirs, ours = f"decoder_l{number}", f"decoder.layers.{i}"
            self.MIX[self.options["transformer-decoder-autoreg"]](self, theirs, ours)
            self._heads(f"{theirs}_context", f"{ours}.cross")
            self._filter(f"{theirs}_ffn", f"{ours}.filter", self.filters[1])
        if self.before:
            self._norm("decoder_top", "decoder")

    def embeddings(self) -> tuple[int, int]:
        """-> the sizes of the source's and the target's vocabulary."""
        one = shares(self.options)
        source, target = ("Wemb",) * 2 if one else ("encoder_Wemb", "decoder_Wemb")
        sizes = self.tensors.shape(source)[0], self.tensors.shape(target)[0]
        if not one:
            self.made["encoder.embedding"] = self.tensors.table(source, sizes[0], self.size, False)
        self.made["decoder.embedding"] = self.tensors.table(target, sizes[1], self.size, ties(self.options))
        return sizes

    def output(self, vocabulary: int) -> None:
        theirs = "decoder_ff_logit_out_"
        self.made["output.bias"] = zeros(vocabulary) if self.on("output-omit-bias") else self.tensors.vector(theirs + "b", vocabulary)
        if ties(self.options):
            return
        if self.tensors.has(theirs + "W"):  # older models
            self.made["output.weight"] = self.tensors.weight(theirs + "W", self.size, vocabulary)
        else:
            self.made["output.weight"] = self.tensors.untransposed(theirs + "Wt", vocabulary, self.size)

    def convert(self) -> tuple[int, int]:
        """-> the sizes of the vocabularies."""
        if self.tensors.has("Wpos"):
            self.tensors.refuse("Wpos", "learned positions are not supported: Marian reads the first of them in every step of a translation")
        self.encoder()
        self.decoder()
        sizes = self.embeddings()
        self.output(sizes[1])
        return sizes

    def _stack(self, layers: str, filter: int) -> dict:
        return {"layers": int(self.options[layers]), "embedding": self.size, "hidden": self.size, "heads": int(self.options["transformer-heads"]),
                "filter": filter, "activation": self.options["transformer-ffn-activation"], "norm": self.options["norm"],
                "positions": "sinusoidal", "embedding_scale": True}

    def config(self) -> dict:
        """The sections of config.json that the model determines."""
        mixer, layer = MIXERS[self.options["transformer-decoder-autoreg"]], self.options["transformer-guided-alignment-layer"]
        average = {"average_filter": self.average_filter, "average_activation": self.options["transformer-aan-activation"],
                   "average_gate": not self.on("transformer-aan-nogate")} if mixer == "average" else {}
        encoder = {"type": "transformer", **self._stack("enc-depth", self.filters[0]), "embedding_shared": shares(self.options)}
        decoder = {"style": "transformer", **self._stack("dec-depth", self.filters[1]), "first_input": "zero", "mixer": mixer, **average,
                   "alignment_layer": 0 if layer == "last" else int(layer), "alignment_head": 0}
        return {"encoder": encoder, "decoder": decoder, "attention": None, "output": {"tied": ties(self.options)}}
