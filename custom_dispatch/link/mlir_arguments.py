"""The arguments of a call in MLIR: operands, and attributes, which are scalars by name."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from iree.compiler import ir

from custom_dispatch.errors import LinkError
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import kernels_of
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.link.arguments import arguments_by_name
from custom_dispatch.link.call_site import CallSite
from custom_dispatch.link.constants import number_of
from custom_dispatch.link.operations import create


def arrange(
    what: str, item: Kernel | Choice, values: Sequence[Any], attributes: Mapping[str, ir.Attribute]
) -> list[Any]:
    """For each of `Kernel.arguments` a value or an attribute; None for a tensor that is absent.

    Attributes are numbers by the names of scalars (of a struct's numbers, `params.alpha` as
    `params_alpha`); values are the other arguments in order, and optional tensors may be missing
    at the end.

    `what`: the call, for errors.
    """
    kernel = kernels_of(item)[0]
    arguments = arguments_by_name(kernel)
    named = [name for name, argument in arguments.items() if isinstance(argument, Scalar)]
    for name in attributes:
        if name not in named:
            raise LinkError(
                f"{what} has the attribute `{name}`, which `{item.name}` does not take.",
                expected=f"attributes named {', '.join(f'`{known}`' for known in named)}"
                if named
                else "none: the kernel has no scalar that a call gives",
                next_step="leave it out, or declare it; what a kernel is compiled with, a macro or "
                "template argument, is in its name and not in the call.",
            )
    rest = list(values)
    found: list[Any] = []
    for name, argument in arguments.items():
        if isinstance(argument, Scalar) and name in attributes:
            found.append(attributes[name])
        elif rest:
            found.append(rest.pop(0))
        elif isinstance(argument, Buffer) and argument.optional:
            found.append(None)
        else:
            raise LinkError(
                f"{what} has no value for `{argument.name}`.",
                expected=f"as `{item.name}` is declared: " + ", ".join(map(str, kernel.arguments)),
                next_step="pass it as an operand"
                + (", or as an attribute of that name." if isinstance(argument, Scalar) else "."),
            )
    if rest:
        raise LinkError(
            f"{what} has {len(values)} operands.",
            expected=f"{len(values) - len(rest)} beside its attributes, as `{item.name}` is "
            f"declared: {', '.join(map(str, kernel.arguments))}",
            next_step="correct the model, or the kernel's declaration.",
        )
    return found


def constant_of(site: CallSite, scalar: Scalar, attribute: ir.Attribute) -> Any:
    """A number that is an attribute, as a constant of a scalar's type at the insertion point."""
    wanted, value, held = ir.Type.parse(scalar.argument_type), attribute, None
    if isinstance(attribute, ir.FloatAttr | ir.BoolAttr | ir.IntegerAttr):
        value = number_of(attribute)
        held = held_number(scalar.dtype, value, wanted)
    if held is not None:
        return create("arith.constant", wanted, value=held)
    raise site.refusal(
        f"has {value} for the scalar `{scalar.name}`",
        f"a number that {scalar.dtype} holds",
        "correct the number, or declare a larger type.",
    )


def constant(scalar: Scalar, value: Any) -> ir.Attribute | None:
    """A number as a kernel's scalar takes it; None for a value of the model."""
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
