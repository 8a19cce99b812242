"""Half two of the GPU suite: run what `build.py` built.

    python tests/gpu/run.py DIRECTORY [--device cuda|local-task|local-sync] [--json FILE]

Needs iree-base-runtime, numpy and the device; that is also all that a user's deployment needs.
Prints one line a case, and exits with 1 if any failed. Inputs are random and fresh in every run
(the seed is printed); results are compared with numpy in double precision; result buffers that a
kernel leaves unwritten show, because device memory is filled with a pattern first.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import platform
import secrets
import subprocess
import sys
import sysconfig
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import iree.runtime as rt
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gpu.cases import Case, cases


class Module:
    """A module loaded with the bare IREE runtime."""

    def __init__(self, path: Path, device: Any) -> None:
        instance = rt.VmInstance()
        hal = rt.create_hal_module(instance, device)
        self.module = rt.VmModule.mmap(instance, str(path))
        self.context = rt.VmContext(instance, [hal, self.module])
        self.device = device

    def call(self, function: str, arguments: list[Any]) -> list[np.ndarray[Any, Any]]:
        """Call a function with arrays and numbers; return every result as an array."""
        inputs = rt.VmVariantList(len(arguments))
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                inputs.push_ref(to_view(self.device, argument))
            elif isinstance(argument, rt.HalBufferView):
                inputs.push_ref(argument)
            elif isinstance(argument, float):
                inputs.push_float(argument)
            else:
                inputs.push_int(int(argument))
        outputs = rt.VmVariantList(1)
        self.context.invoke(self.module.lookup_function(function), inputs, outputs)
        views = [outputs.get_as_object(index, rt.HalBufferView) for index in range(len(outputs))]
        return [to_array(self.device, view) for view in views]


def to_array(device: Any, view: Any) -> np.ndarray[Any, Any]:
    """A buffer view as an array of its own; IREE's CUDA driver cannot copy an empty one back."""
    dtype = rt.HalElementType.map_to_dtype(view.element_type)
    if 0 in view.shape:
        return np.empty(tuple(view.shape), dtype)
    return np.array(rt.DeviceArray(device, view).to_host())


def to_view(device: Any, array: np.ndarray[Any, Any]) -> Any:
    """An array on the device; integers are signless there."""
    names = {"b": "BOOL_8", "f": f"FLOAT_{8 * array.itemsize}"}
    name = names.get(array.dtype.kind, f"INT_{8 * array.itemsize}")
    return device.allocator.allocate_buffer_copy(
        memory_type=rt.MemoryType.DEVICE_LOCAL,
        allowed_usage=rt.BufferUsage.DEFAULT,
        device=device,
        buffer=np.ascontiguousarray(array).reshape(array.shape),
        element_type=getattr(rt.HalElementType, name),
    )


class Report:
    """The lines of the report."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, bool, str]] = []

    def add(self, name: str, passed: bool, detail: str) -> None:
        """Record and print one line."""
        self.rows.append((name, passed, detail))
        print(f"{'ok  ' if passed else 'FAIL'} {name:40} {detail}", flush=True)


def poison(device: Any, report: Report) -> None:
    """Fill and release device memory, so that an unwritten result does not look like zeros."""
    array = np.full(1 << 22, np.nan, np.float32)
    views = [to_view(device, array) for _ in range(4)]
    report.add("device memory filled with NaN", len(views) == 4, "4 x 16 MiB, then released")


def run_case(module: Module, case: Case, rng: np.random.Generator) -> tuple[bool, str]:
    """Run one case and compare; also check that the arguments stayed as they were."""
    arguments = case.inputs(rng)
    kept = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    views = [to_view(module.device, a) if isinstance(a, np.ndarray) else a for a in arguments]
    found = module.call(case.function, views)
    wanted = case.expected(*kept)
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    if len(found) != len(several):
        return False, f"{len(found)} results instead of {len(several)}"
    largest = 0.0
    for got, want in zip(found, several, strict=True):
        got = got.view(want.dtype) if got.dtype.itemsize == want.dtype.itemsize else got
        if got.shape != want.shape:
            return False, f"shape {got.shape} instead of {want.shape}"
        if case.tolerance == 0.0:
            if not np.array_equal(got, want):
                return False, f"found {got.ravel()[:4]}, expected {want.ravel()[:4]}"
        elif got.size:
            difference = np.linalg.norm(got.astype(np.float64) - want.astype(np.float64))
            largest = max(largest, float(difference / max(np.linalg.norm(want), 1e-30)))
            if not largest <= case.tolerance:
                return False, f"relative difference {largest:.3g}"
    for view, before in zip(views, kept, strict=True):
        if isinstance(before, np.ndarray) and before.size:
            after = to_array(module.device, view).view(before.dtype)
            if not np.array_equal(after, before):
                return False, "an argument was changed"
    shapes = ", ".join(str(list(a.shape)) for a in kept if isinstance(a, np.ndarray))
    exact = "bit-equal" if case.tolerance == 0.0 else f"relative difference {largest:.2g}"
    return True, f"{exact} for {shapes or 'scalars'}"


def check_empty(directory: Path, device: Any, report: Report) -> None:
    """Empty inputs return empty, and the device still works afterwards."""
    module = Module(directory / "mixed.vmfb", device)
    empty = np.zeros(0, np.float32)
    result = module.call("mixed_invocation", [empty, empty])[0]
    report.add("empty inputs return empty", result.shape == (0,), f"shape {result.shape}")
    two, four = np.full(8, 2, np.float32), np.full(8, 4, np.float32)
    after = module.call("mixed_invocation", [two, four])[0]
    report.add("the device works after that", bool((after == 96).all()), f"8 x {after[0]}")


def check_refusals(directory: Path, device: Any, report: Report) -> None:
    """Sizes that disagree are refused in the module itself."""
    module = Module(directory / "mixed.vmfb", device)
    try:
        module.call("mixed_invocation", [np.zeros(8, np.float32), np.zeros(9, np.float32)])
        report.add("sizes that disagree are refused", False, "they were not")
    except (RuntimeError, ValueError) as error:
        text = str(error)
        passed = "`lhs`.shape[0] and `rhs`.shape[0] disagree on dim n" in text
        report.add("sizes that disagree are refused", passed, text[-110:].strip())


def check_stock_tool(directory: Path, device: str, report: Report) -> None:
    """Plain iree-run-module runs the same file."""
    tool = Path(sysconfig.get_path("scripts")) / "iree-run-module"
    if not tool.exists():
        bundled = Path(rt.__file__).parent.parent / "_runtime_libs" / "iree-run-module"
        tool = bundled
    done = subprocess.run(
        [
            str(tool),
            f"--device={device}",
            f"--module={directory / 'mixed.vmfb'}",
            "--function=mixed_invocation",
            "--input=8xf32=2",
            "--input=8xf32=4",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    passed = done.returncode == 0 and "8xf32=96 96 96 96 96 96 96 96" in done.stdout
    line = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr[-100:]
    report.add(f"iree-run-module --device={device}", passed, line)


def check_wrong_arch(directory: Path, device: Any, report: Report) -> None:
    """A file without code for this GPU is refused by IREE when it loads."""
    try:
        Module(directory / "samples_sm_100.vmfb", device)
        report.add("sm_100 alone is refused", False, "it loaded")
    except (RuntimeError, ValueError) as error:
        passed = "does not support any variant" in str(error)
        report.add("sm_100 alone is refused", passed, str(error).splitlines()[0][-100:])


def check_messages(directory: Path, report: Report) -> None:
    """What custom_dispatch says of that file, where the package is importable."""
    try:
        import custom_dispatch as cd
    except ImportError:
        return
    try:
        cd.load(directory / "samples_sm_100.vmfb", "cuda")
        report.add("cd.load names both architectures", False, "it loaded")
    except cd.CustomDispatchError as error:
        text = str(error)
        passed = "sm_100" in text and f"sm_{compute_capability()}" in text
        report.add("cd.load names both architectures", passed, text)
    program = cd.load(directory / "mixed.vmfb")
    two, four = np.full(8, 2, np.float32), np.full(8, 4, np.float32)
    result = program.mixed_invocation(two, four)
    passed = program.device.kind == "cuda" and bool((result == 96).all())
    report.add("cd.load(device='auto')", passed, f"{program.device}: {program.device_reason}")
    program = cd.load(directory / "mixed.vmfb", "cpu")
    result = program.mixed_invocation(two, four)
    report.add("the same file on the CPU", bool((result == 96).all()), str(program.device))
    program = cd.load(directory / "samples.vmfb")
    doubled = program.double_bf16(_bfloat16(1000))
    passed = np.array_equal(doubled.view(np.uint16), (_bfloat16(1000) * 2).view(np.uint16))
    report.add("bf16 through cd.load", bool(passed), f"{doubled.dtype}")


def _bfloat16(count: int) -> np.ndarray[Any, Any]:
    import ml_dtypes

    return np.arange(count).astype(ml_dtypes.bfloat16)


def compute_capability() -> int:
    """The first GPU's, as major * 10 + minor; 0 without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGet(ctypes.byref(device), 0) != 0:
        return 0
    driver.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
    return major.value * 10 + minor.value


def gpu_name() -> str:
    """What nvidia-smi calls the GPU and its driver."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "no GPU"


def run(directory: Path, device_name: str, seed: int) -> Report:
    """Run the whole suite."""
    report = Report()
    on_gpu = device_name == "cuda"
    # The CPU runs PTX of sm_80; a GPU the best that the modules hold for it.
    arch = (90 if compute_capability() >= 90 else 80) if on_gpu else 80
    device = rt.get_device(device_name)
    rng = np.random.default_rng(seed)
    poison(device, report)
    loaded: dict[str, Module] = {}
    for case in cases(arch):
        try:
            if case.module not in loaded:
                loaded[case.module] = Module(directory / f"{case.module}.vmfb", device)
            passed, detail = run_case(loaded[case.module], case, rng)
        except (RuntimeError, ValueError) as error:
            passed, detail = False, str(error).replace("\n", " ")[:200]
        report.add(case.name, passed, detail)
    check_empty(directory, device, report)
    check_refusals(directory, device, report)
    check_stock_tool(directory, device_name, report)
    if on_gpu:
        check_wrong_arch(directory, device, report)
        check_messages(directory, report)
    return report


def main() -> int:
    """Run the suite and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
    arguments = parser.parse_args()
    versions = {name: version(name) for name in ("iree-base-runtime", "numpy")}
    about = {
        "command": f"python tests/gpu/run.py {arguments.directory} --device {arguments.device}",
        "date": time.strftime("%Y-%m-%d"),
        "gpu": gpu_name(),
        "compute_capability": compute_capability(),
        "python": platform.python_version(),
        "seed": arguments.seed,
        **versions,
    }
    print(json.dumps(about))
    report = run(arguments.directory, arguments.device, arguments.seed)
    failed = [name for name, passed, _ in report.rows if not passed]
    print(f"{len(report.rows) - len(failed)} passed, {len(failed)} failed")
    if arguments.json is not None:
        rows = [
            {"name": name, "passed": passed, "detail": detail}
            for name, passed, detail in report.rows
        ]
        arguments.json.write_text(json.dumps({"about": about, "results": rows}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
