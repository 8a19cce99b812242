"""Whether a place in a model computes what a pattern's function does, and if not, why not.

What has to agree: every operation with all of its arguments, types and ranks, where numbers
are equal to the function's own, scalars of the kernel stand for any number, and sizes are what they
are in terms of the operands' sizes. The arguments of commutative operations may be swapped. An
operand is the same value wherever the function has it, and intermediate values are used nowhere
else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sympy
import torch

from custom_dispatch.frontends.torch.graph import arguments_of, resolved, tensor_of, users_of
from custom_dispatch.frontends.torch.indices import Indices
from custom_dispatch.frontends.torch.numbers import are_equal, is_equal, is_same_number, size_of
from custom_dispatch.frontends.torch.solving import Condition, Solved, solve
from custom_dispatch.frontends.torch.traced import Call, Fixed, Hole, Operand, Size, Traced

aten = torch.ops.aten
_COMMUTATIVE = {
    aten.add.Tensor,
    aten.eq.Tensor,
    aten.logical_and.default,
    aten.logical_or.default,
    aten.maximum.default,
    aten.minimum.default,
    aten.mul.Tensor,
    aten.ne.Tensor,
}
# They compute nothing, so that it does not matter who else uses what they give.
VIEWS = {
    aten.expand.default,
    aten.permute.default,
    aten.reshape.default,
    aten.select.int,
    aten.slice.Tensor,
    aten.squeeze.dim,
    aten.transpose.int,
    aten.unsqueeze.default,
    aten.view.default,
}
# They broadcast what they take, so that what is there once is there for all.
_BROADCASTS = {aten.scaled_dot_product_attention.default, aten.where.self, *_COMMUTATIVE}
_MOST_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Match:
    """A place that computes a pattern."""

    traced: Traced
    outputs: tuple[torch.fx.Node, ...]
    nodes: frozenset[torch.fx.Node]
    """The operations that it stands for."""
    operands: Mapping[str, Any]
    """Nodes; what follows from a condition is a `Solved` first."""
    scalars: Mapping[str, Any]

    @property
    def root(self) -> torch.fx.Node:
        """The result that it was found by."""
        return self.outputs[self.traced.roots[0]]

    @property
    def own(self) -> frozenset[torch.fx.Node]:
        """The operations that no other place may have: all but views."""
        return frozenset(n for n in self.nodes if n.target not in VIEWS or n in self.outputs)


@dataclass(frozen=True, slots=True)
class Miss:
    """A place that does not."""

    node: torch.fx.Node
    """Where it differs."""
    reason: str
    share: float
    """How much of the pattern was there before, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two values that have to agree."""

    wanted: Any
    found: Any
    node: torch.fx.Node
    """The operation that takes the model's one."""
    name: str
    """What that calls it."""


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of a place so far."""

    nodes: Mapping[Call, frozenset[torch.fx.Node]] = field(default_factory=dict)
    operands: Mapping[str, torch.fx.Node] = field(default_factory=dict)
    scalars: Mapping[str, Any] = field(default_factory=dict)
    symbols: Mapping[Any, Any] = field(default_factory=dict)
    sizes: tuple[tuple[Any, _Pair], ...] = ()
    """Sizes that are compared when all symbols are known."""
    conditions: tuple[tuple[Condition, _Pair], ...] = ()
    """Conditions likewise."""


_Ways = list[tuple[tuple[_Pair, ...], _State]]
"""What else has to agree, and what is known then, in each way that there is."""


class Matcher:
    """Compares places of one model with patterns.

    Parameters
    ----------
    graph
        The model's.
    constants
        Its weights and constants, by their nodes.
    """

    def __init__(
        self, graph: torch.fx.Graph, constants: Mapping[torch.fx.Node, torch.Tensor]
    ) -> None:
        self._constants = constants
        self.indices = Indices(constants)
        self._by_target: dict[Any, list[torch.fx.Node]] = {}
        for node in graph.nodes:
            if node.op == "call_function":
                self._by_target.setdefault(node.target, []).append(node)
        self._best: Miss | None = None
        self._steps = 0
        self._traced: Traced

    def candidates(self, target: Any) -> list[torch.fx.Node]:
        """Every call of an operation."""
        return self._by_target.get(target, [])

    def match(self, traced: Traced, node: torch.fx.Node) -> Match | Miss:
        """Compare the place whose result is a node with a pattern."""
        self._best, self._steps, self._traced = None, 0, traced
        for state in self._solve_roots(traced.roots, node, _State()):
            if self._sizes_agree(state) and self._is_private(state):
                operands = self._solved(state)
                if operands is None:
                    continue
                return Match(
                    traced,
                    tuple(next(iter(state.nodes[item])) for item in traced.outputs),
                    frozenset().union(*state.nodes.values()),
                    operands,
                    state.scalars,
                )
        return self._best or Miss(node, "it differs", 0.0)

    def _solve_roots(
        self, roots: tuple[int, ...], node: torch.fx.Node, state: _State
    ) -> Iterator[_State]:
        first = _Pair(self._traced.outputs[roots[0]], node, node, "")
        for found in self._solve((first,), state):
            if len(roots) == 1:
                yield found
                continue
            for other in self.candidates(self._traced.outputs[roots[1]].target):
                yield from self._solve_roots(roots[1:], other, found)

    def _solve(self, pairs: tuple[_Pair, ...], state: _State) -> Iterator[_State]:
        while pairs:
            pair, pairs = pairs[0], pairs[1:]
            self._steps += 1
            if self._steps > _MOST_STEPS:
                self._differs(pair, "there are too many ways to compare it", state)
                return
            ways = self._ways(pair, state)
            if len(ways) != 1:
                for more, following in ways:
                    yield from self._solve(more + pairs, following)
                return
            more, state = ways[0]
            pairs = more + pairs
        yield state

    def _differs(self, pair: _Pair, reason: str, state: _State) -> _Ways:
        """Note why a place is none; the difference that most agreed before is what is told."""
        share = len(state.nodes) / self._traced.count
        if self._best is None or share > self._best.share:
            self._best = Miss(pair.node, reason, share)
        return []

    # -- one value

    def _ways(self, pair: _Pair, state: _State) -> _Ways:
        wanted, found = pair.wanted, pair.found
        if isinstance(wanted, Call):
            return self._call(pair, state)
        if isinstance(wanted, Operand):
            return self._operand(pair, state)
        if isinstance(wanted, Hole):
            return self._scalar(pair, state)
        if isinstance(wanted, Size):
            if size_of(found) is None:
                return self._differs(pair, f"{_said(pair)} is no size", state)
            return [((), replace(state, sizes=(*state.sizes, (wanted.expr, pair))))]
        if isinstance(wanted, Condition):
            if not isinstance(pair.found, torch.fx.Node):
                return self._differs(pair, f"{_said(pair)} is no mask", state)
            return [((), replace(state, conditions=(*state.conditions, (wanted, pair))))]
        if isinstance(wanted, Fixed):
            held = self._constants.get(resolved(found))
            if held is None or not is_equal(held, wanted.value):
                return self._differs(pair, f"{_said(pair)} is not the pattern's constant", state)
            return [((), state)]
        if isinstance(wanted, list):
            if not isinstance(found, list | tuple) or len(found) != len(wanted):
                return self._differs(pair, f"{_said(pair)}, and in the pattern {wanted}", state)
            more = (
                replace(pair, wanted=mine, found=its)
                for mine, its in zip(wanted, found, strict=True)
            )
            return [(tuple(more), state)]
        if not is_same_number(wanted, found):
            return self._differs(pair, f"{_said(pair)}, and in the pattern {wanted}", state)
        return [((), state)]

    def _call(self, pair: _Pair, state: _State) -> _Ways:
        wanted, node = pair.wanted, resolved(pair.found)
        if not isinstance(node, torch.fx.Node) or node.op != "call_function":
            reason = f"{_said(pair)}, where the pattern calls {wanted.target}"
            return self._differs(pair, reason, state)
        known = state.nodes.get(wanted, frozenset())
        if node in known:
            return [((), state)]
        here = replace(pair, node=node)
        if node.target != wanted.target:
            reason = f"it calls {node.target} where the pattern calls {wanted.target}"
            return self._differs(here, reason, state)
        tensor = tensor_of(node)
        if tensor is not None and (tensor.dtype, tensor.dim()) != (wanted.dtype, wanted.rank):
            reason = (
                f"{node.target} gives {tensor.dtype} of rank {tensor.dim()}, and in the pattern "
                f"{wanted.dtype} of rank {wanted.rank}"
            )
            return self._differs(here, reason, state)
        following = replace(state, nodes={**state.nodes, wanted: known | {node}})
        theirs = arguments_of(node)
        pairs = tuple(
            _Pair(value, theirs.get(name), node, name) for name, value in wanted.arguments.items()
        )
        ways = [(pairs, following)]
        if wanted.target in _COMMUTATIVE:
            first, second = pairs[0], pairs[1]
            swapped = (
                replace(first, found=second.found, name=second.name),
                replace(second, found=first.found, name=first.name),
            )
            ways.append(((*swapped, *pairs[2:]), following))
        return ways

    def _operand(self, pair: _Pair, state: _State) -> _Ways:
        wanted, node = pair.wanted, resolved(pair.found)
        tensor = tensor_of(node)
        if tensor is None:
            reason = f"{_said(pair)}, where the pattern has its operand `{wanted.name}`"
            return self._differs(pair, reason, state)
        known = state.operands.get(wanted.name)
        if known is not None:
            if known is not node:
                reason = f"`{wanted.name}` would be `{known}` here and `{node}` there"
                return self._differs(pair, reason, state)
            return [((), state)]
        if tensor.dtype != wanted.dtype:
            reason = f"`{wanted.name}` is {tensor.dtype}, and in the pattern {wanted.dtype}"
            return self._differs(pair, reason, state)
        if tensor.dim() != len(wanted.sizes):
            reason = (
                f"`{wanted.name}` has rank {tensor.dim()}, and in the pattern {len(wanted.sizes)}"
            )
            return self._differs(pair, reason, state)
        symbols = dict(state.symbols)
        later = list(state.sizes)
        for expr, size in zip(wanted.sizes, tensor.shape, strict=True):
            its = replace(pair, found=size, name=f"a size of `{wanted.name}`")
            if isinstance(expr, sympy.Symbol) and expr not in symbols:
                symbols[expr] = size_of(size)
            else:
                later.append((expr, its))
        operands = {**state.operands, wanted.name: node}
        return [((), replace(state, operands=operands, symbols=symbols, sizes=tuple(later)))]

    def _scalar(self, pair: _Pair, state: _State) -> _Ways:
        wanted, found = pair.wanted, pair.found
        if isinstance(found, torch.fx.Node):
            fits = wanted.kind == "i" and isinstance(found.meta.get("val"), int | torch.SymInt)
        elif isinstance(found, bool) or wanted.kind == "b":
            fits = isinstance(found, bool) and wanted.kind == "b"
        else:
            fits = isinstance(found, int) or (isinstance(found, float) and wanted.kind == "f")
        if not fits:
            reason = f"{_said(pair)}, where the pattern has its scalar `{wanted.name}`"
            return self._differs(pair, reason, state)
        value = float(found) if wanted.kind == "f" else found
        if wanted.name in state.scalars and state.scalars[wanted.name] != value:
            reason = f"`{wanted.name}` would be {state.scalars[wanted.name]} here and {value} there"
            return self._differs(pair, reason, state)
        return [((), replace(state, scalars={**state.scalars, wanted.name: value}))]

    # -- the place as a whole

    def _sizes_agree(self, state: _State) -> bool:
        for expr, pair in state.sizes:
            wanted = sympy.sympify(expr).xreplace(dict(state.symbols))
            found = size_of(pair.found)
            if not are_equal(wanted, found):
                self._differs(pair, f"{pair.name} is {found}, and in the pattern {wanted}", state)
                return False
        return True

    def _solved(self, state: _State) -> dict[str, Any] | None:
        """The operands, with those that follow from conditions; None where one does not hold."""
        found = dict(state.operands)
        for wanted, pair in state.conditions:
            node = resolved(pair.found)
            solution = solve(wanted, state.symbols, node, self.indices)
            if isinstance(solution, dict) and pair.node.target not in _BROADCASTS:
                solution = "is not known to be broadcast"
            if isinstance(solution, str):
                self._differs(pair, f"{_said(pair)} {solution}", state)
                return None
            for name, value in solution.items():
                known = found.setdefault(name, value)
                if isinstance(known, torch.fx.Node):
                    its: Any = self.indices.number(known, value.axes)
                    known = Solved(its, value.axes)
                if known != value:
                    self._differs(pair, f"`{name}` would be {known} and {value}", state)
                    return None
        return found

    def _is_private(self, state: _State) -> bool:
        """Whether no intermediate value is used elsewhere."""
        nodes = frozenset().union(*state.nodes.values())
        results = frozenset().union(*(state.nodes[item] for item in self._traced.outputs))
        for node in nodes - results:
            if node.target in VIEWS:
                continue
            for user in users_of(node):
                if user not in nodes:
                    what = "a result of the model" if user.op == "output" else f"used by `{user}`"
                    reason = f"the intermediate `{node}` ({node.target}) is {what}, too"
                    self._differs(_Pair(None, None, node, ""), reason, state)
                    return False
        return True


def _said(pair: _Pair) -> str:
    value = pair.found
    text = f"`{value}`" if isinstance(value, torch.fx.Node) else repr(value)
    return f"`{pair.name}` of {pair.node.target} is {text}" if pair.name else text
