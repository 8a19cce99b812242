"""Attention and rotary embeddings as ONNX has them, and as exporters write them out."""

from __future__ import annotations

from itertools import product
from typing import Any

from onnx import NodeProto

import custom_dispatch as cd
from cuda_kernels import attention as attentions
from cuda_kernels.attention.names import ends_and_scales
from cuda_kernels.attention.rotary import declare as declare_rotary
from cuda_kernels.patterns.onnx_nodes import (
    HEADS,
    TYPES,
    Patterns,
    make_graph,
    make_node,
)


def _own_attentions() -> Patterns:
    """With each form of mask and without; where no scale is given, it is ONNX's dim**-0.5."""
    found = []
    for dtype in TYPES:
        for end, usual in ends_and_scales(*HEADS):
            plain, masked, seen = (
                getattr(attentions, f"{prefix}attention_{dtype}{end}")
                for prefix in ("", "masked_", "bool_masked_")
            )
            # A mask of one row that is causal, too: ONNX's reference has the keys after the first
            # hidden from every query, so it is none of these.
            for kernel, inputs, causals in (
                (plain, "q k v", (False, True)),
                (plain, "q k v mask", (False,)),
                (masked, "q k v mask", (False, True)),
                (seen, "q k v mask", (False, True)),
            ):
                for causal in causals:
                    node = make_node("Attention", inputs, "out", is_causal=int(causal))
                    for scale in ({}, {"scale": usual}):
                        fixed = {"causal": causal, **scale}
                        found.append(cd.onnx.Pattern(kernel, node, fixed=fixed, required=False))
    return tuple(found)


_SCALINGS: tuple[tuple[list[NodeProto], Any], ...] = (
    ([make_node("Mul", "scores scale", "scaled")], None),
    ([make_node("Div", "scores divisor", "scaled")], lambda divisor: 1 / divisor),
    ([make_node("Mul", "q scale", "q_scaled")], None),
    ([make_node("Div", "q divisor", "q_scaled")], lambda divisor: 1 / divisor),
    ([make_node("Mul", "k scale", "k_scaled")], None),
    (
        [make_node("Mul", "q root", "q_scaled"), make_node("Mul", "k root", "k_scaled")],
        lambda root: root * root,
    ),
    (
        [make_node("Div", "q divisor", "q_scaled"), make_node("Div", "k divisor", "k_scaled")],
        lambda divisor: 1 / divisor**2,
    ),
    ([], 1.0),
)
"""Where models multiply scores, queries and keys by what, and what the scale is then; None for an
input of that name."""


def _written_out(scaling: list[NodeProto], *, has_mask: bool, nan: bool) -> list[NodeProto]:
    """Products, a mask that is added, and a softmax; k is transposed.

    Parameters
    ----------
    nan
        Whether weights are zero for a query that sees nothing, as in `scaled_dot_product_attention`
        of PyTorch.
    """
    given = {name for node in scaling for name in node.output}
    q, k = ("q_scaled" if "q_scaled" in given else "q", "k_scaled" if "k_scaled" in given else "k")
    after = [node for node in scaling if "scores" in node.input]
    before = [node for node in scaling if node not in after]
    scores = "scaled" if after else "scores"
    return [
        *before,
        make_node("MatMul", f"{q} {k}", "scores"),
        *after,
        *([make_node("Add", f"{scores} mask", "masked")] if has_mask else []),
        make_node("Softmax", "masked" if has_mask else scores, "weights", axis=-1),
        *([make_node("IsNaN", "weights", "none")] if nan else []),
        *([make_node("Where", "none zero weights", "known")] if nan else []),
        make_node("MatMul", f"{'known' if nan else 'weights'} v", "out"),
    ]


def attentions_written_out() -> Patterns:
    """As models write it, and PyTorch's exporters before version 23, with heads of any size.

    Each place becomes ONNX's operator, for which the patterns before these choose a kernel.
    """
    found = []
    for dtype, kind in TYPES.items():
        for prefix, inputs in (("", "q k v"), ("", "q k v mask"), ("masked_", "q k v mask")):
            kernel = getattr(attentions, f"{prefix}attention_{dtype}")
            for scaling, scale in _SCALINGS:
                names = {name for node in scaling for name in node.input}
                number = " ".join(names & {"scale", "divisor", "root"})
                graphs = [
                    make_graph(
                        _written_out(scaling, has_mask="mask" in inputs, nan=nan),
                        f"{inputs} {number}",
                        "out",
                        **({"zero": kind(0)} if nan else {}),
                    )
                    for nan in (False, True)
                ]
                found.append(
                    cd.onnx.Pattern(
                        kernel,
                        graphs,
                        fixed={"causal": False, **({} if scale is None else {"scale": scale})},
                        axes={"k": (0, 1, 3, 2)},
                        first=make_node("Attention", inputs, "out", is_causal=0),
                        required=False,
                    )
                )
    return tuple(found)


_ROTARY_HEADS = (*HEADS, 16, 20, 24, 40, 48, 80, 96, 112, 160, 192, 256)
"""Sizes of heads, and of the parts of them that are rotated."""


def rotaries() -> Patterns:
    """Rotary embedding with halves, as PyTorch's exporters write it: half a head is a number.

    The tables have no axis for heads, or one of size 1.
    """
    found = []
    for size, apart in product(_ROTARY_HEADS, (False, True)):
        numbers = {"zero": [0], "half": [size // 2], "end": [2**63 - 1], "last": [3], "one": [1]}
        tables = [] if apart else [make_node("Unsqueeze", "cos one", "cosines")]
        tables += [] if apart else [make_node("Unsqueeze", "sin one", "sines")]
        nodes = [
            make_node("Slice", "x half end last one", "upper"),
            make_node("Neg", "upper", "turned"),
            make_node("Slice", "x zero half last one", "lower"),
            make_node("Concat", "turned lower", "halves", axis=-1),
            *tables,
            make_node("Mul", "x cos" if apart else "x cosines", "kept"),
            make_node("Mul", "halves sin" if apart else "halves sines", "moved"),
            make_node("Add", "kept moved", "y"),
        ]
        graph = make_graph(nodes, "x cos sin", "y", **numbers)
        found += [
            cd.onnx.Pattern(declare_rotary(dtype, size=size, apart=apart), graph, required=False)
            for dtype in TYPES
        ]
    return tuple(found)


def every_attention() -> Patterns:
    """Of both kinds."""
    return (*_own_attentions(), *attentions_written_out())
