"""One pass over a kernel's instructions, for all lanes of a warp at once."""

from __future__ import annotations

from custom_dispatch.cpu.analysis.control_flow import Block
from custom_dispatch.cpu.analysis.liveness import written_registers
from custom_dispatch.cpu.analysis.spins import SpinCounter
from custom_dispatch.cpu.lowering.instruction_table import lowering_of
from custom_dispatch.cpu.text.builder import POINTER, function_text
from custom_dispatch.cpu.threads.thread_function import declare
from custom_dispatch.cpu.warps.lane_builder import LaneBuilder
from custom_dispatch.cpu.warps.lane_frame import CARRY, LaneFrame, NotYetError
from custom_dispatch.cpu.warps.lane_loop import (
    FIRST,
    Lowering,
    NoWarpFormError,
    call_in_turn,
    can_call,
    lower_in_turn,
    place_of_warp,
)
from custom_dispatch.cpu.warps.lane_memory import conditionally
from custom_dispatch.cpu.warps.lane_names import NeedsLoopError
from custom_dispatch.cpu.warps.lane_values import FULL, LANES, Value
from custom_dispatch.cpu.warps.warp_branches import WarpBranches
from custom_dispatch.cpu.warps.warp_plan import WarpPlan
from custom_dispatch.cpu.warps.warp_waits import STATE, STOPPED, WARP_NUMBER, WarpWaits
from custom_dispatch.ptx import Instruction

_IN_TURN = frozenset({"atom", "red", "mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "match"})
"""Instructions that each lane does by itself, even where all lanes hold the same."""
_EFFECTS = frozenset(
    {"ld", "ldu", "st", "atom", "red", "cp", "trap", "bar", "barrier", "shfl", "vote", "match"}
    | {"activemask", "redux", "elect", "mma", "wmma", "ldmatrix", "stmatrix", "movmatrix"}
)
"""Instructions that must not happen where no lane is active."""
_WITH_CARRY = ("addc", "subc", "madc")
_LONG_BLOCK = 400
"""Operations of a basic block beyond which it is cut."""


class WarpPass:
    """Lowers a kernel once, with what is known so far.

    Parameters
    ----------
    plan
        What is known; the registers' forms are widened where that does not do.
    """

    def __init__(self, plan: WarpPlan) -> None:
        thread = plan.thread
        self.plan = plan
        self.b = LaneBuilder(thread.kernel.symbol)
        self.frame = LaneFrame(self.b, plan)
        self.branches = WarpBranches(plan, self.frame)
        self.frame.alive = self.branches.alive
        cells = (self.branches.active, self.branches.alive)
        self.waits = WarpWaits(self.frame, plan.live_after, cells)
        self.frame.coroutine = self.waits
        self.frame.place_scalar = self.waits.place_scalar
        self._zero = self.b.variable("i32")
        with self.b.raw():
            self._spins = SpinCounter(self.b, thread.spins)
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
            [*b.entry_lines, *start, *head, *begin, *body],
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
        lines, self.b.lines = self.b.lines, []
        return lines

    def _activate(self) -> None:
        """Activate the lanes that there are."""
        b = self.b
        threads = self.plan.thread.memory.threads
        with b.raw():
            mask = b.const(FULL, 32)
            if threads % LANES:
                left = b.binary("sub", threads, FIRST)
                few = b.icmp("ult", left, LANES)
                bits = b.binary("shl", 1, left)
                bits = b.binary("sub", bits, 1)
                mask = b.select(few, bits, mask)
            b.store(mask, self.branches.active)
            b.store(mask, self.branches.alive)
            b.branch("b0")

    def _resume(self) -> None:
        """Go on where the warp stopped."""
        b, memory = self.b, self.plan.thread.memory
        with b.raw():
            place = b.load(memory.place(b, WARP_NUMBER))
            labels = enumerate(self.waits.resume_labels, 1)
            cases = ", ".join(f"{number}: ^{label}" for number, label in labels)
            b.line(f"llvm.switch {place} : i32, ^begin [{cases}]")
            b.block("begin")

    def _end(self) -> None:
        b = self.b
        with b.raw():
            b.block("exit")
            if self.plan.thread.memory.suspends:
                self.waits.finish()
            b.branch(STOPPED)
            if self._cuts:
                b.block("never")
                b.line('"llvm.intr.trap"() : () -> ()')
                b.branch(STOPPED)
            b.block(STOPPED)
            b.return_()

    def _block(self, index: int, block: Block) -> None:
        b, frame, branch = self.b, self.frame, block.branch
        self.branches.begin(index)
        with b.raw():
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
            with b.raw():
                b.branch(STOPPED)

    def _cut(self) -> None:
        """End a basic block that has become long.

        LLVM's scheduler takes time that grows with the square of a block's length. A branch that
        LLVM cannot know to be never taken keeps two blocks apart: it asks for a volatile zero.
        """
        b = self.b
        if len(b.lines) - b.block_start < _LONG_BLOCK:
            return
        self._cuts += 1
        with b.raw():
            zero = b.load(self._zero, "i32", 4, "volatile")
            never = b.icmp("ne", zero, 0)
            b.cond_branch(never, "never", f"cut{self._cuts}")
            b.block(f"cut{self._cuts}")

    # ---- instructions

    def _instruction(self, instruction: Instruction) -> None:
        frame = self.frame
        frame.current = instruction
        lowering = lowering_of(instruction)
        if lowering is None:
            raise frame.unsupported(instruction)
        try:
            self._predicated(instruction, lowering)
        except NotYetError:
            return

    def _predicated(self, instruction: Instruction, lowering: Lowering) -> None:
        b, frame = self.b, self.frame
        predicate = instruction.predicate
        if predicate is None:
            self._lower(instruction, lowering)
            return
        condition = frame.predicate(predicate)
        mask, full, everyone = frame.access.mask, frame.access.full, frame.access.everyone
        if b.of(condition).is_uniform:
            known = b.of(condition).known
            if known is not None:
                if known & 1:
                    self._lower(instruction, lowering)
                return
            scalar = b.scalar(condition, "i1")
            with conditionally(b, scalar):
                self._lower(instruction, lowering)
            return
        bits = frame.bits(condition)
        merging, frame.merging = frame.merging, True
        if _has_effects(instruction):
            with b.raw():
                some = b.icmp("ne", bits, 0)
            with conditionally(b, some):
                frame.activate(bits)
                self._lower(instruction, lowering)
        else:
            frame.activate(bits)
            self._lower(instruction, lowering)
        frame.merging = merging
        frame.access.mask, frame.access.full, frame.access.everyone = mask, full, everyone

    def _lower(self, instruction: Instruction, lowering: Lowering) -> None:
        b, frame = self.b, self.frame
        if instruction.parts[0] not in _IN_TURN:
            written, known = len(b.lines), b.checkpoint()
            try:
                lowering(frame, instruction)
            except NeedsLoopError as error:
                if "cc" in instruction.parts or instruction.parts[0] in _WITH_CARRY:
                    raise NoWarpFormError from error
                del b.lines[written:]
                b.roll_back(known)
            else:
                return
        if not self.plan.final:
            stand_in = b.name(Value("%any_lanes", varying=True))
            for name in sorted(written_registers(instruction)):
                frame.write(name, stand_in)
            return
        lower = call_in_turn if can_call(frame, instruction) else lower_in_turn
        lower(frame, instruction, lowering)


def _has_effects(instruction: Instruction) -> bool:
    return instruction.parts[0] in _EFFECTS and not instruction.opcode.startswith("ld.param.")
