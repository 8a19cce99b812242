"""Gated linear units in PyTorch's words, but for SwiGLU of two tensors, for `torch.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels import elementwise
from cuda_kernels.patterns.rewriting.glu import GLU_OF_HALVES, rule_for

if TYPE_CHECKING:
    Patterns = tuple[cd.torch.Pattern, ...]

_TYPES = ("f32", "f16", "bf16")


def _geglu(gate: Tensor, up: Tensor) -> Tensor:
    return functional.gelu(gate) * up


def _geglu_tanh(gate: Tensor, up: Tensor) -> Tensor:
    return functional.gelu(gate, approximate="tanh") * up


def _glu_of_halves(x: Tensor, activation: int, gate_is_second: int) -> Tensor:
    return GLU_OF_HALVES(x, activation, gate_is_second)


def geglus() -> Patterns:
    """GELU of one tensor times another; the products before them are kernels of their own."""
    return tuple(
        cd.torch.Pattern(getattr(elementwise, f"{name}_{dtype}"), computes, required=False)
        for name, computes in (("geglu_erf", _geglu), ("geglu_tanh", _geglu_tanh))
        for dtype in _TYPES
    )


def glus_of_halves() -> Patterns:
    """Any unit of the halves of one tensor, with the rule that finds them."""
    return tuple(
        cd.torch.Pattern(
            getattr(elementwise, f"glu_of_halves_{dtype}"),
            _glu_of_halves,
            rewrites=rule_for(dtype),
            required=False,
        )
        for dtype in _TYPES
    )
