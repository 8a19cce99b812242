"""What limits every shipped kernel at the size it is for, by Nsight Compute's counters.

Two halves: `build DIRECTORY` on any machine, then where there are a GPU, iree-base-runtime and ncu

    python -m benchmarks gpu.limiters run DIRECTORY [--save FILE]

`check` only launches what `run` has ncu count.

Each kernel is launched once, by `lib/bare_launch.py`, and replayed by ncu for its counters: with
the caches emptied before each replay, and the clocks as they are (`--clock-control none`). So a
time is that of a launch alone with nothing in the caches; what other benchmarks measure beside
PyTorch is what counts. Of a choice it is the kernel that the size gets.

The floor is the longer of two times: the operands' bytes, each once, at the bandwidth of a copy,
and the operations at the most that was measured through PyTorch on an H200; of multiply-adds in f32
at what NVIDIA says (H200 datasheet). Of f32 on tensor cores there are three products of TF32, each
at half the rate.

The limiter is what is busy for at least 60 % of what it can: all of that, since what memory gives
passes the L2 cache, too. Where nothing is, it is waiting: its two main reasons are named, and their
parts of all waiting, beside what is busiest.
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy

import custom_dispatch as cd
from benchmarks.lib.bare_launch import Launcher, Subject, build, drawn, numbers_of, shape_of
from benchmarks.lib.gpu_command import itself, parser
from benchmarks.lib.gpu_command import save as keep
from benchmarks.lib.gpu_objects import kernel_for
from cuda_kernels import attention, gemm, quantised
from cuda_kernels.attention import rotary, write_cache
from cuda_kernels.elementwise import gelu, swiglu
from cuda_kernels.norms import layer_norm, rms_norm, softmax
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.kernel.target import Target

BANDWIDTH, OPERATIONS, MULTIPLY_ADDS = 4.3e12, 790e12, 66.9e12
BUSY = 60.0
"""Percent from which on a unit counts as the limiter."""
ELAPSED, ACTIVE = ".avg.pct_of_peak_sustained_elapsed", ".avg.pct_of_peak_sustained_active"
UNITS = {
    "DRAM": "gpu__dram_throughput" + ELAPSED,
    "L2": "lts__throughput" + ELAPSED,
    "L1 and shared memory": "l1tex__throughput" + ACTIVE,
    "tensor cores": "sm__pipe_tensor_cycles_active" + ELAPSED,
    "multiply-adds": "sm__pipe_fma_cycles_active" + ELAPSED,
    "integers": "sm__pipe_alu_cycles_active" + ELAPSED,
    "special functions": "sm__inst_executed_pipe_xu" + ACTIVE,
    "issue": "sm__inst_issued" + ACTIVE,
}
OCCUPANCY, DURATION = "sm__warps_active" + ACTIVE, "gpu__time_duration.sum"
CLOCK = "sm__cycles_elapsed.avg.per_second"
STALLS = (
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "gmma",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instruction",
    "not_selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
)
"""Why a warp does not issue."""
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
HOPPER, PORTABLE = "cuda:sm_90a", "cuda:sm_80"


@dataclass(frozen=True)
class Case:
    """One kernel at one size."""

    item: cd.Kernel | cd.Choice
    dims: dict[str, int]
    what: str
    target: str = HOPPER
    causal: bool = False
    moved: int | None = None
    """Bytes, where they are not all of each operand."""

    def kernel(self) -> cd.Kernel:
        """The one that the size gets."""
        return kernel_for(self.item, self.dims, Target.parse(self.target))

    @property
    def module(self) -> str:
        """Of `cuda_kernels`: only a name here."""
        return self.item.name


def _products() -> list[Case]:
    sizes = [(4096, 4096, 4096), (1, 28672, 4096), (16, 28672, 4096), (128, 28672, 4096)]
    sizes += [(128, 6144, 4096), (128, 4096, 14336), (512, 6144, 4096), (512, 4096, 4096)]
    found = []
    for target, some in ((HOPPER, sizes), (PORTABLE, [sizes[0], sizes[3], sizes[5]])):
        for m, n, k in some:
            dims = {"batch": m, "n": n, "k": k}
            found.append(Case(gemm.linear_bf16, dims, f"{m} x {n} x {k}", target))
    for m, n, k in ((4096, 4096, 4096), (4096, 1536, 384), (26, 384, 1536)):
        dims = {"batch": m, "n": n, "k": k}
        found.append(Case(gemm.linear_f32, dims, f"{m} x {n} x {k}", PORTABLE))
    return found


def _attentions() -> list[Case]:
    names = ("batch", "heads", "kv_heads", "queries", "keys")

    def case(item: Any, *sizes: int, target: str = HOPPER, causal: bool = False) -> Case:
        batch, heads, kv_heads, queries, keys = sizes
        what = f"{batch} x {heads}/{kv_heads} x {queries}/{keys}" + (", causal" if causal else "")
        return Case(item, dict(zip(names, sizes, strict=True)), what, target, causal)

    long, short = (1, 32, 32, 4096, 4096), (1, 32, 8, 1, 8192)
    return [
        case(attention.attention_f16_128, *long),
        case(attention.attention_f16_128, *long, causal=True),
        case(attention.attention_f16_64, *long),
        case(attention.attention_f16_128, *long, target=PORTABLE),
        case(attention.attention_f16_64, *long, target=PORTABLE),
        case(attention.attention_bf16_128, 16, *short[1:]),
        case(attention.attention_bf16_128, *short),
        case(attention.cached_attention_bf16_128, 16, *short[1:]),
        case(attention.attention_f32_128, 1, 8, 8, 2048, 2048),
        case(attention.attention_f16_32, 64, 12, 12, 256, 256),
    ]


def _quantised() -> list[Case]:
    found = []
    for choice in (getattr(quantised, name) for name in quantised.__dir__()):
        if not isinstance(choice, cd.Choice) or not choice.name.endswith("_f16"):
            continue
        for batch in (1, 16):
            n, k = 4096, 14336
            sizes = {"n": n, "k": k, "halves": k // 2, "blocks": k // 32, "groups": k // 32}
            dims = {"batch": batch, "parts": n, **sizes}
            names = {dim.name for dim in choice.kernels[0].dims}
            kept = {name: size for name, size in dims.items() if name in names}
            found.append(Case(choice, kept, f"{batch} x {n} x {k}"))
    return found


def cases() -> list[Case]:
    """Everything at the size it is for."""
    rows = {"batch": 16384, "columns": 8192}
    found = [
        Case(kernel, rows, "16384 x 8192")
        for kernel in (
            softmax.softmax_bf16,
            layer_norm.layer_norm_bf16,
            rms_norm.rms_norm_bf16,
            rms_norm.add_rms_norm_bf16,
            gelu.gelu_erf_bf16,
            gelu.gelu_tanh_bf16,
            swiglu.swiglu_bf16,
        )
    ]
    turned = {"batch": 8, "heads": 32, "length": 4096, "dim": 128, "tables": 1}
    found.append(Case(rotary.rotary_bf16, turned, "8 x 32 x 4096 x 128"))
    cache = {"batch": 16, "heads": 8, "keys": 8192, "count": 512, "dim": 128}
    what = "16 x 8 x 512 of 8192 x 128"
    moved = 2 * 16 * 8 * 512 * 128 * 2 + 512 * 8
    found.append(Case(write_cache.write_cache_bf16, cache, what, moved=moved))
    return [*found, *_products(), *_attentions(), *_quantised()]


def subject_of(case: Case, kernel: cd.Kernel) -> Subject:
    """What `bare_launch` builds and launches."""
    return Subject(case.module, kernel.for_target(Target.parse(case.target)), case.target)


def floor_us(case: Case, form: cd.Kernel) -> float:
    """The least time, as the module says."""
    buffers = [item for item in form.operands if isinstance(item, Buffer) and not item.optional]
    moved = case.moved or sum(
        math.prod(shape_of(item, case.dims)) * item.dtype.bytes for item in buffers
    )
    operations = 0 if form.flops is None else evaluate(form.flops, case.dims)
    assert form.source is not None
    if form.source.stem == "attention":
        rate = MULTIPLY_ADDS
    else:
        rate = OPERATIONS / 6 if form.source.stem == "gemm_f32" else OPERATIONS
    return max(moved / BANDWIDTH, operations / (2 if case.causal else 1) / rate) * 1e6


def make(directory: Path) -> None:
    """Build what is launched, and say which kernels these are."""
    kernels = [case.kernel() for case in cases()]
    subjects = list(map(subject_of, cases(), kernels))
    resources = build(directory, subjects)
    taken = {(each["entry"], each["target"]): each for each in resources}
    rows = [
        {
            "kernel": kernel.name,
            "target": case.target,
            "size": case.what,
            "source": f"{subject.source}.cu",
            "floor_us": floor_us(case, subject.form),
            **{
                name: taken[subject.form.entry, case.target][name]
                for name in ("registers", "spill_stores_bytes", "shared_bytes", "threads")
            },
        }
        for case, kernel, subject in zip(cases(), kernels, subjects, strict=True)
    ]
    (directory / "cases.json").write_text(json.dumps(rows, indent=1))


def launch(directory: Path) -> int:
    """Launch each case once."""
    launcher, random = Launcher(directory), numpy.random.default_rng(3)
    rows = json.loads((directory / "cases.json").read_text())
    for case, row in zip(cases(), rows, strict=True):
        kernels = case.item.kernels if isinstance(case.item, cd.Choice) else (case.item,)
        kernel = next(kernel for kernel in kernels if kernel.name == row["kernel"])
        subject = subject_of(case, kernel)
        inputs = drawn(subject.form, case.dims, random, all_there=False)
        numbers = numbers_of(subject.form, causal=case.causal)
        if "lengths" in inputs:
            inputs["lengths"] = numpy.full(case.dims["batch"], case.dims["keys"], numpy.int32)
        launcher.launch(subject, case.dims, inputs, numbers, fetch=False)
    return 0


@dataclass(frozen=True)
class Row:
    """What was counted of one kernel."""

    kernel: str
    target: str
    size: str
    source: str
    us: float
    floor_us: float
    of_floor: float
    """The floor as a part of the time."""
    clock_mhz: float
    busy: dict[str, float]
    """Percent, by unit."""
    occupancy: float
    """Percent of the warps that a multiprocessor can hold."""
    stalls: dict[str, float]
    """The three reasons that most warps waited for, and their parts of all waiting."""
    registers: int
    spill_stores_bytes: int
    shared_bytes: int
    threads: int

    @property
    def limiter(self) -> str:
        """In words."""
        most = sorted(self.busy.items(), key=lambda item: -item[1])
        full = [f"{unit} {percent:.0f} %" for unit, percent in most if percent >= BUSY]
        if full:
            return ", ".join(full)
        stalls = [f"{stall} {part * 100:.0f} %" for stall, part in list(self.stalls.items())[:2]]
        return f"waiting: {', '.join(stalls)}; {most[0][0]} {most[0][1]:.0f} %"


def counted(text: str) -> list[dict[str, str]]:
    """The rows of ncu's CSV, a kernel each."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        sys.exit(f"ncu has counted nothing:\n{text[-4000:]}")
    rows = list(csv.DictReader(lines[start:]))
    return [row for row in rows if row["ID"]]  # the first has units


def row_of(case: dict[str, Any], found: dict[str, str]) -> Row:
    """One kernel's figures."""

    def number(name: str) -> float:
        return float(found[name].replace(",", ""))

    us = number(DURATION) / 1e3
    waited = {name: number(STALL.format(name)) for name in STALLS}
    total = sum(waited.values())
    most = sorted(waited.items(), key=lambda item: -item[1])[:3]
    return Row(
        **case,
        us=us,
        of_floor=case["floor_us"] / us,
        clock_mhz=number(CLOCK) / 1e6,
        busy={unit: number(name) for unit, name in UNITS.items()},
        occupancy=number(OCCUPANCY),
        stalls={name: part / total for name, part in most},
    )


def run(directory: Path, save: Path | None) -> int:
    """Count everything."""
    metrics = [*UNITS.values(), OCCUPANCY, DURATION, CLOCK, *map(STALL.format, STALLS)]
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw"]
    command += ["--print-units", "base", "--metrics", ",".join(metrics)]
    own = itself("gpu.limiters", "check", str(directory))
    done = subprocess.run([*command, *own], check=False, capture_output=True, text=True)
    found = counted(done.stdout + done.stderr)
    known = json.loads((directory / "cases.json").read_text())
    rows = [row_of(case, each) for case, each in zip(known, found, strict=True)]
    for row in rows:
        print(
            f"{row.kernel:28} {row.target[5:]:7} {row.size:24} {row.us:8.1f} us "
            f"{row.of_floor * 100:4.0f} % of the floor's speed, {row.occupancy:3.0f} % occupied, "
            f"{row.registers:3} registers, {row.limiter}"
        )
    if save:
        figures = [{"limiter": row.limiter} | asdict(row) for row in rows]
        keep(save, "gpu.limiters run", ncu=" ".join(command), rows=figures)
    return 0


def main() -> int:
    """Build, launch or run."""
    given = parser(__doc__).parse_args()
    if given.what == "build":
        make(given.directory)
        return 0
    if given.what == "check":
        return launch(given.directory)
    return run(given.directory, given.save)
