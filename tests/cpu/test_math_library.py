"""CUDA's math library (libdevice, as the compiler puts it into kernels) against Python's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import exact
import numpy as np
import pytest
from cpu_harness import Launch, Runner, compile_cuda
from exact import F32, F64, Format
from properties import X86_64_V3, generator
from test_corpus import include_paths

COUNT = 192


@dataclass(frozen=True)
class Function:
    """A function of one or two numbers.

    Attributes
    ----------
    name
        Of f64; that of f32 has an `f` behind it.
    python
        The same in Python, good to about one ulp of f64.
    ulps
        How far the CUDA C++ Programming Guide lets f32 be off (section "Mathematical Functions
        Appendix"), and f64.
    low, high
        The range of arguments.
    """

    name: str
    python: Callable[..., float]
    ulps: tuple[int, int] = (2, 2)
    low: float = -10
    high: float = 10
    arguments: int = 1


FUNCTIONS = [
    Function("exp", math.exp, low=-80, high=80),
    Function("exp2", math.exp2, low=-100, high=100),
    Function("exp10", lambda x: 10.0**x, low=-30, high=30),
    Function("expm1", math.expm1, low=-5, high=50),
    Function("log", math.log, low=1e-30, high=1e30),
    Function("log2", math.log2, low=1e-30, high=1e30),
    Function("log10", math.log10, (3, 2), low=1e-30, high=1e30),
    Function("log1p", math.log1p, low=-0.99, high=100),
    Function("sin", math.sin, low=-1e5, high=1e5),
    Function("cos", math.cos, low=-1e5, high=1e5),
    Function("tan", math.tan, (4, 2), low=-1e5, high=1e5),
    Function("asin", math.asin, (2, 2), low=-1, high=1),
    Function("acos", math.acos, (2, 2), low=-1, high=1),
    Function("atan", math.atan),
    Function("sinh", math.sinh, (3, 2)),
    Function("cosh", math.cosh, (2, 2)),
    Function("tanh", math.tanh, (2, 2)),
    Function("asinh", math.asinh, (3, 3)),
    Function("acosh", math.acosh, (4, 3), low=1, high=1e4),
    Function("atanh", math.atanh, (3, 2), low=-0.999, high=0.999),
    Function("cbrt", math.cbrt, (2, 3), low=-1e3, high=1e3),
    Function("erf", math.erf, (2, 2), low=-4, high=4),
    Function("erfc", math.erfc, (4, 6), low=-4, high=8),
    Function("tgamma", math.gamma, (5, 11), low=0.1, high=30),
    Function("lgamma", math.lgamma, (6, 6), low=3.1, high=1e3),
    Function("rsqrt", lambda x: 1 / math.sqrt(x), low=1e-30, high=1e30),
    Function("sqrt", math.sqrt, (1, 1), low=0, high=1e30),
    Function("floor", lambda x: float(math.floor(x)), (0, 0)),
    Function("round", lambda x: math.copysign(math.floor(abs(x) + 0.5), x), (0, 0)),
    Function("pow", math.pow, (4, 3), low=0.1, high=20, arguments=2),
    Function("atan2", math.atan2, (3, 2), arguments=2),
    Function("hypot", math.hypot, (3, 2), arguments=2),
    Function("fmod", math.fmod, (0, 0), arguments=2),
    Function("remainder", math.remainder, (0, 0), arguments=2),
]


def source(functions: list[Function], suffix: str, kind: str) -> str:
    """A kernel for each function."""
    lines = []
    for f in functions:
        places = ", ".join(f"const {kind}* a{i}" for i in range(f.arguments))
        values = ", ".join(f"a{i}[t]" for i in range(f.arguments))
        lines.append(
            f'extern "C" __global__ void k_{f.name}({places}, {kind}* y) {{'
            f" int t = blockIdx.x * 64 + threadIdx.x; y[t] = {f.name}{suffix}({values}); }}"
        )
    return "\n".join(lines)


def operands(f: Function, dtype: type) -> list[np.ndarray]:
    """Numbers of the function's range, evenly or by their exponent."""
    random = generator(f"{f.name} {dtype}")
    found = []
    for _ in range(f.arguments):
        even = random.uniform(f.low, f.high, COUNT)
        if f.low > 0 and f.high / f.low > 1e4:
            even = np.exp(random.uniform(math.log(f.low), math.log(f.high), COUNT))
        found.append(even.astype(dtype))
    return found


def check(run_ptx: Runner, f: Format, functions: list[Function], cpu: str) -> None:
    suffix, kind, dtype = ("f", "float", np.float32) if f is F32 else ("", "double", np.float64)
    ptx = compile_cuda(source(functions, suffix, kind), "sm_90", include_paths())
    launches, inputs = [], []
    for function in functions:
        arrays = operands(function, dtype)
        inputs.append(arrays)
        out = np.zeros(COUNT, dtype)
        launches.append(
            Launch(f"k_{function.name}", [*arrays, out], [len(arrays)], grid=(COUNT // 64, 1, 1))
        )
    bits = np.uint32 if f is F32 else np.uint64
    wrong = []
    for function, arrays, (got,) in zip(
        functions, inputs, run_ptx(ptx, launches, cpu), strict=True
    ):
        limit = function.ulps[0 if f is F32 else 1]
        if f is F64 and limit:
            limit += 1  # what Python itself may be off
        for row, found in zip(zip(*arrays, strict=True), got, strict=True):
            want = dtype(function.python(*map(float, row)))
            distance = exact.ulps(f, int(found.view(bits)), int(want.view(bits)))
            if distance > limit:
                wrong.append(f"{function.name}{suffix}{row} = {found!r}, not {want!r}: {distance}")
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.parametrize("cpu", ["generic", X86_64_V3])
def test_functions_of_f32(run_ptx: Runner, cpu: str) -> None:
    check(run_ptx, F32, FUNCTIONS, cpu)


FEW = [f for f in FUNCTIONS if f.name in ("exp", "log", "atan", "erf", "pow", "fmod")]


@pytest.mark.parametrize(
    "functions", [FEW, pytest.param(FUNCTIONS, marks=pytest.mark.thorough)], ids=["few", "all"]
)
def test_functions_of_f64(run_ptx: Runner, functions: list[Function]) -> None:
    check(run_ptx, F64, functions, "x86-64-v3")


@pytest.mark.thorough
def test_functions_of_f64_where_products_and_sums_are_not_fused(run_ptx: Runner) -> None:
    check(run_ptx, F64, FEW[:4], "generic")
