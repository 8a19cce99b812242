"""Which function lowers which PTX instruction (the sections of PTX ISA 9.0's chapter 9.7)."""

import functools
from collections.abc import Callable
from typing import Final

from custom_dispatch.cpu.analysis.inline_calls import ASSERTION
from custom_dispatch.cpu.lowering import (
    atomic,
    barrier,
    compare,
    convert,
    floating,
    integer,
    logic,
    matrix,
    memory,
    warp,
    wmma,
)
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.ptx import TYPE_BITS
from custom_dispatch.ptx.module import opcode_parts

Lowering = Callable[[Frame], None]
"""Lowers the instruction that a frame is at."""

_NOTHING: Final = (
    *("prefetch", "prefetchu", "nanosleep", "applypriority", "discard", "pmevent"),
    "griddepcontrol",  # what a grid depends on has ended before it starts
)

_BY_BASE: Final[dict[str, Lowering]] = {
    "mov": memory.lower_move,
    "cvta": memory.lower_cvta,
    **dict.fromkeys(("ld", "ldu"), memory.lower_load),
    "st": memory.lower_store,
    **dict.fromkeys(("atom", "red"), atomic.lower_atomic),
    **dict.fromkeys(("membar", "fence"), memory.lower_fence),
    **dict.fromkeys(_NOTHING, memory.lower_nothing),
    **dict.fromkeys(("trap", ASSERTION), memory.lower_trap),
    "call": memory.lower_call,
    **dict.fromkeys(("bar", "barrier"), barrier.lower_barrier),
    "shfl": warp.lower_shuffle,
    "vote": warp.lower_vote,
    "match": warp.lower_match,
    "activemask": warp.lower_active_mask,
    "redux": warp.lower_reduction,
    "elect": warp.lower_elect,
    "mma": matrix.lower_multiply_matrices,
    "ldmatrix": matrix.lower_load_matrix,
    "stmatrix": matrix.lower_store_matrix,
    "movmatrix": matrix.lower_transpose_matrix,
    "wmma": wmma.lower_fragments,
    "cp": memory.lower_async_copy,
    "isspacep": memory.lower_is_space,
    "createpolicy": memory.lower_policy,
    "cvt": convert.lower_convert,
    **dict.fromkeys(integer.OPERATIONS.keys() - {"abs", "neg"}, integer.lower_operation),
    "lop3": logic.lower_lop3,
    "shf": logic.lower_funnel_shift,
    "prmt": logic.lower_permute,
    "bfind": logic.lower_find_highest,
    **dict.fromkeys(("bfe", "bfi"), logic.lower_bit_field),
    "bmsk": logic.lower_bit_mask,
    "szext": logic.lower_extend,
    "fns": logic.lower_find_nth,
    **dict.fromkeys(("setp", "set"), compare.lower_compare),
    **dict.fromkeys(("selp", "slct"), compare.lower_select),
    "testp": floating.lower_testp,
    **dict.fromkeys(("dp4a", "dp2a"), integer.lower_dot_product),
}
_ARITHMETIC_INTEGER: Final[dict[str, Lowering]] = {
    **dict.fromkeys(("add", "sub", "addc", "subc"), integer.lower_add_sub),
    **dict.fromkeys(("mul", "mad", "madc", "mul24", "mad24"), integer.lower_multiply),
    **dict.fromkeys(("div", "rem"), integer.lower_divide),
    **dict.fromkeys(("min", "max"), integer.lower_min_max),
    **dict.fromkeys(("abs", "neg"), integer.lower_operation),
}

_TYPELESS: Final = frozenset(
    {"membar", "fence", "trap", ASSERTION, "call", *_NOTHING}
    | {"bar", "barrier", "elect", "cp", "prmt", "isspacep"}
)
_OTHER_TYPES: Final = {"cvt": {"e4m3x2", "e5m2x2", "tf32"}, "wmma": {"tf32"}}
"""What some instructions take besides the fundamental types."""
_MIN_PARTS: Final = {"setp": 3, "set": 4, "slct": 3, "cvt": 3, "dp2a": 4, "dp4a": 3}
_TYPES: Final = {"slct": 2, "cvt": 2, "set": 2}


def _is_well_formed(parts: tuple[str, ...]) -> bool:
    """Whether an opcode has the modifiers and types that every lowering takes for granted."""
    base = parts[0]
    if base in _TYPELESS:
        return True
    if len(parts) < _MIN_PARTS.get(base, 2):
        return False
    return set(parts[-_TYPES.get(base, 1) :]) <= TYPE_BITS.keys() | _OTHER_TYPES.get(base, set())


def lower_instruction(frame: Frame) -> None:
    """Lower the instruction that a frame is at, which is no branch, without its predicate."""
    lowering = _lowering_of(frame.instruction.opcode)
    if lowering is None:
        raise frame.unsupported()
    lowering(frame)


@functools.lru_cache(maxsize=1024)
def _lowering_of(opcode: str) -> Lowering | None:
    parts = opcode_parts(opcode)
    base, type_name = parts[0], parts[-1]
    if base in ("add", "min", "max") and type_name in ("s16x2", "u16x2"):
        return integer.lower_pairs
    if base in integer.VIDEO:
        return integer.lower_video
    if not _is_well_formed(parts):
        return None
    if base in _BY_BASE:
        return _BY_BASE[base]
    if base in floating.OPERATIONS and type_name in ("f32", "f64"):
        return floating.lower_float
    if base in floating.OPERATIONS and type_name in ("f16", "bf16", "f16x2", "bf16x2"):
        return floating.lower_half
    if type_name in TYPE_BITS and base in _ARITHMETIC_INTEGER and type_name[0] in "bsu":
        return _ARITHMETIC_INTEGER[base]
    return None
