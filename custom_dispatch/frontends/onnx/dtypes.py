"""Element types as ONNX's, which has numbers for them."""

from __future__ import annotations

import functools
from typing import Any

import numpy
import onnx

from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType


@functools.cache
def _numbers() -> dict[str, int]:
    """ONNX's number of each dtype that numpy and ml_dtypes name, by that name."""
    found: dict[str, int] = {}
    for number in onnx.TensorProto.DataType.values():
        try:
            found.setdefault(onnx.helper.tensor_dtype_to_np_dtype(number).name, number)
        except (KeyError, ValueError, TypeError):
            continue  # strings, and what numpy has no type for
    return found


def onnx_type(kind: ElementType) -> int:
    """An element type's number: a `TensorProto.DataType`."""
    return _numbers()[kind.to_numpy().name]


def type_string(kind: ElementType) -> str:
    """An element type as schemas of operators write it: "tensor(float)"."""
    return f"tensor({type_name(onnx_type(kind))})"


def type_name(number: int) -> str:
    """What ONNX calls an element type: "float", "int4", "complex64"."""
    try:
        return str(onnx.TensorProto.DataType.Name(number)).lower()
    except ValueError:
        return f"type {number}"


def element_type_of(number: int) -> ElementType | None:
    """The element type of ONNX's number; None for one that kernels do not take."""
    return next((kind for kind in ELEMENT_TYPES.values() if onnx_type(kind) == number), None)


def numpy_type(number: int) -> numpy.dtype[Any] | None:
    """The dtype of an element; None for strings, and types of which several share a byte."""
    name = type_name(number)
    if name == "string" or any(name.startswith(packed) for packed in _PACKED):
        return None
    try:
        found: numpy.dtype[Any] = numpy.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))
        return found
    except (KeyError, ValueError, TypeError):
        return None


_PACKED = ("int4", "uint4", "int2", "uint2", "float4")
