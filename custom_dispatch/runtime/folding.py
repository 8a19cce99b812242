"""Arrays with any leading dims, for a kernel that sees them as one: no element is moved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.binding import bind_dims, folded, leading_dims, unfolded
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Operand
from custom_dispatch.runtime.device_array import DeviceArray
from custom_dispatch.runtime.dlpack import ForeignArray
from custom_dispatch.runtime.flight import Submission
from custom_dispatch.runtime.function import Function
from custom_dispatch.runtime.incoming import read_array, shape_of

Shape = tuple[int, ...]


def fold_arguments(
    kernel: Kernel, operands: Sequence[Operand], arguments: Sequence[Any]
) -> tuple[Shape | None, list[Any]]:
    """A call's arguments as the kernel sees them, and the leading dims they had.

    Parameters
    ----------
    operands
        What the arguments are for; those that are no buffers are passed on.

    Returns
    -------
    tuple
        None in the place of leading dims where there is nothing to fold.

    Raises
    ------
    CallError
        The shapes do not fit the declaration, or an argument is no array.
    """
    read: list[Any] = []
    shapes: list[tuple[str, Shape]] = []
    plain = True
    for operand, value in zip(operands, arguments, strict=True):
        if not isinstance(operand, Buffer) or (value is None and operand.optional):
            read.append(value)
            continue
        array = read_array(value, f"operand `{operand.name}` of kernel `{kernel.name}`")
        read.append(array)
        shapes.append((operand.name, shape_of(array)))
        plain = plain and (not operand.batched or len(shapes[-1][1]) == operand.rank)
    if plain:
        return None, list(arguments)
    leading = _leading(kernel, tuple(shapes))
    found = [
        reshaped(value, folded(operand, shape_of(value)))
        if isinstance(operand, Buffer) and operand.batched and value is not None
        else value
        for operand, value in zip(operands, read, strict=True)
    ]
    return leading, found


@lru_cache(maxsize=4096)
def _leading(kernel: Kernel, shapes: tuple[tuple[str, Shape], ...]) -> Shape:
    """The leading dims of a call, all of whose shapes fit; what was found right once, is."""
    given = dict(shapes)
    for operand in kernel.inputs:
        if isinstance(operand, Buffer) and operand.optional:
            given.setdefault(operand.name, (0,) * operand.rank)
    bind_dims(kernel, given)
    return leading_dims(kernel, given) or ()


def fold_results(
    kernel: Kernel, leading: Shape, out: Any, arguments: Sequence[Any], folded_ones: Sequence[Any]
) -> Any:
    """Arrays to write into, as the kernel sees them.

    Parameters
    ----------
    arguments, folded_ones
        The call's, as given and as the kernel sees them: an array among them that is updated is
        the same one afterwards.

    Raises
    ------
    CallError
        One has other leading dims, or its elements are not in a row.
    """
    given = out if isinstance(out, tuple) else (out,)
    if len(given) != len(kernel.outputs):
        return out  # the call says so
    pairs = list(zip(arguments, folded_ones, strict=True))
    arrays = []
    for operand, value in zip(kernel.outputs, given, strict=True):
        what = f"`out` for `{operand.name}` of kernel `{kernel.name}`"
        array = read_array(value, what)
        shape = shape_of(array)
        if not operand.batched:
            arrays.append(array)
            continue
        if not operand.has_rank(len(shape)) or shape[: len(shape) - operand.least_rank] != leading:
            sizes = ", ".join([*map(str, leading), *map(str, operand.shape[1:])])
            raise CallError(
                f"`out` for `{operand.name}` of kernel `{kernel.name}` has shape {list(shape)}.",
                expected=f"[{sizes}]: the leading dims of the arguments are {list(leading)}",
                next_step="pass an array of that shape.",
            )
        found = reshaped(array, folded(operand, shape), writes=True, what=what)
        same = (item for argument, item in pairs if argument is value)
        arrays.append(next(same, found))
    return tuple(arrays) if isinstance(out, tuple) else arrays[0]


def unfold_results(kernel: Kernel, leading: Shape, results: Any) -> Any:
    """A call's results with the leading dims of its arguments."""
    several = results if isinstance(results, tuple) else (results,)
    found = tuple(
        reshaped(value, unfolded(operand, shape_of(value), leading))
        for operand, value in zip(kernel.outputs, several, strict=True)
    )
    return found if isinstance(results, tuple) else found[0]


def reshaped(array: Any, shape: Shape, *, writes: bool = False, what: str = "") -> Any:
    """The same elements in another shape.

    Parameters
    ----------
    writes
        Whether the array is to be written: then a copy will not do.

    Raises
    ------
    CallError
        Only a copy would have that shape.
    """
    if tuple(array.shape) == shape:
        return array
    if isinstance(array, DeviceArray | ForeignArray):
        if writes and isinstance(array, ForeignArray) and not array.contiguous:
            raise _with_gaps(what)
        return array.reshaped(shape)
    found = numpy.reshape(numpy.asarray(array), shape)
    if writes and not numpy.shares_memory(found, array):
        raise _with_gaps(what)
    return found


def _with_gaps(what: str) -> CallError:
    return CallError(
        f"{what} has gaps between its elements, or another order than that of its dimensions.",
        expected="a contiguous array, where it has other leading dims than one",
        next_step="pass a contiguous one, and copy from it.",
    )


class LeadingFunction(Function):
    """A kernel's own function, which takes any leading dims where the kernel has `...`.

    Parameters
    ----------
    kernel
        As it was declared.
    *parts
        As of a function.
    """

    def __init__(self, kernel: Kernel, *parts: Any) -> None:
        super().__init__(*parts)
        self._kernel = kernel

    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """As of every function; results have the leading dims of the arguments."""
        values = self.arguments.in_order(arguments, named)
        leading, folded_ones = fold_arguments(self._kernel, self._kernel.arguments, values)
        if leading is None:
            return super().__call__(*values, out=out)
        if out is not None:
            into = fold_results(self._kernel, leading, out, values, folded_ones)
            super().__call__(*folded_ones, out=into)
            return out
        return unfold_results(self._kernel, leading, super().__call__(*folded_ones))

    def submit(self, *arguments: Any, out: Any = None, **named: Any) -> Submission:
        """As of every function; results have the leading dims of the arguments."""
        values = self.arguments.in_order(arguments, named)
        kernel = self._kernel
        leading, folded_ones = fold_arguments(kernel, kernel.arguments, values)
        if leading is None:
            return super().submit(*values, out=out)
        dims = leading
        if out is not None:
            into = fold_results(kernel, dims, out, values, folded_ones)
            return super().submit(*folded_ones, out=into).mapped(lambda _: out)
        done = super().submit(*folded_ones)
        return done.mapped(lambda results: unfold_results(kernel, dims, results))
