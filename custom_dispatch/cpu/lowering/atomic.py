"""Atomic operations and reductions on memory (PTX ISA 9.0, sections 9.7.13.6 "atom" and "red").

A block runs on one core, so on shared memory they are plain loads and stores. On other memory they
are atomic and sequentially consistent; where LLVM has no operation of the kind (f16, bf16 and their
pairs), a value is computed and exchanged until nobody came between. Vectors are one element after
another, as in PTX. Subnormal f32 sums are flushed to zero by a GPU's global memory (PTX ISA,
"atom"), and here only if the kernel has nothing else to keep them for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from custom_dispatch.cpu.lowering.floating import packed
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.builder import Builder, int_type
from custom_dispatch.ptx import TYPE_BITS, elements_of

_INTEGER: Final = {
    "add": "add",
    "and": "_and",
    "or": "_or",
    "xor": "_xor",
    "exch": "xchg",
    "inc": "uinc_wrap",
    "dec": "udec_wrap",
}
_OPERATIONS: Final = (*_INTEGER, "min", "max", "cas")
_MODIFIERS: Final = frozenset(
    {"global", "shared", "shared::cta", "relaxed", "acquire", "release", "acq_rel"}
    | {"cta", "gpu", "sys", "cluster", "noftz", "v2", "v4", "v8"}
)
_TOO_WIDE: Final = "atomics of 128 bits need a CPU that has them, such as `cpu:x86-64-v3`"
_HALVES: Final = frozenset({"f16", "bf16", "f16x2", "bf16x2"})


def lower_atomic(frame: Frame) -> None:
    """`atom` and `red`."""
    base, *modifiers, type_name = frame.parts
    operation = next((m for m in modifiers if m in _OPERATIONS), "")
    others = tuple(m for m in modifiers if m != operation and not m.startswith("L2::"))
    frame.check_modifiers(others, _MODIFIERS)
    if not operation or type_name not in TYPE_BITS or not _exists(operation, type_name):
        raise frame.unsupported()
    operands = list(frame.instruction.operands)
    sources = 2 if operation == "cas" else 1
    first = 1 if base == "atom" else 0
    if "L2::cache_hint" in modifiers:
        operands = operands[:-1]
    if len(operands) != first + 1 + sources:
        frame.operands(first + 1 + sources)
    values = [elements_of(operand) for operand in operands[first + 1 :]]
    results = elements_of(operands[0]) if first else [None] * len(values[0])
    if len(results) != len(values[0]) or (len(results) > 1 and operation == "cas"):
        raise frame.unsupported()
    is_shared = "shared" in modifiers or "shared::cta" in modifiers
    pointer = frame.address(operands[first], "shared" if is_shared else "generic")
    size = TYPE_BITS[type_name]
    if size == 128 and not is_shared and not frame.thread.kernel.processor.wide_atomics:
        raise frame.unsupported(_TOO_WIDE)
    for index, result in enumerate(results):
        place = frame.b.offset(pointer, index * size // 8)
        taken = [frame.integer(value[index], size) for value in values]
        old = (_in_turn if is_shared else _atomically)(frame, operation, place, taken)
        if result is not None:
            frame.set_integer(result, old, size, signed=type_name.startswith("s"))


def _exists(operation: str, type_name: str) -> bool:
    if type_name in _HALVES:
        return operation in ("add", "min", "max")
    if type_name in ("f32", "f64"):
        return operation == "add"
    if type_name in ("pred", "b8", "s8", "u8", "s16", "u16"):
        return False
    return TYPE_BITS[type_name] <= 64 or operation in ("exch", "cas")


def _combined(frame: Frame, operation: str, old: str, value: str) -> str:
    """What an operation other than `cas` puts in memory, as an integer."""
    b, type_name = frame.b, frame.parts[-1]
    integer = int_type(TYPE_BITS[type_name])
    if type_name in _HALVES:
        return packed(frame, operation, (), [old, value], type_name)
    if type_name in ("f32", "f64"):
        x, y = (b.cast("bitcast", v, integer, type_name) for v in (old, value))
        return b.cast("bitcast", b.binary("fadd", x, y, type_name), type_name, integer)
    if operation == "exch":
        return value
    if operation in ("min", "max"):
        name = f"llvm.{'s' if type_name[0] == 's' else 'u'}{operation}"
        return b.call_intrinsic(name, [old, value], integer)
    if operation not in ("inc", "dec"):
        return b.binary(operation, old, value, integer)
    if operation == "inc":
        wraps = b.icmp("uge", old, value, integer)
        return b.select(wraps, 0, b.binary("add", old, 1, integer), integer)
    is_zero = b.icmp("eq", old, 0, integer)
    wraps = b.binary("or", is_zero, b.icmp("ugt", old, value, integer), "i1")
    return b.select(wraps, value, b.binary("sub", old, 1, integer), integer)


def _in_turn(frame: Frame, operation: str, place: str, values: list[str]) -> str:
    """Load, combine and store, on memory that no other core sees."""
    b, integer = frame.b, int_type(TYPE_BITS[frame.parts[-1]])
    old = b.load(place, integer)
    if operation == "cas":
        equal = b.icmp("eq", old, values[0], integer)
        new = b.select(equal, values[1], old, integer)
    else:
        new = _combined(frame, operation, old, values[0])
    b.store(new, place, integer)
    return old


def _atomically(frame: Frame, operation: str, place: str, values: list[str]) -> str:
    """The operation on memory that other cores see."""
    b, type_name = frame.b, frame.parts[-1]
    bits, integer = TYPE_BITS[type_name], int_type(TYPE_BITS[type_name])
    value = values[0]
    if operation == "cas":
        return _compare_and_swap(b, place, value, values[1], bits)
    if type_name in _HALVES or bits == 128:
        return _exchange_until(b, place, bits, lambda old: _combined(frame, operation, old, value))
    if type_name in ("f32", "f64"):
        addend = b.cast("bitcast", value, integer, type_name)
        value = b.value(f"llvm.atomicrmw fadd {place}, {addend} seq_cst : !llvm.ptr, {type_name}")
        return b.cast("bitcast", value, type_name, integer)
    sign = "" if type_name[0] == "s" else "u"
    name = _INTEGER.get(operation) or sign + operation
    return b.value(f"llvm.atomicrmw {name} {place}, {value} seq_cst : !llvm.ptr, {integer}")


def _compare_and_swap(b: Builder, place: str, wanted: str, new: str, bits: int) -> str:
    integer = int_type(bits)
    pair = b.value(f"llvm.cmpxchg {place}, {wanted}, {new} seq_cst seq_cst : !llvm.ptr, {integer}")
    return b.value(f"llvm.extractvalue {pair}[0] : !llvm.struct<({integer}, i1)>")


def _exchange_until(b: Builder, place: str, bits: int, combine: Callable[[str], str]) -> str:
    """Compute a new value from the old one until it could be put in its place."""
    integer = int_type(bits)
    again, done = b.fresh_label("again"), b.fresh_label("done")
    expected = b.fresh()
    b.branch(again, (b.load(place, integer, bits // 8), integer))
    b.block(again, (expected, integer))
    found = _compare_and_swap(b, place, expected, combine(expected), bits)
    succeeded = b.icmp("eq", found, expected, integer)
    b.line(f"llvm.cond_br {succeeded}, ^{done}, ^{again}({found} : {integer})")
    b.block(done)
    return found
