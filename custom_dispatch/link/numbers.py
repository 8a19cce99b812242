"""Numbers of a model as a kernel's scalars take them."""

from __future__ import annotations

import math
from typing import Any

import numpy
from iree.compiler import ir

from custom_dispatch.errors import LinkError
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.operand import Scalar


def constant(scalar: Scalar, value: Any) -> ir.Attribute | None:
    """A number as a kernel's scalar takes it; None for a value of the model.

    Raises
    ------
    LinkError
        The scalar's type cannot represent the number.
    """
    kind = ir.Type.parse(scalar.argument_type)
    if isinstance(value, ir.Value):
        element = value.type
        if isinstance(element, ir.RankedTensorType):
            element = element.element_type
        narrow = {str(element), scalar.argument_type} in ({"f16", "f32"}, {"bf16", "f32"})
        if element == kind or narrow or (str(element) == "index" and scalar.dtype.bits == 64):
            return None
        raise LinkError(
            f"the number for `{scalar.name}` is {element}, and the scalar {scalar.dtype}"
        )
    held = held_number(scalar.dtype, value, kind)
    if held is not None:
        return held
    raise LinkError(
        f"the number for `{scalar.name}` is {value}, which {scalar.dtype} does not hold"
    )


def held_number(dtype: ElementType, value: float, kind: ir.Type) -> ir.Attribute | None:
    """A number as an attribute of a scalar's type in IR; None where the dtype does not hold it."""
    if dtype.is_float:
        with numpy.errstate(over="ignore"):
            held = float(numpy.asarray(float(value)).astype(dtype.to_numpy()))
        if math.isfinite(held) or not math.isfinite(value):
            return ir.FloatAttr.get(kind, held)
    elif math.isfinite(value) and value == int(value):
        number = int(value)
        if (-dtype.largest - 1 if dtype.name.startswith("i") else 0) <= number <= dtype.largest:
            # IR's integers have no sign: the upper half of the unsigned ones are negative.
            if dtype.name.startswith("u") and number >= 2 ** (dtype.bits - 1):
                number -= 2**dtype.bits
            return ir.IntegerAttr.get(kind, number)
    return None
