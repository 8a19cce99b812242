"""Group normalisation, and an activation behind it: the declarations for `group_norm.cu`.

The number of groups is the last size of `grouping`, an array [0, groups] that has no elements: a
launch follows from shapes alone.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.convolution.activations import ACTIVATIONS
from cuda_kernels.norms.rows import RowForm, choice
from cuda_kernels.shared.activations import activated
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.expr import Expr
from custom_dispatch.kernel.operand import Operand

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

images, channels, groups, height, width = map(
    cd.dim, ("images", "channels", "groups", "height", "width")
)


def normalised(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    grouping: Array,
    epsilon: float,
    slope: float,
    activation: int,
) -> Array:
    """Group norms of images [n, c, ...], in f64."""
    rows = x.astype(numpy.float64).reshape(x.shape[0], grouping.shape[1], -1)
    with numpy.errstate(invalid="ignore"):  # inf - inf is NaN, as it should be
        centred = rows - rows.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        result = (centred / numpy.sqrt(variance + epsilon)).reshape(x.shape)
    per_channel = (-1, *(1,) * (x.ndim - 2))
    if weight is not None and weight.size:
        result = result * weight.astype(numpy.float64).reshape(per_channel)
    if bias is not None and bias.size:
        result = result + bias.astype(numpy.float64).reshape(per_channel)
    rounded: Array = activated(ACTIVATIONS[activation], result, slope).astype(x.dtype)
    return rounded


def declare(axes: int, form: RowForm, name: str = "") -> cd.Kernel:
    """The kernel of a form for images [n, c, h, w] if `axes` is 2, or for [n, c, w].

    By default it is named after these and its element type.
    """
    dtype, (shape, count) = form.dtype, _images(axes)
    operands: list[Operand] = [
        cd.In("x", dtype, shape),
        cd.In("weight", dtype, [channels], optional=True),
        cd.In("bias", dtype, [channels], optional=True),
        cd.In("grouping", "u8", [0, groups]),
        cd.Out("y", dtype, shape),
        cd.Scalar("groups_of_image", "i32", groups),
        cd.Scalar("channels_of_group", "i32", channels // groups),
        cd.Scalar("size", "i32", count),
        cd.Scalar("epsilon", "f32"),
        cd.Scalar("slope", "f32"),
        cd.Scalar("activation", "i32"),
        cd.Scalar("rows", "i32", images * groups),
    ]
    on_cpu = f"cuda_kernels::group_norm_cpu<{C_TYPES[dtype]}>"
    return form.kernel(
        "group_norm",
        operands,
        rows=images * groups,
        length=channels // groups * count,
        on_cpu=cd.Implementation(entry=on_cpu, block=32, grid=images * groups),
        name=name or f"group_norm_{axes}d_{dtype}",
        source="group_norm.cu",
        requires=[channels % groups == 0],
        reference=normalised,
    )


def _images(axes: int) -> tuple[list[Expr | int], Expr]:
    """Their shape, and the size of a channel."""
    if axes == 1:
        return [images, channels, width], width
    return [images, channels, height, width], height * width


def _choice(axes: int, dtype: str) -> cd.Choice:
    _, count = _images(axes)
    form = RowForm(dtype)
    length = channels // groups * count
    name = f"group_norm_{axes}d_{dtype}"
    return choice(name, partial(declare, axes), form, images * groups, length)


__getattr__, __dir__ = lazily(
    globals(),
    {
        f"group_norm_{axes}d_{dtype}": partial(_choice, axes, dtype)
        for axes, dtype in product((1, 2), TYPES)
    },
)
