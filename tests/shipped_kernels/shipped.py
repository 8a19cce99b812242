"""Running the kernels of `cuda_kernels` on the CPU, beside their references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

import custom_dispatch as cd

Array = np.ndarray[Any, Any]

DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
# What f32 loses on the way; it may tip the rounding to 16 bits over to the neighbour.
TOLERANCES = {"float32": 2e-6, "float16": 2**-10, "bfloat16": 2**-7}

ODD = (1, 7, 8, 63, 65, 4095)
"""Sizes beside those of packs, warps, tiles and parts."""


def unaligned(array: Array) -> Array:
    """The same in a view that begins one element behind an address that all would take."""
    memory = np.zeros(64 + array.itemsize + array.nbytes, np.uint8)
    start = -memory.ctypes.data % 64 + array.itemsize
    view = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def spoiled(
    random: np.random.Generator, array: Array, infinities: Sequence[float] = (-np.inf, np.inf)
) -> Array:
    """A copy with a NaN and one of some infinities at random places, which may be the same."""
    copy = array.copy()
    copy.flat[random.integers(array.size)] = np.nan
    copy.flat[random.integers(array.size)] = random.choice(infinities)
    return copy


def assert_close(got: Array, want: Array, scale: float = 1.0) -> None:
    """Compare, NaNs and infinities included, relative to each element and to `scale`."""
    assert got.dtype == want.dtype
    tolerance = TOLERANCES[str(want.dtype)]
    np.testing.assert_allclose(
        got.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance * scale
    )


class Shipped:
    """Compiled kernels, each called with its reference beside it.

    Parameters
    ----------
    kernels
        Those that every run of the tests needs, compiled as one module.
    thorough
        Those of thorough tests, compiled when the first of them is called.
    """

    def __init__(self, kernels: Sequence[cd.Kernel], thorough: Sequence[cd.Kernel] = ()) -> None:
        self._groups = (tuple(kernels), tuple(thorough))
        self._programs: dict[int, Any] = {}

    def _program(self, group: int) -> Any:
        if group not in self._programs:
            kernels = list(self._groups[group])
            # Without optional operands one form of each function does.
            every = any(each.optional for kernel in kernels for each in kernel.buffers)
            # What a call from Python compiles for, too; wide vectors are compiled in half the time.
            module = cd.compile(None, kernels, ["cpu:host"], asynchronous=every)
            self._programs[group] = cd.load(module.bytes, "cpu")
        return self._programs[group]

    def both(self, name: str, *arguments: Any) -> tuple[Any, Any]:
        """What the kernel computes, and what its reference does.

        Parameters
        ----------
        name
            The kernel's; what it says of tiles may be left out.
        """
        ((group, kernel),) = [
            (group, each)
            for group, kernels in enumerate(self._groups)
            for each in kernels
            if f"{each.name}_".startswith(f"{name}_")
        ]
        assert kernel.reference is not None
        got = getattr(self._program(group), kernel.name)(*arguments)
        with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is NaN, as it should be
            want = kernel.reference(*arguments)
        typed = [
            np.asarray(each).view(operand.dtype.to_numpy())
            for each, operand in zip(
                got if isinstance(got, tuple) else (got,), kernel.outputs, strict=True
            )
        ]
        return (typed[0] if len(typed) == 1 else tuple(typed)), want

    def check(self, name: str, *arguments: Any, scale: float = 1.0) -> None:
        """Compare them."""
        got, want = self.both(name, *arguments)
        pairs = zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]
        for one, other in pairs:
            assert_close(one, other, scale)
