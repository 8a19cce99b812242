"""Running a kernel's reference, a Python function."""

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy

from custom_dispatch.errors import DeclarationError, FallbackWarning, UnsupportedInstructionError
from custom_dispatch.kernel.binding import output_shapes
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Struct

Arrays = tuple[numpy.ndarray[Any, Any], ...]


def reference_results(kernel: Kernel, arguments: Sequence[Any]) -> Arrays:
    """What a kernel's reference returns, as arrays."""
    if kernel.reference is None:
        raise TypeError(f"kernel {kernel.name} has no reference")
    try:
        results = kernel.reference(*arguments)
        several = results if isinstance(results, tuple) else (results,)
        wanted = tuple(map(numpy.asarray, several))
    except Exception as error:
        raise DeclarationError(
            f"the reference fails: {type(error).__name__}: {error}",
            expected="a function of the kernel's inputs",
            next_step="correct it.",
        ) from error
    if len(wanted) != len(kernel.outputs):
        raise DeclarationError(
            f"the reference returns {len(wanted)} results, and the kernel {len(kernel.outputs)}",
            expected="one an Out or InOut",
            next_step="correct it.",
        )
    return wanted


def run_reference(
    kernel: Kernel,
    given: Sequence[Any],
    checked: Sequence[Any],
    dims: dict[str, int],
    refusal: UnsupportedInstructionError,
) -> Any:
    """A kernel's results from its reference, with a warning.

    - `given`, `checked`: the arguments as they were passed, and as checked: a struct is a mapping,
      and its numbers.
    - `refusal`: why the kernel itself cannot run.
    """
    warnings.warn(
        f"kernel `{kernel.name}` cannot run on the CPU, so its reference runs instead. "
        f"{refusal.found}",
        FallbackWarning,
        stacklevel=7,
    )
    arguments = [
        copy.deepcopy(value if isinstance(operand, Struct) else number)
        for operand, value, number in zip(kernel.inputs, given, checked, strict=True)
    ]
    shapes = output_shapes(kernel, dims)
    try:
        returned = reference_results(kernel, arguments)
    except DeclarationError as error:
        raise error.saying(f"Kernel `{kernel.name}`: {error.found}.") from error
    results = []
    for operand, found in zip(kernel.outputs, returned, strict=True):
        wanted = shapes[operand.name]
        if found.shape != wanted:
            raise DeclarationError(
                f"Kernel `{kernel.name}`: the reference returns `{operand.name}` with shape "
                f"{list(found.shape)}.",
                expected=f"{list(wanted)}, as declared",
                next_step="correct the reference.",
            )
        results.append(found.astype(operand.dtype.to_numpy(), copy=False))
    return results[0] if len(results) == 1 else tuple(results)
