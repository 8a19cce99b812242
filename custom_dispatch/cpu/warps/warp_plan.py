"""What is known of a kernel when its warps' function is written."""

from dataclasses import dataclass, field

from custom_dispatch.cpu.analysis.divergence import Divergence
from custom_dispatch.cpu.analysis.liveness import Live
from custom_dispatch.cpu.threads.thread_code import ThreadCode
from custom_dispatch.cpu.warps.lane_values import Form


@dataclass(frozen=True, slots=True)
class WarpPlan:
    """What a pass over a kernel's instructions goes by."""

    thread: ThreadCode
    """The kernel."""
    registers: tuple[tuple[str, ...], ...]
    """By block, the registers that it names and others may too."""
    local: frozenset[str]
    """Registers that only one stretch of a block knows."""
    lasting: frozenset[str]
    """Registers written once and read after barriers."""
    live_after: Live
    """What is live after barriers."""
    exits: frozenset[int]
    """The blocks that do nothing but end a thread."""
    forms: dict[str, Form] = field(default_factory=dict)
    """The registers' forms by name; a pass widens them."""
    seen: dict[int, object] = field(default_factory=dict)
    """By block, all that the last pass over it depended on; a pass keeps it up to date."""
    divergent: frozenset[int] = frozenset()
    """The blocks at whose ends lanes may go apart, as far as known."""
    divergence: Divergence = field(default_factory=Divergence)
    """What follows from that."""
    whole: frozenset[int] = frozenset()
    """The blocks that all 32 lanes run together."""
    reached: frozenset[int] = frozenset({0})
    """The blocks that lanes may come to, as far as known."""
    final: bool = False
    """Whether all this is known for good, and the pass writes the function."""
