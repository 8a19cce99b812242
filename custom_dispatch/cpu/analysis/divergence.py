"""Where the lanes of a warp go apart and where they meet again.

Lanes that take different ways at a branch run one after another: always those that are at the
earliest block, while the others wait where they are. Lanes so meet again at the branch's immediate
post-dominator at the latest, if the blocks between are numbered below it, as they are in what nvcc
writes. PTX promises no order (PTX ISA 9.0, section 3.1); this one is what a GPU without independent
thread scheduling would do.

Most branches only have some lanes pass over a few blocks, as `if` without `else` does. While the
others run these, it need not be noted who waits: those that were active before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from custom_dispatch.cpu.analysis.control_flow import Graph
from custom_dispatch.cpu.analysis.suspension import is_barrier
from custom_dispatch.reachable import reachable


@dataclass(frozen=True, slots=True)
class Divergence:
    """What follows from the branches whose lanes may go different ways."""

    waiting: tuple[frozenset[int], ...] = ()
    """For each block, the blocks at which lanes may wait while it runs."""
    blended: tuple[frozenset[str], ...] = ()
    """For each block, the registers that lanes waiting meanwhile may still read: what the block
    writes must leave their lanes alone."""
    stops: frozenset[int] = frozenset()
    """The blocks at which lanes may wait."""
    together: frozenset[int] = frozenset()
    """The blocks that all lanes run together that have not ended."""
    detours: Mapping[int, int] = field(default_factory=dict)
    """By the block whose branch some lanes pass the following blocks with, the block where they
    wait for the others: those come there and nowhere else, and wait at no barrier before."""


def exit_blocks(graph: Graph) -> frozenset[int]:
    """The blocks that do nothing but end the thread."""
    return frozenset(
        index
        for index, block in enumerate(graph.blocks)
        if not block.successors
        and len(block.instructions) <= 1
        and (block.branch is not None or not block.instructions)
    )


def _successors(graph: Graph, exits: frozenset[int]) -> list[tuple[int, ...]]:
    """Where lanes go from each block, each place once, in order.

    Lanes that end there and then are gone, whatever the others do: their way is left out, unless
    without it the block had no way to the end.
    """
    every = [tuple(sorted(set(block.successors))) for block in graph.blocks]
    kept = [tuple(s for s in found if s not in exits) or found for found in every]
    finite = more = {index for index, found in enumerate(kept) if not found}
    while more:
        more = {i for i, found in enumerate(kept) if i not in finite and finite & set(found)}
        finite = finite | more
    return [found if i in finite else every[i] for i, found in enumerate(kept)]


def find_divergence(
    graph: Graph, live: Mapping[int, frozenset[str]], divergent: Iterable[int]
) -> Divergence | None:
    """What diverging at some branches means for every block.

    - `live`: the registers that are live where a block starts.
    - `divergent`: the blocks whose branches lanes may take differently.

    Returns: None where lanes could pass the block at which they are to meet, because of the order
    in which the blocks are written.
    """
    count = len(graph.blocks)
    exits = exit_blocks(graph)
    successors = _successors(graph, exits)
    meeting = _post_dominators(successors)
    waiting: list[set[int]] = [set() for _ in range(count)]
    blended: list[set[str]] = [set() for _ in range(count)]
    stops: set[int] = set()
    regions: list[set[int]] = []
    detours = _detours(graph, exits, sorted(divergent))
    for index in sorted(divergent):
        targets = successors[index]
        if len(targets) < 2:
            continue
        meet = meeting[index]
        ways = [_reachable(successors, target, meet) for target in targets]
        region = set().union(*ways)
        if meet is None or any(block >= meet for block in region):
            return None
        regions.append(region)
        for way, blocks in enumerate(ways):
            others = set().union(*(w for i, w in enumerate(ways) if i != way))
            if meet < count:
                others.add(meet)
            needed = set[str]().union(*(live[other] for other in others))
            for block in blocks:
                blended[block] |= needed
        if index in detours:
            continue
        stops.update(targets)
        for block in region | {index}:
            waiting[block] |= region | {meet}
    _add_stops(successors, waiting, stops)
    return Divergence(
        tuple(frozenset(stops & blocks) for blocks in waiting),
        tuple(frozenset(names) for names in blended),
        frozenset(stops),
        frozenset(range(count)).difference(*regions),
        detours,
    )


def _detours(graph: Graph, exits: frozenset[int], divergent: Sequence[int]) -> dict[int, int]:
    blocks, before = graph.blocks, _predecessors(graph)
    found: dict[int, int] = {}

    def stays(block: int, start: int, meet: int) -> bool:
        """Whether lanes come to a block from the start, go to where they meet, and are together."""
        after = blocks[block].successors
        return (
            bool(after)
            and start < min(after)
            and max(after) <= meet
            and all(start <= other < meet for other in before[block])
            and (block not in divergent or found.get(block, meet + 1) <= meet)
            and not any(map(is_barrier, blocks[block].instructions))
        )

    for index in reversed(divergent):  # inner ones first
        following, meet = index + 1, max(blocks[index].successors)
        if (
            sorted(blocks[index].successors) == [following, meet]
            and meet not in exits
            and all(stays(block, index, meet) for block in range(following, meet))
        ):
            found[index] = meet
    return found


def _predecessors(graph: Graph) -> list[list[int]]:
    """The blocks that lead to each."""
    before: list[list[int]] = [[] for _ in graph.blocks]
    for index, block in enumerate(graph.blocks):
        for target in block.successors:
            before[target].append(index)
    return before


def blocks_from(graph: Graph, start: int) -> set[int]:
    """The blocks that a thread may come to from the start of one, that one included."""
    return _reachable([block.successors for block in graph.blocks], start, None)


def loop_through(graph: Graph, index: int) -> set[int]:
    """The blocks of all loops that a block is part of."""
    leads_here = _reachable([tuple(found) for found in _predecessors(graph)], index, None)
    ways = [blocks_from(graph, target) for target in graph.blocks[index].successors]
    return leads_here & set().union(*ways) if ways else set()


def _add_stops(successors: list[tuple[int, ...]], waiting: list[set[int]], stops: set[int]) -> None:
    """Lanes also wait where they would pass others."""
    known = -1
    while known < len(stops):
        known = len(stops)
        for block, targets in enumerate(successors):
            for target in targets:
                if any(block < s < target for s in stops & waiting[block]):
                    stops.add(target)


def _reachable(successors: list[tuple[int, ...]], start: int, end: int | None) -> set[int]:
    found = reachable([start], lambda block: () if block == end else successors[block])
    return {block for block in found if block != end}


def _post_dominators(successors: list[tuple[int, ...]]) -> list[int | None]:
    """Each block's immediate post-dominator; the number of blocks stands for the end.

    None where a thread may never end. Sets are kept as bits of an integer.
    """
    count = len(successors)
    everything = (1 << (count + 1)) - 1
    after = [everything] * count + [1 << count]
    before: list[int] = []
    while after != before:
        before = list(after)
        for index in range(count - 1, -1, -1):
            common = everything
            for target in successors[index] or (count,):
                common &= after[target]
            after[index] = common | 1 << index
    # The nearest one has all the others behind it.
    blocks = {later: index for index, later in reversed(list(enumerate(after)))}
    return [blocks.get(after[index] & ~(1 << index)) for index in range(count)]
