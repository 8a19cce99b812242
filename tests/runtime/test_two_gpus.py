"""A machine with two GPUs, by a driver written for these tests (`two_gpus/libcuda.c`).

It is what IREE's own CUDA driver loads, and what this package asks: as strict as NVIDIA's about
which context is current and on which GPU memory, streams and code are. On real ones:
tests/gpu/two_devices.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul

HERE = Path(__file__).parent / "two_gpus"
BODY = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < count) z[i] = x[i] * y[i];"
KERNELS = """
import custom_dispatch as cd
n = cd.dim("n")
def multiply(name, block):
    operands = [cd.In("x", "f32", [n]), cd.In("y", "f32", [n]), cd.Out("z", "f32", [n])]
    return cd.Kernel(
        name, source="muls.cu", operands=[*operands, cd.Scalar("count", "i32", n)], block=block,
        grid=cd.ceildiv(n, block), reference=lambda x, y: x * y,
    )
muls = cd.Choice(
    "muls", [multiply("simple_mul_a", 64), multiply("simple_mul_b", 128)], tuning="muls.json"
)
"""


@pytest.fixture(scope="module")
def two_gpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the driver, a module and a choice of kernels."""
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("needs gcc for a driver with two GPUs, and there is none")
    made = tmp_path_factory.mktemp("two_gpus")
    command = [gcc, "-shared", "-fPIC", "-O1", "-w", "-fvisibility=hidden", "-pthread"]
    library = made / "libcuda.so.1"
    subprocess.run([*command, "-o", library, HERE / "libcuda.c", "-ldl"], check=True, timeout=60)
    (made / "libcuda.so").symlink_to(library.name)
    targets = ["cuda:sm_80", "cuda:sm_90", "cpu"]
    cd.compile(None, simple_mul, targets).save(made / "simple_mul.vmfb")
    (made / "muls.py").write_text(KERNELS)
    entry = 'extern "C" __global__ void {}(const float* x, const float* y, float* z, int count)'
    source = "".join(f"{entry.format(f'simple_mul_{name}')} {{ {BODY} }}\n" for name in "ab")
    (made / "muls.cu").write_text(source)
    return made


def test_each_of_two_gpus_is_used_where_it_is_named_or_holds_the_arrays(two_gpus: Path) -> None:
    done = subprocess.run(
        [sys.executable, HERE / "on_two_gpus.py", two_gpus],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"LD_LIBRARY_PATH": str(two_gpus)},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert done.stdout.count("ok ") == 12
