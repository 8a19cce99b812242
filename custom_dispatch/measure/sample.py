"""Results of kernels, or a part of them where they are many, to be compared.

Of a result of more than `_MOST` elements runs of neighbours are taken, evenly spaced: a tile of a
matrix that is wrong has some of them, a single element may have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy

from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.measure.check import compare

Array = numpy.ndarray[Any, Any]

_MOST = 1 << 20
_RUN = 1 << 11


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """What was taken of each result, flat, by operand name."""

    arrays: Mapping[str, Array]
    sizes: Mapping[str, int]
    """How many elements each result has."""

    @staticmethod
    def of(results: Mapping[str, Array]) -> Sample:
        """Of whole results."""
        flat = {name: numpy.ascontiguousarray(item).reshape(-1) for name, item in results.items()}
        return Sample(
            {name: taken(item.size, partial(_part, item)) for name, item in flat.items()},
            {name: item.size for name, item in flat.items()},
        )

    def write(self, path: Path) -> None:
        """To a file; numpy's own form lacks bf16 and the 8-bit floats."""
        content: dict[str, Any] = {}
        for name, item in self.arrays.items():
            content[f"bits_{name}"] = item.view(numpy.uint8)
            content[f"dtype_{name}"] = item.dtype.name
            content[f"size_{name}"] = self.sizes[name]
        numpy.savez(path, **content)


def _part(array: Array, first: int, end: int) -> Array:
    return array[first:end]


def taken(size: int, read: Callable[[int, int], Array]) -> Array:
    """The elements that a sample has of so many, each run read by its first and its end."""
    if size <= _MOST:
        return read(0, size)
    count = _MOST // _RUN
    firsts = [(size - _RUN) * i // (count - 1) for i in range(count)]
    return numpy.concatenate([read(first, first + _RUN) for first in firsts])


def read_sample(path: Path) -> Sample:
    """What `Sample.write` wrote."""
    from custom_dispatch.kernel.dtypes import numpy_dtype

    held = numpy.load(path)
    names = [name.removeprefix("bits_") for name in held.files if name.startswith("bits_")]
    return Sample(
        {
            name: held[f"bits_{name}"].view(numpy_dtype(str(held[f"dtype_{name}"])))
            for name in names
        },
        {name: int(held[f"size_{name}"]) for name in names},
    )


def difference(kernel: Kernel, got: Sample, want: Sample, of: str) -> str:
    """How results differ from others, or from the reference's; empty if they do not."""
    for operand in kernel.outputs:
        name = operand.name
        size = got.sizes[name]
        if want.sizes[name] != size:
            return f"gives wrong results: `{name}` has {size} elements, {of} {want.sizes[name]}"
        count, largest = compare(operand.dtype, got.arrays[name], want.arrays[name])
        if count:
            compared = got.arrays[name].size
            part = f" that were compared, of {size}" if compared < size else ""
            return (
                f"gives wrong results: `{name}` differs from {of} in {count} of {compared} "
                f"elements{part}, by up to {largest:.3g}"
            )
    return ""
