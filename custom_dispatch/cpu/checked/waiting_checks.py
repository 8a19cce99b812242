"""The checks of threads that wait: that those of a warp wait together, and none in vain.

Where threads can wait is a list of sites, in the order of the places that they go on from; a
thread's place is numbered from 1.
"""

from custom_dispatch.cpu.analysis.suspension import is_barrier
from custom_dispatch.cpu.checked.monitor import CONTEXT, call
from custom_dispatch.cpu.checked.sites import Site, Sites
from custom_dispatch.cpu.text.builder import Builder, Given
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.block_memory import BlockMemory
from custom_dispatch.ptx import Instruction


class WaitingChecks:
    """Where a kernel's threads wait, and what is wrong with it.

    - `sites`: those of the module, to which the places are added.
    """

    def __init__(self, memory: BlockMemory, sites: Sites) -> None:
        self._memory = memory
        self._sites = sites
        self.places: list[int] = []
        """The sites."""
        self._has_aligned = False
        self._has_exchanges = False

    def add(self, instruction: Instruction) -> None:
        """The thread can wait at an instruction; in the order of the places to go on from."""
        aligned = is_barrier(instruction) and (
            instruction.parts[0] == "bar" or "aligned" in instruction.parts
        )
        self._has_aligned |= aligned
        exchange = instruction.parts[0] in ("shfl", "vote")
        self._has_exchanges |= exchange
        kind = Site.ALIGNED * aligned | Site.EXCHANGE * exchange
        self.places.append(self._sites.add(instruction, kind=kind))

    def converged(self, b: Builder, free: Given = 0) -> None:
        """Report threads of a warp that have come to different barriers, and end the block.

        - `free`: the bits of the barriers that are complete; in lockstep, all wait at one.
        """
        if not self._has_aligned:
            return
        diverged = call(b, "diverged", CONTEXT, *self._waiting(b), free)
        on = b.fresh_label("converged")
        b.cond_branch(diverged.cmp("ne", 0), "ended", on)
        b.block(on)

    def absent(self, b: Builder, leader: str, place: SsaValue, absent: SsaValue) -> None:
        """Report a shuffle or vote of lanes that are not there; the bits of these are an i32."""
        if self._has_exchanges:
            call(b, "absent", CONTEXT, leader, place, absent)

    def deadlock(self, b: Builder) -> None:
        """Report threads that wait in vain: the first, and one that waits elsewhere."""
        call(b, "deadlock", CONTEXT, *self._waiting(b))

    def _waiting(self, b: Builder) -> list[Given]:
        """What threads do, by thread: where they go on, their status, and what they wait for."""
        memory, first = self._memory, b.const(0, 32)
        place = memory.place(b, first)
        if memory.lockstep:
            return [place, 0, 0]
        return [place, memory.status(b, first), memory.subject(b, first)]
