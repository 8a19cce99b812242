"""Where a warp's lanes go at the end of a basic block.

While lanes wait, the bits of those that wait at a block lie in a variable of that block. Whenever
lanes would pass ones that wait at an earlier block, those go first.
"""

from custom_dispatch.cpu.analysis.control_flow import Block
from custom_dispatch.cpu.lowering.waits import STOPPED
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.warps.lane_frame import LaneFrame
from custom_dispatch.cpu.warps.lane_values import FULL
from custom_dispatch.cpu.warps.warp_plan import WarpPlan
from custom_dispatch.ptx import Instruction


class WarpBranches:
    """Writes the branches of a warp."""

    def __init__(self, plan: WarpPlan, frame: LaneFrame) -> None:
        self._plan = plan
        self._frame = frame
        self._b = frame.lanes
        self.divergent: set[int] = set()
        """The blocks at whose ends lanes were found to go apart."""
        self.reached = set(plan.reached)
        """The blocks that lanes were found to come to."""
        self.active, self.alive = self._b.one.variable("i32"), self._b.one.variable("i32")
        """Where the bits of the active lanes are, and of those that have not ended."""
        self._pending = {
            stop: self._b.one.variable("i32") for stop in sorted(plan.divergence.stops)
        }
        self._searches: dict[tuple[int, ...], str] = {}
        detours = sorted(plan.divergence.detours.items(), reverse=True)
        self._detours = {meet: start for start, meet in detours}
        """Where the outermost detour begins that ends at a block."""
        self._before: dict[int, str] = {}
        """The active lanes, as bits, where a detour begins."""

    def begin(self, index: int) -> None:
        """Begin a block, and activate the lanes that come to it."""
        b, one = self._b, self._b.one
        if index in self._pending:  # lanes that waited here go on together with those that come
            one.block(f"m{index}")
            active, waited = one.load(self.active), one.load(self._pending[index])
            one.store(0, self._pending[index])
            one.store(active | waited, self.active)
            one.branch(f"b{index}")
        one.block(f"b{index}")
        b.forget()
        if index in self._plan.whole:
            self._frame.activate(one.const(FULL, 32), whole=one.const(1, 1))
        else:
            self._frame.activate(one.load(self.active))
        self._frame.blended = self._plan.divergence.blended[index]

    def skip(self, index: int) -> None:
        """A block that no lane comes to."""
        one = self._b.one
        if index in self._pending:
            one.block(f"m{index}")
            one.branch(STOPPED)
        one.block(f"b{index}")
        one.branch(STOPPED)

    def leave(self, index: int, block: Block) -> None:
        """The branch at a block's end, or the way into the next."""
        branch = block.branch
        if index in self._plan.divergence.detours:
            self._before[index] = self._b.mask
        if branch is None:
            self.go(index, index + 1 if block.falls_through else None)
            return
        b, one, frame = self._b, self._b.one, self._frame
        base = branch.parts[0]
        following = index + 1 if block.falls_through else None
        if base in ("brx",):
            self._switch(index, block, branch)
            return
        taken = block.successors[0] if base == "bra" else None
        if branch.predicate is None:
            self.go(index, taken)
            return
        condition = frame.predicate(branch.predicate)
        known = b.of(condition).known
        if b.of(condition).is_uniform and known is not None:
            self.go(index, taken if known & 1 else following)
            return
        if b.of(condition).is_uniform:
            yes, no = b.fresh_label("taken"), b.fresh_label("passed")
            scalar = b.scalar(condition, "i1")
            one.cond_branch(scalar, yes, no)
            one.block(yes)
            self.go(index, taken)
            one.block(no)
            self.go(index, following)
            return
        self.divergent.add(index)
        there = frame.bits(condition)
        self._part(index, [(taken, there), (following, b.mask ^ there)])

    def _switch(self, index: int, block: Block, branch: Instruction) -> None:
        b, one, frame = self._b, self._b.one, self._frame
        if branch.predicate is not None:
            raise frame.unsupported("with a predicate")
        selector = frame.integer(branch.operands[0], 32)
        targets = block.successors
        if b.of(selector).is_uniform:
            labels = [b.fresh_label("case") for _ in targets]
            number = b.scalar(selector, "i32")
            cases = ", ".join(f"{case}: ^{label}" for case, label in enumerate(labels))
            one.line(f"llvm.switch {number} : i32, ^{labels[-1]} [{cases}]")
            for label, target in zip(labels, targets, strict=True):
                one.block(label)
                self.go(index, target)
            return
        self.divergent.add(index)
        ways: list[tuple[int | None, SsaValue]] = []
        left = b.mask
        for case, target in enumerate(targets[:-1]):
            chosen = frame.bits(selector.cmp("eq", case))
            ways.append((target, chosen))
            left = left ^ chosen
        ways.append((targets[-1], left))
        self._part(index, ways)

    def _ends(self, target: int | None) -> bool:
        return target is None or target in self._plan.exits

    def go(self, index: int, target: int | None) -> None:
        """All active lanes go one way."""
        one = self._b.one
        waiting = sorted(self._plan.divergence.waiting[index])
        if self._ends(target):
            self._end(self._b.mask)
            self._next(waiting)
            return
        assert target is not None  # noqa: S101 - `_ends` says so
        self.reached.add(target)
        for stop in waiting:
            if index < stop < target:
                self._let_pass(stop, target)
        start = self._detours.get(target, index)
        if self._plan.final and start < index < target:
            one.store(self._before[start], self.active)
        one.branch(self._label(target))

    def _end(self, lanes: SsaValue) -> None:
        """Some lanes have ended."""
        one = self._b.one
        one.store(one.load(self.alive) & ~lanes, self.alive)

    def _label(self, target: int) -> str:
        return f"m{target}" if target in self._pending else f"b{target}"

    def _let_pass(self, stop: int, target: int) -> None:
        """Lanes that wait at an earlier block go first; the active ones wait where they go."""
        b = self._b.one
        waits, on = b.fresh_label("waits"), b.fresh_label("on")
        b.cond_branch(b.load(self._pending[stop]).cmp("ne", 0), waits, on)
        b.block(waits)
        place = self._pending[target]
        b.store(b.load(place) | self._b.mask, place)
        b.store(0, self.active)
        b.branch(f"m{stop}")
        b.block(on)

    def _next(self, stops: list[int]) -> None:
        """No lane is active: the earliest of those that wait go on, or the warp has ended."""
        b = self._b.one
        b.store(0, self.active)
        for position, stop in enumerate(stops):
            # Where many lanes may wait, the same are looked for at many ends of blocks: once
            # written for all, or what is written would grow with the square of the blocks.
            rest = tuple(stops[position:])
            if rest in self._searches:
                b.branch(self._searches[rest])
                return
            search, other = b.fresh_label("search"), b.fresh_label("other")
            self._searches[rest] = search
            b.branch(search)
            b.block(search)
            b.cond_branch(b.load(self._pending[stop]).cmp("ne", 0), f"m{stop}", other)
            b.block(other)
        b.branch("exit")

    def _part(self, index: int, ways: list[tuple[int | None, SsaValue]]) -> None:
        """The active lanes go different ways."""
        one = self._b.one
        ending = [mask for target, mask in ways if self._ends(target)]
        going = [(target, mask) for target, mask in ways if not self._ends(target)]
        targets = sorted({target for target, _ in going if target is not None})
        self.reached.update(targets)
        if index not in self._plan.divergent:
            one.branch(STOPPED)  # found just now: the next pass knows it
            return
        if index in self._plan.divergence.detours:
            self._detour(index, next(mask for target, mask in going if target == index + 1))
            return
        waiting = sorted(self._plan.divergence.waiting[index])
        for mask in ending:
            self._end(mask)
        if not targets:
            self._next(waiting)
            return
        if len(targets) == 1:
            self._go_if_any(index, targets[0], [mask for _, mask in going])
            return
        for target, mask in going:
            assert target is not None  # noqa: S101 - `_ends` says so
            place = self._pending[target]
            one.store(one.load(place) | mask, place)
        self._next(sorted({*waiting, *targets}))

    def _detour(self, index: int, there: SsaValue) -> None:
        """Some lanes run the next blocks, if there are any; the others stay where they are."""
        b, one = self._b, self._b.one
        some, none = b.fresh_label("some"), b.fresh_label("none")
        one.cond_branch(there.cmp("ne", 0), some, none)
        one.block(some)
        one.store(there, self.active)
        one.branch(f"b{index + 1}")
        one.block(none)
        self.go(index, self._plan.divergence.detours[index])

    def _go_if_any(self, index: int, target: int, masks: list[SsaValue]) -> None:
        """Lanes that do not end go on, if there are any."""
        b = self._b.one
        left = masks[0]
        for mask in masks[1:]:
            left = left | mask
        some, none = b.fresh_label("some"), b.fresh_label("none")
        b.store(left, self.active)
        b.cond_branch(left.cmp("ne", 0), some, none)
        b.block(none)
        self._next(sorted(self._plan.divergence.waiting[index]))
        b.block(some)
        before = self._b.mask
        self._b.mask = left
        self.go(index, target)
        self._b.mask = before
