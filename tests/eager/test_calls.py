"""Calling kernels and loaded functions: what they take, and what they refuse."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_arrays import Foreign
from iree import runtime as rt
from sample_kernels import samples

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.compiled import CompiledModule
from custom_dispatch.eager import call as eager
from custom_dispatch.eager import placing
from custom_dispatch.errors import CallError, DeviceError
from custom_dispatch.runtime import device
from custom_dispatch.runtime.device import hal_device
from custom_dispatch.runtime.device_array import DeviceArray

ONES = np.ones(8, np.float32)


def test_a_kernel_is_called_with_arrays() -> None:
    lhs, rhs = np.arange(100, dtype=np.float32), np.full(100, 3, np.float32)
    product = simple_mul.on("cpu")(lhs, rhs)
    np.testing.assert_array_equal(product, lhs * rhs)


def test_operands_are_also_given_by_name() -> None:
    twos = np.full(8, 2, np.float32)
    np.testing.assert_array_equal(simple_mul.on("cpu")(rhs=ONES, lhs=twos), twos)


def test_an_update_in_place_leaves_the_callers_array_as_it_is() -> None:
    rhs = np.full(8, 5, np.float32)
    result = simple_mul_inplace.on("cpu")(np.full(8, 2, np.float32), rhs)
    np.testing.assert_array_equal(result, np.full(8, 10, np.float32))
    np.testing.assert_array_equal(rhs, np.full(8, 5, np.float32))


def test_an_update_in_place_leaves_the_callers_device_array_as_it_is(
    mixed: CompiledModule,
) -> None:
    program = cd.load(cd.compile(None, [simple_mul_inplace], ["cpu"]), "cpu")
    device = hal_device("cpu")
    lhs, rhs = (rt.asdevicearray(device, np.full(8, value, np.float32)) for value in (2, 5))
    result = program.simple_mul_inplace(lhs, rhs)
    assert isinstance(result, DeviceArray)
    np.testing.assert_array_equal(result.to_host(), np.full(8, 10, np.float32))
    np.testing.assert_array_equal(rhs.to_host(), np.full(8, 5, np.float32))


def test_empty_arrays_give_empty_results() -> None:
    assert simple_mul.on("cpu")(ONES[:0], ONES[:0]).shape == (0,)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(16, dtype=np.float32)[::2],
        np.asfortranarray(np.arange(8, dtype=np.float32)),
        np.arange(8, dtype=np.float32)[::-1],
        Foreign(np.arange(8, dtype=np.float32)),
    ],
    ids=["strided", "fortran", "reversed", "dlpack"],
)
def test_arrays_of_any_layout_are_read(array: Any) -> None:
    values = array.array if isinstance(array, Foreign) else array
    np.testing.assert_array_equal(simple_mul.on("cpu")(array, ONES), values)


def test_arrays_of_numpy_s_other_classes_are_numpy_s(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "x.bin", np.float32, "w+", shape=(8,))
    mapped[:] = 3
    for _ in range(2):
        product = simple_mul.on("cpu")(mapped, ONES)
        assert type(product) is np.ndarray
        np.testing.assert_array_equal(product, 3 * ONES)
    assert simple_mul.on("cpu")(ONES, 2 * ONES, out=mapped) is mapped
    np.testing.assert_array_equal(mapped, 2 * ONES)


def test_a_masked_array_is_refused_because_kernels_know_no_masks(mixed: CompiledModule) -> None:
    masked = np.ma.MaskedArray(ONES, mask=[True] * 8)
    program = cd.load(mixed, "cpu")
    for call in (
        lambda: simple_mul.on("cpu")(ONES, masked),
        lambda: program.mixed_invocation(ONES, masked),
        lambda: program.mixed_invocation.submit(ONES, masked),
    ):
        with pytest.raises(CallError) as caught:
            call()
        assert "is a masked array." in str(caught.value)
        assert "next step: pass array.filled(value), or array.data for all" in str(caught.value)


def test_results_have_the_declared_signedness() -> None:
    values = np.array([200, 3], np.uint8)
    doubled = samples.doubling["u8"].on("cpu")(values // 2)
    assert doubled.dtype == np.uint8
    np.testing.assert_array_equal(doubled, np.array([200, 2], np.uint8))
    module = cd.compile(None, samples.doubling["u8"], ["cpu:host"])
    assert cd.load(module, "cpu").function()(values // 2).dtype == np.uint8


def test_several_results_come_as_a_tuple() -> None:
    pairs = np.arange(10, dtype=np.float32).reshape(5, 2)
    sums, differences = samples.sum_and_difference.on("cpu")(pairs)
    np.testing.assert_array_equal(sums, pairs[:, 0] + pairs[:, 1])
    np.testing.assert_array_equal(differences, pairs[:, 0] - pairs[:, 1])


def test_a_kernel_without_inputs_is_called_with_its_scalars() -> None:
    np.testing.assert_array_equal(samples.iota.on("cpu")(first=-3), np.arange(-3, 13))


REFUSED: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "dtype": (
        lambda: simple_mul.on("cpu")(ONES.astype(np.float64), ONES),
        ("Operand `lhs` of kernel `simple_mul` has dtype float64", "float32 (f32)", "astype"),
    ),
    "byte order": (
        lambda: samples.doubling["u16"].on("cpu")(np.arange(8, dtype=">u2")),
        ("has dtype >u2", "uint16 (u16)", 'array.astype("uint16")'),
    ),
    "rank": (
        lambda: simple_mul.on("cpu")(ONES, ONES.reshape(2, 4)),
        ("Kernel `simple_mul`: operand `rhs` has shape [2, 4], which is rank 2", "rank 1"),
    ),
    "dims": (
        lambda: simple_mul.on("cpu")(ONES, ONES[:3]),
        ("`lhs`.shape[0] and `rhs`.shape[0] disagree on dim n: 8 and 3", "sizes that agree"),
    ),
    "static size": (
        lambda: samples.sum_and_difference.on("cpu")(np.ones((4, 3), np.float32)),
        ("operand `pairs` has size 3 in dimension 1", "expected: 2"),
    ),
    "missing": (
        lambda: simple_mul.on("cpu")(ONES),
        ("Kernel `simple_mul` is called without `rhs`", "simple_mul(lhs, rhs)"),
    ),
    "too many": (
        lambda: simple_mul.on("cpu")(ONES, ONES, ONES),
        ("is called with 3 arguments", "results are returned"),
    ),
    "twice": (
        lambda: simple_mul.on("cpu")(ONES, lhs=ONES),
        ("is given `lhs` twice", "by position or by keyword"),
    ),
    "unknown keyword": (
        lambda: simple_mul.on("cpu")(ONES, product=ONES),
        ("has no input `product`", "simple_mul(lhs, rhs)"),
    ),
    "no array": (
        lambda: simple_mul.on("cpu")([1.0], ONES),
        ("Operand `lhs` of kernel `simple_mul` is list", "a numpy array"),
    ),
    "scalar range": (
        lambda: samples.narrow_scalars.on("cpu")(ONES, 128, 0, True),
        ("Operand `byte` of kernel `narrow_scalars` is 128, which i8 does not hold",),
    ),
    "scalar kind": (
        lambda: samples.scale.on("cpu")(ONES, "two", 1),
        ("Operand `alpha` of kernel `scale` is 'two'", "a number for f32"),
    ),
    "fraction": (
        lambda: samples.scale.on("cpu")(ONES, 1.0, 1.5),
        ("Operand `beta` of kernel `scale` is 1.5", "a number for i32"),
    ),
    "negative size": (
        lambda: samples.drop_first.on("cpu")(ONES[:0]),
        ("Kernel `drop_first`: n - 1 is -1 for n = 0.", "expected: a size from 0"),
    ),
    "device name": (
        lambda: simple_mul.on("gpu")(ONES, ONES),
        (
            "'gpu' is not a device",
            "auto or cuda or cuda:N (GPUs count from 0) or cpu or cpu:checked",
        ),
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_call_that_does_not_fit_is_refused(what: str) -> None:
    call, parts = REFUSED[what]
    with pytest.raises((CallError, DeviceError)) as caught:
        call()
    message = str(caught.value)
    for part in parts:
        assert part in message
    assert "next step: " in message


def test_a_function_that_is_not_there_is_a_call_that_fails(mixed: CompiledModule) -> None:
    program = cd.load(mixed, "cpu")
    for name in ("g", ["g"]):
        with pytest.raises(CallError) as caught:
            program.function(name)  # type: ignore[arg-type]
        assert str(caught.value) == (
            f"The module has no function `{name}`.\n"
            "  expected: one of mixed_invocation\n"
            "  next step: correct the name."
        )


def test_a_loaded_function_refuses_what_does_not_fit(mixed: CompiledModule) -> None:
    function = cd.load(mixed, "cpu").mixed_invocation
    kind = "(tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)"
    for arguments, part in (
        ((ONES,), f"expected: 2: {kind}"),
        ((ONES, ONES.astype(np.float16)), "Argument 1 of `mixed_invocation` has dtype float16"),
        ((ONES.reshape(8, 1), ONES), "which is rank 2"),
        ((ONES, ONES[:3]), "`lhs`.shape[0] and `rhs`.shape[0] disagree on dim n"),
    ):
        with pytest.raises(CallError) as caught:
            function(*arguments)
        assert part in str(caught.value)
        assert "next step: " in str(caught.value)


def test_threads_that_call_first_share_one_build(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = cd.Kernel(
        "simple_mul",
        source=str(simple_mul.source),
        operands=simple_mul.operands,
        block=simple_mul.block,
        grid=simple_mul.grid,
    )
    built = []
    build = eager.module_for

    def counted(kernel: cd.Kernel, kind: str, **settings: Any) -> bytes:
        built.append(kernel)
        return build(kernel, kind, **settings)

    monkeypatch.setattr(eager, "module_for", counted)
    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda: results.append(kernel.on("cpu")(ONES, ONES)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all((result == 1).all() for result in results)
    assert len(built) == 1


@pytest.mark.parametrize(
    ("capability", "target"),
    [(90, "cuda:sm_90"), (89, "cuda:sm_89"), (91, "cuda:sm_90"), (130, "cuda:sm_121")],
)
def test_a_kernel_is_built_for_the_gpu_that_is_here(
    monkeypatch: pytest.MonkeyPatch, capability: int, target: str
) -> None:
    gpu = cd.devices()[-1].__class__("cuda", "some GPU", capability)
    monkeypatch.setattr(device, "devices", lambda: (gpu,))
    assert str(placing.target_for_gpu(simple_mul)) == target


def test_a_declared_object_is_taken_where_it_fits_the_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = cd.Kernel(
        "simple_mul",
        objects={"cuda:sm_80": "a.ptx", "cuda:sm_90a": "b.ptx"},
        operands=simple_mul.operands,
        block=simple_mul.block,
        grid=simple_mul.grid,
    )
    for capability, target in ((90, "cuda:sm_90a"), (100, "cuda:sm_80")):
        gpu = cd.devices()[-1].__class__("cuda", "some GPU", capability)
        monkeypatch.setattr(device, "devices", lambda gpu=gpu: (gpu,))
        assert str(placing.target_for_gpu(kernel)) == target


def test_a_kernel_whose_objects_do_not_fit_the_gpu_runs_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = cd.build([simple_mul], ["cuda:sm_80"])
    (tmp_path / "later.ptx").write_bytes(next(iter(library.objects)).data)
    gpu = cd.devices()[-1].__class__("cuda", "some GPU", 75)
    monkeypatch.setattr(device, "devices", lambda: (gpu, cd.devices()[-1]))
    monkeypatch.setattr(placing, "device_problem", lambda kind: None)
    kernel = cd.Kernel(
        "simple_mul",
        objects={"cuda:sm_80": tmp_path / "later.ptx"},
        operands=simple_mul.operands,
        block=simple_mul.block,
        grid=simple_mul.grid,
    )
    np.testing.assert_array_equal(kernel(ONES, ONES), ONES)
    # Asked for by name, it is refused, with both architectures.
    with pytest.raises(cd.CustomDispatchError, match="sm_80") as caught:
        kernel.on("cuda")(ONES, ONES)
    assert "sm_75" in str(caught.value)
