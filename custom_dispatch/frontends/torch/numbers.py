"""Whether numbers, sizes and constants of a model are those of a pattern."""

from __future__ import annotations

import math
from typing import Any

import sympy
import torch


def size_of(value: Any) -> Any:
    """A size as a number or as an expression of the model's symbols; None for anything else."""
    if isinstance(value, torch.fx.Node):
        value = value.meta.get("val")
    if isinstance(value, torch.SymInt | torch.SymFloat):
        return value.node.expr
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def are_equal(wanted: Any, found: Any) -> bool:
    """Whether two sizes are known to be the same."""
    wanted, found = sympy.sympify(wanted), sympy.sympify(found)
    if wanted == found:
        return True
    if wanted.is_number and found.is_number and (wanted.is_Float or found.is_Float):
        return math.isclose(float(wanted), float(found), rel_tol=1e-12)
    return bool(sympy.simplify(wanted - found) == 0)


def is_same_number(wanted: Any, found: Any) -> bool:
    """Whether two numbers, words or nothing at all are the same; 2 and 2.0 are, 1 and True not."""
    if isinstance(wanted, float) and isinstance(found, float) and math.isnan(wanted):
        return math.isnan(found)
    if isinstance(wanted, bool) != isinstance(found, bool):
        return False
    if isinstance(found, torch.fx.Node):
        found = size_of(found)
        if found is None:
            return False  # a tensor is none of them, nor is it nothing
    return bool(type(wanted) is type(found) or isinstance(wanted, int | float)) and wanted == found


def is_equal(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two constants are the same."""
    return (
        first.dtype == second.dtype
        and first.shape == second.shape
        and bool(torch.equal(first.cpu(), second.cpu()))
    )
