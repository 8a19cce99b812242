"""Element types as JAX's dtypes, which are numpy's."""

from __future__ import annotations

from typing import Any

import jax
import numpy

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType


def element_type_of(dtype: Any) -> ElementType | None:
    """A dtype's element type; None for one that kernels do not take."""
    name = numpy.dtype(dtype).name
    return next((kind for kind in ELEMENT_TYPES.values() if kind.numpy_name == name), None)


def check_is_there(kernel: str, operand: str, kind: ElementType) -> None:
    """Require that JAX has arrays of a type as it is set up.

    Raises
    ------
    CallError
        It would make them arrays of 32 bits.
    """
    dtype = kind.to_numpy()
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise CallError(
            f"Kernel `{kernel}`: operand `{operand}` has dtype {dtype}, which JAX makes 32 bits "
            "of.",
            expected="JAX with types of 64 bits",
            next_step='call jax.config.update("jax_enable_x64", True) before everything else.',
        )
