"""`kernel(a, b)`: the first call of all, the first of another process, and one after another.

Bars: the first call in a fresh process with an empty store takes at most 1.3 times NVRTC's and
IREE's compilation and loading measured alone; in a second process at most 60 ms after imports; a
later call at most 1.3 times a bare invocation through IREE's own Python bindings.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

from benchmarks.lib.report import Row, as_usual, finish, interleaved, quartiles

PROCESSES = 9
REPETITIONS = 401
WARM_BAR_MS = 60.0
ELEMENTS = (1_000, 100_000)

_IMPORTS = """
import json, time, sys
import numpy
import custom_dispatch as cd
import custom_dispatch.eager.call, custom_dispatch.compilation
from cuda_kernels.simple_mul import simple_mul
x = numpy.ones(1000, numpy.float32)
"""
_CALL = f"""{_IMPORTS}
start = time.perf_counter()
simple_mul.on("cpu")(x, x)
print(json.dumps([(time.perf_counter() - start) * 1e3]))
"""
# Each part as it is when nothing was done before: the library is loaded, the device is made.
_PARTS = f"""{_IMPORTS}
import custom_dispatch.frontends.mlir
from pathlib import Path
from custom_dispatch.ir.compiler_tool import device_flags
from custom_dispatch.ir.compiler_tool import compile_mlir
from custom_dispatch.ir.executable import embedded
from custom_dispatch.ir.library_module import write_library_module
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.compiler import CompileRequest
from custom_dispatch.toolchain.choose_compiler import find_compiler
clock = time.perf_counter
start = clock()
request = CompileRequest(simple_mul.source, Arch(80), entries=(simple_mul.entry,))
find_compiler("nvrtc").compile(request)
nvrtc = clock() - start
library = cd.build(simple_mul, ["cpu:host"])
text = write_library_module(library, embedded, "executable").encode()
flags = device_flags(library)
start = clock()
content = compile_mlir(text, flags)
iree = clock() - start
start = clock()
program = cd.load(content, device="cpu")
load = clock() - start
print(json.dumps([part * 1e3 for part in (nvrtc, iree, load)]))
"""


def _run(code: str, store: str) -> list[float]:
    environment = as_usual() | {"CUSTOM_DISPATCH_STORE": store}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    found: list[float] = json.loads(done.stdout)
    return found


def first_calls() -> list[Row]:
    """The first call with an empty store and with a full one, each in processes of their own."""
    cold, warm = [], []
    parts: list[list[float]] = []
    _run(_CALL, "off")  # fills the file system's and Python's caches
    for _ in range(PROCESSES):
        parts.append(_run(_PARTS, "off"))
        with tempfile.TemporaryDirectory() as store:
            cold += _run(_CALL, store)
            warm += _run(_CALL, store)
    rows = []
    names = ("NVRTC alone, in a fresh process", "iree-compile alone", "loading alone")
    for name, values in zip(names, zip(*parts, strict=True), strict=True):
        rows.append(Row(name, *quartiles(list(values))))
    whole = quartiles([sum(values) for values in parts])[0]
    median, spread = quartiles(cold)
    rows.append(Row("first call, empty store", median, spread, median / whole, 1.3))
    median, spread = quartiles(warm)
    rows.append(Row("first call of a second process", median, spread, median / WARM_BAR_MS, 1))
    return rows


def later_calls(elements: int) -> list[Row]:
    """A call in a process that has called before, beside IREE's own ways."""
    import numpy
    from iree import runtime as rt

    import custom_dispatch as cd
    from cuda_kernels.simple_mul import simple_mul
    from custom_dispatch.runtime.device import hal_device

    x = numpy.ones(elements, numpy.float32)
    module = cd.compile(None, simple_mul, ["cpu:host"])
    device = hal_device("cpu")
    instance = rt.VmInstance()
    vm_module = rt.VmModule.copy_buffer(instance, module.bytes)
    context = rt.VmContext(instance, [rt.create_hal_module(instance, device), vm_module])
    function = vm_module.lookup_function("simple_mul")
    invoker = rt.FunctionInvoker(context, device, function)

    def bare() -> object:
        return invoker(x, x).to_host()

    kernel = simple_mul.on("cpu")
    program = cd.load(module, device="cpu")
    variants: dict[str, Callable[[], object]] = {
        f"IREE's own invocation, {elements} elements": bare,
        f"kernel(a, b) again, {elements} elements": lambda: kernel(x, x),
        f"program.simple_mul(a, b), {elements} elements": lambda: program.simple_mul(x, x),
    }
    for run in variants.values():
        for _ in range(50):
            run()
    times = interleaved(variants, REPETITIONS)
    base = quartiles(times[next(iter(variants))])[0]
    rows = []
    for index, (name, values) in enumerate(times.items()):
        median, spread = quartiles(values)
        ratio = median / base if index else None
        rows.append(Row(name, median, spread, ratio, 1.3 if index == 1 else None))
    return rows


def main() -> int:
    """Measure and report."""
    rows = first_calls()
    with tempfile.TemporaryDirectory() as store:
        os.environ["CUSTOM_DISPATCH_STORE"] = store
        for elements in ELEMENTS:
            rows += later_calls(elements)
    notes = [
        "simple_mul on the CPU device (cpu:host); each first call in a process of its own, timed "
        "after the imports of numpy, the package and the kernel's declaration",
        "the first call's ratio is to the sum of NVRTC, iree-compile and loading in a fresh "
        "process of the same run",
        f"the second process' ratio is to {WARM_BAR_MS:g} ms",
        "a call copies its arguments to the device and its result back; so does the bare one "
        "(iree.runtime.FunctionInvoker and to_host, which maps the result)",
    ]
    packages = ("custom-dispatch", "iree-base-compiler", "iree-base-runtime", "nvidia-cuda-nvrtc")
    return finish("first_call", rows, notes, packages)
