"""Choices that are made as a model runs, and any leading dims, on a GPU.

Run where there are a GPU, PyTorch with CUDA, and this package with its compilers:

    python tests/gpu/choices.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from cuda_kernels.norms import rms_norm_f32
from custom_dispatch.errors import CallError
from gpu.each import run_each

# What each kernel multiplies by says which one it was.
SOURCE = """
extern "C" __global__ void quarters(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * 4;
}
extern "C" __global__ void few(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * 3;
}
"""
KIND = "tensor<?xf32>"
TARGETS = cd.DEFAULT_TARGETS
CALLS = 50
n = cd.dim("n")
directory = tempfile.TemporaryDirectory()
source = Path(directory.name) / "choice.cu"
source.write_text(SOURCE)


def _kernel(name: str, *requires: Any) -> cd.Kernel:
    operands = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("n", "i32", n)]
    return cd.Kernel(name, source=source, operands=operands, block=64, grid=1, requires=requires)


SCALE = cd.Choice("scale", [_kernel("quarters", n % 4 == 0), _kernel("few", n <= 7)])


def _model(name: str, calls: int) -> str:
    lines = [
        f"  %v{i + 1} = call @{name}(%v{i}) : ({KIND}) -> {KIND}\n  %z{i} = arith.mulf %v{i + 1}, "
        f"%v{i + 1} : {KIND}"
        for i in range(calls)
    ]
    return "\n".join(
        [
            f"func.func private @{name}({KIND}) -> {KIND}",
            f"func.func @main(%v0: {KIND}) -> ({KIND}, {KIND}) {{",
            *lines,
            f"  return %v{calls}, %z{calls - 1} : {KIND}, {KIND}",
            "}",
        ]
    )


def a_choice_is_made_as_the_model_runs() -> None:
    program = cd.load(cd.compile(_model("scale", 2), SCALE, TARGETS), "cuda")
    for size, factor in ((8, 4), (7, 3), (4, 4), (1, 3), (1 << 20, 4), (0, 0)):
        x = torch.rand(size, device="cuda")
        last, squares = (torch.from_dlpack(result) for result in program.main(x))
        torch.testing.assert_close(last, x * factor * factor, rtol=0, atol=0)
        torch.testing.assert_close(squares, last * last)
    with pytest.raises(CallError, match="no kernel takes these sizes"):
        program.main(torch.rand(9, device="cuda"))
    # Nothing is left behind by what was not launched.
    assert float(torch.from_dlpack(program.main(torch.ones(8, device="cuda"))[0])[0]) == 16


def a_choice_is_called_at_once_and_as_an_operator() -> None:
    operator = cd.torch.register(SCALE)
    for size, factor in ((8, 4), (7, 3)):
        x = torch.rand(size, device="cuda")
        result = SCALE(x)
        assert result.__cuda_array_interface__["data"][0] % 16 == 0
        torch.testing.assert_close(torch.from_dlpack(result), x * factor, rtol=0, atol=0)
        torch.testing.assert_close(operator(x), x * factor, rtol=0, atol=0)
        out = torch.full_like(x, float("nan"))
        assert SCALE(x, out=out) is out
        torch.testing.assert_close(out, x * factor, rtol=0, atol=0)


def what_is_not_taken_costs_little() -> None:
    one = _kernel("quarters")
    programs = [
        cd.load(cd.compile(_model(name, CALLS), kernels, TARGETS), "cuda")
        for name, kernels in (("quarters", one), ("scale", SCALE))
    ]
    x = torch.zeros(1024, device="cuda")
    medians = []
    for program in programs:
        given, times = program.to_device(x), []
        for _ in range(60):
            start = time.perf_counter()
            program.main(given)
            times.append(time.perf_counter() - start)
        medians.append(float(np.median(times[10:])) * 1e6)
    print(
        f"   {CALLS} calls of a kernel in a function {medians[0]:.0f} us, of a choice of two "
        f"{medians[1]:.0f} us: {(medians[1] - medians[0]) / CALLS:.2f} us a call"
    )
    assert medians[1] < 3 * medians[0]


def leading_dims_are_not_copied() -> None:
    program = cd.load(cd.compile(None, rms_norm_f32, TARGETS), "cuda")
    weight = torch.rand(64, device="cuda")
    for shape in ((2, 3, 64), (6, 64), (64,), (1, 5, 1, 64), (0, 3, 64)):
        x = torch.rand(shape, device="cuda")
        wanted = torch.nn.functional.rms_norm(x, (64,), weight, 1e-5)
        for call in (program.rms_norm_f32, rms_norm_f32):
            result = torch.from_dlpack(call(x, weight, 1e-5))
            assert result.shape == shape
            torch.testing.assert_close(result, wanted)
        out = torch.full_like(x, float("nan"))
        assert program.rms_norm_f32(x, weight, 1e-5, out=out) is out
        torch.testing.assert_close(out, wanted)


CASES = (
    a_choice_is_made_as_the_model_runs,
    a_choice_is_called_at_once_and_as_an_operator,
    what_is_not_taken_costs_little,
    leading_dims_are_not_copied,
)


def main() -> int:
    """Run every case."""
    return run_each(CASES, tuple)


if __name__ == "__main__":
    sys.exit(main())
