"""Floating-point arithmetic and conversions against what the PTX manual says of them."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from cpu_harness import Runner
from instruction_kernels import Case, check, floats, flushed, integers, pairs

F16, F32, F64 = np.float16, np.float32, np.float64
U16, U32, S32, S64 = np.uint16, np.uint32, np.int32, np.int64
A, B = pairs(floats(F32))
C = floats(F32)[::-1].copy()
DA, DB = pairs(floats(F64))
DC = floats(F64)[::-1].copy()
NICE = np.concatenate([A[np.isfinite(A) & (np.abs(A) < 1e4)], np.linspace(-8, 8, 256)])
RANDOM = np.random.default_rng(2)
NICE = NICE[: len(NICE) // 64 * 64].astype(F32)


def fma32(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Exact product and sum in integers, rounded once; NaN and infinities as f64 gives them."""
    out = []
    for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True):
        rough = np.float64(x) * np.float64(y) + np.float64(z)
        out.append(F32(rough) if not np.isfinite(rough) else _rounded(x, y, z, rough))
    return np.array(out, F32)


def _rounded(x: float, y: float, z: float, rough: float) -> np.float32:
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    near = F32(rough)
    if not np.isfinite(near) or exact == 0:
        return near
    candidates = [np.nextafter(near, F32(-np.inf)), near, np.nextafter(near, F32(np.inf))]
    finite = [c for c in candidates if np.isfinite(c)]
    return min(
        finite,
        key=lambda c: (abs(Fraction(float(c)) - exact), int(np.array(c).view(U32)) & 1),
    )


def clamp(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), 0, np.clip(x, 0, 1)) + 0.0


def ordered(minimum: bool):  # type: ignore[no-untyped-def]
    """Min or max where NaN loses and -0 is below +0."""

    def want(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        first_less = (a < b) | ((a == b) & np.signbit(a))
        chosen = np.where(first_less == minimum, a, b)
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, chosen))

    return want


def test_f32_and_f64_arithmetic(run_ptx: Runner) -> None:
    cases = []
    for kind, a, b, c, dtype in (("f32", A, B, C, F32), ("f64", DA, DB, DC, F64)):
        fma = fma32 if kind == "f32" else None
        for name, function in {
            "add.rn": np.add,
            "sub.rn": np.subtract,
            "mul.rn": np.multiply,
            "div.rn": np.divide,
            "min": ordered(True),
            "max": ordered(False),
        }.items():
            cases.append(
                Case(f"{name}.{kind}", f"{name}.{kind} %d, %a, %b;", (a, b), function, dtype)
            )
        for name, function in {
            "abs": np.abs,
            "neg": np.negative,
            "sqrt.rn": np.sqrt,
            "rcp.rn": np.reciprocal,
        }.items():
            cases.append(Case(f"{name}.{kind}", f"{name}.{kind} %d, %a;", (a,), function, dtype))
        if fma:
            cases.append(Case("fma", "fma.rn.f32 %d, %a, %b, %c;", (a, b, c), fma, dtype))
        text = f"copysign.{kind} %d, %a, %b;"
        cases.append(
            Case(text, text, (a, b), lambda x, y: np.copysign(y, x), dtype),
        )
    cases += [
        Case("sat", "add.sat.f32 %d, %a, %b;", (A, B), lambda a, b: clamp(a + b), F32),
        Case(
            "min.NaN",
            "min.NaN.f32 %d, %a, %b;",
            (A, B),
            lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, ordered(True)(a, b)),
            F32,
        ),
        Case(
            "a product and a sum are not fused",
            "mul.rn.f32 %d, %a, %b; add.rn.f32 %d, %d, %c;",
            tuple(RANDOM.standard_normal((3, 256), dtype=F32)),
            lambda a, b, c: a * b + c,
            F32,
        ),
    ]
    for cpu in ("generic", "x86-64-v3"):
        check(run_ptx, cases, cpu)


def towards(rounding: str, exact: Fraction) -> np.float32:
    """The f32 next to an exact number on the side that the rounding takes."""
    near = F32(float(exact))
    up = rounding == "rp" or (rounding == "rz" and exact < 0)
    if up:
        return near if Fraction(float(near)) >= exact else np.nextafter(near, F32(np.inf))
    return near if Fraction(float(near)) <= exact else np.nextafter(near, F32(-np.inf))


def test_directed_rounding_of_sums_and_products(run_ptx: Runner) -> None:
    x, y, z = RANDOM.standard_normal((3, 256), dtype=F32)
    z[:64] *= F32(1e-12)
    z[64:128] *= F32(1e12)
    cases = []
    for rounding in ("rz", "rm", "rp"):
        for name, count, function in (
            ("add", 2, lambda a, b: a + b),
            ("sub", 2, lambda a, b: a - b),
            ("mul", 2, lambda a, b: a * b),
            ("fma", 3, lambda a, b, c: a * b + c),
        ):
            text = f"{name}.{rounding}.f32 %d, %a, %b{', %c' if count == 3 else ''};"

            def want(*sources, rounding=rounding, function=function):  # type: ignore[no-untyped-def]
                rows = zip(*(source.tolist() for source in sources), strict=True)
                return np.array([towards(rounding, function(*map(Fraction, r))) for r in rows])

            sources = (x, y, z) if count == 3 else (x, z)
            cases.append(Case(text, text, sources, want, F32))
    for cpu in ("generic", "x86-64-v3"):
        check(run_ptx, cases, cpu)


def test_comparisons_tell_ordered_from_unordered(run_ptx: Runner) -> None:
    unordered = np.isnan(A) | np.isnan(B)
    cases = []
    for name, function in {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }.items():
        for suffix, nan in (("", False), ("u", True)):
            text = f"setp.{name}{suffix}.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;"

            def want(a, b, function=function, nan=nan):  # type: ignore[no-untyped-def]
                return np.where(unordered, nan, function(a, b))

            cases.append(Case(text, text, (A, B), want, U32))
    for name, function in {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(F32).tiny),
        "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(F32).tiny),
    }.items():
        text = f"testp.{name}.f32 %p, %a; selp.b32 %d, 1, 0, %p;"
        cases.append(Case(text, text, (A,), function, U32))
    check(run_ptx, cases)


@pytest.mark.parametrize("cpu", ["generic", "x86-64-v3"])
def test_approximate_functions_are_at_least_as_exact_as_a_gpu(run_ptx: Runner, cpu: str) -> None:
    def on_f64(function):  # type: ignore[no-untyped-def]
        return lambda a: function(a.astype(F64)).astype(F32)

    def unary(name: str, function, values: np.ndarray, **tolerance: float) -> Case:  # type: ignore[no-untyped-def]
        text = f"{name} %d, %a;"
        return Case(name, text, (values,), on_f64(function), F32, **tolerance)

    check(
        run_ptx,
        [
            unary("ex2.approx.ftz.f32", np.exp2, A, rtol=1e-7, atol=1e-45),
            unary("lg2.approx.f32", np.log2, A, rtol=2e-7),
            unary("sin.approx.f32", np.sin, NICE, rtol=2e-7, atol=1e-9),
            unary("cos.approx.f32", np.cos, NICE, rtol=2e-7, atol=1e-9),
            unary("tanh.approx.f32", np.tanh, A, rtol=2e-7),
            unary("sqrt.approx.f32", np.sqrt, A, rtol=1e-7),
            unary("rsqrt.approx.f32", lambda a: 1 / np.sqrt(a), A, rtol=2e-7),
            unary("rcp.approx.ftz.f32", lambda a: 1 / a, A, rtol=1e-7, atol=1e-38),
            Case("div.full.f32", "div.full.f32 %d, %a, %b;", (A, B), np.divide, F32, rtol=1e-7),
        ],
        cpu,
    )


def to_integer(bits: int, signed: bool, rounding, *, nan_is_zero: bool):  # type: ignore[no-untyped-def]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)

    def one(x: float) -> int:
        if math.isnan(x):
            return 0 if nan_is_zero else (-(1 << (bits - 1)) if signed else 1 << (bits - 1))
        if math.isinf(x):
            return high if x > 0 else low
        return min(max(int(rounding(x)), low), high)

    return lambda a: np.array([one(float(x)) for x in a], object)


def test_conversions_to_integers_saturate(run_ptx: Runner) -> None:
    cases = []
    for kind, values in (("f32", A), ("f64", DA)):
        for target, bits, signed, result in (
            ("s32", 32, True, S32),
            ("u32", 32, False, U32),
            ("s64", 64, True, S64),
            ("u64", 64, False, np.uint64),
            ("s8", 8, True, S32),
            ("u8", 8, False, U32),
            ("s16", 16, True, np.int16),
        ):
            for name, rounding in (
                ("rni", np.rint),
                ("rzi", np.trunc),
                ("rmi", np.floor),
                ("rpi", np.ceil),
            ):
                text = f"cvt.{name}.{target}.{kind} %d, %a;"
                zero = kind == "f32" and bits < 64
                want = to_integer(bits, signed, rounding, nan_is_zero=zero)
                cases.append(Case(text, text, (values,), want, result))
    check(run_ptx, cases)


def towards_zero(values: np.ndarray) -> np.ndarray:
    """F64 cut off to f32."""
    near = values.astype(F32)
    beyond = np.abs(near.astype(F64)) > np.abs(values)
    return np.where(beyond, np.nextafter(near, F32(0)), near)


def test_conversions_from_integers_and_between_floats(run_ptx: Runner) -> None:
    ints, longs = integers(S32), integers(S64)
    cases = [
        Case("f32.s32", "cvt.rn.f32.s32 %d, %a;", (ints,), lambda a: a.astype(F32), F32),
        Case("f32.u32", "cvt.rn.f32.u32 %d, %a;", (ints,), lambda a: a.view(U32).astype(F32), F32),
        Case("f32.s64", "cvt.rn.f32.s64 %d, %a;", (longs,), lambda a: a.astype(F32), F32),
        Case("f64.s64", "cvt.rn.f64.s64 %d, %a;", (longs,), lambda a: a.astype(F64), F64),
        Case("f64.u32", "cvt.rn.f64.u32 %d, %a;", (ints,), lambda a: a.view(U32).astype(F64), F64),
        Case(
            "f32.s32 rz",
            "cvt.rz.f32.s32 %d, %a;",
            (ints,),
            lambda a: towards_zero(a.astype(F64)),
            F32,
        ),
        Case("f16.s32", "cvt.rn.f16.s32 %d, %a;", (ints,), lambda a: a.astype(F16), F16),
        Case("f64.f32", "cvt.f64.f32 %d, %a;", (A,), lambda a: a.astype(F64), F64),
        Case("f32.f64", "cvt.rn.f32.f64 %d, %a;", (DA,), lambda a: a.astype(F32), F32),
        Case("f32.f64 rz", "cvt.rz.f32.f64 %d, %a;", (DA,), towards_zero, F32),
        Case("rni.f32", "cvt.rni.f32.f32 %d, %a;", (A,), np.rint, F32),
        Case("rmi.f32", "cvt.rmi.f32.f32 %d, %a;", (A,), np.floor, F32),
        Case("rpi.f64", "cvt.rpi.f64.f64 %d, %a;", (DA,), np.ceil, F64),
        Case("sat.f32", "cvt.sat.f32.f32 %d, %a;", (A,), clamp, F32),
        Case("f16.f32", "cvt.rn.f16.f32 %d, %a;", (A,), lambda a: a.astype(F16), F16),
        Case("f16.f64", "cvt.rn.f16.f64 %d, %a;", (DA,), lambda a: a.astype(F16), F16),
        Case("f32.f16", "cvt.f32.f16 %d, %a;", (floats(F16),), lambda a: a.astype(F32), F32),
        Case(
            "s32.f16",
            "cvt.rzi.s32.f16 %d, %a;",
            (floats(F16),),
            to_integer(32, True, np.trunc, nan_is_zero=True),
            S32,
        ),
    ]
    check(run_ptx, cases)


def bfloat(values: np.ndarray) -> np.ndarray:
    """Bits of f32 values rounded to bfloat16, with the GPU's NaN."""
    rounded = flushed(values.astype(F32)).astype(ml_dtypes.bfloat16)
    return np.where(np.isnan(values), 0x7FFF, rounded.view(U16))


def wide(bits: np.ndarray) -> np.ndarray:
    return bits.view(ml_dtypes.bfloat16).astype(F32)


def on_pairs(function):  # type: ignore[no-untyped-def]
    """A reference on f16 applied to both halves of 32 bits."""

    def want(*sources):  # type: ignore[no-untyped-def]
        halves = [source.view(F16) for source in sources]
        return function(*halves).astype(F16).view(U32)

    return want


def test_half_precision(run_ptx: Runner) -> None:
    ha, hb = pairs(floats(F16))
    hc = floats(F16)[::-1].copy()
    random = np.random.default_rng(11)
    # finite numbers only where bits are compared, as NaN has many
    pa, pb, pc = (random.standard_normal(512).astype(F16).view(U32) for _ in range(3))
    ba, bb, bc = (bfloat(x).astype(U16) for x in (A, B, C))

    def fma16(a, b, c):  # type: ignore[no-untyped-def]
        # a 22-digit product and an 11-digit number: longdouble's 64 digits decide every rounding
        # here, the values lying within 2^40 of each other
        return (a.astype(np.longdouble) * b + c).astype(F16)

    def bf16(function):  # type: ignore[no-untyped-def]
        return lambda *sources: bfloat(function(*(wide(s).astype(F64) for s in sources)))

    cases = [
        Case("add.f16", "add.f16 %d, %a, %b;", (ha, hb), np.add, F16),
        Case("sub.f16", "sub.f16 %d, %a, %b;", (ha, hb), np.subtract, F16),
        Case("mul.f16", "mul.f16 %d, %a, %b;", (ha, hb), np.multiply, F16),
        Case("fma.f16", "fma.rn.f16 %d, %a, %b, %c;", (ha, hb, hc), fma16, F16),
        Case("min.f16", "min.f16 %d, %a, %b;", (ha, hb), ordered(True), F16),
        Case("neg.f16", "neg.f16 %d, %a;", (ha,), np.negative, F16),
        Case("abs.f16", "abs.f16 %d, %a;", (ha,), np.abs, F16),
        Case("setp.f16", "setp.lt.f16 %p, %a, %b; selp.b32 %d, 1, 0, %p;", (ha, hb), np.less, U32),
        Case("add.f16x2", "add.f16x2 %d, %a, %b;", (pa, pb), on_pairs(np.add), U32),
        Case("fma.f16x2", "fma.rn.f16x2 %d, %a, %b, %c;", (pa, pb, pc), on_pairs(fma16), U32),
        Case("max.f16x2", "max.f16x2 %d, %a, %b;", (pa, pb), on_pairs(np.maximum), U32),
        Case("cvt.bf16", "cvt.rn.bf16.f32 %d, %a;", (A,), bfloat, U16),
        Case("cvt.f32.bf16", "cvt.f32.bf16 %d, %a;", (ba,), wide, F32),
        Case("add.bf16", "add.rn.bf16 %d, %a, %b;", (ba, bb), bf16(np.add), U16),
        Case("mul.bf16", "mul.rn.bf16 %d, %a, %b;", (ba, bb), bf16(np.multiply), U16),
        Case(
            "fma.bf16",
            "fma.rn.bf16 %d, %a, %b, %c;",
            (ba, bb, bc),
            bf16(lambda a, b, c: a * b + c),
            U16,
        ),
        Case(
            "cvt.f16x2",
            "cvt.rn.f16x2.f32 %d, %a, %b;",
            (NICE, NICE[::-1].copy()),
            lambda a, b: a.astype(F16).view(U16).astype(U32) << 16 | b.astype(F16).view(U16),
            U32,
        ),
    ]
    for cpu in ("generic", "x86-64-v3"):
        check(run_ptx, cases, cpu)


def test_literals_of_another_width_are_converted(run_ptx: Runner) -> None:
    check(
        run_ptx,
        [
            Case("decimal", "add.f32 %d, %a, 1.5;", (A,), lambda a: a + F32(1.5), F32),
            Case("huge", "min.f32 %d, %a, 1e300;", (A,), lambda a: np.fmin(a, np.inf), F32),
            Case("single", "add.f64 %d, %a, 0f3F800000;", (DA,), lambda a: a + 1, F64),
        ],
    )
