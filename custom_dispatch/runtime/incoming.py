"""Arrays on their way into a call: read from whatever they are, checked, put on the device."""

import contextlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy
from iree import runtime as rt

from custom_dispatch.errors import CallError, sentence
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType, of_numpy
from custom_dispatch.runtime import dlpack
from custom_dispatch.runtime.device import OpenDevice, name_of_hal
from custom_dispatch.runtime.device_array import DeviceArray, HostArray, hal_element_type, to_device
from custom_dispatch.runtime.dlpack import ForeignArray
from custom_dispatch.runtime.flight import Flight
from custom_dispatch.runtime.module_file import ValueType

Array: TypeAlias = "HostArray | DeviceArray | ForeignArray | rt.DeviceArray"

_UNREADABLE = (BufferError, RuntimeError, TypeError, ValueError, AttributeError)
"""What other libraries raise where they do not give an array."""
_CPU_ALIGNMENT = 64
"""What IREE's CPU devices require of buffers (IREE_HAL_HEAP_BUFFER_ALIGNMENT)."""
_CUDA_ALIGNMENT = 16
"""The widest access that compilers make of an address they take to be aligned (ld.global.v4)."""


def read_array(value: Any, what: str) -> Array:
    """An array as one of the kinds that calls know, without copying it."""
    if isinstance(value, DeviceArray | rt.DeviceArray | ForeignArray):
        return value
    # numpy loads `numpy.ma` when it is first asked for, which takes 7 ms.
    if "numpy.ma" in sys.modules and isinstance(value, numpy.ma.MaskedArray):
        raise CallError(
            f"{sentence(what)} is a masked array.",
            expected="an array whose elements all count: kernels know no masks",
            next_step="pass array.filled(value), or array.data for all that is in it.",
        )
    if isinstance(value, numpy.ndarray):
        return numpy.asarray(value)  # of other classes, such as memmap, the array itself
    if isinstance(value, numpy.generic):
        return numpy.asarray(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        try:
            return ForeignArray(value)
        except _UNREADABLE as error:
            raise CallError(
                f"{sentence(what)} cannot be read as an array: {str(error).rstrip('.')}.",
                expected="an array that offers DLPack",
                next_step="pass a plain copy of it: one that needs no gradient, is dense, and can "
                "be written.",
            ) from error
    raise CallError(
        f"{sentence(what)} is {type(value).__name__}.",
        expected="a numpy array, or one that offers DLPack",
        next_step="make it an array with the declared dtype: numpy.asarray(value, dtype=...).",
    )


def gpu_of(values: Iterable[Any]) -> int | None:
    """The number of the GPU that the first array is on which is on one; None if none is."""
    for value in values:
        found = gpu_of(value) if isinstance(value, tuple) else None
        if not isinstance(value, numpy.ndarray) and hasattr(value, "__dlpack_device__"):
            with contextlib.suppress(*_UNREADABLE):  # `read_array` says what is wrong
                kind, index = value.__dlpack_device__()
                found = index if kind in dlpack.ON_CUDA else None
        if found is not None:
            return found
    return None


def shape_of(array: Array) -> tuple[int, ...]:
    """An array's sizes."""
    return tuple(array.shape)


def dtype_of(array: Array, what: str) -> ElementType:
    """An array's element type."""
    found, kind = _dtype(array)
    if kind is None:
        raise CallError(
            f"{sentence(what)} has dtype {found}.",
            expected=", ".join(ELEMENT_TYPES),
            next_step="convert it to one of these.",
        )
    return kind


def _dtype(array: Array) -> tuple[object, ElementType | None]:
    """An array's dtype as its library names it, and the element type that it is."""
    if isinstance(array, DeviceArray):
        return array.element_type, array.element_type
    if isinstance(array, ForeignArray):
        return array.dtype_name, array.dtype
    return array.dtype, of_numpy(array.dtype)


def check_array(array: Array, kind: ValueType, what: str) -> None:
    """Require a tensor's dtype, rank and static sizes. Nothing is converted silently."""
    check_dtype(array, kind.dtype, what)
    sizes = kind.sizes or ()
    shape = shape_of(array)
    if len(shape) != len(sizes):
        raise CallError(
            f"{sentence(what)} has shape {list(shape)}, which is rank {len(shape)}.",
            expected=f"rank {len(sizes)}: {kind}",
            next_step="reshape the array.",
        )
    for axis, (size, actual) in enumerate(zip(sizes, shape, strict=True)):
        if size is not None and size != actual:
            raise CallError(
                f"{sentence(what)} has size {actual} in dimension {axis}.",
                expected=f"{size}: {kind}",
                next_step="pass an array of that size.",
            )


def check_dtype(array: Array, kind: ElementType, what: str) -> None:
    """Require a dtype; for integers any signedness of the same size."""
    if type(array) is numpy.ndarray and array.dtype == kind.to_numpy():
        return
    found, own = _dtype(array)
    if own is not kind and (own is None or not _same(own, kind)):
        name = kind.to_numpy()
        raise CallError(
            f"{sentence(what)} has dtype {found}.",
            expected=f"{name} ({kind})",
            next_step=f'convert it: array.astype("{name}").',
        )


def _same(found: ElementType, wanted: ElementType) -> bool:
    are_integers = found.name[0] in "iu" and wanted.name[0] in "iu"
    return (are_integers and found.bits == wanted.bits) or found == wanted


def place(device: OpenDevice, array: Array, kind: ElementType, what: str) -> Any:
    """Put an array of the right dtype on a device; return the `HalBufferView`.

    What is on the device already is not copied; `Needs.of` says what it waits for.
    """
    if isinstance(array, numpy.ndarray):
        return to_device(device, array, kind)
    if isinstance(array, rt.DeviceArray):
        there = device.name if array._device is device.hal else name_of_hal(array._device)
        if there not in (device.name, None):
            raise _elsewhere(what, there, device, "array.to_host()")
        return array._buffer_view
    if isinstance(array, DeviceArray):
        if array.device != device.name:
            raise _elsewhere(what, array.open_device, device, "array.to_host()")
        return array.view
    if array.device[0] in dlpack.ON_HOST:
        if not _stays(device, array):
            return to_device(device, array.to_numpy().view(kind.to_numpy()), kind)
        return array.hand_over(device.hal, int(hal_element_type(kind)))
    if array.device[0] not in dlpack.ON_CUDA or not device.is_cuda:
        on_gpu = array.device[0] in dlpack.ON_CUDA
        where = f"cuda:{array.device[1]}" if on_gpu else f"device {array.device}"
        raise _elsewhere(what, where, device, "a copy on the CPU: tensor.cpu()")
    return _place_on_gpu(device, array, kind, what)


@dataclass(slots=True)
class Needs:
    """What must be over before a call may read its arguments."""

    flights: list[Flight] = field(default_factory=list)
    """The calls that compute some of them."""
    streams: set[int] = field(default_factory=set)
    """The streams on which other libraries' arrays among them become ready."""

    def of(self, array: Array) -> None:
        """Add an array's."""
        if isinstance(array, DeviceArray):
            flight = array.flight
            if flight is not None:
                self.flights.append(flight)
            else:
                array.wait()  # done, it may have failed
        elif isinstance(array, ForeignArray) and array.stream is not None:
            self.streams.add(array.stream)


NEEDS_NOTHING = Needs()
"""Of calls whose arguments are all there; nothing is added to it."""


def place_storage(device: OpenDevice, array: Array, kind: ElementType, what: str) -> Any | None:
    """As `place`, for an array that is to be written; None where only a copy can be placed."""
    if isinstance(array, numpy.ndarray) and not array.flags.writeable:
        raise CallError(
            f"{sentence(what)} cannot be written.",
            expected="an array that can be",
            next_step="pass another one, or a copy.",
        )
    return place(device, array, kind, what) if _stays(device, array) else None


def place_written(device: OpenDevice, array: Array, kind: ElementType, what: str) -> Any:
    """As `place`, for an argument that the call writes into."""
    if _stays(device, array):
        return place(device, array, kind, what)
    raise CallError(
        f"{sentence(what)} is written into, and only a copy of it would be on {device}.",
        expected=f"an array on {device}",
        next_step="pass what program.to_device(array) returns; it has the new values after "
        "the call.",
    )


def _place_on_gpu(device: OpenDevice, array: ForeignArray, kind: ElementType, what: str) -> Any:
    if array.device[1] != device.gpu:
        instead = f'a copy on that GPU, as tensor.to("cuda:{device.gpu}") makes'
        raise _elsewhere(what, f"cuda:{array.device[1]}", device, instead)
    if 0 in array.shape:
        return to_device(device, numpy.empty(array.shape, kind.to_numpy()), kind)
    if not array.contiguous:
        raise CallError(
            f"{sentence(what)} has gaps between its elements, or another order than that of its "
            "dimensions.",
            expected="a contiguous array",
            next_step="pass a contiguous copy: tensor.contiguous().",
        )
    if array.address % _CUDA_ALIGNMENT:
        raise CallError(
            f"{sentence(what)} begins at an address that is no multiple of {_CUDA_ALIGNMENT} "
            "bytes: it is a part of another array.",
            expected="an aligned array",
            next_step="pass a copy: tensor.clone().",
        )
    return array.hand_over(device.hal, int(hal_element_type(kind)))


def _stays(device: OpenDevice, array: Array) -> bool:
    """Whether a device takes the array itself, and no copy from host memory."""
    if not isinstance(array, ForeignArray) or array.device[0] not in dlpack.ON_HOST:
        return not isinstance(array, numpy.ndarray)
    aligned = array.contiguous and not array.address % _CPU_ALIGNMENT
    return not device.is_cuda and aligned and 0 not in array.shape


def _elsewhere(what: str, where: object, device: OpenDevice, instead: str) -> CallError:
    return CallError(
        f"{sentence(what)} is on {where}, and the program runs on {device}.",
        expected=f"an array on {device} or in host memory",
        next_step=f"pass {instead}, or load the program on the other device.",
    )
