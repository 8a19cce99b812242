"""An instruction lowered for one lane at a time, where it has no form for all of them at once.

The registers that it names are put into arrays on the stack, lane by lane; the lowering for one
thread runs in a loop over the active lanes, and what it wrote is read back. Where lanes meet, one
loop ends and the next begins.

The code of a matrix instruction is long, and a kernel has many of one shape. Most of the time to
build a variant goes by the number of operations, so those that differ in nothing but their
registers share a function, which finds the lanes' registers in an array and holds such a loop.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Final

from custom_dispatch.cpu.analysis.liveness import reads, written_registers
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.lowering.instruction_table import lower_instruction
from custom_dispatch.cpu.lowering.waits import Waits
from custom_dispatch.cpu.text.builder import POINTER, FunctionBuilder, bytes_of
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.block_memory import MEMORY
from custom_dispatch.cpu.threads.thread_code import Place, place_in_block
from custom_dispatch.cpu.warps.lane_builder import LaneBuilder
from custom_dispatch.cpu.warps.lane_frame import LaneFrame
from custom_dispatch.cpu.warps.lane_memory import MASK, LaneMemory, each_lane
from custom_dispatch.cpu.warps.lane_names import vector_of
from custom_dispatch.cpu.warps.lane_values import LANES, UNIFORM, Value
from custom_dispatch.ptx import Instruction, Operand, SpecialRegister, named_by, registers_in

FIRST = "%first"
"""The argument that holds the number of the warp's first thread."""


class NoWarpFormError(Exception):
    """The kernel cannot be run warp by warp; its threads can still be run one by one."""


def lower_in_turn(frame: LaneFrame, instruction: Instruction) -> None:
    """Lower an instruction for one active lane after the other."""
    b = frame.lanes
    read, written = reads(instruction), written_registers(instruction)
    registers = dict.fromkeys(r.name for r in registers_in(*instruction.operands))
    called = _can_call(frame, instruction)
    scalars = {
        name: frame.place(name)
        for name in registers
        if not called
        and name not in written
        and frame.form(name).rank == UNIFORM
        and frame.place(name)
    }
    names = [name for name in registers if name not in scalars]
    size = max((bytes_of(frame.type_of(name)) for name in names), default=0)
    size = max(size, 64 // LANES)  # arrays of lanes begin at multiples of 64 bytes
    array = b.place(f"registers {len(names)} {size}", size * len(names)) if names else ""
    places = {name: b.one.shared(_part(array, index, size)) for index, name in enumerate(names)}
    for name, place in places.items():
        if name in read or frame.merging or name in frame.blended:
            spread(frame, name, place)
    if called:
        _call(frame, instruction, array, _body(frame, instruction, names, size))
    else:
        LaneLoop(frame, instruction, b).write(places, scalars, frame.variables)
    for name in sorted(written):
        gather(frame, name, places[name])


def _in_array(scalar: str) -> str:
    """The type in which lanes are kept in an array."""
    return vector_of("i8" if scalar == "i1" else scalar)


def spread(frame: LaneFrame, name: str, place: str) -> None:
    """Write the lanes of a register to an array."""
    b, one, scalar = frame.lanes, frame.lanes.one, frame.type_of(name)
    vector, kept = b.vector(frame.read(name), scalar), _in_array(scalar)
    one.store(one.cast("zext", vector, vector_of(scalar), kept), place, kept, 64)


def gather(frame: LaneFrame, name: str, place: str) -> None:
    """Read the lanes of a register from an array."""
    one, scalar = frame.lanes.one, frame.type_of(name)
    kept = one.load(place, _in_array(scalar), 64)
    frame.write(name, frame.lanes.lanes(kept.cast("trunc", vector_of(scalar))))


class LaneLoop(Waits):
    """A loop over the active lanes around one instruction.

    `lanes`: where the loop is written, with the active lanes there.
    """

    def __init__(self, frame: LaneFrame, instruction: Instruction, lanes: LaneMemory) -> None:
        super().__init__(lanes.one)
        self._lanes = lanes
        self._warp = frame
        self._lane = self._group = self._votes = self.b.named("", "i32")
        self._loop: AbstractContextManager[SsaValue] = nullcontext(self._lane)
        self._arrays: dict[str, str] = {}
        self._scalars: dict[str, str] = {}
        self._variables: dict[str, str] = {}
        self.frame = Frame(self.b, frame.thread)
        self.frame.coroutine = self
        self.frame.current = instruction

    def write(
        self, arrays: dict[str, str], scalars: dict[str, str], variables: dict[str, str]
    ) -> None:
        """Write the loop.

        - `arrays`, `scalars`: where registers are, by name: those of all lanes, and those that hold
          the same for all.
        - `variables`: the warp's variables.
        """
        self._arrays, self._scalars, self._variables = arrays, scalars, variables
        with self._lanes.scope():
            self._open()
            lower_instruction(self.frame)
            self._close()

    def _open(self) -> None:
        b, warp = self.b, self._warp
        self._loop = each_lane(self._lanes, self._lanes.mask)
        self._lane = self._loop.__enter__()
        slots: dict[str, tuple[str, int]] = {
            name: (b.element(place, self._lane, bytes_of(warp.type_of(name))), warp.width(name))
            for name, place in self._arrays.items()
        }
        slots |= {name: (place, warp.width(name)) for name, place in self._scalars.items()}
        variables = {name: self._variable(handle) for name, handle in self._variables.items()}
        self.frame.rebind(slots, variables)
        block = warp.thread.kernel.block
        self.frame.place_in_block = place_in_block(b.binary("add", FIRST, self._lane), block)

    def _variable(self, handle: str) -> str:
        value = self._lanes.of(handle)
        return self.b.element(value.base, self._lane, value.distances[1])

    def _close(self) -> None:
        self._loop.__exit__(None, None, None)

    # ---- meeting

    def place_local(self, size: int, align: int) -> tuple[str, int]:
        del size, align
        raise NoWarpFormError

    def wait_at_barrier(self, number: str, keep: Iterable[Operand] = ()) -> None:
        del number, keep
        raise NoWarpFormError

    def meet_lanes(self, mask: str, words: Sequence[str], keep: Iterable[Operand] = ()) -> None:
        del keep
        b, lanes = self.b, self._lanes
        groups = lanes.place("groups", 4)
        b.store(mask, b.element(groups, self._lane, 4))
        for index, word in enumerate(words):
            b.store(word, b.element(self._shown(index), self._lane, 4))
        self._close()
        self._group = lanes.mask
        if words:
            kind = vector_of("i32")
            first = b.load(self._shown(0), kind, 64)
            lowest = b.value(f"llvm.trunc {first} : {kind} to {vector_of('i1')}")
            votes = b.value(f"llvm.bitcast {lowest} : {vector_of('i1')} to i32")
            self._votes = b.named(votes, "i32") & lanes.mask
        self._open()

    def _shown(self, word: int) -> str:
        return self._lanes.place(f"shown{word}", 4)

    def group(self) -> SsaValue:
        b = self.b
        groups = self._lanes.place("groups", 4)
        mask = b.load(b.element(groups, self._lane, 4))
        everyone = mask.cmp("eq", 0)
        return everyone.select(self._group, mask & self._group)

    def ballot(self) -> SsaValue:
        return self._votes & self.group()

    def lane(self) -> SsaValue:
        return self._lane

    def seen(self, lane: str, word: int) -> SsaValue:
        b = self.b
        return b.load(b.element(self._shown(word), lane, 4))


def place_of_warp(b: LaneBuilder, block: tuple[int, int, int]) -> Place:
    """Which threads of a block of a size the warp's lanes are: `place_in_block` of them all."""
    width, height, depth = block
    zero = b.const(0, 32)
    last = (width * height * depth - 1) // LANES * LANES
    first = Value(FIRST, multiple=LANES, bounds=(0, last))
    b.name(first)  # what rows are worked out from
    number = b.name(replace(first, distances=tuple(range(LANES))))
    if height * depth == 1:
        return number, zero, zero
    if width % LANES == 0:
        row = b.binary("udiv", FIRST, width)
        rest = b.binary("sub", number, row * width)
        x = b.name(replace(b.of(rest), multiple=LANES, bounds=(0, width - LANES)))
    else:
        x, row = _divided(b, number, width)
    if depth == 1:
        return x, row, zero
    if b.of(row).is_uniform:
        return x, row % height, row // height
    return x, *_divided(b, row, height)


def _divided(b: LaneBuilder, name: str, by: int) -> tuple[SsaValue, SsaValue]:
    """What is left of a number, and how often it is divided."""
    number = b.named(name, "i32")
    if by & (by - 1):
        return number % by, number // by
    return number & (by - 1), number >> (by.bit_length() - 1)


SHARED: Final = frozenset({"mma", "wmma", "ldmatrix", "stmatrix", "movmatrix"})
"""Opcodes whose instructions become calls."""
_REGISTERS: Final = "%registers"


def _can_call(frame: LaneFrame, instruction: Instruction) -> bool:
    """Whether an instruction's code can stand in a function, where the thread's variables and its
    place in the grid are not.
    """
    special = any(isinstance(operand, SpecialRegister) for operand in instruction.operands)
    known = set(named_by(instruction)).isdisjoint(frame.variables)
    return instruction.parts[0] in SHARED and known and not special


def _call(frame: LaneFrame, instruction: Instruction, array: str, body: list[str]) -> None:
    """Call the function of an instruction, which is written where there is none like it yet."""
    b = frame.lanes
    arguments = [(FIRST, "i32"), (MASK, "i32"), (_REGISTERS, POINTER)]
    if frame.memory.needed:
        arguments.append((MEMORY, POINTER))
    name = b.function("_".join(instruction.parts[:2]), arguments, body)
    given = {MASK: b.mask, _REGISTERS: array}
    b.one.call(name, [(given.get(value, value), type_name) for value, type_name in arguments])


def _part(array: str, index: int, size: int) -> str:
    """Where an array holds a register, of which each lane takes so many bytes."""
    start = index * size * LANES
    return f"llvm.getelementptr {array}[{start}] : ({POINTER}) -> {POINTER}, i8"


def _body(frame: LaneFrame, instruction: Instruction, names: list[str], size: int) -> list[str]:
    """The function's lines, in which registers are known by their order only."""
    b = FunctionBuilder()
    lanes = LaneMemory(b)
    lanes.mask = b.named(MASK, "i32")
    arrays = {name: b.at_entry(_part(_REGISTERS, i, size)) for i, name in enumerate(names)}
    loop = LaneLoop(frame, instruction, lanes)
    loop.write(arrays, {}, {})
    return [*b.entry_lines, *b.lines]
