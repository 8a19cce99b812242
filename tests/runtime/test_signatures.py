"""C signatures that are not IREE's: unmodified kernels, on the CPU, against numpy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gpu.signature_cases import SIGNATURES, TABLE
from sample_kernels import signatures

import custom_dispatch as cd
from custom_dispatch.errors import CallError
from custom_dispatch.ir.compiler_tool import compile_mlir
from custom_dispatch.measure.check import check_kernel

KERNELS = {kernel.name: kernel for kernel in signatures.ALL}


def same(found: Any, expected: Any) -> bool:
    several = expected if isinstance(expected, tuple) else (expected,)
    results = found if isinstance(found, tuple) else (found,)
    return len(several) == len(results) and all(
        got.dtype == want.dtype and np.array_equal(got, want)
        for got, want in zip(results, several, strict=True)
    )


def test_every_signature_has_a_case_and_is_not_irees() -> None:
    assert set(KERNELS) == set(SIGNATURES)
    assert not any(kernel.abi.is_irees for kernel in KERNELS.values())
    assert len(KERNELS) > 25


@pytest.mark.thorough  # the suite of `test_sample_kernels.py` runs that of sm_80
def test_ptx_of_sm_90_computes_what_numpy_does() -> None:
    program = cd.load(cd.compile(None, signatures.ALL, ["cuda:sm_90", "cpu"]), "cpu")
    rng = np.random.default_rng(1)
    wrong = []
    for name, (inputs, expected) in SIGNATURES.items():
        arguments = inputs(rng)
        if not same(program.function(name)(*arguments), expected(*arguments)):
            wrong.append(name)
    assert wrong == []


def test_a_call_takes_a_struct_as_a_mapping() -> None:
    kernel = KERNELS["grid_constant"].on("cpu")
    x = np.arange(20, dtype=np.int32)
    table = {"length": TABLE[0], "values": TABLE[1:10], "offset": TABLE[10]}
    wanted = SIGNATURES["grid_constant"][1](*TABLE, x)
    assert same(kernel(table, x), wanted)
    assert same(kernel(x=x, table=table), wanted)
    assert same(kernel(x=x, table=table | {"values": np.array(TABLE[1:10])}), wanted)
    refused = [
        ({"length": 1, "values": [0.0] * 9}, "is given without `offset`.", "the fields length"),
        (table | {"more": 1}, "is given a field 'more'.", "the fields length, values, offset"),
        (table | {"values": 1.0}, "field `values` is 1.0.", "9 numbers for f32[9]"),
        (table | {"values": [1.0] * 8}, "field `values` is [1.0,", "9 numbers for f32[9]"),
        (table | {"offset": 2**63}, "which i64 does not hold", "a value of type i64"),
        (table | {"length": 1.5}, "`table.length` of operand `table`", "a number for i32"),
        ([1], "is [1].", "a mapping with the fields length, values, offset"),
    ]
    for value, found, expected in refused:
        with pytest.raises(CallError) as caught:
            kernel(value, x)
        assert found in caught.value.found
        assert "operand `table` of kernel `grid_constant`" in caught.value.found.replace("O", "o")
        assert expected in caught.value.expected


def bits_of(written: str) -> str:
    """A kernel that writes the bits of a parameter of 16 bits."""
    return f"""\
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void bits(unsigned short* y, {written} value, const int* x) {{
  y[threadIdx.x] = *(const unsigned short*)&value;
}}
"""


@pytest.mark.parametrize(
    ("dtype", "numpy_type", "written"),
    [("f16", np.float16, "__half"), ("bf16", ml_dtypes.bfloat16, "__nv_bfloat16")],
)
def test_floats_of_16_bits_are_rounded_to_nearest_even(
    tmp_path: Path, dtype: str, numpy_type: Any, written: str
) -> None:
    source = tmp_path / "bits.cu"
    source.write_text(bits_of(written))
    kernel = cd.Kernel(
        "bits",
        source=source,
        operands=[
            cd.Out("y", "u16", [1]),
            cd.Scalar("value", dtype),
            cd.In("x", "i32", [1]),
        ],
        block=1,
        grid=1,
    )
    program = cd.load(cd.compile(None, kernel, ["cpu"]))
    # Around every halfway point of some exponents, both of zero's neighbours and the largest.
    edges = [2.0**e for e in (-149, -133, -126, -25, -24, -15, -14, -1, 0, 7, 15)]
    edges += [65504.0, 65519.0, 65520.0, 65536.0, 3.3e38, 2.25e38, 0.0, 1 / 3, 0.1, 1.00048828125]
    singles = [
        np.float32(edge * part) for edge in edges for part in (1, 1.0004883, 1.00390625, 0.75)
    ]
    near = [np.nextafter(single, np.float32(to)) for single in singles for to in (0, np.inf)]
    x = np.zeros(1, np.int32)
    with np.errstate(over="ignore"):
        for single in [*singles, *near, np.float32(np.inf)]:
            for value in (single, -single):
                wanted = np.asarray(value).astype(numpy_type).view(np.uint16)
                assert program.bits(float(value), x)[0].view(np.uint16) == wanted, float(value)
    (nan,) = program.bits(math.nan, x)
    assert math.isnan(np.asarray(nan).view(np.uint16).view(numpy_type))
    # A call from Python rounds once, from the double that it is given.
    above_half = 1.0 + 2.0**-11 + 2.0**-40
    if dtype == "f16":
        found = kernel.on("cpu")(above_half, x)
        assert found.view(np.float16)[0] == np.float16(above_half) == np.float16(1.0009765625)


def test_an_f64_is_never_silently_an_f32(tmp_path: Path) -> None:
    library = [KERNELS["axpby"], KERNELS["polynomial"]]
    emitted = cd.emit(library, ["cpu"], output=tmp_path / "doubles.mlir")
    flags = [word for word in emitted.command if word.startswith("--")]
    assert "--iree-input-demote-f64-to-f32=false" in flags
    assert compile_mlir(emitted.path.read_bytes(), flags)
    without = [flag for flag in flags if "demote" not in flag]
    with pytest.raises(cd.CustomDispatchError):
        compile_mlir(emitted.path.read_bytes(), without)


def test_a_model_gives_a_structs_numbers_one_by_one() -> None:
    model = """\
func.func private @nested(f32, f32, f32, f32, i32, i16, tensor<?xf32>) -> tensor<?xf32>
func.func @twice(%x: tensor<?xf32>, %w: f32) -> tensor<?xf32> {
  %low = arith.constant 0.5 : f32
  %k = arith.constant -6 : i32
  %s = arith.constant 12 : i16
  %y = call @nested(%w, %low, %low, %w, %k, %s, %x)
      : (f32, f32, f32, f32, i32, i16, tensor<?xf32>) -> tensor<?xf32>
  %z = call @nested(%w, %low, %low, %w, %k, %s, %y)
      : (f32, f32, f32, f32, i32, i16, tensor<?xf32>) -> tensor<?xf32>
  return %z : tensor<?xf32>
}
"""
    program = cd.load(cd.compile(model, KERNELS["nested"], ["cpu"]))
    x = np.arange(100, dtype=np.float32)
    once = x * 3 + (3 * -6 + 12)
    assert np.array_equal(program.twice(x, 3.0), once * 3 + (3 * -6 + 12))
    with pytest.raises(cd.CustomDispatchError) as caught:
        cd.compile(model.replace("i16", "i32"), KERNELS["nested"], ["cpu"])
    assert "has i32 for the scalar `p.s`" in caught.value.found


def test_64_bit_integers_keep_every_bit() -> None:
    kernel = KERNELS["hash"].on("cpu")
    x = np.arange(50, dtype=np.int32)
    for seed in (0, 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1):
        assert same(kernel(seed=seed, x=x), SIGNATURES["hash"][1](seed, x))


def test_a_reference_gets_a_struct_as_a_mapping() -> None:
    plain = KERNELS["nested"]

    def reference(w: dict[str, float], p: dict[str, float], x: Any) -> Any:
        inner = p["low"] - p["high"] + p["factor"] * p["k"] + p["s"]
        return (x * w["value"] + inner).astype(np.float32)

    kernel = cd.Kernel(
        "nested",
        source=plain.source,
        operands=plain.operands,
        block=plain.block,
        grid=plain.grid,
        reference=reference,
    )
    results = list(check_kernel(kernel, "cpu"))
    assert len(results) > 3
    assert [result.problem for result in results if not result.passed] == []


def test_the_cpu_needs_one_constant_for_the_grid(tmp_path: Path) -> None:
    source = tmp_path / "large.cu"
    source.write_text(
        "struct Words { int w[64]; };\n"
        'extern "C" __global__ void large(const int* x, Words words, int* y) {'
        " y[threadIdx.x] = words.w[x[threadIdx.x]]; }\n"
    )
    words = cd.Struct("words", w=("i32", 64))
    operands = [cd.In("x", "i32", [64]), words, cd.Out("y", "i32", [64])]
    kernel = cd.Kernel("large", source=source, operands=operands, block=64, grid=1)
    assert cd.compile(None, kernel, ["cuda:sm_90"])
    with pytest.raises(cd.CustomDispatchError) as caught:
        cd.compile(None, kernel, ["cpu"])
    assert caught.value.found == (
        "Kernel `large` has scalars and structs of 64 words of 32 bits and the target cpu."
    )
    assert "at most 63" in caught.value.expected


def test_a_buffer_of_one_f64_is_as_any_other(tmp_path: Path) -> None:
    """IREE takes what has one element apart; also known in a model only, and as a constant."""
    source = tmp_path / "one.cu"
    source.write_text(
        '#define KERNEL(name) extern "C" __global__ void name(const double* x, double* y, double* z'
        ") { if (threadIdx.x == 0) { z[0] = x[0] + 2 * y[0]; y[0] += 1; } }\n"
        "KERNEL(zero) KERNEL(one) KERNEL(two) KERNEL(some)\n"
    )
    n = cd.dim("n")
    shapes: dict[str, list[Any]] = {"zero": [], "one": [1], "two": [1, 1], "some": [n]}
    kernels = [
        cd.Kernel(
            name,
            source=source,
            operands=[
                cd.In("x", "f64", shape),
                cd.InOut("y", "f64", shape),
                cd.Out("z", "f64", shape),
            ],
            block=32,
            grid=1,
        )
        for name, shape in shapes.items()
    ]
    types = {"zero": "tensor<f64>", "one": "tensor<1xf64>", "two": "tensor<1x1xf64>"}
    types["some"] = "tensor<1xf64>"
    lines = []
    for name, kind in types.items():
        lines += [
            f"func.func private @{name}({kind}, {kind}) -> ({kind}, {kind})",
            f"func.func @twice_{name}(%x: {kind}, %y: {kind}) -> ({kind}, {kind}) {{",
            f"  %c = arith.constant dense<8.0> : {kind}",
            f"  %a:2 = call @{name}(%c, %y) : ({kind}, {kind}) -> ({kind}, {kind})",
            f"  %s = arith.addf %a#1, %x : {kind}",
            f"  %b:2 = call @{name}(%s, %a#0) : ({kind}, {kind}) -> ({kind}, {kind})",
            f"  return %b#0, %b#1 : {kind}, {kind}",
            "}",
        ]
    module = cd.compile("\n".join(lines), kernels, ["cuda:sm_80", "cpu"])
    program = cd.load(module.save(tmp_path / "one.vmfb"), device="cpu")
    for name in types:
        shape = () if name == "zero" else (1, 1) if name == "two" else (1,)
        found = program.function(f"twice_{name}")(np.full(shape, 0.1), np.full(shape, 3.0))
        assert [item.tolist() for item in found] == [
            np.full(shape, 5.0).tolist(),
            np.full(shape, 14.0 + 0.1 + 8.0).tolist(),
        ]
    emitted = cd.emit(kernels[1:2], ["cuda:sm_80"], output=tmp_path / "one.mlir")
    flags = [word for word in emitted.command if word.startswith("--") and "demote" not in word]
    with pytest.raises(cd.CustomDispatchError, match=r"tensor\.bitcast"):
        compile_mlir(emitted.path.read_bytes(), flags)
