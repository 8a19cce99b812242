"""Functions inside the code that IREE generates for GPUs: correct first, then timed.

Two halves, as the GPU suite has: `build DIRECTORY` on any machine, then where there are a GPU,
iree-base-runtime and numpy

    python -m benchmarks gpu.functions check DIRECTORY [--device cuda]
    python -m benchmarks gpu.functions run DIRECTORY [--save FILE]

`check` compares the functions of the tests, on operands of all kinds, with their kernel form on the
same GPU, and models that broadcast, reduce and gather with numpy. ptxas fuses products and sums of
kernels, so numbers of floats may differ by a few units in the last place; how many do is printed.

`run` times, in turn, a step that multiplies 4 M f32, calls a function and adds: linalg written by
hand, the function with MLIR's `exp` and with CUDA's, and its kernel form between a product and a
sum that IREE generates. Modules repeat steps, between which nothing is fused.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import custom_dispatch as cd
from benchmarks.cpu.functions import BODY
from benchmarks.lib import gpu_command
from benchmarks.lib.gpu_timing import step_us
from tests.functions.conformance import both, differing, model_of, operands
from tests.functions.functions import BOUNDS, EXACT, declare

TARGET = "cuda:sm_90"
COUNTS = (4 * 2**20, 64 * 2**20)
FEW, MANY, ROUNDS = 10, 110, 15
MOST_UNITS = 2
UNFUSED = cd.Function(
    "unfused_gelu",
    source=EXACT[0].source,
    entry="my_gelu",
    operands=EXACT[0].operands,
    result="f32",
    library="cuda",
    options=["--fmad=false"],
)
COMPARED = (*EXACT, UNFUSED)
OF_MLIR = declare("of_c_library", "f32", x="f32")
LARGER = declare("larger_magnitude", "f32", a="f32", b="f32")
MIRRORED = declare("mirrored", "i64", i="i64", count="i64")
GELU = declare("my_gelu", "f32", x="f32", limit="f32")
n = cd.dim("n")
KERNEL = cd.Kernel(
    "gelu_kernel",
    source=Path(__file__).parents[1] / "cases" / "gelu_kernel.cu",
    operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("n", "i32", n)],
    requires=[n % 4 == 0],
    block=256,
    grid=cd.ceildiv(n, 1024),
)
MODELS = """
func.func private @my_gelu(tensor<?x48xf32>, tensor<48xf32>) -> tensor<?x48xf32>
func.func private @larger_magnitude(f32, f32) -> f32
func.func private @mirrored(i64, i64) -> i64
func.func @product(%x: tensor<?x40xf32>, %w: tensor<40x48xf32>, %limit: tensor<48xf32>)
    -> tensor<?x48xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x40xf32>
  %empty = tensor.empty(%n) : tensor<?x48xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x48xf32>) -> tensor<?x48xf32>
  %h = linalg.matmul ins(%x, %w : tensor<?x40xf32>, tensor<40x48xf32>)
                     outs(%start : tensor<?x48xf32>) -> tensor<?x48xf32>
  %r = call @my_gelu(%h, %limit) : (tensor<?x48xf32>, tensor<48xf32>) -> tensor<?x48xf32>
  %s = arith.addf %r, %h : tensor<?x48xf32>
  return %s : tensor<?x48xf32>
}
func.func @before(%x: tensor<?x48xf32>, %w: tensor<48x40xf32>, %limit: tensor<48xf32>)
    -> tensor<?x40xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x48xf32>
  %r = call @my_gelu(%x, %limit) : (tensor<?x48xf32>, tensor<48xf32>) -> tensor<?x48xf32>
  %empty = tensor.empty(%n) : tensor<?x40xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x40xf32>) -> tensor<?x40xf32>
  %h = linalg.matmul ins(%r, %w : tensor<?x48xf32>, tensor<48x40xf32>)
                     outs(%start : tensor<?x40xf32>) -> tensor<?x40xf32>
  return %h : tensor<?x40xf32>
}
func.func @largest(%x: tensor<?x1000xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x1000xf32>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.reduce ins(%x : tensor<?x1000xf32>) outs(%start : tensor<?xf32>) dimensions = [1]
    (%item: f32, %before: f32) {
      %both = func.call @larger_magnitude(%item, %before) : (f32, f32) -> f32
      linalg.yield %both : f32
    }
  return %r : tensor<?xf32>
}
func.func @backwards(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %count = arith.index_cast %n : index to i64
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%empty : tensor<?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %wide = arith.index_cast %i : index to i64
    %other = func.call @mirrored(%wide, %count) : (i64, i64) -> i64
    %j = arith.index_cast %other : i64 to index
    %item = tensor.extract %x[%j] : tensor<?xf32>
    linalg.yield %item : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""


def steps(count: int, between: str, taken: str = ", tensor<f32>") -> str:
    """A module whose `steps_N` has N steps: a product, what is given, and a sum."""
    kind = f"tensor<{count}xf32>"
    parts = [f"func.func private @my_gelu({kind}{taken}) -> {kind}"]
    for number in (FEW, MANY):
        lines = [f"func.func @steps_{number}(%x0: {kind}, %a: {kind}, %b: {kind}) -> {kind} {{"]
        lines.append("  %limit = arith.constant dense<1.5> : tensor<f32>")
        for step in range(number):
            lines += [
                f"  %m{step} = arith.mulf %x{step}, %a : {kind}",
                between.replace("KIND", kind).replace("STEP", str(step)),
                f"  %s{step} = arith.addf %r{step}, %b : {kind}",
                f"  %x{step + 1} = util.optimization_barrier %s{step} : {kind}",
            ]
        parts.append("\n".join([*lines, f"  return %x{number} : {kind}", "}"]))
    return "\n".join(parts)


LAUNCH = "  %rSTEP = call @my_gelu(%mSTEP) : (KIND) -> KIND"
CALL = "  %rSTEP = call @my_gelu(%mSTEP, %limit) : (KIND, tensor<f32>) -> KIND"
BY_HAND = f"""  %eSTEP = tensor.empty() : KIND
  %rSTEP = linalg.generic {{
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]
  }} ins(%mSTEP, %limit : KIND, tensor<f32>) outs(%eSTEP : KIND) {{
  ^bb0(%v: f32, %l: f32, %o: f32):{BODY}
  }} -> KIND"""


def variants(count: int) -> dict[str, tuple[str, Sequence[Any]]]:
    """By name, a module's text and the functions that it calls."""
    of_cuda = declare("my_gelu", "f32", library="cuda", x="f32", limit="f32")
    return {
        "by hand": (steps(count, BY_HAND).partition("\n")[2], []),
        "mlir": (steps(count, CALL), [GELU]),
        "cuda": (steps(count, CALL), [of_cuda]),
        "kernel": (steps(count, LAUNCH, "").replace("my_gelu", KERNEL.name), [KERNEL]),
    }


def build(directory: Path) -> None:
    """Compile everything."""
    directory.mkdir(parents=True, exist_ok=True)
    functions = [*COMPARED, OF_MLIR]
    modules = {
        "generated": cd.compile(model_of(functions), functions, [TARGET]),
        "kernels": cd.compile(None, [each.kernel() for each in functions], [TARGET]),
        "models": cd.compile(MODELS, [GELU, LARGER, MIRRORED], [TARGET]),
    }
    for count in COUNTS:
        for name, (text, called) in variants(count).items():
            modules[f"{name.replace(' ', '_')}_{count}"] = cd.compile(text, called, [TARGET])
    for name, module in modules.items():
        module.save(directory / f"{name}.vmfb")


def gelu(x: Any, limit: Any) -> Any:
    """`my_gelu` in double precision."""
    with np.errstate(over="ignore"):
        small = x / (1 + np.exp(-1.5957691216 * (0.044715 * x**3 + x)))
    return np.where(x > limit, x, small)


def check(directory: Path, device: str) -> int:
    """Compare with kernels, and with numpy."""
    tally = gpu_command.Tally()
    generated, kernels = (
        cd.load(directory / f"{e}.vmfb", device) for e in ("generated", "kernels")
    )
    for function in COMPARED:
        units: list[float] = []
        for seed in range(20):
            values = operands(function, seed, BOUNDS.get(function.name))
            for found, wanted in both(generated, kernels, function, values):
                places = np.flatnonzero(differing(values, found, wanted))
                off = [_units(found[i], wanted[i]) for i in places]
                units += off
                i = places[int(np.argmax(off))] if off else 0
                shown = (*(x[i] for x in values), found[i], wanted[i])
                problem = f"such as {shown}" if max(off, default=0) > MOST_UNITS else ""
                tally.add(f"{function.name}, operands {seed}", problem)
        if units:
            print(f"{function.name}: {len(units)} differ, by up to {max(units):g} units")
    x = np.linspace(-9, 9, 512, dtype=np.float32)
    wide = x.astype(np.float64)
    wanted = np.tanh(wide) + np.exp(-wide * wide) * np.sin(wide) + np.abs(wide) ** 0.3
    _add(tally, "of_c_library", generated.call_of_c_library(x), wanted, 2e-6)
    models, rng = cd.load(directory / "models.vmfb", device), np.random.default_rng()
    for rows in (1, 7, 130, 3000):
        x, v = (rng.standard_normal((rows, n), np.float32) for n in (40, 48))
        w, limit = rng.standard_normal((40, 48), np.float32), rng.standard_normal(48, np.float32)
        h = x.astype(np.float64) @ w
        _add(tally, f"product {rows}", models.product(x, w, limit), gelu(h, limit) + h, 1e-4)
        of_v = gelu(v.astype(np.float64), limit) @ w.T
        _add(
            tally, f"before {rows}", models.before(v, np.ascontiguousarray(w.T), limit), of_v, 1e-4
        )
        many = rng.standard_normal((rows, 1000), np.float32)
        largest = many[np.arange(rows), np.abs(many).argmax(axis=1)]
        _add(tally, f"largest {rows}", models.largest(many), largest, 0.0)
        _add(tally, f"backwards {rows}", models.backwards(many[:, 0].copy()), many[::-1, 0], 0.0)
    return tally.finish("comparisons")


def _units(found: Any, wanted: Any) -> float:
    """How many units in the last place two numbers differ by."""
    if wanted.dtype.kind in "iub" or not np.isfinite([found, wanted]).all():
        return np.inf
    return float(abs(np.float64(found) - np.float64(wanted)) / np.spacing(abs(wanted)))


def _add(tally: gpu_command.Tally, what: str, found: Any, wanted: Any, tolerance: float) -> None:
    error = np.abs(np.asarray(found).astype(np.float64) - wanted).max()
    tally.add(
        what, "" if error <= tolerance * max(1.0, np.abs(wanted).max()) else f"{error:.3g} off"
    )


def run(directory: Path, device: str, save: Path | None) -> int:
    """Time the steps."""
    rows = []
    for count in COUNTS:
        rng = np.random.default_rng()
        values = [rng.standard_normal(count, np.float32) for _ in range(3)]
        us: dict[str, float] = {}
        first: Any = None
        for name in ("by hand", "mlir", "cuda", "kernel", "by hand"):
            program = cd.load(directory / f"{name.replace(' ', '_')}_{count}.vmfb", device)
            held = [program.to_device(each) for each in values]
            found = np.asarray(program.function(f"steps_{FEW}")(*held))
            first = found if first is None else first
            error = float(np.abs(found - first).max() / np.abs(first).max())
            if not error < 1e-4:
                sys.exit(f"{name}: {error:.3g} beside linalg by hand")
            key = f"{name} again" if name in us else name
            us[key] = step_us(program, held, FEW, MANY, ROUNDS, is_graph=False)
        rows.append({"count": count, "us": us})
        shown = ", ".join(f"{name} {time:.2f}" for name, time in us.items())
        print(f"{count}: {shown} us a step", flush=True)
    if save:
        gpu_command.save(save, "gpu.functions run", target=TARGET, rows=rows)
    return 0


def main() -> int:
    """Build, check or run."""
    return gpu_command.of_three(__doc__, build, check, run)


if __name__ == "__main__":
    sys.exit(main())
