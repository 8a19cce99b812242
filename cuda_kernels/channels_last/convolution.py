"""Convolutions of channels-last images, for `convolution_last*.cu` and `depthwise_last.cu`.

Which tiles a call gets was measured on an H200 (`benchmarks/results/convolution_last_h200.json`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from functools import cache, partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.convolution.activations import ACTIVATIONS
from cuda_kernels.shared.activations import activated
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.hopper import LEAST_SHARED_BYTES, MULTIPROCESSORS
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.expr import Condition, Expr
from custom_dispatch.kernel.operand import Operand

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]
DEPTHWISE, ACROSS = 128, 7
"""Threads of a block of `depthwise_last.cu`, and outputs of each."""
CPU_WARPS, CPU_FILTERS, CPU_LANES, CPU_STEP = 8, 8, 32, 64


@dataclass(frozen=True)
class Tile:
    """The tile of a block of `convolution_last.cu`, positions x filters, and its warps."""

    m: int
    n: int
    k: int
    stages: int
    warps_m: int
    warps_n: int
    warps_k: int = 1
    """That slice the k of each step."""

    @property
    def name(self) -> str:
        """Its size."""
        return f"t{self.m}x{self.n}" + (f"_w{self.warps_k}" if self.warps_k > 1 else "")

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps_m * self.warps_n * self.warps_k

    def shared_bytes(self, element: int) -> int:
        """Dynamic shared memory of a block: its stages."""
        return self.stages * (self.m + self.n) * self.k * element

    def on_any(self, element: int) -> Tile:
        """With as many stages as every GPU has room for."""
        one = replace(self, stages=1).shared_bytes(element)
        return replace(self, stages=min(self.stages, LEAST_SHARED_BYTES // one))

    def launch(self, dtype: str, offset: str, element: int) -> dict[str, Any]:
        """The kernel's name in C++, with its template arguments, and its shared memory."""
        arguments = ", ".join(map(str, astuple(self)))
        return {
            "entry": f"cuda_kernels::convolution_last<{C_TYPES[dtype]}, {offset}, {arguments}>",
            "dynamic_shared_memory": self.shared_bytes(element),
        }


LARGE, MEDIUM = Tile(128, 128, 64, 4, 4, 4), Tile(128, 64, 64, 3, 4, 2)
SMALL, SLICED = Tile(64, 64, 64, 3, 2, 2), Tile(64, 64, 128, 3, 2, 2, 2)
TINY = Tile(32, 64, 128, 4, 1, 2, 4)
OF_F32 = Tile(64, 64, 32, 3, 2, 2)


@dataclass(frozen=True)
class Sizes:
    """The dims of a convolution or of pooling."""

    images: Expr
    channels: Expr
    filters: Expr
    of_group: Expr
    """Channels of x that a filter has."""
    size: tuple[Expr, Expr]
    taps: tuple[Expr, Expr]
    stride: tuple[Expr, Expr]
    padding: tuple[Expr, Expr]
    dilation: tuple[Expr, Expr]

    @property
    def out(self) -> tuple[Expr, Expr]:
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
        return [0, *self.stride, *self.padding, *self.dilation]

    @property
    def numbers(self) -> list[Operand]:
        """The scalars that say how windows lie."""
        high, wide = self.out
        named = {
            "h": self.size[0],
            "w": self.size[1],
            "r": self.taps[0],
            "s": self.taps[1],
            "out_h": high,
            "out_w": wide,
            "by_h": self.stride[0],
            "by_w": self.stride[1],
            "pad_h": self.padding[0],
            "pad_w": self.padding[1],
            "apart_h": self.dilation[0],
            "apart_w": self.dilation[1],
        }
        return [cd.Scalar(name, "i32", value) for name, value in named.items()]


def sizes_of() -> Sizes:
    """The dims of the declarations here."""

    def pair(name: str) -> tuple[Expr, Expr]:
        return cd.dim(f"{name}_h"), cd.dim(f"{name}_w")

    images, channels, filters, of_group = map(cd.dim, ("images", "channels", "filters", "of_group"))
    size, taps = (cd.dim("height"), cd.dim("width")), (cd.dim("rows"), cd.dim("columns"))
    windows = map(pair, ("stride", "padding", "dilation"))
    return Sizes(images, channels, filters, of_group, size, taps, *windows)


def _convolved(x: Array, weight: Array, numbers: tuple[int, ...]) -> Array:
    """The sums in f64, for weights [filters, rows, columns, channels of a group]."""
    stride, padding, dilation = numbers[:2], numbers[2:4], numbers[4:]
    wide = numpy.pad(x.astype(numpy.float64), [(0, 0), *((p, p) for p in padding), (0, 0)])
    filters, *taps, of_group = weight.shape
    groups = x.shape[3] // of_group
    out = [(wide.shape[1 + i] - dilation[i] * (taps[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    result = numpy.zeros((x.shape[0], *out, groups, filters // groups))
    by_group = wide.reshape(*wide.shape[:3], groups, of_group)
    factors = weight.astype(numpy.float64).reshape(groups, -1, *taps, of_group)
    with numpy.errstate(invalid="ignore"):  # inf - inf is NaN, as it should be
        for r, s in numpy.ndindex(*taps):
            part = tuple(
                slice(d * t, d * t + by * (o - 1) + 1, by)
                for d, t, by, o in zip(dilation, (r, s), stride, out, strict=True)
            )
            there = by_group[(slice(None), *part)]
            result += numpy.einsum("gkc,nhwgc->nhwgk", factors[:, :, r, s], there)
    found: Array = result.reshape(*result.shape[:3], filters)
    return found


def _reference(is_depthwise: bool) -> Callable[..., Array]:
    def convolution(
        x: Array,
        weight: Array,
        window: Array,
        factor: Array,
        summand: Array,
        residual: Array | None,
        slope: float,
        activation: int,
    ) -> Array:
        if is_depthwise:
            weight = weight.transpose(2, 0, 1)[..., None]
        result = _convolved(x, weight, window.shape[1:])
        with numpy.errstate(invalid="ignore"):
            result = result * factor.astype(numpy.float64) + summand.astype(numpy.float64)
            if residual is not None and residual.size:
                result += residual.astype(numpy.float64)
        typed: Array = activated(ACTIVATIONS[activation], result, slope).astype(x.dtype)
        return typed

    return convolution


def _operands(sizes: Sizes, dtype: str, is_depthwise: bool) -> list[Operand]:
    shape = [sizes.images, *sizes.out, sizes.filters]
    of_group: Expr | int = 1 if is_depthwise else sizes.of_group
    groups = sizes.channels if is_depthwise else sizes.groups
    weight = [*sizes.taps, sizes.filters]
    if not is_depthwise:
        weight = [sizes.filters, *sizes.taps, sizes.of_group]
    return [
        cd.In("x", dtype, [sizes.images, *sizes.size, sizes.channels]),
        cd.In("weight", dtype, weight),
        cd.In("window", "u8", sizes.window),
        cd.In("factor", "f32", [sizes.filters]),
        cd.In("summand", "f32", [sizes.filters]),
        cd.In("residual", dtype, shape, optional=True),
        cd.Out("y", dtype, shape),
        cd.Scalar("n", "i32", sizes.images),
        cd.Scalar("groups", "i32", groups),
        cd.Scalar("channels_of_group", "i32", of_group),
        cd.Scalar("filters_of_group", "i32", sizes.filters // groups),
        *sizes.numbers,
        cd.Scalar("slope", "f32"),
        cd.Scalar("activation", "i32"),
    ]


def declare(dtype: str, tile: Tile, *, any_size: bool = False) -> cd.Kernel:
    """A kernel of one form.

    Parameters
    ----------
    dtype
        "f32", "f16" or "bf16".
    any_size
        Whether images may be so large that offsets in them take 64 bits.
    """
    sizes = sizes_of()
    offset, element = "long long" if any_size else "int", 4 if dtype == "f32" else 2
    per_group, positions = sizes.filters // sizes.groups, _positions(sizes)
    of_cpu = cd.ceildiv(per_group, CPU_WARPS * CPU_FILTERS) * cd.ceildiv(positions, CPU_LANES)
    function = f"cuda_kernels::convolution_last_cpu<{C_TYPES[dtype]}, {CPU_WARPS}, {CPU_STEP}>"
    on_hopper: dict[str, cd.Implementation] = {}
    if tile.on_any(element) != tile:
        whole = cd.Implementation(**tile.launch(dtype, offset, element))
        on_hopper = {"cuda:sm_90": whole, "cuda:sm_90a": whole}
    return cd.Kernel(
        f"convolution_last_{dtype}_{tile.name}",
        source="convolution_last.cu",
        operands=_operands(sizes, dtype, is_depthwise=False),
        block=tile.threads,
        grid=_tiles(sizes, tile),
        **tile.on_any(element).launch(dtype, offset, element),
        requires=[
            sizes.channels % sizes.of_group == 0,
            sizes.filters % sizes.groups == 0,
            *([] if any_size else _is_small(sizes)),
        ],
        implementations={
            "cpu": cd.Implementation(
                source="convolution_last_cpu.cu",
                entry=function,
                block=CPU_LANES * CPU_WARPS,
                grid=of_cpu * sizes.groups,
                dynamic_shared_memory=0,
            )
        }
        | on_hopper,
        reference=_reference(is_depthwise=False),
        flops=2 * positions * sizes.filters * sizes.of_group * sizes.taps[0] * sizes.taps[1],
    )


def _is_small(sizes: Sizes) -> list[Condition]:
    """That offsets in x take 31 bits with what is around it, and places in an image 15."""
    reach = [
        size + 2 * padding + dilation * taps
        for size, padding, dilation, taps in zip(
            sizes.size, sizes.padding, sizes.dilation, sizes.taps, strict=True
        )
    ]
    return [
        *(each < 2**14 for each in reach),
        (sizes.images + 1) * reach[0] * reach[1] * sizes.channels < 2**31,
    ]


def _positions(sizes: Sizes) -> Expr:
    return sizes.images * sizes.out[0] * sizes.out[1]


def _tiles(sizes: Sizes, tile: Tile) -> Expr:
    per_group = cd.ceildiv(sizes.filters // sizes.groups, tile.n)
    return per_group * cd.ceildiv(_positions(sizes), tile.m) * sizes.groups


def declare_depthwise(dtype: str) -> cd.Kernel:
    """The kernel for filters of one channel each; a channel may have several filters."""
    sizes = sizes_of()
    high, wide = sizes.out
    units = sizes.images * high * cd.ceildiv(wide, ACROSS) * cd.ceildiv(sizes.filters, 2)
    return cd.Kernel(
        f"depthwise_last_{dtype}",
        source="depthwise_last.cu",
        entry=f"cuda_kernels::depthwise_last<{C_TYPES[dtype]}, {DEPTHWISE}>",
        operands=_operands(sizes, dtype, is_depthwise=True),
        block=DEPTHWISE,
        grid=cd.ceildiv(units, DEPTHWISE),
        requires=[sizes.filters % sizes.channels == 0],
        reference=_reference(is_depthwise=True),
    )


def rules(sizes: Sizes) -> dict[Tile, list[Condition]]:
    """For which sizes tiles are.

    Small ones fill multiprocessors best, unless there are many large ones with many steps each.
    """
    depth = sizes.of_group * sizes.taps[0] * sizes.taps[1]
    return {
        LARGE: [
            sizes.filters // sizes.groups > MEDIUM.n,
            _tiles(sizes, LARGE) >= 2 * MULTIPROCESSORS,
            depth >= 512,
        ],
        MEDIUM: [
            sizes.filters // sizes.groups <= MEDIUM.n,
            sizes.of_group < 8,
            _tiles(sizes, MEDIUM) >= 4 * MULTIPROCESSORS,
        ],
        SMALL: [_tiles(sizes, SMALL) >= MULTIPROCESSORS],
        SLICED: [_tiles(sizes, SLICED) >= MULTIPROCESSORS // 2],
    }


@cache
def choice(dtype: str) -> cd.Choice:
    """All kernels of a convolution, for many tiles and for few."""
    tiles = (OF_F32,) if dtype == "f32" else (LARGE, MEDIUM, SMALL, SLICED, TINY)
    kernels = {tile: declare(dtype, tile, any_size=tile is tiles[-1]) for tile in tiles}
    chosen = rules(sizes_of()) if len(tiles) > 1 else {}
    by_name = {kernels[tile].name: rule for tile, rule in chosen.items()}
    return cd.Choice(f"convolution_last_{dtype}", list(kernels.values()), rules=by_name)


_TABLE: dict[str, Callable[[], cd.Kernel | cd.Choice]] = {
    **{f"convolution_last_{dtype}": partial(choice, dtype) for dtype in TYPES},
    **{f"depthwise_last_{dtype}": partial(declare_depthwise, dtype) for dtype in TYPES},
}
__getattr__, __dir__ = lazily(globals(), _TABLE)
