"""A device that programs run on, opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iree import runtime as rt

from custom_dispatch.runtime import dlpack
from custom_dispatch.runtime.access import Access


@dataclass(frozen=True, slots=True, eq=False)
class OpenDevice:
    """IREE's device, and what goes with it."""

    kind: str
    """"cuda" or "cpu"."""
    hal: Any
    """IREE's device."""
    access: Access
    reached: Any
    """A fence that is reached already, for calls that wait for nothing."""
    is_cuda: bool
    """Whether its arrays are in a GPU's memory."""

    @property
    def dlpack(self) -> tuple[int, int]:
        """DLPack's type and number of the device."""
        return (dlpack.CUDA, 0) if self.is_cuda else (dlpack.CPU, 0)

    def __str__(self) -> str:
        return self.kind


def open_device(kind: str, hal: Any, access: Access) -> OpenDevice:
    """Put a device of IREE together with what goes with it."""
    reached = rt.HalFence.create_at(hal.create_semaphore(0), 0)
    return OpenDevice(kind, hal, access, reached, kind == "cuda")
