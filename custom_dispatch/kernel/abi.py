"""How a kernel's C parameters meet IREE's calling convention.

IREE calls an external CUDA kernel with every buffer binding as a 64-bit pointer, tensor operands
first and untied results after them, and then every push constant as a parameter of its own, from a
slot whose low four bytes hold an i32 (IREE, runtime/src/iree/hal/drivers/cuda/
stream_command_buffer.c). A kernel with another signature has its PTX rewritten to that form
(`ptx/rewrite.py`): pointers go first, and every other parameter becomes 32-bit words.
"""

from __future__ import annotations

from dataclasses import dataclass

from custom_dispatch.errors import DeclarationError, SignatureError
from custom_dispatch.kernel.buffer import Buffer, Out, Scratch
from custom_dispatch.kernel.operand import Operand, Scalar, Struct

MAX_BINDINGS = 16
"""IREE_HAL_CUDA_MAX_DESCRIPTOR_SET_BINDING_COUNT; more are refused only when the file loads."""
MAX_CONSTANTS = 64
"""IREE_HAL_CUDA_MAX_PUSH_CONSTANT_COUNT; likewise."""
POINTER_BYTES = 8
CONSTANT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the kernel's C signature, and where its bytes come from."""

    operand: Operand
    index: int
    """Its position in the C signature."""
    ordinal: int
    """The binding that it is, or the first of the constants that it is made of."""

    @property
    def is_binding(self) -> bool:
        """Whether it is a pointer."""
        return isinstance(self.operand, Buffer)

    @property
    def size_bytes(self) -> int:
        """Its size in the entry's parameter list."""
        return size_of(self.operand)

    @property
    def words(self) -> int:
        """The 32-bit constants that it needs; none for a pointer that is always there."""
        return words_of(self.operand)

    @property
    def kind(self) -> str:
        """What it is, for errors."""
        if isinstance(self.operand, Buffer):
            return "a pointer"
        if isinstance(self.operand, Struct):
            return "a struct"
        return f"a scalar {self.operand.dtype}"


@dataclass(frozen=True, slots=True)
class Constant:
    """One push constant: 32 bits of a scalar or struct, or whether an optional buffer is there."""

    operand: Operand
    index: int
    """Which of the operand's words, the lowest address first."""


@dataclass(frozen=True, slots=True)
class Abi:
    """A kernel's parameters in the order of the C signature, and as IREE passes them."""

    parameters: tuple[Parameter, ...]

    @property
    def bindings(self) -> tuple[Buffer, ...]:
        """The buffers, in binding order."""
        found = [p for p in self.parameters if isinstance(p.operand, Buffer)]
        found.sort(key=lambda parameter: parameter.ordinal)
        return tuple(p.operand for p in found if isinstance(p.operand, Buffer))

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The 32-bit constants, in their order."""
        return tuple(
            Constant(p.operand, index) for p in self.parameters for index in range(p.words)
        )

    @property
    def passed_bytes(self) -> tuple[int, ...]:
        """The sizes of the parameters that IREE passes, in their order."""
        words = (CONSTANT_BYTES,) * len(self.constants)
        return (*(POINTER_BYTES,) * len(self.bindings), *words)

    @property
    def is_irees(self) -> bool:
        """Whether IREE's convention is the C signature as it is, so that objects stay untouched."""
        in_order = [parameter for parameter in self.parameters if parameter.is_binding]
        return (
            not any(p.words for p in in_order)
            and all(p.is_binding for p in self.parameters[: len(in_order)])
            and all(p.ordinal == p.index for p in in_order)
            and all(
                isinstance(p.operand, Scalar) and p.size_bytes <= CONSTANT_BYTES
                for p in self.parameters[len(in_order) :]
            )
        )


def size_of(operand: Operand) -> int:
    """The bytes that an operand takes as a parameter."""
    if isinstance(operand, Buffer):
        return POINTER_BYTES
    return operand.size_bytes if isinstance(operand, Struct) else operand.dtype.bytes


def words_of(operand: Operand) -> int:
    """The 32-bit constants that an operand needs: a scalar's and a struct's bits; for an optional
    buffer one that says whether it is there.
    """
    if isinstance(operand, Buffer):
        return int(operand.optional)
    return -(-size_of(operand) // CONSTANT_BYTES)


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
        IREE's convention cannot express a type.
    DeclarationError
        More operands than IREE's CUDA driver takes.
    """
    buffers = [operand for operand in operands if isinstance(operand, Buffer)]
    # IREE passes what a dispatch takes, a scratch among it, and then what it makes. Within each,
    # declaration order is kept.
    buffers.sort(key=lambda operand: (isinstance(operand, Out), isinstance(operand, Scratch)))
    parameters: list[Parameter] = []
    words = 0
    for index, operand in enumerate(operands):
        if isinstance(operand, Buffer):
            ordinal = next(i for i, buffer in enumerate(buffers) if buffer is operand)
        else:
            ordinal = words
            _check_types(kernel, operand)
        words += words_of(operand)
        parameters.append(Parameter(operand, index, ordinal))
    abi = Abi(tuple(parameters))
    if len(buffers) > MAX_BINDINGS:
        raise DeclarationError(
            f"Kernel `{kernel}` has {len(buffers)} buffers.",
            expected=f"at most {MAX_BINDINGS}, the limit of IREE's CUDA driver",
            next_step="put several buffers into one, with an offset a part.",
        )
    if words > MAX_CONSTANTS:
        raise DeclarationError(
            f"Kernel `{kernel}` has {counted(abi)}.",
            expected=f"at most {MAX_CONSTANTS}, the limit of IREE's CUDA driver",
            next_step="pass them in a buffer.",
        )
    return abi


def counted(abi: Abi) -> str:
    """How many constants there are, for errors: "65 scalars"."""
    words = len(abi.constants)
    if words == sum(isinstance(parameter.operand, Scalar) for parameter in abi.parameters):
        return f"{words} scalars"
    return f"scalars and structs of {words} words of 32 bits"


def _check_types(kernel: str, operand: Scalar | Struct) -> None:
    scalars = [operand] if isinstance(operand, Scalar) else [leaf.scalar for leaf in operand.leaves]
    for scalar in scalars:
        if scalar.dtype.is_float and scalar.dtype.bits == 8:
            raise SignatureError(
                f"Kernel `{kernel}`: scalar `{scalar.name}` is {scalar.dtype}.",
                expected="a float of at least 16 bits, an integer or a bool: the host code that "
                "IREE generates cannot hold smaller floating-point numbers",
                next_step="take its bits as a u8, or a float that the kernel converts.",
            )
