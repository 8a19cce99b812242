"""What the tests of every shipped pattern of a front end share.

The patterns of a kernel are looked for in a model that computes what each of their functions does,
twice: as the function has it, and written otherwise. One that finds nothing, since an importer
writes something in another way than before, is lost there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from custom_dispatch.kernel.evaluation import evaluate, holds
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer

LEADING = (2, 3)
"""Leading dims, of operands that take any number of them."""
_SIZES = (4, 8, 16, 24, 40, 48, 56)
_OTHERS = {6: 3, 8: 4}
"""In place of the sizes that patterns ask to be traced with."""
_OF_MASK = {"mask_batches": "batch", "mask_heads": "heads", "mask_rows": "queries"}
"""Sizes of a mask: those of what it is of."""
_ONCE = re.compile(
    r".*_f32|attention_f32_64|.*(norm|glu)_bf16|cached_attention_bf16_64|.*by_position_bf16_64"
)
"""Kernels of one element type and one size of heads, which is any where there is one for that. The
same lines write the patterns of the other types and sizes; only norms have conversions in 16 bits
that f32 has not."""


def of_one_type(patterns: Sequence[Any]) -> list[Any]:
    """Patterns as parameters of a test; of bf16, those that f32 has too are thorough.

    Norms are not: they have conversions in 16 bits that f32 has not.
    """
    names = [pattern.kernel.name for pattern in patterns]

    def is_again(name: str) -> bool:
        kind, is_bf16, _ = name.partition("_bf16")
        return bool(is_bf16) and any(each.startswith(f"{kind}_f32") for each in names)

    return [
        pytest.param(
            pattern,
            id=name,
            marks=[pytest.mark.thorough] if is_again(name) and "norm" not in name else [],
        )
        for pattern, name in zip(patterns, names, strict=True)
    ]


def sizes_of(kernel: Kernel, traced: dict[str, int] | None = None) -> dict[str, int]:
    """Sizes that a kernel takes, all of them others, and no pattern is traced with them."""
    known = {name: _OTHERS.get(size, size) for name, size in (traced or {}).items()}
    names = [dim.name for dim in kernel.dims if dim.name not in known | _OF_MASK]
    for sizes in itertools.permutations(_SIZES, len(names)):
        found = dict(zip(names, sizes, strict=True)) | known
        if any(dim.name in _OF_MASK for dim in kernel.dims):
            of_mask = {name: found[of] for name, of in _OF_MASK.items()}
            found = of_mask | {"mask_heads": 1} | found
        if all(holds(condition, found) for condition in kernel.requires):
            return found
    raise AssertionError(f"no sizes fit {kernel.name}")


def shape_of(pattern: Any, operand: Buffer, leading: tuple[int, ...]) -> tuple[int, ...]:
    """An operand's sizes in a model."""
    sizes = sizes_of(pattern.kernel, pattern.sizes)
    tail = tuple(evaluate(size, sizes) for size in operand.shape[int(operand.batched) :])
    tail = tuple(tail[axis] for axis in pattern.axes.get(operand.name, range(len(tail))))
    return (*leading, *tail) if operand.batched else tail


@dataclass(frozen=True)
class Case:
    """What a pattern is looked for in."""

    pattern: Any
    function: Any
    names: tuple[str, ...]
    """The tensors that the function takes."""
    numbers: dict[str, Any]

    def __call__(self, *tensors: Any) -> Any:
        return self.function(**dict(zip(self.names, tensors, strict=True)), **self.numbers)


def cases(pattern: Any, variants: Iterable[tuple[Any, tuple[str, ...]]]) -> Iterator[Case]:
    """Each of a pattern's functions, with and without operands that may be left out."""
    arguments = pattern.arguments
    for function, names in variants:
        tensors = tuple(name for name in names if isinstance(arguments[name], Buffer))
        numbers = [name for name in names if name not in tensors]
        bools = [name for name in numbers if str(arguments[name].dtype) == "bool"]
        for values in itertools.product((False, True), repeat=len(bools)):
            scalars = {name: 0.25 if arguments[name].dtype.is_float else 1 for name in numbers}
            scalars |= dict(zip(bools, values, strict=True))
            yield Case(pattern, function, tensors, scalars)


def parts(patterns: Iterable[Any]) -> list[Any]:
    """The patterns of each kernel as parameters of a test; those written as others are thorough."""
    by_kernel: dict[str, list[Any]] = {}
    for pattern in patterns:
        by_kernel.setdefault(pattern.item.name, []).append(pattern)
    return [
        pytest.param(found, id=name, marks=[] if _ONCE.fullmatch(name) else [pytest.mark.thorough])
        for name, found in by_kernel.items()
    ]
