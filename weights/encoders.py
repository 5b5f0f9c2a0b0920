"""Recurrent cells and encoders in PyTorch, each chosen by name from a table (the other half of weights/model.py).

Letters: B sentences, T source tokens, S steps, H hidden, D annotation. A new cell is a row of CELLS, a new encoder a row of ENCODERS.
Formulas are PyTorch's (GRU gates r,z,n with the reset gate applied after the product; LSTM gates i,f,g,o).
"""

from __future__ import annotations

from typing import Callable, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .config import annotation_size, positions

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


def _rnn_step(x: Tensor, state: State, weights: list[Tensor]) -> State:
    return (torch.rnn_tanh_cell(x, state[0], *weights),)


CELLS: dict[str, Cell] = {
    "gru": Cell(nn.GRU, _gru_step, 1),
    "lstm": Cell(nn.LSTM, _lstm_step, 2),
    "rnn": Cell(nn.RNN, _rnn_step, 1),  # Elman's, with tanh
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
    """ids [B, T] -> annotations [B, T, D] and each layer's final state. Bidirectional: h_j = [forward; backward].

    Residual (GNMT, Wu et al. 2016): from the second layer up, what a layer puts out is its h plus what it read. Its recurrence and its
    final state are h alone.
    """

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__()
        encoder = config["encoder"]
        self.embedding = nn.Embedding(vocabulary, encoder["embedding"])
        size = annotation_size(config)
        self.layers = nn.ModuleList(
            Recurrent(encoder["cell"], encoder["embedding"] if i == 0 else size, encoder["hidden"], encoder["bidirectional"])
            for i in range(encoder["layers"]))
        self.directions = ("forward.", "backward.") if encoder["bidirectional"] else ("forward.",)
        self.residual = encoder["residual"]
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, list[State]]:
        x = self.embedding(ids)
        finals = []
        for i, layer in enumerate(self.layers):
            h, final = layer.packed(self.dropout(x), lengths)
            x = h + x if self.residual and i > 0 else h
            finals.append(final)
        return x, finals

    def named_tensors(self) -> dict[str, Tensor]:
        tensors = {"encoder.embedding": self.embedding.weight}
        for i, layer in enumerate(self.layers):
            tensors |= layer.named_tensors(f"encoder.layers.{i}.", self.directions)
        return tensors


class Convolution(nn.Module):
    """nn.Conv1d of odd width m with as many zeros on either side as keep the length. Its weight is [out, m * in], a row the taps one
    after the other, as the server multiplies it, where Conv1d's is [out, in, m]."""

    def __init__(self, channels: int, out: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width * channels, out)  # its initial values are those that Conv1d takes
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, in] -> [B, T, out]."""
        weight = self.linear.weight.unflatten(1, (self.width, -1)).transpose(1, 2)
        return functional.conv1d(x.transpose(1, 2), weight, self.linear.bias, padding=self.width // 2).transpose(1, 2)


class ConvolutionalEncoder(nn.Module):
    """ids [B, T] -> annotations [B, T, H]; no final states. Gehring et al. 2017, section 3, with one kind of annotation for both keys and
    values: x_0 = W (e + p) + b of the embeddings of token and position, then for every layer [a; g] = convolution(x_{l-1}),
    x_l = sqrt(1/2) (a * sigmoid(g) + x_{l-1}), zeros standing before the first token and after the last.
    """

    def __init__(self, config: dict, vocabulary: int, dropout: float) -> None:
        super().__init__()
        encoder = config["encoder"]
        hidden = encoder["hidden"]
        self.embedding = nn.Embedding(vocabulary, encoder["embedding"])
        self.positions = nn.Embedding(positions(config), encoder["embedding"])
        self.input = nn.Linear(encoder["embedding"], hidden)
        self.layers = nn.ModuleList(Convolution(hidden, 2 * hidden, encoder["width"]) for _ in range(encoder["layers"]))
        self.dropout = nn.Dropout(dropout)

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
