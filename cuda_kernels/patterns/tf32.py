"""Products in TF32 instead of f32, for who asks for them: with any front end's patterns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from cuda_kernels import gemm
from cuda_kernels.gemm.names import CHOICES, TF32, name_of
from custom_dispatch.errors import DeclarationError

Found = TypeVar("Found", bound=Any)


def in_tf32(patterns: Iterable[Found]) -> tuple[Found, ...]:
    """The patterns, whose products of f32 are multiplied in TF32: faster, with errors of 3e-4.

    Parameters
    ----------
    patterns
        Of `patterns.torch`, `onnx`, `mlir` or `stablehlo`; those of other kernels stay as they are.

    Raises
    ------
    DeclarationError
        A rule of `patterns.jax`, which chooses its kernels by itself.
    """
    names = {
        name: name_of(layout, TF32, activation, TF32)
        for name, (layout, dtype, activation, _) in CHOICES.items()
        if dtype == "f32"
    }
    found = []
    for each in patterns:
        if not hasattr(each, "with_kernel"):
            raise DeclarationError(
                f"{each} has no kernel that could be another.",
                expected="patterns of cuda_kernels.patterns.torch, onnx, mlir or stablehlo",
                next_step="give JAX in_tf32(stablehlo.matmul) before jax.everything.",
            )
        name = names.get(each.item.name)
        found.append(each if name is None else each.with_kernel(getattr(gemm, name)))
    return tuple(found)
