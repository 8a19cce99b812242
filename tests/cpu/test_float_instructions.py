"""Approximate functions, literals, and products that are not fused with a sum."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import exact
import numpy as np
import pytest
from cpu_harness import Runner
from exact import F32, F64, Format
from properties import ROWS, Table, check_tables, generator, numbers, same_number
from test_float_properties import flushing

SOME = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rcp": lambda x: 1 / x,
}


def approximated(function: Callable[[float], float], *codes: int) -> int:
    """A function of f32 in f64, rounded."""
    with np.errstate(all="ignore"):
        values = [np.uint32(code).view(np.float32).astype(np.float64) for code in codes]
        return int(np.float32(function(*values)).view(np.uint32))


def close(got: int, want: int) -> bool:
    return exact.ulps(F32, got, want) <= 2


def close_below_one(got: int, want: int) -> bool:
    """For sine and cosine, near a root of which a small error is many digits."""
    difference = abs(np.subtract(*(np.uint32(code).view(np.float32) for code in (got, want))))
    return close(got, want) or bool(difference < 1e-9)


@pytest.mark.parametrize("cpu", ["generic", "x86-64-v3"])
def test_approximate_functions_are_at_least_as_exact_as_a_gpu(run_ptx: Runner, cpu: str) -> None:
    a = numbers("approximate", F32)
    table = Table((a, numbers("divisor", F32)), 32)
    angles = generator("angles").uniform(-1e5, 1e5, ROWS).astype(np.float32)
    angles[::2] = np.linspace(-7, 7, ROWS // 2)
    angles[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 1e-40, np.pi, np.pi / 2]
    turns = Table((angles.view(np.uint32),), 32)
    for name, function in SOME.items():
        want = partial(approximated, function)
        of_one = lambda a, b=0, want=want: want(a)  # noqa: E731
        target = turns if name in ("sin", "cos") else table
        agrees = close_below_one if name in ("sin", "cos") else close
        if name != "tanh":
            target.add(f"{name}.approx.ftz.f32 %d, %a;", flushing(F32, of_one), agrees)
        target.add(f"{name}.approx.f32 %d, %a;", of_one, agrees)
    for name in ("div.approx", "div.full"):
        want = partial(exact.divide, F32, "rn")
        table.add(f"{name}.f32 %d, %a, %b;", want, close)
        table.add(f"{name}.ftz.f32 %d, %a, %b;", flushing(F32, want), close)
    wide = Table((numbers("double", F64),), 64)
    reciprocal = partial(exact.reciprocal, F64, "rn")
    wide.add("rcp.approx.ftz.f64 %d, %a;", flushing(F64, reciprocal), same_number(F64))
    check_tables(run_ptx, [table, turns, wide], cpu)


def mild(name: str, f: Format) -> np.ndarray:
    """Numbers near one, where a fused sum is another than one of two roundings."""
    kind, bits = (np.float32, np.uint32) if f is F32 else (np.float64, np.uint64)
    return generator(name).standard_normal(ROWS).astype(kind).view(bits)


@pytest.mark.parametrize("f", [F32, F64], ids=lambda f: f.name)
@pytest.mark.parametrize(("of_product", "of_sum"), [("", ".rn"), (".rn", ""), (".rn", ".rn")])
def test_a_product_and_a_sum_of_which_one_is_rounded_are_not_fused(
    run_ptx: Runner, f: Format, of_product: str, of_sum: str
) -> None:
    table = Table([mild(f"{letter} {f.name}", f) for letter in "abc"], f.bits)
    for name, operation in (("add", exact.add), ("sub", exact.subtract)):
        table.add(
            f"mul{of_product}.{f.name} %d, %a, %b; {name}{of_sum}.{f.name} %d, %d, %c;",
            lambda a, b, c, op=operation: op(f, "rn", exact.multiply(f, "rn", a, b), c),
        )
    check_tables(run_ptx, [table], "x86-64-v3")


def test_literals_of_another_width_are_converted(run_ptx: Runner) -> None:
    single, double = Table((numbers("x", F32),), 32), Table((numbers("x", F64),), 64)
    three_halves, infinity = F32.encode(exact.Fraction(3, 2)), F32.infinity
    single.add(
        "add.f32 %d, %a, 1.5;", lambda a: exact.add(F32, "rn", a, three_halves), same_number(F32)
    )
    single.add("min.f32 %d, %a, 1e300;", lambda a: exact.least(F32, a, infinity), same_number(F32))
    one = F64.encode(exact.Fraction(1))
    double.add(
        "add.f64 %d, %a, 0f3F800000;", lambda a: exact.add(F64, "rn", a, one), same_number(F64)
    )
    check_tables(run_ptx, [single, double])
