"""Places of ONNX models that are written as one operator before kernels are put."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import helper, parser

import custom_dispatch as cd
from cuda_kernels.attention import attention_f32
from cuda_kernels.norms import add_rms_norm_f32, rms_norm_f32
from cuda_kernels.patterns import onnx as onnx_patterns
from custom_dispatch.errors import DeclarationError
from tests.places import replaced_in_onnx

SCALED = """graph (q, k, v, root) => (out) {
  queries = Mul (q, root)
  keys = Mul (k, root)
  scores = MatMul (queries, keys)
  weights = Softmax <axis = -1> (scores)
  out = MatMul (weights, v)
}"""
ATTENTION = helper.make_node("Attention", ["q", "k", "v"], ["out"], is_causal=0)


def scaled(**changes: Any) -> cd.onnx.Pattern:
    given = {
        "fixed": {"causal": False, "scale": lambda root: root * root},
        "axes": {"k": (0, 1, 3, 2)},
        "first": ATTENTION,
    }
    return cd.onnx.Pattern(attention_f32, parser.parse_graph(SCALED), **{**given, **changes})


def model(text: str, version: int = 17) -> onnx.ModelProto:
    head = f'<ir_version: 8, opset_import: ["": {version}]>'
    return parser.parse_model(f"{head} {text}")


ATTENDING = model("""main (float[2,4,n,24] a, float[2,4,24,n] b, float[2,4,n,24] c)
  => (float[2,4,n,24] y) <float half = {0.5}> {
  queries = Mul (a, half)
  keys = Mul (half, b)
  scores = MatMul (queries, keys)
  weights = Softmax <axis = 3> (scores)
  y = MatMul (weights, c)
}""")


@pytest.mark.parametrize(
    "others", [(), pytest.param(onnx_patterns.attention, marks=pytest.mark.thorough)]
)
def test_a_scale_is_a_function_of_numbers_in_the_model(others: Any) -> None:
    (place,) = replaced_in_onnx(ATTENDING, [scaled(), *others])
    assert place.kernel == "attention_f32"
    assert place.operations == ("onnx.Attention",)
    assert place.scalars == {"scale": 0.25, "causal": False}


def test_larger_patterns_find_what_is_written_as_an_operator() -> None:
    norm = """main (float[2,n,64] x, float[2,n,64] z, float[64] weight)
    => (float[2,n,64] y, float[2,n,64] sum)
    <float one = {1.0}, float small = {1e-6}> {
      sum = Add (x, z)
      squares = Mul (sum, sum)
      mean = ReduceMean <axes = [2]> (squares)
      more = Add (mean, small)
      root = Sqrt (more)
      inverse = Div (one, root)
      normed = Mul (sum, inverse)
      y = Mul (normed, weight)
    }"""
    (place,) = replaced_in_onnx(model(norm), onnx_patterns.everything)
    assert place.kernel == add_rms_norm_f32.name
    assert place.operations == ("onnx.Add", "onnx.RMSNormalization")
    assert place.scalars["epsilon"] == pytest.approx(1e-6)
    (place,) = replaced_in_onnx(model(norm), onnx_patterns.rms_norm)
    assert place.kernel == rms_norm_f32.name


def test_mistakes_are_told() -> None:
    masked = helper.make_node("Attention", ["q", "k", "v", "mask"], ["out"], is_causal=0)
    for changes, said in (
        ({"first": masked}, "has a first node with other inputs.\n  expected: those of each graph"),
        (
            {"fixed": {"causal": False, "scale": lambda other: other}},
            "fixes `scale` to a function of other.\n  expected: dims of the kernel as parameters",
        ),
        ({"fixed": {"causal": False, "scale": 1.0}}, "has an input `root`."),
    ):
        with pytest.raises(DeclarationError) as caught:
            scaled(**changes)
        assert said in str(caught.value)


def test_sizes_of_minus_one_are_open() -> None:
    text = "main (float[n,64] x) => (float[n,64] y) { y = Softmax <axis = -1> (x) }"
    of_paddle = model(text)
    for item in (*of_paddle.graph.input, *of_paddle.graph.output):
        item.type.tensor_type.shape.dim[0].dim_value = -1
    module = cd.onnx.compile(of_paddle, ["cuda:sm_80"], replace=onnx_patterns.softmax)
    assert module.replaced is not None
    assert [item.kernel for item in module.replaced] == ["softmax_f32"]
