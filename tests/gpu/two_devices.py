"""A machine with two GPUs: each is used where it is named or holds the arrays, and no other.

Two halves: `build DIRECTORY` needs this package's compilers and no GPU; then, where there are two
GPUs and PyTorch, `run DIRECTORY`; the cases of kernels and commands compile there. Inputs are
random and fresh in every run, and what is written into is full of NaN before. CuPy is tried where
it is.
"""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from custom_dispatch.errors import CallError, DeviceError
from gpu.each import run_each
from gpu.halves import options

SIZES = (1, 255, 100_003)
GPUS = (0, 1)
SOURCE = """
extern "C" __global__ void scaled(const float* x, float* y, float factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = factor * x[i];
}
extern "C" __global__ void scaled_wide(const float* x, float* y, float factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = factor * x[i];
}
extern "C" __global__ void add_to(float* sum, const float* x, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] += x[i];
}
"""
DECLARATIONS = """
import custom_dispatch as cd

n = cd.dim("n")
COUNT = cd.Scalar("count", "i32", n)


def _scaled(name, block):
    return cd.Kernel(
        name,
        source="two_devices.cu",
        operands=[
            cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("factor", "f32"), COUNT
        ],
        block=block,
        grid=cd.ceildiv(n, block),
        reference=lambda x, factor: x * factor,
    )


scaled = cd.Choice(
    "either", [_scaled("scaled", 64), _scaled("scaled_wide", 256)], tuning="either.json"
)
add_to = cd.Kernel(
    "add_to",
    source="two_devices.cu",
    operands=[cd.InOut("sum", "f32", [n]), cd.In("x", "f32", [n]), COUNT],
    block=256,
    grid=cd.ceildiv(n, 256),
    reference=lambda sum, x: sum + x,
)
"""


def build(directory: Path) -> None:
    """The declarations, and a module with their kernels for every kind of GPU."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "two_devices.cu").write_text(SOURCE)
    (directory / "two_declared.py").write_text(DECLARATIONS)
    declared = _declared(directory)
    kernels = [*declared.scaled.kernels, declared.add_to]
    cd.compile(None, kernels).save(directory / "two_devices.vmfb")


def _declared(directory: Path) -> Any:
    sys.path.insert(0, str(directory))
    return importlib.import_module("two_declared")


def _random(count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng().standard_normal(count).astype(np.float32)


def _tensor(values: np.ndarray[Any, Any], gpu: int) -> Any:
    return torch.from_numpy(values).to(f"cuda:{gpu}")


def _refused(call: Callable[[], object], *parts: str) -> None:
    try:
        call()
    except (CallError, DeviceError) as error:
        for part in parts:
            assert part in str(error), error  # noqa: PT017
    else:
        raise AssertionError("nothing was said")


def _each() -> Iterator[tuple[int, Any, np.ndarray[Any, Any]]]:
    """A GPU, a program on it, and an array: for each GPU and size."""
    for gpu in GPUS:
        program = cd.load(DIRECTORY / "two_devices.vmfb", f"cuda:{gpu}")
        for size in SIZES:
            yield gpu, program, _random(size)


def _current() -> tuple[int, int | None]:
    """PyTorch's current device, and the driver's current context."""
    context = ctypes.c_void_p()
    ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent(ctypes.byref(context))
    return torch.cuda.current_device(), context.value


def names() -> None:
    """GPUs are counted from 0, in the driver's order."""
    here = [device for device in cd.devices() if device.kind == "cuda"]
    assert [device.argument for device in here][:2] == ["cuda", "cuda:1"]
    for gpu in GPUS:
        capability = torch.cuda.get_device_capability(gpu)
        assert here[gpu].compute_capability == capability[0] * 10 + capability[1]
        assert here[gpu].name == torch.cuda.get_device_name(gpu)
        assert cd.why_not(f"cuda:{gpu}") is None
    _refused(lambda: cd.load(DIRECTORY / "two_devices.vmfb", f"cuda:{len(here)}"), "There is no")
    assert f"{len(here)} GPUs" in str(cd.why_not(f"cuda:{len(here)}"))


def programs() -> None:
    """A program computes on its GPU, with the variant for it."""
    for gpu, program, x in _each():
        assert program.device.index == gpu
        manifest = program.manifest
        best = manifest.best_for(program.device.compute_capability)
        assert {item.variant for item in program.report().kernels} == {str(best)}
        np.testing.assert_array_equal(program.scaled(x, 3.0), 3 * x)
        on_gpu = program.to_device(x)
        assert on_gpu.__dlpack_device__() == (2, gpu)
        result = program.scaled(on_gpu, 3.0)
        np.testing.assert_array_equal(result, 3 * x)
        np.testing.assert_array_equal(program.scaled.submit(on_gpu, 5.0).result(), 5 * x)
        assert torch.from_dlpack(result).device == torch.device("cuda", gpu)


def tensors() -> None:
    """PyTorch's tensors, on the GPU that is not current too, and behind work on a stream."""
    for gpu, program, values in _each():
        x = _tensor(values, gpu)
        stream = torch.cuda.Stream(device=gpu)
        stream.wait_stream(torch.cuda.current_stream(gpu))
        with torch.cuda.stream(stream):
            late = x.clone()
            for _ in range(50):
                late = late + 1
            found = torch.from_dlpack(program.scaled(late, 2.0)).clone()
            expected = 2 * late
        torch.cuda.synchronize(gpu)
        assert found.device == x.device
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
        out = torch.full_like(x, float("nan"))
        program.scaled(x, 7.0, out=out)
        torch.testing.assert_close(out, 7 * x, rtol=0, atol=0)
        total = x.clone()
        program.add_to(total, x, out=total)
        torch.testing.assert_close(total, x + x, rtol=0, atol=0)


def kernels_follow_their_arrays() -> None:
    """A call goes to the GPU of its arrays; a program's device is its own."""
    declared = _declared(DIRECTORY)
    for gpu, _, values in _each():
        x = _tensor(values, gpu)
        for call in (declared.scaled, declared.scaled.on("cuda"), declared.scaled.on(x.device)):
            found = call(x, 3.0)
            assert found.__dlpack_device__() == (2, gpu)
            np.testing.assert_array_equal(found, 3 * values)
        out = torch.full_like(x, float("nan"))
        declared.scaled(values, 3.0, out=out)
        np.testing.assert_array_equal(out.cpu().numpy(), 3 * values)


def arrays_of_cupy() -> None:
    """CuPy's current stream is one of its current device."""
    import cupy

    declared = _declared(DIRECTORY)
    for gpu, program, values in _each():
        with cupy.cuda.Device(gpu), cupy.cuda.Stream(non_blocking=True):
            x = cupy.asarray(values)
            for _ in range(50):
                x = x + 1
            found = cupy.from_dlpack(program.scaled(x, 2.0))
            assert found.device.id == gpu
            expected = cupy.asnumpy(2 * x)
            np.testing.assert_array_equal(cupy.asnumpy(found), expected)
        np.testing.assert_array_equal(declared.scaled(x, 2.0), expected)  # from another device
        assert cupy.cuda.runtime.getDevice() == 0


def another_gpu() -> None:
    """What is on the other GPU is refused, and nothing runs."""
    for gpu, program, values in _each():
        other = 1 - gpu
        there = _tensor(values, other)
        parts = (f"is on cuda:{other}, and the program runs on cuda:{gpu}.", f"cuda:{gpu}")
        _refused(lambda p=program, t=there: p.scaled(t, 2.0), *parts)
        _refused(lambda p=program, t=there, x=values: p.scaled(x, 2.0, out=t), *parts)
        _refused(lambda p=program, t=there: p.to_device(t), *parts)
        moved = cd.load(DIRECTORY / "two_devices.vmfb", f"cuda:{other}").to_device(values)
        _refused(lambda p=program, m=moved: p.scaled(m, 2.0), *parts[:1])
        np.testing.assert_array_equal(program.scaled(program.to_device(moved), 2.0), 2 * values)


def the_current_device() -> None:
    """It does not matter, and stays, in PyTorch's words and in the driver's."""
    try:
        for current in GPUS:
            torch.cuda.set_device(current)
            before = _current()
            for gpu, program, values in _each():
                free = torch.cuda.mem_get_info(1 - gpu)[0]
                large = np.broadcast_to(np.float32(2), 1 << 24).copy()
                found = program.scaled(program.to_device(large), 2.0)
                np.testing.assert_array_equal(np.asarray(found)[:: 1 << 20], 4)
                assert torch.cuda.mem_get_info(1 - gpu)[0] > free - (1 << 24), "wrong GPU"
                np.testing.assert_array_equal(program.scaled(values, 2.0), 2 * values)
                assert _current() == before
    finally:
        torch.cuda.set_device(0)


def threads() -> None:
    """Threads with a GPU each, which were never told of CUDA."""
    wrong: list[str] = []

    def work(gpu: int) -> None:
        try:
            before = _current()
            program = cd.load(DIRECTORY / "two_devices.vmfb", f"cuda:{gpu}")
            for step in range(100):
                x = _random(1 + 997 * step)
                found = program.scaled(program.to_device(x), 2.0)
                assert found.__dlpack_device__() == (2, gpu)
                np.testing.assert_array_equal(found, 2 * x)
            assert _current() == before, f"{before} became {_current()}"
        except BaseException as error:  # noqa: BLE001 - told below
            wrong.append(f"cuda:{gpu}: {error!r}"[:300])

    workers = [threading.Thread(target=work, args=(number % 2,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(300)
    assert not wrong, wrong


def operators() -> None:
    """A kernel as an operator of PyTorch, on the current stream of its tensors' GPU."""
    operator = cd.torch.register(_declared(DIRECTORY).add_to, "two_devices")
    for gpu, _, values in _each():
        with torch.cuda.stream(torch.cuda.Stream(device=gpu)):
            x = _tensor(values, gpu) * 2
            found = operator(x, x)
            assert found.device == x.device
            torch.testing.assert_close(found, x + x, rtol=0, atol=0)


def commands() -> None:
    """Each command that takes a device takes the second GPU."""
    module, kernels = DIRECTORY / "two_devices.vmfb", DIRECTORY / "two_declared.py"
    timed = ["--seconds", "0.1"]
    for words, wanted in (
        (["doctor"], "cuda:1"),
        (["run", module, "-f", "add_to", "-i", "4xf32=3", "-i", "4xf32=2"], "[5. 5. 5. 5.]"),
        (["check", kernels], "cuda:1"),
        (["bench", module, "-f", "add_to", "--dims", "n=4096", *timed], "cuda:1"),
        (["tune", kernels, "--shape", "n=4096", *timed], torch.cuda.get_device_name(1)),
    ):
        device = [] if words == ["doctor"] else ["--device", "cuda:1"]
        command = [sys.executable, "-m", "custom_dispatch", *map(str, words), *device]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        said = done.stdout + done.stderr
        assert done.returncode == 0, f"{words[0]}: {said[-1000:]}"
        assert wanted in said, f"{words[0]}: {said[-1000:]}"


if __name__ == "__main__":
    given = options(__doc__)
    DIRECTORY = given.directory.resolve()
    if given.half == "build":
        build(DIRECTORY)
        sys.exit()
    count = sum(device.kind == "cuda" for device in cd.devices())
    if count < 2:
        sys.exit(f"two_devices.py needs two GPUs, and this process has {count}: nothing was run.")
    import torch

    cases: list[Callable[..., None]] = [
        names,
        programs,
        tensors,
        kernels_follow_their_arrays,
        another_gpu,
        the_current_device,
        threads,
        operators,
        commands,
    ]
    if importlib.util.find_spec("cupy") is None:
        print("CuPy is not installed: arrays_of_cupy is not run")
    else:
        cases.insert(4, arrays_of_cupy)
    sys.exit(run_each(cases, lambda: ()))
