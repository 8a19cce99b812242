"""Arrays with any leading dims, for a kernel that sees them as one: no element is moved."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.binding import bind_shapes
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Operand
from custom_dispatch.kernel.shapes import folded, unfolded
from custom_dispatch.runtime.device_array import DeviceArray
from custom_dispatch.runtime.dlpack import ForeignArray
from custom_dispatch.runtime.flight import Submission
from custom_dispatch.runtime.function import Function
from custom_dispatch.runtime.incoming import read_array, shape_of

Shape = tuple[int, ...]


class FoldedCall(NamedTuple):
    """What a call passes to a kernel, and what it returns."""

    arguments: Sequence[Any]
    out: Any
    results: Callable[[Any], Any]
    """The call's results from the kernel's."""


def fold_call(
    kernel: Kernel, operands: Sequence[Operand], arguments: Sequence[Any], out: Any
) -> FoldedCall:
    """A call as the kernel sees it: with leading dims as one.

    - `operands`: what the arguments are for; those that are no buffers are passed on.
    - `out`: the arrays to write into, if there are some: what the call returns.
    """
    leading, folded_ones = _fold_arguments(kernel, operands, arguments)
    if leading is None:
        return FoldedCall(arguments, out, lambda results: results)
    if out is None:
        return FoldedCall(folded_ones, None, partial(_unfold_results, kernel, leading))
    into = _fold_results(kernel, leading, out, arguments, folded_ones)
    return FoldedCall(folded_ones, into, lambda _: out)


def _fold_arguments(
    kernel: Kernel, operands: Sequence[Operand], arguments: Sequence[Any]
) -> tuple[Shape | None, Sequence[Any]]:
    """A call's arguments as the kernel sees them, and the leading dims they had; None where there
    is nothing to fold.
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
        return None, arguments
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
    return bind_shapes(kernel, dict(shapes)).leading or ()


def _fold_results(
    kernel: Kernel, leading: Shape, out: Any, arguments: Sequence[Any], folded_ones: Sequence[Any]
) -> Any:
    """Arrays to write into, as the kernel sees them; an array among the arguments that is updated
    is the same one afterwards.
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


def _unfold_results(kernel: Kernel, leading: Shape, results: Any) -> Any:
    """A call's results with the leading dims of its arguments."""
    several = results if isinstance(results, tuple) else (results,)
    found = tuple(
        reshaped(value, unfolded(operand, shape_of(value), leading))
        for operand, value in zip(kernel.outputs, several, strict=True)
    )
    return found if isinstance(results, tuple) else found[0]


def reshaped(array: Any, shape: Shape, *, writes: bool = False, what: str = "") -> Any:
    """The same elements in another shape.

    `writes`: whether the array is to be written: then a copy will not do.
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

    - `kernel`: as it was declared.
    - `*parts`: as of a function.
    """

    def __init__(self, kernel: Kernel, *parts: Any) -> None:
        super().__init__(*parts)
        self._kernel = kernel

    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """As of every function; results have the leading dims of the arguments."""
        call = self._folded(arguments, named, out)
        return call.results(super().__call__(*call.arguments, out=call.out))

    def submit(self, *arguments: Any, out: Any = None, **named: Any) -> Submission:
        """As of every function; results have the leading dims of the arguments."""
        call = self._folded(arguments, named, out)
        return super().submit(*call.arguments, out=call.out).mapped(call.results)

    def _folded(self, arguments: tuple[Any, ...], named: dict[str, Any], out: Any) -> FoldedCall:
        values = self.arguments.in_order(arguments, named)
        return fold_call(self._kernel, self._kernel.arguments, values, out)
