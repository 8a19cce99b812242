"""Results on their way into arrays that the caller gave."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.runtime import incoming
from custom_dispatch.runtime.access import IREE_ERRORS
from custom_dispatch.runtime.device import OpenDevice
from custom_dispatch.runtime.device_array import DeviceArray, bytes_of
from custom_dispatch.runtime.dlpack import ForeignArray
from custom_dispatch.runtime.driver import wait_for_stream
from custom_dispatch.runtime.flight import Flight
from custom_dispatch.runtime.module_file import EntryPoints, FunctionType

Translate = Callable[[Exception], Exception]


class Destinations:
    """The arrays that a call is to write its results into."""

    def __init__(
        self,
        device: OpenDevice,
        name: str,
        kind: FunctionType,
        out: Any,
        arguments: Sequence[Any],
        points: EntryPoints,
    ) -> None:
        self._device = device
        self._kinds = [item.dtype for item in kind.outputs]
        given = out if isinstance(out, tuple) else (out,)
        if len(given) != len(kind.outputs) or any(item.sizes is None for item in kind.outputs):
            raise CallError(
                f"`{name}` is given {len(given)} arrays to write into.",
                expected=f"{len(kind.outputs)}, for results that are tensors: {kind}",
                next_step="pass out=array, or out=(first, second, ...) for several results.",
            )
        self._arrays: list[incoming.Array] = []
        self._views: list[Any] = []
        self._is_argument: list[bool] = []
        # The argument whose buffer a result is to be, if there is a function that updates it.
        self._updated = points.updated if points.into is not None else (None,) * len(given)
        self.needs = incoming.Needs()
        for index, (item, value) in enumerate(zip(kind.outputs, given, strict=True)):
            what = f"`out` {index} of `{name}`" if len(given) > 1 else f"`out` of `{name}`"
            array = incoming.read_array(value, what)
            incoming.check_array(array, item, what)
            self.needs.of(array)
            self._arrays.append(array)
            self._views.append(incoming.place_storage(device, array, item.dtype, what))
            position = self._updated[index]
            self._is_argument.append(position is not None and arguments[position] is value)

    @property
    def direct(self) -> bool:
        """Whether the device can write all of them itself."""
        return all(view is not None for view in self._views)

    @property
    def storages(self) -> list[Any]:
        """The buffers of results that are no arguments."""
        pairs = zip(self._views, self._updated, strict=True)
        return [view for view, position in pairs if position is None]

    def updated(self, result: int, argument: Any, translate: Translate) -> incoming.Array:
        """What takes an argument's place whose buffer becomes a result: with its content."""
        kind = self._kinds[result]
        target = DeviceArray(self._device, self._views[result], kind)
        if self._is_argument[result]:
            return target
        what = "an argument that is updated"
        array = incoming.read_array(argument, what)
        source = incoming.place(self._device, array, kind, what)
        if isinstance(array, DeviceArray):
            array.wait()
        elif isinstance(array, ForeignArray) and array.stream is not None:
            wait_for_stream(array.stream)
        _require_shape(target.shape, "the argument that is updated", source.shape)
        if target.size:
            self._copy(source, target.view, kind, translate)
        return target

    def fill(self, results: Sequence[DeviceArray], translate: Translate) -> None:
        """Copy results that are done into the arrays."""
        for index, (result, array) in enumerate(zip(results, self._arrays, strict=True)):
            _require_shape(incoming.shape_of(array), "the result", result.shape)
            if not result.size:
                continue
            view = self._views[index]
            kind = self._kinds[index]
            if view is not None:
                self._copy(result.view, view, kind, translate)
            else:
                _copy_to_host(result, array, kind)

    def _copy(self, source: Any, target: Any, kind: ElementType, translate: Translate) -> None:
        """Copy from one buffer on the device to another, and wait for it."""
        flight = start_copy(self._device, source, target, kind, translate)
        if flight is not None:
            flight.wait()


def _require_shape(given: Sequence[int], other: str, shape: Sequence[int]) -> None:
    if list(given) != list(shape):
        raise CallError(
            f"`out` has shape {list(given)}, and {other} {list(shape)}.",
            expected="the same shape",
            next_step="pass an array of that shape.",
        )


def start_copy(
    device: OpenDevice, source: Any, target: Any, kind: ElementType, translate: Translate
) -> Flight | None:
    """Begin to copy from one buffer on a device to another; None where it is done at once."""
    try:
        if not device.is_cuda:
            # IREE's CPU devices do not take other libraries' memory as the target of a copy.
            numpy.copyto(bytes_of(target, kind), bytes_of(source, kind))
            return None
        flight = Flight(device, (source, target), translate)
        device.hal.queue_copy(
            source.get_buffer(), target.get_buffer(), device.reached, flight.fence()
        )
    except IREE_ERRORS as error:
        raise translate(error) from error
    return flight


def _copy_to_host(result: DeviceArray, array: incoming.Array, kind: ElementType) -> None:
    found = result.to_host()
    if isinstance(array, ForeignArray):
        numpy.copyto(array.to_numpy(), found.view(f"u{kind.bytes}"))
    elif isinstance(array, numpy.ndarray):
        numpy.copyto(array, found.view(array.dtype))
