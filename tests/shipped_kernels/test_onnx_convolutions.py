"""Convolutions of ONNX models, with what follows them, and the sizes that they may have."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import custom_dispatch as cd
from cuda_kernels.patterns import onnx as onnx_patterns
from custom_dispatch.replaced import Replaced
from tests.places import replaced_in_onnx

FLOAT = TensorProto.FLOAT
RANDOM = numpy.random.default_rng(0)
NODE = helper.make_node
SIXTH = 1 / 6
THOROUGH = pytest.mark.thorough


def model_of(
    nodes: list[onnx.NodeProto], shape: list[Any], weights: dict[str, Any], outputs: int = 1
) -> onnx.ModelProto:
    rank = len(shape)
    results = ["y", "z"][:outputs]
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", FLOAT, shape)],
        [helper.make_tensor_value_info(name, FLOAT, [None] * rank) for name in results],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    versions = [helper.make_opsetid("", 22)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


def random(*shape: int) -> numpy.ndarray[Any, Any]:
    return RANDOM.normal(size=shape).astype("f4")


def one(weight: tuple[int, ...], shape: list[Any], *after: onnx.NodeProto, **said: Any) -> Replaced:
    weights = {"w": random(*weight), "b": random(weight[0])}
    weights |= {"least": numpy.float32(0), "most": numpy.float32(6)}
    nodes = [NODE("Conv", ["x", "w", "b"], ["c" if after else "y"], **said), *after]
    return replaced_in_onnx(model_of(nodes, shape, weights), onnx_patterns.convolution)


@pytest.mark.parametrize(
    "after",
    [
        [NODE("Relu", ["c"], ["y"])],
        [NODE("Sigmoid", ["c"], ["s"]), NODE("Mul", ["s", "c"], ["y"])],
        [NODE("Gelu", ["c"], ["y"], approximate="none")],
        pytest.param([NODE("Gelu", ["c"], ["y"], approximate="tanh")], marks=THOROUGH),
        [NODE("Clip", ["c", "least", "most"], ["y"])],
        pytest.param([NODE("HardSwish", ["c"], ["y"])], marks=THOROUGH),
        [NODE("HardSigmoid", ["c"], ["s"], alpha=SIXTH), NODE("Mul", ["c", "s"], ["y"])],
        pytest.param([NODE("HardSigmoid", ["c"], ["y"], alpha=SIXTH, beta=0.5)], marks=THOROUGH),
        pytest.param([NODE("Sigmoid", ["c"], ["y"])], marks=THOROUGH),
        [NODE("LeakyRelu", ["c"], ["y"], alpha=0.1)],
    ],
    ids=lambda after: "-".join(node.op_type for node in after),
)
def test_an_activation_goes_with_its_convolution(after: list[onnx.NodeProto]) -> None:
    report = one((8, 4, 3, 3), ["batch", 4, "height", "width"], *after, pads=[1, 1, 1, 1])
    assert [item.kernel for item in report] == ["convolution_2d_f32"]
    assert [len(item.operations) for item in report] == [1 + len(after)]
    assert report.remaining == ()


@pytest.mark.parametrize(
    ("weight", "shape", "said"),
    [
        ((8, 4, 3, 3), ["n", 4, "h", "w"], {"strides": [2, 1], "pads": [1, 0, 1, 0]}),
        ((8, 4, 3, 3), ["n", 4, 9, 11], {"pads": [0, 1, 2, 1]}),
        ((8, 2, 3, 3), ["n", 4, 9, 11], {"group": 2, "dilations": [2, 1]}),
        ((4, 1, 3, 3), ["n", 4, 9, 11], {"group": 4, "auto_pad": "VALID"}),
        ((8, 4, 3), ["n", 4, "l"], {"strides": [2], "pads": [1, 1]}),
        ((8, 4, 1), ["n", 4, "l.1"], {}),
    ],
    ids=["strides", "unequal-pads", "groups", "depthwise", "one-axis", "odd-name"],
)
def test_every_kind_of_window_is_found(
    weight: tuple[int, ...], shape: list[Any], said: dict[str, Any]
) -> None:
    assert one(weight, shape, **said).remaining == ()


def test_norms_and_sums_go_with_their_convolution_and_compute_what_onnx_says() -> None:
    norm = ["scale", "shift", "mean", "variance"]
    nodes = [
        NODE("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        NODE("BatchNormalization", ["c", *norm], ["n"], epsilon=1e-3, momentum=0.8),
        NODE("Relu", ["n"], ["r"]),
        NODE("Conv", ["r", "v", "b"], ["d"], pads=[0, 0, 1, 2]),
        NODE("Slice", ["x", "starts", "ends"], ["some"]),
        NODE("Add", ["some", "d"], ["t"]),
        NODE("LeakyRelu", ["t"], ["y"], alpha=0.3),
    ]
    weights = {"w": random(4, 4, 3, 3), "v": random(4, 4, 2, 3), "b": random(4)}
    weights |= {name: numpy.abs(random(4)) + 0.5 for name in norm}
    whole = numpy.iinfo("i8").max
    weights |= {"starts": numpy.zeros(4, "i8"), "ends": numpy.array([whole, whole, 9, 11], "i8")}
    model = model_of(nodes, ["batch", 4, 9, 11], weights)
    done = cd.onnx.compile(model, ["cpu:host"], replace=onnx_patterns.convolution)
    assert [len(item.operations) for item in done.replaced or ()] == [3, 3]
    program = cd.load(done, "cpu")
    for batch in (1, 3):
        x = random(batch, 4, 9, 11)
        (wanted,) = ReferenceEvaluator(model).run(None, {"x": x})
        assert numpy.abs(program.main(x) - wanted).max() < 1e-4


def test_a_pattern_of_the_users_own_takes_the_node_itself() -> None:
    from cuda_kernels.elementwise import gelu_erf_f32

    pattern = cd.onnx.Pattern(gelu_erf_f32, NODE("LeakyRelu", ["x"], ["y"], alpha=0.3))
    model = model_of([NODE("LeakyRelu", ["x"], ["y"], alpha=0.3)], ["n", 8], {})
    done = cd.onnx.compile(model, ["cpu:host"], replace=[pattern, *onnx_patterns.convolution])
    assert [item.kernel for item in done.replaced or ()] == ["gelu_erf_f32"]


def test_attention_of_three_dims_is_left_where_its_kernels_have_four() -> None:
    nodes = [
        NODE("Transpose", ["x"], ["k"], perm=[0, 2, 1]),
        NODE("MatMul", ["x", "k"], ["s"]),
        NODE("Softmax", ["s"], ["p"], axis=-1),
        NODE("MatMul", ["p", "x"], ["y"]),
    ]
    model = model_of(nodes, ["batch", 5, 32], {})
    assert not replaced_in_onnx(model, onnx_patterns.attention)
