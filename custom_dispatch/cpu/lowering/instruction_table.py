"""Which function lowers which PTX instruction (the sections of PTX ISA 9.0's chapter 9.7)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

from custom_dispatch.cpu.analysis.inline_calls import ASSERTION, PRINT
from custom_dispatch.cpu.lowering.async_copy import lower_async_copy
from custom_dispatch.cpu.lowering.atomic import lower_atomic
from custom_dispatch.cpu.lowering.barrier import lower_barrier
from custom_dispatch.cpu.lowering.compare import lower_compare, lower_select
from custom_dispatch.cpu.lowering.convert import lower_convert
from custom_dispatch.cpu.lowering.float import lower_float, lower_testp
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.lowering.half import lower_half
from custom_dispatch.cpu.lowering.integer import (
    lower_abs_neg,
    lower_add_sub,
    lower_divide,
    lower_dot_product,
    lower_min_max,
    lower_multiply,
    lower_sad,
)
from custom_dispatch.cpu.lowering.logic import (
    lower_bit_field,
    lower_bit_mask,
    lower_bitwise,
    lower_count,
    lower_extend,
    lower_find_nth,
    lower_funnel_shift,
    lower_lop3,
    lower_permute,
    lower_shift,
)
from custom_dispatch.cpu.lowering.matrix import (
    lower_load_matrix,
    lower_multiply_matrices,
    lower_store_matrix,
    lower_transpose_matrix,
)
from custom_dispatch.cpu.lowering.memory import (
    lower_cvta,
    lower_fence,
    lower_is_space,
    lower_load,
    lower_move,
    lower_nothing,
    lower_print,
    lower_store,
    lower_trap,
)
from custom_dispatch.cpu.lowering.simd import VIDEO, lower_pairs, lower_video
from custom_dispatch.cpu.lowering.warp import (
    lower_active_mask,
    lower_elect,
    lower_match,
    lower_reduction,
    lower_shuffle,
    lower_vote,
)
from custom_dispatch.cpu.lowering.wmma import lower_fragments
from custom_dispatch.ptx import TYPE_BITS, Instruction
from custom_dispatch.ptx.module import opcode_parts

Lowering = Callable[[Frame, Instruction], None]

_NOTHING: Final = (
    *("prefetch", "prefetchu", "nanosleep", "applypriority", "discard", "pmevent"),
    "griddepcontrol",  # what a grid depends on has ended before it starts
)

_BY_BASE: Final[dict[str, Lowering]] = {
    **dict.fromkeys(("mov",), lower_move),
    **dict.fromkeys(("cvta",), lower_cvta),
    **dict.fromkeys(("ld", "ldu"), lower_load),
    **dict.fromkeys(("st",), lower_store),
    **dict.fromkeys(("atom", "red"), lower_atomic),
    **dict.fromkeys(("membar", "fence"), lower_fence),
    **dict.fromkeys(_NOTHING, lower_nothing),
    **dict.fromkeys(("trap", ASSERTION), lower_trap),
    **dict.fromkeys((PRINT,), lower_print),
    **dict.fromkeys(("bar", "barrier"), lower_barrier),
    **dict.fromkeys(("shfl",), lower_shuffle),
    **dict.fromkeys(("vote",), lower_vote),
    **dict.fromkeys(("match",), lower_match),
    **dict.fromkeys(("activemask",), lower_active_mask),
    **dict.fromkeys(("redux",), lower_reduction),
    **dict.fromkeys(("elect",), lower_elect),
    **dict.fromkeys(("mma",), lower_multiply_matrices),
    **dict.fromkeys(("ldmatrix",), lower_load_matrix),
    **dict.fromkeys(("stmatrix",), lower_store_matrix),
    **dict.fromkeys(("movmatrix",), lower_transpose_matrix),
    **dict.fromkeys(("wmma",), lower_fragments),
    **dict.fromkeys(("cp",), lower_async_copy),
    **dict.fromkeys(("isspacep",), lower_is_space),
    **dict.fromkeys(("cvt",), lower_convert),
    **dict.fromkeys(("and", "or", "xor", "not", "cnot"), lower_bitwise),
    **dict.fromkeys(("lop3",), lower_lop3),
    **dict.fromkeys(("shl", "shr"), lower_shift),
    **dict.fromkeys(("shf",), lower_funnel_shift),
    **dict.fromkeys(("prmt",), lower_permute),
    **dict.fromkeys(("popc", "clz", "brev", "bfind"), lower_count),
    **dict.fromkeys(("bfe", "bfi"), lower_bit_field),
    **dict.fromkeys(("bmsk",), lower_bit_mask),
    **dict.fromkeys(("szext",), lower_extend),
    **dict.fromkeys(("fns",), lower_find_nth),
    **dict.fromkeys(("setp", "set"), lower_compare),
    **dict.fromkeys(("selp", "slct"), lower_select),
    **dict.fromkeys(("testp",), lower_testp),
    **dict.fromkeys(("dp4a", "dp2a"), lower_dot_product),
}
_ARITHMETIC_INTEGER: Final[dict[str, Lowering]] = {
    **dict.fromkeys(("add", "sub", "addc", "subc"), lower_add_sub),
    **dict.fromkeys(("mul", "mad", "madc", "mul24", "mad24"), lower_multiply),
    **dict.fromkeys(("div", "rem"), lower_divide),
    **dict.fromkeys(("min", "max"), lower_min_max),
    **dict.fromkeys(("abs", "neg"), lower_abs_neg),
    **dict.fromkeys(("sad",), lower_sad),
}
_ARITHMETIC_FLOAT: Final = frozenset(
    {"add", "sub", "mul", "div", "fma", "mad", "min", "max", "abs", "neg", "copysign"}
    | {"sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"}
)


_TYPELESS: Final = frozenset(
    {"membar", "fence", "trap", ASSERTION, PRINT, *_NOTHING}
    | {"bar", "barrier", "elect", "cp", "prmt", "isspacep"}
)
_KNOWN_TYPES: Final = TYPE_BITS.keys() | {"e4m3x2", "e5m2x2", "tf32"}
_MIN_PARTS: Final = {"setp": 3, "set": 4, "slct": 3, "cvt": 3, "dp2a": 4, "dp4a": 3}
_TYPES: Final = {"slct": 2, "cvt": 2, "set": 2}


def _is_well_formed(parts: tuple[str, ...]) -> bool:
    """Whether an opcode has the modifiers and types that every lowering takes for granted."""
    base = parts[0]
    if base in _TYPELESS:
        return True
    if len(parts) < _MIN_PARTS.get(base, 2):
        return False
    return set(parts[-_TYPES.get(base, 1) :]) <= _KNOWN_TYPES


def lowering_of(instruction: Instruction) -> Lowering | None:
    """The function that lowers an instruction, or None when the CPU target has none."""
    return _lowering_of(instruction.opcode)


@functools.lru_cache(maxsize=1024)
def _lowering_of(opcode: str) -> Lowering | None:
    parts = opcode_parts(opcode)
    base, type_name = parts[0], parts[-1]
    if base in ("add", "min", "max") and type_name in ("s16x2", "u16x2"):
        return lower_pairs
    if base in VIDEO:
        return lower_video
    if not _is_well_formed(parts):
        return None
    if base in _BY_BASE:
        return _BY_BASE[base]
    if type_name in ("f32", "f64") and base in _ARITHMETIC_FLOAT:
        return lower_float
    if type_name in ("f16", "bf16", "f16x2", "bf16x2") and base in _ARITHMETIC_FLOAT:
        return lower_half
    if type_name in TYPE_BITS and base in _ARITHMETIC_INTEGER and type_name[0] in "bsu":
        return _ARITHMETIC_INTEGER[base]
    return None
