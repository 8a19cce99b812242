"""Operations of PyTorch on single elements, as statements of CUDA in f32.

NaN stays NaN, as in PyTorch. What is rounded to 16 bits between two operations in PyTorch is not.
A function of the user's that is an operator of PyTorch (`cd.torch.register`) is called.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.fx import Node

import custom_dispatch as cd
from cuda_kernels.patterns import statements
from custom_dispatch.frontends.torch.graph import CONVERSIONS, arguments_of, is_identity
from custom_dispatch.frontends.torch.operator import registered_kernel

TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.bool: "bool"}
"""Of what operations take and give."""
_SIX = "({x} < -3.0f ? 0.0f : {x} > 3.0f ? 6.0f : {x} + 3.0f)"


def _on(template: str, *names: str) -> str:
    """A template of operands by their names in PyTorch's schemas."""
    return template.format(*(f"{{{name}}}" for name in names))


_EXPRESSIONS = {
    **{name: f"{name}f({{self}})" for name in statements.CALLS},
    "abs": "fabsf({self})",
    "add": "{self} + {alpha} * {other}",
    "sub": "{self} - {alpha} * {other}",
    "rsub": "{other} - {alpha} * {self}",
    "mul": "{self} * {other}",
    "div": "{self} / {other}",
    "neg": "-{self}",
    "reciprocal": "1.0f / {self}",
    "full_like": "{fill_value}",
    "zeros_like": "0.0f",
    "ones_like": "1.0f",
    "square": "{self} * {self}",
    "pow": "powf({self}, {exponent})",
    "minimum": _on(statements.MINIMUM, "self", "other"),
    "maximum": _on(statements.MAXIMUM, "self", "other"),
    "clamp_min": "{self} < {min} ? {min} : {self}",
    "clamp_max": "{self} > {max} ? {max} : {self}",
    "hardtanh": _on(statements.between("{1}", "{2}"), "self", "min_val", "max_val"),
    "relu": _on(statements.RELU, "self"),
    "relu6": "{self} < 0.0f ? 0.0f : {self} > 6.0f ? 6.0f : {self}",
    "hardswish": f"{{self}} * {_SIX.replace('x', 'self')} / 6.0f",
    "hardsigmoid": f"{_SIX.replace('x', 'self')} / 6.0f",
    "leaky_relu": "{self} < 0.0f ? {negative_slope} * {self} : {self}",
    "elu": "{scale} * ({self} < 0.0f ? {alpha} * expm1f({input_scale} * {self}) : {self})",
    "sigmoid": _on(statements.SIGMOID, "self"),
    "silu": _on(statements.SILU, "self"),
    "softplus": "{self} * {beta} > {threshold} ? {self} : log1pf(expf({self} * {beta})) / {beta}",
    "mish": "{self} * tanhf({self} > 20.0f ? {self} : log1pf(expf({self})))",
}
_OF_CONDITIONS = {
    "gt": "{self} > {other}",
    "ge": "{self} >= {other}",
    "lt": "{self} < {other}",
    "le": "{self} <= {other}",
    "eq": "{self} == {other}",
    "ne": "{self} != {other}",
    "isnan": "{self} != {self}",
    "logical_and": "{self} && {other}",
    "logical_or": "{self} || {other}",
    "logical_not": "!{self}",
    "bitwise_and": "{self} && {other}",
    "bitwise_or": "{self} || {other}",
    "bitwise_not": "!{self}",
    "where": "{condition} ? {self} : {other}",
    "masked_fill": "{mask} ? {value} : {self}",
}
"""Of what also takes bools, or gives them."""
_ARITHMETIC = ("add", "sub", "rsub", "mul", "div")
"""Where a bool among floats is 0 or 1."""
_GELU = {
    "none": _on(statements.GELU_ERF, "self"),
    "tanh": _on(statements.GELU_TANH, "self"),
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
    """Whether an operation that gives floats or bools has one."""
    if node.op != "call_function" or _kind_of(node) is None:
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
        return statements.called(function, name, [names[each] for each in node.all_input_nodes])
    found = _expression_of(node)
    assert found is not None  # noqa: S101 - `has_statement` has seen to it
    texts = {
        key: names[value] if isinstance(value, Node) else statements.literal(value)
        for key, value in arguments_of(node).items()
        if isinstance(value, Node | int | float)
    }
    kind = "bool" if _kind_of(node) == "bool" else "float"
    return statements.declared(name, found.format_map(texts), kind)


def _expression_of(node: Node) -> str | None:
    if keeps_elements(node):
        return "{" + next(iter(arguments_of(node))) + "}"
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.name.startswith("aten::"):
        return None
    name, given = schema.name.removeprefix("aten::"), arguments_of(node)
    kinds = {_kind_of(each) for each in given.values() if isinstance(each, Node)}
    if None in kinds:
        return None
    if name in _OF_CONDITIONS:
        return _OF_CONDITIONS[name]
    if _kind_of(node) == "bool" or ("bool" in kinds and name not in _ARITHMETIC):
        return None
    if name == "gelu":
        return _GELU.get(given["approximate"])
    if name == "clamp":
        if given["min"] is not None and given["max"] is not None:
            return _on(statements.between("{1}", "{2}"), "self", "min", "max")
        name = "clamp_min" if given["max"] is None else "clamp_max"
    if name == "pow" and given.get("exponent") in _POWERS:
        return _POWERS[given["exponent"]]
    if given.get("rounding_mode") is not None or (name == "pow" and "exponent" not in given):
        return None
    return _EXPRESSIONS.get(name)


def _kind_of(node: Node) -> str | None:
    """The element type of what may be in a statement; None of anything else."""
    value = node.meta.get("val")
    return TYPES.get(value.dtype) if isinstance(value, torch.Tensor) else None
