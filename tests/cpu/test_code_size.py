"""How much machine code LLVM makes of kernels: it is what compiling them takes."""

from __future__ import annotations

import numpy as np
from cpu_harness import Launch, compile_cuda, compile_model, model_text

UNROLLED = 8


def code_size(body: str, *, unrolled: int = UNROLLED) -> int:
    """Bytes of a module with one kernel of 64 threads that adds up what statements make of `x`."""
    statements = "\n".join(body.replace("#", str(i)) for i in range(unrolled))
    source = f"""
    extern "C" __global__ void k(float* y, int n) {{
      int i = threadIdx.x;
      float x = y[i], sum = 0;
      x += __shfl_xor_sync(~0u, x, 1);  // so that a warp runs as one
      {statements}
      y[i] = sum;
    }}"""
    launch = Launch("k", [np.zeros(64, np.float32)], [0], [64])
    return len(compile_model(model_text(compile_cuda(source), [launch], "x86-64-v3")))


def test_vectors_are_not_taken_apart_to_convert_them() -> None:
    size = code_size("sum += exp2f(x + #) * __sinf(x * #) + (__float2int_rn(x * #) ^ int(sum));")
    assert size < 75_000  # 107 177 bytes with LLVM's conversions that saturate, 51 657 without
