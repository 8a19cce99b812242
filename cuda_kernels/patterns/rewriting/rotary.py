"""Rotary embeddings in the spellings of models, as the operators of `rotary_operator.py`.

A rotation is `x * cos + turned(x) * sin`; or its two halves, or the even and the odd elements, each
by itself and then joined; or a product of complex numbers. Pairs are beside each other or half a
head apart, before and after. The turn may be the opposite one, as NanoChat's is. Only a part of a
head may be turned, and joined with the rest. Tables have any dims that broadcast, are of 16 bits or
of f32, and as wide as what is turned or half so.

The spelling that has patterns of its own, of whole heads with tables [batch, length, dim], is left
to these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    alike,
    aten,
    calls,
    dtype_of,
    is_call,
    keeps_results,
    named,
    narrow,
    only_user,
    put,
    same,
    shape_of,
)
from cuda_kernels.patterns.rewriting.parts import EVEN, HIGH, LOW, ODD, Part, part_of
from cuda_kernels.patterns.rewriting.rotary_operator import ROTARY, ROTARY_BY_POSITION

_SWAP = [0, 2, 1, 3]


@dataclass(frozen=True, slots=True)
class _Rotation:
    """What is turned, by which tables, and where the elements of pairs are."""

    x: Node
    cos: Node
    sin: Node
    pairs_in: bool
    pairs_out: bool
    is_usual: bool = False
    """Whether it is the spelling that has patterns of its own."""


def write_rotary(program: torch.export.ExportedProgram, dtype: torch.dtype) -> None:
    """Write the rotations of tensors of a type as calls of one operator."""
    graph = program.graph
    kinds = aten.add.Tensor, aten.sub.Tensor, aten.cat.default, aten.reshape.default
    for node in calls(graph, *kinds):
        if node.users:
            found = _rotation(node)
            if found is not None and not (found.is_usual and not _is_part(node, found)):
                _write(node, found, dtype)


_RULES = {
    name: keeps_results(partial(write_rotary, dtype=dtype))
    for name, dtype in (
        ("f32", torch.float32),
        ("f16", torch.float16),
        ("bf16", torch.bfloat16),
    )
}


def rule_for(dtype: str) -> Callable[[torch.export.ExportedProgram], None]:
    """The rule for an element type; the same one each time."""
    return _RULES[dtype]


def usual_rotation(node: Node) -> Node | None:
    """What is turned in the spelling that has patterns of its own; None of anything else."""
    found = _rotation(node) if is_call(node, aten.add.Tensor) else None
    return found.x if found is not None and found.is_usual else None


def _rotation(node: Node) -> _Rotation | None:
    if is_call(node, aten.add.Tensor, aten.sub.Tensor):
        return _as_sum(node)
    if is_call(node, aten.cat.default):
        parts = node.args[0]
        is_last = named(node)["dim"] == len(shape_of(node)) - 1
        if is_last and isinstance(parts, list | tuple) and len(parts) == 2:
            return _as_parts(node, parts, pairs_out=False)
        return None
    stacked = _stacked(node)
    if stacked is not None:
        return _as_parts(node, stacked, pairs_out=True)
    return _as_complex(node)


def _stacked(node: Node) -> tuple[Any, Any] | None:
    """Two tensors whose elements alternate in the last axis."""
    source = node.args[0] if is_call(node, aten.reshape.default) else None
    if not is_call(source, aten.stack.default, aten.cat.default) or not isinstance(source, Node):
        return None
    shape, parts = shape_of(source), source.args[0]
    if not isinstance(parts, list | tuple) or len(parts) != 2:
        return None
    if named(source)["dim"] != len(shape) - 1 or not same(shape[-1], 2):
        return None
    if not same(shape_of(node), (*shape[:-2], shape[-2] * 2)):
        return None
    if is_call(source, aten.stack.default):
        return parts[0], parts[1]
    if all(is_call(part, aten.unsqueeze.default) for part in parts):
        return parts[0].args[0], parts[1].args[0]
    return None


# -- x * cos + turned(x) * sin


def _as_sum(node: Node) -> _Rotation | None:
    if named(node)["alpha"] != 1:
        return None
    is_sum = node.target is aten.add.Tensor
    for straight, crossed in _terms(node):
        for x, cos in _factors(straight):
            for turned, sin in _factors(crossed):
                found = _turned(turned)
                if found is None or found[0] is not narrow(x):
                    continue
                base, are_pairs, is_opposite = found
                if is_opposite == is_sum:
                    sin = Writer(node).call(aten.neg.default, sin)
                is_usual = is_sum and not (are_pairs or is_opposite)
                is_usual = is_usual and _is_usual(x, turned, cos, sin)
                return _Rotation(base, cos, sin, are_pairs, are_pairs, is_usual)
    return None


def _turned(node: Node) -> tuple[Node, bool, bool] | None:
    """What `(-b, a)` is of, and whether pairs are beside each other; whether it is `(b, -a)`."""
    node = narrow(node)
    parts, are_pairs = _stacked(node), True
    if parts is None and is_call(node, aten.cat.default) and len(node.args[0]) == 2:
        is_last = named(node)["dim"] == len(shape_of(node)) - 1
        parts, are_pairs = (tuple(node.args[0]) if is_last else None), False
    signs = [is_call(part, aten.neg.default) for part in parts or ()]
    if parts is None or sum(signs) != 1:
        return None
    b, a = (
        part_of(part.args[0] if sign else part) for part, sign in zip(parts, signs, strict=True)
    )
    wanted = (ODD, EVEN) if are_pairs else (HIGH, LOW)
    if a is None or b is None or a.base is not b.base or (b.which, a.which) != wanted:
        return None
    return a.base, are_pairs, signs[1]


def _is_usual(x: Node, turned: Node, cos: Node, sin: Node) -> bool:
    if not is_call(turned, aten.cat.default):  # a conversion of it, as in OLMo 2
        return False
    if not all(is_call(each, aten.slice.Tensor) for each in turned.args[0][1:]):
        return False
    tables = all(
        is_call(table, aten.unsqueeze.default)
        and table.args[1] == 1
        and dtype_of(table) == dtype_of(x)
        for table in (cos, sin)
    )
    return tables and narrow(x) is x


# -- (a * cos - b * sin, b * cos + a * sin), or with both signs changed


def _as_parts(node: Node, parts: Sequence[Any], *, pairs_out: bool) -> _Rotation | None:
    first, second = (_unwidened(each) for each in parts)
    kinds = aten.sub.Tensor, aten.add.Tensor
    is_opposite = is_call(second, kinds[0])
    if not is_call(first, kinds[is_opposite]) or not is_call(second, kinds[not is_opposite]):
        return None
    for left, right in _terms(first):
        for (a, cos), (b, sin) in product(_factors(left), _factors(right)):
            of_a, of_b = part_of(a), part_of(b)
            if of_a is None or of_b is None or of_a.base is not of_b.base:
                continue
            which = of_a.which, of_b.which
            if which not in ((LOW, HIGH), (EVEN, ODD)):
                continue
            if _is_second(second, of_a, of_b, cos, sin):
                if is_opposite:
                    sin = Writer(node).call(aten.neg.default, sin)
                return _halved(of_a.base, cos, sin, which == (EVEN, ODD), pairs_out)
    return None


def _is_second(second: Node, a: Part, b: Part, cos: Node, sin: Node) -> bool:
    """Whether a sum is `b * cos + a * sin`; the tables of both may be halves of one."""
    for of_b, of_a in _terms(second):
        for (x, cosine), (y, sine) in product(_factors(of_b), _factors(of_a)):
            if part_of(x) == b and part_of(y) == a and alike(cosine, cos) and alike(sine, sin):
                return True
    return False


def _terms(node: Node) -> list[tuple[Any, Any]]:
    """Both ways to read a sum; a difference has one."""
    one, other = (_unwidened(each) for each in node.args[:2])
    return [(one, other)] + ([(other, one)] if node.target is aten.add.Tensor else [])


def _halved(x: Node, cos: Node, sin: Node, pairs_in: bool, pairs_out: bool) -> _Rotation | None:
    is_half = same(shape_of(cos)[-1] * 2, shape_of(x)[-1])
    return _Rotation(x, cos, sin, pairs_in, pairs_out) if is_half else None


# -- view_as_real(view_as_complex(x) * angles)


def _as_complex(node: Node) -> _Rotation | None:
    real = node.args[0] if is_call(node, aten.reshape.default) else None
    if not is_call(real, aten.view_as_real.default) or not isinstance(real, Node):
        return None
    shape, product = shape_of(real), real.args[0]
    if not same(shape_of(node), (*shape[:-2], shape[-2] * 2)):
        return None
    if not is_call(product, aten.mul.Tensor) or not isinstance(product, Node):
        return None
    for x, angles in (product.args[:2], product.args[1::-1]):
        pairs = x.args[0] if is_call(x, aten.view_as_complex.default) else None
        if not is_call(pairs, aten.reshape.default) or not isinstance(angles, Node):
            continue
        source = narrow(pairs.args[0])  # type: ignore[union-attr]
        wanted = shape_of(source)
        if wanted and same(shape_of(pairs), (*wanted[:-1], wanted[-1] // 2, 2)):
            write = Writer(product)
            both = write.call(aten.view_as_real.default, angles)
            last = len(shape_of(both)) - 1
            cos, sin = (write.call(aten.select.int, both, last, which) for which in (0, 1))
            return _Rotation(source, cos, sin, True, True)
    return None


# -- what all of them have


def _unwidened(value: Any) -> Any:
    return narrow(value) if isinstance(value, Node) else value


def _factors(node: Any) -> list[tuple[Node, Node]]:
    """Both ways to read a product of two tensors."""
    if not is_call(node, aten.mul.Tensor):
        return []
    one, other = node.args[:2]
    if not isinstance(one, Node) or not isinstance(other, Node):
        return []
    return [(one, other), (other, one)]


def _is_part(node: Node, found: _Rotation) -> bool:
    return _joined(node, found.x) is not None


def _joined(node: Node, x: Node) -> tuple[Node, Node] | None:
    """Where what is turned is the first part of heads: the whole result, and the whole heads."""
    user = only_user(node)
    if not is_call(x, aten.slice.Tensor) or user is None or not is_call(user, aten.cat.default):
        return None
    parts, given = user.args[0], named(x)
    whole = given["self"]
    last = len(shape_of(x)) - 1
    if not isinstance(parts, list | tuple) or len(parts) != 2 or parts[0] is not node:
        return None
    rest = parts[1]
    if named(user)["dim"] != last or (given["dim"], given["start"], given["step"]) != (last, 0, 1):
        return None
    if not is_call(rest, aten.slice.Tensor):
        return None
    other = named(rest)
    is_rest = (other["self"], other["dim"], other["step"]) == (whole, last, 1)
    if (
        not is_rest
        or other["start"] != shape_of(x)[-1]
        or not same(shape_of(user), shape_of(whole))
    ):
        return None
    return user, whole


def _write(node: Node, found: _Rotation, dtype: torch.dtype) -> None:
    x, last = found.x, node
    if dtype_of(last) == torch.float32 and dtype_of(x) != torch.float32:
        user = only_user(last)
        if user is None or not is_call(user, aten.to.dtype) or dtype_of(user) != dtype_of(x):
            return  # it goes on in f32
        last = user
    joined = _joined(last, x)
    if joined is not None:
        last, x = joined
    shape = shape_of(x)
    if dtype_of(x) != dtype or dtype_of(last) != dtype or len(shape) != 4:
        return
    count = shape_of(found.x)[-1]
    tables = [shape_of(each) for each in (found.cos, found.sin)]
    if not isinstance(count, int) or not same(tables[0], tables[1]) or not tables[0]:
        return
    if any(dtype_of(each) == torch.float64 for each in (found.cos, found.sin)):
        return
    sizes = (*[1] * (4 - len(tables[0])), *tables[0])
    is_by_position = _is_by_position(sizes, shape)
    if is_by_position is None:
        return
    write = Writer(last)
    length = shape[1] if is_by_position else shape[2]
    wanted = (sizes[0], length, count)
    cos, sin = (
        write.reshape(_whole_table(each, count, found, write), wanted, each, x)
        for each in (write.cast(found.cos, torch.float32), write.cast(found.sin, torch.float32))
    )
    layouts = int(found.pairs_in), int(found.pairs_out)
    if not is_by_position:
        if is_call(x, aten.permute.default) and list(x.args[1]) == _SWAP:
            put(last, write.call(ROTARY_BY_POSITION, x.args[0], cos, sin, *layouts))
        else:
            put(last, write.call(ROTARY, x, cos, sin, *layouts))
        return
    result = write.call(ROTARY_BY_POSITION, x, cos, sin, *layouts)
    for user in list(last.users):
        if is_call(user, aten.permute.default) and list(user.args[1]) == _SWAP:
            put(user, result)
    if last.users:
        put(last, write.permute(result, _SWAP))


def _is_by_position(sizes: tuple[Any, ...], shape: tuple[Any, ...]) -> bool | None:
    """Whether the second axis of x has positions, by the tables' sizes; None where neither does."""
    if not same(sizes[0], 1) and not same(sizes[0], shape[0]):
        return None
    if same(sizes[1], 1) and same(sizes[2], shape[2]):
        return False
    return True if same(sizes[2], 1) and same(sizes[1], shape[1]) else None


def _whole_table(table: Node, count: int, found: _Rotation, write: Writer) -> Node:
    """A table of as many numbers as are turned, in the order of the result."""
    if same(shape_of(table)[-1], count):
        return table
    last = len(shape_of(table)) - 1
    if not found.pairs_out:
        return write.call(aten.cat.default, [table, table], last)
    both = write.call(aten.stack.default, [table, table], last + 1)
    return write.reshape(both, (*shape_of(table)[:-1], count), both)
