"""Convolutions and group norms in the torch dialect, with what may follow them.

They are written as text, since PyTorch takes a second to trace a convolution of open sizes. Models
of ONNX have them in the same words, and what follows in ONNX's.
Strides, paddings and dilations are read from the sizes of the kernel's `window`, which has what a
place has for them; and a convolution's groups follow from the sizes of its other operands.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import custom_dispatch as cd
from cuda_kernels import convolution as convolutions
from cuda_kernels import norms
from cuda_kernels.convolution.activations import ACTIVATIONS

if TYPE_CHECKING:
    Patterns = tuple[cd.Pattern, ...]

_TYPES = ("f32", "f16", "bf16")
_CALLS = {
    "relu": ("relu", ()),
    "silu": ("silu", ()),
    "gelu_erf": ("gelu", ('str "none"',)),
    "gelu_tanh": ("gelu", ('str "tanh"',)),
    "relu6": ("relu6", ()),
    "hardtanh": ("hardtanh", ("float 0.0", "float 6.0")),
    "hardswish": ("hardswish", ()),
    "hardsigmoid": ("hardsigmoid", ()),
    "sigmoid": ("sigmoid", ()),
    "leaky_relu": ("leaky_relu", ("slope",)),
}
"""An activation's operator, and its arguments behind the tensor."""
_FORMS = {"relu6": ("relu6", "hardtanh")}
"""Activations that there are several operators for."""
_SIXTH = "torch.onnx.alpha = 0.16666667 : f32"
_IN_ONNX: dict[str, list[list[tuple[str, str, str]]]] = {
    "": [[]],
    "relu": [[("Relu", "x", "")]],
    "silu": [[("Sigmoid", "x", ""), ("Mul", "x y", "")], [("Swish", "x", "")]],
    "gelu_erf": [[("Gelu", "x", "")]],
    "gelu_tanh": [[("Gelu", "x", 'torch.onnx.approximate = "tanh"')]],
    "relu6": [[("Clip", "x 0.0 6.0", "")]],
    "hardswish": [[("HardSwish", "x", "")], [("HardSigmoid", "x", _SIXTH), ("Mul", "x y", "")]],
    "hardsigmoid": [[("HardSigmoid", "x", _SIXTH)]],
    "sigmoid": [[("Sigmoid", "x", "")]],
}
"""An activation's forms in ONNX: nodes, each with what it is of (`y` is what the node before gives)
and its attributes. IREE writes a LeakyRelu as PyTorch's."""


class _Text:
    """A function in the torch dialect, line by line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._types: dict[str, str] = {}

    def parameter(self, name: str, kind: str) -> None:
        """Give the function a parameter."""
        self._types[f"%{name}"] = kind

    def constant(self, kind: str, value: str) -> str:
        """A number, a word, or nothing."""
        name = self._new(f"!torch.{kind}")
        self.lines.append(f"{name} = torch.constant.{kind} {value}".rstrip())
        return name

    def call(self, operation: str, kind: str, *operands: str) -> str:
        """The value that an operation gives."""
        name = self._new(kind)
        types = ", ".join(self._types[operand] for operand in operands)
        self.lines.append(f"{name} = torch.{operation} {', '.join(operands)} : {types} -> {kind}")
        return name

    def node(self, operator: str, kind: str, operands: list[str], attributes: str = "") -> str:
        """The value that a node of ONNX gives."""
        name = self._new(kind)
        types = ", ".join(self._types[operand] for operand in operands)
        said = f"{{{attributes}}} " if attributes else ""
        of = f'torch.operator "onnx.{operator}"({", ".join(operands)})'
        self.lines.append(f"{name} = {of} {said}: ({types}) -> {kind}")
        return name

    def number(self, value: str, dtype: str) -> str:
        """A tensor of one number."""
        name = self._new(f"!torch.vtensor<[],{dtype}>")
        literal = f"torch.vtensor.literal(dense<{value}> : tensor<{dtype}>)"
        self.lines.append(f"{name} = {literal} : !torch.vtensor<[],{dtype}>")
        return name

    def list_of(self, *numbers: str) -> str:
        """Numbers as a list."""
        name = self._new("!torch.list<int>")
        types = ", ".join("!torch.int" for _ in numbers)
        listed = f"{', '.join(numbers)} : ({types}) -> !torch.list<int>"
        self.lines.append(f"{name} = torch.prim.ListConstruct {listed}")
        return name

    def _new(self, kind: str) -> str:
        name = f"%{len(self._types)}"
        self._types[name] = kind
        return name

    def function(self, names: list[str], result: str) -> str:
        """The whole text."""
        parameters = ", ".join(f"%{name}: {self._types[f'%{name}']}" for name in names)
        listed = ", ".join(f'"{name}"' for name in names)
        body = "\n    ".join([*self.lines, f"return {result} : {self._types[result]}"])
        return (
            f"func.func @convolution({parameters}) -> {self._types[result]}\n"
            f"    attributes {{custom_dispatch.operands = [{listed}]}} {{\n    {body}\n}}\n"
        )


_NORM = ("mean", "variance", "scale", "shift")


def _text(
    axes: int,
    dtype: str,
    activation: str,
    *,
    has_bias: bool,
    is_normed: bool,
    added: str,
    nodes: list[tuple[str, str, str]] | None = None,
) -> str:
    """One function: what follows the convolution is there or not.

    Parameters
    ----------
    added
        The sum with the residual, `{}` for the convolution; empty where there is none.
    nodes
        The activation in ONNX; None for one in PyTorch's words.
    """
    text = _Text()
    images = f"!torch.vtensor<[{','.join('?' * (axes + 2))}],{dtype}>"
    window = f"!torch.vtensor<[0,{','.join('?' * 3 * axes)}],ui8>"
    kinds = {"x": images, "weight": images, "window": window}
    vector = f"!torch.vtensor<[?],{dtype}>"
    kinds |= dict.fromkeys((*(["bias"] if has_bias else []), *(_NORM if is_normed else ())), vector)
    if added:
        kinds["residual"] = images
    if is_normed:
        kinds["epsilon"] = "!torch.float"
    if activation == "leaky_relu":
        kinds["slope"] = "!torch.float"
    for name, kind in kinds.items():
        text.parameter(name, kind)

    def size(of: str, axis: int) -> str:
        return text.call("aten.size.int", "!torch.int", of, text.constant("int", str(axis)))

    numbers = [size("%window", axis) for axis in range(1, 3 * axes + 1)]
    lists = [text.list_of(*numbers[i * axes : (i + 1) * axes]) for i in range(3)]
    groups = text.call("aten.floordiv.int", "!torch.int", size("%x", 1), size("%weight", 1))
    zeros = axes if nodes is None else 2  # which mean nothing here; IREE writes two for one axis
    value = text.call(
        "aten.convolution",
        images,
        "%x",
        "%weight",
        "%bias" if has_bias else text.constant("none", ""),
        *lists,
        text.constant("bool", "false"),
        text.list_of(*(text.constant("int", "0") for _ in range(zeros))),
        groups,
    )
    if is_normed:
        value = text.call(
            "aten.batch_norm",
            images,
            *(value, "%scale", "%shift", "%mean", "%variance"),
            text.constant("bool", "false"),
            text.constant("float", "0.0" if nodes is None else _MOMENTUM),
            "%epsilon",
            text.constant("bool", "false"),
        )
    if added:
        both = added.format(value).split()
        if nodes is None:
            value = text.call("aten.add.Tensor", images, *both, text.constant("int", "1"))
        else:
            value = text.node("Add", images, both)
    if nodes is None or activation == "leaky_relu":
        return text.function(list(kinds), _activated(text, activation, images, value))
    before = {"x": value}
    for operator, given, attributes in nodes:
        operands = [before.get(name) or text.number(name, dtype) for name in given.split()]
        before["y"] = text.node(operator, images, operands, attributes)
    return text.function(list(kinds), before.get("y", value))


_MOMENTUM = "0.89999997615814208"
"""What IREE makes of ONNX's default, which has no meaning for statistics that are known."""


def _activated(text: _Text, activation: str, kind: str, value: str) -> str:
    if not activation:
        return value
    operator, others = _CALLS[activation]
    given = ("%slope" if each == "slope" else text.constant(*each.split()) for each in others)
    return text.call(f"aten.{operator}", kind, value, *given)


def _every_end() -> Iterator[tuple[str, bool, bool, str, int, dict[str, float]]]:
    """An activation, whether a sum and a norm are before it, a type, axes, and fixed scalars."""
    ends = itertools.product((*ACTIVATIONS[1:], ""), (True, False), (True, False))
    for (activation, adds, is_normed), dtype, axes in itertools.product(ends, _TYPES, (2, 1)):
        fixed: dict[str, float] = {"activation": ACTIVATIONS.index(activation)}
        if not is_normed:
            fixed["epsilon"] = 0.0
        if activation != "leaky_relu":
            fixed["slope"] = 0.0
        yield activation, adds, is_normed, dtype, axes, fixed


def _patterns(write: Callable[[Any], None]) -> Iterator[cd.Pattern]:
    for activation, adds, is_normed, dtype, axes, fixed in _every_end():
        texts = [
            _text(axes, dtype, form, has_bias=has_bias, is_normed=is_normed, added=added)
            for form in _FORMS.get(activation, (activation,))
            for has_bias in (True, False)
            for added in (("%residual {}", "{} %residual") if adds else ("",))
        ]
        kernel = getattr(convolutions, f"convolution_{axes}d_{dtype}")
        yield cd.Pattern(kernel, texts, fixed=fixed, rewrites=write, required=False)


def every_convolution_of_onnx() -> tuple[cd.onnx.Pattern, ...]:
    """Convolutions as models of ONNX have them, those first that stand for more."""
    return tuple(
        cd.onnx.Pattern(
            getattr(convolutions, f"convolution_{axes}d_{dtype}"),
            [
                _text(
                    *(axes, dtype, activation),
                    has_bias=has_bias,
                    is_normed=is_normed,
                    added="{} %residual" if adds else "",
                    nodes=nodes,
                )
                for nodes in _IN_ONNX.get(activation, [[]])
                for has_bias in (True, False)
            ],
            fixed=fixed,
            required=False,
        )
        for activation, adds, is_normed, dtype, axes, fixed in _every_end()
    )


def _norm_text(axes: int, dtype: str, activation: str, *affine: str) -> str:
    """One function of a group norm."""
    text = _Text()
    images = f"!torch.vtensor<[{','.join('?' * (axes + 2))}],{dtype}>"
    kinds = {"x": images, **dict.fromkeys(affine, f"!torch.vtensor<[?],{dtype}>")}
    kinds |= {"grouping": "!torch.vtensor<[0,?],ui8>", "epsilon": "!torch.float"}
    if activation == "leaky_relu":
        kinds["slope"] = "!torch.float"
    for name, kind in kinds.items():
        text.parameter(name, kind)
    groups = text.call("aten.size.int", "!torch.int", "%grouping", text.constant("int", "1"))
    given = [f"%{name}" if name in affine else text.constant("none", "") for name in _AFFINE]
    end = ("%epsilon", text.constant("bool", "false"))
    value = text.call("aten.group_norm", images, "%x", groups, *given, *end)
    return text.function(list(kinds), _activated(text, activation, images, value))


_AFFINE = ("weight", "bias")


def every_group_norm(write: Callable[[Any], None]) -> Patterns:
    """Group norms, those first that an activation follows; instance norms are written as such.

    Parameters
    ----------
    write
        What writes those of other ranks as those that there are kernels for.
    """
    found = []
    for activation, dtype, axes in itertools.product((*ACTIVATIONS[1:], ""), _TYPES, (2, 1)):
        fixed: dict[str, float] = {"activation": ACTIVATIONS.index(activation)}
        if activation != "leaky_relu":
            fixed["slope"] = 0.0
        texts = [
            _norm_text(axes, dtype, form, *names)
            for form in _FORMS.get(activation, (activation,))
            for names in (_AFFINE, ())
        ]
        kernel = getattr(norms, f"group_norm_{axes}d_{dtype}")
        found.append(cd.Pattern(kernel, texts, fixed=fixed, rewrites=write, required=False))
    return tuple(found)


def every_convolution(write: Callable[[Any], None]) -> Patterns:
    """Those first that stand for more: what a convolution alone has, the others have, too.

    Parameters
    ----------
    write
        What writes other spellings as a convolution.
    """
    return tuple(_patterns(write))
