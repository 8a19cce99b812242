"""What this package says and does when a GPU is missing, wrong or lost: provoked on a real one.

    python tests/gpu/devices.py build DIRECTORY      (no GPU)
    python tests/gpu/devices.py run DIRECTORY [CASE...]

The second half needs iree-base-runtime, numpy, ml_dtypes, click, rich and this package's sources;
no compiler. Each case is a process of its own with a time limit, exit included. One line a case:
what was said, ok or FAILED; it exits with 1 if any failed. After each mistake a fresh process must
work.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent), str(HERE.parent / "fuzz")]

import numpy as np  # noqa: E402
from sample_kernels.faults import MISTAKES, fault  # noqa: E402

import custom_dispatch as cd  # noqa: E402

LIMIT_S = 120
AT_ONCE_S = 0.5
"""How long a call may take that is refused because the GPU was lost before."""
X = np.arange(1000, dtype=np.float32)
CASES: dict[str, Callable[[Path], str]] = {}
ENVIRONMENT = {
    "hidden_by_empty": {"CUDA_VISIBLE_DEVICES": ""},
    "hidden_by_minus_one": {"CUDA_VISIBLE_DEVICES": "-1"},
}


def case(function: Callable[[Path], str]) -> Callable[[Path], str]:
    CASES[function.__name__] = function
    return function


# -- building


def build(directory: Path) -> None:
    """Everything that the cases load."""
    from modules import mend

    from custom_dispatch.ir.compiler_tool import compile_mlir

    directory.mkdir(parents=True, exist_ok=True)
    good = cd.compile(None, fault)
    good.save(directory / "fault.vmfb")
    cd.compile(None, fault, ["cuda:sm_100"]).save(directory / "sm_100.vmfb")
    cd.compile(None, fault, ["cuda:sm_100", "cpu"]).save(directory / "sm_100_cpu.vmfb")
    # PTX of a version that no driver reads: with and without the module saying so.
    newer = good.bytes.replace(b".version 9.0\n", b".version 9.9\n")
    assert newer != good.bytes
    (directory / "ptx_unsaid.vmfb").write_bytes(mend(bytearray(newer)))
    said = newer.replace(b'"ptx":"9.0"', b'"ptx":"9.9"')
    assert said != newer
    (directory / "ptx_said.vmfb").write_bytes(mend(bytearray(said)))
    # What IREE itself makes of an empty tensor: a launch that the driver refuses.
    source = b"""func.func @twice(%a: tensor<?xf32>) -> tensor<?xf32> {
      %0 = arith.addf %a, %a : tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    flags = ["--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"]
    (directory / "empty.vmfb").write_bytes(compile_mlir(source, flags))
    flags = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"]
    flags.append("--iree-llvmcpu-target-cpu=generic")
    (directory / "foreign_cpu.vmfb").write_bytes(compile_mlir(source, flags))
    for path in sorted(directory.iterdir()):
        print(f"{path.name:20} {path.stat().st_size:8} bytes")


# -- what cases share


def expect(condition: object, what: object) -> None:
    if not condition:
        raise AssertionError(str(what))


def refused(call: Callable[[], Any], *parts: str) -> str:
    """What a call is refused with, which is to hold these parts."""
    try:
        call()
    except cd.CustomDispatchError as error:
        for part in parts:
            expect(part in str(error), f"{part!r} is not in: {error}")
        return str(error).splitlines()[0]
    raise AssertionError("it was not refused")


def works(program: Any) -> None:
    expect(np.array_equal(program.fault(X, 0), 2 * X), "wrong results")


def cpu_works(directory: Path) -> None:
    works(cd.load(directory / "fault.vmfb", "cpu"))


# -- what is said of devices


@case
def present(directory: Path) -> str:
    from custom_dispatch.cli import main
    from custom_dispatch.runtime.driver import driver_state

    expect(cd.why_not("cuda") is None, cd.why_not("cuda"))
    expect(driver_state().driver_version, "no driver version")
    expect(cd.why_not("cuda", directory / "fault.vmfb") is None, "the module does not run")
    # 1 where something cannot be done, which is to build, without a compiler.
    builds = importlib.util.find_spec("iree.compiler") is not None
    expect(main(["doctor"]) == (not builds), "doctor's exit status")
    program = cd.load(directory / "fault.vmfb")
    works(program)
    return f"{cd.devices()[0]}; driver {driver_state().description}; {program.device_reason}"


def _hidden(directory: Path) -> str:
    value = os.environ["CUDA_VISIBLE_DEVICES"]
    said = cd.why_not("cuda") or ""
    expect(f"CUDA_VISIBLE_DEVICES is {value!r}" in said, said)
    expect("though this machine has" in said, f"it does not say that there are GPUs: {said}")
    refused(lambda: cd.load(directory / "fault.vmfb", "cuda"), "CUDA_VISIBLE_DEVICES")
    program = cd.load(directory / "fault.vmfb")
    expect(program.device.kind == "cpu", program.device)
    works(program)
    return said


@case
def hidden_by_empty(directory: Path) -> str:
    return _hidden(directory)


@case
def hidden_by_minus_one(directory: Path) -> str:
    return _hidden(directory)


@case
def library_missing(directory: Path) -> str:
    def hide(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "ctypes.dlopen" and "libcuda" in str(arguments[0]):
            raise OSError("hidden by the test")

    sys.addaudithook(hide)
    said = cd.why_not("cuda") or ""
    expect("libcuda.so.1" in said and "was not found" in said, said)
    program = cd.load(directory / "fault.vmfb")
    expect(program.device.kind == "cpu", program.device)
    works(program)
    return said


@case
def other_architecture(directory: Path) -> str:
    capability = cd.devices()[0].compute_capability
    path = directory / "sm_100.vmfb"
    said = refused(lambda: cd.load(path, "cuda"), "sm_100", f"sm_{capability}")
    expect(cd.why_not("cuda", path) == said, cd.why_not("cuda", path))
    program = cd.load(directory / "sm_100_cpu.vmfb")
    expect(program.device.kind == "cpu" and "sm_100" in program.device_reason, program)
    return said


@case
def ptx_too_new(directory: Path) -> str:
    path = directory / "ptx_said.vmfb"
    said = refused(lambda: cd.load(path, "cuda"), "holds PTX 9.9", "reads PTX up to ")
    program = cd.load(path)
    expect(program.device.kind == "cpu", program.device)
    works(program)
    works(cd.load(directory / "fault.vmfb", "cuda"))
    return said


@case
def ptx_too_new_and_not_said(directory: Path) -> str:
    said = refused(lambda: cd.load(directory / "ptx_unsaid.vmfb", "cuda"), "PTX")
    works(cd.load(directory / "fault.vmfb", "cuda"))
    return said


@case
def foreign_modules(directory: Path) -> str:
    """Without a manifest: what a module holds shows when it is loaded."""
    program = cd.load(directory / "empty.vmfb")
    expect(program.device.kind == "cuda", program.device)
    expect(np.array_equal(program.twice(X), 2 * X), "wrong results")
    program = cd.load(directory / "foreign_cpu.vmfb")
    expect(program.device.kind == "cpu", program.device)
    expect(np.array_equal(program.twice(X), 2 * X), "wrong results")
    refused(lambda: cd.load(directory / "foreign_cpu.vmfb", "cuda"), "was compiled for other")
    return program.device_reason


@case
def several_gpus(directory: Path) -> str:
    """Where there are several: all are listed, and another can be made the first."""
    gpus = cd.devices()[:-1]
    expect([gpu.index for gpu in gpus] == list(range(len(gpus))), gpus)
    if len(gpus) == 1:
        return "there is one"
    code = (
        "import sys, numpy as np, custom_dispatch as cd; gpus = cd.devices()[:-1]; "
        "x = np.ones(9, np.float32); p = cd.load(sys.argv[1], 'cuda'); "
        "print(len(gpus), (p.fault(x, 0) == 2).all())"
    )
    for index in range(len(gpus)):
        done = subprocess.run(
            [sys.executable, "-c", code, str(directory / "fault.vmfb")],
            env=os.environ
            | {"CUDA_VISIBLE_DEVICES": str(index), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
        expect(done.stdout == "1 True\n", done.stdout + done.stderr)
    return f"{len(gpus)} GPUs, each by itself"


# -- a lost GPU


def _lose(directory: Path, mistake: str, *parts: str) -> str:
    path = directory / "fault.vmfb"
    program, other = cd.load(path, "cuda"), cd.load(path, "cuda")
    on_cpu = cd.load(path, "cpu")
    works(program)
    said = refused(
        lambda: program.fault(X, MISTAKES[mistake]), "CUDA can no longer be used", "fault", *parts
    )
    for later in (
        lambda: program.fault(X, 0),
        lambda: other.fault(X, 0),
        lambda: cd.load(path, "cuda"),
        lambda: fault.on("cuda")(X, 0),
    ):
        start = time.monotonic()
        refused(later, said)
        took = time.monotonic() - start
        expect(took < AT_ONCE_S, f"a later call took {took:.1f} s to fail")
    expect((cd.why_not("cuda") or "").startswith(said), cd.why_not("cuda"))
    works(on_cpu)
    program = cd.load(path)
    expect(program.device.kind == "cpu", program.device)
    expect(program.device_reason.startswith(said), program.device_reason)
    works(program)
    return said


@case
def lost_to_a_wrong_address(directory: Path) -> str:
    return _lose(directory, "address", "memory that is not its own")


@case
def lost_to_a_misaligned_address(directory: Path) -> str:
    return _lose(directory, "misaligned", "not aligned")


@case
def lost_to_a_trap(directory: Path) -> str:
    return _lose(directory, "trap")


@case
def lost_to_an_assertion(directory: Path) -> str:
    return _lose(directory, "assert", "an assertion of a kernel did not hold")


@case
def lost_while_others_call(directory: Path) -> str:
    path = directory / "fault.vmfb"
    programs = [cd.load(path, "cuda") for _ in range(4)]
    said: list[str] = []

    def call(program: Any) -> None:
        try:
            while True:
                works(program)
        except cd.CustomDispatchError as error:
            said.append(error.found)

    threads = [threading.Thread(target=call, args=(program,)) for program in programs]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    first = refused(lambda: programs[0].fault(X, MISTAKES["address"]))
    for thread in threads:
        thread.join(30)
        expect(not thread.is_alive(), "a thread's call never came back")
    expect(len(set(said)) == 1, said)
    # Whichever call noticed first names itself.
    expect("CUDA can no longer be used in this process" in first, first)
    cpu_works(directory)
    return first


@case
def refused_launch(directory: Path) -> str:
    """IREE's own code for an empty tensor has a grid with a zero, which the driver refuses."""
    good = cd.load(directory / "fault.vmfb", "cuda")
    works(good)
    said = refused(lambda: cd.load(directory / "empty.vmfb", "cuda").twice(np.zeros(0, np.float32)))
    if cd.why_not("cuda") is None:
        works(good)
        return f"the device goes on: {said}"
    refused(lambda: good.fault(X, 0), said)
    cpu_works(directory)
    return said


@case
def out_of_memory(directory: Path) -> str:
    program = cd.load(directory / "fault.vmfb", "cuda")
    works(program)
    size = 1 << 30  # 4 GiB of f32
    x = _on_gpu(size)
    count = (cd.devices()[0].memory_bytes or 0) // (4 * size) + 2
    try:
        kept = [program.fault(x, 0) for _ in range(count)]
    except cd.CustomDispatchError as error:
        said = str(error).splitlines()[0]
    else:
        raise AssertionError(f"{len(kept)} results of {size * 4} bytes fit")
    expect(cd.why_not("cuda") is None, cd.why_not("cuda"))
    works(program)
    return said


def _on_gpu(size: int) -> Any:
    import iree.runtime as rt

    from custom_dispatch.runtime.access import access_to
    from custom_dispatch.runtime.device import hal_device

    with access_to("cuda"):
        return rt.asdevicearray(hal_device("cuda"), np.broadcast_to(np.float32(1), size).copy())


# -- threads, forks, the exit


@case
def two_modules_in_many_threads(directory: Path) -> str:
    from concurrent.futures import ThreadPoolExecutor

    path = directory / "fault.vmfb"
    programs = [cd.load(path, "cuda"), cd.load(path, "cuda"), cd.load(path, "cpu")]

    def call(index: int) -> bool:
        x = np.full(1 + index % 777, index, np.float32)
        return np.array_equal(programs[index % 3].fault(x, 0), 2 * x)

    with ThreadPoolExecutor(8) as pool:
        expect(all(pool.map(call, range(3000))), "wrong results")
    return "3000 calls"


@case
def exit_with_calls_under_way(directory: Path) -> str:
    program = cd.load(directory / "fault.vmfb", "cuda")

    def call() -> None:
        while True:
            works(program)

    for _ in range(4):
        threading.Thread(target=call, daemon=True).start()
    time.sleep(0.3)
    return "daemon threads call"


@case
def exit_with_results_alive(directory: Path) -> str:
    global kept
    program = cd.load(directory / "fault.vmfb", "cuda")
    result = program.fault(_on_gpu(1000), 0)
    kept = [result, program]
    kept.append(kept)
    return f"a {type(result).__name__} is kept"


@case
def fork_after_cuda(directory: Path) -> str:
    path = directory / "fault.vmfb"
    program = cd.load(path, "cuda")
    works(program)
    receiver, sender = os.pipe()
    for ends in (os._exit, sys.exit):
        child = os.fork()
        if child == 0:
            said = cd.why_not("cuda") or "nothing"
            said += refused(lambda: program.fault(X, 0), "before the process was forked")
            anew = cd.load(path)
            expect(anew.device.kind == "cpu", anew.device)
            works(anew)
            os.write(sender, said.encode())
            ends(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        expect(code == 0, f"the child ended with {code}")
        said = os.read(receiver, 4096).decode()
        expect("it was forked from one that had opened CUDA" in said, said)
    works(program)
    return said


# -- running


def run_case(name: str, directory: Path, script: Path = Path(__file__)) -> tuple[bool, str]:
    """Run a script's case in a process of its own; say whether it passed, and what it said."""
    environment = os.environ | ENVIRONMENT.get(name, {})
    command = [sys.executable, str(script), "case", str(directory), name]
    start = time.monotonic()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        told = (error.stdout or b"").decode(errors="replace").strip()
        return False, f"HUNG after {LIMIT_S} s; it had said: {told[-300:] or 'nothing'}"
    took = time.monotonic() - start
    lines = done.stdout.strip().splitlines()
    said = lines[-1] if lines else ""
    if done.returncode != 0:
        return False, f"status {done.returncode}: {said} {done.stderr.strip()[-600:]}"
    noise = done.stderr.strip()
    # Leaks are told in a forked child that ends by sys.exit: docs/devices.md.
    # The GPU's own words on an assertion go there too.
    if noise and name not in ("fork_after_cuda", "lost_to_an_assertion"):
        return False, f"{said}; on standard error: {noise[-600:]}"
    return said.startswith("done: "), f"{said.removeprefix('done: ')} ({took:.1f} s)"


def run(directory: Path, names: list[str]) -> int:
    failed = 0
    for name in names or CASES:
        passed, said = run_case(name, directory)
        failed += not passed
        print(f"{'ok    ' if passed else 'FAILED'} {name}: {said}", flush=True)
        if name.startswith(("lost", "refused")):
            passed, said = run_case("present", directory)
            failed += not passed
            print(f"{'ok    ' if passed else 'FAILED'}   a fresh process works", flush=True)
    print(f"{failed} failed" if failed else "all passed")
    return 1 if failed else 0


def main(words: list[str]) -> int:
    match words:
        case ["build", directory]:
            build(Path(directory))
        case ["run", directory, *names]:
            return run(Path(directory), names)
        case ["case", directory, name]:
            print("done:", CASES[name](Path(directory)), flush=True)
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
