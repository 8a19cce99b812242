"""What the runtime tests share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import custom_dispatch as cd  # noqa: E402
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace  # noqa: E402
from custom_dispatch.compiled import CompiledModule  # noqa: E402

MODELS = TESTS.parent / "mlir"


@pytest.fixture(scope="session")
def mixed() -> CompiledModule:
    """`mixed_invocation.mlir` for two GPU architectures and the CPU."""
    targets = ["cuda:sm_80", "cuda:sm_90", "cpu"]
    return cd.compile(MODELS / "mixed_invocation.mlir", [simple_mul, simple_mul_inplace], targets)
