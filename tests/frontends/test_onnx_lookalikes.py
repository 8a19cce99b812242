"""Places of ONNX models that only look like a pattern, and what is said of them."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper

import custom_dispatch as cd
from custom_dispatch.errors import LinkError
from tests.frontends.onnx_cases import (
    NORM,
    SIZES,
    TWO,
    N,
    gelu_erf_f32,
    gelu_tanh_f32,
    graph_of,
    model_of,
    node,
    norm_model,
    replaced,
    value,
)
from tests.sample_kernels.rows import row_layer_norm

BRANCH = node(
    "If",
    "condition",
    "branch",
    then_branch=helper.make_graph([node("Neg", "root", "p")], "then", [], [value("p", None)]),
    else_branch=helper.make_graph([node("Abs", "x", "q")], "else", [], [value("q", None)]),
)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (
            {"normed": [node("Div", "centred root", "normed"), node("Neg", "root", "other")]},
            "the intermediate `root` (onnx.Sqrt) is used by `other` (onnx.Neg), too",
        ),
        (
            {"inputs": {"condition": []},
             "normed": [node("Div", "centred root", "normed"), BRANCH]},
            "the intermediate `root` (onnx.Sqrt) is used by `p` (onnx.Neg), too",
        ),
        (
            {"variance": [node("ReduceMean", "squares axes", "variance", keepdims=0)]},
            None,
        ),
        (
            {"constants": {"first": numpy.array([1])},
             "variance": [node("ReduceMean", "squares first", "variance")]},
            "1, where the pattern has -1",
        ),
        (
            {"variance": [node("ReduceSum", "squares axes", "variance")]},
            "it has onnx.ReduceSum where the pattern has onnx.ReduceMean",
        ),
        (
            {"squares": [node("Mul", "centred x", "squares")]},
            "the argument `x`, where the pattern has onnx.Sub",
        ),
        (
            {"normed": [node("Div", "root centred", "normed")]},
            None,
        ),
        (
            {"more": [node("Add", "variance computed", "more")], "inputs": {"computed": []}},
            "the argument `computed`, where the pattern has a number for `epsilon`",
        ),
        (
            {"constants": {"epsilon": numpy.array([0.5] * 8, "f4")}},
            "`epsilon` is tensor<8xf32>, and in the pattern one number",
        ),
        (
            {"inputs": {"weight": [1]}},
            "`x`.shape[2] and `weight`.shape[0] disagree on dim columns: 8 and 1",
        ),
        (
            {"inputs": {"weight": ["unknown"]}},
            "`x`.shape[2] and `weight`.shape[0] disagree on dim columns: 8 and unknown, as far as "
            "is known",
        ),
        (
            {"inputs": {"weight": ["rows", 8]}},
            "the place has tensor<?x8xf32> for `weight`",
        ),
    ],
)  # fmt: skip
def test_near_misses_are_not_replaced_and_say_why(parts: Any, reason: str | None) -> None:
    parts = dict(parts)
    inputs = parts.pop("inputs", None)
    model = norm_model(inputs, parts.pop("constants", None), **parts)
    for item in model.graph.input:
        if item.name == "condition":
            item.type.tensor_type.elem_type = TensorProto.BOOL
            model.graph.output.append(value("branch", ["p", "q", "r"]))
    report = replaced(model, NORM)
    assert len(report) == 0
    reasons = [miss.reason for miss in report.near_misses]
    if reason is not None:
        assert reasons == [reason]


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"axis": 1}, "`axis` of onnx.LayerNormalization is 1, and in the pattern -1"),
        (
            {"stash_type": 10},
            "`stash_type` of onnx.LayerNormalization is 10, and in the pattern 1",
        ),
        ({"axis": -1}, None),
        ({"epsilon": 0.125}, None),
    ],
)
def test_attributes_of_an_operator_are_compared(attributes: Any, reason: str | None) -> None:
    made = node("LayerNormalization", "x weight bias", "y", **attributes)
    shape = [8] if attributes.get("axis") != 1 else [4, 8]
    model = model_of(
        graph_of([made], {"x": [2, 4, 8], "weight": shape, "bias": shape}, {"y": [2, 4, 8]})
    )
    pattern = cd.onnx.Pattern(row_layer_norm, "LayerNormalization", required=False)
    report = replaced(model, pattern)
    assert [miss.reason for miss in report.near_misses] == ([reason] if reason else [])
    assert len(report) == (reason is None)


@pytest.mark.parametrize(("mine", "its"), [(-1, 2), (2, -1)])
def test_axes_from_the_front_are_those_from_the_back(mine: int, its: int) -> None:
    def norm(axis: int) -> onnx.NodeProto:
        return node("LayerNormalization", "x weight bias", "y", axis=axis)

    inputs = {"x": [2, 4, 8], "weight": [8], "bias": [8]}
    model = model_of(graph_of([norm(its)], inputs, {"y": [2, 4, 8]}))
    assert len(replaced(model, cd.onnx.Pattern(row_layer_norm, norm(mine)))) == 1


def viewed(wide: list[int], narrow: list[int]) -> onnx.GraphProto:
    """Gelu, with dims put in and taken away."""
    nodes = [
        node("Gelu", "x", "found"),
        node("Unsqueeze", "found in", "wide"),
        node("Squeeze", "wide out", "y"),
    ]
    axes = {"in": numpy.array(wide), "out": numpy.array(narrow)}
    return graph_of(nodes, {"x": SIZES}, {"y": SIZES}, axes)


@pytest.mark.parametrize(
    ("mine", "its", "found"),
    [
        (([0, -1], [-1, 0]), ([0, 4], [4, 0]), 1),
        (([0, 4], [4, 0]), ([-5, -1], [-1, -5]), 1),
        (([-1], [-1]), ([3], [3]), 1),
        (([-1], [-1]), ([2], [2]), 0),
    ],
)
def test_axes_that_are_operands_are_compared_likewise(mine: Any, its: Any, found: int) -> None:
    pattern = cd.onnx.Pattern(gelu_erf_f32, viewed(*mine), required=False)
    assert len(replaced(model_of(viewed(*its)), pattern)) == found


def test_gelu_with_tanh_is_another_kernel() -> None:
    tanh = node("Gelu", "x", "y", approximate="tanh")
    model = model_of(graph_of([tanh], {"x": SIZES}, {"y": SIZES}))
    exact = cd.onnx.Pattern(gelu_erf_f32, "Gelu", required=False)
    (miss,) = replaced(model, exact).near_misses
    assert miss.reason == "`approximate` of onnx.Gelu is tanh, and in the pattern none"
    (found,) = replaced(model, exact, cd.onnx.Pattern(gelu_tanh_f32, tanh))
    assert found.kernel == "gelu_tanh_f32"


def test_elements_of_another_type_are_no_place() -> None:
    model = model_of(graph_of([node("Gelu", "x", "y")], {"x": SIZES}, {"y": SIZES}))
    for item in (model.graph.input[0], model.graph.output[0]):
        item.type.tensor_type.elem_type = TensorProto.FLOAT16
    assert not replaced(model, cd.onnx.Pattern(gelu_erf_f32, "Gelu", required=False)).near_misses
    with pytest.raises(LinkError) as caught:
        replaced(model, cd.onnx.Pattern(gelu_erf_f32, "Gelu"))
    reason = "onnx.Gelu gives tensor<?x?x8xf16>, and in the pattern tensor<*xf32>"
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("sizes", "count"), [(("n", "n"), 1), ((7, 7), 1), (("n", "m"), 0), ((None, None), 0)]
)
def test_sizes_have_to_be_known_to_be_equal(sizes: Any, count: int) -> None:
    """Others would be broadcast."""
    nodes = [node("Neg", "a", "t"), node("Mul", "t b", "y")]
    ends = [sizes[0] if sizes[0] == sizes[1] else None]
    model = model_of(graph_of(nodes, {"a": [sizes[0]], "b": [sizes[1]]}, {"y": ends}))
    pattern = graph_of(nodes, {"a": ["n"], "b": ["n"]}, {"y": ["n"]})
    assert len(replaced(model, cd.onnx.Pattern(TWO, pattern, required=False))) == count


@pytest.mark.parametrize(
    ("dtype", "number", "count"),
    [
        ("f32", 0.1, 1),
        ("f64", 0.5, 1),
        ("f64", 0.1, 1),
        ("f32", 1e300, 0),
        ("f64", numpy.inf, 1),
        ("f32", numpy.nan, 0),
        ("i32", 7, 1),
        ("i32", 2**31, 0),
        ("i32", numpy.inf, 0),
        ("u8", -1, 0),
        ("u64", 2**63, 0),
        ("bool", True, 1),
    ],
)
def test_numbers_that_a_scalar_would_not_get_are_no_place(
    dtype: str, number: Any, count: int
) -> None:
    kernel = cd.Kernel(
        "shifted",
        source="not-here.cu",
        operands=[cd.In("x", "f32", [N]), cd.Out("y", "f32", [N]), cd.Scalar("by", dtype)],
        block=64,
        grid=cd.ceildiv(N, 64),
    )
    kinds = {float: "f8", bool: "?"}
    kind = "u8" if dtype == "u64" else kinds.get(type(number), "i8")
    graph = graph_of(
        [node("CastLike", "by x", "t"), node("Add", "x t", "y")],
        {"x": ["n"]},
        {"y": ["n"]},
        {"by": numpy.array(number, kind)},
    )
    pattern = onnx.GraphProto()
    pattern.CopyFrom(graph)
    del pattern.initializer[:]
    pattern.input.append(value("by", []))
    made = cd.onnx.Pattern(kernel, pattern, required=False)
    assert len(replaced(model_of(graph), made)) == count


def test_a_fixed_scalar_holds_for_its_number_alone() -> None:
    made = node("LayerNormalization", "x weight", "y", epsilon=0.5)
    pattern = cd.onnx.Pattern(row_layer_norm, made, fixed={"epsilon": 0.5}, required=False)
    for epsilon, count in ((0.5, 1), (0.25, 0)):
        one = node("LayerNormalization", "x weight", "y", epsilon=epsilon)
        model = model_of(graph_of([one], {"x": SIZES, "weight": [8]}, {"y": SIZES}))
        assert len(replaced(model, pattern)) == count
