"""A kernel that the CPU cannot run, and its reference in its place: only where it is declared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, FallbackWarning, UnsupportedInstructionError
from custom_dispatch.measure.check import check_kernel

SOURCE = """
struct Factors { float a; float b; };
extern "C" __global__ void scale(const float* x, float* y, float* total, Factors f, int n) {
  __shared__ unsigned long long barrier;
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::
               "r"((unsigned)__cvta_generic_to_shared(&barrier)) : "memory");
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = x[i] * f.a + f.b;
}
"""
N = cd.dim("n")


def reference(x: Any, total: Any, f: Any) -> Any:
    total += 1  # the caller's array is another one
    return x * numpy.float64(f["a"]) + f["b"], total


def scale(directory: Path, **changes: Any) -> cd.Kernel:
    (directory / "scale.cu").write_text(SOURCE)
    parts: dict[str, Any] = {"reference": reference, "fallback": "reference"}
    return cd.Kernel(
        "scale",
        source=directory / "scale.cu",
        operands=[
            cd.In("x", "f32", [N]),
            cd.Out("y", "f32", [N]),
            cd.InOut("total", "f32", [1]),
            cd.Struct("f", a="f32", b="f32"),
            cd.Scalar("n", "i32", N),
        ],
        block=64,
        grid=cd.ceildiv(N, 64),
        **(parts | changes),
    )


ARGUMENTS = (numpy.arange(3, dtype=numpy.float32), numpy.zeros(1, numpy.float32))
FACTORS = {"a": 2, "b": 1}


def call(kernel: cd.Kernel, device: str = "cpu") -> Any:
    return kernel.on(device)(*ARGUMENTS, FACTORS)


def test_the_reference_runs_where_the_declaration_says_so_and_says_so(tmp_path: Path) -> None:
    kernel = scale(tmp_path)
    for bound in (kernel, kernel.with_launch(block=32)):
        with pytest.warns(FallbackWarning) as caught:
            y, total = call(bound)
        assert caught[0].filename == __file__
        text = str(caught[0].message)
        assert text.startswith(
            "kernel `scale` cannot run on the CPU, so its reference runs instead. Kernel `scale` "
            "uses `mbarrier.init.shared.b64` (PTX line "
        )
        numpy.testing.assert_array_equal(y, numpy.array([1, 3, 5], numpy.float32), strict=True)
        numpy.testing.assert_array_equal(total, numpy.ones(1, numpy.float32), strict=True)
    assert ARGUMENTS[1][0] == 0


def test_without_that_it_is_refused_and_the_refusal_names_the_way(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedInstructionError) as caught:
        call(scale(tmp_path, fallback=None))
    assert caught.value.next_step == (
        "leave `cpu` out of the targets, or write this part of the kernel without the instruction; "
        'fallback="reference" in its declaration lets calls from Python run the reference.'
    )
    with pytest.raises(UnsupportedInstructionError) as caught:
        call(scale(tmp_path, fallback=None, reference=None))
    assert "reference" not in str(caught.value)


def test_checked_mode_and_modules_never_run_it(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedInstructionError):
        call(scale(tmp_path), "cpu:checked")
    with pytest.raises(UnsupportedInstructionError) as caught:
        cd.compile(None, [scale(tmp_path)], ["cuda:sm_90", "cpu"])
    assert caught.value.next_step.endswith(
        "; its reference runs in calls from Python, and a module cannot hold it."
    )


def test_a_check_compares_nothing_with_itself(tmp_path: Path) -> None:
    results = list(check_kernel(scale(tmp_path), "cpu"))
    assert results
    assert all(result.skipped.startswith("Kernel `scale` uses `mbar") for result in results)
    problems = [result.problem for result in check_kernel(scale(tmp_path, fallback=None), "cpu")]
    assert all(problem.startswith("Kernel `scale` uses `mbar") for problem in problems)


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (lambda *_: 1 / 0, "the reference fails: ZeroDivisionError: division by zero."),
        (lambda x, *_: x, "the reference returns 1 results, and the kernel 2."),
        (
            lambda x, total, f: (x[:1], total),
            "the reference returns `y` with shape [1].",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::custom_dispatch.errors.FallbackWarning")
def test_a_reference_that_does_not_fit_is_an_error(tmp_path: Path, wrong: Any, found: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        call(scale(tmp_path, reference=wrong))
    assert caught.value.found == f"Kernel `scale`: {found}"


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"fallback": "numpy"}, "Kernel `scale`: fallback is 'numpy'."),
        (
            {"reference": None},
            'Kernel `scale`: fallback is "reference", and there is no reference.',
        ),
    ],
)
def test_a_fallback_is_declared_with_a_reference(
    tmp_path: Path, changes: dict[str, Any], found: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        scale(tmp_path, **changes)
    assert caught.value.found == found
