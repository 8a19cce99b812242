"""Operations of PyTorch on single elements, as statements of CUDA in f32.

NaN stays NaN, as in PyTorch. What is rounded to 16 bits between two operations in PyTorch is not.
A function of the user's that is an operator of PyTorch (`cd.torch.register`) is called.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy
import torch
from torch.fx import Node

import custom_dispatch as cd
from custom_dispatch.frontends.torch.graph import CONVERSIONS, arguments_of, is_identity
from custom_dispatch.frontends.torch.operator import registered_kernel

_TYPES = (torch.float32, torch.float16, torch.bfloat16)
_CALLS = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos"),
    *("tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "erfc", "ceil", "floor", "trunc"),
)
"""CUDA has them by the same names, with an f behind."""
_SIX = "({x} < -3.0f ? 0.0f : {x} > 3.0f ? 6.0f : {x} + 3.0f)"
_BETWEEN = "({self} < {min} ? {min} : {self}) > {max} ? {max} : {self} < {min} ? {min} : {self}"
_EXPRESSIONS = {
    **{name: f"{name}f({{self}})" for name in _CALLS},
    "abs": "fabsf({self})",
    "add": "{self} + {alpha} * {other}",
    "sub": "{self} - {alpha} * {other}",
    "rsub": "{other} - {alpha} * {self}",
    "mul": "{self} * {other}",
    "div": "{self} / {other}",
    "neg": "-{self}",
    "reciprocal": "1.0f / {self}",
    "full_like": "{fill_value}",
    "square": "{self} * {self}",
    "pow": "powf({self}, {exponent})",
    "minimum": "{self} != {self} || {self} < {other} ? {self} : {other}",
    "maximum": "{self} != {self} || {self} > {other} ? {self} : {other}",
    "clamp_min": "{self} < {min} ? {min} : {self}",
    "clamp_max": "{self} > {max} ? {max} : {self}",
    "hardtanh": _BETWEEN.replace("min", "min_val").replace("max", "max_val"),
    "relu": "{self} < 0.0f ? 0.0f : {self}",
    "relu6": "{self} < 0.0f ? 0.0f : {self} > 6.0f ? 6.0f : {self}",
    "hardswish": f"{{self}} * {_SIX.replace('x', 'self')} / 6.0f",
    "hardsigmoid": f"{_SIX.replace('x', 'self')} / 6.0f",
    "leaky_relu": "{self} < 0.0f ? {negative_slope} * {self} : {self}",
    "elu": "{scale} * ({self} < 0.0f ? {alpha} * expm1f({input_scale} * {self}) : {self})",
    "sigmoid": "1.0f / (1.0f + expf(-{self}))",
    "silu": "{self} / (1.0f + expf(-{self}))",
    "softplus": "{self} * {beta} > {threshold} ? {self} : log1pf(expf({self} * {beta})) / {beta}",
    "mish": "{self} * tanhf({self} > 20.0f ? {self} : log1pf(expf({self})))",
}
_GELU = {
    "none": "0.5f * {self} * (1.0f + erff({self} * 0.70710678118654752f))",
    "tanh": "{self} / (1.0f + expf(-1.5957691216057308f * "
    "({self} + 0.044715f * {self} * {self} * {self})))",
}
_POWERS = {
    2.0: "{self} * {self}",
    3.0: "{self} * {self} * {self}",
    0.5: "sqrtf({self})",
    -1.0: "1.0f / {self}",
    -0.5: "rsqrtf({self})",
}


def keeps_elements(node: Node) -> bool:
    """Whether each element of a result is one that it takes, rounded at most."""
    return is_identity(node) or node.target in CONVERSIONS


def has_statement(node: Node) -> bool:
    """Whether an operation of floats has one."""
    if node.op != "call_function" or not _is_of_floats(node):
        return False
    function = function_of(node)
    return _expression_of(node) is not None if function is None else len(function.results) == 1


def function_of(node: Node) -> cd.Function | None:
    """The function that a call is of."""
    kernel = registered_kernel(node.target)
    return kernel.function if isinstance(kernel, cd.Kernel) else None


def statement_of(node: Node, name: str, names: Mapping[Node, str]) -> str:
    """A call as a statement that declares a variable.

    Parameters
    ----------
    names
        Of what it takes: variables, or numbers.
    """
    function = function_of(node)
    if function is not None:
        given = [
            f"static_cast<{item.dtype.c_name}>({names[value]})"
            for item, value in zip(function.arguments, node.all_input_nodes, strict=True)
        ]
        result = f"{name}_result"
        return (
            f"{function.results[0].dtype.c_name} {result}; {function.call(given, [result])} "
            f"const float {name} = static_cast<float>({result});"
        )
    found = _expression_of(node)
    assert found is not None  # noqa: S101 - `has_statement` has seen to it
    texts = {
        key: names[value] if isinstance(value, Node) else _literal(value)
        for key, value in arguments_of(node).items()
        if isinstance(value, Node | int | float)
    }
    return f"const float {name} = {found.format_map(texts)};"


def _expression_of(node: Node) -> str | None:
    if keeps_elements(node):
        return "{" + next(iter(arguments_of(node))) + "}"
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.name.startswith("aten::"):
        return None
    name, given = schema.name.removeprefix("aten::"), arguments_of(node)
    tensors = {each for each in given.values() if isinstance(each, Node)}
    if not all(_is_of_floats(each) for each in tensors):
        return None
    if name == "gelu":
        return _GELU.get(given["approximate"])
    if name == "clamp":
        if given["min"] is not None and given["max"] is not None:
            return _BETWEEN
        name = "clamp_min" if given["max"] is None else "clamp_max"
    if name == "pow" and given.get("exponent") in _POWERS:
        return _POWERS[given["exponent"]]
    if given.get("rounding_mode") is not None or (name == "pow" and "exponent" not in given):
        return None
    return _EXPRESSIONS.get(name)


def _is_of_floats(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype in _TYPES


def _literal(value: float) -> str:
    """A number as f32."""
    with numpy.errstate(over="ignore"):
        number = float(numpy.float32(value))
    if math.isnan(number):
        return "__int_as_float(0x7fc00000)"
    if math.isinf(number):
        return f"{'-' if number < 0 else ''}__int_as_float(0x7f800000)"
    return f"({number!r}f)" if number < 0 else f"{number!r}f"
