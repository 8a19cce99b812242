"""Products at sizes that nobody tuned for, beside cuBLAS and beside the best of our own kernels.

    python -m benchmarks gpu.sizes build DIRECTORY [--every-form]
    python -m benchmarks gpu.sizes run DIRECTORY [--every-form] [--seed N] [--save FILE]

`build` needs compilers and no GPU, `run` a GPU, iree-base-runtime and PyTorch. Sizes are drawn at
random (`cases/product_sizes.py`): rows from 1 to 6000, widths of ten public models, none that a
table has; and unaligned ones. `--seed` gives others, so nobody can tune for them. `build` compiles
the kernels that the choices take for these sizes, so it needs the same options; with
`--every-form` all kernels of the choices.

Each kernel's result is compared with double precision, all of it, before it is timed; `check` does
no more than that. Launches are captured in a CUDA graph, one behind the other over up to 96 sets of
operands that are together larger than the L2 cache (for weights under 3 MB, as large as 96 of them
are). Replays are timed with events, in turn with PyTorch's, medians. With `--every-form`
each kernel is timed, and the fastest once more in turn with the chosen one, since the least of
twenty medians is less than that kernel takes.

Bars, of the issue: of cuBLAS's speed 1.0 as the geometric mean and 0.8 for each size, 0.8 for each
unaligned one; of the best form's 0.98 as the geometric mean.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import custom_dispatch as cd
from benchmarks.cases.product_sizes import Size, drawn
from benchmarks.lib import gpu_command, gpu_objects
from benchmarks.lib.gpu_timing import in_turn
from benchmarks.lib.size_rows import Row, met, print_table, summary
from cuda_kernels import gemm

if TYPE_CHECKING:
    import argparse

    import torch

NAMES = ("linear_bf16", "matmul_bf16", "linear_f16", "matmul_f16")
OTHERS = ("linear_tf32", "matmul_tf32", "linear_f32", "matmul_f32")
"""Which `--only` takes, too. PyTorch's are in TF32 where ours are."""
CACHE_BYTES, MOST_SETS = 300_000_000, 96
POOL_ELEMENTS = 1 << 30
"""Of the random numbers that operands are parts of."""
TOLERANCES = {"bf16": 5e-3, "f16": 1e-3, "tf32": 1e-3, "f32": 2e-5}


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    choices: list[cd.Choice]
    sizes: list[Size]
    every_form: bool
    target: cd.Target

    @classmethod
    def of(cls, options: argparse.Namespace) -> Wanted:
        """Read it."""
        names = options.only.split(",") if options.only else NAMES
        choices = [getattr(gemm, name) for name in names]
        return cls(
            choices,
            drawn(options.seed, options.count, measured_sizes(choices)),
            options.every_form,
            cd.Target.parse(options.target),
        )

    def cases(self) -> Iterator[tuple[cd.Choice, Size]]:
        """Every size of every choice, so that each comes early."""
        for size in self.sizes:
            for choice in self.choices:
                yield choice, size

    def forms(self, choice: cd.Choice, size: Size) -> list[cd.Kernel]:
        """The kernels to run, first the one that the choice takes."""
        from custom_dispatch.kernel.evaluation import holds

        dims = {"batch": size.m, "n": size.n, "k": size.k}
        taken = gpu_objects.kernel_for(choice, dims, self.target)
        if not self.every_form:
            return [taken]
        fit = [each for each in choice.kernels if all(holds(c, dims) for c in each.requires)]
        return [taken, *(each for each in fit if each.name != taken.name)]


def measured_sizes(choices: Iterable[cd.Choice]) -> set[tuple[int, int, int]]:
    """M, n and k in the tables of choices."""
    from custom_dispatch.toolchain.tuned import table_of

    tables = [table_of(choice.like or choice) for choice in choices]
    return {
        (item.dims["batch"], item.dims["n"], item.dims["k"])
        for table in tables
        if table is not None
        for measured in table.measured
        for item in measured.sizes
    }


def build(directory: Path, wanted: Wanted) -> None:
    """Compile the kernels, each by itself, since those of one source go one after another."""
    kernels: dict[str, cd.Kernel] = {}
    if wanted.every_form:
        kernels = {each.name: each for choice in wanted.choices for each in choice.kernels}
    else:
        for choice, size in wanted.cases():
            (taken,) = wanted.forms(choice, size)
            kernels[taken.name] = taken
    image = "cubin" if wanted.target.arch and wanted.target.arch.suffix else "ptx"
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        libraries = pool.map(
            lambda kernel: cd.build(kernel, [wanted.target], image=image, jobs=1), kernels.values()
        )
        gpu_objects.write(directory, libraries)
    print(f"{len(kernels)} kernels")


class Pool:
    """Random numbers on the GPU, of which operands are parts, and memory for results."""

    def __init__(self) -> None:
        import torch

        self._numbers = {"f32": torch.randn(POOL_ELEMENTS, device="cuda")}
        self._results = torch.empty(0)

    def numbers(self, kind: str) -> torch.Tensor:
        """All of them, of a type."""
        import torch

        if kind not in self._numbers:
            types = {"f16": torch.float16, "bf16": torch.bfloat16}
            self._numbers[kind] = self._numbers["f32"].to(types[kind])
        return self._numbers[kind]

    def operands(self, choice: cd.Choice, size: Size) -> list[dict[str, torch.Tensor]]:
        """Sets that are together larger than the cache; a, b and c of each."""
        import torch

        numbers = self.numbers(str(choice.kernels[0].abi.bindings[0].dtype))
        is_linear, each = choice.name.startswith("linear"), numbers.itemsize
        m, n, k = size.m, size.n, size.k
        of_a, of_b, of_c = (-(-count // 128) * 128 for count in (m * k, n * k, m * n))
        sets = max(2, min(MOST_SETS, -(-CACHE_BYTES // (each * (of_a + of_b + of_c)))))
        if self._results.numel() < sets * of_c * each:
            self._results = torch.empty(0)  # frees the last
            self._results = torch.empty(sets * of_c * each, dtype=torch.uint8, device="cuda")
        found = []
        for number in range(sets):
            at = number * (of_a + of_b) % (POOL_ELEMENTS - of_a - of_b)
            a, b = numbers[at : at + m * k], numbers[at + of_a : at + of_a + n * k]
            place = self._results[number * of_c * each : (number * of_c + m * n) * each]
            c = place.view(numbers.dtype)
            b = b.view((n, k) if is_linear else (k, n))
            found.append({"a": a.view(m, k), "b": b, "c": c.view(m, n)})
        # Short graphs are mostly their own start.
        return found * max(1, 12 // sets if m * n * k < 1 << 36 else 1)


def expected(choice: cd.Choice, operands: dict[str, torch.Tensor]) -> torch.Tensor:
    """The product in double precision."""
    b = operands["b"].double()
    return operands["a"].double() @ (b.t() if choice.name.startswith("linear") else b)


def problem(kind: str, got: torch.Tensor, want: torch.Tensor) -> tuple[str, float]:
    """What is wrong with a result, empty if nothing; and how far off it is."""
    rows = max(1, (1 << 27) // want.shape[1])
    off = size = worst = 0.0
    for first in range(0, want.shape[0], rows):
        right = want[first : first + rows]
        difference = got[first : first + rows] - right
        off += float(difference.square().sum())
        worst = max(worst, float(difference.abs().max()))
        size += float(right.square().sum())
    # The largest, too, as a wrong tile of many is a small part of the whole.
    typical = (size / want.numel()) ** 0.5
    is_right = off**0.5 <= TOLERANCES[kind] * size**0.5 and worst <= 8 * TOLERANCES[kind] * typical
    part = (off / size) ** 0.5
    return "" if is_right else f"{part:.2g} off, one {worst / typical:.2g}", part


class Runner:
    """Checks and times one size after another."""

    def __init__(self, directory: Path, wanted: Wanted) -> None:
        self._objects = gpu_objects.Objects(directory)
        self._wanted, self._pool = wanted, Pool()
        self.tally = gpu_command.Tally()

    def launches(
        self, kernel: cd.Kernel, operands: Sequence[dict[str, torch.Tensor]]
    ) -> list[Callable[[], None]]:
        """A launch for each set of operands."""
        import torch

        target = str(self._wanted.target)

        def launch(tensors: dict[str, torch.Tensor]) -> Callable[[], None]:
            native = self._objects.launch(kernel, target, tensors, into=[tensors["c"]]).native
            return lambda: native.enqueue(torch.cuda.current_stream().cuda_stream)

        return [launch(tensors) for tensors in operands]

    def row(self, choice: cd.Choice, size: Size, *, timed: bool) -> Row | None:
        """Check every kernel that is wanted, and time those that are right."""
        import torch

        forms = self._wanted.forms(choice, size)
        operands = self._pool.operands(choice, size)
        first = operands[0]
        want = expected(choice, first)
        kind = choice.name.rpartition("_")[2]
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        runs: dict[str, list[Callable[[], Any]]] = {}
        parts = {}
        for kernel in forms:
            first["c"].fill_(torch.nan)
            launches = self.launches(kernel, operands if timed else operands[:1])
            launches[0]()
            found, parts[kernel.name] = problem(kind, first["c"], want)
            what = f"{kernel.name} {size.m} x {size.n} x {size.k}"
            self.tally.add(what, found)
            if not found:
                runs[kernel.name] = launches
        name, is_linear = forms[0].name, choice.name.startswith("linear")

        def beside(tensors: dict[str, torch.Tensor]) -> Callable[[], Any]:
            right = tensors["b"].t() if is_linear else tensors["b"]
            return lambda: torch.matmul(tensors["a"], right, out=tensors["c"])

        beside(first)()
        _, torch_off = problem(kind, first["c"], want)
        del want
        if not timed or name not in runs:
            return None
        every = {
            each: in_turn({"": launches}, 5)[""] if len(runs) > 1 else 0.0
            for each, launches in runs.items()
        }
        best = min(every, key=lambda each: every[each])
        final = {"ours": runs[name], "torch": [beside(tensors) for tensors in operands]}
        if best != name:
            final["best"] = runs[best]
        us = in_turn(final, 11)
        return Row(
            choice=choice.name,
            m=size.m,
            n=size.n,
            k=size.k,
            of=size.of,
            kernel=name,
            us=us["ours"],
            torch_us=us["torch"],
            off=parts[name],
            torch_off=torch_off,
            best=best,
            best_us=us.get("best", us["ours"]),
            every_us=every if len(every) > 1 else {},
        )


def run(options: argparse.Namespace, wanted: Wanted) -> int:
    """Check everything, and time it where that is asked; 1 if a result or a bar is not met."""
    runner, rows, start = Runner(options.directory, wanted), list[Row](), time.monotonic()
    for choice, size in wanted.cases():
        if time.monotonic() - start > options.seconds:
            print(f"stopped after {options.seconds} s", flush=True)
            break
        row = runner.row(choice, size, timed=options.what == "run")
        if row is not None:
            rows.append(row)
            own = f", {row.of_best:5.3f} of {row.best}" if wanted.every_form else ""
            print(
                f"{row.choice} {row.m} x {row.n} x {row.k} ({row.of}): {row.kernel} "
                f"{row.us:.1f} us, {row.of_torch:5.3f} of cuBLAS's speed{own}",
                flush=True,
            )
    failed = runner.tally.finish("results")
    if not rows:
        return failed
    lines = summary(rows, wanted.every_form)
    print_table(lines)
    if options.save:
        gpu_command.save(
            options.save,
            f"gpu.sizes run --seed {options.seed} --count {options.count}"
            + (f" --only {options.only}" if options.only else "")
            + (" --every-form" if wanted.every_form else ""),
            target=str(wanted.target),
            summary=lines,
            rows=[asdict(row) | {"of_cublas": row.of_torch} for row in rows],
        )
    return int(not met(lines)) or failed


def main() -> int:
    """Build, check or run."""
    parser = gpu_command.parser(__doc__)
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--seed", type=int, default=0, help="another one gives other sizes")
    parser.add_argument("--count", type=int, default=60, help="sizes of each choice")
    parser.add_argument("--only", default="", help=f"choices, of {','.join((*NAMES, *OTHERS))}")
    parser.add_argument("--every-form", action="store_true", help="every kernel of a choice")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin no size after these")
    options = parser.parse_args()
    wanted = Wanted.of(options)
    if options.what == "build":
        build(options.directory, wanted)
        return 0
    return run(options, wanted)
