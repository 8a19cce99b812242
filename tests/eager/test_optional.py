"""Buffers that may be absent: the kernel gets a null pointer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_kernels import optional

import custom_dispatch as cd
from custom_dispatch.errors import CallError, DeclarationError, LinkError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import CompileRequest

scale_bias, affine, presence = optional.ALL
n = cd.dim("n")
X = np.arange(100, dtype=np.float32)
NONE = np.empty(0, np.float32)


def test_a_call_passes_none_or_leaves_it_out() -> None:
    call = scale_bias.on("cpu")
    for _ in range(2):
        assert np.array_equal(call(X, X), 3 * X)
        assert np.array_equal(call(X, None), 2 * X)
        assert np.array_equal(call(X, NONE), 2 * X)
        assert np.array_equal(call(X), 2 * X)
        assert np.array_equal(call(X, bias=X), 3 * X)


def test_a_program_s_function_takes_none_too() -> None:
    program = cd.load(cd.compile(None, [scale_bias, affine], ["cpu"]), "cpu")
    assert np.array_equal(program.scale_bias(X, None), 2 * X)
    assert np.array_equal(program.scale_bias(X), 2 * X)
    assert np.array_equal(program.scale_bias(X, bias=X), 3 * X)
    assert np.array_equal(program.affine(None, 0.5, None, X), X + np.float32(0.5))
    assert np.array_equal(program.scale_bias.submit(X, None).result(), 2 * X)
    with pytest.raises(CallError, match="Argument 0 of `scale_bias`"):
        program.scale_bias(None)


@pytest.mark.parametrize("weight", [None, X + 1])
@pytest.mark.parametrize("bias", [None, X - 7])
def test_any_of_several_may_be_absent(weight: Any, bias: Any) -> None:
    expected = (X if weight is None else X * weight) + (0 if bias is None else bias)
    found = affine.on("cpu")(weight, 0.5, bias, X)
    assert np.array_equal(found, (expected + 0.5).astype(np.float32))


def test_shapes_are_checked_where_it_is_there() -> None:
    call = presence.on("cpu")
    wide = np.ones((3, 6), np.float32)
    assert call(X[:3], None, wide).tolist() == [2] * 4
    for wrong, said in (
        (np.ones((3, 5), np.float32), "operand `b` has size 5 in dimension 1"),
        (np.ones((2, 6), np.float32), "disagree on dim n"),
        (np.ones(6, np.float32), "Kernel `presence`: operand `b` has shape [6], which is rank 1"),
    ):
        with pytest.raises(CallError) as caught:
            call(X[:3], None, wrong)
        assert said in caught.value.found
    with pytest.raises(CallError, match="`x` of kernel `presence`"):
        call(None)


MODEL = """
func.func private @scale_bias(tensor<?xf32>, tensor<{size}xf32>) -> tensor<?xf32>
func.func @run(%x: tensor<?xf32>, %bias: tensor<{size}xf32>) -> tensor<?xf32> {{
  %y = call @scale_bias(%x, %bias) : (tensor<?xf32>, tensor<{size}xf32>) -> tensor<?xf32>
  %z = arith.addf %y, %x : tensor<?xf32>
  return %z : tensor<?xf32>
}}
"""


def test_a_model_passes_a_tensor_without_elements() -> None:
    program = cd.load(cd.compile(MODEL.format(size="?"), scale_bias, ["cuda:sm_90", "cpu"]), "cpu")
    assert np.array_equal(program.run(X, X), 4 * X)
    assert np.array_equal(program.run(X, NONE), 3 * X)
    with pytest.raises(CallError, match="disagree on dim n"):
        program.run(X, X[:5])
    assert program.run(NONE, NONE).size == 0


def test_an_operand_that_is_never_there() -> None:
    program = cd.load(cd.compile(MODEL.format(size="0"), scale_bias, ["cpu"]), "cpu")
    assert np.array_equal(program.run(X, NONE), 3 * X)
    fixed = MODEL.format(size="100").replace("tensor<?xf32>", "tensor<100xf32>")
    program = cd.load(cd.compile(fixed, scale_bias, ["cpu"]), "cpu")
    assert np.array_equal(program.run(X, X), 4 * X)
    constant = MODEL.format(size="0").replace(
        "  %y =", "  %none = tensor.empty() : tensor<0xf32>\n  %y ="
    )
    constant = constant.replace("@scale_bias(%x, %bias)", "@scale_bias(%x, %none)")
    program = cd.load(cd.compile(constant, scale_bias, ["cpu"]), "cpu")
    assert np.array_equal(program.run(X, NONE), 3 * X)


def test_a_model_whose_sizes_cannot_be_right_is_not_linked() -> None:
    wrong = MODEL.format(size="7").replace("tensor<?xf32>", "tensor<100xf32>")
    with pytest.raises(LinkError, match=r"`bias`.shape\[0\] disagree on dim n: 100 and 7"):
        cd.compile(wrong, scale_bias, ["cpu"])


def test_what_cannot_be_optional_is_refused() -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.In("x", "f32", [], optional=True)
    assert "with 0 dimensions" in caught.value.found
    assert "shape [1]" in caught.value.next_step
    with pytest.raises(DeclarationError, match="optional is 'yes'"):
        cd.In("x", "f32", [n], optional="yes")  # type: ignore[arg-type]
    for kind in (cd.Out, cd.InOut):
        with pytest.raises(TypeError):
            kind("x", "f32", [n], optional=True)
    with pytest.raises(DeclarationError) as other:
        cd.Kernel(
            "k",
            source="k.cu",
            operands=[cd.In("x", "f32", [n], optional=True), cd.Out("y", "f32", [n])],
            block=1,
            grid=1,
        )
    assert "dim `n`, used in the shape of `x`, has no value" in other.value.found
    assert "not optional" in other.value.expected


def test_it_is_said_wherever_the_operand_is_shown(tmp_path: Path) -> None:
    assert str(scale_bias.operands[1]) == "In(bias: f32[n], optional)"
    program = cd.load(cd.compile(None, optional.ALL, ["cuda:sm_90", "cpu"]), "cpu")
    assert program.manifest is not None


def test_an_object_for_the_same_kernel_without_absence_is_refused(tmp_path: Path) -> None:
    cd.build(scale_bias, ["cuda:sm_80"]).write(tmp_path)
    assert cd.build(scale_bias, ["cuda:sm_80"], objects=tmp_path).units
    operands = [
        cd.In("x", "f32", [n]), cd.In("bias", "f32", [n]), cd.Out("y", "f32", [n]),
        cd.Scalar("count", "i32", n),
    ]  # fmt: skip
    always = cd.Kernel(
        "scale_bias", source=scale_bias.source, operands=operands, block=64, grid=cd.ceildiv(n, 64)
    )
    with pytest.raises(cd.CustomDispatchError, match="was adapted to IREE for another declaration"):
        cd.build(always, ["cuda:sm_80"], objects=tmp_path)


def test_a_pointer_whose_address_is_taken(tmp_path: Path) -> None:
    assert scale_bias.source is not None
    ptx = find_compiler("nvrtc").compile(CompileRequest(scale_bias.source, Arch(80))).ptx.decode()
    load = next(line for line in ptx.splitlines() if "[scale_bias_param_1]" in line)
    register = load.split()[1].rstrip(",")
    taken = f"\tmov.b64 {register}, scale_bias_param_1;\n\tld.param.u64 {register}, [{register}];"
    path = tmp_path / "taken.ptx"
    path.write_text(ptx.replace(load, taken))
    kernel = cd.Kernel(
        "scale_bias",
        objects={"cuda:sm_80": path},
        operands=scale_bias.operands,
        block=64,
        grid=cd.ceildiv(n, 64),
    )
    call = kernel.on("cpu")
    assert np.array_equal(call(X, X), 3 * X)
    assert np.array_equal(call(X), 2 * X)
