"""Arrays on their way to a device and back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from iree import runtime as rt

from custom_dispatch.kernel.dtypes import ElementType

HostArray = numpy.ndarray[Any, numpy.dtype[Any]]

_LOCAL, _DEFAULT = rt.MemoryType.DEVICE_LOCAL, rt.BufferUsage.DEFAULT
_VISIBLE = int(rt.MemoryType.HOST_VISIBLE)
_MAPPABLE = int(rt.BufferUsage.MAPPING_SCOPED)

_HAL_NAMES = {
    "f8E4M3FN": "FLOAT_8_E4M3_FN",
    "f8E5M2": "FLOAT_8_E5M2",
    "bf16": "BFLOAT_16",
    "f16": "FLOAT_16",
    "f32": "FLOAT_32",
    "f64": "FLOAT_64",
    "bool": "BOOL_8",
}


@functools.cache
def hal_element_type(kind: ElementType) -> Any:
    """IREE's code of an element type. Integers are signless, as a model's tensors are."""
    return getattr(rt.HalElementType, _HAL_NAMES.get(kind.name, f"INT_{kind.bits}"))


def to_device(device: Any, array: HostArray, kind: ElementType) -> Any:
    """Copy a numpy array into a new buffer on a device; return the `HalBufferView`."""
    if type(array) is not numpy.ndarray or not array.flags.c_contiguous:
        array = numpy.ascontiguousarray(array).reshape(array.shape)
    return copy_to_device(device, array, kind)


def copy_to_device(device: Any, array: HostArray, kind: ElementType) -> Any:
    """As `to_device`, for an array whose elements are in order and without gaps."""
    return copier(device, kind)(array)


def copier(device: Any, kind: ElementType) -> Callable[[HostArray], Any]:
    """`copy_to_device` for one device and one element type: what does not change is found once."""
    raw, code = _raw_dtype(kind), hal_element_type(kind)

    def copy(array: HostArray) -> Any:
        return device.allocator.allocate_buffer_copy(
            memory_type=_LOCAL,
            allowed_usage=_DEFAULT,
            device=device,
            buffer=array.view(raw),
            element_type=code,
        )

    return copy


def to_host(device: Any, view: Any, kind: ElementType) -> HostArray:
    """Copy a buffer view into a new numpy array, after everything that writes it is done."""
    shape = view.shape
    if 0 in shape:
        return numpy.empty(tuple(shape), kind.to_numpy())
    if _is_mappable(view):
        # It would keep the buffer alive, and change with it: it is copied.
        return _there(view, shape, kind).copy()
    buffer = view.get_buffer()
    unsigned = getattr(rt.HalElementType, f"UINT_{kind.bits}")
    raw_view = rt.HalBufferView(buffer, list(shape), int(unsigned))
    raw = rt.DeviceArray(device, raw_view).to_host()
    return numpy.array(raw, copy=True).view(kind.to_numpy()).reshape(shape)


def mapped(view: Any, kind: ElementType) -> HostArray | None:
    """A buffer view as a numpy array that cannot be written; None where the host does not see it.

    What writes it must be done. The array keeps the buffer alive.
    """
    shape = view.shape
    if 0 in shape:
        return numpy.empty(tuple(shape), kind.to_numpy())
    if not _is_mappable(view):
        return None
    array = _there(view, shape, kind)
    array.flags.writeable = False
    return array


def _is_mappable(view: Any) -> bool:
    """Whether the host sees a buffer."""
    buffer = view.get_buffer()
    return bool(buffer.memory_type() & _VISIBLE and buffer.allowed_usage() & _MAPPABLE)


def _there(view: Any, shape: Sequence[int], kind: ElementType) -> HostArray:
    """A buffer where it lies; IREE's own `asarray` takes four times as long."""
    return numpy.ndarray(shape, kind.to_numpy(), view.map())


def bytes_of(view: Any, kind: ElementType) -> HostArray:
    """The elements of a buffer view on the CPU, to be written: as integers of their size."""
    array: HostArray = view.map().asarray(view.shape, _raw_dtype(kind))
    return array


@functools.cache
def _raw_dtype(kind: ElementType) -> numpy.dtype[Any]:
    """Unsigned integers of an element's size: IREE's runtime knows few of numpy's dtypes."""
    return numpy.dtype(f"u{kind.bytes}")
