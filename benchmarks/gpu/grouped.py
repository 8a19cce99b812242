"""Products of groups of rows on a GPU: correct first, then beside PyTorch's, and a loop of cuBLAS.

Two halves, as of `gpu.gemm`:

    python -m benchmarks gpu.grouped build DIRECTORY
    python -m benchmarks gpu.grouped check DIRECTORY
    python -m benchmarks gpu.grouped run DIRECTORY [--save FILE]

`check` runs every kernel at odd sizes, at aligned and misaligned addresses, with empty groups, all
rows in one, rows behind the last, and NaN and infinity among the inputs. `run` has shapes of
mixtures of experts whose rows a random router sends to experts, some of them to none. A launch is
timed on the GPU's clock, over several sets of weights that are larger than the L2 cache: medians.
The loop of cuBLAS knows on the host where groups end, which a model does not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import custom_dispatch as cd
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import in_graph, median_us, with_events
from cuda_kernels import moe
from custom_dispatch.kernel.target import Target

if TYPE_CHECKING:
    import torch

PORTABLE = "cuda:sm_80"
TARGETS = {80: PORTABLE, 90: "cuda:sm_90a"}
LAYOUTS = ("grouped_linear", "grouped_matmul")
KINDS = ("bf16", "f16", "f32")
ODD = (
    (1, 4, 8, 8, (0, 0, 1, 1)),
    (7, 3, 16, 24, (2, 2, 7)),
    (40, 3, 33, 17, (0, 40, 40)),
    (300, 5, 200, 1032, (1, 1, 250, 250, 296)),
    (1000, 40, 136, 72, None),
    (65, 1, 520, 64, (65,)),
    (0, 2, 8, 8, (0, 0)),
)
"""Rows, groups, n, k, and where groups end; None for ends at random."""
MODELS = {
    "Mixtral 8x7B": (8, 2, ((28672, 4096), (4096, 14336))),
    "Qwen3 30B-A3B": (128, 8, ((1536, 2048), (2048, 768))),
    "DeepSeek V3": (256, 8, ((4096, 7168), (7168, 2048))),
    "GPT-OSS 20B": (32, 4, ((5760, 2880), (2880, 2880))),
}
"""Experts, how many of them a token gets, and n and k of their weights."""
TOKENS = (1, 8, 64, 512, 4096)
CACHE_BYTES = 250_000_000
TOLERANCES = {"bf16": 5e-3, "f16": 1e-3, "f32": 2e-5}


@dataclass(frozen=True)
class Row:
    """One figure."""

    model: str
    kernel: str
    tokens: int
    n: int
    k: int
    by: str
    us: float
    tflops: float
    gigabytes_a_second: float


def choices() -> Iterator[cd.Choice]:
    """What is built."""
    for layout, kind in itertools.product(LAYOUTS, KINDS):
        yield getattr(moe, f"{layout}_{kind}")


def operands(layout: str, kind: str, size: Any, shift: int = 0) -> dict[str, Any]:
    """Random ones; `shift` elements behind an aligned address."""
    import torch

    rows, groups, n, k, ends = size
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[kind]

    def tensor(*shape: int) -> torch.Tensor:
        count = shift + torch.Size(shape).numel()
        memory = torch.randn(count, dtype=dtype, device="cuda")
        return memory[shift:].view(shape)

    if ends is None:
        ends = sorted(torch.randint(0, rows + 1, (groups,)).tolist())
    of_b = (groups, n, k) if layout == LAYOUTS[0] else (groups, k, n)
    offsets = torch.tensor(ends, dtype=torch.int32, device="cuda")
    return {"a": tensor(rows, k), "b": tensor(*of_b), "offsets": offsets, "residual": None}


def expected(layout: str, given: dict[str, Any], power: int = 1) -> torch.Tensor:
    """In double precision, of a power of all numbers."""
    import torch

    a, b = given["a"].double() ** power, given["b"]
    b = b.transpose(1, 2) if layout == LAYOUTS[0] else b
    found = torch.zeros(a.shape[0], b.shape[2], dtype=torch.float64, device="cuda")
    start = 0
    for group, end in enumerate(given["offsets"].tolist()):
        if end > start:
            found[start:end] = a[start:end] @ b[group].double() ** power
        start = end
    return found if given["residual"] is None else found + given["residual"].double() ** power


def problem(layout: str, kind: str, given: dict[str, Any], got: torch.Tensor) -> str:
    """What is wrong with a result; empty if nothing."""
    want, got = expected(layout, given), got.double()
    finite = want.isfinite()
    if not (got.isfinite() == finite).all() or not (got.isnan() == want.isnan()).all():
        return "NaN or infinity where it should not be, or not where it should"
    off = (got - want)[finite].norm()
    size = (want**2 + expected(layout, given, 2))[finite].sum().sqrt()
    return "" if off <= TOLERANCES[kind] * size else f"{float(off / size):.2g} off"


def check(directory: Path) -> int:
    """Run every kernel at odd sizes."""
    import torch

    objects, tally = gpu_objects.Objects(directory), gpu_command.Tally()
    targets = [name for number, name in TARGETS.items() if number <= objects.capability]
    for choice, target, size, shift in itertools.product(choices(), targets, ODD, (0, 1)):
        layout, _, kind = choice.name.rpartition("_")
        if size[0] == 0:
            continue  # what is never launched
        given = operands(layout, kind, size, shift)
        if size[0] > 5:
            given["a"][3, 0], given["a"][5, -1] = torch.inf, torch.nan
            given["residual"] = torch.randn_like(expected(layout, given)).to(given["a"].dtype)
        for kernel in choice.kernels:
            launch = objects.launch(kernel, target, given, shift)
            launch.native.run()
            what = f"{kernel.name} for {target} {size[:4]} shifted by {shift}"
            wrong = problem(layout, kind, given, launch.results[0])
            if not wrong and not launch.guards[0].isnan().all():
                wrong = "writes behind the result"
            tally.add(what, wrong)
    return tally.finish()


def _in_turn(calls: list[Callable[[], Any]]) -> Callable[[], float]:
    """Several calls behind each other, on the GPU's clock: seconds of one."""
    replay = in_graph(lambda: [call() for call in calls])
    once = with_events(replay)
    return lambda: once() / len(calls)


def _enqueue(launch: gpu_objects.Launch) -> None:
    import torch

    launch.native.enqueue(torch.cuda.current_stream().cuda_stream)


def _grouped(given: dict[str, Any]) -> None:
    import torch

    torch._grouped_mm(given["a"], given["b"].transpose(1, 2), offs=given["offsets"])


def _loop(given: dict[str, Any], ends: list[int]) -> None:
    start = 0
    for group, end in enumerate(ends):
        if end > start:
            given["a"][start:end].mm(given["b"][group].t())
        start = end


def run(directory: Path) -> list[Row]:
    """Time the shapes of models, in bf16."""
    import torch

    objects = gpu_objects.Objects(directory)
    target = objects.best(TARGETS)
    choice, rows = moe.grouped_linear_bf16, []
    for (model, (groups, top, weights)), tokens in itertools.product(MODELS.items(), TOKENS):
        picked = torch.rand(tokens, groups).topk(top)[1].flatten().bincount(minlength=groups)
        ends = picked.cumsum(0).tolist()
        for n, k in weights:
            count = tokens * top
            read = int((picked > 0).sum()) * n * k * 2
            # A set for each pass, or few where weights alone are larger than the cache.
            sets = max(1, min(8, CACHE_BYTES // max(read, 1)))
            if groups * n * k * 2 * sets > 40e9:
                sets = 1
            several = [
                operands(LAYOUTS[0], "bf16", (count, groups, n, k, ends)) for _ in range(sets)
            ]
            dims = {"rows": count, "groups": groups, "n": n, "k": k}
            kernel = gpu_objects.kernel_for(choice, dims, Target.parse(target))
            launches = [objects.launch(kernel, target, each) for each in several]
            launches[0].native.run()
            wrong = problem(LAYOUTS[0], "bf16", several[0], launches[0].results[0])
            if wrong:
                raise SystemExit(f"{kernel.name} {model} {tokens} {n}x{k}: {wrong}")

            calls: dict[str, list[Callable[[], Any]]] = {
                "ours": [partial(_enqueue, launch) for launch in launches],
                "torch._grouped_mm": [partial(_grouped, each) for each in several],
                "loop of cuBLAS": [partial(_loop, each, ends) for each in several],
            }
            told = []
            for by, each in calls.items():
                try:
                    us = median_us(_in_turn(each))
                except RuntimeError as error:
                    print(f"{by}: {str(error).splitlines()[0]}", flush=True)
                    continue
                flops, moved = 2 * count * n * k, read + 2 * count * (n + k)
                rows.append(
                    Row(
                        model, kernel.name, tokens, n, k, by, us, flops / us / 1e6, moved / us / 1e3
                    )
                )
                told.append(f"{by} {us:.0f} us ({flops / us / 1e6:.0f} TFLOP/s)")
            print(f"{model}, {tokens} tokens, {n} x {k}: {', '.join(told)}", flush=True)
            del several, launches, calls
            torch.cuda.empty_cache()
    return rows


def main() -> int:
    """Build, check or run."""
    options = gpu_command.parser(__doc__).parse_args()
    if options.what == "build":
        built = [
            cd.build(list(choice.kernels), [target], image="ptx" if target == PORTABLE else "cubin")
            for choice, target in itertools.product(choices(), TARGETS.values())
        ]
        gpu_objects.write(options.directory, built)
        return 0
    if options.what == "check":
        return check(options.directory)
    rows = run(options.directory)
    if options.save:
        gpu_command.save(options.save, "gpu.grouped run", rows=[asdict(row) for row in rows])
    return 0
