"""From a .cu file to a .vmfb: the whole, against the sum of its parts measured alone.

Bar: `simple_mul` for one CUDA architecture with NVRTC, in one process after import, takes at most
1.5 times NVRTC's compilation plus IREE's compilation of the same module. Nothing is taken from the
store.
"""

from __future__ import annotations

from pathlib import Path

import custom_dispatch as cd
from benchmarks.lib.report import Row, finish, interleaved, quartiles
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.ir.compiler_tool import compile_mlir, device_flags
from custom_dispatch.ir.executable import embedded
from custom_dispatch.ir.library_module import write_library_module
from custom_dispatch.kernel.target import Arch
from custom_dispatch.ptx import read_module
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import CompileRequest
from custom_dispatch.toolchain.ptxas import assemble

REPETITIONS = 15
TARGETS = ["cuda:sm_90"]
MODEL = """
func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
func.func @main(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @simple_mul(%lhs, %rhs) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""


def main() -> int:
    """Measure and report."""
    compiler = find_compiler("nvrtc")
    source = Path(str(simple_mul.source))
    request = CompileRequest(source, Arch(90))
    ptx = compiler.compile(request).ptx
    library = cd.build([simple_mul], TARGETS)
    text = write_library_module(library, embedded, "executable").encode()
    flags = device_flags(library)
    times = interleaved(
        {
            "NVRTC alone": lambda: compiler.compile(request),
            "IREE alone (iree-compile, same module)": lambda: compile_mlir(text, flags),
            "ptxas, which proves that the PTX assembles": lambda: assemble(ptx, Arch(90)),
            "reading the PTX": lambda: read_module(ptx.decode()),
            "writing the IR": lambda: write_library_module(library, embedded, "executable"),
            "the whole: cd.compile(None, [simple_mul])": lambda: cd.compile(
                None, [simple_mul], TARGETS, store=False
            ),
            "the whole, linked into a model": lambda: cd.compile(
                MODEL, [simple_mul], TARGETS, store=False
            ),
        },
        REPETITIONS,
    )
    parts = sum(quartiles(times[name])[0] for name in list(times)[:2])
    rows = []
    for name, values in times.items():
        median, spread = quartiles(values)
        whole = name.startswith("the whole")
        rows.append(
            Row(name, median, spread, median / parts if whole else None, 1.5 if whole else None)
        )
    notes = [
        f"the ratio is to NVRTC alone plus IREE alone, {parts:.1f} ms",
        "the rest of the whole is ptxas, reading the PTX, writing the IR, and for a model parsing "
        "and linking it",
    ]
    packages = ("custom-dispatch", "iree-base-compiler", "nvidia-cuda-nvrtc", "nvidia-cuda-nvcc")
    return finish("compile_time", rows, notes, packages)
