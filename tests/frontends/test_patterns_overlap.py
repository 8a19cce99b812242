"""Patterns that overlap take the same places whatever words a model and they are written in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest
from onnx import TensorProto, helper

import custom_dispatch as cd
from custom_dispatch.frontends.mlir import place
from custom_dispatch.replaced import Replaced
from tests.places import replaced_in_onnx, replaced_in_torch

N = cd.dim("n")


def kernel(name: str, inputs: str) -> cd.Kernel:
    operands = [*(cd.In(item, "f32", [N]) for item in inputs), cd.Out("out", "f32", [N])]
    return cd.Kernel(
        name, source="not-here.cu", operands=operands, block=64, grid=cd.ceildiv(N, 64)
    )


KERNELS = [kernel("mul_add", "abc"), kernel("add_relu", "ab"), kernel("relu", "a")]

# -- MLIR

LINALG = """#each = affine_map<(i) -> (i)>
func.func @main({parameters}) -> tensor<?xf32> {{
  %zero = arith.constant 0.0 : f32
  %axis = arith.constant 0 : index
  %n = tensor.dim %a, %axis : tensor<?xf32>
  %empty = tensor.empty(%n) : tensor<?xf32>
{body}  return %{result} : tensor<?xf32>
}}"""
STEP = """  %{result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
      ins({values} : {kinds}) outs(%empty : tensor<?xf32>) {{
    ^bb0({arguments}, %out: f32):
      %one = arith.{operator} %x0, {second} : f32
      linalg.yield %one : f32
  }} -> tensor<?xf32>
"""
OPERATORS = {"mul": "mulf", "add": "addf", "relu": "maximumf"}


def linalg(steps: str, inputs: str) -> str:
    """Steps such as "p=mul a b", as operations of linalg."""
    body = ""
    for step in steps.split(";"):
        result, _, text = step.partition("=")
        operator, *operands = text.split()
        body += STEP.format(
            result=result,
            maps=", ".join(["#each"] * (len(operands) + 1)),
            values=", ".join(f"%{item}" for item in operands),
            kinds=", ".join(["tensor<?xf32>"] * len(operands)),
            arguments=", ".join(f"%x{index}: f32" for index in range(len(operands))),
            operator=OPERATORS[operator],
            second="%x1" if len(operands) > 1 else "%zero",
        )
    parameters = ", ".join(f"%{item}: tensor<?xf32>" for item in inputs)
    return LINALG.format(parameters=parameters, body=body, result=result)


def in_linalg(model: str, patterns: Sequence[tuple[str, str]]) -> Replaced | None:
    items = [
        cd.Pattern(kernel, linalg(steps, inputs), required=False)
        for kernel, (steps, inputs) in zip(KERNELS, patterns, strict=True)
    ]
    return place(linalg(model, "abc"), KERNELS, items).replaced


# -- JAX


def function(
    steps: str, inputs: str, operators: dict[str, Callable[..., Any]]
) -> Callable[..., Any]:
    """The same as a function of a framework."""

    def called(**values: Any) -> Any:
        for step in steps.split(";"):
            result, _, text = step.partition("=")
            operator, *operands = text.split()
            values[result] = operators[operator](*(values[item] for item in operands))
        return values[result]

    if inputs == "a":
        return lambda a: called(a=a)
    if inputs == "ab":
        return lambda a, b: called(a=a, b=b)
    return lambda a, b, c: called(a=a, b=b, c=c)


def in_jax(model: str, patterns: Sequence[tuple[str, str]]) -> Replaced | None:
    jax = pytest.importorskip("jax")
    operators = {
        "mul": lambda x, y: x * y,
        "add": lambda x, y: x + y,
        "relu": lambda x: jax.numpy.maximum(x, 0.0),
    }
    items = [
        cd.jax.Pattern(kernel, function(steps, inputs, operators), required=False)
        for kernel, (steps, inputs) in zip(KERNELS, patterns, strict=True)
    ]
    specs = [jax.ShapeDtypeStruct((8,), numpy.float32)] * 3
    exported = jax.export.export(jax.jit(function(model, "abc", operators)))(*specs)
    return place(exported.mlir_module(), KERNELS, items).replaced


# -- PyTorch


def in_torch(model: str, patterns: Sequence[tuple[str, str]]) -> Replaced | None:
    torch = pytest.importorskip("torch")
    operators = {"mul": torch.mul, "add": torch.add, "relu": torch.relu}
    items = [
        cd.torch.Pattern(kernel, function(steps, inputs, operators), required=False)
        for kernel, (steps, inputs) in zip(KERNELS, patterns, strict=True)
    ]
    computes = function(model, "abc", operators)

    class Model(torch.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, a: Any, b: Any, c: Any) -> Any:
            return computes(a, b, c)

    return replaced_in_torch(Model(), (torch.ones(8),) * 3, items)


# -- ONNX


def graph(steps: str, inputs: str, kind: int | None) -> Any:
    """The same as a graph of ONNX."""
    nodes = []
    for step in steps.split(";"):
        result, _, text = step.partition("=")
        operator, *operands = text.split()
        nodes.append(helper.make_node(operator.capitalize(), operands, [result], result))

    def value(name: str) -> Any:
        if kind is None:
            return helper.make_empty_tensor_value_info(name)
        return helper.make_tensor_value_info(name, kind, ["n"])

    return helper.make_graph(nodes, "main", [*map(value, inputs)], [value(result)])


def in_onnx(model: str, patterns: Sequence[tuple[str, str]]) -> Replaced | None:
    items = [
        cd.onnx.Pattern(kernel, graph(steps, inputs, None), required=False)
        for kernel, (steps, inputs) in zip(KERNELS, patterns, strict=True)
    ]
    opsets = [helper.make_opsetid("", 20)]
    made = helper.make_model(graph(model, "abc", TensorProto.FLOAT), opset_imports=opsets)
    return replaced_in_onnx(made, items)


PATTERNS = [("p=mul a b;r=add p c", "abc"), ("p=add a b;r=relu p", "ab"), ("r=relu a", "a")]


@pytest.mark.parametrize("words", [in_linalg, in_jax, in_torch, in_onnx])
@pytest.mark.parametrize(
    ("model", "found"),
    [
        # The second overlaps the first, and what it leaves is the third's.
        ("p=mul a b;q=add p c;r=relu q", ["mul_add", "relu"]),
        # Nothing is in the second's way; the third would be a part of it.
        ("p=add a b;q=add p c;r=relu q", ["add_relu"]),
        # The operands of both may be swapped.
        ("p=mul b a;q=add c p;r=relu q", ["mul_add", "relu"]),
        # The sum is used twice: it is no part of what it is used for.
        ("p=mul a b;q=add p c;s=relu q;r=add q s", ["mul_add", "relu"]),
    ],
)
def test_the_same_places_in_all_words(words: Any, model: str, found: list[str]) -> None:
    report = words(model, PATTERNS)
    assert report is not None
    assert sorted(item.kernel for item in report) == found
