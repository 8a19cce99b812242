"""Norms and softmax of rows of any width on a GPU: correct first, then beside torch.compile.

    python -m benchmarks gpu.rows build DIRECTORY
    python -m benchmarks gpu.rows check DIRECTORY
    python -m benchmarks gpu.rows run DIRECTORY [--save FILE] [--seed N] [--warm] [--seconds N]

`check` compares every kernel with double precision at widths from 1 to 262144, in views that begin
0 to 7 elements behind an aligned address, for each operand another number, and with NaN and
infinities. `run` times CUDA graphs of launches that rotate over 300 MB or 48 buffers, and the same
of `torch.compile`; `--warm` only compiles for that, in as many processes as there are cores. Sizes
are those of `cases/rows.py`, or drawn, with a seed. torch.compile, which `--seconds 0` leaves out,
needs iree-base-compiler beside what others of this folder need: it looks for names in all modules,
and so loads the patterns of `cuda_kernels`.

Bars, of the issue: 80 % of a copy where a tensor has more than 32 MB, elsewhere 1.1 times
torch.compile's time.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import custom_dispatch as cd
from benchmarks.cases.rows import (
    CHECKED,
    EPSILON,
    TIMED,
    TORCH_TYPES,
    VIEWS,
    Op,
    drawn_sizes,
    elementwise_ops,
    image,
    images,
    of_images,
    ops,
)
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import in_graph, with_events
from cuda_kernels.channels_last import group_norm as group_norm_last
from cuda_kernels.convolution.activations import ACTIVATIONS
from cuda_kernels.elementwise import gelu, glu, swiglu
from cuda_kernels.norms import group_norm, layer_norm, rms_norm, softmax
from custom_dispatch.kernel.target import Target

TARGETS = {80: "cuda:sm_80", 90: "cuda:sm_90"}
KINDS = ("bf16", "f32", "f16")
TOLERANCES = {"f32": 2e-6, "f16": 1e-3, "bf16": 8e-3}
SILU = ACTIVATIONS.index("silu")
LARGE = 32 << 20
LARGE_BAR, COMPILE_BAR = 0.8, 1.1
MOST_BUFFERS, ROTATED = 48, 300 << 20


DRAWN = 40
MODULES = (softmax, layer_norm, rms_norm, group_norm, group_norm_last, gelu, glu, swiglu)


def items() -> dict[str, cd.Kernel | cd.Choice]:
    """What is called, by name."""
    found = [getattr(each, name) for each in MODULES for name in each.__dir__()]
    return {item.name: item for item in found if isinstance(item, cd.Kernel | cd.Choice)}


def kernels(only: str) -> list[cd.Kernel]:
    """What is built, of what a regular expression finds."""
    chosen = [item for name, item in items().items() if re.search(only, name)]
    return [k for item in chosen for k in (item.kernels if isinstance(item, cd.Choice) else [item])]


def is_wanted(only: str) -> Callable[[str, str], bool]:
    """Whether an operation of a type is one that a regular expression finds."""
    return lambda name, kind: re.search(only, f"{name}_{kind}") is not None


@dataclass(frozen=True)
class Row:
    """One figure: medians, in microseconds."""

    kernel: str
    rows: int
    columns: int
    us: float
    copy_us: float
    compile_us: float | None = None

    @property
    def is_large(self) -> bool:
        """Whether the bar is the copy's."""
        return self.rows * self.columns * (4 if self.kernel.endswith("f32") else 2) > LARGE

    @property
    def holds(self) -> bool:
        """Whether the bar is met, as far as it was measured."""
        if self.is_large:
            return self.us <= self.copy_us / LARGE_BAR
        return self.compile_us is None or self.us <= COMPILE_BAR * self.compile_us

    def __str__(self) -> str:
        beside = "" if self.compile_us is None else f"{self.compile_us / self.us:5.2f} x compile"
        return (
            f"{self.kernel:18} {self.rows:8} x {self.columns:<7} {self.us:8.2f} us "
            f"{self.copy_us / self.us:5.2f} of a copy "
            f"{beside}{'' if self.holds else '  BELOW'}"
        )


class Kernels:
    """The built kernels on this GPU, and memory for their operands."""

    def __init__(self, directory: Path) -> None:
        self._objects = gpu_objects.Objects(directory)
        self._target = self._objects.best(TARGETS)
        self._declared = items()

    def launch(self, name: str, arguments: list[Any], into: list[Any]) -> Callable[[], None]:
        """What enqueues a launch in PyTorch's current stream."""
        import torch

        x, *_ = arguments
        dims = {"batch": x.shape[:-1].numel(), "columns": x.shape[-1]}
        if "group_norm" in name and isinstance(self._declared[name], cd.Choice):
            sizes = zip(("images", "channels", "height", "width"), x.shape, strict=True)
            dims = dict(sizes) | {"groups": arguments[3].shape[-1]}
        item, target = self._declared[name], Target.parse(self._target)
        kernel = gpu_objects.kernel_for(item, dims, target)
        native = self._objects.launch(kernel, self._target, arguments, into=into).native
        return lambda: native.enqueue(torch.cuda.current_stream().cuda_stream)


def check(directory: Path, most: int, only: str) -> int:
    """Run odd sizes and addresses, of rows up to `most` elements."""
    import torch

    built, tally, wanted_of = Kernels(directory), gpu_command.Tally(), is_wanted(only)

    def drawn(dtype: Any, offset: int, *shape: int) -> Any:
        count = torch.Size(shape).numel() + offset
        return torch.randn(count, device="cuda").mul(2).to(dtype)[offset:].view(shape)

    for op in [*ops(), *elementwise_ops()]:
        for kind in filter(partial(wanted_of, op.name), KINDS):
            dtype = getattr(torch, TORCH_TYPES[kind])
            for columns in (size for size in CHECKED if size <= most):
                rows = 7 if columns < 9000 else 2
                for number, (of_x, of_y, of_w) in enumerate(VIEWS):
                    x, r = drawn(dtype, of_x, rows, columns), drawn(dtype, of_y, rows, columns)
                    w, b = drawn(dtype, of_w, columns), drawn(dtype, of_w + 1, columns)
                    if number == 0:
                        x[0, columns // 2], x[1, -1] = torch.nan, torch.inf
                        if op.name != "gelu_erf":  # whose limit 16 bits have there, and not NaN
                            x[-1], x[-1, 0] = -torch.inf, (1.0 if rows > 2 else -torch.inf)
                    wide = {"x": x.double(), "r": r.double(), "w": w.double(), "b": b.double()}
                    if op.name == "add_rms_norm":  # which normalises the rounded sum
                        wide["x"], wide["r"] = (x.double() + r.double()).to(dtype).double(), 0.0
                    wanted = op.wanted(*op.tensors(**wide))
                    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
                    whole = [
                        torch.full((of_y + rows * columns + 64,), 7.0, dtype=dtype, device="cuda")
                        for _ in wanted
                    ]
                    ys = [each[of_y:][: rows * columns].view(rows, columns) for each in whole]
                    for y in ys:
                        y.fill_(torch.nan)
                    built.launch(f"{op.name}_{kind}", op.arguments(x=x, r=r, w=w, b=b), ys)()
                    torch.cuda.synchronize()
                    what = f"{op.name}_{kind} {rows} x {columns}, {of_x} {of_y} {of_w} behind"
                    tally.add(what, _problem(kind, ys, wanted, whole, of_y))
    for kind in KINDS:
        dtype = getattr(torch, TORCH_TYPES[kind])
        for name, sizes, last in (each for each in images() if wanted_of(each[0], kind)):
            x, w, b, grouping, y = image(dtype, sizes, last)
            x += 3
            y.fill_(torch.nan)
            built.launch(f"{name}_{kind}", [x, w, b, grouping, EPSILON, 0.0, SILU], [y])()
            torch.cuda.synchronize()
            exact = of_images(x.double(), w.double(), b.double(), sizes[4], last)
            tally.add(f"{name}_{kind} {sizes}", _problem(kind, [y], (exact,), [y], 0))
    return tally.finish()


def _problem(kind: str, ys: list[Any], wanted: Any, whole: list[Any], offset: int) -> str:
    import torch

    tolerance = TOLERANCES[kind]
    for y, exact, memory in zip(ys, wanted, whole, strict=True):
        finite = exact[exact.isfinite()]
        scale = min(1.0, finite.abs().max().item()) if finite.numel() else 1.0
        close = torch.isclose(
            y.double(), exact, rtol=tolerance, atol=4 * tolerance * scale, equal_nan=True
        )
        if not close.all():
            return f"{int((~close).sum())} of {close.numel()} elements differ"
        if not (memory[:offset] == 7).all() or not (memory[offset + y.numel() :] == 7).all():
            return "it wrote beside its result"
    return ""


def graph_us(run: Callable[[int], Any], count: int) -> float:
    """Of `count` launches in a graph, the time of each: the median of five replays."""
    # As a list, so that every result has its memory.
    once = with_events(in_graph(lambda: [run(number) for number in range(count)]))
    return statistics.median([once() for _ in range(6)][1:]) * 1e6 / count


def cases(kinds: tuple[str, ...], seed: int | None) -> Iterator[tuple[Op, str, int, int]]:
    """What is timed: all operations at the sizes that are kept, or one each at sizes drawn."""
    for kind in kinds:
        if seed is not None:
            every = [*ops(), *elementwise_ops()]
            for number, (rows, columns) in enumerate(drawn_sizes(seed, DRAWN)):
                for op in (every[number // 2 % len(every)], every[(number // 2 + 4) % len(every)]):
                    yield op, kind, rows, columns
            continue
        for rows, columns in TIMED:
            for op in ops():
                if op.name != "rms_norm_from" or (rows, columns) == TIMED[-1]:
                    yield op, kind, rows, columns


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of PyTorch's by torch.compile for the sizes of its first call."""
    import torch

    torch._dynamo.reset()
    return torch.compile(function, dynamic=False)  # type: ignore[no-any-return]


def warm(kinds: tuple[str, ...], seed: int | None) -> None:
    """Fill torch.compile's cache."""
    count = max(1, len(os.sched_getaffinity(0)) - 2)
    own = gpu_command.itself("gpu.rows", "run", "-", "--kinds", ",".join(kinds))
    own += [] if seed is None else ["--seed", str(seed)]
    own.append("--part")
    for process in [subprocess.Popen([*own, f"{part}/{count}"]) for part in range(count)]:
        process.wait()


def warm_part(kinds: tuple[str, ...], seed: int | None, part: str) -> None:
    """One process's share of that."""
    import torch

    number, count = map(int, part.split("/"))
    for op, kind, rows, columns in list(cases(kinds, seed))[number::count]:
        dtype = getattr(torch, TORCH_TYPES[kind])
        x, w = (
            torch.zeros(size, dtype=dtype, device="cuda") for size in ((rows, columns), columns)
        )
        compiled(op.wanted)(*op.tensors(x=x, r=x, w=w, b=w))
    for kind in kinds:
        for _, sizes, last in images()[number::count]:
            given = image(getattr(torch, TORCH_TYPES[kind]), sizes, last)[:3]
            compiled(of_images)(*given, sizes[4], last)
    torch.cuda.synchronize()


def run(
    directory: Path, kinds: tuple[str, ...], seconds: float, seed: int | None, only: str
) -> list[Row]:
    """Time everything; beside torch.compile as long as there is time."""
    import torch

    built, found, start = Kernels(directory), list[Row](), time.monotonic()
    wanted = is_wanted(only)
    for op, kind, rows, columns in cases(kinds, seed):
        if not wanted(op.name, kind):
            continue
        dtype = getattr(torch, TORCH_TYPES[kind])
        size = rows * columns * torch.tensor([], dtype=dtype).itemsize
        buffers = max(1, min(MOST_BUFFERS, ROTATED // size))
        count = max(buffers, min(MOST_BUFFERS, (6 << 30) // size), 4)

        def drawn(*shape: int, dtype: Any = dtype) -> Any:
            return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)

        xs = [drawn(rows, columns) for _ in range(buffers)]
        rs = xs[::-1]
        w, b = drawn(columns), drawn(columns)
        outs = 2 if op.name == "add_rms_norm" else 1
        ys = [[torch.empty_like(x) for _ in range(outs)] for x in xs]
        launches = [
            built.launch(f"{op.name}_{kind}", op.arguments(x=x, r=r, w=w, b=b), y)
            for x, r, y in zip(xs, rs, ys, strict=True)
        ]
        given = [op.tensors(x=x, r=r, w=w, b=b) for x, r in zip(xs, rs, strict=True)]

        def timed(calls: list[Callable[[], Any]], count: int = count) -> float:
            return graph_us(lambda number: calls[number % len(calls)](), count)

        ours = timed(launches)
        copy = op.copies * timed([partial(y[0].copy_, x) for x, y in zip(xs, ys, strict=True)])
        beside = None
        if time.monotonic() - start < seconds:
            call = compiled(op.wanted)
            beside = timed([partial(call, *each) for each in given])
        found.append(Row(f"{op.name}_{kind}", rows, columns, ours, copy, beside))
        print(found[-1], flush=True)
    for kind in kinds:
        for name, sizes, last in (each for each in images() if wanted(each[0], kind)):
            dtype, groups = getattr(torch, TORCH_TYPES[kind]), sizes[4]
            sets = [image(dtype, sizes, last) for _ in range(4)]
            launches = [
                built.launch(f"{name}_{kind}", [*each[:4], EPSILON, 0.0, SILU], each[4:])
                for each in sets
            ]
            calls: list[list[Callable[[], Any]]] = [
                list(launches),
                [partial(y.copy_, x) for x, _, _, _, y in sets],
            ]
            if time.monotonic() - start < seconds:
                call = compiled(of_images)
                calls.append([partial(call, *each[:3], groups, last) for each in sets])
            times = [graph_us(lambda i, c=each: c[i % 4](), 16) for each in calls]  # type: ignore[misc]
            rows = sizes[0] * groups
            found.append(Row(f"{name}_{kind}", rows, sets[0][0].numel() // rows, *times))
            print(found[-1], flush=True)
    return found


def main() -> int:
    """Build, check or run."""
    parser = gpu_command.parser(__doc__)
    parser.add_argument("--kinds", default="bf16", help="element types, with commas between")
    parser.add_argument("--seconds", type=float, default=600.0, help="for torch.compile's part")
    parser.add_argument("--most", type=int, default=CHECKED[-1], help="the widest row checked")
    parser.add_argument("--warm", action="store_true", help="fill torch.compile's cache alone")
    parser.add_argument("--part", default="", help="a share of that, in this process: 0/14")
    parser.add_argument("--seed", type=int, help="draw sizes instead of those that are kept")
    parser.add_argument("--only", default="", help="kernels that this regular expression finds")
    options = parser.parse_args()
    kinds = tuple(options.kinds.split(","))
    if options.what == "build":
        library = cd.build(kernels(options.only), list(TARGETS.values()), image="cubin")
        gpu_objects.write(options.directory, [library])
        return 0
    if options.what == "check":
        return check(options.directory, options.most, options.only)
    if options.warm or options.part:
        if options.part:
            warm_part(kinds, options.seed, options.part)
        else:
            warm(kinds, options.seed)
        return 0
    rows = run(options.directory, kinds, options.seconds, options.seed, options.only)
    print(f"{sum(row.holds for row in rows)} of {len(rows)} hold")
    if options.save:
        content = [asdict(row) for row in rows]
        command = f"gpu.rows run --kinds {options.kinds}"
        command += "" if options.seed is None else f" --seed {options.seed}"
        command += f" --only {options.only}" if options.only else ""
        gpu_command.save(options.save, command, rows=content)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
