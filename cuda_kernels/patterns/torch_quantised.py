"""Products with quantised weights, and of 8-bit floats, in PyTorch's words, for `torch.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch import Tensor

import custom_dispatch as cd
from cuda_kernels import gemm, quantised
from cuda_kernels.patterns.rewriting.quantised import OPERATORS, rule_for
from cuda_kernels.patterns.rewriting.scaled import OPERATORS as SCALED
from cuda_kernels.patterns.rewriting.scaled import X_TYPES, write_scaled

if TYPE_CHECKING:
    Patterns = tuple[cd.torch.Pattern, ...]


def _int4(x: Tensor, weight: Tensor, scales: Tensor) -> Any:
    return OPERATORS["int4"](x, weight, scales)


def _int4_zeros(x: Tensor, weight: Tensor, scales: Tensor, zeros: Tensor) -> Any:
    return OPERATORS["int4_zeros"](x, weight, scales, zeros)


def _int8(x: Tensor, weight: Tensor, scales: Tensor) -> Any:
    return OPERATORS["int8"](x, weight, scales)


def _int8_groups(x: Tensor, weight: Tensor, scales: Tensor) -> Any:
    return OPERATORS["int8_groups"](x, weight, scales)


def _fp8(x: Tensor, weight: Tensor, scales: Tensor) -> Any:
    return OPERATORS["fp8"](x, weight, scales)


def _fp8_blocks(x: Tensor, weight: Tensor, scales: Tensor) -> Any:
    return OPERATORS["fp8_blocks"](x, weight, scales)


_LAYOUTS: dict[str, Callable[..., Any]] = {
    "int4": _int4,
    "int4_zeros": _int4_zeros,
    "int8": _int8,
    "int8_groups": _int8_groups,
    "fp8": _fp8,
    "fp8_blocks": _fp8_blocks,
}


def quantised_products() -> Patterns:
    """Of each layout that weights are put into, with the rule that does it."""
    return tuple(
        cd.torch.Pattern(
            getattr(quantised, f"{layout}_{dtype}"),
            computes,
            rewrites=rule_for(dtype),
            required=False,
        )
        for layout, computes in _LAYOUTS.items()
        for dtype in ("f16", "bf16")
    )


def _scaled_f32(
    x: Tensor, weight: Tensor, x_scales: Tensor, scales: Tensor, bias: Tensor | None = None
) -> Any:
    return SCALED["f32"](x, weight, x_scales, scales, bias)


def _scaled_f16(
    x: Tensor, weight: Tensor, x_scales: Tensor, scales: Tensor, bias: Tensor | None = None
) -> Any:
    return SCALED["f16"](x, weight, x_scales, scales, bias)


def _scaled_bf16(
    x: Tensor, weight: Tensor, x_scales: Tensor, scales: Tensor, bias: Tensor | None = None
) -> Any:
    return SCALED["bf16"](x, weight, x_scales, scales, bias)


_SCALED = {"f32": _scaled_f32, "f16": _scaled_f16, "bf16": _scaled_bf16}


def scaled_products() -> Patterns:
    """Of 8-bit floats on both sides, with the rule that finds them."""
    return tuple(
        cd.torch.Pattern(
            getattr(gemm, f"scaled_linear_{dtype}_{out}"),
            computes,
            rewrites=write_scaled,
            required=False,
        )
        for dtype in X_TYPES
        for out, computes in _SCALED.items()
    )
