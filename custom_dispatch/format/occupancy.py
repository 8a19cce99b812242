"""How many blocks of a kernel an SM holds at once.

Limits are in `occupancy.toml`; how registers and shared memory are handed out is that of NVIDIA's
own calculator (`cuda_occupancy.h` of CUDA 13.0, which a test compares this with).
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from custom_dispatch.dataclass import dataclass
from custom_dispatch.kernel.geometry import Block, max_block_registers

_WARP = 32
_PARTITIONS = 4
"""An SM's registers lie in four parts, and a warp takes them from one."""
_WARP_REGISTERS = 256
"""Registers are handed to a warp in multiples of this."""
_RESERVED_SHARED_BYTES = 1024
"""What CUDA keeps of each block's shared memory, from compute capability 8.0 on."""


@cache
def processors() -> Mapping[str, Mapping[str, int]]:
    """What SMs hold, by compute capability."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How full a kernel can make an SM."""

    blocks: int
    """Blocks on an SM at once; 0 where not even one fits."""
    warps: int
    """Their warps of 32 threads."""
    max_warps: int
    """What the SM could hold."""
    limited_by: str
    """"registers", "shared memory", "warps" or "blocks"."""

    @property
    def fraction(self) -> float:
        """Warps that are there, of those that could be."""
        return self.warps / self.max_warps

    def __str__(self) -> str:
        return f"{round(100 * self.fraction)}% ({self.limited_by})"


def occupancy(
    compute_capability: int, block: Block, registers: int, shared_bytes: int
) -> Occupancy | None:
    """The occupancy that follows from what a kernel takes; None for GPUs whose limits are unknown.

    - `registers`: for each thread.
    - `shared_bytes`: for each block, static and dynamic.
    """
    sm = processors().get(str(compute_capability))
    if sm is None:
        return None
    warps = -(-(block[0] * block[1] * block[2]) // _WARP)
    limits = {
        "warps": sm["warps"] // warps,
        "blocks": sm["blocks"],
        "registers": _by_registers(compute_capability, warps, registers),
        "shared memory": _by_shared_memory(compute_capability, sm, shared_bytes),
    }
    limited_by = min(limits, key=lambda name: limits[name])
    blocks = limits[limited_by]
    return Occupancy(blocks, blocks * warps, sm["warps"], limited_by)


def _by_registers(compute_capability: int, warps: int, registers: int) -> int:
    total = max_block_registers(compute_capability)
    for_a_warp = max(_up(registers * _WARP, _WARP_REGISTERS), _WARP_REGISTERS)
    if for_a_warp * _up(warps, _PARTITIONS) > total:
        return 0
    return total // _PARTITIONS // for_a_warp * _PARTITIONS // warps


def _by_shared_memory(compute_capability: int, sm: Mapping[str, int], shared_bytes: int) -> int:
    new = compute_capability >= 80
    taken = _up(shared_bytes + new * _RESERVED_SHARED_BYTES, 128 if new else 256)
    return sm["shared_kib"] * 1024 // taken if taken else sm["blocks"]


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
