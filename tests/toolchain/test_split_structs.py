"""Structs of pointers and numbers that are computed, as Warp, CuTe and CUTLASS pass them."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from cuda_sources import Write

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, PtxError

n = cd.dim("n")
both = pytest.mark.parametrize(
    "target", ["cpu", pytest.param("cpu:checked", marks=pytest.mark.thorough)]
)

# Warp's array_t has this form; a kernel that takes the address of one reads every byte of it: of
# the parameter itself, for in a copy, which `__grid_constant__` forbids, padding is uninitialised.
SOURCE = """\
struct Array {
  float* data; float* gradient; int shape[3]; signed char tag, kind; long long stride;
};

__device__ __noinline__ float element(const Array& array, int i) {
  if (array.gradient || array.shape[1] != 0 || array.kind != 5) return -1;
  return *(const float*)((const char*)array.data + i * array.stride);
}

extern "C" __global__ void axpy(Array x, float alpha, const __grid_constant__ Array y, Array out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < out.shape[0] && x.shape[0] == y.shape[0])
    out.data[i] = alpha * x.data[i * x.stride / 4] + element(y, i) + x.tag + x.kind;
}

extern "C" __global__ void bytes(const __grid_constant__ Array x, unsigned char* out) {
  out[threadIdx.x] = ((const unsigned char*)&x)[threadIdx.x];
}
"""


def array(name: str, buffer: cd.In | cd.Out, tag: Any = ("i8", [0])) -> cd.Struct:
    return cd.Struct(
        name,
        data=buffer,
        gradient=("u64", [0]),
        shape=("i32", [n, 0, 0]),
        tag=tag,
        kind=cd.Scalar(f"{name}_kind", "i8", 5),
        stride=("i64", [4]),
    )


X, Y, OUT = cd.In("x", "f32", [n]), cd.In("y", "f32", [n]), cd.Out("out", "f32", [n])
OPERANDS = [array("ax", X, "i8"), cd.Scalar("alpha", "f32"), array("ay", Y), array("aout", OUT)]


@pytest.fixture
def axpy(write: Write) -> Callable[..., cd.Kernel]:
    def declare(**changes: Any) -> cd.Kernel:
        given: dict[str, Any] = {
            "source": write("axpy.cu", SOURCE), "operands": OPERANDS, "block": 64,
            "grid": cd.ceildiv(n, 64),
        }  # fmt: skip
        return cd.Kernel("axpy", **(given | changes))

    return declare


def test_calls_know_what_a_struct_holds(axpy: Callable[..., cd.Kernel]) -> None:
    kernel = axpy()
    assert [item.name for item in kernel.inputs] == ["x", "ax_tag", "alpha", "y"]
    assert [str(item) for item in kernel.operands] == [
        "In(x: f32[n])", "Scalar(ax_shape_0: i32 = n)", "Scalar(ax_tag: i8)",
        "Scalar(alpha: f32)", "In(y: f32[n])", "Scalar(ay_shape_0: i32 = n)",
        "Out(out: f32[n])", "Scalar(aout_shape_0: i32 = n)",
    ]  # fmt: skip
    assert kernel.abi.passed_bytes == (8, 8, 8, 4, 4, 4, 4, 4)


@both
def test_every_field_arrives(axpy: Callable[..., cd.Kernel], target: str) -> None:
    kernel = axpy()
    cd.build(kernel, ["cuda:sm_80", "cuda:sm_90a"])
    x, y = numpy.random.default_rng(0).random((2, 100), numpy.float32)
    found = kernel.on(target)(x, -3, 2.5, y)
    numpy.testing.assert_allclose(found, numpy.float32(2.5) * x + y + 2, rtol=1e-6)


def test_every_byte_arrives(axpy: Callable[..., cd.Kernel]) -> None:
    kernel = axpy(
        entry="bytes", block=40, grid=1,
        operands=[array("ax", X, "i8"), cd.Out("out", "u8", [40])],
    )  # fmt: skip
    found = numpy.asarray(kernel.on("cpu")(numpy.zeros(7, numpy.float32), -2))
    assert found[:8].any()
    assert found[8:].tobytes() == struct.pack("<qiiibbxxq", 0, 7, 0, 0, -2, 5, 4)


def test_a_file_for_other_constants_is_refused(
    axpy: Callable[..., cd.Kernel], tmp_path: Path
) -> None:
    (path,) = cd.build(axpy(), ["cuda:sm_80"]).write(tmp_path / "objects")
    objects = {"cuda:sm_80": path}
    assert cd.build(axpy(source=None, objects=objects), ["cuda:sm_80"]).objects
    other = [*OPERANDS[:3], array("aout", OUT, ("i8", [1]))]
    with pytest.raises(PtxError, match="was adapted to IREE for another declaration"):
        cd.build(axpy(source=None, objects=objects, operands=other), ["cuda:sm_80"])


def test_a_struct_of_another_size_is_refused(axpy: Callable[..., cd.Kernel]) -> None:
    operands = [cd.Struct("ax", data=X, size=("i32", n)), *OPERANDS[1:]]
    with pytest.raises(PtxError) as caught:
        cd.build(axpy(operands=operands), ["cuda:sm_80"])
    assert "parameter 0 in `axpy.cu` is .b8[40], 40 bytes" in caught.value.found
    assert caught.value.expected == "a struct of 16 bytes"


@pytest.mark.parametrize(
    ("field", "found"),
    [
        ([X, cd.Scalar("k", "i32")], "Operand `s`: field `f` is given as a value of type list."),
        ((X, 2), "Operand `s`: field `f`: a value of type cd.In is not an element type."),
        (("i32", n, n), "Operand `s`: field `f` is given as ('i32', Dim"),
        (("f32", n), "Operand `s_f`: a f32 scalar is given the integer expression n."),
        (("i8", [300]), "Operand `s_f_0`: its value is 300."),
    ],
)
def test_fields_that_are_none_are_refused(field: Any, found: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.Struct("s", f=field)
    assert caught.value.found.startswith(found)


def test_limits_count_what_is_passed(axpy: Callable[..., cd.Kernel]) -> None:
    inside = [cd.In(f"x{i}", "f32", [n]) for i in range(16)]
    with pytest.raises(DeclarationError, match="has 17 buffers"):
        axpy(operands=[cd.Struct("s", pointers=inside), OUT])
    # 4 KiB of constants are no words.
    operands = [cd.Struct("s", data=X, rest=("u64", [7] * 500)), OUT]
    assert axpy(operands=operands).abi.passed_bytes == (8, 8)
    with pytest.raises(DeclarationError, match="has 65 scalars"):
        axpy(operands=[cd.Struct("s", data=X, sizes=("i32", [n] * 65)), OUT])


# A compiler may load several fields at once, padding among them: here data, size and padding.
PTX = """\
.version 8.0
.target sm_80
.address_size 64

.visible .entry scaled(
\t.param .align 8 .b8 scaled_param_0[16],
\t.param .align 8 .b8 scaled_param_1[24],
\t.param .f32 scaled_param_2
)
{
\t.reg .pred %p<4>;
\t.reg .b32 %r<4>;
\t.reg .f32 %f<5>;
\t.reg .b64 %rd<9>;
\tsetp.eq.s32 %p3, 0, 0;
\t@%p3 ld.param.v2.b64 {%rd1, %rd2}, [scaled_param_0];
\tld.param.v2.b64 {%rd3, %rd4}, [scaled_param_1];
\tld.param.b64 %rd5, [scaled_param_1+16];
\tld.param.f32 %f1, [scaled_param_2];
\tmov.u32 %r1, %tid.x;
\tcvt.u32.u64 %r2, %rd2;
\tsetp.ge.s32 %p1, %r1, %r2;
\t@%p1 bra DONE;
\tmul.wide.s32 %rd6, %r1, 4;
\tadd.s64 %rd7, %rd1, %rd6;
\tld.global.f32 %f2, [%rd7];
\tmul.f32 %f3, %f1, %f2;
\tsetp.eq.s64 %p2, %rd5, 0;
\t@%p2 bra STORE;
\tadd.s64 %rd8, %rd5, %rd6;
\tld.global.f32 %f4, [%rd8];
\tadd.f32 %f3, %f3, %f4;
STORE:
\tadd.s64 %rd8, %rd3, %rd6;
\tst.global.f32 [%rd8], %f3;
DONE:
\tret;
}
"""


@both
def test_loads_of_several_fields_and_absent_buffers(write: Write, target: str) -> None:
    kernel = cd.Kernel(
        "scaled", objects={"cuda:sm_80": write("scaled.ptx", PTX)}, block=64, grid=1,
        operands=[
            cd.Struct("p", data=X, size=("i32", n)),
            cd.Struct("q", data=OUT, size=("i64", n), bias=cd.In("b", "f32", [n], optional=True)),
            cd.Scalar("a", "f32"),
        ],
    )  # fmt: skip
    cd.build(kernel, ["cuda:sm_80"])
    x, b = numpy.random.default_rng(1).random((2, 50), numpy.float32)
    numpy.testing.assert_allclose(kernel.on(target)(x, None, 3), 3 * x, rtol=1e-6)
    numpy.testing.assert_allclose(kernel.on(target)(x, b, 3), 3 * x + b, rtol=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (
            cd.InOut("x", "f32", [n]),
            cd.In("out", "f32", [n]),
            "`out` is declared as cd.In, and `scaled` of `scaled.ptx` w",
        ),
        (cd.Out("x", "f32", [n]), OUT, "`x` is declared as cd.Out, and nothing in `scaled` of `sc"),
    ],
)
def test_what_is_written_is_compared_in_structs(
    write: Write, first: cd.InOut | cd.Out, second: cd.In | cd.Out, found: str
) -> None:
    text = PTX.replace("@%p3 ld.param.v2.b64 {%rd1, %rd2}", "ld.param.b64 %rd1")
    text = text.replace("ld.param.v2.b64 {%rd3, %rd4}", "ld.param.b64 %rd3")
    text = text.replace("%rd8, %rd3,", "%rd6, %rd3,").replace("[%rd8], %f3", "[%rd6], %f3")
    kernel = cd.Kernel(
        "scaled", objects={"cuda:sm_80": write("scaled.ptx", text)}, block=64, grid=1,
        operands=[
            cd.Struct("p", data=first, size=("i32", n)),
            cd.Struct("q", data=second, size=("i64", n), bias=cd.In("b", "f32", [n])),
            cd.Scalar("a", "f32"),
        ],
    )  # fmt: skip
    with pytest.raises(PtxError, match=re.escape(found)):
        cd.build(kernel, ["cuda:sm_80"])
