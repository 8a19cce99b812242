"""A function between a product and a sum of 4 M f32 on the CPU, against linalg written by hand.

Bar: at most 1.1 times the time of hand-written linalg. All are one dispatch, and with MLIR's own
functions the bits are the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from iree import runtime as rt

import custom_dispatch as cd
from benchmarks.lib.report import Row, finish, interleaved, quartiles
from custom_dispatch.runtime.device import hal_device

COUNT = 4 * 2**20
REPETITIONS = 41
SOURCE = Path(__file__).resolve().parents[2] / "tests/functions/functions.cu"
TYPE = f"tensor<{COUNT}xf32>"
BODY = """
    %c0 = arith.constant 0.044715 : f32
    %c1 = arith.constant -1.5957691216 : f32
    %one = arith.constant 1.0 : f32
    %1 = arith.mulf %v, %c0 : f32
    %2 = arith.mulf %v, %v : f32
    %3 = math.fma %1, %2, %v : f32
    %4 = arith.mulf %3, %c1 : f32
    %5 = math.exp %4 : f32
    %6 = arith.addf %5, %one : f32
    %7 = arith.divf %v, %6 : f32
    %8 = arith.cmpf ogt, %v, %l : f32
    %9 = arith.select %8, %v, %7 : f32
    linalg.yield %9 : f32"""
BY_HAND = f"""%empty = tensor.empty() : {TYPE}
  %r = linalg.generic {{
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]
  }} ins(%m, %limit : {TYPE}, tensor<f32>) outs(%empty : {TYPE}) {{
  ^bb0(%v: f32, %l: f32, %o: f32):{BODY}
  }} -> {TYPE}"""


def model(between: str) -> str:
    return f"""
func.func private @my_gelu({TYPE}, tensor<f32>) -> {TYPE}
func.func @main(%x: {TYPE}, %a: {TYPE}, %b: {TYPE}) -> {TYPE} {{
  %m = arith.mulf %x, %a : {TYPE}
  %limit = arith.constant dense<1.5> : tensor<f32>
  {between}
  %s = arith.addf %r, %b : {TYPE}
  return %s : {TYPE}
}}"""


def main() -> int:
    """Measure and report."""
    call = model(f"%r = call @my_gelu(%m, %limit) : ({TYPE}, tensor<f32>) -> {TYPE}")
    by_hand = "\n".join(line for line in model(BY_HAND).splitlines() if "private" not in line)
    compiled = {"linalg by hand": cd.compile(by_hand, [], ["cpu:host"])}
    compiled["linalg by hand again (noise)"] = compiled["linalg by hand"]
    for library in ("mlir", "cuda"):
        function = cd.Function(
            "my_gelu",
            source=SOURCE,
            operands=[cd.Scalar("x", "f32"), cd.Scalar("limit", "f32")],
            result="f32",
            library=library,  # type: ignore[arg-type]
        )
        compiled[f'cd.Function, library="{library}"'] = cd.compile(call, function, ["cpu:host"])
    programs = {name: cd.load(each, "cpu") for name, each in compiled.items()}
    rng, device = np.random.default_rng(0), hal_device("cpu")
    values = [rt.asdevicearray(device, rng.standard_normal(COUNT, np.float32)) for _ in range(3)]
    found = {name: np.asarray(program.main(*values)) for name, program in programs.items()}
    first, _, same, near = found.values()
    np.testing.assert_array_equal(same, first)
    np.testing.assert_allclose(near, first, rtol=1e-5, atol=1e-6)
    calls = {
        name: (lambda program=program: program.main(*values)) for name, program in programs.items()
    }
    times = interleaved(calls, REPETITIONS)
    base = quartiles(times["linalg by hand"])[0]
    rows = [
        Row(
            name,
            *quartiles(values),
            quartiles(values)[0] / base,
            1.1 if "mlir" in name else None,
        )
        for name, values in times.items()
    ]
    notes = [f"{COUNT} f32; a product and a sum around the function, one dispatch each"]
    packages = ("custom-dispatch", "iree-base-compiler", "iree-base-runtime", "numpy")
    return finish("cpu_functions", rows, notes, packages)


if __name__ == "__main__":
    raise SystemExit(main())
