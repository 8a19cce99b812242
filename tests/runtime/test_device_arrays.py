"""Arrays on a device: what calls take and give without copying."""

from __future__ import annotations

import copy
import ctypes
import dataclasses
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from foreign_arrays import Elsewhere, Foreign, aligned
from sample_kernels import samples

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.errors import CallError
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.runtime.dlpack import ForeignArray

KERNELS = [simple_mul, simple_mul_inplace]


@pytest.fixture(scope="module")
def program() -> cd.Program:
    return cd.load(cd.compile(None, KERNELS, ["cpu"]), "cpu")


def test_results_of_device_arrays_are_device_arrays(program: cd.Program) -> None:
    a, b = aligned(100), aligned(100)[::-1].copy()
    product = program.simple_mul(program.to_device(a), b)
    assert isinstance(product, cd.DeviceArray)
    assert product.shape == (100,)
    assert product.dtype == np.float32
    assert (product.ndim, product.size, product.nbytes, len(product)) == (1, 100, 400, 100)
    assert product.device == "cpu"
    assert product.ready
    assert repr(product) == "DeviceArray(100xf32 on cpu)"
    np.testing.assert_array_equal(product, a * b)
    assert (np.asarray(product) + 1).shape == (100,)


def test_numpy_arrays_in_give_numpy_arrays_out(program: cd.Program) -> None:
    assert type(program.simple_mul(aligned(3), aligned(3))) is np.ndarray


def test_host_copies_are_the_callers_own(program: cd.Program) -> None:
    result = program.simple_mul(program.to_device(aligned(8)), aligned(8))
    first = result.to_host()
    first[:] = 7
    np.testing.assert_array_equal(result.to_host(), aligned(8) ** 2)
    view = np.asarray(result)
    assert not view.flags.writeable
    with pytest.raises(TypeError, match="rank 0"):
        len(program.to_device(np.float32(3)))
    assert program.to_device(np.float32(3)).item() == 3


def test_dlpack_gives_the_memory_itself(program: cd.Program) -> None:
    result = program.simple_mul(program.to_device(aligned(8)), aligned(8))
    taken = np.from_dlpack(result)
    assert taken.ctypes.data == np.asarray(result).ctypes.data
    np.testing.assert_array_equal(taken, aligned(8) ** 2)
    address = taken.ctypes.data
    del result
    np.testing.assert_array_equal(taken, aligned(8) ** 2)
    assert taken.ctypes.data == address
    for wrong in ({"dl_device": (2, 0)}, {"copy": True}):
        with pytest.raises(BufferError):
            program.to_device(aligned(8)).__dlpack__(**wrong)
    assert not hasattr(program.to_device(aligned(8)), "__cuda_array_interface__")


@pytest.mark.parametrize(
    "name", ["f16", "f32", "f64", "i8", "i32", "i64", "u8", "u16", "u32", "bool"]
)
def test_every_type_goes_both_ways(program: cd.Program, name: str) -> None:
    dtype = ELEMENT_TYPES[name].to_numpy()
    values = np.array([0, 1, 1, 0, 1], dtype)
    array = program.to_device(Foreign(values))
    assert array.element_type.name == name
    back = np.from_dlpack(array)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize("name", ["f8E4M3FN", "f8E5M2", "bf16"])
def test_types_that_numpy_lacks_go_both_ways(program: cd.Program, name: str) -> None:
    kind = ELEMENT_TYPES[name]
    values = np.array([0.5, 1, -2, 0.25], kind.to_numpy())
    given = program.to_device(values)
    np.testing.assert_array_equal(given.to_host(), values)
    foreign = ForeignArray(given)
    assert foreign.dtype is kind
    assert foreign.shape == (4,)
    np.testing.assert_array_equal(foreign.to_numpy().view(kind.to_numpy()), values)
    again = program.to_device(foreign)
    np.testing.assert_array_equal(again.to_host(), values)


@pytest.mark.parametrize("offset", [0, 4, 32])
def test_other_libraries_arrays_are_read_wherever_they_begin(
    program: cd.Program, offset: int
) -> None:
    a = aligned(50, offset)
    array = program.to_device(Foreign(a))
    shares = np.asarray(array).ctypes.data == a.ctypes.data
    assert shares == (offset == 0), "copied only where IREE cannot take it as it is"
    np.testing.assert_array_equal(program.simple_mul(array, Foreign(a)).to_host(), a * a)


def test_other_libraries_arrays_are_read_in_any_order(program: cd.Program) -> None:
    a = np.arange(12, dtype=np.float32)
    for array in (a[::2], a[::-1], a[10:2:-3], a[:0]):
        np.testing.assert_array_equal(program.to_device(Foreign(array)).to_host(), array)
    square = np.arange(12, dtype=np.int32).reshape(3, 4).T
    np.testing.assert_array_equal(program.to_device(Foreign(square)).to_host(), square)


def test_an_array_lives_as_long_as_what_was_made_of_it(program: cd.Program) -> None:
    array = aligned(64)
    device = program.to_device(Foreign(array))
    expected = array.copy()
    del array
    _ = [aligned(64) * 0 for _ in range(50)]
    np.testing.assert_array_equal(device.to_host(), expected)


REFUSED: dict[str, tuple[Any, str]] = {
    "dtype": (lambda p: p.simple_mul(p.to_device(aligned(4).astype(np.int32)), aligned(4)),
              "Argument 0 of `simple_mul` has dtype i32"),
    "dlpack dtype": (lambda p: p.simple_mul(Foreign(np.zeros(4, np.complex64)), aligned(4)),
                     "Argument 0 of `simple_mul` has dtype complex64"),
    "rank": (lambda p: p.simple_mul(p.to_device(aligned(4).reshape(2, 2)), aligned(4)),
             "Argument 0 of `simple_mul` has shape [2, 2], which is rank 2"),
    "dims": (lambda p: p.simple_mul(p.to_device(aligned(4)), p.to_device(aligned(5))),
             "disagree on dim n"),
    "device": (lambda p: p.simple_mul(Elsewhere(aligned(4)), aligned(4)),
               "Argument 0 of `simple_mul` is on cuda:0, and the program runs on cpu"),
    "no array": (lambda p: p.to_device([1.0]), "The array is list"),
    "no type of kernels": (lambda p: p.to_device(np.zeros(3, "M8[s]")),
                           "The array has dtype datetime64[s]"),
    "keyword": (lambda p: p.simple_mul(aligned(4), other=aligned(4)),
                "`simple_mul` is given `other` by keyword"),
    "twice": (lambda p: p.simple_mul(aligned(4), aligned(4), lhs=aligned(4)),
              "`simple_mul` is given `lhs` twice"),
    "read-only": (lambda p: p.simple_mul(Foreign(np.broadcast_to(aligned(1), (4,))), aligned(4)),
                  "Argument 0 of `simple_mul` cannot be read as an array"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused(program: cd.Program, what: str) -> None:
    call, message = REFUSED[what]
    with pytest.raises(CallError) as caught:
        call(program)
    assert message in str(caught.value)
    assert "next step: " in str(caught.value)


def test_a_modules_kernels_take_operands_by_name(program: cd.Program) -> None:
    a, b = aligned(9), aligned(9) + 1
    np.testing.assert_array_equal(program.simple_mul(rhs=b, lhs=a), a * b)
    np.testing.assert_array_equal(program.simple_mul(a, rhs=b), a * b)


def test_a_models_arguments_have_no_names() -> None:
    model = "func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n" + (
        "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %0 = call @simple_mul(%a, %a) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
        "  return %0 : tensor<?xf32>\n}"
    )
    program = cd.load(cd.compile(model, [simple_mul], ["cpu"]), "cpu")
    with pytest.raises(CallError, match="called with the keyword `a`"):
        program.main(a=aligned(3))


def test_a_kernel_takes_device_arrays_at_once(program: cd.Program) -> None:
    on_cpu = simple_mul.on("cpu")
    a, b = program.to_device(aligned(20)), aligned(20)
    for _ in range(3):  # the first call of all, the first that is remembered, one that was
        result = on_cpu(a, Foreign(b))
        assert isinstance(result, cd.DeviceArray)
        np.testing.assert_array_equal(result.to_host(), b * b)
    doubled = samples.doubling["u8"].on("cpu")(program.to_device(np.array([100, 3], np.uint8)))
    assert doubled.dtype == np.uint8
    np.testing.assert_array_equal(doubled.to_host(), [200, 6])


def test_an_array_is_true_as_numpys_is(program: cd.Program) -> None:
    for values in ([0.0], [2.0]):
        assert bool(program.to_device(np.float32(values))) is bool(values[0])
    with pytest.raises(ValueError, match="truth value"):
        bool(program.to_device(np.zeros(8, np.float32)))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_has_a_device_is_not_copied(program: cd.Program, duplicate: Any) -> None:
    with pytest.raises(cd.CustomDispatchError, match=r"cannot be copied or pickled: it has a dev"):
        duplicate(program)
    with pytest.raises(cd.CustomDispatchError, match=r"array on a device cannot be copied or pick"):
        duplicate(program.to_device(np.zeros(8, np.float32)))


class Driver:
    """As much of the CUDA driver as copies, for which the CPU's memory is the GPU's."""

    def __init__(self, status: int = 0) -> None:
        self.status, self.copied, self.waited = status, 0, 0
        self.used: list[int] = []

    def cuMemcpyDtoHAsync_v2(self, target: Any, source: Any, size: Any, stream: Any) -> int:  # noqa: N802
        if not self.status:
            ctypes.memmove(target.value, source.value, size.value)
        self.copied += 1
        return self.status

    cuMemcpyHtoDAsync_v2 = cuMemcpyDtoHAsync_v2  # noqa: N815

    def cuStreamCreate(self, stream: Any, flags: int) -> int:  # noqa: N802
        assert flags == 1
        return 0

    def cuStreamSynchronize(self, stream: Any) -> int:  # noqa: N802
        self.waited += 1
        return 0

    def cuGetErrorName(self, status: int, name: Any) -> int:  # noqa: N802
        name._obj.value = b"CUDA_ERROR_LAUNCH_FAILED"
        return 0


@pytest.fixture
def gpu(
    program: cd.Program, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Driver], Driver]]:
    """What lets arrays be copied as on a GPU, by a driver."""
    from custom_dispatch.runtime import cuda_copies, device_array, driver

    on_gpu = dataclasses.replace(program._open_device, is_cuda=True, gpu=1)
    monkeypatch.setattr(program, "_open_device", on_gpu)
    monkeypatch.setattr(device_array, "_is_mappable", lambda _: False)
    monkeypatch.setattr(driver, "push", lambda gpu: 0 if gpu == 1 else 1)
    monkeypatch.setattr(driver, "pop", lambda: None)
    monkeypatch.setattr(driver, "wait_for_users", lambda gpu: used.append(gpu))

    used: list[int] = []

    def use(fake: Driver) -> Driver:
        fake.used = used
        monkeypatch.setattr(driver, "cuda_library", lambda: fake)
        return fake

    yield use
    cuda_copies._stream.cache_clear()


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8, np.bool_, np.float64])
def test_arrays_go_to_a_gpu_and_back_by_the_driver(
    program: cd.Program, gpu: Callable[[Driver], Driver], kind: Any
) -> None:
    driver = gpu(Driver())
    for array in (np.arange(24).reshape(4, 6), np.arange(24).reshape(6, 4).T, np.array(3)):
        array = array.astype(kind)
        there = program.to_device(array)
        assert there.shape == array.shape
        np.testing.assert_array_equal(there.to_host(), array)
    assert (driver.copied, driver.waited) == (6, 6)
    assert driver.used == [1, 1, 1]  # what others have been given may lie there
    assert program.to_device(array[None][:0]).to_host().shape == (0,)
    assert driver.copied == 6


def test_a_copy_that_fails_says_so(program: cd.Program, gpu: Callable[[Driver], Driver]) -> None:
    gpu(Driver(status=719))
    with pytest.raises(RuntimeError, match="CUDA_ERROR_LAUNCH_FAILED' in cuMemcpyHtoDAsync_v2"):
        program.to_device(aligned(8))
