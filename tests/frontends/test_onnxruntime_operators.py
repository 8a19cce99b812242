"""onnxruntime's own operators, written in ONNX's words: against what onnxruntime computes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import custom_dispatch as cd
from cuda_kernels.elementwise import gelu_erf_f32
from cuda_kernels.patterns import onnx as onnx_patterns
from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.onnx.importer import find_kernels, infer_types
from custom_dispatch.frontends.onnx.model import read_model
from custom_dispatch.replaced import Replaced
from tests.frontends.onnxruntime_cases import CASES, arrays_of, model_of, node, results_of
from tests.places import replaced_in_onnx


def written(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model as it is imported, which ONNX itself can run."""
    graph = read_model(model, "main", 4096, lambda *_: False)
    return infer_types(graph, find_kernels(graph, {})).model


@pytest.mark.parametrize("name", CASES)
def test_a_node_becomes_what_onnxruntime_computes(name: str) -> None:
    wanted = results_of(name)
    model = written(model_of(name, wanted))
    assert {item.domain for item in model.graph.node} == {""}
    found = ReferenceEvaluator(model).run(None, arrays_of(name))
    for one, other in zip(found, wanted.values(), strict=True):
        numpy.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def layer_of_an_optimised_model(random: numpy.random.Generator) -> tuple[Any, dict[str, Any]]:
    """The model, and its weights."""
    shapes = {"w": (64, 192), "b": (192,), "o": (64, 64), "u": (64, 128), "d": (128, 64)}
    shapes |= {"g": (64,), "h": (64,), "c": (128,)}
    weights = {
        name: (random.standard_normal(shape) * 0.2).astype("f4") for name, shape in shapes.items()
    }
    layer = [
        node("Attention", "x w b m", "a", num_heads=2),
        helper.make_node("MatMul", ["a", "o"], ["p"]),
        node("SkipLayerNormalization", "p x g h h", "n - - t"),
        helper.make_node("MatMul", ["n", "u"], ["up"]),
        node("BiasGelu", "up c", "e"),
        helper.make_node("MatMul", ["e", "d"], ["f"]),
        node("SkipSimplifiedLayerNormalization", "f t g", "y"),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        layer,
        "layer",
        [
            value("x", onnx.TensorProto.FLOAT, (2, 5, 64)),
            value("m", onnx.TensorProto.INT32, (2, 5)),
        ],
        [value("y", onnx.TensorProto.FLOAT, (2, 5, 64))],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    versions = [helper.make_opsetid("", 14), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=8), weights


# For sizes as small as these IREE is faster.
EVERYWHERE = [item.profitable_where() for item in onnx_patterns.everything]


def check_layer(report: Replaced) -> None:
    assert Counter(item.kernel for item in report) == {
        "attention_f32_32": 1,
        "matmul_f32": 3,
        "layer_norm_f32": 1,
        "matmul_gelu_erf_f32": 1,
        "add_rms_norm_f32": 1,
    }


def test_kernels_are_found_in_a_layer_of_an_optimised_model() -> None:
    model, _ = layer_of_an_optimised_model(numpy.random.default_rng(0))
    check_layer(replaced_in_onnx(model, EVERYWHERE))


@pytest.mark.thorough  # each node and each kernel has a test of what it computes
def test_a_layer_of_an_optimised_model_computes_the_same() -> None:
    random = numpy.random.default_rng(0)
    model, weights = layer_of_an_optimised_model(random)
    module = cd.onnx.compile(model, ["cpu"], replace=EVERYWHERE)
    assert module.replaced is not None
    check_layer(module.replaced)
    x = random.standard_normal((2, 5, 64)).astype("f4")
    mask = numpy.asarray([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], "i4")
    (wanted,) = ReferenceEvaluator(written(model)).run(None, {"x": x, "m": mask} | weights)
    found = cd.load(module, "cpu").main(x, mask)
    numpy.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("it", "said", "expected"),
    [
        (
            node("RotaryEmbedding", "x p c s", scale=0.5),
            "Node `it` (com.microsoft::RotaryEmbedding) of onnxruntime has the attribute `scale` "
            "of 0.5, which this package does not write in ONNX's words.",
            "1.0",
        ),
        (node("MatMulNBits", "x p c - s", K=16, N=4, block_size=16), "an input `g_idx`", "none"),
        (node("MultiHeadAttention", "x", num_heads=2), "no input `key`", "one"),
        (node("SkipLayerNormalization", "x p c", "y z"), "a result `mean`", "none that is used"),
        (node("QuickGelu", "x", beta=2), "the attribute `beta` of 2", "none"),
    ],
)
def test_what_is_not_written_is_refused(it: Any, said: str, expected: str) -> None:
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 4, 16])
        for name in it.input
        if name
    ]
    results = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)]
    model = helper.make_model(
        helper.make_graph([it], "refused", inputs, results),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
    )
    with pytest.raises(ModelError) as caught:
        cd.onnx.compile(model, ["cpu"])
    assert said in caught.value.found
    assert caught.value.expected == expected
    assert caught.value.next_step == (
        "export or optimise the model in another way, or replace the node with a kernel: "
        "cd.onnx.Pattern."
    )


def test_kernels_are_found_in_grouped_attention_of_open_sizes() -> None:
    kinds = {"l": onnx.TensorProto.INT32, "t": onnx.TensorProto.INT32}
    shapes: dict[str, list[Any]] = {
        "q": ["batch", "length", 128],
        "k": ["batch", "length", 64],
        "v": ["batch", "length", 64],
        "pk": ["batch", 2, "past", 32],
        "pv": ["batch", 2, "past", 32],
        "l": ["batch"],
        "t": [],
        "c": [64, 16],
        "s": [64, 16],
    }
    results = {"y": shapes["q"], "n": ["batch", 2, "total", 32], "o": ["batch", 2, "total", 32]}
    value, FLOAT = helper.make_tensor_value_info, onnx.TensorProto.FLOAT  # noqa: N806 - ONNX's
    attributes = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}
    it = node("GroupQueryAttention", "q k v pk pv l t c s", "y n o", **attributes)
    graph = helper.make_graph(
        [it],
        "grouped",
        [value(name, kinds.get(name, FLOAT), shape) for name, shape in shapes.items()],
        [value(name, FLOAT, shape) for name, shape in results.items()],
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=versions, ir_version=9)
    report = replaced_in_onnx(model, onnx_patterns.everything)
    assert Counter(item.kernel for item in report) == {
        "rotary_f32_32": 2,
        "bool_masked_attention_f32_32": 1,
    }
    assert not report.remaining


def test_what_a_pattern_has_stays_for_it() -> None:
    pattern = cd.onnx.Pattern(gelu_erf_f32, node("QuickGelu", "x"), required=False)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node("QuickGelu", "x")],
        "stays",
        [value("x", onnx.TensorProto.FLOAT, [2, 64])],
        [value("y", onnx.TensorProto.FLOAT, [2, 64])],
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=versions, ir_version=9)
    module = cd.onnx.compile(model, ["cuda:sm_80"], replace=pattern)
    assert module.replaced is not None
    assert [item.operations for item in module.replaced] == [("onnx.QuickGelu",)]
