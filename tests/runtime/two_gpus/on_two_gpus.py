"""What `test_two_gpus.py` runs with the driver of `libcuda.c`, which has two GPUs."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from iree import runtime as rt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.cli import main
from custom_dispatch.eager.call_choice import targets_here
from custom_dispatch.eager.placing import target_for_gpu
from custom_dispatch.errors import CallError, DeviceError
from custom_dispatch.runtime.access import access_to
from custom_dispatch.runtime.device import hal_device

CONTEXTS, ALLOCATIONS, LAUNCHES, MODULES, UNLOADS, WAITS, REFUSALS = range(7)
driver = ctypes.CDLL("libcuda.so.1")
directory = Path(sys.argv[1])
module = directory / "simple_mul.vmfb"


def counted(what: int) -> tuple[int, int]:
    """How often something was done on each GPU."""
    return driver.fake_count(what, 0), driver.fake_count(what, 1)


def current() -> int | None:
    """The context of this thread, whatever it is for."""
    found = ctypes.c_void_p()
    assert driver.cuCtxGetCurrent(ctypes.byref(found)) == 0
    return found.value


def context_of(gpu: int) -> ctypes.c_void_p:
    """The primary context of a GPU, as another library would get it."""
    found = ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(found), gpu) == 0
    return found


class CuPy:
    """An array of another library on a GPU, which asks for the current device as CuPy does."""

    def __init__(self, values: Any, gpu: int) -> None:
        values = np.asarray(values, np.float32)
        self.gpu, address = gpu, ctypes.c_uint64()
        assert driver.cuCtxPushCurrent_v2(context_of(gpu)) == 0
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(values.nbytes)) == 0
        driver.cuMemcpyHtoD_v2(
            address, ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes)
        )
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        kind = ctypes.c_float * len(values)
        self.memory = kind.from_address(address.value or 0)  # the fake's is the host's

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.gpu)

    def __dlpack__(self, **keywords: Any) -> Any:
        device = ctypes.c_int(-1)
        assert driver.cuCtxGetDevice(ctypes.byref(device)) == 0
        assert device.value == self.gpu, "its current stream is that of another GPU"
        return np.frombuffer(self.memory, np.float32).__dlpack__()

    def numpy(self) -> np.ndarray[Any, Any]:
        return np.frombuffer(self.memory, np.float32).copy()


def random(count: int = 100) -> np.ndarray[Any, Any]:
    return np.random.default_rng().standard_normal(count).astype(np.float32)


def refused(call: Callable[[], object]) -> str:
    try:
        call()
    except (CallError, DeviceError) as error:
        return str(error)
    raise AssertionError("nothing was said")


def devices_are_named_and_missing_ones_too() -> None:
    assert [device.argument for device in cd.devices()] == ["cuda", "cuda:1", "cpu"]
    assert [str(device) for device in cd.devices()][:2] == [
        "cuda (Fake Ampere, sm_80, 8 GiB)",
        "cuda:1 (Fake Hopper, sm_90, 9 GiB)",
    ]
    assert cd.why_not("cuda") is cd.why_not("cuda:0") is cd.why_not("cuda:1") is None
    said = (
        "There is no cuda:7: this process is shown 2 GPUs (Fake Ampere, Fake Hopper), from cuda:0 "
        "on. Choose one of these, or change CUDA_VISIBLE_DEVICES."
    )
    assert cd.why_not("cuda:7") == cd.why_not("cuda:7", module) == said
    x = random()
    for wrong in (lambda: cd.load(module, "cuda:7"), lambda: simple_mul.on("cuda:7")(x, x)):
        assert refused(wrong) == said


def each_gpu_runs_the_variant_that_is_best_for_it() -> None:
    x, y = random(), random()
    for name, target in (
        ("cuda:1", "cuda:sm_90"),
        ("cuda:0", "cuda:sm_80"),
        ("cuda", "cuda:sm_80"),
    ):
        program = cd.load(module, name)
        assert program.device_reason == f"objects for {target}"
        assert program.device.index == int(name == "cuda:1")
        before = counted(LAUNCHES)
        np.testing.assert_array_equal(program.simple_mul(x, y), x * y)
        launched = np.subtract(counted(LAUNCHES), before)
        assert list(launched) == ([0, 1] if name == "cuda:1" else [1, 0])
        assert [item.variant for item in program.report().kernels] == [target]


def kernels_go_where_their_arrays_are() -> None:
    x, y = random(), random()
    either = cd.Choice("either", [simple_mul])
    for name, target in (("cuda", "cuda:sm_80"), ("cuda:1", "cuda:sm_90")):
        assert str(target_for_gpu(simple_mul, name)) == target
        assert [str(item) for item in targets_here(either, name)] == [target]
    np.testing.assert_array_equal(either(CuPy(x, 1), y).to_host(), x * y)
    for gpu, name in enumerate(("cuda", "cuda:1")):
        for call in (simple_mul, simple_mul.on("cuda"), simple_mul.on(f"cuda:{gpu}")):
            before = counted(LAUNCHES)
            product = call(CuPy(x, gpu), y)
            assert product.device == name
            assert product.__dlpack_device__() == (2, gpu)
            np.testing.assert_array_equal(product.to_host(), x * y)
            assert counted(LAUNCHES)[gpu] == before[gpu] + 1
            again = call(product, y)  # a result is on a GPU, too
            assert again.device == name
            np.testing.assert_array_equal(again, x * y * y)
            into = CuPy(np.full_like(x, np.nan), gpu)
            assert call(x, y, out=into) is into
            np.testing.assert_array_equal(into.numpy(), x * y)
    assert isinstance(simple_mul(x, y), np.ndarray)


def updates_in_place_happen_on_the_gpu_of_the_array() -> None:
    x, y = random(), random()
    for gpu in (0, 1):
        there, into = CuPy(y, gpu), CuPy(np.full_like(x, np.nan), gpu)
        for call in (simple_mul_inplace, simple_mul_inplace.on(f"cuda:{gpu}")):
            found = call(CuPy(x, gpu), there)
            assert found.__dlpack_device__() == (2, gpu)
            np.testing.assert_array_equal(found, x * y)
            np.testing.assert_array_equal(there.numpy(), y)  # a copy was updated
            call(x, y, out=into)
            np.testing.assert_array_equal(into.numpy(), x * y)
        simple_mul_inplace(x, there, out=there)
        np.testing.assert_array_equal(there.numpy(), x * y)


def an_array_of_another_gpu_is_refused() -> None:
    x = random()
    here = [CuPy(x, gpu) for gpu in (0, 1)]
    launched = counted(LAUNCHES)
    for gpu, other in ((0, 1), (1, 0)):
        program, there = cd.load(module, f"cuda:{gpu}"), here[other]
        kernel = simple_mul.on(f"cuda:{gpu}")
        for call in (
            partial(program.simple_mul, there, x),
            partial(program.simple_mul, x, x, out=there),
            partial(program.simple_mul.submit, x, there),
            partial(program.to_device, there),
            partial(kernel, there, x),
            partial(simple_mul, here[gpu], there),
        ):
            said = refused(call)
            assert f"is on cuda:{other}, and the program runs on cuda:{gpu}." in said, said
            assert f"expected: an array on cuda:{gpu} or in host memory" in said
            assert f'tensor.to("cuda:{gpu}")' in said
        theirs = cd.load(module, f"cuda:{other}").to_device(x)
        ours = rt.asdevicearray(theirs.open_device.hal, x) if other == 0 else theirs
        for array in (theirs, ours):
            said = refused(partial(program.simple_mul, array, x))
            assert f"and the program runs on cuda:{gpu}." in said, said
            assert "array.to_host()" in said
        moved = program.to_device(theirs)
        assert moved.device == program.device.argument
        np.testing.assert_array_equal(moved, x)
    assert counted(LAUNCHES) == launched


def the_current_context_neither_matters_nor_changes() -> None:
    x, y = random(), random()
    programs = [cd.load(module, f"cuda:{gpu}") for gpu in (0, 1)]

    def in_a_thread(left: int | None, wrong: list[str]) -> None:
        """Calls in a thread whose current GPU is `left`, as after torch.cuda.set_device."""
        try:
            if left is not None:
                driver.cuCtxSetCurrent(context_of(left))
            for gpu in (1, 0, 1):
                before = current()
                allocated = counted(ALLOCATIONS)[1 - gpu]
                program = programs[gpu]
                on_gpu = program.to_device(random(1000 + 7 * gpu))
                assert program.simple_mul(on_gpu, on_gpu).shape == on_gpu.shape
                np.testing.assert_array_equal(program.simple_mul(x, y), x * y)
                assert program.simple_mul.submit(x, y).result().tolist() == (x * y).tolist()
                np.testing.assert_array_equal(simple_mul.on(f"cuda:{gpu}")(x, y), x * y)
                cd.load(module, f"cuda:{gpu}")
                assert program.simple_mul.open_device.give_back_memory()
                np.asarray(on_gpu)
                assert counted(ALLOCATIONS)[1 - gpu] == allocated, "allocated elsewhere"
                assert current() == before, f"{gpu}: {before} became {current()}"
        except BaseException as error:
            wrong.append(f"{left}: {error!r}")
            raise

    before = current()
    hal_device.__wrapped__("cuda:1")  # opened anew
    assert current() == before
    mild = RuntimeError("INVALID_ARGUMENT; a call failed, and the device did not")
    for program in programs:  # as whoever waits for a call finds out, without any context
        hal, access = program.simple_mul.device, program.simple_mul.access
        assert program.simple_mul.open_device.give_back_memory()  # or four bytes may be kept
        assert access.ended_by("step", mild, hal) is None
    for left in (None, 0, 1):
        wrong: list[str] = []
        thread = threading.Thread(target=in_a_thread, args=(left, wrong))
        thread.start()
        thread.join(60)
        assert not wrong, wrong


def threads_call_two_gpus_at_once() -> None:
    programs = [cd.load(module, f"cuda:{gpu}") for gpu in (0, 1)]
    wrong: list[int] = []

    def work(gpu: int) -> None:
        for step in range(50):
            x = random(1 + 13 * step)
            found = programs[gpu].simple_mul(programs[gpu].to_device(x), x)
            if found.__dlpack_device__() != (2, gpu) or (np.asarray(found) != x * x).any():
                wrong.append(gpu)

    threads = [threading.Thread(target=work, args=(number % 2,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


def users_of_arrays_are_waited_for_on_their_gpu() -> None:
    x = random()
    programs = [cd.load(module, f"cuda:{gpu}") for gpu in (0, 1)]

    def waits(gpu: int) -> list[int]:
        before = counted(WAITS)
        programs[gpu].simple_mul(x, x)
        return list(np.subtract(counted(WAITS), before))

    usual = [waits(gpu) for gpu in (0, 1)]  # IREE's, to export a buffer
    given = programs[1].to_device(x)
    given.__dlpack__(stream=12345)  # any stream: all of that GPU is waited for
    assert waits(0) == usual[0]
    here, there = waits(1)
    assert here == 0
    assert there > usual[1][1]


def code_is_unloaded_in_the_context_of_its_gpu() -> None:
    for gpu in (0, 1):
        before = counted(UNLOADS)[gpu]

        def load_and_drop(gpu: int = gpu) -> None:
            program = cd.load(module, f"cuda:{gpu}")
            program.simple_mul(random(), random())

        thread = threading.Thread(target=load_and_drop)
        thread.start()
        thread.join(60)
        assert counted(UNLOADS)[gpu] == before + 1


def commands_take_the_second_gpu() -> None:
    sizes = ["--seconds", "0.01", "--repetitions", "3", "--device", "cuda:1"]
    inputs = ["--input", "4xf32=3", "--input", "4xf32=2"]
    kernels = str(directory / "muls.py")
    for arguments, wanted in (
        (["doctor"], "cuda:1 (Fake Hopper, sm_90, 9 GiB)"),
        (["run", str(module), *inputs, "--device", "cuda:1"], "4xf32=[6. 6. 6. 6.]"),
        (["check", kernels], "simple_mul_b cuda:1 n=0, n=1, n=7, n=64, n=1000 0 agrees"),
        (["bench", kernels, "--kernel", "simple_mul_a", "--dims", "n=9", *sizes], "equals the na"),
        (["tune", kernels, "--shape", "n=9", *sizes], "Fake Hopper, cuda:sm_90, NVRTC"),
    ):
        said = StringIO()
        with redirect_stdout(said):
            assert main(arguments) == 0, arguments
        assert wanted in " ".join(said.getvalue().split()), said.getvalue()


def a_fork_ends_the_second_gpu_in_the_child() -> None:
    program = cd.load(module, "cuda:1")
    child = os.fork()
    if child == 0:
        try:
            said = refused(lambda: program.simple_mul(random(), random()))
            assert "before the process was forked" in said, said
            assert "forked from one that had opened CUDA" in (cd.why_not("cuda:1") or "")
            x = random()
            assert (simple_mul(x, x) == x * x).all()  # on the CPU
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - a child that returned would go on
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    program.simple_mul(random(), random())


def a_lost_gpu_ends_all_of_cuda() -> None:
    program = cd.load(module, "cuda:1")
    error = RuntimeError("INTERNAL; CUDA driver error 'CUDA_ERROR_ILLEGAL_ADDRESS' (700)")
    assert access_to("cuda:1").ended_by("step", error, None) is not None
    said = refused(lambda: program.simple_mul(random(), random()))
    assert "CUDA can no longer be used in this process: in `step`" in said
    for name in ("cuda", "cuda:1"):
        assert (cd.why_not(name) or "").startswith("CUDA can no longer be used")
    assert cd.load(module).device.kind == "cpu"


if __name__ == "__main__":
    for case in (
        devices_are_named_and_missing_ones_too,
        each_gpu_runs_the_variant_that_is_best_for_it,
        kernels_go_where_their_arrays_are,
        updates_in_place_happen_on_the_gpu_of_the_array,
        an_array_of_another_gpu_is_refused,
        the_current_context_neither_matters_nor_changes,
        threads_call_two_gpus_at_once,
        users_of_arrays_are_waited_for_on_their_gpu,
        code_is_unloaded_in_the_context_of_its_gpu,
        commands_take_the_second_gpu,
        a_fork_ends_the_second_gpu_in_the_child,
        a_lost_gpu_ends_all_of_cuda,
    ):
        case()
        assert driver.fake_count(REFUSALS, 0) == 0, case.__name__
        print("ok", case.__name__)
