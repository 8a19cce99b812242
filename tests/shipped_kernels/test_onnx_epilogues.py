"""Operations that follow products in models of ONNX, as functions that the products call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
import statements_on_cpu
from onnx import NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import custom_dispatch as cd
from cuda_kernels.patterns.onnx_epilogues import epilogues_in, everything_in
from cuda_kernels.patterns.onnx_products import chains_of, values_of
from tests.places import replaced_in_onnx

WIDTH = 32
random = np.random.default_rng(5)
KINDS = {
    TensorProto.FLOAT: np.float32,
    TensorProto.FLOAT16: np.float16,
    TensorProto.BFLOAT16: ml_dtypes.bfloat16,
    TensorProto.INT32: np.int32,
}
LIMITED_GELU = cd.onnx.register(statements_on_cpu.LIMITED_GELU)


DOMAINS = {"limited_gelu": "custom_dispatch", "QuickGelu": "com.microsoft"}


def lines(text: str) -> list[NodeProto]:
    """Nodes that ";" separates, each as `y = LeakyRelu(x) alpha=0.5`."""
    nodes = []
    for line in text.split(";"):
        result, name, operands, rest = re.fullmatch(
            r"\s*(\w+) = (\w+)\(([^)]*)\)(.*)", line
        ).groups()  # type: ignore[union-attr]
        attributes = {}
        for each in rest.split():
            key, value = each.split("=")
            attributes[key] = (
                value if value.isalpha() else int(value) if value.isdecimal() else float(value)
            )
        domain = DOMAINS.get(name, "")
        taken = [each.strip() for each in operands.split(",")]
        nodes.append(helper.make_node(name, taken, [result], domain=domain, **attributes))
    return nodes


def model_of(
    text: str,
    inputs: dict[str, Sequence[Any]],
    results: Sequence[str] = ("y",),
    *,
    kind: int = TensorProto.FLOAT,
    kinds: dict[str, int] | None = None,
    opset: int = 20,
    shape: Sequence[Any] | None = None,
    **constants: Any,
) -> onnx.ModelProto:
    kinds = kinds or {}
    graph = helper.make_graph(
        lines(text),
        "graph",
        [helper.make_tensor_value_info(n, kinds.get(n, kind), s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(name, kinds.get(name, kind), shape) for name in results],
        [
            numpy_helper.from_array(
                np.asarray(value).astype(KINDS[kinds.get(name, kind)])
                if not isinstance(value, np.ndarray) or value.dtype == np.float64
                else value,
                name,
            )
            for name, value in constants.items()
        ],
    )
    versions = [helper.make_opsetid("", opset)]
    versions += [helper.make_opsetid(domain, 1) for domain in DOMAINS.values()]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


NUMBERS = {
    "fourth": 0.25,
    "half": 0.5,
    "one": 1.0,
    "minus": -1.0,
    "two": 2.0,
    "three": 3.0,
    "some": 1.7,
}
OPERATIONS = [
    *("a = Add(x, y); y0 = Mul(a, half); y1 = Sub(two, y0); r = Div(y1, x)",),
    *(
        f"r = {name}(x)"
        for name in (
            *("Abs", "Neg", "Exp", "Log", "Sqrt", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan"),
            *("Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Erf", "Ceil", "Floor", "Round"),
            *("Reciprocal", "Sign", "Relu", "Sigmoid", "LeakyRelu", "Elu", "Selu", "Celu"),
            *("ThresholdedRelu", "HardSigmoid", "HardSwish", "Softplus", "Softsign", "Mish"),
            *("Gelu", "Identity"),
        )
    ),
    "r = LeakyRelu(x) alpha=0.3",
    "r = Elu(x) alpha=0.7",
    "r = Selu(x) alpha=1.5 gamma=1.2",
    "r = Celu(x) alpha=0.5",
    "r = ThresholdedRelu(x) alpha=0.2",
    "r = HardSigmoid(x) alpha=0.5 beta=0.1",
    "r = Gelu(x) approximate=tanh",
    "r = Swish(x)",
    "r = Swish(x) alpha=1.7",
    "r = PRelu(x, y)",
    "r = PRelu(x, half)",
    "r = Max(x, y, half)",
    "r = Min(x, y)",
    "r = Sum(x, y, x)",
    "r = Clip(x, minus, two)",
    "r = Clip(x, two, minus)",
    "r = Clip(x, half)",
    "r = Clip(x, , half)",
    "r = Clip(x)",
    *(
        f"r = Pow(x, {name})"
        for name in ("one", "two", "three", "minus", "fourth", "some", "whole")
    ),
    "r = Pow(two, x)",
    "r = Pow(x, y)",
    "a = Greater(x, y); r = Where(a, x, half)",
    "a = LessOrEqual(x, half); b = GreaterOrEqual(x, minus); c = And(a, b); r = Where(c, x, y)",
    "a = Less(x, y); b = IsNaN(x); c = Or(a, b); d = Not(c); r = Where(d, x, one)",
    "a = Equal(x, y); b = Less(x, half); c = Xor(a, b); r = Cast(c) to=1",
    "a = Cast(x) to=9; r = Cast(a) to=1",
]
TESTED = [-np.inf, -88.0, -30.0, -3.0, -1.0, -0.5, -1e-3, 0.0, 1e-30, 0.5, 1.0, 3.0, 30.0, 88.0]


def test_operations_compute_what_onnx_does() -> None:
    """In one kernel for all of them."""
    points = [*np.linspace(-9, 9, 61), *TESTED, np.inf, np.nan]
    x = np.array(points, np.float32)
    y = x[::-1] + np.float32(0.5)
    texts, names = [], []
    for index, text in enumerate(OPERATIONS):
        own = re.sub(r"\b(a|b|c|d|r|y0|y1)\b", lambda found: f"{found[0]}_{index}", text)  # noqa: B023
        texts.append(own)
        names.append(f"r_{index}")
    model = model_of(
        ";".join(texts),
        {"x": [len(x)], "y": [len(x)]},
        names,
        shape=[len(x)],
        opset=24,
        whole=np.array(3, np.int64),
        **NUMBERS,
    )
    typed = onnx.shape_inference.infer_shapes(model)
    known = {"x": "x", "y": "y"}
    statements = []
    values = values_of(typed.graph)
    by_value = {value: name for name, value in values.items()}
    for node in typed.graph.node:
        value = values[node.output[0]]
        assert value.statement is not None, node.op_type
        given = [known[by_value[each]] for each in value.operands]
        known[node.output[0]] = node.output[0]
        statements.append(value.statement(node.output[0], given))
    got = statements_on_cpu.computed(statements, names, x, y)
    with np.errstate(all="ignore"):
        wanted = ReferenceEvaluator(model).run(None, {"x": x, "y": y})
    for index, (text, want) in enumerate(zip(OPERATIONS, wanted, strict=True)):
        np.testing.assert_allclose(got[:, index], want, 1e-5, 1e-5, err_msg=text)


# -- what is found


PRODUCT = "p = MatMul(x, w); s = Add(bias, p)"
X = {"x": ["batch", 5, WIDTH]}
WEIGHTS = {"w": random.normal(size=(WIDTH, WIDTH)) / 6, "bias": random.normal(size=WIDTH)}


def stems(names: Sequence[str]) -> list[str]:
    """Without digests and types."""
    return [re.sub(r"(_[0-9a-f]{8})?_(f16|bf16|f32)$", "", name) for name in names]


def found(model: onnx.ModelProto) -> list[str]:
    report = replaced_in_onnx(model, epilogues_in(model))
    assert not report.near_misses
    return stems([item.kernel for item in report])


ERF = "e0 = Div(s, root); e1 = Erf(e0); e2 = Add(e1, one); e3 = Mul(s, e2); e = Mul(e3, half)"
TANH = (
    "t0 = Pow(s, three); t1 = Mul(t0, little); t2 = Add(s, t1); t3 = Mul(t2, other); "
    "t4 = Tanh(t3); t5 = Add(t4, one); t6 = Mul(s, t5); e = Mul(half, t6)"
)
GELU = {"root": 2**0.5, "little": 0.044715, "other": (2 / np.pi) ** 0.5, "three": 3.0}


FOLLOWED = [
    (f"{PRODUCT}; a = Relu(s); y = Mul(a, a)", "matmul_with_relu_mul"),
    (
        f"{PRODUCT}; a = Div(s, three); b = Tanh(a); y = Mul(three, b)",
        "matmul_with_div_tanh_mul",
    ),
    (f"{PRODUCT}; a = Mul(gamma, s); y = Add(x, a)", "matmul_with_mul_add"),
    (f"{PRODUCT}; {ERF}; y = Mul(e, z)", "matmul_with_gelu_erf_mul"),
    # GELU by itself is the one that ships, however it is written.
    (f"{PRODUCT}; {ERF}; y = Identity(e)", "matmul_gelu_erf"),
    (f"{PRODUCT}; {TANH}; y = Identity(e)", "matmul_gelu_tanh"),
    (
        f"{PRODUCT}; a = Greater(s, half); b = Sin(s); y = Where(a, b, z)",
        "matmul_with_greater_sin_where",
    ),
    ("p = MatMul(x, w); y = Clip(p, half, one)", "matmul_with_clip"),
    # It is written out with a number that is converted to the type of what it is multiplied with.
    (f"{PRODUCT}; y = QuickGelu(s) alpha=1.7", "matmul_with_mul_sigmoid_mul"),
]


@pytest.mark.parametrize(("text", "kernel"), FOLLOWED, ids=[kernel for _, kernel in FOLLOWED])
def test_what_follows_products_becomes_their_functions(text: str, kernel: str) -> None:
    numbers = {**NUMBERS, **GELU, "gamma": random.normal(size=WIDTH)}
    model = model_of(text, {**X, "z": X["x"]}, **WEIGHTS, **numbers)
    assert found(model) == [kernel]


def test_a_number_of_the_type_of_something_else_is_left() -> None:
    for like, kernels in (("s", ["matmul_with_sin_mul"]), ("z", [])):
        text = f"{PRODUCT}; b = Cast(ten) to=1; c = CastLike(b, {like}); a = Sin(s); y = Mul(a, c)"
        number = np.array(10, np.int64)
        assert found(model_of(text, {**X, "z": X["x"]}, **WEIGHTS, ten=number)) == kernels


def test_products_of_all_layouts() -> None:
    rows = {"x": ["rows", WIDTH]}
    end = "t = Tanh(p); y = Mul(t, t)"
    weight = {"w": WEIGHTS["w"][:24]}
    of_rows = model_of(
        f"p = Gemm(x, w, bias) transB=1; {end}", rows, bias=random.normal(size=24), **weight
    )
    assert found(of_rows) == ["linear_with_tanh_mul"]
    assert found(model_of(f"p = Gemm(x, w); {end}", rows, **WEIGHTS)) == ["matmul_with_tanh_mul"]
    both = {"x": ["batch", 3, 5, WIDTH], "z": ["batch", 3, WIDTH, 7]}
    assert found(model_of(f"p = MatMul(x, z); {end}", both)) == ["batch_matmul_with_tanh_mul"]
    # Factors and a transposed first operand are not the kernels'.
    for more in ("alpha=0.5", "beta=2.0", "transA=1"):
        square = {"x": [WIDTH, WIDTH]}
        assert not found(model_of(f"p = Gemm(x, w, bias) {more}; {end}", square, **WEIGHTS))
    one_for_all = {"x": ["batch", 3, 5, WIDTH], "z": [1, 3, WIDTH, 7]}
    assert not found(model_of(f"p = MatMul(x, z); {end}", one_for_all))


def chains(text: str, results: Sequence[str] = ("y",), **more: Any) -> list[list[str]]:
    """The operators of each chain of a model with a product `s`."""
    inputs = {**X, "z": X["x"], "row": ["batch", 5, 1], **more.pop("inputs", {})}
    model = model_of(f"{PRODUCT}; {text}", inputs, results, **{**WEIGHTS, **NUMBERS, **more})
    typed = onnx.shape_inference.infer_shapes(model, data_prop=True)
    return [[each.source.node.op_type for each in chain.operations] for chain in chains_of(typed)]


def test_where_a_chain_ends() -> None:
    assert chains("a = Tanh(s); b = Mul(a, two); y = Softmax(b)") == [["Tanh", "Mul"]]
    # What something else reads ends it, and what needs a third tensor.
    assert chains("a = Tanh(s); y = Mul(a, two); b = ReduceSum(s)", ["y", "b"]) == []
    assert chains("a = Tanh(s); y = Mul(a, two)", ["y", "a"]) == [["Tanh"]]
    assert chains("a = Tanh(s); y = Mul(a, two)", ["y", "s"]) == []
    assert chains("a = Tanh(s); b = Mul(a, z); c = Sin(z); y = Add(b, c)") == [["Tanh", "Mul"]]
    # A branch of it may come back.
    assert chains("a = Tanh(s); b = Add(a, z); c = Sigmoid(b); y = Mul(c, s)") == [
        ["Tanh", "Add", "Sigmoid", "Mul"]
    ]
    # Neither rows nor integers nor bools of elsewhere are tensors or vectors.
    assert chains("a = Tanh(s); y = Mul(a, row)") == [["Tanh"]]
    assert chains("a = Tanh(s); b = Cast(a) to=7; y = Cast(b) to=1") == [["Tanh"]]
    assert chains("a = Tanh(s); b = Cast(z) to=9; y = Where(b, a, half)") == [["Tanh"]]
    assert chains("a = Exp(s); y = Mul(a, z)", inputs={"z": [7, "batch", 5, WIDTH]}) == [["Exp"]]
    assert chains("a = Exp(s); y = Mul(a, number)", inputs={"number": []}) == [["Exp"]]


def test_kernels_store_the_products_type_or_f32_and_read_a_tensor_of_that() -> None:
    half, wide = TensorProto.FLOAT16, TensorProto.FLOAT
    kinds = {"y": wide, "z": wide, "two": wide}
    assert chains("a = Cast(s) to=1; b = Tanh(a); y = Mul(b, z)", kind=half, kinds=kinds) == [
        ["Cast", "Tanh", "Mul"]
    ]
    assert chains("a = Tanh(s); y = Cast(a) to=11", kind=half, kinds={"y": 11}) == [["Tanh"]]
    text = "a = Cast(s) to=1; b = Tanh(a); c = Cast(b) to=10; y = Mul(c, z)"
    assert chains(text, kind=half) == [["Cast", "Tanh", "Cast", "Mul"]]
    # Integers are no products.
    assert chains("y = Mul(s, s)", kind=TensorProto.INT32) == []


BRANCH = helper.make_graph(
    [helper.make_node("Sin", ["t"], ["inner"])],
    "branch",
    [],
    [helper.make_tensor_value_info("inner", TensorProto.FLOAT, ["batch", 5, WIDTH])],
)


def test_what_a_branch_reads_is_stored() -> None:
    model = model_of(
        f"{PRODUCT}; t = Tanh(s); y = Mul(t, two)", {**X}, ["y", "z"], **WEIGHTS, two=2.0
    )
    model.graph.input.append(helper.make_tensor_value_info("flag", TensorProto.BOOL, []))
    branches = {"then_branch": BRANCH, "else_branch": BRANCH}
    model.graph.node.append(helper.make_node("If", ["flag"], ["z"], **branches))
    typed = onnx.shape_inference.infer_shapes(model, data_prop=True)
    assert [len(chain.operations) for chain in chains_of(typed)] == [1]


def test_products_of_models_with_convolutions_leave_leaky_relu_to_their_patterns() -> None:
    text = f"{PRODUCT}; y = LeakyRelu(s); v = Conv(u, k)"
    inputs = {**X, "u": [1, 2, 8, 8], "k": [2, 2, 3, 3]}
    assert epilogues_in(model_of(text, inputs, ["y", "v"], **WEIGHTS)) == ()
    assert len(epilogues_in(model_of(f"{PRODUCT}; y = LeakyRelu(s)", X, **WEIGHTS))) == 1


@pytest.mark.parametrize(
    "kind",
    [TensorProto.FLOAT, pytest.param(TensorProto.BFLOAT16, marks=pytest.mark.thorough)],
)
def test_a_model_computes_the_same(tmp_path: Path, kind: int) -> None:
    text = (
        f"{PRODUCT}; a = Div(s, two); b = Tanh(a); c = Cast(b) to=1; d = limited_gelu(c, limits); "
        f"e = Cast(d) to={kind}; f = Mul(gamma, e); g = LeakyRelu(f) alpha=0.25; h = Add(z, g); "
        "i = Max(h, minus); j = Greater(i, half); y = Where(j, half, i)"
    )
    shape = [4, 5, WIDTH]
    constants = {**WEIGHTS, **NUMBERS, "gamma": random.normal(size=WIDTH)}
    # Of one shape, as a function's operands are; in f32, as it is declared.
    constants["limits"] = np.full(shape, 0.5)
    inputs = {"x": shape, "z": shape}
    model = model_of(text, inputs, kind=kind, kinds={"limits": TensorProto.FLOAT}, **constants)
    patterns = [each.profitable_where() for each in epilogues_in(model)]
    module = cd.onnx.compile(model, ["cpu:host"], replace=patterns)
    assert module.replaced is not None
    (item,) = module.replaced
    assert stems([item.kernel]) == ["matmul_with_div_tanh_limited_gelu_mul_leakyrelu_add"]
    program = cd.load(module.save(tmp_path / "block.vmfb"), "cpu")
    x, z = (random.normal(size=shape) for _ in range(2))
    x[0, 1, 3], x[1, 1, 3], x[2, 4, 7], z[3, 3, 3] = np.nan, np.inf, -np.inf, np.nan
    given = {name: array.astype(KINDS[kind]) for name, array in (("x", x), ("z", z))}
    got = np.asarray(program.main(*given.values())).astype(np.float32)
    with np.errstate(all="ignore"):
        evaluator = ReferenceEvaluator(model, new_ops=[LIMITED_GELU])
        want = evaluator.run(None, given)[0].astype(np.float32)
    assert np.isnan(want).any()
    tolerance = 1e-5 if kind == TensorProto.FLOAT else 3e-2
    np.testing.assert_allclose(got, want, tolerance, tolerance)


@pytest.mark.thorough
def test_the_rest_of_a_model_gets_the_kernels_that_it_did() -> None:
    text = f"{PRODUCT}; a = Relu(s); b = Mul(a, a); c = Softmax(b); p2 = MatMul(c, w); y = Relu(p2)"
    model = model_of(text, X, **WEIGHTS)
    report = replaced_in_onnx(model, everything_in(model))
    assert sorted(stems([item.kernel for item in report])) == [
        "matmul_relu",
        "matmul_with_relu_mul",
        "softmax",
    ]
