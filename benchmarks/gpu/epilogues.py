"""Products that a user's function follows, beside the built-in GELU and launches of their own.

Two halves, as the GPU suite has: `build DIRECTORY` on any machine, then where there are a GPU,
iree-base-runtime and PyTorch

    python -m benchmarks gpu.epilogues check DIRECTORY
    python -m benchmarks gpu.epilogues run DIRECTORY [--save FILE]

`check` runs every kernel of every choice at sizes that it takes, with an epilogue that takes a
tensor, a vector and a number, and compares with PyTorch in double precision.

`run` times, in turn, replays of graphs in which launches stand one behind the other over several
sets of inputs that are together larger than the L2 cache:

- `function`: the product with the tanh form of GELU as a function, in the built-in one's words;
- `written`: with the same as it is mostly written, with `tanhf`;
- `built_in`: the product with the GELU that it has;
- `apart`: the product alone, and then the shipped kernel of GELU, two launches.

Bar, of the issue: `function` takes at most 1.02 times as long as `built_in`.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import custom_dispatch as cd
from benchmarks.cases.called_functions import layer_scaled, of_numbers
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import in_turn
from cuda_kernels import elementwise, gemm
from custom_dispatch.kernel.expected import takes
from custom_dispatch.kernel.target import Target

if TYPE_CHECKING:
    import torch

TARGET = "cuda:sm_90a"
MODELS = {"phi-2": (10240, 2560), "gpt2-xl": (6400, 1600)}
"""n and k of the products that GELU follows."""
ROWS = (1, 128, 4096)
BAR = 1.02
SIZES = ((1, 72, 64), (7, 63, 13), (130, 520, 1032), (65, 4095, 104), (2100, 136, 8))
"""That kernels are checked with: m, n and k."""
CACHE_BYTES = 250_000_000
TOLERANCES = {"bf16": 5e-3, "f16": 1e-3, "tf32": 1e-3, "f32": 2e-5}
FACTOR = 0.25


QUICK, WRITTEN = (of_numbers(f"{each}_gelu_tanh", "x") for each in ("quick", "written"))
CHECKED = tuple(
    layer_scaled(layout, dtype, out)
    for layout, dtype, out in (
        ("linear", "bf16", None),
        ("matmul", "bf16", None),
        ("linear", "f16", "f32"),
        ("linear", "tf32", None),
        ("matmul", "tf32", None),
        ("linear", "f32", None),
    )
)
TIMED = {
    "function": gemm.with_epilogue(QUICK),
    "written": gemm.with_epilogue(WRITTEN),
    "built_in": gemm.linear_gelu_tanh_bf16,
    "plain": gemm.linear_bf16,
}
GELU = elementwise.gelu_tanh_bf16


def taken(choice: cd.Choice, m: int, n: int, k: int, target: Target) -> cd.Kernel:
    """The kernel that a choice takes by its table."""
    return gpu_objects.kernel_for(choice, {"batch": m, "n": n, "k": k}, target)


def build(directory: Path) -> None:
    """Compile every kernel that is checked, and those that are timed; say which of them spill."""
    target = Target.parse(TARGET)
    sizes = list(itertools.product(ROWS, MODELS.values()))
    timed = {
        kernel.name: kernel
        for choice in TIMED.values()
        for m, (n, k) in sizes
        for kernel in [taken(choice, m, n, k, target)]
    }
    checked = [kernel for choice in CHECKED for kernel in choice.kernels]
    library = cd.build([*checked, *timed.values(), GELU], [TARGET], image="cubin")
    spilled = [item.kernel for item in library.report() if item.resources.spills]
    print(f"{len(checked)} and {len(timed)} kernels, that spill: {', '.join(spilled) or 'none'}")
    gpu_objects.write(directory, [library])


class Launcher:
    """The built kernels, launched on PyTorch's stream."""

    def __init__(self, directory: Path) -> None:
        self._objects = gpu_objects.Objects(directory)
        self.target = Target.parse(TARGET)

    def launch(self, kernel: cd.Kernel, given: Mapping[str, Any], out: str) -> Callable[[], None]:
        """A launch that writes the tensor of that name."""
        import torch

        launch = self._objects.launch(kernel, str(self.target), given, into=[given[out]])
        return lambda: launch.native.enqueue(torch.cuda.current_stream().cuda_stream)


def operands(choice: cd.Choice, m: int, n: int, k: int, misaligned: int = 0) -> dict[str, Any]:
    """Fresh random operands by name, a poisoned result, and the number."""
    import torch

    types = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    of_b = (n, k) if choice.name.startswith("linear") else (k, n)
    shapes = {"a": (m, k), "b": of_b, "bias": (n,), "before": (m, n), "gamma": (n,), "c": (m, n)}
    found: dict[str, Any] = {"factor": FACTOR}
    for item in choice.kernels[0].abi.bindings:
        if item.name == "residual":
            continue
        size = torch.Size(shapes[item.name]).numel()
        memory = torch.randn(size + misaligned, device="cuda").to(types[str(item.dtype)])
        if item.name == "c":
            memory.fill_(torch.nan)
        found[item.name] = memory[misaligned:].view(shapes[item.name])
    return found


def sums(choice: cd.Choice, given: Mapping[str, torch.Tensor]) -> tuple[Any, Any]:
    """The sums in double precision, and the norm of what is added up."""
    a, b, bias = (given[name].double() for name in ("a", "b", "bias"))
    b = b.t() if choice.name.startswith("linear") else b
    return a @ b + bias, (a**2) @ (b**2) + bias**2


def problem(choice: cd.Choice, given: Mapping[str, Any], want: Any, size: Any) -> str:
    """What is wrong with a result; empty if nothing."""
    got = given["c"].double()
    finite = want.isfinite()
    if not (got.isfinite() == finite).all() or not (got.isnan() == want.isnan()).all():
        return "NaN or infinity where it should not be, or not where it should"
    off = (got - want)[finite].norm() / (size + want**2)[finite].sum().sqrt()
    kinds = choice.name.split("_")
    tolerance = next(off for kind, off in TOLERANCES.items() if kind in kinds)
    return "" if off <= tolerance else f"{float(off):.2g} off"


def check(directory: Path) -> int:
    """Run every kernel with the function that takes most."""
    import torch

    launcher, tally = Launcher(directory), gpu_command.Tally()
    for choice in CHECKED:
        for (m, n, k), misaligned in itertools.product(SIZES, (0, 1)):
            given = operands(choice, m, n, k, misaligned)
            if m > 1:  # of one row nothing would be left to compare
                given["a"][m // 2, k - 1] = torch.nan if m % 3 else torch.inf
            x, size = sums(choice, given)
            before, gamma = given["before"].double(), given["gamma"].double()
            want = before + gamma * torch.where(x > 0, x, FACTOR * x)
            size = before**2 + gamma**2 * size
            for kernel in choice.kernels:
                if not takes(kernel, {"batch": m, "n": n, "k": k}):
                    continue
                given["c"].fill_(torch.nan)
                launcher.launch(kernel, given, "c")()
                torch.cuda.synchronize()
                what = f"{kernel.name} {m} x {n} x {k}, {misaligned} elements off"
                tally.add(what, problem(choice, given, want, size))
    return tally.finish()


def measure(launcher: Launcher, m: int, n: int, k: int) -> dict[str, Any]:
    """Check the products of one size, and time them."""
    import torch

    sets = min(8, 2 + CACHE_BYTES // (2 * (n * k + m * k + 2 * m * n)))
    given = [operands(gemm.linear_bf16, m, n, k) for _ in range(sets)]
    for each in given:
        each["x"], each["y"] = each["c"], torch.full_like(each["c"], torch.nan)
    runs: dict[str, list[Callable[[], Any]]] = {}
    names = {}
    for name, choice in TIMED.items():
        kernel = taken(choice, m, n, k, launcher.target)
        names[name] = kernel.name
        runs[name] = [launcher.launch(kernel, each, "c") for each in given]
        runs[name][0]()
        torch.cuda.synchronize()
        want, size = sums(choice, given[0])
        if name != "plain":
            want = torch.nn.functional.gelu(want, approximate="tanh")
        if found := problem(choice, given[0], want, size):
            sys.exit(f"{kernel.name} {m} x {n} x {k}: {found}")
    after = [launcher.launch(GELU, each, "y") for each in given]
    runs["apart"] = [run for pair in zip(runs["plain"], after, strict=True) for run in pair]
    repeats = max(1, 24 // sets) if m * n * k < 1 << 34 else 1
    us = in_turn({name: launches * repeats for name, launches in runs.items()}, 21)
    us["apart"] *= 2  # it has twice as many launches
    return {"m": m, "n": n, "k": k, "kernels": names, "us": us}


def run(directory: Path, save: Path | None) -> int:
    """Time everything; 1 if the bar is not met."""
    launcher = Launcher(directory)
    rows, is_met = [], True
    for (model, (n, k)), m in itertools.product(MODELS.items(), ROWS):
        row = {"model": model, **measure(launcher, m, n, k)}
        us = row["us"]
        ratios = {name: us["function"] / us[name] for name in ("built_in", "apart")}
        is_met = is_met and ratios["built_in"] <= BAR
        rows.append(row | {"of": ratios})
        times = ", ".join(f"{name} {time:.2f}" for name, time in us.items())
        print(
            f"{model:8} {m:5} x {n} x {k}: {times} us; function / built_in "
            f"{ratios['built_in']:.3f}, / apart {ratios['apart']:.3f}",
            flush=True,
        )
    print(f"bar {BAR}: {'ok' if is_met else 'NOT MET'}")
    if save:
        gpu_command.save(save, "gpu.epilogues run", target=str(launcher.target), rows=rows)
    return int(not is_met)


def main() -> int:
    """Build, check or run."""
    return gpu_command.of_three(__doc__, build, check, run)
