"""What is known of a kernel when its warps' function is written."""

from __future__ import annotations

from dataclasses import dataclass

from custom_dispatch.cpu.analysis.divergence import Divergence
from custom_dispatch.cpu.analysis.liveness import Live
from custom_dispatch.cpu.threads.thread_code import ThreadCode
from custom_dispatch.cpu.warps.lane_values import Form


@dataclass(frozen=True, slots=True)
class WarpPlan:
    """What a pass over a kernel's instructions goes by.

    Attributes
    ----------
    thread
        The kernel.
    forms
        The registers' forms by name; a pass widens them.
    seen
        By block, all that the last pass over it depended on; a pass keeps it up to date.
    registers
        By block, the registers that it names and others may too.
    local
        Registers that only one stretch of a block knows.
    lasting
        Registers written once and read after barriers.
    live_after
        By the ``id`` of a barrier: itself and the registers live after it.
    divergent
        The blocks at whose ends lanes may go apart, as far as known.
    divergence
        What follows from that.
    exits
        The blocks that do nothing but end a thread.
    whole
        The blocks that all 32 lanes run together.
    reached
        The blocks that lanes may come to, as far as known.
    final
        Whether all this is known for good, and the pass writes the function.
    """

    thread: ThreadCode
    forms: dict[str, Form]
    seen: dict[int, object]
    registers: tuple[tuple[str, ...], ...]
    local: frozenset[str]
    lasting: frozenset[str]
    live_after: Live
    divergent: frozenset[int]
    divergence: Divergence
    exits: frozenset[int]
    whole: frozenset[int]
    reached: frozenset[int]
    final: bool
