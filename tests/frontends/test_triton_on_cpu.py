"""`testing.triton_on_cpu`: launches of Triton as they are, on tensors in the CPU's memory."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import Any

import pytest
import torch

from custom_dispatch.errors import CallError, KernelError
from custom_dispatch.testing import triton_on_cpu

triton = pytest.importorskip("triton")
from frontends import triton_functions as functions  # noqa: E402

pytest_plugins = ["pytester"]


def test_launches_run_as_they_are() -> None:
    x, y = torch.randn(2, 3000)
    out = torch.full((3001,), 7.0)
    with triton_on_cpu():
        functions.add[lambda meta: (triton.cdiv(3000, meta["BLOCK"]),)](x, y, out, 3000, BLOCK=1024)
        torch.testing.assert_close(out[:3000], x + y)
        functions.add[(3,)](x, x, x, 2999, BLOCK=1024)  # in place
        torch.testing.assert_close(x[:2999] - y[:2999], 2 * (out[:2999] - y[:2999]) - y[:2999])
        functions.negate[lambda meta: (triton.cdiv(3000, meta["BLOCK"]),)](out, y, 3000)
    torch.testing.assert_close(y, -out[:3000])
    assert out[3000] == 7  # a mask holds


def test_autotuning_takes_the_first_configuration_that_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    x = torch.ones(64)
    with triton_on_cpu():  # Triton leaves the first out, and would stop at the last
        functions.doubled[(1,)](x)
    assert x.unique().tolist() == [2]
    # A GPU would take what is kept for measured.
    assert list(tmp_path.rglob("*.json"))
    assert not list(tmp_path.rglob("*.autotune.json"))


def test_views_and_absent_pointers() -> None:
    whole = torch.randn(4, 20)
    x, y = whole[:, 1:14], torch.zeros(4, 20)
    with triton_on_cpu():
        functions.scale_rows[(4,)](x, None, y, 20, 13, 0.5, BLOCK=16)
        torch.testing.assert_close(y[:, :13], x * 0.5)
        functions.scale_rows[(4,)](x, whole[0], y, 20, 13, 2.0, BLOCK=16)
    torch.testing.assert_close(y[:, :13], x * 2 + whole[0, :13])


def test_launches_take_more_than_modules_pass() -> None:
    """40 pointers, numbers of 64 and 32 bits, and floats of each size."""
    tensors = tuple(torch.arange(40.0).unbind())
    scales = tuple(-(1 << 40) if i == 3 else -i for i in range(40))
    out = torch.zeros(1, dtype=torch.float64)
    with triton_on_cpu():
        functions.sum_of[(1,)](tensors, scales, 0.5, 1e-9, out, COUNT=40)
    assert out.item() == 0.5 + 1e-9 - 3 * (1 << 40) - sum(i * i for i in range(40) if i != 3)


@pytest.mark.parametrize("checked", [False, True])
def test_parameters_may_be_chosen_by_their_addresses(checked: bool) -> None:
    which, x, y, out = torch.tensor([[1], [5], [7], [0]], dtype=torch.int32)
    with triton_on_cpu(checked=checked):
        functions.either[(1,)](which, x, y, out)
        assert out.item() == 5
        functions.either[(1,)](which - 1, x, y, out)
        assert out.item() == 7


def test_checked_names_the_line_of_an_access_behind_the_end() -> None:
    lines = Path(functions.__file__).read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if "behind the end" in text)
    x, y = torch.randn(64), torch.empty(64)
    with triton_on_cpu(checked=True):
        launch = functools.partial(functions.too_far[(1,)], x, y, BLOCK=64)
        with pytest.raises(KernelError, match=f"triton_functions.py:{line}"):
            launch()
        functions.add[(1,)](x, x[:32], y[8:40], 32, BLOCK=64)  # of overlapping tensors, too
    torch.testing.assert_close(y[8:40], x[:32] * 2)


def test_the_driver_is_there_within_the_block_alone() -> None:
    before = triton.runtime.driver._active, torch.cuda.synchronize
    with contextlib.suppress(ZeroDivisionError), triton_on_cpu():
        assert triton.runtime.driver.active.get_current_target().arch == 80
        found = torch.cuda.get_device_properties("cuda")
        assert (found.major, found.minor, found.multi_processor_count) == (8, 0, 8)
        with torch.cuda.device(None):
            torch.cuda.synchronize()
        raise ZeroDivisionError
    assert (triton.runtime.driver._active, torch.cuda.synchronize) == before


def test_what_is_no_tensor_in_memory_is_refused() -> None:
    class OnGpu:
        dtype, device = torch.float32, torch.device("cuda:0")

        def data_ptr(self) -> int:
            return 4096

    with triton_on_cpu(), pytest.raises(CallError, match="is given a tensor on cuda for a pointer"):
        functions.too_far[(1,)](OnGpu(), torch.empty(64), BLOCK=64)


def test_the_plugin_runs_tests_of_triton(pytester: Any) -> None:
    pytester.makepyfile(
        """
        import torch
        import triton

        CAPABILITY = torch.cuda.get_device_capability()

        def test_it():
            assert CAPABILITY == (8, 0)
            assert triton.runtime.driver.active.device == "cpu:checked as sm_80"
        """
    )
    plugin = ("-p", "custom_dispatch.testing.pytest_plugin", "-p", "no:cacheprovider")
    found = pytester.runpytest_inprocess(*plugin, "--triton-on-cpu=checked")
    found.assert_outcomes(passed=1)
