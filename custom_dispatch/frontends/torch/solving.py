"""Conditions on positions that are compared by value, and operands that follow from them.

A pattern's function makes a mask of one of its operands, say `arange(keys) < lengths`. A model has
no such operand, but a mask that is true where `j <= position`: then `lengths` is `position + 1`,
and is computed for the kernel.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy
import torch

from custom_dispatch.frontends.torch.graph import tensor_of
from custom_dispatch.frontends.torch.indices import (
    INTEGERS,
    Indices,
    Truth,
    Wrapped,
    axes_of,
    expression,
)

aten = torch.ops.aten


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """Where a bool of a pattern's function is true."""

    truth: Truth
    sizes: tuple[Any, ...]
    """Its own, as numbers and expressions of symbols."""
    operands: Mapping[sympy.Symbol, tuple[str, tuple[sympy.Expr, ...]]]
    """Which operand's elements its symbols are, and which elements."""

    def __str__(self) -> str:
        return said(self.truth)


@dataclass(frozen=True, slots=True)
class Solved:
    """What an operand has to be, as an expression of its indices and of a model's values."""

    value: sympy.Expr
    axes: tuple[sympy.Expr, ...]


def said(truth: Truth) -> str:
    """A condition in words."""
    return " and ".join(sorted(f"{each} >= 0" for each in truth)) or "true"


def condition_of(
    node: torch.fx.Node, indices: Indices, operands: Mapping[torch.fx.Node, str]
) -> Condition | None:
    """A bool that a pattern's function computes of positions; None for any other.

    Parameters
    ----------
    operands
        The function's tensors.
    """
    tensor = tensor_of(node)
    if tensor is None or tensor.dtype != torch.bool:
        return None
    axes = axes_of(tensor.shape)
    truth = indices.truth(node, axes)
    found: dict[sympy.Symbol, tuple[str, tuple[sympy.Expr, ...]]] = {}
    for each in truth:
        for symbol in each.free_symbols & indices.elements.keys():
            element = indices.elements[symbol]
            source = element.source
            if isinstance(source, Wrapped) or source not in operands:
                return None
            of = tensor_of(source)
            is_plain = len(set(element.at)) == len(element.at) and set(element.at) <= set(axes)
            if of is None or of.dtype not in INTEGERS or not is_plain:
                return None
            if abs(each.coeff(symbol)) != 1:
                return None
            found[symbol] = (operands[source], element.at)
    if not found or len({name for name, _ in found.values()}) < len(found):
        return None
    return Condition(truth, tuple(map(expression, tensor.shape)), found)


def solve(
    wanted: Condition, symbols: Mapping[Any, Any], found: torch.fx.Node, indices: Indices
) -> dict[str, Solved] | str:
    """What operands have to be for a model's bool to be a pattern's condition.

    Parameters
    ----------
    symbols
        The pattern's sizes.

    Returns
    -------
    dict[str, Solved] | str
        Why it is not.
    """
    tensor = tensor_of(found)
    if tensor is None or tensor.dtype != torch.bool or tensor.dim() > len(wanted.sizes):
        return "is no mask of bools with as many dims"
    sizes = [sympy.sympify(size).xreplace(dict(symbols)) for size in wanted.sizes]
    missing = len(sizes) - tensor.dim()
    all_axes = axes_of([2] * len(sizes))
    at = [
        sympy.Integer(0) if expression(size) == 1 else axis
        for size, axis in zip(tensor.shape, all_axes[missing:], strict=True)
    ]
    for size, its in zip(sizes[missing:], map(expression, tensor.shape), strict=True):
        if its not in (1, size) and size != 1:
            return f"has {its} where the pattern has {size}"
    ones = {axis: sympy.Integer(0) for axis, size in zip(all_axes, sizes, strict=True) if size == 1}
    conditions = [each.xreplace({**symbols, **ones}) for each in wanted.truth]
    truth = indices.truth(found, at)
    if len(truth) == len(conditions):
        for order in itertools.permutations(truth):
            solution = _solution(wanted, ones, zip(conditions, order, strict=True))
            if solution is not None:
                return solution
    return f"is true where {said(truth)}, and in the pattern where {said(frozenset(conditions))}"


def _solution(wanted: Condition, ones: Mapping[Any, Any], pairs: Any) -> dict[str, Solved] | None:
    found: dict[str, Solved] = {}
    for mine, its in pairs:
        symbol = next((each for each in mine.free_symbols if each in wanted.operands), None)
        if symbol is None:
            if sympy.expand(mine - its) != 0:
                return None
            continue
        name, at = wanted.operands[symbol]
        factor = mine.coeff(symbol)
        value = sympy.expand((its - (mine - factor * symbol)) * factor)
        axes = tuple(axis.xreplace(dict(ones)) for axis in at)
        free = {each for each in value.free_symbols if each in _ALL_AXES}
        if not free <= set(axes) or name in found:
            return None
        found[name] = Solved(value, axes)
    return found


_ALL_AXES = set(axes_of([2] * 16))
