"""CUDA releases that pip mixed: what builds, what is refused, and what `doctor` says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

import pytest
from cuda_sources import SCALE, skip_without_gcc

from custom_dispatch.errors import PtxError, ToolNotFoundError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain import locations as releases
from custom_dispatch.toolchain.locations import wheel_roots
from custom_dispatch.toolchain.nvcc import Nvcc
from custom_dispatch.toolchain.ptxas import assemble

# What torch 2.15.0 brings.
NEWER = ("nvidia-cuda-nvrtc==13.2.86", "nvidia-cuda-runtime==13.2.86")
NEWER_CCCL = ("nvidia-cuda-cccl==13.3.5.0.6",)
PROGRAM = """\
import custom_dispatch as cd
n = cd.dim("n")
total = cd.Kernel(
    "total", source="total.cu", block=64, grid=1,
    operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", []), cd.Scalar("count", "i32", n)],
)
"""
TOTAL = """\
#include <cuda_fp16.h>
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void total(const float* x, float* y, int count) {
  using Reduce = cub::BlockReduce<float, 64>;
  __shared__ typename Reduce::TempStorage storage;
  float value = threadIdx.x < count ? x[threadIdx.x] : 0.0f;
  value = Reduce(storage).Sum(__half2float(__float2half(value)));
  if (threadIdx.x == 0) *y = value;
}
"""


class Environment:
    """The CUDA wheels of this environment in a directory ahead of it, some replaced by others."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (original,) = wheel_roots()
        self.site = root / "site"
        # Copies: a link would change what the file system says of headers that other tests read.
        shutil.copytree(original.parent, self.site / "nvidia")
        for dist in original.parents[1].glob("nvidia_*.dist-info"):
            shutil.copytree(dist, self.site / dist.name)

    def install(self, requirements: Sequence[str]) -> None:
        """Do as `pip install` does, which removes the version that is there."""
        new = self.root / f"new{len(list(self.root.iterdir()))}"
        subprocess.run(
            [
                sys.executable,
                *["-m", "pip", "install", "-q", "--no-deps", "--target"],
                new,
                *requirements,
            ],
            check=True,
        )
        for requirement in requirements:
            name = requirement.partition("==")[0]
            (old,) = metadata.distributions(name=name, path=[str(self.site)])
            for file in old.files or ():
                (self.site / file).unlink(missing_ok=True)
        shutil.copytree(new, self.site, dirs_exist_ok=True)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.site),
            "CUSTOM_DISPATCH_STORE": str(self.root / "store"),
            "CUDA_VISIBLE_DEVICES": "",
        }
        return subprocess.run(
            [sys.executable, "-m", "custom_dispatch", *words],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
        )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    root = tmp_path_factory.mktemp("environment")
    (root / "total.cu").write_text(TOTAL)
    (root / "total.py").write_text(PROGRAM)
    made = Environment(root)
    made.install(NEWER)
    yield made
    shutil.rmtree(made.site)  # half a gigabyte


@pytest.mark.thorough  # it installs another NVRTC with pip
def test_with_a_newer_nvrtc_kernels_build_and_the_rest_is_told(environment: Environment) -> None:
    demo = environment.run("demo")
    assert demo.returncode == 0, demo.stderr
    assert "[96. 96. 96. 96. 96. 96. 96. 96.]" in demo.stdout
    built = environment.run("build", "total.py", "-t", "cuda:sm_80,cuda:sm_90a", "-o", "objects")
    assert built.returncode == 0, built.stderr
    for arch in ("sm_80", "sm_90a"):
        ptx = (environment.root / f"objects/total_{arch}.ptx").read_text()
        assert "release 13.2, V13.2.86" in ptx
        assert "\n.version 9.0\n" in ptx
    doctor = environment.run("doctor")
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in doctor.stdout.splitlines()}
    command = "pip install -e '.[cuda]'"
    assert rows["nvrtc"] == (
        f"13.2.86 PTX becomes that of ptxas 13.0, where ptxas agrees; one release: {command}"
    )
    assert rows["nvcc"] == (
        "13.0.88 does not compile CUB, Thrust or <cuda/...> with the CUDA headers of 13.2; "
        "pip install -e '.[nvcc]'"
    )
    assert doctor.returncode == 1
    skip_without_gcc()
    refused = environment.run(
        "build", "total.py", "-t", "cuda:sm_80", "-o", "no", "--compiler", "nvcc"
    )
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-3:] == [
        f"error: nvcc 13.0.88 at `{environment.site}/nvidia/cu13/bin/nvcc` does not compile CUB, "
        "Thrust or <cuda/...> with the CUDA headers of 13.2.",
        "  expected: all of its parts of one CUDA release",
        "  next step: pip install -e '.[nvcc]' (in the clone).",
    ]
    environment.install(NEWER_CCCL)
    built = environment.run(
        "build", "total.py", "-t", "cuda:sm_80", "-o", "nvcc", "--compiler", "nvcc"
    )
    assert built.returncode == 0, built.stderr
    assert environment.run("doctor").returncode == 0


def test_ptx_of_a_later_release_is_taken_for_this_ones_where_ptxas_agrees() -> None:
    ptx = b".version 99.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n%s\nret;\n}\n"
    assembly = assemble(ptx % b"", Arch(80), lowers=True)
    assert assembly.ptx == (ptx % b"").replace(b"99.0", b"9.0")
    with pytest.raises(PtxError) as caught:
        assemble(ptx % b"later.instruction;", Arch(80), lowers=True)
    assert caught.value.found == (
        "The PTX is of a later CUDA release (version 99.0) than ptxas 13.0.88, which reads up to "
        "9.0, and as such PTX it does not assemble for sm_80."
    )
    assert caught.value.expected == (
        "a compiler and a ptxas of one release; nvidia-cuda-nvrtc 13.0"
    )
    assert caught.value.next_step == (
        "correct the source where ptxas' message points, or pip install -e '.[cuda]' (in the "
        "clone)."
    )
    with pytest.raises(PtxError, match="is of a later CUDA release than ptxas"):
        assemble(ptx % b"", Arch(80))


def test_an_nvcc_with_the_compiler_proper_of_another_release_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    skip_without_gcc()
    found = Nvcc.find()
    site = tmp_path / "nvidia" / "cu13"
    (site / "bin").mkdir(parents=True)
    (site / "bin" / "nvcc").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "nvidia_nvvm-13.2.86.dist-info").mkdir()
    (tmp_path / "nvidia_nvvm-13.2.86.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: nvidia-nvvm\nVersion: 13.2.86\n"
    )
    nvcc = Nvcc(site / "bin" / "nvcc", found.version)
    source = tmp_path / "scale.cu"
    source.write_text(SCALE)
    from custom_dispatch.toolchain.compiler import CompileRequest

    with pytest.raises(ToolNotFoundError) as caught:
        nvcc.compile(CompileRequest(source, Arch(80)))
    assert str(caught.value) == (
        f"nvcc 13.0.88 at `{nvcc.path}` does not compile with the compiler proper (nvidia-nvvm) of "
        "13.2.86.\n"
        "  expected: all of its parts of one CUDA release\n"
        "  next step: pip install -e '.[nvcc]' (in the clone)."
    )
    assert releases.nvcc_conflict(nvcc.path, nvcc.version) == (
        "does not compile with the compiler proper (nvidia-nvvm) of 13.2.86"
    )
