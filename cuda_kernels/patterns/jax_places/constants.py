"""What values hold that depend on no argument: masks that a model computes of positions.

Sizes that are symbols get numbers: what holds for several of these holds for all, as far as models
go, since nothing but the sizes tells them apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from cuda_kernels.patterns.jax_places.graph import Node, Value
from cuda_kernels.patterns.jax_places.numbers import ON_ELEMENTS, apply

MOST_ELEMENTS = 2**28
"""Of what is looked at; a mask of 16,384 positions."""
_PRIMES = ((11, 13, 17, 19, 23, 29), (7, 31, 5, 37, 3, 41))
"""What symbols stand for."""


def sizes_to_try(value: Value) -> list[dict[str, int]]:
    """Numbers for the symbols of a value's sizes: one mapping where there are none."""
    symbols = sorted({name for size in value.shape for name in _symbols(size)})
    if not symbols:
        return [{}]
    if len(symbols) > len(_PRIMES[0]):
        return []
    return [dict(zip(symbols, primes, strict=False)) for primes in _PRIMES]


def _symbols(size: Any) -> set[str]:
    return set() if isinstance(size, int) else set(size._get_vars())


def in_numbers(size: Any, sizes: Mapping[str, int]) -> int:
    """A size as a number."""
    return size if isinstance(size, int) else int(size._evaluate(dict(sizes)))


def held(value: Value, sizes: Mapping[str, int]) -> Any:
    """What a value holds, with 1 for dims along which it does not change; None if not known."""
    if not value.is_constant:
        return None
    try:
        return _Evaluation(sizes).of(value)
    except (KeyError, ValueError, TypeError, IndexError):
        return None


class _Evaluation:
    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._known: dict[Value, Any] = {}

    def of(self, value: Value) -> Any:
        if value.number is not None:
            return numpy.asarray(value.number)
        if value.array is not None:
            if numpy.size(value.array) > MOST_ELEMENTS or not isinstance(value.dtype, numpy.dtype):
                return None
            return numpy.asarray(value.array)
        if value.node is None:
            return None
        if value not in self._known:
            self._known[value] = self._computed(value.node, value)
        return self._known[value]

    def _computed(self, node: Node, value: Value) -> Any:
        shape = [in_numbers(size, self._sizes) for size in value.shape]
        if math.prod(shape) > MOST_ELEMENTS:
            return None
        given = []
        for operand in node.operands:
            found = self.of(operand)
            if found is None:
                return None
            given.append(found)
        if node.name in ON_ELEMENTS:
            with numpy.errstate(all="ignore"):
                found = apply(node.name, node.params, [_ranked(each, len(shape)) for each in given])
            return _ranked(numpy.asarray(found), len(shape))
        make = _OTHERS.get(node.name)
        full = (
            [in_numbers(size, self._sizes) for size in getattr(node.operands[0], "shape", ())]
            if node.operands
            else []
        )
        return None if make is None else make(node.params, given, shape, full, self._sizes)


def _ranked(array: Any, rank: int) -> Any:
    return array.reshape((1,) * rank) if array.ndim == 0 and rank else array


def _iota(params: Any, given: Any, shape: Sequence[int], full: Any, sizes: Any) -> Any:
    del given, full, sizes
    axis = params["dimension"]
    found = numpy.arange(shape[axis])
    return found.reshape([-1 if dim == axis else 1 for dim in range(len(shape))])


def _dim(params: Any, given: Any, shape: Any, full: Any, sizes: Any) -> Any:
    del given, shape, full
    return numpy.asarray(in_numbers(params["dim"], sizes))


def _broadcast(params: Any, given: Any, shape: Sequence[int], full: Any, sizes: Any) -> Any:
    del full, sizes
    found = [1] * len(shape)
    array = given[0]
    for dim, size in zip(params["broadcast_dimensions"], array.shape, strict=True):
        found[int(dim)] = size
    return array.reshape(found)


def _reshape(params: Any, given: Any, shape: Sequence[int], full: Any, sizes: Any) -> Any:
    del params, sizes
    array = given[0]
    if array.size == 1:
        return array.reshape((1,) * len(shape))
    kept = [size for size in full if size != 1]
    if kept == [size for size in shape if size != 1]:  # dims of 1 alone come and go
        rest = iter([have for have, size in zip(array.shape, full, strict=True) if size != 1])
        return array.reshape([1 if size == 1 else next(rest) for size in shape])
    return numpy.broadcast_to(array, full).reshape(shape)


def _transpose(params: Any, given: Any, shape: Any, full: Any, sizes: Any) -> Any:
    del shape, full, sizes
    return given[0].transpose(params["permutation"])


def _slice(params: Any, given: Any, shape: Any, full: Sequence[int], sizes: Any) -> Any:
    del shape
    strides = params["strides"] or (1,) * len(full)
    where = tuple(
        slice(in_numbers(a, sizes), in_numbers(b, sizes), step)
        for a, b, step in zip(
            params["start_indices"], params["limit_indices"], strides, strict=True
        )
    )
    return numpy.broadcast_to(given[0], full)[where]


def _reduction(of: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(params: Any, given: Any, shape: Any, full: Sequence[int], sizes: Any) -> Any:
        del shape, sizes
        return of(numpy.broadcast_to(given[0], full), axis=tuple(params["axes"]))

    return reduce


def _tile(params: Any, given: Any, shape: Any, full: Sequence[int], sizes: Any) -> Any:
    del shape, sizes
    return numpy.tile(numpy.broadcast_to(given[0], full), params["reps"])


def _cumsum(params: Any, given: Any, shape: Any, full: Sequence[int], sizes: Any) -> Any:
    del shape, sizes
    array = numpy.broadcast_to(given[0], full)
    if params.get("reverse"):
        return None
    return array.cumsum(axis=params["axis"])


_OTHERS: dict[str, Callable[..., Any]] = {
    "iota": _iota,
    "dim_as_value": _dim,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": _reshape,
    "transpose": _transpose,
    "slice": _slice,
    "tile": _tile,
    "cumsum": _cumsum,
    "reduce_and": _reduction(numpy.all),
    "reduce_or": _reduction(numpy.any),
    "reduce_max": _reduction(numpy.max),
    "reduce_min": _reduction(numpy.min),
    "reduce_sum": _reduction(numpy.sum),
}
