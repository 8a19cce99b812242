"""What the CUDA driver said while it made the graphs of a module.

IREE drops the status of `cuGraphInstantiate` (iree/hal/drivers/cuda/graph_command_buffer.c), so a
graph that could not be made shows when it is launched, and takes IREE's device with it. But the
driver keeps what it said of its last errors, from CUDA 12.9 on (CUDA Driver API, "Error Log
Management Functions"; CUDA Programming Guide, "Error Log Management": time, thread, source,
severity, and text).
"""

from __future__ import annotations

import ctypes
import threading

from custom_dispatch.runtime.driver import cuda_library, has_initialised

_MAKES_GRAPHS = "cuGraphInstantiate"
_SIZE = 25600
"""As much as the driver keeps."""


class GraphLog:
    """What the driver says from now on."""

    def __init__(self) -> None:
        self._place = ctypes.c_uint64()  # the driver writes 4 bytes
        self._known = (
            has_initialised()
            and hasattr(cuda_library(), "cuLogsCurrent")
            and cuda_library().cuLogsCurrent(ctypes.byref(self._place), 0) == 0
        )

    def failure(self) -> str:
        """What it said of a graph that this thread has failed to make; empty if it said nothing."""
        if not self._known:
            return ""
        text, size = ctypes.create_string_buffer(_SIZE + 1), ctypes.c_size_t(_SIZE)
        place = ctypes.byref(self._place)
        if cuda_library().cuLogsDumpToMemory(place, text, ctypes.byref(size), 0) != 0:
            return ""
        thread = f"[{threading.get_ident()}]"
        lines = text.value.decode("utf-8", "replace").splitlines()
        said = [line for line in lines if thread in line]
        return "\n".join(said) if any(_MAKES_GRAPHS in line for line in said) else ""
