"""The C++ types of a kernel against its declaration: wrong element types never run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cuda_sources import Write

import custom_dispatch as cd
from custom_dispatch.errors import PtxError
from custom_dispatch.toolchain.compiler import Compiler
from custom_dispatch.toolchain.entry_point import CField

Declare = Callable[..., cd.Kernel]
n = cd.dim("n")
HEAD = """\
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#define KERNEL extern "C" __global__
typedef unsigned short bits;
struct Own { short s; };
struct Pair { float x, y; };
struct Opaque;
enum Mode : int { fast };
"""
Build = Callable[..., Any]


@pytest.fixture
def build(declare: Declare, write: Write) -> Build:
    def build(
        parameter: str, operand: Any, compiler: str = "nvrtc", kernel: str = "KERNEL", **more: Any
    ) -> Any:
        text = f"{HEAD}{kernel} void scale({parameter} p, float* y) {{ if (&p) y[0] = 1; }}"
        operands = [operand, cd.Out("y", "f32", [8])]
        source = write("scale.cu", text)
        kernel_ = declare(source=source, operands=operands, grid=1, **more)
        return cd.build(kernel_, ["cuda:sm_80"], compiler=compiler)

    return build


def at(dtype: str, kind: Any = cd.In) -> Any:
    return kind("p", dtype, [n])


@pytest.mark.parametrize(
    ("parameter", "operand"),
    [
        ("const float*", at("f32")),
        ("float*", at("f32")),  # much code leaves const out
        ("const float* __restrict__", at("f32")),
        ("const float4*", at("f32")),
        ("const __half2*", at("f16")),
        ("const half*", at("f16")),
        ("const bits*", at("bf16")),
        ("const unsigned*", at("i32")),
        ("const long*", at("i64")),
        ("const char*", at("u8")),
        ("const unsigned char*", at("bool")),
        ("const __nv_fp8_storage_t*", at("f8E4M3FN")),
        ("const __nv_fp8_e5m2*", at("f8E5M2")),
        ("const void*", at("f64")),
        ("const Own*", at("f16")),
        ("const Pair*", at("f32")),
        ("Opaque*", at("f32")),
        ("const Mode*", at("i32")),
        ("float* const*", at("u64")),
        ("float*", at("f32", cd.InOut)),
        ("Mode", cd.Scalar("p", "i32")),
        ("unsigned long", cd.Scalar("p", "i64")),
        ("Own", cd.Scalar("p", "f16")),
        ("Pair", cd.Struct("p", x="f32", y="f32")),
        ("float2", cd.Struct("p", 8, x="f32", y="f32")),
    ],
)
def test_types_that_fit_are_accepted(build: Build, parameter: str, operand: Any) -> None:
    assert build(parameter, operand).units


@pytest.mark.parametrize(
    ("parameter", "operand", "said", "expected", "next_step"),
    [
        ("const __half*", at("f32"), "const __half *", "const float*", 'cd.In("p", "f16", ...)'),
        ("const float4*", at("f16"), "const float4 *", "const __half*", 'cd.In("p", "f32", ...)'),
        ("const float*", at("f64"), "const float *", "const double*", '"f32"'),
        ("const float*", at("i32"), "const float *", "const int*", '"f32"'),
        ("const int*", at("f32"), "const int *", "const float*", '"i32"'),
        ("const __half*", at("bf16"), "const __half *", "const __nv_bfloat16*", '"f16"'),
        ("const __half*", at("i16"), "const __half *", "const short*", '"f16"'),
        ("const char*", at("f32"), "const char *", "const float*", '"i8"'),
        ("const Own*", at("f32"), "const Own *", "const float*", "change `p`"),
        ("float**", at("f64"), "float **", "const double*", "change `p`"),
        ("const float*", at("f32", cd.InOut), "const float *", "may be written", "as cd.In"),
        ("long long", at("f32"), "long long", "a pointer", "as a cd.Scalar"),
        ("float*", cd.Scalar("p", "i64"), "float *", "a scalar i64", "as cd.In"),
        ("float", cd.Scalar("p", "i32"), ".f32", "a scalar i32", ""),
        ("__half", cd.Scalar("p", "bf16"), "__half", "a __nv_bfloat16", '"f16"'),
        ("float2", cd.Struct("p", 8, x="i32", y="i32"), "float2", "a struct of f32", '"f32"'),
    ],
)
def test_types_that_do_not_are_refused(
    build: Build, parameter: str, operand: Any, said: str, expected: str, next_step: str
) -> None:
    with pytest.raises(PtxError) as caught:
        build(parameter, operand)
    error = caught.value
    assert error.found.startswith("Kernel `scale`: parameter 0 ")
    assert said in error.found
    assert expected in error.expected
    assert next_step in error.next_step


@pytest.mark.parametrize("kernel", ['extern "C" __global__', "__global__", "KERNEL"])
def test_the_message_shows_the_c_signature(build: Build, compiler: Compiler, kernel: str) -> None:
    with pytest.raises(PtxError) as caught:
        build("const __half*", at("f32"), compiler.name, kernel)
    assert str(caught.value) == (
        "Kernel `scale`: parameter 0 of `scale.cu` is `const __half *`, where operand "
        "In(p: f32[n]) is declared.\n"
        "  expected: const float*\n"
        '  next step: declare cd.In("p", "f16", ...), or correct the C signature: '
        "void scale(const __half *, float *)"
    )


def test_templates_are_checked_too(build: Build, each_compiler: Compiler) -> None:
    kernel, entry = "template <class T> __global__", "scale<__half>"
    assert build("const T*", at("f16"), each_compiler.name, kernel, entry=entry).units
    with pytest.raises(PtxError) as caught:
        build("const T*", at("f32"), each_compiler.name, kernel, entry=entry)
    assert caught.value.next_step.endswith("void scale<__half>(const __half *, float *)")


def test_an_old_standard_shows_no_types_but_checks_them(build: Build, compiler: Compiler) -> None:
    with pytest.raises(PtxError) as caught:
        build("const float4*", at("f16"), compiler.name, options=["-std=c++11"])
    assert "parameter 0 of `scale.cu` is `const float*`" in caught.value.found
    assert caught.value.next_step.endswith("or correct the C signature.")


def test_objects_built_elsewhere_are_checked_as_far_as_they_tell(
    declare: Declare, build: Build, write: Write
) -> None:
    (path,) = build("const __half*", at("f16")).write(write("objects/x").parent)
    operands = [at("f32"), cd.Out("y", "f32", [8])]
    kernel = declare(source=None, objects={"cuda:sm_80": path}, operands=operands, grid=1)
    assert cd.build(kernel, ["cuda:sm_80"]).units


FIELDS = """\
struct Point { float x, y; };
struct Parameters {
  float scale; int count; double table[3]; Point at; const float* weights; unsigned char low : 3;
};
"""


def fields(**changes: Any) -> cd.Struct:
    """The struct as C has it, but for some fields; one may be given in another place by `first`."""
    declared: dict[str, Any] = {
        "scale": "f32",
        "count": "i32",
        "table": ("f64", 3),
        "at": "f32",
        "at_y": "f32",
        "weights": "u64",
        "low": "u8",
    }
    first = changes.pop("first", None)
    order = sorted(declared, key=lambda name: name != first)
    return cd.Struct("p", **{name: changes.get(name, declared[name]) for name in order})


@pytest.fixture
def build_fields(declare: Declare, write: Write) -> Build:
    def build(struct: cd.Struct, compiler: str = "nvrtc", more: str = "") -> Any:
        body = "{ y[0] = p.scale * p.count + p.table[2] + p.at.x + *p.weights + p.low; }"
        source = write(
            "scale.cu", f"{FIELDS}{more}{HEAD}KERNEL void scale(Parameters p, float* y) {body}"
        )
        kernel = declare(source=source, operands=[struct, cd.Out("y", "f32", [8])], grid=1)
        return cd.build(kernel, ["cuda:sm_80"], compiler=compiler)

    return build


def test_the_fields_of_a_struct_lie_where_c_has_them(
    build_fields: Build, compiler: Compiler
) -> None:
    (unit,) = build_fields(fields(), compiler.name).units
    (entry,) = unit.objects[0].entries
    assert entry.signature.parameters[0].fields == (
        CField("scale", 0, "f32", 4, False),
        CField("count", 4, "i32", 4, False),
        CField("table", 8, "f64", 24, False),
        CField("at", 32, "", 8, True),
        CField("weights", 40, "", 8, False),  # of a bit-field nothing is known
    )


@pytest.mark.parametrize(
    ("struct", "said"),
    [
        (
            fields(first="count"),
            "field `count` of operand `p` is declared as i32 at byte 0, and `scale.cu` has int at "
            "byte 4 of that name.",
        ),
        (
            fields(count="f32"),
            "field `count` of operand `p` is declared as f32 at byte 4, and `scale.cu` has int at "
            "byte 4 of that name.",
        ),
        (
            fields(table=("i64", 3)),
            "field `table` of operand `p` is declared as i64[3] at byte 8, and `scale.cu` has "
            "double of 24 bytes at byte 8 of that name.",
        ),
        (
            fields(first="weights"),
            "field `weights` of operand `p` is declared as u64 at byte 0, and `scale.cu` has "
            "something of 8 bytes at byte 40 of that name.",
        ),
    ],
)
def test_a_field_elsewhere_or_of_another_type_is_refused(
    build_fields: Build, compiler: Compiler, struct: cd.Struct, said: str
) -> None:
    with pytest.raises(PtxError) as caught:
        build_fields(struct, compiler.name)
    assert str(caught.value) == (
        f"Kernel `scale`: {said}\n"
        "  expected: the fields of the C struct with their types, in its order\n"
        '  next step: correct cd.Struct("p", ...), or the struct.'
    )


def test_where_all_names_are_known_their_order_is_shown(declare: Declare, write: Write) -> None:
    text = "struct Pair { float a; int b; };\n"
    text += 'extern "C" __global__ void scale(Pair p, float* y) { *y = p.a + p.b; }'
    operands = [cd.Struct("p", b="i32", a="f32"), cd.Out("y", "f32", [8])]
    kernel = declare(source=write("scale.cu", text), operands=operands, grid=1)
    with pytest.raises(PtxError, match="in its order: a, b"):
        cd.build(kernel, ["cuda:sm_80"])


@pytest.mark.parametrize(
    ("struct", "more"),
    [
        (cd.Struct("p", a="f32", b="f32", c="i64", d=("i64", 4), e="i8"), ""),
        (cd.Struct("p", new="f32", int="i32", template=("f64", 3), this=("f32", 4), e="i8"), ""),
        # An array and an inner struct in parts, of which the first has the name.
        (
            cd.Struct(
                "p", scale="f32", c="i32", table="f64", t=("f64", 2), at="f32", b=("f32", 3), e="i8"
            ),
            "",
        ),
        # The question does not compile where a name is a macro; types are compared all the same.
        (cd.Struct("p", scale="f32", macro="i32", t=("f64", 3), a=("f32", 4), e="i8"), "@"),
    ],
)
def test_fields_may_be_named_as_one_likes(
    build_fields: Build, compiler: Compiler, struct: cd.Struct, more: str
) -> None:
    text = "#define macro 1 +\n" if more else ""
    (unit,) = build_fields(struct, compiler.name, text).units
    (entry,) = unit.objects[0].entries
    assert entry.signature is not None
