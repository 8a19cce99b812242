"""Half one of the GPU suite: build every module. Needs no GPU.

    python tests/gpu/build.py DIRECTORY

Carry the directory to a machine with a GPU and run `run.py` there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from sample_kernels import (  # noqa: E402
    choices,
    clusters,
    implementations,
    optional,
    samples,
    scratch,
    signatures,
    templates,
)

import custom_dispatch as cd  # noqa: E402
from cuda_kernels.norms import rms_norm_f16, rms_norm_f32  # noqa: E402
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace  # noqa: E402
from custom_dispatch.ir.compiler_tool import compile_mlir  # noqa: E402
from custom_dispatch.toolchain.ptxas import assemble  # noqa: E402
from gpu.cases import MODULES  # noqa: E402

KERNELS = {
    "simple_mul": [simple_mul, simple_mul_inplace],
    "samples": samples.ALL,
    "signatures": signatures.ALL,
    "templates": templates.ALL,
    "optional": optional.ALL,
    "implementations": implementations.ALL,
    "scratch": scratch.ALL,
    "clusters": [clusters.swapped],
    "choices": choices.ALL,
    "rms_norm": [rms_norm_f32, rms_norm_f16],
}


def build_module(name: str, directory: Path, **more: Any) -> Path:
    """Build one module of the suite as DIRECTORY/NAME.vmfb; `more` are options of `cd.compile`."""
    model_name, kernels_name, targets, how = MODULES[name]
    model = None if model_name is None else HERE.parents[1] / "mlir" / model_name
    kernels = KERNELS[kernels_name]
    path = directory / f"{name}.vmfb"
    if how.startswith("compile"):
        options: Any = dict(word.split("=") for word in how.split()[1:])
        return cd.compile(model, kernels, targets, **options, **more).save(path)
    if how == "cubin":
        return cd.compile(model, _from_cubins(kernels, targets, directory), targets).save(path)
    form = "source" if how.endswith("source") else "executable"
    emitted = cd.emit(kernels, targets, output=directory / f"{name}.mlir", into=model, form=form)
    # The printed command, run as it is but for the tool's path and the file names.
    flags = [word for word in emitted.command if word.startswith("--")]
    path.write_bytes(compile_mlir(emitted.path.read_bytes(), flags))
    return path


def _from_cubins(
    kernels: list[cd.Kernel], targets: tuple[str, ...], directory: Path
) -> list[cd.Kernel]:
    """The same kernels, declared with machine code as their objects."""
    library = cd.build(kernels, targets)
    files = {}
    for item in library.objects:
        cubin = directory / f"{item.name}_{item.target.symbol}.cubin"
        cubin.write_bytes(assemble(item.data, item.target.cuda_arch).cubin)
        files[str(item.target)] = cubin
    return [
        cd.Kernel(
            kernel.name,
            operands=kernel.operands,
            block=kernel.block,
            grid=kernel.grid,
            objects=files,
        )
        for kernel in kernels
    ]


def main(directory: Path) -> None:
    """Build every module."""
    directory = directory.resolve()  # a relative object is looked for beside the declaring file
    directory.mkdir(parents=True, exist_ok=True)
    for name in MODULES:
        path = build_module(name, directory)
        print(f"{path.name:24} {path.stat().st_size:8} bytes  {', '.join(MODULES[name][2])}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tests/gpu/build.py DIRECTORY")
    main(Path(sys.argv[1]))
