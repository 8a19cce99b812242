"""Rotary embeddings of two halves, by tables for the whole of a head or for half of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cuda_kernels.patterns.jax_places.axes import Atom, Dim, Seen, arranged, flat, new
from cuda_kernels.patterns.jax_places.graph import Graph, Node, made_by
from cuda_kernels.patterns.jax_places.place import WIDE, Place, call, kind_of, place


@dataclass(frozen=True, slots=True)
class _Turned:
    """What is turned, by which cosines and sines."""

    x: Seen
    cos: Seen
    sin: Seen
    result: Seen
    halves: Atom
    """The dim of the two halves of a head."""


def rotaries(graph: Graph, groups: frozenset[str]) -> Iterator[Place]:
    """Heads that are turned: x cos + (-x2, x1) sin, of their halves x1 and x2."""
    for node in graph.nodes if "rotary" in groups else ():
        found = None
        if node.name == "concatenate" and len(node.operands) == 2:
            found = _of_halves(node)
        elif node.name == "add":
            found = _of_sum(node)
        made = None if found is None else _as_place(found)
        if made is not None:
            yield made


def _split(result: Seen, axis: int) -> tuple[Seen, Atom, Dim] | None:
    """A value whose dim is one of two halves, that of the halves, and the rest of the dim."""
    dim = flat(result.axes[axis])
    if len(dim) == 1 and isinstance(dim[0].size, int) and dim[0].size % 2 == 0:
        dim[0].parts = (Atom(2), Atom(dim[0].size // 2)) if dim[0].size > 2 else ()
    dim = flat(result.axes[axis])
    return (result, dim[0], dim[1:]) if len(dim) > 1 and dim[0].size == 2 else None


def _operands(node: Node, result: Seen, axis: int, half: Dim) -> tuple[Seen, Seen]:
    axes = (*result.axes[:axis], half, *result.axes[axis + 1 :])
    one, other = (Seen(each, axes) for each in node.operands)
    return one, other


def _half(seen: Seen, halves: Atom, half: Dim) -> tuple[Seen, int] | None:
    """What a value is the first (0) or second (1) half of."""
    found = seen.base
    node = made_by(found.value, "slice", "split")
    if node is None or half not in [flat(dim) for dim in found.axes]:
        return None
    axis = [flat(dim) for dim in found.axes].index(half)
    given = node.operands[0]
    size, whole = found.value.shape[axis], given.shape[axis]
    if not isinstance(whole, int) or whole != 2 * size:
        return None
    if node.name == "split":
        which = found.value.index if node.params["axis"] == axis else -1
    else:
        starts, strides = node.params["start_indices"], node.params["strides"]
        same = all(
            one == other
            for index, (one, other) in enumerate(zip(given.shape, found.value.shape, strict=True))
            if index != axis
        )
        plain = strides is None or all(step == 1 for step in strides)
        which = starts[axis] // size if same and plain and starts[axis] % size == 0 else -1
    if which not in (0, 1):
        return None
    axes = (*found.axes[:axis], (halves, *half), *found.axes[axis + 1 :])
    return Seen(given, axes), which


def _factors(seen: Seen) -> list[tuple[Seen, Seen]]:
    found = seen.base
    if made_by(found.value, "mul") is None:
        return []
    one, other = found.operand(0), found.operand(1)
    return [(one, other), (other, one)]


def _of_halves(node: Node) -> _Turned | None:
    """As (x1 cos - x2 sin, x2 cos + x1 sin)."""
    axis = node.params["dimension"]
    split = _split(new(node.result), axis)
    if split is None or node.operands[0].shape != node.operands[1].shape:
        return None
    result, halves, half = split
    first, second = (each.base for each in _operands(node, result, axis, half))
    if made_by(first.value, "sub") is None or made_by(second.value, "add") is None:
        return None
    for by_cos, cos in _factors(first.operand(0)):
        for by_sin, sin in _factors(first.operand(1)):
            one, two = _half(by_cos, halves, half), _half(by_sin, halves, half)
            if one is None or two is None or (one[1], two[1]) != (0, 1):
                continue
            if not one[0].is_same(two[0]):
                continue
            for left, right in ((0, 1), (1, 0)):
                parts = second.operand(left), second.operand(right)
                if _is_product(parts[0], by_sin, cos) and _is_product(parts[1], by_cos, sin):
                    return _Turned(one[0], cos, sin, result, halves)
    return None


def _is_product(seen: Seen, one: Seen, other: Seen) -> bool:
    return any(a.is_same(one) and b.is_same(other) for a, b in _factors(seen))


def _of_sum(node: Node) -> _Turned | None:
    """As x cos + (-x2, x1) sin."""
    result = new(node.result)
    if not result.axes or not result.axes[-1]:
        return None
    for left, right in ((0, 1), (1, 0)):
        for turned, sin in _factors(result.operand(right)):
            joined = turned.base
            whole = made_by(joined.value, "concatenate")
            if whole is None or len(whole.operands) != 2:
                continue
            axis = whole.params["dimension"]
            split = _split(joined, axis)
            if split is None:
                continue
            _, halves, half = split
            minus, plus = (each.base for each in _operands(whole, joined, axis, half))
            if made_by(minus.value, "neg") is None:
                continue
            two = _half(minus.operand(0), halves, half)
            one = _half(plus, halves, half)
            if one is None or two is None or (one[1], two[1]) != (0, 1):
                continue
            for x, cos in _factors(result.operand(left)):
                if x.is_same(one[0]) and two[0].is_same(x):
                    return _Turned(x, cos, sin, result, halves)
    return None


def _as_place(found: _Turned) -> Place | None:
    x, cos, sin = found.x.widened, found.cos.widened, found.sin.widened
    kind = kind_of(x.value)
    kinds = {kind_of(each) for each in (x.value, cos.value, sin.value, found.result.value)}
    if not kind or kinds != {kind}:
        return None
    dim = next((flat(each) for each in found.result.axes if found.halves in flat(each)), ())
    if dim[:1] != (found.halves,):
        return None
    rest = tuple(atom for atom in x.atoms if atom not in dim)
    of_tables = {*cos.atoms, *sin.atoms} - {*dim}
    if not of_tables <= {*rest} or {*x.atoms} != {*found.result.atoms}:
        return None
    tables = tuple(atom for atom in rest if atom in of_tables)
    length, tables = tables[-1:], tables[:-1]
    others = tuple(atom for atom in rest if atom not in of_tables)
    heads, batch = others[-1:], (*others[:-1], *tables)
    order = [*length, *heads]
    by_position = order == [atom for atom in rest if atom in order] and len(order) == 2
    name = f"rotary_by_position_{kind}" if by_position else f"rotary_{kind}"
    given = [batch, length, heads, dim] if by_position else [batch, heads, length, dim]

    def build(array: Any, *both: Any) -> list[Any]:
        lines = [
            arranged(each, seen.axes, [tables, length, dim]).astype(WIDE[kind])
            for each, seen in zip(both, (cos, sin), strict=True)
        ]
        done = call(name)(arranged(array, x.axes, given), *lines)
        return [arranged(done, [batch, heads, length, dim], found.result.axes)]

    return place(name, [found.result.value], [each.value for each in (x, cos, sin)], build)
