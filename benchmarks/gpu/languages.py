"""Kernels of Numba, Warp, CuTe DSL and CUDA Tile in modules, beside the languages' own launches.

Two halves: `build DIRECTORY` in the environment of each language, all into one directory, then
where there are a GPU, iree-base-runtime and PyTorch

    python -m benchmarks gpu.languages check DIRECTORY
    python -m benchmarks gpu.languages run DIRECTORY [--save FILE]

`check` calls each function at random sizes, in a module and by its own launch, and compares both
with numpy. `run` takes the times of chains of kernels: a module's calls of 8 and of 136 steps are
timed in turn on the host's clock, and the difference is divided by 128; so are replays of modules
that are graphs. The own launch is that of the language's own cubin by the driver, with the
parameters, blocks and shared memory that the language would pass, on the GPU's clock: 128 steps,
queued while the GPU waits, and in a CUDA graph. Medians.

The bar, of the issue: 1.03 times the faster of the two, for the faster of a module and a graph.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases.language_functions import (
    CHAINS,
    FACTOR,
    FUNCTIONS,
    TESTS,
    Chain,
    grid_of,
    installed,
    own_code,
    passed,
)
from benchmarks.lib import gpu_command
from benchmarks.lib.gpu_timing import in_graph, step_us, with_events

TARGETS = ("cuda:sm_90a", "cuda:sm_80")
FEW, MANY, ROUNDS = 8, 136, 15
BAR = 1.03
LENGTHS = (1, 255, 256, 1001, 1_000_003)
SHAPES = ((1, 1), (7, 33), (64, 128), (3, 1001), (999, 1025))


def file_of(language: str, chain: Chain, sizes: Mapping[str, int]) -> str:
    """A module's name without its suffix."""
    return "_".join([language, *chain.name.split(), *map(str, sizes.values())])


def model(language: str, chain: Chain, sizes: Mapping[str, int]) -> str:
    """A chain of few steps and one of many, as functions of a model."""
    types = {
        name: f"tensor<{'x'.join(map(str, shape))}xf32>"
        for name, shape in chain.shapes(**sizes).items()
    } | {"a": "f32"}
    lines = []
    for function, result, names in chain.steps:
        taken = ", ".join(types[each] for each in (*names, *zeros(language, function)))
        lines.append(f"func.func private @{function}({taken}) -> {types[result]}")
    for count in (FEW, MANY):
        lines += [
            f"func.func @steps_{count}(%v: {types['v']}, %y: {types['y']}) -> {types['v']} {{",
            f"  %a = arith.constant {FACTOR} : f32",
        ]
        held = {"v": "%v", "y": "%y", "a": "%a"}
        for turn in range(count):
            for number, (function, result, names) in enumerate(chain.steps):
                values = [held[each] for each in names]
                taken = [types[each] for each in names]
                if zeros(language, function):
                    lines.append(f"  %z{turn} = arith.constant dense<0.0> : {types['y']}")
                    values.append(f"%z{turn}")
                    taken.append(types["y"])
                held[result] = f"%v{turn}_{number}"
                lines.append(
                    f"  {held[result]} = func.call @{function}({', '.join(values)}) : "
                    f"({', '.join(taken)}) -> {types[result]}"
                )
        lines.append(f"  return {held['v']} : {types['v']}\n}}")
    return "\n".join(lines)


def zeros(language: str, function: str) -> tuple[str, ...]:
    """What a function is given besides: Warp's sums are added to what is there."""
    return ("y",) if (language, function) == ("warp", "row_sum") else ()


def build(directory: Path) -> None:
    """Compile the modules and the own code of each language that is installed."""
    sys.path.insert(0, str(TESTS))
    from producers.test_languages import kernel

    import custom_dispatch as cd

    directory.mkdir(parents=True, exist_ok=True)
    for language in installed():
        kernels = {name: kernel(language, name, name=name) for name in FUNCTIONS}
        cd.compile(None, [*kernels.values()], TARGETS).save(directory / f"{language}.vmfb")
        index = {}
        for name in FUNCTIONS:
            code = own_code(language, name)
            (directory / f"{language}_{name}.cubin").write_bytes(code.image)
            index[name] = {"entry": code.entry, "block": code.block, "shared": code.shared_bytes}
        (directory / f"{language}.json").write_text(json.dumps(index))
        for chain in CHAINS:
            needed = [kernels[name] for name, _, _ in chain.steps]
            for sizes in chain.sizes:
                text, file = model(language, chain, sizes), file_of(language, chain, sizes)
                cd.compile(text, needed, TARGETS).save(directory / f"{file}.vmfb")
                graph = cd.compile(text, needed, TARGETS, graph=True)
                graph.save(directory / f"{file}_graph.vmfb")
        print(f"{language}: {[*index]}", flush=True)


class Own:
    """A language's own launches."""

    def __init__(self, directory: Path, language: str, context: Any) -> None:
        self._directory, self._language, self._context = directory, language, context
        self._index = json.loads((directory / f"{language}.json").read_text())

    def launch(self, function: str, sizes: Mapping[str, int], given: list[Any]) -> Any:
        """What launches a function on PyTorch's current stream, with tensors and numbers."""
        import torch

        from custom_dispatch.measure.native_launch import NativeLaunch

        described = [
            each if isinstance(each, float) else (each.data_ptr(), tuple(each.shape))
            for each in given
        ]
        words = passed(self._language, described)
        row = self._index[function]
        launch = NativeLaunch(
            self._context,
            (self._directory / f"{self._language}_{function}.cubin").read_bytes(),
            row["entry"],
            grid=grid_of(self._language, function, sizes),
            block=(*row["block"], 1, 1)[:3],
            shared_bytes=row["shared"],
            bindings=[(ctypes.c_char * len(each)).from_buffer_copy(each) for each in words],
            constants=(),
        )
        clears = bool(zeros(self._language, function))

        def run() -> None:
            if clears:
                given[-1].zero_()
            launch.enqueue(torch.cuda.current_stream().cuda_stream)

        return run

    def chain(self, chain: Chain, sizes: Mapping[str, int], v: Any, y: Any) -> Callable[[], None]:
        """As many steps as many have more than few, between two buffers."""
        import torch

        places = {"v": [v.clone(), torch.empty_like(v)], "y": [y.clone(), torch.empty_like(y)]}
        runs = []
        for turn in (0, 1):
            for function, result, names in chain.steps:
                held = {name: places[name][turn if name == "v" else 0] for name in "vy"}
                given = [FACTOR if name == "a" else held[name] for name in names]
                out = places[result][1 - turn if result == "v" else 0]
                at = len(given) - names.count("a")  # numbers are behind the result
                runs.append(self.launch(function, sizes, [*given[:at], out, *given[at:]]))

        def steps() -> None:
            for _ in range((MANY - FEW) // 2):
                for run in runs:
                    run()

        return steps


def check(directory: Path) -> int:
    """Call each function at random, in a module and by its own launch."""
    import torch

    import custom_dispatch as cd
    from custom_dispatch.measure.native_launch import NativeContext

    torch.zeros(1, device="cuda")
    random, tally = np.random.default_rng(), gpu_command.Tally()
    with NativeContext() as context:
        for language in built(directory):
            program = cd.load(directory / f"{language}.vmfb", "cuda")
            own = Own(directory, language, context)
            for function, sizes, arguments, wanted in calls(random):
                more = [np.zeros_like(wanted)] if zeros(language, function) else []
                exact = function == "scale_rows"
                for of in ("module", "own launch"):
                    if of == "module":
                        a = [FACTOR] if function == "saxpy" else []
                        found = np.asarray(program.function(function)(*arguments, *more, *a))
                    else:
                        tensors = [torch.from_numpy(each).cuda() for each in arguments]
                        out = torch.full(wanted.shape, np.nan, device="cuda")
                        number = [FACTOR] if function == "saxpy" else []
                        own.launch(function, sizes, [*tensors, out, *number])()
                        found = out.cpu().numpy()
                    error = np.abs(found - wanted).max() / np.abs(wanted).max()
                    is_right = error == 0 if exact else error < 1e-5
                    what = "" if is_right else f"it is off by {error:.1e}"
                    tally.add(f"{language} {function} {sizes} {of}", what)
    return tally.finish()


def calls(random: np.random.Generator) -> Iterator[tuple[str, dict[str, int], list[Any], Any]]:
    """Functions with sizes, arrays, and what they give."""
    for n in LENGTHS:
        x, y = random.standard_normal((2, n), np.float32)
        yield "saxpy", {"n": n}, [x, y], np.float32(FACTOR) * x + y
    for m, n in SHAPES:
        x, y = random.random((m, n), np.float32), random.random(m, np.float32)
        yield "scale_rows", {"m": m, "n": n}, [x, y], x * y[:, None]
        yield "row_sum", {"m": m, "n": n}, [x], x.sum(1, dtype=np.float64).astype("f")


def built(directory: Path) -> list[str]:
    """The languages that a directory has."""
    return [path.stem for path in sorted(directory.glob("*.json"))]


def module_us(path: Path, arguments: list[Any], *, is_graph: bool) -> float:
    """Microseconds of a step in a module."""
    import custom_dispatch as cd

    return step_us(cd.load(path, "cuda"), arguments, FEW, MANY, ROUNDS, is_graph=is_graph)


def run(directory: Path) -> Iterator[dict[str, Any]]:
    """Time each chain of each language."""
    import torch

    from custom_dispatch.measure.native_launch import NativeContext

    torch.zeros(1, device="cuda")
    with NativeContext() as context:
        for language, chain in itertools.product(built(directory), CHAINS):
            for sizes in chain.sizes:
                shapes = chain.shapes(**sizes)
                v = torch.rand(shapes["v"], device="cuda")
                v /= v.sum(-1, keepdim=True)  # sums stay 1
                y = torch.rand(shapes["y"], device="cuda")
                steps = Own(directory, language, context).chain(chain, sizes, v, y)
                us = {}
                for name, what in (("graph", in_graph(steps)), ("queued", steps)):
                    once = with_events(what)
                    found = [once() for _ in range(ROUNDS)][1:]
                    us[f"own_{name}"] = statistics.median(found) * 1e6 / (MANY - FEW)
                path = directory / file_of(language, chain, sizes)
                us["module"] = module_us(path.with_suffix(".vmfb"), [v, y], is_graph=False)
                graph = path.with_name(f"{path.name}_graph.vmfb")
                us["module_graph"] = module_us(graph, [v, y], is_graph=True)
                told = ", ".join(f"{name} {value:.2f}" for name, value in us.items())
                shown = f"{language:6} {chain.name:22} {sizes!s:26}"
                print(f"{shown} us: {told}; {ratio(us):.3f}", flush=True)
                row = {"language": language, "kernels": chain.name, **sizes, "us": us}
                yield row | {"ratio": ratio(us)}


def ratio(us: Mapping[str, float]) -> float:
    """Of the faster of ours to the faster of the language's own."""
    return min(us["module"], us["module_graph"]) / min(us["own_graph"], us["own_queued"])


def main() -> int:
    """Build, check or run."""
    given = gpu_command.parser(__doc__).parse_args()
    if given.what == "build":
        build(given.directory)
        return 0
    if given.what == "check":
        return check(given.directory)
    rows = []
    for row in run(given.directory):
        rows.append(row)
        if given.save:
            gpu_command.save(given.save, "gpu.languages run", rows=rows)
    return int(any(row["ratio"] > BAR for row in rows))


if __name__ == "__main__":
    sys.exit(main())
