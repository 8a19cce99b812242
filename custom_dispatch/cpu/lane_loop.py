"""An instruction lowered for one lane at a time, where it has no form for all of them at once.

The registers that it names are put into arrays on the stack, lane by lane; the lowering for one
thread runs in a loop over the active lanes, and what it wrote is read back. Where lanes meet, one
loop ends and the next begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from custom_dispatch.cpu.frame import Frame
from custom_dispatch.cpu.lane_builder import LaneBuilder
from custom_dispatch.cpu.lane_frame import LaneFrame
from custom_dispatch.cpu.lane_memory import element
from custom_dispatch.cpu.lane_names import vector_of
from custom_dispatch.cpu.lane_values import LANES, UNIFORM, UNSET, Value
from custom_dispatch.cpu.liveness import reads, registers_of, written_registers
from custom_dispatch.cpu.special_registers import Ids
from custom_dispatch.cpu.waits import Waits
from custom_dispatch.ptx import Instruction, Operand


class NoWarpFormError(Exception):
    """The kernel cannot be run warp by warp; its threads can still be run one by one."""


class LaneLoop(Waits):
    """A loop over the active lanes around one instruction.

    Parameters
    ----------
    frame
        The warp's registers.
    instruction
        What is lowered.
    ids
        Which thread a lane is.
    """

    def __init__(self, frame: LaneFrame, instruction: Instruction, ids: LaneIds) -> None:
        super().__init__(frame.lanes)
        self._lanes: LaneBuilder = frame.lanes
        self._warp = frame
        self._instruction = instruction
        self._ids = ids
        self._lane = ""
        self._labels: tuple[str, str, str] = ("", "", "")
        self._group = self._votes = ""
        self._arrays: dict[str, tuple[str, int]] = {}
        self.frame = Frame(
            frame.lanes,
            frame.entry,
            frame.kernel,
            frame.ids,
            frame.pointer_registers,
            frame.globals,
            frame.memory,
        )
        self.frame.coroutine = self
        self.frame.current = instruction

    def begin(self) -> None:
        """Put the registers into arrays, and begin the loop."""
        warp = self._warp
        read = reads(self._instruction)
        written = written_registers(self._instruction)
        for register in registers_of([self._instruction]):
            name = register.name
            size = max(warp.width(name) // 8, 1)
            form = warp.form(name)
            if form.rank == UNIFORM and name not in written and warp.place(name)[0]:
                continue
            place = warp.access.place(f"operand{len(self._arrays)} {size}", size)
            self._arrays[name] = (place, size)
            if form.rank != UNSET and (name in read or warp.merging or name in warp.blended):
                self._spread(name, place)
        self._open()

    def _spread(self, name: str, place: str) -> None:
        b, warp = self._lanes, self._warp
        scalar = warp.type_of(name)
        vector = b.vector(warp.read(name)[0], scalar)
        with b.raw():
            kind = vector_of(scalar)
            if scalar == "i1":
                vector = b.value(f"llvm.zext {vector} : {kind} to {vector_of('i8')}")
                kind = vector_of("i8")
            b.store(vector, place, kind, 64)

    def end(self) -> None:
        """End the loop, and read back what was written."""
        self._close()
        b, warp = self._lanes, self._warp
        for name in sorted(written_registers(self._instruction)):
            place, _ = self._arrays[name]
            scalar = warp.type_of(name)
            with b.raw():
                if scalar == "i1":
                    held = b.load(place, vector_of("i8"), 64)
                    vector = b.value(f"llvm.trunc {held} : {vector_of('i8')} to {vector_of('i1')}")
                else:
                    vector = b.load(place, vector_of(scalar), 64)
            warp.write(name, b.name(Value(vector, varying=True)))

    def _open(self) -> None:
        with self._lanes.raw():
            self._open_loop()

    def _open_loop(self) -> None:
        b = self._lanes
        head, body, after = (b.fresh_label(name) for name in ("lane", "active", "lanes"))
        following = b.fresh_label("next_lane")
        self._labels = (head, following, after)
        self._lane = b.fresh()
        b.branch(head, (b.const(0, 32), "i32"))
        b.block(head, (self._lane, "i32"))
        mask = self._warp.access.mask
        bit = b.resize(b.binary("lshr", mask, self._lane, "i32"), 32, 1)
        b.cond_branch(bit, body, following)
        b.block(body)
        places = {
            name: element(b, place, self._lane, size)
            for name, (place, size) in self._arrays.items()
        }
        slots: dict[str, tuple[str, int]] = {}
        for register in registers_of([self._instruction]):
            name = register.name
            place = places[name] if name in places else self._warp.place(name)[0]
            slots[name] = (place, self._warp.width(name))
        variables = {name: self._variable(handle) for name, handle in self._warp.variables.items()}
        self.frame.rebind(slots, variables)
        self.frame.ids = self._ids.of_lane(b, self._lane)

    def _variable(self, handle: str) -> str:
        value = self._lanes.of(handle)
        return element(self._lanes, value.base, self._lane, value.distances[1])

    def _close(self) -> None:
        with self._lanes.raw():
            self._close_loop()

    def _close_loop(self) -> None:
        b = self._lanes
        head, following, after = self._labels
        b.branch(following)
        b.block(following)
        onward = b.binary("add", self._lane, b.const(1, 32), "i32")
        more = b.icmp("ult", onward, b.const(LANES, 32), "i32")
        b.line(f"llvm.cond_br {more}, ^{head}({onward} : i32), ^{after}")
        b.block(after)

    # ---- meeting

    def place_local(self, size: int, align: int) -> tuple[str, int]:
        del size, align
        raise NoWarpFormError

    def wait_at_barrier(
        self, instruction: Instruction, number: str, keep: Iterable[Operand] = ()
    ) -> None:
        del instruction, number, keep
        raise NoWarpFormError

    def meet_lanes(
        self,
        instruction: Instruction,
        mask: str,
        words: Sequence[str],
        keep: Iterable[Operand] = (),
    ) -> None:
        del instruction, keep
        b, access = self._lanes, self._warp.access
        groups = access.place("groups", 4)
        b.store(mask, element(b, groups, self._lane, 4), "i32", 4)
        for index, word in enumerate(words):
            b.store(word, element(b, self._shown(index), self._lane, 4), "i32", 4)
        self._close()
        self._group = access.mask
        if words:
            kind = vector_of("i32")
            first = b.load(self._shown(0), kind, 64)
            lowest = b.value(f"llvm.trunc {first} : {kind} to {vector_of('i1')}")
            votes = b.value(f"llvm.bitcast {lowest} : {vector_of('i1')} to i32")
            self._votes = b.binary("and", votes, access.mask, "i32")
        self._open()

    def _shown(self, word: int) -> str:
        return self._warp.access.place(f"shown{word}", 4)

    def group(self) -> str:
        b = self._lanes
        groups = self._warp.access.place("groups", 4)
        mask = b.load(element(b, groups, self._lane, 4), "i32", 4)
        everyone = b.icmp("eq", mask, b.const(0, 32), "i32")
        together = b.binary("and", mask, self._group, "i32")
        return b.select(everyone, self._group, together, "i32")

    def ballot(self) -> str:
        b = self._lanes
        return b.binary("and", self._votes, self.group(), "i32")

    def lane(self) -> str:
        return self._lane

    def seen(self, lane: str, word: int) -> str:
        b = self._lanes
        return b.load(element(b, self._shown(word), lane, 4), "i32", 4)


class LaneIds:
    """Which thread a lane is.

    Parameters
    ----------
    block
        Threads of a block in x, y and z.
    first
        The number of the warp's first thread, an i32.
    ids
        The block's and grid's place; of the thread, nothing.
    """

    def __init__(self, block: tuple[int, int, int], first: str, ids: Ids) -> None:
        self._block = block
        self._first = first
        self._ids = ids

    def of_lane(self, b: LaneBuilder, lane: str) -> Ids:
        """The ids of one lane, in code for one lane."""
        width, height, depth = self._block
        number = b.binary("add", self._first, lane, "i32")
        zero = b.const(0, 32)
        if height * depth == 1:
            return Ids((number, zero, zero), self._ids.block, self._ids.grid)
        x = b.binary("urem", number, b.const(width, 32), "i32")
        row = b.binary("udiv", number, b.const(width, 32), "i32")
        if depth == 1:
            return Ids((x, row, zero), self._ids.block, self._ids.grid)
        y = b.binary("urem", row, b.const(height, 32), "i32")
        z = b.binary("udiv", row, b.const(height, 32), "i32")
        return Ids((x, y, z), self._ids.block, self._ids.grid)

    def of_warp(self, b: LaneBuilder) -> Ids:
        """The ids of all lanes."""
        width, height, depth = self._block
        zero = b.const(0, 32)
        threads = width * height * depth
        top = (threads - 1) // LANES * LANES
        number = b.name(Value(self._first, tuple(range(LANES)), multiple=LANES, top=top))
        if height * depth == 1:
            return Ids((number, zero, zero), self._ids.block, self._ids.grid)
        if width % LANES == 0:
            row = b.binary("udiv", self._first, b.const(width, 32), "i32")
            start = b.binary("mul", row, b.const(width, 32), "i32")
            x = b.binary("sub", number, start, "i32")
            top = width - LANES
            x = b.name(Value(b.of(x).base, tuple(range(LANES)), multiple=LANES, top=top))
        elif _is_power(width):
            x = b.binary("and", number, b.const(width - 1, 32), "i32")
            row = b.binary("lshr", number, b.const(width.bit_length() - 1, 32), "i32")
        else:
            x = b.binary("urem", number, b.const(width, 32), "i32")
            row = b.binary("udiv", number, b.const(width, 32), "i32")
        if depth == 1:
            return Ids((x, row, zero), self._ids.block, self._ids.grid)
        if _is_power(height) and not b.of(row).is_uniform:
            y = b.binary("and", row, b.const(height - 1, 32), "i32")
            z = b.binary("lshr", row, b.const(height.bit_length() - 1, 32), "i32")
        else:
            y = b.binary("urem", row, b.const(height, 32), "i32")
            z = b.binary("udiv", row, b.const(height, 32), "i32")
        return Ids((x, y, z), self._ids.block, self._ids.grid)


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0
