"""A device that programs run on, opened."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from iree import runtime as rt

from custom_dispatch.runtime import dlpack
from custom_dispatch.runtime.access import Access

_CALLS = 512
_SHORT_S, _LONG_S = 0.02, 10.0


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
    _counter: Iterator[int]

    def count_call(self) -> None:
        """Give back now and then the buffers that are kept for calls of sizes that came once."""
        if next(self._counter) % _CALLS == _CALLS - 1:
            self.give_back_memory(_SHORT_S)

    def give_back_memory(self, timeout: float = _LONG_S) -> bool:
        """Give back the buffers that are kept for later calls; return whether it was done.

        IREE's caching allocator frees a buffer twice when it lets it go (iree/hal/drivers/cuda/
        cuda_allocator.c: `deallocate_buffer` frees it, and the buffer's own end does so again).
        The driver refuses the second time, unless somebody was given the same address in
        between. So nobody else allocates meanwhile: other threads' calls are waited for, and the
        GIL, which this holds, keeps other libraries from it.

        Parameters
        ----------
        timeout
            How long to wait for the calls of other threads, in seconds.
        """
        with self.access.alone(timeout) as alone:
            if alone:
                self.hal.allocator.trim()
        return alone

    @property
    def dlpack(self) -> tuple[int, int]:
        """DLPack's type and number of the device."""
        return (dlpack.CUDA, 0) if self.is_cuda else (dlpack.CPU, 0)

    def __str__(self) -> str:
        return self.kind


def open_device(kind: str, hal: Any, access: Access) -> OpenDevice:
    """Put a device of IREE together with what goes with it."""
    reached = rt.HalFence.create_at(hal.create_semaphore(0), 0)
    return OpenDevice(kind, hal, access, reached, kind == "cuda", itertools.count())
