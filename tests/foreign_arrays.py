"""Arrays of other libraries, as calls see them."""

from __future__ import annotations

from typing import Any

import numpy as np


class Foreign:
    """An array of another library: it offers DLPack and nothing else."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Elsewhere(Foreign):
    """One that says it is on a GPU."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return (2, 0)


def aligned(count: int, offset_bytes: int = 0) -> np.ndarray[Any, Any]:
    """Random f32 at a multiple of 64 bytes, or so many bytes behind one."""
    raw = np.zeros(count * 4 + 128, np.uint8)
    start = -raw.ctypes.data % 64 + offset_bytes
    array = raw[start : start + count * 4].view(np.float32)
    array[:] = np.random.default_rng(1).standard_normal(count)
    return array
