"""How a kernel's C parameters meet IREE's calling convention.

IREE calls an external CUDA kernel with every buffer binding as a 64-bit pointer, tensor operands
first and untied results after them, and then every push constant as a parameter of its own, from a
slot whose low four bytes hold an i32 (IREE, runtime/src/iree/hal/drivers/cuda/
stream_command_buffer.c). A kernel with another signature needs its object adapted; until this
package does that, it is refused here.
"""

from __future__ import annotations

from dataclasses import dataclass

from custom_dispatch.errors import DeclarationError, SignatureError
from custom_dispatch.kernel.operand import Buffer, InOut, Operand, Out, Scalar

MAX_BINDINGS = 16
"""IREE_HAL_CUDA_MAX_DESCRIPTOR_SET_BINDING_COUNT; more are refused only when the file loads."""
MAX_CONSTANTS = 64
"""IREE_HAL_CUDA_MAX_PUSH_CONSTANT_COUNT; likewise."""
POINTER_BYTES = 8
CONSTANT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the kernel's entry, as IREE passes it."""

    operand: Operand
    index: int
    """Its position in the C signature."""

    @property
    def is_binding(self) -> bool:
        """Whether it is a pointer."""
        return isinstance(self.operand, Buffer)

    @property
    def size_bytes(self) -> int:
        """Its size in the entry's parameter list."""
        return POINTER_BYTES if isinstance(self.operand, Buffer) else self.operand.dtype.bytes


@dataclass(frozen=True, slots=True)
class Abi:
    """A kernel's parameters in the order of the C signature, split the way IREE passes them."""

    parameters: tuple[Parameter, ...]

    @property
    def bindings(self) -> tuple[Buffer, ...]:
        """The buffers, in binding order."""
        return tuple(p.operand for p in self.parameters if isinstance(p.operand, Buffer))

    @property
    def constants(self) -> tuple[Scalar, ...]:
        """The scalars, in push constant order."""
        return tuple(p.operand for p in self.parameters if isinstance(p.operand, Scalar))


def abi_of(kernel: str, operands: tuple[Operand, ...]) -> Abi:
    """Lay a kernel's operands out.

    Parameters
    ----------
    kernel
        The kernel's name, for errors.
    operands
        In the order of the C signature.

    Raises
    ------
    SignatureError
        IREE's convention cannot express the order or a type.
    DeclarationError
        More operands than IREE's CUDA driver takes.
    """
    abi = Abi(tuple(Parameter(operand, index) for index, operand in enumerate(operands)))
    bindings, constants = abi.bindings, abi.constants
    if len(bindings) > MAX_BINDINGS:
        raise DeclarationError(
            f"Kernel `{kernel}` has {len(bindings)} buffers.",
            expected=f"at most {MAX_BINDINGS}, the limit of IREE's CUDA driver",
            next_step="put several buffers into one, with an offset a part.",
        )
    if len(constants) > MAX_CONSTANTS:
        raise DeclarationError(
            f"Kernel `{kernel}` has {len(constants)} scalars.",
            expected=f"at most {MAX_CONSTANTS}, the limit of IREE's CUDA driver",
            next_step="pass them in a buffer.",
        )
    for scalar in constants:
        if scalar.dtype.bits > 8 * CONSTANT_BYTES:
            raise SignatureError(
                f"Kernel `{kernel}`: scalar `{scalar.name}` is {scalar.dtype}, which takes "
                f"{scalar.dtype.bytes} bytes.",
                expected="scalars of at most 4 bytes: IREE passes 32-bit constants, and objects "
                "are not adapted to other signatures yet",
                next_step="use a 32-bit parameter, pass two halves, or pass it in a buffer.",
            )
        if scalar.dtype.is_float and scalar.dtype.bits < 8 * CONSTANT_BYTES:
            raise SignatureError(
                f"Kernel `{kernel}`: scalar `{scalar.name}` is {scalar.dtype}.",
                expected="f32, or an integer of at most 32 bits: the host code that IREE "
                "generates cannot hold smaller floating-point numbers",
                next_step="take a float in the kernel and convert it there.",
            )
    for operand, wanted in zip(operands, _required_order(operands), strict=True):
        if operand is not wanted:
            order = ", ".join(item.name for item in _required_order(operands))
            raise SignatureError(
                f"Kernel `{kernel}`: `{operand.name}` stands where IREE passes `{wanted.name}`.",
                expected=f"the order ({order}): buffers that are read or updated, then buffers "
                "that are only written, then scalars; objects are not adapted to other "
                "signatures yet",
                next_step="reorder the parameters of the kernel and of its declaration.",
            )
    return abi


def _required_order(operands: tuple[Operand, ...]) -> list[Operand]:
    def place(operand: Operand) -> int:
        if isinstance(operand, Scalar):
            return 2
        return 1 if isinstance(operand, Out) else 0

    return sorted(operands, key=place)  # sorted() is stable: the order within a place is kept


def inputs_of(operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """What a call passes: every `In`, `InOut` and value-less `Scalar`, in declaration order."""
    return tuple(
        operand
        for operand in operands
        if (isinstance(operand, Scalar) and operand.is_argument)
        or (isinstance(operand, Buffer) and not isinstance(operand, Out))
    )


def outputs_of(operands: tuple[Operand, ...]) -> tuple[Buffer, ...]:
    """What a call returns: every `Out` and `InOut`, in declaration order."""
    return tuple(operand for operand in operands if isinstance(operand, Out | InOut))
