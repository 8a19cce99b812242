"""What this package adds to a call on the CPU, where a call takes microseconds.

Against the barest invocation of the same function through IREE's Python bindings, on IREE's device
without worker threads (local-sync). The bar: 3 us.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.lib.report import Row, finish, interleaved, quartiles

ROUNDS, CALLS = 301, 100
BAR_US = 3.0


def rows_for(elements: int) -> list[Row]:
    """A function with arrays on the device, beside IREE alone."""
    import numpy
    from iree import runtime as rt

    import custom_dispatch as cd
    from cuda_kernels.simple_mul import simple_mul
    from custom_dispatch.runtime import device

    device._DRIVERS["cpu"] = "local-sync"
    device.hal_device.cache_clear()
    program = cd.load(cd.compile(None, simple_mul, ["cpu:host"]), device="cpu")
    function = program.simple_mul
    array = numpy.random.default_rng(0).random(elements, numpy.float32)
    x, y, out = (program.to_device(array.copy()) for _ in range(3))
    context, points = function._context, function._points

    def barest() -> Any:
        inputs, outputs = rt.VmVariantList(2), rt.VmVariantList(1)
        inputs.push_ref(x.view)
        inputs.push_ref(y.view)
        context.invoke(points.waiting, inputs, outputs)
        return outputs.get_as_object(0, rt.HalBufferView)

    variants: dict[str, Callable[[], object]] = {
        "IREE alone, barest": barest,
        "call": lambda: function(x, y),
        "call with out=": lambda: function(x, y, out=out),
        "call with numpy arrays": lambda: function(array, array),
        "submit and result": lambda: function.submit(x, y).result(),
        "IREE alone, barest, again": barest,
    }
    numpy.testing.assert_array_equal(function(x, y).to_host(), array * array)
    # Many at a time: reading the clock takes a tenth of a call.
    times = interleaved({name: _often(run) for name, run in variants.items()}, ROUNDS)
    medians = {name: quartiles(values) for name, values in times.items()}
    least = medians["IREE alone, barest"][0]
    rows = []
    for name, (middle, spread) in medians.items():
        each = middle / CALLS * 1e3
        added = (middle - least) / CALLS * 1e3
        is_bar = name == "call"
        ratio = added / BAR_US if is_bar else middle / least
        label = f"{CALLS} x {name}: {each:.2f} us each, {added:+.2f}"
        rows.append(Row(label, middle, spread, ratio, 1.0 if is_bar else None))
    return rows


def _often(run: Callable[[], object]) -> Callable[[], object]:
    def several() -> None:
        for _ in range(CALLS):
            run()

    return several


def main() -> int:
    """Time a small call."""
    notes = ["1024 f32; ratios are to the barest, and the bar's is what is added to it, to 3 us"]
    return finish("cpu_calls", rows_for(1024), notes, ("iree-base-runtime", "numpy"))
