"""What the CUDA driver said while it made the graphs of a module.

IREE drops the status of `cuGraphInstantiate` (iree/hal/drivers/cuda/graph_command_buffer.c): a
graph that was not made fails when it is launched, and IREE's device with it. From CUDA 12.9 on the
driver keeps what it said of errors, a line each with time, thread, source and severity (CUDA Driver
API, "Error Log Management Functions").
"""

import ctypes
import threading
from typing import Any

from custom_dispatch.runtime.driver import cuda_library, has_initialised

_SIZE = 25600
"""As much as the driver keeps."""


class GraphLog:
    """What the driver says from now on."""

    def __init__(self) -> None:
        self._place = ctypes.c_uint64()  # the driver writes 4 bytes
        library: Any = cuda_library() if has_initialised() else None
        known = hasattr(library, "cuLogsCurrent")
        self._known = known and library.cuLogsCurrent(ctypes.byref(self._place), 0) == 0

    def failure(self) -> str:
        """What it said of a graph that this thread has failed to make; empty if it said nothing."""
        text, size = ctypes.create_string_buffer(_SIZE + 1), ctypes.c_size_t(_SIZE)
        place = ctypes.byref(self._place)
        if not self._known or cuda_library().cuLogsDumpToMemory(place, text, ctypes.byref(size), 0):
            return ""
        lines = text.value.decode("utf-8", "replace").splitlines()
        said = "\n".join(line for line in lines if f"[{threading.get_ident()}]" in line)
        return said if "cuGraphInstantiate" in said else ""
