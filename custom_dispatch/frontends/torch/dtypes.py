"""Tensors of PyTorch: their element types, and what they hold."""

import functools
from functools import partial
from typing import Any

import torch

from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType
from custom_dispatch.parameters import Parameter


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


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """Its elements, row by row; copied only from a GPU or where they lie with gaps between them."""
    flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    return memoryview(flat.numpy())


def array_of(tensor: torch.Tensor) -> Any:
    """It as an array of numpy; of types that numpy lacks, its bytes as integers of that width."""
    plain = tensor.detach().cpu().resolve_neg().resolve_conj()
    try:
        return plain.numpy()
    except TypeError:
        widths = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
        return plain.contiguous().view(widths[plain.element_size()]).numpy()


def weight_of(name: str, tensor: torch.Tensor) -> Parameter:
    """What an archive says of a weight, whose bytes are read when they are needed."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Parameter(name, dtype, tuple(tensor.shape), tensor.nbytes, partial(bytes_of, tensor))
