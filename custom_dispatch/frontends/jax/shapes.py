"""The shapes of a kernel's results while JAX traces a function: sizes may be symbols.

Numbers take the way that they take in every call. Symbols are JAX's own, of functions that are
exported for any size; what cannot be told of them is refused, since nobody would check it later
than the compiled module.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jax.extend.core import InconclusiveDimensionOperation

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.binding import bind_dims, check_rank, output_shapes
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.expr import Binary, Constant, Dim, Expr
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.leading import leading_dims, leading_of, unfolded

Size = Any
"""An int, or a symbolic dimension of JAX."""
_OPERATORS: dict[str, Callable[[Size, Size], Size]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "ceildiv": lambda left, right: -(-left // right),
}


def traced_shapes(
    kernel: Kernel, shapes: Mapping[str, Sequence[Size]]
) -> dict[str, tuple[Size, ...]]:
    """The shape of every result, by operand name.

    Parameters
    ----------
    shapes
        The shape of every input buffer, by operand name; one without elements where it is absent.

    Raises
    ------
    CallError
        The shapes do not fit the declaration.
    """
    if all(isinstance(size, int) for shape in shapes.values() for size in shape):
        plain = {name: tuple(shape) for name, shape in shapes.items()}
        found = output_shapes(kernel, bind_dims(kernel, plain))
        leading: Any = leading_dims(kernel, plain)
    else:
        try:
            dims, leading = _bind(kernel, shapes)
            found = {
                item.name: tuple(_value(size, dims) for size in item.shape)
                for item in kernel.outputs
            }
        except InconclusiveDimensionOperation as error:
            raise CallError(
                f"Kernel `{kernel.name}`: JAX cannot tell something of its symbolic sizes.",
                expected="sizes whose relations follow from their names",
                next_step="use one name for what is the same size:",
                log=str(error),
            ) from None
    return {item.name: unfolded(item, found[item.name], leading) for item in kernel.outputs}


def _bind(
    kernel: Kernel, shapes: Mapping[str, Sequence[Size]]
) -> tuple[dict[str, Size], tuple[Size, ...] | None]:
    dims: dict[str, Size] = {}
    leading: tuple[Size, ...] | None = None
    others = []
    for item in kernel.inputs:
        if not isinstance(item, Buffer) or (item.optional and 0 in shapes[item.name]):
            continue
        shape = tuple(shapes[item.name])
        check_rank(kernel, item, shape)
        if item.batched:
            mine: Any = leading_of(item, shape)
            leading = mine if leading is None else leading
            if len(mine) != len(leading):
                raise _disagree(kernel, item, mine, leading)
            for size, wanted in zip(mine, leading, strict=True):
                _require(kernel, item, size, wanted)
            product: Size = 1
            for size in mine:
                product = product * size
            shape = (product, *shape[len(mine) :])
        for expr, size in zip(item.shape, shape, strict=True):
            if isinstance(expr, Dim):
                _require(kernel, item, size, dims.setdefault(expr.name, size))
            else:
                others.append((item, expr, size))
    for item, expr, size in others:
        _require(kernel, item, size, _value(expr, dims))
    return dims, leading


def _require(kernel: Kernel, item: Buffer, size: Size, wanted: Size) -> None:
    if size is not wanted and size != wanted:
        raise _disagree(kernel, item, size, wanted)


def _disagree(kernel: Kernel, item: Buffer, size: Size, wanted: Size) -> CallError:
    return CallError(
        f"Kernel `{kernel.name}`: operand `{item.name}` has {size} where {wanted} is needed.",
        expected="the same size, or one that JAX knows to be the same",
        next_step="use one name for what is the same size.",
    )


def _value(expr: Expr, dims: Mapping[str, Size]) -> Size:
    """As `custom_dispatch.kernel.evaluation.evaluate`, on symbols."""
    match expr:
        case Constant(value):
            return value
        case Dim(name):
            return dims[name]
        case Binary(name, left, right) if name in _OPERATORS:
            return _OPERATORS[name](_value(left, dims), _value(right, dims))
    raise CallError(
        f"{expr} has no value while sizes are symbols of JAX.",
        expected="sizes that are sums, products and quotients of dims",
        next_step="export the function for known sizes.",
    )
