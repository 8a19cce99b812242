"""Registers that tell a thread where it is (PTX ISA 9.0, chapter 10, "Special Registers")."""

from __future__ import annotations

from dataclasses import dataclass

from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.threads.block_memory import BlockMemory
from custom_dispatch.ptx import SpecialRegister

_AXES = {"x": 0, "y": 1, "z": 2}
# A block is a cluster of its own, on the one multiprocessor there is.
_CONSTANTS = {"smid": 0, "nsmid": 1, "gridid": 0, "cluster_ctarank": 0, "cluster_nctarank": 1}
_CLOCKS = {"clock": 32, "clock64": 64, "globaltimer": 64, "globaltimer_lo": 32}
_UPPER_CLOCKS = ("clock_hi", "globaltimer_hi")


@dataclass(frozen=True, slots=True)
class Ids:
    """The values that tell a thread where it is, each (x, y, z) of type i32."""

    thread: tuple[str, str, str]
    block: tuple[str, str, str]
    grid: tuple[str, str, str]


def special_register(
    b: Builder, kernel: CpuKernel, ids: Ids, memory: BlockMemory, register: SpecialRegister
) -> tuple[str, int] | None:
    """The value of a special register and its width, or None for one without meaning here.

    The clocks are the CPU's counter: they go up, in no particular unit.
    """
    name, _, axis = register.name[1:].partition(".")
    block = kernel.block
    if axis in _AXES:
        index = _AXES[axis]
        values = {"tid": ids.thread, "ctaid": ids.block, "nctaid": ids.grid}
        values |= {"clusterid": ids.block, "nclusterid": ids.grid}
        if name in values:
            return values[name][index], 32
        sizes = {"ntid": block[index], "cluster_ctaid": 0, "cluster_nctaid": 1}
        return (b.const(sizes[name], 32), 32) if name in sizes else None
    if axis:
        return None
    if name in _CONSTANTS:
        return b.const(_CONSTANTS[name], 32), 32
    if name in _CLOCKS:
        return b.resize(_clock(b), 64, _CLOCKS[name]), _CLOCKS[name]
    if name in _UPPER_CLOCKS:
        return b.resize(b.binary("lshr", _clock(b), b.const(32, 64), "i64"), 64, 32), 32
    if name == "is_explicit_cluster":
        return b.const(0, 1), 1
    if name == "nwarpid":
        return b.const((memory.threads + 31) // 32, 32), 32
    if name == "dynamic_smem_size":
        return b.const(memory.shared.size - memory.shared.static_size, 32), 32
    if name in ("total_smem_size", "aggr_smem_size"):
        return b.const(memory.shared.size, 32), 32
    if name in ("laneid", "warpid") or name.startswith("lanemask_"):
        x, y, z = ids.thread
        rows = b.binary("add", b.binary("mul", z, b.const(block[1], 32), "i32"), y, "i32")
        linear = b.binary("mul", rows, b.const(block[0], 32), "i32")
        linear = b.binary("add", linear, x, "i32")
        if name == "warpid":
            return b.binary("lshr", linear, b.const(5, 32), "i32"), 32
        lane = b.binary("and", linear, b.const(31, 32), "i32")
        mask = lane if name == "laneid" else _lane_mask(b, name[9:], lane)
        return None if mask is None else (mask, 32)
    return None


def _clock(b: Builder) -> str:
    # x86-64 has the first counter and aarch64 one of them; where one is missing LLVM gives zero.
    cycles = b.call_intrinsic("llvm.readcyclecounter", [], [], "i64")
    steady = b.call_intrinsic("llvm.readsteadycounter", [], [], "i64")
    return b.binary("add", cycles, steady, "i64")


def _lane_mask(b: Builder, kind: str, lane: str) -> str | None:
    equal = b.binary("shl", b.const(1, 32), lane, "i32")
    below = b.binary("sub", equal, b.const(1, 32), "i32")
    to_lane = b.binary("or", below, equal, "i32")
    masks = {"eq": equal, "lt": below, "le": to_lane}
    if kind in ("gt", "ge"):
        inverted = to_lane if kind == "gt" else below
        return b.binary("xor", inverted, b.const(-1, 32), "i32")
    return masks.get(kind)
