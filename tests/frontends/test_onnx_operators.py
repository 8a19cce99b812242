"""Kernels called by name in models from ONNX: operators with attributes of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import LinkError
from custom_dispatch.frontends.mlir import link
from custom_dispatch.ir.executable import by_path
from custom_dispatch.toolchain.library import Library
from tests.sample_kernels.rows import row_norm

X = np.arange(48, dtype=np.float32).reshape(2, 3, 8)
WEIGHT = np.linspace(1, 2, 8, dtype=np.float32)
META = "{torch.onnx_meta.ir_version = 10 : si64, torch.onnx_meta.opset_version = 20 : si64}"


def model(sizes: str = "?,3,8", attributes: str = "{torch.onnx.epsilon = 1.0e-5 : f32}") -> str:
    x, weight = f"!torch.vtensor<[{sizes}],f32>", "!torch.vtensor<[8],f32>"
    return f"""
      func.func @main(%x: {x}, %weight: {weight}) -> {x} attributes {META} {{
        %none = torch.constant.none
        %0 = torch.operator "onnx.row_norm"(%x, %weight) {attributes}
          : ({x}, {weight}) -> {x} loc("model.onnx":3:0)
        %1 = torch.operator "onnx.Neg"(%0) : ({x}) -> {x}
        return %1 : {x}
      }}"""


def normalised(x: np.ndarray) -> np.ndarray:
    assert row_norm.reference is not None
    wanted: np.ndarray = row_norm.reference(x, WEIGHT, 1e-5)
    return wanted


@pytest.fixture(scope="module")
def library() -> Library:
    return cd.build([row_norm], ["cuda:sm_80"])


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param("2,3,8", marks=pytest.mark.thorough),
        "?,3,8",
        pytest.param("?,?,8", marks=pytest.mark.thorough),
    ],
)
def test_attributes_reach_scalars_by_their_names(sizes: str) -> None:
    module = cd.compile(model(sizes), row_norm, ["cuda:sm_80", "cpu"])
    result = cd.load(module, "cpu").main(X, WEIGHT)
    np.testing.assert_allclose(result, -normalised(X), rtol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "found"),
    [
        ("{torch.onnx.eps = 1.0e-5 : f32}", "has the attribute `eps`, which `row_norm` does"),
        ('{torch.onnx.epsilon = "a"}', 'has "a" for the scalar `epsilon`'),
        ("", "has no value for `epsilon`"),
    ],
)
def test_attributes_that_are_no_scalars_are_refused(
    library: Library, attributes: str, found: str
) -> None:
    with pytest.raises(LinkError) as caught:
        link(model(attributes=attributes), library, by_path)
    assert f"The operator `onnx.row_norm` at model.onnx:3 {found}" in caught.value.found


def test_what_onnx_imports_is_a_model(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from iree.compiler.tools.import_onnx.__main__ import main, parse_arguments

    shape = ["rows", 3, 8]
    value = onnx.helper.make_tensor_value_info
    float32 = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("row_norm", ["x", "weight"], ["n"], domain="mine", epsilon=1e-5),
            onnx.helper.make_node("Neg", ["n"], ["y"]),
        ],
        "main",
        [value("x", float32, shape), value("weight", float32, [8])],
        [value("y", float32, shape)],
        value_info=[value("n", float32, shape)],
    )
    opsets = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("mine", 1)]
    source, imported = tmp_path / "model.onnx", tmp_path / "model.mlir"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10), source)
    main(parse_arguments([str(source), "-o", str(imported)]))
    program = cd.load(cd.compile(imported, row_norm, ["cpu"]))
    (function,) = program.functions.values()
    np.testing.assert_allclose(function(X, WEIGHT), -normalised(X), rtol=1e-5)
