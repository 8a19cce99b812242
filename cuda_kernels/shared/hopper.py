"""The GPU that launches are chosen for."""

from __future__ import annotations

MULTIPROCESSORS = 132
"""Of an H100 (SXM) and an H200; an A100 has 108. Persistent kernels launch so many blocks, since
IREE does not tell the number: on a GPU with fewer, some blocks wait for others."""
