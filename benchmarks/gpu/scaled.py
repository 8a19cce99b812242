"""Products of 8-bit floats with scales on a GPU: correct first, then beside `torch._scaled_mm`.

    python -m benchmarks gpu.scaled build DIRECTORY
    python -m benchmarks gpu.scaled check DIRECTORY
    python -m benchmarks gpu.scaled run DIRECTORY [--seed N] [--count N] [--save FILE]

`check` runs every kernel with odd sizes at aligned and misaligned addresses, with NaN among the
inputs, one scale and one for each row. `run` draws sizes as `gpu.sizes` does, compares all of each
result with double precision, and times every kernel; then the one that the choice takes in turn
with the fastest, with `torch._scaled_mm` with and without its fast accumulation, and with the
product of bf16. Launches are in CUDA graphs, over operands that are together larger than the L2
cache; medians. The bar, of the issue: level with `torch._scaled_mm` without fast accumulation.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import custom_dispatch as cd
from benchmarks.cases.product_sizes import Size, drawn
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import in_turn
from cuda_kernels import gemm

if TYPE_CHECKING:
    import torch

TARGETS = {90: "cuda:sm_90a", 80: "cuda:sm_80"}
CHOICE = gemm.scaled_linear_e4m3_bf16
CHECKED = (CHOICE, gemm.scaled_linear_e5m2_f32)
ODD = tuple(itertools.product((1, 7, 65, 130), (1, 63, 264), (1, 16, 77, 1040)))
CACHE_BYTES, MOST_SETS = 300_000_000, 64
TOLERANCES = {"bf16": 5e-3, "f32": 3e-4}
"""Of f32, what is left where tensor cores add up 128 products with 14 bits."""
BAR = 1.0


def build(directory: Path) -> None:
    """Compile every kernel, each by itself."""
    kernels = [kernel for choice in CHECKED for kernel in choice.kernels]
    pairs = list(itertools.product(kernels, TARGETS.values()))

    def built(pair: tuple[cd.Kernel, str]) -> cd.Library:
        image = "ptx" if pair[1] == TARGETS[80] else "cubin"
        return cd.build(pair[0], [pair[1]], image=image, jobs=1)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        gpu_objects.write(directory, pool.map(built, pairs))


def operands(
    choice: cd.Choice, m: int, n: int, k: int, *, of_rows: bool, misaligned: int = 0
) -> dict[str, torch.Tensor]:
    """Fresh random operands and a poisoned result."""
    import torch

    kinds = {"f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2}
    kinds |= {"f32": torch.float32, "bf16": torch.bfloat16}
    shapes = {"x": (m, k), "weight": (n, k), "y": (m, n), "bias": (n,)}
    shapes |= {"x_scales": (m if of_rows else 1,), "scales": (n if of_rows else 1,)}
    found = {}
    for item in choice.kernels[0].abi.bindings:
        shape = torch.Size(shapes[item.name])
        values = torch.randn(shape.numel() + misaligned, device="cuda")
        values = values.abs() + 0.25 if "scales" in item.name else values
        flat = values.to(kinds[str(item.dtype)])
        if item.name == "y":
            flat.fill_(torch.nan)
        found[item.name] = flat[misaligned:].view(shape)
    return found


def expected(given: dict[str, torch.Tensor]) -> torch.Tensor:
    """The product in double precision."""
    result = given["x"].double() @ given["weight"].double().t()
    result *= given["x_scales"].double()[:, None]
    result *= given["scales"].double()
    return result + given["bias"].double() if "bias" in given else result


def off(got: torch.Tensor, want: torch.Tensor, given: dict[str, torch.Tensor]) -> float:
    """The norm of the error as a part of the result's and of what is added up.

    Infinite where NaN is out of place. A single sum may be next to nothing, or much more.
    """
    finite = want.isfinite()
    if not (got.isfinite() == finite).all():
        return float("inf")
    squares = {name: tensor.double() ** 2 for name, tensor in given.items()}
    size = (want**2 + expected(squares))[finite].sum().sqrt()
    return float((got.double() - want)[finite].norm() / size)


class Launcher:
    """The built kernels."""

    def __init__(self, directory: Path, target: str) -> None:
        self._objects = gpu_objects.Objects(directory)
        self.target = target or self._objects.best(TARGETS)

    def launch(self, kernel: cd.Kernel, given: dict[str, torch.Tensor]) -> Callable[[], None]:
        """A launch on PyTorch's stream."""
        import torch

        native = self._objects.launch(kernel, self.target, given, into=[given["y"]]).native
        return lambda: native.enqueue(torch.cuda.current_stream().cuda_stream)


def fitting(choice: cd.Choice, m: int, n: int, k: int) -> list[cd.Kernel]:
    """The kernels that take some sizes."""
    from custom_dispatch.kernel.evaluation import holds

    dims = {"batch": m, "n": n, "k": k, "x_parts": 1, "parts": 1}
    return [each for each in choice.kernels if all(holds(c, dims) for c in each.requires)]


def check(directory: Path, target: str) -> int:
    """Run the odd sizes."""
    import torch

    launcher, tally = Launcher(directory, target), gpu_command.Tally()
    for choice, (m, n, k), misaligned in itertools.product(CHECKED, ODD, (0, 1)):
        for number, kernel in enumerate(fitting(choice, m, n, k)):
            given = operands(choice, m, n, k, of_rows=(m + number) % 2 == 0, misaligned=misaligned)
            given["x"].view(torch.uint8)[m // 2, k - 1] = 0x7F if m > 1 else 0  # NaN
            if number % 2:
                del given["bias"]
            launcher.launch(kernel, given)()
            part = off(given["y"], expected(given), given)
            what = f"{kernel.name} {m} x {n} x {k}, {misaligned} off"
            limit = TOLERANCES[choice.name.rpartition("_")[2]]
            tally.add(what, "" if part <= limit else f"{part:.2g} off")
    return tally.finish()


def measure(launcher: Launcher, size: Size) -> dict[str, Any]:
    """Check one size by every kernel, and time it beside PyTorch's."""
    import torch

    m, n, k = size.m, size.n, size.k
    sets = max(2, min(MOST_SETS, -(-CACHE_BYTES // (m * k + n * k + 2 * m * n))))
    given = [operands(CHOICE, m, n, k, of_rows=True) for _ in range(sets)]
    for each in given:
        del each["bias"]
    want = expected(given[0])
    dims = {"batch": m, "n": n, "k": k, "x_parts": m, "parts": n}
    taken = gpu_objects.kernel_for(CHOICE, dims, cd.Target.parse(launcher.target)).name
    repeats = max(1, 12 // sets) if m * n * k < 1 << 36 else 1
    runs: dict[str, list[Callable[[], Any]]] = {}
    errors = {}
    for kernel in fitting(CHOICE, m, n, k):
        launches = [launcher.launch(kernel, each) for each in given]
        launches[0]()
        errors[kernel.name] = off(given[0]["y"], want, given[0])
        if errors[kernel.name] <= TOLERANCES["bf16"]:
            runs[kernel.name] = launches * repeats
    every = {name: in_turn({"": launches}, 5)[""] for name, launches in runs.items()}
    best = min(every, key=lambda name: every[name])

    def beside(each: dict[str, torch.Tensor], *, fast: bool) -> Callable[[], Any]:
        def run() -> torch.Tensor:
            return torch._scaled_mm(
                each["x"],
                each["weight"].t(),
                each["x_scales"][:, None],
                each["scales"][None],
                out_dtype=torch.bfloat16,
                use_fast_accum=fast,
            )

        return run

    def wide(each: dict[str, torch.Tensor]) -> Callable[[], Any]:
        x, weight = each["x"].bfloat16(), each["weight"].bfloat16()
        return lambda: torch.matmul(x, weight.t(), out=each["y"])

    final = {"ours": runs[taken], "bf16": [wide(each) for each in given] * repeats}
    if best != taken:
        final["best"] = runs[best]
    for name, fast in (("torch", False), ("torch_fast", True)):
        launches = [beside(each, fast=fast) for each in given]
        errors[name] = off(launches[0](), want, given[0])
        final[name] = launches * repeats
    us = in_turn(final, 11)
    us.setdefault("best", us["ours"])
    found = {"m": m, "n": n, "k": k, "of": size.of, "kernel": taken, "best": best, "us": us}
    found |= {"every_us": every, "errors": errors}
    ratios = " ".join(f"{us[name] / us['ours']:5.2f} of {name}" for name in us if name != "ours")
    print(
        f"{m} x {n} x {k} ({size.of}) {taken} {us['ours']:.1f} us, {ratios} ({best}); off: "
        f"{errors[taken]:.1e}, {errors['torch']:.1e}, {errors['torch_fast']:.1e}",
        flush=True,
    )
    return found


def run(options: argparse.Namespace) -> int:
    """Time the sizes; 1 if the bar is not met."""
    launcher = Launcher(options.directory, options.target)
    sizes = [each for each in drawn(options.seed, options.count) if each.n % 16 == each.k % 16 == 0]
    rows = [measure(launcher, size) for size in sizes]
    means = {
        name: statistics.geometric_mean(row["us"][name] / row["us"]["ours"] for row in rows)
        for name in ("torch", "torch_fast", "bf16", "best")
    }
    worst = min(row["us"]["torch"] / row["us"]["ours"] for row in rows)
    print(f"{len(rows)} sizes; geometric means of the speed of", means, f"; the worst {worst:.2f}")
    if options.save:
        command = f"gpu.scaled run --seed {options.seed} --count {options.count}"
        gpu_command.save(options.save, command, target=launcher.target, means=means, rows=rows)
    return int(means["torch"] < BAR)


def main() -> int:
    """Build, check or run."""
    parser = gpu_command.parser(__doc__)
    parser.add_argument("--target", choices=tuple(TARGETS.values()), default="")
    parser.add_argument("--seed", type=int, default=0, help="another one gives other sizes")
    parser.add_argument("--count", type=int, default=30)
    options = parser.parse_args()
    if options.what == "build":
        build(options.directory)
        return 0
    if options.what == "check":
        return check(options.directory, options.target)
    return run(options)
