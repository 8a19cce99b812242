"""Atomic operations and reductions on memory (PTX ISA 9.0, sections 9.7.13.6 "atom" and "red").

A block runs on one core, so on shared memory they are plain loads and stores. On other memory they
are atomic and sequentially consistent; where LLVM has no operation of the kind (f16, bf16 and their
pairs), a value is computed and exchanged until nobody came between. Vectors are one element after
another, as in PTX. Subnormal f32 sums are flushed to zero by a GPU's global memory (PTX ISA,
"atom"), and here only if the kernel has nothing else to keep them for.
"""

from collections.abc import Callable
from typing import Final

from custom_dispatch.cpu.lowering.floating import packed
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.ssa_value import SsaValue
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
_TOO_WIDE: Final = "atomics of 128 bits need a CPU that has them, such as `cpu:x86-64-v3`"
_HALVES: Final = frozenset({"f16", "bf16", "f16x2", "bf16x2"})


def lower_atomic(frame: Frame) -> None:
    """`atom` and `red`."""
    base, *modifiers, type_name = frame.parts
    operation = next(m for m in modifiers if m in _OPERATIONS)
    sources = 2 if operation == "cas" else 1
    first = 1 if base == "atom" else 0
    operands = frame.operands(first + 1 + sources + ("L2::cache_hint" in modifiers))
    values = [elements_of(operand) for operand in operands[first + 1 : first + 1 + sources]]
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
        old = (_in_turn if is_shared else _atomically)(operation, type_name, place, taken)
        if result is not None:
            frame.put(result, old, signed=type_name.startswith("s"))


def _combined(operation: str, type_name: str, old: SsaValue, value: SsaValue) -> SsaValue:
    """What an operation other than `cas` puts in memory, as an integer."""
    if type_name in _HALVES:
        return packed(operation, (), [old, value], type_name)
    if type_name in ("f32", "f64"):
        x, y = old.as_float(), value.as_float()
        return (x + y).as_bits()
    if operation == "exch":
        return value
    if operation in ("min", "max"):
        return old.call(f"{'s' if type_name[0] == 's' else 'u'}{operation}", value)
    if operation == "inc":
        wraps = old.cmp("uge", value)
        return wraps.select(0, old + 1)
    if operation == "dec":
        wraps = old.cmp("eq", 0) | old.cmp("ugt", value)
        return wraps.select(value, old - 1)
    return old.b.binary(operation, old, value, old.type)


def _in_turn(operation: str, type_name: str, place: SsaValue, values: list[SsaValue]) -> SsaValue:
    """Load, combine and store, on memory that no other core sees."""
    b, integer = place.b, values[0].type
    old = b.load(place, integer)
    if operation == "cas":
        new = old.cmp("eq", values[0]).select(values[1], old)
    else:
        new = _combined(operation, type_name, old, values[0])
    b.store(new, place, integer)
    return old


def _atomically(
    operation: str, type_name: str, place: SsaValue, values: list[SsaValue]
) -> SsaValue:
    """The operation on memory that other cores see."""
    value = values[0]
    if operation == "cas":
        return _compare_and_swap(place, value, values[1])
    if type_name in _HALVES or value.bits == 128:
        return _exchange_until(
            place, value.type, lambda old: _combined(operation, type_name, old, value)
        )
    if type_name in ("f32", "f64"):
        name, value = "fadd", value.as_float()
    else:
        name = _INTEGER.get(operation) or ("" if type_name[0] == "s" else "u") + operation
    text = f"llvm.atomicrmw {name} {place}, {value} seq_cst : !llvm.ptr, {value.type}"
    old = place.b.named(place.b.value(text), value.type)
    return old.as_bits() if name == "fadd" else old


def _compare_and_swap(place: SsaValue, wanted: SsaValue, new: SsaValue) -> SsaValue:
    b, kind = place.b, new.type
    pair = b.value(f"llvm.cmpxchg {place}, {wanted}, {new} seq_cst seq_cst : !llvm.ptr, {kind}")
    return b.named(b.value(f"llvm.extractvalue {pair}[0] : !llvm.struct<({kind}, i1)>"), kind)


def _exchange_until(
    place: SsaValue, kind: str, combine: Callable[[SsaValue], SsaValue]
) -> SsaValue:
    """Compute a new value from the old one until it could be put in its place."""
    b = place.b
    again, done = b.fresh_label("again"), b.fresh_label("done")
    expected = b.named(b.fresh(), kind)
    b.branch(again, (b.load(place, kind), kind))
    b.block(again, (expected, kind))
    found = _compare_and_swap(place, expected, combine(expected))
    succeeded = found.cmp("eq", expected)
    b.line(f"llvm.cond_br {succeeded}, ^{done}, ^{again}({found} : {kind})")
    b.block(done)
    return found
