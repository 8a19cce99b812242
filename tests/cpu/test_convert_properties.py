"""`cvt`, every pair of types and every rounding, against exact arithmetic rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import exact
import numpy as np
import pytest
from cpu_harness import Runner
from exact import BF16, E4M3, E5M2, F16, F32, F64, Format
from properties import (
    GENERIC,
    X86_64_V3,
    Table,
    check_tables,
    generator,
    integers,
    numbers,
    same_number,
    signed,
)
from test_half_properties import both_halves

FLOATS = (F16, BF16, F32, F64)
ROUNDINGS = ("rn", "rz", "rm", "rp")
INTEGRAL: dict[str, Callable[[Fraction], int]] = {
    "rni": round,
    "rzi": math.trunc,
    "rmi": math.floor,
    "rpi": math.ceil,
}
INTEGERS = [f"{sign}{bits}" for bits in (8, 16, 32, 64) for sign in "su"]


def bounds(kind: str) -> tuple[int, int]:
    bits = int(kind[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)


def integer_value(kind: str, code: int) -> int:
    return signed(code, int(kind[1:])) if kind[0] == "s" else code & ((1 << int(kind[1:])) - 1)


def to_integer(f: Format, kind: str, rounding: str, code: int) -> int:
    """Saturated. NaN is zero, except where f64 or 64 bits are involved, as a GPU has it."""
    low, high = bounds(kind)
    value = f.decode(code)
    if f.is_nan(code):
        highest_bit = 1 << (int(kind[1:]) - 1)
        return integer_value(kind, highest_bit) if f is F64 or kind[1:] == "64" else 0
    if isinstance(value, float):
        return high if value > 0 else low
    return min(max(INTEGRAL[rounding](value), low), high)


def near_integers(f: Format) -> np.ndarray:
    """Half of the rows: integers and halves between them, up to the ends of the integer types."""
    random = generator(f"near integers {f.name}")
    found = numbers("integral", f)
    for row in range(0, len(found), 2):
        power = int(random.integers(0, 66))
        base = random.choice([0, 1 << power, int(random.integers(0, 1 << 62)) >> (power % 62)])
        value = Fraction(2 * int(base) + int(random.integers(-3, 4)), 2)
        found[row] = f.encode(value if random.random() < 0.5 else -value)
    return found


@pytest.mark.parametrize("cpu", [GENERIC, "x86-64-v3"])
def test_floats_to_integers(run_ptx: Runner, cpu: str) -> None:
    tables = []
    for f in FLOATS:
        found = {bits: Table((near_integers(f),), bits) for bits in (16, 32, 64)}
        for kind in INTEGERS:
            if f is BF16 and kind[1:] == "8":  # which takes a register of 8 bits
                continue
            bits = max(int(kind[1:]), 16)
            for rounding in INTEGRAL:
                want = partial(to_integer, f, kind, rounding)
                found[bits].add(f"cvt.{rounding}.{kind}.{f.name} %d, %a;", want)
                if f is F32 and kind == "s32":
                    flush = lambda a, want=want: want(F32.flushed(a))  # noqa: E731
                    found[bits].add(f"cvt.{rounding}.ftz.s32.f32 %d, %a;", flush)
        tables += list(found.values())
    check_tables(run_ptx, tables, cpu)


@pytest.mark.parametrize("cpu", [GENERIC, "x86-64-v3"])
def test_integers_to_floats(run_ptx: Runner, cpu: str) -> None:
    tables = []
    for kind in INTEGERS:
        bits = max(int(kind[1:]), 16)
        source = integers(kind, bits)
        for f in FLOATS:
            if f is BF16 and kind[1:] == "8":
                continue
            table = Table((source,), f.bits)
            for rounding in ROUNDINGS:

                def want(a: int, f: Format = f, rounding: str = rounding, kind: str = kind) -> int:
                    return f.encode(Fraction(integer_value(kind, a)), rounding)

                table.add(f"cvt.{rounding}.{f.name}.{kind} %d, %a;", want)
            if f is not BF16:  # PTX has none that saturates

                def clamped(a: int, f: Format = f, kind: str = kind) -> int:
                    return f.encode(Fraction(min(max(integer_value(kind, a), 0), 1)), "rn")

                table.add(f"cvt.rn.sat.{f.name}.{kind} %d, %a;", clamped)
            tables.append(table)
    check_tables(run_ptx, tables, cpu)


def converted(f: Format, to: Format, rounding: str, code: int) -> int:
    return to.encode(f.decode(code), rounding, negative_zero=f.is_negative(code))


def integral(f: Format, rounding: str, code: int) -> int:
    value = f.decode(code)
    if isinstance(value, Fraction):
        value = Fraction(INTEGRAL[rounding](value))
    return f.encode(value, negative_zero=f.is_negative(code))


def floats_to_floats() -> list[Table]:
    tables = []
    for f in FLOATS:
        for to in FLOATS:
            table, same = Table((near_integers(f),), to.bits), same_number(to)
            exact_one = to.bits > f.bits
            if exact_one or f is to:
                table.add(f"cvt.{to.name}.{f.name} %d, %a;", partial(converted, f, to, "rn"), same)
            if f is to:
                for rounding in INTEGRAL:
                    text = f"cvt.{rounding}.{to.name}.{f.name} %d, %a;"
                    table.add(text, partial(integral, f, rounding), same)
            elif not exact_one:
                for rounding in ROUNDINGS:
                    op = partial(converted, f, to, rounding)
                    table.add(f"cvt.{rounding}.{to.name}.{f.name} %d, %a;", op, same)
            tables.append(table)
    return tables


def with_modifiers() -> list[Table]:
    table, same = Table((near_integers(F32),), 32), same_number(F32)
    table.add("cvt.sat.f32.f32 %d, %a;", partial(exact.saturated, F32), same)
    table.add("cvt.ftz.f32.f32 %d, %a;", F32.flushed, same)
    for rounding in INTEGRAL:
        text = f"cvt.{rounding}.ftz.f32.f32 %d, %a;"
        table.add(text, lambda a, r=rounding: integral(F32, r, F32.flushed(a)), same)
        text = f"cvt.{rounding}.sat.f32.f32 %d, %a;"
        table.add(text, lambda a, r=rounding: exact.saturated(F32, integral(F32, r, a)), same)
    tf32 = Format("tf32", 19, 10)
    for rounding in ("rna", "rn", "rz"):

        def want(a: int, rounding: str = rounding) -> int:
            return 0x7FFFFFFF if F32.is_nan(a) else converted(F32, tf32, rounding, a) << 13

        table.add(f"cvt.{rounding}.tf32.f32 %d, %a;", want)
    narrow = Table((near_integers(F64),), 32)
    narrow.add(
        "cvt.rn.ftz.f32.f64 %d, %a;", lambda a: F32.flushed(converted(F64, F32, "rn", a)), same
    )
    halves = Table((near_integers(F32),), 16)
    for f in (F16, BF16):
        for rounding in ("rn", "rz"):

            def clipped(a: int, f: Format = f, rounding: str = rounding) -> int:
                return exact.relu(f, converted(F32, f, rounding, a))

            halves.add(f"cvt.{rounding}.relu.{f.name}.f32 %d, %a;", clipped, same_number(f))
    halves.add(
        "cvt.rn.sat.f16.f32 %d, %a;",
        lambda a: converted(F32, F16, "rn", exact.saturated(F32, a)),
        same_number(F16),
    )
    return [table, narrow, halves]


@pytest.mark.parametrize("cpu", ["generic", X86_64_V3])
def test_floats_to_floats(run_ptx: Runner, cpu: str) -> None:
    check_tables(run_ptx, [*floats_to_floats(), *with_modifiers()], cpu)


def test_integers_to_integers(run_ptx: Runner) -> None:
    tables = []
    for kind in INTEGERS:
        source = integers(f"from {kind}", max(int(kind[1:]), 16))
        found = {bits: Table((source,), bits) for bits in (16, 32, 64)}
        for to in INTEGERS:
            low, high = bounds(to)
            # a register wider than the type gets the number extended
            found[max(int(to[1:]), 16)].add(
                f"cvt.{to}.{kind} %d, %a;",
                lambda a, kind=kind, to=to: integer_value(to, integer_value(kind, a)),
            )
            if low <= bounds(kind)[0] and bounds(kind)[1] <= high:
                continue  # nothing to saturate, and PTX does not allow it
            found[max(int(to[1:]), 16)].add(
                f"cvt.sat.{to}.{kind} %d, %a;",
                lambda a, kind=kind, low=low, high=high: min(
                    max(integer_value(kind, a), low), high
                ),
            )
        tables += list(found.values())
    check_tables(run_ptx, tables)


def to_byte(f: Format, to: Format, code: int, *, relu: bool = False) -> int:
    """To nearest, and the largest number for what is beyond it."""
    if f.is_nan(code):
        return to.nan
    if relu and f.is_negative(code):
        return 0
    value = f.decode(code)
    limit = to.decode(to.largest)
    assert isinstance(limit, Fraction)
    value = Fraction(max(min(value, limit), -limit))
    return to.encode(value, negative_zero=f.is_negative(code))


def test_pairs_and_bytes(run_ptx: Runner) -> None:
    words = Table((near_integers(F32), numbers("lower", F32)), 32)
    bytes_ = Table(words.sources, 16)
    for f in (F16, BF16):
        for rounding in ("rn", "rz"):
            for relu in ("", ".relu"):

                def half(a: int, f: Format = f, rounding: str = rounding, relu: str = relu) -> int:
                    code = converted(F32, f, rounding, a)
                    return exact.relu(f, code) if relu else code

                words.add(
                    f"cvt.{rounding}{relu}.{f.name}x2.f32 %d, %a, %b;",
                    lambda a, b, half=half: half(a) << 16 | half(b),
                    both_halves(same_number(f)),
                )
    random = generator("pairs")
    pair = Table((random.permutation(near_integers(F16).repeat(2)).view(np.uint32),), 16)
    back = Table((random.integers(0, 1 << 16, 256, dtype=np.uint16),), 32)
    for to in (E4M3, E5M2):
        for relu in ("", ".relu"):
            from_f32 = partial(to_byte, F32, to, relu=bool(relu))
            from_f16 = partial(to_byte, F16, to, relu=bool(relu))
            bytes_.add(
                f"cvt.rn.satfinite{relu}.{to.name}x2.f32 %d, %a, %b;",
                lambda a, b, op=from_f32: op(a) << 8 | op(b),
            )
            pair.add(
                f"cvt.rn.satfinite{relu}.{to.name}x2.f16x2 %d, %a;",
                lambda a, op=from_f16: op(a >> 16) << 8 | op(a & 0xFFFF),
            )

            def widened(code: int, to: Format = to, relu: str = relu) -> int:
                half = converted(to, F16, "rn", code)
                return exact.relu(F16, half) if relu else half

            back.add(
                f"cvt.rn{relu}.f16x2.{to.name}x2 %d, %a;",
                lambda a, op=widened: op(a >> 8) << 16 | op(a & 255),
                both_halves(same_number(F16)),
            )
    check_tables(run_ptx, [words, bytes_, pair, back])
