"""Scans as calls of their operators: which axes are batch, heads and elements.

An axis that the rates or the sizes of steps have, and what is read and written does not, is of
heads; one that neither has is of elements. What models do with a scan's result goes with it: `+ d *
x`, `* silu(z)` and a rounding.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.factors import (
    Factor,
    Label,
    Labels,
    broadcast,
    factors_of,
    product,
    through,
)
from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    dtype_of,
    is_call,
    named,
    only_user,
    put,
    same,
    shape_of,
)
from cuda_kernels.patterns.rewriting.scan_operator import DELTA_SCAN, SELECTIVE_SCAN

TIME: Label = ("time",)
STATE: Label = ("state",)
_SHORT = (torch.float16, torch.bfloat16)


@dataclass
class Scan:
    """A recurrence `state = exp(rates) * state + added`, by factors, and what is read from it."""

    state: Node | None
    """The last step's."""
    axes: Labels
    """Those of a state."""
    sizes: dict[Label, Any]
    rates: list[Factor]
    is_plain: bool
    """Whether the rates are factors themselves, and not their logarithms."""
    added: list[Factor]
    first: Factor | None
    reads: list[Factor] | None = None
    """What a state is multiplied by, before it is summed over an axis."""
    summed: Label = STATE
    labels: Labels = ()
    """Those of the result."""
    result: torch.dtype | None = None
    """The element type of the result."""
    beta: list[Factor] | None = None
    """Of the delta rule."""
    into: list[Factor] | None = None
    """What is put into the states, of `added`; None for the factors that have their axis."""
    skip: list[Factor] | None = None
    gate: Factor | None = None
    y: Node | None = None
    last: Node | None = None


@dataclass(frozen=True)
class _Roles:
    """What the axes of a scan are, and which factors are which operand."""

    batch: list[Label]
    groups: list[Label]
    heads: list[Label]
    elements: list[Label]
    dt: list[Factor]
    a: list[Factor]
    x: list[Factor]
    b: list[Factor]
    c: list[Factor]
    times_dt: bool
    repeats: int
    """How many adjacent heads read the same; 1 where heads of groups are an axis of their own."""


def write_scan(write: Writer, scan: Scan) -> bool:
    """Write a scan, its `y` and `last`; False where it is none that a kernel takes."""
    roles = _roles(scan) if scan.reads is not None else _of_one_state(scan)
    if roles is None:
        return False
    sizes = {**scan.sizes, STATE: 1} if scan.reads is None else scan.sizes
    _emit(write, scan, roles, sizes, _type_of(scan, roles, scan.result))
    return True


def _type_of(scan: Scan, roles: _Roles, result: torch.dtype | None) -> torch.dtype:
    """The type of a kernel: 16 bits where nothing of more has to be rounded for it."""
    operands = [roles.x, roles.b, roles.c, [scan.gate] if scan.gate else []]
    types = {dtype_of(each[0].node) for each in operands if each}
    is_short = result in _SHORT and types == {result}
    return result if is_short and all(len(each) < 2 for each in operands) else torch.float32


def _emit(
    write: Writer, scan: Scan, roles: _Roles, sizes: Mapping[Label, Any], dtype: torch.dtype
) -> None:
    groups = [*roles.groups, *roles.heads]
    state: Label = STATE if scan.reads is None else scan.summed
    batch, wide = roles.batch, torch.float32
    sequence = [batch, [TIME], groups, roles.elements]
    x = product(write, roles.x, sequence, sizes, dtype)
    dt = product(write, roles.dt, [batch, [TIME], groups], sizes, wide)
    has_states = any(state in factor.axes for factor in roles.a)
    a = product(write, roles.a, [groups, [state] if has_states else []], sizes, wide)
    b, c = (
        _read(write, factors, roles, [batch, [TIME], roles.groups, [state]], sizes, dtype)
        for factors in (roles.b, roles.c)
    )
    first = None
    if scan.first is not None:
        order = [batch, groups, roles.elements, [state]]
        first = product(write, [scan.first], order, sizes, wide)
    if scan.beta is None:
        if scan.skip is None:
            d = write.call(aten.zeros.default, write.sizes((dt,), shape_of(dt)[2:]), dtype=wide)
        else:
            d = product(write, scan.skip, [groups], sizes, wide)
        z = None if scan.gate is None else product(write, [scan.gate], sequence, sizes, dtype)
        given: tuple[Any, ...] = (d, z, first, int(roles.times_dt), int(scan.is_plain))
        both = write.call(SELECTIVE_SCAN, x, dt, a, b, c, *given)
    else:
        beta = product(write, scan.beta, [batch, [TIME], groups], sizes, wide)
        both = write.call(DELTA_SCAN, x, dt, a, b, c, beta, first, int(scan.is_plain))
    y, last = (write.item(both, index) for index in (0, 1))
    has = [*batch, TIME, *groups, *roles.elements]
    scan.y = _arranged(write, y, has, scan.labels, sizes, (x, y))
    has = [*batch, *groups, *roles.elements, state]
    last = _arranged(write, last, has, scan.axes, sizes, (x, last))
    scan.last = last if scan.state is None else write.cast(last, dtype_of(scan.state))


def _read(
    write: Writer,
    factors: Sequence[Factor],
    roles: _Roles,
    order: Sequence[Sequence[Label]],
    sizes: Mapping[Label, Any],
    dtype: torch.dtype,
) -> Node:
    """An operand of states; of grouped heads, one of them each."""
    if roles.repeats == 1:
        return product(write, factors, order, sizes, dtype)
    inner = [Factor(factor.node.args[0], factor.labels) for factor in factors]
    (head,) = roles.groups
    return product(write, inner, order, {**sizes, head: sizes[head] // roles.repeats}, dtype)


def _arranged(
    write: Writer,
    node: Node,
    has: Sequence[Label],
    wanted: Labels,
    sizes: Mapping[Label, Any],
    like: Sequence[Node],
) -> Node:
    """A tensor whose axes are in an order; those that are not wanted are of size 1."""
    kept = [label for label in has if label in wanted]
    node = write.reshape(node, [sizes[label] for label in kept], *like)
    order = [label for label in wanted if label in kept]
    node = write.permute(node, [kept.index(label) for label in order])
    return write.reshape(node, [sizes[each] if each in kept else 1 for each in wanted], *like)


def _axes(factors: Sequence[Factor]) -> set[Label]:
    return {axis for factor in factors for axis in factor.axes}


def _roles(scan: Scan) -> _Roles | None:
    state = scan.summed
    a = [factor for factor in scan.rates if state in factor.axes]
    dt = [factor for factor in scan.rates if state not in factor.axes]
    b = scan.into or [factor for factor in scan.added if state in factor.axes]
    u = without(scan.added, b)
    c = list(scan.reads or ())
    if not b or not c or TIME in _axes(a) or (scan.is_plain and a):
        return None
    reading = (_axes(b) | _axes(c)) - {state, TIME}
    rest = [axis for axis in scan.axes if axis != state]
    if not scan.is_plain:
        # Of channels alone, they are rates.
        fixed = [each for each in dt if TIME not in each.axes and not each.axes & reading]
        a, dt = [*a, *fixed], [each for each in dt if each not in fixed]
    timed, rates = _axes(dt) - {TIME}, _axes(a) - {state}
    batch: list[Label] = []
    groups: list[Label] = []
    heads: list[Label] = []
    elements: list[Label] = []
    for axis in rest:
        if axis in reading:
            (groups if axis in rates else batch).append(axis)
        elif axis in timed or axis in rates:
            heads.append(axis)
        else:
            elements.append(axis)
    if not groups and len(batch) > 1 and batch[-1] in timed:
        groups.append(batch.pop())
    if rates & set(batch) or not reading <= {*batch, *groups}:
        return None
    # A head that is not in step sizes is one of elements; the order of what is left is kept.
    is_timed = dt and all(_contains(u, each) for each in dt) and scan.beta is None
    x = without(u, dt) if is_timed and not scan.is_plain else u
    roles = _Roles(batch, groups, heads, elements, dt, a, x, b, c, x is not u, 1)
    return _grouped(roles)


def _grouped(roles: _Roles) -> _Roles:
    """Heads that are repeated for what they read are taken once."""
    if len(roles.groups) != 1 or roles.heads:
        return roles
    (head,) = roles.groups
    counts = {_repeats(factor, head) for factor in (*roles.b, *roles.c)}
    if len(counts) != 1 or None in counts:
        return roles
    return _Roles(**{**vars(roles), "repeats": counts.pop()})


def _repeats(factor: Factor, head: Label) -> int | None:
    if head not in factor.axes or not is_call(factor.node, aten.repeat_interleave.self_int):
        return None
    given = named(factor.node)
    count = given["repeats"]
    return count if factor.labels[given["dim"]] == head and isinstance(count, int) else None


def _of_one_state(scan: Scan) -> _Roles | None:
    """A scan whose states are all of it: elementwise, as heads of one element with one state."""
    if scan.beta is not None:
        return None
    longest = max(scan.added, key=lambda factor: len(factor.labels))
    if TIME in longest.labels:
        at = longest.labels.index(TIME)
        before = {label for label in longest.labels[:at] if label in scan.axes}
    else:
        before = set()
    batch = [axis for axis in scan.axes if axis in before]
    heads = [axis for axis in scan.axes if axis not in before]
    return _Roles(batch, [], heads, [], scan.rates, [], scan.added, [], [], False, 1)


def _contains(factors: Sequence[Factor], wanted: Factor) -> bool:
    return wanted in factors


def without(factors: Sequence[Factor], taken: Sequence[Factor]) -> list[Factor]:
    """The factors that are left of a product divided by some of them."""
    left = Counter(factors)
    left.subtract(Counter(taken))
    return list(itertools.chain.from_iterable([each] * count for each, count in left.items()))


# -- what follows a scan


def finish(scan: Scan) -> None:
    """Take what models do with a scan's result into the scan."""
    node, labels = scan.y, scan.labels
    if node is None or scan.reads is None:
        return
    roles = _roles(scan)
    if roles is None:
        return
    old, end, of_end = scan.last, node, labels
    while True:
        user = only_user(node)
        after = None if user is None else _after(scan, roles, node, labels, user)
        if user is None or after is None:
            break
        node, labels = user, after
        absorbs = not is_call(node, aten.permute.default)
        if absorbs:
            end, of_end = node, labels
    if end is scan.y or _depends(scan, old):
        return
    write = Writer(end)
    result = dtype_of(end)
    scan.labels = of_end
    _emit(write, scan, roles, scan.sizes, _type_of(scan, roles, result))
    if old is not None and scan.last is not None:
        old.replace_all_uses_with(scan.last)
    for user in list(end.users):
        if is_call(user, aten.permute.default):
            put(user, write.cast(write.permute(scan.y, user.args[1]), result))
    if end.users:
        put(end, write.cast(scan.y, result))


def _depends(scan: Scan, last: Node | None) -> bool:
    """Whether what would go into a scan is computed from the state that it ends with."""
    if last is None or not last.users:
        return False
    extra = [*(scan.skip or ()), *([scan.gate] if scan.gate else [])]
    waiting, seen = [factor.node for factor in extra], set()
    while waiting:
        each = waiting.pop()
        if each is last:
            return True
        if each not in seen:
            seen.add(each)
            waiting += each.all_input_nodes
    return False


def _after(scan: Scan, roles: _Roles, node: Node, labels: Labels, user: Node) -> Labels | None:
    """The labels of what reads a result, if that can be a part of the scan; it is noted there."""
    if is_call(user, aten.permute.default):
        return tuple(labels[axis] for axis in user.args[1])
    if is_call(user, aten.to.dtype):
        return labels if dtype_of(user) in (torch.float32, *_SHORT) else None
    if is_call(user, aten.squeeze.dim, aten.unsqueeze.default, aten.select.int):
        return _other_axes(node, labels, user)
    if not is_call(user, aten.add.Tensor, aten.mul.Tensor) or scan.beta is not None:
        return None
    others = [each for each in user.args[:2] if each is not node]
    if len(others) != 1 or not isinstance(others[0], Node):
        return None
    if len(shape_of(user)) != len(labels) or not same(shape_of(user), shape_of(node)):
        return None
    rank = len(shape_of(others[0]))
    other = through(Factor(others[0], broadcast(others[0], labels[len(labels) - rank :])))
    if is_call(user, aten.mul.Tensor):
        if scan.gate is not None or not is_call(other.node, aten.silu.default):
            return None
        scan.gate = through(Factor(other.node.args[0], other.labels))
        return labels
    if scan.skip is not None or scan.gate is not None or user.kwargs.get("alpha", 1) != 1:
        return None
    factors = factors_of(other)
    if any(each not in factors for each in roles.x):
        return None
    rest = without(factors, roles.x)
    if not _axes(rest) <= {*roles.groups, *roles.heads}:
        return None
    scan.skip = rest
    return labels


def _other_axes(node: Node, labels: Labels, user: Node) -> Labels | None:
    axis = named(user)["dim"]
    if is_call(user, aten.unsqueeze.default):
        return (*labels[:axis], None, *labels[axis:])
    if not same(shape_of(node)[axis], 1) or len(shape_of(user)) == len(labels):
        return None
    return (*labels[:axis], *labels[axis + 1 :])
