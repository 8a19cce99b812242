"""How a warp waits: for its own lanes at no cost, for the block's other warps by stopping.

Lanes that meet are at the same instruction already (`analysis/divergence.py`), so what they
show each other are lanes of vectors. At a barrier the warp stops as a whole: the registers live
there, and no others, are kept in the warp's state, and the scheduler goes on with another warp.
"""

from collections.abc import Iterable, Sequence

from custom_dispatch.cpu.analysis.liveness import Live, kept_across
from custom_dispatch.cpu.lowering.waits import STATE, StoppingWaits
from custom_dispatch.cpu.text.builder import POINTER
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.block_memory import AT_BARRIER, DONE, FINISHED
from custom_dispatch.cpu.warps.lane_frame import LaneFrame
from custom_dispatch.cpu.warps.lane_memory import each_lane, either
from custom_dispatch.cpu.warps.lane_names import NeedsLoopError, vector_of
from custom_dispatch.cpu.warps.lane_values import FULL, LANES, Value
from custom_dispatch.format.keys import Failure
from custom_dispatch.ptx import Operand

WARP_NUMBER = "%warp"


class WarpWaits(StoppingWaits):
    """What instruction lowerings use to make a warp wait.

    `cells`: places of the active lanes and of those that have not ended, as bits.
    """

    def __init__(self, frame: LaneFrame, live: Live, cells: tuple[str, str]) -> None:
        super().__init__(frame.lanes, frame.lanes.one, frame.memory, WARP_NUMBER, 64)
        self._lanes = frame.lanes
        self._frame = frame
        self._live = live
        self._active, self._alive = cells
        self._shown: list[str] = []
        self._group = self._lanes.named("", "i32")

    def place_local(self, size: int, align: int) -> tuple[str, int]:
        del align  # lanes' parts are as large as a multiple of it
        start = self._local_bytes
        self._local_bytes = -(-(start + LANES * size) // 64) * 64
        return self._part(start), start

    def place_scalar(self) -> str:
        """Eight bytes of the warp's state."""
        start = self._local_bytes
        self._local_bytes += 8
        return self._part(start)

    def _part(self, start: int) -> str:
        """A pointer to the part of the warp's state that was taken last."""
        self._grow(self._local_bytes)
        text = f"llvm.getelementptr {STATE}[{start}] : ({POINTER}) -> {POINTER}, i8"
        return self._lanes.one.at_entry(text)

    # ---- barriers of the block

    def wait_at_barrier(self, number: str, keep: Iterable[Operand] = ()) -> None:
        b, one, frame = self._lanes, self._lanes.one, self._frame
        at = b.scalar(number, "i32")
        everyone = frame.lanes.everyone
        self._require_everyone()
        if not self.memory.lockstep:
            one.store(at, self.memory.subject(one, WARP_NUMBER))
            one.store(AT_BARRIER, self.memory.status(one, WARP_NUMBER))
        names = kept_across(frame.current, self._live, keep)
        parts = [(self._active, "i32", 4), (self._alive, "i32", 4)]
        parts += [part for name in names for part in frame.kept(name)]
        self._stop(parts if frame.final else [])
        b.forget()
        mask = one.load(self._active)
        if everyone:
            frame.activate(one.const(FULL, 32), whole=one.const(1, 1))
        else:
            frame.activate(mask)

    def _require_everyone(self) -> None:
        """A barrier is for all lanes of a warp; where some are elsewhere, they never come."""
        b = self._lanes.one
        if self._lanes.everyone:
            b.store(LANES, self.memory.alive(b, WARP_NUMBER))
            return
        alive = b.load(self._alive)
        self.require(alive.cmp("eq", self._lanes.mask))
        b.store(alive.call("ctpop"), self.memory.alive(b, WARP_NUMBER))

    def require(self, condition: str) -> None:
        """Fail where lanes wait for others that cannot come."""
        b = self._lanes.one
        wrong, right = b.fresh_label("apart"), b.fresh_label("together")
        b.cond_branch(condition, right, wrong)
        b.block(wrong)
        b.fail(Failure.DEADLOCK)
        b.block(right)

    def finish(self) -> None:
        """Note that the warp has ended."""
        one = self._lanes.one
        one.store(FINISHED, self.memory.place(one, WARP_NUMBER))
        one.store(0, self.memory.alive(one, WARP_NUMBER))
        if not self.memory.lockstep:
            status = self.memory.status(one, WARP_NUMBER)
            one.store(DONE, status)

    # ---- the warp's lanes

    def meet_lanes(self, mask: str, words: Sequence[str], keep: Iterable[Operand] = ()) -> None:
        del keep
        b, one = self._lanes, self._lanes.one
        self._shown = list(words)
        active = b.named(self._lanes.mask, "i32")
        if b.of(mask).is_uniform and b.of(mask).known == 0:
            self._group = active
            return
        if self._lanes.everyone:
            self._group = b.binary("and", mask, active)
            return
        away = one.load(self._alive) & ~one.named(active, "i32")
        missing = b.binary("and", mask, away)
        if b.of(missing).is_uniform:
            self.require(one.compare("eq", b.scalar(missing, "i32"), 0))
        else:
            self.require(self._frame.bits(missing.cmp("ne", 0)).cmp("eq", 0))
        self._group = b.binary("and", mask, active)

    def group(self) -> SsaValue:
        return self._group

    def ballot(self) -> SsaValue:
        b = self._lanes
        condition = b.named(self._shown[0], "i32").resize(1)
        return b.binary("and", self._frame.bits(condition), self._group)

    def lane(self) -> SsaValue:
        return self._lanes.named(self._lanes.name(Value("", tuple(range(LANES)))), "i32")

    def seen(self, lane: str, word: int) -> SsaValue:
        """A word of another lane, whether that takes part or not."""
        b, one = self._lanes, self._lanes.one
        shown, source = self._shown[word], b.of(lane)
        if b.of(shown).is_uniform:
            return b.named(shown, "i32")
        if source.is_uniform:
            vector, index = b.vector(shown, "i32"), b.scalar(lane, "i32")
            text = f"llvm.extractelement {vector}[{index} : i32] : {vector_of('i32')}"
            return b.named(one.value(text), "i32")
        if source.is_known:
            return self._varying(self._permuted(shown, [n % LANES for n in source.constants()]))
        return self._varying(self._looked_up(shown, lane))

    def fetch(self, lane: SsaValue, word: int) -> SsaValue:
        b = self._lanes
        lane = lane & (LANES - 1)
        source, shown = b.of(lane), self._shown[word]
        if source.is_uniform or b.of(shown).is_uniform:
            return self.seen(lane, word)
        came = (self._group >> lane).resize(1)
        if not source.is_known:
            return self.seen(came.select(lane, self.lane()), word)
        own = self.lane()

        def permuted() -> str:
            return self._permuted(shown, [n % LANES for n in source.constants()])

        def looked_up() -> str:
            return self._looked_up(shown, b.select(came, lane, own))

        everyone = self._frame.bits(came).cmp("eq", b.mask)
        return self._varying(either(b, everyone, permuted, looked_up, vector_of("i32")))

    def reduce(self, operation: str, neutral: int) -> SsaValue:
        b, one = self._lanes, self._lanes.one
        if not b.of(self._group).is_uniform:
            raise NeedsLoopError
        group = b.scalar(self._group, "i32")
        kind = vector_of("i32")
        takes_part = one.value(f"llvm.bitcast {group} : i32 to {vector_of('i1')}")
        part = b.lanes(takes_part)
        vector = b.vector(b.select(part, self._shown[0], neutral), "i32")
        name = operation.removeprefix("llvm.")
        reduced = one.call_intrinsic(f"llvm.vector.reduce.{name}", [vector], "i32", [kind])
        return b.named(reduced, "i32")

    def _permuted(self, shown: str, lanes: list[int]) -> str:
        b, one = self._lanes, self._lanes.one
        vector = b.vector(shown, "i32")
        listed = ", ".join(map(str, lanes))
        return one.value(f"llvm.shufflevector {vector}, {vector} [{listed}] : {vector_of('i32')}")

    def _looked_up(self, shown: str, lane: str) -> str:
        b, one = self._lanes, self._lanes.one
        words, wanted = b.place("shown0", 4), b.place("groups", 4)
        vector, source = b.vector(shown, "i32"), b.vector(lane, "i32")
        kind = vector_of("i32")
        one.store(vector, words, kind, 64)
        one.store(source, wanted, kind, 64)
        found = b.place("loaded4", 4)
        with each_lane(b, b.mask) as number:
            other = one.load(one.element(wanted, number, 4)) & (LANES - 1)
            value = one.load(one.element(words, other, 4))
            one.store(value, one.element(found, number, 4))
        return one.load(found, kind, 64)

    def _varying(self, vector: str) -> SsaValue:
        return self._lanes.named(self._lanes.lanes(vector), "i32")
