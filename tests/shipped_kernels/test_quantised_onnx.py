"""ONNX models with quantised weights: where kernels take the products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from cuda_kernels import quantised
from cuda_kernels.quantised.onnx_models import convert

N, K = 48, 128
RANDOM = numpy.random.default_rng(0)
Made = tuple[list[onnx.NodeProto], dict[str, Any]]


def scales(*shape: int) -> Any:
    return (RANDOM.random(shape) * 0.05 + 0.01).astype("f2")


def blocks(kind: Any, low: int, high: int) -> Made:
    """[k, n] in blocks along k, as onnxruntime's tools write it."""
    numbers = RANDOM.integers(low, high, (K, N)).astype(kind)
    given = {"w": numbers, "s": scales(K // 32, N)}
    return [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=32),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ], given


def of_channels() -> Made:
    """[n, k] with a scale for each row, a zero point and a bias."""
    numbers = RANDOM.integers(0, 16, (N, K)).astype("u1")
    given = {"w": numbers, "s": scales(N), "z": RANDOM.integers(0, 16, N).astype("u1")}
    given["b"] = RANDOM.standard_normal(N).astype("f2")
    return [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=0),
        helper.make_node("Gemm", ["x", "d", "b"], ["y"], transB=1),
    ], given


def of_all() -> Made:
    """[n, k], transposed; integers of 8 bits with one scale."""
    given = {"w": RANDOM.integers(-127, 128, (N, K)).astype("i1"), "s": scales()}
    return [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"]),
        helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "t"], ["y"]),
    ], given


def of_floats() -> Made:
    given = {"w": RANDOM.standard_normal((K, N)).astype(ml_dtypes.float8_e4m3fn), "s": scales(N)}
    return [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=1),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ], given


MODELS: dict[str, tuple[Callable[[], Made], str]] = {
    "int4 in blocks": (lambda: blocks(ml_dtypes.int4, -8, 8), "int4_f16"),
    "uint4 in blocks": (lambda: blocks(ml_dtypes.uint4, 0, 16), "int4_zeros_f16"),
    "int8 in blocks": (lambda: blocks("i1", -128, 128), "int8_groups_f16"),
    "4 bits by row": (of_channels, "int4_zeros_f16"),
    "int8, one scale": (of_all, "int8_f16"),
    "e4m3 by column": (of_floats, "fp8_f16"),
}


def model_of(nodes: list[onnx.NodeProto], given: dict[str, Any]) -> onnx.ModelProto:
    kind = onnx.TensorProto.FLOAT16
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", kind, ["rows", K])],
        [helper.make_tensor_value_info("y", kind, ["rows", N])],
        [numpy_helper.from_array(value, name) for name, value in given.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


@pytest.mark.parametrize("name", MODELS)
def test_products_of_dequantised_weights_call_kernels(name: str) -> None:
    make, kernel = MODELS[name]
    model = model_of(*make())
    found, names = convert(model)
    assert names == ["y"]
    (called,) = (node for node in found.graph.node if node.domain == "custom_dispatch")
    assert called.op_type == kernel
    assert not {node.op_type for node in found.graph.node} - {kernel, "Add"}
    x = RANDOM.standard_normal((3, K)).astype("f2")
    held = {each.name: numpy_helper.to_array(each) for each in found.graph.initializer}
    operands = [numpy.asarray(held[each]) for each in called.input[1:]]
    choice = getattr(quantised, kernel)
    got = choice.kernels[0].reference(x, *operands).astype("f4")
    got += held["b"].astype("f4") if "b" in held else 0
    (want,) = ReferenceEvaluator(model).run(None, {"x": x})
    assert numpy.linalg.norm(got - want) < 2e-3 * numpy.linalg.norm(want.astype("f4"))


@pytest.mark.parametrize(
    ("bits", "size", "kernel"),
    [(4, 16, None), (4, 64, "int4_zeros_f16"), (8, 32, "int8_groups_f16")],
)
def test_matmulnbits_of_any_bits_call_kernels(bits: int, size: int, kernel: str | None) -> None:
    packed = RANDOM.integers(0, 256, (N, K // size, size * bits // 8)).astype("u1")
    given = {"w": packed, "s": scales(N * K // size)}
    zeros = ["z"] if bits == 4 else []
    if zeros:
        given["z"] = RANDOM.integers(0, 256, (N, -(-K // size) // 2)).astype("u1")
    node = helper.make_node(
        "MatMulNBits",
        ["x", "w", "s", *zeros],
        ["y"],
        domain="com.microsoft",
        K=K,
        N=N,
        bits=bits,
        block_size=size,
    )
    found, names = convert(model_of([node], given))
    assert names == (["y"] if kernel else [])
    if kernel is None:
        return
    (called,) = found.graph.node
    held = {each.name: numpy_helper.to_array(each) for each in found.graph.initializer}
    operands = [numpy.asarray(held[each]) for each in called.input[1:]]
    got = getattr(quantised, kernel).kernels[0].reference(numpy.eye(K, dtype="f2"), *operands)
    if bits == 4:
        numbers = numpy.stack([packed & 15, packed >> 4], -1).reshape(N, -1, size).astype("f4")
        zero = numpy.stack([given["z"] & 15, given["z"] >> 4], -1).reshape(N, -1, 1)
    else:
        numbers, zero = packed.astype("f4"), numpy.float32(128)
    want = ((numbers - zero) * given["s"].reshape(N, -1, 1)).reshape(N, K)
    numpy.testing.assert_allclose(got.T.astype("f4"), want, rtol=1e-3, atol=1e-3)


def test_what_no_kernel_takes_stays() -> None:
    wide = {"w": RANDOM.integers(0, 256, (K, N)).astype("u1"), "s": scales(N)}
    wide["z"] = RANDOM.integers(0, 100, N).astype("u1")
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=1),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    model = model_of(nodes, wide)
    assert convert(model) == (model, [])
    nodes, given = of_all()
    nodes[-1] = helper.make_node("MatMul", ["x", "x"], ["y"])
    assert convert(model_of(nodes, given))[1] == []
