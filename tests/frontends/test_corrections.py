"""Operations that IREE 3.13 alone computes wrongly, in models of every front end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul

multiply = cd.torch.register(simple_mul, namespace="correction_tests")
multiply_in_jax = cd.jax.call(simple_mul)
NAN, INF = math.nan, math.inf
PASSENGER = np.ones(2, np.float32)
ANGLES = [0.0, -0.0, 0.7, -2.5, 60000.0, -57387.47265625, 1.5e7, -5e8, NAN, INF]
NUMBERS = [0.0, -0.0, 1e-5, -0.5, 1.0, 2.5, -3000.0, 6e4, 1e20, -1e20, INF, -INF, NAN]
ENDS = [0.0, -0.0, 1.0, -2.0, INF, -INF, NAN]
MISSING = np.array([[1, NAN, 3, INF], [2, -INF, NAN, -1], [0, 5, 2, -0.0]], np.float32)
OTHER = MISSING[::-1].copy()

FUNCTIONS = {
    "sin": (np.sin, ANGLES),
    "cos": (np.cos, ANGLES),
    "tan": (np.tan, ANGLES),
    "asinh": (np.arcsinh, NUMBERS),
    "acosh": (np.arccosh, NUMBERS),
}
MLIR = """
func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
func.func @product(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @simple_mul(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @atan2(%y: tensor<?xf32>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = math.atan2 %y, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @quotients(%x: tensor<?xi32>, %y: tensor<?xi32>)
    -> (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) {
  %0 = arith.divsi %x, %y : tensor<?xi32>
  %1 = arith.remsi %x, %y : tensor<?xi32>
  %2 = arith.floordivsi %x, %y : tensor<?xi32>
  %3 = arith.remui %x, %y : tensor<?xi32>
  return %0, %1, %2, %3 : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
}
func.func @sin_of_halves(%x: tensor<?xf16>) -> tensor<?xf16> {
  %0 = math.sin %x : tensor<?xf16>
  return %0 : tensor<?xf16>
}
#map = affine_map<(d0) -> (d0)>
func.func @compared(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %empty = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %is = arith.cmpf ogt, %a, %b : f32
    %larger = arith.select %is, %a, %b : f32
    linalg.yield %larger : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @sums(%x: tensor<2x?xf16>, %start: tensor<2xf16>)
    -> (tensor<2xf16>, tensor<2x2xf16>, tensor<2x?xf16>) {
  %0 = linalg.reduce ins(%x : tensor<2x?xf16>) outs(%start : tensor<2xf16>) dimensions = [1]
      (%in: f16, %sum: f16) {
    %more = arith.addf %in, %sum : f16
    linalg.yield %more : f16
  }
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f16
  %n = tensor.dim %x, %c1 : tensor<2x?xf16>
  %turned = tensor.empty(%n) : tensor<?x2xf16>
  %y = linalg.transpose ins(%x : tensor<2x?xf16>) outs(%turned : tensor<?x2xf16>)
      permutation = [1, 0]
  %small = tensor.empty() : tensor<2x2xf16>
  %none = linalg.fill ins(%zero : f16) outs(%small : tensor<2x2xf16>) -> tensor<2x2xf16>
  %1 = linalg.matmul ins(%x, %y : tensor<2x?xf16>, tensor<?x2xf16>)
      outs(%none : tensor<2x2xf16>) -> tensor<2x2xf16>
  %long = tensor.empty(%n) : tensor<2x?xf16>
  %2:2 = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%x : tensor<2x?xf16>)
      outs(%long, %start : tensor<2x?xf16>, tensor<2xf16>) {
  ^bb0(%in: f16, %sum: f16):
    %more = arith.addf %in, %sum : f16
    iree_linalg_ext.yield %more : f16
  } -> tensor<2x?xf16>, tensor<2xf16>
  return %0, %1, %2#0 : tensor<2xf16>, tensor<2x2xf16>, tensor<2x?xf16>
}
""" + "".join(
    f"""
func.func @{name}(%x: tensor<?xf32>) -> tensor<?xf32> {{
  %0 = math.{name} %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}}"""
    for name in FUNCTIONS
)


def agree(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    """Numbers are close, with the sign of each zero, and NaN is where it should be."""
    found, expected = np.asarray(found), np.asarray(expected)
    if expected.dtype.kind in "iub":
        np.testing.assert_array_equal(found, expected)
        return
    found, expected = found.astype("f8"), expected.astype("f8")
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=max(1e-7, tolerance / 10))
    numbers = ~np.isnan(expected) & (np.abs(expected) != 0)
    assert np.array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.fixture(scope="module")
def program() -> Any:
    return cd.load(cd.compile(MLIR, simple_mul, ["cpu"]), "cpu")


@np.errstate(all="ignore")
def test_functions_and_sums_written_in_mlir_are_right(program: Any) -> None:
    for name, (function, numbers) in FUNCTIONS.items():
        x = np.array(numbers, np.float32)
        agree(getattr(program, name)(x), function(x.astype("f8")).astype("f4"))
    y, x = (part.ravel().copy() for part in np.meshgrid(np.float32(ENDS), np.float32(ENDS)))
    agree(program.atan2(y, x), np.arctan2(y, x))
    angles = np.array([0.5, 6e4, -34080, -0.0], np.float16)
    agree(program.sin_of_halves(angles), np.sin(angles.astype("f8")), 1e-3)
    ones = np.ones((2, 4096), np.float16)
    total, product, running = program.sums(ones, np.array([3, 0], np.float16))
    agree(total, [4100, 4096])  # halves from 4096 on are multiples of 4
    agree(product, np.full((2, 2), 4096.0))
    agree(running, np.cumsum(ones, 1, np.float64).astype(np.float16))


def test_divisions_by_zero_end_nothing(program: Any) -> None:
    least = -(2**31)
    x = np.array([7, -7, least, least, -7, 0], np.int32)
    y = np.array([0, 0, -1, 0, 2, 0], np.int32)
    found = [np.asarray(item).tolist() for item in program.quotients(x, y)]
    assert found[0] == [-1, -1, least, -1, -3, -1]
    assert found[1] == [7, -7, 0, least, -1, 0]
    assert found[2] == [-1, -1, least, -1, -4, -1]
    assert found[3] == [7, -7, least, least, 1, 0]


def test_a_comparison_that_a_model_makes_stays(program: Any) -> None:
    agree(program.compared(MISSING[0], OTHER[0]), np.float32([1, 5, 3, INF]))


def test_sines_beyond_half_a_billion_are_refused_as_nan(program: Any) -> None:
    x = np.array([1e9, -3e38], np.float32)
    assert np.isnan(np.asarray(program.sin(x))).all()


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


Case = tuple[Callable[..., Any], tuple[torch.Tensor, ...]]
X, Y = torch.from_numpy(MISSING), torch.from_numpy(OTHER)
LARGE = normal(2, 1000) * 300 + 20


def of_missing_numbers() -> list[Case]:
    """Operators, and numbers among which some are NaN."""
    functions = [functional.relu, functional.relu6, functional.hardtanh, torch.argmax]
    of_two = [torch.maximum, torch.minimum, torch.fmax, lambda x, y: torch.where(x > y, x, y)]
    of_two += [lambda x, y: torch.clamp(x, max=y)]
    functions += [lambda x: x.clamp(-1, 2), lambda x: x.clamp(min=0.5)]
    for extreme in (torch.argmax, torch.argmin, torch.amax):
        functions.append(lambda x, extreme=extreme: extreme(x, -1))
    functions += [lambda x: x.max(-1)[1], lambda x: x.min(0)[1], lambda x: x.topk(3)[0]]
    functions += [lambda x: x.topk(3, largest=False)[0], lambda x: x.sort(-1)[0]]
    functions += [lambda x: x.sort(0, descending=True)[1]]
    cases = [(function, (X,)) for function in functions]
    return cases + [(function, (X, Y)) for function in of_two]


def of_16_bits() -> list[Case]:
    """Operators that overflow or are inexact where they add up in 16 bits."""
    x, weight = LARGE.half(), normal(1000).half()
    image = LARGE.abs().mul(20).half().reshape(2, 10, 10, 10)
    rough = LARGE.bfloat16()
    return [
        (lambda x, w: functional.layer_norm(x, (1000,), w), (x, weight)),
        (lambda x: functional.layer_norm(x, (1000,)), (rough,)),
        (lambda x: functional.group_norm(x.reshape(2, 10, 100), 5), (x,)),
        (lambda x: functional.rms_norm(x, (1000,)), (x,)),
        (lambda x: torch.linalg.vector_norm(x, dim=-1), (x,)),
        (lambda x: x.mean(-1), (x.abs() * 9,)),
        (lambda x: x.pow(1.7), (rough.abs(),)),
        (lambda x: x.std(-1), (x,)),
        (lambda x: x.sum(0), (rough.T.contiguous(),)),
        (lambda x: x.cumsum(-1), (rough.abs(),)),
        (lambda x: x.prod(-1), (1 + x[:, :65] / 1000,)),
        (lambda x: functional.adaptive_avg_pool2d(x, 1), (image,)),
        (lambda x: functional.avg_pool2d(x, 5), (image,)),
        (lambda x, y: torch.lerp(x, y, 0.25), (image[0, 0], -image[1, 0])),
    ]


def of_other_numbers() -> list[Case]:
    """Operators that are converted into others which are not the same."""
    ends = torch.tensor([-1e4, -100.0, -88.0, -10.0, 0.0, 3.0, INF, -INF, NAN])
    tanh = lambda x: functional.gelu(x, approximate="tanh")  # noqa: E731
    sampled = lambda x, at: functional.grid_sample(x, at, align_corners=False)  # noqa: E731
    at = torch.tensor([[[[-1.3, 0.2], [0.9, 1.1], [0.1, -0.4], [1.0, 1.0]]]])
    integers = torch.tensor([2**62 + 1, -(2**62) - 3, 5])

    def of_one_group(x: torch.Tensor) -> torch.Tensor:
        """As routers choose groups of experts: positions and numbers are known, and are zeros."""
        none = torch.zeros_like(x[:, :1])
        chosen = none.scatter(1, none.long(), torch.ones_like(none))
        return x.masked_fill(chosen.expand_as(x) == 0, -9.0)

    return [
        (of_one_group, (normal(5, 7),)),
        (functional.logsigmoid, (ends,)),
        (functional.logsigmoid, (ends.half(),)),
        (tanh, (normal(50),)),
        (sampled, (normal(1, 2, 4, 3), at)),
        (torch.neg, (integers,)),
        (torch.neg, (torch.tensor([2**31 - 1, -(2**31) + 2], dtype=torch.int32),)),
    ]


def of_quotients() -> list[Case]:
    """Divisions, and what is computed by some."""
    x, y = torch.meshgrid(
        torch.tensor([*NUMBERS, -7.3, 0.1]),
        torch.tensor([3.0, -0.1, INF, -INF, 0.0]),
        indexing="ij",
    )
    i = torch.tensor([2**62 + 1, -(2**62) - 3, 7, -7, -(2**63) + 1])[:, None]
    j = torch.tensor([3, -7, 2**53 + 1, 1])
    small = torch.tensor([-127, -7, 0, 7, 127], dtype=torch.int8)
    floor = lambda x, y: torch.div(x, y, rounding_mode="floor")  # noqa: E731
    trunc = lambda x, y: torch.div(x, y, rounding_mode="trunc")  # noqa: E731
    signs = lambda x, y: torch.atan2(torch.fmod(x, y), 0 * y - 1)  # noqa: E731 - of zeros, too
    at = torch.tensor([0, 0, 1])
    cases: list[Case] = [(f, (x, y)) for f in (torch.floor_divide, torch.remainder, signs)]
    cases += [(f, (x.half(), y[0].half())) for f in (torch.floor_divide, torch.fmod)]
    cases += [(f, (i, j)) for f in (floor, trunc, torch.remainder, torch.fmod)]
    return [
        *cases,
        (lambda x: x.half() // 0.1, (x,)),
        (lambda x: torch.fmod(x, -0.7), (x,)),
        (lambda i: i // (2**53 + 1), (i,)),
        (lambda i: 100 % i, (i,)),
        (lambda i: i // -3, (small,)),
        (lambda i: i % -3, (small,)),
        (lambda i, n: i.scatter_reduce(0, at, n, "mean"), (torch.tensor([1, -5]), -at - 3)),
    ]


def of_factors() -> list[Case]:
    """Operators of several steps, between which numbers of 16 bits overflow; and NaN in others."""
    # So many that PyTorch computes them in f32, as it does not for a few.
    x = torch.tensor([6e4, -6e4, INF, -INF, NAN, 1, -0.0, 3]).half().repeat(16)
    rows, nans = normal(3, 40).half() * 200, torch.full((3, 3), NAN).half()
    image = MISSING.repeat(3, axis=1).repeat(2, axis=0)[None, None]
    pool = lambda x: functional.max_pool2d(x, 2, return_indices=True)[1]  # noqa: E731
    return [
        (lambda x: torch.rsub(x, x, alpha=2), (x,)),
        (lambda x: torch.add(x, x, alpha=-0.75), (x,)),
        (lambda x: torch.addcmul(x, x, x, value=1e-4), (x,)),
        (lambda b, x: torch.addmm(b, x, x.T, beta=0, alpha=0.01), (nans, rows)),
        (
            lambda b, x: torch.baddbmm(b, x, x.mT, beta=2, alpha=0.01),
            (rows[None, :, :3], rows[None]),
        ),
        (lambda x: x.pow(0.5), (x,)),
        (lambda x: x.float().pow(-0.5), (x,)),
        (lambda x: functional.threshold(x, 0.5, 7), (x,)),
        (pool, (torch.from_numpy(image),)),
    ]


def test_operators_of_pytorch_are_right() -> None:
    cases = of_missing_numbers() + of_16_bits() + of_other_numbers()
    cases += of_quotients() + of_factors()

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor, given: list[tuple[torch.Tensor, ...]]) -> Any:
            several = zip(cases, given, strict=True)
            return multiply(x, x), [case[0](*items) for case, items in several]

    given = [case[1] for case in cases]
    module = cd.torch.compile(Model(), (torch.ones(2), given), ["cpu"])
    results = cd.load(module, "cpu").main(PASSENGER, *(item for items in given for item in items))
    for (function, arguments), found in zip(cases, results[1:], strict=True):
        result, expected = torch.from_dlpack(found), function(*arguments)
        assert result.dtype == expected.dtype
        if expected.is_floating_point():
            tolerance = (
                2 * torch.finfo(expected.dtype).eps if expected.element_size() == 2 else 3e-6
            )
            agree(result.double(), expected.double(), tolerance)
        else:
            agree(result, expected)


HALVES = LARGE.half().numpy()
ONNX: list[tuple[str, list[str], dict[str, Any]]] = [
    ("Max", ["x", "y"], {}),
    ("Clip", ["x", "low", "high"], {}),
    ("ArgMax", ["x"], {"axis": 1, "keepdims": 0}),
    ("Gelu", ["normal"], {"approximate": "tanh"}),
    ("Cos", ["angles"], {}),
    ("Neg", ["integers"], {}),
    ("Mod", ["x", "low"], {"fmod": 1}),
    ("Mod", ["integers", "three"], {}),
    ("Div", ["integers", "three"], {}),
    ("LayerNormalization", ["halves", "weight"], {"axis": -1}),
    ("ReduceMean", ["many", "last"], {"keepdims": 0}),
    ("ReduceL2", ["halves", "last"], {"keepdims": 0}),
    ("GlobalAveragePool", ["image"], {}),
    ("Attention", ["heads", "heads", "heads"], {"is_causal": 1}),
]
INPUTS: dict[str, Any] = {
    "x": MISSING,
    "y": OTHER,
    "normal": normal(50).numpy(),
    "angles": np.array(ANGLES, np.float32),
    "heads": normal(1, 2, 3, 160).numpy(),
    "integers": np.array([2**62 + 1, -(2**62) - 3], np.int64),
    "halves": HALVES,
    "many": np.abs(HALVES) * np.float16(9),
    "image": (np.abs(HALVES) * np.float16(9)).reshape(2, 10, 10, 10),
}
CONSTANTS: dict[str, Any] = {
    "low": np.float32(-1),
    "high": np.float32(2),
    "last": np.array([-1]),
    "three": np.array(3),
    "weight": np.ones(1000, np.float16),
}


def graph_of(nodes: list[onnx.NodeProto], outputs: dict[str, Any], arrays: Any) -> onnx.ModelProto:
    kinds = {name: helper.np_dtype_to_tensor_dtype(item.dtype) for name, item in arrays.items()}
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "main",
        [
            helper.make_tensor_value_info(name, kinds[name], item.shape)
            for name, item in arrays.items()
            if name in used and name not in CONSTANTS
        ],
        [helper.make_tensor_value_info(name, *kind) for name, kind in outputs.items()],
        [numpy_helper.from_array(arrays[name], name) for name in CONSTANTS if name in used],
    )
    versions = [helper.make_opsetid("", 23), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=11)


@np.errstate(all="ignore")
def test_operators_of_onnx_are_right() -> None:
    arrays = {"p": PASSENGER} | INPUTS | CONSTANTS
    wide = {
        name: item.astype("f8") if item.dtype == np.float16 else item
        for name, item in arrays.items()
    }
    nodes = [helper.make_node("simple_mul", ["p", "p"], ["q"], domain="mine")]
    outputs: dict[str, Any] = {"q": (TensorProto.FLOAT, [2])}
    expected = []
    for index, (operator, inputs, attributes) in enumerate(ONNX):
        nodes.append(helper.make_node(operator, inputs, [f"z{index}"], **attributes))
        last = {f"z{index}": (helper.np_dtype_to_tensor_dtype(wide[inputs[0]].dtype), None)}
        evaluator = ReferenceEvaluator(graph_of(nodes[-1:], last, wide))
        result = evaluator.run(None, {name: wide[name] for name in inputs if name in INPUTS})[0]
        is_half = arrays[inputs[0]].dtype == np.float16
        expected.append(np.asarray(result).astype(np.float16 if is_half else result.dtype))
        kind = helper.np_dtype_to_tensor_dtype(expected[-1].dtype)
        outputs[f"z{index}"] = (kind, expected[-1].shape)
    model = graph_of(nodes, outputs, arrays)
    program = cd.load(cd.onnx.compile(model, ["cpu"], kernels=simple_mul), "cpu")
    results = program.main(*(arrays[item.name] for item in model.graph.input))
    for found, wanted in zip(results[1:], expected, strict=True):
        agree(found, wanted, 2e-3 if wanted.dtype == np.float16 else 3e-6)


def test_functions_of_jax_are_right() -> None:
    def model(x: Any, ones: Any, angles: Any) -> Any:
        sums = jnp.cumsum(ones[0]), jnp.sum(ones, 1), ones @ ones.T
        order = [jnp.argsort(few, descending=up) for up in (False, True)]
        return multiply_in_jax(x, x), jnp.sin(angles), sums, order, jax.lax.top_k(gaps, 3)

    few, gaps = np.array([1, 0, 1, 2, 0, 1, 2], np.float32), MISSING.repeat(2, axis=1)
    ones, angles = np.ones((2, 4096), np.float16), np.array(ANGLES, np.float32)
    module = cd.jax.compile(model, (PASSENGER, ones, angles), ["cpu"])
    found = cd.load(module, "cpu").main(PASSENGER, ones, angles)
    with np.errstate(invalid="ignore"):
        agree(found[1], np.sin(angles.astype("f8")).astype("f4"))
    assert [float(np.asarray(item).ravel()[-1]) for item in found[2:5]] == [4096.0] * 3
    wanted = [jnp.argsort(few), jnp.argsort(few, descending=True), *jax.lax.top_k(gaps, 3)]
    for item, right in zip(found[5:], wanted, strict=True):
        agree(item, right)
