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
TF32 = "tf32"
"""Operands and results of f32, multiplied in TF32."""


def operand_type(dtype: str) -> str:
    """The element type of operands: TF32 is how f32 are multiplied."""
    return "f32" if dtype == TF32 else dtype


def name_of(layout: str, dtype: str, activation: str, out: str) -> str:
    """A choice's name: `matmul_gelu_erf_bf16`, `linear_bf16_f32` where the result is f32."""
    return "_".join(filter(None, (layout, activation, dtype, out if out != dtype else "")))


CHOICES = {
    name_of(layout, dtype, activation, out or dtype): (layout, dtype, activation, out or dtype)
    for layout, dtype, activation, out in (
        *product(("linear", "matmul"), TYPES, ACTIVATIONS, [""]),
        *product(("batch_matmul", "batch_matmul_nt"), TYPES, [""], [""]),
        *product(LAYOUTS, ("f16", "bf16"), [""], ["f32"]),
        *product(("linear", "matmul"), [TF32], ACTIVATIONS, [""]),
        *product(("batch_matmul", "batch_matmul_nt"), [TF32], [""], [""]),
    )
}
"""By name: the layout, the operands' element type, the activation, and the result's type."""
SCALED = {
    f"scaled_linear_{dtype}_{out}": (dtype, out) for dtype in ("e4m3", "e5m2") for out in TYPES
}
"""By name: the element types of x and of the result; weights are e4m3."""
