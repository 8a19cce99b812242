"""The same kernel with another launch: what is compiled again, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_sources import SCALE, Write

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, PtxError
from custom_dispatch.toolchain.nvrtc import Nvrtc

Declare = Callable[..., cd.Kernel]
n = cd.dim("n")
LARGE = cd.ceildiv(n, 256)


@pytest.fixture
def kernel(declare: Declare, write: Write) -> cd.Kernel:
    return declare(source=write("scale.cu"))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every request that NVRTC gets."""
    requests: list[Any] = []
    really = Nvrtc.compile

    def compile(self: Nvrtc, request: Any) -> Any:  # noqa: A001 - as it is named there
        requests.append(request)
        return really(self, request)

    monkeypatch.setattr(Nvrtc, "compile", compile)
    return requests


def test_what_is_left_out_stays(kernel: cd.Kernel) -> None:
    again = kernel.with_launch()
    fields = ("name", "operands", "block", "grid", "source", "objects", "options", "entry")
    for name in (*fields, "include_dirs", "dynamic_shared_memory", "launch_bounds", "reference"):
        assert getattr(again, name) == getattr(kernel, name)
    larger = kernel.with_launch(name="large", block=256, grid=LARGE, launch_bounds=512)
    assert (larger.name, larger.entry) == ("large", "scale")
    assert (larger.block, larger.launch_bounds) == ((256, 1, 1), 512)
    assert str(larger.grid[0]) == str(LARGE)
    assert kernel.block == (64, 1, 1)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"block": 2048}, "block.x is 2048"),
        ({"block": 256, "launch_bounds": 128}, "has 256 threads, launch_bounds allows 128"),
        ({"max_registers": 8}, "max_registers is 8"),
        ({"max_registers": 256}, "max_registers is 256"),
        ({"max_registers": "32"}, "max_registers is '32'"),
        ({"name": "a b"}, "'a b' cannot name a kernel"),
        ({"options": "-G"}, "options is '-G'"),
    ],
)
def test_another_launch_is_checked_as_the_first(
    kernel: cd.Kernel, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        kernel.with_launch(**changed)
    assert said in caught.value.found


def test_the_source_is_compiled_again_only_where_options_differ(
    kernel: cd.Kernel, compiled: list[Any]
) -> None:
    (first,) = cd.build(kernel, ["cuda:sm_90"]).objects
    assert len(compiled) == 1
    (other,) = cd.build(kernel.with_launch(block=256, grid=LARGE), ["cuda:sm_90"]).objects
    (capped,) = cd.build(kernel.with_launch(max_registers=32), ["cuda:sm_90"]).objects
    assert len(compiled) == 1
    assert other.data == first.data
    assert b".maxnreg 32\n{" in capped.data
    cd.build(kernel.with_launch(block=256, options=["-DBLOCK=256"]), ["cuda:sm_90"])
    assert len(compiled) == 2


def test_both_launches_compute_the_same(kernel: cd.Kernel) -> None:
    large = kernel.with_launch(name="large", block=256, grid=LARGE, max_registers=16)
    program = cd.load(cd.compile(None, [kernel, large], ["cuda:sm_90", "cpu"]).bytes, "cpu")
    x = np.arange(1000, dtype=np.float32)
    assert np.array_equal(program.scale(x, 3.0), 3 * x)
    assert np.array_equal(program.large(x, 3.0), 3 * x)


GREEDY = """\
extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
  float v[64];
  #pragma unroll
  for (int i = 0; i < 64; i++) v[i] = x[i * n + threadIdx.x];
  float total = 0;
  #pragma unroll
  for (int i = 0; i < 64; i++) total += v[i] * v[63 - i] * a;
  y[threadIdx.x] = total;
}
"""


def test_fewer_registers_are_fewer_in_the_report(declare: Declare, write: Write) -> None:
    kernel = declare(source=write("greedy.cu", GREEDY))
    (free,) = cd.build(kernel, ["cuda:sm_90"]).report()
    (capped,) = cd.build(kernel.with_launch(max_registers=32), ["cuda:sm_90"]).report()
    assert free.resources.registers > 32
    assert capped.resources.registers <= 32
    assert capped.resources.spills
    bounded = GREEDY.replace("void scale", "void __launch_bounds__(64, 4) scale")
    source = write("bounded.cu", bounded)
    assert cd.build(declare(source=source, max_registers=32), ["cuda:sm_90"]).units


def test_a_limit_that_the_source_states_otherwise_is_refused(
    declare: Declare, write: Write, tmp_path: Path
) -> None:
    source = write("scale.cu", SCALE.replace("void scale", "void __maxnreg__(64) scale"))
    assert cd.build(declare(source=source, max_registers=64), ["cuda:sm_90"]).units
    with pytest.raises(PtxError) as caught:
        cd.build(declare(source=source, max_registers=32), ["cuda:sm_90"])
    assert caught.value.found == (
        "Kernel `scale`: `scale.cu`: Its entry states .maxnreg 64, and max_registers=32 is "
        "declared."
    )


def test_machine_code_cannot_be_limited(
    declare: Declare, kernel: cd.Kernel, tmp_path: Path
) -> None:
    (path,) = cd.build(kernel, ["cuda:sm_90"], image="cubin").write(tmp_path)
    code = declare(source=None, objects={"cuda:sm_90": path}, max_registers=32)
    with pytest.raises(PtxError, match="is a cubin, and max_registers=32 is declared"):
        cd.build(code, ["cuda:sm_90"])
    built = cd.build(kernel.with_launch(max_registers=32), ["cuda:sm_90"], image="cubin")
    assert next(iter(built.objects)).kind == "cubin"
