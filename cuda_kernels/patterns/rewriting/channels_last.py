"""Images with their channels last, from the first convolution on, for kernels of such images.

Every convolution is written as one of channels-last images, between two transpositions: of its
input, and of its result back. Then transpositions go down through what is computed of each element,
pooling, norms of groups, sums over positions, joins and slices, and where two meet they are none.
So a model of images has one at its first convolution, and at most one at its end.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting import channels_last_operators as operators
from cuda_kernels.patterns.rewriting.channels_last_crossing import (
    CROSSING,
    TYPES,
    activation_of,
    to_first,
    to_last,
)
from cuda_kernels.patterns.rewriting.convolutions import Form, form_of, write_convolutions
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
from cuda_kernels.patterns.rewriting.weights import held_by, hold
from custom_dispatch.frontends.torch.pattern import Pattern, variants
from custom_dispatch.frontends.torch.replacing import operations_of

_CONVOLUTION = aten.convolution.default
_FEW = 4096
"""Elements up to which a transposition is not worth a kernel."""
_OF_IMAGES = re.compile(
    r"\baten\._?(conv(olution|_transpose|\d)|\w*(batch|group|instance)_norm|\w*pool2d|upsample_near)"
)
_SHIPPED = "cuda_kernels.patterns."


@dataclass(frozen=True)
class _ChannelsLast:
    """The rule, which leaves models as they are where a pattern of images is given before it."""

    def __call__(self, program: torch.export.ExportedProgram) -> None:
        _rewrite(program)

    def gives_way_to(self, pattern: Any) -> bool:
        """Whether a pattern has operators that would be written another way."""
        return any(map(_OF_IMAGES.search, _operators(pattern)))


write_channels_last = _ChannelsLast()
"""Writes convolutions as those of channels-last images, and moves transpositions away."""


def _operators(pattern: Any) -> Iterator[str]:
    """What names the operators of a pattern: its text, or each of what PyTorch traces."""
    for computes in pattern.computes:
        if isinstance(computes, str):
            yield computes
    # Those that ship are of no images, and many: tracing them takes seconds.
    if isinstance(pattern, Pattern) and not _is_shipped(pattern):
        for variant in variants(pattern):
            yield from (form[0] for form in operations_of(pattern, *variant) or ())


def _is_shipped(pattern: Pattern) -> bool:
    return all(getattr(each, "__module__", "").startswith(_SHIPPED) for each in pattern.computes)


@keeps_results
def _rewrite(program: torch.export.ExportedProgram) -> None:
    write_convolutions(program)
    for node in calls(program.graph, aten._native_batch_norm_legit_no_training.default):
        _write_batch_norm(node)
    found = False
    for node in calls(program.graph, _CONVOLUTION):
        found |= _write(node, program)
    if not found:
        return
    for node in calls(program.graph, aten.pad.default):
        _write_padding(node)
    for node in list(program.graph.nodes):
        cross = CROSSING.get(node.target) if node.op == "call_function" else None
        if cross is not None and isinstance(node.meta.get("val"), torch.Tensor):
            cross(node)
    program.graph.eliminate_dead_code()
    for node in calls(program.graph, aten.permute.default):
        _turn(node)


def _write_batch_norm(node: Node) -> None:
    """What a batch norm becomes where PyTorch takes a model apart."""
    results = list(node.users)
    if all(is_call(each, operator.getitem) and each.args[1] == 0 for each in results):
        write, (*given, _, epsilon) = Writer(node), node.args
        end = (False, 0.0, epsilon, False)
        norm = write.call(aten.batch_norm.default, *given, *end)
        for each in results:
            put(each, norm)
        node.graph.erase_node(node)


def _write_padding(node: Node) -> None:
    """Numbers around images, in the operator that IREE has, which takes none away."""
    given = named(node)
    x, pad, is_constant = given["self"], list(given["pad"]), given["mode"] == "constant"
    if not is_constant or not all(isinstance(size, int) and size >= 0 for size in pad):
        return
    value = given["value"] or 0.0
    put(node, Writer(node).call(aten.constant_pad_nd.default, x, pad, value) if any(pad) else x)


@dataclass(slots=True)
class _Epilogue:
    """What follows a convolution, up to `last`."""

    last: Node
    norm: dict[str, Any] | None = None
    residual: Node | None = None
    activation: int = 0
    slope: float = 0.0


def _epilogue(node: Node) -> _Epilogue:
    found = _Epilogue(node)
    user = only_user(node)
    if user is not None and is_call(user, aten.batch_norm.default) and user.args[0] is node:
        given = named(user)
        if not given["training"] and given["running_mean"] is not None:
            found.norm, found.last = given, user
    user = only_user(found.last)
    if user is not None and is_call(user, aten.add.Tensor) and named(user)["alpha"] == 1:
        one, other = user.args[:2]
        added = other if one is found.last else one
        alike = isinstance(added, Node) and added is not found.last
        if alike and same(shape_of(added), shape_of(node)) and dtype_of(added) == dtype_of(node):
            found.residual, found.last = added, user
    user = only_user(found.last)
    number = None if user is None else activation_of(user)
    if user is not None and number is not None:
        (found.activation, found.slope), found.last = number, user
    return found


def _is_product(form: Form) -> bool:
    """Whether a convolution is a product of each position's channels."""
    return (
        form.groups == 1
        and {*form.taps, *form.stride, *form.dilation} == {1}
        and {*form.padding} == {0}
    )


def _write(node: Node, program: torch.export.ExportedProgram) -> bool:
    form = form_of(node)
    if form is None or form.axes > 2 or len(shape_of(form.x)) != form.axes + 2:
        return False
    channels = shape_of(form.x)[1]
    if not isinstance(channels, int) or max(form.stride + form.padding + form.dilation) > 2**15:
        return False
    end = _epilogue(node)
    if _is_product(form) and end.norm is None:
        write = Writer(node)
        weight = write.reshape(form.weight, shape_of(form.weight)[:2])
        held = held_by(program, form.weight)
        if held is not None:
            weight = hold(program, held.reshape(held.shape[:2]), write)
        product = write.call(aten.linear.default, to_last(write, form.x), weight, form.bias)
        put(node, to_first(write, product))
        return True
    write = Writer(end.last)
    of_group, wide = shape_of(form.weight)[1], _whole_channels(form)
    x, residual = to_last(write, form.x, wide), end.residual
    if form.axes == 1:
        x = write.call(aten.unsqueeze.default, x, 1)
    if residual is not None:
        residual = to_last(write, residual)
        residual = write.call(aten.unsqueeze.default, residual, 1) if form.axes == 1 else residual
    weight = _weight(write, form, program, wide)
    first = [1] * (2 - form.axes)
    numbers = [*first, *form.stride, *(0 for _ in first), *form.padding, *first, *form.dilation]
    factor, summand = _vectors(write, form, end, program)
    is_depthwise = of_group == 1 and form.groups == channels and channels > 1
    called = operators.DEPTHWISE if is_depthwise else operators.CONVOLUTION
    given = (window(write, numbers), factor, summand, residual, end.slope, end.activation)
    found = write.call(called, x, weight, *given)
    if form.axes == 1:
        found = write.call(aten.squeeze.dim, found, 1)
    put(end.last, to_first(write, found))
    return True


def window(write: Writer, numbers: Sequence[int]) -> Node:
    """An array without elements whose shape has numbers behind a zero."""
    kind = {"dtype": torch.uint8, "layout": None, "device": None, "pin_memory": None}
    return write.call(aten.full.default, [0, *numbers], 0, **kind)


def _whole_channels(form: Form) -> int:
    """As many channels as copies of 8 bytes take; as many as there are, unless these are few."""
    channels: int = shape_of(form.x)[1]
    is_few = form.groups == 1 and channels < 8 and channels % 4
    return -(-channels // 4) * 4 if is_few and math.prod(form.taps) > 1 else channels


def _weight(write: Writer, form: Form, program: torch.export.ExportedProgram, wide: int) -> Node:
    """Filters with their channels last; those of one channel each with the filters last."""
    filters, of_group, *taps = shape_of(form.weight)
    is_depthwise = of_group == 1 and form.groups == shape_of(form.x)[1] and form.groups > 1
    axes = [*range(2, len(taps) + 2)]
    order = [*axes, 0] if is_depthwise else [0, *axes, 1]
    shape = [*taps, filters] if is_depthwise else [filters, *taps, of_group]
    more = 0 if is_depthwise else max(wide - of_group if form.groups == 1 else 0, 0)
    if form.axes == 1:
        shape.insert(0 if is_depthwise else 1, 1)
    held = held_by(program, form.weight)
    if held is not None:
        turned = (held[:, 0] if is_depthwise else held).permute(
            [axis - (axis > 1) for axis in order] if is_depthwise else order
        )
        return hold(program, torch.nn.functional.pad(turned.reshape(shape), (0, more)), write)
    weight = form.weight
    if is_depthwise:
        weight = write.reshape(weight, [filters, *taps])
        order = [axis - (axis > 1) for axis in order]
    weight = write.reshape(write.permute(weight, order), shape)
    return write.call(aten.constant_pad_nd.default, weight, [0, more], 0.0) if more else weight


def _vectors(
    write: Writer, form: Form, end: _Epilogue, program: torch.export.ExportedProgram
) -> tuple[Node, Node]:
    """What multiplies the sums of each filter, and what is added to them."""
    filters = shape_of(form.weight)[0]
    norm = end.norm or {}
    names = ("running_mean", "running_var", "weight", "bias")
    given = [form.bias, *(norm.get(name) for name in names)]
    held = [None if each is None else held_by(program, each) for each in given]
    if all(tensor is not None or each is None for tensor, each in zip(held, given, strict=True)):
        bias, mean, variance, scale, shift = (
            None if each is None else each.detach().double() for each in held
        )
        factor, summand = torch.ones(filters).double(), torch.zeros(filters).double()
        summand = summand if bias is None else bias
        if mean is not None and variance is not None:
            factor = torch.rsqrt(variance + norm["eps"])
            factor = factor if scale is None else factor * scale
            summand = (summand - mean) * factor
            summand = summand if shift is None else summand + shift
        return hold(program, factor.float(), write), hold(program, summand.float(), write)
    kind = {"dtype": torch.float32, "layout": None, "device": None, "pin_memory": None}
    one, zero = (write.call(aten.full.default, [filters], n, **kind) for n in (1.0, 0.0))
    bias, mean, variance, scale, shift = (
        each if each is None else write.cast(each, torch.float32) for each in given
    )
    factor, summand = one, zero if bias is None else bias
    if mean is not None and variance is not None:
        factor = write.call(aten.rsqrt.default, write.call(aten.add.Scalar, variance, norm["eps"]))
        if scale is not None:
            factor = write.call(aten.mul.Tensor, factor, scale)
        summand = write.call(aten.mul.Tensor, write.call(aten.sub.Tensor, summand, mean), factor)
        if shift is not None:
            summand = write.call(aten.add.Tensor, summand, shift)
    return factor, summand


def _turn(node: Node) -> None:
    """Let a kernel transpose images where this is left to do."""
    x, order = node.args[:2]
    shape, rank = shape_of(x), len(order)
    is_known = all(isinstance(size, int) for size in shape[1:])
    if "channels_last" not in node.meta or not is_known or dtype_of(x) not in TYPES:
        return
    back = [0, rank - 1, *range(1, rank - 1)]
    is_last = list(order) == [0, *range(2, rank), 1]
    if not is_last and list(order) != back:
        return
    write = Writer(node)
    rows, columns = (
        (shape[1], math.prod(shape[2:]))
        if is_last
        else (
            math.prod(shape[1:-1]),
            shape[-1],
        )
    )
    wide = shape_of(node)[-1] if is_last else rows
    result = shape_of(node)
    user = only_user(node)
    if is_last and user is not None and is_call(user, aten.constant_pad_nd.default):
        pad = list(user.args[1])
        if len(pad) == 2 and pad[0] == 0 and "channels_last" in user.meta:
            node, wide, result = user, rows + pad[1], shape_of(user)
    if (rows == 1 and wide == 1) or (columns == 1 and wide == rows):
        put(node, write.reshape(x, result, x))
        return
    if rows * columns < _FEW and wide == rows:
        return
    flat = write.reshape(x, [shape[0], rows, columns], x)
    write = Writer(node)
    turned = write.call(operators.TURNING, flat, window(write, [wide]))
    put(node, write.reshape(turned, result, x))
