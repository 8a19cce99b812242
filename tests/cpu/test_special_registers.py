"""What a thread is told of itself, in blocks of 64 threads and a grid of four."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from cpu_harness import Runner
from properties import ROWS, Table, check_tables

FULL = (1 << 32) - 1
REGISTERS: dict[str, Callable[[int], int]] = {
    "tid.x": lambda i: i % 64,
    "tid.y": lambda i: 0,
    "ntid.x": lambda i: 64,
    "ntid.z": lambda i: 1,
    "ctaid.x": lambda i: i // 64,
    "ctaid.y": lambda i: 0,
    "nctaid.x": lambda i: 4,
    "nctaid.y": lambda i: 1,
    "laneid": lambda i: i % 32,
    "warpid": lambda i: i % 64 // 32,
    "nwarpid": lambda i: 2,
    "lanemask_eq": lambda i: 1 << i % 32,
    "lanemask_lt": lambda i: (1 << i % 32) - 1,
    "lanemask_le": lambda i: (2 << i % 32) - 1,
    "lanemask_gt": lambda i: FULL ^ ((2 << i % 32) - 1),
    "lanemask_ge": lambda i: FULL ^ ((1 << i % 32) - 1),
    "smid": lambda i: 0,
    "nsmid": lambda i: 1,
    "cluster_ctarank": lambda i: 0,
    "cluster_nctarank": lambda i: 1,
    "clusterid.x": lambda i: i // 64,
    "nclusterid.x": lambda i: 4,
    "cluster_ctaid.x": lambda i: 0,
    "cluster_nctaid.x": lambda i: 1,
    "dynamic_smem_size": lambda i: 0,
}


def numbers() -> np.ndarray:
    return np.arange(ROWS, dtype=np.uint32)


def test_every_special_register_says_where_the_thread_is(run_ptx: Runner) -> None:
    table = Table((numbers(),), 32)
    for name, want in REGISTERS.items():
        table.add(f"mov.u32 %d, %{name};", want)
    table.add("mov.pred %p, %is_explicit_cluster; selp.u32 %d, 1, 0, %p;", lambda i: 0)
    table.add("mov.u32 %d, WARP_SZ;", lambda i: 32)
    for name in ("clock", "clock_hi", "globaltimer_lo", "globaltimer_hi", "total_smem_size"):
        table.add(f"mov.u32 %d, %{name}; xor.b32 %d, %d, %d;", lambda i: 0)
    check_tables(run_ptx, [table])


HINTS = (
    "prefetch.global.L1 [%g];",
    "prefetch.global.L2::evict_last [%g];",
    "prefetch.local.L2 [%off];",
    "prefetchu.L1 [%g];",
    "applypriority.global.L2::evict_normal [where], 128;",
    "nanosleep.u32 5;",
    "pmevent 3;",
    "griddepcontrol.wait;",
    "griddepcontrol.launch_dependents;",
    "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 where, 1.0;",
    "createpolicy.range.global.L2::evict_last.b64 where, [%g], 128, 256;",
    "createpolicy.fractional.L2::evict_first.b64 where; "
    "ld.global.L1::evict_last.L2::cache_hint.b64 where, [%g], where;",
)


def test_hints_and_waits_for_what_is_over_change_nothing(run_ptx: Runner) -> None:
    table = Table((numbers(),), 32)
    for hint in HINTS:
        aligned = "{ .reg .b64 where; and.b64 where, %g, -128;"
        table.add(f"{aligned} mov.b32 %d, %a; {hint} }}", lambda i: i)
    check_tables(run_ptx, [table])


@pytest.mark.parametrize("name", ["clock64", "globaltimer"])
def test_clocks_go_on(run_ptx: Runner, name: str) -> None:
    table = Table((numbers(),), 32)
    later = (
        f"{{ .reg .b64 before, after; mov.u64 before, %{name}; nanosleep.u32 20;"
        f"{LOOP} mov.u64 after, %{name}; setp.gt.u64 %p, after, before; selp.u32 %d, 1, 0, %p; }}"
    )
    table.add(later, lambda i: 1)
    check_tables(run_ptx, [table])


LOOP = " ".join(["st.volatile.shared.b32 [%s], %i;"] * 64)
"""Work between two readings."""
