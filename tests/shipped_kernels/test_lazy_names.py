"""Modules of many kernels declare each when its name is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cuda_kernels import attention, gemm


def test_importing_them_declares_none_of_their_kernels() -> None:
    code = (
        "import gc, custom_dispatch as cd\n"
        "import cuda_kernels.gemm, cuda_kernels.attention, cuda_kernels.flat_attention\n"
        "import cuda_kernels.quantised\n"
        "print(sum(isinstance(item, cd.Kernel) for item in gc.get_objects()))\n"
        "from cuda_kernels.gemm import linear_bf16\n"
        "print(sum(isinstance(item, cd.Choice) for item in gc.get_objects()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1"]


def test_a_name_is_declared_once_and_listed() -> None:
    assert gemm.linear_bf16 is gemm.linear_bf16
    assert "matmul_gelu_erf_f32" in dir(gemm)
    assert attention.attention_f32_32.name == "attention_f32_32"


def test_a_name_that_is_none_is_refused_as_of_any_module() -> None:
    with pytest.raises(AttributeError, match=r"'cuda_kernels.gemm' has no attribute 'linear_f8'"):
        _ = gemm.linear_f8
    with pytest.raises(ImportError, match="cannot import name 'linear_f8'"):
        from cuda_kernels.gemm import linear_f8  # noqa: F401
