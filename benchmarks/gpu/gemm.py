"""Matrix products on a GPU: correct first, then beside PyTorch, which calls cuBLAS.

Two halves, as the GPU suite has: `build DIRECTORY` on any machine, then where there are a GPU,
iree-base-runtime and PyTorch

    python -m benchmarks gpu.gemm check DIRECTORY
    python -m benchmarks gpu.gemm run DIRECTORY [--target cuda:sm_80] [--save FILE]

`check` runs odd sizes at aligned and misaligned addresses, with NaN and infinity among the inputs;
and every kernel, whether a table takes it or not.

The objects are those that modules hold for the GPU's architecture, or for another target, such as
sm_80, of which later GPUs compile the PTX; of a choice, the kernel that it takes. Launches are
captured in a CUDA graph, one behind the other over several sets of inputs that are together larger
than the L2 cache, and a replay is timed with events: medians, in turn with PyTorch's. So a figure
is a launch's time with the gap to the next.

Bars, of the issue, as parts of PyTorch's speed: 0.95 at 4096^3 and 8192^3 in bf16, and 0.9 as the
geometric mean over the weights of Llama 3 8B's layers, at 1, 16, 128 and 4096 rows each.
"""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import custom_dispatch as cd
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import in_turn
from cuda_kernels import gemm

if TYPE_CHECKING:
    import torch

PORTABLE = "cuda:sm_80"
TARGETS = {90: "cuda:sm_90a", 80: PORTABLE}
CHOICES = (gemm.linear_bf16, gemm.matmul_bf16, gemm.linear_f16, gemm.linear_bf16_f32)
CHOICES_F32 = (gemm.linear_f32, gemm.matmul_f32)
CHOICES_TF32 = (gemm.linear_tf32, gemm.matmul_tf32)
"""Checked here; `gpu.sizes --only linear_tf32` times them."""
LLAMA = {"qkv": (6144, 4096), "o": (4096, 4096), "gate_up": (28672, 4096), "down": (4096, 14336)}
"""n and k of the weights of a layer of Llama 3 8B."""
ROWS = (1, 16, 128, 512, 4096)
BAR_ROWS = (1, 16, 128, 4096)
MINILM = ((384, 384), (1536, 384), (384, 1536))
"""n and k of the weights of a layer of all-MiniLM-L6-v2."""
MINILM_ROWS = (26, 128, 4096)
SQUARES = (4096, 8192)
SQUARE_BAR, LLAMA_BAR = 0.95, 0.9
EVERY = ((1, 72, 64), (130, 520, 1032), (300, 200, 4104), (40_000, 136, 8))
"""Sizes that every kernel is checked with, taken or not. Of the last one, persistent blocks have
several tiles, which end in the middle of a tile's columns, and next to nothing to do for each."""
ODD = tuple(itertools.product((1, 7, 63, 65, 4095), (1, 7, 63, 65, 4095), (8, 13, 64, 4104)))
CACHE_BYTES = 250_000_000
"""Inputs rotate over so many bytes, several times an H200's L2 cache."""
TOLERANCES = {"bf16": 5e-3, "f16": 1e-3, "tf32": 1e-3, "f32": 2e-5}
"""By the part of a choice's name, the first that is there."""
BANDWIDTH, OPERATIONS = 4.3e12, 790e12
"""Of an H200, measured through PyTorch: bytes of a copy and operations of a product a second."""


@dataclass(frozen=True)
class Row:
    """One figure."""

    kernel: str
    m: int
    n: int
    k: int
    us: float
    torch_us: float
    floor_us: float
    """The longer of the times that its bytes and its operations take at the least."""

    @property
    def of_torch(self) -> float:
        """PyTorch's time over ours."""
        return self.torch_us / self.us


def build(directory: Path) -> None:
    """Compile every kernel of the choices, as cubins."""
    gpu_objects.write(
        directory,
        [
            cd.build(list(choice.kernels), [target], image="ptx" if target == PORTABLE else "cubin")
            for choice, target in itertools.product(
                (*CHOICES, *CHOICES_F32, *CHOICES_TF32), TARGETS.values()
            )
        ],
    )


class Launcher:
    """The built kernels, launched through the driver on PyTorch's stream."""

    def __init__(self, directory: Path, target: str = "") -> None:
        from custom_dispatch.kernel.target import Target

        self._objects = gpu_objects.Objects(directory)
        self.target = Target.parse(target or self._objects.best(TARGETS))

    def launch(
        self,
        choice: cd.Choice,
        tensors: dict[str, torch.Tensor | None],
        only: cd.Kernel | None = None,
    ) -> tuple[str, Callable[[], None]]:
        """The kernel that a choice takes by its table, or the only one, and a launch of it."""
        import torch

        a, c = tensors["a"], tensors["c"]
        assert a is not None
        assert c is not None
        dims = {"batch": a.shape[0], "n": c.shape[1], "k": a.shape[1]}
        kernel = only or gpu_objects.kernel_for(choice, dims, self.target)
        launch = self._objects.launch(kernel, str(self.target), tensors, into=[c])
        return kernel.name, lambda: launch.native.enqueue(torch.cuda.current_stream().cuda_stream)


def product(
    choice: cd.Choice, m: int, n: int, k: int, *, misaligned: int = 0, added: bool = False
) -> dict[str, torch.Tensor | None]:
    """Fresh random operands, a poisoned result."""
    import torch

    types = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    of_b = (n, k) if choice.name.startswith("linear") else (k, n)
    shapes = {"a": (m, k), "b": of_b, "bias": (n,), "residual": (m, n), "c": (m, n)}
    result: dict[str, torch.Tensor | None] = {}
    first = choice.kernels[0]
    for item in first.abi.bindings:
        shape = shapes[item.name]
        kind = types[str(item.dtype)]
        memory = torch.randn(prod(shape) + misaligned, device="cuda").to(kind)
        if item.name == "c":
            memory.fill_(torch.nan)
        wanted = added or item.name in ("a", "b", "c")
        result[item.name] = memory[misaligned:].view(shape) if wanted else None
    return result


def expected(
    choice: cd.Choice, tensors: dict[str, torch.Tensor | None], power: int = 1
) -> torch.Tensor:
    """The product in double precision, of a power of all numbers."""
    a, b, bias, residual, _ = (None if x is None else x.double() ** power for x in tensors.values())
    assert a is not None
    assert b is not None
    result = a @ (b.t() if choice.name.startswith("linear") else b)
    for more in (bias, residual):
        result = result if more is None else result + more
    return result


def problem(choice: cd.Choice, tensors: dict[str, torch.Tensor | None]) -> str:
    """What is wrong with a result; empty if nothing."""
    got, want = tensors["c"], expected(choice, tensors)
    assert got is not None
    got = got.double()
    finite = want.isfinite()
    if not (got.isfinite() == finite).all() or not (got.isnan() == want.isnan()).all():
        return "NaN or infinity where it should not be, or not where it should"
    # Beside the result and what is added up: a single sum may be next to nothing, or much more.
    off = (got - want)[finite].norm()
    size = (want**2 + expected(choice, tensors, 2))[finite].sum().sqrt()
    parts = choice.name.split("_")
    tolerance = next(off for kind, off in TOLERANCES.items() if kind in parts)
    return "" if off <= tolerance * size else f"{float(off / size):.2g} off"


def check(directory: Path, target: str) -> int:
    """Run the odd sizes."""
    import torch

    from custom_dispatch.kernel.expected import takes

    launcher, tally = Launcher(directory, target), gpu_command.Tally()
    choices = (*CHOICES, *CHOICES_F32, *CHOICES_TF32)
    cases: list[tuple[cd.Choice, cd.Kernel | None, tuple[int, int, int], int]] = [
        (choice, None, sizes, misaligned)
        for choice, sizes, misaligned in itertools.product(choices, ODD, (0, 1))
    ]
    cases += [
        (choice, kernel, sizes, misaligned)
        for choice in choices
        for kernel in choice.kernels
        for sizes, misaligned in itertools.product(EVERY, (0, 1))
        if takes(kernel, dict(zip(("batch", "n", "k"), sizes, strict=True)))
    ]
    for choice, kernel, (m, n, k), misaligned in cases:
        tensors = product(choice, m, n, k, misaligned=misaligned, added=(m + n) % 4 == 0)
        a, b = tensors["a"], tensors["b"]
        assert a is not None
        assert b is not None
        if m > 1:
            a[m // 2, k - 1] = torch.nan if m % 3 else torch.inf
        name, run = launcher.launch(choice, tensors, kernel)
        run()
        torch.cuda.synchronize()
        what = f"{name} {m} x {n} x {k}, {misaligned} elements off"
        tally.add(what, problem(choice, tensors))
    return tally.finish()


def measure(launcher: Launcher, choice: cd.Choice, m: int, n: int, k: int) -> Row:
    """Check one product and time it beside PyTorch's."""
    import torch

    sets = min(8, 1 + CACHE_BYTES // (2 * (n * k + m * k)) + 1)
    operands = [product(choice, m, n, k) for _ in range(sets)]
    launches = [launcher.launch(choice, tensors) for tensors in operands]
    launches[0][1]()
    torch.cuda.synchronize()
    if m * n * k < 1 << 38 and (found := problem(choice, operands[0])):
        sys.exit(f"{launches[0][0]} {m} x {n} x {k}: {found}")

    def beside(tensors: dict[str, torch.Tensor | None]) -> Callable[[], Any]:
        a, b, c = tensors["a"], tensors["b"], tensors["c"]
        assert a is not None
        assert b is not None
        assert c is not None
        right = b.t() if choice.name.startswith("linear") else b
        out = c.to(a.dtype)
        return lambda: torch.matmul(a, right, out=out)

    repeats = max(1, 24 // sets) if m * n * k < 1 << 34 else 1
    runs: dict[str, list[Callable[[], Any]]] = {
        "ours": [run for _, run in launches] * repeats,
        "torch": [beside(tensors) for tensors in operands] * repeats,
    }
    us = in_turn(runs, 15)
    moved = sum(x.nbytes for x in operands[0].values() if x is not None)
    # Of f32 there are three products of TF32, each at half the rate.
    operations = 2 * m * n * k * (6 if choice in CHOICES_F32 else 1)
    floor = max(moved / BANDWIDTH, operations / OPERATIONS) * 1e6
    return Row(launches[0][0], m, n, k, us["ours"], us["torch"], floor)


def line(row: Row) -> str:
    """One line of the table."""
    rate = 2 * row.m * row.n * row.k / row.us / 1e6
    return (
        f"{row.kernel:22} {row.m:5} x {row.n:5} x {row.k:5} {row.us:9.1f} us {rate:7.1f} TFLOP/s "
        f"{row.of_torch:6.3f} of PyTorch's speed, {row.floor_us / row.us:5.2f} of the floor's"
    )


def run(directory: Path, target: str, save: Path | None) -> int:
    """Time everything; 1 if a bar is not met."""
    launcher = Launcher(directory, target)
    rows, verdicts = [], []
    for size, choice in itertools.product(SQUARES, CHOICES):
        rows.append(measure(launcher, choice, size, size, size))
        print(line(rows[-1]), flush=True)
        if choice in (gemm.linear_bf16, gemm.matmul_bf16):
            verdicts.append((f"{choice.name} {size}^3", rows[-1].of_torch, SQUARE_BAR))
    for m in ROWS:
        for n, k in LLAMA.values():
            rows.append(measure(launcher, gemm.linear_bf16, m, n, k))
            print(line(rows[-1]), flush=True)
        if m not in BAR_ROWS:
            continue
        mean = statistics.geometric_mean(row.of_torch for row in rows[-len(LLAMA) :])
        verdicts.append((f"weights of Llama 3 8B, {m} rows", mean, LLAMA_BAR))
    for choice, (m, n, k) in itertools.product(
        CHOICES_F32, [(4096, 4096, 4096), *((m, n, k) for m in MINILM_ROWS for n, k in MINILM)]
    ):
        rows.append(measure(launcher, choice, m, n, k))
        print(line(rows[-1]), flush=True)
    for what, ratio, bar in verdicts:
        verdict = "ok" if ratio >= bar else "NOT MET"
        print(f"{what:36} {ratio:6.3f} of PyTorch's speed (bar {bar}) {verdict}")
    if save:
        gpu_command.save(
            save,
            "gpu.gemm run" + (f" --target {target}" if target else ""),
            target=str(launcher.target),
            rows=[asdict(row) | {"of_torch": row.of_torch} for row in rows],
            bars=[{"what": w, "of_torch": ratio, "bar": bar} for w, ratio, bar in verdicts],
        )
    return int(any(ratio < bar for _, ratio, bar in verdicts))


def main() -> int:
    """Build, check or run."""
    parser = gpu_command.parser(__doc__)
    parser.add_argument("--target", choices=tuple(TARGETS.values()), default="")
    options = parser.parse_args()
    if options.what == "build":
        build(options.directory)
        return 0
    if options.what == "check":
        return check(options.directory, options.target)
    return run(options.directory, options.target, options.save)
