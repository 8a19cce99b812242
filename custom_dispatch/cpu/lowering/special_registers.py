"""Registers that tell a thread where it is (PTX ISA 9.0, chapter 10, "Special Registers")."""

from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.thread_code import Place, ThreadCode
from custom_dispatch.ptx import SpecialRegister

_AXES = {"x": 0, "y": 1, "z": 2}
_PLACES = {"ctaid": "ctaid", "nctaid": "nctaid", "clusterid": "ctaid", "nclusterid": "nctaid"}
"""By register, what `PLACE` calls it."""
# A block is a cluster of its own, on the one multiprocessor there is.
_CONSTANTS = {"smid": 0, "nsmid": 1, "gridid": 0, "cluster_ctarank": 0, "cluster_nctarank": 1}
_CLOCKS = {"clock": 32, "clock64": 64, "globaltimer": 64, "globaltimer_lo": 32}
_UPPER_CLOCKS = ("clock_hi", "globaltimer_hi")


def special_register(
    b: Builder, thread: ThreadCode, place: Place, register: SpecialRegister
) -> SsaValue | None:
    """The value of a special register, or None for one without meaning here.

    The clocks are the CPU's counter: they go up, in no particular unit.
    """
    name, _, axis = register.name[1:].partition(".")
    block, shared = thread.kernel.block, thread.memory.shared
    if axis in _AXES:
        index = _AXES[axis]
        if name == "tid":
            return b.named(place[index], "i32")
        if name in _PLACES:
            return b.named(f"%{_PLACES[name]}_{axis}", "i32")
        sizes = {"ntid": block[index], "cluster_ctaid": 0, "cluster_nctaid": 1}
        return b.const(sizes[name], 32) if name in sizes else None
    if axis:
        return None
    constants = _CONSTANTS | {
        "nwarpid": (thread.memory.threads + 31) // 32,
        "dynamic_smem_size": shared.size - shared.static_size,
        **dict.fromkeys(("total_smem_size", "aggr_smem_size"), shared.size),
    }
    if name in constants:
        return b.const(constants[name], 32)
    if name in _CLOCKS:
        return _clock(b).resize(_CLOCKS[name])
    if name in _UPPER_CLOCKS:
        return (_clock(b) >> 32).resize(32)
    if name == "is_explicit_cluster":
        return b.const(0, 1)
    if name in ("laneid", "warpid") or name.startswith("lanemask_"):
        x, y, z = (b.named(axis, "i32") for axis in place)
        linear = (z * block[1] + y) * block[0] + x
        if name == "warpid":
            return linear >> 5
        lane = linear & 31
        return lane if name == "laneid" else _lane_mask(name[9:], lane)
    return None


def _clock(b: Builder) -> SsaValue:
    # x86-64 has the first counter and aarch64 one of them; where one is missing LLVM gives zero.
    cycles = b.call_intrinsic("llvm.readcyclecounter", [], "i64")
    return cycles + b.call_intrinsic("llvm.readsteadycounter", [], "i64")


def _lane_mask(kind: str, lane: SsaValue) -> SsaValue | None:
    equal = 1 << lane
    below = equal - 1
    to_lane = below | equal
    if kind in ("gt", "ge"):
        return ~(to_lane if kind == "gt" else below)
    return {"eq": equal, "lt": below, "le": to_lane}.get(kind)
