"""Element types as PyTorch's dtypes."""

from __future__ import annotations

import functools

import torch

from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType


@functools.cache
def torch_dtype(kind: ElementType) -> torch.dtype:
    """An element type's dtype: PyTorch names them as numpy and ml_dtypes do."""
    found = getattr(torch, kind.numpy_name)
    assert isinstance(found, torch.dtype)  # noqa: S101 - a test goes through all element types
    return found


def element_type_of(dtype: torch.dtype) -> ElementType | None:
    """A dtype's element type; None for one that kernels do not take."""
    name = str(dtype).removeprefix("torch.")
    return next((kind for kind in ELEMENT_TYPES.values() if kind.numpy_name == name), None)


def is_same_type(found: torch.dtype, kind: ElementType) -> bool:
    """Whether a tensor can be passed as is: its dtype, or an integer of the same size."""
    wanted = torch_dtype(kind)
    return found == wanted or (
        _is_integer(found) and _is_integer(wanted) and found.itemsize == wanted.itemsize
    )


def _is_integer(dtype: torch.dtype) -> bool:
    return not dtype.is_floating_point and not dtype.is_complex and dtype != torch.bool
