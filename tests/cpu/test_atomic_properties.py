"""`atom` and `red`, each row on memory of its own: what they return and what they leave there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import exact
import numpy as np
import pytest
from cpu_harness import Runner
from exact import BF16, F16, F32, F64, Format
from properties import GENERIC, ROWS, Table, check_tables, generator, integers, same_number
from test_float_properties import operands as float_operands
from test_half_properties import both_halves, on_halves, pairs
from test_integer_properties import operands, viewed

Operation = Callable[[int, int], int]
SPACES = ("global", "shared", "")
PLACES = {"global": "%g", "shared": "%s", "": "%x"}
"""The register with the row's own place, by the state space; a generic address without one."""


def add_operation(
    table: Table,
    name: str,
    kind: str,
    operation: Operation,
    agrees: Callable[[int, int], bool],
) -> None:
    """An operation in every space: `atom` gives the old value, `red` leaves the new one."""
    bits = table.bits
    for space in SPACES:
        at = PLACES[space]
        dot = f".{space}" if space else ""
        put = f"st{dot}.b{bits} [{at}], %a;"
        for order in ("", ".relaxed.gpu"):
            text = f"{put} atom{order}{dot}.{name}.{kind} %d, [{at}], %b;"
            table.add(text, lambda a, b, *_: a, agrees)
        new = f"{put} red{dot}.{name}.{kind} [{at}], %b; ld{dot}.b{bits} %d, [{at}];"
        table.add(new, lambda a, b, *_: operation(a, b), agrees)


def of_integers(bits: int) -> Table:
    a, b, c = operands(bits)
    table = Table((a, b, c), bits)
    same = lambda got, want: got == want  # noqa: E731
    for kind in (f"u{bits}", f"s{bits}"):
        if kind != "s64":
            add_operation(table, "add", kind, viewed(kind, lambda x, y: x + y), same)
        add_operation(table, "min", kind, viewed(kind, min), same)
        add_operation(table, "max", kind, viewed(kind, max), same)
    add_operation(table, "and", f"b{bits}", lambda x, y: x & y, same)
    add_operation(table, "or", f"b{bits}", lambda x, y: x | y, same)
    add_operation(table, "xor", f"b{bits}", lambda x, y: x ^ y, same)
    if bits == 32:
        add_operation(table, "inc", "u32", lambda x, y: 0 if x >= y else x + 1, same)
        add_operation(table, "dec", "u32", lambda x, y: y if x == 0 or x > y else x - 1, same)
    for space in SPACES:
        at, dot = PLACES[space], f".{space}" if space else ""
        put, get = f"st{dot}.b{bits} [{at}], %a;", f"ld{dot}.b{bits} %d, [{at}];"
        table.add(f"{put} atom{dot}.exch.b{bits} %d, [{at}], %b;", lambda a, b, c: a)
        table.add(f"{put} atom{dot}.exch.b{bits} %d, [{at}], %b; {get}", lambda a, b, c: b)
        swap = f"{put} atom{dot}.cas.b{bits} %d, [{at}], %b, %c;"
        table.add(swap, lambda a, b, c: a)
        table.add(f"{swap} {get}", lambda a, b, c: c if a == b else a)
    return table


def of_16_bits() -> Table:
    a, b, c = operands(16)
    table = Table((a, b, c), 16)
    swap = "st.global.b16 [%g], %a; atom.global.cas.b16 %d, [%g], %b, %c;"
    table.add(swap, lambda a, b, c: a)
    table.add(f"{swap} ld.global.b16 %d, [%g];", lambda a, b, c: c if a == b else a)
    return table


def of_floats(f: Format) -> list[Table]:
    """Sums. What a GPU does with subnormal f32 in global memory is not asked for."""
    a, b, _ = float_operands(f)
    if f is F32:
        a, b = (np.array([F32.flushed(x) for x in v.tolist()], np.uint32) for v in (a, b))
        sums = [exact.add(F32, "rn", *row) for row in zip(a.tolist(), b.tolist(), strict=True)]
        b = np.where([F32.is_subnormal(s) for s in sums], a, b)
    same, plus = same_number(f), partial(exact.add, f, "rn")
    table = Table((a, b), f.bits)
    name = "add" if f.bits > 16 else "add.noftz"
    add_operation(table, name, f.name, plus, same)
    if f.bits > 16:
        return [table]
    double = Table(pairs(f)[:2], 32)
    add_operation(double, name, f"{f.name}x2", on_halves(plus), both_halves(same))
    return [table, double]


def of_vectors() -> list[Table]:
    """Forms of sm_90: one element after the other."""
    plus = partial(exact.add, F32, "rn")
    table = Table(
        [generator(f"vector {i}").standard_normal(ROWS, np.float32).view(np.uint32) for i in "ab"],
        32,
    )
    put = "st.global.v2.b32 [%g], {%a, %b};"
    same = same_number(F32)
    table.add(f"{put} atom.global.add.v2.f32 {{%d, %e}}, [%g], {{%b, %a}};", lambda a, b: a, same)
    table.add(
        f"{put} red.global.add.v2.f32 [%g], {{%b, %a}}; ld.global.b32 %d, [%g+4];", plus, same
    )
    four = "red.global.add.v4.f32 [%g], {%b, %b, %b, %a}; ld.global.b32 %d, [%g+12];"
    table.add(f"st.global.v4.b32 [%g], {{%a, %a, %a, %b}}; {four}", plus, same)
    found = [table]
    for f in (F16, BF16):
        words = Table(pairs(f)[:2], 32)
        plus_pair = on_halves(partial(exact.add, f, "rn"))
        agrees = both_halves(same_number(f))
        words.add(
            f"st.global.v2.b32 [%g], {{%a, %a}};"
            f"red.global.add.noftz.v2.{f.name}x2 [%g], {{%b, %b}}; ld.global.b32 %d, [%g+4];",
            plus_pair,
            agrees,
        )
        for name, operation in (("min", exact.least), ("max", exact.greatest)):
            words.add(
                f"st.global.v2.b32 [%g], {{%a, %a}};"
                f"red.global.{name}.noftz.v2.{f.name}x2 [%g], {{%b, %b}}; ld.global.b32 %d, [%g];",
                on_halves(partial(operation, f)),
                agrees,
            )
        halves = Table(float_operands(f)[:2], 16)
        halves.add(
            f"st.global.v2.b16 [%g], {{%a, %b}};"
            f"red.global.add.noftz.v2.{f.name} [%g], {{%b, %a}}; ld.global.b16 %d, [%g+2];",
            partial(exact.add, f, "rn"),
            same_number(f),
        )
        found += [words, halves]
    return found


@pytest.mark.parametrize("cpu", [GENERIC, "x86-64-v3"])
def test_atomics_return_the_old_value_and_leave_the_new_one(run_ptx: Runner, cpu: str) -> None:
    tables = [of_integers(32), of_integers(64), of_16_bits(), *of_vectors()]
    for f in (F16, BF16, F32, F64):
        tables += of_floats(f)
    check_tables(run_ptx, tables, cpu)


def test_values_of_128_bits_are_exchanged_and_compared_as_a_whole(run_ptx: Runner) -> None:
    a, b, c = (integers(letter, 64) for letter in "abc")
    b[::2] = a[::2]
    table = Table((a, b, c), 64)
    pack = (
        "{ .reg .b128 x, y, z; mov.b128 x, {%b, %a}; mov.b128 y, {%c, %c};"
        "st.global.v2.b64 [%g], {%a, %a};"
    )
    swap = f"{pack} atom.global.cas.b128 z, [%g], x, y; ld.global.b64 %d, [%g+8]; }}"
    table.add(swap, lambda a, b, c: c if a == b else a)
    exchange = f"{pack} atom.global.exch.b128 z, [%g], y; mov.b128 {{%d, %x}}, z; }}"
    table.add(exchange, lambda a, b, c: a)
    check_tables(run_ptx, [table], "x86-64-v3")
