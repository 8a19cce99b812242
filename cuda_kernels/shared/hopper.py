"""The GPU that launches are chosen for, and what all others have."""

from __future__ import annotations

MULTIPROCESSORS = 132
"""Of an H100 (SXM) and an H200; an A100 has 108. Persistent kernels launch so many blocks, since
IREE does not tell the number: on a GPU with fewer, some blocks wait for others."""
LEAST_SHARED_BYTES = 99 * 1024
"""That a block can have on every GPU from sm_80 on, as on sm_86, sm_89 and sm_120 (CUDA C++
Programming Guide, "Compute Capabilities"). A kernel that asks for more does not load there."""
