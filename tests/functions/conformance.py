"""Declared functions inside generated code, compared with their kernel form, element by element."""

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import custom_dispatch as cd

COUNT = 512
Bounds = Mapping[str, tuple[float, float]]


def operands(function: cd.Function, seed: int, bounds: Bounds | None = None) -> list[Any]:
    """Random operands: of floats all kinds of bits and near numbers, and likewise of integers.

    - `bounds`: where a named operand has to lie, such as the count of a loop.
    """
    rng = np.random.default_rng(seed)
    return [
        rng.permutation(_within((bounds or {}).get(item.name), _numbers(item.dtype, rng)))
        for item in function.arguments
    ]


def _numbers(kind: Any, rng: np.random.Generator) -> Any:
    dtype = kind.to_numpy()
    if kind.name == "bool":
        return rng.integers(0, 2, COUNT).astype(bool)
    if not kind.is_float:
        info: Any = np.iinfo(dtype)
        values = rng.integers(info.min, info.max, COUNT, dtype=dtype, endpoint=True)
        values[: COUNT // 2] = rng.integers(max(info.min, -9), 10, COUNT // 2)
        values[:2] = info.min, info.max
        return values
    info = ml_dtypes.finfo(dtype)
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, float(info.max), float(info.tiny)]
    edges.append(float(info.smallest_subnormal))
    near = rng.standard_normal(COUNT // 2) * 10.0 ** rng.integers(-3, 4, COUNT // 2)
    bits = rng.integers(0, 256, COUNT // 2 * kind.bytes, dtype=np.uint8).view(dtype)
    values = np.concatenate([near.astype(dtype), bits])
    values[: len(edges)] = np.array(edges).astype(dtype)
    return values


def _within(bounds: tuple[float, float] | None, values: Any) -> Any:
    if bounds is None:
        return values
    least = 0 if values.dtype.kind == "u" else bounds[0]
    low, high = np.asarray(least, values.dtype), np.asarray(bounds[1], values.dtype)
    return np.where(values != values, low, np.clip(values, low, high)).astype(values.dtype)


def model_of(functions: Sequence[cd.Function], sizes: str = "?") -> str:
    """A model with a function `call_NAME` of vectors for each function."""
    parts = []
    for function in functions:
        inputs = [f"tensor<{sizes}x{item.dtype.mlir}>" for item in function.arguments]
        results = ", ".join(f"tensor<{sizes}x{item.dtype.mlir}>" for item in function.results)
        count, kind = len(function.results), f"({', '.join(inputs)}) -> ({results})"
        given = ", ".join(f"%a{index}: {each}" for index, each in enumerate(inputs))
        passed = ", ".join(f"%a{index}" for index in range(len(inputs)))
        parts.append(f"""
func.func private @{function.name}{kind}
func.func @call_{function.name}({given}) -> ({results}) {{
  %r:{count} = call @{function.name}({passed}) : {kind}
  return {", ".join(f"%r#{index}" for index in range(count))} : {results}
}}""")
    return "\n".join(parts)


def in_generated_code(functions: Sequence[cd.Function]) -> Any:
    """A program of that model, on the CPU."""
    return cd.load(cd.compile(model_of(functions), functions, ["cpu:host"]), "cpu")


def as_kernels(functions: Sequence[cd.Function]) -> Any:
    """A program of the kernel forms, on the CPU."""
    kernels = [function.kernel() for function in functions]
    return cd.load(cd.compile(None, kernels, ["cpu:host"], asynchronous=False), "cpu")


def both(generated: Any, kernels: Any, function: cd.Function, values: Sequence[Any]) -> list[Any]:
    """For each result what generated code and the kernel gave."""
    pair = []
    for program, name in ((generated, f"call_{function.name}"), (kernels, function.name)):
        found = program.function(name)(*values)
        pair.append([np.asarray(each) for each in (found if isinstance(found, tuple) else [found])])
    return list(zip(*pair, strict=True))


def differing(values: Sequence[Any], found: Any, wanted: Any) -> Any:
    """Where results differ, in more than NaN's payload.

    IREE's code for CPUs flushes subnormal numbers, which kernels keep: what is computed from or to
    one is left out.
    """
    if wanted.dtype.kind in "iub":
        return (found.view(wanted.dtype) != wanted) & ~_any_subnormal(values)
    with np.errstate(invalid="ignore"):
        left, right = found.astype(np.float64), wanted.astype(np.float64)
    same = (left == right) & (np.signbit(left) == np.signbit(right))
    both_nan = np.isnan(left) & np.isnan(right)
    flushed = _any_subnormal([*values, wanted]) | (_any_subnormal([found]) & (right == 0))
    return ~(same | both_nan | flushed)


def _any_subnormal(arrays: Sequence[Any]) -> Any:
    places = np.zeros(COUNT, bool)
    for array in arrays:
        if array.dtype.kind not in "iub":
            with np.errstate(invalid="ignore"):
                size = np.abs(array.astype(np.float64))
            places |= (size > 0) & (size < float(ml_dtypes.finfo(array.dtype).tiny))
    return places
