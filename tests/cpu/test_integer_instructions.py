"""Integer, logic and selection instructions against what the PTX manual says of them."""

from __future__ import annotations

import numpy as np
from cpu_harness import Runner
from instruction_kernels import Case, check, integers, pairs

U32, S32, U64, S64 = np.uint32, np.int32, np.uint64, np.int64
A, B = pairs(integers(U32))
SA, SB = A.view(S32), B.view(S32)
C = integers(U32)[::-1].copy()
WA, WB = pairs(integers(U64))
WSA, WSB = WA.view(S64), WB.view(S64)
SHIFT = np.resize(np.array([0, 1, 5, 31, 32, 33, 63, 64, 65, 255, 256, 0xFFFFFFFF], U32), 256)


def each(function, result=object):  # type: ignore[no-untyped-def]
    """A reference on Python integers, applied element by element."""

    def want(*sources):  # type: ignore[no-untyped-def]
        return np.array([function(*map(int, row)) for row in zip(*sources, strict=True)], object)

    return want


def masked(bits: int, function):  # type: ignore[no-untyped-def]
    return each(lambda *row: function(*row) & ((1 << bits) - 1))


def as_signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def quotient(a: int, b: int) -> int:
    """C's division, and all ones for a division by zero."""
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return a if b == 0 else a - quotient(a, b) * b


def bfe(a: int, position: int, length: int, *, bits: int, signed: bool) -> int:
    """The manual's own pseudo-code."""
    position, length = position & 255, length & 255
    top = bits - 1
    sign = (a >> min(position + length - 1, top)) & 1 if signed and length else 0
    value = 0
    for i in range(bits):
        inside = i < length and position + i <= top
        value |= ((a >> (position + i)) & 1 if inside else sign) << i
    return value


def bfi(a: int, b: int, position: int, length: int, *, bits: int) -> int:
    position, length = position & 255, length & 255
    value = b
    for i in range(length):
        if position + i < bits:
            value = value & ~(1 << (position + i)) | (a >> i & 1) << (position + i)
    return value


def prmt(a: int, b: int, selector: int) -> int:
    source = (b << 32 | a).to_bytes(8, "little")
    value = 0
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = source[nibble & 7]
        if nibble & 8:
            byte = 255 if byte & 128 else 0
        value |= byte << 8 * i
    return value


def test_arithmetic_of_32_and_64_bits(run_ptx: Runner) -> None:
    cases = [
        Case("add", "add.s32 %d, %a, %b;", (A, B), lambda a, b: a + b, U32),
        Case("sub", "sub.s32 %d, %a, %b;", (A, B), lambda a, b: a - b, U32),
        Case("add64", "add.s64 %d, %a, %b;", (WA, WB), lambda a, b: a + b, U64),
        Case("sub64", "sub.s64 %d, %a, %b;", (WA, WB), lambda a, b: a - b, U64),
        Case("mul.lo", "mul.lo.s32 %d, %a, %b;", (A, B), lambda a, b: a * b, U32),
        Case("mul.hi.u", "mul.hi.u32 %d, %a, %b;", (A, B), each(lambda a, b: a * b >> 32), U32),
        Case("mul.hi.s", "mul.hi.s32 %d, %a, %b;", (SA, SB), each(lambda a, b: a * b >> 32), S32),
        Case("mul.hi.u64", "mul.hi.u64 %d, %a, %b;", (WA, WB), each(lambda a, b: a * b >> 64), U64),
        Case(
            "mul.hi.s64", "mul.hi.s64 %d, %a, %b;", (WSA, WSB), each(lambda a, b: a * b >> 64), S64
        ),
        Case("mul.wide.s", "mul.wide.s32 %d, %a, %b;", (SA, SB), each(lambda a, b: a * b), S64),
        Case("mul.wide.u", "mul.wide.u32 %d, %a, %b;", (A, B), each(lambda a, b: a * b), U64),
        Case("mad.lo", "mad.lo.s32 %d, %a, %b, %c;", (A, B, C), lambda a, b, c: a * b + c, U32),
        Case(
            "mad.wide",
            "mad.wide.u32 %d, %a, %b, %c;",
            (A, B, WA),
            masked(64, lambda a, b, c: a * b + c),
            U64,
        ),
        Case(
            "mad.hi",
            "mad.hi.u32 %d, %a, %b, %c;",
            (A, B, C),
            masked(32, lambda a, b, c: (a * b >> 32) + c),
            U32,
        ),
        Case("div.s", "div.s32 %d, %a, %b;", (A, B), None, U32),
        Case("add.sat", "add.sat.s32 %d, %a, %b;", (SA, SB), None, S32),
        Case("min.s", "min.s32 %d, %a, %b;", (SA, SB), np.minimum, S32),
        Case("max.u", "max.u32 %d, %a, %b;", (A, B), np.maximum, U32),
        Case("min.u64", "min.u64 %d, %a, %b;", (WA, WB), np.minimum, U64),
        Case("max.s64", "max.s64 %d, %a, %b;", (WSA, WSB), np.maximum, S64),
        Case("abs", "abs.s32 %d, %a;", (A,), masked(32, lambda a: abs(as_signed(a, 32))), U32),
        Case("neg", "neg.s32 %d, %a;", (A,), lambda a: -a, U32),
        Case(
            "sad",
            "sad.s32 %d, %a, %b, %c;",
            (A, B, C),
            masked(32, lambda a, b, c: c + abs(as_signed(a, 32) - as_signed(b, 32))),
            U32,
        ),
    ]
    wants = {
        "div.s": masked(32, lambda a, b: quotient(as_signed(a, 32), as_signed(b, 32))),
        "add.sat": each(lambda a, b: max(-(2**31), min(2**31 - 1, a + b))),
    }
    cases = [
        case
        if case.want is not None
        else Case(case.name, case.text, case.sources, wants[case.name], case.result)
        for case in cases
    ]
    for bits, a, b, kind in ((32, A, B, U32), (64, WA, WB, U64)):
        cases += [
            Case(
                f"div.u{bits}",
                f"div.u{bits} %d, %a, %b;",
                (a, b),
                masked(bits, quotient),
                kind,
            ),
            Case(f"rem.u{bits}", f"rem.u{bits} %d, %a, %b;", (a, b), each(remainder), kind),
            Case(
                f"rem.s{bits}",
                f"rem.s{bits} %d, %a, %b;",
                (a, b),
                masked(
                    bits,
                    lambda x, y, bits=bits: remainder(as_signed(x, bits), as_signed(y, bits)),
                ),
                kind,
            ),
        ]
    check(run_ptx, cases)


def test_carries_make_128_bit_sums_and_products(run_ptx: Runner) -> None:
    add = """{ .reg .b32 al, ah, bl, bh, l, h;
      mov.b64 {al, ah}, %a; mov.b64 {bl, bh}, %b;
      OP.cc.u32 l, al, bl; OPc.u32 h, ah, bh; mov.b64 %d, {l, h}; }"""
    multiply = """{ .reg .b32 l, h;
      mad.lo.cc.u32 l, %a, %b, %c; madc.hi.u32 h, %a, %b, 0; mov.b64 %d, {l, h}; }"""
    check(
        run_ptx,
        [
            Case("addc", add.replace("OP", "add"), (WA, WB), lambda a, b: a + b, U64),
            Case("subc", add.replace("OP", "sub"), (WA, WB), lambda a, b: a - b, U64),
            Case("madc", multiply, (A, B, C), each(lambda a, b, c: a * b + c), U64),
        ],
    )


def test_bits_shifts_and_fields(run_ptx: Runner) -> None:
    def shifted(bits: int, signed: bool, left: bool):  # type: ignore[no-untyped-def]
        def one(a: int, n: int) -> int:
            value = as_signed(a, bits) if signed else a
            return (value << n if n < bits else 0) if left else value >> min(n, bits)

        return masked(bits, one)

    wide_c = C.astype(U32)
    cases = [
        Case("and", "and.b32 %d, %a, %b;", (A, B), np.bitwise_and, U32),
        Case("or", "or.b64 %d, %a, %b;", (WA, WB), np.bitwise_or, U64),
        Case("xor", "xor.b32 %d, %a, %b;", (A, B), np.bitwise_xor, U32),
        Case("not", "not.b32 %d, %a;", (A,), np.invert, U32),
        Case("cnot", "cnot.b32 %d, %a;", (A,), lambda a: a == 0, U32),
        Case("shl", "shl.b32 %d, %a, %b;", (A, SHIFT), shifted(32, False, True), U32),
        Case("shr.u", "shr.u32 %d, %a, %b;", (A, SHIFT), shifted(32, False, False), U32),
        Case("shr.s", "shr.s32 %d, %a, %b;", (A, SHIFT), shifted(32, True, False), U32),
        Case("shl64", "shl.b64 %d, %a, %b;", (WA, SHIFT), shifted(64, False, True), U64),
        Case("shr.s64", "shr.s64 %d, %a, %b;", (WA, SHIFT), shifted(64, True, False), U64),
        Case("popc", "popc.b32 %d, %a;", (A,), each(lambda a: a.bit_count()), U32),
        Case("popc64", "popc.b64 %d, %a;", (WA,), each(lambda a: a.bit_count()), U32),
        Case("clz", "clz.b32 %d, %a;", (A,), each(lambda a: 32 - a.bit_length()), U32),
        Case("clz64", "clz.b64 %d, %a;", (WA,), each(lambda a: 64 - a.bit_length()), U32),
        Case("brev", "brev.b32 %d, %a;", (A,), each(lambda a: int(f"{a:032b}"[::-1], 2)), U32),
        Case("bfind", "bfind.u32 %d, %a;", (A,), masked(32, lambda a: a.bit_length() - 1), U32),
        Case(
            "bfind.s",
            "bfind.s32 %d, %a;",
            (SA,),
            masked(32, lambda a: (a if a >= 0 else ~a).bit_length() - 1),
            U32,
        ),
        Case(
            "bfind.shiftamt",
            "bfind.shiftamt.u32 %d, %a;",
            (A,),
            masked(32, lambda a: 32 - a.bit_length() if a else -1),
            U32,
        ),
        Case("prmt", "prmt.b32 %d, %a, %b, %c;", (A, B, C), each(prmt), U32),
    ]
    for table in (0x00, 0x96, 0xE8, 0x3A, 0xFF):

        def lop3(a: int, b: int, c: int, table: int = table) -> int:
            return sum(
                (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i
                for i in range(32)
            )

        cases.append(
            Case(f"lop3 {table}", f"lop3.b32 %d, %a, %b, %c, {table};", (A, B, C), each(lop3), U32)
        )
    for way in ("l", "r"):
        for mode in ("wrap", "clamp"):

            def funnel(low: int, high: int, n: int, way: str = way, mode: str = mode) -> int:
                n = n & 31 if mode == "wrap" else min(n, 32)
                both = high << 32 | low
                return (both << n >> 32 if way == "l" else both >> n) & 0xFFFFFFFF

            text = f"shf.{way}.{mode}.b32 %d, %a, %b, %c;"
            cases.append(Case(f"shf {way} {mode}", text, (A, B, SHIFT), each(funnel), U32))
    positions = np.resize(np.array([0, 3, 31, 32, 40, 63, 64, 255, 300], U32), 256)
    lengths = np.resize(np.array([0, 1, 8, 16, 31, 32, 33, 64, 255, 256, 65], U32), 256)
    for kind, signed, bits, a, result in (
        ("u32", False, 32, A, U32),
        ("s32", True, 32, A, U32),
        ("u64", False, 64, WA, U64),
        ("s64", True, 64, WA, U64),
    ):

        def extract(x: int, p: int, n: int, bits: int = bits, signed: bool = signed) -> int:
            return bfe(x, p, n, bits=bits, signed=signed)

        text = f"bfe.{kind} %d, %a, %b, %c;"
        cases.append(Case(f"bfe.{kind}", text, (a, positions, lengths), each(extract), result))
    cases.append(
        Case(
            "bmsk.clamp",
            "bmsk.clamp.b32 %d, %a, %b;",
            (A, B),
            masked(32, lambda a, b: ((1 << min(b, 32)) - 1) << min(a, 32)),
            U32,
        )
    )
    cases.append(
        Case(
            "bmsk.wrap",
            "bmsk.wrap.b32 %d, %a, %b;",
            (A, B),
            masked(32, lambda a, b: ((1 << (b & 31)) - 1) << (a & 31)),
            U32,
        )
    )
    cases.append(
        Case(
            "bfi",
            "and.b32 %e, %c, 63; shr.u32 %f, %c, 8; and.b32 %f, %f, 63;bfi.b32 %d, %a, %b, %e, %f;",
            (A, B, wide_c),
            each(lambda a, b, c: bfi(a, b, c & 63, c >> 8 & 63, bits=32)),
            U32,
        )
    )
    check(run_ptx, cases)


def test_comparisons_and_selections(run_ptx: Runner) -> None:
    comparisons = {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }
    cases = []
    for name, function in comparisons.items():
        text = f"setp.{name}.TYPE %p, %a, %b; selp.b32 %d, 1, 0, %p;"
        cases.append(Case(f"setp.{name}.s", text.replace("TYPE", "s32"), (SA, SB), function, U32))
        cases.append(Case(f"setp.{name}.u", text.replace("TYPE", "u32"), (A, B), function, U32))
    cases += [
        Case(
            "setp of two predicates",
            "setp.ne.u32 %q, %c, 0; setp.lt.and.s32 %p|%q, %a, %b, %q;"
            "selp.b32 %d, 1, 0, %p; selp.b32 %e, 2, 0, %q; or.b32 %d, %d, %e;",
            (SA, SB, C),
            lambda a, b, c: np.where(c != 0, np.where(a < b, 1, 2), 0),
            U32,
        ),
        Case(
            "a negated predicate",
            "setp.eq.u32 %q, %c, 0; setp.lt.xor.s32 %p, %a, %b, !%q; selp.b32 %d, 1, 0, %p;",
            (SA, SB, C),
            lambda a, b, c: (a < b) ^ (c != 0),
            U32,
        ),
        Case("set", "set.lt.u32.s32 %d, %a, %b;", (SA, SB), lambda a, b: -(a < b).astype(S32), S32),
        Case(
            "slct",
            "slct.s32.s32 %d, %a, %b, %c;",
            (SA, SB, C.view(S32)),
            lambda a, b, c: np.where(c >= 0, a, b),
            S32,
        ),
        Case(
            "a guarded instruction keeps the old value",
            "setp.lt.s32 %p, %a, %b; mov.u32 %d, 5; @%p mov.u32 %d, 6; @!%p add.u32 %d, %d, 2;",
            (SA, SB),
            lambda a, b: np.where(a < b, 6, 7),
            U32,
        ),
        Case(
            "dp4a",
            "dp4a.s32.u32 %d, %a, %b, %c;",
            (A, B, C),
            masked(
                32,
                lambda a, b, c: (
                    c + sum(as_signed(a >> 8 * i, 8) * (b >> 8 * i & 255) for i in range(4))
                ),
            ),
            U32,
        ),
        Case("cvt.sat.s8", "cvt.sat.s8.s32 %d, %a;", (SA,), lambda a: np.clip(a, -128, 127), S32),
        Case("cvt.s32.s8", "cvt.s32.s8 %d, %a;", (A,), lambda a: a.astype(np.int8), S32),
        Case("cvt.u64.u32", "cvt.u64.u32 %d, %a;", (A,), lambda a: a.astype(U64), U64),
        Case("cvt.s64.s32", "cvt.s64.s32 %d, %a;", (SA,), lambda a: a.astype(S64), S64),
        Case("cvt.u32.u64", "cvt.u32.u64 %d, %a;", (WA,), lambda a: a.astype(U32), U32),
    ]
    check(run_ptx, cases)
