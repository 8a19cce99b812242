"""The CPU variant of an elementwise multiply, against IREE's own code for the same op.

Bar: 2**24 f32, at most 1.5 times the time of `arith.mulf` compiled by IREE for the same CPU, on the
same device. A call is timed whole: operands are on the device, the result is allocated by IREE.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from iree import runtime as rt

import custom_dispatch as cd
from benchmarks.lib.report import Row, finish, interleaved, quartiles
from cuda_kernels.simple_mul import n, simple_mul
from custom_dispatch.ir.compiler_tool import compile_mlir, cpu_flags
from custom_dispatch.kernel.target import Target
from custom_dispatch.runtime.device import hal_device

COUNT = 2**24
REPETITIONS = 41
PLAIN = b"""
func.func @plain(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.mulf %lhs, %rhs : tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""

wide_mul = cd.Kernel(
    "wide_mul",
    entry="simple_mul",
    source=str(simple_mul.source),
    operands=simple_mul.operands,
    block=(256, 1, 1),
    grid=(cd.ceildiv(n, 256), 1, 1),
)


def _functions(target: Target) -> dict[str, Callable[[], object]]:
    flags = ["--iree-hal-target-device=local", *cpu_flags(target)]
    plain = cd.load(compile_mlir(PLAIN, flags), "cpu")
    ours = cd.load(cd.compile(None, [simple_mul, wide_mul], [target]), "cpu")
    device = hal_device("cpu")
    rng = np.random.default_rng(0)
    lhs, rhs = (rng.standard_normal(COUNT, np.float32) for _ in range(2))
    left, right = rt.asdevicearray(device, lhs), rt.asdevicearray(device, rhs)
    calls = {
        f"{target}: IREE's own arith.mulf": plain.plain,
        f"{target}: IREE's own again (noise)": plain.plain,
        f"{target}: simple_mul, block 64": ours.simple_mul,
        f"{target}: the same kernel, block 256": ours.wide_mul,
    }
    for call in calls.values():  # correct first
        np.testing.assert_array_equal(np.asarray(call(left, right)), lhs * rhs)
    return {name: (lambda call=call: call(left, right)) for name, call in calls.items()}


def main() -> int:
    """Measure and report."""
    rows = []
    for name in ("cpu", "cpu:x86-64-v3"):
        times = interleaved(_functions(Target.parse(name)), REPETITIONS)
        base = quartiles(next(iter(times.values())))[0]
        for what, values in times.items():
            median, spread = quartiles(values)
            bar = 1.5 if "block" in what else None
            rows.append(Row(what, median, spread, median / base, bar))
    notes = [f"{COUNT} f32, 12 bytes of memory traffic an element; device local-task"]
    packages = ("custom-dispatch", "iree-base-compiler", "iree-base-runtime", "numpy")
    return finish("cpu_elementwise", rows, notes, packages)
