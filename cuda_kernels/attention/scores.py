"""What attention does to scaled scores before masks are added: a soft cap, or a user's function.

The code is `../include/score_form.cuh`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.functions import Use, computed, free_name, options_of
from custom_dispatch.kernel.expr import Expr
from custom_dispatch.kernel.operand import Operand

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]
_heads: Expr = cd.dim("heads")
_CHANGES = Use(
    "change scores of attention",
    "the scaled score",
    "the score that is to take its place",
    ("f32",),
    "my_cap",
)
_SIZES = ("batch", "heads", "kv_heads", "queries", "keys", "dim", "value_dim")
_OF_MASKS = ("mask", "mask_batches", "mask_heads", "mask_rows", "mask_is_bool", "spans")
_OPERANDS = ("q", "k", "v", "out", "scale", "causal", "sinks", "partial_results")
_TAKEN = frozenset((*_OPERANDS, *_SIZES, *_OF_MASKS))
"""Names of the operands that kernels have anyway."""


@dataclass(frozen=True)
class Scores:
    """What is done to scores; by default nothing."""

    prefix: str = ""
    """In the names of kernels, before "attention"."""
    label: str = ""
    """The same, before the element type."""
    operands: tuple[Operand, ...] = ()
    """What kernels are given for it, behind their other operands."""
    types: tuple[str, ...] = ()
    """Their types in C++."""
    options: tuple[str, ...] = ()
    """Of the compiler."""
    include_dirs: tuple[Any, ...] = ()
    calls: bool = False
    """Whether it is a function of the user's."""
    compute: Callable[..., Array] | None = None
    """What that computes in f64, of scores and numbers, if it says so."""


AS_THEY_ARE = Scores()


def capped(dtype: str) -> Scores:
    """A soft cap, where 0 is none, and sinks, a number of each head."""
    given = (cd.Scalar("softcap", "f32"), _sinks(dtype))
    return Scores("capped_", operands=given, types=("float", f"const {C_TYPES[dtype]}*"))


def changed_by(function: cd.Function, dtype: str) -> Scores:
    """A function of the user's, and sinks.

    Parameters
    ----------
    function
        Its first operand is a scaled score. The others are numbers that a call of a kernel passes.
    dtype
        Of queries, and of sinks.

    Raises
    ------
    DeclarationError
        It is no function; it has no operand or several results, takes or returns a score of another
        type than f32, or an operand is a struct.
    """
    _, _, *numbers = _CHANGES.numbers(function)
    return Scores(
        "",
        f"with_{function.name}_",
        (
            _sinks(dtype),
            *(cd.Scalar(free_name(function, item.name, _TAKEN), item.dtype) for item in numbers),
        ),
        (f"const {C_TYPES[dtype]}*", *(item.dtype.c_name for item in numbers)),
        options_of(function, dtype),
        function.include_dirs,
        calls=True,
        compute=computed(function),
    )


def _sinks(dtype: str) -> cd.In:
    return cd.In("sinks", dtype, [_heads], optional=True)
