"""Recurrences that models compute by chunks, as the operators of `scan_operator.py`.

Mamba 2 and gated delta rules take a sequence apart into chunks: products within a chunk, a state
from chunk to chunk, cumulative sums of decays. How differs from model to model, and there is no
single operation to know it by. So this looks for what is between tensors in chunks and the tensor
that is whole again, tries which recurrence it computes with random numbers in f64, and believes no
names. All of it is polynomials and exponentials of sums: what agrees there agrees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.chunk_values import (
    Region,
    Roles,
    axis_of,
    is_split,
    region_of,
    roles_of,
    same_as_last,
)
from cuda_kernels.patterns.rewriting.factors import Factor, Labels, factors_of
from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    dtype_of,
    is_call,
    named,
    put,
    shape_of,
)
from cuda_kernels.patterns.rewriting.scan_writing import STATE, TIME, Scan, without, write_scan

_ELEMENT = ("element",)
_PADS = (aten.pad.default, aten.constant_pad_nd.default)


def write_chunks(graph: torch.fx.Graph) -> list[Scan]:
    """Write what is computed by chunks as scans."""
    known: dict[Any, Roles | None] = {}
    found = []
    for node in calls(graph, aten.cumsum.default):
        if not node.users or not _is_in_steps(node):
            continue
        for region in _regions(node):
            scan = _written(region, known)
            if scan is not None:
                found.append(scan)
                break
    return found


def _is_in_steps(node: Node) -> bool:
    return dtype_of(node) in (torch.float32, torch.float64)


def _regions(node: Node) -> Iterator[Region]:
    """What a cumulative sum of decays within chunks may be a part of."""
    split = _split_of(node)
    if split is None:
        return
    decays, chunk = split
    reached, waiting = {node}, [node]
    while waiting:
        for user in waiting.pop().users:
            if user not in reached:
                reached.add(user)
                waiting.append(user)
    for end in node.graph.nodes:
        if end in reached and _joins(end, chunk):
            region = region_of(end, decays, chunk, reached)
            if region is not None:
                yield region
            return


def _split_of(node: Node) -> tuple[Node, tuple[int, int]] | None:
    """The tensor in chunks that is summed, and how many chunks there are of which size."""
    source, axis = node.args[0], named(node)["dim"]
    while is_call(source, aten.permute.default):
        source, axis = source.args[0], source.args[1][axis]
    shape = shape_of(source)
    if axis == 0 or not all(isinstance(size, int) for size in shape):
        return None
    for before in (axis - 1,):
        chunk = shape[before], shape[axis]
        if is_split(source, chunk):
            return source, chunk
    return None


def _joins(node: Node, chunk: tuple[int, int]) -> bool:
    if not is_call(node, aten.reshape.default):
        return False
    return axis_of(shape_of(node.args[0]), shape_of(node), chunk) is not None


@dataclass(frozen=True)
class _Sequences:
    """The operands of a recurrence as factors, for each step that the model was given."""

    length: int
    of: Mapping[str, list[Factor]]


def _written(region: Region, known: dict[Any, Roles | None]) -> Scan | None:
    key = region.key()
    if key not in known:
        known[key] = roles_of(region)
    roles = known[key]
    if roles is None:
        return None
    axis, rank = region.axis, len(region.rows) + 1
    rows: Labels = tuple(("row", index) for index in range(rank - 1))
    timed = (*rows[:axis], TIME, *rows[axis:])
    features = {"x": _ELEMENT, "b": STATE, "c": STATE, "k": STATE}
    names = {name: region.leaves[index] for name, index in roles.leaves.items()}
    found = _sequences(
        {
            name: Factor(leaf.source, timed if name == "rates" else (*timed, features[name]))
            for name, leaf in {**names, "rates": region.decays}.items()
        },
        region.length,
    )
    of = dict(found.of)
    beta = None
    if roles.is_delta:
        # b is what the state is asked for and k what is put there: beta * b.
        beta = without(of["k"], of["b"])
        if not beta or any(STATE in each.axes for each in beta):
            return None
        if any(each not in of["x"] for each in beta) or len(of["k"]) != len(of["b"]) + len(beta):
            return None
        of["x"] = without(of["x"], beta)
    sizes = {
        **dict(zip(rows, region.rows, strict=True)),
        TIME: found.length,
        _ELEMENT: region.elements,
        STATE: region.states,
    }
    axes = (*rows, _ELEMENT, STATE)
    first = None
    if region.first is not None:
        first = Factor(region.first, axes if roles.first_is_last else (*rows, STATE, _ELEMENT))
    last = same_as_last(region, roles)
    scan = Scan(
        None, axes, sizes, of["rates"], False, [*of["x"], *of["b"]], first, of["c"], STATE,
        (*timed, _ELEMENT), dtype_of(region.end), beta, of["b"] if roles.is_delta else None,
    )  # fmt: skip
    write = Writer(region.end)
    if not write_scan(write, scan):
        return None
    for node, is_elements_first in last:
        order = [*range(len(rows)), *((-2, -1) if is_elements_first else (-1, -2))]
        order = [each % len(axes) for each in order]
        moved = write.permute(scan.last, order)
        node.replace_all_uses_with(write.cast(moved, dtype_of(node)))
    _put(write, region, scan, found.length)
    return scan


def _sequences(sources: Mapping[str, Factor], length: int) -> _Sequences:
    whole = {name: factors_of(factor) for name, factor in sources.items()}
    shorter = {name: _unpadded(factors) for name, factors in whole.items()}
    lengths = {
        shape_of(factor.node)[factor.labels.index(TIME)]
        for factors in shorter.values()
        for factor in factors
        if TIME in factor.labels
    }
    if len(lengths) == 1:
        return _Sequences(lengths.pop(), shorter)
    return _Sequences(length, whole)


def _unpadded(factors: Sequence[Factor]) -> list[Factor]:
    found = []
    for factor in factors:
        source = _before_padding(factor.node, factor.labels)
        found += [factor] if source is None else factors_of(Factor(source, factor.labels))
    return found


def _before_padding(node: Node, labels: Labels) -> Node | None:
    """What was padded with zeros behind the end of time."""
    if not is_call(node, *_PADS) or TIME not in labels:
        return None
    given = named(node)
    before, pads = shape_of(node.args[0]), list(given["pad"])
    behind = len(labels) - 1 - labels.index(TIME)
    is_of_zeros = given.get("mode", "constant") == "constant" and not given["value"]
    is_of_time = all(not count or place == 2 * behind + 1 for place, count in enumerate(pads))
    is_longer = all(count >= 0 for count in pads) and len(before) == len(labels)
    source = node.args[0]
    return source if is_of_zeros and is_of_time and is_longer else None


def _put(write: Writer, region: Region, scan: Scan, length: int) -> None:
    """Let a scan's result stand for what was computed by chunks, which may be longer."""
    end, axis = region.end, region.axis
    y = write.cast(scan.y, dtype_of(end))
    if length == region.length:
        put(end, y)
        return
    for user in list(end.users):
        if _shortens(user, axis, length):
            put(user, y)
            continue
        other = _added(user, end)
        if other is None or not all(_shortens(each, axis, length) for each in user.users):
            continue
        writer = Writer(user)
        shorter = _shortened(writer, other, scan.labels, length)
        added = writer.call(aten.add.Tensor, y, shorter, alpha=1)
        for each in list(user.users):
            put(each, added)
    if end.users:
        # Nothing is read from the state behind the end.
        behind = len(shape_of(end)) - 1 - axis
        more = [0] * (2 * behind + 1) + [region.length - length]
        put(end, write.call(aten.constant_pad_nd.default, y, more, 0.0))


def _shortens(node: Node, axis: int, length: int) -> bool:
    if not is_call(node, aten.slice.Tensor):
        return False
    given = named(node)
    return (given["dim"], given["start"], given["end"], given["step"]) == (axis, 0, length, 1)


def _added(user: Node, end: Node) -> Node | None:
    if not is_call(user, aten.add.Tensor) or user.kwargs.get("alpha", 1) != 1:
        return None
    others = [each for each in user.args[:2] if each is not end]
    return others[0] if len(others) == 1 and isinstance(others[0], Node) else None


def _shortened(write: Writer, node: Node, labels: Labels, length: int) -> Node:
    """The steps that the model was given of what is padded."""
    source = _before_padding(node, labels) if len(shape_of(node)) == len(labels) else None
    if source is not None:
        return source
    if is_call(node, aten.mul.Tensor) and all(isinstance(each, Node) for each in node.args[:2]):
        both = [_shortened(write, each, labels, length) for each in node.args[:2]]
        return write.call(aten.mul.Tensor, *both)
    behind = len(labels) - 1 - labels.index(TIME)
    shape = shape_of(node)
    if len(shape) <= behind or shape[len(shape) - 1 - behind] == 1:
        return node
    return write.call(aten.slice.Tensor, node, len(shape) - 1 - behind, 0, length, 1)
