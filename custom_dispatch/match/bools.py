"""Operands of numbers that a model has as bools, such as a mask: 0 is True, another one False."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy
from iree.compiler import ir

from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.operations import create
from custom_dispatch.match.axes import as_the_kernels, axes_of
from custom_dispatch.match.pattern import is_by_name, wrong


def check_bools(kernel: Kernel, bools: Mapping[str, float] | None) -> dict[str, float]:
    """The numbers that stand for False, by operand.

    Raises
    ------
    DeclarationError
        One is for something else than an operand of floats, or no number that it holds.
    """
    if not is_by_name(bools):
        raise wrong(kernel, f"has the bools {shown(bools)}", 'numbers by name: {"mask": -1e30}')
    operands = {
        item.name: item
        for item in kernel.inputs
        if isinstance(item, Buffer) and item.dtype.is_float
    }
    for name, number in (bools or {}).items():
        if name not in operands:
            raise wrong(
                kernel,
                f"has bools for `{name}`",
                f"an operand of floats: {', '.join(operands) or 'it has none'}",
            )
        dtype = operands[name].dtype
        if not isinstance(number, int | float) or isinstance(number, bool) or math.isnan(number):
            raise wrong(kernel, f"has {shown(number)} for False of `{name}`", "a number")
        with numpy.errstate(over="ignore"):
            held = float(numpy.asarray(float(number)).astype(dtype.to_numpy()))
        if math.isinf(held) and not math.isinf(number):
            raise wrong(kernel, f"has {number} for False of `{name}`", f"what {dtype} holds")
    return {name: float(number) for name, number in (bools or {}).items()}


def number_of_false(pattern: Any, name: str) -> float | None:
    """What stands for False where a pattern's function has bools; None where it has none."""
    found: Mapping[str, float] = getattr(pattern, "bools", {})
    return found.get(name)


def type_of_operand(pattern: Any, item: Any, value: ir.Value) -> ir.Type:
    """The type that a tensor of the model has when the kernel gets it."""
    given = as_the_kernels(value.type, axes_of(pattern, item.name))
    kind = builtin_type(given) or given
    if number_of_false(pattern, item.name) is None:
        return kind
    return ir.RankedTensorType.get(ir.RankedTensorType(kind).shape, _element(item))


def as_numbers(value: ir.Value, item: Buffer, of_false: float) -> ir.Value:
    """Bools as an operand's numbers, in StableHLO, where the insertion point is."""
    kind = ir.RankedTensorType.get(ir.RankedTensorType(value.type).shape, _element(item))
    sides = []
    for number in (0.0, of_false):
        every = ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(_element(item), number))
        sides.append(create("stablehlo.constant", kind, value=every))
    found: ir.Value = create("stablehlo.select", kind, value, *sides)
    return found


def _element(item: Buffer) -> ir.Type:
    return ir.Type.parse(item.dtype.mlir)
