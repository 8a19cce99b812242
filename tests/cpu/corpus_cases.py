"""What each kernel of `tests/cpu/corpus` is run with, and what it must give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from barrier_cases import barriers
from classic_cases import classics
from expected import Expected
from function_cases import functions
from matrix_cases import tensor_cores
from memory_cases import atomics
from model_cases import models
from warp_cases import cub_blocks, warps
from wmma_cases import wmma

CORPUS = Path(__file__).parent / "corpus"

FILES: dict[str, Callable[[], list[Expected]]] = {
    "barriers": barriers,
    "warps": warps,
    "functions": functions,
    "atomics": atomics,
    "tensor_cores": tensor_cores,
    "cub_blocks": cub_blocks,
    "models": models,
    "classics": classics,
    "wmma": wmma,
}
"""By the file's name: its kernels' launches."""
