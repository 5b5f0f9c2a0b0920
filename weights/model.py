"""The model family in PyTorch: encoder, attention, decoder, output, each chosen by name from a table.

Letters: B sentences, T source tokens, S target tokens, E embedding, H hidden, D annotation, A attention, C context, O readout, V vocabulary.
A new cell is a row of CELLS, a new score a row of SCORES, a new window a row of WINDOWS, a new decoder a row of STYLES, a new readout a
row of READOUTS; the name is the one in config.json and the C server has a row of the same name. Parameter names and shapes in
model.safetensors are those of `named_tensors`; formulas are PyTorch's (GRU gates r,z,n with the reset gate applied after the product;
LSTM gates i,f,g,o).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Callable, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .config import annotation_size, context_size, positions, readout_size

State = tuple[Tensor, ...]  # (h,) or (h, c), each [B, H]


class Cell(NamedTuple):
    """One recurrent cell: PyTorch's module, one step with the module's weights, the number of gates and of state tensors."""

    module: Callable[..., nn.RNNBase]
    step: Callable[..., State]
    states: int


def _gru_step(x: Tensor, state: State, weights: list[Tensor]) -> State:
    return (torch.gru_cell(x, state[0], *weights),)


def _lstm_step(x: Tensor, state: State, weights: list[Tensor]) -> State:
    return torch.lstm_cell(x, state, *weights)


CELLS: dict[str, Cell] = {
    "gru": Cell(nn.GRU, _gru_step, 1),
    "lstm": Cell(nn.LSTM, _lstm_step, 2),
}


class Recurrent(nn.Module):
    """One layer of a cell, over whole sequences or one step at a time, with the same weights."""

    def __init__(self, cell: str, inputs: int, hidden: int, bidirectional: bool = False) -> None:
        super().__init__()
        self.cell = CELLS[cell]
        self.rnn = self.cell.module(inputs, hidden, batch_first=True, bidirectional=bidirectional)

    def step(self, x: Tensor, state: State) -> State:
        """x [B, in] -> next state, [B, H] each."""
        return self.cell.step(x, state, self.rnn._flat_weights[:4])

    def sequence(self, x: Tensor, state: State) -> Tensor:
        """x [B, S, in] -> h [B, S, H], all steps."""
        first = tuple(part[None].contiguous() for part in state)
        return self.rnn(x, first if self.cell.states == 2 else first[0])[0]

    def packed(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
        """x [B, T, in], each sentence to its own length -> h [B, T, D] (zero past the end), final state [B, D] each."""
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, final = self.rnn(packed)
        h, _ = pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
        final = final if isinstance(final, tuple) else (final,)
        return h, tuple(torch.cat(tuple(part), dim=-1) for part in final)

    def named_tensors(self, prefix: str, directions: tuple[str, ...] = ("",)) -> dict[str, Tensor]:
        names = ("weight_input", "weight_state", "bias_input", "bias_state")
        tensors = iter(self.rnn._flat_weights)
        return {f"{prefix}{direction}{name}": next(tensors) for direction in directions for name in names}


class Encoder(nn.Module):
    """ids [B, T] -> annotations [B, T, D] and each layer's final state. Bidirectional: h_j = [forward; backward]."""

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__()
        encoder = config["encoder"]
        self.embedding = nn.Embedding(vocabulary, encoder["embedding"])
        size = annotation_size(config)
        self.layers = nn.ModuleList(
            Recurrent(encoder["cell"], encoder["embedding"] if i == 0 else size, encoder["hidden"], encoder["bidirectional"])
            for i in range(encoder["layers"]))
        self.directions = ("forward.", "backward.") if encoder["bidirectional"] else ("forward.",)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, list[State]]:
        h = self.embedding(ids)
        finals = []
        for layer in self.layers:
            h, final = layer.packed(self.dropout(h), lengths)
            finals.append(final)
        return h, finals

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = {"encoder.embedding": self.embedding.weight}
        for i, layer in enumerate(self.layers):
            tensors |= layer.named_tensors(f"encoder.layers.{i}.", self.directions)
        return tensors


class Dot(nn.Module):
    """e_ij = s_i . h_j (Luong et al. 2015). With learned keys h_j is W h_j, which is the general score under another name."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        learned = config["attention"]["keys"] == "learned"
        self.key = nn.Linear(annotation_size(config), config["decoder"]["hidden"], bias=False) if learned else None

    def keys(self, annotations: Tensor) -> Tensor:
        return annotations if self.key is None else self.key(annotations)

    def score(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        """query [B, S, H], keys [B, T, A], coverage [B, T] (additive alone reads it, and then S is 1) -> e [B, S, T]."""
        return query @ keys.transpose(1, 2)

    def named_tensors(self) -> dict[str, Tensor]:
        return {} if self.key is None else {"attention.key.weight": self.key.weight}


class ScaledDot(Dot):
    """e_ij = g s_i . k_j with g = 1 / sqrt(A) (Vaswani et al. 2017), or learned from there on (as in tf/nmt)."""

    def __init__(self, config: dict) -> None:
        super().__init__(config)
        scale = config["decoder"]["hidden"] ** -0.5
        self.learned = config["attention"]["scale"] == "learned"
        self.scale = nn.Parameter(torch.tensor([scale])) if self.learned else scale

    def score(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        return self.scale * super().score(query, keys, coverage)

    def named_tensors(self) -> dict[str, Tensor]:
        return super().named_tensors() | ({"attention.factor": self.scale} if self.learned else {})


class General(Dot):
    """e_ij = s_i^T W h_j (Luong et al. 2015); keys hold W h_j."""

    def __init__(self, config: dict) -> None:
        super().__init__(config)
        self.key = nn.Linear(annotation_size(config), config["decoder"]["hidden"], bias=False)


class Additive(nn.Module):
    """e_ij = v . tanh(W s_i + U h_j + b) (Bahdanau et al. 2015, A.1.2); keys hold U h_j + b. With coverage, w cov_j enters the tanh, too,
    cov_j being all the attention that j got before (Tu et al. 2016; See et al. 2017)."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        size = config["attention"]["size"]
        self.key = nn.Linear(annotation_size(config), size)
        self.query = nn.Linear(config["decoder"]["hidden"], size, bias=False)
        self.energy = nn.Parameter(torch.empty(size))
        nn.init.uniform_(self.energy, -size**-0.5, size**-0.5)
        self.coverage = nn.Parameter(torch.zeros(size)) if config["attention"]["coverage"] else None

    def keys(self, annotations: Tensor) -> Tensor:
        return self.key(annotations)

    def score(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        if coverage is not None:
            keys = keys + coverage[..., None] * self.coverage
        return torch.tanh(self.query(query)[:, :, None] + keys[:, None]) @ self.energy

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = {"attention.key.weight": self.key.weight, "attention.key.bias": self.key.bias,
                   "attention.query.weight": self.query.weight, "attention.energy": self.energy}
        return tensors if self.coverage is None else tensors | {"attention.coverage": self.coverage}


class Location(nn.Module):
    """e_ij = (W s_i)_j (Luong et al. 2015): what the annotations hold is not asked; keys are empty."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        self.query = nn.Linear(config["decoder"]["hidden"], positions(config), bias=False)

    def keys(self, annotations: Tensor) -> Tensor:
        return annotations[..., :0]

    def score(self, query: Tensor, keys: Tensor, coverage: Tensor | None) -> Tensor:
        e = self.query(query)[..., :keys.shape[1]]
        return nn.functional.pad(e, (0, keys.shape[1] - e.shape[-1]))  # beyond its reach: never attended

    def named_tensors(self) -> dict[str, Tensor]:
        return {"attention.query.weight": self.query.weight}


SCORES: dict[str, type[nn.Module]] = {
    "dot": Dot,
    "general": General,
    "additive": Additive,
    "scaled_dot": ScaledDot,
    "location": Location,
}


class Everywhere(nn.Module):
    """All tokens of the sentence, or the last `source_depth` of them (Hagan's tapped delay line)."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        self.depth = config["attention"]["source_depth"]

    def forward(self, query: Tensor, lengths: Tensor, tokens: Tensor, step: int) -> tuple[Tensor, Tensor | None]:
        """query [B, S, H], the first of step number `step`; lengths [B], tokens [T] (0, 1, ...) -> which are looked at [B, 1 or S, T],
        and what is added to their scores, of the same shape."""
        first = lengths - self.depth if self.depth else torch.zeros_like(lengths)
        return ((tokens >= first[:, None]) & (tokens < lengths[:, None]))[:, None], None

    def named_tensors(self) -> dict[str, Tensor]:
        return {}


class Monotonic(Everywhere):
    """Tokens within half_width of p_t = t, or of the last token once t is past it (Luong et al. 2015, section 3.2)."""

    def __init__(self, config: dict) -> None:
        super().__init__(config)
        self.half_width = config["attention"]["half_width"]

    def centre(self, query: Tensor, lengths: Tensor, step: int) -> Tensor:
        """-> p_t [B, S]."""
        steps = torch.arange(step, step + query.shape[1], device=query.device)
        return torch.minimum(steps[None], lengths[:, None] - 1)

    def forward(self, query: Tensor, lengths: Tensor, tokens: Tensor, step: int) -> tuple[Tensor, Tensor | None]:
        whole, _ = super().forward(query, lengths, tokens, step)
        distance = tokens - self.centre(query, lengths, step)[..., None]
        return whole & (distance.abs() <= self.half_width), self.lean(distance)

    def lean(self, distance: Tensor) -> Tensor | None:
        return None


class Predictive(Monotonic):
    """p_t = T sigmoid(v . tanh(W s_t)), and a Gaussian around it of sigma = half_width / 2 (Luong et al. 2015, section 3.2). It multiplies
    the weights, which then sum to 1 again: that is, its logarithm is added to the scores. (In the paper they are not normalised again,
    which shrinks the context by the Gaussian's mean: an attention that is a distribution serves readers, coverage and copying better.)"""

    def __init__(self, config: dict) -> None:
        super().__init__(config)
        hidden = config["decoder"]["hidden"]
        self.position = nn.Linear(hidden, hidden, bias=False)
        self.energy = nn.Parameter(torch.empty(hidden))
        nn.init.uniform_(self.energy, -hidden**-0.5, hidden**-0.5)

    def centre(self, query: Tensor, lengths: Tensor, step: int) -> Tensor:
        return lengths[:, None] * torch.sigmoid(torch.tanh(self.position(query)) @ self.energy)

    def lean(self, distance: Tensor) -> Tensor | None:
        return -2 * (distance / self.half_width) ** 2

    def named_tensors(self) -> dict[str, Tensor]:
        return {"attention.position.weight": self.position.weight, "attention.position.energy": self.energy}


WINDOWS: dict[str, type[nn.Module]] = {"global": Everywhere, "local_m": Monotonic, "local_p": Predictive}


@dataclass
class Memory:
    """What the decoder looks at: annotations [B, T, D], keys [B, T, A], values [B, T, C], mask [B, T] (True: a token)."""

    annotations: Tensor
    keys: Tensor
    values: Tensor
    mask: Tensor

    def select(self, rows: Tensor) -> "Memory":
        return Memory(self.annotations[rows], self.keys[rows], self.values[rows], self.mask[rows])


@dataclass
class Past:
    """What the attention knows of the steps before: their number and, with coverage, their sum [B, T]."""

    step: int
    coverage: Tensor | None

    def after(self, weights: Tensor) -> "Past":
        """weights [B, T] of one more step."""
        return Past(self.step + 1, None if self.coverage is None else self.coverage + weights)

    def select(self, rows: Tensor) -> "Past":
        return Past(self.step, None if self.coverage is None else self.coverage[rows])


class Attention(nn.Module):
    """Scores, softmax over the sentence's own tokens within the window, context c_i = sum_j a_ij V h_j."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        attention = config["attention"]
        self.scorer = SCORES[attention["score"]](config)
        self.window = WINDOWS[attention["window"]](config)
        self.value = nn.Linear(annotation_size(config), context_size(config), bias=False) if attention["values"] == "learned" else None
        self.covers = attention["coverage"]
        # how many tokens of a sentence can be attended, where parameters or states have room for so many
        self.reach = positions(config) if self.covers or attention["score"] == "location" else sys.maxsize

    def memory(self, annotations: Tensor, lengths: Tensor) -> Memory:
        tokens = torch.arange(annotations.shape[1], device=annotations.device)
        mask = tokens[None] < lengths.to(annotations.device)[:, None]
        values = annotations if self.value is None else self.value(annotations)
        return Memory(annotations, self.scorer.keys(annotations), values, mask)

    def start(self, memory: Memory) -> Past:
        return Past(0, torch.zeros_like(memory.mask, dtype=memory.annotations.dtype) if self.covers else None)

    def look(self, query: Tensor, memory: Memory, past: Past) -> Tensor:
        """query [B, S, H] of steps with the same past -> weights [B, S, T]."""
        lengths = memory.mask.sum(1).clamp(max=self.reach)
        tokens = torch.arange(memory.mask.shape[1], device=query.device)
        visible, lean = self.window(query, lengths, tokens, past.step)
        e = self.scorer.score(query, memory.keys, past.coverage)
        return torch.softmax((e if lean is None else e + lean).masked_fill(~visible, float("-inf")), dim=-1)

    def forward(self, query: Tensor, memory: Memory, past: Past) -> tuple[Tensor, Tensor]:
        """query [B, S, H] of the steps after the past -> context [B, S, C], weights [B, S, T]."""
        if past.coverage is None:
            weights = self.look(query, memory, past)
        else:  # each step covers what those before it have seen
            rows = []
            for i in range(query.shape[1]):
                rows.append(self.look(query[:, i:i + 1], memory, past))
                past = past.after(rows[-1][:, 0])
            weights = torch.cat(rows, dim=1)
        return weights @ memory.values, weights

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = self.scorer.named_tensors() | self.window.named_tensors()
        return tensors if self.value is None else tensors | {"attention.value.weight": self.value.weight}


class Readout(NamedTuple):
    """What the readout reads, in order (y embedding, s state, c context), and whether it has a layer of its own."""

    parts: str
    layer: bool


READOUTS: dict[str, Readout] = {
    "attentional": Readout("cs", True),  # h~ = tanh(W [c; s] + b), Luong et al. 2015
    "tanh": Readout("ysc", True),        # tanh(W [y; s; c] + b), Nematus and Marian
    "concat": Readout("cs", False),      # [c; s] itself
}


@dataclass
class DecoderState:
    """layers: one State a layer; feed: h~ of the last step [B, O] (input feeding), else None; past: what the attention has seen."""

    layers: list[State]
    feed: Tensor | None
    past: Past

    def select(self, rows: Tensor) -> "DecoderState":
        return DecoderState([tuple(part[rows] for part in layer) for layer in self.layers],
                            None if self.feed is None else self.feed[rows], self.past.select(rows))


class Decoder(nn.Module):
    """What every style shares: embedding, stacked cells, initial state, readout. `step` is the style's own."""

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__()
        decoder = config["decoder"]
        self.config = decoder
        self.attention = Attention(config)
        self.embedding = nn.Embedding(vocabulary, decoder["embedding"])
        size, context, hidden = annotation_size(config), context_size(config), decoder["hidden"]
        feed = readout_size(config) if decoder["input_feeding"] else 0
        self.layers = nn.ModuleList(
            Recurrent(decoder["cell"], decoder["embedding"] + feed if i == 0 else hidden, hidden) for i in range(decoder["layers"]))
        self.initial = nn.ModuleList(
            nn.Linear(size, hidden) for _ in range(decoder["layers"] if decoder["initial_projection"] else 0))
        self.reads = READOUTS[decoder["readout"]]
        sizes = {"y": decoder["embedding"], "s": hidden, "c": context}
        self.readout = nn.Linear(sum(sizes[p] for p in self.reads.parts), decoder["readout_size"]) if self.reads.layer else None
        self.readout_size = readout_size(config)
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens: Tensor, first: bool) -> Tensor:
        """tokens [...] -> embeddings; the first input is the bos embedding or a zero vector."""
        y = self.embedding(tokens)
        return torch.zeros_like(y) if first and self.config["first_input"] == "zero" else y

    def start(self, memory: Memory, finals: list[State]) -> DecoderState:
        """The state before the first target token. LSTM cell states start at zero unless the encoder's are handed over."""
        batch, hidden = memory.annotations.shape[0], self.config["hidden"]
        zero = memory.annotations.new_zeros(batch, hidden)
        states = CELLS[self.config["cell"]].states
        kind = self.config["initial_state"]
        layers: list[State] = []
        for i in range(self.config["layers"]):
            if kind == "zero":
                layer = (zero,) * states
            elif kind == "last" and not self.initial:
                layer = finals[i]
            else:
                if kind == "last":
                    summary = finals[-1][0]
                else:
                    weights = (memory.mask / memory.mask.sum(1, keepdim=True)).to(memory.annotations)
                    summary = (weights[:, None] @ memory.annotations)[:, 0]
                h = torch.tanh(self.initial[i](summary)) if self.initial else summary
                layer = (h,) + (zero,) * (states - 1)
            layers.append(layer)
        feed = memory.annotations.new_zeros(batch, self.readout_size) if self.config["input_feeding"] else None
        return DecoderState(layers, feed, self.attention.start(memory))

    def read(self, y: Tensor, s: Tensor, c: Tensor) -> Tensor:
        """y [.., E], s [.., H], c [.., C] -> readout [.., O]."""
        x = torch.cat([{"y": y, "s": s, "c": c}[part] for part in self.reads.parts], dim=-1)
        return torch.tanh(self.readout(self.dropout(x))) if self.readout is not None else x

    def step(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Tensor, DecoderState, Tensor]:
        """y [B, E] -> readout [B, O], next state, weights [B, T]."""
        raise NotImplementedError

    def teach(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Tensor, Tensor]:
        """Teacher forcing: y [B, S, E] -> readouts [B, S, O], weights [B, S, T]."""
        outs, weights = [], []
        for i in range(y.shape[1]):
            out, state, weight = self.step(y[:, i], state, memory)
            outs.append(out)
            weights.append(weight)
        return torch.stack(outs, 1), torch.stack(weights, 1)

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = {"decoder.embedding": self.embedding.weight}
        for i, layer in enumerate(self.layers):
            tensors |= layer.named_tensors(f"decoder.layers.{i}.")
        for i, projection in enumerate(self.initial):
            tensors |= {f"decoder.initial.{i}.weight": projection.weight, f"decoder.initial.{i}.bias": projection.bias}
        if self.readout is not None:
            tensors |= {"readout.weight": self.readout.weight, "readout.bias": self.readout.bias}
        return tensors | self.attention.named_tensors()


class Luong(Decoder):
    """s_t = f(s_{t-1}, y_{t-1}); c_t from score(s_t, h); readout of [c_t; s_t]. Input feeding: f also reads h~_{t-1}."""

    def step(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Tensor, DecoderState, Tensor]:
        x = y if state.feed is None else torch.cat([y, state.feed], dim=-1)
        layers = []
        for layer, old in zip(self.layers, state.layers):
            new = layer.step(self.dropout(x), old)
            layers.append(new)
            x = new[0]
        c, weights = self.attention(x[:, None], memory, state.past)
        out = self.read(y, x, c[:, 0])
        return out, DecoderState(layers, None if state.feed is None else out, state.past.after(weights[:, 0])), weights[:, 0]

    def teach(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Tensor, Tensor]:
        if state.feed is not None:
            return super().teach(y, state, memory)
        x = y  # no feedback from the attention: all steps at once
        for layer, old in zip(self.layers, state.layers):
            x = layer.sequence(self.dropout(x), old)
        c, weights = self.attention(x, memory, state.past)
        return self.read(y, x, c), weights


class Conditional(Decoder):
    """s' = cell1(s, y); c from score(s', h); s = cell2(s', c) (Nematus, Marian); further layers stand on top of s."""

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__(config, vocabulary, dropout)
        self.conditional = Recurrent(config["decoder"]["cell"], context_size(config), config["decoder"]["hidden"])

    def step(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Tensor, DecoderState, Tensor]:
        middle = self.layers[0].step(self.dropout(y), state.layers[0])
        c, weights = self.attention(middle[0][:, None], memory, state.past)
        c = c[:, 0]
        layers = [self.conditional.step(c, middle)]
        for layer, old in zip(self.layers[1:], state.layers[1:]):
            layers.append(layer.step(self.dropout(layers[-1][0]), old))
        return self.read(y, layers[-1][0], c), DecoderState(layers, None, state.past.after(weights[:, 0])), weights[:, 0]

    def named_tensors(self) -> dict[str, Tensor]:
        return super().named_tensors() | self.conditional.named_tensors("decoder.conditional.")


STYLES: dict[str, type[Decoder]] = {"luong": Luong, "conditional": Conditional}


class Model(nn.Module):
    """A whole model. config: validated (weights/config.py); source, target: vocabulary sizes."""

    def __init__(self, config: dict, source: int, target: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config, source, dropout)
        self.decoder = STYLES[config["decoder"]["style"]](config, target, dropout)
        self.output = nn.Linear(readout_size(config), target)
        if config["output"]["tied"]:
            self.output.weight = self.decoder.embedding.weight
        self.dropout = nn.Dropout(dropout)

    def encode(self, ids: Tensor, lengths: Tensor) -> tuple[Memory, DecoderState]:
        """ids [B, T], lengths [B] (on the CPU) -> what the decoder looks at, and its first state."""
        annotations, finals = self.encoder(ids, lengths)
        memory = self.decoder.attention.memory(annotations, lengths)
        return memory, self.decoder.start(memory, finals)

    def step(self, tokens: Tensor, first: bool, state: DecoderState, memory: Memory) -> tuple[Tensor, DecoderState, Tensor]:
        """tokens [B] -> log-probabilities [B, V], next state, attention [B, T]."""
        out, state, weights = self.decoder.step(self.decoder.embed(tokens, first), state, memory)
        return torch.log_softmax(self.output(out), dim=-1), state, weights

    def readouts(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """inputs [B, S] (begins with bos) -> readouts [B, S, O], which `output` turns into logits, and attention [B, S, T]."""
        memory, state = self.encode(source, lengths)
        y = torch.cat([self.decoder.embed(inputs[:, :1], True), self.decoder.embed(inputs[:, 1:], False)], dim=1)
        return self.decoder.teach(y, state, memory)

    def named_tensors(self) -> dict[str, Tensor]:
        """Every parameter under its name in model.safetensors; matrices are [out, in]."""
        tensors = self.encoder.named_tensors() | self.decoder.named_tensors() | {"output.bias": self.output.bias}
        return tensors if self.config["output"]["tied"] else tensors | {"output.weight": self.output.weight}
