"""Patterns of ONNX that are none."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import helper

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from tests.frontends.onnx_cases import (
    SIZES,
    gelu_erf_f32,
    graph_of,
    model_of,
    node,
    norm_model,
    replaced,
)
from tests.sample_kernels.rows import row_layer_norm


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


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.onnx.compile(norm_model(), ["cpu"], replace=[row_layer_norm])  # type: ignore[list-item]
    assert str(caught.value).splitlines()[1:] == [
        "  expected: a pattern: a cd.Pattern, or that of a framework, such as cd.onnx.Pattern",
        "  next step: write replace=[cd.Pattern(kernel, computes=...)].",
    ]
