"""Activations as ONNX has them, and as exporters write them out."""

from __future__ import annotations

from itertools import product
from math import pi, sqrt
from typing import Any

from onnx import GraphProto, NodeProto

from cuda_kernels import elementwise
from cuda_kernels.patterns.onnx_nodes import (
    TYPES,
    Patterns,
    each_type,
    make_graph,
    make_node,
    rewritten,
)


def _halved(more: str) -> list[list[NodeProto]]:
    """X and a factor multiplied, and halved at one place or another."""
    return [
        [make_node("Mul", f"half {more}", "factor"), make_node("Mul", "x factor", "y")],
        [make_node("Mul", f"x {more}", "twice"), make_node("Mul", "twice half", "y")],
        [make_node("Mul", "half x", "part"), make_node("Mul", f"part {more}", "y")],
    ]


def _with_erf(kind: Any) -> list[GraphProto]:
    """GELU as models write it out."""
    scaled = [make_node("Div", "x root", "scaled"), make_node("Mul", "x inverse", "scaled")]
    constants = {"one": kind(1), "half": kind(0.5)}
    below = [make_node("Erf", "scaled", "erf"), make_node("Add", "erf one", "more")]
    numbers = ({"root": kind(sqrt(2))}, {"inverse": kind(sqrt(0.5))})
    return [
        make_graph([node, *below, *end], "x", "y", **constants, **number)
        for (node, number), end in product(zip(scaled, numbers, strict=True), _halved("more"))
    ]


def _with_tanh(kind: Any) -> list[GraphProto]:
    """Its approximation, as GPT-2 (three forms of the cube) and GPT-NeoX write it."""
    square = make_node("Mul", "x x", "square")
    cubes = [
        [make_node("Pow", "x three", "cube")],
        [square, make_node("Mul", "square x", "cube")],
    ]
    inners = [
        [
            *cube,
            make_node("Mul", "cube little", "added"),
            make_node("Add", "x added", "sum"),
            make_node("Mul", "sum root", "inner"),
        ]
        for cube in cubes
    ]
    inners += [
        [
            *[make_node("Mul", "x root", "start"), make_node("Mul", "x little", "part_of_square")],
            *[make_node("Mul", "part_of_square x", "added"), make_node("Add", "added one", "sum")],
            make_node("Mul", "start sum", "inner"),
        ]
    ]
    ends = [make_node("Tanh", "inner", "tanh"), make_node("Add", "tanh one", "more")]
    numbers = {"three": 3, "little": 0.044715, "root": sqrt(2 / pi), "one": 1, "half": 0.5}
    found = []
    for inner, end in product(inners, _halved("more")):
        nodes = [*inner, *ends, *end]
        used = {name for node in nodes for name in node.input}
        constants = {name: kind(n) for name, n in numbers.items() if name in used}
        found.append(make_graph(nodes, "x", "y", **constants))
    return found


def gelus() -> Patterns:
    """Exact, and with tanh."""
    exact, approximate = (
        make_node("Gelu", "x", "y"),
        make_node("Gelu", "x", "y", approximate="tanh"),
    )
    found: Patterns = ()
    for dtype, kind in TYPES.items():
        found += rewritten(elementwise, f"gelu_erf_{dtype}", _with_erf(kind), exact)
        found += rewritten(elementwise, f"gelu_tanh_{dtype}", _with_tanh(kind), approximate)
    return found


def swiglus() -> Patterns:
    """Gates."""
    return each_type(
        elementwise,
        "swiglu",
        make_graph(
            [
                make_node("Sigmoid", "gate", "open"),
                make_node("Mul", "gate open", "activated"),
                make_node("Mul", "activated up", "y"),
            ],
            "gate up",
            "y",
        ),
        make_graph(
            [
                make_node("Swish", "gate", "activated", alpha=1.0),
                make_node("Mul", "activated up", "y"),
            ],
            "gate up",
            "y",
        ),
    )
