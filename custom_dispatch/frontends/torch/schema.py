"""The signature that a kernel has as an operator of PyTorch."""

from __future__ import annotations

from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.link.arguments import argument_names


def schema_of(kernel: Kernel) -> str:
    """The operator's schema: "(Tensor x, float epsilon, Tensor? bias=None) -> Tensor".

    A buffer is a tensor, a scalar an int, float or bool, and a struct its numbers one by one. Every
    `Out` and `InOut` is a result; no argument is changed.
    """
    names = argument_names(kernel)
    arguments = kernel.arguments
    # An argument may be left out where all after it may.
    last_needed = max((i for i, item in enumerate(arguments) if not _is_optional(item)), default=-1)
    parts = []
    for index, (item, name) in enumerate(zip(arguments, names, strict=True)):
        default = "=None" if _is_optional(item) and index > last_needed else ""
        parts.append(f"{_type_of(item)} {name}{default}")
    results = ", ".join("Tensor" for _ in kernel.outputs)
    returned = results if len(kernel.outputs) == 1 else f"({results})"
    return f"({', '.join(parts)}) -> {returned}"


def _is_optional(item: Buffer | Scalar) -> bool:
    return isinstance(item, Buffer) and item.optional


def _type_of(item: Buffer | Scalar) -> str:
    if isinstance(item, Buffer):
        return "Tensor?" if item.optional else "Tensor"
    if item.dtype.is_float:
        return "float"
    return "bool" if item.dtype.name == "bool" else "SymInt"
