"""Subnormal numbers, which both of IREE's CPU drivers make the hardware flush to zero.

A GPU keeps those of f32 unless an instruction says `.ftz`, and those of f64 and bf16 always (PTX
ISA 9.0, section 9.7.3). So a workgroup switches the flushing off while it runs, unless every
instruction of its kernel asks for it; then the hardware does what `.ftz` says. Where only some do,
their lowerings flush what they take and give.
"""

from collections.abc import Callable
from typing import Final

from custom_dispatch.cpu.text.builder import POINTER, Builder, int_type
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.ptx import Entry, Instruction

_FLOATS: Final = ("f32", "f64", "bf16", "bf16x2", "tf32")
_MOVES: Final = ("ld", "ldu", "st", "mov", "selp", "testp", "copysign")
# Those that give no subnormal number of these types from numbers that are none.
_HARMLESS_CVT: Final = ("f16", "f16x2", "e4m3x2", "e5m2x2")

_FLUSHING: Final = {"x86_64": 0x8040, "arm_64": 1 << 24}
"""The bits that switch flushing on: FTZ and DAZ of MXCSR (Intel SDM 1, 10.2.3.3), FZ of FPCR (Arm
ARM, C5.2.8)."""


def wants_flushing(entry: Entry) -> bool:
    """Whether no instruction of a kernel may keep a subnormal number."""
    return not any(_keeps(s) for s in entry.body if isinstance(s, Instruction))


def _keeps(instruction: Instruction) -> bool:
    parts = instruction.parts
    if "ftz" in parts or parts[0] in _MOVES:
        return False
    if parts[0] in ("atom", "red") and parts[-1] == "f32" and "shared" not in parts[1]:
        return False  # which a GPU flushes
    if parts[0] == "cvt":  # of its two types the one that the hardware computes with decides
        target, source = ("", *parts)[-2:]
        if target in _HARMLESS_CVT and source in (*_HARMLESS_CVT, "s32", "u32", "s16", "u16"):
            return False
        return target in _FLOATS or source in _FLOATS
    return any(part in _FLOATS for part in parts[1:])


def keep_subnormals(b: Builder, architecture: str) -> Callable[[], None]:
    """Switch flushing off; what is returned writes the code that puts it back as it was.

    `architecture`: IREE's name of it, ``"x86_64"`` or ``"arm_64"``. On any other flushing stays on.
    """
    if architecture not in _FLUSHING:
        return lambda: None
    bits = 32 if architecture == "x86_64" else 64
    integer = int_type(bits)
    if architecture == "x86_64":
        (place,) = b.alloca("i32")
        b.line(f'llvm.call_intrinsic "llvm.x86.sse.stmxcsr"({place}) : ({POINTER}) -> ()')
        before = b.load(place, integer, 4)
    else:
        before = b.call_intrinsic("llvm.aarch64.get.fpcr", [], integer)

    def put(value: str) -> None:
        if architecture == "x86_64":
            b.store(value, place, integer, 4)
            b.line(f'llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"({place}) : ({POINTER}) -> ()')
        else:
            b.line(f'llvm.call_intrinsic "llvm.aarch64.set.fpcr"({value}) : ({integer}) -> ()')

    put(before & ~_FLUSHING[architecture])
    return lambda: put(before)


def flushed(value: SsaValue) -> SsaValue:
    """An f32 or f64 with subnormal numbers made zero of the same sign."""
    return flushed_bits(value.as_bits(), 23 if value.type == "f32" else 52).as_float()


def flushed_bits(number: SsaValue, fraction: int) -> SsaValue:
    """The same of a number's bits, so many of which are its fraction."""
    end = 1 << (number.bits - 1)
    sign = number & end
    exponent = number & ((end - 1) >> fraction << fraction)
    return exponent.cmp("eq", 0).select(sign, number)
