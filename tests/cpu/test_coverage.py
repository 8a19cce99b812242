"""What the CPU target lowers of the PTX that compilers emit."""

from __future__ import annotations

import pytest
from every_intrinsic import GROUPS
from instruction_coverage import ARCHS, builds, each_form_once, functions, measure

NOT_LOWERED = {"mov.u32", "brkpt", "cvta.to.param.u64"}
"""The performance counters `%pm0` to `%pm3`, a debugger's break point, and the address of a
parameter as a generic one. With NVRTC 13.0.88 these are 0.008 % of 230 221 instructions
(instruction_coverage.py, which counts those of kernels too)."""


@pytest.mark.parametrize(
    ("groups", "archs", "forms"),
    [
        (GROUPS[1:], ARCHS[:1], 850),
        pytest.param(GROUPS, ARCHS, 1400, marks=pytest.mark.thorough),
    ],
)
def test_nothing_that_headers_need_is_missing(
    groups: tuple[str, ...], archs: tuple[str, ...], forms: int
) -> None:
    """Each form of an instruction is lowered in one of the kernels that have it.

    Those of kernels are run: in test_corpus.py, and in tests/shipped_kernels; and so is the first
    group, that of <math.h>: in test_math_library.py.
    """
    seen: set[str] = set()
    total = 0
    for _, _, ptx in builds(functions(groups), archs):
        found = measure(each_form_once(ptx, seen), {})
        assert set(found.refused) <= NOT_LOWERED
        total += found.total
    assert len(seen) > forms
    assert total > 12 * forms
