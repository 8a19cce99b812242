"""Numbers on their way into a call."""

from __future__ import annotations

import math
from typing import Any

import numpy

from custom_dispatch.errors import CallError, sentence
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Scalar


def push_scalar(inputs: Any, argument: Any, kind: ElementType, what: str) -> None:
    """Add a number to a call's inputs.

    Raises
    ------
    CallError
        It is no number, or the type does not hold it.
    """
    value = scalar_value(argument, kind, what, signless=True)
    (inputs.push_float if kind.is_float else inputs.push_int)(value)


def number_for(value: Any, scalar: Scalar, what: str) -> float | int:
    """A number for a kernel's scalar, as the declared type holds it.

    Raises
    ------
    CallError
        It is no number, or the type does not hold it.
    """
    number = scalar_value(value, scalar.dtype, what)
    if scalar.dtype.is_float and scalar.dtype.bits < 32:
        # Rounded once, from what was given: it is passed as f32, and would be rounded to that
        # first.
        return float(numpy.asarray(number).astype(scalar.dtype.to_numpy()))
    return number


def scalar_value(
    value: Any, kind: ElementType, what: str, *, signless: bool = False
) -> float | int:
    """A number for a scalar argument.

    Parameters
    ----------
    signless
        Take an integer of either signedness, and return it as the signed one of the same bits:
        what a model's integer types mean.

    Raises
    ------
    CallError
        It is no number, or the type does not hold it.
    """
    try:
        number = float(value) if kind.is_float else int(value)
        exact = kind.is_float or number == value
    except (TypeError, ValueError, OverflowError):
        exact = False
        number = 0
    if not exact or isinstance(value, str):
        raise CallError(
            f"{sentence(what)} is {shown(value)}.",
            expected=f"a number for {kind}",
            next_step="pass a Python or numpy number.",
        )
    if kind.is_float:
        if kind.bits <= 32 and math.isfinite(number):
            with numpy.errstate(over="ignore"):
                held = bool(numpy.isfinite(numpy.asarray(number).astype(kind.to_numpy())))
            if not held:
                raise _out_of_range(what, value, kind)
        return number
    low, high = _integer_range(kind)
    if signless and kind.name != "bool":
        low, high = -(2 ** (kind.bits - 1)), 2**kind.bits - 1
    if not low <= number <= high:
        raise _out_of_range(what, value, kind)
    wraps = signless and kind.name != "bool" and number >= 2 ** (kind.bits - 1)
    return int(number) - (2**kind.bits if wraps else 0)


def _integer_range(kind: ElementType) -> tuple[int, int]:
    if kind.name == "bool":
        return 0, 1
    if kind.name[0] == "u":
        return 0, 2**kind.bits - 1
    return -(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1) - 1


def _out_of_range(what: str, value: Any, kind: ElementType) -> CallError:
    return CallError(
        f"{sentence(what)} is {shown(value)}, which {kind} does not hold.",
        expected=f"a value of type {kind}",
        next_step="pass a smaller value, or declare a larger type.",
    )
