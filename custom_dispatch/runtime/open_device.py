"""A device that programs run on, opened."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from iree import runtime as rt

from custom_dispatch.runtime import dlpack, primary_context
from custom_dispatch.runtime.access import Access
from custom_dispatch.runtime.module_file import vm_instance

_CALLS = 512
_SHORT_S, _LONG_S = 0.02, 10.0


@dataclass(frozen=True, slots=True, eq=False)
class OpenDevice:
    """IREE's device, and what goes with it."""

    name: str
    """As of `Device.argument`."""
    hal: Any
    """IREE's device."""
    access: Access
    reached: Any
    """A fence that is reached already, for calls that wait for nothing."""
    is_cuda: bool
    """Whether its arrays are in a GPU's memory."""
    _counter: Iterator[int]
    gpu: int = 0
    """The GPU's number."""

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
        with self.access, self.access.alone(timeout) as alone:
            if alone:
                self.hal.allocator.trim()
        return alone

    @property
    def dlpack(self) -> tuple[int, int]:
        """DLPack's type and number of the device."""
        return (dlpack.CUDA, self.gpu) if self.is_cuda else (dlpack.CPU, 0)

    def __str__(self) -> str:
        return f"cuda:{self.gpu}" if self.is_cuda else self.name


class OpenModule:
    """IREE's context of a module, unloaded in that of its GPU wherever the last reference ends."""

    def __init__(self, access: Access, modules: list[Any]) -> None:
        self._gpu = access.gpu
        self.invoke = rt.VmContext(vm_instance(), modules).invoke

    def __del__(self) -> None:
        if self._gpu is not None and primary_context.push(self._gpu) == 0:
            self.__dict__.clear()
            primary_context.pop()


def open_device(name: str, hal: Any, access: Access) -> OpenDevice:
    """Put a device of IREE together with what goes with it."""
    reached = rt.HalFence.create_at(hal.create_semaphore(0), 0)
    is_cuda = access.gpu is not None
    return OpenDevice(name, hal, access, reached, is_cuda, itertools.count(), access.gpu or 0)
