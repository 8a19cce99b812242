"""Machine code whose C signature is not IREE's: other tables, the same code."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cuda_sources import Write

import custom_dispatch as cd
from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import CompileRequest
from custom_dispatch.toolchain.images import (
    INFO,
    KPARAM_INFO,
    KPARAM_INFO_V2,
    attributes,
    read_cubin,
    read_sections,
)
from custom_dispatch.toolchain.ptxas import assemble

n = cd.dim("n")
X, Y, COUNT = cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("count", "i32", n)
SOURCE = """\
struct A { float* data; int size; short tag; unsigned char k; long long stride; };
extern "C" __global__ void many(A x, unsigned char b, short h, A y, double d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < y.size) y.data[i * y.stride] = x.data[i * x.stride] * d + x.tag + x.k + b + h + y.tag;
}
extern "C" __global__ void scale(float* y, int count, const float* x, float a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = a * x[i];
}
"""
SCALE = [Y, COUNT, X, cd.Scalar("a", "f32")]


def array(name: str, buffer: cd.In | cd.Out | cd.InOut, **changes: Any) -> cd.Struct:
    fields = {"size": ("i32", n), "tag": "i16", "k": "u8", "stride": "i64"} | changes
    return cd.Struct(name, data=buffer, **fields)


MANY = [
    array("ax", X), cd.Scalar("b", "u8"), cd.Scalar("h", "i16"), array("ay", Y),
    cd.Scalar("d", "f64"),
]  # fmt: skip


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    source = tmp_path_factory.mktemp("parameters") / "kernels.cu"
    source.write_text(SOURCE)
    arch = Arch.parse("sm_90")
    return assemble(find_compiler("nvrtc").compile(CompileRequest(source, arch)).ptx, arch).cubin


@pytest.fixture
def built(write: Write) -> Callable[..., cd.Library]:
    def build(name: str, operands: list[cd.Operand], data: bytes) -> cd.Library:
        return cd.build([declared(name, operands, write("k.cubin", data))], ["cuda:sm_90"])

    return build


def declared(name: str, operands: list[Any], path: Path) -> cd.Kernel:
    return cd.Kernel(
        name, objects={"cuda:sm_90": path}, operands=operands, block=64, grid=cd.ceildiv(n, 64)
    )


def test_the_same_parameters_in_another_order(
    cubin: bytes, built: Callable[..., cd.Library]
) -> None:
    (item,) = built("scale", SCALE, cubin).objects
    assert len(item.data) == len(cubin)
    assert read_cubin(cubin)["scale"].parameters == ((0, 8), (8, 4), (16, 8), (24, 4))
    assert read_cubin(item.data)["scale"].parameters == ((16, 8), (0, 8), (8, 4), (24, 4))


def test_nothing_else_changes(cubin: bytes, built: Callable[..., cd.Library]) -> None:
    (item,) = built("scale", SCALE, cubin).objects
    assert read_cubin(item.data)["many"] == read_cubin(cubin)["many"]
    for before, after in zip(read_sections(cubin), read_sections(item.data), strict=True):
        assert (before == after) == (before.name != INFO + "scale")


def test_what_is_written_is_found_again(
    cubin: bytes, built: Callable[..., cd.Library], tmp_path: Path
) -> None:
    library = built("scale", SCALE, cubin)
    (path,) = library.write(tmp_path / "objects")
    again = cd.build([declared("scale", SCALE, path)], ["cuda:sm_90"])
    assert [item.data for item in again.objects] == [item.data for item in library.objects]
    with pytest.raises(PtxError, match="was adapted to IREE for another declaration"):
        cd.build([declared("scale", [X, COUNT, Y, SCALE[3]], path)], ["cuda:sm_90"])


def test_other_parameters_than_declared_are_refused(
    cubin: bytes, built: Callable[..., cd.Library]
) -> None:
    with pytest.raises(PtxError) as caught:
        built("scale", [Y, X, COUNT, SCALE[3]], cubin)
    assert caught.value.found == (
        "Kernel `scale`: parameter 1 in `k.cubin` is 4 bytes wide, 4 bytes, where operand `x` is "
        "declared."
    )


@pytest.mark.parametrize(
    "operands",
    [MANY, [Y, COUNT, cd.In("x", "f32", [4], optional=True), cd.In("z", "f32", [n])]],
)
def test_what_is_passed_in_parts_is_refused(
    cubin: bytes, built: Callable[..., cd.Library], operands: list[cd.Operand]
) -> None:
    name = "many" if operands is MANY else "scale"
    with pytest.raises(PtxError) as caught:
        built(
            name, operands if name == "many" else [cd.InOut("y", "f32", [n]), *operands[1:]], cubin
        )
    assert "is a cubin, and the C signature has another form" in caught.value.found
    assert caught.value.expected.endswith("in a cubin these may have any order")


def edited(cubin: bytes, kernel: str, change: Callable[[int, bytes], bytes]) -> bytes:
    """A cubin with each of a kernel's attributes changed to as many bytes."""
    section = next(item for item in read_sections(cubin) if item.name == INFO + kernel)
    content = b"".join(change(code, raw) for code, _, raw in attributes(section.content))
    return cubin[: section.offset] + content + cubin[section.offset + len(content) :]


def test_the_attributes_of_later_releases_are_read(
    cubin: bytes, built: Callable[..., cd.Library]
) -> None:
    def later(code: int, raw: bytes) -> bytes:
        if code != KPARAM_INFO:
            return raw
        size = struct.unpack_from("<I", raw, 12)[0] >> 18
        return bytes([raw[0], KPARAM_INFO_V2]) + raw[2:12] + struct.pack("<HH", size, 0x400)

    data = edited(cubin, "scale", later)
    assert read_cubin(data)["scale"] == read_cubin(cubin)["scale"]
    (item,) = built("scale", SCALE, data).objects
    assert read_cubin(item.data)["scale"].parameters == ((16, 8), (0, 8), (8, 4), (24, 4))


@pytest.mark.parametrize("is_listed", [True, False])
def test_parameters_that_no_table_lists_are_refused(
    cubin: bytes, built: Callable[..., cd.Library], is_listed: bool
) -> None:
    def larger(code: int, raw: bytes) -> bytes:
        if code == 0x0A:  # PARAM_CBANK: a symbol, first byte and size of all parameters
            return raw[:10] + struct.pack("<H", 28 + 128)
        return raw if is_listed or code != KPARAM_INFO else bytes([raw[0], 0x7E]) + raw[2:]

    with pytest.raises(PtxError) as caught:
        built("scale", SCALE, edited(cubin, "scale", larger))
    lists = "of 8, 4, 8, 4 bytes, and the code takes 128" if is_listed else (
        "of no bytes, and the code takes 156"
    )  # fmt: skip
    assert caught.value.found == f"Kernel `scale`: `k.cubin` lists parameters {lists} bytes more."
    assert "tensor maps" in caught.value.expected
