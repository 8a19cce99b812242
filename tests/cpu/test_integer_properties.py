"""Integer arithmetic, bits, shifts, fields and comparisons against Python's own integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cpu_harness import Runner
from properties import ROWS, Table, check_tables, generator, integers, signed

Operation = Callable[..., int]


def quotient(a: int, b: int) -> int:
    """C's division. PTX leaves that by zero open: all ones here, as GPUs give."""
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return -1 if b == 0 else a - quotient(a, b) * b


def viewed(kind: str, operation: Operation) -> Operation:
    """An operation on a type's numbers, from their bits."""
    bits = int(kind[1:])
    if kind[0] == "s":
        return lambda *row: operation(*(signed(code, bits) for code in row))
    return lambda *row: operation(*(code & ((1 << bits) - 1) for code in row))


def clamp(kind: str, value: int) -> int:
    bits = int(kind[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, 1 << bits)
    return min(max(value, low), high)


def operands(bits: int) -> tuple[np.ndarray, ...]:
    a, b, c = (integers(letter, bits) for letter in "abc")
    b[::7] = a[::7]  # equal numbers are rare otherwise
    return a, b, c


def arithmetic(bits: int) -> list[Table]:
    """Of 16, 32 or 64 bits."""
    a, b, c = operands(bits)
    table = Table((a, b, c), bits)
    for kind in (f"s{bits}", f"u{bits}"):

        def add(text: str, operation: Operation, kind: str = kind) -> None:
            table.add(text.replace("TYPE", kind), viewed(kind, operation))

        add("add.TYPE %d, %a, %b;", lambda a, b, c: a + b)
        add("sub.TYPE %d, %a, %b;", lambda a, b, c: a - b)
        add("mul.lo.TYPE %d, %a, %b;", lambda a, b, c: a * b)
        add("mul.hi.TYPE %d, %a, %b;", lambda a, b, c: a * b >> bits)
        add("mad.lo.TYPE %d, %a, %b, %c;", lambda a, b, c: a * b + c)
        add("mad.hi.TYPE %d, %a, %b, %c;", lambda a, b, c: (a * b >> bits) + c)
        add("div.TYPE %d, %a, %b;", lambda a, b, c: quotient(a, b))
        add("rem.TYPE %d, %a, %b;", lambda a, b, c: remainder(a, b))
        add("min.TYPE %d, %a, %b;", lambda a, b, c: min(a, b))
        add("max.TYPE %d, %a, %b;", lambda a, b, c: max(a, b))
        add("sad.TYPE %d, %a, %b, %c;", lambda a, b, c: c + abs(a - b))
    s = f"s{bits}"
    table.add(f"abs.{s} %d, %a;", viewed(s, lambda a, b, c: abs(a)))
    table.add(f"neg.{s} %d, %a;", viewed(s, lambda a, b, c: -a))
    return [table, *wide(bits, (a, b))] if bits < 64 else [table]


def wide(bits: int, sources: tuple[np.ndarray, np.ndarray]) -> list[Table]:
    addend = integers("wide", 2 * bits)
    table = Table((*sources, addend), 2 * bits)
    for kind in (f"s{bits}", f"u{bits}"):

        def product(a: int, b: int, kind: str = kind) -> int:
            return viewed(kind, lambda x, y: x * y)(a, b)

        table.add(f"mul.wide.{kind} %d, %a, %b;", lambda a, b, c, op=product: op(a, b))
        table.add(f"mad.wide.{kind} %d, %a, %b, %c;", lambda a, b, c, op=product: op(a, b) + c)
    return [table]


def of_32_bits() -> Table:
    table = Table(operands(32), 32)
    s32 = lambda operation: viewed("s32", operation)  # noqa: E731
    table.add("add.sat.s32 %d, %a, %b;", s32(lambda a, b, c: clamp("s32", a + b)))
    table.add("sub.sat.s32 %d, %a, %b;", s32(lambda a, b, c: clamp("s32", a - b)))
    table.add(
        "mad.hi.sat.s32 %d, %a, %b, %c;", s32(lambda a, b, c: clamp("s32", (a * b >> 32) + c))
    )
    for kind in ("s32", "u32"):

        def low_24(code: int, kind: str = kind) -> int:
            return signed(code, 24) if kind == "s32" else code & 0xFFFFFF

        for half, shift in (("lo", 0), ("hi", 16)):
            table.add(
                f"mul24.{half}.{kind} %d, %a, %b;",
                lambda a, b, c, low=low_24, shift=shift: low(a) * low(b) >> shift,
            )
            table.add(
                f"mad24.{half}.{kind} %d, %a, %b, %c;",
                lambda a, b, c, low=low_24, shift=shift: (low(a) * low(b) >> shift) + c,
            )
    for kind in ("s32", "u32"):
        for other in ("s32", "u32"):

            def dot(a: int, b: int, c: int, kind: str = kind, other: str = other) -> int:
                return c + sum(field(kind, a, 8, i) * field(other, b, 8, i) for i in range(4))

            table.add(f"dp4a.{kind}.{other} %d, %a, %b, %c;", dot)
            for start, half in ((0, "lo"), (2, "hi")):

                def dot2(
                    a: int, b: int, c: int, kind: str = kind, other: str = other, start: int = start
                ) -> int:
                    return c + sum(
                        field(kind, a, 16, i) * field(other, b, 8, start + i) for i in range(2)
                    )

                table.add(f"dp2a.{half}.{kind}.{other} %d, %a, %b, %c;", dot2)
    return table


def field(kind: str, word: int, bits: int, index: int) -> int:
    """One of the numbers packed in a word."""
    value = word >> bits * index & ((1 << bits) - 1)
    return signed(value, bits) if kind[0] == "s" else value


def carries() -> Table:
    """Two halves of 64 bits, added with what the lower one carries."""
    table = Table([integers(letter, 64) for letter in "abc"], 64)
    unpacked = (
        "{ .reg .b32 al, ah, bl, bh, cl, ch, l, h; mov.b64 {al, ah}, %a; mov.b64 {bl, bh}, %b;"
        "mov.b64 {cl, ch}, %c; STEPS mov.b64 %d, {l, h}; }"
    )

    def add(steps: str, operation: Operation) -> None:
        table.add(unpacked.replace("STEPS", steps), operation)

    low = (1 << 32) - 1
    add("add.cc.u32 l, al, bl; addc.u32 h, ah, bh;", lambda a, b, c: a + b)
    add("sub.cc.u32 l, al, bl; subc.u32 h, ah, bh;", lambda a, b, c: a - b)
    add(
        "mad.lo.cc.u32 l, al, bl, cl; madc.hi.u32 h, al, bl, ch;",
        lambda a, b, c: (a & low) * (b & low) + c,
    )
    add(
        "add.cc.s32 l, al, bl; addc.cc.s32 l, ah, bh; addc.u32 h, cl, 0;",
        lambda a, b, c: (
            ((a >> 32) + (b >> 32) + ((a & low) + (b & low) >> 32)) & low
            | ((c & low) + ((a + b) >> 64)) << 32
        ),
    )
    table.add(
        "{ .reg .b64 l, h; add.cc.u64 l, %a, %b; addc.u64 %d, %c, 0; }",
        lambda a, b, c: c + (a + b >> 64),
    )
    table.add(
        "{ .reg .b64 l, h; sub.cc.u64 l, %a, %b; subc.u64 %d, %c, 0; }",
        lambda a, b, c: c - (a < b),
    )
    return table


def test_arithmetic(run_ptx: Runner) -> None:
    tables = [table for bits in (16, 32, 64) for table in arithmetic(bits)]
    check_tables(run_ptx, [*tables, of_32_bits(), carries(), of_pairs(), video()])


def positions(name: str) -> np.ndarray:
    """Shift counts, positions and lengths: small, at the widths, beyond them."""
    random = generator(name)
    near = random.integers(0, 70, ROWS, dtype=np.uint32)
    far = random.choice(np.array([255, 256, 257, 0x80000000, 0xFFFFFFFF], np.uint32), ROWS)
    return np.where(random.random(ROWS) < 0.8, near, far)


def shifted(kind: str, left: bool) -> Operation:
    bits = int(kind[1:])

    def operation(a: int, n: int) -> int:
        value = signed(a, bits) if kind[0] == "s" else a
        return (value << n if n < bits else 0) if left else value >> min(n, bits)

    return operation


def extracted(kind: str, a: int, position: int, length: int) -> int:
    """The manual's own pseudo-code of `bfe`."""
    bits = int(kind[1:])
    position, length, top = position & 255, length & 255, bits - 1
    sign = a >> min(position + length - 1, top) & 1 if kind[0] == "s" and length else 0
    value = 0
    for i in range(bits):
        inside = i < length and position + i <= top
        value |= (a >> (position + i) & 1 if inside else sign) << i
    return value


def inserted(bits: int, a: int, b: int, position: int, length: int) -> int:
    """The manual's own pseudo-code of `bfi`."""
    position, length = position & 255, length & 255
    for i in range(length):
        if position + i < bits:
            b = b & ~(1 << (position + i)) | (a >> i & 1) << (position + i)
    return b


def bits_of(width: int) -> list[Table]:
    a, b, _ = operands(width)
    same, counts = Table((a, b), width), Table((a,), 32)
    shifts = Table((a, positions("shift")), width)
    fields = Table((a, positions("position"), positions("length")), width)
    insert = Table((a, b, positions("both")), width)
    mask = (1 << width) - 1
    for name, operation in (
        ("and", lambda a, b: a & b),
        ("or", lambda a, b: a | b),
        ("xor", lambda a, b: a ^ b),
    ):
        same.add(f"{name}.b{width} %d, %a, %b;", operation)
    same.add(f"not.b{width} %d, %a;", lambda a, b: ~a)
    same.add(f"cnot.b{width} %d, %a;", lambda a, b: a == 0)
    shifts.add(f"shl.b{width} %d, %a, %b;", shifted(f"u{width}", True))
    shifts.add(f"shr.u{width} %d, %a, %b;", shifted(f"u{width}", False))
    shifts.add(f"shr.s{width} %d, %a, %b;", shifted(f"s{width}", False))
    shifts.add(f"shr.b{width} %d, %a, %b;", shifted(f"u{width}", False))
    if width == 16:
        return [same, shifts]
    same.add(f"brev.b{width} %d, %a;", lambda a, b: int(f"{a:0{width}b}"[::-1], 2))
    counts.add(f"popc.b{width} %d, %a;", lambda a: a.bit_count())
    counts.add(f"clz.b{width} %d, %a;", lambda a: width - a.bit_length())
    for kind in (f"u{width}", f"s{width}"):

        def highest(a: int, kind: str = kind) -> int:
            value = ~a & mask if kind[0] == "s" and a >> (width - 1) else a
            return value.bit_length() - 1

        counts.add(f"bfind.{kind} %d, %a;", highest)
        counts.add(
            f"bfind.shiftamt.{kind} %d, %a;",
            lambda a, op=highest: width - 1 - op(a) if op(a) >= 0 else -1,
        )
        fields.add(
            f"bfe.{kind} %d, %a, %b, %c;", lambda a, p, n, kind=kind: extracted(kind, a, p, n)
        )
    insert.add(
        f"shr.u32 %e, %c, 4; bfi.b{width} %d, %a, %b, %c, %e;",
        lambda a, b, c: inserted(width, a, b, c, c >> 4),
    )
    return [same, counts, shifts, fields, insert]


def permuted(a: int, b: int, selector: int) -> int:
    source = (b << 32 | a).to_bytes(8, "little")
    value = 0
    for i in range(4):
        nibble = selector >> 4 * i & 15
        byte = source[nibble & 7]
        if nibble & 8:
            byte = 255 if byte & 128 else 0
        value |= byte << 8 * i
    return value


PICKED = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}
"""The manual's table of `prmt`'s modes: by the selector's last bits, the bytes, highest first."""


def combined() -> list[Table]:
    """Instructions that combine three words."""
    table = Table(operands(32), 32)
    table.add("prmt.b32 %d, %a, %b, %c;", permuted)
    for mode, picked in PICKED.items():
        table.add(
            f"prmt.b32.{mode} %d, %a, %b, %c;",
            lambda a, b, c, picked=picked: permuted(a, b, int(picked[c & 3], 16)),
        )
    for truth in generator("lop3").integers(0, 256, 12).tolist():

        def looked_up(a: int, b: int, c: int, truth: int = truth) -> int:
            rows = ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1 for i in range(32))
            return sum((truth >> row & 1) << i for i, row in enumerate(rows))

        table.add(f"lop3.b32 %d, %a, %b, %c, {truth};", looked_up)
    funnel = Table((*operands(32)[:2], positions("funnel")), 32)
    for way in ("l", "r"):
        for mode in ("wrap", "clamp"):

            def shift(low: int, high: int, n: int, way: str = way, mode: str = mode) -> int:
                n = n & 31 if mode == "wrap" else min(n, 32)
                both = high << 32 | low
                return both << n >> 32 if way == "l" else both >> n

            funnel.add(f"shf.{way}.{mode}.b32 %d, %a, %b, %c;", shift)
    mask = Table((positions("mask"), positions("mask width")), 32)
    mask.add("bmsk.clamp.b32 %d, %a, %b;", lambda a, b: ((1 << min(b, 32)) - 1) << min(a, 32))
    mask.add("bmsk.wrap.b32 %d, %a, %b;", lambda a, b: ((1 << (b & 31)) - 1) << (a & 31))
    extend = Table((integers("extend", 32), positions("extend")), 32)
    for mode in ("clamp", "wrap"):
        for kind in ("u32", "s32"):

            def extended(a: int, n: int, mode: str = mode, kind: str = kind) -> int:
                n = min(n, 32) if mode == "clamp" else n & 31
                return signed(a, n) if kind == "s32" and n else a & ((1 << n) - 1)

            extend.add(f"szext.{mode}.{kind} %d, %a, %b;", extended)
    return [table, funnel, mask, extend, find_nth()]


def find_nth() -> Table:
    """`fns`: the n-th set bit from a base on, upwards or downwards."""
    random = generator("fns")
    bases = random.integers(0, 32, ROWS, dtype=np.uint32)
    steps = random.integers(-8, 9, ROWS).astype(np.int32).view(np.uint32)
    table = Table((integers("fns", 32), bases, steps), 32)

    def want(mask: int, base: int, step: int) -> int:
        n = signed(step, 32)
        if n == 0:
            return base if mask >> base & 1 else -1
        order = range(base, 32) if n > 0 else range(base, -1, -1)
        found = [i for i in order if mask >> i & 1]
        return found[abs(n) - 1] if len(found) >= abs(n) else -1

    table.add("fns.b32 %d, %a, %b, %c;", want)
    return table


def test_bits_shifts_and_fields(run_ptx: Runner) -> None:
    tables = [table for width in (16, 32, 64) for table in bits_of(width)]
    check_tables(run_ptx, [*tables, *combined()])


CONDITIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def comparisons(bits: int) -> Table:
    table = Table(operands(bits), 32)
    cases = [(name, kind, test) for name, test in CONDITIONS.items() for kind in ("s", "u")]
    cases += [(name, "u", CONDITIONS[same]) for name, same in UNSIGNED.items()]
    cases += [(name, "b", CONDITIONS[name]) for name in ("eq", "ne")]
    for name, sign, test in cases:
        kind = f"{sign}{bits}"
        holds = viewed(kind, lambda a, b, c, test=test: test(a, b))
        table.add(f"setp.{name}.{kind} %p, %a, %b; selp.b32 %d, 1, 0, %p;", holds)
        table.add(f"set.{name}.u32.{kind} %d, %a, %b;", lambda *row, op=holds: -op(*row))
        table.add(
            f"set.{name}.f32.{kind} %d, %a, %b;", lambda *row, op=holds: 0x3F800000 * op(*row)
        )
        for combine, operation in (
            ("and", lambda x, y: x and y),
            ("or", lambda x, y: x or y),
            ("xor", lambda x, y: x != y),
        ):
            # both results, with a predicate that is negated
            table.add(
                f"setp.lt.u{bits} %q, %b, %c; setp.{name}.{combine}.{kind} %p|%q, %a, %b, !%q;"
                "selp.b32 %d, 1, 0, %p; selp.b32 %e, 2, 0, %q; or.b32 %d, %d, %e;",
                lambda a, b, c, op=holds, combine=operation: (
                    combine(op(a, b, c), not b < c) + 2 * combine(not op(a, b, c), not b < c)
                ),
            )
    return table


def selections(bits: int) -> Table:
    a, b, _ = operands(bits)
    table = Table((a, b, integers("by", 32)), bits)
    for kind in (f"b{bits}", f"u{bits}", f"s{bits}"):
        table.add(
            f"slct.{kind}.s32 %d, %a, %b, %c;",
            lambda a, b, c: a if signed(c, 32) >= 0 else b,
        )
        table.add(
            f"setp.gt.s32 %p, %c, 5; selp.{kind} %d, %a, %b, %p;",
            lambda a, b, c: a if signed(c, 32) > 5 else b,
        )
    table.add(
        f"setp.lt.s32 %p, %c, 9; mov.b{bits} %d, 5; @%p mov.b{bits} %d, %a;"
        f"@!%p add.u{bits} %d, %d, %b;",
        lambda a, b, c: a if signed(c, 32) < 9 else b + 5,
    )
    return table


def test_comparisons_and_selections(run_ptx: Runner) -> None:
    tables = [comparisons(bits) for bits in (16, 32, 64)]
    check_tables(run_ptx, [*tables, *(selections(bits) for bits in (16, 32, 64))])


def of_pairs() -> Table:
    """`add`, `min` and `max` of two 16-bit numbers in a word."""
    table = Table(operands(32), 32)
    operations: dict[str, Operation] = {"add": lambda x, y: x + y, "min": min, "max": max}
    for kind in ("s16x2", "u16x2"):
        for name, operation in operations.items():

            def want(a: int, b: int, c: int, op: Operation = operation, kind: str = kind) -> int:
                results = (op(field(kind, a, 16, i), field(kind, b, 16, i)) for i in range(2))
                return sum((result & 0xFFFF) << 16 * i for i, result in enumerate(results))

            table.add(f"{name}.{kind} %d, %a, %b;", want)
    for name in ("min", "max"):
        pick = operations[name]

        def relu(a: int, b: int, c: int, pick: Operation = pick) -> int:
            results = (pick(field("s", a, 16, i), field("s", b, 16, i)) for i in range(2))
            return sum(max(result, 0) << 16 * i for i, result in enumerate(results))

        table.add(f"{name}.s16x2.relu %d, %a, %b;", relu)
        word = viewed("s32", lambda a, b, c, pick=pick: max(pick(a, b), 0))
        table.add(f"{name}.s32.relu %d, %a, %b;", word)
        table.add(f"{name}.relu.s32 %d, %a, %b;", word)
    return table


def video_instruction(
    table: Table, name: str, operation: Operation, bits: int, types: tuple[str, str, str]
) -> None:
    target, left, right = types
    opcode, mask = f"{name}.{'.'.join(types)}", (1 << bits) - 1

    def results(a: int, b: int) -> list[int]:
        return [
            operation(field(left, a, bits, i), field(right, b, bits, i)) for i in range(32 // bits)
        ]

    def packed(values: list[int]) -> int:
        return sum((value & mask) << bits * i for i, value in enumerate(values))

    low = -(1 << (bits - 1)) if target == "s32" else 0
    high = mask >> (target == "s32")
    table.add(f"{opcode} %d, %a, %b, %c;", lambda a, b, c: packed(results(a, b)))
    table.add(
        f"{opcode}.sat %d, %a, %b, %c;",
        lambda a, b, c: packed([min(max(value, low), high) for value in results(a, b)]),
    )
    table.add(
        f"{opcode}.add %d, %a, %b, %c;",
        lambda a, b, c: c + sum(results(a, b)),
    )


def video() -> Table:
    """Video instructions on two or four numbers in a word."""
    table = Table(operands(32), 32)
    operations: dict[str, Operation] = {
        "vadd": lambda x, y: x + y,
        "vsub": lambda x, y: x - y,
        "vabsdiff": lambda x, y: abs(x - y),
        "vmin": min,
        "vmax": max,
    }
    kinds = [(d, a, b) for d in ("u32", "s32") for a in ("u32", "s32") for b in ("u32", "s32")]
    for name, operation in operations.items():
        for count in (2, 4):
            for types in kinds:
                video_instruction(table, f"{name}{count}", operation, 32 // count, types)
    return table


def test_logic_of_predicates(run_ptx: Runner) -> None:
    table = Table(operands(32), 32)
    for name, operation in (
        ("and", lambda x, y: x and y),
        ("or", lambda x, y: x or y),
        ("xor", lambda x, y: x != y),
    ):
        table.add(
            f"setp.lt.u32 %p, %a, %b; setp.gt.s32 %q, %c, 7; {name}.pred %p, %p, %q;"
            "not.pred %p, %p; selp.b32 %d, 3, 4, %p;",
            lambda a, b, c, op=operation: 4 if op(a < b, signed(c, 32) > 7) else 3,
        )
    check_tables(run_ptx, [table])
