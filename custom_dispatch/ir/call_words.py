"""All that a call passes besides its buffers, as the 32-bit words of IREE's convention."""

from collections.abc import Callable, Mapping

from custom_dispatch.ir.emitter import Emitter, comma
from custom_dispatch.ir.guards import Guards
from custom_dispatch.kernel.abi import CONSTANT_BYTES, Abi, words_of
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.expr import Expr
from custom_dispatch.kernel.operand import Buffer, In, Scalar, Struct

Words = tuple[str, ...]
"""i32 values, the lowest address first."""


def constant_words(block: Emitter, value: int, dtype: ElementType) -> Words:
    """The words of a known integer."""
    words = range(-(-dtype.bytes // CONSTANT_BYTES))
    return tuple(block.i32(value >> 32 * word & 0xFFFFFFFF) for word in words)


def index_words(block: Emitter, value: str, dtype: ElementType, hint: str) -> Words:
    """The words of an index value that the type holds; smaller types fill low bytes."""
    if dtype.bytes <= CONSTANT_BYTES:
        return (block.pure(f"arith.index_castui {value} : index to i32", hint),)
    return _halves(block, block.pure(f"arith.index_castui {value} : index to i64", hint))


def argument_words(block: Emitter, value: str, dtype: ElementType) -> Words:
    """The words of a scalar argument, of `Scalar.argument_type`; smaller types fill low bytes."""
    if dtype.bits == 64:
        if dtype.is_float:
            # Where the compiler makes f32 of every f64, this cast fits no more, and says so.
            value = block.pure(f"arith.bitcast {value} : f64 to i64")
        return _halves(block, value)
    if dtype.is_float:
        value = block.pure(f"arith.bitcast {value} : f32 to i32")
        if dtype.bits == 32:
            return (value,)
        rounded = _rounded_to_f16 if dtype.name == "f16" else _rounded_to_bf16
        return (rounded(_integers(block), value),)
    if dtype.bits == 32:
        return (value,)
    extend = "extsi" if dtype.name[0] == "i" else "extui"
    return (block.pure(f"arith.{extend} {value} : {dtype.mlir} to i32"),)


def struct_words(block: Emitter, struct: Struct, values: Mapping[str, str]) -> Words:
    """The words of a struct; its padding is zero.

    `values`: the arguments, by the names of the struct's leaves.
    """
    op = _integers(block)
    words: dict[int, str] = {}
    for leaf in struct.leaves:
        first, byte = divmod(leaf.offset, CONSTANT_BYTES)
        dtype = leaf.scalar.dtype
        for index, part in enumerate(argument_words(block, values[leaf.scalar.name], dtype)):
            word = part
            if dtype.bytes < CONSTANT_BYTES:
                word = op("andi", word, (1 << dtype.bits) - 1)
                word = op("shli", word, 8 * byte) if byte else word
            before = words.get(first + index)
            words[first + index] = word if before is None else op("ori", before, word)
    return tuple(words.get(index) or block.i32(0) for index in range(words_of(struct)))


def _halves(block: Emitter, value: str) -> Words:
    low = block.pure(f"arith.trunci {value} : i64 to i32")
    bits = block.pure("arith.constant 32 : i64", "c32_i64")
    shifted = block.pure(f"arith.shrui {value}, {bits} : i64")
    return low, block.pure(f"arith.trunci {shifted} : i64 to i32")


_Op = Callable[..., str]
"""Writes an operation on i32 values, of which numbers are constants."""


def _integers(block: Emitter) -> _Op:
    def op(name: str, *values: str | int) -> str:
        given = (block.i32(value) if isinstance(value, int) else value for value in values)
        return block.pure(f"arith.{name} {comma(given)} : i32")

    return op


def _rounded_to_bf16(op: _Op, bits: str) -> str:
    """An f32's bits as a bf16's, rounded to nearest even; a NaN stays one."""
    high = op("shrui", bits, 16)
    rounded = _round_off(op, bits, 16)
    is_nan = op("cmpi ugt,", op("andi", bits, 0x7FFFFFFF), 0x7F800000)
    return op("select", is_nan, op("ori", high, 0x40), rounded)


def _rounded_to_f16(op: _Op, bits: str) -> str:
    """An f32's bits as an f16's, rounded to nearest even; a NaN stays one."""
    sign = op("andi", op("shrui", bits, 16), 0x8000)
    size = op("andi", bits, 0x7FFFFFFF)
    # Normal: the exponent's bias is 15 instead of 127. A carry moves on into the exponent.
    normal = _round_off(op, op("subi", size, 112 << 23), 13)
    # Subnormal: the significand with its leading 1, in units of 2**-24. A shift by 31 gives 0.
    significand = op("ori", op("andi", size, 0x7FFFFF), 0x800000)
    shift = op("minsi", op("subi", 126, op("shrui", size, 23)), 31)
    shift = op("maxsi", shift, 1)  # for larger numbers, which do not take this result
    small = _round_off(op, significand, shift)
    result = op("select", op("cmpi ult,", size, 113 << 23), small, normal)
    result = op("select", op("cmpi uge,", size, 143 << 23), 0x7C00, result)
    nan = op("ori", op("andi", op("shrui", size, 13), 0x3FF), 0x7E00)
    result = op("select", op("cmpi ugt,", size, 0x7F800000), nan, result)
    return op("ori", sign, result)


def _round_off(op: _Op, bits: str, count: str | int) -> str:
    """An unsigned number without its lowest bits, rounded to nearest, ties to even."""
    odd = op("andi", op("shrui", bits, count), 1)
    below_half = op("subi", op("shli", 1, op("subi", count, 1)), 1)
    return op("shrui", op("addi", bits, op("addi", below_half, odd)), count)


_INDEX_BITS = 64
"""Sizes and what is computed from them stay below 2**63, which larger types hold."""


def read_words(
    guards: Guards, arguments: Mapping[str, str], absent: Mapping[str, str | bool]
) -> dict[str, Words]:
    """The words of every scalar, struct and absence of a call of a kernel, by operand.

    - `guards`: what has to hold for the call; they know the kernel, and where to write.
    - `arguments`: the values of the function's arguments, by name.
    - `absent`: whether each optional operand is absent: known, or an i1 value.
    """
    body = guards.body
    words: dict[str, Words] = {}
    for operand in guards.kernel.operands:
        match operand:
            case Buffer() if operand.optional:
                words[operand.name] = (_presence(body, operand, absent[operand.name]),)
            case Struct():
                words[operand.name] = struct_words(body, operand, arguments)
            case Scalar(value=None):
                words[operand.name] = argument_words(body, arguments[operand.name], operand.dtype)
            case Scalar(value=Expr() as value):
                words[operand.name] = _computed(guards, operand, value)
    return words


def _computed(guards: Guards, operand: Scalar, expr: Expr) -> Words:
    """A scalar that is an expression of dims."""
    dtype = operand.dtype
    if dtype.bits < _INDEX_BITS:
        message = f"scalar `{operand.name}` = {expr} does not fit {dtype}"
        step = "use a larger type, or smaller tensors."
        value = guards.require_within(expr, dtype.largest, message, step)
    else:
        value = guards.value(expr)
    known = guards.arithmetic.known(expr)
    if known is not None:
        return constant_words(guards.body, known, dtype)
    return index_words(guards.body, value, dtype, operand.name)


def _presence(body: Emitter, operand: Buffer, absent: str | bool) -> str:
    """An i32: whether an optional operand is there."""
    if isinstance(absent, bool):
        return body.i32(0 if absent else 1)
    one, zero = body.i32(1), body.i32(0)
    return body.pure(f"arith.select {absent}, {zero}, {one} : i32", operand.name)


def layout_of(abi: Abi, *, with_grid: bool, checked: bool) -> str:
    """The `#hal.pipeline.layout` attribute of a kernel.

    - `with_grid`: one more constant follows the kernel's own: the grid's x size, for the CPU
      variant. All variants of an executable get the same constants; the CUDA driver passes on as
      many parameters as the kernel's entry has (cuLaunchKernel, `kernelParams`), and no more.
    - `checked`: for `cpu:checked`. Its buffers are those of the call itself, with the length of the
      tensor. Elsewhere they are slots of a call's table ("Indirect"), which may be longer: then
      IREE records the commands of a model with known sizes once, when the module is loaded, and not
      in every call (IREE, compiler/src/iree/compiler/Dialect/HAL/Transforms/
      OutlineMemoizeRegions.cpp).
    """
    bindings = comma(_binding(isinstance(b, In), checked) for b in abi.bindings)
    flags = "" if checked else ", flags = Indirect"
    constants = len(abi.constants) + with_grid
    return f"#hal.pipeline.layout<constants = {constants}, bindings = [{bindings}]{flags}>"


def _binding(read_only: bool, checked: bool) -> str:
    flags = ["ReadOnly"] * read_only + ["Indirect"] * (not checked)
    text = "|".join(flags)
    shown = f', "{text}"' if len(flags) > 1 else f", {text}" if text else ""
    return f"#hal.pipeline.binding<storage_buffer{shown}>"
