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
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

import custom_dispatch as cd
from cuda_kernels import attention as attentions
from cuda_kernels import elementwise, norms
from cuda_kernels import gemm as gemms
from cuda_kernels.attention.names import ends_and_scales
from cuda_kernels.attention.rotary import declare as declare_rotary
from cuda_kernels.patterns.convolutions import every_convolution_of_onnx
from cuda_kernels.patterns.profitable import where_profitable
from cuda_kernels.quantised import four_bit
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
_LAYER_NORM = _node("LayerNormalization", "x weight bias", "y", axis=-1)
_LAYER_NORM_ALONE = _node("LayerNormalization", "x weight", "y", axis=-1)


def _means(of: str, gives: str) -> list[tuple[NodeProto, dict[str, Any]]]:
    """The mean of rows, before and since version 18 of ONNX; and its constants."""
    return [
        (_node("ReduceMean", of, gives, axes=[-1]), {}),
        (_node("ReduceMean", f"{of} axes", gives), {"axes": [-1]}),
    ]


def _squares(of: str) -> list[NodeProto]:
    return [_node("Pow", f"{of} two", "square"), _node("Mul", f"{of} {of}", "square")]


def _divided(of: str) -> list[list[NodeProto]]:
    """Rows divided by a root, in three ways."""
    by_inverse = _node("Mul", f"{of} inverse", "normed")
    return [
        [_node("Div", f"{of} root", "normed")],
        [_node("Reciprocal", "root", "inverse"), by_inverse],
        [_node("Div", "one root", "inverse"), by_inverse],
    ]


_ROOT = [_node("Add", "mean epsilon", "more"), _node("Sqrt", "more", "root")]


def _constants(nodes: Sequence[NodeProto], kind: Any) -> dict[str, Any]:
    """One and two, where a graph has them."""
    used = {name for node in nodes for name in node.input}
    return {name: kind(n) for name, n in {"one": 1, "two": 2}.items() if name in used}


def _written_out_norms(dtype: str, *, casts: bool) -> list[GraphProto]:
    """RMS norm as models write it, in their type, or in f32 and rounded before the weight."""
    wide = "wide" if casts else "x"
    narrow = "rounded" if casts else "normed"
    kind = numpy.float32 if casts else _TYPES[dtype]
    found = []
    for square, (mean, axes), divided in product(
        _squares(wide), _means("square", "mean"), _divided(wide)
    ):
        to = helper.np_dtype_to_tensor_dtype(numpy.dtype(_TYPES[dtype]))
        nodes = [
            *([_node("Cast", "x", "wide", to=TensorProto.FLOAT)] if casts else []),
            *(square, mean, *_ROOT, *divided),
            *([_node("Cast", "normed", "rounded", to=to)] if casts else []),
            _node("Mul", f"weight {narrow}", "y"),
        ]
        constants = {**_constants(nodes, kind), **axes}
        found.append(_graph(nodes, "x weight epsilon", "y", **constants))
    return found


def _written_out_layer_norms(dtype: str, *, has_bias: bool) -> list[GraphProto]:
    """As models older than version 17 have it; tf2onnx multiplies the weight by the inverse."""
    means = zip(_means("x", "middle"), _means("square", "mean"), strict=True)
    found = []
    for ((middle, axes), (mean, _)), square in product(means, _squares("moved")):
        start = [middle, _node("Sub", "x middle", "moved"), square, mean, *_ROOT]
        ends = [
            [
                *divided,
                _node("Mul", "normed weight", "scaled" if has_bias else "y"),
                *([_node("Add", "scaled bias", "y")] if has_bias else []),
            ]
            for divided in _divided("moved")
        ]
        if has_bias:
            of_tensorflow = [
                _node("Reciprocal", "root", "inverse"),
                _node("Mul", "inverse weight", "factor"),
                _node("Mul", "x factor", "scaled"),
                _node("Mul", "middle factor", "scaled_middle"),
                _node("Sub", "bias scaled_middle", "rest"),
                _node("Add", "scaled rest", "y"),
            ]
            ends.append(of_tensorflow)
        inputs = "x weight bias epsilon" if has_bias else "x weight epsilon"
        for end in ends:
            nodes = [*start, *end]
            constants = {**_constants(nodes, _TYPES[dtype]), **axes}
            found.append(_graph(nodes, inputs, "y", **constants))
    return found


_SUM_AND_NORM = _graph(
    [
        _node("Add", "x residual", "total"),
        _node("RMSNormalization", "total weight", "y", axis=-1),
    ],
    "x residual weight",
    "total y",
)


def _rewritten(module: Any, name: str, graphs: Sequence[GraphProto], first: NodeProto) -> Patterns:
    """A pattern whose places are written as its first node."""
    return (cd.onnx.Pattern(getattr(module, name), graphs, first=first, required=False),)


def _rms_norms() -> Patterns:
    found: Patterns = ()
    for dtype in _TYPES:
        graphs = _written_out_norms(dtype, casts=False)
        graphs += [] if dtype == "f32" else _written_out_norms(dtype, casts=True)
        found += _rewritten(norms, f"rms_norm_{dtype}", graphs, _NORM)
    return found


def _add_rms_norms() -> Patterns:
    return _patterns(norms, "add_rms_norm", _SUM_AND_NORM)


def _layer_norms() -> Patterns:
    found: Patterns = ()
    for dtype, (first, has_bias) in product(
        _TYPES, ((_LAYER_NORM, True), (_LAYER_NORM_ALONE, False))
    ):
        graphs = _written_out_layer_norms(dtype, has_bias=has_bias)
        found += _rewritten(norms, f"layer_norm_{dtype}", graphs, first)
    return found


def _softmaxes() -> Patterns:
    return _patterns(norms, "softmax", _node("Softmax", "x", "y", axis=-1))


# -- elements


def _halved(more: str) -> list[list[NodeProto]]:
    """X and a factor multiplied, and halved at one place or another."""
    return [
        [_node("Mul", f"half {more}", "factor"), _node("Mul", "x factor", "y")],
        [_node("Mul", f"x {more}", "twice"), _node("Mul", "twice half", "y")],
        [_node("Mul", "half x", "part"), _node("Mul", f"part {more}", "y")],
    ]


def _with_erf(kind: Any) -> list[GraphProto]:
    """GELU as models write it out."""
    scaled = [_node("Div", "x root", "scaled"), _node("Mul", "x inverse", "scaled")]
    constants = {"one": kind(1), "half": kind(0.5)}
    below = [_node("Erf", "scaled", "erf"), _node("Add", "erf one", "more")]
    numbers = ({"root": kind(sqrt(2))}, {"inverse": kind(sqrt(0.5))})
    return [
        _graph([node, *below, *end], "x", "y", **constants, **number)
        for (node, number), end in product(zip(scaled, numbers, strict=True), _halved("more"))
    ]


def _with_tanh(kind: Any) -> list[GraphProto]:
    """Its approximation, as GPT-2 (three forms of the cube) and GPT-NeoX write it."""
    square = _node("Mul", "x x", "square")
    cubes = [
        [_node("Pow", "x three", "cube")],
        [square, _node("Mul", "square x", "cube")],
    ]
    inners = [
        [
            *cube,
            _node("Mul", "cube little", "added"),
            _node("Add", "x added", "sum"),
            _node("Mul", "sum root", "inner"),
        ]
        for cube in cubes
    ]
    inners += [
        [
            *[_node("Mul", "x root", "start"), _node("Mul", "x little", "part_of_square")],
            *[_node("Mul", "part_of_square x", "added"), _node("Add", "added one", "sum")],
            _node("Mul", "start sum", "inner"),
        ]
    ]
    ends = [_node("Tanh", "inner", "tanh"), _node("Add", "tanh one", "more")]
    numbers = {"three": 3, "little": 0.044715, "root": sqrt(2 / pi), "one": 1, "half": 0.5}
    found = []
    for inner, end in product(inners, _halved("more")):
        nodes = [*inner, *ends, *end]
        used = {name for node in nodes for name in node.input}
        constants = {name: kind(n) for name, n in numbers.items() if name in used}
        found.append(_graph(nodes, "x", "y", **constants))
    return found


def _gelus() -> Patterns:
    exact, approximate = _node("Gelu", "x", "y"), _node("Gelu", "x", "y", approximate="tanh")
    found: Patterns = ()
    for dtype, kind in _TYPES.items():
        found += _rewritten(elementwise, f"gelu_erf_{dtype}", _with_erf(kind), exact)
        found += _rewritten(elementwise, f"gelu_tanh_{dtype}", _with_tanh(kind), approximate)
    return found


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


_SCALINGS: tuple[tuple[list[NodeProto], Any], ...] = (
    ([_node("Mul", "scores scale", "scaled")], None),
    ([_node("Div", "scores divisor", "scaled")], lambda divisor: 1 / divisor),
    ([_node("Mul", "q scale", "q_scaled")], None),
    ([_node("Div", "q divisor", "q_scaled")], lambda divisor: 1 / divisor),
    ([_node("Mul", "k scale", "k_scaled")], None),
    (
        [_node("Mul", "q root", "q_scaled"), _node("Mul", "k root", "k_scaled")],
        lambda root: root * root,
    ),
    (
        [_node("Div", "q divisor", "q_scaled"), _node("Div", "k divisor", "k_scaled")],
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
        _node("MatMul", f"{q} {k}", "scores"),
        *after,
        *([_node("Add", f"{scores} mask", "masked")] if has_mask else []),
        _node("Softmax", "masked" if has_mask else scores, "weights", axis=-1),
        *([_node("IsNaN", "weights", "none")] if nan else []),
        *([_node("Where", "none zero weights", "known")] if nan else []),
        _node("MatMul", f"{'known' if nan else 'weights'} v", "out"),
    ]


def _attentions_written_out() -> Patterns:
    """As models write it, and PyTorch's exporters before version 23, with heads of any size.

    Each place becomes ONNX's operator, for which the patterns before these choose a kernel.
    """
    found = []
    for dtype, kind in _TYPES.items():
        for prefix, inputs in (("", "q k v"), ("", "q k v mask"), ("masked_", "q k v mask")):
            kernel = getattr(attentions, f"{prefix}attention_{dtype}")
            for scaling, scale in _SCALINGS:
                names = {name for node in scaling for name in node.input}
                number = " ".join(names & {"scale", "divisor", "root"})
                graphs = [
                    _graph(
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
                        first=_node("Attention", inputs, "out", is_causal=0),
                        required=False,
                    )
                )
    return tuple(found)


_ROTARY_HEADS = (*_HEADS, 16, 20, 24, 40, 48, 80, 96, 112, 160, 192, 256)
"""Sizes of heads, and of the parts of them that are rotated."""


def _rotaries() -> Patterns:
    """Rotary embedding with halves, as PyTorch's exporters write it: half a head is a number.

    The tables have no axis for heads, or one of size 1.
    """
    found = []
    for size, apart in product(_ROTARY_HEADS, (False, True)):
        numbers = {"zero": [0], "half": [size // 2], "end": [2**63 - 1], "last": [3], "one": [1]}
        tables = [] if apart else [_node("Unsqueeze", "cos one", "cosines")]
        tables += [] if apart else [_node("Unsqueeze", "sin one", "sines")]
        nodes = [
            _node("Slice", "x half end last one", "upper"),
            _node("Neg", "upper", "turned"),
            _node("Slice", "x zero half last one", "lower"),
            _node("Concat", "turned lower", "halves", axis=-1),
            *tables,
            _node("Mul", "x cos" if apart else "x cosines", "kept"),
            _node("Mul", "halves sin" if apart else "halves sines", "moved"),
            _node("Add", "kept moved", "y"),
        ]
        graph = _graph(nodes, "x cos sin", "y", **numbers)
        found += [
            cd.onnx.Pattern(declare_rotary(dtype, size=size, apart=apart), graph, required=False)
            for dtype in _TYPES
        ]
    return tuple(found)


# -- products


_PRODUCT = [_node("MatMul", "a b", "product"), _node("Add", "product bias", "sum")]
_WITH_BIAS = _graph([_PRODUCT[0], _node("Add", "product bias", "c")], "a b bias", "c")
_ACTIVATIONS: dict[str, list[list[NodeProto]]] = {
    "relu": [[_node("Relu", "sum", "c")]],
    "silu": [
        [_node("Sigmoid", "sum", "open"), _node("Mul", "sum open", "c")],
        [_node("Swish", "sum", "c", alpha=1.0)],
    ],
    "gelu_erf": [[_node("Gelu", "sum", "c")]],
    "gelu_tanh": [[_node("Gelu", "sum", "c", approximate="tanh")]],
}
_SUMS: dict[str, list[tuple[list[NodeProto], str]]] = {
    "matmul": [
        (_PRODUCT, "a b bias"),
        ([_node("Gemm", "a b bias", "sum")], "a b bias"),
        ([_node("MatMul", "a b", "sum")], "a b"),
    ],
    "linear": [
        ([_node("Gemm", "a b bias", "sum", transB=1)], "a b bias"),
        ([_node("Gemm", "a b", "sum", transB=1)], "a b"),
    ],
}
"""A product and its bias, by the layout of the kernel."""


def _followed(layout: str, ends: Sequence[list[NodeProto]], more: str = "") -> list[GraphProto]:
    """Products with what is computed of their sums, which may read another operand."""
    return [
        _graph([*nodes, *end], f"{inputs} {more}", "c")
        for (nodes, inputs), end in product(_SUMS[layout], ends)
    ]


def _matmuls() -> Patterns:
    residual = [[_node("Add", "sum residual", "c")]]
    return (  # those first that stand for more
        *(
            pattern
            for (name, ends), layout in product(_ACTIVATIONS.items(), _SUMS)
            for pattern in _patterns(gemms, f"{layout}_{name}", *_followed(layout, ends))
        ),
        *_patterns(gemms, "matmul", *_followed("matmul", residual, "residual")),
        *_patterns(gemms, "linear", *_followed("linear", residual, "residual")),
        *_patterns(gemms, "matmul", _WITH_BIAS),
        *_patterns(gemms, "matmul", _node("MatMul", "a b", "c"), _node("Gemm", "a b", "c")),
        *_patterns(gemms, "matmul", _node("Gemm", "a b bias", "c")),
        *_patterns(gemms, "linear", _node("Gemm", "a b", "c", transB=1)),
        *_patterns(gemms, "linear", _node("Gemm", "a b bias", "c", transB=1)),
        *_patterns(gemms, "batch_matmul", _node("MatMul", "a b", "c")),
    )


_GROUPS = (32, 64, 128, 256)


def _quantised() -> Patterns:
    """`MatMulNBits` of onnxruntime with 4 bits, in the words in which it is imported."""
    found = []
    for dtype, size, has_zeros in product(("f16", "bf16"), _GROUPS, (False, True)):
        kind = _TYPES[dtype]
        to = helper.np_dtype_to_tensor_dtype(numpy.dtype(kind))
        nodes = [
            _node("BitwiseAnd", "weight fifteen", "low"),
            _node("BitShift", "weight four", "high", direction="RIGHT"),
            _node("Unsqueeze", "low last", "low_apart"),
            _node("Unsqueeze", "high last", "high_apart"),
            _node("Concat", "low_apart high_apart", "pairs", axis=-1),
            _node("Reshape", "pairs flat", "numbers"),
            _node("Cast", "numbers", "wide", to=to),
            _node("Reshape", "wide in_groups", "groups"),
            *([_node("Unsqueeze", "zeros last", "middle")] if has_zeros else []),
            _node("Sub", "groups middle", "moved"),
            _node("Unsqueeze", "scales last", "one_each"),
            _node("Mul", "moved one_each", "scaled"),
            _node("Reshape", "scaled flat", "rows"),
            _node("Transpose", "rows", "columns", perm=[1, 0]),
            _node("MatMul", "x columns", "y"),
        ]
        numbers = {"fifteen": numpy.uint8(15), "four": numpy.uint8(4), "last": [-1]}
        numbers |= {"flat": [0, -1], "in_groups": [0, -1, size]}
        numbers |= {} if has_zeros else {"middle": kind(8)}
        inputs = "x weight scales zeros" if has_zeros else "x weight scales"
        kernel = getattr(four_bit, f"int4_zeros_{dtype}" if has_zeros else f"int4_{dtype}")
        graph = _graph(nodes, inputs, "y", **numbers)
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
    "rms_norm": _rms_norms,
    "add_rms_norm": _add_rms_norms,
    "layer_norm": _layer_norms,
    "softmax": _softmaxes,
    "gelu": _gelus,
    "swiglu": _swiglus,
    "attention": lambda: (*_attentions(), *_attentions_written_out()),
    "rotary": _rotaries,
    "quantised": _quantised,
    "matmul": _matmuls,
    "everything": lambda: where_profitable(_named(*_EVERYTHING)),
}

__getattr__, __dir__ = lazily(globals(), _TABLE)
