"""The GPU that launches are chosen for."""

from __future__ import annotations

MULTIPROCESSORS = 132
"""Of an H100 (SXM) and an H200; an A100 has 108. Persistent blocks are so many, which IREE does not
tell: on a GPU with fewer some wait for others."""
