"""The products of `cuda_kernels.quantised` on a GPU: correct first, then beside a copy and PyTorch.

Two halves: `build DIRECTORY` on any machine, then where there are a GPU and PyTorch

    python -m benchmarks gpu.quantised check DIRECTORY
    python -m benchmarks gpu.quantised run DIRECTORY [--save FILE]

`check` runs odd sizes, groups and addresses, small enough for compute-sanitizer, and compares with
double precision.

A product with 4096 x 14336 weights takes about as long as three launches. So 64 of them, of 8 sets
of weights in turn, which no cache holds, are captured in a CUDA graph, one behind the other, and
what lies between two events around it is divided by 64: what a launch costs beyond the one before
it is in the figures. PyTorch's are measured in the same way. The same launches back to back in a
stream stand beside them.

Bars: for one row of x, 75 % of the bandwidth of a copy of 512 MiB in the same run, counted in bytes
of weights, scales, x and y; from 64 rows on, 0.9 of the speed of PyTorch with weights in 16 bits.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import custom_dispatch as cd
from benchmarks.cases.quantised_weights import Weights, weights_of
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import in_graph
from cuda_kernels import quantised
from custom_dispatch.kernel.evaluation import holds
from custom_dispatch.kernel.target import Target

if TYPE_CHECKING:
    from custom_dispatch.measure.native_launch import NativeLaunch

BAR, BAR_OF_MANY, MANY = 0.75, 0.9, 64
TARGETS = {80: "cuda:sm_80", 90: "cuda:sm_90a"}
KINDS = ("f16", "bf16")
SHAPES = ((4096, 14336), (14336, 4096), (11008, 4096), (5120, 5120), (3072, 1024))
BATCHES = (1, 2, 8, 16, 17, 32, 64, 128, 300, 1000, 2048)
COARSE = 128
"""Weights that share a scale in most models of 4 bits; measured for one row of x, where groups may
be of any size."""
GROUPED = ("int4", "int4_zeros", "int8_groups")
SETS, LAUNCHES = 8, 64
ROUNDING = {"f16": 2**-11, "bf16": 2**-8}


@dataclass(frozen=True)
class Row:
    """One figure."""

    kernel: str
    n: int
    k: int
    batch: int
    group: int
    """Weights that share a scale, where they do."""
    us: tuple[float, ...]
    """Medians of the runs, in a graph, on the GPU's clock."""
    stream_us: float
    """The median back to back in a stream."""
    tb_per_s: float
    of_copy: float
    """The slower run's."""
    torch_us: float
    """PyTorch's product with the same weights in 16 bits."""

    @property
    def holds(self) -> bool:
        """Whether the bar is met, where there is one."""
        if self.batch >= MANY:
            return self.torch_us >= BAR_OF_MANY * max(self.us)
        return self.batch > 1 or self.of_copy >= BAR


def choices(only: str) -> list[cd.Choice]:
    """Every choice that is declared, with one of these, separated by commas, in its name."""
    every = [getattr(quantised, name) for name in quantised.__dir__()]
    declared = [value for value in every if isinstance(value, cd.Choice)]
    return [choice for choice in declared if any(it in choice.name for it in only.split(","))]


def build(directory: Path, only: str) -> None:
    """Compile them; cubins, which load at once."""
    kernels = [kernel for choice in choices(only) for kernel in choice.kernels]
    library = cd.build(kernels, list(TARGETS.values()), image="cubin")
    gpu_objects.write(directory, [library])


class Launcher:
    """The built kernels, for this GPU."""

    def __init__(self, directory: Path) -> None:
        import torch

        self._objects = gpu_objects.Objects(directory)
        self.target = self._objects.best(TARGETS)
        self.torch = torch

    def launch(self, kernel: cd.Kernel, x: Any, weights: Sequence[Any]) -> gpu_objects.Launch:
        """A launch, with its result, poisoned."""
        return self._objects.launch(kernel, self.target, (x, *weights))


def wrong(
    x: Any, weights: Weights, launch: gpu_objects.Launch, kind: str, *, rounds: bool = False
) -> str:
    """What is wrong with a launch's result; empty if nothing.

    A result may be off by one rounding to 16 bits, and by what tensor cores lose of the sum of the
    products' magnitudes: of the weights, in f32, and of the numbers of 4 bits as they are added up,
    before zeros are taken away. These are denormal f16 or 128 more, and products are aligned by
    exponents, so that 4 to 10 bits less are left of them. If it `rounds` weights to 16 bits, each
    product may be off by one of those, and they add up like a random walk.
    """
    wide = weights.wide()
    x, result = x.to(wide.device), launch.results[0].to(wide.device)
    wanted, size = x.double() @ wide.T, x.double().abs()
    lost = size @ wide.abs().T * 2**-20
    if weights.summed is not None:
        lost += size @ weights.summed().T * 2**-19
    if rounds:
        lost += 6 * ROUNDING[kind] * ((x.double() ** 2) @ (wide**2).T).sqrt()
    allowed = wanted.abs() * ROUNDING[kind] + lost + 1e-7
    off = (result.double() - wanted).abs() / allowed
    if not (off <= 1.0).all():
        return f"{int((~(off <= 1.0)).sum())} of {off.numel()} elements are off"
    return "" if launch.guards[0].isnan().all() else "it wrote behind its result"


def rounds(kernel: cd.Kernel) -> bool:
    """Whether weights are rounded to 16 bits; scales of whole rows are not multiplied by them."""
    by_row = kernel.name.startswith(("fp8_f16", "fp8_bf16", "int8_f16", "int8_bf16"))
    return kernel.name.startswith("int8_groups") or ("_many" in kernel.name and not by_row)


def dims_of(layout: str, batch: int, n: int, k: int, group: int) -> dict[str, int]:
    """The dims of a product, for every layout."""
    blocks = k // (256 if layout == "q4_k" else 32)
    parts = {"row_blocks": -(-n // 128), "column_blocks": -(-k // 128), "parts": n}
    return (
        parts
        | {"batch": batch, "n": n, "k": k, "blocks": blocks}
        | {
            "halves": k // 2,
            "groups": k // group,
        }
    )


def cases() -> Iterator[tuple[int, int, int, int]]:
    """n, k, the group of weights and the offset of addresses."""
    yield from (
        (1, 32, 32, 0),
        (7, 256, 64, 0),
        (65, 288, 96, 0),
        (65, 512, 32, 0),
        (17, 2080, 32, 0),
    )
    yield from ((65, 512, 128, 1), (33, 768, 32, 2), (33, 1024, 64, 4), (129, 1536, 128, 0))
    yield from ((40, 4352, 256, 0), (16, 9216, 32, 0))
    # Groups of which several are in 256 of k, and groups longer than that, not always from a start.
    yield from ((33, 1152, 96, 0), (33, 2304, 768, 0), (33, 1536, 384, 0))


def check(directory: Path, only: str) -> int:
    """Run the odd sizes. What is drawn is drawn on the host, whose copies initcheck sees."""
    launcher, tally = Launcher(directory), gpu_command.Tally()
    torch = launcher.torch
    for choice in choices(only):
        layout, kind = choice.name.rsplit("_", 1)
        dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[kind]
        for kernel in choice.kernels:
            for n, k, group, offset in cases():
                k = -(-k // 256) * 256 if layout == "q4_k" else k
                for batch in (1, 2, 8, 16, 19, 70, 150):
                    dims = dims_of(layout, batch, n, k, group)
                    if not all(holds(each, dims) for each in kernel.requires):
                        continue
                    weights = weights_of(layout, kind, n, k, group, offset, drawn="cpu")
                    memory = torch.randn(batch * k + offset).to(dtype).cuda()
                    x = memory[offset:].view(batch, k)
                    launch = launcher.launch(kernel, x, weights.operands)
                    launch.native.run()
                    what = f"{kernel.name} {n} x {k}, batch {batch}"
                    tally.add(what, wrong(x, weights, launch, kind, rounds=rounds(kernel)))
    return tally.finish()


def median_us(torch: Any, run: Callable[[], None], count: int) -> float:
    """The median of 9 times `count` launches between two events, in microseconds a launch."""
    times: list[float] = []
    for _ in range(11):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in "ab")
        # What is launched waits for this, so that the queue is full when the first one begins.
        torch.cuda._sleep(2_000_000)
        start.record()
        run()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1e3 / count)
    return statistics.median(times[2:])


def all_of(once: Callable[[int], None], count: int) -> Callable[[], None]:
    """The launches one after the other."""

    def run() -> None:
        for i in range(count):
            once(i)

    return run


def copy_bandwidth(torch: Any) -> float:
    """TB/s of a copy of 512 MiB, read and written."""
    source = torch.randn(1 << 27, device="cuda")
    target = torch.empty_like(source)

    def once(_: int) -> None:
        target.copy_(source)

    return float(2 * source.nbytes / median_us(torch, all_of(once, 8), 8) / 1e6)


def plain_us(torch: Any, n: int, k: int, batch: int) -> float:
    """PyTorch's product with weights of f16."""
    weights = [torch.randn(n, k, device="cuda").half() for _ in range(3)]
    x = torch.randn(batch, k, device="cuda").half()

    def once(i: int) -> None:
        torch.mm(x, weights[i % 3].T)

    return median_us(torch, in_graph(all_of(once, 16)), 16)


def _in_turn(torch: Any, launches: Sequence[NativeLaunch]) -> Callable[[int], None]:
    def once(i: int) -> None:
        launches[i % len(launches)].enqueue(torch.cuda.current_stream().cuda_stream)

    return once


def measure(
    launcher: Launcher,
    choice: cd.Choice,
    sets: Sequence[Weights],
    batch: int,
    torch_us: float,
    copy: float,
) -> Row:
    """Check one product and time it; `copy` is in TB/s."""
    torch, kind = launcher.torch, choice.name.rsplit("_", 1)[1]
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[kind]
    n, k, group = sets[0].n, sets[0].k, sets[0].group
    dims = dims_of(choice.name.rsplit("_", 1)[0], batch, n, k, group)
    kernel = gpu_objects.kernel_for(choice, dims, Target.parse(launcher.target))
    launches: list[NativeLaunch] = []
    kept: list[Any] = []  # what has to live as long as its launches
    moved = 0
    for weights in sets:
        x = torch.randn(batch, k, device="cuda").to(dtype)
        launch = launcher.launch(kernel, x, weights.operands)
        launch.native.run()
        problem = ""
        if not launches:
            problem = wrong(x, weights, launch, kind, rounds=rounds(kernel))
        if problem:
            sys.exit(f"{kernel.name} {n} x {k}, batch {batch}: {problem}")
        launches.append(launch.native)
        kept.append((x, launch))
        moved = sum(item.nbytes for item in (x, *weights.operands, *launch.results))
    once = _in_turn(torch, launches)
    graph = in_graph(all_of(once, LAUNCHES))
    us = tuple(median_us(torch, graph, LAUNCHES) for _ in range(2))
    rate = moved / max(us) / 1e6
    row = Row(
        kernel=kernel.name,
        n=n,
        k=k,
        batch=batch,
        group=group,
        us=us,
        stream_us=median_us(torch, all_of(once, LAUNCHES), LAUNCHES),
        tb_per_s=rate,
        of_copy=rate / copy,
        torch_us=torch_us,
    )
    print(line(row), flush=True)
    return row


def run(directory: Path, only: str) -> tuple[list[Row], float]:
    """Check and time the large cases."""
    launcher = Launcher(directory)
    torch, rows = launcher.torch, []
    copy = copy_bandwidth(torch)
    print(f"copy: {copy:.2f} TB/s")
    for n, k in SHAPES:
        beside = {batch: plain_us(torch, n, k, batch) for batch in BATCHES}
        for choice in choices(only):
            layout, kind = choice.name.rsplit("_", 1)
            for group, batches in (
                {COARSE: BATCHES, 32: (1, 128)} if layout in GROUPED else {32: BATCHES}
            ).items():
                sets = [weights_of(layout, kind, n, k, group) for _ in range(SETS)]
                for batch in batches:
                    rows.append(measure(launcher, choice, sets, batch, beside[batch], copy))
    return rows, copy


def line(row: Row) -> str:
    """One line of the table."""
    verdict = "" if row.holds else "  BELOW THE BAR"
    return (
        f"{row.kernel:20} {row.n:5} x {row.k:5} batch {row.batch:2} group {row.group:3} "
        f"{max(row.us):7.2f} us (stream {row.stream_us:.2f}) "
        f"{row.tb_per_s:5.2f} TB/s {row.of_copy * 100:4.0f} % of a copy "
        f"{row.torch_us / max(row.us):5.2f}x PyTorch in f16{verdict}"
    )


def main() -> int:
    """Build, check or run."""
    parser = gpu_command.parser(__doc__)
    parser.add_argument(
        "--only", default="", help="choices whose name has one of these in it: int4,q4_k"
    )
    options = parser.parse_args()
    if options.what == "build":
        build(options.directory, options.only)
        return 0
    if options.what == "check":
        return check(options.directory, options.only)
    rows, copy = run(options.directory, options.only)
    if options.save:
        gpu_command.save(
            options.save,
            "gpu.quantised run",
            copy_tb_per_s=copy,
            rows=[asdict(row) for row in rows],
        )
    return 0 if all(row.holds for row in rows) else 1
