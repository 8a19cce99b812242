"""Registers that tell a thread where it is (PTX ISA 9.0, chapter 10, "Special Registers")."""

from __future__ import annotations

from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.threads.thread_code import ThreadCode
from custom_dispatch.ptx import SpecialRegister

_AXES = {"x": 0, "y": 1, "z": 2}
_PLACES = {"ctaid": "ctaid", "nctaid": "nctaid", "clusterid": "ctaid", "nclusterid": "nctaid"}
"""By register, what `PLACE` calls it."""
# A block is a cluster of its own, on the one multiprocessor there is.
_CONSTANTS = {"smid": 0, "nsmid": 1, "gridid": 0, "cluster_ctarank": 0, "cluster_nctarank": 1}
_CLOCKS = {"clock": 32, "clock64": 64, "globaltimer": 64, "globaltimer_lo": 32}
_UPPER_CLOCKS = ("clock_hi", "globaltimer_hi")


def special_register(
    b: Builder, thread: ThreadCode, place: tuple[str, str, str], register: SpecialRegister
) -> tuple[str, int] | None:
    """The value of a special register and its width, or None for one without meaning here.

    The clocks are the CPU's counter: they go up, in no particular unit.

    Parameters
    ----------
    place
        Which of the block's threads asks.
    """
    name, _, axis = register.name[1:].partition(".")
    block, shared = thread.kernel.block, thread.memory.shared
    if axis in _AXES:
        index = _AXES[axis]
        if name == "tid":
            return place[index], 32
        if name in _PLACES:
            return f"%{_PLACES[name]}_{axis}", 32
        sizes = {"ntid": block[index], "cluster_ctaid": 0, "cluster_nctaid": 1}
        return (b.const(sizes[name], 32), 32) if name in sizes else None
    if axis:
        return None
    if name in _CONSTANTS:
        return b.const(_CONSTANTS[name], 32), 32
    if name in _CLOCKS:
        return b.resize(_clock(b), 64, _CLOCKS[name]), _CLOCKS[name]
    if name in _UPPER_CLOCKS:
        return b.resize(b.binary("lshr", _clock(b), 32, "i64"), 64, 32), 32
    if name == "is_explicit_cluster":
        return b.const(0, 1), 1
    if name == "nwarpid":
        return b.const((thread.memory.threads + 31) // 32, 32), 32
    if name == "dynamic_smem_size":
        return b.const(shared.size - shared.static_size, 32), 32
    if name in ("total_smem_size", "aggr_smem_size"):
        return b.const(shared.size, 32), 32
    if name in ("laneid", "warpid") or name.startswith("lanemask_"):
        x, y, z = place
        rows = b.binary("add", b.binary("mul", z, block[1]), y)
        linear = b.binary("mul", rows, block[0])
        linear = b.binary("add", linear, x)
        if name == "warpid":
            return b.binary("lshr", linear, 5), 32
        lane = b.binary("and", linear, 31)
        mask = lane if name == "laneid" else _lane_mask(b, name[9:], lane)
        return None if mask is None else (mask, 32)
    return None


def _clock(b: Builder) -> str:
    # x86-64 has the first counter and aarch64 one of them; where one is missing LLVM gives zero.
    cycles = b.call_intrinsic("llvm.readcyclecounter", [], "i64")
    steady = b.call_intrinsic("llvm.readsteadycounter", [], "i64")
    return b.binary("add", cycles, steady, "i64")


def _lane_mask(b: Builder, kind: str, lane: str) -> str | None:
    equal = b.binary("shl", 1, lane)
    below = b.binary("sub", equal, 1)
    to_lane = b.binary("or", below, equal)
    masks = {"eq": equal, "lt": below, "le": to_lane}
    if kind in ("gt", "ge"):
        inverted = to_lane if kind == "gt" else below
        return b.binary("xor", inverted, -1)
    return masks.get(kind)
