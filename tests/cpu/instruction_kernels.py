"""Kernels of one PTX instruction each, many in one module, so that one compile tests them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from cpu_harness import Launch, Runner

_HEADER = ".version 9.0\n.target sm_80\n.address_size 64\n"
_WIDTHS = {1: "b8", 2: "b16", 4: "b32", 8: "b64"}


@dataclass(frozen=True)
class Case:
    """An instruction, its sources and what it must give.

    `text` uses the registers %d (the result) and %a, %b, %c (the sources), %p and %q (predicates)
    and %e, %f (32 bits). `want` maps the sources to the result.
    """

    name: str
    text: str
    sources: Sequence[np.ndarray]
    want: Callable[..., np.ndarray]
    result: type
    rtol: float = 0.0
    atol: float = 0.0


def entry_text(index: int, case: Case) -> str:
    """A PTX entry that applies the instruction to element i of its sources, i being the thread."""
    sizes = [source.dtype.itemsize for source in case.sources]
    result = np.dtype(case.result).itemsize
    parameters = ", ".join(f".param .u64 k{index}_{i}" for i in range(len(sizes) + 1))
    lines = [
        f".visible .entry k{index}({parameters})",
        "{",
        ".reg .pred %p, %q;",
        ".reg .b32 %i, %e, %f;",
        ".reg .b64 %at, %off;",
        f".reg .b{max(8 * result, 16)} %d;",
        "mov.u32 %i, %tid.x;",
        "mov.u32 %e, %ctaid.x;",
        "mov.u32 %f, %ntid.x;",
        "mad.lo.s32 %i, %e, %f, %i;",
    ]
    for letter, size, number in zip("abc", sizes, range(3), strict=False):
        lines += [
            f".reg .b{max(8 * size, 16)} %{letter};",
            f"ld.param.u64 %at, [k{index}_{number}];",
            f"mul.wide.u32 %off, %i, {size};",
            "add.s64 %at, %at, %off;",
            f"ld.global.{_WIDTHS[size]} %{letter}, [%at];",
        ]
    lines += [
        case.text,
        f"ld.param.u64 %at, [k{index}_{len(sizes)}];",
        f"mul.wide.u32 %off, %i, {result};",
        "add.s64 %at, %at, %off;",
        f"st.global.{_WIDTHS[result]} [%at], %d;",
        "ret;",
        "}",
    ]
    return "\n".join(lines)


def check(run: Runner, cases: Sequence[Case], cpu: str = "generic") -> None:
    """Compile all cases at once, run each, and compare with what it must give."""
    ptx = _HEADER + "\n".join(entry_text(index, case) for index, case in enumerate(cases))
    launches = []
    for index, case in enumerate(cases):
        count = len(case.sources[0])
        assert count % 64 == 0
        arrays = [*case.sources, np.zeros(count, case.result)]
        launches.append(Launch(f"k{index}", arrays, [len(case.sources)], grid=(count // 64, 1, 1)))
    failures = []
    for case, (got,) in zip(cases, run(ptx, launches, cpu), strict=True):
        with np.errstate(all="ignore"):
            want = np.asarray(case.want(*case.sources)).astype(case.result)
        try:
            if np.issubdtype(case.result, np.floating):
                want = flushed(want)
                np.testing.assert_allclose(got, want, rtol=case.rtol, atol=case.atol)
                zeros = want == 0
                if case.atol == 0:
                    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))
            else:
                np.testing.assert_array_equal(got, want)
        except AssertionError as error:
            wrong = np.flatnonzero(~((got == want) | ((got != got) & (want != want))))[:4]
            shown = [[source[i] for source in case.sources] for i in wrong]
            failures.append(
                f"{case.name}: for {shown} got {got[wrong]}, not {want[wrong]}\n{error}"
            )
    assert not failures, "\n".join(failures)


def flushed(values: np.ndarray) -> np.ndarray:
    """Subnormal f32 and f64 numbers as zero, which is how both of IREE's CPU drivers compute."""
    if values.dtype.itemsize == 2:
        return values
    subnormal = np.abs(values) < np.finfo(values.dtype).tiny
    return np.where(subnormal, np.copysign(values.dtype.type(0), values), values)


def pairs(values: np.ndarray, count: int = 256) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays that together hold every pair of the first sixteen values, then random ones."""
    n = min(len(values), 16)
    first, second = np.repeat(values[:n], n), np.tile(values[:n], n)
    random = np.random.default_rng(7)
    missing = count - len(first)
    if missing > 0:
        first = np.concatenate([first, random.choice(values, missing)])
        second = np.concatenate([second, random.choice(values, missing)])
    return first, second


def integers(dtype: type, count: int = 256) -> np.ndarray:
    """Edge values, then random ones."""
    info = np.iinfo(dtype)
    edges = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, info.max, info.max - 1, info.max // 2]
    edges += [info.min, info.min + 1, info.max // 3 * 2]
    random = np.random.default_rng(3)
    rest = random.integers(info.min, info.max, count - len(edges), dtype=dtype, endpoint=True)
    return np.concatenate([np.array(edges, dtype), rest])


def floats(dtype: type, count: int = 256) -> np.ndarray:
    """NaN, infinities, zeros, subnormals, halves, the integer types' ends; then random ones."""
    info = np.finfo(dtype)
    edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, float(info.tiny) / 4]
    if info.bits >= 32:  # IREE's CPU drivers flush these
        edges[-1] = float(info.tiny) * 4
    edges += [float(info.max), float(info.tiny), -float(info.max), 2.5, -0.5]
    if info.bits >= 32:
        edges += [127.5, 128.0, -128.5, 255.5, 256.0, 32767.5, 65535.9, 2.0**31, -(2.0**31)]
        edges += [2.0**32, 2.0**63, -(2.0**63), 2.0**64, 1e30, -1e30, 4294967040.0, 2147483520.0]
    random = np.random.default_rng(5)
    rest = random.standard_normal(count - len(edges)) * 10.0 ** random.integers(
        -3, 4, count - len(edges)
    )
    with np.errstate(over="ignore"):
        return np.concatenate([np.array(edges, np.float64), rest]).astype(dtype)
