"""A tensor of PyTorch as bytes, and as what an archive says of it."""

from __future__ import annotations

import hashlib

import torch


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """Its elements, row by row; copied only from a GPU or where they lie with gaps between them."""
    flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    return memoryview(flat.numpy())


def digest_of(tensor: torch.Tensor) -> str:
    """SHA-256 of its bytes."""
    return hashlib.sha256(bytes_of(tensor)).hexdigest()


def dtype_name(tensor: torch.Tensor) -> str:
    """The name of its element type: numpy's, or that of ml_dtypes."""
    return str(tensor.dtype).removeprefix("torch.")
