"""What `gpu/rows.py` runs: operations of PyTorch, and their sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

TORCH_TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
EPSILON = 1e-5
CHECKED = (1, 7, 8, 31, 64, 127, 333, 1000, 1023, 4097, 8191, 20001, 70001, 140003, 262144)
VIEWS = ((0, 0, 0), (1, 0, 3), (3, 3, 0), (0, 5, 1))
"""Elements by which inputs, results and weights begin behind an aligned address."""
TIMED = (
    *((100_000, 32), (100_000, 33), (65536, 64), (1_000_000, 128), (16384, 768), (16384, 1023)),
    *((1, 4096), (8, 4096), (64, 1536), (1576, 333), (1576, 384), (2000, 2560), (4096, 1000)),
    *((4096, 5003), (8192, 4097), (8192, 8192), (1000, 16381), (1000, 16384), (32, 8192)),
    *((256, 32768), (512, 50257), (300, 65537), (32, 128256), (2000, 131071), (4, 262144)),
)
"""Rows and their width."""
MOST_ROWS, WIDTHS, MOST_ELEMENTS = 200_000, (32, 262_144), 1 << 27
"""Of sizes that are drawn."""
IMAGES = (
    *((2, 320, 64, 64, 32), (1, 512, 128, 128, 32), (8, 640, 32, 32, 32), (2, 960, 17, 19, 32)),
    *((3, 99, 33, 35, 3), (64, 256, 14, 14, 256), (1, 128, 512, 512, 32)),
)
"""Images, channels, height, width and groups; in either layout, with silu behind."""


def drawn_sizes(seed: int, count: int) -> list[tuple[int, int]]:
    """Rows and widths, even on a logarithmic scale; every other width is made of whole packs."""
    draw = numpy.random.default_rng(seed)
    found: list[tuple[int, int]] = []
    while len(found) < count:
        rows = round(math.exp(draw.uniform(0.0, math.log(MOST_ROWS))))
        columns = round(math.exp(draw.uniform(math.log(WIDTHS[0]), math.log(WIDTHS[1]))))
        columns = columns // 8 * 8 if len(found) % 2 else columns | 1
        if rows * columns <= MOST_ELEMENTS:
            found.append((rows, columns))
    return found


@dataclass(frozen=True)
class Op:
    """One kernel of each type."""

    name: str
    wanted: Callable[..., Any]
    """What it computes by PyTorch, of as many of x, a residual, a weight and a bias as it takes; a
    tuple where it has two results."""
    operands: str
    """Which of these, x, r, w and b, a call has; then e for epsilon and o for an offset of 1."""
    copies: float = 1.0
    """Of x, that move as many bytes."""

    def tensors(self, **given: Any) -> list[Any]:
        """Those of a call, of all four by letter."""
        return [given[letter] for letter in self.operands if letter in given]

    def arguments(self, **given: Any) -> list[Any]:
        """All of a call's."""
        numbers = {"e": EPSILON, "o": 1.0}
        return self.tensors(**given) + [numbers[each] for each in self.operands if each in numbers]


def ops() -> list[Op]:
    """All of them."""
    from torch.nn import functional

    def rms(x: Any, w: Any) -> Any:
        if x.dtype.itemsize == 8:  # PyTorch's own makes all of a row with an infinity NaN
            return x * (x.square().mean(-1, keepdim=True) + EPSILON).rsqrt() * w
        return functional.rms_norm(x, x.shape[-1:], w, EPSILON)

    def added(x: Any, r: Any, w: Any) -> Any:
        return x + r, rms(x + r, w)

    def rms_from(x: Any, w: Any) -> Any:
        wide = x if x.dtype.itemsize == 8 else x.float()
        return rms(wide, 1 + w.to(wide.dtype)).to(x.dtype)

    def layer(x: Any, w: Any, b: Any) -> Any:
        return functional.layer_norm(x, x.shape[-1:], w, b, EPSILON)

    return [
        Op("softmax", lambda x: x.softmax(-1), "x"),
        Op("layer_norm", layer, "xwbe"),
        Op("rms_norm", rms, "xwe"),
        Op("add_rms_norm", added, "xrwe", 2.0),
        Op("rms_norm_from", rms_from, "xweo"),
    ]


def elementwise_ops() -> list[Op]:
    """Activations: of each element, and of it and another."""
    from torch.nn import functional

    return [
        Op("gelu_erf", functional.gelu, "x"),
        Op("gelu_tanh", lambda x: functional.gelu(x, approximate="tanh"), "x"),
        Op("swiglu", lambda x, r: functional.silu(x) * r, "xr", 1.5),
        Op("geglu_tanh", lambda x, r: functional.gelu(x, approximate="tanh") * r, "xr", 1.5),
    ]


def of_images(x: Any, w: Any, b: Any, groups: int, last: bool) -> Any:
    """A group norm and silu, by PyTorch."""
    from torch.nn import functional

    images = x.permute(0, 3, 1, 2) if last else x
    y = functional.silu(functional.group_norm(images, groups, w, b, EPSILON))
    return y.permute(0, 2, 3, 1) if last else y


def images() -> list[tuple[str, tuple[int, int, int, int, int], bool]]:
    """Kernels, sizes, and whether the channels are last."""
    names = ("group_norm_2d", "group_norm_last")
    return [(names[last], sizes, last) for sizes in IMAGES for last in (False, True)]


def image(dtype: Any, sizes: tuple[int, int, int, int, int], last: bool) -> list[Any]:
    """Images, weights, biases, the array that says how many groups, and room for a result."""
    import torch

    count, channels, height, width, groups = sizes
    shape = (count, height, width, channels) if last else (count, channels, height, width)
    x, w, b = (torch.randn(size, device="cuda").to(dtype) for size in (shape, channels, channels))
    return [
        x,
        w,
        b,
        torch.empty((0, groups), dtype=torch.uint8, device="cuda"),
        torch.empty_like(x),
    ]
