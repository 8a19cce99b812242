"""Every shipped pattern of ONNX, looked for in a model of nothing but what it says."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import ml_dtypes
import numpy
import onnx
import pytest
from onnx import helper, numpy_helper

import custom_dispatch as cd
from cuda_kernels.patterns import onnx as onnx_patterns
from custom_dispatch.frontends.onnx.node import onnx_type, scalars_of
from custom_dispatch.kernel.declared import kernels_of
from custom_dispatch.kernel.evaluation import evaluate, holds
from tests.places import replaced_in_onnx

NEWEST = 24
SIZES = (64, 32, 128, 8, 16, 4, 1, 80, 96, 256, 20, 24, 40, 48, 112, 160, 192)
NUMBERS = {"f32": numpy.float32, "f16": numpy.float16, "bf16": ml_dtypes.bfloat16}
PATTERNS = [
    (pattern, index)
    for pattern in onnx_patterns.everything
    for index in range(len(pattern.computes))
    if not pattern.computes[index].text  # whose models test_onnx_convolutions.py has
]
THOROUGH = pytest.mark.thorough
# Those of the other types are written by the same lines: a part of them is enough.
LOOKED_FOR = [item for item in PATTERNS if "f32" in item[0].item.name] + PATTERNS[::9]


def sizes_of(kernel: cd.Kernel) -> dict[str, int]:
    """Sizes that a kernel takes."""
    names = [dim.name for dim in kernel.dims]
    chance = numpy.random.default_rng(0)
    same = ([size] * len(names) for size in SIZES)
    others = (chance.choice(SIZES, len(names)).tolist() for _ in range(20_000))
    for sizes in itertools.chain(same, others):
        found = dict(zip(names, sizes, strict=True))
        if all(holds(condition, found) for condition in kernel.requires):
            return found
    raise AssertionError(f"no sizes fit {kernel.name}")


def version_of(graph: onnx.GraphProto) -> int:
    """The newest version of ONNX that has all the operators of a graph as they are written."""
    for version in range(NEWEST, 10, -1):
        schemas = [onnx.defs.get_schema(node.op_type, version) for node in graph.node]
        if all(
            {item.name for item in node.attribute} <= set(schema.attributes)
            and len(node.input) <= schema.max_input
            for node, schema in zip(graph.node, schemas, strict=True)
        ):
            return version
    raise AssertionError("no version")


def model_of(pattern: cd.onnx.Pattern, index: int) -> onnx.ModelProto:
    """A model of a pattern's graph, with sizes that the kernel takes and numbers for scalars."""
    graph = onnx.GraphProto()
    graph.CopyFrom(pattern.computes[index].graph)
    for name, node in itertools.product(pattern.computes[index].captured, graph.node):
        schema = onnx.defs.get_schema(node.op_type)
        if name in schema.attributes and not schema.attributes[name].default_value.name:
            node.attribute.append(helper.make_attribute(name, 0.25))
    kernel = kernels_of(pattern.item)[0]
    stored = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    if "in_groups" in stored:  # weights of 4 bits, in two groups
        sizes = {"batch": 6, "n": 8, "halves": int(stored["in_groups"][-1]), "groups": 2}
    else:
        sizes = sizes_of(kernel)

    def value(name: str, operand: Any) -> onnx.ValueInfoProto:
        shape = [evaluate(size, sizes) for size in operand.shape]
        is_deep = operand.batched and not any(node.op_type == "Gemm" for node in graph.node)
        shape = [2, 3, *shape[1:]] if is_deep else shape
        axes = pattern.axes.get(operand.name)
        shape = shape if axes is None else [shape[axis] for axis in axes]
        return helper.make_tensor_value_info(name, onnx_type(operand.dtype), shape)

    buffers = {item.name: item for item in kernel.buffers}
    number = NUMBERS[next(iter(buffers.values())).dtype.name](0.5)
    casts = any(node.op_type == "Cast" for node in graph.node)
    wide = numpy.float32 if casts else type(number)
    names = [item.name for item in graph.input]
    functions = [value for value in pattern.fixed.values() if callable(value)]
    numbers = [name for item in functions for name in inspect.signature(item).parameters]
    assert set(names) <= {*buffers, *scalars_of(kernel), *numbers}
    made = helper.make_graph(
        graph.node,
        "main",
        [value(name, buffers[name]) for name in names if name in buffers],
        [
            value(item.name, operand)
            for item, operand in zip(graph.output, kernel.outputs, strict=True)
        ],
        [
            *graph.initializer,
            *(numpy_helper.from_array(wide(number), name) for name in names if name not in buffers),
        ],
    )
    opsets = [helper.make_opsetid("", version_of(graph))]
    return helper.make_model(made, opset_imports=opsets, ir_version=11)


@pytest.mark.parametrize(
    "part",
    [
        LOOKED_FOR[::2],
        LOOKED_FOR[1::2],
        pytest.param([item for item in PATTERNS if item not in LOOKED_FOR], marks=THOROUGH),
    ],
    ids=["some", "others", "all"],
)
def test_every_pattern_is_found_where_nothing_else_is(part: list[Any]) -> None:
    lost = []
    for pattern, index in part:
        report = replaced_in_onnx(model_of(pattern, index), [pattern])
        if [item.kernel for item in report] != [pattern.item.name]:
            lost.append((pattern.item.name, index, [item.reason for item in report.near_misses]))
    assert not lost, lost
    assert len(PATTERNS) > 300
