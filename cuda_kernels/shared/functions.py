"""Functions of the user's that kernels call on each number: what they may be, and how they get in.

The code is `../include/function.cuh`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.names import shown

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


@dataclass(frozen=True)
class Use:
    """What kernels call a function for, in the words of errors."""

    purpose: str
    """What it is to do: "follow a product"."""
    first: str
    """Its first operand."""
    result: str
    """What it returns."""
    types: tuple[str, ...]
    """That both may have."""
    example: str
    """A name for one."""

    def numbers(self, function: cd.Function) -> list[cd.Scalar]:
        """The function's result and its operands, the first of which is what kernels compute.

        Raises
        ------
        DeclarationError
            It is no function; it has no operand or several results, the first or the result is of
            another type, or an operand is a struct.
        """
        if not isinstance(function, cd.Function):
            raise DeclarationError(
                f"What is to {self.purpose} is {shown(function)}.",
                expected="a cd.Function",
                next_step=f'declare it: cd.Function("{self.example}", '
                f'source="{self.example}.cu", ...).',
            )
        returned, operands, types = function.returned, function.operands, ", ".join(self.types)
        if not isinstance(returned, cd.Scalar) or returned.dtype.name not in self.types:
            has = (
                f"returns {returned.dtype}"
                if isinstance(returned, cd.Scalar)
                else f"has {len(function.results)} results in a struct or through its parameters"
            )
            expected = f"one result, of {types}"
            next_step = f"declare a function that returns {self.result}."
            raise self.refused(function, has, expected, next_step)
        numbers = [item for item in operands if isinstance(item, cd.Scalar)]
        if len(numbers) < len(operands):
            struct = next(item for item in operands if not isinstance(item, cd.Scalar))
            raise self.refused(
                function,
                f"takes the struct `{struct.name}`",
                "numbers",
                "declare a function that takes the struct's numbers one by one.",
            )
        if not numbers or numbers[0].dtype.name not in self.types:
            first = f"`{numbers[0].name}` of {numbers[0].dtype} first" if numbers else "no operands"
            raise self.refused(
                function,
                f"takes {first}",
                f"{self.first} as its first operand, of {types}",
                "declare a function that takes it first.",
            )
        return [returned, *numbers]

    def refused(
        self, function: cd.Function, found: str, expected: str, next_step: str
    ) -> DeclarationError:
        """What is said of a function that cannot be used for this."""
        return DeclarationError(
            f"Function `{function.name}` is to {self.purpose}, and {found}.",
            expected=expected,
            next_step=next_step,
        )


def options_of(function: cd.Function, dtype: str) -> tuple[str, ...]:
    """Those of the compiler with which kernels of a type call it.

    In kernels of 16 bits `/` and `sqrtf` may be off by 2 units in the last place of f32, as in
    Triton, unless the function's own options say how they are: exact quotients take several times
    as long. nvcc's manual, "--prec-div"; PTX ISA, "div.full" and "sqrt.approx".
    """
    # What compiles is loaded for functions alone, not wherever a product is declared.
    from custom_dispatch.toolchain.function_source import HELPERS

    included = ("-include", str(function.source), "-include", str(HELPERS))
    own = " ".join(function.options)
    quick = [
        f"--{name}=false"
        for name in ("prec-div", "prec-sqrt")
        if dtype in ("f16", "bf16") and name not in own
    ]
    return (*quick, *function.options, *included, f"-DCUDA_KERNELS_FUNCTION={function.entry}")


def free_name(function: cd.Function, name: str, taken: Collection[str]) -> str:
    """A name for an operand of the function's that the kernels have none of."""
    return f"{function.name}_{name}" if name in taken else name


def computed(function: cd.Function) -> Callable[..., Array] | None:
    """What the function computes of numbers in f64, and its operands; None if it does not say."""
    if function.reference is None:
        return None
    return _Computed(function.arguments[0], function.reference)


@dataclass(frozen=True)
class _Computed:
    """What a function's reference says of f64, unless it takes fewer bits."""

    x: cd.Scalar
    reference: Callable[..., Any]

    def __call__(self, x: Array, *others: Any) -> Array:
        given = x if self.x.dtype.bits >= 32 else x.astype(self.x.dtype.to_numpy())
        # Vectors and tensors are converted to f32 at least; numbers are of the types declared.
        wide = (other.astype(numpy.float64) if numpy.ndim(other) else other for other in others)
        with numpy.errstate(all="ignore"):
            arrays = (numpy.broadcast_to(other, x.shape) for other in wide)
            return numpy.asarray(self.reference(given, *arrays))
