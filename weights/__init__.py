"""Training, export and evaluation of alignd's models (see weights/README.md).

Importing the package chooses threads and kernels before PyTorch loads OpenBLAS; every variable that the user has set is
left alone.
"""

import os
from pathlib import Path


def _choose_kernels() -> None:
    # The thread pools of OpenMP and OpenBLAS spin against each other, so only one of them gets the cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(os.cpu_count()))
    # OpenBLAS 0.3.21 mistakes newer processors for a Prescott (SSE3) and multiplies five times slower.
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists() and " avx512vl " in cpuinfo.read_text(encoding="ascii", errors="replace"):
        os.environ.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")


_choose_kernels()
