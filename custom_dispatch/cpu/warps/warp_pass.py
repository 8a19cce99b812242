"""One pass over a kernel's instructions, for all lanes of a warp at once."""

from contextlib import suppress

from custom_dispatch.cpu.analysis.control_flow import Block
from custom_dispatch.cpu.analysis.liveness import written_registers
from custom_dispatch.cpu.analysis.spins import SpinCounter
from custom_dispatch.cpu.lowering.frame import CARRY
from custom_dispatch.cpu.lowering.instruction_table import lower_instruction
from custom_dispatch.cpu.lowering.waits import STATE, STOPPED
from custom_dispatch.cpu.text.builder import POINTER, FunctionBuilder, function_text
from custom_dispatch.cpu.text.control_structures import when
from custom_dispatch.cpu.threads.thread_function import declare
from custom_dispatch.cpu.warps.lane_frame import LaneFrame, NotYetError
from custom_dispatch.cpu.warps.lane_loop import FIRST, NoWarpFormError, lower_in_turn, place_of_warp
from custom_dispatch.cpu.warps.lane_memory import LaneMemory
from custom_dispatch.cpu.warps.lane_names import NeedsLoopError
from custom_dispatch.cpu.warps.lane_values import FULL, LANES
from custom_dispatch.cpu.warps.warp_branches import WarpBranches
from custom_dispatch.cpu.warps.warp_plan import WarpPlan
from custom_dispatch.cpu.warps.warp_waits import WARP_NUMBER, WarpWaits
from custom_dispatch.ptx import ONLY_COMPUTES, Instruction

_IN_TURN = frozenset({"atom", "red", "mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "match"})
"""Instructions that each lane does by itself, even where all lanes hold the same."""
_WITH_CARRY = ("addc", "subc", "madc")
_LONG_BLOCK = 400
"""Operations of a basic block beyond which it is cut."""


class WarpPass:
    """Lowers a kernel once, with what is known so far.

    `plan`: what is known; the registers' forms are widened where that does not do.
    """

    def __init__(self, plan: WarpPlan) -> None:
        thread = plan.thread
        self.plan = plan
        one = FunctionBuilder(thread.kernel.symbol)
        one.processor = thread.kernel.processor
        self.b = LaneMemory(one)
        self.frame = LaneFrame(self.b, plan)
        self.branches = WarpBranches(plan, self.frame)
        self.frame.alive = self.branches.alive
        cells = (self.branches.active, self.branches.alive)
        self.waits = WarpWaits(self.frame, plan.live_after, cells)
        self.frame.coroutine = self.waits
        self.frame.place_scalar = self.waits.place_scalar
        self._zero = one.variable("i32")
        self._spins = SpinCounter(one, thread.spins)
        self._cuts = 0

    def lines(self) -> list[str]:
        """The function, as far as what is known allows."""
        b, frame, thread = self.b, self.frame, self.plan.thread
        frame.place_in_block = place_of_warp(b, thread.kernel.block)
        start = self._taken()
        declare(frame)
        self._activate()
        begin = self._taken()
        for index, block in enumerate(thread.graph.blocks):
            if index not in self.branches.reached:
                self.branches.skip(index)
            elif self.plan.final or self._is_new(index):
                self._block(index, block)
        self._end()
        body = self._taken()
        arguments = (*thread.block_arguments, (FIRST, "i32"))
        head: list[str] = []
        if self.plan.thread.memory.suspends:
            arguments += ((WARP_NUMBER, "i32"), (STATE, POINTER))
            self._resume()
            head = self._taken()
        return function_text(
            f"{thread.kernel.symbol}.warp",
            arguments,
            [*b.one.entry_lines, *start, *head, *begin, *body],
            attribute="always_inline",
        )

    def _is_new(self, index: int) -> bool:
        """Whether a pass over a block may find what the last one did not."""
        plan = self.plan
        known = (
            [plan.forms.get(name) for name in (*plan.registers[index], CARRY)],
            plan.divergence.blended[index],
            index in plan.divergent,
            index in plan.whole,
        )
        if plan.seen.get(index) == known:
            return False
        plan.seen[index] = known
        return True

    def _taken(self) -> list[str]:
        """What was written since the last time."""
        lines, self.b.one.lines = self.b.one.lines, []
        return lines

    def _activate(self) -> None:
        """Activate the lanes that there are."""
        one = self.b.one
        threads = self.plan.thread.memory.threads
        mask = one.const(FULL, 32)
        if threads % LANES:
            left = threads - one.named(FIRST, "i32")
            few = left.cmp("ult", LANES)
            mask = few.select((1 << left) - 1, mask)
        one.store(mask, self.branches.active)
        one.store(mask, self.branches.alive)
        one.branch("b0")

    def _resume(self) -> None:
        """Go on where the warp stopped."""
        one, memory = self.b.one, self.plan.thread.memory
        place = one.load(memory.place(one, WARP_NUMBER))
        labels = enumerate(self.waits.resume_labels, 1)
        cases = ", ".join(f"{number}: ^{label}" for number, label in labels)
        one.line(f"llvm.switch {place} : i32, ^begin [{cases}]")
        one.block("begin")

    def _end(self) -> None:
        one = self.b.one
        one.block("exit")
        if self.plan.thread.memory.suspends:
            self.waits.finish()
        one.branch(STOPPED)
        if self._cuts:
            one.block("never")
            one.line('"llvm.intr.trap"() : () -> ()')
            one.branch(STOPPED)
        one.block(STOPPED)
        one.return_()

    def _block(self, index: int, block: Block) -> None:
        one, frame, branch = self.b.one, self.frame, block.branch
        self.branches.begin(index)
        self._spins.begin(index)
        frame.merging = False
        for instruction in block.instructions:
            if instruction is not branch:
                self._instruction(instruction)
                self._cut()
        frame.current = branch
        try:
            self.branches.leave(index, block)
        except NotYetError:
            one.branch(STOPPED)

    def _cut(self) -> None:
        """End a basic block that has become long.

        LLVM's scheduler takes time that grows with the square of a block's length. A branch that
        LLVM cannot know to be never taken keeps two blocks apart: it asks for a volatile zero.
        """
        one = self.b.one
        if len(one.lines) - one.block_start < _LONG_BLOCK:
            return
        self._cuts += 1
        zero = one.load(self._zero, "i32", 4, "volatile")
        never = zero.cmp("ne", 0)
        one.cond_branch(never, "never", f"cut{self._cuts}")
        one.block(f"cut{self._cuts}")

    # ---- instructions

    def _instruction(self, instruction: Instruction) -> None:
        self.frame.current = instruction
        with suppress(NotYetError):
            self._predicated(instruction)

    def _predicated(self, instruction: Instruction) -> None:
        b, frame = self.b, self.frame
        predicate = instruction.predicate
        if predicate is None:
            self._lower(instruction)
            return
        condition = frame.predicate(predicate)
        mask, full, everyone = frame.lanes.mask, frame.lanes.full, frame.lanes.everyone
        if b.of(condition).is_uniform:
            known = b.of(condition).known
            if known is not None:
                if known & 1:
                    self._lower(instruction)
                return
            scalar = b.scalar(condition, "i1")
            with when(b.one, scalar), b.scope():
                self._lower(instruction)
            return
        bits = frame.bits(condition)
        merging, frame.merging = frame.merging, True
        if _has_effects(instruction):
            some = bits.cmp("ne", 0)
            with when(b.one, some), b.scope():
                frame.activate(bits)
                self._lower(instruction)
        else:
            frame.activate(bits)
            self._lower(instruction)
        frame.merging = merging
        frame.lanes.mask, frame.lanes.full, frame.lanes.everyone = mask, full, everyone

    def _lower(self, instruction: Instruction) -> None:
        b, frame = self.b, self.frame
        if instruction.parts[0] not in _IN_TURN:
            written, known = len(b.one.lines), b.checkpoint()
            try:
                lower_instruction(frame)
            except NeedsLoopError as error:
                if "cc" in instruction.parts or instruction.parts[0] in _WITH_CARRY:
                    raise NoWarpFormError from error
                del b.one.lines[written:]
                b.roll_back(known)
            else:
                return
        if not self.plan.final:
            stand_in = b.lanes("%any_lanes")
            for name in sorted(written_registers(instruction)):
                frame.write(name, stand_in)
            return
        lower_in_turn(frame, instruction)


def _has_effects(instruction: Instruction) -> bool:
    """Whether it must not happen where no lane is active."""
    harmless = instruction.parts[0] in ONLY_COMPUTES
    return not harmless and not instruction.opcode.startswith("ld.param.")
