"""The element-wise arithmetic of training in C (weights/training/kernels.c), called with PyTorch's tensors.

It compiles the C file on first use, for the local processor, into build/.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

SOURCE = Path(__file__).with_name("kernels.c")
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", "-shared",
         "-fPIC"]


def processor_multiplies_bfloat16() -> bool:
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.exists() and " avx512_bf16 " in cpuinfo.read_text(encoding="ascii", errors="replace")


def compiled(half: bool) -> ctypes.CDLL:
    """Loads the C library for bfloat16 (half) or float32 activations; compiles it if it is older than its source."""
    folder = Path(os.environ.get("ALIGND_BUILD", SOURCE.parents[2] / "build"))
    library = folder / f"kernels-{'bfloat16' if half else 'float32'}.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = library.with_suffix(f".{os.getpid()}")
        subprocess.run([os.environ.get("CC", "cc"), *FLAGS, *(["-DREAL16"] if half else []), str(SOURCE), "-o",
                        str(temporary), "-lm"], check=True)
        temporary.replace(library)
    loaded = ctypes.CDLL(str(library))
    loaded.cross_entropy.restype = ctypes.c_double
    return loaded


def address(tensor: Tensor | None) -> ctypes.c_void_p:
    assert tensor is None or tensor.is_contiguous()
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())


class Kernels:
    """The C functions on tensors, and the type of activations. rows: rows of the output layer per call."""

    rows = 256

    def __init__(self, half: bool) -> None:
        self.library, self.dtype = compiled(half), torch.bfloat16 if half else torch.float32

    def call(self, name: str, *arguments: Tensor | int | float | None) -> float | None:
        """Calls a C function: tensors become addresses, int long, others float."""
        convert = {int: ctypes.c_long, float: ctypes.c_float}
        return getattr(self.library, name)(*(convert[type(a)](a) if type(a) in convert else address(a)
                                             for a in arguments))

    def chosen(self, real: Tensor) -> Tensor:
        """real [S, B]: True for target tokens -> an index of the positions whose outputs are computed."""
        return real

    def seed(self) -> int:
        """A new seed for a dropout mask."""
        return int(torch.randint(2**31, ()))

    def columns(self, x: Tensor) -> Tensor:
        """x [N, size] -> its columns' sums [size], float32."""
        total = torch.zeros(x.shape[-1])
        self.call("add_columns", x.numel() // x.shape[-1], x.shape[-1], x, total)
        return total


@functools.cache
def plain_kernels() -> Kernels:
    """The kernels for float32."""
    return Kernels(half=False)


class Dropped(torch.autograd.Function):
    """Dropout with probability p. The mask is derived from a seed, so that the backward pass can redraw it."""

    @staticmethod
    def forward(context, kernels: Kernels, x: Tensor, p: float) -> Tensor:
        context.kernels, context.p, context.seed = kernels, p, kernels.seed()
        return Dropped.drawn(context, x.contiguous())

    @staticmethod
    def drawn(context, x: Tensor) -> Tensor:
        out = torch.empty_like(x)
        context.kernels.call("drop", x.numel(), x, out, int(context.p * 2**32), 1 / (1 - context.p), context.seed)
        return out

    @staticmethod
    def backward(context, gradient: Tensor):
        return None, Dropped.drawn(context, gradient.contiguous()), None


class Attended(torch.autograd.Function):
    """Attention with N heads. q [B, S, d]; keys, values [B, T, d]; seen [B, S]: the number of leading tokens that a
    step sees; lean [N, S, T] or None: added to the scores -> the heads' contexts, concatenated [B, S, d], weights [B,
    N, S, T]."""

    @staticmethod
    def forward(context, q: Tensor, keys: Tensor, values: Tensor, heads: int, seen: Tensor,
                lean: Tensor | None) -> tuple[Tensor, Tensor]:
        q, keys, values, seen = (part.contiguous() for part in (q, keys, values, seen))
        (sentences, steps, size), tokens = q.shape, keys.shape[1]
        weights, out = q.new_empty(sentences, heads, steps, tokens), torch.empty_like(q)
        context.sizes = sentences, steps, tokens, heads, size // heads
        plain_kernels().call("heads_forward", *context.sizes, q, keys, values, seen, lean, weights, out)
        context.save_for_backward(q, keys, values, seen, weights)
        context.set_materialize_grads(False)
        return out, weights

    @staticmethod
    def backward(context, of_out: Tensor | None, of_weights: Tensor | None):
        q, keys, values, seen, weights = context.saved_tensors
        gradients = [torch.zeros_like(part) for part in (q, keys, values)]
        of_out = torch.zeros_like(q) if of_out is None else of_out.contiguous()
        plain_kernels().call("heads_backward", *context.sizes, q, keys, values, seen, weights, of_out,
                             None if of_weights is None else of_weights.contiguous(), *gradients,
                             torch.empty(keys.shape[1]))
        return *gradients, None, None, None


def suits(x: Tensor) -> bool:
    """Whether the plain kernels can process the tensor."""
    return x.dtype == torch.float32 and x.device.type == "cpu"


class Dropout(nn.Module):
    """Replaces nn.Dropout, which takes more than ten times as long to draw masks on a CPU."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not suits(x):
            return functional.dropout(x, self.p, self.training)
        return Dropped.apply(plain_kernels(), x, self.p) if self.training and self.p > 0 else x
