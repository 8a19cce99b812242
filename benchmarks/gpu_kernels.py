"""The kernels of `cuda_kernels` on a GPU: correct first, then beside PyTorch and a plain copy.

Two halves, as the GPU suite has: `build DIRECTORY` on any machine, then where there are a GPU,
iree-base-runtime and PyTorch

    python benchmarks/gpu_kernels.py check DIRECTORY
    python benchmarks/gpu_kernels.py run DIRECTORY [--save FILE]

`check` runs odd sizes at aligned and misaligned addresses, small enough for compute-sanitizer.
`--variants`, of both `build` and `run`, times other shapes of blocks than the declared ones, too.

The objects are those that modules hold, launched through the CUDA driver and timed with events, as
PyTorch's operators are. Each is run once before, into poisoned memory, and compared with double
precision.

Bar, of the issue: what only moves memory reaches 80 % of the bandwidth of a copy of PyTorch, of 512
MiB (f32) in the same run, at 16384 x 8192.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from cuda_kernels import attention, gelu, layer_norm, rms_norm, rotary, softmax, swiglu

if TYPE_CHECKING:
    from benchmarks.gpu_kernel_cases import Case

BAR = 0.8
TARGETS = ("cuda:sm_80", "cuda:sm_90")
LENGTHS = (64, 384, 1000, 1024, 4095, 4096, 16384, 32768, 131072)
KINDS = ("f32", "f16", "bf16")
MODULES = (softmax, layer_norm, rms_norm, gelu, swiglu, rotary, attention)
TOLERANCES = {"f32": 1e-5, "f16": 1e-3, "bf16": 8e-3}
GUARD = 64
"""Elements behind every result that must stay as they were."""


@dataclass(frozen=True)
class Row:
    """One figure."""

    kernel: str
    what: str
    us: tuple[float, ...]
    """Medians of the runs, on the GPU's clock."""
    torch_us: tuple[float, ...]
    rate: float
    """TB/s, read and written once each, or TFLOP/s; of the slower run."""
    of_copy: float | None
    """The same as a part of the copy's."""
    has_bar: bool

    @property
    def holds(self) -> bool:
        """Whether the bar is met, where there is one."""
        return not self.has_bar or self.of_copy is None or self.of_copy >= BAR


def kernels() -> list[cd.Kernel]:
    """Every kernel that is declared."""
    found = [value for module in MODULES for value in vars(module).values()]
    return [value for value in found if isinstance(value, cd.Kernel)]


def variants() -> dict[str, list[cd.Kernel]]:
    """The same kernels in blocks of other shapes, by what they are called in the table."""
    found: dict[str, list[cd.Kernel]] = {}
    for threads, values in ((128, 32), (256, 32), (128, 64)):
        found[f"{threads} x {values}"] = [
            declare("bf16", threads, values) for declare in (layer_norm.declare, rms_norm.declare)
        ]
    return found


def build(directory: Path, with_variants: bool) -> None:
    """Compile everything; cubins, which load at once."""
    directory.mkdir(parents=True, exist_ok=True)
    index: dict[str, dict[str, dict[str, str]]] = {}
    sets = {"": kernels(), **(variants() if with_variants else {})}
    for number, (label, members) in enumerate(sets.items()):
        targets = TARGETS if not label else TARGETS[1:]
        library = cd.build(members, list(targets), image="cubin")
        for unit in library.units:
            for item in unit.objects:
                file = f"{number}_{unit.name}_{item.target.symbol}.cubin"
                (directory / file).write_bytes(item.data)
                for kernel in unit.kernels:
                    entry = {"file": file, "symbol": item.symbol(kernel.entry)}
                    index.setdefault(label, {}).setdefault(str(item.target), {})
                    index[label][str(item.target)][kernel.name] = entry
    (directory / "index.json").write_text(json.dumps(index, indent=1))
    few = [softmax.softmax_f32, layer_norm.layer_norm_f32, attention.attention_f16_128]
    cd.compile(None, few, list(TARGETS)).save(directory / "kernels.vmfb")


class Launcher:
    """The built kernels, launched through the driver."""

    def __init__(self, directory: Path) -> None:
        import torch

        from custom_dispatch.runtime.native_launch import NativeContext

        torch.cuda.init()
        major, minor = torch.cuda.get_device_capability()
        self.capability = 10 * major + minor
        self._directory = directory
        index = json.loads((directory / "index.json").read_text())
        target = TARGETS[1] if self.capability >= 90 else TARGETS[0]
        self._index = {label: found[target] for label, found in index.items() if target in found}
        self._declared = {("", kernel.name): kernel for kernel in kernels()}
        for label, members in variants().items():
            self._declared |= {(label, kernel.name): kernel for kernel in members}
        self._context = NativeContext().__enter__()  # until the process ends

    def labels(self, case: Case) -> list[str]:
        """The variants that there are of a case's kernel; the declared one first."""
        return [label for label, found in self._index.items() if case.kernel in found]

    def launch(self, case: Case, label: str = "") -> tuple[Any, list[Any], list[Any]]:
        """A launch, its results, poisoned, and what lies behind them."""
        import torch

        from custom_dispatch.kernel.binding import bind_dims, grid_for, output_shapes
        from custom_dispatch.kernel.operand import Buffer
        from custom_dispatch.kernel.words import constants_of
        from custom_dispatch.runtime.native_launch import NativeLaunch

        kernel = self._declared[label, case.kernel]
        given = dict(zip((item.name for item in kernel.inputs), case.arguments, strict=True))
        shapes = {
            item.name: tuple(given[item.name].shape)
            if given[item.name] is not None
            else (0,) * item.rank
            for item in kernel.inputs
            if isinstance(item, Buffer)
        }
        dims = bind_dims(kernel, shapes)
        like = next(value for value in given.values() if isinstance(value, torch.Tensor))
        addresses, results, guards = {}, [], []
        for name, shape in output_shapes(kernel, dims).items():
            size = torch.Size(shape).numel()
            # As misaligned as the inputs are.
            offset = like.storage_offset()
            memory = torch.full(
                (offset + size + GUARD,), torch.nan, dtype=like.dtype, device="cuda"
            )
            guards.append(memory[offset + size :])
            results.append(memory[offset : offset + size].view(shape))
            addresses[name] = results[-1].data_ptr()
        numbers: dict[str, Any] = {}
        for name, value in given.items():
            if isinstance(value, torch.Tensor):
                addresses[name], numbers[name] = value.data_ptr(), 1
            elif value is None:
                addresses[name], numbers[name] = like.data_ptr(), 0
            else:
                numbers[name] = value
        found = self._index[label][case.kernel]
        torch.cuda.synchronize()
        launch = NativeLaunch(
            self._context,
            (self._directory / found["file"]).read_bytes(),
            found["symbol"],
            grid=grid_for(kernel, dims, capability=self.capability),
            block=kernel.block,
            shared_bytes=kernel.dynamic_shared_memory,
            bindings=[ctypes.c_uint64(addresses[item.name]) for item in kernel.abi.bindings],
            constants=constants_of(kernel, dims, numbers),
        )
        return launch, results, guards


def wrong(case: Case, results: list[Any], guards: list[Any]) -> str:
    """What is wrong with results; empty if nothing."""
    import torch

    exact = [
        value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
        for value in case.arguments
    ]
    wanted = case.wanted(*exact)
    tolerance = TOLERANCES[case.kind]
    for got, want in zip(results, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        scale = want[want.isfinite()].abs().max().item() if want.isfinite().any() else 1.0
        same = torch.isclose(
            got.double(), want, rtol=tolerance, atol=tolerance * min(scale, 1.0), equal_nan=True
        )
        if not same.all():
            off = (got.double() - want).abs().nan_to_num(torch.inf).max().item()
            return f"{int((~same).sum())} of {same.numel()} elements differ, by up to {off:.3g}"
    if not all(guard.isnan().all() for guard in guards):
        return "it wrote behind its result"
    return ""


def check(directory: Path) -> int:
    """Run the odd sizes."""
    from benchmarks.gpu_kernel_cases import small_cases

    launcher, failures, count = Launcher(directory), 0, 0
    for make in small_cases():
        case = make()
        for label in launcher.labels(case):
            launch, results, guards = launcher.launch(case, label)
            launch.run()
            problem = wrong(case, results, guards)
            count += 1
            if problem:
                failures += 1
                print(f"{case.kernel} [{label}] {case.what}: {problem}", flush=True)
    print(f"{count} launches, {failures} wrong")
    return int(failures > 0)


def median_us(once: Callable[[], float], budget_s: float = 0.25) -> float:
    """The median of at least 7 launches, in microseconds."""
    for _ in range(2):
        once()
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < 7 or (len(times) < 50 and time.perf_counter() - start < budget_s):
        times.append(once())
    return statistics.median(times) * 1e6


def with_events(operator: Callable[[], Any]) -> Callable[[], float]:
    """PyTorch's operator, timed as a launch is."""
    import torch

    def once() -> float:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in "ab")
        start.record()
        operator()
        stop.record()
        stop.synchronize()
        return float(start.elapsed_time(stop)) / 1e3

    return once


def copy_bandwidth(kind: str) -> float:
    """TB/s of a copy of 16384 x 8192 elements, read and written."""
    import torch

    from benchmarks.gpu_kernel_cases import Inputs

    x = Inputs(kind)(16384, 8192)
    y = torch.empty_like(x)
    return 2 * x.nbytes / median_us(with_events(lambda: y.copy_(x)), 1.0) / 1e6


def run(directory: Path, only: str) -> tuple[list[Row], dict[str, float]]:
    """Check and time the large cases."""
    import torch

    from benchmarks.gpu_kernel_cases import large_cases

    launcher, rows = Launcher(directory), []
    copies = {kind: copy_bandwidth(kind) for kind in KINDS}
    print("copy: " + ", ".join(f"{kind} {rate:.2f} TB/s" for kind, rate in copies.items()))
    for make in large_cases(LENGTHS, KINDS):
        case = make()
        if only not in case.kernel:
            continue
        beside: tuple[float, ...] = ()
        for label in launcher.labels(case):
            launch, results, guards = launcher.launch(case, label)
            launch.run()
            problem = wrong(case, results, guards)
            if problem:
                sys.exit(f"{case.kernel} [{label}] {case.what}: {problem}")
            tensors = [value for value in case.arguments if isinstance(value, torch.Tensor)]
            moved = sum(tensor.nbytes for tensor in [*tensors, *results])
            ours: tuple[float, ...] = ()
            for _ in range(2):
                ours += (median_us(launch.kernel_seconds),)
                if not label:
                    beside += (median_us(with_events(case.beside)),)
            rate = (case.flops or moved) / max(ours) / 1e6
            rows.append(
                Row(
                    case.kernel + (f" [{label}]" if label else ""),
                    case.what,
                    ours,
                    beside,
                    rate,
                    None if case.flops else rate / copies[case.kind],
                    not label and not case.flops and case.what.startswith("16384 x 8192"),
                )
            )
            print(line(rows[-1]), flush=True)
    return rows, copies


def through_iree(directory: Path) -> list[dict[str, Any]]:
    """The same through a module: whole calls with arrays on the device, from Python."""
    import torch

    from benchmarks.gpu_kernel_cases import Inputs, attention_case, rows_case

    program = cd.load(directory / "kernels.vmfb", "cuda")
    found = []
    for case in (
        rows_case("softmax", Inputs("f32"), 16384, 8192),
        rows_case("layer_norm", Inputs("f32"), 16384, 8192),
        attention_case(Inputs("f16"), (1, 32, 32, 4096, 4096, 128), mask="keys", causal=True),
    ):
        function = getattr(program, case.kernel)

        def call(function: Any = function, case: Case = case) -> float:
            start = time.perf_counter()
            function(*case.arguments)
            return time.perf_counter() - start

        problem = wrong(case, [torch.from_dlpack(function(*case.arguments))], [])
        if problem:
            sys.exit(f"{case.kernel} through IREE: {problem}")
        us = median_us(call)
        found.append({"kernel": case.kernel, "what": case.what, "call_us": us})
        print(f"a call through IREE: {case.kernel} {case.what}: {us:.0f} us")
    return found


def line(row: Row) -> str:
    """One line of the table."""
    unit = "TB/s" if row.of_copy is not None else "TFLOP/s"
    part = "" if row.of_copy is None else f"{row.of_copy * 100:4.0f} % of a copy"
    verdict = "" if not row.has_bar else "  ok" if row.holds else "  BELOW 80 %"
    return (
        f"{row.kernel:28} {row.what:44} {max(row.us):9.1f} us {row.rate:6.2f} {unit:7} "
        f"{max(row.torch_us) / max(row.us):5.2f}x PyTorch's speed {part}{verdict}"
    )


def _versions() -> dict[str, str]:
    import importlib.metadata
    import platform

    found = {"python": platform.python_version()}
    for name in ("iree-base-runtime", "torch"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True, check=False)
    return found | {"gpu": done.stdout.strip()}


def main() -> int:
    """Build, check or run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("build", "check", "run"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--variants", action="store_true", help="other shapes of blocks, too")
    parser.add_argument("--only", default="", help="kernels whose name has this in it")
    parser.add_argument("--save", type=Path, help="a JSON file for the figures")
    options = parser.parse_args()
    if options.what == "build":
        build(options.directory, options.variants)
        return 0
    if options.what == "check":
        return check(options.directory)
    rows, copies = run(options.directory, options.only)
    calls = [] if options.only else through_iree(options.directory)
    print("\nAt 16384 x 8192, and attention:")
    for row in rows:
        if "[" not in row.kernel and (row.has_bar or row.of_copy is None):
            print(line(row))
    if options.save:
        content = {
            "command": "python benchmarks/gpu_kernels.py run",
            "versions": _versions(),
            "date": time.strftime("%Y-%m-%d"),
            "copy_tb_per_s": copies,
            "rows": [asdict(row) for row in rows],
            "calls_through_iree": calls,
        }
        options.save.write_text(json.dumps(content, indent=1) + "\n")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
