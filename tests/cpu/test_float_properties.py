"""f32 and f64 arithmetic, bit for bit, against exact arithmetic rounded once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import exact
import numpy as np
import pytest
from cpu_harness import Runner
from exact import F32, F64, Format
from properties import GENERIC, Table, check_tables, close_to, numbers, same_number

Operation = Callable[..., int]


def operands(f: Format) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three operands: the second often close to minus the first, the third to their product."""
    a = numbers("a", f)
    b = close_to("b", f, [x ^ f.sign for x in a.tolist()])
    rows = zip(a.tolist(), b.tolist(), strict=True)
    products = [exact.multiply(f, "rn", x, y) ^ f.sign for x, y in rows]
    return a, b, close_to("c", f, products)


def flushing(f: Format, operation: Operation) -> Operation:
    """What `.ftz` makes of an operation."""
    return lambda *codes: f.flushed(operation(*map(f.flushed, codes)))


def saturating(f: Format, operation: Operation) -> Operation:
    return lambda *codes: exact.saturated(f, operation(*codes))


ROUNDED = {
    "add": (exact.add, "%d, %a, %b"),
    "sub": (exact.subtract, "%d, %a, %b"),
    "mul": (exact.multiply, "%d, %a, %b"),
    "fma": (exact.fma, "%d, %a, %b, %c"),
    "div": (exact.divide, "%d, %a, %b"),
    "sqrt": (exact.square_root, "%d, %a"),
    "rcp": (exact.reciprocal, "%d, %a"),
}


def unrounded(f: Format) -> dict[str, tuple[Operation, str]]:
    magnitude = f.sign - 1
    return {
        "min": (partial(exact.least, f), "%d, %a, %b"),
        "max": (partial(exact.greatest, f), "%d, %a, %b"),
        "abs": (lambda a: a & magnitude, "%d, %a"),
        "neg": (lambda a: a ^ f.sign, "%d, %a"),
    }


def arity(operands_text: str) -> int:
    return operands_text.count(",")


def taking(count: int, operation: Operation) -> Operation:
    """The operation on the first of a row's operands."""
    return lambda *row: operation(*row[:count])


def arithmetic(f: Format) -> Table:
    table = Table(operands(f), f.bits)
    same = same_number(f)

    def add(text: str, count: int, operation: Operation) -> None:
        table.add(text, taking(count, operation), same)

    for name, (operation, form) in ROUNDED.items():
        for rounding in ("rn", "rz", "rm", "rp"):
            op = partial(operation, f, rounding)
            add(f"{name}.{rounding}.{f.name} {form};", arity(form), op)
            if f is not F32:
                continue
            add(f"{name}.{rounding}.ftz.f32 {form};", arity(form), flushing(f, op))
            if name in ("add", "sub", "mul", "fma"):
                clamped = saturating(f, op)
                add(f"{name}.{rounding}.sat.f32 {form};", arity(form), clamped)
                both = saturating(f, flushing(f, op))
                add(f"{name}.{rounding}.ftz.sat.f32 {form};", arity(form), both)
    for name, (op, form) in unrounded(f).items():
        add(f"{name}.{f.name} {form};", arity(form), op)
        if f is F32:
            add(f"{name}.ftz.f32 {form};", arity(form), flushing(f, op))
    if f is F32:
        for name, op in (("min", exact.least), ("max", exact.greatest)):
            wins = partial(exact.nan_wins(op), f)
            add(f"{name}.NaN.f32 %d, %a, %b;", 2, wins)
            add(f"{name}.ftz.NaN.f32 %d, %a, %b;", 2, flushing(f, wins))
    add(
        f"copysign.{f.name} %d, %a, %b;",
        2,
        lambda a, b: (b & (f.sign - 1)) | (a & f.sign),
    )
    return table


@pytest.mark.parametrize("cpu", [GENERIC, "x86-64-v3"])
def test_arithmetic_is_rounded_as_the_instruction_says(run_ptx: Runner, cpu: str) -> None:
    check_tables(run_ptx, [arithmetic(F32), arithmetic(F64)], cpu)


CONDITIONS = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}


def holds(f: Format, condition: str, a: int, b: int) -> bool:
    """A comparison as the manual has it: those in `u` hold for NaN, too."""
    unordered = f.is_nan(a) or f.is_nan(b)
    if condition in ("num", "nan"):
        return unordered == (condition == "nan")
    if unordered:
        return condition.endswith("u")
    return CONDITIONS[condition.removesuffix("u")](f.decode(a), f.decode(b))


def comparisons(f: Format) -> Table:
    a, b, _ = operands(f)
    # equal numbers are rare otherwise
    b = np.where(np.arange(len(a)) % 4 == 0, a, b)
    table = Table((a, b), 32)
    names = [name + suffix for name in CONDITIONS for suffix in ("", "u")]
    for name in (*names, "num", "nan"):
        text = f"setp.{name}.{f.name} %p, %a, %b; selp.b32 %d, 1, 0, %p;"
        table.add(text, partial(holds, f, name))
        if f is not F32:
            continue
        table.add(
            text.replace(".f32", ".ftz.f32"),
            lambda a, b, n=name: holds(F32, n, F32.flushed(a), F32.flushed(b)),
        )
        table.add(
            f"set.{name}.f32.f32 %d, %a, %b;",
            lambda a, b, n=name: 0x3F800000 if holds(F32, n, a, b) else 0,
        )
        table.add(
            f"set.{name}.ftz.s32.f32 %d, %a, %b;",
            lambda a, b, n=name: -holds(F32, n, F32.flushed(a), F32.flushed(b)),
        )

    def finite(c: int) -> bool:
        return c & (f.sign - 1) < f.infinity

    kinds = {
        "finite": finite,
        "infinite": lambda c: c & (f.sign - 1) == f.infinity,
        "number": lambda c: not f.is_nan(c),
        "notanumber": f.is_nan,
        "normal": lambda c: finite(c) and not f.is_subnormal(c),
        "subnormal": f.is_subnormal,
    }
    for kind, test in kinds.items():
        table.add(
            f"testp.{kind}.{f.name} %p, %a; selp.b32 %d, 1, 0, %p;", lambda a, b, t=test: t(a)
        )
    return table


def test_comparisons_and_kinds_of_numbers(run_ptx: Runner) -> None:
    check_tables(run_ptx, [comparisons(F32), comparisons(F64)])


def test_selection_by_a_sign(run_ptx: Runner) -> None:
    table = Table((numbers("x", F32), numbers("y", F32), numbers("by", F32)), 32)
    for name, by in (("", lambda c: c), (".ftz", F32.flushed)):
        table.add(
            f"slct{name}.b32.f32 %d, %a, %b, %c;",
            lambda a, b, c, by=by: a if holds(F32, "ge", by(c), 0) else b,
        )
    check_tables(run_ptx, [table])


def test_a_kernel_that_flushes_everywhere_leaves_it_to_the_hardware(run_ptx: Runner) -> None:
    a, b, c = operands(F32)
    table = Table((a, b, c), 32)
    for name in ("add", "mul", "fma", "div", "sqrt"):
        operation, form = ROUNDED[name]
        op = taking(arity(form), flushing(F32, partial(operation, F32, "rn")))
        table.add(f"{name}.rn.ftz.f32 {form};", op, same_number(F32))
    check_tables(run_ptx, [table])
