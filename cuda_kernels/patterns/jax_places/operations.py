"""Operations of JAX on single elements, as statements of CUDA in f32."""

from __future__ import annotations

from collections.abc import Sequence

import jax

import custom_dispatch as cd
from cuda_kernels.patterns import statements
from cuda_kernels.patterns.epilogues import Value, connected
from cuda_kernels.patterns.jax_places import graph as graphs
from cuda_kernels.patterns.jax_places.graph import (
    Graph,
    Node,
    number_of,
)
from cuda_kernels.patterns.jax_places.place import kind_of
from custom_dispatch.kernel.kernel import Kernel

_EXPRESSIONS = {
    **{name: f"{name}f({{0}})" for name in statements.CALLS},
    "cbrt": "cbrtf({0})",
    "abs": "fabsf({0})",
    "neg": "-{0}",
    "sign": statements.SIGN,
    "square": "{0} * {0}",
    "logistic": statements.SIGMOID,
    "add": "{0} + {1}",
    "add_any": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "max": statements.MAXIMUM,
    "min": statements.MINIMUM,
    "pow": "powf({0}, {1})",
    "atan2": "atan2f({0}, {1})",
    "is_finite": "{0} - {0} == 0.0f",
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "ge": "{0} >= {1}",
    "gt": "{0} > {1}",
    "le": "{0} <= {1}",
    "lt": "{0} < {1}",
}
_OF_BOOLS = {"and": "{0} && {1}", "or": "{0} || {1}", "xor": "{0} != {1}", "not": "!{0}"}
_ROUNDED = {
    jax.lax.RoundingMethod.AWAY_FROM_ZERO: "roundf({0})",
    jax.lax.RoundingMethod.TO_NEAREST_EVEN: "rintf({0})",
}
_POWERS = {2: "{0} * {0}", 3: "{0} * {0} * {0}", -1: "1.0f / {0}"}


def values_of(graph: Graph) -> dict[graphs.Value, Value]:
    """What a function of JAX computes, in the words of `epilogues`."""
    values = {each: _value(each) for each in _given(graph)}
    for node in graph.nodes:
        results = {each: _value(each) for each in node.results}
        numbers = [number_of(each) for each in node.operands]
        taken = zip(node.operands, numbers, strict=True)
        operands = tuple(values[each] for each, number in taken if number is None)
        for result in results.values():
            result.operands = operands
        values |= results
        if len(results) == 1 and not node.effects:
            _read(node, numbers, *results.values())
    connected(values.values())
    return values


def _given(graph: Graph) -> list[graphs.Value]:
    computed = {value for node in graph.nodes for value in node.results}
    used = (value for node in graph.nodes for value in node.operands)
    return [each for each in dict.fromkeys([*graph.arguments, *used]) if each not in computed]


def _value(value: graphs.Value) -> Value:
    kind = "bool" if str(value.dtype) == "bool" else kind_of(value)
    return Value(value, kind, value.shape, is_result=value.is_result)


def _read(node: Node, numbers: Sequence[float | None], value: Value) -> None:
    """Say how a value is computed, if that is an operation on elements."""
    kinds = [each.kind for each in value.operands]
    if not value.kind or not all(kinds):
        return
    function = function_of(node)
    template = _template(node, numbers, kinds)
    if function is None and template is None:
        return

    def statement(name: str, given: Sequence[str]) -> str:
        rest = iter(given)
        texts = [next(rest) if number is None else statements.literal(number) for number in numbers]
        if function is not None:
            return statements.called(function, name, texts)
        kind = "bool" if value.kind == "bool" else "float"
        return statements.declared(name, f"{template}".format(*texts), kind)

    value.statement, value.function = statement, function
    is_conversion = node.name == "convert_element_type" and "bool" not in (*kinds, value.kind)
    value.word = "" if is_conversion else node.name if function is None else function.name


def function_of(node: Node) -> cd.Function | None:
    """The function that a node is a call of (`cd.jax.call`), if it has one result."""
    kernel = node.params.get("kernel") if node.name == "custom_dispatch" else None
    function = kernel.function if isinstance(kernel, Kernel) else None
    return function if function is not None and len(function.results) == 1 else None


def _template(node: Node, numbers: Sequence[float | None], kinds: Sequence[str]) -> str | None:
    name, params = node.name, node.params
    match name:
        case "convert_element_type":
            of_bool, to_bool = kinds == ["bool"], node.result.dtype == bool
            if of_bool == to_bool:
                return "{0}"
            return "{0} ? 1.0f : 0.0f" if of_bool else "{0} != 0.0f"
        case "integer_pow":
            power = params["y"]
            return _POWERS.get(power, f"powf({{0}}, {statements.literal(power)})")
        case "select_n":
            is_choice = len(numbers) == 3 and numbers[0] is None and kinds[0] == "bool"
            return "{0} ? {2} : {1}" if is_choice else None
        case "clamp":
            is_known = numbers[0] is not None and numbers[2] is not None
            return statements.between("{0}", "{2}", "{1}") if is_known else None
        case "round":
            return _ROUNDED.get(params["rounding_method"])
    if name in _OF_BOOLS:
        return _OF_BOOLS[name] if {*kinds} == {"bool"} else None
    return None if "bool" in kinds and name not in ("eq", "ne") else _EXPRESSIONS.get(name)
