"""Operands that follow from a model's conditions, computed in its graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sympy
import torch

from custom_dispatch.frontends.torch.dtypes import torch_dtype
from custom_dispatch.frontends.torch.graph import tensor_of
from custom_dispatch.frontends.torch.indices import INTEGERS, Element, Indices, Wrapped
from custom_dispatch.frontends.torch.matching import Match
from custom_dispatch.frontends.torch.solving import Solved
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.expr import Dim

aten = torch.ops.aten
_STEP = 1e-6
"""Between a node of the model and what is put behind it, in the model's order."""


class Computer:
    """Puts into a graph what operands have to be.

    Parameters
    ----------
    order
        Where the graph's nodes stand in it; gets the new ones.
    mode
        Of the model's fake tensors.
    """

    def __init__(
        self, graph: torch.fx.Graph, indices: Indices, order: dict[torch.fx.Node, float], mode: Any
    ) -> None:
        self._graph = graph
        self._indices = indices
        self._order = order
        self._mode = mode
        self._known: dict[Any, torch.fx.Node] = {}
        self._made: set[torch.fx.Node] = set()

    def computed(self, match: Match) -> Match | str:
        """A place whose operands are all there, or why one cannot be computed."""
        operands = dict(match.operands)
        for name, value in operands.items():
            if not isinstance(value, Solved):
                continue
            node = self._operand(match, name, value)
            if node is None:
                return f"`{name}` would be {value.value}, which is not known how to compute"
            operands[name] = node
        return replace(match, operands=operands)

    def _operand(self, match: Match, name: str, solved: Solved) -> torch.fx.Node | None:
        operand = match.traced.pattern.arguments[name]
        assert isinstance(operand, Buffer)  # noqa: S101 - only buffers are solved for
        sizes = _sizes(match, operand)
        if len(sizes) > 1:
            return None
        dtype = torch_dtype(operand.dtype)
        key = (solved, str(sizes), dtype)
        if key not in self._known:
            value = self._sum(solved.value, solved.axes)
            if value is None:
                return None
            # A number that has no place in fewer bits is behind all others there as well.
            limits = torch.iinfo(dtype)
            value = self._call(aten.clamp.default, value, limits.min, limits.max)
            value = self._call(aten._to_copy.default, value, dtype=dtype)
            if value.meta["val"].dim() < len(sizes):
                if not all(isinstance(size, int) for size in sizes):
                    return None
                value = self._call(aten.expand.default, value, sizes)
            self._known[key] = value
        return self._known[key]

    def _sum(self, value: sympy.Expr, axes: Sequence[sympy.Expr]) -> torch.fx.Node | None:
        """A number, or one for each index, of i64; None of what follows from no tensor, too."""
        total: torch.fx.Node | None = None
        constant, rest = sympy.expand(value).as_coeff_Add()
        for term, factor in rest.as_coefficients_dict().items():
            element = self._indices.elements.get(term)
            found = None if element is None else self._element(element, axes)
            if found is None or not factor.is_Integer or not constant.is_Integer:
                return None
            found = self._call(aten._to_copy.default, found, dtype=torch.int64)
            if factor != 1:
                found = self._call(aten.mul.Tensor, found, int(factor))
            total = found if total is None else self._call(aten.add.Tensor, total, found)
        return total and (self._call(aten.add.Tensor, total, int(constant)) if constant else total)

    def _element(self, element: Element, axes: Sequence[sympy.Expr]) -> torch.fx.Node | None:
        source = element.source
        if isinstance(source, Wrapped):
            position = self._sum(source.position, axes)
            if position is None or not source.size.is_Integer:
                return None
            from_end = self._call(aten.add.Tensor, position, int(source.size))
            is_before = self._call(aten.lt.Scalar, position, 0)
            return self._call(aten.where.self, is_before, from_end, position)
        tensor = tensor_of(source)
        if tensor is None or tensor.dtype not in INTEGERS:
            return None
        if not all(each.is_Integer or each in axes for each in element.at):
            return None
        found = source
        for axis in reversed(range(len(element.at))):
            if element.at[axis].is_Integer:
                found = self._call(aten.select.int, found, axis, int(element.at[axis]))
        return found

    def _call(self, target: Any, *given: Any, **named: Any) -> torch.fx.Node:
        """A call behind those whose values it takes."""
        sources = [value for value in given if isinstance(value, torch.fx.Node)]
        last = max(sources, key=lambda node: self._order[node])
        point = last.next
        while point.op == "placeholder" or point in self._made:
            point = point.next
        with self._graph.inserting_before(point):
            call = self._graph.call_function(target, given, named)
        values = [x.meta["val"] if isinstance(x, torch.fx.Node) else x for x in given]
        with self._mode if self._mode is not None else torch.no_grad():
            call.meta["val"] = target(*values, **named)
        self._order[call] = self._order[call.prev] + _STEP
        self._made.add(call)
        return call


def _sizes(match: Match, operand: Buffer) -> list[Any]:
    """An operand's sizes, as the others have them; None for those that they do not have."""
    known: dict[str, Any] = {}
    arguments = match.traced.pattern.arguments
    for name, node in match.operands.items():
        tensor, other = tensor_of(node), arguments[name]
        if tensor is not None and isinstance(other, Buffer):
            for expr, size in zip(reversed(other.shape), reversed(tensor.shape), strict=False):
                if isinstance(expr, Dim):
                    known[expr.name] = size
    return [known.get(each.name) if isinstance(each, Dim) else None for each in operand.shape]
