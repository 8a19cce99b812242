"""How a kernel's C parameters meet IREE's calling convention.

IREE calls an external CUDA kernel with every buffer binding as a 64-bit pointer, tensor operands
first and untied results after them, and then every push constant as a parameter of its own, from a
slot whose low four bytes hold an i32 (IREE, runtime/src/iree/hal/drivers/cuda/
stream_command_buffer.c). A kernel with another signature has its PTX rewritten to that form
(`ptx/rewrite.py`): pointers go first, and every other parameter becomes 32-bit words. A struct
with pointers comes apart: a pointer is a binding, a number words, and constants are in the code.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError, SignatureError
from custom_dispatch.kernel import expr
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.operand import Buffer, Operand, Out, Scalar, Scratch, Struct

MAX_BINDINGS = 16
"""IREE_HAL_CUDA_MAX_DESCRIPTOR_SET_BINDING_COUNT; more are refused only when the file loads."""
MAX_CONSTANTS = 64
"""IREE_HAL_CUDA_MAX_PUSH_CONSTANT_COUNT; likewise."""
POINTER_BYTES = 8
CONSTANT_BYTES = 4
Number = int | float
_FLOATS = {"f32": "<f", "f64": "<d", "f16": "<e"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the kernel's C signature, and where its bytes come from."""

    operand: Operand
    index: int
    """Its position in the C signature."""
    ordinal: int
    """The binding that it is, or the first of the constants that it is made of."""
    offset: int = 0
    """Its first byte, where it is a part of a struct."""
    parts: tuple[Parameter, ...] = ()
    """What a struct that is split consists of, besides constants."""

    @property
    def pieces(self) -> tuple[Parameter, ...]:
        """The parts of a struct that is split; otherwise the parameter itself."""
        is_split = isinstance(self.operand, Struct) and self.operand.is_split
        return self.parts if is_split else (self,)

    @property
    def constant_bytes(self) -> bytes:
        """The bytes of a struct that is split, zero where constants say nothing else."""
        data = bytearray(self.size_bytes)
        if isinstance(self.operand, Struct):
            for offset, item in parts_of(self.operand):
                if is_constant(item) and item.value is not None:
                    number = number_bytes(item.dtype, evaluate(item.value, {}))
                    data[offset : offset + len(number)] = number
        return bytes(data)

    def piece_at(self, place: int, size: int) -> Parameter | None:
        """The piece that holds all of some bytes; a pointer only if they are the whole of it."""
        for piece in self.pieces:
            # A scalar of less than a word has its word for itself, unless it is in a struct.
            room = piece.size_bytes if piece is not self else piece.words * CONSTANT_BYTES
            if piece.is_binding:
                room = POINTER_BYTES if size == POINTER_BYTES else 0
            if piece.offset <= place and place + size <= piece.offset + room:
                return piece
        return None

    def constant_at(self, place: int, size: int) -> int | None:
        """The number in some bytes of a struct that is split, where no piece has any of them."""
        end = place + size
        is_read = any(p.offset < end and place < p.offset + p.size_bytes for p in self.pieces)
        is_known = not is_read and end <= self.size_bytes
        return int.from_bytes(self.constant_bytes[place:end], "little") if is_known else None

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
    def pieces(self) -> tuple[Parameter, ...]:
        """What is passed, in order: the parameters, and for a struct that is split its parts."""
        return tuple(piece for parameter in self.parameters for piece in parameter.pieces)

    @property
    def bindings(self) -> tuple[Buffer, ...]:
        """The buffers, in binding order."""
        found = [p for p in self.pieces if isinstance(p.operand, Buffer)]
        found.sort(key=lambda parameter: parameter.ordinal)
        return tuple(p.operand for p in found if isinstance(p.operand, Buffer))

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The 32-bit constants, in their order."""
        return tuple(Constant(p.operand, index) for p in self.pieces for index in range(p.words))

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


def parts_of(struct: Struct) -> tuple[tuple[int, Buffer | Scalar], ...]:
    """Every operand in a struct that is split, in order, with its place in bytes."""
    found: list[tuple[int, Buffer | Scalar]] = []
    for field in struct.fields:
        name = f"{struct.name}_{field.name}"
        names = [name] if field.count is None else [f"{name}_{i}" for i in range(field.count)]
        items = field.items or [Scalar(each, field.dtype) for each in names]
        found += ((field.offset + i * field.dtype.bytes, item) for i, item in enumerate(items))
    return tuple(found)


def is_constant(item: Buffer | Scalar) -> TypeGuard[Scalar]:
    """Whether an operand within a struct is a number that the declaration states."""
    return isinstance(item, Scalar) and isinstance(item.value, expr.Constant)


def flattened(operands: Sequence[Operand]) -> tuple[Operand, ...]:
    """Operands as calls know them: instead of a struct that is split what it holds.

    Numbers that are constants are left out: they are in the kernel.
    """
    found: list[Operand] = []
    for operand in operands:
        if isinstance(operand, Struct) and operand.is_split:
            found += (item for _, item in parts_of(operand) if not is_constant(item))
        else:
            found.append(operand)
    return tuple(found)


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
    """Lay a kernel's operands out, which are in the order of its C signature."""
    buffers = [operand for operand in flattened(operands) if isinstance(operand, Buffer)]
    # IREE passes what a dispatch takes, a scratch among it, and then what it makes. Within each,
    # declaration order is kept.
    buffers.sort(key=lambda operand: (isinstance(operand, Out), isinstance(operand, Scratch)))
    words = 0

    def placed(operand: Operand, index: int, offset: int = 0) -> Parameter:
        nonlocal words
        if isinstance(operand, Struct) and operand.is_split:
            inside = [(at, item) for at, item in parts_of(operand) if not is_constant(item)]
            parts = tuple(placed(item, index, at) for at, item in inside)
            return Parameter(operand, index, 0, parts=parts)
        if isinstance(operand, Buffer):
            ordinal = next(i for i, buffer in enumerate(buffers) if buffer is operand)
        else:
            ordinal = words
            _check_types(kernel, operand)
        words += words_of(operand)
        return Parameter(operand, index, ordinal, offset)

    abi = Abi(tuple(placed(operand, index) for index, operand in enumerate(operands)))
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
    if words == sum(isinstance(parameter.operand, Scalar) for parameter in abi.pieces):
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


def constants_of(
    abi: Abi, dims: Mapping[str, int], numbers: Mapping[str, Number | tuple[Number, ...]]
) -> tuple[int, ...]:
    """The constants of a launch, in their order, each from 0 to 2**32 - 1.

    The wrapper of a module computes them in host code (`ir/call_words.py`); here they are computed
    from Python's numbers, for whoever launches an object without IREE.

    - `dims`: the value of every dim.
    - `numbers`: the value of every `Scalar` without one, and for each `Struct` its numbers in
      order, by operand name. For an optional buffer, whether it is there: 0 or 1.
    """
    found: list[int] = []
    for parameter in abi.pieces:
        operand = parameter.operand
        if not parameter.words:
            continue
        if isinstance(operand, Buffer):
            data = struct.pack("<I", bool(numbers[operand.name]))
        elif isinstance(operand, Struct):
            data = _struct_bytes(operand, numbers[operand.name])
        elif operand.value is not None:
            data = number_bytes(operand.dtype, evaluate(operand.value, dims))
        else:
            data = number_bytes(operand.dtype, _one(numbers[operand.name]))
        size = words_of(operand) * CONSTANT_BYTES
        # The bytes above a small integer are those of its sign, as IREE's host code has them.
        negative = isinstance(operand, Scalar) and operand.dtype.name[0] == "i" and data[-1] >> 7
        found += struct.unpack(f"<{size // 4}I", data.ljust(size, b"\xff" if negative else b"\0"))
    return tuple(found)


def number_bytes(dtype: ElementType, number: Number) -> bytes:
    """A number as the type's bytes, the lowest first."""
    if dtype.name in _FLOATS:
        return struct.pack(_FLOATS[dtype.name], number)
    if dtype.is_float:
        import numpy

        return numpy.asarray(number).astype(dtype.to_numpy()).tobytes()
    return (int(number) & (1 << dtype.bits) - 1).to_bytes(dtype.bytes, "little")


def _struct_bytes(operand: Struct, numbers: Number | tuple[Number, ...]) -> bytes:
    data = bytearray(operand.size_bytes)
    values = numbers if isinstance(numbers, tuple) else (numbers,)
    for leaf, number in zip(operand.leaves, values, strict=True):
        part = number_bytes(leaf.scalar.dtype, number)
        data[leaf.offset : leaf.offset + len(part)] = part
    return bytes(data)


def _one(number: Number | tuple[Number, ...]) -> Number:
    if isinstance(number, tuple):
        raise TypeError("a scalar is one number")
    return number
