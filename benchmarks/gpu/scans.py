"""Scans of state-space models on a GPU: correct first, then beside PyTorch and a copy of the bytes.

    python -m benchmarks gpu.scans build DIRECTORY
    python -m benchmarks gpu.scans check DIRECTORY
    python -m benchmarks gpu.scans run DIRECTORY [--save FILE]

`check` runs every kernel at odd sizes, with poisoned results and guards behind them, against steps
in f64. `run` has the shapes of layers. Beside each stands what PyTorch takes for the same: the loop
over time that models of transformers have (a step's operations from the host, or all steps as a
CUDA graph), or the chunks of Mamba 2; and how long a copy of the operands and results takes.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import custom_dispatch as cd
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import copy_bandwidth, in_graph, launched, median_us, with_events
from cuda_kernels import recurrence
from custom_dispatch.kernel.target import Target

if TYPE_CHECKING:
    import torch

PORTABLE = "cuda:sm_80"
TARGETS = {80: PORTABLE, 90: "cuda:sm_90a"}
KINDS = ("bf16", "f16", "f32")
TOLERANCES = {"bf16": 1e-2, "f16": 2e-3, "f32": 3e-5}
GUARD = 64


@dataclass(frozen=True)
class Size:
    """Of a scan: batch, length, heads, elements of each, groups, states, rates of each head."""

    batch: int
    length: int
    heads: int
    elements: int
    groups: int
    states: int
    rates: int
    plain: bool = False

    @property
    def dims(self) -> dict[str, int]:
        """By the names that the declaration gives them."""
        names = ("batch", "length", "heads", "elements", "groups", "states", "rates")
        return {name: getattr(self, name) for name in names}


ODD = (
    (1, 1, 1, 1, 1),
    (2, 37, 6, 3, 2),
    (1, 33, 130, 1, 1),
    (3, 65, 4, 20, 4),
    (2, 7, 3, 70, 1),
)
"""Batch, length, heads, elements and groups."""
LAYERS = {
    "Mamba 130M": (False, Size(1, 4096, 1536, 1, 1, 16, 16)),
    "Mamba 2.8B": (False, Size(1, 4096, 5120, 1, 1, 16, 16)),
    "Mamba 2.8B, 512 tokens": (False, Size(1, 512, 5120, 1, 1, 16, 16)),
    "Mamba 2.8B, a step of 16": (False, Size(16, 1, 5120, 1, 1, 16, 16)),
    "Mamba 2 2.7B": (False, Size(1, 4096, 80, 64, 1, 128, 1)),
    "Mamba 2 2.7B, a step of 16": (False, Size(16, 1, 80, 64, 1, 128, 1)),
    "Qwen3-Next 80B": (True, Size(1, 4096, 32, 128, 32, 128, 1)),
    "Qwen3-Next 80B, a step of 16": (True, Size(16, 1, 32, 128, 32, 128, 1)),
    "RecurrentGemma 2B": (False, Size(1, 4096, 2560, 1, 1, 1, 1, plain=True)),
}
"""Whether it is the delta rule, and the size."""


@dataclass(frozen=True)
class Row:
    """One figure."""

    layer: str
    kernel: str
    by: str
    us: float


def _size(odd: tuple[int, ...], states: int, rates: int, *, plain: bool) -> Size:
    batch, length, heads, elements, groups = odd
    return Size(batch, length, heads, elements, groups, states, rates, plain)


def choices() -> Iterator[cd.Choice]:
    """What is built."""
    for name, kind in itertools.product(("selective_scan", "delta_scan"), KINDS):
        yield getattr(recurrence, f"{name}_{kind}")


def operands(size: Size, kind: str, *, is_delta: bool, has_all: bool) -> dict[str, Any]:
    """Random ones, with states that stay small."""
    import torch

    dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[kind]

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device="cuda")

    of_time = (size.batch, size.length)
    sequence = (*of_time, size.heads, size.elements)
    dt = random(*of_time, size.heads).abs() * 0.3
    found: dict[str, Any] = {
        "x": random(*sequence).to(dtype),
        "dt": 1.0 / (1.0 + dt) if size.plain else dt,
        "a": -random(size.heads, size.rates).abs(),
        "b": torch.nn.functional.normalize(random(*of_time, size.groups, size.states), dim=-1).to(
            dtype
        ),
        "c": random(*of_time, size.groups, size.states).to(dtype) / size.states**0.5,
        "times_dt": int(not is_delta and not size.plain),
        "plain": int(size.plain),
    }
    if is_delta:
        found["beta"] = random(*of_time, size.heads).sigmoid()
    if has_all:
        found["d"] = random(size.heads)
        found["z"] = random(*sequence).to(dtype)
        found["first"] = random(size.batch, size.heads, size.elements, size.states)
    return found


def results(given: dict[str, Any], size: Size) -> list[torch.Tensor]:
    """Poisoned memory for both results, with guards behind them."""
    import torch

    shapes = (given["x"].shape, (size.batch, size.heads, size.elements, size.states))
    found = []
    for shape, dtype in zip(shapes, (given["x"].dtype, torch.float32), strict=True):
        count = torch.Size(shape).numel()
        found.append(torch.full((count + GUARD,), torch.nan, dtype=dtype, device="cuda"))
    return found


def steps(given: dict[str, Any], *, wide: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """The definition, step by step: in f64, or in f32 as models have it."""
    import torch

    dtype = torch.float64 if wide else torch.float32
    x, dt, a, b, c = (given[name].to(dtype) for name in ("x", "dt", "a", "b", "c"))
    of_group = x.shape[2] // b.shape[2]
    b, c = b.repeat_interleave(of_group, 2), c.repeat_interleave(of_group, 2)
    decay = dt[..., None] if given["plain"] else torch.exp(dt[..., None] * a)
    u = x * dt[..., None] if given["times_dt"] else x
    first = given.get("first")
    state = x.new_zeros(*x[:, 0].shape, b.shape[3]) if first is None else first.to(dtype)
    found = []
    for t in range(x.shape[1]):
        state = state * decay[:, t, :, None]
        added = u[:, t]
        if "beta" in given:
            known = (state * b[:, t, :, None]).sum(-1)
            added = given["beta"][:, t, :, None].to(dtype) * (added - known)
        state = state + added[..., None] * b[:, t, :, None]
        found.append(torch.matmul(state, c[:, t, :, :, None])[..., 0])
    y = torch.stack(found, 1)
    if given.get("d") is not None:
        y = y + given["d"].to(dtype)[:, None] * x
    if given.get("z") is not None:
        y = y * torch.nn.functional.silu(given["z"].to(dtype))
    return y, state


def chunks(given: dict[str, Any], size: int = 256) -> torch.Tensor:
    """Mamba 2 by chunks: products within a chunk, and a state from chunk to chunk."""
    import torch

    x, dt, a = given["x"].float(), given["dt"], given["a"][:, 0]
    b, c = given["b"].float(), given["c"].float()
    batch, length, heads, elements = x.shape
    count = length // size
    u = (x * dt[..., None]).view(batch, count, size, heads, elements)
    b, c = (each[:, :, 0].view(batch, count, size, -1) for each in (b, c))
    total = (dt * a).view(batch, count, size, heads).cumsum(2)
    apart = total[:, :, :, None] - total[:, :, None]
    earlier = torch.ones(size, size, dtype=torch.bool, device=x.device).tril()
    weights = apart.masked_fill(~earlier[..., None], -torch.inf).exp()
    weights = weights * torch.einsum("zcin,zcjn->zcij", c, b)[..., None]
    y = torch.einsum("zcijh,zcjhp->zcihp", weights, u)
    left = (total[:, :, -1:] - total).exp()
    added = torch.einsum("zcjn,zcjhp->zchpn", b, u * left[..., None])
    state, states = torch.zeros_like(added[:, 0]), []
    for each in range(count):
        states.append(state)
        state = state * total[:, each, -1].exp()[..., None, None] + added[:, each]
    of_states = torch.einsum("zcin,zchpn->zcihp", c, torch.stack(states, 1))
    return (y + of_states * total.exp()[..., None]).reshape(batch, length, heads, elements)


def problem(kind: str, given: dict[str, Any], got: list[torch.Tensor]) -> str:
    """What is wrong with results; empty if nothing."""
    for name, want, found in zip(("y", "last"), steps(given), got, strict=True):
        count = want.numel()
        if not found[count:].isnan().all():
            return f"writes behind {name}"
        one = found[:count].view(want.shape).double()
        if not one.isfinite().all():
            return f"{name} has what is no number"
        off = float((one - want).norm() / want.norm())
        if off > (TOLERANCES[kind] if name == "y" else TOLERANCES["f32"]):
            return f"{name} is {off:.2g} off"
    return ""


def check(directory: Path) -> int:
    """Run every kernel at odd sizes."""
    objects, tally = gpu_objects.Objects(directory), gpu_command.Tally()
    targets = [name for number, name in TARGETS.items() if number <= objects.capability]
    for choice, target in itertools.product(choices(), targets):
        is_delta, kind = choice.name.startswith("delta"), choice.name.rpartition("_")[2]
        odd_sizes = ODD[1:3] if target == PORTABLE else ODD
        for kernel, odd, by_state in itertools.product(choice.kernels, odd_sizes, (False, True)):
            if not objects.has(target, kernel.name):
                continue
            ending = kernel.name.removeprefix(f"{choice.name}_").split("_")[0]
            most = 300 if ending == "any" else int(ending)
            for states, has_all in ((most, True), (max(1, most - 3), False)):
                plain = odd[1] == 7 and not by_state
                size = _size(odd, states, states if by_state else 1, plain=plain)
                given = operands(size, kind, is_delta=is_delta, has_all=has_all)
                got = results(given, size)
                objects.launch(kernel, target, given, into=got).native.run()
                what = f"{kernel.name} for {target} {size}"
                tally.add(what, problem(kind, given, got))
    return tally.finish()


def _timed(operator: Callable[[], Any]) -> float:
    """Microseconds of what the host launches one by one."""
    import torch

    operator()
    torch.cuda.synchronize()
    start = time.perf_counter()
    operator()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e6


def run(directory: Path) -> list[Row]:
    """Time the shapes of layers, in bf16."""
    import torch

    objects = gpu_objects.Objects(directory)
    target, rows = objects.best(TARGETS), []
    bandwidth = copy_bandwidth("bf16")
    for layer, (is_delta, size) in LAYERS.items():
        choice = recurrence.delta_scan_bf16 if is_delta else recurrence.selective_scan_bf16
        kernel = gpu_objects.kernel_for(choice, size.dims, Target.parse(target))
        is_step = size.length == 1
        given = operands(size, "bf16", is_delta=is_delta, has_all=False)
        if is_step:
            given["first"] = torch.randn(
                size.batch, size.heads, size.elements, size.states, device="cuda"
            )
        got = results(given, size)
        launch = objects.launch(kernel, target, given, into=got)
        launch.native.run()
        wrong = problem("bf16", given, got)
        if wrong:
            raise SystemExit(f"{kernel.name} for {layer}: {wrong}")
        moved = sum(each.nbytes for each in (*given.values(), *got) if hasattr(each, "nbytes"))
        found = {"ours": median_us(launched(launch.native)), "copy": moved / bandwidth / 1e6}
        if is_step or size.length <= 512:
            replay = in_graph(partial(steps, given, wide=False))
            found["PyTorch's steps, CUDA graph"] = median_us(with_events(replay))
        else:
            found["PyTorch's steps"] = _timed(partial(steps, given, wide=False))
        if not is_step and size.states == 128 and not is_delta:
            found["PyTorch's chunks"] = median_us(with_events(partial(chunks, given)))
            replay = in_graph(partial(chunks, given))
            found["PyTorch's chunks, CUDA graph"] = median_us(with_events(replay))
        rows += [Row(layer, kernel.name, by, us) for by, us in found.items()]
        told = ", ".join(f"{by} {us:.1f} us" for by, us in found.items())
        print(f"{layer}: {told}", flush=True)
        del given, got, launch
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
        gpu_command.save(options.save, "gpu.scans run", rows=[asdict(row) for row in rows])
    return 0
