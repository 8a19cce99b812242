"""Graphs and patterns of ONNX that several files test with."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import custom_dispatch as cd
from cuda_kernels.elementwise import gelu
from custom_dispatch.replaced import Replaced
from tests.places import replaced_in_onnx
from tests.sample_kernels.rows import row_layer_norm

FLOAT = TensorProto.FLOAT


SIZES = ["batch", "rows", 8]


RNG = numpy.random.default_rng(0)


def value(name: str, shape: Any, kind: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    """A node; names are separated by blanks, and "-" stands for none."""
    names = [[name.strip("-") for name in text.split()] for text in (inputs, outputs)]
    return helper.make_node(operator, *names, name=outputs.split()[0], **attributes)


def graph_of(
    nodes: list[onnx.NodeProto], inputs: Any, outputs: Any, constants: Any = ()
) -> onnx.GraphProto:
    return helper.make_graph(
        nodes,
        "graph",
        [value(name, shape) for name, shape in dict(inputs).items()],
        [value(name, shape) for name, shape in dict(outputs).items()],
        [numpy_helper.from_array(array, name) for name, array in dict(constants).items()],
    )


def model_of(graph: onnx.GraphProto, opset: int = 20) -> onnx.ModelProto:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def replaced(model: onnx.ModelProto, *patterns: cd.onnx.Pattern) -> Replaced:
    """What is replaced, without compiling what comes out."""
    return replaced_in_onnx(model, list(patterns))


def norm_nodes(prefix: str = "", epsilon: str = "epsilon", **changes: Any) -> list[Any]:
    """A layer norm as older exporters write it; `changes` are nodes by their first output."""
    nodes = [
        node("ReduceMean", "x axes", "mean"),
        node("Sub", "x mean", "centred"),
        node("Mul", "centred centred", "squares"),
        node("ReduceMean", "squares axes", "variance"),
        node("Add", f"variance {epsilon}", "more"),
        node("Sqrt", "more", "root"),
        node("Div", "centred root", "normed"),
        node("Mul", "normed weight", "scaled"),
        node("Add", "scaled bias", "y"),
    ]
    return [item for old in nodes for item in changes.get(old.output[0], [old])]


AXES = {"axes": numpy.array([-1])}


NORM_INPUTS = {"x": SIZES, "weight": [8], "bias": [8]}


NORM_GRAPH = graph_of(norm_nodes(), NORM_INPUTS | {"epsilon": []}, {"y": SIZES}, AXES)


# Of the size of a pack a thread, which is the least there is to compile.
gelu_erf_f16, gelu_erf_f32, gelu_tanh_f32 = (
    gelu.declare(form, dtype, packs=1)
    for form, dtype in (("erf", "f16"), ("erf", "f32"), ("tanh", "f32"))
)


NORM = cd.onnx.Pattern(row_layer_norm, NORM_GRAPH, required=False)


def norm_model(inputs: Any = None, constants: Any = None, **changes: Any) -> onnx.ModelProto:
    constants = AXES | {"epsilon": numpy.array(0.5, "f4")} | (constants or {})
    return model_of(
        graph_of(
            [*norm_nodes(**changes), node("Neg", "y", "z")],
            NORM_INPUTS | (inputs or {}),
            {"z": SIZES},
            constants,
        )
    )


N = cd.dim("n")


TWO = cd.Kernel(
    "two",
    source="not-here.cu",
    operands=[cd.In("a", "f32", [N]), cd.In("b", "f32", [N]), cd.Out("y", "f32", [N])],
    block=64,
    grid=cd.ceildiv(N, 64),
)
