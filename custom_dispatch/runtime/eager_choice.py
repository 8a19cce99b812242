"""The kernel of a choice that a call's arguments fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.binding import bind_dims
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.runtime.eager import match_arguments
from custom_dispatch.runtime.incoming import Array, check_dtype, read_array, shape_of
from custom_dispatch.runtime.numbers import number_for


def choose(choice: Choice, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Kernel:
    """The first kernel that the arguments fit.

    Raises
    ------
    CallError
        They fit none, or are not what any takes.
    """
    first = choice.kernels[0]
    named = dict(keywords)
    if not any(operand.name == "out" for operand in first.inputs):
        named.pop("out", None)
    values = match_arguments(first, arguments, named)
    arrays: dict[str, Array] = {}
    for operand, value in zip(first.inputs, values, strict=True):
        if isinstance(operand, Buffer) and not (value is None and operand.optional):
            arrays[operand.name] = read_array(value, f"operand `{operand.name}` of `{choice.name}`")
    reasons = []
    for kernel in choice.kernels:
        try:
            _check(kernel, values, arrays)
        except CallError as error:
            expected = f" (expected: {error.expected})" if error.expected else ""
            reasons.append(f"{error.found.removesuffix('.')}{expected}")
            continue
        return kernel
    raise CallError(
        f"No kernel of choice `{choice.name}` takes these arguments.",
        expected="arguments that one of them takes",
        next_step="pass others, or add a kernel that takes these; of those there are:",
        log="\n".join(reasons),
    )


def _check(kernel: Kernel, values: list[Any], arrays: Mapping[str, Array]) -> None:
    for operand, value in zip(kernel.inputs, values, strict=True):
        what = f"operand `{operand.name}` of kernel `{kernel.name}`"
        if isinstance(operand, Buffer) and operand.name in arrays:
            check_dtype(arrays[operand.name], operand.dtype, what)
        elif isinstance(operand, Scalar):
            number_for(value, operand, what)
    shapes = {
        operand.name: shape_of(arrays[operand.name])
        if operand.name in arrays
        else (0,) * operand.rank
        for operand in kernel.inputs
        if isinstance(operand, Buffer)
    }
    bind_dims(kernel, shapes)
