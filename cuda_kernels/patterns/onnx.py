"""What the kernels compute in ONNX's words, for `cd.onnx.compile(..., replace=...)`.

The only module here that loads ONNX. Each name is a tuple with patterns for each element type, none
of which has to be found. Where ONNX has an operator, that is the pattern, and besides it what
exporters write for versions of ONNX that do not have it yet: Gelu came with version 20,
RMSNormalization and Attention with 23. Their operators compute in f32 whatever the type; what is
written out rounds once an operation, and the kernels round the result alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy
from onnx import GraphProto, NodeProto, helper, numpy_helper

import custom_dispatch as cd
from cuda_kernels import attention as attentions
from cuda_kernels import elementwise, norms
from cuda_kernels import gemm as gemms
from cuda_kernels.attention.names import ends_and_scales
from cuda_kernels.attention.rotary import declare as declare_rotary
from cuda_kernels.shared.lazily import lazily

if TYPE_CHECKING:
    Patterns = tuple[cd.onnx.Pattern, ...]

_TYPES = {"f32": numpy.float32, "f16": numpy.float16, "bf16": ml_dtypes.bfloat16}
_HEADS = (32, 64, 128)


def _node(operator: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    """A node; names are separated by blanks."""
    return helper.make_node(operator, inputs.split(), outputs.split(), **attributes)


def _graph(nodes: Sequence[NodeProto], inputs: str, outputs: str, **constants: Any) -> GraphProto:
    """Several nodes; the types of what goes in and out are the kernel's."""
    return GraphProto(
        name="pattern",
        node=nodes,
        input=[helper.make_empty_tensor_value_info(name) for name in inputs.split()],
        output=[helper.make_empty_tensor_value_info(name) for name in outputs.split()],
        initializer=[
            numpy_helper.from_array(numpy.asarray(value), name) for name, value in constants.items()
        ],
    )


def _patterns(module: Any, name: str, *computes: Any) -> Patterns:
    """A pattern for each element type, of what is the same for all of them."""
    return tuple(
        cd.onnx.Pattern(getattr(module, f"{name}_{dtype}"), list(computes), required=False)
        for dtype in _TYPES
    )


# -- rows

_NORM = _node("RMSNormalization", "x weight", "y", axis=-1)


def _squares(x: str) -> list[tuple[list[NodeProto], dict[str, Any]]]:
    """The mean of the squares, as before and since version 18 of ONNX."""
    square = _node("Pow", f"{x} two", "square")
    two = numpy.float32(2)
    return [
        ([square, _node("ReduceMean", "square axes", "mean")], {"two": two, "axes": [-1]}),
        ([square, _node("ReduceMean", "square", "mean", axes=[-1])], {"two": two}),
    ]


def _written_out_norm(x: str) -> list[tuple[list[NodeProto], dict[str, Any]]]:
    """RMS norm as PyTorch's exporter writes it, in f32."""
    return [
        (
            [
                *nodes,
                _node("Add", "mean epsilon", "more"),
                _node("Sqrt", "more", "root"),
                _node("Reciprocal", "root", "scale"),
                _node("Mul", f"{x} scale", "normed"),
                _node("Mul", "weight normed", "y"),
            ],
            constants,
        )
        for nodes, constants in _squares(x)
    ]


_SUM = _node("Add", "x residual", "total")
_SUM_AND_NORM = _graph(
    [_SUM, _node("RMSNormalization", "total weight", "y", axis=-1)],
    "x residual weight",
    "total y",
)


def _rms_norms() -> Patterns:
    return (
        *_patterns(norms, "rms_norm", _NORM),
        *(
            cd.onnx.Pattern(
                norms.rms_norm_f32,
                _graph(nodes, "x weight epsilon", "y", **constants),
                required=False,
            )
            for nodes, constants in _written_out_norm("x")
        ),
    )


def _add_rms_norms() -> Patterns:
    return (
        *_patterns(norms, "add_rms_norm", _SUM_AND_NORM),
        *(
            cd.onnx.Pattern(
                norms.add_rms_norm_f32,
                _graph([_SUM, *nodes], "x residual weight epsilon", "total y", **constants),
                required=False,
            )
            for nodes, constants in _written_out_norm("total")
        ),
    )


def _layer_norms() -> Patterns:
    return _patterns(
        norms,
        "layer_norm",
        _node("LayerNormalization", "x weight bias", "y"),
        _node("LayerNormalization", "x weight", "y"),
    )


def _softmaxes() -> Patterns:
    return _patterns(norms, "softmax", _node("Softmax", "x", "y", axis=-1))


# -- elements


def _with_erf(dtype: str) -> list[NodeProto | GraphProto]:
    """GELU, and the two orders in which PyTorch's exporters multiply where it is written out."""
    kind = _TYPES[dtype]
    constants = {"root": kind(sqrt(2)), "one": kind(1), "half": kind(0.5)}
    below = [
        _node("Div", "x root", "scaled"),
        _node("Erf", "scaled", "erf"),
        _node("Add", "erf one", "more"),
    ]
    factor_first = [_node("Mul", "half more", "factor"), _node("Mul", "x factor", "y")]
    factor_last = [_node("Mul", "x more", "twice"), _node("Mul", "twice half", "y")]
    return [
        _node("Gelu", "x", "y"),
        _graph([*below, *factor_first], "x", "y", **constants),
        _graph([*below, *factor_last], "x", "y", **constants),
    ]


def _gelus() -> Patterns:
    return (
        *(
            cd.onnx.Pattern(
                getattr(elementwise, f"gelu_erf_{dtype}"), _with_erf(dtype), required=False
            )
            for dtype in _TYPES
        ),
        *_patterns(elementwise, "gelu_tanh", _node("Gelu", "x", "y", approximate="tanh")),
    )


def _swiglus() -> Patterns:
    return _patterns(
        elementwise,
        "swiglu",
        _graph(
            [
                _node("Sigmoid", "gate", "open"),
                _node("Mul", "gate open", "activated"),
                _node("Mul", "activated up", "y"),
            ],
            "gate up",
            "y",
        ),
        _graph(
            [_node("Swish", "gate", "activated", alpha=1.0), _node("Mul", "activated up", "y")],
            "gate up",
            "y",
        ),
    )


# -- attention


def _attentions() -> Patterns:
    """With each form of mask and without; where no scale is given, it is ONNX's dim**-0.5."""
    found = []
    for dtype in _TYPES:
        for end, usual in ends_and_scales(*_HEADS):
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
                    node = _node("Attention", inputs, "out", is_causal=int(causal))
                    for scale in ({}, {"scale": usual}):
                        fixed = {"causal": causal, **scale}
                        found.append(cd.onnx.Pattern(kernel, node, fixed=fixed, required=False))
    return tuple(found)


def _written_out(scaled: list[NodeProto], *, has_mask: bool, nan: bool = False) -> list[NodeProto]:
    """Products, a mask that is added, and a softmax; k is transposed."""
    scores = scaled[-1].output[0] if scaled else "scores"
    weights = "known" if nan else "weights"
    return [
        _node("MatMul", "q k", "scores"),
        *scaled,
        *([_node("Add", f"{scores} mask", "masked")] if has_mask else []),
        _node("Softmax", "masked" if has_mask else scores, "weights", axis=-1),
        *([_node("IsNaN", "weights", "none")] if nan else []),
        *([_node("Where", "none zero weights", "known")] if nan else []),
        _node("MatMul", f"{weights} v", "out"),
    ]


def _attentions_written_out() -> Patterns:
    """As PyTorch's exporters write it before version 23: of models that do it themselves, and of
    `scaled_dot_product_attention`, whose queries and keys come with their scales, and where a
    query that sees nothing has weights of 0.
    """
    found = []
    for dtype, kind in _TYPES.items():
        for size in _HEADS:
            plain, masked = (
                getattr(attentions, f"{prefix}attention_{dtype}_{size}")
                for prefix in ("", "masked_")
            )
            root = {"root": kind(sqrt(size))}
            forms: tuple[tuple[str, list[NodeProto], bool, dict[str, Any], dict[str, Any]], ...] = (
                ("scale", [_node("Mul", "scores scale", "scaled")], False, {}, {}),
                ("", [_node("Div", "scores root", "scaled")], False, root, {"scale": size**-0.5}),
                ("", [], False, {}, {"scale": 1.0}),
                ("", [], True, {"zero": kind(0)}, {"scale": 1.0}),
            )
            for kernel, mask in ((plain, ""), (plain, "mask"), (masked, "mask")):
                for scale, scaled, nan, constants, fixed in forms:
                    nodes = _written_out(scaled, has_mask=bool(mask), nan=nan)
                    found.append(
                        cd.onnx.Pattern(
                            kernel,
                            _graph(nodes, f"q k v {mask} {scale}", "out", **constants),
                            fixed={"causal": False, **fixed},
                            axes={"k": (0, 1, 3, 2)},
                            required=False,
                        )
                    )
    return tuple(found)


def _rotaries() -> Patterns:
    """Rotary embedding with halves, as PyTorch's exporter writes it: half a head is a number."""
    found = []
    for size in _HEADS:
        constants = {
            "zero": [0],
            "half": [size // 2],
            "end": [2**63 - 1],
            "last": [3],
            "one": [1],
        }
        nodes = [
            _node("Slice", "x half end last one", "upper"),
            _node("Neg", "upper", "turned"),
            _node("Slice", "x zero half last one", "lower"),
            _node("Concat", "turned lower", "halves", axis=-1),
            _node("Unsqueeze", "cos one", "cosines"),
            _node("Mul", "x cosines", "kept"),
            _node("Unsqueeze", "sin one", "sines"),
            _node("Mul", "halves sines", "moved"),
            _node("Add", "kept moved", "y"),
        ]
        graph = _graph(nodes, "x cos sin", "y", **constants)
        found += [
            cd.onnx.Pattern(declare_rotary(dtype, size=size), graph, required=False)
            for dtype in _TYPES
        ]
    return tuple(found)


# -- products


_PRODUCT = [_node("MatMul", "a b", "product"), _node("Add", "product bias", "sum")]
_WITH_BIAS = _graph([_PRODUCT[0], _node("Add", "product bias", "c")], "a b bias", "c")
_WITH_SUM = _graph([*_PRODUCT, _node("Add", "sum residual", "c")], "a b bias residual", "c")
_ACTIVATIONS = {
    "relu": [_node("Relu", "sum", "c")],
    "silu": [_node("Sigmoid", "sum", "open"), _node("Mul", "sum open", "c")],
    "gelu_erf": [_node("Gelu", "sum", "c")],
    "gelu_tanh": [_node("Gelu", "sum", "c", approximate="tanh")],
}


def _matmuls() -> Patterns:
    return (  # those first that stand for more
        *(
            pattern
            for name, nodes in _ACTIVATIONS.items()
            for pattern in _patterns(
                gemms, f"matmul_{name}", _graph([*_PRODUCT, *nodes], "a b bias", "c")
            )
        ),
        *_patterns(gemms, "matmul", _WITH_SUM),
        *_patterns(gemms, "matmul", _WITH_BIAS),
        *_patterns(gemms, "matmul", _node("MatMul", "a b", "c"), _node("Gemm", "a b", "c")),
        *_patterns(gemms, "matmul", _node("Gemm", "a b bias", "c")),
        *_patterns(gemms, "linear", _node("Gemm", "a b", "c", transB=1)),
        *_patterns(gemms, "linear", _node("Gemm", "a b bias", "c", transB=1)),
        *_patterns(gemms, "batch_matmul", _node("MatMul", "a b", "c")),
    )


def _named(*names: str) -> Patterns:
    return tuple(pattern for name in names for pattern in __getattr__(name))


_EVERYTHING = (
    "add_rms_norm",
    "rms_norm",
    "layer_norm",
    "attention",
    "rotary",
    "softmax",
    "gelu",
    "swiglu",
    "matmul",
)
"""In this order: the sum that a norm is of goes with the norm."""
_TABLE: dict[str, Callable[[], Patterns]] = {
    "rms_norm": _rms_norms,
    "add_rms_norm": _add_rms_norms,
    "layer_norm": _layer_norms,
    "softmax": _softmaxes,
    "gelu": _gelus,
    "swiglu": _swiglus,
    "attention": lambda: (*_attentions(), *_attentions_written_out()),
    "rotary": _rotaries,
    "matmul": _matmuls,
    "everything": lambda: _named(*_EVERYTHING),
}

__getattr__, __dir__ = lazily(globals(), _TABLE)
