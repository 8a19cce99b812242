"""Operators of ONNX on single elements, as statements of CUDA in f32.

Of version 17 and later, to which older models are brought. Bools are what comparisons give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from onnx import NodeProto, helper

from cuda_kernels.patterns import statements
from custom_dispatch.frontends.onnx.importing import MAIN_DOMAINS, schema_of

Texts = Sequence[str | None]
"""What an operator is given: variables, or numbers; None for what is left out."""
_CALLS = (
    *("Exp", "Log", "Sqrt", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh"),
    *("Asinh", "Acosh", "Atanh", "Erf", "Ceil", "Floor"),
)
_LINE = "({alpha} * {0} + {beta})"
_SIXTH = "({0} / 6.0f + 0.5f)"
_UNIT = statements.between("0.0f", "1.0f")
_EXPRESSIONS = {
    **{name: f"{name.lower()}f({{0}})" for name in _CALLS},
    "Identity": "{0}",
    "Abs": "fabsf({0})",
    "Neg": "-{0}",
    "Round": "rintf({0})",
    "Reciprocal": "1.0f / {0}",
    "Sign": statements.SIGN,
    "Add": "{0} + {1}",
    "Sub": "{0} - {1}",
    "Mul": "{0} * {1}",
    "Div": "{0} / {1}",
    "Relu": statements.RELU,
    "Sigmoid": statements.SIGMOID,
    "LeakyRelu": "{0} < 0.0f ? {alpha} * {0} : {0}",
    "ThresholdedRelu": "{0} > {alpha} ? {0} : 0.0f",
    "PRelu": "{0} < 0.0f ? {1} * {0} : {0}",
    "Elu": "{0} < 0.0f ? {alpha} * expm1f({0}) : {0}",
    "Selu": "{gamma} * ({0} < 0.0f ? {alpha} * expm1f({0}) : {0})",
    "HardSigmoid": _UNIT.replace("{0}", _LINE),
    "HardSwish": f"{{0}} * ({_UNIT.replace('{0}', _SIXTH)})",
    "Softplus": statements.SOFTPLUS,
    "Softsign": "{0} / (1.0f + fabsf({0}))",
    "Mish": f"{{0}} * tanhf({statements.SOFTPLUS})",
    "Swish": "{0} / (1.0f + expf(-{alpha} * {0}))",
    "Where": "{0} ? {1} : {2}",
    "Greater": "{0} > {1}",
    "GreaterOrEqual": "{0} >= {1}",
    "Less": "{0} < {1}",
    "LessOrEqual": "{0} <= {1}",
    "Equal": "{0} == {1}",
    "And": "{0} && {1}",
    "Or": "{0} || {1}",
    "Xor": "{0} != {1}",
    "Not": "!{0}",
    "IsNaN": "{0} != {0}",
}
"""Of operators that are one expression of what they are given and of attributes."""


Expression = Callable[[Texts], str]


def expression_of(node: NodeProto, kinds: Sequence[str], result: str) -> Expression | None:
    """What a node computes of each element; None where that is not known.

    Parameters
    ----------
    kinds, result
        Element types of what it takes and gives: of `epilogues.KINDS`, "bool", or empty.
    """
    if node.domain not in MAIN_DOMAINS:
        return None
    name = node.op_type
    if name == "Cast":
        return _casts.get((kinds[0] == "bool", result == "bool"))
    if name == "Celu" and attribute_of(node, "alpha") > 0:
        return _of("{0} < 0.0f ? {alpha} * expm1f({0} / {alpha}) : {0}", node)
    if name == "Gelu":
        is_tanh = attribute_of(node, "approximate") == b"tanh"
        return _of(statements.GELU_TANH if is_tanh else statements.GELU_ERF, node)
    if name in _OTHERS:
        return _OTHERS[name]
    return _of(_EXPRESSIONS[name], node) if name in _EXPRESSIONS else None


def attribute_of(node: NodeProto, name: str) -> Any:
    """An attribute of a node, or ONNX's default for it."""
    for item in node.attribute:
        if item.name == name:
            return helper.get_attribute_value(item)
    schema = schema_of(node)
    assert schema is not None  # noqa: S101 - the operator is known
    return helper.get_attribute_value(schema.attributes[name].default_value)


def _of(template: str, node: NodeProto) -> Expression:
    names = [name for name in ("alpha", "beta", "gamma") if f"{{{name}}}" in template]
    attributes = {name: statements.literal(attribute_of(node, name)) for name in names}
    return lambda given: template.format(*given, **attributes)


_casts: dict[tuple[bool, bool], Expression] = {
    (False, False): lambda given: f"{given[0]}",
    (True, True): lambda given: f"{given[0]}",
    (True, False): lambda given: f"{given[0]} ? 1.0f : 0.0f",
    (False, True): lambda given: f"{given[0]} != 0.0f",
}
"""By whether bools are converted, and to bools."""


def _each(template: str) -> Expression:
    """An operator of two operands for any number of them."""

    def expression(given: Texts) -> str:
        return reduce(lambda one, other: f"({template.format(one, other)})", map(str, given))

    return expression


def _clip(given: Texts) -> str:
    x, low, high = (*given, None, None)[:3]
    if low is not None and high is not None:
        return statements.between(low, high).format(x)
    if low is not None:
        return f"{x} < {low} ? {low} : {x}"
    return f"{x}" if high is None else f"{x} > {high} ? {high} : {x}"


_POWERS = {"2.0f": "{0} * {0}", "3.0f": "{0} * {0} * {0}", "1.0f": "{0}", "(-1.0f)": "1.0f / {0}"}


def _power(given: Texts) -> str:
    return _POWERS.get(f"{given[1]}", "powf({0}, {1})").format(*given)


_OTHERS: dict[str, Expression] = {
    "Clip": _clip,
    "Max": _each(statements.MAXIMUM),
    "Min": _each(statements.MINIMUM),
    "Pow": _power,
    "Sum": _each("{0} + {1}"),
}
