"""Convolutions in other spellings as those that kernels take.

A transposed convolution is one whose filters give all numbers between two of its input's as
channels, which then go where they belong. Patches side by side are a product. Along three axes,
filters of one size along two axes or along one are those of images. What multiplies the channels of
a result and is added to them is a batch norm with known statistics, which a kernel takes with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.activations import write_activations
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

_CONVOLUTION = aten.convolution.default
_TRANSPOSED = (aten.conv_transpose1d.default, aten.conv_transpose2d.input)
_TYPES = (torch.float32, torch.float16, torch.bfloat16)
_PATCH = 128
"""Numbers of a patch from which multiplying takes longer than putting patches into rows."""


@dataclass(frozen=True, slots=True)
class Form:
    """A convolution's operands, and a number for each axis."""

    x: Node
    weight: Node
    bias: Node | None
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    groups: int

    @property
    def taps(self) -> tuple[int, ...]:
        """The filters' sizes."""
        return shape_of(self.weight)[2:]

    @property
    def axes(self) -> int:
        """How many there are besides images and channels."""
        return len(self.taps)


def form_of(node: Node) -> Form | None:
    """The operands of a call that kernels may take; None of others."""
    given = named(node)
    x, weight = given["input"], given["weight"]
    rank = len(shape_of(weight))
    is_known = all(isinstance(size, int) for size in shape_of(weight))
    numbers = [given[name] for name in ("stride", "padding", "dilation")]
    if dtype_of(x) not in _TYPES or not is_known or any(isinstance(n, str) for n in numbers):
        return None
    if given.get("transposed"):  # of the operator for both
        return None
    stride, padding, dilation = ([*each] * ((rank - 2) // len(each)) for each in numbers)
    return Form(x, weight, given["bias"], stride, padding, dilation, given["groups"])


@keeps_results
def write_convolutions(program: torch.export.ExportedProgram) -> None:
    """Write what is a convolution that kernels take as such."""
    write_activations(program)
    graph = program.graph
    for node in calls(graph, *_TRANSPOSED):
        _write_transposed(node)
    for node in calls(graph, aten.conv1d.default, aten.conv2d.default):
        _write_unbatched(node)
    for node in calls(graph, aten.conv1d.default, aten.conv2d.default, _CONVOLUTION):
        _write_patches(node)
    for node in calls(graph, _CONVOLUTION):
        if len(shape_of(node)) == 5:
            _write_three_axes(node)
    for node in calls(graph, _CONVOLUTION):
        _write_norm(node)


@keeps_results
def write_group_norms(program: torch.export.ExportedProgram) -> None:
    """Write group norms of other ranks as those along one axis or two; the axes are one there."""
    for node in calls(program.graph, aten.group_norm.default):
        x = node.args[0]
        shape = shape_of(x)
        if len(shape) != 2 and len(shape) < 5:
            continue
        write = Writer(node)
        rest = [math.prod(shape[2:-1]), shape[-1]] if shape[2:] else [1]
        images = write.reshape(x, [*shape[:2], *rest])
        found = write.call(node.target, images, *node.args[1:], **node.kwargs)
        put(node, write.reshape(found, shape, x))


def _convolution(write: Writer, form: Form) -> Node:
    """A call of the operator, in one form."""
    numbers = (form.stride, form.padding, form.dilation, False, [0] * form.axes, form.groups)
    return write.call(_CONVOLUTION, form.x, form.weight, form.bias, *numbers)


def _write_unbatched(node: Node) -> None:
    """One image is a batch of one."""
    form = form_of(node)
    if form is None or len(shape_of(form.x)) != form.axes + 1:
        return
    write = Writer(node)
    images = write.call(aten.unsqueeze.default, form.x, 0)
    found = _convolution(write, replace(form, x=images))
    put(node, write.call(aten.squeeze.dim, found, 0))


def _write_transposed(node: Node) -> None:
    """The numbers from one of the input's to the next are channels of a convolution.

    Of `by` numbers, number a is a sum over every `by`-th tap from tap a on, the last ones first.
    """
    form, more = form_of(node), named(node)["output_padding"]
    if form is None or {*form.dilation} != {1} or len(shape_of(form.x)) != form.axes + 2:
        return
    more = [*more] * (form.axes // len(more))
    if any(end > padding for end, padding in zip(more, form.padding, strict=True)):
        return  # zeros that no tap reaches
    write, by, axes = Writer(node), form.stride, range(form.axes)
    steps = [math.ceil(taps / each) for taps, each in zip(form.taps, by, strict=True)]
    whole = [count * each for count, each in zip(steps, by, strict=True)]
    channels, of_group = shape_of(form.weight)[:2]
    groups, filters = form.groups, of_group * form.groups

    weight = form.weight
    if tuple(whole) != tuple(form.taps):
        ends = [n for axis in reversed(axes) for n in (0, whole[axis] - form.taps[axis])]
        weight = write.call(aten.constant_pad_nd.default, weight, ends, 0.0)
    parts = [n for axis in axes for n in (steps[axis], by[axis])]
    weight = write.reshape(weight, [groups, channels // groups, of_group, *parts])
    weight = write.call(aten.flip.default, weight, [3 + 2 * axis for axis in axes])
    numbers = [4 + 2 * axis for axis in axes]
    weight = write.permute(weight, [0, 2, *numbers, 1, *(number - 1 for number in numbers)])
    between = math.prod(by)
    weight = write.reshape(weight, [filters * between, channels // groups, *steps])

    bias = form.bias
    if bias is not None and between > 1:
        bias = write.call(
            aten.expand.default, write.reshape(bias, [filters, 1]), [filters, between]
        )
        bias = write.reshape(bias, [filters * between])
    ones, ends = [1] * form.axes, [count - 1 for count in steps]
    found = _convolution(write, Form(form.x, weight, bias, ones, ends, ones, groups))

    images, _, *sizes = shape_of(found)
    found = write.reshape(found, [images, filters, *by, *sizes], found, form.x)
    order = [n for axis in axes for n in (2 + form.axes + axis, 2 + axis)]
    found = write.permute(found, [0, 1, *order])
    sizes = [size * each for size, each in zip(sizes, by, strict=True)]
    found = write.reshape(found, [images, filters, *sizes], found, form.x)
    for axis in axes:
        start, size = form.padding[axis], shape_of(node)[2 + axis]
        if start or not same(sizes[axis], size):
            behind = whole[axis] + start - form.taps[axis] - more[axis]
            end = start + size if isinstance(size, int) else -behind if behind else 2**63 - 1
            found = write.call(aten.slice.Tensor, found, 2 + axis, start, end, 1)
    put(node, found)


def _write_patches(node: Node) -> None:
    form = form_of(node)
    if form is None or len(shape_of(form.x)) != form.axes + 2:
        return
    sizes = shape_of(form.x)[1:]
    if all(isinstance(size, int) for size in sizes) and _is_patches(form):
        put(node, _product(Writer(node), form, shape_of(node)))


def _write_three_axes(node: Node) -> None:
    form = form_of(node)
    if form is None or not all(isinstance(size, int) for size in shape_of(form.x)[1:]):
        return
    write = Writer(node)
    deep, *flat = zip(form.taps, form.stride, form.padding, form.dilation, strict=True)
    images, channels, *sizes = shape_of(form.x)
    _, filters, *results = shape_of(node)
    if deep[:3] == (1, 1, 0):  # of each image alone
        x = write.permute(form.x, [0, 2, 1, 3, 4])
        x = write.reshape(x, [-1, channels, *sizes[1:]], form.x)
        weight = write.reshape(form.weight, [filters, shape_of(form.weight)[1], *form.taps[1:]])
        stride, padding, dilation = ([axis[number] for axis in flat] for number in (1, 2, 3))
        of_images = Form(x, weight, form.bias, stride, padding, dilation, form.groups)
        found = _convolution(write, of_images)
        found = write.reshape(found, [images, results[0], filters, *results[1:]], form.x)
        put(node, write.permute(found, [0, 2, 1, 3, 4]))
    elif all(axis[:3] == (1, 1, 0) for axis in flat):  # from image to image
        x = write.reshape(form.x, [images, channels, sizes[0], math.prod(sizes[1:])], form.x)
        weight = write.reshape(form.weight, [filters, shape_of(form.weight)[1], deep[0], 1])
        stride, padding, dilation = [deep[1], 1], [deep[2], 0], [deep[3], 1]
        along = Form(x, weight, form.bias, stride, padding, dilation, form.groups)
        found = _convolution(write, along)
        put(node, write.reshape(found, [images, filters, *results], form.x))


def _is_patches(form: Form) -> bool:
    return (
        form.groups == 1
        and math.prod(form.taps) > 1
        and math.prod(shape_of(form.weight)[1:]) >= _PATCH
        and {*form.padding} == {0}
        and {*form.dilation} == {1}
        and [*form.taps] == form.stride
        and all(n % by == 0 for n, by in zip(shape_of(form.x)[2:], form.stride, strict=True))
    )


def _product(write: Writer, form: Form, result: Sequence[Any]) -> Node:
    """Patches side by side, each a row of a product."""
    images, channels, *_ = shape_of(form.x)
    _, filters, *counts = result
    axes = range(form.axes)
    parts = [n for axis in axes for n in (counts[axis], form.taps[axis])]
    x = write.reshape(form.x, [images, channels, *parts], form.x)
    x = write.permute(x, [0, *(2 + 2 * axis for axis in axes), 1, *(3 + 2 * axis for axis in axes)])
    depth = channels * math.prod(form.taps)
    x = write.reshape(x, [images, math.prod(counts), depth], form.x)
    weight = write.reshape(form.weight, [filters, depth])
    found = write.call(aten.linear.default, x, weight, form.bias)
    found = write.reshape(found, [images, *counts, filters], form.x)
    found = write.permute(found, [0, 1 + form.axes, *range(1, 1 + form.axes)])
    found.meta["channels_last"] = True
    return found


def _write_norm(node: Node) -> None:
    """What multiplies channels and is added to them, as frozen batch norms do."""
    times = only_user(node)
    if times is None or not is_call(times, aten.mul.Tensor):
        return
    factor = _of_channels(times, node)
    plus = only_user(times)
    summand = None
    if plus is not None and is_call(plus, aten.add.Tensor) and named(plus)["alpha"] == 1:
        summand = _of_channels(plus, times)
    if factor is None or summand is None or plus is None:
        return
    write = Writer(plus)
    filters = shape_of(node)[1]
    kind = {"dtype": dtype_of(node), "layout": None, "device": None, "pin_memory": None}
    zeros, ones = (write.call(aten.full.default, [filters], n, **kind) for n in (0.0, 1.0))
    vectors = (write.reshape(each, [filters]) for each in (factor, summand))
    put(
        plus,
        write.call(aten.batch_norm.default, node, *vectors, zeros, ones, False, 0.0, 0.0, False),
    )


def _of_channels(node: Node, images: Node) -> Node | None:
    """The other operand, where it is a number for each channel."""
    one, other = node.args[:2]
    vector = other if one is images else one
    if not isinstance(vector, Node) or vector is images or dtype_of(vector) != dtype_of(images):
        return None
    shape, rank = shape_of(vector), len(shape_of(images))
    wanted = (shape_of(images)[1], *(1,) * (rank - 2))
    return vector if same(shape[-rank + 1 :], wanted) and set(shape[: -rank + 1]) <= {1} else None
