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
from custom_dispatch.runtime.module_file import EntryPoints, ValueType

if TYPE_CHECKING:
    from custom_dispatch.kernel.operand import Scalar


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


Translation = Callable[[Exception], CustomDispatchError]


def _plain(kind: ValueType) -> tuple[ElementType, int, tuple[int, ...] | None] | None:
    """What is asked of an array that needs no further look: its type, its rank, and its shape.

    None for what is no tensor, or has both sizes that are known and others.
    """
    if kind.sizes is None:
        return None
    known = tuple(size for size in kind.sizes if size is not None)
    if known and len(known) < len(kind.sizes):
        return None
    return kind.dtype, len(kind.sizes), known if len(known) == len(kind.sizes) else None


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
        plain = [found for kind in kinds if (found := _plain(kind)) is not None]
        self._plain = plain if len(plain) == len(kinds) else []
        self.count = len(kinds)

    def in_order(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """What a call passes, in the function's order."""
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

    def plain(self, arguments: Sequence[Any]) -> tuple[Any, incoming.Needs] | None:
        """A call's inputs if all arguments are arrays on the device, and what must be over."""
        if not arguments or type(arguments[0]) is not DeviceArray:
            return None
        if len(arguments) != len(self._plain):
            return None
        if self._points.writes and self._overlap(arguments) is not None:
            return None
        device, needs = self._device, incoming.NEEDS_NOTHING
        inputs = rt.VmVariantList(len(arguments) + 2)
        for argument, (dtype, rank, shape) in zip(arguments, self._plain, strict=True):
            if (
                type(argument) is not DeviceArray
                or argument.element_type is not dtype
                or (len(argument.shape) != rank if shape is None else argument.shape != shape)
                or argument.open_device is not device
            ):
                return None
            if argument._flight is not None:
                needs = needs if needs is not incoming.NEEDS_NOTHING else incoming.Needs()
                needs.of(argument)
            inputs.push_ref(argument.view)
        return inputs, needs

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
        pair = self._overlap(arguments)
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
            if argument is None and index in self._points.optional:
                argument = numpy.empty((0,) * len(sizes), kind.dtype.to_numpy())
            array = incoming.read_array(argument, what)
            incoming.check_array(array, kind, what)
            placed = incoming.place_written if index in self._points.writes else incoming.place
            is_there = self.push(inputs, array, kind.dtype, what, needs, translated, placed)
            on_device = is_there or on_device
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

    def push(
        self,
        inputs: Any,
        array: incoming.Array,
        kind: ElementType,
        what: str,
        needs: incoming.Needs,
        translated: Translation,
        placed: Callable[[OpenDevice, incoming.Array, ElementType, str], Any] = incoming.place,
    ) -> bool:
        """Add an array that was checked to a call; return whether it is not numpy's.

        - `needs`: takes what must be over before the array is read.
        - `translated`: what a failure of IREE means to the caller.
        - `placed`: puts it on the device.
        """
        needs.of(array)
        try:
            inputs.push_ref(placed(self._device, array, kind, what))
        except IREE_ERRORS as error:
            raise translated(error) from error
        return type(array) is not numpy.ndarray
