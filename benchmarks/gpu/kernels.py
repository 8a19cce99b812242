"""The kernels of `cuda_kernels` on a GPU: correct first, then beside PyTorch and a plain copy.

Two halves, as the GPU suite has: `build DIRECTORY` on any machine, then where there are a GPU,
iree-base-runtime and PyTorch

    python -m benchmarks gpu.kernels check DIRECTORY
    python -m benchmarks gpu.kernels run DIRECTORY [--save FILE]

`check` runs odd sizes at aligned and misaligned addresses, small enough for compute-sanitizer.
`--variants`, of all three, takes other shapes of blocks than the declared ones, too.

The objects are those that modules hold, launched through the CUDA driver and timed with events, as
PyTorch's operators are, without the time of launching. Each is run once before, into poisoned
memory, and compared with double precision.

Bar, of the issue: what only moves memory reaches 80 % of the bandwidth of a copy of PyTorch, of 512
MiB (f32) in the same run, at 16384 x 8192.
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import custom_dispatch as cd
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import copy_bandwidth, launched, median_us, with_events
from cuda_kernels import attention
from cuda_kernels.attention import rotary
from cuda_kernels.elementwise import gelu, swiglu
from cuda_kernels.norms import layer_norm, rms_norm, softmax
from cuda_kernels.norms.rows import RowForm

if TYPE_CHECKING:
    from benchmarks.cases.kernels import Case

BAR = 0.8
TARGETS = {80: "cuda:sm_80", 90: "cuda:sm_90"}
LENGTHS = (64, 384, 1000, 1024, 4095, 4096, 16384, 32768, 131072)
KINDS = ("f32", "f16", "bf16")
MODULES = (softmax, layer_norm, rms_norm, gelu, swiglu, rotary, attention)
TOLERANCES = {"f32": 1e-5, "f16": 1e-3, "bf16": 8e-3}


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
    """Every kernel that is declared, by itself or in a choice."""
    found = [getattr(module, name) for module in MODULES for name in module.__dir__()]
    chosen = [kernel for value in found if isinstance(value, cd.Choice) for kernel in value.kernels]
    return [*(value for value in found if isinstance(value, cd.Kernel)), *chosen]


def variants() -> dict[str, list[cd.Kernel]]:
    """The same kernels in blocks of other shapes, by what they are called in the table."""
    found: dict[str, list[cd.Kernel]] = {}
    for threads, packs in ((128, 4), (256, 2), (128, 8)):
        found[f"{threads} x {packs}"] = [
            layer_norm.declare(RowForm("bf16", threads, packs)),
            rms_norm.declare(RowForm("bf16", threads, packs)),
        ]
    return found


def build(directory: Path, with_variants: bool) -> None:
    """Compile everything; cubins, which load at once."""
    library = cd.build(kernels(), list(TARGETS.values()), image="cubin")
    gpu_objects.write(directory, [library])
    for label, members in variants().items() if with_variants else ():
        library = cd.build(members, [TARGETS[90]], image="cubin")
        gpu_objects.write(directory / label.replace(" ", ""), [library])
    few = [softmax.softmax_f32, layer_norm.layer_norm_f32, attention.attention_f16_128]
    cd.compile(None, few, list(TARGETS.values())).save(directory / "kernels.vmfb")


class Launcher:
    """The built kernels, as declared and in other shapes of blocks."""

    def __init__(self, directory: Path, with_variants: bool) -> None:
        self._objects = {"": gpu_objects.Objects(directory)}
        self._target = self._objects[""].best(TARGETS)
        self._declared = {("", kernel.name): kernel for kernel in kernels()}
        for label, members in variants().items() if with_variants else ():
            self._objects[label] = gpu_objects.Objects(directory / label.replace(" ", ""))
            self._declared |= {(label, kernel.name): kernel for kernel in members}

    def labels(self, case: Case) -> list[str]:
        """The variants that there are of a case's kernel; the declared one first."""
        return [
            label
            for label, objects in self._objects.items()
            if objects.has(self._target, case.kernel)
        ]

    def launch(self, case: Case, label: str = "") -> gpu_objects.Launch:
        """A launch, whose results are as misaligned as the inputs are."""
        import torch

        first = next(value for value in case.arguments if isinstance(value, torch.Tensor))
        return self._objects[label].launch(
            self._declared[label, case.kernel],
            self._target,
            case.arguments,
            first.storage_offset(),
        )


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


def check(directory: Path, with_variants: bool) -> int:
    """Run the odd sizes."""
    from benchmarks.cases.kernels import small_cases

    launcher, tally = Launcher(directory, with_variants), gpu_command.Tally()
    for make in small_cases():
        case = make()
        for label in launcher.labels(case):
            launch = launcher.launch(case, label)
            launch.native.run()
            what = f"{case.kernel} [{label}] {case.what}"
            tally.add(what, wrong(case, launch.results, launch.guards))
    return tally.finish()


def run(directory: Path, only: str, with_variants: bool) -> tuple[list[Row], dict[str, float]]:
    """Check and time the large cases."""
    import torch

    from benchmarks.cases.kernels import large_cases

    launcher, rows = Launcher(directory, with_variants), []
    copies = {kind: copy_bandwidth(kind) for kind in KINDS}
    print("copy: " + ", ".join(f"{kind} {rate:.2f} TB/s" for kind, rate in copies.items()))
    for make in large_cases(LENGTHS, KINDS):
        case = make()
        if only not in case.kernel:
            continue
        beside: tuple[float, ...] = ()
        for label in launcher.labels(case):
            launch = launcher.launch(case, label)
            launch.native.run()
            problem = wrong(case, launch.results, launch.guards)
            if problem:
                sys.exit(f"{case.kernel} [{label}] {case.what}: {problem}")
            tensors = [value for value in case.arguments if isinstance(value, torch.Tensor)]
            moved = sum(tensor.nbytes for tensor in [*tensors, *launch.results])
            ours: tuple[float, ...] = ()
            for _ in range(2):
                ours += (median_us(launched(launch.native)),)
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

    from benchmarks.cases.kernels import Inputs, attention_case, rows_case

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


def main() -> int:
    """Build, check or run."""
    parser = gpu_command.parser(__doc__)
    parser.add_argument("--variants", action="store_true", help="other shapes of blocks, too")
    parser.add_argument("--only", default="", help="kernels whose name has this in it")
    options = parser.parse_args()
    if options.what == "build":
        build(options.directory, options.variants)
        return 0
    if options.what == "check":
        return check(options.directory, options.variants)
    rows, copies = run(options.directory, options.only, options.variants)
    calls = [] if options.only else through_iree(options.directory)
    print("\nAt 16384 x 8192, and attention:")
    for row in rows:
        if "[" not in row.kernel and (row.has_bar or row.of_copy is None):
            print(line(row))
    if options.save:
        gpu_command.save(
            options.save,
            "gpu.kernels run",
            copy_tb_per_s=copies,
            rows=[asdict(row) for row in rows],
            calls_through_iree=calls,
        )
    return 0 if all(row.holds for row in rows) else 1
