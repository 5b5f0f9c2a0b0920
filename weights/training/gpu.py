"""The element-wise arithmetic of training on a GPU, in Triton: the functions of weights/training/kernels.c with the
same arguments, on device tensors with bfloat16 activations. Nothing synchronises with the device, so that CUDA graphs
can capture whole updates (weights/training/graphs.py).

PyTorch's own CUDA builds include Triton; Debian's PyTorch does not. Only graphs.py imports this module, when it places
a model on the device.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from .kernels import Kernels

ELEMENTS = 1024  # elements per program of an element-wise kernel


@triton.jit
def _tanh(x):
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@triton.jit
def _gates(x, u, bx, bu, row, i, hidden, keep):
    """Returns r, z and n of one step, and the state's term of n before r is applied."""
    at = row * 3 * hidden + i
    r = tl.sigmoid(tl.load(x + at, keep, 0).to(tl.float32) + tl.load(bx + i, keep, 0)
                   + tl.load(u + at, keep, 0).to(tl.float32) + tl.load(bu + i, keep, 0))
    at += hidden
    z = tl.sigmoid(tl.load(x + at, keep, 0).to(tl.float32) + tl.load(bx + hidden + i, keep, 0)
                   + tl.load(u + at, keep, 0).to(tl.float32) + tl.load(bu + hidden + i, keep, 0))
    at += hidden
    un = tl.load(u + at, keep, 0).to(tl.float32) + tl.load(bu + 2 * hidden + i, keep, 0)
    n = _tanh(tl.load(x + at, keep, 0).to(tl.float32) + tl.load(bx + 2 * hidden + i, keep, 0) + r * un)
    return r, z, n, un


@triton.jit
def _gru_forward(rows, hidden, x, u, bx, bu, h, out, SIZE: tl.constexpr):
    element = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    keep = element < rows * hidden
    _, z, n, _ = _gates(x, u, bx, bu, element // hidden, element % hidden, hidden, keep)
    state = n + z * (tl.load(h + element, keep, 0) - n)
    tl.store(h + element, state, keep)
    tl.store(out + element, state.to(tl.bfloat16), keep)


@triton.jit
def _gru_backward(rows, hidden, x, u, bx, bu, h, more, last, carry, dx, du, MORE: tl.constexpr, LAST: tl.constexpr,
                  SIZE: tl.constexpr):
    element = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    keep = element < rows * hidden
    row, i = element // hidden, element % hidden
    r, z, n, un = _gates(x, u, bx, bu, row, i, hidden, keep)
    g = tl.load(carry + element, keep, 0)
    if MORE:
        g += tl.load(more + element, keep, 0).to(tl.float32)
    if LAST:
        g += tl.load(last + element, keep, 0).to(tl.float32)
    dn = g * (1 - z) * (1 - n * n)
    dz = g * (tl.load(h + element, keep, 0).to(tl.float32) - n) * z * (1 - z)
    dr = dn * un * r * (1 - r)
    at = row * 3 * hidden + i
    tl.store(dx + at, dr.to(tl.bfloat16), keep)
    tl.store(du + at, dr.to(tl.bfloat16), keep)
    tl.store(dx + at + hidden, dz.to(tl.bfloat16), keep)
    tl.store(du + at + hidden, dz.to(tl.bfloat16), keep)
    tl.store(dx + at + 2 * hidden, dn.to(tl.bfloat16), keep)
    tl.store(du + at + 2 * hidden, (dn * r).to(tl.bfloat16), keep)
    tl.store(carry + element, g * z, keep)


@triton.jit
def _attend_forward(tokens, q, keys, values, lengths, a, c, A: tl.constexpr, C: tl.constexpr, T: tl.constexpr,
                    PART: tl.constexpr):
    """One program per sentence. T: a power of two, at least `tokens`."""
    row = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + row)
    j = tl.arange(0, T)
    seen = j < length
    part = tl.arange(0, PART)
    score = tl.zeros([T], tl.float32)
    for begin in range(0, A, PART):
        query = tl.load(q + row * A + begin + part)
        key = tl.load(keys + (row * tokens + j[:, None]) * A + begin + part[None, :], seen[:, None], 0).to(tl.float32)
        score += tl.sum(key * query[None, :], 1)
    score = tl.where(seen, score, float("-inf"))
    weight = tl.exp(score - tl.max(score, 0))
    weight = weight / tl.sum(weight, 0)
    tl.store(a + row * tokens + j, weight, j < tokens)
    for begin in range(0, C, PART):
        value = tl.load(values + (row * tokens + j[:, None]) * C + begin + part[None, :], seen[:, None],
                        0).to(tl.float32)
        tl.store(c + row * C + begin + part, tl.sum(weight[:, None] * value, 0).to(tl.bfloat16))


@triton.jit
def _attend_backward(tokens, keys, values, lengths, a, dc, more, da, de, dq, A: tl.constexpr, C: tl.constexpr,
                     T: tl.constexpr, PART: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + row)
    j = tl.arange(0, T)
    seen = j < length
    part = tl.arange(0, PART)
    through = tl.load(da + row * tokens + j, seen, 0)
    for begin in range(0, C, PART):
        at = row * C + begin + part
        wanted = tl.load(dc + at).to(tl.float32) + tl.load(more + at).to(tl.float32)
        tl.store(dc + at, wanted.to(tl.bfloat16))
        value = tl.load(values + (row * tokens + j[:, None]) * C + begin + part[None, :], seen[:, None],
                        0).to(tl.float32)
        through += tl.sum(value * wanted[None, :], 1)
    weight = tl.load(a + row * tokens + j, seen, 0)
    score = tl.where(seen, weight * (through - tl.sum(weight * through, 0)), 0.0)
    tl.store(de + row * tokens + j, score.to(tl.bfloat16), j < tokens)
    for begin in range(0, A, PART):
        at = row * A + begin + part
        key = tl.load(keys + (row * tokens + j[:, None]) * A + begin + part[None, :], seen[:, None], 0).to(tl.float32)
        tl.store(dq + at, tl.load(dq + at) + tl.sum(score[:, None] * key, 0))


@triton.jit
def _cross_entropy(size, logits, bias, wanted, smoothing, losses, plain, V: tl.constexpr):
    """One program per row, in place. A row with a negative `wanted` has a gradient of zero."""
    row = tl.program_id(0).to(tl.int64)
    v = tl.arange(0, V)
    keep = v < size
    right = tl.load(wanted + row)
    z = tl.load(logits + row * size + v, keep, 0).to(tl.float32) + tl.load(bias + v, keep, 0)
    mean = tl.sum(tl.where(keep, z, 0.0), 0) / size
    z = tl.where(keep, z, float("-inf"))
    largest = tl.max(z, 0)
    e = tl.exp(z - largest)
    whole = tl.sum(e, 0)
    total = largest + tl.log(whole)
    chosen = tl.sum(tl.where(v == right, z, 0.0), 0)
    real = right >= 0
    tl.store(plain + row, tl.where(real, total - chosen, 0.0))
    tl.store(losses + row, tl.where(real, (1 - smoothing) * (total - chosen) + smoothing * (total - mean), 0.0))
    gradient = e / whole - smoothing / size - tl.where(v == right, 1 - smoothing, 0.0)
    tl.store(logits + row * size + v, tl.where(real, gradient, 0.0).to(tl.bfloat16), keep)


@triton.jit
def _drop(size, x, out, p, scale, clock, salt, SIZE: tl.constexpr):
    """The mask depends on clock, the number of the update, and salt, the number of the mask within the update."""
    element = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    keep = element < size
    drawn = tl.rand(tl.load(clock) * 64 + salt, element)
    value = tl.load(x + element, keep, 0)
    tl.store(out + element, tl.where(drawn < p, 0.0, value.to(tl.float32) * scale).to(out.dtype.element_ty), keep)


@triton.jit
def _draw(rows, limit, clock, salt, out, SIZE: tl.constexpr):
    """out [rows] (int64): uniform integers below *limit."""
    element = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    most = tl.load(limit)
    drawn = (tl.rand(tl.load(clock) * 64 + salt, element) * most).to(tl.int64)
    tl.store(out + element, tl.minimum(drawn, most - 1), element < rows)


@triton.jit
def _adam(size, weight, gradient, first, second, average, scalars, beta1, beta2, epsilon, SIZE: tl.constexpr):
    """scalars: learning rate (with bias correction of the first moment), bias correction of the second moment, factor
    of the gradient, share of the new weights in the average."""
    i = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    keep = i < size
    rate, correction, factor, share = tl.load(scalars), tl.load(scalars + 1), tl.load(scalars + 2), tl.load(scalars + 3)
    g = tl.load(gradient + i, keep, 0) * factor
    m = tl.load(first + i, keep, 0)
    v = tl.load(second + i, keep, 0)
    w = tl.load(weight + i, keep, 0)
    mean = tl.load(average + i, keep, 0)
    m += (1 - beta1) * (g - m)
    v += (1 - beta2) * (g * g - v)
    w -= rate * m / (tl.sqrt(v) * correction + epsilon)
    tl.store(first + i, m, keep)
    tl.store(second + i, v, keep)
    tl.store(weight + i, w, keep)
    tl.store(average + i, mean + share * (w - mean), keep)


def programs(size: int) -> tuple[int]:
    return (triton.cdiv(size, ELEMENTS),)


def attending(tokens: int) -> dict[str, int]:
    """T and PART: tiles of 4,096 elements, or 8,192 for long sentences."""
    padded = max(16, triton.next_power_of_2(tokens))
    return {"T": padded, "PART": 128 if padded <= 32 else 64, "num_warps": 4 if padded <= 64 else 8}


class GpuKernels(Kernels):
    """The kernels of a device. clock [1] (int64, on the device): the number of the update, from which all masks are
    derived."""

    rows = 1 << 30

    def __init__(self, clock: Tensor) -> None:
        self.dtype, self.clock, self.salt = torch.bfloat16, clock, 0

    def chosen(self, real: Tensor) -> slice:
        """Selects all positions: only the device knows the number of real ones."""
        return slice(None)

    def seed(self) -> int:
        self.salt += 1
        return self.salt

    def columns(self, x: Tensor) -> Tensor:
        return x.flatten(0, -2).sum(0, dtype=torch.float32)

    def call(self, name: str, *arguments: Tensor | int | float | None) -> Tensor | None:
        return getattr(self, name)(*arguments)

    def gru_forward(self, rows: int, hidden: int, x: Tensor, u: Tensor, bx: Tensor, bu: Tensor, h: Tensor,
                    out: Tensor) -> None:
        _gru_forward[programs(rows * hidden)](rows, hidden, x, u, bx, bu, h, out, SIZE=ELEMENTS)

    def gru_backward(self, rows: int, hidden: int, x: Tensor, u: Tensor, bx: Tensor, bu: Tensor, h: Tensor,
                     more: Tensor | None, last: Tensor | None, carry: Tensor, dx: Tensor, du: Tensor) -> None:
        _gru_backward[programs(rows * hidden)](rows, hidden, x, u, bx, bu, h, x if more is None else more,
                                               x if last is None else last, carry, dx, du,
                                               MORE=more is not None, LAST=last is not None, SIZE=ELEMENTS)

    def attend_forward(self, rows: int, tokens: int, keys_size: int, values_size: int, q: Tensor, keys: Tensor,
                       values: Tensor, lengths: Tensor, a: Tensor, c: Tensor, _: Tensor) -> None:
        _attend_forward[(rows,)](tokens, q, keys, values, lengths, a, c, A=keys_size, C=values_size,
                                 **attending(tokens))

    def attend_backward(self, rows: int, tokens: int, keys_size: int, values_size: int, keys: Tensor, values: Tensor,
                        lengths: Tensor, a: Tensor, dc: Tensor,
                        more: Tensor, da: Tensor, de: Tensor, dq: Tensor, *_: Tensor) -> None:
        _attend_backward[(rows,)](tokens, keys, values, lengths, a, dc, more, da, de, dq, A=keys_size, C=values_size,
                                  **attending(tokens))

    def cross_entropy(self, rows: int, size: int, logits: Tensor, bias: Tensor, wanted: Tensor, smoothing: float,
                      _: Tensor, plain: Tensor) -> Tensor:
        losses, plains = (logits.new_empty(rows, dtype=torch.float32) for _ in range(2))
        _cross_entropy[(rows,)](size, logits, bias, wanted, smoothing, losses, plains, V=triton.next_power_of_2(size),
                                num_warps=8)
        plain.copy_(plains.sum())
        return losses.sum()

    def drop(self, size: int, x: Tensor, out: Tensor, p: int, scale: float, seed: int) -> None:
        """p: dropout probability times 2^32, as in C."""
        _drop[programs(size)](size, x, out, p / 2**32, scale, self.clock, seed, SIZE=ELEMENTS)

    def draw(self, limit: Tensor, out: Tensor) -> None:
        _draw[programs(len(out))](len(out), limit, self.clock, self.seed(), out, SIZE=ELEMENTS)

    def adam(self, size: int, weight: Tensor, gradient: Tensor, first: Tensor, second: Tensor, average: Tensor,
             scalars: Tensor, beta1: float, beta2: float, epsilon: float) -> None:
        _adam[programs(size)](size, weight, gradient, first, second, average, scalars, beta1, beta2, epsilon,
                              SIZE=ELEMENTS)
