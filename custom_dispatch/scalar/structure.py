"""Branches as choices between values, and loops as `scf.while`.

Every block of a function is computed, whether a thread would come to it or not: nothing that it
does is seen but the registers that it writes, and of these those are taken whose way was gone. The
loops are the exception: one that no thread would come to is not begun.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from custom_dispatch.cpu.analysis.control_flow import Graph
from custom_dispatch.cpu.analysis.liveness import live_before, written_registers
from custom_dispatch.cpu.lowering.frame import CARRY
from custom_dispatch.cpu.text.builder import int_type
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.reachable import reachable
from custom_dispatch.scalar.arith_builder import ArithBuilder
from custom_dispatch.scalar.scalar_frame import ScalarFrame

_EXIT = "%exit"
"""What a loop carries besides registers: by which of several ways it ends."""


@dataclass(frozen=True, slots=True)
class _Arrival:
    """Control coming to a block."""

    condition: SsaValue | None
    """When it does, after the function, or the turn of the innermost loop, has begun; None where it
    always does."""
    values: Mapping[str, str]
    """What registers hold then."""


_Arrivals = dict[int, list[_Arrival]]
"""By the block that control comes to."""


class Structure:
    """Writes a function's blocks.

    `results`: the registers that are wanted at its end.
    """

    def __init__(
        self, frame: ScalarFrame, b: ArithBuilder, graph: Graph, results: Sequence[str]
    ) -> None:
        self._frame, self._b, self._graph = frame, b, graph
        end = len(graph.blocks)
        self._end = end
        kept = {*results, CARRY}
        self._live = [live | kept for live in (*live_before(graph), frozenset[str]())]
        self._successors = [
            block.successors
            if block.branch is not None and block.branch.parts[0] in ("bra", "brx")
            else (*block.successors, *([] if block.falls_through and not block.branch else [end]))
            for block in graph.blocks
        ]
        self._changed = [
            {CARRY if "cc" in each.parts else "" for each in block.instructions}.union(
                *map(written_registers, block.instructions)
            )
            for block in graph.blocks
        ]
        frame.declare(_EXIT, 32)

    def write(self, start: Mapping[str, str]) -> Mapping[str, str]:
        """Write all of it, from what registers hold at first; return what they hold at its end."""
        blocks = range(len(self._graph.blocks))
        left = self._region(blocks, 0, _Arrival(None, start), is_turn=False)
        return self._merged(self._end, left.get(self._end, [])).values

    def _region(
        self, blocks: Iterable[int], first: int, start: _Arrival, *, is_turn: bool = True
    ) -> _Arrivals:
        """Write blocks through which control goes from the first one; return how it leaves them.

        `is_turn`: whether it leaves them also where it comes back to the first.
        """
        inside = {*blocks}
        into = inside - {first} if is_turn else inside

        def following(block: int) -> list[int]:
            return [each for each in self._successors[block] if each in into]

        after = {block: frozenset(reachable([block], following)) for block in inside}
        arriving: _Arrivals = {first: [start]}
        leaving: _Arrivals = {}
        # What is reached from a block is more than what is reached from those after it, and the
        # same for those of one loop.
        for reached in sorted({*after.values()}, key=len, reverse=True):
            members = [block for block in reached if after[block] == reached]
            heads = [block for block in members if block in arriving]
            if not heads:
                continue  # no control comes here
            (head, *others) = heads
            self._refuse_if(bool(others), head, "a loop that is entered at several places")
            arrival = self._merged(head, arriving[head])
            is_loop = len(members) > 1 or head in following(head)
            left = (self._loop if is_loop else self._block)(members, head, arrival)
            for target, arrivals in left.items():
                (arriving if target in into else leaving).setdefault(target, []).extend(arrivals)
        return leaving

    def _refuse_if(self, condition: bool, block: int, reason: str) -> None:
        if condition:
            self._frame.current = self._graph.blocks[block].instructions[-1]
            raise self._frame.unsupported(f"it is in {reason}")

    def _block(self, _: Sequence[int], index: int, arrival: _Arrival) -> _Arrivals:
        """Write a block; return where control goes."""
        frame, block = self._frame, self._graph.blocks[index]
        frame.values = dict(arrival.values)
        branch = block.branch
        for instruction in block.instructions:
            if instruction is not branch:
                frame.lower(instruction)
        frame.current = branch
        found: _Arrivals = {}
        rest = arrival.condition

        def leave(target: int, condition: SsaValue | None) -> None:
            found.setdefault(target, []).append(_Arrival(condition, frame.values))

        if branch is not None and branch.parts[0] == "brx":
            if branch.predicate is not None:
                raise frame.unsupported("with a predicate")
            selector = frame.integer(branch.operands[0], 32)
            *cases, last = block.successors
            for number, target in enumerate(cases):
                chosen = selector.cmp("eq", number)
                leave(target, _both(rest, chosen))
                rest = _both(rest, ~chosen)
            leave(last, rest)
            return found
        if branch is not None:
            taken = block.successors[0] if branch.parts[0] == "bra" else self._end
            if branch.predicate is None:
                leave(taken, rest)
                return found
            value = frame.read(branch.predicate.name)
            yes, no = (~value, value) if branch.predicate.negated else (value, ~value)
            leave(taken, _both(rest, yes))
            rest = _both(rest, no)
        leave(index + 1 if block.falls_through else self._end, rest)
        return found

    def _merged(
        self, target: int, arrivals: Sequence[_Arrival], names: Sequence[str] = ()
    ) -> _Arrival:
        """Control coming to a block by one of several ways, with the registers that live on.

        `names`: the registers, where they are others.
        """
        wanted = names or self._live[target]
        if len(arrivals) == 1:
            (only,) = arrivals
            values = {name: value for name, value in only.values.items() if name in wanted}
            return _Arrival(only.condition, values)
        frame = self._frame
        *others, last = range(len(arrivals))
        merged: dict[str, str] = {}
        for name in dict.fromkeys(name for each in arrivals for name in each.values):
            if name not in wanted:
                continue
            # Where a register was not written, it has no value, and any will do.
            found = [each.values.get(name, "") for each in arrivals]
            value = found[last] or next(filter(None, found))
            for i in reversed(others):
                if found[i]:
                    way = self._written(arrivals[i].condition)
                    value = frame.choose(way, found[i], value, frame.width(name))
            merged[name] = value
        return _Arrival(self._any([each.condition for each in arrivals]), merged)

    def _any(self, conditions: Sequence[SsaValue | None]) -> SsaValue | None:
        """Whether one of some conditions holds."""
        known = [each for each in conditions if each is not None]
        if len(known) < len(conditions):
            return None
        return reduce(or_, known) if known else self._b.const(0, 1)

    def _written(self, condition: SsaValue | None) -> SsaValue:
        return self._b.const(1, 1) if condition is None else condition

    def _loop(self, members: Sequence[int], head: int, arrival: _Arrival) -> _Arrivals:
        """Write a loop: turn by turn all of its blocks; return where control goes behind it."""
        frame, b = self._frame, self._b
        targets = sorted({t for m in members for t in self._successors[m]} - {*members})
        self._refuse_if(not targets, head, "a loop that never ends")
        live = self._live[head].union(*(self._live[target] for target in targets))
        changed = sorted(live & set[str]().union(*(self._changed[m] for m in members)))
        carried = [*changed, *([_EXIT] if len(targets) > 1 else [])]
        frame.values = dict(arrival.values)
        starts = [self._written(arrival.condition), *map(frame.read, carried)]
        types = ["i1", *(int_type(frame.width(name)) for name in carried)]
        given, turn = ([b.fresh() for _ in types] for _ in range(2))
        outside, b.lines = b.lines, []
        values = {**arrival.values, **dict(zip(carried, turn[1:], strict=True))}
        left = self._region(members, head, _Arrival(None, values))
        back = left.pop(head, [])
        for target, arrivals in left.items():
            way: str = b.const(targets.index(target), 32)
            left[target] = [_Arrival(e.condition, {**e.values, _EXIT: way}) for e in arrivals]
        ends = [each for arrivals in left.values() for each in arrivals]
        frame.values = dict(self._merged(head, [*back, *ends], carried).values)
        goes_on = self._written(self._any([each.condition for each in back]))
        yielded = [goes_on, *map(frame.read, carried)]
        body, b.lines = b.lines, outside
        whole = b.fresh()
        listed = ", ".join(types)
        b.lines += [
            f"    {whole}:{len(types)} = scf.while ("
            + ", ".join(f"{name} = {start}" for name, start in zip(given, starts, strict=True))
            + f") : ({listed}) -> ({listed}) {{",
            f"    scf.condition({given[0]}) {', '.join(given)} : {listed}",
            "    } do {",
            "    ^bb0(" + ", ".join(f"{n}: {t}" for n, t in zip(turn, types, strict=True)) + "):",
            *body,
            f"    scf.yield {', '.join(yielded)} : {listed}",
            "    }",
        ]
        after = {name: f"{whole}#{place}" for place, name in enumerate(carried, 1)}
        values = {**arrival.values, **{name: after[name] for name in changed}}
        found: _Arrivals = {}
        for number, target in enumerate(targets):
            condition = arrival.condition
            if _EXIT in after:
                taken = b.named(after[_EXIT], "i32").cmp("eq", number)
                condition = _both(condition, taken)
            found[target] = [_Arrival(condition, values)]
        return found


def _both(condition: SsaValue | None, other: SsaValue) -> SsaValue:
    return other if condition is None else condition & other
