"""Functions of a user's that products and attention call, in several benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels import attention, gemm

SOURCE = Path(__file__).with_suffix(".cuh")


def of_numbers(name: str, *operands: str, **others: Any) -> cd.Function:
    """A function of that source, of f32 alone."""
    given = [cd.Scalar(each, "f32") for each in operands]
    return cd.Function(name, source=SOURCE, operands=given, result="f32", **others)


def _layer_scaled(x: Any, before: Any, gamma: Any, factor: Any) -> Any:
    return before + gamma * numpy.where(x > 0, x, factor * x)


def _bent_or_hidden(score: Any, limit: Any, least: Any) -> Any:
    return numpy.where(score < least, -numpy.inf, score / (1 + numpy.abs(score) / limit))


LAYER_SCALED = of_numbers("layer_scaled", "x", "before", "gamma", "factor", reference=_layer_scaled)
BENT_OPERANDS = ("score", "limit", "least")
BENT = of_numbers("bent_or_hidden", *BENT_OPERANDS, reference=_bent_or_hidden)


def layer_scaled(layout: str, dtype: str, out: str | None = None) -> cd.Choice:
    """Products that it follows, with a tensor, a vector and a number."""
    names: dict[str, list[str]] = {"tensors": ["before"], "columns": ["gamma"]}
    choice: cd.Choice = gemm.with_epilogue(LAYER_SCALED, layout, dtype, out, **names)
    return choice


def calling() -> dict[str, cd.Choice]:
    """By the module of `cuda_kernels` that has the kernels, some that call a function."""
    return {
        "gemm": layer_scaled("linear", "bf16"),
        "attention": attention.with_scores(BENT, "bf16", "queries"),
    }
