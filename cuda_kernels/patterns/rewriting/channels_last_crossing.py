"""What transpositions of images cross: operators, and what these are of channels-last images.

Each function takes a call of its operator. If the operands are images that were channels last
before, it writes the same of those, and a transposition of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting import channels_last_operators as operators
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

TYPES = (torch.float32, torch.float16, torch.bfloat16)
"""Of images that there are kernels for."""
_ACTIVATIONS: dict[Any, Callable[[dict[str, Any]], tuple[int, float] | None]] = {
    aten.relu.default: lambda _: (1, 0.0),
    aten.silu.default: lambda _: (2, 0.0),
    aten.gelu.default: lambda given: (4 if given["approximate"] == "tanh" else 3, 0.0),
    aten.relu6.default: lambda _: (5, 0.0),
    aten.hardtanh.default: lambda given: (
        (5, 0.0) if (given["min_val"], given["max_val"]) == (0, 6) else None
    ),
    aten.hardswish.default: lambda _: (6, 0.0),
    aten.hardsigmoid.default: lambda _: (7, 0.0),
    aten.sigmoid.default: lambda _: (8, 0.0),
    aten.leaky_relu.default: lambda given: (9, float(given["negative_slope"])),
}
_LARGEST_WINDOW = 256
"""Numbers that one thread adds up in pooling; larger windows are means over positions."""


def activation_of(node: Node) -> tuple[int, float] | None:
    """The number of an activation in kernels, and its slope; None of anything else."""
    found = _ACTIVATIONS.get(node.target) if node.op == "call_function" else None
    return None if found is None else found(named(node))


def _marked(node: Node) -> Node:
    if is_call(node, aten.permute.default):
        node.meta["channels_last"] = True
    return node


def to_last(write: Writer, x: Node, wide: int | None = None) -> Node:
    """Images [n, c, ...] as [n, ..., c], with zeros behind their channels up to `wide` of them."""
    rank = len(shape_of(x))
    found = _marked(write.permute(x, [0, *range(2, rank), 1]))
    if wide is not None and wide != shape_of(x)[1]:
        found = write.call(aten.constant_pad_nd.default, found, [0, wide - shape_of(x)[1]], 0.0)
        found.meta["channels_last"] = True
    return found


def to_first(write: Writer, x: Node) -> Node:
    """Images [n, ..., c] as [n, c, ...]."""
    rank = len(shape_of(x))
    return _marked(write.permute(x, [0, rank - 1, *range(1, rank - 1)]))


def _before(value: Any) -> Node | None:
    """What images [n, c, ...] were channels last."""
    if not is_call(value, aten.permute.default):
        return None
    source, order = value.args[:2]
    rank = len(order)
    is_own = rank == 4 or "channels_last" in value.meta
    is_first = is_own and rank > 2 and list(order) == [0, rank - 1, *range(1, rank - 1)]
    return source if is_first and isinstance(source, Node) else None


def _permute(node: Node) -> None:
    source = node.args[0]
    if is_call(source, aten.permute.default) and "channels_last" in (
        source.meta.keys() | node.meta.keys()
    ):
        found = Writer(node).permute(source, node.args[1])
        if is_call(found, aten.permute.default):
            found.meta["channels_last"] = True
        put(node, found)


def _small_as_last(write: Writer, value: Node, rank: int) -> Node | None:
    """A tensor that is repeated over positions or over all, for channels-last images."""
    shape = shape_of(value)
    if len(shape) < rank - 1:  # at most [h, w] or [w]: repeated over channels
        if not shape or all(same(size, 1) for size in shape):
            return value
        return None
    lead = shape[: len(shape) - rank + 1]
    if not all(same(size, 1) for size in shape[len(lead) + 1 :]):
        return None
    ones = [1] * (rank - 2)
    return write.reshape(value, [*lead, *ones, shape[len(lead)]], value)


def _each(node: Node) -> None:
    """What is computed of each element, of one tensor or several."""
    values = [each for each in node.args if isinstance(each, Node)]
    rank = len(shape_of(node))
    tensors = [each for each in values if isinstance(each.meta.get("val"), torch.Tensor)]
    if len(tensors) != len(values) or not any(_before(each) is not None for each in tensors):
        return
    write, known = Writer(node), dict[Node, Node]()
    for each in tensors:
        source = _before(each)
        if source is not None and len(shape_of(each)) != rank:
            return
        if source is None:
            source = _small_as_last(write, each, rank)
        if source is None:
            return
        known[each] = source
    given = [known[each] if isinstance(each, Node) else each for each in node.args]
    put(node, to_first(write, write.call(node.target, *given, **node.kwargs)))


def _activation(node: Node) -> None:
    """One that goes with a group norm, or what is computed of each element."""
    images = node.args[0]
    norm, number = _before(images), activation_of(node)
    goes_with = (
        number is not None
        and is_call(norm, operators.GROUP_NORM)
        and only_user(images) is node
        and norm is not None
        and only_user(norm) is images
        and norm.args[-1] == 0
    )
    if number is None or norm is None or not goes_with:
        _each(node)
        return
    write = Writer(node)
    which, slope = number
    put(node, to_first(write, write.call(norm.target, *norm.args[:-2], slope, which)))


def _axis(axis: int, rank: int) -> int:
    """Where an axis of [n, c, ...] is in [n, ..., c]."""
    return axis if axis == 0 else rank - 1 if axis == 1 else axis - 1


def _cat(node: Node) -> None:
    tensors, axis = named(node)["tensors"], named(node)["dim"]
    sources = [_before(each) for each in tensors]
    if any(each is None for each in sources):
        return
    write, rank = Writer(node), len(shape_of(node))
    put(node, to_first(write, write.call(aten.cat.default, sources, _axis(axis, rank))))


def _over_positions(node: Node) -> None:
    """Sums and means."""
    given = named(node)
    source, rank = _before(given["self"]), len(shape_of(given["self"]))
    if source is None or not given["dim"]:
        return
    dims, write = [each % rank for each in given["dim"]], Writer(node)
    kept = sorted(_axis(each, rank) for each in dims)
    found = write.call(node.target, source, kept, given["keepdim"], dtype=given["dtype"])
    if given["keepdim"]:
        put(node, to_first(write, found))
    elif set(range(2, rank)) <= {*dims} or dims == [1]:
        put(node, found)  # nothing is left to be transposed
    else:
        put(node, write.permute(found, _rest(dims, rank)))


def _rest(dims: list[int], rank: int) -> list[int]:
    """The order in which axes that are left come back."""
    last = [axis for axis in range(rank) if axis not in {_axis(each, rank) for each in dims}]
    wanted = [_axis(axis, rank) for axis in range(rank) if axis not in dims]
    return [last.index(axis) for axis in wanted]


def _slice(node: Node) -> None:
    given = named(node)
    source, rank = _before(given["self"]), len(shape_of(node))
    if source is None:
        return
    write = Writer(node)
    ends = (given["start"], given["end"], given["step"])
    found = write.call(aten.slice.Tensor, source, _axis(given["dim"], rank), *ends)
    put(node, to_first(write, found))


def _pad(node: Node) -> None:
    given = named(node)
    source, pad, rank = _before(given["self"]), list(given["pad"]), len(shape_of(node))
    if source is None or len(pad) > 2 * (rank - 2):
        return
    write = Writer(node)
    found = write.call(aten.constant_pad_nd.default, source, [0, 0, *pad], given["value"])
    put(node, to_first(write, found))


def _reshape(node: Node) -> None:
    """Positions of another shape; and images of one position, or one channel, as they are."""
    given = named(node)
    source, before, after = _before(given["self"]), shape_of(given["self"]), shape_of(node)
    if source is None or not all(isinstance(size, int) for size in (*before[1:], *after[1:])):
        return
    write = Writer(node)
    if len(after) > 2 and same(before[0], after[0]) and before[1] == after[1]:
        found = write.reshape(source, [after[0], *after[2:], after[1]], source)
        put(node, to_first(write, found))
    elif before[1] == 1 or math.prod(before[2:]) == 1:
        put(node, write.reshape(source, after, source))


def _squeeze(node: Node) -> None:
    given = named(node)
    source, before = _before(given["self"]), shape_of(given["self"])
    is_known = all(isinstance(size, int) for size in before[1:])
    if source is not None and is_known and math.prod(before[2:]) == 1:
        put(node, Writer(node).reshape(source, shape_of(node), source))


def _norm_of_channels(node: Node) -> None:
    """A batch norm of known statistics that no convolution is before."""
    given = named(node)
    source = _before(given["input"])
    if source is None or given["training"] or given["running_mean"] is None:
        return
    write = Writer(node)
    kind = dtype_of(node)
    mean, variance, scale, shift = (
        None if given[name] is None else write.cast(given[name], torch.float32)
        for name in ("running_mean", "running_var", "weight", "bias")
    )
    factor = write.call(aten.rsqrt.default, write.call(aten.add.Scalar, variance, given["eps"]))
    if scale is not None:
        factor = write.call(aten.mul.Tensor, factor, scale)
    wide = write.cast(source, torch.float32)
    found = write.call(aten.mul.Tensor, write.call(aten.sub.Tensor, wide, mean), factor)
    if shift is not None:
        found = write.call(aten.add.Tensor, found, shift)
    put(node, to_first(write, write.cast(found, kind)))


def _norm_of_groups(node: Node) -> None:
    given = named(node)
    source, groups = _before(given["input"]), given["num_groups"]
    if source is None or dtype_of(node) not in TYPES or len(shape_of(node)) not in (3, 4):
        return
    vectors = [given[name] for name in ("weight", "bias")]
    if any(each is not None and dtype_of(each) != dtype_of(node) for each in vectors):
        return
    write, shape = Writer(node), shape_of(source)
    x = source if len(shape) == 4 else write.call(aten.unsqueeze.default, source, 1)
    kind = {"dtype": torch.uint8, "layout": None, "device": None, "pin_memory": None}
    grouping = write.call(aten.full.default, [0, groups], 0, **kind)
    found = write.call(operators.GROUP_NORM, x, *vectors, grouping, given["eps"], 0.0, 0)
    if len(shape) == 3:
        found = write.call(aten.squeeze.dim, found, 1)
    put(node, to_first(write, found))


def _pool(node: Node) -> None:
    given = named(node)
    source = _before(given["self"])
    if source is None or len(shape_of(node)) != 4 or dtype_of(node) not in TYPES:
        return
    shape = shape_of(source)
    if not all(isinstance(size, int) for size in shape[1:]):
        return
    taps, padding = _pair(given["kernel_size"]), _pair(given["padding"])
    stride = _pair(given["stride"] or taps)
    dilation = _pair(given.get("dilation", 1))
    kind = 0
    if "count_include_pad" in given:
        if given["divisor_override"] is not None:
            return
        kind = 1 if given["count_include_pad"] or not any(padding) else 2
    write = Writer(node)
    found = _pooled(write, source, (taps, stride, padding, dilation), kind)
    if same(shape_of(found)[1:3], shape_of(node)[2:]):  # else rounded up
        put(node, to_first(write, found))


def _pair(value: Any) -> list[int]:
    each = [value] if isinstance(value, int) else [*value]
    return each * 2 if len(each) == 1 else each


def _pooled(write: Writer, source: Node, numbers: tuple[list[int], ...], kind: int) -> Node:
    flat = [number for pair in numbers for number in pair]
    options = {"dtype": torch.uint8, "layout": None, "device": None, "pin_memory": None}
    about = write.call(aten.full.default, [0, *flat], 0, **options)
    return write.call(operators.POOLING, source, about, kind)


def _pool_to_size(node: Node) -> None:
    """Means of equal parts of images; of whole ones if they are large."""
    given = named(node)
    source, wanted = _before(given["self"]), list(given["output_size"])
    if source is None or len(shape_of(node)) != 4 or dtype_of(node) not in TYPES:
        return
    shape = shape_of(source)
    if not all(isinstance(size, int) for size in (*shape[1:], *wanted)):
        return
    size = shape[1:3]
    if any(have % want for have, want in zip(size, wanted, strict=True)):
        return
    write = Writer(node)
    taps = [have // want for have, want in zip(size, wanted, strict=True)]
    if math.prod(taps) <= _LARGEST_WINDOW:
        found = _pooled(write, source, (taps, taps, [0, 0], [1, 1]), 1)
    elif wanted == [1, 1]:
        found = write.call(aten.mean.dim, source, [1, 2], True, dtype=None)
    else:
        return
    put(node, to_first(write, found))


def _nearest(node: Node) -> None:
    """Images whose positions are repeated."""
    source, result = _before(node.args[0]), shape_of(node)
    if source is None:
        return
    images, high, wide, channels = shape_of(source)
    if not all(isinstance(size, int) for size in (high, wide, channels, *result[2:])):
        return
    if result[2] % high or result[3] % wide:
        return
    by, across = result[2] // high, result[3] // wide
    write = Writer(node)
    found = write.reshape(source, [images, high, 1, wide, 1, channels], source)
    sizes = write.sizes(source, [images, high, by, wide, across, channels])
    found = write.call(aten.expand.default, found, sizes)
    found = write.reshape(found, [images, result[2], result[3], channels], source)
    put(node, to_first(write, found))


_EACH = (
    *(aten.relu.default, aten.silu.default, aten.gelu.default, aten.relu6.default),
    *(aten.hardtanh.default, aten.hardswish.default, aten.hardsigmoid.default),
    *(aten.sigmoid.default, aten.leaky_relu.default, aten.tanh.default, aten.elu.default),
    *(aten.neg.default, aten.exp.default, aten.sqrt.default, aten.rsqrt.default),
    *(aten.abs.default, aten.square.default, aten.clamp.default, aten.softplus.default),
    *(aten.mish.default, aten.log.default, aten.to.dtype, aten.pow.Tensor_Scalar),
    *(aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor),
    *(aten.add.Scalar, aten.sub.Scalar, aten.mul.Scalar, aten.div.Scalar),
    *(aten.maximum.default, aten.minimum.default, aten.where.self),
)
CROSSING: dict[Any, Callable[[Node], None]] = {
    **dict.fromkeys(_EACH, _each),
    **dict.fromkeys(_ACTIVATIONS, _activation),
    aten.permute.default: _permute,
    aten.cat.default: _cat,
    aten.mean.dim: _over_positions,
    aten.sum.dim_IntList: _over_positions,
    aten.slice.Tensor: _slice,
    aten.constant_pad_nd.default: _pad,
    aten.reshape.default: _reshape,
    aten.squeeze.dim: _squeeze,
    aten.squeeze.dims: _squeeze,
    aten.batch_norm.default: _norm_of_channels,
    aten.group_norm.default: _norm_of_groups,
    aten.max_pool2d.default: _pool,
    aten.avg_pool2d.default: _pool,
    aten.adaptive_avg_pool2d.default: _pool_to_size,
    aten.upsample_nearest2d.vec: _nearest,
    aten.upsample_nearest2d.default: _nearest,
}
"""By operator, what writes a call of it."""
