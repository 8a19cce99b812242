"""Arrays on a device: what calls return when they are given such, and take without copying."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy
from iree import runtime as rt

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType
from custom_dispatch.runtime import dlpack
from custom_dispatch.runtime.arrays import HostArray, hal_element_type, mapped, to_host
from custom_dispatch.runtime.cuda_order import note_export
from custom_dispatch.runtime.flight import Flight
from custom_dispatch.runtime.open_device import OpenDevice


class DeviceArray:
    """An array in a device's memory, made by a call.

    numpy reads it through `numpy.asarray`, PyTorch, CuPy and JAX through `from_dlpack`, on the
    device it is on, without copying. Reading waits for the call that computes it; passing it on to
    another call does not.

    Its memory belongs to the result and everything made from it. What other libraries write into it
    is seen here too.
    """

    __slots__ = ("__weakref__", "_device", "_flight", "_view", "element_type", "shape")

    def __init__(
        self, device: OpenDevice, view: Any, kind: ElementType, flight: Flight | None = None
    ) -> None:
        self._device = device
        self._view = view
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
        return self._device.name

    @property
    def ready(self) -> bool:
        """Whether the call that computes it is done."""
        return self._flight is None or self._flight.done()

    def wait(self) -> DeviceArray:
        """Wait for the call that computes it, and return the array itself.

        Raises
        ------
        DeviceError, KernelError
            The call failed.
        """
        if self._flight is not None:
            self._flight.wait()
            self._flight = None
        return self

    def written_by(self, flight: Flight) -> None:
        """Note a call under way that writes into it: who reads it waits for that one."""
        self._flight = flight

    def to_host(self) -> HostArray:
        """A new numpy array with the same elements.

        Raises
        ------
        DeviceError, KernelError
            The call that computes it failed.
        """
        self.wait()
        with self._device.access:
            return to_host(self._device.hal, self._view, self.element_type)

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
        array = None if copy else mapped(self._view, self.element_type)
        if array is None:
            if copy is False:
                raise ValueError(f"an array on {self.device} cannot be read without copying it")
            array = self.to_host()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device.dlpack

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if dl_device is not None and tuple(dl_device) != self._device.dlpack:
            raise BufferError(f"the array is on {self.device}, and is not copied elsewhere")
        if copy:
            raise BufferError("the array is given away without copying only")
        # Done, it is so for every stream.
        self.wait()
        with self._device.access:
            if self._device.is_cuda:
                note_export(self._device.gpu, stream)
            kind = self.element_type
            named = "u8" if kind.name.startswith("f8") else kind.name
            code = exact_element_type(named)
            view = rt.HalBufferView(self._view.get_buffer(), self.shape, code)
            return dlpack.give(self._device.hal, view, kind, self._device.dlpack)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """What Numba and CuPy read (version 3): no stream, as the array is done."""
        if not self._device.is_cuda:
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
    def view(self) -> Any:
        """IREE's `HalBufferView`."""
        return self._view

    @property
    def flight(self) -> Flight | None:
        """The call that computes it, while it is under way."""
        return None if self.ready else self._flight

    @property
    def open_device(self) -> OpenDevice:
        """The device it is on."""
        return self._device

    def reshaped(self, shape: tuple[int, ...]) -> DeviceArray:
        """The same elements in another shape; computed by the same call."""
        code = int(self._view.element_type)
        view = rt.HalBufferView(self._view.get_buffer(), list(shape), code)
        return DeviceArray(self._device, view, self.element_type, self._flight)

    def typed(self, kind: ElementType) -> DeviceArray:
        """The same array with integers of another signedness."""
        if kind == self.element_type:
            return self
        return DeviceArray(self._device, self._view, kind, self._flight)


def exact_element_type(name: str) -> int:
    """IREE's code of an element type, integers with their signedness."""
    kind = ELEMENT_TYPES[name]
    if name[0] in "iu" and name != "bool":
        prefix = "SINT" if name[0] == "i" else "UINT"
        return int(getattr(rt.HalElementType, f"{prefix}_{kind.bits}"))
    return int(hal_element_type(kind))
