"""A call's scalars and structs as the 32-bit constants that IREE passes to a kernel.

The wrapper of a module computes them in host code (`ir/packing.py`); here they are computed from
Python's numbers, for whoever launches an object without IREE.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from custom_dispatch.kernel.abi import CONSTANT_BYTES, words_of
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Scalar, Struct

Number = int | float
_FLOATS = {"f32": "<f", "f64": "<d", "f16": "<e"}


def constants_of(
    kernel: Kernel, dims: Mapping[str, int], numbers: Mapping[str, Number | tuple[Number, ...]]
) -> tuple[int, ...]:
    """The constants of a launch, in their order, each from 0 to 2**32 - 1.

    Parameters
    ----------
    dims
        The value of every dim.
    numbers
        The value of every `Scalar` without one, and for each `Struct` its numbers in order, by
        operand name. For an optional buffer, whether it is there: 0 or 1.
    """
    found: list[int] = []
    for parameter in kernel.abi.parameters:
        operand = parameter.operand
        if not parameter.words:
            continue
        if isinstance(operand, Buffer):
            data = struct.pack("<I", bool(numbers[operand.name]))
        elif isinstance(operand, Struct):
            data = _struct_bytes(operand, numbers[operand.name])
        elif operand.value is not None:
            data = number_bytes(operand.dtype, evaluate(operand.value, dims))
        else:
            data = number_bytes(operand.dtype, _one(numbers[operand.name]))
        size = words_of(operand) * CONSTANT_BYTES
        # The bytes above a small integer are those of its sign, as IREE's host code has them.
        negative = isinstance(operand, Scalar) and operand.dtype.name[0] == "i" and data[-1] >> 7
        found += struct.unpack(f"<{size // 4}I", data.ljust(size, b"\xff" if negative else b"\0"))
    return tuple(found)


def number_bytes(dtype: ElementType, number: Number) -> bytes:
    """A number as the type's bytes, the lowest first."""
    if dtype.name in _FLOATS:
        return struct.pack(_FLOATS[dtype.name], number)
    if dtype.is_float:
        import numpy

        return numpy.asarray(number).astype(dtype.to_numpy()).tobytes()
    return (int(number) & (1 << dtype.bits) - 1).to_bytes(dtype.bytes, "little")


def _struct_bytes(operand: Struct, numbers: Number | tuple[Number, ...]) -> bytes:
    data = bytearray(operand.size_bytes)
    values = numbers if isinstance(numbers, tuple) else (numbers,)
    for leaf, number in zip(operand.leaves, values, strict=True):
        part = number_bytes(leaf.scalar.dtype, number)
        data[leaf.offset : leaf.offset + len(part)] = part
    return bytes(data)


def _one(number: Number | tuple[Number, ...]) -> Number:
    if isinstance(number, tuple):
        raise TypeError("a scalar is one number")
    return number
