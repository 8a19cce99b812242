"""`verify=True`: whether a compiled model computes what its framework does, in one call on the CPU.

A module with code for a CPU runs as it is; another is compiled once more, for this machine's CPU.
Kernels compute the same there as on a GPU: it is their PTX.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from custom_dispatch.compiled import CompiledModule
from custom_dispatch.errors import DeclarationError, VerificationError
from custom_dispatch.kernel.dtypes import of_numpy
from custom_dispatch.kernel.names import shown
from custom_dispatch.phases import say
from custom_dispatch.runtime.program import Program, load

TOLERANCES = {"f64": 1e-9, "f32": 1e-3, "f16": 2e-2, "bf16": 5e-2}
"""The largest relative error of a tensor, as `relative_error` has it, by its element type. Half of
the digits of a type and more: a wrong operation shows as 0.1 to 1, and rounding in models of 30
layers of bf16 as up to 0.03."""
_OTHER = 0.2
"""Of the types of 8 bits."""


def check_verify(verify: Any) -> float | None:
    """The tolerance that is asked for; 0 for that of each type, None for no verification."""
    if isinstance(verify, bool):
        return 0.0 if verify else None
    if isinstance(verify, int | float) and 0 < verify < float("inf"):
        return float(verify)
    raise DeclarationError(
        f"verify is given as {shown(verify)}.",
        expected="True, False, or the largest relative error as a number: 1e-3",
        next_step="write verify=True for the usual errors of each element type.",
    )


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor as f64 or integers, with the name of its element type."""

    dtype: str
    """"f32", "bf16", "i64", ..., for the tolerance."""
    values: numpy.ndarray[Any, Any]
    """In f64, where they are floats."""


def plain(value: Any) -> Tensor:
    """An array, or what gives itself as one, for comparing."""
    array = numpy.asarray(value)
    dtype = of_numpy(array.dtype)
    wide = array.astype(numpy.float64) if dtype is not None and dtype.is_float else array
    return Tensor(dtype.name if dtype else str(array.dtype), wide)


def difference(found: Tensor, wanted: Tensor, tolerance: float) -> str:
    """How one tensor differs from another; empty where it does not.

    `tolerance`: the largest relative error; 0 for that of the element type.
    """
    if found.values.shape != wanted.values.shape:
        return f"has the shape {list(found.values.shape)} instead of {list(wanted.values.shape)}"
    if wanted.values.dtype.kind not in "fc":
        count = int((found.values != wanted.values).sum())
        return f"has {count} of {wanted.values.size} elements that differ" if count else ""
    finite = numpy.isfinite(wanted.values)
    if not numpy.array_equal(finite, numpy.isfinite(found.values)) or not numpy.array_equal(
        found.values[~finite], wanted.values[~finite], equal_nan=True
    ):
        return "has NaN or infinities in other places"
    error = relative_error(found.values[finite], wanted.values[finite])
    most = tolerance or TOLERANCES.get(wanted.dtype, _OTHER)
    return f"has a relative error of {error:.1e}, more than {most:g}" if error > most else ""


def relative_error(found: Any, wanted: Any) -> float:
    """The norm of the difference over that of what is wanted, at least 1e-6 an element."""
    scale = max(float(numpy.linalg.norm(wanted)), 1e-6 * wanted.size**0.5)
    return float(numpy.linalg.norm(found - wanted) / scale)


def on_the_cpu(compiled: CompiledModule, for_cpu: Callable[[], CompiledModule]) -> Program:
    """The program that is compared.

    `for_cpu`: compiles the same for this machine's CPU, where `compiled` has code for GPUs alone.
    """
    if all(target.is_cuda for target in compiled.targets):
        say("compiling for this machine's CPU, to verify the model")
        compiled = for_cpu()
    say("running the model once, to verify it")
    return load(compiled, "cpu")


def check_results(
    found: Sequence[Tensor],
    wanted: Sequence[Tensor],
    tolerance: float,
    framework: str,
    where: Callable[[], str] = str,
) -> None:
    """Compare the results of one call.

    `where`: finds the first place that is wrong, as a sentence; empty where none is found.
    """
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        said = difference(one, other, tolerance)
        if said:
            place = where()
            raise VerificationError(
                f"Result {number} of the model, run once on the CPU, {said}: {framework} computes "
                f"something else.{' ' + place if place else ''}",
                expected=f"what {framework} gives for the same arguments",
                next_step="leave out the pattern of a kernel that is named, correct its "
                "`reference` or its code; report an operation of IREE. "
                "Give verify=0.1 if the model amplifies rounding errors so much.",
            )
