"""Arrays on their way to a device and back."""

from __future__ import annotations

from typing import Any

import numpy
from iree import runtime as rt

from custom_dispatch.kernel.dtypes import ElementType

HostArray = numpy.ndarray[Any, numpy.dtype[Any]]

_HAL_NAMES = {
    "f8E4M3FN": "FLOAT_8_E4M3_FN",
    "f8E5M2": "FLOAT_8_E5M2",
    "bf16": "BFLOAT_16",
    "f16": "FLOAT_16",
    "f32": "FLOAT_32",
    "f64": "FLOAT_64",
    "bool": "BOOL_8",
}


def hal_element_type(kind: ElementType) -> Any:
    """IREE's code of an element type. Integers are signless, as a model's tensors are."""
    return getattr(rt.HalElementType, _HAL_NAMES.get(kind.name, f"INT_{kind.bits}"))


def to_device(device: Any, array: HostArray, kind: ElementType) -> Any:
    """Copy a numpy array into a new buffer on a device; return the `HalBufferView`."""
    plain = numpy.ascontiguousarray(array).reshape(array.shape)
    raw = plain.view(f"u{kind.bytes}")
    return device.allocator.allocate_buffer_copy(
        memory_type=rt.MemoryType.DEVICE_LOCAL,
        allowed_usage=rt.BufferUsage.DEFAULT,
        device=device,
        buffer=raw,
        element_type=hal_element_type(kind),
    )


def to_host(device: Any, view: Any, kind: ElementType) -> HostArray:
    """Copy a buffer view into a new numpy array, after everything that writes it is done."""
    shape = tuple(view.shape)
    if 0 in shape:
        return numpy.empty(shape, kind.to_numpy())
    unsigned = getattr(rt.HalElementType, f"UINT_{kind.bits}")
    raw_view = rt.HalBufferView(view.get_buffer(), list(shape), int(unsigned))
    raw = rt.DeviceArray(device, raw_view).to_host()
    # A mapped array would keep the buffer alive, and change with it.
    return numpy.array(raw, copy=True).view(kind.to_numpy()).reshape(shape)
