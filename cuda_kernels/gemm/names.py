"""The names of the products, so that listing them declares nothing."""

from __future__ import annotations

from itertools import product

from cuda_kernels.shared.lazily import TYPES

LAYOUTS = ("linear", "matmul", "batch_matmul", "batch_matmul_nt")
ACTIVATIONS = {
    "": "Identity",
    "relu": "Relu",
    "silu": "Silu",
    "gelu_erf": "GeluErf",
    "gelu_tanh": "GeluTanh",
}
"""Their names in `../include/activation.cuh`."""


def name_of(layout: str, dtype: str, activation: str, out: str) -> str:
    """A choice's name: `matmul_gelu_erf_bf16`, `linear_bf16_f32` where the result is f32."""
    return "_".join(filter(None, (layout, activation, dtype, out if out != dtype else "")))


CHOICES = {
    name_of(layout, dtype, activation, out or dtype): (layout, dtype, activation, out or dtype)
    for layout, dtype, activation, out in (
        *product(("linear", "matmul"), TYPES, ACTIVATIONS, [""]),
        *product(("batch_matmul", "batch_matmul_nt"), TYPES, [""], [""]),
        *product(LAYOUTS, ("f16", "bf16"), [""], ["f32"]),
    )
}
"""By name: the layout, the operands' element type, the activation, and the result's type."""
