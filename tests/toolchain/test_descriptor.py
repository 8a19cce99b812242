"""Asking the compiler for types: what it says, and that the object is the one it makes unasked."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_sources import SM_90, Write, skip_without_gcc

from custom_dispatch.ptx.reader import read_module
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import Compiler, CompileRequest
from custom_dispatch.toolchain.descriptor import StructFields
from custom_dispatch.toolchain.entry_point import CParameter, CSignature

ROOT = Path(__file__).parents[2]
SOURCES = [
    *(ROOT / "tests" / "sample_kernels" / name for name in ("samples.cu", "signatures.cu")),
    *sorted((ROOT / "tests" / "cpu" / "corpus").glob("*.cu")),
    # Of those that ship: instances of templates, an architecture's own code, and plain kernels.
    *(
        ROOT / "cuda_kernels" / name
        for name in ("elementwise/gelu.cu", "gemm/gemm_sm90a.cu", "attention/write_cache.cu")
    ),
]
TYPES = """\
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#define N 128
#define T float
#define text bytes
enum Small : unsigned short { none };
struct Opaque;
struct Pair { float x; double y; };
union Either { float x; int y; };
extern "C" __global__ void types(
    const __half* __restrict__ a, volatile float4* b, const void* c, void (*d)(int), Opaque* e,
    Small f, Pair g, const __grid_constant__ Pair h, long i, bool* j, char k,
    const __nv_bfloat16 l, float** m, const uint4* n, const __nv_fp8_e4m3* o, Either p,
    const unsigned long long* q, const float& r, __half2* s) {}
"""
TEXT = (
    "void (const __half *, volatile float4 *, const void *, void (*)(int), Opaque *, Small, Pair, "
    "Pair, long, bool *, char, __nv_bfloat16, float **, const uint4 *, const __nv_fp8_e4m3 *, "
    "Either, const unsigned long long *, const float &, __half2 *)"
)


def value(dtype: str, size: int, is_class: bool = False) -> CParameter:
    return CParameter("value", False, dtype, size, is_class)


def pointer(dtype: str, size: int, is_class: bool = False, const: bool = False) -> CParameter:
    return CParameter("pointer", const, dtype, size, is_class)


PARAMETERS = (
    pointer("f16", 2, True, const=True),
    pointer("f32", 16, True),
    pointer("", 0, const=True),
    pointer("", 0),
    pointer("", 0, True),
    value("u16", 2),
    value("", 16, True),
    value("", 16, True),
    value("i64", 8),
    pointer("bool", 1),
    value("i8", 1),
    value("bf16", 2, True),
    pointer("", 8),
    pointer("", 16, True, const=True),
    pointer("f8E4M3FN", 1, True, const=True),
    value("", 4, True),
    pointer("u64", 8, const=True),
    CParameter("reference", True, "f32", 4, False),
    pointer("f16", 4, True),
)


def test_types_are_what_the_compiler_says(compiler: Compiler, write: Write) -> None:
    source = write("types.cu", TYPES)
    compiled = compiler.compile(CompileRequest(source, SM_90, entries=("types",)))
    (entry,) = compiled.entries
    assert entry.signature == CSignature(TEXT, PARAMETERS)
    for standard in ("c++14", "c++20"):
        request = CompileRequest(source, SM_90, (f"-std={standard}",), entries=("types",))
        assert compiler.compile(request).entries == compiled.entries


def test_a_kernel_without_parameters(compiler: Compiler, write: Write) -> None:
    source = write("none.cu", 'extern "C" __global__ void none() {}\n')
    (none,) = compiler.compile(CompileRequest(source, SM_90, entries=("none",))).entries
    assert none.signature == CSignature("void ()", ())


@pytest.mark.parametrize(
    "source",
    [
        # One of the corpus is quick: each is compiled twice.
        pytest.param(
            path,
            marks=[pytest.mark.thorough] if "corpus" in path.parts and path.stem != "warps" else [],
        )
        for path in SOURCES
    ],
    ids=lambda path: path.stem,
)
def test_the_object_stays_byte_for_byte_what_it_is(source: Path) -> None:
    unchanged(find_compiler("nvrtc"), source, ())


@pytest.mark.parametrize("option", ["-lineinfo", "-G", "-rdc=true", "-std=c++11", "-std=c++20"])
def test_it_does_so_with_any_option(option: str) -> None:
    unchanged(find_compiler("nvrtc"), ROOT / "tests/sample_kernels/signatures.cu", (option,))


@pytest.mark.parametrize(
    "options",
    [
        ("-rdc=true",),
        *(pytest.param(each, marks=pytest.mark.thorough) for each in ((), ("-lineinfo",), ("-G",))),
    ],
)
def test_nvccs_object_stays_what_it_is(write: Write, options: tuple[str, ...]) -> None:
    skip_without_gcc()
    source = write(
        "hidden.cu",
        "namespace { __device__ int number = 4;\n"
        "__device__ __noinline__ int twice(int x) { return x * number; } }\n"
        "static __device__ int count = 3;\n"
        'extern "C" __global__ void first(int* y) { *y = twice(*y) + count; }\n'
        'extern "C" __global__ void second(int* y) { *y = count; }\n',
    )
    unchanged(find_compiler("nvcc"), source, options)


def unchanged(compiler: Compiler, source: Path, options: tuple[str, ...]) -> None:
    plain = compiler.compile(CompileRequest(source, SM_90, options))
    names = tuple(entry.name for entry in read_module(plain.ptx.decode()).entries)
    fields = tuple(StructFields(name, 0, ("x", "c", "sizes", "a")) for name in names)
    request = CompileRequest(source, SM_90, options, entries=names, fields=fields)
    asked = compiler.compile(request)
    assert asked.ptx == plain.ptx
    assert asked.log == plain.log
    assert [entry.symbol for entry in asked.entries] == list(names)
    # Debug information would hold the types that ask, so nothing is asked for.
    described = [entry.signature is not None for entry in asked.entries]
    assert described == ["-G" not in options and name[:2] != "_Z" for name in names]
