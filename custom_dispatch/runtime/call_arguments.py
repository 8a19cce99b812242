"""The arguments of a call: brought in order, compared with a function's types, and placed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy
from iree import runtime as rt

from custom_dispatch.errors import CallError, CustomDispatchError, sentence
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.names import shown
from custom_dispatch.runtime import incoming
from custom_dispatch.runtime.access import IREE_ERRORS
from custom_dispatch.runtime.device import OpenDevice
from custom_dispatch.runtime.device_array import DeviceArray
from custom_dispatch.runtime.module_file import EntryPoints

if TYPE_CHECKING:
    from custom_dispatch.kernel.operand import Scalar


_HELD_BY_ALL = 448.0
"""The largest number of the smallest type of floats, f8E4M3FN."""


def push_scalar(inputs: Any, argument: Any, kind: ElementType, what: str) -> None:
    """Add a number to a call's inputs."""
    value = scalar_value(argument, kind, what, signless=True)
    (inputs.push_float if kind.is_float else inputs.push_int)(value)


def number_for(value: Any, scalar: Scalar, what: str) -> float | int:
    """A number for a kernel's scalar, as the declared type holds it."""
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

    `signless`: take an integer of either signedness, and return it as the signed one of the same
    bits: what a model's integer types mean.
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
        if kind.bits <= 32 and _HELD_BY_ALL < abs(number) < math.inf:
            with numpy.errstate(over="ignore"):
                held = bool(numpy.isfinite(numpy.asarray(number).astype(kind.to_numpy())))
            if not held:
                raise _out_of_range(what, value, kind)
        return number
    low, high = (~kind.largest if kind.name[0] == "i" else 0), kind.largest
    if signless and kind.name != "bool":
        low, high = -(2 ** (kind.bits - 1)), 2**kind.bits - 1
    if not low <= number <= high:
        raise _out_of_range(what, value, kind)
    wraps = signless and kind.name != "bool" and number >= 2 ** (kind.bits - 1)
    return int(number) - (2**kind.bits if wraps else 0)


def _out_of_range(what: str, value: Any, kind: ElementType) -> CallError:
    return CallError(
        f"{sentence(what)} is {shown(value)}, which {kind} does not hold.",
        expected=f"a value of type {kind}",
        next_step="pass a smaller value, or declare a larger type.",
    )


Translation = Callable[[Exception], CustomDispatchError]


class Arguments:
    """What a function's calls pass.

    - `name`, `points`: the function's.
    - `device`: where its arguments are to be.
    """

    def __init__(self, name: str, points: EntryPoints, device: OpenDevice) -> None:
        self._name = name
        self._points = points
        self._device = device
        kinds = points.type.inputs
        self._inputs = tuple(
            (kind, f"argument {index} of `{name}`") for index, kind in enumerate(kinds)
        )

    def in_order(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """What a call passes, in the function's order."""
        if not named and len(arguments) == len(self._inputs):
            return arguments
        names = self._points.names
        values = list(arguments)
        if named and not names:
            raise CallError(
                f"`{self._name}` is called with the keyword `{next(iter(named))}`.",
                expected="arguments by position: their names are not known here; "
                f"{self._points.type}",
                next_step="pass them in order.",
            )
        rest = dict(named)
        for index, name in enumerate(names[len(values) :], len(values)):
            if name not in rest and index not in self._points.optional:
                break
            values.append(rest.pop(name, None))
        if rest:
            name = next(iter(rest))
            problem = "twice" if name in names[: len(arguments)] else "by keyword"
            raise CallError(
                f"`{self._name}` is given `{name}` {problem}.",
                expected=f"{self._name}({', '.join(names)})",
                next_step="correct the call.",
            )
        if len(values) != len(self._inputs):
            raise CallError(
                f"`{self._name}` is called with {len(values)} arguments.",
                expected=f"{len(self._inputs)}: {self._points.type}",
                next_step="correct the call.",
            )
        return tuple(values)

    def read(
        self,
        arguments: Sequence[Any],
        needs: incoming.Needs,
        translated: Translation,
        storages: Sequence[Any] = (),
    ) -> tuple[Any, bool]:
        """A call's inputs, and whether one of the arguments is not numpy's.

        - `needs`: takes what must be over before they are read.
        - `translated`: what a failure of IREE means to the caller.
        - `storages`: buffers to be written, which stand behind them.
        """
        inputs = rt.VmVariantList(len(arguments) + len(storages) + 2)
        on_device = False
        pair = self._overlap(arguments) if self._points.writes else None
        if pair is not None:
            raise CallError(
                f"Arguments {pair[0]} and {pair[1]} of `{self._name}` are one array, and the call "
                "writes into it.",
                expected="an array of its own for each argument that is written into",
                next_step="pass a copy for one of them.",
            )
        for index, (argument, (kind, what)) in enumerate(zip(arguments, self._inputs, strict=True)):
            sizes = kind.sizes
            if sizes is None:
                push_scalar(inputs, argument, kind.dtype, what)
                continue
            if (
                type(argument) is DeviceArray  # what most calls pass has nothing else to be asked
                and argument.open_device is self._device
                and argument.element_type is kind.dtype
                and (argument.shape == sizes or kind.takes(argument.shape))
            ):
                if argument._flight is not None:
                    needs.of(argument)
                inputs.push_ref(argument.view)
                on_device = True
                continue
            if argument is None and index in self._points.optional:
                argument = numpy.empty((0,) * len(sizes), kind.dtype.to_numpy())
            is_plain = type(argument) is numpy.ndarray
            array = argument if is_plain else incoming.read_array(argument, what)
            incoming.check_array(array, kind, what)
            placed = incoming.place_written if index in self._points.writes else incoming.place
            if type(array) is not numpy.ndarray:
                needs.of(array)
                on_device = True
            try:
                inputs.push_ref(placed(self._device, array, kind.dtype, what))
            except IREE_ERRORS as error:
                raise translated(error) from error
        for storage in storages:
            inputs.push_ref(storage)
        return inputs, on_device

    def _overlap(self, arguments: Sequence[Any]) -> tuple[int, int] | None:
        """Two arguments that are one array, if a call writes into it."""
        for index in self._points.writes:
            for other, argument in enumerate(arguments):
                if other != index and argument is arguments[index]:
                    return min(index, other), max(index, other)
        return None
