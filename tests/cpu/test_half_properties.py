"""f16, bf16 and their pairs, bit for bit, against exact arithmetic rounded once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import exact
import numpy as np
import pytest
from cpu_harness import Runner
from exact import BF16, F16, F32, Format
from properties import X86_64_V3, Table, check_tables, same_number
from test_float_properties import arity, flushing, holds, operands, saturating, taking

Operation = Callable[..., int]
HALVES = (F16, BF16)


def with_relu(f: Format, operation: Operation) -> Operation:
    return lambda *codes: exact.relu(f, operation(*codes))


def on_halves(operation: Operation) -> Operation:
    """An operation on 16 bits, on each half of 32."""
    return lambda *words: (
        operation(*(w & 0xFFFF for w in words)) | operation(*(w >> 16 for w in words)) << 16
    )


def both_halves(agrees: Callable[[int, int], bool]) -> Callable[[int, int], bool]:
    return lambda got, want: agrees(got & 0xFFFF, want & 0xFFFF) and agrees(got >> 16, want >> 16)


def pairs(f: Format) -> tuple[np.ndarray, ...]:
    """Operands for pairs: the rows of one half, and of the other half in reverse."""
    return tuple(
        lower.astype(np.uint32) | lower[::-1].astype(np.uint32) << np.uint32(16)
        for lower in operands(f)
    )


def instructions(f: Format) -> list[tuple[str, str, Operation]]:
    """Opcode without type, operands, and what it gives."""
    name, found = f.name, []
    forms = {"add": exact.add, "sub": exact.subtract, "mul": exact.multiply}
    for base, operation in forms.items():
        op = partial(operation, f, "rn")
        found += [(f"{base}.rn", "%d, %a, %b", op), (base, "%d, %a, %b", op)]
        if name == "f16":
            found.append((f"{base}.sat", "%d, %a, %b", saturating(f, op)))
            found.append((f"{base}.rn.ftz.sat", "%d, %a, %b", saturating(f, flushing(f, op))))
            found.append((f"{base}.ftz", "%d, %a, %b", flushing(f, op)))
    fma = partial(exact.fma, f, "rn")
    found += [("fma.rn", "%d, %a, %b, %c", fma)]
    found += [("fma.rn.relu", "%d, %a, %b, %c", with_relu(f, fma))]
    if name == "f16":
        found.append(("fma.rn.sat", "%d, %a, %b, %c", saturating(f, fma)))
        found.append(("fma.rn.ftz", "%d, %a, %b, %c", flushing(f, fma)))
    for base, operation in (("min", exact.least), ("max", exact.greatest)):
        found.append((base, "%d, %a, %b", partial(operation, f)))
        wins = partial(exact.nan_wins(operation), f)
        found.append((f"{base}.NaN", "%d, %a, %b", wins))
        if name == "f16":
            found.append((f"{base}.ftz", "%d, %a, %b", flushing(f, partial(operation, f))))
    found.append(("neg", "%d, %a", lambda a: a ^ 0x8000))
    found.append(("abs", "%d, %a", lambda a: a & 0x7FFF))
    return found


def arithmetic(f: Format) -> list[Table]:
    single, double = Table(operands(f), 16), Table(pairs(f), 32)
    same = same_number(f)
    for opcode, form, operation in instructions(f):
        op = taking(arity(form), operation)
        single.add(f"{opcode}.{f.name} {form};", op, same)
        double.add(f"{opcode}.{f.name}x2 {form};", on_halves(op), both_halves(same))
    return [single, double]


@pytest.mark.parametrize("cpu", ["generic", X86_64_V3])
def test_arithmetic_is_rounded_once(run_ptx: Runner, cpu: str) -> None:
    check_tables(run_ptx, [table for f in HALVES for table in arithmetic(f)], cpu)


def comparisons(f: Format) -> list[Table]:
    a, b, _ = operands(f)
    b = np.where(np.arange(len(a)) % 4 == 0, a, b)
    single = Table((a, b), 32)
    words = [x.astype(np.uint32) | x[::-1].astype(np.uint32) << np.uint32(16) for x in (a, b)]
    double = Table(words, 32)
    one = {"f16": 0x3C00, "bf16": 0x3F80}[f.name]
    for name in ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "geu", "num", "nan"):
        test = partial(holds, f, name)
        text = f"setp.{name}.{f.name} %p, %a, %b; selp.b32 %d, 1, 0, %p;"
        single.add(text, test)
        number = (
            f"{{ .reg .b16 h; set.{name}.{f.name}.{f.name} h, %a, %b; mov.b32 %d, {{h, %a}};"
            "and.b32 %d, %d, 65535; }"
        )
        single.add(number, lambda a, b, t=test: one * t(a, b))
        single.add(f"set.{name}.s32.{f.name} %d, %a, %b;", lambda a, b, t=test: -t(a, b))
        x2 = f"{f.name}x2"
        masks = on_halves(lambda a, b, t=test: 0xFFFF * t(a, b))
        double.add(f"set.{name}.u32.{x2} %d, %a, %b;", masks)
        ones = on_halves(lambda a, b, t=test: one * t(a, b))
        double.add(f"set.{name}.{x2}.{x2} %d, %a, %b;", ones)
        double.add(
            f"setp.{name}.{x2} %p|%q, %a, %b;"
            "selp.b32 %d, 1, 0, %p; selp.b32 %e, 2, 0, %q; or.b32 %d, %d, %e;",
            lambda a, b, t=test: t(a & 0xFFFF, b & 0xFFFF) + 2 * t(a >> 16, b >> 16),
        )
    return [single, double]


def test_comparisons_of_halves_and_of_pairs(run_ptx: Runner) -> None:
    check_tables(run_ptx, [table for f in HALVES for table in comparisons(f)])


def test_approximations_are_off_by_at_most_one_digit(run_ptx: Runner) -> None:
    tables = []
    for f in HALVES:

        def ulp(got: int, want: int, f: Format = f) -> bool:
            return exact.ulps(f, got, want) <= 1

        def rounded(code: int, function: Callable[[float], float], f: Format = f) -> int:
            x = f.decode(code)
            with np.errstate(all="ignore"):
                value = float(function(np.float64(x)))
            exact_value = F32.decode(F32.encode(_number(value)))
            return f.encode(exact_value, negative_zero=bool(np.signbit(value)))

        table = Table((operands(f)[0],), 16)
        pair = Table((pairs(f)[0],), 32)
        ftz = ".ftz" if f is BF16 else ""
        for name, function in ((f"ex2.approx{ftz}", np.exp2), ("tanh.approx", np.tanh)):
            want = partial(rounded, function=function)
            table.add(f"{name}.{f.name} %d, %a;", want, ulp)
            pair.add(f"{name}.{f.name}x2 %d, %a;", on_halves(want), both_halves(ulp))
        tables += [table, pair]
    check_tables(run_ptx, tables)


def _number(value: float) -> exact.Number:
    return value if np.isnan(value) or np.isinf(value) else exact.Fraction(value)
