"""Building kernels with implementations for single targets, and what modules do with them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import CallError, DeclarationError, PtxError
from custom_dispatch.format.manifest import parse_manifest
from custom_dispatch.ir.executable import by_path
from custom_dispatch.ir.library_ir import manifest
from custom_dispatch.ir.library_module import write_library_module

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sample_kernels.implementations import ALL, n

GEOMETRY, _ = ALL
TARGETS = ["cuda:sm_80", "cuda:sm_90a", "cpu"]


@pytest.fixture(scope="module")
def library() -> cd.Library:
    return cd.build(ALL, TARGETS)


def doubled(target: str, implementation: cd.Implementation) -> cd.Kernel:
    """A kernel that is another on one target."""
    return cd.Kernel(
        "doubled",
        source="../sample_kernels/implementations.cu",
        operands=ALL[1].operands,
        block=64,
        grid=cd.ceildiv(n, 64),
        implementations={target: implementation},
    )


def test_each_target_gets_its_own_code(library: cd.Library) -> None:
    (unit,) = library.units
    sm_90a, sm_80 = unit.objects
    assert b".entry geometry_persistent(" in sm_90a.data
    assert b".entry geometry(" in sm_80.data
    assert unit.cpu_ptx is sm_80
    assert [(source.file, source.targets) for source in unit.sources] == [
        ("implementations_sm90a.cu", ("cuda:sm_90a",)),
        ("implementations.cu", ("cuda:sm_80",)),
    ]
    rows = {(row.kernel, str(row.target)): row for row in library.report()}
    assert rows["geometry", "cuda:sm_90a"].block == (128, 1, 1)
    assert rows["geometry", "cuda:sm_90a"].dynamic_shared_bytes == 96 * 1024
    occupancy = rows["geometry", "cuda:sm_90a"].occupancy
    assert occupancy is not None
    assert (occupancy.blocks, occupancy.limited_by) == (2, "shared memory")
    assert rows["geometry", "cuda:sm_80"].block == (64, 1, 1)


def test_without_its_target_an_implementation_is_not_built() -> None:
    (unit,) = cd.build(ALL, ["cuda:sm_80", "cuda:sm_90"]).units
    assert all(b".entry geometry(" in item.data for item in unit.objects)


def test_the_cpu_takes_the_kernels_own_where_every_target_has_another() -> None:
    plain = doubled("cuda:sm_80", cd.Implementation(block=32, options=["-DNOTHING"]))
    (unit,) = cd.build(plain, ["cuda:sm_80", "cpu"]).units
    (item,) = unit.objects
    assert unit.cpu_ptx is not None
    assert unit.cpu_ptx is not item
    assert str(unit.cpu_ptx.target) == "cuda:sm_80"
    x = np.arange(100, dtype=np.float32)
    assert np.array_equal(plain.on("cpu")(x), 2 * x)


def test_variants_have_their_own_launches_and_share_a_workload(library: cd.Library) -> None:
    text = write_library_module(library, by_path, "executable")
    exports = [line for line in text.splitlines() if "hal.executable.export public @geom" in line]
    assert ["_persistent" in line for line in exports] == [True, False, False]
    assert all("count(%device: !hal.device, %n: index)" in line for line in exports)
    launches = [line.strip() for line in text.splitlines() if line.strip().startswith("} <work")]
    sizes = "workgroup_size = [{} : index, 1 : index, 1 : index]"
    assert launches[:4] == [
        f"}} <{sizes.format(128)}, workgroup_local_memory = 98304>",
        f"}} <{sizes.format(96)}>",
        f"}} <{sizes.format(64)}>",
        f"}} <{sizes.format(64)}>",
    ]
    points = "@sm_90a::@geometry_persistent, @custom_dispatch_implementations::@sm_80::@geometry,"
    assert points in text


def test_one_file_runs_on_the_cpu_and_says_what_it_holds(library: cd.Library) -> None:
    module = cd.compile(None, ALL, TARGETS)
    x = np.arange(130, dtype=np.float32)
    found = cd.load(module, "cpu").geometry(x)
    assert np.array_equal(
        found, np.stack([np.full(130, 800), np.full(130, 64), np.full(130, 3), x], 1)
    )
    held = parse_manifest(manifest(library, library.kernels, []).as_text())
    assert held is not None
    declared = held.declaration("geometry")
    assert declared is not None
    assert declared.for_target(held.cuda_targets[0]).entry == "geometry_persistent"
    assert [source.targets for source in held.sources] == [("cuda:sm_90a",), ("cuda:sm_80",)]
    item = held.object_of("geometry", held.cuda_targets[0])
    assert item is not None
    assert item.symbols["geometry"] == "geometry_persistent"
    assert json.loads(manifest(library, library.kernels, []).as_text())["kernels"][0][
        "implementations"
    ]


def test_what_was_written_is_found_again(library: cd.Library, tmp_path: Path) -> None:
    files = library.write(tmp_path)
    assert [path.name for path in files] == [
        "implementations_sm_90a.ptx",
        "implementations_sm_80.ptx",
    ]
    again = cd.build(ALL, TARGETS, objects=tmp_path)
    assert [item.data for item in again.objects] == [item.data for item in library.objects]
    # As CMake names them: each after its source.
    files[0].rename(tmp_path / "implementations_sm90a_sm_90a.ptx")
    again = cd.build(ALL, TARGETS, objects=tmp_path)
    assert [item.data for item in again.objects] == [item.data for item in library.objects]


def test_an_implementations_object_is_never_the_cpus(library: cd.Library, tmp_path: Path) -> None:
    kernel = doubled("cuda:sm_80", cd.Implementation(block=32))
    library.write(tmp_path)
    with pytest.raises(DeclarationError, match="holds no PTX of `implementations` for the target"):
        cd.build(kernel, ["cuda:sm_80", "cpu"], objects=tmp_path)


def test_a_fatbin_has_room_for_one_launch(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.build(ALL, TARGETS, image="fatbin")
    assert caught.value.found == (
        "Kernel `geometry` has an implementation for cuda:sm_90a, and a fatbin is one object for "
        "all targets."
    )
    with pytest.raises(DeclarationError, match="and a fatbin is one object for all targets"):
        cd.emit(ALL, TARGETS[:2], output=tmp_path / "m.mlir", form="source")
    assert cd.build(ALL, ["cuda:sm_90a"], image="fatbin").report()[0].block == (128, 1, 1)


def test_an_implementation_is_checked_like_a_kernel() -> None:
    def declare(**changes: object) -> cd.Kernel:
        parts = {"source": "../sample_kernels/implementations_sm90a.cu", **changes}
        return doubled("cuda:sm_90a", cd.Implementation(**parts))  # type: ignore[arg-type]

    with pytest.raises(PtxError, match=r"has no entry|has no kernel"):
        cd.build(declare(entry="tripled"), ["cuda:sm_90a"])
    with pytest.raises(PtxError, match="uses `staged`, which is extern __shared__"):
        cd.build(declare(entry="geometry_persistent"), ["cuda:sm_90a"])
    # The kernel's own is not built, and neither are they.
    assert cd.build(declare(entry="tripled"), ["cuda:sm_80"]).objects


def test_a_call_has_to_fit_every_grid() -> None:
    kernel = doubled("cuda:sm_90a", cd.Implementation(grid=(1, n)))
    x = np.zeros(70_000, np.float32)
    with pytest.raises(CallError, match=r"grid.y = n is 70000 for n = 70000"):
        kernel.on("cpu")(x)
    module = cd.load(cd.compile(None, kernel, ["cpu"]))
    with pytest.raises(CallError, match=r"grid.y = n is over CUDA's limit of 65535"):
        module.doubled(x)
    assert module.doubled(x[:100]).shape == (100,)


TWICE = """
extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
"""
ON_CPU = """
extern "C" __global__ void twice_on_cpu(const float* x, float* y, int n) {
  for (int i = blockIdx.x * 8; i < min(n, blockIdx.x * 8 + 8); ++i) y[i] = x[i] + x[i] + 0.5f;
}
"""


@pytest.fixture
def twice(tmp_path: Path) -> cd.Kernel:
    """What the CPU computes is half more, to tell."""
    (tmp_path / "twice.cu").write_text(TWICE)
    (tmp_path / "on_cpu.cu").write_text(ON_CPU)
    return cd.Kernel(
        "twice",
        source=tmp_path / "twice.cu",
        operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("n", "i32", n)],
        block=64,
        grid=cd.ceildiv(n, 64),
        implementations={
            "cpu": cd.Implementation(
                source=tmp_path / "on_cpu.cu",
                entry="twice_on_cpu",
                block=1,
                grid=cd.ceildiv(n, 8),
            )
        },
    )


def test_the_cpu_takes_code_and_a_launch_of_its_own(twice: cd.Kernel) -> None:
    library = cd.build(twice, ["cuda:sm_80", "cpu"])
    (unit,) = library.units
    assert [item.name for item in unit.objects] == ["twice"]
    assert unit.cpu_ptx is not None
    assert b".entry twice_on_cpu(" in unit.cpu_ptx.data
    assert [(source.file, source.targets) for source in unit.sources] == [
        ("twice.cu", ("cuda:sm_80",)),
        ("on_cpu.cu", ("cpu",)),
    ]
    x = np.arange(1001, dtype=np.float32)  # more blocks than on a GPU
    program = cd.load(cd.compile(None, library), "cpu")
    assert np.array_equal(program.twice(x), 2 * x + 0.5)
    assert np.array_equal(twice.on("cpu")(x), 2 * x + 0.5)
    assert np.array_equal(cd.load(cd.compile(None, twice, ["cpu"])).twice(x), 2 * x + 0.5)


def test_what_gpus_run_runs_on_the_cpu_if_that_is_asked_for(twice: cd.Kernel) -> None:
    x = np.arange(1001, dtype=np.float32)
    assert np.array_equal(twice.own.on("cpu")(x), 2 * x)
    assert np.array_equal(twice.on("cpu:checked")(x), 2 * x)


def test_the_cpus_own_object_is_written_and_found_again(twice: cd.Kernel, tmp_path: Path) -> None:
    library = cd.build(twice, ["cuda:sm_80", "cpu"])
    files = library.write(tmp_path / "objects")
    assert [path.name for path in files] == ["twice_sm_80.ptx", "twice_cpu_sm_80.ptx"]
    again = cd.build(twice, ["cuda:sm_80", "cpu"], objects=tmp_path / "objects")
    assert [item.data for item in again.objects] == [item.data for item in library.objects]
    x = np.arange(100, dtype=np.float32)
    assert np.array_equal(cd.load(cd.compile(None, again), "cpu").twice(x), 2 * x + 0.5)
    files[1].unlink()
    with pytest.raises(DeclarationError) as caught:
        cd.build(twice, ["cuda:sm_80", "cpu"], objects=tmp_path / "objects")
    assert "holds no PTX of `twice_cpu` for the target cpu." in caught.value.found
    assert "`twice_cpu_sm_80.ptx`" in caught.value.expected
