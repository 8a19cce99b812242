"""Attention that reads what projections leave, [batch, positions, heads, dim], where it lies so.

Models put heads before positions for PyTorch's attention, and back for the next projection. Where
all of queries, keys and values are only transposed for it, or turned by rotary embeddings as well,
nothing has to be: the kernels read heads of a position beside each other as quickly. Keys and
values that a model also keeps by heads, as caches do, stay there, and so does a single query.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.attention import ATTENTION, MOST_DIM
from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    dtype_of,
    is_call,
    keeps_results,
    named,
    only_user,
    put,
    same,
    shape_of,
)
from cuda_kernels.patterns.rewriting.layout_operator import ATTENTION_BSHD
from cuda_kernels.patterns.rewriting.masks import LOWEST
from cuda_kernels.patterns.rewriting.parts_of_products import (
    columns_of,
    take_apart,
    write_plain_views,
)
from cuda_kernels.patterns.rewriting.rotary import usual_rotation
from cuda_kernels.patterns.rewriting.rotary_operator import ROTARY, ROTARY_BY_POSITION
from cuda_kernels.patterns.rewriting.weights import write_linear

SWAP = [0, 2, 1, 3]
"""Heads before positions, or after them."""


@keeps_results
def write_layout(program: torch.export.ExportedProgram) -> None:
    """Write attention of transposed operands as that of operands by position."""
    write_linear(program)
    write_plain_views(program)
    for call in calls(program.graph, ATTENTION):
        if _is_by_position(call):
            for operand in call.args[:3]:
                if is_call(operand, ROTARY):
                    _turn(operand)
            _take_apart(call, program)
            _write(call)


def _is_by_position(call: Node) -> bool:
    """Whether every operand lies by position, and there are kernels for the call."""
    given = named(call)
    operands = [given[name] for name in ("query", "key", "value")]
    if not all(isinstance(each, Node) and len(shape_of(each)) == 4 for each in operands):
        return False
    if not all(only_user(each) is call and _lies_by_position(each) for each in operands):
        return False
    types = {dtype_of(each) for each in operands}
    if len(types) != 1 or not types <= LOWEST.keys() or given["dropout_p"] != 0:
        return False
    q, k, v = map(shape_of, operands)
    heads, kv_heads, *dims = numbers = (q[1], k[1], q[3], v[3])
    if not all(isinstance(each, int) for each in numbers) or max(dims) > MOST_DIM:
        return False
    if v[1] != kv_heads or heads % kv_heads or (heads != kv_heads and not given["enable_gqa"]):
        return False
    if same(q[2], 1) or not all(same(q[0], each[0]) for each in (k, v)) or not same(k[2], v[2]):
        return False
    return _takes_mask(given["attn_mask"], given["is_causal"], (*q[:3], k[2]), *types)


def _takes_mask(mask: Any, causal: bool, sizes: tuple[Any, ...], dtype: Any) -> bool:
    if mask is None:
        return True
    shape = shape_of(mask)
    if causal or len(shape) != 4 or not same(shape[3], sizes[3]):
        return False
    if dtype_of(mask) not in (torch.bool, dtype):
        return False
    return all(same(own, 1) or same(own, of) for own, of in zip(shape, sizes, strict=True))


def _lies_by_position(node: Node) -> bool:
    """Whether a tensor [batch, heads, positions, dim] is only transposed, or turned too."""
    if is_call(node, aten.permute.default) and list(node.args[1]) == SWAP:
        return True
    if is_call(node, ROTARY_BY_POSITION):
        return True
    x = node.args[0] if is_call(node, ROTARY) else usual_rotation(node)
    if isinstance(x, Node):
        return _lies_by_position(x)
    return columns_of(node, by_position=False) is not None


def _turn(rotation: Node) -> None:
    """Let a rotation by heads be one by position."""
    x, *given = rotation.args
    write = Writer(rotation)
    put(rotation, write.call(ROTARY_BY_POSITION, write.permute(x, SWAP), *given))


def _take_apart(call: Node, program: torch.export.ExportedProgram) -> None:
    """Let operands that are parts of one product be products of their own."""
    given, parts = named(call), []
    for node in (given[name] for name in ("query", "key", "value")):
        is_turned = is_call(node, ROTARY_BY_POSITION)
        source = node.args[0] if is_turned else usual_rotation(node) or node
        parts.append(columns_of(source, by_position=is_turned))
    found = [part for part in parts if part is not None]
    for base in dict.fromkeys(part.base for part in found):
        take_apart([part for part in found if part.base is base], program)


def _write(call: Node) -> None:
    write, given = Writer(call), named(call)
    q, k, v = (write.permute(given[name], SWAP) for name in ("query", "key", "value"))
    scale = given["scale"]
    scale = float(shape_of(q)[3] ** -0.5) if scale is None else scale
    result = write.call(ATTENTION_BSHD, q, k, v, given["attn_mask"], scale, given["is_causal"])
    for user in list(call.users):
        if is_call(user, aten.permute.default) and list(user.args[1]) == SWAP:
            put(user, result)
    put(call, write.permute(result, SWAP))
