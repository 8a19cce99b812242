"""Operations on elements, in numpy: to work out numbers, and to tell functions by their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy

_erf = numpy.vectorize(math.erf, otypes=[numpy.float64])
_erfc = numpy.vectorize(math.erfc, otypes=[numpy.float64])


def _select(which: Any, *cases: Any) -> Any:
    return numpy.choose(numpy.asarray(which, numpy.int64), cases)


def _logistic(x: Any) -> Any:
    return 1.0 / (1.0 + numpy.exp(-x))


def _clamp(low: Any, x: Any, high: Any) -> Any:
    return numpy.minimum(numpy.maximum(x, low), high)


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": numpy.add,
    "sub": numpy.subtract,
    "mul": numpy.multiply,
    "div": numpy.divide,
    "max": numpy.maximum,
    "min": numpy.minimum,
    "pow": numpy.power,
    "neg": numpy.negative,
    "exp": numpy.exp,
    "exp2": numpy.exp2,
    "log": numpy.log,
    "log1p": numpy.log1p,
    "expm1": numpy.expm1,
    "tanh": numpy.tanh,
    "logistic": _logistic,
    "erf": _erf,
    "erfc": _erfc,
    "sqrt": numpy.sqrt,
    "square": numpy.square,
    "abs": numpy.abs,
    "sign": numpy.sign,
    "floor": numpy.floor,
    "ceil": numpy.ceil,
    "select_n": _select,
    "ge": numpy.greater_equal,
    "gt": numpy.greater,
    "le": numpy.less_equal,
    "lt": numpy.less,
    "eq": numpy.equal,
    "ne": numpy.not_equal,
    "clamp": _clamp,
    "rsqrt": lambda x: 1.0 / numpy.sqrt(x),
    "add_any": numpy.add,
    "integer_pow": lambda x, y: x ** numpy.float64(y),
    "convert_element_type": lambda x: x,
}
"""By the name of JAX's primitive, on numbers of f64."""
_LOGICAL: dict[str, Callable[..., Any]] = {
    "and": numpy.bitwise_and,
    "or": numpy.bitwise_or,
    "xor": numpy.bitwise_xor,
    "not": numpy.invert,
    "rem": numpy.fmod,
}
ON_ELEMENTS = {**ELEMENTWISE, **_LOGICAL}
"""With those of integers and bools."""


def folded(name: str, params: Mapping[str, Any], numbers: Sequence[Any], dtype: Any) -> Any:
    """The number that an operation on numbers gives, in its type; None where that is not known."""
    if not numbers or any(number is None for number in numbers) or name not in ON_ELEMENTS:
        if name in ("broadcast_in_dim", "reshape", "squeeze") and len(numbers) == 1:
            return numbers[0]
        return None
    if not isinstance(dtype, numpy.dtype) or dtype.kind == "c":
        return None
    if any(map(numpy.iscomplexobj, numbers)):
        return None
    try:
        with numpy.errstate(all="ignore"):
            found = apply(name, params, [_wide(number) for number in numbers])
        if jax.dtypes.issubdtype(dtype, numpy.integer) and not _is_whole(name, numbers):
            return None
        return numpy.asarray(found).astype(dtype)[()]
    except (TypeError, ValueError, OverflowError):
        return None


def _wide(number: Any) -> Any:
    found = numpy.asarray(number)
    return found if found.dtype.kind in "iub" else found.astype(numpy.float64)


def _is_whole(name: str, numbers: Sequence[Any]) -> bool:
    """Whether integers are computed as JAX does."""
    return name not in ("div", "rem", "pow") and all(abs(float(each)) < 2**31 for each in numbers)


def apply(name: str, params: Mapping[str, Any], given: Sequence[Any]) -> Any:
    """An operation of `ON_ELEMENTS`."""
    if name == "integer_pow":
        return ON_ELEMENTS[name](given[0], params["y"])
    if name == "convert_element_type":
        kind = numpy.dtype(params["new_dtype"]).kind
        array = numpy.asarray(given[0])
        if kind == "b":
            return array != 0
        return array.astype(numpy.int64) if kind in "iu" and array.dtype.kind == "f" else array
    return ON_ELEMENTS[name](*given)
