"""The arguments of a call in MLIR: its operands, and attributes, which are scalars by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.errors import LinkError
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.choice import Choice, kernels_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.link.call_site import CallSite
from custom_dispatch.link.numbers import held_number


def arrange(
    what: str,
    item: Kernel | Choice,
    values: Sequence[Any],
    attributes: Mapping[str, ir.Attribute],
) -> list[Any]:
    """For each of `Kernel.arguments` a value or an attribute; None for a tensor that is absent.

    Attributes are numbers by the names of scalars (of a struct's numbers, `params.alpha` as
    `params_alpha`); values are the other arguments in order, and optional tensors may be missing
    at the end.

    Parameters
    ----------
    what
        The call, for errors.

    Raises
    ------
    LinkError
        An attribute is no scalar's, a value is missing, or there are too many.
    """
    kernel = kernels_of(item)[0]
    named = {
        argument.name.replace(".", "_"): argument
        for argument in kernel.arguments
        if isinstance(argument, Scalar)
    }
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
    for argument in kernel.arguments:
        name = argument.name.replace(".", "_")
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


def number_of(site: CallSite, scalar: Scalar, attribute: ir.Attribute) -> float | int:
    """The number that an attribute is.

    Raises
    ------
    LinkError
        The attribute is not a number.
    """
    if isinstance(attribute, ir.FloatAttr):
        return float(attribute.value)
    if isinstance(attribute, ir.BoolAttr):
        return int(attribute.value)
    if isinstance(attribute, ir.IntegerAttr):
        return int(ir.IntegerAttr(attribute).value)
    raise site.refusal(
        f"has {attribute} for the scalar `{scalar.name}`", f"a number that {scalar.dtype} holds"
    )


def constant_of(
    site: CallSite, scalar: Scalar, value: float | int, wanted: ir.Type
) -> ir.Attribute:
    """A number as an attribute of a scalar's type.

    Raises
    ------
    LinkError
        The type cannot represent the number.
    """
    held = held_number(scalar.dtype, value, wanted)
    if held is not None:
        return held
    raise site.refusal(
        f"has {value} for the scalar `{scalar.name}`",
        f"a number that {scalar.dtype} holds",
        "correct the number, or declare a larger type.",
    )
