"""One warp as a function of the LLVM dialect.

The function runs 32 threads at once (PTX ISA 9.0, section 3.1): an instruction is an operation on
what its lanes hold. Of the lanes that go different ways at a branch, those at the earliest block
run first, and the others wait there where they went (`custom_dispatch.cpu.divergence`). A kernel
that cannot be run so is run thread by thread (`custom_dispatch.cpu.coroutine`).

What lanes hold depends on where they go, and the other way round. So the kernel is lowered again
and again, with all registers narrow, all branches common and all blocks but the first out of reach
at first, until nothing has to be widened.
"""

from __future__ import annotations

from custom_dispatch.cpu.block_memory import BlockMemory
from custom_dispatch.cpu.divergence import (
    Divergence,
    exit_blocks,
    find_divergence,
    loop_through,
    reachable,
)
from custom_dispatch.cpu.graph import Graph, opcode_base
from custom_dispatch.cpu.lane_loop import NoWarpFormError
from custom_dispatch.cpu.lane_values import LANES, Form
from custom_dispatch.cpu.liveness import (
    live_after,
    live_before,
    local_registers,
    registers_of,
    written_once,
)
from custom_dispatch.cpu.spins import asks_memory
from custom_dispatch.cpu.suspension import is_barrier
from custom_dispatch.cpu.thread_function import ThreadFunction
from custom_dispatch.cpu.warp_pass import WarpPass
from custom_dispatch.cpu.warp_plan import WarpPlan

_MAX_PASSES = 40


def warp_function(thread: ThreadFunction, memory: BlockMemory) -> list[str]:
    """The lines of ``@symbol.warp`` and of what it calls; sets the size of a state in `memory`.

    Parameters
    ----------
    thread
        The kernel.
    memory
        The block's memory.

    Raises
    ------
    NoWarpFormError
        The kernel has to be run thread by thread.
    UnsupportedInstructionError, PtxError
        As `ThreadFunction.lower` says.
    """
    graph = thread.graph
    before = live_before(graph)
    live, after = dict(enumerate(before)), live_after(graph, is_barrier, before)
    kept = frozenset(name for _, names in after.values() for name in names)
    local, lasting = local_registers(graph, is_barrier), kept & written_once(graph)
    exits = exit_blocks(graph)
    forms: dict[str, Form] = {}
    seen: dict[int, object] = {}
    named = [registers_of(block.instructions) for block in graph.blocks]
    registers = tuple(tuple(r.name for r in found if r.name not in local) for found in named)
    divergent: frozenset[int] = frozenset()
    reached = frozenset({0})
    final = False
    for _ in range(_MAX_PASSES):
        divergence = find_divergence(graph, live, divergent)
        if divergence is None or _may_spin(graph, divergent):
            raise NoWarpFormError
        whole = _whole_blocks(graph, divergence, divergent, exits)
        run = WarpPass(
            WarpPlan(
                thread,
                memory,
                forms,
                seen,
                registers,
                local,
                lasting,
                after,
                divergent,
                divergence,
                exits,
                frozenset() if memory.threads % LANES else whole,
                reached,
                final,
            )
        )
        lines = run.lines()
        settled = not run.frame.changed and run.divergent <= divergent and run.reached <= reached
        if settled and final:
            thread.used_globals |= run.frame.used_globals
            memory.state_bytes = run.waits.state_bytes
            # What is called comes first: IREE's ResolveWorkgroupCountHints keeps a reference into
            # a table that grows when it meets a function by a call.
            called = run.frame.access.functions.values()
            return [*(line for text in called for line in text), *lines]
        divergent |= run.divergent
        reached |= run.reached
        final = settled or final
    raise NoWarpFormError


def _may_spin(graph: Graph, divergent: frozenset[int]) -> bool:
    """Whether lanes may stay in a loop until others, which wait for them behind it, go on.

    So they would at a lock that is taken in a loop. On a GPU since Volta, and thread by thread,
    the others go on.
    """
    asks = {
        index
        for index, block in enumerate(graph.blocks)
        if any(asks_memory(instruction) for instruction in block.instructions)
    }
    return bool(asks) and any(asks & loop_through(graph, index) for index in divergent)


def _whole_blocks(
    graph: Graph, divergence: Divergence, divergent: frozenset[int], exits: frozenset[int]
) -> frozenset[int]:
    """The blocks that all lanes run together, none of them having ended before."""
    fewer: set[int] = set()
    for index in divergent:
        branch, successors = graph.blocks[index].branch, graph.blocks[index].successors
        ends = branch is not None and opcode_base(branch) in ("ret", "exit")
        if ends or exits & set(successors):
            fewer = fewer.union(*(reachable(graph, target) for target in successors))
    return divergence.together - fewer
