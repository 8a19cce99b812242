"""What ends access to devices (a lost GPU, a fork, the exit) ends neither in a hang nor a crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.compiled import CompiledModule
from custom_dispatch.errors import CallError, DeviceError
from custom_dispatch.runtime import access, device
from custom_dispatch.runtime.access import Access, access_to

TWO, FOUR = np.full(8, 2, np.float32), np.full(8, 4, np.float32)
CRASHED = RuntimeError(
    "Error invoking function: INTERNAL; CUDA driver error 'CUDA_ERROR_ILLEGAL_ADDRESS' (700): an "
    "illegal memory access was encountered; while invoking native function hal.fence.await"
)


@pytest.fixture
def module(mixed: CompiledModule, tmp_path: Path) -> Path:
    return mixed.save(tmp_path / "model.vmfb")


def run(code: str, *arguments: object, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own, which is to end by itself."""
    head = (
        "import os, sys, threading, time\nimport numpy as np\nimport custom_dispatch as cd\n"
        "two, four = np.full(8, 2, np.float32), np.full(8, 4, np.float32)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", head + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Access:
    """The process's access to CUDA, which is as before after the test."""
    fresh: dict[str, Access] = {}
    monkeypatch.setattr(access, "_accesses", fresh)
    return access_to("cuda")


def test_a_lost_gpu_is_remembered_and_explained(cuda: Access) -> None:
    error = cuda.ended_by("step", CRASHED, None)
    assert error is not None
    assert error.found == (
        "CUDA can no longer be used in this process: in `step`, a kernel accessed memory that is "
        "not its own (CUDA_ERROR_ILLEGAL_ADDRESS), and the process's CUDA context was lost with it."
    )
    assert error.next_step == (
        "start a new process; run it under compute-sanitizer, or on cpu:checked, to find the place."
    )
    assert "CUDA_ERROR_ILLEGAL_ADDRESS' (700)" in error.log
    with pytest.raises(DeviceError) as caught, access_to("cuda"):
        pytest.fail("a call began")
    assert caught.value.found == error.found
    assert cd.why_not("cuda") == f"{error.found} S{error.next_step[1:]}"
    assert cd.why_not("cpu") is None
    # Whatever else fails from then on is because of that.
    later = cuda.ended_by("other", RuntimeError("ABORTED; the semaphore was aborted"), None)
    assert later is not None
    assert later.found == error.found


def test_auto_goes_on_with_the_cpu_and_says_why(cuda: Access, mixed: CompiledModule) -> None:
    cuda.ended_by("step", CRASHED, None)
    program = cd.load(mixed, "auto")
    assert program.device.kind == "cpu"
    assert program.device_reason == cd.why_not("cuda")
    assert (program.mixed_invocation(TWO, FOUR) == 96).all()
    with pytest.raises(DeviceError, match="can no longer be used in this process"):
        cd.load(mixed, "cuda")


def test_a_kernel_called_with_auto_goes_on_with_the_cpu(
    cuda: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    from custom_dispatch.eager import call as eager

    monkeypatch.setattr(eager, "_prepared", {})
    assert (simple_mul(TWO, FOUR) == 8).all()
    (prepared,) = eager._prepared.values()
    cpu, prepared._function.access = prepared._function.access, cuda  # as if it were a GPU
    cuda.ended_by("simple_mul", CRASHED, None)
    assert not prepared.usable
    prepared._function.access = cpu
    assert (simple_mul(TWO, FOUR) == 8).all()


def test_a_shortage_of_memory_or_a_refused_argument_loses_nothing(cuda: Access) -> None:
    class Works:
        class allocator:  # noqa: N801 - IREE's attribute
            @staticmethod
            def allocate_buffer_copy(**_: Any) -> None:
                """Takes whatever it is given."""

    full = "RESOURCE_EXHAUSTED; CUDA driver error 'CUDA_ERROR_OUT_OF_MEMORY' (2): out of memory"
    assert cuda.ended_by("step", RuntimeError(full), None) is None
    assert cuda.ended_by("step", RuntimeError("INVALID_ARGUMENT; shape mismatch"), Works) is None
    assert cuda.problem == ""
    assert access_to("cpu").ended_by("step", CRASHED, None) is None


def test_a_device_that_takes_nothing_any_more_is_lost(cuda: Access) -> None:
    class Refuses:
        class allocator:  # noqa: N801
            @staticmethod
            def allocate_buffer_copy(**_: Any) -> None:
                raise RuntimeError("INTERNAL; CUDA_ERROR_INVALID_VALUE")

    error = cuda.ended_by("step", RuntimeError("CUDA_ERROR_INVALID_VALUE"), Refuses)
    assert error is not None
    assert "a launch failed, and IREE's CUDA device refuses all further work" in error.found


_FORK = """
program = cd.load(sys.argv[1], "cpu")
program.mixed_invocation(two, four)
stop = False
def call():
    while not stop: program.mixed_invocation(two, four)
threads = [threading.Thread(target=call) for _ in range(int(sys.argv[2]))]
for thread in threads: thread.start()
failed = 0
for _ in range(5):
    child = os.fork()
    if child == 0:
        try:
            program.mixed_invocation(two, four)
        except cd.CustomDispatchError as error:
            print(error, flush=True)
        assert (cd.load(sys.argv[1], "cpu").mixed_invocation(two, four) == 96).all()
        os._exit(0)
    failed += os.waitpid(child, 0)[1] != 0
stop = True
for thread in threads: thread.join()
assert (program.mixed_invocation(two, four) == 96).all()
print("failed", failed)
"""


@pytest.mark.parametrize("threads", [0, 2])
def test_a_forked_process_opens_the_cpu_anew(module: Path, threads: int) -> None:
    done = run(_FORK, module, threads)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("failed 0\n")
    assert done.stdout.count("This program was loaded before the process was forked") == 5
    assert 'next step: load it in the child, or start processes with the method "spawn"' in (
        done.stdout
    )


_POOL = """
import multiprocessing
from cuda_kernels.simple_mul import simple_mul
def work(_):
    return float(simple_mul.on("cpu")(two, four)[0])
if __name__ == "__main__":
    work(0)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, range(4)))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_kernels_are_called_in_workers(tmp_path: Path, method: str) -> None:
    script = tmp_path / "work.py"
    head = "import sys\nimport numpy as np\n"
    arrays = "two, four = np.full(8, 2, np.float32), np.full(8, 4, np.float32)\n"
    script.write_text(head + arrays + _POOL)
    command = [sys.executable, str(script), method]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout, done.returncode) == ("[8.0, 8.0, 8.0, 8.0]\n", 0), done.stderr


def test_a_forked_process_ends_by_itself(module: Path) -> None:
    """Python's own exit ends every device, and would wait for threads that are not there."""
    code = """
program = cd.load(sys.argv[1], "cpu")
program.mixed_invocation(two, four)
child = os.fork()
if child == 0:
    kept = cd.load(sys.argv[1], "cpu")
    kept.mixed_invocation(two, four)
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = run(code, module)
    assert (done.stdout, done.returncode) == ("7\n", 0), done.stderr


def test_a_forked_process_ends_nothing_of_its_parent(module: Path) -> None:
    code = """
import gc, weakref
program = cd.load(sys.argv[1], "cpu")
program.mixed_invocation(two, four)
kept = weakref.ref(program.mixed_invocation)
dropped = cd.load(sys.argv[1], "cpu")
there = weakref.ref(dropped.mixed_invocation)
del dropped
child = os.fork()
if child == 0:
    del program
    gc.collect()
    print(kept() is not None, there() is None, flush=True)
    os._exit(0)
os.waitpid(child, 0)
del program
gc.collect()
print(kept() is None)
"""
    done = run(code, module)
    assert (done.stdout, done.returncode) == ("True True\nTrue\n", 0), done.stderr


def test_cuda_is_refused_in_a_fork_of_a_process_that_opened_it() -> None:
    code = """
from custom_dispatch.runtime import driver
driver._initialised = True  # what cuInit leaves behind
child = os.fork()
if child == 0:
    print(cd.why_not("cuda"), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    done = run(code)
    assert done.stdout == (
        "CUDA cannot be used in this process: it was forked from one that had opened CUDA, which "
        'does not survive a fork. Start processes with the method "spawn" '
        '(multiprocessing.get_context("spawn")).\n'
    )


@pytest.mark.parametrize("size", [8, 1_000_000])
def test_the_interpreter_ends_while_daemon_threads_call(module: Path, size: int) -> None:
    """Without `Access`, Python unwinds a thread through C++: "terminate called recursively"."""
    code = """
program = cd.load(sys.argv[1], "cpu")
a = np.full(int(sys.argv[2]), 2, np.float32)
program.mixed_invocation(a, a)
def call():
    while True: program.mixed_invocation(a, a)
for _ in range(4): threading.Thread(target=call, daemon=True).start()
time.sleep(0.2)
"""
    done = run(code, module, size)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_interpreter_ends_without_importing_iree() -> None:
    code = (
        "import atexit, sys; atexit.register(lambda: print('iree' in sys.modules)); "
        "import custom_dispatch.runtime.access"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("False\n", "")


def test_the_interpreter_ends_with_results_and_programs_alive(module: Path) -> None:
    code = """
import iree.runtime as rt
from custom_dispatch.runtime.device import hal_device
program = cd.load(sys.argv[1], "cpu")
on_device = rt.asdevicearray(hal_device("cpu"), two)
kept = [program.mixed_invocation(on_device, on_device), program.mixed_invocation(two, four)]
kept.append(kept)
import atexit
atexit.register(lambda: print((program.mixed_invocation(two, four) == 96).all()))
"""
    done = run(code, module)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_two_modules_in_many_threads(mixed: CompiledModule) -> None:
    from concurrent.futures import ThreadPoolExecutor

    programs = [cd.load(mixed, "cpu") for _ in range(2)]

    def call(index: int) -> bool:
        a = np.full(1 + index, index % 16, np.float32)
        program = programs[index % 2]
        if index % 10 == 0:
            with pytest.raises(CallError):
                program.mixed_invocation(a, np.zeros(500, np.float32))
        wanted = np.full(1 + index, (index % 16) ** 4 + (index % 16) ** 3, np.float32)
        return np.array_equal(program.mixed_invocation(a, a), wanted)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(400)))


def test_memory_stays_as_it_is(tmp_path: Path) -> None:
    """The short form of `benchmarks/host/soak.py`, whose long one is run by hand."""
    for words in (["build", tmp_path], ["run", tmp_path, "--calls", 10_000]):
        command = [sys.executable, "-m", "benchmarks", "host.soak", *words]
        done = subprocess.run(
            [str(word) for word in command],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "10000 calls in" in done.stdout


def test_devices_are_made_once_a_process() -> None:
    assert device.hal_device("cpu") is device.hal_device("cpu")
