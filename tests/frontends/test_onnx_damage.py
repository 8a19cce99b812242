"""Damaged ONNX models that ONNX's own checker takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import ModelError


def model() -> onnx.ModelProto:
    def value(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 8])

    return helper.make_model(
        helper.make_graph(
            [
                helper.make_node("Mul", ["x", "scale"], ["t"], "product"),
                helper.make_node("Softmax", ["t"], ["y"], "rows", axis=-1),
            ],
            "main",
            [value("x")],
            [value("y")],
            [numpy_helper.from_array(np.ones(8, np.float32), "scale")],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=9,
    )


def refusal(damaged: onnx.ModelProto | Path) -> str:
    product = cd.onnx.Pattern(simple_mul, "Mul")
    with pytest.raises(ModelError) as caught:
        cd.onnx.compile(
            damaged if isinstance(damaged, onnx.ModelProto) else str(damaged),
            ["cpu"],
            replace=product,
        )
    return str(caught.value)


def test_an_axis_of_more_than_32_bits() -> None:
    damaged = model()
    damaged.graph.node[1].attribute[0].i = -(2**62)
    assert refusal(damaged) == (
        f"Node `rows` (Softmax): its attribute `axis` is {-(2**62)}.\n"
        "  expected: one of the tensor's axes, counted from 0 on, or from -1 down\n"
        "  next step: correct the attribute."
    )


@pytest.mark.parametrize("name", [b"Softmax", b"scale"])
def test_names_that_are_no_text(name: bytes, tmp_path: Path) -> None:
    path = tmp_path / "damaged.onnx"
    damaged = b"\xff" + name[1:]
    path.write_bytes(model().SerializeToString().replace(name, damaged))
    assert refusal(path) == (
        f"The ONNX model has the name {damaged!r} in it, which is no text in UTF-8.\n"
        "  expected: names of letters, digits and the like\n"
        "  next step: export the model again."
    )


def test_a_tensor_of_more_elements_than_its_shape_has() -> None:
    damaged = model()
    damaged.graph.initializer[0].raw_data = bytes(64)
    assert refusal(damaged) == (
        "The tensor `scale` of the ONNX model cannot be read: cannot reshape array of size 16 into "
        "shape (8,).\n"
        "  expected: elements of float for the shape [8]\n"
        "  next step: export the model again."
    )
