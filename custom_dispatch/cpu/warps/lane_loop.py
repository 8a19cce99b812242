"""An instruction lowered for one lane at a time, where it has no form for all of them at once.

The registers that it names are put into arrays on the stack, lane by lane; the lowering for one
thread runs in a loop over the active lanes, and what it wrote is read back. Where lanes meet, one
loop ends and the next begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from custom_dispatch.cpu.analysis.liveness import reads, registers_of, written_registers
from custom_dispatch.cpu.analysis.waits import Waits
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.special_registers import Ids
from custom_dispatch.cpu.warps.lane_builder import LaneBuilder
from custom_dispatch.cpu.warps.lane_frame import LaneFrame
from custom_dispatch.cpu.warps.lane_memory import LaneMemory, each_lane, element
from custom_dispatch.cpu.warps.lane_names import vector_of
from custom_dispatch.cpu.warps.lane_values import LANES, UNIFORM, UNSET, Value
from custom_dispatch.ptx import Instruction, Operand

Lowering = Callable[[Frame, Instruction], None]


class NoWarpFormError(Exception):
    """The kernel cannot be run warp by warp; its threads can still be run one by one."""


def lower_in_turn(
    frame: LaneFrame, instruction: Instruction, ids: LaneIds, lowering: Lowering
) -> None:
    """Lower an instruction for one active lane after the other."""
    arrays: dict[str, str] = {}
    scalars: dict[str, str] = {}
    read, written = reads(instruction), written_registers(instruction)
    for register in registers_of([instruction]):
        name = register.name
        form = frame.form(name)
        if form.rank == UNIFORM and name not in written and frame.place(name)[0]:
            scalars[name] = frame.place(name)[0]
            continue
        size = _size(frame, name)
        arrays[name] = place = frame.access.place(f"operand{len(arrays)} {size}", size)
        if form.rank != UNSET and (name in read or frame.merging or name in frame.blended):
            spread(frame, name, place)
    loop = LaneLoop(frame, instruction, ids, frame.access)
    loop.write(lowering, arrays, scalars, frame.variables)
    for name in sorted(written):
        gather(frame, name, arrays[name])
    frame.used_globals |= loop.frame.used_globals


def _size(frame: LaneFrame, name: str) -> int:
    """The bytes of a lane of a register in memory."""
    return max(frame.width(name) // 8, 1)


def spread(frame: LaneFrame, name: str, place: str) -> None:
    """Write the lanes of a register to an array."""
    b, scalar = frame.lanes, frame.type_of(name)
    vector = b.vector(frame.read(name)[0], scalar)
    with b.raw():
        kind = vector_of(scalar)
        if scalar == "i1":
            vector = b.value(f"llvm.zext {vector} : {kind} to {vector_of('i8')}")
            kind = vector_of("i8")
        b.store(vector, place, kind, 64)


def gather(frame: LaneFrame, name: str, place: str) -> None:
    """Read the lanes of a register from an array."""
    b, scalar = frame.lanes, frame.type_of(name)
    with b.raw():
        if scalar == "i1":
            held = b.load(place, vector_of("i8"), 64)
            vector = b.value(f"llvm.trunc {held} : {vector_of('i8')} to {vector_of('i1')}")
        else:
            vector = b.load(place, vector_of(scalar), 64)
    frame.write(name, b.name(Value(vector, varying=True)))


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
    access
        Where the loop is written, with the active lanes there.
    """

    def __init__(
        self, frame: LaneFrame, instruction: Instruction, ids: LaneIds, access: LaneMemory
    ) -> None:
        super().__init__(access.b)
        self._lanes: LaneBuilder = access.b
        self._access = access
        self._warp = frame
        self._instruction = instruction
        self._ids = ids
        self._lane = self._group = self._votes = ""
        self._loop: AbstractContextManager[str] = nullcontext("")
        self._arrays: dict[str, str] = {}
        self._scalars: dict[str, str] = {}
        self._variables: dict[str, str] = {}
        self.frame = Frame(
            access.b,
            frame.entry,
            frame.kernel,
            frame.ids,
            frame.globals,
            frame.memory,
        )
        self.frame.coroutine = self
        self.frame.current = instruction

    def write(
        self,
        lowering: Lowering,
        arrays: dict[str, str],
        scalars: dict[str, str],
        variables: dict[str, str],
    ) -> None:
        """Write the loop.

        Parameters
        ----------
        arrays, scalars
            Where registers are, by name: those of all lanes, and those that hold the same for all.
        variables
            The warp's variables.
        """
        self._arrays, self._scalars, self._variables = arrays, scalars, variables
        with self._lanes.scope():
            self._open()
            with self._lanes.raw():
                lowering(self.frame, self._instruction)
            self._close()

    def _open(self) -> None:
        b, warp = self._lanes, self._warp
        self._loop = each_lane(b, self._access.mask)
        self._lane = self._loop.__enter__()
        with b.raw():
            slots = {
                name: (element(b, place, self._lane, _size(warp, name)), warp.width(name))
                for name, place in self._arrays.items()
            }
            slots |= {name: (place, warp.width(name)) for name, place in self._scalars.items()}
            variables = {name: self._variable(handle) for name, handle in self._variables.items()}
            self.frame.rebind(slots, variables)
            self.frame.ids = self._ids.of_lane(b, self._lane)

    def _variable(self, handle: str) -> str:
        value = self._lanes.of(handle)
        return element(self._lanes, value.base, self._lane, value.distances[1])

    def _close(self) -> None:
        self._loop.__exit__(None, None, None)

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
        b, access = self._lanes, self._access
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
        return self._access.place(f"shown{word}", 4)

    def group(self) -> str:
        b = self._lanes
        groups = self._access.place("groups", 4)
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

    @property
    def first(self) -> str:
        """The number of the warp's first thread, an i32."""
        return self._first

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
        last = (threads - 1) // LANES * LANES
        first = Value(self._first, multiple=LANES, bounds=(0, last))
        b.name(first)  # what rows are worked out from
        number = b.name(replace(first, distances=tuple(range(LANES))))
        if height * depth == 1:
            return Ids((number, zero, zero), self._ids.block, self._ids.grid)
        if width % LANES == 0:
            row = b.binary("udiv", self._first, b.const(width, 32), "i32")
            start = b.binary("mul", row, b.const(width, 32), "i32")
            x = b.binary("sub", number, start, "i32")
            left = replace(b.of(x), multiple=LANES, bounds=(0, width - LANES))
            x = b.name(left)
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
