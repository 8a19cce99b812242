"""Kernels of Triton through modules on a GPU: correct first, then beside Triton's own launches.

Two halves: `build DIRECTORY` on any machine with Triton, then where there are a GPU,
iree-base-runtime, PyTorch and Triton

    python -m benchmarks gpu.triton_kernels check DIRECTORY
    python -m benchmarks gpu.triton_kernels run DIRECTORY [--save FILE]

`check` calls modules of open sizes with random numbers, compares with double precision, and says
whether the result is Triton's own to the bit, which it is where both halves have one release of
Triton. `run` takes the time of a kernel in a module: calls of 8 and of 72 that follow one another
are timed in turn, and the difference is divided by 64. Triton's is that of 64 launches, in a CUDA
graph and queued while the GPU waits; medians.

The bar, of the issue: 1.03 times the faster of Triton's two.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.lib import gpu_command
from benchmarks.lib.gpu_timing import in_graph, with_events

if TYPE_CHECKING:
    from benchmarks.cases.triton_functions import Case

TARGETS = ("cuda:sm_90a", "cuda:sm_80")
FEW, MANY, ROUNDS = 8, 72, 9
BAR = 1.03
TOLERANCES = {"f32": 2e-5, "f16": 2e-3}
"""Of ||error|| / ||result||."""


def buffers(case: Case) -> tuple[list[Any], Any]:
    """The tensors that a launch takes, and its result."""
    *inputs, out = (item for item in case.operands if hasattr(item, "shape"))
    return inputs, out


def chained(case: Case, count: int) -> str:
    """A model whose kernel takes its last result, so many times."""
    inputs, out = buffers(case)

    def of(item: Any) -> str:
        sizes = [str(case.timed.get(str(size), size)) for size in item.shape]
        return f"tensor<{'x'.join([*sizes, str(item.dtype)])}>"

    types = ", ".join(map(of, inputs))
    rest = "".join(f", %{item.name}" for item in inputs[1:])
    values = [f"%{inputs[0].name}", *(f"%v{i}" for i in range(count))]
    calls = "\n".join(
        f"  {new} = func.call @{case.name}({old}{rest}) : ({types}) -> {of(out)}"
        for old, new in itertools.pairwise(values)
    )
    given = ", ".join(f"%{item.name}: {of(item)}" for item in inputs)
    result = of(out)
    return (
        f"func.func private @{case.name}({types}) -> {result}\n"
        f"func.func @main({given}) -> {result} {{\n{calls}\n  return {values[-1]} : {result}\n}}\n"
    )


def build(directory: Path) -> None:
    """Compile a module of open sizes and two chains of each function."""
    import custom_dispatch as cd
    from benchmarks.cases.triton_functions import CASES

    directory.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        kernel = case.declare()
        cd.compile(None, kernel, TARGETS).save(directory / f"{case.name}.vmfb")
        for count in (FEW, MANY):
            module = cd.compile(chained(case, count), kernel, TARGETS)
            module.save(directory / f"{case.name}_{count}.vmfb")


def drawn(case: Case, sizes: dict[str, int]) -> list[Any]:
    """Random tensors for what a launch takes."""
    import torch

    types = {"f32": torch.float32, "f16": torch.float16}
    return [
        torch.randn([int(sizes.get(str(size), str(size))) for size in map(str, item.shape)])
        .mul(0.5)
        .to("cuda", types[str(item.dtype)])
        for item in buffers(case)[0]
    ]


def own_launch(case: Case, sizes: dict[str, int], arguments: list[Any]) -> Any:
    """What Triton's own launch gives."""
    import torch

    _, out = buffers(case)
    shape = [int(sizes.get(str(size), str(size))) for size in map(str, out.shape)]
    result = torch.full(shape, torch.nan, dtype=arguments[0].dtype, device="cuda")
    case.launch(sizes, arguments, result)
    return result


def check(directory: Path) -> int:
    """Call every module of open sizes."""
    import torch

    import custom_dispatch as cd
    from benchmarks.cases.triton_functions import CASES

    tally, same = gpu_command.Tally(), 0
    for case in CASES:
        program = cd.load(directory / f"{case.name}.vmfb", "cuda")
        for sizes in case.checked:
            arguments = drawn(case, sizes)
            found = torch.from_dlpack(program.function(case.name)(*arguments))
            wanted = case.wanted(*(each.double() for each in arguments))
            error = float((found.double() - wanted).norm() / wanted.norm())
            same += torch.equal(found, own_launch(case, sizes, arguments))
            most = TOLERANCES[str(buffers(case)[1].dtype)]
            what = "" if error <= most else f"it is off by {error:.1e} of itself"
            tally.add(f"{case.name} {sizes}", what)
    print(f"{same} of {tally.count} are Triton's own to the bit")
    return tally.finish()


def module_us(directory: Path, case: Case, arguments: list[Any]) -> float:
    """Microseconds of a kernel in a module."""
    import custom_dispatch as cd

    calls = []
    for count in (FEW, MANY):
        main = cd.load(directory / f"{case.name}_{count}.vmfb", "cuda").function("main")
        main(*arguments)
        calls.append(main)
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for call, found in zip(calls, times, strict=True):
            start = time.perf_counter()
            call(*arguments)
            found.append(time.perf_counter() - start)
    few, many = map(statistics.median, times)
    return (many - few) * 1e6 / (MANY - FEW)


def own_us(case: Case, arguments: list[Any]) -> tuple[float, float]:
    """Microseconds of Triton's launch, in a CUDA graph and queued."""
    import torch

    first, *rest = arguments
    places = [first.clone(), torch.empty_like(first)]
    count = MANY - FEW

    def launches() -> None:
        for turn in range(count):
            case.launch(case.timed, [places[turn % 2], *rest], places[1 - turn % 2])

    def median(run: Callable[[], Any]) -> float:
        once = with_events(run)
        return statistics.median([once() for _ in range(ROUNDS)][1:]) * 1e6 / count

    return median(in_graph(launches)), median(launches)


def run(directory: Path) -> list[dict[str, Any]]:
    """Time each function at its large size."""
    from benchmarks.cases.triton_functions import CASES

    rows = []
    for case in CASES:
        arguments = drawn(case, case.timed)
        ours = module_us(directory, case, arguments)
        graph, queued = own_us(case, arguments)
        row = {"function": case.name, **case.timed, "module_us": ours}
        rows.append(row | {"graph_us": graph, "queued_us": queued})
        print(
            f"{case.name:11} {case.timed!s:38} {ours:8.2f} us; Triton's {graph:8.2f} in a graph, "
            f"{queued:8.2f} queued: {ours / min(graph, queued):.3f}",
            flush=True,
        )
    return rows


def main() -> int:
    """Build, check or run."""
    given = gpu_command.parser(__doc__).parse_args()
    if given.what == "build":
        build(given.directory)
        return 0
    if given.what == "check":
        return check(given.directory)
    rows = run(given.directory)
    if given.save:
        from importlib.metadata import version

        gpu_command.save(given.save, "gpu.triton_kernels run", triton=version("triton"), rows=rows)
    return int(any(r["module_us"] > BAR * min(r["graph_us"], r["queued_us"]) for r in rows))


if __name__ == "__main__":
    sys.exit(main())
