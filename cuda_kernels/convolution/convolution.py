"""Convolutions: the declarations for `convolution.cu`, `depthwise.cu` and `convolution_cpu.cu`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cache, partial
from itertools import product
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.convolution.activations import ACTIVATIONS
from cuda_kernels.shared.activations import activated
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.hopper import MULTIPROCESSORS
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.expr import Condition, Expr
from custom_dispatch.kernel.operand import Operand

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


@dataclass(frozen=True)
class Tile:
    """The tile of a block of `convolution.cu`, filters x positions, and its warps."""

    m: int
    n: int
    k: int
    warps_m: int
    warps_n: int

    @property
    def name(self) -> str:
        """Its size."""
        return f"t{self.m}x{self.n}"

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps_m * self.warps_n

    def shared_bytes(self, element: int) -> int:
        """Dynamic shared memory of a block: two stages."""
        return 2 * (self.m + self.n) * self.k * element


LARGE, SMALL = Tile(128, 128, 32, 2, 4), Tile(64, 64, 32, 2, 2)
SMALL_F32 = Tile(64, 64, 16, 2, 2)
DEPTHWISE = 128
"""Threads of a block of `depthwise.cu`."""
ADJACENT = 4
"""Outputs of each."""
CPU_WARPS, CPU_FILTERS, CPU_LANES, CPU_STEP = 8, 8, 32, 64


@dataclass(frozen=True)
class Sizes:
    """The dims of a convolution. Along one axis, those of the other are numbers."""

    axes: int
    images: Expr
    channels: Expr
    filters: Expr
    of_group: Expr
    """Channels of x that a filter has."""
    size: tuple[Expr | int, Expr | int]
    taps: tuple[Expr | int, Expr | int]
    stride: tuple[Expr | int, Expr | int]
    padding: tuple[Expr | int, Expr | int]
    dilation: tuple[Expr | int, Expr | int]

    @property
    def out(self) -> tuple[Expr | int, Expr | int]:
        """The result's height and width."""
        high, wide = (
            (size + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
            for size, padding, dilation, taps, stride in zip(
                self.size, self.padding, self.dilation, self.taps, self.stride, strict=True
            )
        )
        return high, wide

    @property
    def groups(self) -> Expr:
        """How many parts the channels have, each with filters of its own."""
        return self.channels // self.of_group

    @property
    def window(self) -> list[Expr | int]:
        """The shape of the array that says strides, paddings and dilations."""
        return [0, *self._own(self.stride), *self._own(self.padding), *self._own(self.dilation)]

    def tensor(self, first: Expr, second: Expr, last: tuple[Expr | int, ...]) -> list[Expr | int]:
        """A shape with as many axes as there are."""
        return [first, second, *self._own(last)]

    def _own(self, pair: tuple[Expr | int, ...]) -> tuple[Expr | int, ...]:
        return pair[2 - self.axes :]


def sizes_of(axes: int) -> Sizes:
    """The dims of convolutions along so many axes, 1 or 2."""

    def pair(name: str, absent: int) -> tuple[Expr | int, Expr | int]:
        return (cd.dim(f"{name}_h") if axes == 2 else absent), cd.dim(f"{name}_w")

    return Sizes(
        axes,
        cd.dim("images"),
        cd.dim("channels"),
        cd.dim("filters"),
        cd.dim("of_group"),
        (cd.dim("height") if axes == 2 else 1, cd.dim("width")),
        (cd.dim("rows") if axes == 2 else 1, cd.dim("columns")),
        pair("stride", 1),
        pair("padding", 0),
        pair("dilation", 1),
    )


def _reference(axes: int) -> Callable[..., Array]:
    def convolution(
        x: Array,
        weight: Array,
        window: Array,
        bias: Array | None,
        mean: Array | None,
        variance: Array | None,
        scale: Array | None,
        shift: Array | None,
        residual: Array | None,
        epsilon: float,
        slope: float,
        activation: int,
    ) -> Array:
        numbers = window.shape[1:]
        stride, padding, dilation = (numbers[i * axes : (i + 1) * axes] for i in range(3))
        wide, factors = x.astype(numpy.float64), weight.astype(numpy.float64)
        wide = numpy.pad(wide, [(0, 0), (0, 0), *((p, p) for p in padding)])
        groups = x.shape[1] // weight.shape[1]
        taps = weight.shape[2:]
        out = [
            (wide.shape[2 + i] - dilation[i] * (taps[i] - 1) - 1) // stride[i] + 1
            for i in range(axes)
        ]
        result = numpy.zeros((x.shape[0], weight.shape[0], *out))
        by_group = wide.reshape(x.shape[0], groups, weight.shape[1], *wide.shape[2:])
        of_group = factors.reshape(groups, -1, *factors.shape[1:])
        with numpy.errstate(invalid="ignore"):  # inf - inf is NaN, as it should be
            for tap in numpy.ndindex(*taps):
                part = tuple(
                    slice(d * t, d * t + s * (o - 1) + 1, s)
                    for d, t, s, o in zip(dilation, tap, stride, out, strict=True)
                )
                there = by_group[(slice(None), slice(None), slice(None), *part)]
                added = numpy.einsum("gkc,ngc...->ngk...", of_group[(..., *tap)], there)
                result += added.reshape(result.shape)
            per_filter = (-1, *(1,) * axes)

            def of(values: Array | None, absent: float) -> Any:
                if values is None or not values.size:
                    return absent
                return values.astype(numpy.float64).reshape(per_filter)

            result += of(bias, 0.0)
            if mean is not None and mean.size:
                result = (result - of(mean, 0.0)) / numpy.sqrt(of(variance, 1.0) + epsilon)
                result = result * of(scale, 1.0) + of(shift, 0.0)
            if residual is not None and residual.size:
                result += residual.astype(numpy.float64)
            typed: Array = activated(ACTIVATIONS[activation], result, slope).astype(x.dtype)
        return typed

    return convolution


def _operands(sizes: Sizes, dtype: str) -> list[Operand]:
    high, wide = sizes.out
    shape = sizes.tensor(sizes.images, sizes.filters, (high, wide))
    per_filter = partial(cd.In, dtype=dtype, shape=[sizes.filters], optional=True)
    numbers: dict[str, Expr | int] = {
        "n": sizes.images,
        "groups": sizes.groups,
        "channels_of_group": sizes.of_group,
        "filters_of_group": sizes.filters // sizes.groups,
        "h": sizes.size[0],
        "w": sizes.size[1],
        "r": sizes.taps[0],
        "s": sizes.taps[1],
        "out_h": high,
        "out_w": wide,
        "by_h": sizes.stride[0],
        "by_w": sizes.stride[1],
        "pad_h": sizes.padding[0],
        "pad_w": sizes.padding[1],
        "apart_h": sizes.dilation[0],
        "apart_w": sizes.dilation[1],
    }
    return [
        cd.In("x", dtype, sizes.tensor(sizes.images, sizes.channels, sizes.size)),
        cd.In("weight", dtype, sizes.tensor(sizes.filters, sizes.of_group, sizes.taps)),
        cd.In("window", "u8", sizes.window),
        *(per_filter(name) for name in ("bias", "mean", "variance", "scale", "shift")),
        cd.In("residual", dtype, shape, optional=True),
        cd.Out("y", dtype, shape),
        *(cd.Scalar(name, "i32", value) for name, value in numbers.items()),
        cd.Scalar("epsilon", "f32"),
        cd.Scalar("slope", "f32"),
        cd.Scalar("activation", "i32"),
    ]


def declare(axes: int, dtype: str, tile: Tile | None = None) -> cd.Kernel:
    """A kernel of one form.

    Parameters
    ----------
    axes
        1 or 2: of x, besides images and channels.
    dtype
        "f32", "f16" or "bf16".
    tile
        Its tile; None for the one of depthwise convolutions, whose filters have one channel.
    """
    sizes = sizes_of(axes)
    high, wide = sizes.out
    common: dict[str, Any] = {
        "operands": _operands(sizes, dtype),
        "reference": _reference(axes),
    }
    name = f"convolution_{axes}d_{dtype}"
    per_group = sizes.filters // sizes.groups
    if tile is None:
        units = cd.ceildiv(wide, ADJACENT) * high
        return cd.Kernel(
            f"{name}_depthwise",
            source="depthwise.cu",
            entry=f"cuda_kernels::depthwise<{C_TYPES[dtype]}, {DEPTHWISE}>",
            block=DEPTHWISE,
            grid=cd.ceildiv(units, DEPTHWISE) * sizes.images * sizes.filters,
            requires=[*_whole_groups(sizes), sizes.of_group == 1],
            **common,
        )
    positions = sizes.images * high * wide
    arguments = ", ".join(map(str, astuple(tile)))
    of_cpu = cd.ceildiv(per_group, CPU_WARPS * CPU_FILTERS) * cd.ceildiv(positions, CPU_LANES)
    return cd.Kernel(
        f"{name}_{tile.name}",
        source="convolution.cu",
        entry=f"cuda_kernels::convolution<{C_TYPES[dtype]}, {arguments}>",
        block=tile.threads,
        grid=cd.ceildiv(per_group, tile.m) * cd.ceildiv(positions, tile.n) * sizes.groups,
        dynamic_shared_memory=tile.shared_bytes(4 if dtype == "f32" else 2),
        requires=_whole_groups(sizes),
        implementations={
            "cpu": cd.Implementation(
                source="convolution_cpu.cu",
                entry=f"cuda_kernels::convolution_cpu<{C_TYPES[dtype]}, {CPU_WARPS}, {CPU_STEP}>",
                block=CPU_LANES * CPU_WARPS,
                grid=of_cpu * sizes.groups,
                dynamic_shared_memory=0,
            )
        },
        flops=2 * positions * sizes.filters * sizes.of_group * sizes.taps[0] * sizes.taps[1],
        **common,
    )


def _whole_groups(sizes: Sizes) -> list[Condition]:
    """Channels and filters are whole groups of as many."""
    return [sizes.channels % sizes.of_group == 0, sizes.filters % sizes.groups == 0]


@cache
def choice(axes: int, dtype: str) -> cd.Choice:
    """All kernels of a convolution: depthwise, for many tiles, and for few."""
    sizes = sizes_of(axes)
    high, wide = sizes.out
    kernels = [declare(axes, dtype)]
    rules = {}
    if dtype != "f32":
        large = declare(axes, dtype, LARGE)
        per_group, positions = sizes.filters // sizes.groups, sizes.images * high * wide
        tiles = cd.ceildiv(per_group, LARGE.m) * cd.ceildiv(positions, LARGE.n) * sizes.groups
        kernels.append(large)
        rules[large.name] = [per_group > SMALL.m, tiles >= MULTIPROCESSORS]
    kernels.append(declare(axes, dtype, SMALL_F32 if dtype == "f32" else SMALL))
    return cd.Choice(f"convolution_{axes}d_{dtype}", kernels, rules=rules)


__getattr__, __dir__ = lazily(
    globals(),
    {
        f"convolution_{axes}d_{dtype}": partial(choice, axes, dtype)
        for axes, dtype in product((1, 2), TYPES)
    },
)
