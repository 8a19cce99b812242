"""Which recurrence a part of a graph computes: found with random numbers, in f64."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import aten, is_call, shape_of
from cuda_kernels.patterns.rewriting.scan_operator import scan

_COMPUTING = {
    *(aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.neg.default, aten.exp.default),
    *(aten.cumsum.default, aten.masked_fill.Scalar, aten.tril.default, aten.triu.default),
    *(aten.einsum.default, aten.matmul.default, aten.bmm.default, aten.sum.dim_IntList),
    *(aten.permute.default, aten.reshape.default, aten.expand.default, aten.unsqueeze.default),
    *(aten.squeeze.dim, aten.slice.Tensor, aten.select.int, aten.cat.default, aten.stack.default),
    *(aten.pad.default, aten.constant_pad_nd.default, aten.select_scatter.default),
    *(aten.slice_scatter.default, aten.copy.default, aten.bitwise_not.default, aten.where.self),
    *(aten.to.dtype, aten.linalg_solve_triangular.default, aten.logical_not.default),
    *(aten.ge.Tensor, aten.gt.Tensor, aten.le.Tensor, aten.lt.Tensor, aten.roll.default),
    *(aten.diagonal.default, aten.flip.default, aten.where.ScalarOther, aten.where.ScalarSelf),
}
_MAKING = {
    *(aten.ones.default, aten.zeros.default, aten.eye.default, aten.full.default),
    *(aten.zeros_like.default, aten.ones_like.default, aten.arange.default),
    *(aten.arange.start, aten.arange.start_step, aten.scalar_tensor.default),
}
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_TOLERANCE = 1e-8
_MORE = 3
"""Steps of a second chunk that tell permutations of operands apart."""


@dataclass(frozen=True)
class Leaf:
    """A tensor in chunks, and the one that was split."""

    node: Node
    source: Node


@dataclass(frozen=True)
class Region:
    """What is computed between tensors in chunks and one that is whole."""

    end: Node
    nodes: tuple[Node, ...]
    """In order, the end among them."""
    decays: Leaf
    leaves: tuple[Leaf, ...]
    """But for the decays."""
    first: Node | None
    """What else is read: the state that it begins with."""
    reached: frozenset[Node]
    axis: int
    """That of time, in what is not split."""
    rows: tuple[int, ...]
    length: int
    elements: int
    states: int

    def key(self) -> tuple[Any, ...]:
        """What makes two regions the same computation."""
        inputs = [self.decays.node, *(leaf.node for leaf in self.leaves)]
        inputs += [self.first] if self.first is not None else []
        names = {node: index for index, node in enumerate((*inputs, *self.nodes))}

        def named(value: Any) -> Any:
            return torch.fx.node.map_arg(value, lambda node: f"%{names[node]}")

        shapes = tuple(shape_of(node) for node in inputs)
        steps = tuple(f"{n.target} {named(n.args)} {named(n.kwargs)}" for n in self.nodes)
        return (shapes, self.first is None, steps)


@dataclass(frozen=True)
class Roles:
    """Which leaf is which operand, by index, and which recurrence it is."""

    leaves: Mapping[str, int]
    is_delta: bool
    first_is_last: bool
    """Whether states are the last axis of the state that it begins with."""


def is_split(node: Any, chunk: tuple[int, int]) -> bool:
    """Whether a tensor is one whose time was split into chunks."""
    if not is_call(node, aten.reshape.default):
        return False
    return axis_of(shape_of(node), shape_of(node.args[0]), chunk) is not None


def axis_of(parts: Sequence[Any], whole: Sequence[Any], chunk: tuple[int, int]) -> int | None:
    """The axis of a tensor that two adjacent ones of another are, by their sizes."""
    if len(parts) != len(whole) + 1:
        return None
    for axis in range(len(whole)):
        if (*parts[:axis], *parts[axis + 2 :]) != (*whole[:axis], *whole[axis + 1 :]):
            continue
        if tuple(parts[axis : axis + 2]) == chunk and whole[axis] == chunk[0] * chunk[1]:
            return axis
    return None


def region_of(end: Node, decays: Node, chunk: tuple[int, int], reached: set[Node]) -> Region | None:
    """What a tensor is computed of, back to tensors in chunks; None where that is no more."""
    inside: set[Node] = set()
    leaves: list[Node] = []
    others: list[Node] = []
    waiting = [end]
    while waiting:
        node = waiting.pop()
        if node in inside or node in leaves or node in others:
            continue
        if node is not end and is_split(node, chunk):
            leaves.append(node)
        elif is_call(node, *_COMPUTING, *_MAKING):
            inside.add(node)
            waiting += node.all_input_nodes
        else:
            others.append(node)
    order = [node for node in end.graph.nodes if node in inside]
    places = {node: index for index, node in enumerate(end.graph.nodes)}
    leaves = sorted((leaf for leaf in leaves if leaf is not decays), key=places.__getitem__)
    source = decays.args[0]
    shape, length = shape_of(source), chunk[0] * chunk[1]
    rank = len(shape)
    axes = [axis for axis in range(rank) if shape_of(decays)[axis : axis + 2] == chunk]
    if not axes or len(leaves) not in (3, 4) or len(others) > 1:
        return None
    found = [Leaf(leaf, leaf.args[0]) for leaf in leaves]
    if any(shape_of(leaf.source)[:-1] != shape for leaf in found):
        return None
    if shape_of(end)[:-1] != shape:
        return None
    elements = shape_of(end)[-1]
    counts = sorted(shape_of(leaf.source)[-1] for leaf in found)
    states = counts[-1] if counts.count(elements) == 1 and counts[-1] != elements else counts[0]
    if sorted([elements, *[states] * (len(found) - 1)]) != counts:
        return None
    axis = next(axis for axis in axes if shape[axis] == length)
    rows = (*shape[:axis], *shape[axis + 1 :])
    first = others[0] if others else None
    if first is not None and sorted(shape_of(first)) != sorted((*rows, elements, states)):
        return None
    leaf = Leaf(decays, source)
    return Region(
        end, tuple(order), leaf, tuple(found), first, frozenset(reached),
        axis, rows, length, elements, states,
    )  # fmt: skip


def roles_of(region: Region) -> Roles | None:
    """What a region computes; None where it is none of the recurrences that are known."""
    given = _given(region)
    try:
        found = _evaluated(region.nodes, given)[region.end]
    except Exception:  # noqa: BLE001 - of operations that f64 has not
        return None
    chunk = shape_of(region.decays.node)
    few = min(region.length, chunk[region.axis + 1] + _MORE)
    for roles in _candidates(region):
        for length in dict.fromkeys((few, region.length)):
            want, _ = _reference(region, roles, given, length)
            if not _is_close(found.narrow(region.axis, 0, length), want):
                break
        else:
            return roles
    return None


def same_as_last(region: Region, roles: Roles) -> list[tuple[Node, bool]]:
    """What else a model reads that is the state at the end, and whether elements come first."""
    shapes = [(*region.rows, region.elements, region.states)]
    shapes.append((*region.rows, region.states, region.elements))
    inside = set(region.nodes)
    inputs = {region.decays.node, *(leaf.node for leaf in region.leaves)}
    candidates = [
        node
        for node in region.end.graph.nodes
        if node in region.reached
        and shape_of(node) in shapes
        and any(user not in inside for user in node.users)
    ]
    if not candidates:
        return []
    given = _given(region)
    last = _reference(region, roles, given, region.length)[1]
    found = []
    for node in candidates:
        needed: set[Node] = set()
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each in needed or each in inputs or each is region.first:
                continue
            needed.add(each)
            waiting += each.all_input_nodes
        if not all(is_call(each, *_COMPUTING, *_MAKING) for each in needed):
            continue
        order = [each for each in region.end.graph.nodes if each in needed]
        value = _evaluated(order, given)[node]
        for want, is_elements_first in ((last, True), (last.transpose(-1, -2), False)):
            if value.shape == want.shape and _is_close(value, want):
                found.append((node, is_elements_first))
                break
    return found


def _given(region: Region) -> dict[Node, Tensor]:
    """Random numbers for what a region reads: decays, and what keeps states small."""
    make = torch.Generator().manual_seed(0)

    def random(node: Node) -> Tensor:
        return torch.randn(shape_of(node), generator=make, dtype=torch.float64)

    found = {leaf.node: random(leaf.node) * region.states**-0.5 for leaf in region.leaves}
    found[region.decays.node] = -random(region.decays.node).abs() * 0.5
    if region.first is not None:
        found[region.first] = random(region.first)
    return found


def _candidates(region: Region) -> Iterator[Roles]:
    is_delta = len(region.leaves) == 4
    names = ("x", "b", "c", "k") if is_delta else ("x", "b", "c")
    sizes = [shape_of(leaf.source)[-1] for leaf in region.leaves]
    for order in itertools.permutations(range(len(names))):
        leaves = dict(zip(names, order, strict=True))
        if sizes[leaves["x"]] != region.elements:
            continue
        if any(sizes[index] != region.states for name, index in leaves.items() if name != "x"):
            continue
        for is_last in (True, False) if region.first is not None else (True,):
            yield Roles(leaves, is_delta, is_last)


def _reference(
    region: Region, roles: Roles, given: Mapping[Node, Tensor], length: int
) -> tuple[Tensor, Tensor]:
    """What a recurrence gives, laid out as the region's end, and its last state."""
    axis = region.axis

    def rows(node: Node, source: Node) -> Tensor:
        """As [rows, length, ...]."""
        whole = given[node].reshape(shape_of(source)).narrow(axis, 0, length)
        whole = whole.movedim(axis, len(region.rows))
        return whole.reshape(-1, *whole.shape[len(region.rows) :])

    decays = rows(region.decays.node, region.decays.source)
    of = {
        name: rows(region.leaves[index].node, region.leaves[index].source)
        for name, index in roles.leaves.items()
    }
    first = None
    if region.first is not None:
        first = given[region.first]
        ends = (region.elements, region.states)
        if tuple(first.shape[-2:]) != (ends if roles.first_is_last else ends[::-1]):
            first = torch.full((*region.rows, *ends), torch.nan, dtype=torch.float64)
        elif not roles.first_is_last:
            first = first.transpose(-1, -2)
        first = first.reshape(-1, 1, *ends)
    y, last = _scanned(of, decays, first, roles.is_delta)
    y = y.reshape(*region.rows, length, region.elements).movedim(len(region.rows), axis)
    return y, last.reshape(*region.rows, region.elements, region.states)


def _scanned(
    of: Mapping[str, Tensor], decays: Tensor, first: Tensor | None, is_delta: bool
) -> tuple[Tensor, Tensor]:
    if not is_delta:
        x, b, c = (of[name][:, :, None] for name in ("x", "b", "c"))
        rate = torch.ones((1, 1), dtype=torch.float64)
        return scan(x, decays[:, :, None], rate, b, c, None, None, None, first, 0, 0)
    x, b, c, k = (of[name] for name in ("x", "b", "c", "k"))
    size = (len(x), x.shape[2], b.shape[2])
    state = x.new_zeros(size) if first is None else first[:, 0]
    found = []
    for t in range(x.shape[1]):
        state = state * decays[:, t, None, None].exp()
        # Of what the state knows there, beta is a factor of k; x has it already.
        known = (state * k[:, t, None]).sum(-1)
        state = state + (x[:, t] - known)[:, :, None] * b[:, t, None]
        found.append((state * c[:, t, None]).sum(-1))
    return torch.stack(found, 1)[:, :, None], state


def _evaluated(nodes: Any, given: Mapping[Node, Tensor]) -> dict[Node, Any]:
    values: dict[Node, Any] = dict(given)

    def wide(value: Any) -> Any:
        if isinstance(value, Node):
            return values[value]
        if isinstance(value, list | tuple):
            return type(value)(map(wide, value))
        return torch.float64 if value in _FLOATS else value

    with torch.no_grad():
        for node in nodes:
            if node not in values:
                kwargs = {name: wide(value) for name, value in node.kwargs.items()}
                if node.target in _MAKING and kwargs.get("dtype", False) is None:
                    kwargs["dtype"] = None if "like" in str(node.target) else torch.float64
                values[node] = node.target(*wide(tuple(node.args)), **kwargs)
    return values


def _is_close(found: Tensor, want: Tensor) -> bool:
    return bool((found - want).abs().max() <= _TOLERANCE * want.abs().max())
