"""Conformance of a kernel: on every device here, against its reference, on random inputs."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy

from custom_dispatch import errors
from custom_dispatch.eager.call import call
from custom_dispatch.eager.reference import reference_results
from custom_dispatch.kernel.binding import grids_for, output_shapes
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.measure.comparison import agreement
from custom_dispatch.measure.inputs import elements, random_value, why_not_taken

SIZES = (0, 1, 7, 64, 1000)
"""The values each dim takes: empty, one, less than a block, whole blocks, a partial last block."""

_MULTIPLES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""What sizes are rounded up to where a kernel requires that."""

_MOST_ELEMENTS = 1 << 26
"""Sizes for which a kernel's buffers have more together are passed over: 1000 in four dims."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How a kernel did on a device, for one choice of dims."""

    kernel: str
    device: str
    dims: Mapping[str, int]
    problem: str
    """What is wrong; empty if nothing."""
    largest_difference: float
    """The largest absolute difference from the reference; 0 for equal results."""
    skipped: str = ""
    """Why nothing was compared: the device cannot run the kernel, whose declaration allows that."""

    @property
    def passed(self) -> bool:
        """Whether the kernel agrees with its reference."""
        return not self.problem


def check_kernel(kernel: Kernel, device: str) -> Iterator[CheckResult]:
    """Run a kernel on a device for several sizes and compare it with its reference."""
    generator = numpy.random.default_rng(0)
    for dims in checked_sizes(kernel):
        yield check_once(kernel, device, dims, generator)


def checked_sizes(kernel: Kernel) -> list[dict[str, int]]:
    """The sizes for which a kernel, which has a reference, is compared with it."""
    checked = [dims for size in SIZES if (dims := _dims_for(kernel, size)) is not None]
    if not checked and kernel.requires:
        raise errors.DeclarationError(
            f"Kernel `{kernel.name}` is not checked: no sizes that are tried are what it requires: "
            f"{', '.join(map(str, kernel.requires))}.",
            expected="conditions that hold for some of them, or for multiples up to "
            f"{_MULTIPLES[-1]}: {', '.join(map(str, SIZES))}",
            next_step="call it with sizes of your own, and compare.",
        )
    if not checked:
        raise errors.DeclarationError(
            f"Kernel `{kernel.name}` is not checked: it cannot be called with any of the sizes "
            "that are tried.",
            expected=f"shapes and a grid for some of {', '.join(map(str, SIZES))}, and at most "
            f"{_MOST_ELEMENTS} elements in all",
            next_step="call it with sizes of your own, and compare.",
        )
    return checked


def _dims_for(kernel: Kernel, size: int) -> dict[str, int] | None:
    """Dims of about that size for which the kernel can be called; none of them the same, if so."""
    for multiple in _MULTIPLES:
        for step in (1, 0):
            dims = {
                dim.name: -(-(size + step * index) // multiple) * multiple
                for index, dim in enumerate(kernel.dims)
            }
            if _is_callable(kernel, dims):
                return dims
            if not kernel.requires:
                return None
    return None


def _is_callable(kernel: Kernel, dims: dict[str, int]) -> bool:
    """Whether the declaration has shapes, of a size to be compared, and a grid for these dims.

    n - 1 has none for n = 0.
    """
    if why_not_taken(kernel, dims):
        return False
    try:
        shapes = output_shapes(kernel, dims)
        if elements(kernel, dims) > _MOST_ELEMENTS:
            return False
    except errors.DeclarationError:
        return False
    launches = all(0 not in grid for grid in grids_for(kernel, dims))
    return launches or all(0 in shape for shape in shapes.values())


def check_once(
    kernel: Kernel, device: str, dims: dict[str, int], generator: numpy.random.Generator
) -> CheckResult:
    """Run a kernel for some sizes and compare it with its reference; see `check_kernel`."""
    problem, difference = "", 0.0
    try:
        arguments = [random_value(operand, dims, generator) for operand in kernel.inputs]
        copies = [copy.deepcopy(value) for value in arguments]
        wanted = reference_results(kernel, copies)
        results = call(kernel, device, tuple(arguments), {}, fallback=False)
        found = results if isinstance(results, tuple) else (results,)
        agreed = agreement("the reference", kernel, found, wanted)
        problem, difference = agreed.problem, agreed.largest_difference
        declared = output_shapes(kernel, dims)
        for operand, got in zip(kernel.outputs, found, strict=True):
            if not problem and got.shape != declared[operand.name]:
                problem = f"`{operand.name}` has shape {got.shape}, not {declared[operand.name]}"
        for given, before, after in zip(kernel.inputs, copies, arguments, strict=True):
            same = not isinstance(given, Buffer) or numpy.array_equal(before, after, equal_nan=True)
            problem = problem or ("" if same else f"the caller's `{given.name}` was changed")
    except errors.UnsupportedInstructionError as error:
        if kernel.fallback is not None:
            return CheckResult(kernel.name, device, dims, "", 0.0, skipped=error.found)
        problem = error.found
    except errors.CustomDispatchError as error:
        problem = error.found
    return CheckResult(kernel.name, device, dims, problem, difference)
