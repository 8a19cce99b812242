"""Kernels put into unchanged ONNX models."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper

import custom_dispatch as cd
from custom_dispatch.errors import LinkError
from custom_dispatch.frontends.mlir import place
from tests.frontends.onnx_cases import (
    NORM,
    RNG,
    SIZES,
    TWO,
    N,
    gelu_erf_f16,
    gelu_erf_f32,
    graph_of,
    model_of,
    node,
    norm_model,
    norm_nodes,
    replaced,
    value,
)
from tests.places import imported_from_onnx
from tests.sample_kernels.patterns import squared_relu
from tests.sample_kernels.rows import row_layer_norm
from tests.sample_kernels.samples import scale, sum_and_difference


def squared(given: str, gives: str) -> list[onnx.NodeProto]:
    """What `squared_relu` computes: a kernel that LLVM is done with at once."""
    inner = f"relu_{gives}"
    return [node("Relu", given, inner), node("Mul", f"{inner} {inner}", gives)]


def squared_pattern(sizes: list[Any]) -> cd.onnx.Pattern:
    graph = graph_of(squared("x", "y"), {"x": sizes}, {"y": sizes})
    return cd.onnx.Pattern(squared_relu(len(sizes)), graph, fixed={"scale": 1.0})


def test_a_model_with_places_replaced_computes_the_same() -> None:
    model = model_of(
        graph_of(
            [
                node("LayerNormalization", "x weight", "a", epsilon=0.25),
                node("MatMul", "a matrix", "b"),
                *squared("b", "c"),
                node("LayerNormalization", "c weight bias", "y"),
            ],
            {"x": SIZES},
            {"y": SIZES},
            {
                "weight": RNG.standard_normal(8, "f4"),
                "bias": RNG.standard_normal(8, "f4"),
                "matrix": RNG.standard_normal((8, 8), "f4"),
            },
        )
    )
    patterns = [
        cd.onnx.Pattern(
            row_layer_norm,
            ["LayerNormalization", node("LayerNormalization", "x weight", "y")],
        ),
        squared_pattern(SIZES),
    ]
    module = cd.onnx.compile(model, ["cuda:sm_80", "cpu"], replace=patterns)
    assert module.kernels == ("row_layer_norm", "squared_relu_3")
    assert module.replaced is not None
    assert [(item.kernel, item.place.module, item.scalars) for item in module.replaced] == [
        ("row_layer_norm", "a", {"epsilon": 0.25}),
        ("squared_relu_3", "c", {"scale": 1.0}),
        ("row_layer_norm", "y", {"epsilon": 1e-5}),
    ]
    x = RNG.standard_normal((2, 3, 8), "f4")
    (expected,) = onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})
    numpy.testing.assert_allclose(cd.load(module, "cpu").main(x), expected, atol=1e-5)


def test_a_graph_is_found_with_its_numbers() -> None:
    report = replaced(norm_model(), NORM)
    (found,) = report
    assert (found.kernel, found.place.module, found.scalars) == (
        "row_layer_norm",
        "y",
        {"epsilon": 0.5},
    )
    assert found.operations == tuple(f"onnx.{item.op_type}" for item in norm_nodes())
    assert report.near_misses == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"y": [node("Add", "bias scaled", "y")]},
        {"scaled": [node("Mul", "weight normed", "scaled")]},
        {"more": [node("Add", "epsilon variance", "more")]},
        {"mean": [node("ReduceMean", "x axes", "mean", keepdims=1)]},
        {"mean": [node("Constant", "", "axes2", value_ints=[-1]),
                  node("ReduceMean", "x axes2", "mean")]},
    ],
)  # fmt: skip
def test_other_ways_to_write_it_are_found(changes: Any) -> None:
    assert len(replaced(norm_model(**changes), NORM)) == 1


@pytest.mark.parametrize(
    ("inputs", "outputs", "attributes", "count"),
    [
        ("x weight -", "y", {}, 1),
        ("x weight", "y mean", {}, 1),
        ("x weight -", "y mean deviation", {"axis": -1, "stash_type": 1}, 1),
        ("x weight", "y -", {}, 1),
        ("x weight", "y used", {}, 0),
    ],
)
def test_what_is_left_out_may_be_said(
    inputs: str, outputs: str, attributes: Any, count: int
) -> None:
    made = node("LayerNormalization", inputs, outputs, epsilon=0.5, **attributes)
    nodes = [made, *([node("Neg", "used", "z")] if "used" in outputs else [])]
    ends: dict[str, Any] = {"y": SIZES} | ({"z": ["batch", "rows", 1]} if count == 0 else {})
    model = model_of(graph_of(nodes, {"x": SIZES, "weight": [8]}, ends))
    written = node("LayerNormalization", "x weight", "y", stash_type=1)
    pattern = cd.onnx.Pattern(row_layer_norm, written, required=False)
    report = replaced(model, pattern)
    assert len(report) == count
    if not count:
        assert report.near_misses[0].reason == "onnx.LayerNormalization has other results"


def test_several_inputs_may_be_in_any_order() -> None:
    sizes = {"a": ["n"], "b": ["n"], "c": ["n"]}
    three = cd.Kernel(
        "three",
        source="not-here.cu",
        operands=[*(cd.In(name, "f32", [N]) for name in "abc"), cd.Out("y", "f32", [N])],
        block=64,
        grid=cd.ceildiv(N, 64),
    )

    def graph(operator: str, inputs: str) -> onnx.GraphProto:
        nodes = [node("Neg", "a", "t"), node(operator, inputs, "y")]
        return graph_of(nodes, sizes, {"y": ["n"]})

    for operator, count in (("Max", 1), ("Mean", 1), ("Concat", 0)):
        more = {"axis": 0} if operator == "Concat" else {}
        pattern = graph(operator, "t b c")
        model = graph(operator, "b c t")
        for item in (pattern, model):
            for name, number in more.items():
                item.node[1].attribute.append(helper.make_attribute(name, number))
        for item in model.output if operator == "Concat" else ():
            item.type.tensor_type.shape.dim[0].dim_param = "total"
        made = cd.onnx.Pattern(three, pattern, required=False)
        assert len(replaced(model_of(model), made)) == count


def test_branches_are_searched_and_what_no_kernel_takes_is_written_out() -> None:
    """Of ONNX's functions that IREE does not know, a node that is left becomes what defines it."""
    then = helper.make_graph(squared("x", "p"), "then", [], [value("p", [2, 8])])
    other = helper.make_graph(
        [node("Neg", "a", "negated"), *squared("negated", "q")],
        "else",
        [],
        [value("q", [2, 8])],
    )
    nodes = [
        *squared("x", "a"),
        node("If", "condition", "b", then_branch=then, else_branch=other),
        node("MeanVarianceNormalization", "b", "c", axes=[1]),
        node("Attention", "d d d", "e", softcap=2.0),
        node("Attention", "e e e", "f", softcap=2.0),
    ]
    graph = graph_of(
        nodes,
        {"x": [2, 8], "condition": [], "d": [1, 2, 3, 4]},
        {"c": [2, 8], "f": [1, 2, 3, 4]},
    )
    graph.input[1].type.tensor_type.elem_type = TensorProto.BOOL
    model = model_of(graph, 23)
    module = cd.onnx.compile(model, ["cpu"], replace=squared_pattern([2, 8]))
    assert module.replaced is not None
    assert {item.place.module for item in module.replaced} == {"a", "p", "q"}
    program = cd.load(module, "cpu")
    x, d = RNG.standard_normal((2, 8), "f4"), RNG.standard_normal((1, 2, 3, 4), "f4")
    for condition in (numpy.array(True), numpy.array(False)):
        expected = onnx.reference.ReferenceEvaluator(model).run(
            None, {"x": x, "condition": condition, "d": d}
        )
        for found, wanted in zip(program.main(x, condition, d), expected, strict=True):
            numpy.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_an_operator_that_onnx_defines_with_others_is_looked_for_by_its_name() -> None:
    one = cd.Kernel(
        "normalised",
        source="not-here.cu",
        operands=[cd.In("x", "f32", [N, 8]), cd.Out("y", "f32", [N, 8])],
        block=64,
        grid=cd.ceildiv(N, 64),
    )
    made = node("MeanVarianceNormalization", "x", "y", axes=[1])
    sizes = ["n", 8]
    model = model_of(graph_of([made], {"x": sizes}, {"y": sizes}))
    (found,) = replaced(model, cd.onnx.Pattern(one, made))
    assert found.operations == ("onnx.MeanVarianceNormalization",)


def test_two_results_are_found() -> None:
    nodes = [
        node("Split", "pairs", "left right", axis=1, num_outputs=2),
        node("Squeeze", "left one", "l"),
        node("Squeeze", "right one", "r"),
        node("Add", "l r", "sums"),
        node("Sub", "l r", "differences"),
    ]
    ends = {"sums": ["n"], "differences": ["n"]}
    graph = graph_of(nodes, {"pairs": ["n", 2]}, ends, {"one": numpy.array([1])})
    pattern = cd.onnx.Pattern(sum_and_difference, graph)
    model = model_of(graph)
    assert len(replaced(model, pattern)) == 1
    program = cd.load(cd.onnx.compile(model, ["cpu"], replace=[pattern]), "cpu")
    sums, differences = program.main(numpy.array([[1, 2], [5, 3]], "f4"))
    assert (sums.tolist(), differences.tolist()) == ([3, 8], [-1, 2])


def test_sizes_without_a_name_are_enough_for_one_operator() -> None:
    sizes = [None, None, 8]
    model = model_of(graph_of([node("Gelu", "x", "y")], {"x": sizes}, {"y": sizes}))
    assert len(replaced(model, cd.onnx.Pattern(gelu_erf_f32, "Gelu"))) == 1


def test_numbers_are_taken_that_the_scalars_hold() -> None:
    double = graph_of(
        [node("Mul", "x alpha", "t"), node("Add", "t beta", "y")],
        {"x": ["n"], "alpha": [], "beta": []},
        {"y": ["n"]},
    )
    pattern = cd.onnx.Pattern(scale, double, required=False)
    numbers = {"two": numpy.array(2, "f4"), "three": numpy.array(3, "f4")}
    model = model_of(
        graph_of(
            [node("Mul", "a two", "b"), node("Add", "b three", "c")],
            {"a": [4]},
            {"c": [4]},
            numbers,
        )
    )
    (found,) = replaced(model, pattern)
    assert found.scalars == {"alpha": 2.0, "beta": 3.0}
    half = numbers | {"three": numpy.array(3.5, "f4")}
    model = model_of(
        graph_of(
            [node("Mul", "a two", "b"), node("Add", "b three", "c")], {"a": [4]}, {"c": [4]}, half
        )
    )
    (miss,) = replaced(model, pattern).near_misses
    assert miss.reason == "the number for `beta` is 3.5, which i32 does not hold"


def test_each_place_takes_the_first_kernel_of_a_choice_that_it_fits() -> None:
    choice = cd.Choice("gelu", [gelu_erf_f16, gelu_erf_f32])
    pattern = cd.onnx.Pattern(choice, "Gelu")
    model = model_of(
        graph_of(
            [
                node("Gelu", "x", "wide"),
                node("Cast", "x", "half", to=TensorProto.FLOAT16),
                node("Gelu", "half", "narrow"),
                node("Gelu", "x", "other", approximate="tanh"),
            ],
            {"x": SIZES},
            {"wide": SIZES, "narrow": SIZES, "other": SIZES},
        )
    )
    model.graph.output[1].type.tensor_type.elem_type = TensorProto.FLOAT16
    report = replaced(model, pattern)
    assert [(item.kernel, item.place.module) for item in report] == [
        ("gelu", "wide"),
        ("gelu", "narrow"),
    ]
    assert [(item.kernel, item.place.module) for item in report.near_misses] == [("gelu", "other")]
    with pytest.raises(LinkError, match="No place in the model computes what kernel `gelu` "):
        replaced(norm_model(), pattern)


def test_an_operand_may_be_something_that_the_pattern_computes() -> None:
    """In the model the second factor is the negated number itself, which is computed, too, then."""
    nodes = [node("Neg", "a", "t"), node("Mul", "t b", "y")]
    sizes = {"a": ["n"], "b": ["n"]}
    pattern = cd.onnx.Pattern(TWO, graph_of(nodes, sizes, {"y": ["n"]}), required=False)
    assert len(replaced(model_of(graph_of(nodes, sizes, {"y": ["n"]})), pattern)) == 1
    nodes = [node("Neg", "a", "t"), node("Mul", "t t", "y")]
    model = model_of(graph_of(nodes, {"a": ["n"]}, {"y": ["n"]}))
    assert len(replaced(model, pattern)) == 1


def test_a_pattern_in_the_words_that_iree_converts_to_is_found() -> None:
    text = """#each = affine_map<(i) -> (i)>
    func.func @sum(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
      %empty = tensor.empty() : tensor<8xf32>
      %sum = linalg.generic {indexing_maps = [#each, #each, #each], iterator_types = ["parallel"]}
          ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%empty : tensor<8xf32>) {
        ^bb0(%x: f32, %y: f32, %z: f32):
          %one = arith.addf %x, %y : f32
          linalg.yield %one : f32
      } -> tensor<8xf32>
      return %sum : tensor<8xf32>
    }"""
    model = model_of(graph_of([node("Add", "a b", "y")], {"a": [8], "b": [8]}, {"y": [8]}))
    report = place(imported_from_onnx(model), [TWO], [cd.Pattern(TWO, text)]).replaced
    assert report is not None
    assert [item.kernel for item in report] == ["two"]
