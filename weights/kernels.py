"""The element-wise arithmetic of training in C (weights/kernels.c), called with PyTorch's tensors.

The C file is compiled when it is first needed, for the processor at hand, into build/.
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
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", "-shared", "-fPIC"]


def processor_multiplies_bfloat16() -> bool:
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.exists() and " avx512_bf16 " in cpuinfo.read_text(encoding="ascii", errors="replace")


def compiled(half: bool) -> ctypes.CDLL:
    """The C half, for bfloat16 or float32 activations; it is made anew where it is older than its source."""
    folder = Path(os.environ.get("ALIGND_BUILD", SOURCE.parents[1] / "build"))
    library = folder / f"kernels-{'bfloat16' if half else 'float32'}.so"
    if not library.exists() or library.stat().st_mtime < SOURCE.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = library.with_suffix(f".{os.getpid()}")
        subprocess.run([os.environ.get("CC", "cc"), *FLAGS, *(["-DREAL16"] if half else []), str(SOURCE), "-o", str(temporary), "-lm"], check=True)
        temporary.replace(library)
    loaded = ctypes.CDLL(str(library))
    loaded.cross_entropy.restype = ctypes.c_double
    return loaded


def address(tensor: Tensor | None) -> ctypes.c_void_p:
    assert tensor is None or tensor.is_contiguous()
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())


class Kernels:
    """The C functions on tensors, and the type of activations."""

    def __init__(self, half: bool) -> None:
        self.library, self.dtype = compiled(half), torch.bfloat16 if half else torch.float32

    def call(self, name: str, *arguments: Tensor | int | float | None) -> float | None:
        """Tensors become addresses, whole numbers long, others float."""
        convert = {int: ctypes.c_long, float: ctypes.c_float}
        return getattr(self.library, name)(*(convert[type(a)](a) if type(a) in convert else address(a) for a in arguments))

    def columns(self, x: Tensor) -> Tensor:
        """x [N, size] -> its columns' sums [size], float32."""
        total = torch.zeros(x.shape[-1])
        self.call("add_columns", x.numel() // x.shape[-1], x.shape[-1], x, total)
        return total


@functools.cache
def plain_kernels() -> Kernels:
    """Of float32."""
    return Kernels(half=False)


class Dropped(torch.autograd.Function):
    """Of probability p; what is dropped follows from a seed, so that backward draws it again."""

    @staticmethod
    def forward(context, kernels: Kernels, x: Tensor, p: float) -> Tensor:
        context.kernels, context.p, context.seed = kernels, p, int(torch.randint(2**31, ()))
        return Dropped.drawn(context, x.contiguous())

    @staticmethod
    def drawn(context, x: Tensor) -> Tensor:
        out = torch.empty_like(x)
        context.kernels.call("drop", x.numel(), x, out, int(context.p * 2**32), 1 / (1 - context.p), context.seed)
        return out

    @staticmethod
    def backward(context, gradient: Tensor):
        return None, Dropped.drawn(context, gradient.contiguous()), None


class Dropout(nn.Module):
    """PyTorch's, whose masks take a CPU 50 times as long to draw: a fifth of a transformer's training."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if x.dtype != torch.float32 or x.device.type != "cpu":
            return functional.dropout(x, self.p, self.training)
        return Dropped.apply(plain_kernels(), x, self.p) if self.training and self.p > 0 else x
