"""The parts of a `.vmfb`, as its own bytes say."""

from __future__ import annotations

import io
import random
import zipfile
from hashlib import sha256
from pathlib import Path

import numpy as np

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.compiled import CompiledModule
from custom_dispatch.runtime.archive import (
    cuda_executables,
    generated_for,
    parts_of,
    read_cuda_executable,
)
from custom_dispatch.runtime.module_file import ModuleFile


def test_the_parts_of_a_module_are_told_apart(mixed: CompiledModule) -> None:
    with zipfile.ZipFile(io.BytesIO(mixed.bytes)) as archive:
        parts = parts_of(archive)
    kinds = [part.kind for part in parts]
    assert kinds[0] == "host code"
    assert kinds.count("CUDA") == 3
    assert kinds.count("CPU") == 2
    assert sum(part.size_bytes for part in parts) < len(mixed.bytes)
    ours = next(part for part in parts if part.name == "custom_dispatch_simple_mul_sm_90.fb")
    assert ours.kernels == ("simple_mul", "simple_mul_inplace")
    assert ours.generated == ()
    generated = {generated_for(name) for part in parts for name in part.generated}
    assert generated == {"mixed_invocation"}


def test_the_images_are_those_that_the_manifest_names(mixed: CompiledModule) -> None:
    manifest = ModuleFile(mixed.bytes).manifest
    assert manifest is not None
    held = {
        sha256(image).hexdigest() for item in cuda_executables(mixed.bytes) for image in item.images
    }
    assert {item.sha256 for item in manifest.objects} <= held


def test_kernels_that_are_one_code_on_the_cpu_are_compiled_once(tmp_path: Path) -> None:
    """As the matrix products of a choice are, which are code of their own on GPUs."""
    text = 'extern "C" __global__ void twice(const float* x, float* y) { *y = 2 * *x; }'
    (tmp_path / "twice.cu").write_text(text)

    def kernel(name: str) -> cd.Kernel:
        operands = [cd.In("x", "f32", [1]), cd.Out("y", "f32", [1])]
        source = tmp_path / "twice.cu"
        return cd.Kernel(name, source=source, entry="twice", operands=operands, block=1, grid=1)

    module = cd.compile(None, [kernel("first"), kernel("second")], ["cpu"])
    with zipfile.ZipFile(io.BytesIO(module.bytes)) as archive:
        assert [part.kind for part in parts_of(archive)] == ["host code", "CPU"]
    program = cd.load(module, "cpu")
    x = np.ones(1, np.float32)
    assert [np.asarray(f(x)).item() for f in (program.first, program.second)] == [2, 2]


def test_machine_code_is_found_as_it_was_built() -> None:
    library = cd.build([simple_mul], ["cuda:sm_90"], image="cubin")
    module = cd.compile(None, library)
    (executable,) = cuda_executables(module.bytes)
    assert executable.exports == ("simple_mul",)
    assert executable.images == tuple(item.data for item in library.objects)


def test_damaged_executables_are_passed_over(mixed: CompiledModule) -> None:
    with zipfile.ZipFile(io.BytesIO(mixed.bytes)) as archive:
        whole = archive.read("custom_dispatch_simple_mul_sm_90.fb")
    assert read_cuda_executable(whole) is not None
    assert read_cuda_executable(b"no executable") is None
    generator = random.Random(0)  # noqa: S311 - damage, not a secret
    for size in range(0, len(whole), 7):
        read_cuda_executable(whole[:size])
        damaged = bytearray(whole)
        for _ in range(8):
            damaged[generator.randrange(64, 400)] = generator.randrange(256)
        read_cuda_executable(bytes(damaged))
    assert list(cuda_executables(b"no archive")) == []
