"""Recurrent cells and encoders in PyTorch, each chosen by name from a table (the other half of
weights/model/network.py).

Letters: B sentences, T source tokens, S steps, H hidden, D annotation, G the size of a cell's products with its input
and with its state: blocks * H. A new cell is a row of CELLS, a new way to stack layers a row of STACKS, a new encoder a
row of ENCODERS. Formulas are PyTorch's (GRU gates r, z, n with the reset gate applied after the product; LSTM gates i,
f, g, o).
"""

from __future__ import annotations

from typing import Callable, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .config import positions
from ..training.kernels import Dropout
from .norm import Norm

State = tuple[Tensor, ...]  # (h,) or (h, c), each [B, H]


class Cell(NamedTuple):
    """One recurrent cell: PyTorch's module, a step with the module's weights, and the number of state tensors. For
    layers with normalisation or transitions also: the step from y = W x + b and u = U h + b [B, G], the number of
    blocks in these, and how many leading blocks are normalised separately from the rest (0: all together)."""

    module: Callable[..., nn.RNNBase]
    step: Callable[..., State]
    states: int
    gates: Callable[[Tensor, Tensor, State], State]
    blocks: int
    apart: int


def _gru_step(x: Tensor, state: State, weights: list[Tensor]) -> State:
    return (torch.gru_cell(x, state[0], *weights),)


def _gru_gates(y: Tensor, u: Tensor, state: State) -> State:
    size = state[0].shape[-1]
    r, z = torch.sigmoid(y[..., :2 * size] + u[..., :2 * size]).chunk(2, dim=-1)
    n = torch.tanh(y[..., 2 * size:] + r * u[..., 2 * size:])
    return ((1 - z) * n + z * state[0],)


def _lstm_step(x: Tensor, state: State, weights: list[Tensor]) -> State:
    return torch.lstm_cell(x, state, *weights)


def _lstm_gates(y: Tensor, u: Tensor, state: State) -> State:
    i, f, g, o = (y + u).chunk(4, dim=-1)
    c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def _rnn_step(x: Tensor, state: State, weights: list[Tensor]) -> State:
    return (torch.rnn_tanh_cell(x, state[0], *weights),)


def _rnn_gates(y: Tensor, u: Tensor, state: State) -> State:
    return (torch.tanh(y + u),)


CELLS: dict[str, Cell] = {
    "gru": Cell(nn.GRU, _gru_step, 1, _gru_gates, 3, 2),  # the gates are normalised separately from the candidate
    "lstm": Cell(nn.LSTM, _lstm_step, 2, _lstm_gates, 4, 0),
    "rnn": Cell(nn.RNN, _rnn_step, 1, _rnn_gates, 1, 0),  # Elman's network, with tanh
}


class Recurrent(nn.Module):
    """One layer of PyTorch's cell, for whole sequences or single steps with the same weights."""

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
        """x [B, T, in], each sentence of its own length -> h [B, T, D] (zero past the end), final state [B, D] each."""
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, final = self.rnn(packed)
        h, _ = pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
        final = final if isinstance(final, tuple) else (final,)
        return h, tuple(torch.cat(tuple(part), dim=-1) for part in final)

    def named_tensors(self, prefix: str, directions: tuple[str, ...] = ("",)) -> dict[str, Tensor]:
        names = ("weight_input", "weight_state", "bias_input", "bias_state")
        tensors = iter(self.rnn._flat_weights)
        return {f"{prefix}{direction}{name}": next(tensors) for direction in directions for name in names}


class Transition(nn.Module):
    """A cell without an input (deep transition, Pascanu et al. 2014): y is a constant."""

    def __init__(self, cell: str, hidden: int, normalization: str) -> None:
        super().__init__()
        self.cell = CELLS[cell]
        size = self.cell.blocks * hidden
        self.input = nn.Parameter(torch.empty(size))
        self.state = nn.Linear(hidden, size)
        self.norm = Norm(normalization, size, self.cell.apart * hidden)
        nn.init.uniform_(self.input, -hidden**-0.5, hidden**-0.5)

    def after(self, state: State) -> State:
        return self.cell.gates(self.input, self.norm(self.state(state[0])), state)

    def named_tensors(self, prefix: str) -> dict[str, Tensor]:
        return {prefix + "bias_input": self.input, prefix + "weight_state": self.state.weight,
                prefix + "bias_state": self.state.bias
                } | self.norm.named_tensors(prefix + "gain_state", prefix + "shift_state")


class Deep(nn.Module):
    """One layer of a cell in one direction, step by step: y = norm(W x + b), u = norm(U h + b), the gates as PyTorch's,
    then the transitions, through which the whole state passes."""

    def __init__(self, cell: str, inputs: int, hidden: int, normalization: str, transitions: int) -> None:
        super().__init__()
        self.cell, self.hidden = CELLS[cell], hidden
        size, apart = self.cell.blocks * hidden, self.cell.apart * hidden
        self.input, self.state = nn.Linear(inputs, size), nn.Linear(hidden, size)
        self.input_norm, self.state_norm = (Norm(normalization, size, apart) for _ in range(2))
        for linear in (self.input, self.state):  # initialised as in PyTorch's cells
            for parameter in linear.parameters():
                nn.init.uniform_(parameter, -hidden**-0.5, hidden**-0.5)
        self.transitions = nn.ModuleList(Transition(cell, hidden, normalization) for _ in range(transitions))

    def read(self, x: Tensor) -> Tensor:
        """x [.., in] -> y [.., G]."""
        return self.input_norm(self.input(x))

    def after(self, y: Tensor, state: State) -> State:
        """One step, y [B, G]."""
        state = self.cell.gates(y, self.state_norm(self.state(state[0])), state)
        for transition in self.transitions:
            state = transition.after(state)
        return state

    def step(self, x: Tensor, state: State) -> State:
        return self.after(self.read(x), state)

    def sequence(self, x: Tensor, state: State) -> Tensor:
        outs = []
        for y in self.read(x).unbind(1):
            state = self.after(y, state)
            outs.append(state[0])
        return torch.stack(outs, dim=1)

    def packed(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
        """Like Recurrent.packed; a sentence that has ended keeps its state."""
        state = (x.new_zeros(x.shape[0], self.hidden),) * self.cell.states
        real = (torch.arange(x.shape[1], device=x.device) < lengths.to(x.device)[:, None])[:, :, None]
        outs = []
        for t, y in enumerate(self.read(x).unbind(1)):
            state = tuple(torch.where(real[:, t], new, old) for new, old in zip(self.after(y, state), state))
            outs.append(state[0])
        return torch.stack(outs, dim=1) * real, state

    def named_tensors(self, prefix: str, directions: tuple[str, ...] = ("",)) -> dict[str, Tensor]:
        prefix += directions[0]
        tensors = {prefix + "weight_input": self.input.weight, prefix + "bias_input": self.input.bias,
                   prefix + "weight_state": self.state.weight, prefix + "bias_state": self.state.bias}
        tensors |= self.input_norm.named_tensors(prefix + "gain_input", prefix + "shift_input")
        tensors |= self.state_norm.named_tensors(prefix + "gain_state", prefix + "shift_state")
        for i, transition in enumerate(self.transitions):
            tensors |= transition.named_tensors(f"{prefix}transitions.{i}.")
        return tensors


def recurrent(cell: str, inputs: int, hidden: int, normalization: str = "none",
              transitions: int = 0) -> Recurrent | Deep:
    """One layer of a cell in one direction: PyTorch's, which is faster, unless it needs normalisation or
    transitions."""
    plain = normalization == "none" and transitions == 0
    return Recurrent(cell, inputs, hidden) if plain else Deep(cell, inputs, hidden, normalization, transitions)


def turn(x: Tensor, lengths: Tensor) -> Tensor:
    """x [B, T, n] -> x with each sentence's tokens in reverse order; padding stays in place."""
    places, lengths = torch.arange(x.shape[1], device=x.device), lengths.to(x.device)[:, None]
    source = torch.where(places < lengths, lengths - 1 - places, places)
    return x.gather(1, source[:, :, None].expand_as(x))


class Pair(nn.Module):
    """Two directions of a layer: h = [first; second]. The first runs forward and the second backward, or with `turned`
    the reverse. apart: each reads its own half of x."""

    def __init__(self, first: nn.Module, second: nn.Module, apart: bool, turned: bool) -> None:
        super().__init__()
        self.lanes, self.apart, self.turned = nn.ModuleList((first, second)), apart, turned

    def packed(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
        parts = x.chunk(2, dim=-1) if self.apart else (x, x)
        hs, finals = [], []
        for i, (lane, part) in enumerate(zip(self.lanes, parts)):
            backward = (i == 1) != self.turned
            h, final = lane.packed(turn(part, lengths) if backward else part, lengths)
            hs.append(turn(h, lengths) if backward else h)
            finals.append(final)
        return torch.cat(hs, dim=-1), tuple(torch.cat(parts, dim=-1) for parts in zip(*finals))

    def named_tensors(self, prefix: str, directions: tuple[str, ...]) -> dict[str, Tensor]:
        return self.lanes[0].named_tensors(prefix + directions[0]) | self.lanes[1].named_tensors(prefix + directions[1])


class Stack(NamedTuple):
    """How the layers of a bidirectional encoder stand on each other. apart: a direction reads what itself put out
    below, not what both did; turning: every other layer runs against its direction; single: above the first layer there
    is only the first direction."""

    apart: bool
    turning: bool
    single: bool


STACKS: dict[str, Stack] = {
    "joined": Stack(False, False, False),      # PyTorch's
    "separate": Stack(True, False, False),     # Marian's bidirectional
    "alternating": Stack(True, True, False),   # Marian's alternating
    "forward": Stack(False, False, True),      # Marian's bi-unidirectional, GNMT's (Wu et al. 2016)
}


class Encoder(nn.Module):
    """ids [B, T] -> annotations [B, T, D] and each layer's final state. Bidirectional: h_j = [forward; backward], named
    after the directions of the first layer.

    Residual (GNMT, Wu et al. 2016): from the second layer on, the output of a layer is h plus its input if both have
    the same size. The recurrence and the final state are h alone.

    padded_to: a shorter text is read as if the vector `padding` followed it up to so many tokens, as by programs that
    pad every text and do not pack it. The final states are those after the last of them; they have no annotations.
    """

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__()
        encoder = config["encoder"]
        self.embedding = nn.Embedding(vocabulary, encoder["embedding"])
        self.layers = nn.ModuleList(self._layer(encoder, i) for i in range(encoder["layers"]))
        self.directions = [("forward.", "backward.")[:1 + self._both(encoder, i)] for i in range(encoder["layers"])]
        self.residual = encoder["residual"]
        self.padded_to = encoder["padded_to"]
        self.padding = nn.Parameter(torch.randn(encoder["embedding"])) if self.padded_to else None
        self.dropout = Dropout(dropout)

    @staticmethod
    def _both(encoder: dict, i: int) -> bool:
        """Whether layer i has two directions."""
        return encoder["bidirectional"] and not (i > 0 and STACKS[encoder["stack"]].single)

    @classmethod
    def _layer(cls, encoder: dict, i: int) -> nn.Module:
        stack, hidden, extras = STACKS[encoder["stack"]], encoder["hidden"], (encoder["normalization"],
                                                                              encoder["transitions"])
        both, below = cls._both(encoder, i), hidden * (1 + cls._both(encoder, i - 1)) if i > 0 else encoder["embedding"]
        if both and encoder["stack"] == "joined" and extras == ("none", 0):
            return Recurrent(encoder["cell"], below, hidden, bidirectional=True)
        apart = stack.apart and i > 0
        layers = [recurrent(encoder["cell"], hidden if apart else below, hidden, *extras) for _ in range(1 + both)]
        return Pair(*layers, apart, stack.turning and i % 2 == 1) if both else layers[0]

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, list[State]]:
        x, own = self.embedding(ids), lengths
        if self.padding is not None:
            x = functional.pad(x, (0, 0, 0, max(0, self.padded_to - x.shape[1])))
            places = torch.arange(x.shape[1], device=x.device)[:, None]
            x = torch.where(places < own.to(x.device)[:, None, None], x, self.padding)
            lengths = own.clamp(min=self.padded_to)
        finals = []
        for i, layer in enumerate(self.layers):
            h, final = layer.packed(self.dropout(x), lengths)
            x = h + x if self.residual and i > 0 and h.shape == x.shape else h
            finals.append(final)
        if self.padding is not None:
            x = x[:, :ids.shape[1]] * (places[:ids.shape[1]] < own.to(x.device)[:, None, None])
        return x, finals

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = {"encoder.embedding": self.embedding.weight}
        if self.padding is not None:
            tensors["encoder.padding"] = self.padding
        for i, (layer, directions) in enumerate(zip(self.layers, self.directions)):
            tensors |= layer.named_tensors(f"encoder.layers.{i}.", directions)
        return tensors


class Convolution(nn.Module):
    """nn.Conv1d of odd width m with zero padding that keeps the length. The weight is [out, m * in], each row with one
    tap after the other, as the server multiplies it; Conv1d's is [out, in, m]."""

    def __init__(self, channels: int, out: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width * channels, out)  # initialised as in Conv1d
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, in] -> [B, T, out]."""
        weight = self.linear.weight.unflatten(1, (self.width, -1)).transpose(1, 2)
        return functional.conv1d(x.transpose(1, 2), weight, self.linear.bias, padding=self.width // 2).transpose(1, 2)


class ConvolutionalEncoder(nn.Module):
    """ids [B, T] -> annotations [B, T, H]; no final states. Gehring et al. 2017, section 3, with the same annotations
    as keys and values: x_0 = W (e + p) + b of the embeddings of token and position; for every layer [a; g] =
    convolution(x_{l-1}), x_l = sqrt(1/2) (a * sigmoid(g) + x_{l-1}), with zeros before the first token and after the
    last.
    """

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__()
        encoder = config["encoder"]
        hidden = encoder["hidden"]
        self.embedding = nn.Embedding(vocabulary, encoder["embedding"])
        self.positions = nn.Embedding(positions(config), encoder["embedding"])
        self.input = nn.Linear(encoder["embedding"], hidden)
        self.layers = nn.ModuleList(Convolution(hidden, 2 * hidden, encoder["width"]) for _ in range(encoder["layers"]))
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, list[State]]:
        places = torch.arange(ids.shape[1], device=ids.device)
        mask = (places < lengths.to(ids.device)[:, None])[:, :, None]
        x = self.input(self.dropout(self.embedding(ids) + self.positions(places))) * mask
        for layer in self.layers:
            x = 0.5**0.5 * (functional.glu(layer(self.dropout(x)), dim=-1) + x) * mask
        return x, []

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = {"encoder.embedding": self.embedding.weight, "encoder.positions": self.positions.weight,
                   "encoder.input.weight": self.input.weight, "encoder.input.bias": self.input.bias}
        for i, layer in enumerate(self.layers):
            tensors |= {f"encoder.layers.{i}.convolution.weight": layer.linear.weight,
                        f"encoder.layers.{i}.convolution.bias": layer.linear.bias}
        return tensors


ENCODERS: dict[str, type[nn.Module]] = {"recurrent": Encoder, "convolutional": ConvolutionalEncoder}
