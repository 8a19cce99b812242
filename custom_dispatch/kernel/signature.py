"""A kernel's operands as one: what a call passes, what it returns, what nobody sees."""

from __future__ import annotations

from collections.abc import Sequence

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.buffer import Buffer, In, InOut, Out, Scratch
from custom_dispatch.kernel.names import is_list, shown
from custom_dispatch.kernel.operand import Operand, Scalar, Struct


def check_operands(kernel: str, operands: Sequence[Operand]) -> tuple[Operand, ...]:
    """Read a kernel's operands.

    Raises
    ------
    DeclarationError
        The value is not a list of operands, two have the same name, or none is a result.
    """
    if not is_list(operands):
        raise DeclarationError(
            f"Kernel `{kernel}`: operands is given as {shown(operands)}.",
            expected="a list of cd.In, cd.Out, cd.InOut, cd.Scratch, cd.Scalar and cd.Struct, in "
            "the C signature's order",
            next_step='write operands=[cd.In("x", "f32", [n]), ...].',
        )
    found = tuple(operands)
    for operand in found:
        if not isinstance(operand, Buffer | Scalar | Struct) or type(operand) is Buffer:
            raise DeclarationError(
                f"Kernel `{kernel}`: {shown(operand)} is not an operand.",
                expected="cd.In, cd.Out, cd.InOut, cd.Scratch, cd.Scalar or cd.Struct",
                next_step="declare every parameter of the C signature with one of them.",
            )
    names = [operand.name for operand in found]
    for name in names:
        if names.count(name) > 1:
            raise DeclarationError(
                f"Kernel `{kernel}` has {names.count(name)} operands named `{name}`.",
                expected="a name for each",
                next_step="rename all but one.",
            )
    if not outputs_of(found):
        raise DeclarationError(
            f"Kernel `{kernel}` has no cd.Out and no cd.InOut, so it computes nothing.",
            expected="at least one of them",
            next_step="declare the buffer that the kernel writes as cd.Out or cd.InOut.",
        )
    return found


def inputs_of(operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """What a call passes, in declaration order: `In`s, `InOut`s, structs, value-less scalars."""
    return tuple(
        operand
        for operand in operands
        if isinstance(operand, Struct)
        or (isinstance(operand, Scalar) and operand.is_argument)
        or isinstance(operand, In | InOut)
    )


def arguments_of(operands: tuple[Operand, ...]) -> tuple[Buffer | Scalar, ...]:
    """What a model's function takes: the inputs, with every number of a struct by itself."""
    found: list[Buffer | Scalar] = []
    for operand in inputs_of(operands):
        if isinstance(operand, Struct):
            found += (leaf.scalar for leaf in operand.leaves)
        else:
            found.append(operand)
    return tuple(found)


def scratches_of(operands: tuple[Operand, ...]) -> tuple[Scratch, ...]:
    """What IREE allocates for a call alone: every `Scratch`, in declaration order."""
    return tuple(operand for operand in operands if isinstance(operand, Scratch))


def outputs_of(operands: tuple[Operand, ...]) -> tuple[Buffer, ...]:
    """What a call returns: every `Out` and `InOut`, in declaration order."""
    return tuple(operand for operand in operands if isinstance(operand, Out | InOut))
