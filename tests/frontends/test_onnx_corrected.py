"""Operators of ONNX that IREE computes wrongly or not at all: written in others, or refused."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import custom_dispatch as cd
from custom_dispatch.errors import ModelError
from tests.frontends.test_onnxruntime_operators import written

FLOAT = TensorProto.FLOAT
RANDOM = numpy.random.default_rng(0)
NODE = helper.make_node
IMAGES = {"x": (2, 4, 5, 6)}
POSITIONS = {**IMAGES, "grid": (2, 3, 4, 2)}
STEPS = {name: numpy.float32(0.05) for name in ("xs", "ws", "ys")}
MIDDLES = {"xz": numpy.uint8(90), "wz": numpy.uint8(120), "yz": numpy.uint8(70)}
GIVEN = {**STEPS, **MIDDLES, "b": numpy.array([5, -900, 70], "i4")}
QUANTISED = NODE("QuantizeLinear", ["x", "xs", "xz"], ["q"])
WITH_ZEROS = {"ceil_mode": 1, "count_include_pad": 1}
FACTORS = "q xs xz w ws wz ys yz"


def model_of(
    nodes: list[onnx.NodeProto],
    shapes: dict[str, Any],
    weights: dict[str, Any] | None = None,
    of: int = FLOAT,
    version: int = 23,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info("y", of, [None] * len(shapes["x"]))],
        [numpy_helper.from_array(value, name) for name, value in (weights or {}).items()],
    )
    versions = [helper.make_opsetid("", version)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


def bytes_of(*shape: int) -> numpy.ndarray[Any, Any]:
    return RANDOM.integers(0, 255, shape).astype("u1")


@pytest.mark.parametrize(
    "model",
    [
        model_of([NODE("DepthToSpace", ["x"], ["y"], blocksize=2, mode="CRD")], IMAGES, version=17),
        *(
            pytest.param(
                model_of([NODE("GridSample", ["x", "grid"], ["y"], **said)], POSITIONS),
                marks=marks,
            )
            for said, marks in (
                ({}, ()),
                ({"align_corners": 1, "mode": "linear"}, pytest.mark.thorough),
                ({"padding_mode": "border"}, pytest.mark.thorough),
                ({"padding_mode": "border", "align_corners": 1}, ()),
            )
        ),
        model_of(
            [QUANTISED, NODE("QLinearConv", [*FACTORS.split(), "b"], ["y"], pads=[1, 0, 1, 2])],
            {"x": (2, 4, 5, 6)},
            {**GIVEN, "w": bytes_of(3, 4, 3, 3)},
            TensorProto.UINT8,
            21,
        ),
        model_of(
            [QUANTISED, NODE("QLinearMatMul", FACTORS.split(), ["y"])],
            {"x": (3, 5)},
            {**GIVEN, "w": bytes_of(5, 4)},
            TensorProto.UINT8,
            21,
        ),
    ],
    ids=lambda model: model.graph.node[-1].op_type,
)
def test_a_node_is_written_in_operators_that_are_right(model: onnx.ModelProto) -> None:
    own = written(model)
    said = {(node.op_type, bool(node.attribute)) for node in own.graph.node}
    assert (model.graph.node[-1].op_type, True) not in said
    shapes = {
        item.name: [dim.dim_value for dim in item.type.tensor_type.shape.dim]
        for item in model.graph.input
    }
    given = {name: 2 * RANDOM.normal(size=shape).astype("f4") for name, shape in shapes.items()}
    (wanted,) = ReferenceEvaluator(model).run(None, given)
    (found,) = ReferenceEvaluator(own).run(None, given)
    assert found.dtype == wanted.dtype
    steps = 1 if wanted.dtype == "u1" else 1e-5  # one step where a quotient is halfway between two
    assert numpy.abs(found.astype("f8") - wanted).max() <= steps


def test_norms_and_remainders_that_no_kernel_takes_are_right() -> None:
    nodes = [
        NODE("RMSNormalization", ["x", "scale"], ["n"], axis=1, epsilon=1e-3),
        NODE("Mod", ["n", "by"], ["y"]),
    ]
    scale = RANDOM.normal(size=(5, 8)).astype("f4")
    model = model_of(nodes, {"x": ["n", 5, 8]}, {"scale": scale, "by": numpy.float32(-0.7)})
    program = cd.load(cd.onnx.compile(model, ["cpu:host"]), "cpu")
    x = RANDOM.normal(size=(3, 5, 8)).astype("f4")
    normed = x / numpy.sqrt((x**2).mean((1, 2), keepdims=True) + 1e-3) * scale
    wanted = numpy.mod(normed, numpy.float32(-0.7))
    difference = numpy.abs(program.main(x) - wanted)
    assert numpy.minimum(difference, 0.7 - difference).max() < 1e-5


def test_a_result_needs_no_rank_in_the_model() -> None:
    model = model_of([NODE("Relu", ["x"], ["y"])], {"x": ["n", 5]})
    model.graph.output[0].type.tensor_type.ClearField("shape")
    (found,) = written(model).graph.output
    assert [dim.dim_param or dim.dim_value for dim in found.type.tensor_type.shape.dim] == ["n", 5]


@pytest.mark.parametrize(
    ("node", "shapes", "said"),
    [
        (
            NODE("LSTM", ["x", "w", "r", "", "lengths"], ["y"], "cells", hidden_size=2),
            {"x": (3, 2, 4), "w": (1, 8, 4), "r": (1, 8, 2), "lengths": (2,)},
            "Node `cells` (LSTM) has the sequences' lengths, `lengths`, with which IREE computes "
            "wrongly.\n"
            "  expected: a node without that input\n"
            "  next step: export the model without it, such as for sequences of one length.",
        ),
        (
            NODE("GridSample", ["x", "grid"], ["y"], "warp", mode="nearest"),
            POSITIONS,
            "Node `warp` (GridSample) has `mode` of nearest, which IREE computes wrongly.\n"
            "  expected: another value\n"
            "  next step: export the model with mode linear.",
        ),
        (
            NODE("AveragePool", ["x"], ["y"], "pool", kernel_shape=[3, 3], **WITH_ZEROS),
            IMAGES,
            "Node `pool` (AveragePool) has `ceil_mode` of 1 and `count_include_pad` of 1, which "
            "IREE computes wrongly.\n"
            "  expected: another value\n"
            "  next step: pad the images with a Pad before.",
        ),
    ],
    ids=["lengths", "nearest", "pool"],
)
def test_what_iree_computes_wrongly_is_refused(
    node: onnx.NodeProto, shapes: dict[str, Any], said: str
) -> None:
    model = model_of([node], shapes)
    if "lengths" in shapes:
        model.graph.input[-1].type.tensor_type.elem_type = TensorProto.INT32
        model.graph.output[0].type.tensor_type.shape.dim.add()
    with pytest.raises(ModelError) as caught:
        cd.onnx.compile(model, ["cpu:host"])
    assert str(caught.value) == said
