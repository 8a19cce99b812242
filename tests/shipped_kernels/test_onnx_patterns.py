"""The patterns of ONNX that ship: what their kernels compute, and found in a model."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import custom_dispatch as cd
from cuda_kernels.patterns import onnx as onnx_patterns
from custom_dispatch.frontends.onnx.node import onnx_type
from custom_dispatch.frontends.onnx.pattern import Computed
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.replaced import Replaced
from tests.places import replaced_in_onnx

LATEST = 24
SIZES = {"columns": 16, "heads": 4, "kv_heads": 2, "queries": 5, "keys": 5, "batch": 2}
SIZES |= {"m": 5, "n": 24, "k": 16, "length": 5, "tables": 2}
random = numpy.random.default_rng(0)


def value(name: str, shape: Any, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(
    nodes: Any, inputs: Any, outputs: Any, constants: Any = (), opset: int = LATEST
) -> onnx.ModelProto:
    graph = helper.make_graph(
        list(nodes),
        "graph",
        inputs,
        outputs,
        [numpy_helper.from_array(array, name) for name, array in dict(constants).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def inputs_of(example: Computed) -> list[str]:
    return [item.name for item in example.graph.input]


def arrays_of(pattern: cd.onnx.Pattern, example: Computed) -> dict[str, numpy.ndarray[Any, Any]]:
    """Random arrays for the operands that an example has."""
    found = {}
    known = {"dim": 24, "value_dim": 24} | SIZES
    known |= {"mask_batches": known["batch"], "mask_heads": 1, "mask_rows": known["queries"]}
    if pattern.axes:  # written out, a product is of as many heads
        known["kv_heads"] = known["heads"]
    if pattern.kernel.name.startswith("rotary"):  # they are for one size of heads
        known["dim"] = int(pattern.kernel.name.rpartition("_")[2])
    for item in pattern.kernel.inputs:
        if isinstance(item, Buffer) and item.name in inputs_of(example):
            sizes = [2 if str(size) == "..." else known.get(str(size)) for size in item.shape]
            shape = [
                int(str(dim)) if size is None else size
                for size, dim in zip(sizes, item.shape, strict=True)
            ]
            array = random.normal(size=shape)
            found[item.name] = (array > 0 if item.dtype.name == "bool" else array).astype(
                item.dtype.to_numpy()
            )
    return found


def computed(
    pattern: cd.onnx.Pattern, example: Computed, arrays: Any, scalars: Any
) -> list[numpy.ndarray[Any, Any]]:
    """What ONNX itself computes of an example."""
    nodes = []
    for original in example.graph.node:
        node = onnx.NodeProto()
        node.CopyFrom(original)
        for name in example.captured:
            node.attribute.append(helper.make_attribute(name, scalars[name]))
        nodes.append(node)
    kind = next(iter(arrays.values())).dtype.type
    if any(node.op_type == "Cast" for node in nodes):  # they compute in f32
        kind = numpy.float32
    numbers = {name: kind(scalars[name]) for name in set(inputs_of(example)) - arrays.keys()}
    opset = 17 if any(item.op_type == "ReduceMean" and item.attribute for item in nodes) else LATEST
    model = model_of(
        nodes,
        [value(n, a.shape, helper.np_dtype_to_tensor_dtype(a.dtype)) for n, a in arrays.items()],
        [
            value(output.name, None, onnx_type(item.dtype))
            for output, item in zip(example.graph.output, pattern.kernel.outputs, strict=True)
        ],
        {
            **{item.name: numpy_helper.to_array(item) for item in example.graph.initializer},
            **{name: numpy.asarray(number) for name, number in numbers.items()},
        },
        opset,
    )
    return list(ReferenceEvaluator(model).run(None, arrays))


SOME = [
    pattern
    for pattern in onnx_patterns.everything
    if (not pattern.axes or pattern.kernel.name.endswith(("_f32", "_bf16")))
    and pattern not in onnx_patterns.quantised
    # Theirs are PyTorch's operators by then: test_onnx_convolutions.py.
    and not pattern.kernel.name.startswith("convolution_")
]
"""Of those that only differ in type, two."""


@pytest.mark.parametrize("pattern", SOME, ids=lambda item: item.kernel.name)
def test_a_pattern_computes_what_the_kernels_reference_does(pattern: cd.onnx.Pattern) -> None:
    assert pattern.kernel.reference is not None
    for example in pattern.computes:
        arrays = arrays_of(pattern, example)
        if pattern.axes:  # scores of 16 bits are rounded there: small ones by less
            arrays["q"] *= arrays["q"].dtype.type(0.125)
        given = {"dim": 24, "divisor": 4.0, "root": 0.5}
        fixed = {
            name: v(*(given[each] for each in inspect.signature(v).parameters))
            if callable(v)
            else v
            for name, v in pattern.fixed.items()
        }
        scalars = {"epsilon": 0.25, "scale": 0.25, **given, **fixed}
        wanted = pattern.kernel.reference(
            *(arrays.get(item.name, scalars.get(item.name)) for item in pattern.kernel.inputs)
        )
        tolerance = 2e-5 if pattern.kernel.outputs[0].dtype.name == "f32" else 4e-2
        for name, axes in pattern.axes.items():  # as the example has it
            arrays[name] = arrays[name].transpose(axes)
        found = computed(pattern, example, arrays, scalars)
        for one, other in zip(
            found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True
        ):
            numpy.testing.assert_allclose(
                numpy.asarray(one, "f8"), numpy.asarray(other, "f8"), tolerance, tolerance
            )


@pytest.mark.parametrize("pattern", onnx_patterns.quantised[:4], ids=lambda it: it.kernel.name)
def test_weights_of_4_bits_are_those_of_the_kernels_reference(pattern: cd.onnx.Pattern) -> None:
    (example,) = pattern.computes
    size = int(numpy_helper.to_array(example.graph.initializer[4])[-1])
    arrays: dict[str, Any] = {
        "x": random.standard_normal((2, 3, 2 * size)).astype("f2"),
        "weight": random.integers(0, 256, (8, size)).astype("u1"),
        "scales": random.random((8, 2)).astype("f2"),
        "zeros": random.integers(0, 16, (8, 2)).astype("f2"),
    }
    arrays = {name: arrays[name] for name in inputs_of(example)}
    (found,) = computed(pattern, example, arrays, {})
    assert pattern.kernel.reference is not None
    wanted = pattern.kernel.reference(*arrays.values())
    numpy.testing.assert_allclose(found.astype("f8"), wanted.astype("f8"), rtol=2e-2, atol=0.5)


# -- in models


def node(operator: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    name = outputs.split()[0]
    return helper.make_node(operator, inputs.split(), outputs.split(), name=name, **attributes)


def replaced(model: onnx.ModelProto) -> Replaced:
    return replaced_in_onnx(model, onnx_patterns.everything)


ROWS = ["batch", "rows", 64]
HEADS, KEYS = ["batch", 4, "queries", 32], ["batch", 2, "keys", 32]
NUMBERS = {
    name: numpy.asarray(number, "f4")
    for name, number in {"two": 2, "root": 2**0.5, "one": 1, "half": 0.5, "small": 1e-6}.items()
}


def of_rows(nodes: list[onnx.NodeProto], opset: int, **more: Any) -> onnx.ModelProto:
    """A model that takes rows `x` and `z`, and returns `y`."""
    inputs = [value("x", ROWS), value("z", ROWS), value("weight", [64]), value("bias", [64])]
    return model_of(nodes, inputs, [value("y", ROWS)], {**NUMBERS, **more}, opset)


def attended(mask: str = "", **attributes: Any) -> onnx.ModelProto:
    """A model that attends, with a mask that is called after its type."""
    kind = TensorProto.BOOL if mask == "bool" else TensorProto.FLOAT
    sizes = {"bool": ["batch", 1, "queries", "keys"], "row": ["batch", 1, 1, "keys"]}
    inputs = [value("q", HEADS), value("k", KEYS), value("v", KEYS)]
    return model_of(
        [node("Attention", f"q k v {mask}", "y", **attributes)],
        [*inputs, *([value(mask, sizes.get(mask, sizes["bool"]), kind)] if mask else [])],
        [value("y", HEADS)],
    )


def test_they_are_found_among_the_operators_of_a_late_version() -> None:
    nodes = [
        node("Add", "x z", "sum"),
        node("RMSNormalization", "sum weight", "normed", epsilon=1e-6),
        node("Swish", "normed", "open"),
        node("Mul", "open z", "gated"),
        node("Add", "gated sum", "last"),
        node("LayerNormalization", "last weight bias", "a"),
        node("Gelu", "a", "b"),
        node("LayerNormalization", "b weight", "c"),
        node("Gelu", "c", "d", approximate="tanh"),
        node("RMSNormalization", "d weight", "e"),
        node("Softmax", "e", "y"),
    ]
    report = replaced(of_rows(nodes, LATEST))
    assert [item.kernel for item in report] == [
        "add_rms_norm_f32",
        "swiglu_f32",
        "layer_norm_f32",
        "gelu_erf_f32",
        "layer_norm_f32",
        "gelu_tanh_f32",
        "rms_norm_f32",
        "softmax_f32",
    ]
    found, missed = ({each.place.module for each in part} for part in (report, report.near_misses))
    assert not found & missed, "what one kernel took is no near miss of another"


@pytest.mark.parametrize("opset", [17, 20])
def test_they_are_found_where_exporters_write_them_out(opset: int) -> None:
    by_attribute = {"axes": [-1]} if opset < 18 else {}
    axes = "" if by_attribute else " last"

    def norm(x: str, out: str) -> list[onnx.NodeProto]:
        return [
            node("Pow", f"{x} two", f"{out}1"),
            node("ReduceMean", f"{out}1{axes}", f"{out}2", **by_attribute),
            node("Add", f"{out}2 small", f"{out}3"),
            node("Sqrt", f"{out}3", f"{out}4"),
            node("Reciprocal", f"{out}4", f"{out}5"),
            node("Mul", f"{out}5 {x}", f"{out}6"),
            node("Mul", f"{out}6 weight", out),
        ]

    def below(x: str, out: str) -> list[onnx.NodeProto]:
        return [
            node("Div", f"{x} root", f"{out}1"),
            node("Erf", f"{out}1", f"{out}2"),
            node("Add", f"{out}2 one", f"{out}3"),
        ]

    nodes = [
        node("Add", "x z", "sum"),
        *norm("sum", "a"),
        *below("a", "b"),
        node("Mul", "half b3", "b4"),
        node("Mul", "a b4", "b"),
        node("Add", "sum b", "c"),
        *below("c", "d"),
        node("Mul", "c d3", "d4"),
        node("Mul", "d4 half", "d"),
        node("Sigmoid", "d", "e1"),
        node("Mul", "d e1", "e2"),
        node("Mul", "e2 z", "e"),
        *norm("e", "y"),
    ]
    report = replaced(of_rows(nodes, opset, **({"last": numpy.array([-1])} if axes else {})))
    assert Counter(item.kernel for item in report) == {
        "add_rms_norm_f32": 1,
        "rms_norm_f32": 1,
        "gelu_erf_f32": 2,
        "swiglu_f32": 1,
    }
    assert [item.scalars for item in report.of("rms_norm_f32")] == [
        {"epsilon": pytest.approx(1e-6)}
    ]


@pytest.mark.parametrize(
    ("mask", "attributes", "kernel", "scalars"),
    [
        ("", {}, "attention_f32_32", {"scale": 32**-0.5, "causal": False}),
        ("", {"is_causal": 1, "scale": 0.5}, "attention_f32_32", {"scale": 0.5, "causal": True}),
        ("row", {}, "attention_f32_32", {"scale": 32**-0.5, "causal": False}),
        ("row", {"is_causal": 1}, "masked_attention_f32_32", {"causal": True}),
        ("f32", {"scale": 2.0}, "masked_attention_f32_32", {"scale": 2.0, "causal": False}),
        ("bool", {"is_causal": 1}, "bool_masked_attention_f32_32", {"causal": True}),
    ],
)
def test_attention_is_found_with_each_mask(
    mask: str, attributes: Any, kernel: str, scalars: Any
) -> None:
    (found,) = replaced(attended(mask, **attributes))
    assert found.kernel == kernel
    assert {**found.scalars, **scalars} == found.scalars


@pytest.mark.parametrize(
    "model",
    [
        attended(softcap=30.0),
        attended("bool", qk_matmul_output_mode=1),
        of_rows([node("Softmax", "x", "y", axis=1)], LATEST),
        of_rows([node("LayerNormalization", "x z", "y", axis=1)], LATEST),
        of_rows([node("LayerNormalization", "x weight", "y", stash_type=10)], LATEST),
        of_rows([node("Swish", "x", "a", alpha=1.702), node("Mul", "a z", "y")], LATEST),
        of_rows([node("Sigmoid", "x", "a"), node("Mul", "a z", "y")], LATEST),
    ],
)
def test_what_only_looks_alike_stays(model: onnx.ModelProto) -> None:
    assert len(replaced(model)) == 0


def test_an_old_softmax_is_over_all_axes_but_the_first() -> None:
    """ONNX converts it to rows that are flattened."""
    (place,) = replaced(of_rows([node("Softmax", "x", "y")], 11))
    assert (place.kernel, place.operations) == ("softmax_f32", ("onnx.Softmax",))


def rotated(
    half: int, *, batch: int | str = "batch", tables: int | str = "batch"
) -> onnx.ModelProto:
    """Rotary embedding of heads of 64 as PyTorch's exporter writes it, with halves of some size."""
    nodes = [
        node("Slice", "x half end last one", "upper"),
        node("Neg", "upper", "turned"),
        node("Slice", "x zero half last one", "lower"),
        node("Concat", "turned lower", "halves", axis=-1),
        node("Unsqueeze", "cos one", "cosines"),
        node("Mul", "x cosines", "kept"),
        node("Unsqueeze", "sin one", "sines"),
        node("Mul", "halves sines", "moved"),
        node("Add", "kept moved", "y"),
    ]
    numbers = {"half": [half], "end": [2**63 - 1], "last": [3], "one": [1], "zero": [0]}
    heads, table = [batch, 4, "length", 64], [tables, "length", 64]
    return model_of(
        nodes,
        [value("x", heads), value("cos", table), value("sin", table)],
        [value("y", heads)],
        {name: numpy.asarray(each, "i8") for name, each in numbers.items()},
    )


@pytest.mark.parametrize("sizes", [{}, {"tables": 1}, {"batch": 6, "tables": 6}])
def test_rotary_embedding_is_found_as_exporters_write_it(sizes: dict[str, Any]) -> None:
    assert [item.kernel for item in replaced(rotated(32, **sizes))] == ["rotary_f32_64"]


def test_half_a_head_is_half_of_it() -> None:
    """Of other halves, something else is computed; of unrelated batches nobody knows what."""
    assert not len(replaced(rotated(16)))
    report = replaced(rotated(32, tables="other"))
    assert not len(report)
    assert any("batch % tables == 0" in item.reason for item in report.near_misses)
