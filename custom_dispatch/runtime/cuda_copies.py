"""Copies between a GPU's memory and the host's, made by the CUDA driver.

IREE's own register the host's pages for each copy, and a thread of IREE's unregisters them later
(iree/hal/drivers/cuda/cuda_allocator.c, `cuMemHostRegister`). By then other arrays may lie there,
which are copied as well: with several threads copies fail, or the process ends [H200].
"""

import ctypes
import functools
from typing import Any

from custom_dispatch.runtime import driver

_NON_BLOCKING = 1
"""CU_STREAM_NON_BLOCKING: it does not wait for what others do on the default stream."""


def to_host(gpu: int, address: int, array: Any) -> None:
    """Copy from a GPU into a numpy array without gaps, when all that writes there is done."""
    _copy(gpu, "cuMemcpyDtoHAsync_v2", _pointer(array), ctypes.c_uint64(address), array.nbytes)


def to_device(gpu: int, address: int, array: Any) -> None:
    """Copy a numpy array without gaps to a GPU, when others are done with what was there.

    Whoever calls this holds the GPU's `Access`, if another library was given arrays.
    """
    driver.wait_for_users(gpu)
    _copy(gpu, "cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), _pointer(array), array.nbytes)


def _pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.__array_interface__["data"][0])


@functools.cache
def _stream(gpu: int) -> ctypes.c_void_p:
    """The stream for copies, made in the GPU's context, which is the thread's."""
    del gpu
    stream = ctypes.c_void_p()
    driver.check_status(driver.cuda_library().cuStreamCreate(ctypes.byref(stream), _NON_BLOCKING))
    return stream


def _copy(gpu: int, name: str, target: Any, source: Any, size: int) -> None:
    library = driver.cuda_library()
    driver.check_status(driver.push(gpu))
    try:
        stream = _stream(gpu)
        status = getattr(library, name)(target, source, ctypes.c_size_t(size), stream)
        status = status or library.cuStreamSynchronize(stream)
    finally:
        driver.pop()
    if status:
        raise RuntimeError(f"CUDA driver error '{driver.error_name(library, status)}' in {name}")
