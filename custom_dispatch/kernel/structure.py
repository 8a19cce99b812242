"""What kernels that are called by one name have in common: the names and kinds of operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.buffer import Buffer, In, InOut
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Operand, Scalar, Struct


def check_structure(what: str, kernels: Sequence[Kernel]) -> None:
    """Require inputs and results of the same names and kinds, in one order.

    Parameters
    ----------
    what
        What they belong to, for the error: "Choice `scale`".

    Raises
    ------
    DeclarationError
        Those of one are others than the first one's.
    """
    parts: tuple[tuple[str, Callable[[Kernel], list[str]]], ...] = (
        ("inputs", lambda kernel: [_described(item) for item in kernel.inputs]),
        ("results", lambda kernel: [_described(item) for item in kernel.outputs]),
    )
    first = kernels[0]
    for kernel in kernels[1:]:
        for which, described in parts:
            wanted, found = described(first), described(kernel)
            if wanted != found:
                raise DeclarationError(
                    f"{what}: the {which} of `{kernel.name}` are {', '.join(found)}.",
                    expected=f"those of `{first.name}`: {', '.join(wanted)}",
                    next_step="declare the same operands, of the same kinds and in the same order; "
                    "types, shapes and what is computed by itself may differ.",
                )


def _described(item: Operand) -> str:
    match item:
        case Scalar(name=name):
            return f"Scalar({name})"
        case Struct(name=name):
            return str(item)
        case Buffer(name=name):
            role = "InOut" if isinstance(item, InOut) else "In" if isinstance(item, In) else "Out"
            return f"{role}({name}{', optional' if item.optional else ''})"
