"""Copies of memory, beside which kernels are timed: they move as many bytes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy

from custom_dispatch.errors import DeviceError
from custom_dispatch.measure.native_launch import NativeContext, NativeCopy

_LEAST_BYTES = 1 << 18
"""What a thread copies, at least: starting one takes longer than to copy less."""
_PAGE = 4096
_MOST_OF_MEMORY = 8
"""No more than this part of the memory is taken: the kernel's operands are there, too."""


def _pages(size: int) -> numpy.ndarray[Any, Any]:
    """Bytes that begin with a page: some CPUs copy others at a tenth of the speed."""
    held = numpy.ones(size + _PAGE, numpy.uint8)
    first = -held.ctypes.data % _PAGE
    return held[first : first + size]


def native_copy(context: NativeContext, moved: int) -> dict[str, Callable[[], float]]:
    """What times a copy on the GPU that moves so many bytes, as `copy`; nothing where the memory is
    too small for one.
    """
    if moved < 2:
        return {}
    try:
        return {"copy": NativeCopy(context, moved // 2).seconds}
    except DeviceError:
        return {}


def host_copy(moved: int) -> dict[str, Callable[[], float]]:
    """The same in the memory of the CPU, by as many threads as IREE has for kernels."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if not 2 <= moved <= memory // _MOST_OF_MEMORY:
        return {}
    size = moved // 2
    source, target = _pages(size), _pages(size)
    threads = max(min(len(os.sched_getaffinity(0)), size // _LEAST_BYTES), 1)
    each = -(-size // (threads * _PAGE)) * _PAGE
    parts = [[array[at : at + each] for at in range(0, size, each)] for array in (target, source)]
    pool = ThreadPoolExecutor(threads)

    def copy() -> float:
        start = time.perf_counter()
        list(pool.map(numpy.copyto, *parts))
        return time.perf_counter() - start

    def copy_alone() -> float:
        start = time.perf_counter()
        numpy.copyto(target, source)
        return time.perf_counter() - start

    return {"copy": copy_alone if threads == 1 else copy}
