"""Kernels put into unchanged ONNX models, and the places that only look alike."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import custom_dispatch as cd
from cuda_kernels.elementwise import gelu
from custom_dispatch.errors import DeclarationError, LinkError
from custom_dispatch.frontends.mlir import place
from custom_dispatch.replaced import Replaced
from tests.places import imported_from_onnx, replaced_in_onnx
from tests.sample_kernels.rows import row_layer_norm
from tests.sample_kernels.samples import scale, sum_and_difference

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


# -- what is replaced


def test_a_model_with_places_replaced_computes_the_same() -> None:
    model = model_of(
        graph_of(
            [
                node("LayerNormalization", "x weight", "a", epsilon=0.25),
                node("MatMul", "a matrix", "b"),
                node("Gelu", "b", "c"),
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
        cd.onnx.Pattern(gelu_erf_f32, "Gelu"),
    ]
    module = cd.onnx.compile(model, ["cuda:sm_80", "cpu"], replace=patterns)
    assert module.kernels == ("row_layer_norm", "gelu_erf_f32")
    assert module.replaced is not None
    assert [(item.kernel, item.place.module, item.scalars) for item in module.replaced] == [
        ("row_layer_norm", "a", {"epsilon": 0.25}),
        ("gelu_erf_f32", "c", {}),
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


def test_branches_are_searched_and_what_no_kernel_takes_is_written_out() -> None:
    """Of ONNX's functions that IREE does not know, a node that is left becomes what defines it."""
    then = helper.make_graph([node("Gelu", "x", "p")], "then", [], [value("p", [2, 8])])
    other = helper.make_graph(
        [node("Neg", "a", "negated"), node("Gelu", "negated", "q")],
        "else",
        [],
        [value("q", [2, 8])],
    )
    nodes = [
        node("Gelu", "x", "a"),
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
    module = cd.onnx.compile(model, ["cpu"], replace=cd.onnx.Pattern(gelu_erf_f32, "Gelu"))
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


# -- what only looks alike

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


def test_places_that_overlap_are_taken_once() -> None:
    twice = graph_of([node("Gelu", "x", "t"), node("Gelu", "t", "y")], {"x": SIZES}, {"y": SIZES})
    three = graph_of(
        [node("Gelu", "x", "a"), node("Gelu", "a", "b"), node("Gelu", "b", "y")],
        {"x": SIZES},
        {"y": SIZES},
    )
    report = replaced(model_of(three), cd.onnx.Pattern(gelu_erf_f32, twice))
    assert len(report) == 1
    assert [miss.reason for miss in report.near_misses] == [
        "the place overlaps one that `gelu_erf_f32` takes"
    ]


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
    module = cd.onnx.compile(model, ["cpu"], replace=pattern)
    assert module.replaced is not None
    assert [(item.kernel, item.place.module) for item in module.replaced] == [
        ("gelu", "wide"),
        ("gelu", "narrow"),
    ]
    assert [(item.kernel, item.place.module) for item in module.replaced.near_misses] == [
        ("gelu", "other")
    ]
    assert set(module.kernels) == {"gelu_erf_f16", "gelu_erf_f32"}
    x = RNG.standard_normal((2, 3, 8), "f4")
    expected = onnx.reference.ReferenceEvaluator(model).run(None, {"x": x})
    for found, wanted in zip(cd.load(module, "cpu").main(x), expected, strict=True):
        assert found.dtype == wanted.dtype
        numpy.testing.assert_allclose(found, wanted, atol=2e-3)
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


N = cd.dim("n")
TWO = cd.Kernel(
    "two",
    source="not-here.cu",
    operands=[cd.In("a", "f32", [N]), cd.In("b", "f32", [N]), cd.Out("y", "f32", [N])],
    block=64,
    grid=cd.ceildiv(N, 64),
)


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


def test_a_pattern_that_is_found_nowhere_says_what_nearly_is() -> None:
    model = norm_model(variance=[node("ReduceSum", "squares axes", "variance")])
    pattern = cd.onnx.Pattern(row_layer_norm, model_of(NORM_GRAPH))
    with pytest.raises(LinkError) as caught:
        replaced(model, pattern)
    text = str(caught.value)
    assert text.startswith("No place in the model computes what kernel `row_layer_norm` replaces.")
    assert "it has onnx.ReduceSum where the pattern has onnx.ReduceMean" in text


# -- mistakes


def test_a_pattern_of_another_version_is_refused_where_it_matters() -> None:
    old = graph_of(
        [node("Mul", "x x", "t"), node("ReduceMean", "t", "y", axes=[-1])],
        {"x": SIZES},
        {"y": SIZES},
    )
    pattern = cd.onnx.Pattern(gelu_erf_f32, model_of(old, 13))
    with pytest.raises(DeclarationError) as caught:
        replaced(norm_model(), pattern)
    assert str(caught.value).splitlines() == [
        "The pattern of kernel `gelu_erf_f32` is written for version 13 of ONNX, and the model for "
        "version 20, which has another ReduceMean.",
        "  expected: one version",
        "  next step: convert the pattern: onnx.version_converter.convert_version(pattern, 20).",
    ]


@pytest.mark.parametrize(
    ("computes", "said"),
    [
        (
            "LayerNorm",
            [
                "The pattern of kernel `row_layer_norm` names the operator 'LayerNorm'.",
                "  expected: an operator of ONNX",
                "  next step: correct the name, or give a node or a graph.",
            ],
        ),
        (
            3,
            [
                "The pattern of kernel `row_layer_norm` is 3.",
                "  expected: the name of an operator of ONNX, or a NodeProto, GraphProto or "
                "ModelProto",
                '  next step: write cd.onnx.Pattern(kernel, "LayerNormalization").',
            ],
        ),
        (
            node("LayerNormalization", "x other", "y"),
            [
                "The pattern of kernel `row_layer_norm` has an input `other`.",
                "  expected: those of the kernel: x, weight, bias, epsilon",
                "  next step: correct the pattern.",
            ],
        ),
        (
            node("LayerNormalization", "weight bias", "y"),
            [
                "The pattern of kernel `row_layer_norm` has no input `x`.",
                "  expected: the kernel's: x, weight, bias, epsilon",
                "  next step: correct the pattern.",
            ],
        ),
        (
            node("LayerNormalization", "x weight", "y", epsilon=0.5),
            [
                "The pattern of kernel `row_layer_norm` says nothing of `epsilon`.",
                "  expected: an input of the graph, or an attribute of that name which is not "
                "given",
                '  next step: make it one, or fix the scalar: fixed={"epsilon": ...}.',
            ],
        ),
        (
            node("LayerNormalization", "x weight", "y mean"),
            [
                "The pattern of kernel `row_layer_norm` has 2 results.",
                "  expected: those of the kernel: y",
                "  next step: correct the pattern.",
            ],
        ),
        (
            [],
            [
                "The pattern of kernel `row_layer_norm` has nothing that the kernel computes.",
                "  expected: a node or a graph of ONNX",
                "  next step: correct the pattern.",
            ],
        ),
    ],
)
def test_patterns_that_are_none_are_refused(computes: Any, said: list[str]) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.onnx.Pattern(row_layer_norm, computes)
    assert str(caught.value).splitlines() == said


def test_a_graph_that_cannot_be_imported_is_refused() -> None:
    unsorted = graph_of([node("Neg", "t", "y"), node("Abs", "x", "t")], {"x": ["n"]}, {"y": ["n"]})
    pattern = cd.onnx.Pattern(gelu_erf_f32, unsorted)
    with pytest.raises(DeclarationError) as caught:
        replaced(norm_model(), pattern)
    lines = str(caught.value).splitlines()
    assert lines[:3] == [
        "The pattern of kernel `gelu_erf_f32` has a graph that IREE's importer does not take.",
        "  expected: nodes whose inputs are given before, with attributes that are not graphs",
        "  next step: write the graph without what it names:",
    ]
    assert "'t'" in str(caught.value)
    foreign = helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")
    with pytest.raises(DeclarationError) as caught:
        cd.onnx.Pattern(gelu_erf_f32, foreign)
    assert str(caught.value).splitlines() == [
        "The pattern of kernel `gelu_erf_f32` has the operator Gelu of the domain com.microsoft.",
        "  expected: one with another name: IREE's importer drops domains, and ONNX has a Gelu of "
        "its own",
        "  next step: correct the pattern.",
    ]


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


def test_a_fixed_scalar_holds_for_its_number_alone() -> None:
    made = node("LayerNormalization", "x weight", "y", epsilon=0.5)
    pattern = cd.onnx.Pattern(row_layer_norm, made, fixed={"epsilon": 0.5}, required=False)
    for epsilon, count in ((0.5, 1), (0.25, 0)):
        one = node("LayerNormalization", "x weight", "y", epsilon=epsilon)
        model = model_of(graph_of([one], {"x": SIZES, "weight": [8]}, {"y": SIZES}))
        assert len(replaced(model, pattern)) == count


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.onnx.compile(norm_model(), ["cpu"], replace=[row_layer_norm])  # type: ignore[list-item]
    assert str(caught.value).splitlines()[1:] == [
        "  expected: a pattern: a cd.Pattern, or that of a framework, such as cd.onnx.Pattern",
        "  next step: write replace=[cd.Pattern(kernel, computes=...)].",
    ]
