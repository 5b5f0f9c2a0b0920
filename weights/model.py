"""The model family in PyTorch: encoder, attention, decoder, output, each chosen by name from a table.

Letters: B sentences, T source tokens, S target tokens, E embedding, H hidden, D annotation, A attention, O readout, V vocabulary.
A new cell is a row of CELLS, a new score a row of SCORES, a new decoder a row of STYLES, a new readout a row of READOUTS; the name is the
one in config.json and the C server has a row of the same name. Parameter names and shapes in model.safetensors are those of
`named_tensors`; formulas are PyTorch's (GRU gates r,z,n with the reset gate applied after the product; LSTM gates i,f,g,o).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .config import annotation_size, readout_size
from .output import OUTPUTS, Reads
from .tokenizer import BOS, EOS, UNK

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
    """e_ij = s_i . h_j (Luong et al. 2015)."""

    def __init__(self, config: dict) -> None:
        super().__init__()

    def keys(self, annotations: Tensor) -> Tensor:
        return annotations

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        """query [B, S, H], keys [B, T, A] -> e [B, S, T]."""
        return query @ keys.transpose(1, 2)

    def named_tensors(self) -> dict[str, Tensor]:
        return {}


class General(Dot):
    """e_ij = s_i^T W h_j (Luong et al. 2015); keys hold W h_j."""

    def __init__(self, config: dict) -> None:
        super().__init__(config)
        self.key = nn.Linear(annotation_size(config), config["decoder"]["hidden"], bias=False)

    def keys(self, annotations: Tensor) -> Tensor:
        return self.key(annotations)

    def named_tensors(self) -> dict[str, Tensor]:
        return {"attention.key.weight": self.key.weight}


class Additive(nn.Module):
    """e_ij = v . tanh(W s_i + U h_j + b) (Bahdanau et al. 2015, A.1.2); keys hold U h_j + b."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        size = config["attention"]["size"]
        self.key = nn.Linear(annotation_size(config), size)
        self.query = nn.Linear(config["decoder"]["hidden"], size, bias=False)
        self.energy = nn.Parameter(torch.empty(size))
        nn.init.uniform_(self.energy, -size**-0.5, size**-0.5)

    def keys(self, annotations: Tensor) -> Tensor:
        return self.key(annotations)

    def score(self, query: Tensor, keys: Tensor) -> Tensor:
        return torch.tanh(self.query(query)[:, :, None] + keys[:, None]) @ self.energy

    def named_tensors(self) -> dict[str, Tensor]:
        return {"attention.key.weight": self.key.weight, "attention.key.bias": self.key.bias,
                "attention.query.weight": self.query.weight, "attention.energy": self.energy}


SCORES: dict[str, type[nn.Module]] = {"dot": Dot, "general": General, "additive": Additive}


@dataclass
class Memory:
    """What the decoder looks at: annotations [B, T, D], keys [B, T, A], mask [B, T] (True: a token); for outputs that copy, the source's
    tokens as targets, words [B, T]."""

    annotations: Tensor
    keys: Tensor
    mask: Tensor
    words: Tensor | None = None

    def select(self, rows: Tensor) -> "Memory":
        return Memory(self.annotations[rows], self.keys[rows], self.mask[rows], None if self.words is None else self.words[rows])


class Attention(nn.Module):
    """Scores, softmax over the sentence's own tokens, context c_i = sum_j a_ij h_j."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        self.scorer = SCORES[config["attention"]["score"]](config)

    def memory(self, annotations: Tensor, lengths: Tensor) -> Memory:
        positions = torch.arange(annotations.shape[1], device=annotations.device)
        mask = positions[None] < lengths.to(annotations.device)[:, None]
        return Memory(annotations, self.scorer.keys(annotations), mask)

    def forward(self, query: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """query [B, S, H] -> context [B, S, D], weights [B, S, T]."""
        e = self.scorer.score(query, memory.keys).masked_fill(~memory.mask[:, None], float("-inf"))
        weights = torch.softmax(e, dim=-1)
        return weights @ memory.annotations, weights


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
    """layers: one State a layer; feed: h~ of the last step [B, O] (input feeding), else None."""

    layers: list[State]
    feed: Tensor | None

    def select(self, rows: Tensor) -> "DecoderState":
        return DecoderState([tuple(part[rows] for part in layer) for layer in self.layers],
                            None if self.feed is None else self.feed[rows])


class Decoder(nn.Module):
    """What every style shares: embedding, stacked cells, initial state, readout. `step` is the style's own."""

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__()
        decoder = config["decoder"]
        self.config = decoder
        self.attention = Attention(config)
        self.embedding = nn.Embedding(vocabulary, decoder["embedding"])
        size, hidden = annotation_size(config), decoder["hidden"]
        feed = readout_size(config) if decoder["input_feeding"] else 0
        self.layers = nn.ModuleList(
            Recurrent(decoder["cell"], decoder["embedding"] + feed if i == 0 else hidden, hidden) for i in range(decoder["layers"]))
        self.initial = nn.ModuleList(
            nn.Linear(size, hidden) for _ in range(decoder["layers"] if decoder["initial_projection"] else 0))
        self.reads = READOUTS[decoder["readout"]]
        sizes = {"y": decoder["embedding"], "s": hidden, "c": size}
        self.readout = nn.Linear(sum(sizes[p] for p in self.reads.parts), decoder["readout_size"]) if self.reads.layer else None
        self.readout_size = readout_size(config)
        self.dropout = nn.Dropout(dropout)

    def embed(self, tokens: Tensor, first: bool) -> Tensor:
        """tokens [...] -> embeddings; the first input is the bos embedding or a zero vector; a temporary id (weights/copies.py) is <unk>."""
        y = self.embedding(tokens.masked_fill(tokens >= self.embedding.num_embeddings, UNK))
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
        return DecoderState(layers, feed)

    def read(self, y: Tensor, s: Tensor, c: Tensor) -> Tensor:
        """y [.., E], s [.., H], c [.., D] -> readout [.., O]."""
        x = torch.cat([{"y": y, "s": s, "c": c}[part] for part in self.reads.parts], dim=-1)
        return torch.tanh(self.readout(self.dropout(x))) if self.readout is not None else x

    def step(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Tensor, DecoderState, Tensor]:
        """y [B, E] -> readout [B, O], next state, weights [B, T]."""
        raise NotImplementedError

    def teach(self, y: Tensor, state: DecoderState, memory: Memory) -> Reads:
        """Teacher forcing: y [B, S, E] -> all steps."""
        outs, states, weights = [], [], []
        for i in range(y.shape[1]):
            out, state, weight = self.step(y[:, i], state, memory)
            outs.append(out)
            states.append(state.layers[-1][0])
            weights.append(weight)
        return Reads(torch.stack(outs, 1), torch.stack(states, 1), y, torch.stack(weights, 1))

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = {"decoder.embedding": self.embedding.weight}
        for i, layer in enumerate(self.layers):
            tensors |= layer.named_tensors(f"decoder.layers.{i}.")
        for i, projection in enumerate(self.initial):
            tensors |= {f"decoder.initial.{i}.weight": projection.weight, f"decoder.initial.{i}.bias": projection.bias}
        if self.readout is not None:
            tensors |= {"readout.weight": self.readout.weight, "readout.bias": self.readout.bias}
        return tensors | self.attention.scorer.named_tensors()


class Luong(Decoder):
    """s_t = f(s_{t-1}, y_{t-1}); c_t from score(s_t, h); readout of [c_t; s_t]. Input feeding: f also reads h~_{t-1}."""

    def step(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Tensor, DecoderState, Tensor]:
        x = y if state.feed is None else torch.cat([y, state.feed], dim=-1)
        layers = []
        for layer, old in zip(self.layers, state.layers):
            new = layer.step(self.dropout(x), old)
            layers.append(new)
            x = new[0]
        c, weights = self.attention(x[:, None], memory)
        out = self.read(y, x, c[:, 0])
        return out, DecoderState(layers, None if state.feed is None else out), weights[:, 0]

    def teach(self, y: Tensor, state: DecoderState, memory: Memory) -> Reads:
        if state.feed is not None:
            return super().teach(y, state, memory)
        x = y  # no feedback from the attention: all steps at once
        for layer, old in zip(self.layers, state.layers):
            x = layer.sequence(self.dropout(x), old)
        c, weights = self.attention(x, memory)
        return Reads(self.read(y, x, c), x, y, weights)


class Conditional(Decoder):
    """s' = cell1(s, y); c from score(s', h); s = cell2(s', c) (Nematus, Marian); further layers stand on top of s."""

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__(config, vocabulary, dropout)
        self.conditional = Recurrent(config["decoder"]["cell"], annotation_size(config), config["decoder"]["hidden"])

    def step(self, y: Tensor, state: DecoderState, memory: Memory) -> tuple[Tensor, DecoderState, Tensor]:
        middle = self.layers[0].step(self.dropout(y), state.layers[0])
        c, weights = self.attention(middle[0][:, None], memory)
        c = c[:, 0]
        layers = [self.conditional.step(c, middle)]
        for layer, old in zip(self.layers[1:], state.layers[1:]):
            layers.append(layer.step(self.dropout(layers[-1][0]), old))
        return self.read(y, layers[-1][0], c), DecoderState(layers, None), weights[:, 0]

    def named_tensors(self) -> dict[str, Tensor]:
        return super().named_tensors() | self.conditional.named_tensors("decoder.conditional.")


STYLES: dict[str, type[Decoder]] = {"luong": Luong, "conditional": Conditional}


class Speller(nn.Module):
    """Spells a word from the readout of the step that chose <unk>: an LSTM over characters whose first h is the readout and whose first c
    is zero (Luong and Manning 2016, section 3.4)."""

    LONGEST = 40  # characters

    def __init__(self, config: dict, characters: int) -> None:
        super().__init__()
        embedding, size = config["output"]["character_embedding"], readout_size(config)
        self.embedding = nn.Embedding(characters, embedding)
        self.cell = Recurrent("lstm", embedding, size)
        self.output = nn.Linear(size, characters)

    def forward(self, readouts: Tensor, inputs: Tensor) -> Tensor:
        """readouts [N, O], inputs [N, S] (characters, beginning with <s>) -> logits of the next characters [N, S, C]."""
        return self.output(self.cell.sequence(self.embedding(inputs), (readouts, torch.zeros_like(readouts))))

    @torch.no_grad()
    def spell(self, readout: Tensor) -> list[int]:
        """readout [O] -> the characters, greedily; <unk> and <s> are never among them."""
        state, word = (readout[None], torch.zeros_like(readout[None])), [BOS]
        while len(word) <= self.LONGEST:
            state = self.cell.step(self.embedding(torch.tensor(word[-1:], device=readout.device)), state)
            logits = self.output(state[0])[0]
            logits[[UNK, BOS]] = float("-inf")
            if (character := int(logits.argmax())) == EOS:
                break
            word.append(character)
        return word[1:]

    def named_tensors(self) -> dict[str, Tensor]:
        return {"speller.embedding": self.embedding.weight, "speller.output.weight": self.output.weight,
                "speller.output.bias": self.output.bias} | self.cell.named_tensors("speller.")


class Model(nn.Module):
    """A whole model. config: validated (weights/config.py); source, target: vocabulary sizes; characters: that of what it spells with, 0
    unless the output's type is characters."""

    def __init__(self, config: dict, source: int, target: int, dropout: float = 0.0, characters: int = 0) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config, source, dropout)
        self.decoder = STYLES[config["decoder"]["style"]](config, target, dropout)
        self.output = OUTPUTS[config["output"]["type"]](config, target)
        if config["output"]["tied"]:
            self.output.weight = self.decoder.embedding.weight
        self.speller = Speller(config, characters) if characters else None
        self.dropout = nn.Dropout(dropout)

    def encode(self, ids: Tensor, lengths: Tensor, words: Tensor | None = None) -> tuple[Memory, DecoderState]:
        """ids [B, T], lengths [B] (on the CPU), words [B, T] for outputs that copy -> what the decoder looks at, and its first state."""
        annotations, finals = self.encoder(ids, lengths)
        memory = self.decoder.attention.memory(annotations, lengths)
        memory.words = words
        return memory, self.decoder.start(memory, finals)

    def look(self, tokens: Tensor, first: bool, state: DecoderState, memory: Memory) -> tuple[Reads, DecoderState]:
        """tokens [B] -> what the output reads of this one step, next state."""
        y = self.decoder.embed(tokens, first)
        out, state, weights = self.decoder.step(y, state, memory)
        return Reads(out[:, None], state.layers[-1][0][:, None], y[:, None], weights[:, None]), state

    def step(self, tokens: Tensor, first: bool, state: DecoderState, memory: Memory) -> tuple[Tensor, DecoderState, Tensor]:
        """tokens [B] -> log-probabilities [B, V] (with temporary ids: V + X), next state, attention [B, T]."""
        reads, state = self.look(tokens, first, state, memory)
        return self.output.log_probs(reads, memory)[:, 0], state, reads.weights[:, 0]

    def teach(self, inputs: Tensor, state: DecoderState, memory: Memory) -> Reads:
        """inputs [B, S] (begins with bos) -> what the output reads of all steps."""
        y = torch.cat([self.decoder.embed(inputs[:, :1], True), self.decoder.embed(inputs[:, 1:], False)], dim=1)
        return self.decoder.teach(y, state, memory)

    def readouts(self, source: Tensor, lengths: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """inputs [B, S] (begins with bos) -> readouts [B, S, O], which a vocabulary output turns into logits, and attention [B, S, T]."""
        memory, state = self.encode(source, lengths)
        reads = self.teach(inputs, state, memory)
        return reads.readouts, reads.weights

    def named_tensors(self) -> dict[str, Tensor]:
        """Every parameter under its name in model.safetensors; matrices are [out, in]."""
        tensors = self.encoder.named_tensors() | self.decoder.named_tensors() | self.output.named_tensors()
        tensors |= self.speller.named_tensors() if self.speller else {}
        if self.config["output"]["tied"]:
            del tensors["output.weight"]
        return tensors
