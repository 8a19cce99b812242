"""A tensor of PyTorch as bytes, and as what an archive says of it."""

from __future__ import annotations

import hashlib
from typing import Any

import torch


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


def digest_of(tensor: torch.Tensor) -> str:
    """SHA-256 of its bytes."""
    return hashlib.sha256(bytes_of(tensor)).hexdigest()


def dtype_name(tensor: torch.Tensor) -> str:
    """The name of its element type: numpy's, or that of ml_dtypes."""
    return str(tensor.dtype).removeprefix("torch.")
