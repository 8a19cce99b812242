"""`cp.async`: sizes, sources cut short or ignored, hints, and the waits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cpu_harness import Runner
from properties import ROWS, Table, check_tables, generator, integers

FILL = "st.shared.v4.b32 [%s], {%b, %b, %b, %b}; st.global.v4.b32 [%g], {%a, %b, %a, %c};"


HASH = (
    "{ .reg .b32 r<4>; ld.shared.v4.b32 {r0,r1,r2,r3}, [%s]; mad.lo.u32 r1, r0, 31, r1;"
    "mad.lo.u32 r2, r1, 31, r2; mad.lo.u32 %d, r2, 31, r3; }"
)
"""A number made of all four words."""


def copied(size: int, given: int) -> Callable[[int, int, int], int]:
    """What `HASH` makes of the row's shared memory afterwards: what was there is %b."""

    def want(a: int, b: int, c: int) -> int:
        source = b"".join(value.to_bytes(4, "little") for value in (a, b, a, c))
        copy = (source[:given] + bytes(16))[:size]
        memory = copy + b.to_bytes(4, "little") * 4
        words = [int.from_bytes(memory[4 * i : 4 * i + 4], "little") for i in range(4)]
        return ((words[0] * 31 + words[1]) * 31 + words[2]) * 31 + words[3]

    return want


def test_copies_of_every_size(run_ptx: Runner) -> None:
    table = Table([integers(f"copied {letter}", 32) for letter in "abc"], 32)
    waits = (
        "cp.async.commit_group; cp.async.wait_group 0;",
        "cp.async.wait_all;",
        "cp.async.commit_group; cp.async.wait_group 1; cp.async.wait_all;",
    )
    forms = [("ca", size, "") for size in (4, 8, 16)]
    forms += [("cg", 16, hint) for hint in ("", ".L2::64B", ".L2::128B", ".L2::256B")]
    for place, (cache, size, hint) in enumerate(forms):
        for space in ("shared", "shared::cta"):
            wait, copy = (
                waits[place % 3],
                f"cp.async.{cache}.{space}.global{hint} [%s], [%g], {size}",
            )
            table.add(f"{FILL} {copy}; {wait} {HASH}", copied(size, size))
        for given in range(0, size + 1, 3):
            text = f"{FILL} {copy}, {given}; cp.async.wait_all; {HASH}"
            table.add(text, copied(size, given))
    check_tables(run_ptx, [table])


def test_sources_ignored_and_cut_short_by_each_thread(run_ptx: Runner) -> None:
    sizes = generator("source sizes").integers(0, 17, ROWS, np.uint32)
    table = Table([*(integers(f"copied {letter}", 32) for letter in "ab"), sizes], 32)
    table.add(
        f"{FILL} cp.async.cg.shared.global [%s], [%g], 16, %c; cp.async.wait_all; {HASH}",
        lambda a, b, c: copied(16, c)(a, b, c),
    )
    table.add(
        f"{FILL} setp.lt.u32 %p, %c, 8; cp.async.ca.shared.global [%s], [%g], 16, %p;"
        f"cp.async.wait_all; {HASH}",
        lambda a, b, c: copied(16, 0 if c < 8 else 16)(a, b, c),
    )
    check_tables(run_ptx, [table])
