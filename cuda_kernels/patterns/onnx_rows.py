"""Norms and softmax as ONNX has them, and as exporters write them out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy
from onnx import GraphProto, NodeProto, TensorProto, helper

from cuda_kernels import norms
from cuda_kernels.patterns.onnx_nodes import (
    TYPES,
    Patterns,
    each_type,
    make_graph,
    make_node,
    rewritten,
)

_NORM = make_node("RMSNormalization", "x weight", "y", axis=-1)
_LAYER_NORM = make_node("LayerNormalization", "x weight bias", "y", axis=-1)
_LAYER_NORM_ALONE = make_node("LayerNormalization", "x weight", "y", axis=-1)


def _means(of: str, gives: str) -> list[tuple[NodeProto, dict[str, Any]]]:
    """The mean of rows, before and since version 18 of ONNX; and its constants."""
    return [
        (make_node("ReduceMean", of, gives, axes=[-1]), {}),
        (make_node("ReduceMean", f"{of} axes", gives), {"axes": [-1]}),
    ]


def _squares(of: str) -> list[NodeProto]:
    return [make_node("Pow", f"{of} two", "square"), make_node("Mul", f"{of} {of}", "square")]


def _divided(of: str) -> list[list[NodeProto]]:
    """Rows divided by a root, in three ways."""
    by_inverse = make_node("Mul", f"{of} inverse", "normed")
    return [
        [make_node("Div", f"{of} root", "normed")],
        [make_node("Reciprocal", "root", "inverse"), by_inverse],
        [make_node("Div", "one root", "inverse"), by_inverse],
    ]


_ROOT = [make_node("Add", "mean epsilon", "more"), make_node("Sqrt", "more", "root")]


def _constants(nodes: Sequence[NodeProto], kind: Any) -> dict[str, Any]:
    """One and two, where a graph has them."""
    used = {name for node in nodes for name in node.input}
    return {name: kind(n) for name, n in {"one": 1, "two": 2}.items() if name in used}


def _written_out_norms(dtype: str, *, casts: bool) -> list[GraphProto]:
    """RMS norm as models write it, in their type, or in f32 and rounded before the weight."""
    wide = "wide" if casts else "x"
    narrow = "rounded" if casts else "normed"
    kind = numpy.float32 if casts else TYPES[dtype]
    found = []
    for square, (mean, axes), divided in product(
        _squares(wide), _means("square", "mean"), _divided(wide)
    ):
        to = helper.np_dtype_to_tensor_dtype(numpy.dtype(TYPES[dtype]))
        nodes = [
            *([make_node("Cast", "x", "wide", to=TensorProto.FLOAT)] if casts else []),
            *(square, mean, *_ROOT, *divided),
            *([make_node("Cast", "normed", "rounded", to=to)] if casts else []),
            make_node("Mul", f"weight {narrow}", "y"),
        ]
        constants = {**_constants(nodes, kind), **axes}
        found.append(make_graph(nodes, "x weight epsilon", "y", **constants))
    return found


def _written_out_layer_norms(dtype: str, *, has_bias: bool) -> list[GraphProto]:
    """As models older than version 17 have it; tf2onnx multiplies the weight by the inverse."""
    means = zip(_means("x", "middle"), _means("square", "mean"), strict=True)
    found = []
    for ((middle, axes), (mean, _)), square in product(means, _squares("moved")):
        start = [middle, make_node("Sub", "x middle", "moved"), square, mean, *_ROOT]
        ends = [
            [
                *divided,
                make_node("Mul", "normed weight", "scaled" if has_bias else "y"),
                *([make_node("Add", "scaled bias", "y")] if has_bias else []),
            ]
            for divided in _divided("moved")
        ]
        if has_bias:
            of_tensorflow = [
                make_node("Reciprocal", "root", "inverse"),
                make_node("Mul", "inverse weight", "factor"),
                make_node("Mul", "x factor", "scaled"),
                make_node("Mul", "middle factor", "scaled_middle"),
                make_node("Sub", "bias scaled_middle", "rest"),
                make_node("Add", "scaled rest", "y"),
            ]
            ends.append(of_tensorflow)
        inputs = "x weight bias epsilon" if has_bias else "x weight epsilon"
        for end in ends:
            nodes = [*start, *end]
            constants = {**_constants(nodes, TYPES[dtype]), **axes}
            found.append(make_graph(nodes, inputs, "y", **constants))
    return found


_SUM_AND_NORM = make_graph(
    [
        make_node("Add", "x residual", "total"),
        make_node("RMSNormalization", "total weight", "y", axis=-1),
    ],
    "x residual weight",
    "total y",
)


def rms_norms() -> Patterns:
    """Of root mean squares."""
    found: Patterns = ()
    for dtype in TYPES:
        graphs = _written_out_norms(dtype, casts=False)
        graphs += [] if dtype == "f32" else _written_out_norms(dtype, casts=True)
        found += rewritten(norms, f"rms_norm_{dtype}", graphs, _NORM)
    return found


def add_rms_norms() -> Patterns:
    """Of a sum, and its norm."""
    return each_type(norms, "add_rms_norm", _SUM_AND_NORM)


def layer_norms() -> Patterns:
    """With a bias and without."""
    found: Patterns = ()
    for dtype, (first, has_bias) in product(
        TYPES, ((_LAYER_NORM, True), (_LAYER_NORM_ALONE, False))
    ):
        graphs = _written_out_layer_norms(dtype, has_bias=has_bias)
        found += rewritten(norms, f"layer_norm_{dtype}", graphs, first)
    return found


def softmaxes() -> Patterns:
    """Along the last dim."""
    return each_type(norms, "softmax", make_node("Softmax", "x", "y", axis=-1))
