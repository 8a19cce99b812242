"""A pattern's function as data that a model's graph is compared with.

PyTorch exports the function as it exports models, with sizes that are symbols. To tell the kernel's
scalars from the function's own numbers, it is exported twice, with other values: a number that
differs has to be the scalar itself.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import torch

from custom_dispatch.frontends.torch.dtypes import torch_dtype
from custom_dispatch.frontends.torch.pattern import Pattern
from custom_dispatch.frontends.torch.traced import Reader, Traced, kind_of
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.match.function import Computes
from custom_dispatch.match.pattern import wrong

_LEADING = (4, 8, 12, 16)
"""Sizes of leading dims to trace with; even, and none of them 1, which would broadcast."""
# A scalar's two values tell which one it is; but of bools there are no others.
_VALUES = ({"f": 0.4375, "i": 3, "b": True}, {"f": 0.53125, "i": 5, "b": False})
_STEPS = {"f": 1.0, "i": 4}


class _Function(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Computes, names: Sequence[str]) -> None:
        super().__init__()
        self._function, self._names = function, names

    def forward(self, *values: Any) -> Any:
        return self._function(**dict(zip(self._names, values, strict=True)))


def variants(pattern: Pattern) -> list[tuple[Computes, tuple[str, ...]]]:
    """A pattern's functions, each with the parameters that it is traced with.

    An optional operand with the default None gives two variants, with it and without.
    """
    found = []
    for function in pattern.computes:
        parameters = pattern.parameters(function)
        free = [
            name
            for name, has_default in parameters.items()
            if has_default and getattr(pattern.arguments[name], "optional", False)
        ]
        for count in range(len(free) + 1):
            for absent in itertools.combinations(free, count):
                found.append((function, tuple(name for name in parameters if name not in absent)))
    return found


@functools.lru_cache(maxsize=1024)
def trace(pattern: Pattern, function: Computes, names: tuple[str, ...], leading: int) -> Traced:
    """Trace one function, which takes PyTorch its time.

    Parameters
    ----------
    names
        The parameters that get a value.
    leading
        How many leading dims there are, for operands that take any number of them.

    Raises
    ------
    DeclarationError
        It is no function of PyTorch's, or computes something else than the kernel may.
    """
    scalars = _scalar_values(pattern, names)
    first, *second = (
        Reader(pattern, _export(pattern, function, names, leading, which), names, scalars)
        for which in range(2 if scalars else 1)
    )
    return first.read(second[0] if second else None)


def _export(
    pattern: Pattern, function: Computes, names: Sequence[str], leading: int, which: int
) -> torch.export.ExportedProgram:
    values: list[Any] = []
    dynamic: list[Any] = []
    for name in names:
        argument = pattern.arguments[name]
        if isinstance(argument, Buffer):
            sizes = _sizes(pattern, argument, leading)
            values.append(torch.zeros(sizes, dtype=torch_dtype(argument.dtype)))
            # PyTorch knows no symbol that may be 1.
            axes = [axis for axis, size in enumerate(sizes) if size != 1]
            dynamic.append(dict.fromkeys(axes, torch.export.Dim.AUTO))
        else:
            values.append(_scalar_values(pattern, names)[name][which])
            dynamic.append(None)
    module = _Function(function, names)
    try:
        with torch.no_grad():
            program = torch.export.export(module, tuple(values), dynamic_shapes=(tuple(dynamic),))
    except Exception as error:  # any code of the pattern's runs here
        raise wrong(
            pattern.kernel,
            f"has a function that PyTorch cannot trace ({type(error).__name__})",
            "code of PyTorch on tensors: " + ", ".join(names),
            "correct the function, or give sizes={...} that it takes; the kernel's reference is "
            "taken only where computes= is left out. PyTorch says:",
            log="\n".join(str(error).splitlines()[:10]),
        ) from error
    return program


def example_values(pattern: Pattern, names: Sequence[str]) -> list[Any]:
    """Arguments that a function can be called with."""
    scalars = _scalar_values(pattern, names)
    return [
        torch.zeros(_sizes(pattern, argument, 1), dtype=torch_dtype(argument.dtype))
        if isinstance(argument := pattern.arguments[name], Buffer)
        else scalars[name][0]
        for name in names
    ]


def _scalar_values(pattern: Pattern, names: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """Two values of each scalar, which no other scalar has."""
    found: dict[str, tuple[Any, Any]] = {}
    seen: list[str] = []
    for name in names:
        argument = pattern.arguments[name]
        if isinstance(argument, Buffer):
            continue
        kind = kind_of(argument.dtype.name)
        count = seen.count(kind)
        if kind == "b" and count:
            raise wrong(
                pattern.kernel,
                "has a function with several bools",
                "at most one that is not fixed, since bools cannot be told apart",
                "give a pattern for each value of the others, with fixed={...}.",
            )
        first, second = (values[kind] for values in _VALUES)
        if kind != "b":
            first, second = (value + count * _STEPS[kind] for value in (first, second))
        found[name] = (first, second)
        seen.append(kind)
    return found


def _sizes(pattern: Pattern, operand: Buffer, leading: int) -> tuple[int, ...]:
    dims = {
        dim.name: pattern.sizes.get(dim.name, 6 + 4 * index)
        for index, dim in enumerate(pattern.kernel.dims)
    }
    batched = operand.batched
    tail = tuple(evaluate(size, dims) for size in operand.shape[int(batched) :])
    return (*_LEADING[:leading], *tail) if batched else tail
