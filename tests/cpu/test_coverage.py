"""What share of the PTX that compilers emit the CPU target lowers."""

from __future__ import annotations

from instruction_coverage import report

LEAST_SHARE = 0.9998
"""Measured with NVRTC 13.0.88: 99.987 % of 139 269 instructions (instruction_coverage.py)."""

NOT_LOWERED = {"mov.u32", "brkpt", "cvta.to.param.u64"}
"""The performance counters `%pm0` to `%pm3`, a debugger's break point, and the address of a
parameter as a generic one."""


def test_nothing_that_headers_and_kernels_need_is_missing() -> None:
    found = report()
    assert found.total > 130_000
    assert found.share >= LEAST_SHARE
    assert set(found.refused) <= NOT_LOWERED
