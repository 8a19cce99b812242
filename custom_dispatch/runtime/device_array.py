"""Arrays on a device: what calls return when they are given such, and take without copying."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy
from iree import runtime as rt

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType
from custom_dispatch.runtime import dlpack
from custom_dispatch.runtime.access import IREE_ERRORS
from custom_dispatch.runtime.device import OpenDevice
from custom_dispatch.runtime.driver import note_export
from custom_dispatch.runtime.flight import Flight

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


def to_device(device: OpenDevice, array: HostArray, kind: ElementType) -> Any:
    """Copy a numpy array into a new buffer on a device; return the `HalBufferView`."""
    if type(array) is not numpy.ndarray or not array.flags.c_contiguous:
        array = numpy.ascontiguousarray(array).reshape(array.shape)
    allocator, code = device.hal.allocator, hal_element_type(kind)
    if device.is_cuda and array.nbytes:
        buffer = allocator.allocate_buffer(
            memory_type=_LOCAL, allowed_usage=_DEFAULT, allocation_size=array.nbytes
        )
        address = _address_on_gpu(device, buffer, array.nbytes)
        if address is not None:
            from custom_dispatch.runtime import cuda_copies

            cuda_copies.to_device(device.gpu, address, array)
            return rt.HalBufferView(buffer, array.shape, int(code))
    return allocator.allocate_buffer_copy(
        memory_type=_LOCAL,
        allowed_usage=_DEFAULT,
        device=device.hal,
        buffer=array.view(_raw_dtype(kind)),
        element_type=code,
    )


def to_host(device: OpenDevice, view: Any, kind: ElementType) -> HostArray:
    """Copy a buffer view into a new numpy array, after everything that writes it is done."""
    shape = view.shape
    if 0 in shape:
        return numpy.empty(tuple(shape), kind.to_numpy())
    if _is_mappable(view):
        # It would keep the buffer alive, and change with it: it is copied.
        return _there(view, shape, kind).copy()
    buffer = view.get_buffer()
    array = numpy.empty(tuple(shape), kind.to_numpy())
    address = _address_on_gpu(device, buffer, array.nbytes)
    if address is not None:
        from custom_dispatch.runtime import cuda_copies

        cuda_copies.to_host(device.gpu, address, array)
        return array
    unsigned = getattr(rt.HalElementType, f"UINT_{kind.bits}")
    raw_view = rt.HalBufferView(buffer, list(shape), int(unsigned))
    raw = rt.DeviceArray(device.hal, raw_view).to_host()
    return numpy.array(raw, copy=True).view(kind.to_numpy()).reshape(shape)


def _address_on_gpu(device: OpenDevice, buffer: Any, size: int) -> int | None:
    """Where a buffer is on a GPU; None for one of the CPU, or of a pool of IREE's."""
    if device.is_cuda:
        with contextlib.suppress(*IREE_ERRORS):
            return _address(device, buffer, size)
    return None


def _address(device: OpenDevice, buffer: Any, size: int) -> int:
    view = rt.HalBufferView(buffer, [size], exact_element_type("u8"))
    return dlpack.address_of(device.hal.create_dlpack_capsule(view, *device.dlpack))


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


class DeviceArray:
    """An array in a device's memory, made by a call.

    numpy reads it through `numpy.asarray`, PyTorch, CuPy and JAX through `from_dlpack`, on the
    device it is on, without copying. Reading waits for the call that computes it; passing it on to
    another call does not.

    Its memory belongs to the result and everything made from it. Writes by other libraries are
    visible here too.
    """

    __slots__ = ("__weakref__", "_flight", "element_type", "open_device", "shape", "view")
    # `view` is IREE's `HalBufferView`, and `open_device` where it is.

    def __init__(
        self, device: OpenDevice, view: Any, kind: ElementType, flight: Flight | None = None
    ) -> None:
        self.open_device = device
        self.view = view
        self._flight = flight
        self.element_type = kind
        self.shape: tuple[int, ...] = tuple(view.shape)

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The elements' numpy dtype."""
        return self.element_type.to_numpy()

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes that the elements take."""
        return self.size * self.element_type.bytes

    @property
    def device(self) -> str:
        """Where it is: "cpu", "cuda" for the first GPU, then "cuda:1"."""
        return self.open_device.name

    @property
    def address(self) -> int:
        """Where its memory begins on its device. It need not be computed yet."""
        return _address(self.open_device, self.view.get_buffer(), self.nbytes)

    @property
    def ready(self) -> bool:
        """Whether the call that computes it is done."""
        return self._flight is None or self._flight.done()

    def wait(self) -> DeviceArray:
        """Wait for the call that computes it, and return the array itself.

        Raises `DeviceError`, `KernelError`: the call failed.
        """
        flight = self._flight
        if flight is not None:
            flight.wait()
            if self._flight is flight:  # else another thread has begun a call that writes it
                self._flight = None
        return self

    def written_by(self, flight: Flight) -> None:
        """Record a call in flight that writes into the array: readers wait for it."""
        self._flight = flight

    def to_host(self) -> HostArray:
        """A new numpy array with the same elements.

        Raises `DeviceError`, `KernelError`: the call that computes it failed.
        """
        self.wait()
        with self.open_device.access:
            return to_host(self.open_device, self.view, self.element_type)

    def item(self) -> Any:
        """The one element, as a Python number."""
        return self.to_host().item()

    def __bool__(self) -> bool:
        return bool(self.to_host())  # for several elements numpy's ValueError

    def __reduce__(self) -> NoReturn:
        raise CallError(
            "An array on a device cannot be copied or pickled.",
            expected="numpy.array(array), which is a copy in the host's memory",
            next_step="copy that; program.to_device(...) puts it back.",
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        self.wait()
        array = None if copy else mapped(self.view, self.element_type)
        if array is None:
            if copy is False:
                raise ValueError(f"an array on {self.device} cannot be read without copying it")
            array = self.to_host()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.open_device.dlpack

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if dl_device is not None and tuple(dl_device) != self.open_device.dlpack:
            raise BufferError(f"the array is on {self.device}, and is not copied elsewhere")
        if copy:
            raise BufferError("the array is given away without copying only")
        # Done, it is so for every stream.
        self.wait()
        with self.open_device.access:
            if self.open_device.is_cuda:
                note_export(self.open_device.gpu, stream)
            kind = self.element_type
            named = "u8" if kind.name.startswith("f8") else kind.name
            code = exact_element_type(named)
            view = rt.HalBufferView(self.view.get_buffer(), self.shape, code)
            return dlpack.give(self.open_device.hal, view, kind, self.open_device.dlpack)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """What Numba and CuPy read (version 3): no stream, as the array is done."""
        if not self.open_device.is_cuda:
            raise AttributeError("the array is not on a GPU")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (dlpack.address_of(self.__dlpack__()), False),
            "version": 3,
            "strides": None,
            "stream": None,
        }

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array of rank 0 has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        sizes = "x".join(map(str, (*self.shape, self.element_type)))
        return f"DeviceArray({sizes} on {self.device}{'' if self.ready else ', under way'})"

    # -- for calls

    @property
    def flight(self) -> Flight | None:
        """The call that computes it, while it is in flight."""
        return None if self.ready else self._flight

    def reshaped(self, shape: tuple[int, ...]) -> DeviceArray:
        """The same elements in another shape; computed by the same call."""
        code = int(self.view.element_type)
        view = rt.HalBufferView(self.view.get_buffer(), list(shape), code)
        return DeviceArray(self.open_device, view, self.element_type, self._flight)


def exact_element_type(name: str) -> int:
    """IREE's code of an element type, integers with their signedness."""
    kind = ELEMENT_TYPES[name]
    if name[0] in "iu" and name != "bool":
        prefix = "SINT" if name[0] == "i" else "UINT"
        return int(getattr(rt.HalElementType, f"{prefix}_{kind.bits}"))
    return int(hal_element_type(kind))
