"""What follows a product in its kernel: an activation by its name, or a function of the user's.

A product calls it with each sum in f32, before rounding it to the result's type. The code is
`../include/activation.cuh` and `../include/epilogue.cuh`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.gemm.names import ACTIVATIONS, operand_type
from cuda_kernels.shared.activations import activated
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.functions import Use, computed, free_name, options_of

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]
_FOLLOWS = Use(
    "follow a product",
    "the product",
    "what is to be stored",
    ("f32", "f16", "bf16", "f64"),
    "my_gelu",
)
_OPERANDS = ("a", "b", "bias", "residual", "c", "batch", "m", "n", "k")
"""That every product has."""


@dataclass(frozen=True)
class Epilogue:
    """What follows a product: act(a b + bias + residual), or a function of that."""

    label: str
    """In the names of kernels; empty where nothing follows."""
    struct: str
    """Its type in C++."""
    operands: tuple[cd.Scalar | cd.In, ...] = ()
    """What kernels are given for it, behind their other operands."""
    types: tuple[str, ...] = ()
    """Their types in C++."""
    tensor: str = ""
    """The operand that it takes in the residual's place, if it takes one."""
    options: tuple[str, ...] = ()
    """Of the compiler."""
    include_dirs: tuple[Any, ...] = ()
    compute: Callable[..., Array] | None = None
    """In f64, of the sums, the tensor if it takes one, and the operands."""

    def entry(self, plain: str) -> str:
        """A kernel's name in C++, whose last template arguments are the operands' types."""
        return f"{', '.join((plain.removesuffix('>'), *self.types))}>"

    def implementation(self, plain: cd.Implementation) -> cd.Implementation:
        """The implementation of a kernel for a target, likewise."""
        return cd.Implementation(**{**plain.given, "entry": self.entry(plain.given["entry"])})


def epilogue_of(activation: str) -> Epilogue:
    """The epilogue that a key of `names.ACTIVATIONS` stands for."""
    struct = f"cuda_kernels::{ACTIVATIONS[activation]}"
    return Epilogue(activation, struct, compute=partial(activated, activation))


def epilogue_that_calls(
    function: cd.Function,
    dtype: str = "bf16",
    *,
    tensors: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> Epilogue:
    """The epilogue that is a function of the user's.

    Parameters
    ----------
    function
        Its first operand is the sum. The others are numbers that a call of the kernel passes.
    dtype
        Of the product's operands, and of `columns`.
    tensors
        The name of its second operand, if that is an element of a tensor of the result's shape.
    columns
        The names of those that are elements of vectors with one for each column of the result.

    Raises
    ------
    DeclarationError
        It is no function; it has no operand or several results, one is of another type than
        floats, or an operand is a struct; `tensors` names other operands than the second, or
        `columns` what is none of the rest.
    """
    returned, *numbers = _FOLLOWS.numbers(function)
    if list(tensors) not in ([], [item.name for item in numbers[1:2]]):
        raise _FOLLOWS.refused(
            function,
            f"is to take tensors as {', '.join(map(repr, tensors))}",
            "one tensor, as its second operand: kernels read one besides the bias",
            "compute the others' part in a function of its own, or declare that operand second.",
        )
    rest = numbers[1 + len(tensors) :]
    if wrong := [name for name in columns if name not in [item.name for item in rest]]:
        raise _FOLLOWS.refused(
            function,
            f"is to take a vector as {wrong[0]!r}",
            f"one of {', '.join(f'{item.name!r}' for item in rest) or 'no operands'}",
            "name an operand that is neither the product nor a tensor of its shape.",
        )
    wide = [item.name for item in rest if item.name in columns and item.dtype.name != "f32"]
    if wide:
        raise _FOLLOWS.refused(
            function,
            f"is to take a vector as {wide[0]!r}, which is of another type than f32",
            "f32, to which elements of vectors are converted",
            "declare a function that takes it as f32.",
        )
    other = numbers[1].dtype.c_name if tensors else "void"
    types = f"{returned.dtype.c_name}, {numbers[0].dtype.c_name}, {other}"
    called = Epilogue(
        f"with_{function.name}",
        "",
        tuple(
            cd.In(name, operand_type(dtype), [cd.dim("n")])
            if item.name in columns
            else cd.Scalar(name, item.dtype)
            for item, name in ((item, free_name(function, item.name, _OPERANDS)) for item in rest)
        ),
        tuple(
            f"const {C_TYPES[dtype]}*" if item.name in columns else item.dtype.c_name
            for item in rest
        ),
        free_name(function, tensors[0], _OPERANDS) if tensors else "",
        options_of(function, dtype),
        function.include_dirs,
        computed(function),
    )
    return replace(called, struct=called.entry(f"cuda_kernels::Epilogue<{types}>"))
