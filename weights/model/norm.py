"""Layer normalisation of a model's products:
y = gain * (x - mean) / sqrt(variance + epsilon) + shift (Ba et al. 2016), or by the root mean square:
y = gain * x / sqrt(mean(x^2) + epsilon) (Zhang and Sennrich 2019).

A kind is a row of NORMALIZATIONS; the C server has a row of the same name (model/network/layers.c).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class Kind(NamedTuple):
    """apart: the two kinds of elements of a vector (a GRU's gates and its candidate) are normalised separately.
    rms: by the root mean square, without a shift."""

    apart: bool
    epsilon: float
    rms: bool = False


NORMALIZATIONS: dict[str, Kind | None] = {
    "none": None,
    "layer": Kind(False, 1e-9),  # the whole vector, as in Marian's models
    "gates": Kind(True, 1e-5),   # a GRU's gates and its candidate separately, as in Nematus's models
    "rms": Kind(False, 1e-6, rms=True),  # only between the blocks of a transformer (weights/model/transformer.py)
}


class Norm(nn.Module):
    """x [.., size] -> [.., size]. first: the size of the first of two kinds of elements; 0: a single kind. With the
    name "none" it is the identity without parameters. epsilon: overrides the kind's."""

    def __init__(self, name: str, size: int, first: int = 0, epsilon: float | None = None) -> None:
        super().__init__()
        self.kind = NORMALIZATIONS[name]
        if self.kind is None:
            return
        if epsilon is not None:
            self.kind = self.kind._replace(epsilon=epsilon)
        self.parts = [first, size - first] if self.kind.apart and first else [size]
        self.gain = nn.Parameter(torch.ones(size))
        self.shift = None if self.kind.rms else nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        if self.kind is None:
            return x
        if self.kind.rms:
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.kind.epsilon) * self.gain
        parts = [functional.layer_norm(part, part.shape[-1:], eps=self.kind.epsilon)
                 for part in x.split(self.parts, dim=-1)]
        return torch.cat(parts, dim=-1) * self.gain + self.shift

    def named_tensors(self, gain: str, shift: str) -> dict[str, Tensor]:
        """The parameters under these names."""
        parameters = {} if self.kind is None else {gain: self.gain, shift: self.shift}
        return {name: parameter for name, parameter in parameters.items() if parameter is not None}
