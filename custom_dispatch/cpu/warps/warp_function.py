"""One warp as a function of the LLVM dialect.

The function runs 32 threads at once (PTX ISA 9.0, section 3.1): an instruction is an operation on
what its lanes hold. Of the lanes that go different ways at a branch, those at the earliest block
run first, and the others wait there where they went (`analysis/divergence.py`). A kernel
that cannot be run so is run thread by thread (`threads/coroutine.py`).

What lanes hold depends on where they go, and the other way round. So the kernel is lowered again
and again, with all registers narrow, all branches common and all blocks but the first out of reach
at first, until nothing has to be widened.
"""

from collections.abc import Sequence
from dataclasses import replace

from custom_dispatch.cpu.analysis import liveness
from custom_dispatch.cpu.analysis.control_flow import Graph
from custom_dispatch.cpu.analysis.divergence import (
    Divergence,
    blocks_from,
    exit_blocks,
    find_divergence,
    loop_through,
)
from custom_dispatch.cpu.analysis.spins import asks_memory
from custom_dispatch.cpu.analysis.suspension import is_barrier
from custom_dispatch.cpu.threads.thread_code import ThreadCode
from custom_dispatch.cpu.warps.lane_loop import NoWarpFormError
from custom_dispatch.cpu.warps.lane_values import LANES
from custom_dispatch.cpu.warps.warp_pass import WarpPass
from custom_dispatch.cpu.warps.warp_plan import WarpPlan

_MAX_PASSES = 40


def warp_function(thread: ThreadCode) -> list[str]:
    """The lines of ``@symbol.warp`` and of what it calls; sets the size of a state in the
    block's memory.
    """
    live = liveness.live_before(thread.graph)
    plan = _first_plan(thread, live)
    for _ in range(_MAX_PASSES):
        run = WarpPass(plan)
        lines = run.lines()
        settled = (
            not run.frame.changed
            and run.branches.divergent <= plan.divergent
            and run.branches.reached <= plan.reached
        )
        if settled and plan.final:
            thread.memory.state_bytes = run.waits.state_bytes
            # What is called comes first: IREE's ResolveWorkgroupCountHints keeps a reference into
            # a table that grows when it meets a function by a call.
            called = run.b.one.functions.values()
            return [*(line for text in called for line in text), *lines]
        plan = replace(
            _with_divergent(plan, live, plan.divergent | run.branches.divergent),
            reached=plan.reached | run.branches.reached,
            final=settled or plan.final,
        )
    raise NoWarpFormError


def _first_plan(thread: ThreadCode, live: Sequence[frozenset[str]]) -> WarpPlan:
    """What is known before the first pass: no branch whose lanes go apart."""
    graph = thread.graph
    after = liveness.live_after(graph, is_barrier, live)
    kept = frozenset[str]().union(*after.values())
    local = liveness.local_registers(graph, is_barrier)
    named = [liveness.registers_of(block.instructions) for block in graph.blocks]
    registers = tuple(tuple(r.name for r in found if r.name not in local) for found in named)
    lasting = kept & liveness.written_once(graph)
    plan = WarpPlan(thread, registers, local, lasting, after, exit_blocks(graph))
    return _with_divergent(plan, live, frozenset())


def _with_divergent(
    plan: WarpPlan, live: Sequence[frozenset[str]], divergent: frozenset[int]
) -> WarpPlan:
    """The same plan where lanes may go apart at the ends of some blocks."""
    graph = plan.thread.graph
    divergence = find_divergence(graph, dict(enumerate(live)), divergent)
    if divergence is None or _may_spin(graph, divergent):
        raise NoWarpFormError
    whole = _whole_blocks(graph, divergence, divergent, plan.exits)
    return replace(
        plan,
        divergent=divergent,
        divergence=divergence,
        whole=frozenset() if plan.thread.memory.threads % LANES else whole,
    )


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
        ends = branch is not None and branch.parts[0] in ("ret", "exit")
        if ends or exits & set(successors):
            fewer = fewer.union(*(blocks_from(graph, target) for target in successors))
    return divergence.together - fewer
