"""Rotary embeddings, of pairs half a head apart or beside each other, of heads or parts of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from cuda_kernels.patterns.jax_places.axes import (
    Atom,
    Dim,
    Seen,
    after,
    arranged,
    flat,
    is_one,
    new,
    same_axes,
)
from cuda_kernels.patterns.jax_places.graph import VIEWS, Graph, Node, made_by, only_user
from cuda_kernels.patterns.jax_places.place import WIDE, Place, call, kind_of, place


@dataclass(frozen=True, slots=True)
class _Turned:
    """Pairs (a, b) that become (a cos - b sin, b cos + a sin)."""

    x: Seen
    cos: Seen
    sin: Seen
    result: Seen
    two: Atom
    """The dim of the two elements of a pair, in x and in the result."""
    is_opposite: bool = False
    """Whether sines have the other sign."""


def rotaries(graph: Graph, groups: frozenset[str]) -> Iterator[Place]:
    """Heads that are turned, by tables for each of their elements or for each pair."""
    for node in graph.nodes if "rotary" in groups else ():
        found = None
        if node.name in ("concatenate", "stack"):
            found = _of_parts(node)
        elif node.name in ("add", "sub"):
            found = _of_sum(node)
        made = None if found is None else _as_place(found)
        if made is not None:
            yield made


# -- parts of pairs


@dataclass(frozen=True, slots=True)
class _Joined:
    """A concatenation of the first elements of pairs, and the second ones."""

    first: Seen
    second: Seen
    two: Atom


def _joined(seen: Seen) -> _Joined | None:
    """Two values that were joined or stacked."""
    node = made_by(seen.value, "concatenate", "stack")
    if node is None or len(node.operands) != 2:
        return None
    axis = node.params["dimension" if node.name == "concatenate" else "axis"]
    if node.operands[0].shape != node.operands[1].shape:
        return None
    two, half = _taken_apart(seen.axes[axis], 2)
    if two is None:
        return None
    axes = (
        *seen.axes[:axis],
        *([half] if node.name == "concatenate" else []),
        *seen.axes[axis + 1 :],
    )
    first, second = (Seen(each, axes) for each in node.operands)
    return _Joined(first, second, two)


def _taken_apart(dim: Dim, count: int) -> tuple[Atom | None, Dim]:
    """A dim's slowest atom of a size, and the rest of it."""
    atoms = flat(dim)
    if atoms and atoms[0].size != count and isinstance(atoms[0].size, int):
        if atoms[0].size % count:
            return None, ()
        atoms[0].parts = (Atom(count), Atom(atoms[0].size // count))
        atoms = flat(dim)
    return (atoms[0], atoms[1:]) if atoms and atoms[0].size == count else (None, ())


def _part(seen: Seen, two: Atom) -> tuple[Seen, int] | None:
    """What a value has the first (0) or second (1) elements of pairs of."""
    found = seen.base
    node = made_by(found.value, "slice", "split", "unstack")
    if node is None:
        return None
    given = node.operands[0]
    if node.name == "unstack":
        axis, which = node.params["axis"], found.value.index
        if given.shape[axis] != 2:
            return None
        return Seen(given, (*found.axes[:axis], (two,), *found.axes[axis:])), which
    sizes = enumerate(zip(given.shape, found.value.shape, strict=True))
    cut = [axis for axis, (one, other) in sizes if one != other]
    if len(cut) != 1:
        return None
    axis = cut[0]
    size, whole, half = found.value.shape[axis], given.shape[axis], found.axes[axis]
    if not isinstance(whole, int) or whole != 2 * size:
        return None
    step = 1
    if node.name == "split":
        which = found.value.index
    else:
        start = node.params["start_indices"][axis]
        step = (node.params["strides"] or [1] * given.rank)[axis]
        which = start if step == 2 else start // size if start % size == 0 else -1
    if which not in (0, 1) or step not in (1, 2):
        return None
    dim = (two, *half) if step == 1 else (*half, two)
    axes = (*found.axes[:axis], dim, *found.axes[axis + 1 :])
    return Seen(given, axes), which


# -- sums of products


def _terms(seen: Seen) -> list[tuple[tuple[int, Seen], tuple[int, Seen]]]:
    """Both orders of the signed terms of a sum of two."""
    found = seen.base
    node = made_by(found.value, "add", "sub")
    if node is None:
        return []
    one = _signed(found.operand(0), 1)
    other = _signed(found.operand(1), 1 if node.name == "add" else -1)
    return [(one, other), (other, one)]


def _signed(seen: Seen, sign: int) -> tuple[int, Seen]:
    """A value without negations, of itself or of a factor, and its sign."""
    found = seen.base
    if made_by(found.value, "neg") is not None:
        return _signed(found.operand(0), -sign)
    return sign, found


def _factors(seen: Seen) -> list[tuple[Seen, Seen]]:
    found = seen.base
    if made_by(found.value, "mul") is None:
        return []
    one, other = found.operand(0), found.operand(1)
    return [(one, other), (other, one)]


def _is_product(seen: Seen, one: Seen, other: Seen) -> bool:
    return any(a.is_same(one) and b.is_same(other) for a, b in _factors(seen))


def _of_parts(node: Node) -> _Turned | None:
    """As a cos - b sin and b cos + a sin, which are joined."""
    result = new(node.result)
    joined = _joined(result)
    for (plus, of_a), (sign, of_b) in _terms(joined.first) if joined is not None else ():
        assert joined is not None  # noqa: S101 - else there are no terms
        for (a, cos), (b, sin) in product(_factors(of_a), _factors(of_b)):
            one, two = _part(a, joined.two), _part(b, joined.two)
            if one is None or two is None or (one[1], two[1]) != (0, 1) or plus != 1:
                continue
            if not one[0].is_same(two[0]):
                continue
            for (straight, of_cos), (crossed, of_sin) in _terms(joined.second):
                if (straight, crossed) != (1, -sign):
                    continue
                if _is_product(of_cos, b, cos) and _is_product(of_sin, a, sin):
                    return _Turned(one[0], cos, sin, result, joined.two, sign == 1)
    return None


def _of_sum(node: Node) -> _Turned | None:
    """As x cos + (-b, a) sin."""
    result = new(node.result)
    for (plus, straight), (sign, crossed) in _terms(result):
        for turned, sin in _factors(crossed) if plus == 1 else ():
            joined = _joined(turned.base)
            if joined is None:
                continue
            of_b, b = _signed(joined.first, 1)
            of_a, a = _signed(joined.second, 1)
            one, two = _part(a, joined.two), _part(b, joined.two)
            if one is None or two is None or (one[1], two[1]) != (0, 1) or of_a == of_b:
                continue
            for x, cos in _factors(straight):
                if x.is_same(one[0]) and two[0].is_same(x):
                    return _Turned(one[0], cos, sin, result, joined.two, sign * of_a == -1)
    return None


# -- the kernel


@dataclass(frozen=True, slots=True)
class _Heads:
    """What the kernel reads and writes: a whole head, of which a part may be turned."""

    x: Seen
    result: Seen
    dim: tuple[Dim, Dim]
    """The dim of a head in x, and in the result."""


def _as_place(found: _Turned) -> Place | None:
    x, cos, sin = found.x.widened, found.cos.widened, found.sin.widened
    half = _half_of(found.x, found.two)
    if half is None or {*x.atoms} != {*found.result.atoms} or not kind_of(x.value):
        return None
    inside = {found.two, *half}
    pairs = [_are_beside(seen, found.two, half) for seen in (x, found.result)]
    ends = [(*half, found.two) if beside else (found.two, *half) for beside in pairs]
    result = _narrowed(found.result, x)
    kind = kind_of(x.value) if result.value.dtype == x.value.dtype else "f32"
    if kind == "f32" and str(result.value.dtype) != "float32":
        return None
    if not all(kind_of(each.value) for each in (cos, sin)):
        return None
    heads = _with_rest(_Heads(x, result, (ends[0], ends[1])), ends[1], kind)
    is_whole = heads.x is x
    of_tables = {*cos.atoms, *sin.atoms} - inside
    rest = tuple(atom for atom in x.atoms if atom not in inside)
    if not of_tables <= {*rest}:
        return None
    tables = tuple(atom for atom in rest if atom in of_tables)
    length, tables = tables[-1:], tables[:-1]
    others = tuple(atom for atom in rest if atom not in of_tables)
    own, batch = others[-1:], (*others[:-1], *tables)
    by_position = [
        bool(length and own) and seen.atoms.index(length[0]) < seen.atoms.index(own[0])
        for seen in (heads.x, heads.result)
    ]
    layout = "" if not by_position[0] else "_bshd" if by_position[1] else "_by_position"
    is_plain = (
        is_whole and not any(pairs) and {kind_of(each.value) for each in (cos, sin)} == {kind}
    )
    name = f"rotary{layout}_{kind}" if is_plain else f"rotary_any{layout}_{kind}"
    of_tables_type = WIDE[kind] if is_plain else "float32"
    more = {} if is_plain else {"pairs_in": int(pairs[0]), "pairs_out": int(pairs[1])}
    given, made = (
        [batch, length, own, dim] if is_so else [batch, own, length, dim]
        for is_so, dim in zip((bool(layout), layout == "_bshd"), heads.dim, strict=True)
    )

    def build(array: Any, *both: Any) -> list[Any]:
        lines = [
            arranged(each.astype(of_tables_type), seen.axes, [tables, length, ends[1]])
            for each, seen in zip(both, (cos, sin), strict=True)
        ]
        lines[1] = -lines[1] if found.is_opposite else lines[1]
        array = arranged(array, heads.x.axes, given).astype(WIDE[kind])
        return [arranged(call(name)(array, *lines, **more), made, heads.result.axes)]

    operands = [each.value for each in (heads.x, cos, sin)]
    return place(name, [heads.result.value], operands, build, **more)


def _half_of(x: Seen, two: Atom) -> Dim | None:
    """The dim of a head without that of the elements of a pair."""
    dims = [flat(dim) for dim in x.axes]
    where = next((index for index, dim in enumerate(dims) if two in dim), None)
    if where is None:
        return None
    rest = tuple(atom for atom in dims[where] if atom is not two)
    if rest:
        return rest if two in (dims[where][0], dims[where][-1]) else None
    later = [dim for dim in dims[where + 1 :] if dim]
    return later[0] if later else next((dim for dim in reversed(dims[:where]) if dim), ())


def _are_beside(seen: Seen, two: Atom, half: Dim) -> bool:
    """Whether the elements of a pair are beside each other."""
    atoms = seen.atoms
    return bool(half) and atoms.index(half[0]) < atoms.index(two)


def _narrowed(result: Seen, x: Seen) -> Seen:
    """The result as it is converted to the type of x, where it is; else as it is."""
    seen = result
    while seen.value.dtype != x.value.dtype:
        user = only_user(seen.value)
        if user is None:
            return result
        if user.name == "convert_element_type":
            if user.result.dtype != x.value.dtype:
                return result
            return Seen(user.result, seen.axes)
        axes = after(user, seen.axes) if user.name in VIEWS else None
        if axes is None:
            return result
        seen = Seen(user.result, axes)
    return seen


def _with_rest(heads: _Heads, turned: Dim, kind: str) -> _Heads:
    """Whole heads, where what is turned is their first part and is joined with the rest."""
    x, result = heads.x, heads.result
    cut = made_by(x.value, "slice", "split")
    axis = next((index for index, dim in enumerate(x.axes) if flat(dim) == heads.dim[0]), None)
    while (user := only_user(result.value)) is not None and user.name in VIEWS:
        axes = after(user, result.axes)
        if axes is None:
            break
        result = Seen(user.result, axes)
    if cut is None or axis is None or user is None or user.name != "concatenate":
        return heads
    to = user.params["dimension"]
    if len(user.operands) != 2 or user.operands[0] is not result.value:
        return heads
    if flat(result.axes[to]) != turned or kind != kind_of(result.value):
        return heads
    whole = cut.operands[0]
    size, count = whole.shape[axis], x.value.shape[axis]
    if user.result.shape[to] != size:
        return heads
    other: Dim = (Atom(size - count),)
    rest = Seen(user.operands[1], (*result.axes[:to], other, *result.axes[to + 1 :])).source
    wanted = (*x.axes[:axis], other, *x.axes[axis + 1 :])
    if not same_axes(rest.axes, wanted) or _start(x, axis) != 0 or _start(rest, axis) != count:
        return heads
    if made_by(rest.value, cut.name) is None or _of(rest) is not whole:
        return heads
    every: Dim = () if is_one(size) else (Atom(size),)
    return replace(
        heads,
        x=Seen(whole, (*x.axes[:axis], every, *x.axes[axis + 1 :])),
        result=Seen(user.result, (*result.axes[:to], every, *result.axes[to + 1 :])),
        dim=(every, every),
    )


def _of(seen: Seen) -> Any:
    return seen.value.node.operands[0] if seen.value.node is not None else None


def _start(seen: Seen, axis: int) -> Any:
    """Where a part of a value begins along the axis that it is a part of."""
    node = seen.value.node
    if node is None:
        return None
    if node.name == "split":
        sizes = node.params["sizes"]
        return sum(sizes[: seen.value.index]) if node.params["axis"] == axis else None
    if node.name != "slice" or node.params["strides"] not in (None, (1,) * seen.value.rank):
        return None
    starts = node.params["start_indices"]
    whole = node.operands[0].shape
    others = [index for index in range(len(whole)) if index != axis]
    is_whole = all(whole[index] == seen.value.shape[index] for index in others)
    return starts[axis] if is_whole else None


__all__ = ["rotaries"]
