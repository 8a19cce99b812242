"""Norms along some dims, whoever wrote them out and in which order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp

from cuda_kernels.patterns.jax_places.axes import Dim, Seen, arranged, flat, new, size_of
from cuda_kernels.patterns.jax_places.graph import (
    VIEWS,
    Graph,
    Node,
    Value,
    made_by,
    number_of,
    without_casts,
)
from cuda_kernels.patterns.jax_places.place import WIDE, Place, call, kind_of, place
from cuda_kernels.patterns.jax_places.reductions import Reduced, along, reduction, rows_of

_MOST_STEPS = 12
"""Operations between a root mean square and the end of its norm."""


def _mean(seen: Seen) -> Reduced | None:
    """The mean that a value is a view of."""
    found = seen.base
    node = made_by(found.value, "div", "mul")
    if node is None:
        return None
    for index in (0, 1) if node.name == "mul" else (0,):
        total = reduction(found.operand(index), "reduce_sum")
        if total is None:
            continue
        count, by = size_of(total.over), node.operands[1 - index]
        number = number_of(by)
        if node.name == "mul" and number:
            number = 1.0 / number
        if number is not None and isinstance(count, int):
            return total if math.isclose(number, count, rel_tol=1e-6) else None
        if node.name == "div" and _is_size(by, count):
            return total
    return None


def _is_size(value: Value, size: Any) -> bool:
    """Whether a value is a size that is a symbol."""
    while (node := made_by(value, "convert_element_type", *VIEWS)) is not None:
        value = node.operands[0]
    node = made_by(value, "dim_as_value")
    return node is not None and bool(node.params["dim"] == size)


def _square(seen: Seen) -> Seen | None:
    """What a value is the square of."""
    found = seen.base
    node = found.value.node
    if node is None:
        return None
    is_square = (
        node.name == "square"
        or (node.name == "integer_pow" and node.params["y"] == 2)
        or (node.name == "pow" and number_of(node.operands[1]) == 2.0)
        or (node.name == "mul" and found.operand(0).is_same(found.operand(1)))
    )
    if not is_square:
        return None
    of = found.operand(0)
    magnitude = of.base
    return magnitude.operand(0) if made_by(magnitude.value, "abs") else of


def _centred(seen: Seen) -> tuple[Seen, Dim] | None:
    """What a value is without its mean, and along which dims."""
    found = seen.base
    if made_by(found.value, "sub") is None:
        return None
    given, mean = found.operand(0), _mean(found.operand(1))
    over = None if mean is None else along(mean, given)
    return None if over is None else (given, over)


@dataclass(frozen=True, slots=True)
class _Spread:
    """A root of a mean square plus a number."""

    of: Reduced
    """What is normalised, and along which dims."""
    centred: bool
    """Whether it is normalised without its mean."""
    epsilon: float


def _spread(seen: Seen) -> tuple[_Spread, int] | None:
    """A standard deviation or root mean square, and the power of it that a value is: 1 or -1."""
    found = seen.base
    node = found.value.node
    match node.name if node is not None else "":
        case "rsqrt":
            power = -1
        case "sqrt":
            power = 1
        case "pow" if node is not None and number_of(node.operands[1]) in (-0.5, 0.5):
            power = 1 if number_of(node.operands[1]) == 0.5 else -1
        case _:
            return None
    inner, epsilon = found.operand(0).base, 0.0
    if (total := made_by(inner.value, "add")) is not None:
        numbers = [number_of(each) for each in total.operands]
        index = 1 if numbers[0] is None else 0
        added = numbers[index]
        if added is None:
            return None
        epsilon, inner = added, inner.operand(1 - index).base
    while (largest := made_by(inner.value, "max")) is not None:
        index = 1 if number_of(largest.operands[1]) == 0.0 else 0
        if number_of(largest.operands[index]) != 0.0:
            return None
        inner = inner.operand(1 - index).base
    of = _of_variance(inner)
    return None if of is None else (_Spread(*of, epsilon), power)


def _of_variance(seen: Seen) -> tuple[Reduced, bool] | None:
    """What a variance or mean square is of, and whether it is a variance."""
    if made_by(seen.value, "sub") is not None:  # E[x^2] - E[x]^2
        squares, root = _mean(seen.operand(0)), _square(seen.operand(1))
        mean = None if root is None else _mean(root)
        of = None if squares is None else _square(squares.operand)
        if of is None or mean is None or squares is None:
            return None
        over = along(mean, of)
        is_same = over is not None and flat(over) == flat(squares.over)
        return (Reduced(of, squares.over), True) if is_same else None
    squares = _mean(seen)
    of = None if squares is None else _square(squares.operand)
    if of is None or squares is None:
        return None
    centred = _centred(of)
    if centred is None:
        return Reduced(of, squares.over), False
    given, over = centred
    return (Reduced(given, squares.over), True) if flat(over) == flat(squares.over) else None


@dataclass(slots=True)
class _Factors:
    """A product that is taken apart, down to what is normalised."""

    spread: _Spread
    data: Seen | None = None
    over: Dim = ()
    """What it is normalised along."""
    has_root: bool = False
    weights: list[Seen] = field(default_factory=list)
    number: float = 1.0

    def take_apart(self, seen: Seen, power: int = 1) -> bool:
        """Take what a value consists of; False where it is no such product."""
        number = number_of(seen.value)
        if number is not None:
            self.number *= number**power
            return True
        found = seen.base
        data: Seen | None = found
        over: Dim | None = None
        if self.spread.centred:
            data, over = _centred(found) or (None, None)
        there = None if data is None else along(self.spread.of, data)
        if data is not None and there is not None and over in (None, there):
            if self.data is not None or power != 1:
                return False
            self.data, self.over = (data if self.spread.centred else seen), there
            return True
        root = _spread(found)
        if root is not None:
            is_same = along(root[0].of, self.spread.of.operand) == flat(self.spread.of.over)
            was, self.has_root = self.has_root, True
            return is_same and not was and root[1] * power == -1
        node = made_by(found.value, "mul", "div")
        if node is not None:
            inverse = -power if node.name == "div" else power
            return self.take_apart(found.operand(0), power) and self.take_apart(
                found.operand(1), inverse
            )
        self.weights.append(seen)
        return power == 1


def norms(graph: Graph, groups: frozenset[str]) -> Iterator[Place]:
    """Layer norms and RMS norms."""
    for node in graph.nodes:
        if node.name in ("rsqrt", "sqrt", "pow"):
            found = _norm_from(node, groups)
            if found is not None:
                yield from _with_sum(found, groups)
                yield found


def _norm_from(node: Node, groups: frozenset[str]) -> Place | None:
    """The largest norm that a root is a part of."""
    best: Place | None = None
    values, seen = [(node.result, 0)], set[Value]()
    while values:
        value, steps = values.pop()
        if value in seen or steps > _MOST_STEPS:
            continue
        seen.add(value)
        if made_by(value, "mul", "div", "add", "convert_element_type"):
            found = _norm_at(value, groups)
            if found is not None and (best is None or len(found.covers) > len(best.covers)):
                best = found
        for user in value.users:
            if user.name in ("mul", "div", "add", "convert_element_type", *VIEWS):
                values.append((user.result, steps + 1))
    return best


def _norm_at(value: Value, groups: frozenset[str]) -> Place | None:
    """The norm that a value is."""
    result = new(value)
    seen = Seen(without_casts(value), result.axes)
    candidates: list[tuple[Seen, Seen | None]] = [(seen, None)]
    if made_by(seen.value, "add") is not None:
        one, other = seen.operand(0), seen.operand(1)
        candidates = [(one, other), (other, one)]
    for product, bias in candidates:
        spread = _find_spread(product)
        if spread is None:
            continue
        factors = _Factors(spread)
        if factors.take_apart(product) and factors.data is not None and factors.has_root:
            found = _norm_place(result, factors, bias, groups)
            if found is not None:
                return found
    return None


def _find_spread(seen: Seen) -> _Spread | None:
    """The root in a product."""
    pending = [seen]
    for _ in range(4 * _MOST_STEPS):
        if not pending:
            break
        found = pending.pop().base
        root = _spread(found)
        if root is not None:
            return root[0]
        if made_by(found.value, "mul", "div") is not None:
            pending += [found.operand(1), found.operand(0)]
    return None


def _norm_place(
    result: Seen, factors: _Factors, bias: Seen | None, groups: frozenset[str]
) -> Place | None:
    spread, over = factors.spread, flat(factors.over)
    assert factors.data is not None  # noqa: S101 - the caller has seen to it
    x = factors.data.widened
    name = "layer_norm" if spread.centred else "rms_norm"
    vectors = [each.widened for each in (*factors.weights, *([bias] if bias else []))]
    if (
        name not in groups
        or (bias is not None and name == "rms_norm")
        or set(x.atoms) != set(result.atoms)
        or any(flat(*each.axes) != over for each in vectors)
    ):
        return None
    kind, is_whole = kind_of(x.value), x.value.dtype == result.value.dtype
    if not kind:
        return None
    if not is_whole or any(each.value.dtype != x.value.dtype for each in vectors):
        kind = "f32"  # which rounds neither weights nor results
    rows, wide = rows_of(x, over), WIDE[kind]
    has_bias, constant = bias is not None, factors.number

    def build(array: Any, *others: Any, residual: Any = None) -> list[Any]:
        given = arranged(array, x.axes, [*rows, over]).astype(wide)
        lines = [
            arranged(each, seen.axes, [over]).astype(wide)
            for each, seen in zip(others, vectors, strict=True)
        ]
        more = {"bias": lines.pop()} if has_bias else {}
        if constant != 1.0 or (not lines and name == "rms_norm"):
            lines.append(jnp.full((size_of(over),), constant, wide))
        if lines:
            more["weight"] = math.prod(lines[1:], start=lines[0])
        if residual is not None:
            added = arranged(residual, x.axes, [*rows, over])
            kernel = call(f"add_{name}_{kind}")
            total, done = kernel(given, added, epsilon=spread.epsilon, **more)
            first = [arranged(total, [*rows, over], x.axes)]
        else:
            done, first = call(f"{name}_{kind}")(given, epsilon=spread.epsilon, **more), []
        return [*first, arranged(done, [*rows, over], result.axes).astype(result.value.dtype)]

    operands = [x.value, *(each.value for each in vectors)]
    return place(f"{name}_{kind}", [result.value], operands, build, epsilon=spread.epsilon)


def _with_sum(found: Place, groups: frozenset[str]) -> Iterator[Place]:
    """The RMS norm of a sum, with the sum as another result."""
    (result,), (x, *others) = found.results, found.operands
    total, kind = made_by(x, "add", "add_any"), found.kernel.removeprefix("rms_norm_")
    if total is None or kind != kind_of(x) or "add_rms_norm" not in groups:
        return
    if any(each.shape != x.shape or each.dtype != x.dtype for each in total.operands):
        return

    def build(one: Any, other: Any, *arrays: Any) -> list[Any]:
        return list(found.build(one, *arrays, residual=other))

    operands = [*total.operands, *others]
    yield place(f"add_{found.kernel}", [x, result], operands, build, **found.scalars)
