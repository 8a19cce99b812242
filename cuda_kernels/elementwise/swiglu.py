"""SwiGLU, silu(gate) * up: the declarations for `swiglu.cu`."""

from __future__ import annotations

from functools import partial

import custom_dispatch as cd
from cuda_kernels.elementwise.glu import declare_gated
from cuda_kernels.elementwise.launch import PACKS, THREADS
from cuda_kernels.shared.lazily import TYPES, lazily


def declare(dtype: str, threads: int = THREADS, packs: int = PACKS) -> cd.Kernel:
    """The kernel for an element type."""
    return declare_gated("swiglu", "swiglu.cu", "silu", dtype, threads, packs)


__getattr__, __dir__ = lazily(
    globals(), {f"swiglu_{dtype}": partial(declare, dtype) for dtype in TYPES}
)
