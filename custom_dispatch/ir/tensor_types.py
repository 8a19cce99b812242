"""The tensor types a kernel's function has in a model, and leading dims made one.

Tensors are dense and row-major, so both directions cost nothing: IREE makes other views of the same
buffer of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from custom_dispatch.ir.dispatch import Tensor
from custom_dispatch.ir.emitter import Emitter, comma
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.evaluation import dims_of, evaluate
from custom_dispatch.kernel.expr import Dim
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.kernel.shapes import folded, leading_of

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

    `leading`: how many dims stand in the place of `...`.
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


Values = Sequence[str | int]


def is_folded(operand: Buffer, sizes: Sequence[object]) -> bool:
    """Whether a tensor has another rank than the kernel sees."""
    return operand.batched and len(sizes) != operand.rank


def known_dims(kernel: Kernel, signature: Signature) -> dict[str, int]:
    """The dims that a function's types tell."""
    found: dict[str, int] = {}
    for operand, sizes in zip(kernel.arguments, signature.inputs, strict=True):
        if not isinstance(operand, Buffer) or operand.optional:
            continue
        for size, actual in zip(operand.shape, folded(operand, sizes), strict=True):
            if isinstance(size, Dim) and actual is not None:
                found.setdefault(size.name, actual)
    return found


def batch_of(body: Emitter, leading: Values) -> str | int:
    """The product of leading dims: known, or an index value."""
    known = prod(size for size in leading if isinstance(size, int))
    values = (size for size in leading if isinstance(size, str))
    product = body.joined("arith.muli", values, "index")
    if not product:
        return known
    return (
        product if known == 1 else body.pure(f"arith.muli {product}, {body.index(known)} : index")
    )


def fold(body: Emitter, operand: Buffer, tensor: Tensor, sizes: Sizes) -> Tensor:
    """A tensor as the kernel sees it.

    `sizes`: those of its type.
    """
    count = len(leading_of(operand, sizes))
    kind = tensor_type(operand.dtype, folded(operand, sizes))
    seen = (batch_of(body, tensor.sizes[:count]), *tensor.sizes[count:])
    groups = _groups(count, operand.least_rank)
    types = f"{tensor.type} into {kind}"
    if count:
        value = body.pure(f"tensor.collapse_shape {tensor.value} {groups} : {types}")
    else:
        shape = f"output_shape [{comma(map(str, seen))}]"
        value = body.pure(f"tensor.expand_shape {tensor.value} {groups} {shape} : {types}")
    return Tensor(value, kind, seen)


def unfold(body: Emitter, operand: Buffer, given: Tensor, result: Tensor) -> str:
    """A kernel's result as the model has it: the value of `given` in the type of `result`."""
    count = len(leading_of(operand, result.sizes))
    groups = _groups(count, operand.least_rank)
    types = f"{given.type} into {result.type}"
    if not count:
        return body.pure(f"tensor.collapse_shape {given.value} {groups} : {types}")
    shape = f"output_shape [{comma(map(str, result.sizes))}]"
    return body.pure(f"tensor.expand_shape {given.value} {groups} {shape} : {types}")


def _groups(count: int, others: int) -> list[list[int]]:
    """Which dims of the tensor of larger rank are one of the smaller: [[0, 1], [2]].

    The first dim is beside none or several others; a leading 1 goes with the one behind it.
    """
    if not count:
        return [[0, 1], *([axis] for axis in range(2, others + 1))] if others else []
    return [list(range(count)), *([axis] for axis in range(count, count + others))]
