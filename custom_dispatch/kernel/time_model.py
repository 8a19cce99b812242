"""How long a kernel takes for some sizes, as a sum that its declaration and a few seconds make.

A kernel's blocks are computed in waves, as many at once as the device has places for. Each takes
some time of its own, and more for each step, which are the dims of its `flops` that the grid does
not divide: the inner size of a product. To that come the bytes that the operands have, and the
launch. How long each of these takes is fitted to measurements (`custom_dispatch.measure.time_fit`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache, reduce
from math import inf, prod
from operator import add, mul
from typing import Any

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.evaluation import dims_of, evaluate, uses_device
from custom_dispatch.kernel.expr import Binary, Constant, Expr, as_expr
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, InOut, Scratch
from custom_dispatch.kernel.target import Target

_UNITS = 10**16
"""Of a second, in which modules compute, in whole numbers."""


@dataclass(frozen=True, slots=True)
class TimeModel:
    """What a kernel's parts take, on one device."""

    places: int
    """Blocks that the device runs at once."""
    seconds: Mapping[str, float]
    """Of each part, by its name in `counts`; 0 for those that are not there."""

    def times(self, factor: float) -> TimeModel:
        """The model of a kernel that takes so many times as long."""
        return replace(self, seconds={name: each * factor for name, each in self.seconds.items()})


def predicted(kernel: Kernel, target: Target, model: TimeModel, dims: Mapping[str, int]) -> float:
    """The seconds for some sizes; infinite where these are too large to be computed with."""
    try:
        found = counts(kernel, target, model.places, dims)
    except DeclarationError:
        return inf
    return sum(each * found.get(name, 0) for name, each in model.seconds.items())


def cost(kernel: Kernel, target: Target, model: TimeModel) -> Expr:
    """The same as an expression, in units that are the same for every kernel."""
    dims = {dim.name: dim for dim in kernel.dims}
    found = _counts(*_parts_of(kernel, target), model.places, dims)
    pairs = [(found[name], each) for name, each in model.seconds.items() if name in found]
    return reduce(add, [count * round(each * _UNITS) for count, each in pairs], as_expr(0))


def counts(kernel: Kernel, target: Target, places: int, dims: Mapping[str, int]) -> dict[str, int]:
    """How often each part of a kernel's time comes for some sizes.

    "launch": once. "wave": rounds of blocks; "block": blocks. "wave*k" and "block*k": steps of
    them, for each of the dims that do not divide the grid, and for their product. "byte": as many
    as the operands have.
    """
    blocks, inner, moved = _parts_of(kernel, target)
    return _counts(evaluate(blocks, dims), inner, evaluate(moved, dims), places, dims)


def _counts(
    blocks: Any, inner: tuple[str, ...], moved: Any, places: int, dims: Mapping[str, Any]
) -> dict[str, Any]:
    """The same, of numbers or of expressions."""
    steps = [(), *((name,) for name in inner), *([inner] if len(inner) > 1 else [])]
    found = {"launch": as_expr(1) if isinstance(blocks, Expr) else 1}
    for name, count in {"wave": (blocks + (places - 1)) // places, "block": blocks}.items():
        for step in steps:
            found["*".join((name, *step))] = prod((dims[each] for each in step), start=count)
    return found | {"byte": moved}


@cache
def _parts_of(kernel: Kernel, target: Target) -> tuple[Expr, tuple[str, ...], Expr]:
    """The blocks, the dims that they do not divide, and the bytes."""
    form = kernel.for_target(target)
    axes = [axis for axis in map(_unlimited, form.grid) if not axis.is_same(as_expr(1))]
    blocks = reduce(mul, axes) if axes and not any(map(uses_device, axes)) else as_expr(1)
    divided = {item.name for item in dims_of(blocks)}
    steps = form.dims if form.flops is None else dims_of(as_expr(form.flops))
    inner = tuple(dim.name for dim in steps if dim.name not in divided)
    return blocks, inner, bytes_of(kernel, [each.name for each in kernel.buffers if each.optional])


def _unlimited(blocks: Expr) -> Expr:
    """As many blocks as there would be if a persistent kernel's grid had no limit: its tiles."""
    if isinstance(blocks, Binary) and blocks.operator == "minimum":
        sides = [side for side in (blocks.left, blocks.right) if not isinstance(side, Constant)]
        return sides[0] if len(sides) == 1 else blocks
    return blocks


def bytes_of(kernel: Kernel, absent: Collection[str] = ()) -> Expr:
    """What a kernel must move at least: what it declares, or each `In` and `Out` once and each
    `InOut` twice, without the optional ones that are `absent`.
    """
    if kernel.bytes_moved is not None:
        return kernel.bytes_moved
    found = [
        reduce(mul, item.shape, as_expr(item.dtype.bytes * (2 if isinstance(item, InOut) else 1)))
        for item in kernel.operands
        if isinstance(item, Buffer) and not isinstance(item, Scratch) and item.name not in absent
    ]
    return reduce(add, found) if found else as_expr(0)
