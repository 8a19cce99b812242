"""DLPack: arrays of other libraries, taken and given without copying.

The structures are those of DLPack's C header (dlpack.h: `DLTensor`, `DLManagedTensor`), and the
order of events is that of the Python specification of DLPack in the array API standard: who takes
an array names the stream on which it will be used, and who gives it makes that stream wait.
IREE does not tell its CUDA stream. So an array is taken for the default stream, or for the one that
its library says it works on, which the host then waits for; and results are given away when they
are done.
"""

from __future__ import annotations

import ctypes
import math
import sys
from typing import Any

import numpy
from iree import runtime as rt

from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType
from custom_dispatch.runtime import driver
from custom_dispatch.runtime.driver import driver_state

CPU = 1
CUDA = 2
_CUDA_HOST = 3
_CUDA_MANAGED = 13
ON_HOST = (CPU, _CUDA_HOST)
ON_CUDA = (CUDA, _CUDA_MANAGED)

_CODES = {0: "i", 1: "u", 2: "f", 5: "complex"}
_BFLOAT, _BOOL = 4, 6
# DLPack 1.1. IREE knows neither: the arrays pass through it as bytes.
_FLOAT8 = {10: "f8E4M3FN", 12: "f8E5M2"}
_UNSIGNED = 1
_LEGACY_STREAM = 1
"""CUDA's default stream in DLPack's numbering, and in the driver's (CU_STREAM_LEGACY)."""
_NO_ORDER = -1
"""In DLPack's numbering: who takes the array sees to the order."""


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)


class ForeignArray:
    """An array of another library, taken through DLPack and not yet put on a device.

    Raises `BufferError`, `RuntimeError`, `TypeError`, `ValueError`: the library does not give it.
    """

    __slots__ = (
        "_capsule",
        "_given",
        "_tensor",
        "address",
        "contiguous",
        "device",
        "dtype_name",
        "shape",
        "stream",
    )
    # `stream`: the one on which a GPU's array is ready, in the driver's numbering.

    def __init__(self, value: Any) -> None:
        if getattr(value, "is_neg", bool)():  # DLPack has no word for it, and PyTorch says none
            raise ValueError(
                "PyTorch negates its elements when they are read; resolve_neg() gives them"
            )
        self.device: tuple[int, int] = tuple(value.__dlpack_device__())
        self.stream: int | None = None
        if self.device[0] not in ON_CUDA:
            self._capsule = value.__dlpack__()
        elif type(value).__module__.partition(".")[0] == "torch":
            # PyTorch says its stream: to wait for that is quicker than to have an event recorded.
            stream = sys.modules["torch"].cuda.current_stream(value.device).cuda_stream
            self.stream = stream or _LEGACY_STREAM
            try:
                self._capsule = value.__dlpack__(stream=_NO_ORDER)
            except BufferError as error:
                # The last check: it is on PyTorch's current GPU. To change that one and back would
                # replace the context that a call of ours holds.
                if "different CUDA device" not in str(error):
                    raise
                self._capsule = sys.modules["torch"].utils.dlpack.to_dlpack(value)
        else:
            self.stream = _LEGACY_STREAM
            # What CuPy has under way is on the current stream of the current GPU.
            pushed = len(driver_state().gpus) > 1 and driver.push(self.device[1]) == 0
            try:
                self._capsule = value.__dlpack__(stream=_LEGACY_STREAM)
            finally:
                if pushed:
                    driver.pop()
        tensor = _Tensor.from_address(_pointer_of(self._capsule, b"dltensor"))
        self._tensor = tensor
        self.shape: tuple[int, ...] = tuple(tensor.shape[: tensor.ndim])
        self._given = self.shape
        self.address: int = (tensor.data or 0) + tensor.byte_offset
        self.contiguous = self._is_contiguous()
        self.dtype_name = self._name_dtype()

    def _name_dtype(self) -> str:
        kind = self._tensor.dtype
        if kind.lanes != 1:
            return f"{kind.lanes} values an element"
        if kind.code == _BFLOAT and kind.bits == 16:
            return "bf16"
        if kind.code == _BOOL:
            return "bool"
        if kind.code in _FLOAT8:
            return _FLOAT8[kind.code]
        return f"{_CODES.get(kind.code, f'type {kind.code} of ')}{kind.bits}"

    def _is_contiguous(self) -> bool:
        tensor = self._tensor
        if not tensor.strides or 0 in self.shape:
            return True
        expected = 1
        for axis in reversed(range(tensor.ndim)):
            size = self.shape[axis]
            if size != 1 and tensor.strides[axis] != expected:
                return False
            expected *= size
        return True

    def to_numpy(self) -> numpy.ndarray[Any, numpy.dtype[Any]]:
        """The elements as unsigned integers of their size, in host memory, without copying.

        The array is valid as long as this object. One with gaps that was reshaped is a copy.
        """
        tensor, shape = self._tensor, self._given
        size = tensor.dtype.bits // 8
        if 0 in shape:
            return numpy.empty(self.shape, f"u{size}")
        strides = tensor.strides[: tensor.ndim] if tensor.strides else None
        if strides is None:
            strides = [math.prod(shape[axis + 1 :]) for axis in range(tensor.ndim)]
        lowest = sum(min(0, s * (n - 1)) for s, n in zip(strides, shape, strict=True)) * size
        highest = sum(max(0, s * (n - 1)) for s, n in zip(strides, shape, strict=True)) * size
        memory = (ctypes.c_char * (highest - lowest + size)).from_address(self.address + lowest)
        found = numpy.ndarray(
            shape, f"u{size}", memory, -lowest, [stride * size for stride in strides]
        )
        return found.reshape(self.shape)

    def reshaped(self, shape: tuple[int, ...]) -> ForeignArray:
        """The same elements in another shape. One with gaps is copied when it is read."""
        found: ForeignArray = object.__new__(ForeignArray)
        for slot in ForeignArray.__slots__:
            setattr(found, slot, getattr(self, slot))
        found.shape = shape
        return found

    @property
    def dtype(self) -> ElementType | None:
        """The element type, if it is one that kernels take."""
        return ELEMENT_TYPES.get(self.dtype_name)

    def hand_over(self, device: Any, code: int) -> Any:
        """Give the memory to IREE; return the `HalBufferView`.

        The other library's array lives as long as the view. This is done once.

        - `device`: IREE's device, on whose memory the array is.
        - `code`: IREE's element type.
        """
        tensor = self._tensor
        if tensor.byte_offset:  # IREE refuses offsets, which are part of the address all the same
            tensor.data = self.address
            tensor.byte_offset = 0
        if tensor.dtype.code in _FLOAT8:
            tensor.dtype.code = _UNSIGNED
        view = device.from_dlpack_capsule(self._capsule)
        if int(view.element_type) == code and self.shape == self._given:
            return view
        return rt.HalBufferView(view.get_buffer(), self.shape, code)


def give(device: Any, view: Any, kind: ElementType, where: tuple[int, int]) -> Any:
    """A DLPack capsule of a buffer on a device; the buffer lives as long as what is made of it.

    - `view`: its element type says the signedness of integers, and is of bytes for 8-bit floats.
    - `where`: DLPack's device type and number.
    """
    capsule = device.create_dlpack_capsule(view, *where)
    code = next((code for code, name in _FLOAT8.items() if name == kind.name), None)
    if code is not None:
        tensor = _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
        tensor.dtype.code = code
    return capsule


def address_of(capsule: Any) -> int:
    """The address in a capsule that nobody has taken yet."""
    address: int = _Tensor.from_address(_pointer_of(capsule, b"dltensor")).data or 0
    return address
