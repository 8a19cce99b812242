"""What the kernels compute in ONNX's words, for `cd.onnx.compile(..., replace=...)`.

The only module here that loads ONNX. Each name is a tuple with patterns for each element type, none
of which has to be found. Where ONNX has an operator, that is the pattern, and besides it what
exporters write for versions of ONNX that do not have it yet: Gelu came with version 20,
RMSNormalization and Attention with 23. Their operators compute in f32 whatever the type; what is
written out rounds once an operation, and the kernels round the result alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy
from onnx import GraphProto, NodeProto, helper

import custom_dispatch as cd
from cuda_kernels import gemm as gemms
from cuda_kernels.patterns.convolutions import every_convolution_of_onnx
from cuda_kernels.patterns.onnx_attention import every_attention, rotaries
from cuda_kernels.patterns.onnx_elementwise import gelus, swiglus
from cuda_kernels.patterns.onnx_nodes import (
    TYPES,
    Patterns,
    each_type,
    make_graph,
    make_node,
)
from cuda_kernels.patterns.onnx_rows import add_rms_norms, layer_norms, rms_norms, softmaxes
from cuda_kernels.patterns.profitable import where_profitable
from cuda_kernels.quantised import four_bit
from cuda_kernels.shared.lazily import lazily

_PRODUCT = [make_node("MatMul", "a b", "product"), make_node("Add", "product bias", "sum")]
_WITH_BIAS = make_graph([_PRODUCT[0], make_node("Add", "product bias", "c")], "a b bias", "c")
_ACTIVATIONS: dict[str, list[list[NodeProto]]] = {
    "relu": [[make_node("Relu", "sum", "c")]],
    "silu": [
        [make_node("Sigmoid", "sum", "open"), make_node("Mul", "sum open", "c")],
        [make_node("Swish", "sum", "c", alpha=1.0)],
    ],
    "gelu_erf": [[make_node("Gelu", "sum", "c")]],
    "gelu_tanh": [[make_node("Gelu", "sum", "c", approximate="tanh")]],
}
_SUMS: dict[str, list[tuple[list[NodeProto], str]]] = {
    "matmul": [
        (_PRODUCT, "a b bias"),
        ([make_node("Gemm", "a b bias", "sum")], "a b bias"),
        ([make_node("MatMul", "a b", "sum")], "a b"),
    ],
    "linear": [
        ([make_node("Gemm", "a b bias", "sum", transB=1)], "a b bias"),
        ([make_node("Gemm", "a b", "sum", transB=1)], "a b"),
    ],
}
"""A product and its bias, by the layout of the kernel."""


def _followed(layout: str, ends: Sequence[list[NodeProto]], more: str = "") -> list[GraphProto]:
    """Products with what is computed of their sums, which may read another operand."""
    return [
        make_graph([*nodes, *end], f"{inputs} {more}", "c")
        for (nodes, inputs), end in product(_SUMS[layout], ends)
    ]


def _matmuls() -> Patterns:
    residual = [[make_node("Add", "sum residual", "c")]]
    return (  # those first that stand for more
        *(
            pattern
            for (name, ends), layout in product(_ACTIVATIONS.items(), _SUMS)
            for pattern in each_type(gemms, f"{layout}_{name}", *_followed(layout, ends))
        ),
        *each_type(gemms, "matmul", *_followed("matmul", residual, "residual")),
        *each_type(gemms, "linear", *_followed("linear", residual, "residual")),
        *each_type(gemms, "matmul", _WITH_BIAS),
        *each_type(gemms, "matmul", make_node("MatMul", "a b", "c"), make_node("Gemm", "a b", "c")),
        *each_type(gemms, "matmul", make_node("Gemm", "a b bias", "c")),
        *each_type(gemms, "linear", make_node("Gemm", "a b", "c", transB=1)),
        *each_type(gemms, "linear", make_node("Gemm", "a b bias", "c", transB=1)),
        *each_type(gemms, "batch_matmul", make_node("MatMul", "a b", "c")),
    )


_GROUPS = (32, 64, 128, 256)


def _quantised() -> Patterns:
    """`MatMulNBits` of onnxruntime with 4 bits, in the words in which it is imported."""
    found = []
    for dtype, size, has_zeros in product(("f16", "bf16"), _GROUPS, (False, True)):
        kind = TYPES[dtype]
        to = helper.np_dtype_to_tensor_dtype(numpy.dtype(kind))
        nodes = [
            make_node("BitwiseAnd", "weight fifteen", "low"),
            make_node("BitShift", "weight four", "high", direction="RIGHT"),
            make_node("Unsqueeze", "low last", "low_apart"),
            make_node("Unsqueeze", "high last", "high_apart"),
            make_node("Concat", "low_apart high_apart", "pairs", axis=-1),
            make_node("Reshape", "pairs flat", "numbers"),
            make_node("Cast", "numbers", "wide", to=to),
            make_node("Reshape", "wide in_groups", "groups"),
            *([make_node("Unsqueeze", "zeros last", "middle")] if has_zeros else []),
            make_node("Sub", "groups middle", "moved"),
            make_node("Unsqueeze", "scales last", "one_each"),
            make_node("Mul", "moved one_each", "scaled"),
            make_node("Reshape", "scaled flat", "rows"),
            make_node("Transpose", "rows", "columns", perm=[1, 0]),
            make_node("MatMul", "x columns", "y"),
        ]
        numbers = {"fifteen": numpy.uint8(15), "four": numpy.uint8(4), "last": [-1]}
        numbers |= {"flat": [0, -1], "in_groups": [0, -1, size]}
        numbers |= {} if has_zeros else {"middle": kind(8)}
        inputs = "x weight scales zeros" if has_zeros else "x weight scales"
        kernel = getattr(four_bit, f"int4_zeros_{dtype}" if has_zeros else f"int4_{dtype}")
        graph = make_graph(nodes, inputs, "y", **numbers)
        found.append(cd.onnx.Pattern(kernel, graph, required=False))
    return tuple(found)


def _named(*names: str) -> Patterns:
    return tuple(pattern for name in names for pattern in __getattr__(name))


_EVERYTHING = (
    "convolution",
    "add_rms_norm",
    "rms_norm",
    "layer_norm",
    "attention",
    "rotary",
    "softmax",
    "gelu",
    "swiglu",
    "quantised",
    "matmul",
)
"""In this order: the sum that a norm is of goes with the norm."""
_TABLE: dict[str, Callable[[], Patterns]] = {
    "convolution": every_convolution_of_onnx,
    "rms_norm": rms_norms,
    "add_rms_norm": add_rms_norms,
    "layer_norm": layer_norms,
    "softmax": softmaxes,
    "gelu": gelus,
    "swiglu": swiglus,
    "attention": every_attention,
    "rotary": rotaries,
    "quantised": _quantised,
    "matmul": _matmuls,
    "everything": lambda: where_profitable(_named(*_EVERYTHING)),
}

__getattr__, __dir__ = lazily(globals(), _TABLE)
