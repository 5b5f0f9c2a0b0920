"""The recurrent models of Marian (type s2s) and Nematus (types nematus and amun): tensors and options -> those of a model folder.

In the file matrices are [in, out]; ours are [out, in]. GRU: gates r, z in W, U, b, the candidate in Wx, Ux, bx. Its bias stands beside
r * (h Ux) in cells that are not `final`, inside it in those that are: the decoder's first layer from its second cell on. LSTM: blocks f, i, c, o.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy
from numpy import ndarray

from .converted import Part, changed, joined, transposed, zeros
from .marian_options import shares, ties
from .marian_tensors import Tensors

# ---- names ----

_GATES = (("W", "W"), ("U", "U"), ("b", "b"), ("Wx", "Wx"), ("Ux", "Ux"), ("bx", "bx"))
_SECOND = (("Wc", "W"), ("U_nl", "U"), ("b_nl", "b"), ("Wcx", "Wx"), ("Ux_nl", "Ux"), ("bx_nl", "bx"))


def _cell_names(theirs: str, ours: str, letters: tuple[tuple[str, str], ...], suffix: str = "") -> dict[str, str]:
    """One cell: its tensors, and the gains and shifts (_lns, _lnb) of their norms."""
    return {f"{theirs}{old}{suffix}{norm}": f"{ours}{new}{norm}" for old, new in letters for norm in ("", "_lns", "_lnb")}


def nematus_names(options: dict[str, str]) -> dict[str, str]:
    """Nematus's names, which types amun and nematus keep in their files -> those of type s2s."""
    names = {"Wemb_dec": "decoder_Wemb", "ff_logit_W": "decoder_ff_logit_l2_W", "ff_logit_b": "decoder_ff_logit_l2_b"}
    if not shares(options):
        names["Wemb"] = "encoder_Wemb"
    for theirs, ours in (("encoder_", "encoder_bi_"), ("encoder_r_", "encoder_bi_r_"), ("decoder_", "decoder_cell1_")):
        names |= _cell_names(theirs, ours, _GATES)
    names |= _cell_names("decoder_", "decoder_cell2_", _SECOND)
    state = tuple((letter, letter) for letter in ("U", "Ux", "b", "bx"))
    for i in range(1, int(options["enc-cell-depth"])):
        for side in ("", "r_"):
            names |= _cell_names(f"encoder_{side}", f"encoder_bi_{side}cell{i + 1}_", state, f"_drt_{i}")
    for i in range(3, int(options["dec-cell-base-depth"]) + 1):
        names |= _cell_names("decoder_", f"decoder_cell{i}_", state, f"_nl_drt_{i - 2}")
    for end in ("W", "b", "ln_s", "ln_b", "gamma"):
        names[f"ff_state_{end}"] = f"decoder_ff_state_{end}"
    for i, part in enumerate(("prev", "lstm", "ctx")):
        names |= {f"ff_logit_{part}_{end}": f"decoder_ff_logit_l1_{end}{i}" for end in ("W", "b", "ln_s", "ln_b")}
        names[f"ff_logit_l1_gamma{i}"] = f"decoder_ff_logit_l1_gamma{i}"
    for side in ("", "r_"):
        names |= {f"encoder_{side}gamma{i}": f"encoder_bi_{side}gamma{i}" for i in (1, 2)}
    return names


# ---- cells ----

class Cell(NamedTuple):
    """ours: its name here. parts: the endings of its tensors, with the gates of each. order: where each of our gates is among theirs.
    candidate: the gates whose bias is inside r * (U h) in a final cell, the last ones."""

    ours: str
    parts: tuple[tuple[str, int], ...]
    order: tuple[int, ...]
    candidate: int

    @property
    def gates(self) -> int:
        return len(self.order)

    def reordered(self, x: ndarray) -> ndarray:
        """Gates side by side along the last axis."""
        blocks = x.reshape(*x.shape[:-1], self.gates, -1)
        return blocks[..., self.order, :].reshape(x.shape)


_GRU = Cell("gru", (("", 2), ("x", 1)), (0, 1, 2), 1)
CELLS = {"gru": _GRU, "gru-nematus": _GRU, "lstm": Cell("lstm", (("", 4),), (1, 0, 2, 3), 0), "tanh": Cell("rnn", (("", 1),), (0,), 0)}


class Place(NamedTuple):
    """One cell. inputs: what it reads; 0: nothing, it is a transition."""

    theirs: str
    ours: str
    inputs: int
    final: bool = False


class Converter:
    """Fills `made` with the tensors of the model folder."""

    def __init__(self, tensors: Tensors, options: dict[str, str]) -> None:
        self.tensors, self.options = tensors, options
        self.embedding, self.hidden = int(options["dim-emb"]), int(options["dim-rnn"])
        normal = options["layer-normalization"] == "true"
        self.norm = "none" if not normal else "gates" if options["type"] == "nematus" else "layer"
        self.made: dict[str, Part] = {}

    def _weight(self, cell: Cell, theirs: str, letter: str, inputs: int) -> Part:
        parts = [self.tensors.matrix(f"{theirs}{letter}{end}", inputs, gates * self.hidden) for end, gates in cell.parts]
        return transposed(changed(joined(parts), cell.reordered))

    def _vector(self, cell: Cell, theirs: str, letter: str, norm: str = "") -> Part:
        parts = [self.tensors.vector(f"{theirs}{letter}{end}{norm}", gates * self.hidden) for end, gates in cell.parts]
        return changed(joined(parts), cell.reordered)

    def _biases(self, cell: Cell, place: Place) -> tuple[Part, Part]:
        """What is added beside, and within, what r multiplies."""
        bias, candidate = self._vector(cell, place.theirs, "b"), (cell.gates - cell.candidate) * self.hidden
        if not place.final:
            return bias, zeros(bias.shape[0])
        inside = numpy.arange(bias.shape[0]) >= candidate
        return changed(bias, lambda x: numpy.where(inside, 0, x)), changed(bias, lambda x: numpy.where(inside, x, 0))

    def _unnormalised(self, cell: Cell, place: Place) -> dict[str, Part]:
        beside, within = self._biases(cell, place)
        return {"bias_input": beside, "bias_state": within}

    def _normalised(self, cell: Cell, place: Place) -> dict[str, Part]:
        """Marian's: the products alone are normalised, without a shift; the biases are added afterwards."""
        size, (beside, within) = cell.gates * self.hidden, self._biases(cell, place)

        def gain(number: int) -> Part:
            return changed(self.tensors.vector(f"{place.theirs}gamma{number}", size), cell.reordered)

        state = {"bias_state": zeros(size), "gain_state": gain(2), "shift_state": within}
        if not place.inputs:
            return state | {"bias_input": beside}
        return state | {"bias_input": zeros(size), "gain_input": gain(1), "shift_input": beside}

    def _normalised_apart(self, cell: Cell, place: Place) -> dict[str, Part]:
        """Nematus's: the bias is in the input's norm or, of a final cell, in the state's; the encoder's transitions have it outside."""
        bias, none = self._vector(cell, place.theirs, "b"), zeros(cell.gates * self.hidden)
        made = {"bias_input": none, "bias_state": bias} if place.final else {"bias_input": bias, "bias_state": none}
        for letter, what in (("W", "input"), ("U", "state")) if place.inputs else (("U", "state"),):
            made |= {f"{name}_{what}": self._vector(cell, place.theirs, letter, end) for name, end in (("gain", "_lns"), ("shift", "_lnb"))}
        return made

    BIASES = {"none": _unnormalised, "layer": _normalised, "gates": _normalised_apart}

    def cell(self, kind: str, place: Place) -> None:
        cell = CELLS[kind]
        made = {"weight_state": self._weight(cell, place.theirs, "U", self.hidden)}
        if place.inputs:
            made["weight_input"] = self._weight(cell, place.theirs, "W", place.inputs)
        made |= self.BIASES[self.norm](self, cell, place)
        self.made |= {place.ours + name: part for name, part in made.items()}

    def cells(self, kind: str, theirs: list[str], ours: str, inputs: int, final: bool = False) -> None:
        """A layer's, the first of which reads; the others are its transitions."""
        self.cell(kind, Place(theirs[0], ours, inputs, final))
        for i, name in enumerate(theirs[1:]):
            self.cell(kind, Place(name, f"{ours}transitions.{i}.", 0, final))

    # ---- the encoder ----

    def _depth(self, name: str) -> int:
        return int(self.options[name])

    def encoder(self) -> None:
        """Two stacks, each of which reads itself; with bi-unidirectional, one above the first layer, which reads both directions of it."""
        kind, together = self.options["enc-cell"], self.options["enc-type"] == "bi-unidirectional"
        for i in range(1, self._depth("enc-depth") + 1):
            numbers = range(1, self._depth("enc-cell-depth") + 1)
            if together and i > 1:
                self.cells(kind, [f"encoder_l{i}_cell{j}_" for j in numbers], f"encoder.layers.{i - 1}.forward.",
                           self.hidden * (2 if i == 2 else 1))
                continue
            for stack, direction in (("encoder_bi_", "forward"), ("encoder_bi_r_", "backward")):
                names = [stack + (f"l{i}_" if i > 1 else "") + (f"cell{j}_" if i > 1 or j > 1 else "") for j in numbers]
                self.cells(kind, names, f"encoder.layers.{i - 1}.{direction}.", self.hidden if i > 1 else self.embedding)

    @property
    def stack(self) -> str:
        stacks = {"bidirectional": "separate", "alternating": "alternating", "bi-unidirectional": "forward"}
        return stacks[self.options["enc-type"]] if self._depth("enc-depth") > 1 else "joined"

    @property
    def annotation(self) -> int:
        return self.hidden * (1 if self.stack == "forward" else 2)

    # ---- the decoder ----

    def decoder(self) -> None:
        kind = self.options["dec-cell"]
        self.cell(kind, Place("decoder_cell1_", "decoder.layers.0.", self.embedding))
        later = [f"decoder_cell{j}_" for j in range(2, self._depth("dec-cell-base-depth") + 1)]
        self.cells(kind, later, "decoder.conditional.", self.annotation, final=True)
        for i in range(2, self._depth("dec-depth") + 1):
            names = [f"decoder_l{i}_cell{j}_" for j in range(1, self._depth("dec-cell-high-depth") + 1)]
            self.cells(kind, names, f"decoder.layers.{i - 1}.", self.hidden)

    def _dense(self, theirs: str, number: str, size: int) -> tuple[Part, dict[str, Part]]:
        """The bias of a product, and the gain and shift of its norm."""
        bias = self.tensors.vector(f"{theirs}b{number}", size)
        if self.norm == "none":
            return bias, {}
        if self.norm == "layer":
            return zeros(size), {"gain": self.tensors.vector(f"{theirs}gamma{number}", size), "shift": bias}
        return bias, {end: self.tensors.vector(f"{theirs}{name}{number}", size) for end, name in (("gain", "ln_s"), ("shift", "ln_b"))}

    def start(self) -> None:
        """One projection, which every layer starts from."""
        weight = transposed(self.tensors.matrix("decoder_ff_state_W", self.annotation, self.hidden))
        bias, norm = self._dense("decoder_ff_state_", "", self.hidden)
        for i in range(self._depth("dec-depth")):
            self.made |= {f"decoder.initial.{i}.{name}": part for name, part in ({"weight": weight, "bias": bias} | norm).items()}

    def attention(self) -> int:
        """-> its size."""
        size = self.tensors.shape("decoder_U_att")[0]
        key, query = {}, {}
        if self.norm == "layer":
            key = {"gain": self.tensors.vector("decoder_att_gamma1", size), "shift": self.tensors.vector("decoder_b_att", size)}
            query = {"gain": self.tensors.vector("decoder_att_gamma2", size), "shift": zeros(size)}
        elif self.norm == "gates":
            key, query = ({"gain": self.tensors.vector(f"decoder_{name}_lns", size), "shift": self.tensors.vector(f"decoder_{name}_lnb", size)}
                          for name in ("Wc_att", "W_comb_att"))
        key["bias"] = zeros(size) if self.norm == "layer" else self.tensors.vector("decoder_b_att", size)
        key["weight"] = transposed(self.tensors.matrix("decoder_Wc_att", self.annotation, size))
        query["weight"] = transposed(self.tensors.matrix("decoder_W_comb_att", self.hidden, size))
        self.made |= {f"attention.key.{name}": part for name, part in key.items()}
        self.made |= {f"attention.query.{name}": part for name, part in query.items()}
        self.made["attention.energy"] = self.tensors.vector("decoder_U_att", size)
        return size

    def readout(self) -> None:
        """tanh of the sum of three products, of y, s and c. Where they have no norms, one bias serves."""
        theirs, size = "decoder_ff_logit_l1_", self.embedding
        inputs = (self.embedding, self.hidden, self.annotation)
        self.made["readout.weight"] = transposed(joined([self.tensors.matrix(f"{theirs}W{i}", n, size) for i, n in enumerate(inputs)], axis=0))
        dense = [self._dense(theirs, str(i), size) for i in range(3)]
        if self.norm == "none":
            self.made["readout.bias"] = Part((size,), lambda: sum(bias.make() for bias, _ in dense))
            return
        for part, (bias, norm) in zip("ysc", dense):
            self.made |= {f"readout.bias.{part}": bias} | {f"readout.{name}.{part}": tensor for name, tensor in norm.items()}

    # ---- words ----

    def embeddings(self) -> tuple[int, int]:
        """-> the sizes of the source's and the target's vocabulary."""
        source, target = ("Wemb",) * 2 if shares(self.options) else ("encoder_Wemb", "decoder_Wemb")
        sizes = self.tensors.shape(source)[0], self.tensors.shape(target)[0]
        if not shares(self.options):
            self.made["encoder.embedding"] = self.tensors.matrix(source, sizes[0], self.embedding)
        self.made["decoder.embedding"] = self.tensors.matrix(target, sizes[1], self.embedding)
        return sizes

    def output(self, vocabulary: int) -> None:
        theirs = "decoder_ff_logit_l2_"
        self.made["output.bias"] = self.tensors.vector(theirs + "b", vocabulary)
        if ties(self.options):
            return
        older = self.tensors.has(theirs + "W")
        self.made["output.weight"] = (transposed(self.tensors.matrix(theirs + "W", self.embedding, vocabulary)) if older
                                      else self.tensors.matrix(theirs + "Wt", vocabulary, self.embedding))

    def convert(self) -> tuple[int, tuple[int, int]]:
        """-> the size of the attention, those of the vocabularies."""
        self.encoder()
        self.decoder()
        self.start()
        attention = self.attention()
        self.readout()
        sizes = self.embeddings()
        self.output(sizes[1])
        return attention, sizes

    def config(self, attention: int) -> dict:
        """The sections of config.json that the model determines."""
        depths, skips = (self._depth("enc-depth"), self._depth("dec-depth")), self.options["skip"] == "true"
        # with bi-unidirectional the second layer reads another size than it puts out, and skips nothing
        first = 2 if self.stack == "forward" else 1
        encoder = {"cell": CELLS[self.options["enc-cell"]].ours, "layers": depths[0], "embedding": self.embedding, "hidden": self.hidden,
                   "stack": self.stack, "residual": skips and depths[0] > first, "normalization": self.norm,
                   "transitions": self._depth("enc-cell-depth") - 1, "embedding_shared": shares(self.options)}
        decoder = {"style": "conditional", "cell": CELLS[self.options["dec-cell"]].ours, "layers": depths[1], "embedding": self.embedding,
                   "hidden": self.hidden, "initial_state": "mean", "initial_projection": True, "readout": "tanh", "readout_size": self.embedding,
                   "first_input": "zero", "residual": skips and depths[1] > 1, "normalization": self.norm,
                   "transitions": self._depth("dec-cell-base-depth") - 2,
                   "upper_transitions": self._depth("dec-cell-high-depth") - 1 if depths[1] > 1 else 0,
                   "initial_cell": "state" if self.options["dec-cell"] == "lstm" else "zero"}
        return {"encoder": encoder, "decoder": decoder, "attention": {"score": "additive", "size": attention, "normalization": self.norm},
                "output": {"tied": ties(self.options)}}
