"""The tensor types a kernel's function has in a model: its own declaration, or a model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from custom_dispatch.ir.emitter import comma
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.expr import dims_of
from custom_dispatch.kernel.kernel import Kernel

Sizes = tuple[int | None, ...]
"""A tensor's sizes; None is one that is known when the function is called."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a kernel's function takes and returns.

    The entries stand for `Kernel.arguments` and `Kernel.outputs`, in their order; a scalar's entry
    is empty.
    """

    inputs: tuple[Sizes, ...]
    outputs: tuple[Sizes, ...]


def declared_signature(kernel: Kernel, *, leading: int = 1) -> Signature:
    """The types the declaration itself gives: sizes that depend on no dim are static.

    Parameters
    ----------
    leading
        How many dims stand in the place of `...`.
    """
    return Signature(
        tuple(
            _sizes(operand, leading) if isinstance(operand, Buffer) else ()
            for operand in kernel.arguments
        ),
        tuple(_sizes(operand, leading) for operand in kernel.outputs),
    )


def common_signature(kernels: Sequence[Kernel]) -> Signature:
    """The types that all kernels of a choice take: sizes in which they differ are open."""
    found = declared_signature(kernels[0])
    for kernel in kernels[1:]:
        other = declared_signature(kernel)
        found = Signature(
            _common(found.inputs, other.inputs), _common(found.outputs, other.outputs)
        )
    return found


def _common(first: Sequence[Sizes], second: Sequence[Sizes]) -> tuple[Sizes, ...]:
    return tuple(
        tuple(a if a == b else None for a, b in zip(left, right, strict=True))
        for left, right in zip(first, second, strict=True)
    )


def argument_types(kernel: Kernel) -> tuple[object, ...]:
    """All of a function's type but its sizes: what the kernels of one function have to share."""
    inputs = tuple(
        (operand.dtype, operand.rank) if isinstance(operand, Buffer) else operand.argument_type
        for operand in kernel.arguments
    )
    return inputs, tuple((operand.dtype, operand.rank) for operand in kernel.outputs)


def _sizes(operand: Buffer, leading: int) -> Sizes:
    sizes: Sizes = tuple(None if dims_of(size) else evaluate(size, {}) for size in operand.shape)
    if operand.optional:  # without elements where it is absent
        sizes = (None,) * operand.rank
    return (None,) * leading + sizes[1:] if operand.batched else sizes


def tensor_type(dtype: ElementType, sizes: Sizes) -> str:
    """A tensor type: tensor<?x8xf32>."""
    prefix = "".join(f"{'?' if size is None else size}x" for size in sizes)
    return f"tensor<{prefix}{dtype.mlir}>"


def input_types(kernel: Kernel, signature: Signature) -> tuple[str, ...]:
    """The function's parameter types."""
    return tuple(
        tensor_type(operand.dtype, sizes) if isinstance(operand, Buffer) else operand.argument_type
        for operand, sizes in zip(kernel.arguments, signature.inputs, strict=True)
    )


def output_types(kernel: Kernel, signature: Signature) -> tuple[str, ...]:
    """The function's result types."""
    return tuple(
        tensor_type(operand.dtype, sizes)
        for operand, sizes in zip(kernel.outputs, signature.outputs, strict=True)
    )


def function_type(kernel: Kernel, signature: Signature) -> str:
    """The function's type: (tensor<?xf32>, f32) -> tensor<?xf32>."""
    results = output_types(kernel, signature)
    returned = results[0] if len(results) == 1 else f"({comma(results)})"
    return f"({comma(input_types(kernel, signature))}) -> {returned}"
